"""boxpen suite tag: people give the items of a suite a tag, such as the number of steps."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from boxpen.cli.judging import (
    Disputed,
    Everything,
    JudgedAt,
    JudgedBy,
    Overwrite,
    check_sheet,
    history,
    progress,
    show_agreement,
    show_disagreements,
    show_imported,
)
from boxpen.cli.output import console, note, print_json
from boxpen.cli.run_sheets import Sample, Seed, SheetOrder, written
from boxpen.cli.several import Several
from boxpen.cli.suite import Json, Name, suite

if TYPE_CHECKING:
    from boxpen.items import Suite
    from boxpen.review import Decision, Journal, Judgement, Question, VerdictSet

__all__ = ["tag"]

tag = typer.Typer(
    no_args_is_help=True, help="Let people tag the items of a suite: the steps of an inference."
)
suite.add_typer(tag, name="tag")

TagName = Annotated[str, typer.Option("--tag", help="The tag that is asked for: steps.")]
Values = Annotated[
    list[str] | None,
    typer.Option(
        help="The values that may be given.", show_default="those of the suite, or any at all"
    ),
]
JournalFile = Annotated[
    Path | None,
    typer.Option(
        "--journal", help="Where judgements are kept.", show_default="SUITE-TAG-tags.jsonl"
    ),
]
RuleOption = Annotated[
    Literal["majority", "unanimous", "adjudicator"],
    typer.Option(help="How judges who differ decide."),
]
Adjudicator = Annotated[
    str | None, typer.Option(help="The judge who decides, for the rule 'adjudicator'.")
]
MinJudges = Annotated[int, typer.Option(help="Fewest judges of an item.")]


@tag.command("export", cls=Several)
def export_sheet(
    name: Name,
    tag: TagName,
    judge: Annotated[str, typer.Option(help="Whose sheet it is.")],
    out: Annotated[Path, typer.Option(help="The sheet, a .csv file.")],
    values: Values = None,
    journal: JournalFile = None,
    sample: Sample = None,
    order: SheetOrder = "own",
    disputed: Disputed = False,
    everything: Everything = False,
    overwrite: Overwrite = False,
    seed: Seed = 0,
) -> None:
    """Write a sheet of the items that a judge has not tagged."""
    from boxpen.review import sampled

    check_sheet(judge, out, overwrite=overwrite)
    found, _, questions = _asked(name, tag, values)
    written(
        sampled(questions, sample, seed), _journal(journal, name, found, tag), out, judge,
        order=order, disputed=disputed, everything=everything, seed=seed, what="item",
    )  # fmt: skip


@tag.command("import", cls=Several)
def import_answers(
    name: Name,
    sheets: Annotated[list[Path], typer.Argument(help="Sheets filled in.", metavar="SHEET...")],
    tag: TagName,
    values: Values = None,
    journal: JournalFile = None,
    judge: JudgedBy = None,
    time: JudgedAt = None,
    json: Json = False,
) -> None:
    """Add the answers of sheets to the journal; a sheet may be imported again and again."""
    from boxpen.analysis.tagging import TAG
    from boxpen.names import check_judge
    from boxpen.review import import_sheets

    check_judge(judge, "--judge")
    found, verdicts, questions = _asked(name, tag, values)
    kept = _journal(journal, name, found, tag)
    done = import_sheets(
        sheets, questions, verdicts, kept, judge=judge, time=time, origin="suite", columns=[TAG]
    )
    show_imported(done, kept, json=json)


@tag.command("status")
def show_status(
    name: Name,
    tag: TagName,
    journal: JournalFile = None,
    rule: RuleOption = "majority",
    adjudicator: Adjudicator = None,
    min_judges: MinJudges = 1,
    json: Json = False,
) -> None:
    """Show how far judges are, how far they agree, and where they differ."""
    from boxpen.analysis.tagging import in_order
    from boxpen.review import agreement_table, disagreements

    _check_journal(journal)
    found, _, questions = _asked(name, tag, None)
    kept = _journal(journal, name, found, tag)
    given, other, decisions = _decided(questions, kept, rule, adjudicator, min_judges)
    counted = Counter(d.verdict for d in decisions.values() if d.verdict is not None)
    counts = {value: counted[value] for value in in_order(list(counted))}
    open_items = {item: d.reason for item, d in decisions.items() if d.verdict is None}
    rows = agreement_table(given, {q.item: q.part for q in questions})
    agreement = [row for row in rows if row.part]  # a suite need not have sets
    same = _same_as_before(found, tag, decisions)
    if not given and not other:
        note(f"there are no judgements of the tag '{tag}' of suite '{found.name}' in {kept.path}")
    if json:
        print_json(
            {
                "suite": found.name,
                "tag": tag,
                "items": len(found),
                "judges": progress(given),
                "values": counts,
                "of_other_texts": other,
                "same_as_suite": same._asdict(),
                "agreement": [asdict(row) for row in agreement],
                "disagreements": [asdict(one) for one in disagreements(given)],
                "open": open_items,
            }
        )
        return
    screen = console()
    for who, judged in progress(given).items():
        screen.print(f"{who}: {judged} of {len(found)} judged", markup=False)
    shown = [f"{tag} {value}: {count}" for value, count in counts.items()]
    screen.print(", ".join([*shown, f"open: {len(open_items)}"]), markup=False)
    if same.of:
        kappa = "–" if math.isnan(same.kappa) else f"{same.kappa:.2f}"
        told = f"as the suite has it: {same.same} of {same.of}, kappa {kappa}"
        screen.print(told, markup=False)
    if other:
        screen.print(f"of other texts, and left out: {other} judgement(s)", markup=False)
    show_agreement(screen, agreement)
    show_disagreements(screen, disagreements(given))


@tag.command("write")
def write_tagged(
    name: Name,
    tag: TagName,
    out: Annotated[Path, typer.Option(help="A .jsonl, .csv, .tsv or .parquet file.")],
    journal: JournalFile = None,
    rule: RuleOption = "majority",
    adjudicator: Adjudicator = None,
    min_judges: MinJudges = 1,
    replace: Annotated[
        bool, typer.Option("--replace", help="Also where the suite has the tag already.")
    ] = False,
) -> None:
    """Write the suite with the tag as judges settled it; open items go without."""
    from boxpen.analysis.tagging import tagged
    from boxpen.atomic import resolved
    from boxpen.catalog import write_suite
    from boxpen.errors import BuildError

    _check_journal(journal)
    found, _, questions = _asked(name, tag, None)
    kept = _journal(journal, name, found, tag)
    if tag in found.tag_values() and not replace:
        raise BuildError(
            f"suite '{found.name}' has the tag '{tag}' already; expected another tag, or --replace "
            "to put what judges say in its place"
        )
    given, _, decisions = _decided(questions, kept, rule, adjudicator, min_judges)
    place, own = resolved(out, BuildError), Path(name)
    if place.is_file() and own.is_file() and place.samefile(own):
        raise BuildError(f"--out is {out}, the suite that is tagged; expected another file")
    if place == kept.path.resolve():
        raise BuildError(f"--out is {out}, the journal of the judgements; expected another file")
    judges = len(progress(given))
    by = f"decided by {adjudicator}" if adjudicator else f"rule {rule}"
    made = tagged(found, tag, decisions, f"{judges} judge(s), {by}")
    write_suite(made, out)
    settled = sum(tag in item.tags for item in made)
    note(
        f"{made.name}: {settled} of {len(made)} items have the tag '{tag}', "
        f"{len(made) - settled} are open; written to {out}"
    )


def _asked(
    name: str, tag: str, values: Sequence[str] | None
) -> tuple[Suite, VerdictSet, list[Question]]:
    from boxpen.analysis.tagging import check_tag, tag_questions, tag_values
    from boxpen.catalog import load_suite

    check_tag(tag)
    found = load_suite(name)
    verdicts = tag_values(found, tag, values)
    return found, verdicts, tag_questions(found, tag, verdicts)


def _check_journal(path: Path | None) -> None:
    """Refuse a journal that is named and not there: a name that is mistyped has no judgements."""
    from boxpen.errors import BuildError

    try:
        if path is not None:
            path.stat()
    except OSError as error:
        raise BuildError(
            f"--journal is {path}, which cannot be read ({error.strerror}); expected the file of "
            "the judgements"
        ) from None


def _journal(path: Path | None, name: str, found: Suite, tag: str) -> Journal:
    """Return the journal; beside the suite if it is a file, or else in the current folder.

    Lines from before they named their tag are of the tag that the journal's own name tells.
    """
    from boxpen.review import Journal

    own = re.sub(r"[^\w.-]+", "_", f"{found.name}-{tag}-tags.jsonl")
    if path is None:
        path = Path(name).parent / own if Path(name).is_file() else Path(own)
    return Journal(path, tag=tag, untagged=path.name == own)


def _decided(
    questions: Sequence[Question], journal: Journal, rule: str, adjudicator: str | None, fewest: int
) -> tuple[list[Judgement], int, dict[str, Decision]]:
    """Return the judgements of these items, how many are of other texts, and the decisions."""
    from boxpen.review import Rule, of_these_texts, settle

    how = Rule(rule, adjudicator=adjudicator)
    everything = history(journal)
    how.check(everything, journal.path)
    given, other = of_these_texts(everything, questions)
    return given, other, settle(given, how, fewest, [question.item for question in questions])


class _Same(NamedTuple):
    """How many decided items have the same value in the suite, of how many that have one."""

    same: int
    of: int
    kappa: float
    """Cohen's, of the decisions and the suite; NaN where both have one and the same value."""


def _same_as_before(found: Suite, tag: str, decisions: dict[str, Decision]) -> _Same:
    from boxpen.metrics.agreement import cohen_kappa

    both = [item for item in found if tag in item.tags and decisions[item.id].verdict is not None]
    before = [item.tags[tag] for item in both]
    after = [decisions[item.id].verdict for item in both]
    same = sum(one == other for one, other in zip(before, after, strict=True))
    return _Same(same, len(both), cohen_kappa(before, after))
