"use strict";
(() => {
  const PAGE = 20, UNSCORED = 255, STEPS = 8, DARKEST = 11;
  const $ = (id) => document.getElementById(id);
  const loaded = new Map();
  let suite = null;
  let page = 0;
  let found = [];
  const only = new Set();

  /* ---- unpacking (see html_items.py) ---- */

  async function unpack(number) {
    const text = $("pack-" + number).textContent;
    const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
    const length = new DataView(bytes.buffer).getUint32(0, true);
    const s = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
    s.lengths = bytes.subarray(4 + length, 4 + length + s.spans);
    s.nats = bytes.subarray(4 + length + s.spans);
    s.starts = new Uint32Array(s.counts.length + 1);
    s.counts.forEach((n, i) => { s.starts[i + 1] = s.starts[i] + n; });
    s.first = new Uint32Array(s.ids.length + 1);
    s.numbers.forEach((n, i) => { s.first[i + 1] = s.first[i] + n; });
    s.models = s.runs.map((r, i) => i).filter((i) => s.runs[i].mark >= 0);
    s.cutShort = s.runs.map((r) => new Set(r.cut));
    s.inconsistent = s.runs.map((r) => inconsistent(s, r));
    return s;
  }

  /* The items of every block that is neither all right nor all wrong. */
  function inconsistent(s, run) {
    const blocks = new Map();
    s.blocks.forEach((block, i) => {
      if (block === null || run.credit[i] === null) return;
      if (!blocks.has(block)) blocks.set(block, []);
      blocks.get(block).push(i);
    });
    const split = new Set();
    for (const members of blocks.values()) {
      const right = members.every((i) => run.credit[i] === 1);
      const wrong = members.every((i) => run.credit[i] === 0);
      if (!right && !wrong) members.forEach((i) => split.add(i));
    }
    return split;
  }

  async function open(number) {
    if (!loaded.has(number)) loaded.set(number, await unpack(number));
    suite = loaded.get(number);
    fill($("model"), suite.runs.map((r, i) => [String(i), r.label]));
    const slices = [["", "all items"]];
    suite.cuts.forEach((cut, c) => cut.values.forEach((v, i) => slices.push([c + ":" + i, cut.name + " = " + v])));
    fill($("slice"), slices);
    const has = {
      tied: suite.runs.some((r) => r.tied.some((t) => t > 1)),
      inconsistent: suite.inconsistent.some((x) => x.size),
      disagree: suite.models.length > 1,
      everyone: suite.models.length > 1,
      cut: suite.cutShort.some((x) => x.size),
    };
    for (const button of document.querySelectorAll("[data-only]")) {
      const name = button.dataset.only;
      button.hidden = name in has && !has[name];
      if (button.hidden) only.delete(name);
    }
  }

  function fill(select, options) {
    const before = select.value;
    select.replaceChildren(...options.map(([value, text]) => new Option(text, value)));
    if (options.some(([value]) => value === before)) select.value = before;
  }

  /* ---- choosing ---- */

  const TESTS = {
    wrong: (i, m) => suite.runs[m].credit[i] === 0,
    right: (i, m) => suite.runs[m].credit[i] === 1,
    tied: (i, m) => suite.runs[m].tied[i] > 1,
    inconsistent: (i, m) => suite.inconsistent[m].has(i),
    cut: (i, m) => suite.cutShort[m].has(i),
    disagree: (i) => {
      const judged = suite.models.filter((m) => suite.runs[m].credit[i] !== null);
      return new Set(judged.map((m) => suite.runs[m].winner[i] + "/" + suite.runs[m].credit[i])).size > 1;
    },
    everyone: (i) => {
      const judged = suite.models.filter((m) => suite.runs[m].credit[i] !== null);
      return judged.length > 0 && judged.every((m) => suite.runs[m].credit[i] === 0);
    },
  };
  const ORDERS = {
    largest: (margin) => -Math.abs(margin),
    worst: (margin) => margin,
    closest: (margin) => Math.abs(margin),
  };

  function haystack(i) {
    suite.hay ??= new Array(suite.ids.length);
    return suite.hay[i] ??= [
      suite.ids[i], suite.blocks[i] ?? "", suite.sources[i] ?? "", suite.references[i] ?? "",
      [suite.prefixes[i] ?? suite.pairs[i] ?? ""].flat().join("\n"),
      ...suite.texts.slice(suite.first[i], suite.first[i + 1]),
      ...suite.tags.filter((t) => t.of[i] >= 0).map((t) => t.name + "=" + t.values[t.of[i]]),
    ].join("\n").toLowerCase();
  }

  function choose() {
    const m = Number($("model").value);
    const words = $("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const [c, v] = $("slice").value ? $("slice").value.split(":").map(Number) : [];
    const tests = [...only].map((name) => TESTS[name]);
    found = [];
    for (let i = 0; i < suite.ids.length; i++) {
      if (c !== undefined && suite.cuts[c].of[i] !== v) continue;
      if (!tests.every((test) => test(i, m))) continue;
      if (words.length && !words.every((w) => haystack(i).includes(w))) continue;
      found.push(i);
    }
    const by = ORDERS[$("order").value];
    if (by) {
      const margin = suite.runs[m].margin;
      const key = (i) => (margin[i] === null ? Infinity : by(margin[i]));
      found.sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : a - b));
    }
    page = 0;
    show();
  }

  /* ---- showing ---- */

  function make(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes ?? {})) element.setAttribute(name, value);
    element.append(...children.filter((c) => c !== null));
    return element;
  }

  function show() {
    const m = Number($("model").value);
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    const all = suite.ids.length.toLocaleString("en");
    $("count").textContent = found.length === suite.ids.length
      ? all + " items" : found.length.toLocaleString("en") + " of " + all + " items";
    $("page").textContent = (page + 1) + " / " + pages.toLocaleString("en");
    $("previous").disabled = page === 0;
    $("next").disabled = page >= pages - 1;
    $("pages-below").hidden = page >= pages - 1;
    $("list").replaceChildren(...found.slice(page * PAGE, (page + 1) * PAGE).map((i) => card(i, m)));
    if (!found.length) $("list").append(make("p", { class: "none" }, "No item is like that."));
  }

  function card(i, m) {
    if (!scored(i, m)) m = suite.runs.findIndex((r, n) => scored(i, n));
    const head = make("header", null, make("b", null, suite.ids[i]));
    if (suite.blocks[i] !== null) {
      const button = make("button", { type: "button", title: "show the whole block" }, "block " + suite.blocks[i]);
      button.addEventListener("click", () => {
        reset();
        $("search").value = suite.blocks[i];
        choose();
      });
      head.append(button);
    }
    for (const tag of suite.tags) {
      if (tag.of[i] >= 0) head.append(make("span", { class: "tag" }, tag.name + " " + tag.values[tag.of[i]]));
    }
    const article = make("article", { class: "item", "data-id": suite.ids[i] }, head);
    const runs = make("div", { class: "runs", role: "group", "aria-label": "models" });
    suite.runs.forEach((run, n) => {
      if (run.credit[i] !== null) runs.append(badge(i, n, m, article));
    });
    if (runs.childElementCount) article.append(runs);
    const before = [suite.prefixes[i] ?? []].flat();
    const shared = before.length > 1 && before.every((p) => p === before[0]);
    if (suite.sources[i]) article.append(given("source", suite.sources[i]));
    if (shared) article.append(given("before it", before[0]));
    if (suite.pairs[i]) article.append(given("premise", suite.pairs[i][0]), given("hypothesis", suite.pairs[i][1]));
    if (suite.numbers[i]) {
      const list = make("ol", { class: "candidates" });
      for (let c = 0; c < suite.numbers[i]; c++) list.append(candidate(i, c, m, shared ? "" : before[c] ?? ""));
      article.append(list);
    }
    const sensible = suite.texts[suite.first[i] + suite.gold[i]];
    if (suite.references[i] && suite.references[i].trim() !== sensible) article.append(given("reference", suite.references[i]));
    for (const run of suite.runs) {
      if (run.made[i] !== undefined) article.append(given(suite.runs.length > 1 ? run.label : "translated", run.made[i]));
    }
    return article;
  }

  const scored = (i, n) => suite.runs[n].credit[i] !== null;

  function given(name, text) {
    return make("p", { class: "given" }, make("span", null, name), " ", make("span", { class: "text" }, text));
  }

  function badge(i, n, m, article) {
    const run = suite.runs[n];
    const kind = run.tied[i] > 1 ? "tied" : run.credit[i] === 1 ? "right" : "wrong";
    const sign = { tied: "=", right: "✓", wrong: "✗" }[kind];
    const margin = run.mark < 0 ? "" : " " + signed(run.margin[i]) + " " + run.unit;
    const button = make(
      "button",
      { type: "button", class: kind, "aria-pressed": String(n === m), title: kind + ", margin" + (margin || " none") },
      make("i", null, sign), " " + run.label, make("small", null, margin),
    );
    button.addEventListener("click", () => {
      const fresh = card(i, n);
      article.replaceWith(fresh);
      fresh.querySelectorAll(".runs button")[[...button.parentNode.children].indexOf(button)].focus();
    });
    return button;
  }

  const signed = (x) => (x < 0 ? "−" : "+") + Math.abs(x).toFixed(Math.abs(x) < 0.095 ? 3 : 2);

  function candidate(i, c, m, before) {
    const run = suite.runs[m];
    const gold = suite.gold[i] === c || Boolean(suite.also[i]?.includes(c));
    const won = run !== undefined && (run.tied[i] > 1 ? run.scores[i][c] >= Math.max(...run.scores[i]) - 1e-3 : run.winner[i] === c);
    const what = make("span", { class: "what" });
    if (gold) what.append(make("b", null, "sensible"));
    if (won) what.append(make(gold ? "span" : "b", null, run.tied[i] > 1 ? "tied" : "chosen"));
    const line = make("span", { class: "text" });
    if (before) line.append(make("span", { class: "before" }, before.trimEnd() + " "));
    line.append(...tokens(i, c, m));
    const score = run?.scores[i]?.[c];
    const number = score === undefined || run.mark < 0 ? "" : score.toFixed(Math.abs(score) < 10 ? 2 : 1).replace("-", "−") + " " + run.unit;
    return make(
      "li", { class: gold ? "gold" : won ? "lost" : "" }, what, line,
      make("span", { class: "score", title: "score" }, number),
    );
  }

  function tokens(i, c, m) {
    const text = suite.texts[suite.first[i] + c];
    const place = (suite.first[i] + c) * suite.runs.length + m;
    const own = suite.other[place];
    const letters = [...(own ?? text)];
    if (!letters.length) return [make("span", { class: "none" }, "(the text is not kept)")];
    const [from, to] = own === undefined ? differing(i, c) : [0, 0];
    if (m < 0 || !suite.counts[place]) {
      return pieces(letters, 0, letters.length, from, to, {});
    }
    const out = [];
    const words = [];
    let at = 0;
    for (let k = suite.starts[place]; k < suite.starts[place + 1]; k++) {
      const code = suite.nats[k];
      const end = at + suite.lengths[k];
      const nats = code / STEPS;
      const attributes = code === UNSCORED ? { title: "not scored" } : {
        title: (code === 254 ? "31.8 nats or more" : nats.toFixed(1) + " nats"),
        style: "--a:" + (80 * Math.min(1, nats / DARKEST)).toFixed(1) + "%",
      };
      if (end === at) {
        out.push(make("span", { ...attributes, class: "tok end" }, "end"));
        continue;
      }
      out.push(...pieces(letters, at, end, from, to, attributes));
      if (!inWord(letters, at) || !words.length) words.push({ nats: 0 });
      const word = words.at(-1);
      word.nats += code === UNSCORED ? 0 : nats;
      if (out.at(-1).classList?.contains("differs")) word.last = out.at(-1);
      at = end;
    }
    const peak = words.filter((w) => w.last).sort((a, b) => b.nats - a.nats)[0];
    if (peak) {
      peak.last.classList.add("peak");
      peak.last.dataset.nats = peak.nats.toFixed(1) + " nats";
    }
    if (at < letters.length) out.push(letters.slice(at).join(""));
    return out;
  }

  /* A stretch of text, cut where the candidates begin or cease to differ. White space before a word
     is not coloured: the eye takes it for part of the word before. */
  function pieces(letters, start, end, from, to, attributes) {
    const out = [];
    while (start < end && /\s/.test(letters[start])) out.push(letters[start++]);
    const stops = [start, ...[from, to].filter((x) => x > start && x < end), end];
    for (let k = 0; k + 1 < stops.length; k++) {
      if (stops[k] === stops[k + 1]) continue;
      const differs = stops[k] >= from && stops[k] < to;
      out.push(make("span", { ...attributes, class: differs ? "tok differs" : "tok" }, letters.slice(stops[k], stops[k + 1]).join("")));
    }
    return out;
  }

  /* Where a candidate differs from the sensible one (that one: from the next), in whole words. */
  function differing(i, c) {
    if (suite.pairs[i]) return [0, 0];
    const gold = suite.gold[i];
    const rival = c !== gold ? gold : (gold + 1) % suite.numbers[i];
    const [a, b] = [c, rival].map((n) => [...suite.texts[suite.first[i] + n]]);
    let from = 0;
    while (from < a.length && from < b.length && a[from] === b[from]) from++;
    if (from === a.length && from === b.length) return [0, 0];
    let tail = 0;
    while (tail < a.length - from && tail < b.length - from && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
    while (inWord(a, from) || inWord(b, from)) from--;
    while (tail > 0 && (inWord(a, a.length - tail) || inWord(b, b.length - tail))) tail--;
    return [from, a.length - tail];
  }

  /* Whether a word goes on at this letter; in Chinese every character is a word. */
  function inWord(letters, k) {
    const part = /[\p{L}\p{M}\p{N}'’-]/u;
    const alone = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;
    return k > 0 && k < letters.length && [letters[k - 1], letters[k]].every((l) => part.test(l) && !alone.test(l));
  }

  /* ---- controls ---- */

  function press() {
    for (const button of document.querySelectorAll("[data-only]")) {
      button.setAttribute("aria-pressed", String(only.has(button.dataset.only)));
    }
  }

  function reset() {
    only.clear();
    $("search").value = "";
    $("slice").value = "";
    $("order").value = "suite";
    press();
  }

  function turn(step) {
    const pages = Math.ceil(found.length / PAGE);
    if (!suite || page + step < 0 || page + step >= pages) return;
    page += step;
    show();
  }

  /* #items?suite=0&run=1&cut=set&value=LA&only=wrong, as tables and charts link here. */
  async function follow() {
    const [place, query] = location.hash.slice(1).split("?");
    if (place !== "items" || query === undefined) return;
    const state = new URLSearchParams(query);
    reset();
    $("suite").value = state.get("suite") ?? "0";
    await open(Number($("suite").value));
    if (state.has("run")) $("model").value = state.get("run");
    const c = suite.cuts.findIndex((cut) => cut.name === state.get("cut"));
    if (c >= 0) $("slice").value = c + ":" + suite.cuts[c].values.indexOf(state.get("value"));
    if (state.get("only") in TESTS) only.add(state.get("only"));
    press();
    choose();
    $("items").scrollIntoView();
  }

  function listen() {
    let waiting = 0;
    $("controls").addEventListener("submit", (event) => event.preventDefault());
    $("search").addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(choose, 120);
    });
    $("suite").addEventListener("change", async () => {
      await open(Number($("suite").value));
      press();
      choose();
    });
    for (const id of ["model", "slice", "order"]) $(id).addEventListener("change", choose);
    for (const button of document.querySelectorAll("[data-only]")) {
      button.addEventListener("click", () => {
        const name = button.dataset.only;
        if (only.has(name)) only.delete(name);
        else only.add(name);
        press();
        choose();
      });
    }
    $("reset").addEventListener("click", () => { reset(); choose(); });
    $("previous").addEventListener("click", () => turn(-1));
    $("next").addEventListener("click", () => turn(1));
    $("next-below").addEventListener("click", () => { turn(1); $("items").scrollIntoView(); $("list").focus(); });
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "Escape" && event.target === $("search")) $("search").blur();
      if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) || event.target.closest?.(".scroll")) return;
      if (event.key === "/") { event.preventDefault(); $("search").focus(); }
      if (event.key === "ArrowRight") turn(1);
      if (event.key === "ArrowLeft") turn(-1);
    });
    window.addEventListener("hashchange", follow);
  }

  function theme() {
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const now = document.documentElement.dataset.theme ?? (dark ? "dark" : "light");
    document.documentElement.dataset.theme = now === "dark" ? "light" : "dark";
  }

  /* The section in view is marked in the navigation. */
  function watch() {
    const links = new Map([...document.querySelectorAll("nav a")].map((a) => [a.hash.slice(1), a]));
    const watcher = new IntersectionObserver((seen) => {
      for (const { target, isIntersecting } of seen) {
        if (!isIntersecting) continue;
        links.forEach((a) => a.removeAttribute("aria-current"));
        links.get(target.id)?.setAttribute("aria-current", "true");
      }
    }, { rootMargin: "-10% 0px -60% 0px" });
    document.querySelectorAll("main > section").forEach((section) => watcher.observe(section));
  }

  /* Says so where a table is wider than the page. */
  function hint() {
    for (const table of document.querySelectorAll(".scroll")) {
      const tell = () => {
        const left = table.scrollWidth - table.clientWidth - table.scrollLeft;
        table.previousElementSibling.hidden = left <= 1;
      };
      table.addEventListener("scroll", tell, { passive: true });
      new ResizeObserver(tell).observe(table);
      tell();
    }
  }

  async function browse() {
    if (typeof DecompressionStream === "undefined") {
      $("count").textContent = "This browser is too old to unpack the items; all else works.";
      return;
    }
    await open(0);
    listen();
    $("suite-label").hidden = $("suite").options.length < 2;
    for (const id of ["controls", "pages", "scale"]) $(id).hidden = false;
    choose();
    await follow();
  }

  async function start() {
    $("theme").addEventListener("click", theme);
    watch();
    hint();
    if ($("items")) await browse();
    document.documentElement.dataset.ready = "yes";
  }

  requestAnimationFrame(() => setTimeout(start));
})();
