"""Labels of CommonMT, and the tables of docs/results/commonmt.md.

    commonmt.py labels       write src/boxpen/catalog/data/commonmt.csv from the journals
    commonmt.py counts       agreement, Tables 1 and 2 of the paper, decidability, structures
    commonmt.py sheets DIR   blocks that lint flags, and as many others, mixed, for two readings
    commonmt.py blocks       what these found (docs/results/data/commonmt-blocks.csv)
    commonmt.py tables       Table 3, Figure 7 and Equation 1, which need models

The journals, commonmt-*.jsonl, hold the verdicts of two language-model readers. All
but labels needs CommonMT (``BOXPEN_MIRROR``, or a network); counts needs the extra ``build`` for
stems and lemmas, tables ``--models DIR`` with ``bert-mini`` and ``opus-mt-zh-en`` in it.
"""

from __future__ import annotations

import argparse
import csv
import io
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path

from results import DOCS, SETS, write

import boxpen
from boxpen import Choice
from boxpen.analysis.suites.words import words
from boxpen.catalog.lint.items import lint
from boxpen.catalog.releases.commonmt import readings
from boxpen.files import replaced
from boxpen.metrics.agreement import cohen_estimate
from boxpen.metrics.choice import accuracy, both_right, clusters
from boxpen.metrics.intervals import Estimate, between, share, wilson
from boxpen.report.numbers import interval, too_few_blocks
from boxpen.review import Journal, latest
from boxpen.runs.run import Run
from boxpen.scoring.verdicts import Verdict

