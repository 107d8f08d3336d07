"""boxpen discourse compare: does one model translate a phenomenon better than another?"""

from __future__ import annotations

from boxpen.cli.discourse import (
    ByOption,
    Json,
    Markdown,
    People,
    Runs,
    discourse,
    judged_renderings,
    one_format,
    outcomes_of,
)
from boxpen.cli.output import print_json, print_page
from boxpen.cli.review import Adjudicator, JournalFile, MinJudges, RuleOption

__all__ = ["compare_models"]


@discourse.command("compare")
def compare_models(
    runs: Runs,
    by: ByOption = "judge",
    journal: JournalFile = None,
    rule: RuleOption = None,
    adjudicator: Adjudicator = None,
    min_judges: MinJudges = None,
    json: Json = False,
    markdown: Markdown = False,
) -> None:
    """Compare models on the same sentences: what is right, and BLEU, with paired tests."""
    from boxpen.analysis.discourse.compare import compare_renderings
    from boxpen.report.discourse.compare import comparison_object, comparison_page

    one_format(json, markdown)
    _, found = judged_renderings(runs)
    people = People(journal, rule, adjudicator, min_judges) if by == "readers" else None
    pairs = compare_renderings(found, outcomes_of(found, runs, people))
    if json:
        print_json(comparison_object(pairs, by))
    else:
        print_page(comparison_page(pairs, by, wide=markdown), markdown=markdown)
