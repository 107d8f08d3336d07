"""Review by people: questions, sheets, a journal of judgements, decisions and agreement.

A ``ReviewTask`` knows what is asked about a target and what verdicts change in it; everything else
here works for any task. A ``Journal`` keeps every judgement, ``decide`` makes one decision per item
of them, and ``agreement_table`` measures agreement; ``decide_labels`` and ``label_agreement`` do so
for verdicts with several labels. Sheets exchange questions and answers as CSV files.
"""

from boxpen.review.agreement import Agreement, agreement_table, disagreements
from boxpen.review.assignment import (
    Selection,
    assigned,
    of_these_texts,
    open_questions,
    ordered,
    sampled,
)
from boxpen.review.decisions import Decision, Rule, decide
from boxpen.review.exchange import export_sheet, import_sheets
from boxpen.review.journal import Journal
from boxpen.review.judgement import Judgement, Option, Question, VerdictSet, latest, plain
from boxpen.review.labels import (
    LabelPair,
    decide_labels,
    label_agreement,
    label_pairs,
    labels_of,
)
from boxpen.review.sheet import check_sheet, read_sheet, write_sheet
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
    "Agreement",
    "Applied",
    "Decision",
    "Destination",
    "Detail",
    "Journal",
    "Judgement",
    "LabelPair",
    "Option",
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
    "decide",
    "decide_labels",
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
    "write_sheet",
]