PAGE = "commonmt"
LABELS = DOCS.parents[1] / "src" / "boxpen" / "catalog" / "data" / "commonmt.csv"
READERS = ("reader A", "reader B")
TAGS = ("knowledge", "decidable", "ambiguity")
TABLE_2 = {
    "properties": 25.9,
    "behaviors": 25.2,
    "taxonomy": 21.1,
    "action": 15.8,
    "structures": 8.1,
    "emotions": 2.6,
    "procedural": 1.3,
}
TABLE_3 = {
    "GPT": (0.775, 0.650, 0.597, 0.678),
    "GPT-2 base": (0.803, 0.642, 0.606, 0.688),
    "GPT-2 medium": (0.798, 0.648, 0.611, 0.690),
    "BERT-base": (0.788, 0.642, 0.611, 0.684),
    "BERT-large": (0.818, 0.682, 0.623, 0.712),
}
FIGURE_7 = (("properties", "structures", "action"), ("behaviors", "emotions"))
"""What the paper's Transformer does well, and badly."""
BLOCKS = DOCS / "data" / "commonmt-blocks.csv"
CHECKED = ("block-reading", "block-unrelated")
COLUMNS = ("chinese", "right", "wrong")
SEED = 24
UNIQUE = {
    "LA": (1139, 1140),
    "CL-SA": (738, 741),
    "CT-SA": (997, 997),
    "all": (2050, 2063),
}
"""Unique tokens of right and wrong translations in Table 1."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["labels", "counts", "sheets", "blocks", "tables"])
    parser.add_argument("folder", type=Path, nargs="?", help="of sheets")
    models = DOCS.parents[2] / "shared" / "models"
    parser.add_argument("--models", type=Path, default=models)
    given = parser.parse_args()
    if given.command == "labels":
        write_labels()
    elif given.command == "counts":
        counts()
    elif given.command == "sheets":
        if given.folder is None:
            parser.error("sheets needs a folder")
        write_sheets(given.folder)
    elif given.command == "blocks":
        write(PAGE, "blocks", checked_blocks())
    else:
        tables(given.models)


def counts() -> None:
    write(PAGE, "agreement", agreement())
    write(PAGE, "table-2", table_2())
    write(PAGE, "decidable", decidable())
    write(PAGE, "ambiguity", ambiguity())
    write(PAGE, "tokens", unique_tokens())


def tables(models: Path) -> None:
    opus = f"ct2:{models / 'opus-mt-zh-en'}"
    bert = f"hf:{models / 'bert-mini'}"
    runs = {
        (name, recipe): boxpen.evaluate(spec, "commonmt", recipe=recipe)
        for name, spec in {"OPUS-MT": opus, "smollm2": "smollm2", "bert-mini": bert}.items()
        for recipe in ("paper", "sound")
    }
    write(PAGE, "table-3", table_3(runs))
    kinds = list(TABLE_2)
    lines = [by_tag(runs, "knowledge", kinds), "", figure_7(runs)]
    write(PAGE, "figure-7", "\n".join(lines))
    lines = [by_tag(runs, "knowledge", kinds, _decidable), "", figure_7(runs, _decidable)]
    write(PAGE, "figure-7-decidable", "\n".join(lines))
    write(PAGE, "structures", by_tag(runs, "ambiguity"))
    write(PAGE, "equation-1", equation_1(runs["OPUS-MT", "paper"]))


def write_labels() -> None:
    """Write the labels of both readers, one line per item."""
    found = {tag: verdicts_of(tag) for tag in TAGS}
    found["ambiguity"] |= verdicts_of("word")
    stream = io.StringIO(newline="")
    sheet = csv.writer(stream, lineterminator="\n")
    sheet.writerow(["id", *(f"{tag}_{letter}" for tag in TAGS for letter in "ab")])
    for item in sorted(found["knowledge"], key=_in_order):
        sheet.writerow([item, *(label for tag in TAGS for label in found[tag][item])])
    with replaced(LABELS) as out:
        out.write(stream.getvalue().encode())


def _in_order(item: str) -> tuple[int, str]:
    return SETS["commonmt"].index(item.rpartition("-")[0]), item


def verdicts_of(tag: str) -> dict[str, list[str]]:
    """Return the verdicts of both readers on every item that they judged."""
    given = latest(Journal(DOCS / "data" / f"commonmt-{tag}.jsonl", tag=tag).read().judgements)
    return {item: [by[reader].verdict for reader in READERS] for item, by in given.items()}


@cache
def flagged() -> frozenset[str]:
    """Return the blocks whose wrong translations do not swap readings, by lint."""
    first = {item.id: item.block for item in items()}
    found = lint(boxpen.load_suite("commonmt"))
    return frozenset(str(first[one.item]) for one in found if one.rule in CHECKED)


def write_sheets(folder: Path) -> None:
    """Write two sheets of flagged blocks and as many others, each in an order of its own."""
    blocks: dict[str, list[Choice]] = {}
    for item in items():
        blocks.setdefault(str(item.block), []).append(item)
    others = sorted(set(blocks) - flagged())
    drawn = [*flagged(), *random.Random(SEED).sample(others, len(flagged()))]
    folder.mkdir(parents=True, exist_ok=True)
    for reader in "AB":
        order = sorted(drawn)
        random.Random(f"{SEED} {reader}").shuffle(order)
        with (folder / f"blocks-{reader}.tsv").open("w", encoding="utf-8", newline="") as stream:
            sheet = csv.writer(stream, delimiter="\t", lineterminator="\n")
            sheet.writerow(["block", *(f"{name} {n}" for n in (1, 2) for name in COLUMNS)])
            for name in order:
                texts = [(i.source, i.candidates[i.gold], i.candidates[1 - i.gold])
                         for i in blocks[name]]  # fmt: skip
                sheet.writerow([name, *(text for half in texts for text in half)])


def checked_blocks() -> str:
    """Return how many of the blocks that were read are faulty, by rule, and how many are missed."""
    rules = {
        str({i.id: i.block for i in items()}[one.item]): one.rule
        for one in lint(boxpen.load_suite("commonmt"))
        if one.rule in CHECKED
    }
    groups: dict[str, list[tuple[str, str]]] = {}
    with BLOCKS.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            both = row["reading 1"], row["reading 2"]
            for name in (rules.get(row["block"], "not flagged"), "flagged"):
                if name != "flagged" or row["block"] in rules:
                    groups.setdefault(name, []).append(both)
    lines = ["| blocks | read | faulty in both readings | share [95 %] | in one | same verdict |"]
    lines.append("|---|---:|---:|---:|---:|---:|")
    for name in (*CHECKED, "flagged", "not flagged"):
        of = groups[name]
        faulty, n = of.count(("faulty", "faulty")), len(of)
        low, high = wilson(faulty / n, n)
        one = sum(a != b for a, b in of)
        label = f"`{name}`" if name in CHECKED else name
        share_of = f"{faulty / n:.2f} [{low:.2f}, {high:.2f}]"
        lines.append(f"| {label} | {n} | {faulty} | {share_of} | {one} | {(n - one) / n:.2f} |")
    left = len({item.block for item in items()}) - len(rules)
    lines += [
        "",
        f"Of the {left} blocks that are not flagged, this is {left * faulty / n:.0f} "
        f"[{left * low:.0f}, {left * high:.0f}] with faults that the rules miss.",
    ]
    return "\n".join(lines)


@cache
def items() -> tuple[Choice, ...]:
    return tuple(item for item in boxpen.load_suite("commonmt") if isinstance(item, Choice))


def parts() -> dict[str, list[Choice]]:
    """Return the items of every set, and all."""
    sets = {name: [i for i in items() if i.tags["set"] == name] for name in SETS["commonmt"]}
    return sets | {"all": list(items())}


def agreement() -> str:
    """Return how often the readers agree on every tag, with kappa."""
    lines = ["| tag | items | same label [95 %] | kappa [95 %] |", "|---|---:|---:|---:|"]
    blocks = {item.id: item.block for item in items()}
    for tag in ("knowledge", "decidable", "ambiguity", "word"):
        for name, given in _by_set(verdicts_of(tag)).items():
            of = [blocks[item] for item in given]
            same = share([float(a == b) for a, b in given.values()], of)
            first, second = zip(*given.values(), strict=True)
            kappa = cohen_estimate(first, second, of)
            label = tag if name == "all" else f"{tag}, {name}"
            lines.append(f"| {label} | {same.n:,} | {_shown(same)} | {_shown(kappa)} |")
    return "\n".join(lines)


def _by_set(given: Mapping[str, list[str]]) -> dict[str, Mapping[str, list[str]]]:
    sets: dict[str, Mapping[str, list[str]]] = {"all": given}
    if len({item.rpartition("-")[0] for item in given}) > 1:
        for name in SETS["commonmt"]:
            some = {item: by for item, by in given.items() if item.startswith(name)}
            sets |= {name: some} if some else {}
    return sets


def table_2() -> str:
    """Return the share of every kind of knowledge, beside that of the paper."""
    lines = [
        "| knowledge | paper, % | reader A, % | reader B, % | both | both, of agreed, % [95 %] "
        "| both, decidable | of agreed, decidable, % [95 %] |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    by = [readings()[item.id]["knowledge"] for item in items()]
    agreed = [item for item in items() if "knowledge" in item.tags]
    decided = [item for item in items() if item.tags.get("decidable") == "yes"]
    both = [item for item in decided if "knowledge" in item.tags]
    for kind, published in TABLE_2.items():
        single = [100 * sum(one[n] == kind for one in by) / len(by) for n in (0, 1)]
        cells = [f"{published}", *(f"{percent:.1f}" for percent in single)]
        for some in (agreed, both):
            mine = [float(item.tags["knowledge"] == kind) for item in some]
            cells += [f"{sum(mine):.0f}", _percent(share(mine, [item.block for item in some]))]
        lines.append(f"| {kind} | {' | '.join(cells)} |")
    lines.append(
        f"| all | 100.0 | 100.0 | 100.0 | {len(agreed):,} of {len(by):,} | 100.0 "
        f"| {len(both)} of {len(decided)} | 100.0 |"
    )
    return "\n".join(lines)


def decidable() -> str:
    """Return how many items readers decide by the English alone."""
    lines = [
        "| set | items | reader A | reader B | both decide [95 %] | neither | they differ |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, some in parts().items():
        by = [readings()[item.id]["decidable"] for item in some]
        both = share([float(one == ("yes", "yes")) for one in by], [i.block for i in some])
        counts = [sum(one[n] == "yes" for one in by) for n in (0, 1)]
        neither = sum(one == ("no", "no") for one in by)
        differ = sum(a != b for a, b in by)
        lines.append(
            f"| {name} | {len(some):,} | {counts[0]} | {counts[1]} | "
            f"{both.value * both.n:.0f}: {_percent(both)} % | {neither} | {differ} |"
        )
    judged = Journal(DOCS / "data" / "commonmt-decidable.jsonl", tag="decidable").read().judgements
    lines.append("")
    for reader in READERS:
        said = Counter(one.comment for one in judged if one.judge == reader)
        counted = ", ".join(f"{comment} {count}" for comment, count in said.most_common())
        lines.append(f"- {reader}: {counted}")
    return "\n".join(lines)


def ambiguity() -> str:
    """Return how many items of the syntactic sets have every structure."""
    lines = ["| structure | CL-SA | CT-SA | both |", "|---|---:|---:|---:|"]
    count = Counter((i.tags["set"], i.tags.get("ambiguity", "they differ")) for i in items())
    names = {name for place, name in count if place != "LA"}
    totals = {name: count["CL-SA", name] + count["CT-SA", name] for name in names}
    lines += [
        f"| {name} | {count['CL-SA', name]} | {count['CT-SA', name]} | {totals[name]} |"
        for name in sorted(names, key=lambda name: (name == "they differ", -totals[name], name))
    ]
    return "\n".join(lines)


def unique_tokens() -> str:
    """Return the unique English tokens of every set, counted in four ways, and the paper's."""
    from nltk.stem.porter import PorterStemmer

    ways: dict[str, Callable[[str], str]] = {
        "forms": str,
        "Porter stems": PorterStemmer().stem,
        "lemmas, verbs first": partial(_lemma, order=("VERB", "NOUN", "ADJ", "ADV")),
        "lemmas, nouns first": partial(_lemma, order=("NOUN", "VERB", "ADJ", "ADV")),
    }
    some = parts()
    sides = [f"{name}, {side}" for side in ("right", "wrong") for name in some]
    lines = ["| counted | " + " | ".join(sides) + " |", "|---" + "|---:" * len(sides) + "|"]
    for label, way in ways.items():
        found = [
            len({way(w) for item in part for w in words(item.candidates[side].strip(), "en")})
            for side in (0, 1)
            for part in some.values()
        ]
        lines.append(f"| {label} | " + " | ".join(f"{number:,}" for number in found) + " |")
    published = [UNIQUE[name][side] for side in (0, 1) for name in some]
    lines.append("| paper | " + " | ".join(f"{number:,}" for number in published) + " |")
    return "\n".join(lines)


