"""Sheets of what runs translated: what all commands that let people judge it have in common."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from boxpen.cli.judging import history, write_questions

if TYPE_CHECKING:
    from boxpen.review import Journal, Question

__all__ = [
    "RunsAndSheets",
    "Sample",
    "Seed",
    "SheetOrder",
    "journal_beside",
    "parted",
    "written",
]

RunsAndSheets = Annotated[
    list[Path],
    typer.Argument(help="Run directories, and sheets filled in.", metavar="RUN... SHEET..."),
]
Sample = Annotated[
    int | None, typer.Option(help="So many items, drawn at random, the same for all judges.")
]
SheetOrder = Annotated[
    Literal["own", "random", "suite"],
    typer.Option(help="Shuffled for each judge; shuffled; as in the suite."),
]
Seed = Annotated[int, typer.Option(help="Seed of samples and orders.")]


def written(
    questions: Sequence[Question],
    journal: Journal,
    out: Path,
    judge: str,
    *,
    order: Literal["own", "random", "suite"],
    disputed: bool,
    everything: bool,
    seed: int,
    what: str = "translation",
) -> None:
    """Write the sheet of a judge, with the questions that are open, and say how many."""
    from boxpen.review import (
        Order,
        disagreements,
        latest,
        of_these_texts,
        open_questions,
        ordered,
    )

    asked = list(questions)
    given, _ = of_these_texts(history(journal), asked)
    said = latest(given)
    if disputed:
        divided = {found.item for found in disagreements(g for g in given if g.judge != judge)}
        asked = [question for question in asked if question.item in divided]
    if not everything:
        asked = open_questions(asked, said, judge)
    ways: dict[str, Order] = {"own": "own", "random": "random", "suite": "given"}
    write_questions(out, ordered(asked, ways[order], judge, seed), judge, what=what, said=said)


def parted(paths: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Return the run directories among paths, and the sheets.

    Raises:
        BuildError: If there are none of the ones or of the others.
    """
    from boxpen.errors import BuildError

    runs = [path for path in paths if path.is_dir()]
    sheets = [path for path in paths if not path.is_dir()]
    if not runs or not sheets:
        lacking = "run directory" if not runs else "sheet"
        raise BuildError(
            f"there is no {lacking} among {', '.join(map(str, paths))}; expected the runs that a "
            "sheet was made from, and then the sheet"
        )
    return runs, sheets


def journal_beside(path: Path | None, runs: Sequence[Path], name: str) -> Journal:
    """Return the journal; beside run directories, since one that is made anew is replaced.

    Raises:
        BuildError: If the runs stand in several folders and no path is given.
    """
    from boxpen.errors import BuildError
    from boxpen.review import Journal
    from boxpen.rundir import run_directories

    if path is not None:
        return Journal(path)
    folders = sorted({run.resolve().parent for run in run_directories(runs)})
    if len(folders) > 1:
        raise BuildError(
            f"the runs stand in {' and '.join(map(str, folders))}, expected one folder, or "
            "--journal with the file of the judgements"
        )
    return Journal(folders[0] / name)
