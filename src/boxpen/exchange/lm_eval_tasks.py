"""Suites as tasks of lm-evaluation-harness: YAML, data and a card, for ``--include_path``."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from boxpen.errors import SuiteError
from boxpen.exchange.free_name import free_name, marked_name
from boxpen.items import Choice, Entail, Item, Suite, Translate, item_to_dict
from boxpen.scoring.recipe import Recipe
from boxpen.version import __version__

__all__ = ["VERSION", "choice_of", "texts_of", "write_tasks"]

VERSION = "0.4.13"
"""The version of lm-eval that exported tasks are tested with."""

_LONGEST = 80
"""Characters of a suite's or a set's name in that of a task: lm-eval calls files after tasks."""

_LOADER = '''\
"""Reads the items of a task from the folder of this file, wherever it is."""

import json
from pathlib import Path

import datasets


def load(file, **_):
    """Return the items of one task."""
    with (Path(__file__).parent / file).open(encoding="utf-8", newline="\\n") as lines:
        return {"test": datasets.Dataset.from_list([json.loads(line) for line in lines])}
'''


@dataclass(frozen=True)
class _Exported:
    """The items that become tasks, what they are made of, and what is left out, by reason."""

    suite: Suite
    recipe: Recipe
    tasks: dict[str, list[dict[str, Any]]]
    left_out: dict[str, int]

    @property
    def name(self) -> str:
        """The task or group of the whole suite."""
        return f"boxpen_{_safe(self.suite.name)}"

    @property
    def docs(self) -> list[dict[str, Any]]:
        return [doc for docs in self.tasks.values() for doc in docs]


def write_tasks(suite: Suite, recipe: Recipe, folder: Path) -> dict[str, int]:
    """Write a task for every set of a suite, a group over them, the data and a card.

    Returns:
        How many items are left out, by reason.

    Raises:
        SuiteError: If the recipe does not score candidates, or nothing is left to choose from.
    """
    if recipe.asks or recipe.generates:
        what = "asks questions" if recipe.asks else "judges free translations"
        raise SuiteError(
            f"recipe '{recipe.name}' {what}, and lm-eval tasks score candidates; use another recipe"
        )
    made = _exported(suite, recipe)
    for task, docs in made.tasks.items():
        lines = (json.dumps(doc, ensure_ascii=False) + "\n" for doc in docs)
        _write(folder / f"{task}.jsonl", "".join(lines))
        _write(folder / f"{task}.yaml", _task(task, made))
    if len(made.tasks) > 1:
        _write(folder / f"{made.name}.yaml", _group(made))
    _write(folder / "boxpen_data.py", _LOADER)
    _write(folder / "README.md", _card(made))
    return made.left_out


def _write(path: Path, text: str) -> None:
    path.write_bytes(text.encode())  # the same bytes on every system


def _exported(suite: Suite, recipe: Recipe) -> _Exported:
    kept: list[Item] = []
    left_out: dict[str, int] = {}
    for item in suite:
        if (reason := _unfit(item)) is None:
            kept.append(item)
        else:
            left_out[reason] = left_out.get(reason, 0) + 1
    if not kept:
        raise SuiteError(f"suite '{suite.name}' has nothing for lm-eval: {'; '.join(left_out)}")
    judged = suite.take(kept)
    sets: dict[tuple[str | None, bool], list[dict[str, Any]]] = {}
    about = _about(judged, recipe)
    for place, item in enumerate(judged):
        doc = _doc(item, judged, recipe)
        doc["boxpen"] = json.dumps({"place": place, **doc["boxpen"], **about}, ensure_ascii=False)
        sets.setdefault((item.tags.get("set"), _apart(doc)), []).append(doc)
    whole = f"boxpen_{_safe(suite.name)}"
    if len(sets) == 1:
        return _Exported(judged, recipe, {whole: next(iter(sets.values()))}, left_out)
    tasks: dict[str, list[dict[str, Any]]] = {}
    taken: set[str] = set()
    for (value, apart), docs in sets.items():
        name = f"{whole}_{_safe(value or 'other')}"
        if apart and (value, False) in sets:  # a task has items of one form
            name += "_endings"
        tasks[free_name(name, taken, "_")] = docs
    return _Exported(judged, recipe, tasks, left_out)


def _apart(doc: dict[str, Any]) -> bool:
    """Whether each choice of an item has a context of its own, and all have one ending."""
    return "contexts" in doc


def _unfit(item: Item) -> str | None:
    """Return why a causal model cannot judge an item (as ``plans`` does), or None if it can."""
    if isinstance(item, Entail):
        return "an entailment item needs an inference classifier"
    if isinstance(item, Translate) and not item.contrast:
        return "an item to translate, without a wrong translation to tell apart"
    return None


def _about(suite: Suite, recipe: Recipe) -> dict[str, Any]:
    """Return what every item says of its suite and recipe, so that a log can be read alone."""
    card = {k: v for k, v in asdict(suite.card).items() if v and k not in ("notes", "citation")}
    about = {"name": suite.name, "hash": suite.hash, "items": len(suite), "card": card}
    if suite.sample:
        about["sample"] = suite.sample
    changed = {k: v for k, v in asdict(recipe).items() if k != "why" and v != _DEFAULTS.get(k)}
    return {"suite": about, "recipe": changed}


_DEFAULTS = {k: v for k, v in asdict(Recipe(name="")).items() if k != "name"}


def choice_of(item: Item) -> Choice:
    """Return an item that can be exported as a choice."""
    choice = item.as_choice() if isinstance(item, Translate) else item
    assert isinstance(choice, Choice)
    return choice


def texts_of(item: Item, suite: Suite, recipe: Recipe) -> list[tuple[str, str]]:
    """Return, for every candidate of an item, what is read before it and what is scored."""
    language, source_language = suite.languages_of(item)
    requests = recipe.requests(
        choice_of(item), language=language, source_language=source_language, encoder=False
    )
    return [(request.prefix, request.text) for request in requests]


def _doc(item: Item, suite: Suite, recipe: Recipe) -> dict[str, Any]:
    choice, texts = choice_of(item), texts_of(item, suite, recipe)
    order = _order(choice)
    if len({prefix for prefix, _ in texts}) > 1:  # a recipe that scores the common ending
        read = {"contexts": [texts[i][0] for i in order], "ending": texts[0][1]}
    else:
        read = {"prefix": texts[0][0], "choices": [texts[i][1] for i in order]}
    return {
        "id": item.id,
        "block": item.block or "",
        "tags": [f"{tag}={value}" for tag, value in item.tags.items()],
        **read,
        "gold": order.index(choice.gold),
        "boxpen": {"order": order, "item": item_to_dict(item)},
    }


def _order(choice: Choice) -> list[int]:
    """Return the candidates with the sensible one in a place that follows from the id alone."""
    others = [i for i in range(len(choice.candidates)) if i != choice.gold]
    place = zlib.crc32(choice.id.encode()) % len(choice.candidates)
    return [*others[:place], choice.gold, *others[place:]]


def _safe(name: str) -> str:
    safe = re.sub("[^a-z0-9]+", "_", name.lower()).strip("_") or "suite"
    return safe if len(safe) <= _LONGEST else marked_name(safe[:_LONGEST], name, "_")


def _yaml(values: dict[str, Any]) -> Iterable[str]:
    for key, value in values.items():
        yield f"{key}: {json.dumps(value, ensure_ascii=False)}\n"  # JSON is YAML


def _metrics(docs: Iterable[dict[str, Any]]) -> tuple[str, ...]:
    # lm-eval would divide the score of a common ending by the length of its context.
    return ("acc",) if any(map(_apart, docs)) else ("acc", "acc_norm")


def _task(task: str, made: _Exported) -> str:
    docs = made.tasks[task]
    metrics = [
        {"metric": name, "aggregation": "mean", "higher_is_better": True} for name in _metrics(docs)
    ]
    text, choices, target = (
        ("gold", "contexts", "ending") if _apart(docs[0]) else ("prefix", "choices", "gold")
    )
    return "custom_dataset: !function boxpen_data.load\n" + "".join(
        _yaml(
            {
                "task": task,
                "dataset_kwargs": {"file": f"{task}.jsonl"},
                "output_type": "multiple_choice",
                "test_split": "test",
                "num_fewshot": 0,
                "doc_to_text": text,
                "doc_to_choice": choices,
                "doc_to_target": target,
                "target_delimiter": "",
                "metric_list": metrics,
                "metadata": _metadata(made),
            }
        )
    )


def _group(made: _Exported) -> str:
    metrics = [
        {"metric": name, "aggregation": "mean", "weight_by_size": True}
        for name in _metrics(made.docs)
    ]
    return "".join(
        _yaml(
            {
                "group": made.name,
                "task": list(made.tasks),
                "aggregate_metric_list": metrics,
                "metadata": _metadata(made),
            }
        )
    )


def _metadata(made: _Exported) -> dict[str, Any]:
    return {"version": 1.0, "suite": f"{made.suite.name}@{made.suite.hash[:8]}"}


def _card(made: _Exported) -> str:
    suite, recipe, card = made.suite, made.recipe, made.suite.card
    facts = {
        "Suite": f"{suite.name}, version {card.version}, {len(suite)} items",
        "SHA-256 of the items": suite.hash,
        "Licence": card.licence,
        "Citation": card.citation,
        "URL": card.url,
        "Notes": card.notes,
        "Sample": suite.sample,
        "Recipe": f"{recipe.name}@{recipe.digest}" + (f" ({recipe.why})" if recipe.why else ""),
        "Written by": f"boxpen {__version__}, for lm-eval {VERSION}",
    }
    shown = "".join(f"- {key}: {_line(value)}\n" for key, value in facts.items() if value)
    tasks = "".join(f"| `{task}` | {len(docs)} |\n" for task, docs in made.tasks.items())
    notes = "".join(f"- {note}\n" for note in _notes(made))
    return f"""# {_line(card.title or suite.name)}: tasks for lm-evaluation-harness

