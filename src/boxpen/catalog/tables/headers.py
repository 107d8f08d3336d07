"""Headers of public data sets, recognised by their columns, and a guess at any other header.

A header is recognised only if every column of text that a reader needs has a place: a table with a
``passage`` that no candidate would follow gives plausible numbers that are wrong.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

__all__ = ["NUMBERED", "import_command", "lacking", "listed", "recognised"]

NUMBERED = re.compile(
    r"(sentence|sent|candidate|option|choice|ending|sol|answer)_?(\d{1,3})", re.IGNORECASE
)
_FROM_ZERO_ONLY = ("sentence", "sent")
"""'sentence1', 'sentence2' and 'label' are pairs to compare in GLUE, not candidates."""
_LISTS = ("choices", "endings", "options")
_LABELS = ("label", "gold", "answerkey", "answer")
_GOOD = ("good", "sentence_good", "good_sentence")
_BAD = ("bad", "sentence_bad", "bad_sentence")
_BLIMP = ("uid", "linguistics_term", "field")
"""Columns of BLiMP that say what a pair tests; they become tags."""
_TAGS = ("subject", "activity_label", "split_type")  # of MMLU and HellaSwag
_NO_SOURCE = ("language", "dataset", "url", "id")
_CONTEXTS = (
    ("startphrase",), ("sent1", "sent2"), ("ctx",), ("goal",), ("question_stem",),
    ("context", "question"), ("premise",), ("context",), ("question",),
)  # fmt: skip
"""What comes before the candidates; the first of these that the header has."""
_TEXTS = {
    "context", "question", "question_stem", "premise", "goal", "ctx", "startphrase", "sentence",
    "text", "prompt", "passage", "article", "story", "paragraph", "stem", "body", "query", "input",
    "background", "narrative", "dialogue",
}  # fmt: skip
"""Columns that cannot be left out unread."""
_RIGHT = {"correct", "right", "good", "chosen", "preferred", "positive", "true", "plausible"}
_WRONG = {
    "wrong", "incorrect", "bad", "rejected", "dispreferred", "negative", "false", "implausible",
    "distractor",
}  # fmt: skip
_GOLD = {"label", "gold", "answer", "key", "solution", "target", "correct", "right", "truth"}
_SERIES = re.compile(r"(.*?)[_ -]?(\d{1,3}|(?<=[_ -])[a-zA-Z]|(?<=[a-z])[A-Z])")


def recognised(header: Sequence[str]) -> dict[str, Any]:
    """Return what the columns of a known header are, or what little is known of another."""
    lower = {name.casefold(): name for name in header if name}
    out: dict[str, Any] = {n: lower[n] for n in ("id", "block", "source") if n in lower}
    if all(name in lower for name in ("premise", "hypothesis", "label")):
        own = ("id", "block", "premise", "hypothesis", "label")
        return {n: lower[n] for n in own if n in lower}
    texts, left = _before(lower)
    out |= {"context": tuple(lower[n] for n in texts)} if texts else {}
    correct, wrong = _right_and_wrong(lower)
    if len(correct) == 1 and len(wrong) == 1 and not left:
        sources = [
            v for k, v in lower.items() if "source" in k and not any(n in k for n in _NO_SOURCE)
        ]
        if sources:
            out.setdefault("source", sources[0])
        if correct[0] == lower.get(_GOOD[1]):
            out |= {"tags": tuple(lower[n] for n in _BLIMP if n in lower)}
        return out | {"correct": correct[0], "wrong": wrong}
    gold = next((lower[n] for n in _LABELS if n in lower), None)
    candidates = _candidates(header, lower)
    if gold is None or len(candidates) != 1:
        return out
    out |= {"candidates": candidates[0], "gold": gold}
    if left == {"sentence"} and not texts:
        out["gap"] = lower["sentence"]
        numbers = [match[2] for match in map(NUMBERED.fullmatch, candidates[0]) if match]
        if gold.casefold() == "answer" and numbers[:1] == ["1"]:
            out["gold_start"] = 1  # as WinoGrande counts
    elif left == {"question"} and texts == ("premise",):
        out["relation"] = lower["question"]
    elif left:
        return {}
    return out | {"tags": tuple(lower[n] for n in _TAGS if n in lower)}


def lacking(header: Sequence[str]) -> str:
    """Return which columns are missing, for a message."""
    lower = {name.casefold(): name for name in header if name}
    correct, wrong = _right_and_wrong(lower)
    if correct and not wrong:
        return f"but none for the wrong candidates that go with '{correct[0]}'"
    if wrong and not correct:
        return f"but none for the right candidates that go with '{wrong[0]}'"
    gold = [lower[n] for n in _LABELS if n in lower]
    candidates = _candidates(header, lower)
    if len(candidates) == 1 and not gold:
        return "but none named 'label', 'gold' or 'answer' with the number of the right one"
    if (candidates and gold) or (correct and wrong):
        return "and it is not certain what they are"
    if {"premise", "hypothesis"} & set(lower):
        missing = [n for n in ("premise", "hypothesis", "label") if n not in lower]
        return f"but none named {listed(missing)}"
    return (
        "expected 'correct' and 'wrong', 'good' and 'bad', 'sent0', 'sent1' and 'label', "
        "'choices' and 'answer', 'sentence', 'option1', 'option2' and 'answer', 'premise', "
        "'choice1', 'choice2', 'question' and 'label', or 'premise', 'hypothesis' and 'label'"
    )


def import_command(header: Sequence[str], where: str, *options: str) -> str:
    """Return the command that imports a file, with its columns as far as names give them away."""
    path = PurePath(where)
    out = path.stem + ("-suite" if path.suffix == ".jsonl" else "") + ".jsonl"
    command = ["boxpen", "suite", "import", where, "--out", out]
    if options:
        return shlex.join([*command, *options])
    columns = [name for name in header if name]
    correct = [name for name in columns if _words(name) & _RIGHT and not _words(name) & _WRONG]
    wrong = [name for name in columns if _words(name) & _WRONG]
    candidates = _series(columns)
    alternative = ""
    if len(correct) == 1 and wrong:
        found = ["--correct", correct[0], "--wrong", *wrong]
    elif candidates:
        rest = [name for name in columns if name not in candidates]
        gold = [n for n in rest if n.casefold() in _LABELS] + [n for n in rest if _words(n) & _GOLD]
        found = ["--candidates", *candidates, "--gold", *(gold or ["COLUMN"])[:1]]
    else:
        found = ["--correct", *(correct or ["COLUMN"])[:1], "--wrong", *(wrong or ["COLUMN"])]
        alternative = " (or --candidates COLUMN COLUMN --gold COLUMN)"
    rest = [name for name in columns if name not in found]
    if contexts := [name for name in rest if _words(name) & _TEXTS]:
        found += ["--context", *contexts]
    return shlex.join([*command, *found]) + alternative


def listed(names: Iterable[str]) -> str:
    """Return the names in quotation marks."""
    return ", ".join(f"'{name}'" for name in names)


def _before(lower: Mapping[str, str]) -> tuple[tuple[str, ...], set[str]]:
    """Return the columns of the text before the candidates, and other texts of the header."""
    endings = any(name.startswith("ending") for name in lower)
    for names in _CONTEXTS:
        if all(n in lower for n in names) and (endings or names != ("sent1", "sent2")):
            return names, (_TEXTS & set(lower)) - set(names)
    return (), _TEXTS & set(lower)


def _candidates(header: Sequence[str], lower: Mapping[str, str]) -> list[tuple[str, ...]]:
    """Return every set of columns that may be the candidates."""
    stems: dict[str, dict[int, str]] = {}
    for name in header:
        if match := NUMBERED.fullmatch(name):
            stems.setdefault(match[1].casefold(), {})[int(match[2])] = name
    out: list[tuple[str, ...]] = [(lower[name],) for name in _LISTS if name in lower]
    for stem, columns in stems.items():
        first = 0 if 0 in columns else 1
        if first and stem in _FROM_ZERO_ONLY:
            continue
        if len(columns) > 1 and sorted(columns) == list(range(first, first + len(columns))):
            out.append(tuple(columns[i] for i in sorted(columns)))
    return out


def _right_and_wrong(lower: Mapping[str, str]) -> tuple[list[str], tuple[str, ...]]:
    wrong = tuple(v for k, v in lower.items() if k.endswith(("wrong", "incorrect")))
    correct = [v for k, v in lower.items() if k.endswith("correct") and v not in wrong]
    if not correct and not wrong:
        # Whole names only: BLiMP also has a 'one_prefix_word_good'.
        correct = [v for k, v in lower.items() if k in _GOOD]
        wrong = tuple(v for k, v in lower.items() if k in _BAD)
    return correct, wrong


def _words(name: str) -> set[str]:
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)
    return {word.casefold() for word in words} | {name.casefold()}


def _series(columns: Sequence[str]) -> list[str]:
    """Return the largest set of columns that count, by numbers or letters, or a list of choices."""
    series: dict[str, list[str]] = {}
    for name in columns:
        if match := _SERIES.fullmatch(name):
            series.setdefault(match[1].casefold(), []).append(name)
    best = max(series.values(), key=len, default=[])
    if len(best) > 1:
        return best
    return next(([n] for n in columns if n.casefold() in (*_LISTS, "answers", "candidates")), [])
