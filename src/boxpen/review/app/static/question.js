/* One question on the screen: what is shown, and what can be answered. */

import { h } from "./dom.js";
import { contrasts, marked, written } from "./texts.js";

const LONG = 700; // characters from which texts are set smaller
const SHORT = 24; // columns up to which texts share a line; a Chinese character takes two

/** The answers of a question in order: {value, label, help, edit, joined, text}. */
export function answersOf(task, question) {
  if (task.kind === "options") {
    return question.options.map(({ number, text, lang }) => ({
      value: String(number), label: text, text: true, lang, edit: false, joined: false,
    }));
  }
  return task.verdicts;
}

/** What an answer says, in words: "tense and word order", or the text of an option. */
export function inWords(task, question, answer) {
  const found = new Map(answersOf(task, question).map((one) => [one.value, one.label]));
  if (found.has(answer)) return found.get(answer);
  return answer.split("+").map((value) => found.get(value) ?? value).join(" and ");
}

/** A question that the texts ask themselves, or the title of the task. */
export function promptOf(task, question) {
  return question.shown.find(({ name }) => name === "question")?.text || task.title;
}

/** Return the elements of the texts; what differs between similar ones is marked. */
export function shownTexts(question) {
  const shown = question.shown.filter(({ name, text }) => name !== "question" && text);
  const groups = shown.map(({ name }) => (name.includes("_") ? name.split("_")[0] : ""));
  const marks = contrasts(shown.map(({ text }) => text), groups);
  return shown.map(({ name, text, lang }, n) =>
    h("div", { class: columns(text) <= SHORT ? "given short" : "given" },
      h("h3", {}, plainName(name)),
      h("p", { class: text.length > LONG ? "text long" : "text", ...written(text, lang) }, marked(text, marks[n]))));
}

function columns(text) {
  return text.length + (text.slice(0, SHORT).match(/[\u2e80-\uffef]/g)?.length ?? 0);
}

/** Return the list of hints, which are not part of what is judged. */
export function hintList(question) {
  const hints = (question.hints ?? []).filter(({ text }) => text);
  if (!hints.length) return null;
  return h("dl", { class: "hints" },
    hints.map(({ name, text }) => h("div", {}, h("dt", {}, plainName(name)), h("dd", { dir: "auto" }, text))));
}

export function plainName(name) {
  return name.replaceAll("_", " ");
}

/**
 * The answers as buttons: a group of radio buttons, or of toggles where several can be given.
 *
 * A single answer is sent when it is chosen; several are sent together.
 */
export class Choices {
  constructor(task, question, { given = "", label, send }) {
    this.answers = answersOf(task, question);
    this.several = this.answers.some(({ joined }) => joined);
    this.send = send;
    this.chosen = new Set();
    if (this.answers.some(({ value }) => value === given)) this.chosen.add(given);
    else given.split("+").filter(Boolean).forEach((value) => this.chosen.add(value));
    const texts = this.answers.map((one) => (one.text ? one.label : ""));
    const marks = contrasts(texts);
    this.buttons = this.answers.map((one, n) => this.#button(one, n, marks[n]));
    const kind = this.answers.some(({ text }) => text) ? "choices texts" : "choices";
    this.element = h("div", {
      class: kind, "data-count": this.answers.length, role: this.several ? "group" : "radiogroup", "aria-label": label, tabindex: "-1",
    }, this.buttons);
    this.#show();
  }

  #button(one, n, marks) {
    const attributes = one.text ? { class: one.label.length > LONG ? "text long" : "text", ...written(one.label, one.lang) } : { class: "label" };
    return h("button", {
      type: "button", role: this.several ? "checkbox" : "radio", tabindex: "-1", click: () => this.choose(n),
    },
      n < 9 ? h("kbd", { "aria-hidden": "true" }, String(n + 1)) : h("span", { class: "nokey" }),
      h("span", { class: "says" },
        h("span", attributes, marked(one.label, marks)),
        one.help ? h("span", { class: "help" }, one.help) : null));
  }

  /** Choose by place, as a digit or a click does. */
  choose(n) {
    const one = this.answers[n];
    if (!one) return;
    if (!one.joined) {
      this.chosen = new Set([one.value]);
      this.#show();
      this.send(one.value, one);
      return;
    }
    for (const other of this.answers) if (!other.joined) this.chosen.delete(other.value);
    if (!this.chosen.delete(one.value)) this.chosen.add(one.value);
    this.#show();
    this.buttons[n].focus({ preventScroll: true });
  }

  /** Move by arrow keys. */
  move(step) {
    const now = this.buttons.indexOf(document.activeElement);
    const checked = this.answers.findIndex(({ value }) => this.chosen.has(value));
    const from = now >= 0 ? now : this.several ? -1 : checked;
    const count = this.buttons.length;
    const next = from < 0 ? (step > 0 ? 0 : count - 1) : (from + step + count) % count;
    if (!this.several) this.chosen = new Set([this.answers[next].value]);
    this.#show();
    this.buttons[next].focus();
  }

  /** Send what is chosen; false if nothing is. */
  confirm() {
    const given = this.answers.filter(({ value }) => this.chosen.has(value));
    if (!given.length) return false;
    this.send(given.map(({ value }) => value).join("+"), given[0]);
    return true;
  }

  #show() {
    const checked = this.answers.findIndex(({ value }) => this.chosen.has(value));
    this.buttons.forEach((button, n) => {
      button.setAttribute("aria-checked", String(this.chosen.has(this.answers[n].value)));
      button.tabIndex = this.several || n === Math.max(checked, 0) ? 0 : -1;
    });
  }
}
