"""Suites as tasks of inspect_ai: a Python file, its data and a README, which need no boxpen.

A chat model is asked for the letter of an option, once per item. The questions are those of the
recipe ``ask``; the request for an answer and its reading are inspect_ai's.
"""

from __future__ import annotations

import hashlib
import json
import keyword
import re
import sys
import unicodedata
from collections import Counter
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from boxpen.errors import SuiteError
from boxpen.exchange.inspect_log import item_metadata, letter
from boxpen.items import Choice, Entail, Item, Suite, Translate
from boxpen.scoring.ask import as_choice, question_text
from boxpen.scoring.recipe import ASK, SOUND, Recipe
from boxpen.version import __version__

__all__ = ["task_name", "write_task"]

_MODULES = sys.stdlib_module_names | {"boxpen", "inspect_ai"}
"""A file of such a name would be imported in the place of the module."""
_USED = {
    "accuracy", "bool", "choice", "json_dataset", "multiple_choice", "next", "one_of", "scorer",
    "stderr", "str", "task",
}  # fmt: skip
"""A function of such a name would be called in the place of what the file needs."""


def write_task(suite: Suite, recipe: Recipe, folder: Path) -> dict[str, int]:
    """Write a task, its data and a README into a folder.

    Args:
        suite: The suite.
        recipe: ``ask``; ``sound``, the default of exports, stands for it.
        folder: An empty folder.

    Returns:
        How many items are left out, by reason.

    Raises:
        SuiteError: If the recipe is another one, or no item can be asked.
    """
    if recipe.name not in (SOUND.name, ASK.name):
        raise SuiteError(
            f"an inspect task asks questions, which recipe '{recipe.name}' does not; leave "
            "--recipe out or use --recipe ask"
        )
    left_out: Counter[str] = Counter()
    rows = []
    several = False
    for item in suite:
        choice, reason = _askable(item)
        if choice is None:
            left_out[reason] += 1
            continue
        rows.append(_row(suite, choice))
        several = several or len(rows[-1]["target"]) > 1
    if not rows:
        raise SuiteError(f"suite '{suite.name}' cannot be an inspect task: {'; '.join(left_out)}")
    name = task_name(suite.name)
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (folder / f"{name}.jsonl").write_text("".join(lines), "utf-8")
    (folder / f"{name}.py").write_text(_task(suite, name, several=several), "utf-8")
    (folder / "README.md").write_text(_readme(suite, name, len(rows), left_out), "utf-8")
    return dict(left_out)


def task_name(suite: str) -> str:
    """Return a name for the file and its function: a valid identifier that hides nothing."""
    plain = unicodedata.normalize("NFKD", suite).encode("ascii", "ignore").decode()
    name = re.sub(r"\W+", "_", plain).strip("_").lower() or "suite"
    if not name[0].isalpha():
        name = f"suite_{name}"
    return f"{name}_suite" if keyword.iskeyword(name) or name in _MODULES | _USED else name


def _askable(item: Item) -> tuple[Choice | Entail | None, str]:
    """Return an item as it is asked, or why it cannot be."""
    choice = item.as_choice() if isinstance(item, Translate) else item
    if choice is None:
        return None, "an item to translate, without a wrong translation to tell apart"
    if isinstance(choice, Choice) and len(choice.candidates) > len(ascii_uppercase):
        return None, f"an item with more options than the {len(ascii_uppercase)} letters"
    return choice, ""


def _row(suite: Suite, item: Choice | Entail) -> dict[str, Any]:
    language, source_language = suite.languages_of(item)
    choice = as_choice(item)
    also = item.also if isinstance(item, Entail) else ()
    right = {choice.gold, *map(choice.candidates.index, also)}
    # In an order that follows from the id alone, the same in every version of Python.
    order = sorted(
        range(len(choice.candidates)),
        key=lambda place: hashlib.sha256(f"{item.id}\0{place}".encode()).digest(),
    )
    return {
        "id": item.id,
        "input": question_text(item, ASK, language=language, source_language=source_language),
        "choices": [ASK.tidied(choice.candidates[place]) for place in order],
        "target": [letter(at) for at, place in enumerate(order) if place in right],
        "metadata": item_metadata(item.id, item.block, item.tags, order=order),
    }


