"""boxpen errors: types of translation errors, as judges typed them."""

from __future__ import annotations

from boxpen.cli.app import app
from boxpen.cli.command import command
from boxpen.cli.options import Format, JournalFile, Runs, Verdicts, load_runs

__all__ = ["errors"]


@command(app, "errors", panel="Look")
def errors(runs: Runs, *, journal: JournalFile = None, verdicts: Verdicts, form: Format) -> None:
    """Show translation errors by type, as judged."""
    from boxpen.analysis.translation_errors import ErrorTask, outputs_of
    from boxpen.report import translation_errors as shown
    from boxpen.report.tables import systems

    loaded = load_runs(runs)
    outputs = outputs_of(systems(loaded))
    done = verdicts.decided(ErrorTask.beside(outputs, runs, journal))
    suites = {run.info.suite.name.partition(".")[0] for run in loaded}
    table = shown.error_table(outputs, done, paper=suites == {"commonmt"})
    form.show_page(table, shown.errors_object, shown.errors_page(table))
