/* A personal link ends in #TOKEN, which no server, log or other page gets to see. */

import { fragment, post } from "./api.js";
import { $ } from "./dom.js";

function tell(heading, message) {
  $("heading").textContent = heading;
  $("message").textContent = message;
  $("heading").focus();
}

async function enter() {
  const token = fragment();
  history.replaceState(null, "", location.pathname);
  if (!token) {
    tell("Open your personal link", "You get it from the person who runs this review. It is all you need to enter.");
    return;
  }
  try {
    await post("enter", { token });
    location.replace("./");
  } catch (failure) {
    const known = failure.status === 401 || failure.status === 403;
    tell(known ? "This link does not work" : "That did not work", known ? "It is mistyped, or it was revoked. Ask for a new one." : failure.message);
  }
}

enter();
window.addEventListener("hashchange", () => location.hash && enter());
