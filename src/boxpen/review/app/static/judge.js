/* The judge's page: tasks, keys and what surrounds the item. */

import { fragment, get, leave } from "./api.js";
import { $, counted, h } from "./dom.js";
import { showInstructions, wereRead } from "./instructions.js";
import { fieldKeys, meaning } from "./keys.js";
import { Mine } from "./mine.js";
import { Outbox } from "./outbox.js";
import { say, showSaved } from "./status.js";
import { Work } from "./work.js";

const VIEWS = ["chooser", "work", "finished", "waiting"];
let me = null;
let outbox = null;
let work = null; // the task that is judged
let fading = null;

/* ---- the page around the item ---- */

function view(name) {
  for (const id of VIEWS) $(id).hidden = id !== name;
  for (const id of ["task-tools", "progress", "how-far"]) $(id).hidden = name === "chooser";
  $("do-tasks").hidden = name === "chooser" || me.tasks.length < 2;
}

function notify(text) {
  $("notice").textContent = text;
  $("notice").hidden = false;
  clearTimeout(fading);
  fading = setTimeout(() => { $("notice").hidden = true; }, 3000);
}

function finished() {
  const { task, supply } = work;
  const news = $("finished").hidden;
  view("finished");
  work.progress();
  const others = me.tasks.some(({ key, done, total }) => key !== task.key && done < total);
  $("thanks").textContent = `Thank you, ${me.name}.`;
  $("summary").textContent = supply.done
    ? `You have judged all ${counted(supply.done, task.noun)} that you were asked about. You can still change your answers.`
    : "There is nothing for you to judge here at the moment.";
  $("do-review").hidden = !supply.done;
  $("others").hidden = !others;
  if (!news) return;
  say(`Finished. ${$("summary").textContent}`);
  $("thanks").focus({ preventScroll: true });
}

function refused(list) {
  for (const { judgement, reason } of list) {
    const open = () => {
      row.remove();
      if (judgement.task === work?.task.key) work.revisit(judgement.item);
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
  work?.leave();
  work = null;
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
  const task = me.tasks.find((one) => one.key === key);
  if (!task) {
    choose();
    return;
  }
  work?.leave();
  work = new Work(task, outbox, { view, notify, finished });
  $("title").textContent = task.title;
  document.title = `${task.title} · boxpen`;
  work.progress();
  if (!wereRead(outbox.prefix, task)) instructions();
  await work.begin();
}

function follow() {
  const key = fragment();
  if (key) return open(key);
  return me.tasks.length === 1 ? open(me.tasks[0].key) : choose();
}

async function tasks() {
  if (me.tasks.length < 2) return;
  try {
    await outbox.flush();
    me.tasks = (await get("api/me")).tasks;
  } catch {
    // the numbers of before
  }
  if (location.hash) location.hash = "";
  else choose();
}

function instructions() {
  if (work) showInstructions(work.task, outbox.prefix, () => work?.resume());
}

/* Whoever sits here next must not answer in this judge's name. */
async function goAway() {
  await outbox.flush();
  if (outbox.size) notify(`${counted(outbox.size, "answer")} not sent yet; wait until all is saved.`);
  else await leave(outbox.csrf).catch((failure) => notify(failure.message));
}

const mine = new Mine((item) => work?.revisit(item));

/* ---- keys and buttons ---- */

const ACTS = {
  u: () => work?.undo(),
  s: () => work?.skip(),
  c: () => work?.comment(),
  i: instructions,
  t: tasks,
  "/": () => work && mine.show(work.task, outbox),
  "?": () => $("keys").showModal(),
};
const ARROWS = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 };

function key(event) {
  const found = meaning(event);
  if (!found) return;
  if (ACTS[found]) {
    event.preventDefault();
    ACTS[found]();
  } else if (!$("chooser").hidden) {
    if (/^[1-9]$/.test(found)) $("task-list").querySelectorAll("a")[Number(found) - 1]?.click();
  } else if (!$("work").hidden && work?.current) answer(event, found);
}

function answer(event, found) {
  const control = event.target.closest?.("button, a, summary");
  const free = !control || control.getAttribute("role"); // other buttons take Enter themselves
  if (work.checking) {
    if (found === "Enter" && free) work.next();
  } else if (/^[1-9]$/.test(found)) {
    event.preventDefault();
    work.choices.choose(Number(found) - 1);
  } else if (ARROWS[found] && work.choices.buttons.length) {
    event.preventDefault();
    work.choices.move(ARROWS[found]);
  } else if (found === "Enter" && free) {
    event.preventDefault();
    if (!work.choices.confirm()) say("Choose an answer first.");
  } else if (found === "Escape" && (work.held || work.current.mine)) work.next();
}

function listen() {
  document.addEventListener("keydown", key);
  window.addEventListener("hashchange", follow);
  const clicks = {
    "do-undo": ACTS.u, "do-skip": ACTS.s, "do-comment": ACTS.c, "do-instructions": ACTS.i, "do-tasks": ACTS.t,
    "do-search": ACTS["/"], "do-review": ACTS["/"], "do-keys": ACTS["?"], "do-others": ACTS.t,
    "do-leave": goAway,
    "go-on": () => work?.checking && work.next(),
    "edit-cancel": () => work?.leaveEdit(),
    send: () => work?.choices.confirm(),
  };
  for (const [id, act] of Object.entries(clicks)) $(id).addEventListener("click", act);
  $("editor").addEventListener("submit", (event) => {
    event.preventDefault();
    work?.sendEdit();
  });
  fieldKeys($("edit"), { enter: () => work?.sendEdit(), escape: () => work?.leaveEdit() });
  const done = () => work?.leaveComment();
  fieldKeys($("comment"), { enter: done, escape: done });
  outbox.addEventListener("change", () => {
    showSaved(outbox);
    work?.progress();
    if (outbox.state === "idle") work?.tryAgain();
  });
  outbox.addEventListener("saved", ({ detail }) => {
    for (const one of me.tasks) Object.assign(one, detail.progress[one.key] ?? {});
    refused(work ? work.saved(detail) : detail.refused);
  });
  outbox.addEventListener("judged", ({ detail }) => {
    if (detail.task === work?.task.key) work.judgedElsewhere(detail.item);
  });
  window.addEventListener("beforeunload", (event) => {
    if (outbox.volatile) event.preventDefault();
  });
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
  listen();
  showSaved(outbox);
  outbox.flush();
  await follow();
  document.documentElement.dataset.ready = "yes";
}

start();
