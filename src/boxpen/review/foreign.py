"""Judgements from elsewhere: journals, and exports of Label Studio, doccano and Pearmut.

The format is known by its content. Every annotation must name one of our items, in a key ``item``
that was given to the other tool with its data (Pearmut: ``item_id``), and a verdict: by its name or
abbreviation, or, where candidates are chosen, by the text of one or its number in the suite.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from boxpen.errors import BuildError
from boxpen.failures import reason
from boxpen.names import wanted_of_a_judge
from boxpen.printable import excerpt
from boxpen.review.journal import Journal
from boxpen.review.judgement import JOINT, Judgement, Question, VerdictSet, latest, plain, settled
from boxpen.review.sheet import Line

__all__ = ["is_foreign", "read_foreign"]


class _Said(NamedTuple):
    """An annotation, in the words of the other tool."""

    where: str
    item: Any
    judge: Any
    labels: list[str]
    edit: str = ""
    comment: str = ""
    time: Any = None


def is_foreign(path: Path) -> bool:
    """Whether a file holds JSON, and so is not a sheet."""
    try:
        with path.open("rb") as stream:
            start = stream.read(200).removeprefix(b"\xef\xbb\xbf").lstrip()
    except OSError:
        return False  # which is reported when it is read as a sheet
    return start.startswith((b"{", b"["))


def read_foreign(
    path: Path,
    questions: Mapping[str, Question],
    verdicts: VerdictSet,
    *,
    judge: str | None = None,
    time: str | None = None,
    origin: str = "table",
) -> list[Line]:
    """Read the judgements of a journal or an export; see ``read_sheet`` for the arguments."""
    data = _data(path)
    if isinstance(data, _Lines):
        if all({"item", "judge", "verdict"} <= one.keys() for one in data):
            return list(_journal(path, questions, verdicts, origin))
        said: Iterable[_Said] = _doccano(path, data)
    elif isinstance(data, list):
        said = _label_studio(path, data)
    else:
        said = _pearmut(path, data, questions)
    found = {}
    try:
        for number, one in enumerate(said, 1):
            made = _judgement(one, questions, verdicts, judge, time, origin)
            # What a judge said last counts, as in a journal.
            found[made.item, made.judge] = Line(path, number, made)
    except (AttributeError, KeyError, TypeError):  # a list where an object should be, say
        raise BuildError(
            f"{path} is not a journal, nor an export of Label Studio, doccano or Pearmut"
        ) from None
    return list(found.values())


class _Lines(list[dict[str, Any]]):
    """Objects that had a line each."""


def _data(path: Path) -> Any:
    try:
        text = path.read_text("utf-8-sig")
        text.encode()
    except (OSError, UnicodeError) as error:
        raise BuildError(f"{path} cannot be read: {reason(error)}") from None
    try:
        whole = json.loads(text)
        lone = isinstance(whole, dict) and not all(isinstance(v, list) for v in whole.values())
        return _Lines([whole]) if lone else whole
    except RecursionError:
        raise BuildError(f"{path} holds JSON that is nested too deeply") from None
    except ValueError:
        pass
    found = _Lines()
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                one = json.loads(line)
            except (ValueError, RecursionError):
                one = None
            if not isinstance(one, dict):
                raise BuildError(f"{path}, line {number} is {excerpt(line)}, expected an object")
            found.append(one)
    return found


def _journal(
    path: Path, questions: Mapping[str, Question], verdicts: VerdictSet, origin: str
) -> Iterator[Line]:
    history = Journal(path).read().judgements
    number = 0
    for item, of in latest(settled(history)).items():
        for one in of.values():
            if one.decides and not one.verdict:
                continue  # it would withdraw what another adjudicator has decided
            number += 1
            where = f"{path}: judge '{one.judge}'"
            question = _known(item, questions, where, origin)
            if not question.was_seen(one):
                raise BuildError(
                    f"{where} judged other texts of item '{item}', expected those of this {origin}"
                )
            if one.verdict and verdicts.read(one.verdict) != one.verdict:
                raise BuildError(
                    f"{where} gives item '{item}' the verdict {excerpt(one.verdict)}, expected "
                    f"{verdicts}"
                )
            yield Line(path, number, one, blank=not one.verdict)


def _label_studio(path: Path, tasks: list[Any]) -> Iterator[_Said]:
    """Yield the annotations of Label Studio's JSON export: choices, and text areas by name."""
    for number, task in enumerate(tasks, 1):
        where = f"{path}, task {number}"
        if not isinstance(task, dict) or not isinstance(task.get("annotations"), list):
            raise BuildError(
                f"{where} has no annotations, expected the JSON export of Label Studio (not "
                "JSON-MIN)"
            )
        item = (task.get("data") or {}).get("item")
        for one in task["annotations"]:
            if one.get("was_cancelled"):
                continue
            labels: list[str] = []
            texts = {"edit": "", "comment": ""}
            for result in one.get("result", ()):
                value = result.get("value", {})
                if "choices" in value:
                    labels += map(str, value["choices"])
                elif "text" in value and result.get("from_name") in texts:
                    some = value["text"]
                    texts[result["from_name"]] = "\n".join(
                        [some] if isinstance(some, str) else some
                    )
                else:
                    kind = result.get("type", "something else")
                    raise BuildError(
                        f"{where} has {excerpt(str(kind))}, expected choices, and text areas named "
                        "'edit' and 'comment'"
                    )
            who = one.get("completed_by")
            who = who.get("email") or who.get("id") if isinstance(who, dict) else who
            yield _Said(where, item, who, labels, **texts, time=one.get("created_at"))


