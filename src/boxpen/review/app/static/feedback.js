/* Training: what the server says about an answer. */

import { $ } from "./dom.js";
import { inWords } from "./question.js";
import { say } from "./status.js";

/** The banner over a training item. */
export function trainingText({ done, total }, answered) {
  if (answered) return "A training item: its answer stays as you gave it. Press Esc to go back.";
  return `Training, item ${Math.min(done + 1, total)} of ${total}: you see the expected answer after each item.`;
}

export function showChecking() {
  $("feedback").dataset.right = "";
  $("feedback-title").textContent = "Checking …";
  $("feedback-why").textContent = "If you are offline, you can go on: your answer is kept.";
  $("feedback").hidden = false;
  $("go-on").focus({ preventScroll: true });
}

export function showFeedback(task, question, { right, answer, why }) {
  const expected = inWords(task, question, answer ?? "");
  $("feedback").dataset.right = String(right);
  $("feedback-title").textContent = right ? "Right." : `The expected answer is: ${expected}`;
  $("feedback-why").textContent = why ?? "";
  $("feedback").scrollIntoView({ block: "nearest" });
  say(`${$("feedback-title").textContent} ${$("feedback-why").textContent}`);
}
