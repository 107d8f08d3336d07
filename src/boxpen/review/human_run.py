"""Human answers to a suite as a run: people are a system like any other.

A table of answers comes in one of two forms. Long: one line per answer, with the columns ``item``,
``judge`` and ``answer``. Wide: one line per item, with the column ``item`` and one per judge.
An answer is the number of a candidate, or its text; empty cells are skipped.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from boxpen.catalog.lint.items import lint
from boxpen.catalog.tabular import table_rows
from boxpen.errors import SuiteError
from boxpen.items import LABELS, Choice, Entail, Item, Suite, Translate
from boxpen.metrics.agreement import (
    cohen_kappa,
    fleiss_kappa,
    free_kappa,
    krippendorff_alpha,
    percent_agreement,
)
from boxpen.printable import excerpt
from boxpen.runs.info import HumanInfo, JudgeInfo, ModelInfo, RecipeInfo, RunInfo, SuiteInfo
from boxpen.runs.run import Run
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.recipe import Recipe
from boxpen.scoring.signature import signature
from boxpen.scoring.verdicts import Verdict

__all__ = ["Answers", "choice_of", "human_run", "read_answers", "right_places", "run_of_answers"]

Answers = dict[str, dict[str, int]]
"""For every item, in order of the suite, the candidate that every judge chose."""

_MAJORITY = Recipe(name="majority", why="the candidate that most judges chose")


def human_run(
    suite: Suite, path: Path | str, *, name: str | None = None, min_judges: int = 3, start: int = 0
) -> Run:
    """Make a run of a table of human answers.

    The score of a candidate is the share of judges who chose it; the majority decides, and a tie
    of k candidates earns 1/k. Items with fewer than ``min_judges`` answers are left out, with the
    reason.

    Args:
        suite: What was asked.
        path: The table, ``.csv`` or ``.tsv``.
        name: Name of the system; ``human (N judges)`` if None.
        min_judges: Fewest judges of an item.
        start: Number of the first candidate, where answers are numbers.
    """
    answers = read_answers(suite, path, start=start)
    return run_of_answers(suite, answers, path, name=name, min_judges=min_judges)


def run_of_answers(
    suite: Suite, answers: Answers, where: Path | str, *, name: str | None, min_judges: int
) -> Run:
    """Make a run of human answers, which are from ``where``; see ``human_run``."""
    if min_judges < 1:
        raise SuiteError(f"min-judges is {min_judges}, expected 1 or more")
    left_out: dict[str, list[str]] = {}
    judged: list[tuple[Item, Choice]] = []
    for item in suite:
        choice = choice_of(item)
        reason = _lacking(choice, len(answers.get(item.id, ())), min_judges)
        if choice is None or reason is not None:
            left_out.setdefault(reason or "", []).append(item.id)
        else:
            judged.append((item, choice))
    if not judged:
        most = max(map(len, answers.values()), default=0)
        raise SuiteError(
            f"{where} has at most {most} judge(s) for an item, expected {min_judges} or more; "
            "--min-judges sets how many"
        )
    kept = {choice.id: answers[choice.id] for _, choice in judged}
    human = _human(judged, kept, min_judges)
    info = _info(suite.take([item for item, _ in judged]), kept, human, left_out, name)
    return Run(info, tuple(_verdict(*one, kept[one[1].id]) for one in judged), {})


def read_answers(suite: Suite, path: Path | str, *, start: int = 0) -> Answers:
    """Read a table of answers to the items of a suite."""
    path = Path(path)
    choices = {item.id: choice_of(item) for item in suite}
    found: dict[str, dict[str, int]] = {}
    for line, item, judge, answer in _cells(path):
        where = f"{path}, line {line}"
        if item not in choices:
            raise SuiteError(
                f"{where} has the item {excerpt(item)}, expected one of suite '{suite.name}', "
                f"whose first is '{suite.items[0].id}'"
            )
        choice = choices[item]
        if choice is None:
            raise SuiteError(f"{where}: item '{item}' offers no candidates to choose from")
        chosen = _chosen(choice, answer, start, where)
        if found.setdefault(item, {}).setdefault(judge, chosen) != chosen:
            raise SuiteError(
                f"{where}: judge {excerpt(judge)} answers item '{item}' with {excerpt(answer)}, "
                "and earlier with another candidate; expected one answer"
            )
    if not found:
        raise SuiteError(f"{path} has no answers, expected at least one")
    return {item: found[item] for item in choices if item in found}


def _cells(path: Path) -> Iterator[tuple[int, str, str, str]]:
    """Yield the line, the item, the judge and the answer of every answer."""
    records = table_rows(path)
    first = next(records, None)
    if first is None:
        raise SuiteError(f"{path} is empty, expected a header line with the column 'item'")
    header = [name.strip() for name in first[1]]
    for name in header:
        if not name or header.count(name) > 1:
            what = f"the column {excerpt(name)} twice" if name else "a column without a name"
            raise SuiteError(f"{path}, line {first[0]} has {what}, expected each name once")
    if "item" not in header or len(header) < 2:
        raise SuiteError(
            f"{path}, line {first[0]} has the columns {', '.join(header)}, expected 'item', "
            "'judge' and 'answer', or 'item' and one column per judge"
        )
    long = {"judge", "answer"} <= set(header)
    if not long and {"judge", "answer"} & set(header):
        missing = "answer" if "judge" in header else "judge"
        raise SuiteError(f"{path}, line {first[0]} has no column '{missing}'")
    for line, row in records:
        if len(row) != len(header):
            raise SuiteError(f"{path}, line {line} has {len(row)} cell(s), expected {len(header)}")
        cells = {name: cell.strip() for name, cell in zip(header, row, strict=True)}
        item = cells.pop("item")
        if long:
            if not cells["judge"]:
                raise SuiteError(f"{path}, line {line} has no judge, expected a name or a number")
            cells = {cells["judge"]: cells["answer"]}
        yield from ((line, item, j, answer) for j, answer in cells.items() if answer)


def _chosen(choice: Choice, answer: str, start: int, where: str) -> int:
    """Return the candidate that an answer means: by its text, or else by its number."""
    wanted = " ".join(answer.split())
    meant = {i for i, text in enumerate(choice.candidates) if " ".join(text.split()) == wanted}
    if re.fullmatch(r"[0-9]{1,9}", answer) and 0 <= int(answer) - start < len(choice.candidates):
        meant.add(int(answer) - start)
    if len(meant) == 1:
        return meant.pop()
    last = start + len(choice.candidates) - 1
    fault = "could mean several candidates" if meant else "is not a candidate"
    way_out = (
        "a number that is not also the text of a candidate" if meant else "the text of a candidate"
    )
    raise SuiteError(
        f"{where}: the answer {excerpt(answer)} to item '{choice.id}' {fault}, "
        f"expected a number from {start} to {last} or {way_out}"
    )


def choice_of(item: Item) -> Choice | None:
    """Return the item as a choice between candidates or labels; None if it has none."""
    if isinstance(item, Translate):
        return item.as_choice()
    if isinstance(item, Choice):
        return item
    gold = LABELS.index(item.label)
    return Choice(id=item.id, candidates=LABELS, gold=gold, block=item.block, tags=item.tags)


def right_places(item: Item, choice: Choice) -> frozenset[int]:
    """Return the places of all right candidates: an entailment item may accept two labels."""
    also = item.also if isinstance(item, Entail) else ()
    return frozenset((choice.gold, *map(LABELS.index, also)))


def _lacking(choice: Choice | None, judges: int, min_judges: int) -> str | None:
    if choice is None:
        return "an item without candidates to choose from"
    if judges == 0:
        return "no human answers"
    return f"fewer than {min_judges} judges" if judges < min_judges else None


def _verdict(item: Item, choice: Choice, answers: Mapping[str, int]) -> Verdict:
    right = right_places(item, choice)
    votes = Counter(answers.values())
    most = max(votes.values())
    winners = [i for i in range(len(choice.candidates)) if votes[i] == most]
    scores = tuple(votes[i] / len(answers) for i in range(len(choice.candidates)))
    return Verdict(
        id=choice.id,
        block=choice.block,
        tags=choice.tags,
        gold=choice.gold,
        scores=scores,
        winner=winners[0],
        tied=len(winners),
        credit=sum(i in right for i in winners) / len(winners),
        margin=max(scores[i] for i in right)
        - max(s for i, s in enumerate(scores) if i not in right),
        also=item.also if isinstance(item, Entail) else (),
    )


def _human(judged: Sequence[tuple[Item, Choice]], answers: Answers, min_judges: int) -> HumanInfo:
    """Return what ``run.json`` says of the judges; they are numbered, not named."""
    right: dict[str, list[bool]] = {}
    choices = [choice for _, choice in judged]
    for item, choice in judged:
        places = right_places(item, choice)
        for judge, answer in answers[choice.id].items():
            right.setdefault(judge, []).append(answer in places)
    singles = [sum(r) / len(r) for r in right.values()]
    golds = Counter(choice.gold for choice in choices)
    return HumanInfo(
        judges=len(right),
        answers=sum(map(len, answers.values())),
        min_judges=min_judges,
        fewest=min(map(len, answers.values())),
        most=max(map(len, answers.values())),
        single_judge_accuracy=math.fsum(singles) / len(singles),
        by_judge=tuple(
            JudgeInfo(judge=number, items=len(r), accuracy=accuracy)
            for number, (r, accuracy) in enumerate(zip(right.values(), singles, strict=True), 1)
        ),
        agreement=_agreement(choices, answers),
        gold_in_one_place=max(golds.values()) / len(choices),
    )


def _agreement(choices: Sequence[Choice], answers: Answers) -> dict[str, float | None]:
    """Return every measure that the answers allow; an answer is the place of its candidate."""
    by_item = [answers[c.id] for c in choices]
    items = [list(of.values()) for of in by_item]
    judges = list(dict.fromkeys(judge for of in by_item for judge in of))
    found = {
        "percent": percent_agreement(items),
        "krippendorff_alpha": krippendorff_alpha(items),
        "free_kappa": free_kappa(items, [len(c.candidates) for c in choices]),
    }
    if len(judges) == 2:
        both = [of for of in by_item if len(of) == 2]
        found["cohen_kappa"] = cohen_kappa(*([of[judge] for of in both] for judge in judges))
    elif len({len(of) for of in items}) == 1:
        found["fleiss_kappa"] = fleiss_kappa(items)
    return {name: value if math.isfinite(value) else None for name, value in found.items()}


def _info(
    suite: Suite,
    answers: Answers,
    human: HumanInfo,
    left_out: Mapping[str, Sequence[str]],
    name: str | None,
) -> RunInfo:
    content = sorted((i, judge, a) for i, of in answers.items() for judge, a in of.items())
    fingerprint = hashlib.sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()
    shown = name or f"human ({human.judges} judge{'s' if human.judges > 1 else ''})"
    short = name or "human"
    return RunInfo(
        suite=SuiteInfo.of(suite),
        model=ModelInfo(
            name=shown, short=short, kind="human", fingerprint=fingerprint, dtype="none"
        ),
        recipe=RecipeInfo.of(_MAJORITY),
        policy=ScoringPolicy(),
        resolved_policy={},
        beam=0,
        left_out=left_out,
        parts_left_out={},
        unread_contexts=0,
        findings=tuple(lint(suite)),
        human=human,
        signature=signature(
            suite=suite.name,
            suite_hash=suite.hash,
            model=short,
            fingerprint=fingerprint,
            kind="human",
            recipe=f"{_MAJORITY.name}@{_MAJORITY.digest}",
            judges=human.judges,
            min_judges=human.min_judges,
            ties=ScoringPolicy().ties,
        ),
    )
