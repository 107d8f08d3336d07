/* Disputes: the votes side by side, decided by keyboard. */

import { fragment, get } from "./api.js";
import { trouble, whoAmI } from "./desk.js";
import { $, counted, h } from "./dom.js";
import { fieldKeys, meaning } from "./keys.js";
import { Outbox } from "./outbox.js";
import { Choices, promptOf, shownTexts } from "./question.js";
import { contrasts, marked, written } from "./texts.js";

let me = null;
let outbox = null;
let task = null;
let disputes = []; // the first fifty, open ones first
let total = 0;
let open = 0;
let place = 0;
let choices = null;
let editing = null;
const actions = []; // decisions that can be undone: {task, n, before}

function show() {
  const one = disputes[place];
  $("item").hidden = !one;
  $("none").hidden = Boolean(one);
  $("place").textContent = one ? `${place + 1} of ${total}, ${counted(open, "item")} open` : "";
  for (const [id, off] of [["previous", place <= 0], ["next", place >= disputes.length - 1]]) $(id).disabled = off;
  if (!one) return;
  const { question } = one;
  const prompt = promptOf(task, question);
  choices = new Choices(task, question, { given: one.decided ?? "", label: prompt, send: chosen });
  editing = null;
  $("editor").hidden = !task.free;
  if (task.free) {
    $("edit-label").textContent = "Your decision";
    $("edit").value = one.decided ?? one.votes[0]?.answer ?? "";
  }
  $("send").hidden = !choices.several;
  $("prompt").textContent = prompt;
  $("item").dataset.item = question.item;
  $("shown").replaceChildren(...shownTexts(question));
  $("votes").replaceChildren(...votesOf(one));
  $("choices").replaceChildren(choices.element);
  choices.element.focus({ preventScroll: true });
  $("live").textContent = `Dispute ${place + 1} of ${disputes.length}. ${one.votes.map((vote) => `${vote.judge}: ${vote.label || vote.answer}`).join(". ")}`.slice(0, 1000);
}

/* The texts that judges chose or wrote, with what differs between them. */
function votesOf({ votes }) {
  const options = task.kind === "options";
  const said = votes.map((vote) => (options ? vote.label : vote.edit) || "");
  const marks = contrasts(said);
  return votes.map((vote, n) => h("li", {},
    h("p", { class: "judge" }, vote.judge),
    options ? null : h("p", { class: "label", dir: "auto" }, vote.label || vote.answer),
    said[n] ? h("p", { class: "text", ...written(said[n]) }, marked(said[n], marks[n])) : null,
    vote.comment ? h("p", { class: "remark", dir: "auto" }, vote.comment) : null));
}

function chosen(answer, verdict) {
  if (!verdict.edit) {
    decide(answer, "");
    return;
  }
  editing = answer;
  const given = disputes[place].votes.find((vote) => vote.edit)?.edit;
  $("edit").value = given ?? disputes[place].question.shown.find(({ name }) => name === verdict.field)?.text ?? "";
  $("edit-label").textContent = verdict.label;
  $("editor").hidden = false;
  $("edit").focus();
}

function sendEdit() {
  const text = $("edit").value.trim();
  if (text && task.free) decide(text, "");
  else if (text && editing !== null) decide(editing, text);
}

function put(one, answer, edit) {
  const { question } = one;
  outbox.put({
    task: task.key, item: question.item, answer, edit, comment: "", seen: question.seen,
    order: question.order, ms: 0, skipped: false,
  });
  open += Number(Boolean(one.decided)) - Number(Boolean(answer));
  one.decided = answer || null;
  one.decided_edit = edit;
}

function decide(answer, edit) {
  const one = disputes[place];
  actions.push({ task: task.key, one, before: one.decided, edit: one.decided_edit ?? "" });
  put(one, answer, edit);
  const after = disputes.findIndex(({ decided }, n) => n > place && !decided);
  const any = disputes.findIndex(({ decided }) => !decided);
  if (after >= 0) place = after;
  else if (any >= 0) place = any;
  else if (open > 0) load(task.key); // the next fifty
  show();
  if (open <= 0) $("live").textContent = "All disputes are decided.";
}

function undo() {
  const last = actions.pop();
  if (!last || last.task !== task?.key) return;
  put(last.one, last.before ?? "", last.before ? last.edit : "");
  place = Math.max(0, disputes.indexOf(last.one));
  show();
}

function go(step) {
  if (!disputes[place + step]) return;
  place += step;
  show();
}

async function load(key) {
  task = me.tasks.find((one) => one.key === key) ?? me.tasks[0];
  if (!task) return;
  $("task").value = task.key;
  actions.length = 0;
  try {
    await outbox.flush();
    ({ disputes, total, open } = await get("api/disputes", [["task", task.key]]));
    trouble(null);
  } catch (failure) {
    trouble(failure);
    return;
  }
  place = Math.max(0, disputes.findIndex(({ decided }) => !decided));
  show();
}

function key(event) {
  const found = meaning(event);
  if (!found || !disputes.length) return;
  const control = event.target.closest?.("button, a, summary");
  if (found === "j") go(1);
  else if (found === "k") go(-1);
  else if (found === "u") undo();
  else if (/^[1-9]$/.test(found)) choices.choose(Number(found) - 1);
  else if (found.startsWith("Arrow")) choices.move(found === "ArrowDown" || found === "ArrowRight" ? 1 : -1);
  else if (found === "Enter" && (!control || control.getAttribute("role"))) choices.confirm();
  else return;
  event.preventDefault();
}

function state() {
  const text = { gone: "session ended", offline: "offline", busy: "server busy", other: "signed in as somebody else" }[outbox.state];
  $("saved").dataset.state = outbox.state;
  $("saved").textContent = text ? `${text}, ${counted(outbox.size, "decision")} waiting` : "saved";
}

async function start() {
  me = await whoAmI();
  if (me) {
    outbox = new Outbox(me);
    outbox.addEventListener("change", state);
    outbox.addEventListener("saved", ({ detail }) => {
      const [first] = detail.refused;
      if (first) trouble({ message: `A decision was not accepted (${first.judgement.item}): ${first.reason}` });
    });
    $("task").replaceChildren(...me.tasks.map(({ key: value, title }) => h("option", { value }, title)));
    $("task-label").hidden = me.tasks.length < 2;
    $("task").addEventListener("change", () => load($("task").value));
    $("previous").addEventListener("click", () => go(-1));
    $("next").addEventListener("click", () => go(1));
    $("undo").addEventListener("click", undo);
    $("send").addEventListener("click", () => choices.confirm());
    $("edit-cancel").addEventListener("click", show);
    $("editor").addEventListener("submit", (event) => { event.preventDefault(); sendEdit(); });
    fieldKeys($("edit"), { enter: sendEdit, escape: show });
    document.addEventListener("keydown", key);
    state();
    await load(fragment());
  }
  document.documentElement.dataset.ready = "yes";
}

start();
