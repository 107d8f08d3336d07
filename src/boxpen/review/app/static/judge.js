/* The judge's screen: one item at a time. */

import { get } from "./api.js";
import { Clock } from "./clock.js";
import { $, counted, h } from "./dom.js";
import { showInstructions, wereRead } from "./instructions.js";
import { fieldKeys, meaning } from "./keys.js";
import { Mine } from "./mine.js";
import { Outbox } from "./outbox.js";
import { Choices, hintList, inWords, promptOf, shownTexts } from "./question.js";
import { say, showProgress, showSaved } from "./status.js";
import { Supply } from "./supply.js";

const VIEWS = ["chooser", "work", "finished", "waiting"];
const clock = new Clock();
let me = null;
let outbox = null;
let task = null;
let supply = null;
let current = null; // the question on the screen
let held = null; // the question that waits while an earlier answer is looked at
let choices = null;
let editing = null; // the answer that needs a text
let checking = null; // the id of a training answer whose feedback is shown or awaited
let actions = []; // what can be undone in this task
let secondsLeft = null;
let retry = null;

/* ---- what is on the screen ---- */

function view(name) {
  for (const id of VIEWS) $(id).hidden = id !== name;
  $("task-tools").hidden = name === "chooser" || !task;
}

function progress() {
  if (!task) return;
  const open = outbox.waiting().filter(({ judgement }) => judgement.task === task.key);
  const done = supply.done + open.reduce((sum, { judgement }) => sum + (judgement.delta ?? 0), 0);
  showProgress(Math.max(0, Math.min(done, supply.total)), supply.total, secondsLeft);
}

function show(question, given = question.mine?.answer ?? "") {
  current = question;
  editing = null;
  checking = null;
  const prompt = promptOf(task, question);
  choices = new Choices(task, question, { given, label: prompt, send: (answer, one) => chosen(answer, one) });
  $("prompt").textContent = prompt;
  $("shown").replaceChildren(...shownTexts(question));
  $("choices").replaceChildren(choices.element);
  $("hints").replaceChildren(...[hintList(question)].filter(Boolean));
  $("comment").value = question.mine?.comment ?? "";
  $("commenter").hidden = !$("comment").value;
  $("editor").hidden = true;
  $("feedback").hidden = true;
  $("send").hidden = !choices.several;
  $("banner").hidden = !(held || question.training);
  $("banner").textContent = held ? "You answered this earlier. Change your answer, or press Esc to go back." : trainingText();
  $("item").dataset.item = question.item;
  view("work");
  progress();
  choices.element.focus({ preventScroll: true });
  if (window.scrollY) window.scrollTo(0, 0);
  clock.restart();
  setTimeout(() => {
    if (current === question) say(spokenItem(question, prompt));
  });
}

function trainingText() {
  const { done, total } = task.training ?? { done: 0, total: 0 };
  const number = Math.min(done + 1, total);
  return `Training, item ${number} of ${total}: you see the expected answer after each item.`;
}

function spokenItem(question, prompt) {
  const texts = question.shown.filter(({ name }) => name !== "question").map(({ name, text }) => `${name}: ${text}`);
  const options = choices.answers.map(({ label }, n) => `${n + 1}: ${label}`);
  return [$("count").textContent, prompt, ...texts, ...options].join(". ").slice(0, 1500);
}

/* ---- from item to item ---- */

async function next() {
  const back = held;
  held = null;
  if (back) {
    show(back);
    return refill();
  }
  const question = supply.take();
  if (question) {
    show(question);
    setTimeout(refill);
    return undefined;
  }
  current = null;
  return more();
}

async function refill() {
  try {
    await supply.fill([current, held]);
    progress();
  } catch {
    // The connection is lost; what is here can be judged, and more() tries again.
  }
}

