/* The questions that come next, fetched before they are needed. */

import { get } from "./api.js";

const AHEAD = 5;

export class Supply {
  constructor(task, outbox) {
    this.task = task;
    this.outbox = outbox;
    this.next = [];
    this.phase = "judging";
    this.done = task.done;
    this.total = task.total;
    this.news = 0; // how often the server has told how far the judge is
    this.filling = null;
  }

  /** The server has told how far the judge is. */
  told({ done, total }) {
    this.news++;
    this.done = done;
    this.total = total;
  }

  /** Take the next question; null if none is here yet. */
  take() {
    return this.next.shift() ?? null;
  }

  putBack(question) {
    this.drop(question.item);
    this.next.unshift(question);
  }

  drop(item) {
    this.next = this.next.filter((question) => question.item !== item);
  }

  /**
   * Fetch until five questions are ahead; those in `held` are on the screen.
   *
   * Judgements that the server has not seen yet are left out too, as it would ask them again.
   */
  fill(held = []) {
    this.filling ??= this.#fill(held).finally(() => {
      this.filling = null;
    });
    return this.filling;
  }

  /** The same, leaving out nothing but what is ahead; not what an earlier request has brought. */
  async fresh() {
    await this.filling?.catch(() => undefined);
    await this.fill([]);
  }

  async #fill(held) {
    if (this.next.length >= AHEAD) return;
    if (this.outbox.size > 40) await this.outbox.flush();
    const known = this.#known(held);
    const { news } = this;
    const query = [["limit", String(AHEAD + 1 - this.next.length)], ...[...known].map((item) => ["after", item])];
    const reply = await get(`api/tasks/${encodeURIComponent(this.task.key)}/queue`, query);
    const late = this.#known(held); // what was judged meanwhile
    this.next.push(...reply.questions.filter(({ item }) => !known.has(item) && !late.has(item)));
    this.phase = reply.phase;
    if (news === this.news) this.told(reply); // not if judgements were saved meanwhile
  }

  #known(held) {
    const unsaved = this.outbox.waiting(200).map(({ judgement }) => judgement);
    return new Set([
      ...held.filter(Boolean).map(({ item }) => item),
      ...this.next.map(({ item }) => item),
      ...unsaved.filter(({ task }) => task === this.task.key).map(({ item }) => item),
    ]);
  }

  /** Fetch one question by name. */
  one(item) {
    return get(`api/tasks/${encodeURIComponent(this.task.key)}/items/${encodeURIComponent(item)}`);
  }
}