_TASK = '''"""{title}: common sense as multiple choice, for chat models.

Written by boxpen {version} from suite {origin}. Needs inspect_ai, not boxpen:

    inspect eval {name}.py --model PROVIDER/MODEL
"""

from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import json_dataset
from inspect_ai.scorer import {scorers}
from inspect_ai.solver import multiple_choice

DATA = Path(__file__).with_name("{name}.jsonl")

{accepting}
@task
def {name}(cot: bool = False) -> Task:
    """Ask every item once; with -T cot=true the model reasons before it answers."""
    return Task(
        dataset=json_dataset(str(DATA), name={suite}),
        solver=multiple_choice(cot=cot),
        scorer={scorer}(),
        metrics=[accuracy(), stderr({cluster})],
        version={task_version},
        metadata={{
            "suite": {identity},
            "written_by": "boxpen {version}",
        }},
    )
'''
_ACCEPTING = '''
@scorer(metrics=[accuracy(), stderr()])
def one_of() -> Scorer:
    """The scorer ``choice``, where any one of several targets is right."""
    by_choice = choice()

    async def score(state: TaskState, target: Target) -> Score:
        found = [await by_choice(state, Target([one])) for one in target]
        return next((one for one in found if one.value == CORRECT), found[0])

    return score

'''


def _task(suite: Suite, name: str, *, several: bool) -> str:
    scorers = ["accuracy", "choice", "stderr"]
    if several:
        scorers = ["CORRECT", "Score", "Scorer", "Target", "accuracy", "choice", "scorer", "stderr"]
    text = _TASK.format(
        title=_comment(suite.card.title or suite.name),
        version=__version__,
        origin=f"{_comment(suite.name)}@{suite.hash[:8]}",
        suite=repr(suite.name),
        identity=repr(f"{suite.name}@{suite.hash}"),
        task_version=repr(suite.card.version),
        name=name,
        scorers=", ".join(scorers),
        scorer="one_of" if several else "choice",
        accepting=_ACCEPTING if several else "",
        cluster='cluster="cluster"' if suite.blocks() else "",
    )
    solvers = "from inspect_ai.solver import multiple_choice"
    return (
        text.replace(solvers, solvers.replace("multiple", "TaskState, multiple"))
        if several
        else text
    )


def _comment(text: str) -> str:
    """Return a text that fits into a docstring."""
    return re.sub(r'[\\"\x00-\x1f\x7f]', " ", text).strip() or "suite"


def _readme(suite: Suite, name: str, count: int, left_out: Counter[str]) -> str:
    card = suite.card
    lines = [f"# {card.title or suite.name}", ""]
    lines += [
        f"{count:,} items of the suite {suite.name}@{suite.hash[:8]} as a task of",
        "[inspect_ai](https://inspect.aisi.org.uk), for chat models:",
        "",
        "    pip install inspect-ai",
        f"    inspect eval {name}.py --model PROVIDER/MODEL",
        "    inspect view",
        "",
        "Every item is asked once. The order of its options follows from its id. A sample keeps",
        "the block and the tags of its item, and `order`: each option's place in the suite.",
    ]
    if suite.blocks():
        lines += ["Items of a block are not independent: `stderr` counts blocks as clusters."]
    lines += [f"\nLeft out: {n:,} × {reason}." for reason, n in left_out.items()]
    named = (("Licence", card.licence), ("Citation", card.citation), ("Source", card.url))
    lines += [f"\n{what}: {value}" for what, value in named if value]
    lines += ["", f"Written by boxpen {__version__}.", ""]
    return "\n".join(lines)
