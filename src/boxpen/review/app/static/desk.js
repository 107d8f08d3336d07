/* What the coordinator's pages share: who is here, trouble, and updates every few seconds. */

import { get, leave } from "./api.js";
import { $ } from "./dom.js";

/** Return what `api/me` says; null, with a sentence on the page, if nobody is signed in. */
export async function whoAmI() {
  try {
    const me = await get("api/me");
    $("who").textContent = me.name;
    $("do-leave").hidden = false;
    $("do-leave").addEventListener("click", () => leave(me.csrf).catch(trouble));
    for (const id of ["to-dashboard", "to-people"]) $(id).hidden = me.role !== "coordinator";
    return me;
  } catch (failure) {
    trouble(failure);
    return null;
  }
}

/** Show what went wrong, or nothing. */
export function trouble(failure) {
  $("trouble").hidden = !failure;
  if (!failure) return;
  $("trouble").textContent = failure.status === 401 ? "Your session has ended. Open your personal link again." : failure.message;
}

/** Run now and every few seconds while the page is visible; slower while the server is away. */
export function repeatedly(work, seconds) {
  let timer = null;
  let busy = false;
  const turn = async () => {
    if (busy) return;
    busy = true;
    clearTimeout(timer);
    let wait = seconds;
    if (document.visibilityState === "visible") {
      try {
        await work();
        trouble(null);
      } catch (failure) {
        if (failure.status === undefined) throw failure;
        trouble(failure);
        wait = Math.max(3 * seconds, failure.retry ?? 0);
      }
    }
    timer = setTimeout(turn, wait * 1000);
    busy = false;
  };
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && turn());
  return turn();
}

export function percent(part, all) {
  return all ? `${Math.round((100 * part) / all)} %` : "–";
}
