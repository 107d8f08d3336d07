"""boxpen discourse context: what the sentence before tells a model."""

from __future__ import annotations

from boxpen.cli.discourse import Json, Markdown, Runs, discourse
from boxpen.cli.output import print_json, print_page

__all__ = ["show_context_gains"]


@discourse.command("context")
def show_context_gains(runs: Runs, json: Json = False, markdown: Markdown = False) -> None:
    """Show what the context gives a model: contrastive accuracy and CXMI.

    Runs are made with boxpen run --context given, none and shuffled, on a suite with contrasts.
    """
    from boxpen.analysis.discourse.context_gain import context_gains
    from boxpen.errors import RunError
    from boxpen.report.discourse.context_gain import context_object, context_page
    from boxpen.runs.directory import run_directories
    from boxpen.runs.run import Run

    if json and markdown:
        raise RunError("--json and --markdown were given together, expected one of them")
    found = context_gains([Run.load(path) for path in run_directories(runs)])
    if json:
        print_json(context_object(found))
    else:
        print_page(context_page(found), markdown=markdown)
