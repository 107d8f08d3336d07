"""Runs as tables for a terminal of 80 columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from boxpen.analysis.order_effects import order_effects, order_notes
from boxpen.metrics.summary import LABELS, macro_groups
from boxpen.report.numbers import DASH, FEWEST_BLOCKS, too_few_blocks
from boxpen.report.plain_table import plain_table
from boxpen.runs.run import Row, Run

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["bleu_note", "bleu_notes", "main_tags", "notes", "run_table"]


def run_table(run: Run, tags: Collection[str] | None = None) -> RenderableType:
    """Return the results of a run: one row per slice, one column per metric."""
    from rich.console import Group
    from rich.text import Text

    if tags is None:
        tags = main_tags(run)[0]
    rows = [
        row for row in run.summary() if row.slice == "all" or row.slice.partition("=")[0] in tags
    ]
    metrics = [m for m in _HEADERS if any(r.metric == m for r in rows)]
    tied = any(row.ties for row in rows)
    # A title of the table would be folded at the width of the table.
    title = Text.assemble((run.suite_title, "bold"), " × ", (run.info.model.name, "bold"))
    table = plain_table(gap=1)
    table.add_column("slice", overflow="fold")
    table.add_column("n", justify="right", no_wrap=True)
    for metric in metrics:
        table.add_column(_HEADERS[metric], justify="right", no_wrap=True)
    if "consistency" in metrics:
        table.add_column("blocks", justify="right")
    if tied:
        table.add_column("ties", justify="right")
    for name, members in by_slice(rows).items():
        found = {r.metric: r for r in members}
        first = members[0]
        cells = [_cell(found[m], m) if m in found else "" for m in metrics]
        if "consistency" in metrics:
            cells.append(str(found["consistency"].n) if "consistency" in found else "")
        if tied:
            cells.append(str(first.ties) if first.ties else "")
        table.add_row(Text(name), str(first.n), *cells, style="bold" if name == "all" else "")
        if name == "all" and "macro_accuracy" in found:
            groups = list(macro_groups(run.verdicts))
            label = f"mean of {len(groups)} {groups[0].partition('=')[0]}s"
            mean = [found.get(f"macro_{m}") for m in metrics]
            table.add_row(
                label,
                "",
                *(_cell(row, m) if row else "" for row, m in zip(mean, metrics, strict=True)),
            )
    return Group(title, table)


def main_tags(run: Run) -> tuple[list[str], list[str]]:
    """Return the tags to show the slices of, and the others.

    Part and set are shown if they fit on a screen, other tags only if neither is. A tag of one
    value that all items have is in neither list: its slice would repeat the first line.
    """
    whole = max(len(run.verdicts), len(run.translations))
    sizes: dict[str, dict[str, int]] = {}
    for row in run.summary():
        if row.metric in ("accuracy", "bleu") and row.slice != "all":
            sizes.setdefault(row.slice.partition("=")[0], {})[row.slice] = row.n
    divided = [tag for tag, slices in sizes.items() if list(slices.values()) != [whole]]
    shown: list[str] = []
    room = _LINES
    for tag in sorted(divided, key=lambda tag: (tag != "part", tag != "set")):
        main = tag in ("part", "set") or not {"part", "set"} & set(shown)
        if main and len(sizes[tag]) <= room:
            shown.append(tag)
            room -= len(sizes[tag])
    return shown, [tag for tag in divided if tag not in shown]


def notes(run: Run, tags: Collection[str] | None = None) -> Iterator[str]:
    """Yield notes on the results.

    Args:
        run: The run.
        tags: Those whose slices are shown; all of them if None.
    """
    yield from _human_notes(run)
    if run.answers:
        yield from order_notes(order_effects(run.answers, run.info.unanswered))
    if judge := run.info.judge:
        lead = f", undecided below a lead of {judge.threshold:g} nats" if judge.fingerprint else ""
        yield f"translations judged by {judge}{lead}; decided items are not a random sample"
    if remark := run.info.model.remark:
        yield remark
    if run.setting == "2-way":
        yield "2-way: the model is forced to choose between entailment and contradiction"
    total = sum(len(ids) for ids in run.info.left_out.values())
    for reason, ids in run.info.left_out.items():
        parts = ", ".join(run.info.parts_left_out.get(reason, ()))
        which = f" ({parts})" if parts else ""
        yield f"left out {len(ids)} of {run.info.suite.items + total} items{which}: {reason}"
    if unread := run.info.unread_sources:
        yield (
            f"source not read: the model judged {unread:,} translations without their source "
            "(--recipe translate shows it)"
        )
    if run.info.unread_contexts:
        yield (
            f"{run.info.unread_contexts} item(s) have a context that the model does not read "
            "under this recipe"
        )
    for flag, what in (
        ("truncated", "longer than the model reads, truncated"),
        ("crossing", "with a token that spans the join of context and candidate"),
    ):
        count = sum(1 for v in run.verdicts if getattr(v, flag))
        if count:
            yield f"{count} item(s) {what}"
    unscored = {s.record.unscored for c in run.candidates.values() for s in c}
    if unscored - {0}:
        yield "no BOS token: the first token of every text is unscored"
    how = run.info.engine.get("how", "")
    if str(how).startswith("padded batches"):
        yield f"scored in {how}"
    if run.info.model.kind == "permuted":
        yield "permuted models are unreliable on short texts"
    if run.info.model.kind == "bidirectional":
        unknown = sum(s.record.unknown for c in run.candidates.values() for s in c)
        if unknown:
            yield f"{unknown:,} word(s) of the texts are not in the model's vocabulary: <UNK>"
    shown = [
        r for r in run.summary() if tags is None or r.slice.partition("=")[0] in ("all", *tags)
    ]
    if any(too_few_blocks(row.metric, row.n) for row in shown):
        yield f"{DASH}: fewer than {FEWEST_BLOCKS} complete blocks in this slice"
    yield from bleu_notes(run.summary(), run.signature)
    rules = Counter(f.rule for f in run.info.findings)
    if rules:
        listed = ", ".join(f"{count} {rule}" for rule, count in rules.most_common())
        yield f"lint: {listed} (boxpen suite lint {run.suite_argument})"


def bleu_notes(rows: Iterable[Row], signature: str) -> Iterator[str]:
    """Yield how BLEU was made beyond what the signature of a run says, each way once."""
    lines = (row.signature.partition(LABELS)[0] for row in rows if row.metric == "bleu")
    for made in dict.fromkeys(lines):
        yield bleu_note(made, signature)


def bleu_note(made: str, signature: str) -> str:
    """Return what the signature of BLEU says beyond that of its run."""
    # sacreBLEU's own part is a word by itself, so that a terminal does not break it.
    own = made.removeprefix(f"{signature}|")
    if own.startswith("beam:"):
        own = own.replace("|", " and ", 1)
    return f"BLEU: the signature of the run, then {own}"


def _human_notes(run: Run) -> Iterator[str]:
    """Yield who judged, how one judge fares beside the majority, and how far they agree."""
    human = run.info.human
    if human is None:
        return
    few, many = human.fewest, human.most
    each = f"{few}" if few == many else f"{few} to {many}"
    yield f"{human.judges} judge(s), {human.answers:,} answers, {each} per item"
    singles = [judge.accuracy for judge in human.by_judge]
    yield (
        f"accuracy of a single judge: {human.single_judge_accuracy:.3f} on average "
        f"({min(singles):.3f} to {max(singles):.3f}); the table shows the majority"
    )
    found = [(shown, human.agreement.get(name)) for name, shown in _AGREEMENT.items()]
    if any(value is not None for _, value in found):
        listed = ", ".join(f"{shown} {value:.3f}" for shown, value in found if value is not None)
        yield f"agreement: {listed}"
    if human.gold_in_one_place > _ONE_PLACE:
        yield (
            f"the right answer is in the same place in {human.gold_in_one_place:.0%} of items: "
            "only pairs and free-marginal kappa are meaningful measures of agreement here"
        )


_LINES = 20  # of a table, so that a first result fits on a screen
_AGREEMENT = {
    "percent": "pairs",
    "cohen_kappa": "Cohen's kappa",
    "fleiss_kappa": "Fleiss' kappa",
    "krippendorff_alpha": "Krippendorff's alpha",
    "free_kappa": "free-marginal kappa",
}
_ONE_PLACE = 0.8  # share above which kappa and alpha take agreement for chance


def by_slice(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Group rows by slice, in order."""
    out: dict[str, list[Row]] = {}
    for row in rows:
        out.setdefault(row.slice, []).append(row)
    return out


_HEADERS = {
    "accuracy": "accuracy [95 %]",
    "every_order": "every order",
    "chance": "chance",
    "consistency": "consist.",
    "both_right": "both",
    "bleu": "BLEU ± 95 %",
}


def _cell(row: Row, metric: str) -> str:
    if too_few_blocks(metric, row.n):
        return DASH
    if metric == "bleu":
        return f"{row.value:.1f} ± {(row.high - row.low) / 2:.1f}"
    if metric == "accuracy":
        return f"{row.value:.3f} [{row.low:.3f}, {row.high:.3f}]"
    return f"{row.value:.3f}"
