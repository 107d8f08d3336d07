/*
 * Judgements on their way to the server.
 *
 * Each is kept in localStorage under a key of its own until the server has named its id, so tabs
 * never rewrite what another has stored, and a closed tab or a lost connection loses nothing. The
 * server saves an id once, so sending twice is harmless. One tab sends at a time, in order.
 */

import { Failure, get, post } from "./api.js";

const BATCH = 50;
const KEEPALIVE = 60_000; // browsers refuse larger requests that outlive their page
const LEASE = 25_000;
const NEVER = [400, 413, 415]; // what the app answers if sending the same again makes no sense

export class Outbox extends EventTarget {
  /** me: what `api/me` said; the queue belongs to this person and campaign. */
  constructor(me) {
    super();
    this.prefix = `boxpen ${me.campaign ?? ""} ${me.judge ?? me.name} `;
    this.csrf = me.csrf;
    this.me = me;
    this.state = "idle"; // idle, sending, offline, busy, gone, other
    this.storage = storage();
    this.memory = new Map(); // where there is no storage
    this.limit = BATCH;
    this.failures = 0;
    this.last = 0;
    this.timer = null;
    this.running = null;
    this.tab = uuid();
    this.channel = new BroadcastChannel(this.prefix);
    this.channel.onmessage = ({ data }) => {
      this.#tell(data.type, data);
      this.#tell("change");
    };
    // Browsers may show what another tab has stored or dropped later than its message arrives.
    window.addEventListener("storage", ({ key }) => {
      if (key === null || key.startsWith(this.prefix)) this.#tell("change");
    });
    window.addEventListener("online", () => this.flush());
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "visible" && (this.size || this.state !== "idle")) this.flush();
    });
    window.addEventListener("pagehide", () => this.#farewell());
  }

  /** Keep a judgement and send it in the background; return its id. */
  put(judgement, delta = 0) {
    const id = uuid();
    const kept = { ...judgement, id, delta };
    // The clock may be set back; the order of judgements must not be.
    const newest = this.#keys().at(-1);
    this.last = Math.max(Date.now(), this.last + 1, newest ? sequence(newest, this.prefix) + 1 : 0);
    const key = `${this.prefix}${String(this.last).padStart(16, "0")} ${id}`;
    try {
      this.storage.setItem(key, JSON.stringify(kept));
    } catch {
      this.memory.set(key, JSON.stringify(kept));
    }
    this.channel.postMessage({ type: "judged", task: kept.task, item: kept.item });
    this.#tell("change");
    // After the next item is painted.
    setTimeout(() => this.flush(), 0);
    return id;
  }

  get size() {
    return this.#keys().length;
  }

  /** Whether answers would be lost with this page. */
  get volatile() {
    return this.memory.size > 0;
  }

  /** What is not saved yet, oldest first. */
  waiting(most = Infinity) {
    const found = [];
    for (const key of this.#keys().slice(0, most)) {
      try {
        found.push({ key, judgement: JSON.parse(this.memory.get(key) ?? this.storage.getItem(key)) });
      } catch {
        this.#drop(key); // not ours
      }
    }
    return found.filter((entry) => entry.judgement);
  }

  /** Send what waits; resolves when nothing does, or when that is not possible now. */
  flush() {
    clearTimeout(this.timer);
    if (this.state === "other") return Promise.resolve();
    this.running ??= this.#alone(() => this.#send()).finally(() => {
      this.running = null;
      if (this.size && this.state === "idle") this.flush(); // put between the last look and now
    });
    return this.running;
  }

  async #send() {
    for (;;) {
      if (!navigator.locks) this.#store(`${this.prefix}lease`, `${this.tab} ${Date.now() + LEASE}`);
      const batch = this.waiting(this.limit);
      if (!batch.length) return this.#is("idle");
      this.#is(this.state === "idle" ? "sending" : this.state);
      const wait = await this.#post(batch);
      if (wait === null) continue;
      if (wait > 0) this.timer = setTimeout(() => this.flush(), wait);
      return undefined;
    }
  }

  /** Send a batch; return null to go on, or the milliseconds to wait (0: until told). */
  async #post(batch) {
    const judgements = batch.map(({ judgement: { delta: _, ...rest } }) => rest);
    const long = JSON.stringify(judgements).length > KEEPALIVE;
    try {
      const reply = await post("api/judgements", { judgements }, this.csrf, { keepalive: !long });
      this.failures = 0;
      this.limit = BATCH;
      this.#settle(batch, reply);
      return null;
    } catch (failure) {
      if (!(failure instanceof Failure)) throw failure;
      return this.#failed(batch, failure);
    }
  }

  async #failed(batch, failure) {
    const { status, body } = failure;
    if (status === 401) return this.#is("gone"), 0;
    if (status === 403 && (await this.#renewed())) return null;
    if (status === 403) return 0;
    if (Array.isArray(body?.saved) && Array.isArray(body?.refused)) {
      if (this.#settle(batch, body)) return null;
    }
    if (status === 413 && batch.length > 1) {
      this.limit = Math.max(1, batch.length >> 1);
      return null;
    }
    // Only the app itself may refuse an answer for good; a proxy's page is no reason to drop one.
    if (NEVER.includes(status) && typeof body?.error === "string") {
      if (batch.length > 1) {
        this.limit = 1; // find the one that is not understood
        return null;
      }
      const id = batch[0].judgement.id;
      this.#settle(batch, { saved: [], refused: [{ id, reason: failure.message }] });
      return null;
    }
    this.failures++;
    this.#is(status === 0 ? "offline" : "busy");
    const wait = Math.min(30_000, 250 * 2 ** Math.min(this.failures, 7)) * (0.75 + Math.random() / 2);
    return Math.max(wait, (failure.retry ?? 0) * 1000);
  }

  /** Drop what the server has named; return how many that are. */
  #settle(batch, reply) {
    const named = new Set([...reply.saved, ...reply.refused.map((one) => one.id)]);
    const mine = new Map(batch.map(({ key, judgement }) => [judgement.id, { key, judgement }]));
    const refused = [];
    for (const { id, reason } of reply.refused) {
      if (mine.has(id)) refused.push({ judgement: mine.get(id).judgement, reason });
    }
    let dropped = 0;
    for (const [id, { key }] of mine) {
      if (named.has(id)) dropped += this.#drop(key);
    }
    const news = { type: "saved", saved: reply.saved, refused, progress: reply.progress ?? {} };
    this.channel.postMessage(news);
    this.#is("sending");
    this.#tell("saved", { ...news, feedback: reply.feedback ?? {} });
    return dropped;
  }

  /** The token against forged requests may be old; the person must be the same. */
  async #renewed() {
    try {
      const me = await get("api/me");
      const same = (me.judge ?? me.name) === (this.me.judge ?? this.me.name);
      if (!same || (me.campaign ?? "") !== (this.me.campaign ?? "")) return this.#is("other"), false;
      const changed = me.csrf !== this.csrf;
      this.csrf = me.csrf;
      if (!changed) this.#is("other");
      return changed;
    } catch (failure) {
      this.#is(failure.status === 401 ? "gone" : "offline");
      if (failure.status !== 401) this.timer = setTimeout(() => this.flush(), 5000);
      return false;
    }
  }

  /** The page goes away: send what waits without waiting for a turn; ids make that safe. */
  #farewell() {
    if (this.state === "gone" || this.state === "other") return;
    const judgements = this.waiting(BATCH).map(({ judgement: { delta: _, ...rest } }) => rest);
    if (!judgements.length || JSON.stringify(judgements).length > KEEPALIVE) return;
    post("api/judgements", { judgements }, this.csrf, { keepalive: true }).catch(() => undefined);
  }

  /** Run while no other tab of this person sends. */
  async #alone(work) {
    // Browsers lend locks to secure pages only; on a plain address in a local network, take a lease.
    if (navigator.locks) return navigator.locks.request(this.prefix, work);
    const key = `${this.prefix}lease`;
    for (;;) {
      const [owner, until] = (this.#stored(key) ?? " 0").split(" ");
      if (owner === this.tab || Number(until) < Date.now()) {
        this.#store(key, `${this.tab} ${Date.now() + LEASE}`);
        await new Promise((done) => setTimeout(done, 20));
        if (this.#stored(key)?.startsWith(this.tab)) break;
        if (this.#stored(key) === null) break; // no storage: no other tab shares it
      }
      await new Promise((done) => setTimeout(done, 250));
    }
    try {
      return await work();
    } finally {
      if (this.#stored(key)?.startsWith(this.tab)) this.#forget(key);
    }
  }

  #keys() {
    const start = this.prefix.length;
    const own = [...this.memory.keys()];
    try {
      for (const key of Object.keys(this.storage)) {
        if (key.startsWith(this.prefix) && /^\d{16} /.test(key.slice(start, start + 17))) own.push(key);
      }
    } catch {
      // no storage
    }
    return own.sort();
  }

  #stored(key) {
    try {
      return this.storage.getItem(key);
    } catch {
      return null;
    }
  }

  #store(key, value) {
    try {
      this.storage.setItem(key, value);
    } catch {
      // no storage: no other tab shares it
    }
  }

  #forget(key) {
    try {
      this.storage.removeItem(key);
    } catch {
      // as above
    }
  }

  #drop(key) {
    this.memory.delete(key);
    this.#forget(key);
    return 1;
  }

  #is(state) {
    this.state = state;
    this.#tell("change");
  }

  #tell(type, detail = null) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}

/** The browser's storage; null where it is forbidden. */
export function storage() {
  try {
    return window.localStorage;
  } catch {
    return null;
  }
}

function sequence(key, prefix) {
  return Number(key.slice(prefix.length, prefix.length + 16));
}

/** A random id, also where `crypto.randomUUID` is withheld because the page is not secure. */
export function uuid() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return [0, 8, 12, 16, 20].map((at, n, all) => hex.slice(at, all[n + 1])).join("-");
}
