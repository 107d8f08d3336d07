/* People: add, revoke, renew. A link is shown once. */

import { get, post } from "./api.js";
import { trouble, whoAmI } from "./desk.js";
import { $, h, patch } from "./dom.js";

let me = null;

function row(one) {
  const date = (time) => (time ? String(time).replace("T", " ").slice(0, 16) : "–");
  return h("tr", { class: one.revoked ? "revoked" : null, "data-key": String(one.id) },
    h("th", { scope: "row" }, one.name),
    h("td", {}, one.role),
    h("td", {}, date(one.created)),
    h("td", {}, one.revoked ? "revoked" : date(one.seen)),
    h("td", {},
      h("button", { type: "button", "data-act": "renew", "data-id": one.id, "aria-label": `New link for ${one.name}` }, "New link"),
      one.revoked ? null : h("button", { type: "button", "data-act": "revoke", "data-id": one.id, "aria-label": `Revoke the link of ${one.name}` }, "Revoke")));
}

async function list() {
  const people = await get("api/people");
  patch($("people"), [h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of people" },
    h("table", {},
      h("thead", {}, h("tr", {}, ["name", "role", "added", "last seen", ""].map((name) => h("th", { scope: "col" }, name || h("span", { class: "hidden" }, "actions"))))),
      h("tbody", {}, people.map(row))))]);
}

function reveal(name, link) {
  $("link-title").textContent = `The link of ${name}`;
  $("link-text").value = link;
  $("copy").textContent = "Copy";
  $("link").hidden = false;
  $("link-text").focus();
  $("link-text").select();
}

/** Browsers lend the clipboard to secure pages only; elsewhere the old way works. */
async function copy() {
  $("link-text").select();
  try {
    await navigator.clipboard.writeText($("link-text").value);
  } catch {
    document.execCommand("copy");
  }
  $("copy").textContent = "Copied";
}

async function act(body, name) {
  try {
    const reply = await post("api/people", body, me.csrf);
    trouble(null);
    await list();
    if (reply?.link) reveal(name, reply.link);
    return true;
  } catch (failure) {
    trouble(failure);
    return false;
  }
}

async function start() {
  me = await whoAmI();
  if (me) {
    $("add").addEventListener("submit", async (event) => {
      event.preventDefault();
      const name = $("name").value.trim();
      if (name && (await act({ action: "add", name, role: $("role").value }, name))) $("name").value = "";
    });
    $("people").addEventListener("click", (event) => {
      const button = event.target.closest("button[data-act]");
      if (!button) return;
      const name = button.closest("tr").querySelector("th").textContent;
      const { act: action, id } = button.dataset;
      const question = action === "revoke" ? `Revoke the link of ${name}? What was judged is kept.` : `Make a new link for ${name}? The old one stops working.`;
      if (window.confirm(question)) act({ action, id: numeric(id) }, name);
    });
    $("copy").addEventListener("click", copy);
    $("link-close").addEventListener("click", () => {
      $("link").hidden = true;
      $("link-text").value = "";
    });
    try {
      await list();
    } catch (failure) {
      trouble(failure);
    }
  }
  document.documentElement.dataset.ready = "yes";
}

function numeric(id) {
  return /^\d+$/.test(id) ? Number(id) : id;
}

start();
