/* The field for a corrected text, or for an answer that is typed. */

import { $ } from "./dom.js";

export function openEditor(label, text) {
  $("edit-label").textContent = label;
  $("edit").value = text;
  $("edit-error").hidden = true;
  $("editor").hidden = false;
  $("edit").focus({ preventScroll: true });
  $("edit").select();
}

/** Say what is wrong with the text. */
export function complain(text) {
  $("edit-error").textContent = text;
  $("edit-error").hidden = false;
  $("edit").focus();
}
