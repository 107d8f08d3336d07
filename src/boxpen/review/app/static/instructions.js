/* What the judge is asked to do, with worked examples. */

import { $, h } from "./dom.js";
import { storage } from "./outbox.js";
import { inWords, plainName } from "./question.js";
import { written } from "./texts.js";

/** Whether this person has read the instructions in this browser. */
export function wereRead(prefix, task) {
  try {
    return storage()?.getItem(`${prefix}read ${task.key}`) === "yes";
  } catch {
    return false;
  }
}

/** Show the instructions; `then` runs when they are closed. */
export function showInstructions(task, prefix, then) {
  const dialog = $("instructions");
  $("instructions-title").textContent = task.title;
  $("instructions-text").replaceChildren(...task.instructions.map((text) => h("p", { dir: "auto" }, text)));
  const verdicts = task.kind === "verdicts" ? task.verdicts : [];
  $("instructions-verdicts").replaceChildren(...verdicts.map((one, n) =>
    h("div", {}, h("dt", {}, n < 9 ? h("kbd", {}, String(n + 1)) : "", ` ${one.label}`), h("dd", {}, one.help || ""))));
  $("instructions-examples").replaceChildren(...task.examples.map((one) => example(task, one)));
  $("examples-title").hidden = !task.examples.length;
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  dialog.addEventListener("close", () => {
    try {
      storage()?.setItem(`${prefix}read ${task.key}`, "yes");
    } catch {
      // shown again next time
    }
    then();
  }, { once: true });
}

function example(task, one) {
  const question = { shown: one.shown, options: one.options ?? [] };
  return h("li", {},
    one.shown.map(({ name, text, lang }) =>
      h("p", {}, h("span", { class: "name" }, plainName(name)), " ", h("span", { class: "text", ...written(text, lang) }, text))),
    (one.options ?? []).map(({ number, text, lang }) =>
      h("p", {}, h("kbd", {}, String(number)), " ", h("span", { class: "text", ...written(text, lang) }, text))),
    h("p", { class: "solution" }, h("strong", {}, inWords(task, question, one.answer)), one.why ? ` – ${one.why}` : ""));
}
