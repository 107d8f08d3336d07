"""What the commands about judgements share: sheets, journals, and how agreement is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from boxpen.cli.output import note, print_json

if TYPE_CHECKING:
    from rich.console import Console

    from boxpen.judgements import (
        Agreement,
        Disagreement,
        Imported,
        Journal,
        Judgement,
        Question,
    )

__all__ = [
    "Disputed",
    "Everything",
    "JudgedAt",
    "JudgedBy",
    "Overwrite",
    "check_sheet",
    "history",
    "number",
    "progress",
    "show_agreement",
    "show_disagreements",
    "show_imported",
    "write_questions",
]

_COLUMNS = {"item", "verdict", "edit", "comment", "judge", "digest"}
"""Of every sheet."""
_LONGEST = 1 << 16
"""Bytes of a sheet's first line."""

Disputed = Annotated[bool, typer.Option("--disputed", help="Only what other judges differ about.")]
Everything = Annotated[
    bool, typer.Option("--all", help="Also what is judged already, with its verdicts.")
]
JudgedAt = Annotated[
    str | None, typer.Option(help="When, to be kept with the judgements; not kept if not given.")
]
JudgedBy = Annotated[str | None, typer.Option(help="Who judged, if the sheet does not say so.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Write over a sheet that is there.")]


def check_sheet(judge: str, out: Path, *, overwrite: bool) -> None:
    """Refuse a sheet that is nobody's, or that would take the place of another file.

    Only a sheet may be written over, not a journal, nor somebody's table.

    Raises:
        BuildError: If it is, or what stands there cannot be read.
    """
    from boxpen.errors import BuildError
    from boxpen.names import check_judge

    check_judge(judge, "--judge")
    if out.suffix != ".csv":
        raise BuildError(f"--out is {out}, expected a file that ends in .csv")
    if out.exists() and not overwrite:
        raise BuildError(f"{out} is there already; import it, and give another name or --overwrite")
    # Where no file is, nothing is lost; what else is there is told when it is written.
    if out.is_file() and not _is_sheet(out):
        raise BuildError(
            f"{out} is no sheet: its first line does not name the columns of one; expected a "
            "sheet, or a file that is not there yet"
        )


def write_questions(
    out: Path,
    asked: Sequence[Question],
    judge: str,
    *,
    what: str,
    said: Mapping[str, Mapping[str, Judgement]],
    blind: bool = False,
) -> None:
    """Write the sheet of a judge, and say how much there is to judge.

    Where there is nothing no file is written: an empty sheet would only be in the way of the next.

    Args:
        out: The sheet.
        asked: What to ask, in this order.
        judge: Whose sheet it is.
        what: What is judged, for the line that is printed: 'item'.
        said: What ``latest`` returns.
        blind: Leave out the hints.

    Raises:
        BuildError: If it cannot be written.
    """
    from boxpen.judgements import write_sheet

    if not asked:
        stays = f"; {out} stays as it was" if out.exists() else ""
        note(f"{judge}: no {what} to judge, so no sheet was written{stays}")
        return
    write_sheet(out, asked, judge, said=said, blind=blind)
    note(f"{judge}: {len(asked)} {what}(s) to judge, written to {out}")


def history(journal: Journal) -> tuple[Judgement, ...]:
    """Return all judgements of a journal, and say so if its last line was cut off."""
    found = journal.read()
    if found.torn:
        note(found.torn)
    return found.judgements


def progress(given: Sequence[Judgement]) -> dict[str, int]:
    """Return how many items each judge has judged."""
    from boxpen.judgements import latest

    judged = [name for of in latest(given).values() for name, one in of.items() if one.verdict]
    return {name: judged.count(name) for name in sorted(set(judged))}


def show_imported(found: Imported, journal: Journal, *, json: bool) -> None:
    """Print what became of sheets."""
    if found.torn:
        note(found.torn)
    if json:
        print_json(
            {
                "journal": str(journal.path),
                "added": len(found.added),
                "known": found.known,
                "changed": [{"before": asdict(a), "after": asdict(b)} for a, b in found.changed],
            }
        )
        return
    for before, after in found.changed:
        print(f"{after.judge}, {after.item}: {_said(before)} → {_said(after)}")
    note(
        f"{len(found.added)} judgement(s) added to {journal.path}, {len(found.changed)} of them in "
        f"place of others; {found.known} known already"
    )


def show_agreement(screen: Console, rows: Sequence[Agreement]) -> None:
    """Print a line for every part, and under 'all' one for every two of several judges."""
    from rich.text import Text

    from boxpen.report.plain_table import plain_table

    shown = plain_table()
    for column in ("agreement", "n", "pairs", "Cohen", "Fleiss", "(n)", "Krippendorff"):
        shown.add_column(column, justify="left" if column == "agreement" else "right")
    for row in rows:
        shown.add_row(
            Text(row.part), f"{row.items:,}", number(row.percent), number(row.cohen),
            number(row.fleiss), f"{row.fleiss_items:,}", number(row.alpha),
        )  # fmt: skip
        if row.part == "all" and len(row.pairs) > 1:
            for pair in row.pairs:
                names = Text(f"  {pair.first}, {pair.second}")
                numbers = (f"{pair.items:,}", number(pair.percent), number(pair.kappa))
                shown.add_row(names, *numbers, "", "", "")
    screen.print()
    screen.print(shown)


def show_disagreements(screen: Console, found: Sequence[Disagreement]) -> None:
    """Print every item on which judges differ, with who said what."""
    if found:
        screen.print("\nJudges differ:", markup=False)
    for one in found:
        verdicts = "; ".join(f"{each.judge} {_said(each)}" for each in one.judgements)
        screen.print(f"  {one.item}: {verdicts}", markup=False)


def number(value: float) -> str:
    """Return a number as it is shown; a dash if it is none."""
    return "–" if value != value else f"{value:.3f}"  # NaN is the number that is not itself


def _is_sheet(path: Path) -> bool:
    import csv

    from boxpen.errors import BuildError

    try:
        with path.open("rb") as stream:
            start = stream.readline(_LONGEST).decode("utf-8-sig", "replace")
    except OSError as error:
        raise BuildError(f"{path} cannot be read: {error.strerror}") from None
    lines = start.splitlines()[:1]
    try:
        found = next(csv.reader(lines, delimiter=max(",;\t", key=start.count)), [])
    except csv.Error:
        return False
    return _COLUMNS.issubset(name.strip() for name in found)


def _said(judgement: Judgement) -> str:
    edit = f" ({' / '.join(judgement.edit.splitlines())})" if judgement.edit else ""
    return (judgement.verdict or "no verdict") + edit
