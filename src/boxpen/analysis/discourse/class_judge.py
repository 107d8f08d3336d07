"""The class judge: is the pronoun, the connective or the elided verb of a translation right?

It reads words, not meaning, and shows which words it read. Errors elsewhere in a translation do not
count, as they do not for the people of Cai and Xiong (2020, section 4.3).
"""

from __future__ import annotations

from boxpen.analysis.discourse.connective_judge import connective_classes, judge_connective
from boxpen.analysis.discourse.ellipsis_judge import judge_ellipsis
from boxpen.analysis.discourse.pronoun_judge import PRONOUNS, judge_pronoun
from boxpen.analysis.discourse.ruling import Outcome, Ruling
from boxpen.errors import RunError, nearest

__all__ = ["PHENOMENA", "Outcome", "Ruling", "check_class", "judge"]

PHENOMENA = ("pronoun", "connective", "ellipsis")


def judge(
    phenomenon: str,
    cls: str,
    *,
    source: str,
    translation: str,
    reference: str,
    context: str | None = None,
    reference_context: str | None = None,
) -> Ruling:
    """Judge one translation from English into Chinese.

    Args:
        phenomenon: One of ``PHENOMENA``.
        cls: What is right: a pronoun such as 你们, a sense such as ``while-而``; ellipsis has none.
        source: The English sentence.
        translation: What is judged.
        reference: A right translation.
        context: The English sentence before; what its verb means is right for one that is elided.
        reference_context: A right translation of it; the elided verb of an ellipsis is looked for
            there.

    Raises:
        RunError: If there is no such phenomenon or class.
    """
    check_class(phenomenon, cls)
    if phenomenon == "pronoun":
        return judge_pronoun(cls, source, translation, reference)
    if phenomenon == "connective":
        return judge_connective(cls, source, translation, reference)
    return judge_ellipsis(source, translation, reference, reference_context or "", context or "")


def check_class(phenomenon: str, cls: str) -> None:
    """Refuse what cannot be judged.

    Raises:
        RunError: If there is no such phenomenon, or no such class of it.
    """
    if phenomenon not in PHENOMENA:
        raise RunError(
            f"there is no phenomenon '{phenomenon}', {nearest(phenomenon, list(PHENOMENA))}"
        )
    known = {"pronoun": tuple(PRONOUNS), "connective": connective_classes()}.get(phenomenon)
    if known is not None and cls not in known:
        raise RunError(f"{phenomenon} has no class '{cls}', {nearest(cls, list(known))}")
