/* Texts of items: their language, and where two of them differ. */

import { h } from "./dom.js";

const ALONE = "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}";
const TOKEN = new RegExp(`[${ALONE}]|(?:(?![${ALONE}])[\\p{L}\\p{M}\\p{N}'’-])+|\\s+|.`, "gsu");
const MOST = 400_000; // cells of the table of common subsequences
const MINIMAL = 0.5; // texts that share less are not a minimal pair

/** Words, single characters of Chinese and Japanese, spaces, and punctuation marks. */
export function tokens(text) {
  return text.match(TOKEN) ?? [];
}

/** Mark the tokens of two lists that are not in their longest common subsequence. */
export function differences(a, b) {
  const marks = [a.map(() => true), b.map(() => true)];
  let from = 0;
  while (from < a.length && from < b.length && a[from] === b[from]) from++;
  let tail = 0;
  const least = Math.min(a.length, b.length) - from;
  while (tail < least && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  marks[0].fill(false, 0, from).fill(false, a.length - tail);
  marks[1].fill(false, 0, from).fill(false, b.length - tail);
  const rows = a.length - tail - from;
  const columns = b.length - tail - from;
  if (rows * columns > MOST || rows > 60_000 || columns > 60_000) return marks;
  const width = columns + 1;
  const common = new Uint16Array((rows + 1) * width);
  for (let i = rows - 1; i >= 0; i--) {
    for (let j = columns - 1; j >= 0; j--) {
      common[i * width + j] =
        a[from + i] === b[from + j]
          ? common[(i + 1) * width + j + 1] + 1
          : Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
    }
  }
  for (let i = 0, j = 0; i < rows && j < columns; ) {
    if (a[from + i] === b[from + j]) {
      marks[0][from + i++] = marks[1][from + j++] = false;
    } else if (common[(i + 1) * width + j] >= common[i * width + j + 1]) i++;
    else j++;
  }
  return marks;
}

/** The share of words that two texts have in common. */
function similarity(a, b, marks) {
  const word = (token) => !/^\s+$/u.test(token);
  const same = a.filter((token, n) => word(token) && !marks[0][n]).length;
  const all = a.filter(word).length + b.filter(word).length;
  return all ? (2 * same) / all : 0;
}

/**
 * Compare each text with the one most like it, and return the marks of each; null where no other is
 * like it. Texts of one group, such as the two halves of a pair, are compared with each other first.
 */
export function contrasts(texts, groups = texts.map(() => "")) {
  if (texts.length > 12) return texts.map(() => null);
  const split = texts.map((text) => (text.length > 20_000 ? null : tokens(text)));
  return texts.map((text, n) => {
    let best = null;
    texts.forEach((other, m) => {
      if (m === n || other === text || !split[n] || !split[m]) return;
      const marks = differences(split[n], split[m]);
      const alike = similarity(split[n], split[m], marks);
      const rank = alike + (groups[n] && groups[n] === groups[m] ? 1 : 0);
      if (alike >= MINIMAL && rank > (best?.rank ?? 0)) best = { rank, marks: marks[0] };
    });
    return best && best.marks;
  });
}

/** Return a text as nodes, with what differs in `mark` elements. */
export function marked(text, marks) {
  if (!marks) return [text];
  const parts = tokens(text);
  const nodes = [];
  let run = "";
  let open = false;
  const close = () => {
    if (run) nodes.push(open ? h("mark", {}, run) : run);
    run = "";
  };
  parts.forEach((token, n) => {
    const space = /^\s+$/u.test(token);
    const differs = space ? Boolean(marks[n - 1] && marks[n + 1]) : marks[n];
    if (differs !== open) close();
    open = differs;
    run += token;
  });
  close();
  return nodes;
}

/** Attributes of a text: it may run either way, and its script may tell its language. */
export function written(text, lang) {
  return { dir: "auto", lang: lang ?? scriptLanguage(text) };
}

function scriptLanguage(text) {
  const start = text.slice(0, 400);
  if (/[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(start)) return "ja";
  if (/\p{Script=Hangul}/u.test(start)) return "ko";
  if (/\p{Script=Han}/u.test(start)) return "zh";
  if (/\p{Script=Hebrew}/u.test(start)) return "he";
  return null;
}
