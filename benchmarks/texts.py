"""The texts of the benchmarks: the candidates of suites, as boxpen puts them to a model.

    python benchmarks/texts.py FOLDER

writes those of the task ``causal``, and the tokenizer of smollm2, for a machine that has neither
suites nor boxpen's dependencies (``gpu.py``).

The public suites are read from ``BOXPEN_MIRROR``, or from the network. Where they are not to be
had, parts of the suite ``starter`` stand in for them.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path

from tools import Text

from boxpen.catalog import load_suite
from boxpen.errors import SuiteError
from boxpen.items import Choice, Suite, Translate
from boxpen.scoring.recipe import SOUND

__all__ = ["SUITES", "flat", "items_of", "sample", "suites_at_hand"]

SUITES = {
    "causal": ("commonmt", "cats"),
    "hellaswag": ("cats.hellaswag",),
    "masked": ("cats.sm", "cats.wsc"),
    "seq2seq": ("commonmt",),
    "scaling": ("commonmt", "cats.sm", "cats.smr", "cats.wsc", "cats.ca"),  # single sentences
}
STAND_INS = {
    "causal": ("starter",),
    "hellaswag": ("starter.sense",),
    "masked": ("starter.dual",),
    "seq2seq": ("starter.mt",),
    "scaling": ("starter",),
}
SEED = 1960


def suites_at_hand() -> dict[str, tuple[str, ...]]:
    """Return the names of the suites of every task; stand-ins where one cannot be read."""
    try:
        for name in ("commonmt", "cats"):
            load_suite(name)
    except SuiteError as error:
        print(f"the suite 'starter' stands in for the public ones: {error}", file=sys.stderr)
        return STAND_INS
    return SUITES


def items_of(names: Sequence[str], *, encoder: bool = False) -> list[list[Text]]:
    """Return the texts of suites, those of an item together.

    Args:
        names: Names of suites.
        encoder: Whether the model reads the source on a side of its own.
    """
    return [texts for name in names for texts in _texts(load_suite(name), encoder)]


def sample(items: Sequence[list[Text]], count: int) -> list[list[Text]]:
    """Return whole items, drawn at random, that have so many texts; the last one is cut to fit."""
    order = list(items)
    random.Random(SEED).shuffle(order)
    out: list[list[Text]] = []
    for item in order:
        if count <= 0:
            break
        out.append(item[:count])
        count -= len(out[-1])
    return out


def flat(items: Sequence[list[Text]]) -> list[Text]:
    """Return the texts of items, one after the other."""
    return [text for item in items for text in item]


def _texts(suite: Suite, encoder: bool) -> list[list[Text]]:
    out = []
    for item in suite:
        choice = item.as_choice() if isinstance(item, Translate) else item
        if not isinstance(choice, Choice) or (encoder and choice.source is None):
            continue
        language, source_language = suite.languages_of(choice)
        requests = SOUND.requests(
            choice, language=language, source_language=source_language, encoder=encoder
        )
        out.append([(r.source, r.prefix + r.text) for r in requests])
    return out


def main() -> None:
    from boxpen.models.resolve import resolve_model

    folder = Path(sys.argv[1])
    texts = [text for _, text in flat(items_of(suites_at_hand()["causal"]))]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "texts.json").write_text(json.dumps(texts, ensure_ascii=False), "utf-8")
    resolve_model("smollm2", device="cpu").tokenizer.save_pretrained(folder / "tokenizer")  # type: ignore[attr-defined]
    print(f"{len(texts)} texts and the tokenizer of smollm2 are in {folder}")


if __name__ == "__main__":
    main()