/* Nothing is here: ask the server, and say so if it has nothing either. */
async function more() {
  clearTimeout(retry);
  const mine = task;
  try {
    await outbox.flush();
    if (outbox.size) throw new Error("not sent yet"); // what is skipped comes back once it is
    await supply.fill([]);
    if (mine !== task || current) return;
    const question = supply.take();
    if (question) show(question);
    else finished();
  } catch (failure) {
    if (mine !== task || current) return;
    if (failure.status === 401) outbox.flush();
    $("waiting-text").textContent = failure.status && failure.status !== 401 ? failure.message : "The next items come as soon as the connection is back.";
    view("waiting");
    progress();
    retry = setTimeout(more, 2000);
  }
}

function finished() {
  view("finished");
  progress();
  const others = me.tasks.filter(({ key, done, total }) => key !== task.key && done < total);
  $("thanks").textContent = `Thank you, ${me.name}.`;
  $("summary").textContent = supply.total
    ? `You have judged all ${counted(supply.total, task.noun)} of “${task.title}”. You can still change your answers.`
    : "There is nothing to judge here at the moment.";
  $("others").hidden = !others.length;
  say(`Finished. ${$("summary").textContent}`);
  $("finished").querySelector("h2").focus({ preventScroll: true });
}

/* ---- judging ---- */

function chosen(answer, one) {
  if (checking) return;
  if (one.edit) edit(answer, one);
  else judge(answer, "");
}

function judge(answer, text, skipped = false) {
  const question = current;
  const before = question.mine;
  const entry = {
    task: task.key, item: question.item, answer, edit: text, comment: $("comment").value.trim(),
    seen: question.seen, order: question.order, ms: clock.ms, skipped,
  };
  const delta = question.training ? 0 : Number(Boolean(answer)) - Number(Boolean(before?.answer));
  const id = outbox.put(entry, delta);
  question.mine = answer ? { answer, edit: text, comment: entry.comment } : null;
  actions.push({ question, before, answer });
  supply.drop(question.item);
  if (question.training && answer && !held) check(id);
  else next();
}

function edit(answer, one) {
  editing = answer;
  const field = current.shown.find(({ name }) => name === one.field);
  const same = current.mine?.answer === answer;
  $("edit").value = same ? current.mine.edit : field?.text ?? "";
  $("edit-label").textContent = one.help || one.label;
  $("editor").hidden = false;
  $("edit").focus();
  $("edit").select();
}

function sendEdit() {
  const text = $("edit").value.trim();
  if (editing === null) return;
  if (!text) {
    $("edit").focus();
    say("Write the corrected text first.");
    return;
  }
  judge(editing, text);
}

function cancelEdit() {
  editing = null;
  show(current);
}

function skip() {
  if (checking || !current) return;
  if (held) next();
  else judge("", "", true);
}

/* Training: wait for what the server says. */
function check(id) {
  checking = id;
  task.training.done = Math.min(task.training.done + 1, task.training.total);
  $("feedback").hidden = false;
  $("feedback").dataset.right = "";
  $("feedback-title").textContent = "Checking …";
  $("feedback-why").textContent = "If you are offline, you can go on; your answer is kept.";
  $("go-on").focus({ preventScroll: true });
}

function feedback(found) {
  const right = found.right;
  const expected = inWords(task, current, found.answer ?? "");
  $("feedback").dataset.right = String(right);
  $("feedback-title").textContent = right ? "Right." : `The expected answer is: ${expected}`;
  $("feedback-why").textContent = found.why ?? "";
  $("feedback").scrollIntoView({ block: "nearest" });
  say(`${$("feedback-title").textContent} ${$("feedback-why").textContent}`);
}

/* Take the last answer back, of this visit or an earlier one, and show its item again. */
async function undo() {
  if (!task) return;
  const last = actions.pop() ?? (await earlier());
  if (!last) {
    notify("There is nothing to undo.");
    return;
  }
  const { question, before, answer } = last;
  const now = question.mine;
  outbox.put({
    task: task.key, item: question.item, answer: before?.answer ?? "", edit: before?.edit ?? "",
    comment: before?.comment ?? "", seen: question.seen, order: question.order, ms: 0, skipped: false,
  }, question.training ? 0 : Number(Boolean(before?.answer)) - Number(Boolean(now?.answer)));
  if (question.training && task.training.done) task.training.done--;
  for (const waits of [current, held]) if (waits && waits !== question && !waits.mine) supply.putBack(waits);
  held = null;
  question.mine = before;
  supply.drop(question.item);
  const comment = now?.comment ?? "";
  show(question, answer);
  if (comment) $("comment").value = comment;
  $("commenter").hidden = !$("comment").value;
  notify("Taken back.");
}

