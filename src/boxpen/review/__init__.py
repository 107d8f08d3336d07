"""Review by people: questions, sheets, a journal of judgements, decisions and agreement.

A ``ReviewTask`` knows what is asked about a target and what verdicts change in it; everything else
here works for any task. A ``Journal`` keeps every judgement; ``settle`` makes one decision per item
of them, ``agreement_table`` measures how well judges agree, and ``settle_labels`` and
``label_agreement`` do so for verdicts with several labels. ``write_sheet`` and ``import_sheets``
exchange questions and answers as CSV files.
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
    Selection,
    assigned,
    of_these_texts,
    open_questions,
    ordered,
    sampled,
    selected,
)
from boxpen.review.decisions import RULES, Decision, Rule, settle
from boxpen.review.exchange import Imported, export_sheet, import_sheets
from boxpen.review.journal import History, Journal
from boxpen.review.judgement import Judgement, Option, Question, VerdictSet, latest, plain
from boxpen.review.labels import (
    LabelPair,
    label_agreement,
    label_pairs,
    labels_of,
    settle_labels,
)
from boxpen.review.sheet import Line, check_sheet, read_sheet, write_sheet
from boxpen.review.task import (
    Applied,
    Destination,
    Detail,
    Review,
    ReviewTask,
    Target,
    check_output,
)
from boxpen.review.tasks import find_task
from boxpen.review.translations import TranslationTask

__all__ = [
    "RULES",
    "Agreement",
    "Applied",
    "Decision",
    "Destination",
    "Detail",
    "Disagreement",
    "History",
    "Imported",
    "Journal",
    "Judgement",
    "LabelPair",
    "Line",
    "Option",
    "Order",
    "Pair",
    "Question",
    "Review",
    "ReviewTask",
    "Rule",
    "Selection",
    "Target",
    "TranslationTask",
    "VerdictSet",
    "agreement_table",
    "assigned",
    "check_output",
    "check_sheet",
    "disagreements",
    "export_sheet",
    "find_task",
    "import_sheets",
    "label_agreement",
    "label_pairs",
    "labels_of",
    "latest",
    "of_these_texts",
    "open_questions",
    "ordered",
    "plain",
    "read_sheet",
    "sampled",
    "selected",
    "settle",
    "settle_labels",
    "write_sheet",
]
