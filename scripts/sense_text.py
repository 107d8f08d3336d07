"""Can the text of docs/results/sense.md teach sense making? Learning curves, and coverage.

    sense_text.py run     build/sense/text.json: counts on 1/256 to all of the text, in minutes
    sense_text.py tables  docs/results/sense.md and figures/sense-text.svg

Needs ``sense.py prepare``, and ``BOXPEN_MODELS`` for bert-mini. Two ways of counting read the
text both ways, as a bidirectional LSTM does, and in seconds: *4-grams* with Kneser-Ney smoothing
(Chen and Goodman, 1999), forwards and backwards, and the *company* of content words in a sentence
(pointwise mutual information). Sentences of Sen-Making are taken out of the text.
"""

from __future__ import annotations

import argparse
import json
import lzma
import math
import os
import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import results
from kinds import EARLIER, ELMO, followed, line, words_cell
from kinds import WORDS as ALL_WORDS
from kinds import on_page as accuracy_of
from results import write

import boxpen
from boxpen.analysis.curve import Point
from boxpen.english.normal import normal
from boxpen.metrics.intervals import Estimate, share
from boxpen.report.curve import curve_svg

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "sense"
FOUND = FOLDER / "text.json"
SHARES = {1 / 256: 3, 1 / 64: 3, 1 / 16: 3, 1 / 8: 3, 1 / 4: 3, 1 / 2: 3, 1.0: 1}
"""Of the text, with the number of samples of each."""
ORDER, BITS = 4, 16
WORDS = (1 << BITS) - 3  # the commonest; any other is <unk>
BEGIN, END, UNKNOWN = WORDS, WORDS + 1, WORDS + 2
FUNCTION = 150
"""The N commonest words are said of anything, and not counted as content."""
GROUPS = {
    "never": (0, 0.5),
    "1 to 4 times": (1, 4),
    "5 to 49 times": (5, 49),
    "50 or more": (50, None),
}
LARGER = 4
"""Sizes that a second line is fitted to, which is followed from near them."""
RESAMPLES = 4000
SEED = 1989


class Pairs(NamedTuple):
    """The pairs of Sen-Making: for each, words of the sensible sentence and of the other."""

    ids: list[str]
    sentences: list[tuple[list[str], list[str]]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=("run", "tables"))
    if parser.parse_args().command == "run":
        FOUND.write_text(json.dumps(found(), indent=1), "utf-8")
    else:
        tables(json.loads(FOUND.read_text("utf-8")))


