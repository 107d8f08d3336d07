"""boxpen errors: types of translation errors, as people judged them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from boxpen.cli.app import app
from boxpen.cli.output import console, print_json
from boxpen.cli.review import Adjudicator, JournalFile, MinJudges, RuleOption, rule_of

__all__ = ["errors"]

errors = typer.Typer(
    no_args_is_help=True, help="Count the errors of translations that people have judged."
)
app.add_typer(errors, name="errors")

Runs = Annotated[
    list[Path], typer.Argument(help="Run directories of translation models.", metavar="RUN...")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@errors.command("table")
def show_table(
    runs: Runs,
    journal: JournalFile = None,
    rule: RuleOption = None,
    adjudicator: Adjudicator = None,
    min_judges: MinJudges = None,
    json: Json = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> None:
    """Show the share of each type of error, and whether wrong choices go with such errors."""
    from boxpen.analysis.translation_errors import ErrorTask, outputs_of
    from boxpen.errors import BuildError
    from boxpen.report.tables import systems
    from boxpen.report.translation_errors import (
        error_table,
        errors_markdown,
        errors_object,
        errors_terminal,
    )
    from boxpen.review import Target
    from boxpen.runs.directory import run_directories
    from boxpen.runs.run import Run

    if json and markdown:
        raise BuildError("--json and --markdown were given together, expected one of them")
    paths = run_directories(runs)
    loaded = [Run.load(path) for path in paths]
    outputs = outputs_of(systems(loaded))
    kept = Target((), journal).journal_beside(paths, ErrorTask.journal_file)
    task = ErrorTask(outputs, kept)
    done = task.review(rule_of(task, rule, adjudicator), min_judges)
    if all(decision.verdict is None for decision in done.decisions.values()):
        raise BuildError(
            f"no translation is decided: {kept.path} has {len(done.given)} judgement(s) of these "
            "runs; see boxpen review status"
        )
    suites = {run.info.suite.name.partition(".")[0] for run in loaded}
    table = error_table(outputs, done, paper=suites == {"commonmt"})
    if json:
        print_json(errors_object(table))
    elif markdown:
        print(errors_markdown(table), end="")
    else:
        screen = console()
        for part in errors_terminal(table):
            screen.print(part)