def _doccano(path: Path, rows: Iterable[dict[str, Any]]) -> Iterator[_Said]:
    """Yield the lines of doccano's JSONL export of a text classification."""
    for number, row in enumerate(rows, 1):
        where = f"{path}, line {number}"
        labels = row.get("label", row.get("labels"))
        labels = [labels] if isinstance(labels, str) else labels
        if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
            raise BuildError(
                f"{where} has the label {excerpt(json.dumps(labels))}, expected those of a text "
                "classification, as doccano exports them in JSONL"
            )
        meta = row.get("meta") if isinstance(row.get("meta"), dict) else {}
        item = row.get("item", (meta or {}).get("item"))
        who = row.get("annotator") or row.get("username") or row.get("annotation_approver")
        said = row.get("Comments", row.get("comments")) or ()
        comment = "\n".join(map(str, [said] if isinstance(said, str) else said))
        if labels:
            yield _Said(where, item, who, labels, comment=comment)


def _pearmut(
    path: Path, campaigns: Mapping[str, Any], questions: Mapping[str, Question]
) -> Iterator[_Said]:
    """Yield the annotations of Pearmut's download: categories of errors, or the highest score."""
    for campaign, logs in campaigns.items():
        if not isinstance(logs, list):
            raise BuildError(
                f"{path} is not a journal, nor an export of Label Studio, doccano or Pearmut"
            )
        for number, log in enumerate(logs, 1):
            where = f"{path}, campaign {excerpt(campaign)}, annotation {number}"
            made, items = log.get("annotation"), log.get("item")
            if not isinstance(made, list):  # an annotator has begun again
                continue
            if not isinstance(items, list) or len(items) != len(made):
                raise BuildError(f"{where} does not show its items, expected one per annotation")
            for item, of in zip(items, made, strict=True):
                name = item.get("item_id")
                question = questions.get(name) if isinstance(name, str) else None
                if question is not None and question.options:
                    labels = [_highest(item.get("tgt", {}), of, where)]
                elif len(of) == 1:
                    labels = _categories(next(iter(of.values())))
                else:
                    raise BuildError(f"{where} has {len(of)} translations, expected one")
                texts = [str(one.get("textfield") or "") for one in of.values()]
                comment = "\n".join(filter(None, texts))
                yield _Said(where, name, log.get("user_id"), labels, comment=comment)


def _highest(texts: Mapping[str, str], of: Mapping[str, Any], where: str) -> str:
    """Return the candidate with the highest score."""
    scores = {model: one.get("score") for model, one in of.items()}
    if not all(isinstance(score, int | float) for score in scores.values()):
        raise BuildError(f"{where} has no score for a candidate, expected one for each")
    best = [model for model, score in scores.items() if score == max(scores.values())]
    if len(best) != 1:
        raise BuildError(f"{where} gives {len(best)} candidates the same score, expected one best")
    return str(texts.get(best[0], ""))


def _categories(one: Mapping[str, Any]) -> list[str]:
    """Return the categories of marked errors, the last part of each; 'right' without any."""
    spans = one.get("error_spans") or ()
    named = [str(span.get("category") or "").rpartition("/")[2].strip() for span in spans]
    return list(dict.fromkeys(named)) or ["right"]


def _judgement(
    one: _Said,
    questions: Mapping[str, Question],
    verdicts: VerdictSet,
    judge: str | None,
    time: str | None,
    origin: str,
) -> Judgement:
    question = _known(one.item, questions, one.where, origin)
    who = str(one.judge) if one.judge not in (None, "") else judge
    if who is None:
        raise BuildError(f"{one.where} names no judge; give --judge")
    wanted = wanted_of_a_judge(who)
    if wanted is not None:
        raise BuildError(f"{one.where} has the judge {excerpt(who)}, expected {wanted}")
    text = JOINT.join(one.labels)
    verdict: str | None
    if question.options:
        by_text = {plain(option.text): option.verdict for option in question.options}
        numbers = {option.verdict: option.verdict for option in question.options}
        named = text.strip() if text.strip() in verdicts.beside else None
        verdict = by_text.get(plain(text)) or numbers.get(text.strip()) or named
        expected = "the text of a candidate, or its number in the suite, from 1"
    else:
        verdict, expected = verdicts.read(text), str(verdicts)
    if verdict is None:
        raise BuildError(f"{one.where} has the label {excerpt(text)}, expected {expected}")
    at = one.time if isinstance(one.time, str) and one.time else time
    edit = one.edit.strip()
    if (verdict in verdicts.edited) != bool(edit):
        wanted = "the new text" if not edit else "no edit"
        raise BuildError(f"{one.where} has the label {excerpt(text)}, expected {wanted} with it")
    return Judgement(question.item, who, verdict, edit, one.comment.strip(), question.digest, at)


def _known(item: Any, questions: Mapping[str, Question], where: str, origin: str) -> Question:
    question = questions.get(item) if isinstance(item, str) else None
    if question is None:
        found = "no 'item'" if item is None else f"the item {excerpt(str(item))}"
        raise BuildError(f"{where} has {found}, expected one of this {origin}")
    return question