def words_of(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+(?:'[a-z]+)?|[.,!?;:]", text.lower())


def pairs() -> Pairs:
    items = boxpen.load_suite("senmaking").where(set="sen-making").items
    sides = [[words_of(text) for text in item.candidates] for item in items]
    both = [(s[item.gold], s[1 - item.gold]) for s, item in zip(sides, items, strict=True)]
    return Pairs([item.id for item in items], both)


def found() -> dict[str, Any]:
    """Count, and return the credit of every pair by sample, and how often its words met."""
    asked = pairs()
    taken = {" ".join(s).rstrip(".") for both in asked.sentences for s in both}
    with lzma.open(FOLDER / "text.txt.xz", "rt", encoding="utf-8") as lines:
        text = [words_of(row) for row in lines]
    text = [s for s in text if s and " ".join(s).rstrip(".") not in taken]
    often = Counter(word for sentence in text for word in sentence)
    names = [word for word, _ in often.most_common(WORDS)]
    place = {word: i for i, word in enumerate(names)}
    coded = [[place.get(word, UNKNOWN) for word in s] for s in text]
    del text
    sides = [[[place.get(w, UNKNOWN) for w in s] for s in both] for both in asked.sentences]
    # Content words are told apart by their base forms: an elephant is in company with a fridge
    # where elephants are.
    bases: dict[str, int] = {}
    base = np.array([bases.setdefault(normal(word) or word, len(bases)) for word in names])
    content = {int(base[i]) for i, w in enumerate(names) if i >= FUNCTION and w[0].isalpha()}
    content -= {int(base[i]) for i in range(FUNCTION)}
    out: dict[str, Any] = {"ids": asked.ids, "samples": []}
    for part, seeds in SHARES.items():
        for seed in range(seeds):
            some = coded
            if part < 1:
                some = random.Random(SEED + seed).sample(coded, round(part * len(coded)))
            number = sum(map(len, some))
            grams = earned(ngram_scores(some, sides))
            together = Company(some, base, content)
            company = earned([together.score(s) for s in both] for both in sides)
            sample = {"share": part, "seed": seed, "sentences": len(some), "words": number}
            out["samples"].append({**sample, "4-grams": grams, "company": company})
            shown = [round(float(np.mean(c)), 4) for c in (grams, company)]
            print(f"{part:.4f} {seed} {number:,} {shown}", flush=True)
    out["met"] = [together.met(*both) for both in sides]
    return out


def earned(scores: Iterable[Sequence[float]]) -> list[float]:
    """Return 1 for a pair whose sensible sentence scores more, and a half for a tie."""
    return [
        0.5 if math.isclose(good, bad, abs_tol=1e-9) else float(good > bad) for good, bad in scores
    ]


def ngram_scores(text: list[list[int]], sides: Sequence[Any]) -> list[list[float]]:
    """Return the mean log-probability of sentences, read forwards and backwards."""
    ways = []
    for back in (False, True):
        model = KneserNey([s[::-1] for s in text] if back else text)
        flat = [s[::-1] if back else s for both in sides for s in both]
        ways.append(model.scores(flat))
    mean = (ways[0] + ways[1]) / 2
    return [list(both) for both in mean.reshape(-1, 2)]


class KneserNey:
    """Interpolated Kneser-Ney with one discount per order; an n-gram is one number of 64 bits."""

    def __init__(self, text: list[list[int]]) -> None:
        grams, counts = np.unique(packed(text), return_counts=True)
        self.levels: list[tuple[Any, ...]] = []
        for order in range(ORDER, 0, -1):
            once, twice = (counts == 1).sum(), (counts == 2).sum()
            discount = once / max(1, once + 2 * twice)
            contexts, first, kinds = np.unique(
                grams >> np.uint64(BITS), return_index=True, return_counts=True
            )
            totals = np.add.reduceat(counts, first)
            self.levels.append((order, grams, counts, discount, contexts, totals, kinds))
            if order > 1:  # lower orders count what goes before, not how often
                mask = np.uint64((1 << (BITS * (order - 1))) - 1)
                grams, counts = np.unique(grams & mask, return_counts=True)

    def scores(self, sentences: list[list[int]]) -> Any:
        """Return the log-probability of each sentence with its end."""
        asked = packed(sentences)
        chance = np.full(len(asked), 1 / (1 << BITS))
        for order, grams, counts, discount, contexts, totals, kinds in reversed(self.levels):
            mine = asked & np.uint64((1 << (BITS * order)) - 1)
            count = looked_up(grams, counts, mine)
            total, kind = (
                looked_up(contexts, numbers, mine >> np.uint64(BITS)) for numbers in (totals, kinds)
            )
            seen = total > 0
            part = (np.maximum(count - discount, 0) + discount * kind * chance) / np.maximum(
                total, 1
            )
            chance = np.where(seen, part, chance)
        lengths = [len(s) + 1 for s in sentences]
        return np.add.reduceat(np.log(chance), np.cumsum([0, *lengths[:-1]]))


def packed(text: list[list[int]]) -> Any:
    """Return the 4-gram that ends in each word and in the end of each sentence."""
    before = [BEGIN] * (ORDER - 1)
    flat = np.fromiter((w for s in text for w in (*before, *s, END)), np.uint64)
    ends = np.ones(len(flat), bool)
    starts = np.cumsum([0, *(len(s) + ORDER for s in text[:-1])])
    for step in range(ORDER - 1):
        ends[starts + step] = False
    out = flat.copy()
    for back in range(1, ORDER):
        out[back:] |= flat[:-back] << np.uint64(BITS * back)
    return out[ends]


def looked_up(keys: Any, values: Any, wanted: Any) -> Any:
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, values[at], 0)


class Company:
    """In how many sentences two content words occur together."""

    def __init__(self, text: list[list[int]], base: Any, content: set[int]) -> None:
        self.sentences, self.base, self.content = len(text), base, content
        lengths = np.fromiter((len(s) for s in text), np.int64)
        words = np.fromiter((w for s in text for w in s), np.int64)
        rows = np.repeat(np.arange(len(text)), lengths)
        known = words < WORDS
        words, rows = base[words[known & (words < len(base))]], rows[known & (words < len(base))]
        order = np.argsort(words, kind="stable")
        self.words, self.rows = words[order], rows[order]
        self.kept: dict[int, Any] = {}

    def of(self, sentence: Sequence[int]) -> list[int]:
        """Return the content words of a sentence, in base form."""
        known = (int(self.base[w]) for w in sentence if w < len(self.base))
        return [word for word in dict.fromkeys(known) if word in self.content]

    def where(self, word: int) -> Any:
        """Return the sentences with a word."""
        if word not in self.kept:
            low, high = np.searchsorted(self.words, (word, word + 1))
            self.kept[word] = np.unique(self.rows[low:high])
        return self.kept[word]

    def score(self, sentence: Sequence[int]) -> float:
        """Return the mean positive pointwise mutual information of content words, two by two."""
        found = []
        for one, other in combinations(self.of(sentence), 2):
            a, b = self.where(one), self.where(other)
            both = len(np.intersect1d(a, b, assume_unique=True))
            chance = len(a) * len(b) / self.sentences
            found.append(max(0.0, math.log(both / chance)) if both else 0.0)
        return sum(found) / len(found) if found else 0.0

    def met(self, good: Sequence[int], bad: Sequence[int]) -> list[int] | None:
        """Return in how many sentences a word that differs is with a content word of the rest.

        First of either sentence of a pair, then of the sensible and of the other one. None if only
        the order differs, or words without content.
        """
        mine, theirs = self.of(good), self.of(bad)
        rest = [self.where(word) for word in mine if word in theirs]
        ways = [[w for w in mine if w not in theirs], [w for w in theirs if w not in mine]]
        if not rest or not any(ways):
            return None
        around = np.unique(np.concatenate(rest))
        sides = [[np.intersect1d(self.where(w), around) for w in way] for way in ways]
        counts = [len(np.unique(np.concatenate(side))) if side else 0 for side in sides]
        return [sum(counts), *counts]


def tables(found: dict[str, Any]) -> None:
    """Put tables and figure into docs/results."""
    curves: dict[str, list[Point]] = {}
    out = [
        "| words of text | samples | 4-grams | company |",
        "|---" * 4 + "|",
    ]
    lines = [
        "| what learns | words of text | per doubling | words for ELMo's accuracy |",
        "|---" * 4 + "|",
    ]
    credit: dict[str, dict[float, Any]] = {"4-grams": {}, "company": {}}
    for part in sorted({s["share"] for s in found["samples"]}):
        some = [s for s in found["samples"] if s["share"] == part]
        words = part * ALL_WORDS
        cells = []
        for name, of in credit.items():
            of[words] = np.mean([s[name] for s in some], axis=0)
            estimate = share(list(of[words]))
            curves.setdefault(name, []).append(Point(words, estimate))
            cells.append(shown(estimate))
        out.append(f"| {words:,.0f} | {len(some)} | {' | '.join(cells)} |")
    for name, of in credit.items():
        for some in (of, dict(list(of.items())[-LARGER:])):
            ends = f"{min(some):,.0f} to {max(some):,.0f}"
            lines.append(f"| {name} | {ends} | {extrapolated(some)} |")
    for kind in ("causal", "masked"):
        points = on_page(kind)
        ends = f"{points[0][0]:,.0f} to {points[-1][0]:,.0f}"
        link = "../seeds.md#causal-and-masked-models-on-the-same-text-cats"
        named = f"{kind}, 18 to 25 M parameters ([seeds]({link}))"
        lines.append(f"| {named} | {ends} | {followed(line(points))} |")
    ties = sum(earned == 0.5 for earned in found["samples"][-1]["company"])
    print(f"company scores {ties} pairs alike")
    write("sense", "text-curves", "\n".join(out))
    write("sense", "text-lines", "\n".join(lines))
    write("sense", "text-coverage", coverage(found))
    curves["bilm"] = [Point(size * ALL_WORDS, accuracy_of(name)) for name, size in EARLIER.items()]
    picture = curve_svg(curves, metric="sense making", across="words of text")
    (results.DOCS / "figures" / "sense-text.svg").write_text(picture, "utf-8")


def extrapolated(of: dict[float, Any]) -> str:
    """Return cells of a table: accuracy per doubling, and the words for ELMo's accuracy.

    Intervals are those of a bootstrap over pairs, which all sizes share.
    """
    slopes, ends = fitted(of)
    count = len(slopes)
    rng = np.random.default_rng(SEED)
    drawn = rng.multinomial(count, [1 / count] * count, size=RESAMPLES)
    tilts, heights = drawn @ slopes / count, drawn @ ends / count
    last = math.log2(max(of))
    far = [reached_at(last, *both) for both in zip(tilts, heights, strict=True)]
    slope = float(slopes.mean())
    low, high = np.quantile(tilts, [0.025, 0.975])
    first, final = np.quantile(far, [0.025, 0.975], method="closest_observation")
    words = words_cell(reached_at(last, slope, float(ends.mean())), first, final)
    return f"{slope:+.4f} [{low:+.4f}, {high:+.4f}] | {words}"


def fitted(of: dict[float, Any]) -> tuple[Any, Any]:
    """Return each pair's own slope over doublings of the text, and the end of its line.

    The line of the accuracy is the mean of those of the pairs, so its errors need no assumption
    about how far the sizes agree.
    """
    x = np.log2(list(of))
    centred = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
    credit = np.array(list(of.values()))
    slopes = centred @ credit
    return slopes, credit.mean(axis=0) + slopes * (x[-1] - x.mean())


def reached_at(last: float, slope: float, end: float) -> float:
    """Return where a line has ELMo's accuracy, in doublings: infinity if it does not rise."""
    return last + (ELMO - end) / slope if slope > 0 else math.inf


def on_page(kind: str) -> list[tuple[float, Estimate]]:
    """Return words of text and sense making of the larger models in docs/results/seeds.md."""
    page = results.shown("seeds", "kinds-full")
    rows = re.findall(
        rf"\| ([\d,]+) \| \d+ \| {kind} \|[^|]*\|[^|]*\|[^|]*\| ([\d.]+) \[([\d.]+), ([\d.]+)\]",
        page,
    )
    ratio = ALL_WORDS / 2_175_178  # words per sentence (docs/results/sense.md)
    return [
        (int(size.replace(",", "")) * ratio, Estimate(*map(float, cells), 2021))
        for size, *cells in rows[:3]
    ]


def coverage(found: dict[str, Any]) -> str:
    """Return accuracy by how often the words that differ were seen with the rest."""
    whole = found["samples"][-1]
    of = {
        name: dict(zip(found["ids"], whole[name], strict=True)) for name in ("4-grams", "company")
    }
    suite = boxpen.load_suite("senmaking").where(set="sen-making")
    for name, model in (
        ("bert-mini", f"hf:{os.environ['BOXPEN_MODELS']}/bert-mini"),
        ("smollm2", "smollm2"),
    ):
        of[name] = {v.id: v.credit for v in boxpen.evaluate(model, suite).verdicts}
    met = dict(zip(found["ids"], found["met"], strict=True))
    out = [f"| seen together | pairs | {' | '.join(of)} |", "|---" * (len(of) + 2) + "|"]

    def row(title: str, ids: list[str]) -> None:
        cells = [
            shown(share([some[i] for i in ids])) if len(ids) >= 10 else "–" for some in of.values()
        ]
        out.append(f"| {title} | {len(ids):,} | {' | '.join(cells)} |")

    for title, (low, high) in GROUPS.items():
        row(
            title,
            [i for i, n in met.items() if n and low <= n[0] and (high is None or n[0] <= high)],
        )
    row("no content word differs, or none is shared", [i for i, n in met.items() if n is None])
    row("the sensible word more often", [i for i, n in met.items() if n and n[1] > n[2]])
    row("the other word more often", [i for i, n in met.items() if n and n[1] < n[2]])
    row("as often", [i for i, n in met.items() if n and n[1] == n[2]])
    row("**all**", list(met))
    return "\n".join(out)


def shown(e: Estimate) -> str:
    return f"{e.value:.3f} [{e.low:.3f}, {e.high:.3f}]"


if __name__ == "__main__":
    main()