def _lemma(word: str, order: Sequence[str]) -> str:
    from lemminflect import getAllLemmas

    known = getAllLemmas(word)
    return next((known[kind][0] for kind in order if kind in known), word)


def table_3(runs: Mapping[tuple[str, str], Run]) -> str:
    """Return the accuracy of language models on decidable items and on the others."""
    names = (*SETS["commonmt"], "all")
    lines = ["| system | items | " + " | ".join(names) + " |", "|---" * (len(names) + 2) + "|"]
    for system, numbers in TABLE_3.items():
        cells = " | ".join(f"{number:.3f}" for number in numbers)
        lines.append(f"| {system} (paper) | its 1,124 | {cells} |")
    kinds: dict[str, Callable[[Verdict], bool]] = {
        "decidable": _decidable,
        "others": lambda v: not _decidable(v),
        "all": lambda _: True,
    }
    for (system, recipe), run in runs.items():
        if system == "OPUS-MT":
            continue
        for kind, wanted in kinds.items():
            found = [v for v in run.verdicts if wanted(v)]
            some = [[v for v in found if name in ("all", v.tags["set"])] for name in names]
            shown = " | ".join(_shown(accuracy(part)) for part in some)
            lines.append(f"| {system}, `{recipe}` | {kind}: {len(found):,} | {shown} |")
    return "\n".join([*lines, "", *_signatures(runs, ("smollm2", "bert-mini"))])


