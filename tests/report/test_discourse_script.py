"""The tables that scripts/discourse.py derives from others."""

from __future__ import annotations

import discourse
import pytest
import results


@pytest.mark.parametrize("topic", ["discourse", "said-instead"])
def test_the_summary_is_that_of_the_table_by_class(topic):
    shown = results.shown(topic, "summary")
    assert shown == discourse.summary(results.shown(topic, "judge"))
    assert "| CADec (paper) | 53 | 60 | 2.25 |" in shown


def test_a_report_has_headings_of_the_page():
    made = discourse._bold("### BLEU [95 %]\n\n| a |\n\n### right by readers, %\n")
    assert made == "**BLEU [95 %]**\n\n| a |\n\n**Right by readers, %**\n"
