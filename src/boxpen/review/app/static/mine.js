/* The judge's own earlier answers: search, look, change. */

import { get } from "./api.js";
import { $, h, patch } from "./dom.js";
import { written } from "./texts.js";

const PAGE = 50;

export class Mine {
  /** open: what to do with an item that was chosen. */
  constructor(open) {
    this.open = open;
    this.turn = 0;
    this.dialog = $("mine");
    $("search").addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.#find(), 120);
    });
    this.dialog.addEventListener("keydown", (event) => this.#keys(event));
    $("mine-more").addEventListener("click", () => this.#find(this.oldest));
  }

  async show(task, outbox) {
    this.turn++; // the reply to an earlier search comes too late
    this.task = task;
    $("search").value = "";
    $("mine-list").replaceChildren();
    this.dialog.showModal();
    $("search").focus();
    await outbox.flush(); // the newest answers are found too
    await this.#find();
  }

  async #find(before = null) {
    const turn = ++this.turn;
    const query = [["search", $("search").value], ["limit", String(PAGE)]];
    if (before !== null) query.push(["before", String(before)]);
    let reply;
    try {
      reply = await get(`api/tasks/${encodeURIComponent(this.task.key)}/mine`, query);
    } catch (failure) {
      if (turn === this.turn) $("mine-status").textContent = failure.message;
      return;
    }
    if (turn !== this.turn) return; // a later search has started
    const found = reply.judgements;
    const rows = found.map((one) => this.#row(one));
    if (before === null) patch($("mine-list"), rows); // the row in focus stays
    else $("mine-list").append(...rows);
    this.oldest = found.at(-1)?.seq ?? null;
    $("mine-more").hidden = found.length < PAGE;
    const count = $("mine-list").children.length;
    const more = found.length < PAGE ? "" : " or more";
    $("mine-status").textContent = count ? `${count}${more} found` : "Nothing found.";
  }

  #row(one) {
    const said = one.skipped || !one.answer ? "skipped" : one.label || this.#words(one.answer);
    const choose = () => {
      this.dialog.close();
      this.open(one.item);
    };
    return h("li", { "data-key": one.item },
      h("button", { type: "button", click: choose },
        h("span", { class: "said" }, said),
        h("span", { class: "excerpt", ...written(one.text ?? "") }, one.text || one.item),
        one.comment ? h("span", { class: "remark", dir: "auto" }, one.comment) : null));
  }

  #words(answer) {
    const labels = new Map(this.task.verdicts.map(({ value, label }) => [value, label]));
    if (this.task.kind === "options") return `answer ${answer}`;
    if (labels.has(answer)) return labels.get(answer);
    return answer.split("+").map((value) => labels.get(value) ?? value).join(" + ");
  }

  #keys(event) {
    if (event.isComposing || (event.key !== "ArrowDown" && event.key !== "ArrowUp")) return;
    const rows = [...$("mine-list").querySelectorAll("button")];
    const at = rows.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
    event.preventDefault();
    if (at < 0) $("search").focus();
    else rows[Math.min(at, rows.length - 1)]?.focus();
  }
}
