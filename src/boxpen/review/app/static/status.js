/* How far the judge is, and whether answers are saved. */

import { timeLeft } from "./clock.js";
import { $, counted } from "./dom.js";

let spoken = "";

/** Say something to screen readers. */
export function say(text) {
  $("live").textContent = text;
}

export function showProgress(done, total, seconds) {
  $("progress").max = Math.max(total, 1);
  $("progress").value = done;
  $("count").textContent = `${done.toLocaleString("en")} of ${total.toLocaleString("en")}`;
  const left = done < total ? timeLeft(seconds) : null;
  $("left").textContent = left ? `· ${left}` : "";
}

/** Show the state of the outbox; calm while all is well. */
export function showSaved(outbox) {
  const waiting = outbox.size;
  const kept = `${counted(waiting, "answer")} waiting`;
  const state = {
    gone: "session ended",
    other: "signed in as somebody else",
    offline: waiting ? `offline, ${kept}` : "offline",
    busy: `server busy, ${kept}`,
  }[outbox.state];
  const text = state ?? (waiting > 3 ? `saving, ${kept}` : "saved");
  const element = $("saved");
  if (element.textContent !== text) element.textContent = text;
  element.dataset.state = outbox.state;
  const told = state ? text : "saved";
  if (spoken && (spoken === "saved") !== (told === "saved")) $("spoken").textContent = state ? text : "All answers are saved.";
  spoken = told;
  $("gone").hidden = outbox.state !== "gone";
  $("gone-kept").textContent = waiting ? `${counted(waiting, "answer")} not sent yet; nothing is lost.` : "";
  $("other").hidden = outbox.state !== "other";
  $("volatile").hidden = !outbox.volatile;
}
