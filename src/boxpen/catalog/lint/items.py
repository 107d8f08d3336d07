"""Lint: what is wrong with the data of a suite.

Lint changes and rejects nothing: a finding is an item that a human should look at. The rules:

- ``duplicate-id``, ``label-range``, ``empty-field``, ``too-few-candidates``: unusable items, which
  only a suite loaded with ``validate=False`` can have
- ``identical``, ``punctuation-only``, ``case-only``: answers that are the same, or the same but for
  punctuation and white space, or but for those and the case of letters
- ``duplicate-item``: the same content under two ids
- ``long-field``: over 2,000 characters, or over 20 times the suite's median for that field
- ``edge-space``, ``special-token``: white space at an edge; a literal ``[SEP]``, ``</s>``, ``_eos``
- ``invisible-character``, ``mixed-script``, ``full-width``: see
  ``boxpen.text.characters``
- ``expected-word``: neither source nor right answer has the word that the tag ``word`` promises; of
  one in parts, such as 当…时, all of them in their order
- ``block-size``, ``block-label``: a block of another size than most, or, in a suite where the label
  flips within nearly all blocks of two, one where it does not; not of the tests of a triple (tag
  ``task``), which are as many as its templates and wrong tails
- ``block-ambiguity``, ``repeated-word``, ``block-reading``, ``block-unrelated``: in blocks of
  translations: two ambiguous words or structures, or sources that share none; a word that another
  block has; wrong translations that do not read it as the other half does (see
  ``boxpen.catalog.lint.blocks``)
- ``reason-keywords``: a wrong reason why a sentence makes no sense that has no key word of the
  sentence (see ``boxpen.catalog.lint.reasons``)
- ``unbalanced``: of the suite as a whole: a position is gold far more or less often than by chance
"""

from __future__ import annotations

import itertools
import math
import re
import statistics
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from boxpen.catalog.lint.blocks import reading_faults, repeated_words, split_ambiguity
from boxpen.catalog.lint.reasons import explained_sentences, keyword_faults
from boxpen.items import Choice, Entail, Item, Suite, item_to_dict
from boxpen.notebook import Listed
from boxpen.text.characters import strange_characters

__all__ = ["Finding", "lint"]

LONG = 2_000  # characters
LONG_FACTOR = 20  # times the median of the field
FLIPS = 0.8  # share of blocks of two whose label flips, above which all are expected to
BALANCE_ITEMS = 20  # fewer say nothing about balance
BALANCE_SIGMA = 4.0  # standard deviations from chance

