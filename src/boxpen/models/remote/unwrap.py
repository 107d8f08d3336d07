"""The prompt that asks a chat model for a translation, and what is removed from its answer."""

from __future__ import annotations

import re

from boxpen.scoring.recipe import LANGUAGE_NAMES

__all__ = ["PROMPT", "prompt_of", "unwrapped"]

PROMPT = (
    "Translate this text from {source_language} to {target_language}. Answer with the translation "
    "and nothing else."
)
_CONTEXT = "For context, this is the text before it, which must not be translated:\n\n{context}"
_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "«": "»", "»": "«", "„": "“", "「": "」"}
_HEAD = re.compile(r"[^\n]*\btranslat(?:ion|ed|es)\b[^\n]*:[ \t*]*\n+", re.I)


def prompt_of(source: str, languages: tuple[str | None, str | None], context: str = "") -> str:
    """Return what a model is told to get a translation."""
    defaults = ("the source language", "the target language")
    pairs = zip(languages, defaults, strict=True)
    names = [LANGUAGE_NAMES.get(code or "", code or name) for code, name in pairs]
    told = PROMPT.format(source_language=names[0], target_language=names[1])
    before = [_CONTEXT.format(context=context)] if context else []
    return "\n\n".join((told, *before, f"Text:\n\n{source}"))


def unwrapped(answer: str, source: str, target: str | None) -> str:
    """Return a translation without what some models put around it.

    Three things are removed, and nothing else: a first line that ends in a colon and speaks of a
    translation ("Here is the translation:"); the label "Translation:" or the name of the target
    language, with a colon, unless the source has a colon; and one pair of quotation marks around
    the whole, unless the source has one, too. Line breaks become spaces.
    """
    text = answer.strip()
    if head := _HEAD.match(text):
        text = text[head.end() :].strip()
    labels = "|".join(("translation", re.escape(LANGUAGE_NAMES.get(target or "", "translation"))))
    if not re.search("[:：]", source):
        text = re.sub(rf"^\**(?:{labels})\s*[:：]\**\s*", "", text, flags=re.I)
    if _is_quoted(text) and not _is_quoted(source.strip()):
        text = text[1:-1].strip()
    return " ".join(text.split())


def _is_quoted(text: str) -> bool:
    if len(text) < 3 or _QUOTES.get(text[0]) != text[-1]:
        return False
    return not {text[0], text[-1]} & set(text[1:-1])
