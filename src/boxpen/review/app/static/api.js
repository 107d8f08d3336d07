/* Requests to the server; addresses are relative to where the app is mounted. */

const ROOT = new URL("../", import.meta.url);

/** A reply that is not a success; `status` 0: no reply at all. */
export class Failure extends Error {
  constructor(status, message, { retry = null, body = null } = {}) {
    super(message);
    this.status = status;
    this.retry = retry;
    this.body = body;
  }
}

export function address(path, query = []) {
  const url = new URL(path, ROOT);
  for (const [name, value] of query) url.searchParams.append(name, value);
  return url;
}

export function get(path, query = []) {
  return ask(address(path, query), { method: "GET" });
}

export function post(path, body, csrf = null, { keepalive = false, seconds = 20 } = {}) {
  const headers = { "Content-Type": "application/json" };
  if (csrf) headers["X-CSRF-Token"] = csrf;
  return ask(address(path), { method: "POST", headers, body: JSON.stringify(body), keepalive }, seconds);
}

/** End the session. */
export async function leave(csrf) {
  await post("leave", {}, csrf);
  location.replace(address("enter"));
}

/** What follows # in the address; empty if it is garbled. */
export function fragment() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return "";
  }
}

async function ask(url, options, seconds = 20) {
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(), seconds * 1000);
  let response;
  let text;
  try {
    response = await fetch(url, {
      ...options, signal: patience.signal, credentials: "same-origin", cache: "no-store",
    });
    text = await response.text();
  } catch {
    throw new Failure(0, "The server cannot be reached.");
  } finally {
    clearTimeout(timer);
  }
  let body = null;
  try {
    body = text ? JSON.parse(text) : null;
  } catch {
    body = null; // a proxy's page; the status tells enough
  }
  if (response.ok) return body;
  const after = Number(response.headers.get("Retry-After"));
  const retry = Number.isFinite(after) && after > 0 ? after : null;
  const message = typeof body?.error === "string" ? body.error : `The server answered ${response.status}.`;
  throw new Failure(response.status, message, { retry, body });
}
