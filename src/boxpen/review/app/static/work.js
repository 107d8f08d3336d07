/* Judging one task: item after item, back and forth. */

import { get } from "./api.js";
import { Clock } from "./clock.js";
import { $ } from "./dom.js";
import { complain, openEditor } from "./editor.js";
import { showChecking, showFeedback, trainingText } from "./feedback.js";
import { Choices, hintList, plainName, promptOf, shownTexts } from "./question.js";
import { say, showProgress } from "./status.js";
import { Supply } from "./supply.js";

const PATIENCE = 2500; // ms to wait for the server's word on an edit
const LATER = 20_000; // ms after which to ask whether there is more to judge
const EARLIER = "You answered this earlier. Change your answer, or press Esc to go back.";
const clock = new Clock();

export class Work {
  /** shell: what the page around does: view(name), notify(text), finished(). */
  constructor(task, outbox, shell) {
    this.task = task;
    this.outbox = outbox;
    this.shell = shell;
    this.supply = new Supply(task, outbox);
    this.secondsLeft = task.seconds_left;
    this.current = null; // the question on the screen
    this.held = null; // the question that waits while an earlier answer is looked at
    this.choices = null;
    this.editing = null; // the answer that needs a text
    this.awaiting = null; // an edit of which the server has not said that it is sound
    this.checking = null; // id of the training answer whose feedback is shown or awaited
    this.actions = []; // what can be undone
    this.retry = null;
    this.left = false;
  }

  /** Show the first item, or say that there is none. */
  async begin() {
    await this.more();
    if (this.current) this.refill();
  }

  /** The judge goes to another task. */
  leave() {
    this.left = true;
    clearTimeout(this.retry);
  }

  progress() {
    const unsaved = this.outbox.waiting().map(({ judgement }) => judgement);
    const change = unsaved.reduce((sum, one) => sum + (one.task === this.task.key ? one.delta ?? 0 : 0), 0);
    const { done, total } = this.supply;
    showProgress(Math.max(0, Math.min(done + change, total)), total, this.secondsLeft);
  }

  /* ---- what is on the screen ---- */

  show(question, given = question.mine?.answer ?? "", comment = question.mine?.comment ?? "") {
    this.current = question;
    this.editing = this.awaiting = this.checking = null;
    const { task } = this;
    const prompt = promptOf(task, question);
    this.choices = new Choices(task, question, { given, label: prompt, send: (answer, one) => this.chosen(answer, one) });
    $("prompt").textContent = prompt;
    $("prompt").hidden = prompt === task.title; // which the header has
    $("shown").replaceChildren(...shownTexts(question));
    $("choices").replaceChildren(this.choices.element);
    $("hints").replaceChildren(...[hintList(question)].filter(Boolean));
    $("comment").value = comment;
    $("commenter").hidden = !comment;
    $("editor").hidden = !task.free;
    $("feedback").hidden = true;
    $("send").hidden = !this.choices.several;
    $("do-skip").disabled = question.training;
    this.#banner();
    $("item").dataset.item = question.item;
    this.shell.view("work");
    this.progress();
    if (window.scrollY) window.scrollTo(0, 0);
    if (task.free) openEditor("Your answer", given);
    else this.focus();
    clock.restart();
    setTimeout(() => {
      if (this.current === question) say(this.#spoken(question, prompt));
    });
  }

  /** Let keys mean answers. */
  focus() {
    this.choices?.element.focus({ preventScroll: true });
  }

  resume() {
    clock.restart();
    if (!this.current) return;
    // The event of a closed dialog may come after the next key has opened the editor.
    if (this.task.free || this.editing !== null) $("edit").focus();
    else this.focus();
  }

  #banner() {
    const { training, mine } = this.current;
    const text = training ? trainingText(this.task.training, mine) : this.held || mine ? EARLIER : "";
    $("banner").textContent = text;
    $("banner").hidden = !text;
  }