async function earlier() {
  try {
    await outbox.flush();
    const path = `api/tasks/${encodeURIComponent(task.key)}/mine`;
    const { judgements } = await get(path, [["limit", "20"]]);
    const last = judgements.find(({ answer }) => answer);
    if (!last) return null;
    const question = await supply.one(last.item);
    return { question, before: null, answer: question.mine?.answer ?? "" };
  } catch (failure) {
    notify(failure.message);
    return null;
  }
}

/* Look at an earlier answer; the item on the screen waits. */
async function revisit(item) {
  try {
    const question = await supply.one(item);
    if (current && !held && current.item !== item) held = current;
    if (!current) held = null;
    show(question);
    if (!held) {
      $("banner").textContent = "You answered this earlier. Change your answer, or press Esc to go back.";
      $("banner").hidden = !question.mine;
    }
  } catch (failure) {
    notify(failure.message);
  }
}

function comment() {
  if (!current) return;
  $("commenter").hidden = false;
  $("comment").focus();
}

/* A comment on an answer that is given already is saved with it. */
function leaveComment() {
  $("commenter").hidden = !$("comment").value.trim();
  choices.element.focus({ preventScroll: true });
}

let fading = null;
function notify(text) {
  $("notice").textContent = text;
  $("notice").hidden = false;
  clearTimeout(fading);
  fading = setTimeout(() => { $("notice").hidden = true; }, 4000);
}

function refused(list) {
  for (const { judgement, reason } of list) {
    const open = () => {
      row.remove();
      if (judgement.task === task?.key) revisit(judgement.item);
    };
    const row = h("p", { class: "alert" },
      `An answer was not accepted (${judgement.item}): ${reason} `,
      h("button", { type: "button", click: open }, "Show the item"),
      h("button", { type: "button", click: () => row.remove() }, "Dismiss"));
    $("refused").append(row);
  }
}

/* ---- tasks ---- */

function choose() {
  task = null;
  current = held = null;
  clearTimeout(retry);
  $("title").textContent = "Choose a task";
  $("task-list").replaceChildren(...me.tasks.map((one, n) =>
    h("li", {},
      h("a", { href: `#${encodeURIComponent(one.key)}`, class: "task" },
        n < 9 ? h("kbd", { "aria-hidden": "true" }, String(n + 1)) : null,
        h("span", { class: "says" },
          h("span", { class: "label" }, one.title),
          h("span", { class: "help" }, one.done < one.total ? `${one.done} of ${one.total} done` : `all ${one.total} done`))))));
  $("no-tasks").hidden = me.tasks.length > 0;
  view("chooser");
}

async function open(key) {
  const found = me.tasks.find((one) => one.key === key);
  if (!found) return choose();
  task = found;
  current = held = null;
  actions = [];
  secondsLeft = task.seconds_left;
  supply = new Supply(task, outbox);
  $("title").textContent = task.title;
  document.title = `${task.title} · boxpen`;
  progress();
  if (!wereRead(outbox.prefix, task)) instructions();
  await more();
  refill();
  return undefined;
}

function instructions() {
  if (task) showInstructions(task, outbox.prefix, () => {
    clock.restart();
    choices?.element.focus({ preventScroll: true });
  });
}

function follow() {
  const key = decodeURIComponent(location.hash.slice(1));
  if (key) return open(key);
  return me.tasks.length === 1 ? open(me.tasks[0].key) : choose();
}

async function tasks() {
  if (me.tasks.length < 2) return;
  try {
    me.tasks = (await get("api/me")).tasks;
  } catch {
    // the numbers of before
  }
  if (location.hash) location.hash = "";
  else choose();
}

