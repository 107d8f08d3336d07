"""Outcomes of rules as a Markdown table, for pull requests and the summary of a CI job."""

from __future__ import annotations

from collections.abc import Sequence

from boxpen.report.plain_table import escaped, markdown_line
from boxpen.runs.rules import Outcome

__all__ = ["outcomes_markdown"]


def outcomes_markdown(outcomes: Sequence[Outcome]) -> str:
    """Return one row per rule and run, under a line with the verdict."""
    failed = sum(not o.passed for o in outcomes)
    verdict = f"{failed} of {len(outcomes)} rules failed" if failed else "all rules hold"
    lines = [f"### boxpen: {verdict}", "", markdown_line(["", "run", "rule", "found"])]
    lines.append("|---|---|---|---|")
    for o in outcomes:
        pair = f"{o.run.suite_title} × {o.run.info.model.short}"
        cells = ["ok" if o.passed else "**FAIL**", *map(escaped, (pair, str(o.rule), str(o)))]
        lines.append(markdown_line(cells))
    return "\n".join(lines) + "\n"