def _decidable(verdict: Verdict) -> bool:
    return verdict.tags.get("decidable") == "yes"


def by_tag(
    runs: Mapping[tuple[str, str], Run],
    tag: str,
    values: Sequence[str] | None = None,
    wanted: Callable[[Verdict], bool] = lambda _: True,
) -> str:
    """Return accuracy and both-right by the values of a tag, most items first."""
    heads = [f"{system}, `{recipe}`" for system, recipe in runs if recipe == "paper"]
    sound = [f"{system}, `{recipe}`" for system, recipe in runs if system == "OPUS-MT"][1:]
    chosen = [run for key, run in runs.items() if key[1] == "paper"]
    chosen += [runs["OPUS-MT", "sound"]]
    extra = ["OPUS-MT: both right, `paper`", "blocks"]
    lines = [f"| {tag} | items | " + " | ".join([*heads, *sound, *extra]) + " |"]
    lines.append("|---|---:" + "|---:" * (len(chosen) + 2) + "|")
    opus = runs["OPUS-MT", "paper"]
    counted = Counter(v.tags[tag] for v in opus.verdicts if tag in v.tags)
    order = values or sorted(counted, key=lambda value: -counted[value])
    for value in (*order, None):
        some = [
            [v for v in run.verdicts if v.tags.get(tag) == value and wanted(v)] for run in chosen
        ]
        if not some[0]:
            continue
        cells = [_shown(accuracy(part)) for part in some]
        both = both_right(some[0])
        cells += ["–" if too_few_blocks("both_right", both.n) else _shown(both), str(both.n)]
        label = value or "(readers differ)"
        lines.append(f"| {label} | {len(some[0])} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def figure_7(
    runs: Mapping[tuple[str, str], Run], wanted: Callable[[Verdict], bool] = lambda _: True
) -> str:
    """Return the two groups that the paper tells apart: by either reader's labels, and by set."""
    groups = " | ".join(", ".join(group) for group in FIGURE_7)
    lines = [
        f"| OPUS-MT | labels of | set | {groups} | difference |",
        "|---|---|---|---:|---:|---:|",
    ]
    labels = {item: given["knowledge"] for item, given in readings().items()}
    whose: dict[str, Callable[[tuple[str, str]], str]] = {
        "both readers": lambda by: by[0] if by[0] == by[1] else "",
        "reader A": lambda by: by[0],
        "reader B": lambda by: by[1],
    }
    cuts = [("all", name) for name in whose]
    cuts += [(name, "both readers") for name in SETS["commonmt"]]
    for recipe in ("paper", "sound"):
        for place, name in cuts:
            verdicts = [
                v
                for v in runs["OPUS-MT", recipe].verdicts
                if place in ("all", v.tags["set"]) and wanted(v)
            ]
            good, bad = (
                accuracy([v for v in verdicts if whose[name](labels[v.id]) in group])
                for group in FIGURE_7
            )
            cells = [f"{_shown(one)}, n = {one.n}" for one in (good, bad)]
            cells.append(_shown(between(good, bad)))
            lines.append(f"| `{recipe}` | {name} | {place} | {' | '.join(cells)} |")
    return "\n".join(lines)


