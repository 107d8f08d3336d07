"""Collects all results of runs for the HTML report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from boxpen.errors import BoxpenError, RunError
from boxpen.files import replaced
from boxpen.report.html.data import SuiteNotes
from boxpen.runs.comparison import comparable
from boxpen.runs.run import Run

__all__ = ["whole_page", "write_page"]


def whole_page(
    runs: Sequence[Run], *, title: str | None = None, items: bool = True
) -> tuple[str, list[str]]:
    """Return the report of runs, and what had to be left out of it."""
    from boxpen.report.html.report import html_report

    pairs, missing = comparable(runs)
    suites = _suites(runs, missing)
    return html_report(runs, title=title, pairs=pairs, suites=suites, items=items), missing


def write_page(page: str, path: Path) -> None:
    """Write a page whole or not at all.

    Raises:
        RunError: If it cannot be written.
    """
    with replaced(path, RunError) as stream:
        stream.write(page.encode())


def _suites(runs: Sequence[Run], missing: list[str]) -> dict[str, SuiteNotes]:
    """Audit suites for shortcuts, if they are available and unchanged since the run."""
    from boxpen.analysis.suites.audit import shortcut_rows
    from boxpen.catalog import is_suite, load_suite

    out: dict[str, SuiteNotes] = {}
    for name in dict.fromkeys(run.info.suite.name for run in runs):
        # A suite of a file may be called as if it were a part of another: 'cats.sm-duals'.
        if not is_suite(name):
            missing.append(
                f"no shortcuts of {name}: it is not known by name; see boxpen suite audit FILE"
            )
            continue
        judged = {v.id for run in runs if run.info.suite.name == name for v in run.verdicts}
        try:
            suite = load_suite(name)
        except BoxpenError as error:
            missing.append(f"no shortcuts of {name}: {error}")
            continue
        part = suite.take([i for i in suite if i.id in judged])
        hashes = {run.info.suite.hash for run in runs if run.info.suite.name == name}
        if part.hash not in hashes:
            missing.append(f"no shortcuts of {name}: it is not what it was when it was run")
            continue
        out[name] = SuiteNotes(shortcut_rows(part))
    return out