  #spoken(question, prompt) {
    const texts = question.shown.filter(({ name }) => name !== "question").map(({ name, text }) => `${name}: ${text}`);
    const options = this.choices.answers.map(({ label }, n) => `${n + 1}: ${label}`);
    return [$("count").textContent, prompt, ...texts, ...options].join(". ").slice(0, 1500);
  }

  /* ---- from item to item ---- */

  async next() {
    const question = this.held ?? this.supply.take();
    this.held = null;
    if (question) {
      this.show(question);
      setTimeout(() => this.refill());
    } else {
      this.current = null;
      await this.more();
    }
  }

  async refill() {
    try {
      await this.supply.fill([this.current, this.held]);
      if (!this.left) this.progress();
    } catch {
      // The connection is lost; what is here can be judged, and more() tries again.
    }
  }

  /** The connection may be back. */
  tryAgain() {
    if (!this.current && this.retry !== null && !$("waiting").hidden) this.more();
  }

  /* Nothing is here: ask the server, and say so if it has nothing either. */
  async more() {
    clearTimeout(this.retry);
    this.retry = null;
    try {
      await this.outbox.flush();
      if (this.outbox.size) throw new Error("not sent yet"); // what is skipped comes back once it is
      await this.supply.fresh();
      if (this.left || this.current) return;
      const busy = document.querySelector("dialog[open]:not(#instructions)"); // do not disturb
      const question = busy ? null : this.supply.take();
      if (question) this.show(question);
      else this.#finish();
    } catch (failure) {
      if (this.left || this.current) return;
      const told = failure.status && failure.status !== 401;
      $("waiting-text").textContent = told ? failure.message : "The next items come as soon as the connection is back.";
      this.shell.view("waiting");
      this.progress();
      this.retry = setTimeout(() => this.more(), 2000);
    }
  }

  /* All is judged; but where judges differ, a further one may be asked later. */
  #finish() {
    this.shell.finished();
    this.retry = setTimeout(() => this.more(), LATER);
  }

  /** Another tab of this judge has answered an item. */
  judgedElsewhere(item) {
    this.supply.drop(item);
    const busy = this.editing !== null || this.held || this.checking || $("comment").value;
    if (this.current?.item !== item || this.current.mine || busy) return;
    this.shell.notify("Answered in another tab.");
    this.next();
  }

  /* ---- judging ---- */

  chosen(answer, one) {
    if (this.checking || this.awaiting) return;
    if (!one.edit) {
      this.judge(answer, "");
      return;
    }
    const same = this.current.mine?.answer === answer;
    const field = this.current.shown.find(({ name }) => name === one.field);
    this.editing = answer;
    const text = same ? this.current.mine.edit : field?.text ?? "";
    openEditor(field ? `${one.label}: ${plainName(one.field)}` : one.label, text);
    $("editor").scrollIntoView({ block: "nearest" });
  }

  sendEdit() {
    const text = $("edit").value.trim();
    if (this.awaiting || (this.editing === null && !this.task.free)) return;
    if (!text) complain("Write a text first.");
    else if (this.task.free) this.judge(text, "");
    else this.judge(this.editing, text);
  }

  leaveEdit() {
    if (this.task.free) this.focus();
    else this.show(this.current, this.current.mine?.answer ?? "", $("comment").value);
  }

  judge(answer, edit, skipped = false) {
    const question = this.current;
    const before = question.mine;
    if (question.training && before) {
      this.shell.notify("Answers of the training stay as they were given.");
      return;
    }
    const comment = $("comment").value.trim();
    const id = this.#put(question, { answer, edit, comment, skipped, ms: clock.ms });
    question.mine = answer ? { answer, edit, comment } : null;
    if (!question.training) this.actions.push({ question, before, answer });
    this.supply.drop(question.item);
    if (question.training && answer) this.#check(id);
    else if (this.editing !== null || this.task.free) this.#await(id, question, before);
    else this.next();
  }

  #put(question, { answer, edit = "", comment = "", skipped = false, ms = 0 }) {
    const delta = Number(Boolean(answer)) - Number(Boolean(question.mine?.answer));
    const { item, seen, order } = question;
    return this.outbox.put({ task: this.task.key, item, answer, edit, comment, seen, order, ms, skipped }, delta);
  }

  /* A text may be refused, so the item stays until the server has seen it, if it can be reached. */
  #await(id, question, before) {
    if (this.outbox.state === "offline" || !navigator.onLine) {
      this.next();
      return;
    }
    this.awaiting = { id, question, before };
    setTimeout(() => {
      if (this.awaiting?.id === id) this.next();
    }, PATIENCE);
  }

  skip() {
    if (!this.current || this.checking || this.awaiting) return;
    if (this.held || this.current.mine) this.next();
    else if (this.current.training) this.shell.notify("Items of the training cannot be skipped.");
    else this.judge("", "", true);
  }

  /** What the server has said; returns the refusals that nobody was waiting for. */
  saved({ refused, progress, feedback }) {
    const found = progress[this.task.key];
    if (found) {
      this.supply.told(found);
      this.secondsLeft = found.seconds_left;
    }
    this.progress();
    const said = this.checking && feedback?.[this.checking];
    if (said) showFeedback(this.task, this.current, said);
    if (!this.awaiting) return refused;
    const { id, question, before } = this.awaiting;
    const mine = refused.find(({ judgement }) => judgement.id === id);
    if (mine) {
      this.awaiting = null;
      this.actions.pop();
      question.mine = before;
      this.progress();
      complain(mine.reason);
    } else if (!this.outbox.waiting().some(({ judgement }) => judgement.id === id)) this.next();
    return refused.filter((one) => one !== mine);
  }

  #check(id) {
    this.checking = id;
    const { training } = this.task;
    training.done = Math.min(training.done + 1, training.total);
    showChecking();
  }

  /* ---- back ---- */

  /** Take the last answer back, of this visit or an earlier one, and show its item again. */
  async undo() {
    if (this.checking || this.awaiting) return;
    const last = this.actions.pop() ?? (await this.#earlier());
    if (!last) {
      this.shell.notify("There is nothing to undo.");
      return;
    }
    const { question, before, answer } = last;
    const comment = question.mine?.comment ?? "";
    this.#put(question, before ?? { answer: "" });
    for (const waits of [this.current, this.held]) {
      if (waits && waits.item !== question.item && !waits.mine) this.supply.putBack(waits);
    }
    this.held = null;
    question.mine = before;
    this.supply.drop(question.item);
    this.show(question, answer, comment);
    this.shell.notify("Taken back.");
  }

  async #earlier() {
    try {
      await this.outbox.flush();
      const path = `api/tasks/${encodeURIComponent(this.task.key)}/mine`;
      const { judgements } = await get(path, [["limit", "20"]]);
      for (const { item } of judgements.filter(({ answer }) => answer)) {
        const question = await this.supply.one(item);
        if (question.training) continue;
        const before = null;
        return { question, before, answer: question.mine?.answer ?? "" };
      }
    } catch (failure) {
      this.shell.notify(failure.message);
    }
    return null;
  }

  /** Look at an earlier answer; the item on the screen waits. */
  async revisit(item) {
    try {
      const question = await this.supply.one(item);
      if (this.current && !this.held && !this.current.mine && this.current.item !== item) this.held = this.current;
      this.show(question);
    } catch (failure) {
      this.shell.notify(failure.message);
    }
  }

  comment() {
    if (!this.current) return;
    $("commenter").hidden = false;
    $("comment").focus();
  }

  leaveComment() {
    $("commenter").hidden = !$("comment").value.trim();
    this.focus();
  }
}