def equation_1(run: Run) -> str:
    """Return accuracy by what Equation 1 sums and divides by."""
    forms: dict[str, Callable[[Sequence[float]], float]] = {
        "tokens and EOS, divided by their number (ours)": lambda p: sum(p) / len(p),
        "tokens and EOS, divided by tokens (as printed)": lambda p: sum(p) / (len(p) - 1),
        "tokens, divided by tokens": lambda p: sum(p[:-1]) / (len(p) - 1),
    }
    names = (*SETS["commonmt"], "all")
    lines = [
        "| sum | " + " | ".join(names) + " | other verdicts than ours | consistency |",
        "|---|" + "---:|" * (len(names) + 2),
    ]
    ours: dict[str, float] = {}
    for label, form in forms.items():
        earned = {}
        for verdict in run.verdicts:
            right, wrong = (
                form([float(x) for x in one.record.logprobs])
                for one in (run.candidates[verdict.id][n] for n in (0, 1))
            )
            earned[verdict.id] = float(right - wrong > 1e-6)
        ours = ours or earned
        cells = []
        for name in names:
            some = [v for v in run.verdicts if name in ("all", v.tags["set"])]
            cells.append(_shown(share([earned[v.id] for v in some], clusters(some))))
        changed = sum(earned[key] != ours[key] for key in earned)
        lines.append(f"| {label} | {' | '.join(cells)} | {changed} | {_agreeing(run, earned)} |")
    return "\n".join([*lines, "", f"- `{run.signature}`"])


def _agreeing(run: Run, earned: Mapping[str, float]) -> str:
    blocks: dict[str, list[float]] = {}
    for verdict in run.verdicts:
        blocks.setdefault(verdict.block or verdict.id, []).append(earned[verdict.id])
    return _shown(share([float(len(set(one)) == 1) for one in blocks.values()]))


def _signatures(runs: Mapping[tuple[str, str], Run], systems: Iterable[str]) -> list[str]:
    return [f"- `{run.signature}`" for (system, _), run in runs.items() if system in systems]


def _shown(estimate: Estimate) -> str:
    return interval(*estimate[:3], 3)


def _percent(estimate: Estimate) -> str:
    return interval(*(100 * number for number in estimate[:3]), 1)


if __name__ == "__main__":
    main()