/* ---- keys and buttons ---- */

const LETTERS = {
  u: undo, s: skip, c: comment, i: instructions, t: tasks,
  "/": () => task && mine.show(task, outbox), "?": () => $("keys").showModal(),
};

function key(event) {
  const found = meaning(event);
  if (!found) return;
  if (LETTERS[found]) {
    event.preventDefault();
    LETTERS[found]();
  } else if (!$("chooser").hidden) {
    if (/^[1-9]$/.test(found)) $("task-list").querySelectorAll("a")[Number(found) - 1]?.click();
  } else if (!$("work").hidden && current) working(event, found);
}

function working(event, found) {
  const control = event.target.closest?.("button, a, summary");
  const free = !control || control.getAttribute("role");
  if (checking) {
    if (found === "Enter" && control?.id !== "go-on") next();
  } else if (/^[1-9]$/.test(found)) {
    event.preventDefault();
    choices.choose(Number(found) - 1);
  } else if (found === "ArrowDown" || found === "ArrowRight" || found === "ArrowUp" || found === "ArrowLeft") {
    event.preventDefault();
    const forward = found === "ArrowDown" || (found === "ArrowRight") === (document.dir !== "rtl" && found !== "ArrowUp");
    choices.move(forward ? 1 : -1);
  } else if (found === "Enter" && free) {
    event.preventDefault();
    if (!choices.confirm()) say("Choose an answer first.");
  } else if (found === "Escape" && (held || current.mine)) next();
}

const mine = new Mine(revisit);

function listen() {
  document.addEventListener("keydown", key);
  window.addEventListener("hashchange", follow);
  const clicks = {
    "do-undo": undo, "do-skip": skip, "do-comment": comment, "do-instructions": instructions,
    "do-search": LETTERS["/"], "do-keys": LETTERS["?"], "do-tasks": tasks, "go-on": () => checking && next(),
    "do-review": LETTERS["/"], "do-others": tasks, "edit-cancel": cancelEdit, send: () => choices.confirm(),
  };
  for (const [id, act] of Object.entries(clicks)) $(id).addEventListener("click", act);
  $("editor").addEventListener("submit", (event) => { event.preventDefault(); sendEdit(); });
  fieldKeys($("edit"), { enter: sendEdit, escape: cancelEdit });
  fieldKeys($("comment"), { enter: leaveComment, escape: leaveComment });
  outbox.addEventListener("change", () => { showSaved(outbox); progress(); });
  outbox.addEventListener("saved", ({ detail }) => {
    refused(detail.refused);
    const found = task && detail.progress[task.key];
    if (found) {
      supply.done = found.done;
      supply.total = found.total;
      secondsLeft = found.seconds_left;
    }
    for (const one of me.tasks) Object.assign(one, detail.progress[one.key] ?? {});
    if (checking && detail.feedback?.[checking]) feedback(detail.feedback[checking]);
    if (task) progress();
  });
  outbox.addEventListener("judged", ({ detail }) => {
    if (!task || detail.task !== task.key) return;
    supply.drop(detail.item);
    if (current?.item === detail.item && !held && !current.mine && !checking) {
      notify("Answered in another tab.");
      next();
    }
  });
  window.addEventListener("beforeunload", (event) => { if (outbox.volatile) event.preventDefault(); });
}

async function start() {
  try {
    me = await get("api/me");
  } catch (failure) {
    $("title").textContent = "boxpen";
    $(failure.status === 401 ? "gone" : "unreachable").hidden = false;
    if (failure.status !== 401) setTimeout(() => location.reload(), 5000);
    document.documentElement.dataset.ready = "yes";
    return;
  }
  outbox = new Outbox(me);
  $("who").textContent = me.name;
  $("do-tasks").hidden = me.tasks.length < 2;
  listen();
  showSaved(outbox);
  outbox.flush();
  await follow();
  document.documentElement.dataset.ready = "yes";
}

start();
