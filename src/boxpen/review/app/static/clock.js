/* How long a judge has looked at an item: time in which the page is hidden does not count. */

export class Clock {
  constructor() {
    this.restart();
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "hidden") this.#stop();
      else this.since = performance.now();
    });
  }

  restart() {
    this.spent = 0;
    this.since = document.visibilityState === "hidden" ? null : performance.now();
  }

  get ms() {
    return Math.round(this.spent + (this.since === null ? 0 : performance.now() - this.since));
  }

  #stop() {
    if (this.since !== null) this.spent += performance.now() - this.since;
    this.since = null;
  }
}

/** "about 9 min left"; null if unknown. */
export function timeLeft(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return null;
  if (seconds < 50) return "less than a minute left";
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return `about ${minutes} min left`;
  return `about ${Math.round(seconds / 360) / 10} h left`;
}
