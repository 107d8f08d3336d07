"""Judgements of people: what is asked, who said what, what follows, and how far they agree.

Nothing here knows what is judged. A ``Question`` is an item and the texts that a judge sees of it,
a ``VerdictSet`` the answers that are allowed, a ``Journal`` the file that keeps every answer that
was ever given; ``settle`` makes one decision per item of them, ``agreement_table`` says how far the
judges agree. ``settle_labels`` and ``label_agreement`` do so where a verdict may be several labels
at once. ``write_sheet`` and ``import_sheets`` carry questions and answers through a CSV file.
"""

from boxpen.review.agreement import (
    Agreement,
    Disagreement,
    Pair,
    agreement_table,
    disagreements,
)
from boxpen.review.assignment import (
    Order,
    assigned,
    of_these_texts,
    open_questions,
    ordered,
    sampled,
)
from boxpen.review.decisions import RULES, Decision, Rule, settle
from boxpen.review.imports import Imported, import_sheets
from boxpen.review.journal import History, Journal
from boxpen.review.judgement import Judgement, Question, VerdictSet, latest
from boxpen.review.labels import (
    LabelPair,
    label_agreement,
    label_pairs,
    labels_of,
    settle_labels,
)
from boxpen.review.sheet import Line, read_sheet, write_sheet

__all__ = [
    "RULES",
    "Agreement",
    "Decision",
    "Disagreement",
    "History",
    "Imported",
    "Journal",
    "Judgement",
    "LabelPair",
    "Line",
    "Order",
    "Pair",
    "Question",
    "Rule",
    "VerdictSet",
    "agreement_table",
    "assigned",
    "disagreements",
    "import_sheets",
    "label_agreement",
    "label_pairs",
    "labels_of",
    "latest",
    "of_these_texts",
    "open_questions",
    "ordered",
    "read_sheet",
    "sampled",
    "settle",
    "settle_labels",
    "write_sheet",
]
