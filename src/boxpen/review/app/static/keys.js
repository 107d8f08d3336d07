/* Which key means what, on any keyboard and with any input method. */

const FIELDS = "input, textarea, select, [contenteditable]";

/**
 * Return the meaning of a key press: a digit, a letter, "?", "/", or the name of a key; null if it
 * belongs to a field, an input method, an open dialog or the browser.
 */
export function meaning(event) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return null;
  if (event.isComposing || event.keyCode === 229) return null;
  if (event.target.closest?.(FIELDS) || document.querySelector("dialog[open]")) return null;
  const key = event.key.normalize("NFKC"); // full-width digits
  if (event.repeat && !key.startsWith("Arrow")) return null;
  if (key.length > 1) return key;
  if (/[0-9?/ ]/.test(key)) return key;
  // The digits of a French keyboard need the shift key, and letters may be Cyrillic or Arabic.
  const place = /^(?:Digit|Key)([0-9A-Z])$/.exec(event.code)?.[1] ?? "";
  if (/[0-9]/.test(place)) return event.shiftKey ? null : place;
  return /[a-z]/i.test(key) ? key.toLowerCase() : place.toLowerCase() || null;
}

/** Send a field with Enter (Shift+Enter: a new line), leave it with Escape. */
export function fieldKeys(field, { enter, escape }) {
  field.addEventListener("keydown", (event) => {
    if (event.isComposing || event.keyCode === 229) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      enter();
    } else if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      escape();
    }
  });
}