_SPECIAL = re.compile(
    r"\[(?:SEP|MASK|CLS|PAD|UNK)\]|</?s>|<(?:pad|unk|mask|eos|bos)>|<\|[^|<>\s]{1,40}\|>|_eos\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a human should look at.

    Attributes:
        rule: The rule that was broken, see the module.
        item: The id of the item, or None for the suite as a whole.
        message: What was found, to be read after the id.
    """

    rule: str
    item: str | None
    message: str

    def cells(self) -> dict[str, str]:
        """Return the columns that a notebook shows."""
        return {"rule": self.rule, "item": self.item or "", "finding": self.message}


def lint(suite: Suite) -> Listed[Finding]:
    """Return what is wrong with a suite: item by item in its order, then the suite as a whole."""
    limits = _limits(suite)
    usual_size, flipping = _usual_block(suite)
    blocks = suite.blocks()
    repeated = repeated_words(suite)
    explained = explained_sentences(suite)
    first_id: set[str] = set()
    first_content: dict[str, str] = {}
    seen_blocks: set[str] = set()
    findings: list[Finding] = []
    for item in suite:
        found = [*_unusable(item), *_alike(item), *_promised_word(item)]
        found += keyword_faults(item, explained)
        for text in _texts(suite, item):
            found += _text_faults(text, limits)
        if item.id in first_id:
            found.append(("duplicate-id", "is the id of an item before it"))
        elif (twin := first_content.setdefault(_content(item), item.id)) != item.id:
            found.append(("duplicate-item", f"has the same content as '{twin}'"))
        first_id.add(item.id)
        if item.block is not None and item.block not in seen_blocks:
            seen_blocks.add(item.block)
            members = blocks[item.block]
            found += _block_faults(item.block, members, usual_size, flipping)
            found += split_ambiguity(members, suite.languages_of(item)[1])
            found += reading_faults(members)
        if item.id in repeated:
            found.append(("repeated-word", repeated[item.id]))
        findings += [Finding(rule, item.id, message) for rule, message in found]
    findings += [Finding("unbalanced", None, message) for message in _unbalanced(suite)]
    return Listed(findings)


_Faults = Iterator[tuple[str, str]]


def _unusable(item: Item) -> _Faults:
    for problem in item.problems():
        if "label" in problem:
            yield "label-range", problem
        elif "empty" not in problem:  # empty fields are found with the other faults of a text
            yield "too-few-candidates", problem


def _alike(item: Item) -> _Faults:
    for (name, text), (other_name, other) in itertools.combinations(_answers(item), 2):
        pair = f"{name} and {other_name}"
        if text == other:
            yield "identical", f"has the same text in {pair}"
        elif (bare := _bare(text)) == (other_bare := _bare(other)):
            if bare:
                yield "punctuation-only", f"has {pair}, equal but for punctuation or white space"
        elif bare.casefold() == other_bare.casefold():
            yield "case-only", f"has {pair}, equal but for the case of letters"


def _bare(text: str) -> str:
    """Return the text without punctuation and white space."""
    return unicodedata.normalize("NFKC", text).translate(_LETTERS)


class _Letters(dict[int, int | None]):
    """A table that removes punctuation and white space."""

    def __missing__(self, code: int) -> int | None:
        character = chr(code)
        gone = character.isspace() or unicodedata.category(character)[0] == "P"
        self[code] = None if gone else code
        return self[code]


_LETTERS = _Letters()


def _promised_word(item: Item) -> _Faults:
    word = item.tags.get("word")
    if word is None or isinstance(item, Entail):
        return
    if isinstance(item, Choice):
        if not 0 <= item.gold < len(item.candidates):
            return
        right = item.candidates[item.gold]
    else:
        right = item.reference
    if not any(_has_word(text, word) for text in (item.source or "", right)):
        yield "expected-word", f"has the tag word '{word}', which its right answer does not contain"


def _has_word(text: str, word: str) -> bool:
    """Whether a text has a word; parts with … between them may stand apart, in their order."""
    rest = text.casefold()
    for part in filter(None, word.casefold().split("…")):
        _, found, rest = rest.partition(part)
        if not found:
            return False
    return True


def _text_faults(text: _Text, limits: dict[str, float]) -> _Faults:
    name = text.field
    if not text.text.strip():
        yield "empty-field", f"has an empty {name}"
        return
    if text.text != text.text.strip():
        yield "edge-space", f"has white space at an edge of {name}"
    if len(text.text) > limits[_kind(name)]:
        limit = f"expected {limits[_kind(name)]:,.0f} at most"
        yield "long-field", f"has {len(text.text):,} characters in {name}, {limit}"
    if match := _SPECIAL.search(text.text):
        yield "special-token", f"has a literal '{match[0]}' in {name}"
    for rule, message in strange_characters(text.text, text.language):
        yield rule, f"{message} ({name})"


def _limits(suite: Suite) -> dict[str, float]:
    lengths: dict[str, list[int]] = {}
    for item in suite:
        for text in _texts(suite, item):
            lengths.setdefault(_kind(text.field), []).append(len(text.text))
    return {
        kind: min(LONG, max(1, LONG_FACTOR * statistics.median(counts)))
        for kind, counts in lengths.items()
    }


def _kind(field: str) -> str:
    return field.partition(" ")[0]  # 'candidate 3' is a candidate


def _content(item: Item) -> str:
    data = item_to_dict(item)
    for name in ("id", "block", "tags"):
        data.pop(name, None)
    return repr(sorted(data.items()))


def _usual_block(suite: Suite) -> tuple[int | None, bool]:
    """Return the commonest size of a block, and whether its label flips within blocks of two."""
    blocks = [block for block in suite.blocks().values() if "task" not in block[0].tags]
    if not blocks:
        return None, False
    sizes = Counter(map(len, blocks))
    # The larger of two sizes that are equally common, so that a lone item never is the rule.
    size = max(sizes, key=lambda s: (sizes[s], s))
    flips = [g[0] != g[1] for g in map(_golds, blocks) if len(g) == 2]
    return size, bool(flips) and sum(flips) / len(flips) >= FLIPS


def _golds(block: Iterable[Item]) -> list[int]:
    return [item.gold for item in block if isinstance(item, Choice)]


def _block_faults(block: str, items: list[Item], usual: int | None, flipping: bool) -> _Faults:
    if "task" in items[0].tags:
        return
    if len(items) == 1:
        yield "block-size", f"is alone in block '{block}', which says nothing about consistency"
    elif len(items) != usual:
        yield "block-size", f"opens block '{block}' of {len(items)} items, most have {usual}"
    golds = _golds(items)
    if flipping and len(golds) == 2 and golds[0] == golds[1]:
        yield (
            "block-label",
            f"opens block '{block}', where both labels are {golds[0]}, not opposite",
        )


def _unbalanced(suite: Suite) -> Iterator[str]:
    by_size: dict[int, Counter[int]] = {}
    for item in suite:
        if isinstance(item, Choice) and 0 <= item.gold < len(item.candidates):
            by_size.setdefault(len(item.candidates), Counter())[item.gold] += 1
    for size, golds in sorted(by_size.items()):
        count = golds.total()
        expected = count / size
        spread = math.sqrt(expected * (1 - 1 / size))
        if size < 2 or count < BALANCE_ITEMS:
            continue
        worst = max(range(size), key=lambda p: (abs(golds[p] - expected), golds[p]))
        if abs(golds[worst] - expected) > BALANCE_SIGMA * spread:
            yield (
                f"candidate {worst} is gold in {golds[worst]:,} of {count:,} items with {size} "
                f"candidates, expected about {expected:,.0f}"
            )


class _Text(NamedTuple):
    """One text of an item, as it is written."""

    field: str
    text: str
    language: str | None


def _texts(suite: Suite, item: Item) -> Iterator[_Text]:
    """Yield every text of an item that is there."""
    language, source_language = suite.languages_of(item)
    if isinstance(item, Entail):
        yield _Text("premise", item.premise, language)
        yield _Text("hypothesis", item.hypothesis, language)
        return
    # The context goes with the source where there is one, else with the candidates.
    if item.source is not None:
        yield _Text("source", item.source, source_language)
    if item.context is not None:
        yield _Text("context", item.context, language if item.source is None else source_language)
    if isinstance(item, Choice):
        for index, candidate in enumerate(item.candidates):
            yield _Text(f"candidate {index}", candidate, language)
        return
    yield _Text("reference", item.reference, language)
    if item.reference_context is not None:
        yield _Text("reference_context", item.reference_context, language)
    for index, wrong in enumerate(item.contrast):
        yield _Text(f"contrast {index}", wrong, language)


def _answers(item: Item) -> list[tuple[str, str]]:
    """Return the texts that a model decides between, with the names of their fields."""
    if isinstance(item, Choice):
        return [(f"candidate {index}", text) for index, text in enumerate(item.candidates)]
    if isinstance(item, Entail):
        return [("premise", item.premise), ("hypothesis", item.hypothesis)]
    contrast = [(f"contrast {index}", text) for index, text in enumerate(item.contrast)]
    return [("reference", item.reference), *contrast]
