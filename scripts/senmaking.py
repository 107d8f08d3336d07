"""Write docs/results/senmaking.md: the data of Sen-Making, and a case study.

python scripts/senmaking.py [--bert FOLDER]

Needs the public suites (BOXPEN_MIRROR, or a network). FOLDER is bert-mini; the case study, for
which smollm2 and bert-mini are run on a part of senmaking, is left as it is without it.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from results import DOCS, said, write

import boxpen
from boxpen import Choice
from boxpen.analysis.suites.differences import differences
from boxpen.analysis.suites.words import words
from boxpen.catalog.lint.items import lint
from boxpen.catalog.lint.reasons import explained_sentences
from boxpen.report.html.word_chart import frequent_words, words_svg

PAGE, FIGURE, OVER = "senmaking.md", "figures/senmaking-words.svg", 9
COUNTED = ("don't", "can't", "not", "no")
PAPER = (55, 53)
CASES, FIRST = (4, 1303), 150
EXPLAINED = ("senmaking", "comve", "comve-train", "starter")
CUTS: dict[str, Callable[[str], list[str]]] = {
    "words in lower case, without punctuation, ’ as ' (ours)": lambda t: words(t.replace("’", "'")),
    "words in lower case, without punctuation": words,
    "as written, from space to space": str.split,
}


def figure() -> str:
    """Return the chart of Figure 2."""
    found = differences(boxpen.load_suite("senmaking.sen-making"))
    return words_svg(found, OVER, "Different words of senmaking.sen-making, over 9 times")


def figure_facts() -> str:
    """Return what the chart shows, in numbers."""
    found = frequent_words(differences(boxpen.load_suite("senmaking.sen-making")), OVER)
    totals = [sum(both[n] for both in found.values()) for n in (0, 1)]
    far = sorted(found, key=lambda word: (-abs(found[word][0] - found[word][1]), word))[:10]
    shown = ", ".join(f"*{word}* {found[word][0]}/{found[word][1]}" for word in far)
    return (
        f"{len(found)} words are different words more than nine times: {totals[0]:,} times in "
        f"right sentences only and {totals[1]:,} times in wrong ones only. Furthest apart "
        f"(right/wrong): "
        f"{shown}."
    )


def negations() -> str:
    """Return how often the paper's four words negate one side only, by how words are cut."""
    pairs = [
        (item.candidates[item.gold], item.candidates[1 - item.gold])
        for item in boxpen.load_suite("senmaking.sen-making")
        if isinstance(item, Choice)
    ]
    lines = [
        f"| counted | right | wrong | {' | '.join(COUNTED)} |",
        "|---|--:|--:|" + "--:|" * len(COUNTED),
    ]
    for name, cut in CUTS.items():
        right: Counter[str] = Counter()
        wrong: Counter[str] = Counter()
        for one, other in pairs:
            first, second = Counter(cut(one)), Counter(cut(other))
            right += first - second
            wrong += second - first
        sums = [str(sum(side[word] for word in COUNTED)) for side in (right, wrong)]
        each = [f"{right[word]}/{wrong[word]}" for word in COUNTED]
        lines.append(f"| {' | '.join([name, *sums, *each])} |")
    lines.append(f"| the paper | {PAPER[0]} | {PAPER[1]} |{' – |' * len(COUNTED)}")
    return "\n".join(lines)


def key_words() -> str:
    """Return how many confusing reasons have no key word of their statement."""
    lines = [
        "| suite | explanations | confusing reasons | without a key word |",
        "|---|--:|--:|--:|",
    ]
    for name in EXPLAINED:
        suite = boxpen.load_suite(name, validate=False)
        explained = explained_sentences(suite)
        items = [i for i in suite if isinstance(i, Choice) and i.context in explained]
        reasons = sum(len(item.candidates) - 1 for item in items)
        found = sum(finding.rule == "reason-keywords" for finding in lint(suite))
        share = f"{found:,} ({found / reasons:.1%})"
        lines.append(f"| `{name}` | {len(items):,} | {reasons:,} | {share} |")
    return "\n".join(lines)


def cases(bert: Path, work: Path) -> str:
    """Run two models on a part of the suite; return the paper's cases, and how the two differ."""
    suite = boxpen.load_suite("senmaking")
    numbers = {str(n) for n in (*range(1, FIRST + 1), *CASES)}
    part = suite.take([item for item in suite if item.id.rpartition("-")[2] in numbers])
    models = {"smollm2": "smollm2", "bert-mini": f"hf:{bert}"}
    runs = {name: boxpen.evaluate(spec, part) for name, spec in models.items()}
    folders = [str(run.save(work)) for run in runs.values()]
    lines = [f"| item | {' | '.join(runs)} |", "|---|" + "--:|" * len(runs)]
    for number in CASES:
        for kind in ("sen-making", "explanation"):
            margins = [
                verdict.margin
                for run in runs.values()
                for verdict in run.verdicts
                if verdict.id == f"{kind}-{number}"
            ]
            cells = [f"{'right' if m > 0 else 'wrong'} ({m:+.1f})" for m in margins]
            lines.append(f"| {kind}-{number} | {' | '.join(cells)} |")
    shown = said("compare", *folders, "--items", "1")
    return "\n".join([*lines, "", "```text", shown, "```"])


def main() -> None:
    parser = argparse.ArgumentParser(description="Write docs/results/senmaking.md.")
    parser.add_argument("--bert", type=Path)
    parser.add_argument("--work", type=Path, default=Path("build/senmaking"))
    asked = parser.parse_args()
    (DOCS / FIGURE).write_text(figure(), "utf-8")
    write(PAGE, "figure-2", figure_facts())
    write(PAGE, "negations", negations())
    write(PAGE, "key-words", key_words())
    if asked.bert is not None:
        write(PAGE, "cases", cases(asked.bert, asked.work))


if __name__ == "__main__":
    main()
