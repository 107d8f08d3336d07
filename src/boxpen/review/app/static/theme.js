/* Light or dark: as the system has it, until the button says otherwise. */

import { $ } from "./dom.js";
import { storage } from "./outbox.js";

const KEY = "boxpen theme";

function kept() {
  try {
    return storage()?.getItem(KEY);
  } catch {
    return null;
  }
}

function show(theme) {
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
}

show(kept());
$("theme")?.addEventListener("click", () => {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = document.documentElement.dataset.theme ?? (dark ? "dark" : "light");
  show(now === "dark" ? "light" : "dark");
  try {
    storage()?.setItem(KEY, document.documentElement.dataset.theme);
  } catch {
    // only until the page is closed
  }
});
