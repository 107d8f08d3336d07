"""The instances of a run in the shape of Every Eval Ever: one line per verdict and translation."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from boxpen.metrics.bleu import sentence_bleu
from boxpen.metrics.summary import Translation
from boxpen.runs.run import Run
from boxpen.runs.tables import run_frame
from boxpen.scoring.ask import Answer
from boxpen.scoring.reading import Reading
from boxpen.scoring.verdicts import Scored, Verdict

__all__ = ["CONTENT", "RESULT_OF", "TABLES", "sample_rows"]

RESULT_OF = "{slice}/{metric}"
"""The id of a result within a record."""
CONTENT = "boxpen"
"""The metadata that holds the rows of the run's tables."""
TABLES = {"verdicts": "id", "records": "item", "translations": "id", "answers": "item",
          "readings": "id"}  # fmt: skip
"""The tables of a run that instances carry, and their column with the item."""


class _Instance(NamedTuple):
    """What was shown, what is right, what the model gave, and what was made of it."""

    raw: str
    reference: Sequence[str]
    choices: Sequence[str] | None
    output: Sequence[str]
    found: Sequence[tuple[str, str]]  # value and method
    formatted: str | None = None


def sample_rows(run: Run) -> Iterator[dict[str, Any]]:
    """Yield the lines, less what all lines of a record share.

    An item that was both judged and translated has two, one for each result.
    """
    kept = _rows_by_item(run)
    answers: dict[str, list[Answer]] = {}
    for answer in run.answers:
        answers.setdefault(answer.item, []).append(answer)
    readings = {reading.id: reading for reading in run.readings}
    translations = {one.id: one for one in run.translations}
    for v in run.verdicts:
        if run.human:
            instance = _of_human(v)
        elif run.info.asked:
            instance = _asked(v, run.candidates[v.id], answers[v.id])
        elif run.info.generated:
            instance = _generated(v, readings[v.id], translations[v.id])
        elif run.labels:
            instance = _labelled(v, run.candidates[v.id][0], run.labels)
        else:
            instance = _scored(v, run.candidates[v.id])
        tables = ("verdicts", "records", "answers")
        content = {table: kept[table].get(v.id, []) for table in tables}
        yield _row(v.id, "accuracy", instance, v.credit, v.credit == 1, v.block, v.tags, content)
    scores = _sentence_scores(run.translations)
    for one in run.translations:
        shown = _Instance(one.source, [one.reference], None, [one.translation], [])
        reading = readings.get(one.id)
        content = {table: kept[table].get(one.id, []) for table in ("translations", "readings")}
        same = one.translation == one.reference
        block = reading.block if reading else None
        yield _row(one.id, "bleu", shown, scores[one.id], same, block, one.tags, content)


def _rows_by_item(run: Run) -> dict[str, dict[str, list[dict[str, Any]]]]:
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for table, column in TABLES.items():
        of = found.setdefault(table, {})
        for row in run_frame(run, table).to_dicts():
            of.setdefault(row[column], []).append(row)
    return found


def _row(
    item: str,
    metric: str,
    instance: _Instance,
    score: float,
    right: bool,
    block: str | None,
    tags: Mapping[str, str],
    content: Mapping[str, Sequence[Mapping[str, Any]]],
) -> dict[str, Any]:
    asked = {"raw": instance.raw, "reference": list(instance.reference)}
    # As the converters of Every Eval Ever hash it, so that samples of other tools are found.
    text = json.dumps(asked, sort_keys=True, separators=(",", ":"))
    more: dict[str, Any] = {}
    if instance.formatted is not None:
        more["formatted"] = instance.formatted
    if instance.choices is not None:
        more["choices"] = list(instance.choices)
    kept = {table: rows for table, rows in content.items() if rows}
    return {
        "evaluation_result_id": RESULT_OF.format(slice="all", metric=metric),
        "sample_id": item,
        "sample_hash": hashlib.sha256(text.encode()).hexdigest() if instance.raw else None,
        "interaction_type": "single_turn",
        "input": {**asked, **more},
        "output": {"raw": list(instance.output)},
        "answer_attribution": [
            {
                "turn_idx": 0,
                "source": "output.raw",
                "extracted_value": value,
                "extraction_method": method,
                "is_terminal": True,
            }
            for value, method in instance.found
        ],
        "evaluation": {"score": score, "is_correct": right},
        "metadata": {
            **({"block": block} if block is not None else {}),
            **{f"tag.{tag}": value for tag, value in tags.items()},
            CONTENT: json.dumps(kept, ensure_ascii=False, allow_nan=False),
        },
    }


def _scored(v: Verdict, candidates: Sequence[Scored]) -> _Instance:
    """Return candidates whose likelihoods were compared, after what they have in common."""
    before = {(c.source or "", c.prefix) for c in candidates}
    texts = [c.text for c in candidates]
    raw = ""
    if len(before) == 1:
        raw = "\n".join(filter(None, before.pop()))
    else:
        texts = [c.prefix + c.text for c in candidates]
    return _chosen(v, raw, texts, "highest score")


def _labelled(v: Verdict, pair: Scored, labels: Sequence[str]) -> _Instance:
    """Return a premise and a hypothesis, with the labels that competed as choices."""
    instance = _chosen(v, f"Premise: {pair.prefix}\nHypothesis: {pair.text}", labels, "label")
    return instance._replace(reference=list(dict.fromkeys((labels[v.gold], *v.also))))


def _of_human(v: Verdict) -> _Instance:
    """Return the candidates by number: a run of human answers does not hold their texts."""
    texts = [f"candidate {number}" for number in range(len(v.scores))]
    return _chosen(v, "", texts, "majority vote")


def _chosen(v: Verdict, raw: str, texts: Sequence[str], method: str) -> _Instance:
    best = texts[v.winner]
    return _Instance(raw, [texts[v.gold]], texts, [best], [(best, method)])


def _asked(v: Verdict, candidates: Sequence[Scored], answers: Sequence[Answer]) -> _Instance:
    """Return a question that was asked in several orders, with the answer to each."""
    texts = [c.text for c in candidates]
    return _Instance(
        raw="\n".join(filter(None, (candidates[0].source, candidates[0].prefix))),
        reference=list(dict.fromkeys((texts[v.gold], *v.also))),
        choices=texts,
        output=[answer.text for answer in answers],
        found=[(texts[a.chosen], f"order {a.order}") for a in answers if a.chosen is not None],
        formatted=answers[0].prompt,
    )


def _generated(v: Verdict, reading: Reading, made: Translation) -> _Instance:
    """Return a translation and the reading that it carries."""
    method = {"model": "llm_judge", "words": "class words"}.get(reading.by, reading.by)
    texts = reading.candidates
    carried = [(texts[v.winner], method)]
    return _Instance(made.source, [texts[v.gold]], texts, [made.translation], carried)


def _sentence_scores(translations: Sequence[Translation]) -> dict[str, float]:
    of: dict[str | None, list[Translation]] = {}
    for one in translations:
        of.setdefault(one.language, []).append(one)
    found: dict[str, float] = {}
    for language, some in of.items():
        made, wanted = [t.translation for t in some], [t.reference for t in some]
        found |= zip((t.id for t in some), sentence_bleu(made, wanted, language), strict=True)
    return found