{shown}
Test items: keep them out of training data.

## Run

In this folder; from elsewhere, give its path to `--include_path`. The folder can be moved. Nothing
is downloaded but the model.

    lm_eval run --model hf --model_args pretrained=MODEL,add_bos_token=True \\
      --tasks {made.name} --include_path . --output_path ../results --log_samples

Leave `add_bos_token` out if the tokenizer has no BOS token. To compare the results, in slices and
by paired tests, with those of boxpen:

    boxpen report ../results/MODEL/results_DATE.json

| task | items |
|---|---|
{tasks}
## What differs from boxpen

Both tools score the same strings, and log-probabilities agree to 0.001 nats where the notes at the
end of this list do not apply. Decisions differ:

- A tie goes to the first choice; in boxpen k tied candidates earn 1/k each. The right choice has a
  place that follows from the id, so ties do not favour it.
- `acc` compares sums of log-probabilities (`norm=sum`). `acc_norm` divides them by the number of
  characters, including the space that joins a choice to its prompt; `norm=char` does not count it.
- Standard errors treat items as independent; boxpen groups those of a block.
- lm-eval's own BLiMP scores a space before each sentence. Here a sentence without a prompt has
  none (`target_delimiter: ""`).
{notes}"""


def _notes(made: _Exported) -> Iterable[str]:
    for reason, count in made.left_out.items():
        yield f"Left out, {count} item(s): {reason}."
    prompts = [doc["contexts"][0] if _apart(doc) else doc["prefix"] for doc in made.docs]
    if apart := sum(map(_apart, made.docs)):
        yield (
            f"{apart} item(s) have a prompt of their own before each choice, and the words after "
            "it are scored. Their tasks have no `acc_norm`: lm-eval would divide by the length of "
            "the prompt."
        )
    prompted = sum(map(bool, prompts))
    if prompted:
        yield (
            f"{prompted} item(s) have a prompt. Without `add_bos_token=True` lm-eval puts a BOS "
            "token before a prompt only if the tokenizer adds one; boxpen does if there is one."
        )
    if prompted < len(prompts):
        yield (
            f"{len(prompts) - prompted} item(s) have no prompt. lm-eval puts the BOS token "
            "before them, or EOS if there is none; without BOS, boxpen does not score the first "
            "token."
        )
    if spaced := sum(prompt != prompt.rstrip() for prompt in prompts):
        yield (
            f"{spaced} prompt(s) end in white space, which lm-eval scores as part of every choice, "
            "and boxpen only if a token spans it."
        )
    sees = made.recipe.sees_source
    choices = map(choice_of, made.suite)
    if blind := sum(bool(c.source) and not sees(c, encoder=False) for c in choices):
        yield (
            f"{blind} translation(s) are judged without their source, as boxpen does under this "
            "recipe; export with `--recipe translate` to show it."
        )
    if policy := made.recipe.policy:
        changed = ", ".join(f"{k}={v}" for k, v in policy.items())
        yield f"The recipe sets {changed} in boxpen; lm-eval has no such settings."


def _line(text: object) -> str:
    return " ".join(str(text).split())
