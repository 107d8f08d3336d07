"""Lint of explanations: why does this sentence make no sense?

The annotators of Sen-Making (Wang et al. 2019, section 3) were asked to put the important words of
the statement into the confusing reasons: those of "he put an elephant into the fridge" should have
both "elephant" and "fridge". A reason that has none of them can be left out unread. English only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from boxpen.items import Choice, Item, Suite

__all__ = ["explained_sentences", "keyword_faults"]

_FUNCTION = """
a about after again all also always am an and any are aren't as at be because been before being but
by can can't cannot could couldn't did didn't do does doesn't doing don't down each every for from
get gets getting go goes going got had has hasn't have haven't having he her here hers him his how i
i'm if in into is isn't it it's its just like lot make makes making many may me might more most much
must my need needs never no nor not now of off often on one only or other our out over own put puts
shall she should shouldn't so some such than that the their them then there these they thing things
this those to too up us use used uses using usually very want wants was wasn't we were what when
where which while who why will with without won't would wouldn't you your
"""
"""Words of any statement: they do not tell one from another."""
_IGNORED = frozenset(_FUNCTION.split())
_STEM = 4  # letters that forms of a word share, or all of a shorter one


def explained_sentences(suite: Suite) -> frozenset[str]:
    """Return the sentences of a suite that are wrong in one item and explained in another."""
    choices = [item for item in suite if isinstance(item, Choice)]
    wrong = {t for item in choices for n, t in enumerate(item.candidates) if n != item.gold}
    return frozenset(item.context for item in choices if item.context in wrong)


def keyword_faults(item: Item, explained: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Yield the confusing reasons that have no key word of the sentence that is explained."""
    if not isinstance(item, Choice) or item.context not in explained:
        return
    keys = _key_words(item.context or "")
    for number, reason in enumerate(item.candidates):
        found = _key_words(reason)
        if keys and number != item.gold and not any(_alike(k, w) for k in keys for w in found):
            yield (
                "reason-keywords",
                f"has a wrong reason {number} without a key word of its statement: "
                + ", ".join(keys.values()),
            )


def _key_words(text: str) -> dict[str, str]:
    """Return the content words of a text by what is compared: 'babi' for 'baby', as in 'babies'."""
    words = re.findall(r"[a-z]+(?:['-][a-z]+)*", text.lower().replace("’", "'"))
    found = [word.removesuffix("'s") for word in words if word not in _IGNORED]
    return {re.sub("y$", "i", word) if len(word) > 3 else word: word for word in found}


def _alike(one: str, other: str) -> bool:
    """Whether two words may be forms of one: 'poison' and 'poisonous', 'ill' and 'illness'."""
    letters = min(_STEM, len(one), len(other))
    return letters >= _STEM - 1 and one[:letters] == other[:letters]
