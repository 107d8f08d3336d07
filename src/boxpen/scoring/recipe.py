"""Recipes: how the items of a suite are presented to a model.

A recipe is a text template and the policy that goes with it. Every suite has the recipe ``sound``;
one whose paper proceeded differently also has ``paper``, flaws included; and a suite of
translations has ``translate``, which shows a language model the source sentence through a prompt.
"""

from __future__ import annotations

import hashlib
import re
import string
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import takewhile
from typing import Literal

from boxpen.errors import PolicyError
from boxpen.items import Choice, Entail
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.requests import Request

__all__ = ["ASK", "ASK_LETTERS", "ENTAILMENT", "GENERATE", "SOUND", "TRANSLATE", "Recipe"]

LANGUAGE_NAMES = {
    "ar": "Arabic", "cs": "Czech", "de": "German", "en": "English", "es": "Spanish",
    "et": "Estonian", "fi": "Finnish", "fr": "French", "hi": "Hindi", "it": "Italian",
    "ja": "Japanese", "ko": "Korean", "lt": "Lithuanian", "lv": "Latvian", "nl": "Dutch",
    "pl": "Polish", "pt": "Portuguese", "ru": "Russian", "tr": "Turkish", "uk": "Ukrainian",
    "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip
_FIELDS = ("context", "source", "source_language", "target_language")
UNSPACED = frozenset({"ja", "th", "zh"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How an item becomes the texts that are scored.

    A template may use ``{context}``, ``{source}``, ``{source_language}`` and
    ``{target_language}``.

    Attributes:
        name: ``sound``, ``paper``, ``translate`` or a name of the suite's own.
        prefix: Template for the text before the candidate, for items with a context.
        prefixes: Other templates for items with a certain tag, under ``tag=value``.
        whole: Score the prefix too, as part of the text.
        ending: Score only what all candidates end in, each given its own beginning (the partial
            score of Trinh & Le 2018). Candidates that end differently are scored whole.
        prompt: Template for the text before the candidate for items with a source; without it a
            language model judges the target side alone.
        unconditional: The text before the candidate when it is scored without its context (for
            ``norm=pmi``).
        asks: Ask for the letter of an option instead of scoring candidates (see ``scoring.ask``):
            the answer as ``text``, or the log-probabilities of the ``letters``. The templates are
            then the questions.
        generates: Have the model translate the source, and judge which candidate the translation
            carries (see ``scoring.reading``).
        entailment: Keep only those tests of inference that expect entailment, and accept no other
            label.
        tidy: Drop white space at the edges, runs of white space, and literal ``[SEP]``.
        policy: Fields of the scoring policy that differ from the default.
        why: What the recipe does differently, and why.
    """

    name: str
    prefix: str = "{context}"
    prefixes: Mapping[str, str] = field(default_factory=dict, hash=False)
    whole: bool = False
    ending: bool = False
    prompt: str | None = None
    unconditional: str = ""
    asks: Literal["", "text", "letters"] = ""
    generates: bool = False
    entailment: bool = False
    tidy: bool = True
    policy: Mapping[str, str] = field(default_factory=dict, hash=False)
    why: str = ""

    def __post_init__(self) -> None:
        templates = (self.prefix, *self.prefixes.values(), self.prompt or "", self.unconditional)
        for template in templates:
            try:
                fields = [f for f in string.Formatter().parse(template) if f[1] is not None]
            except ValueError:
                fields = [("", "", "", "")]
            # Plain names only: a format may also call attributes, or ask for a gigabyte of spaces.
            if any(name not in _FIELDS or spec or change for _, name, spec, change in fields):
                raise PolicyError(
                    f"template {template!r} is not valid, it may use "
                    + ", ".join("{" + name + "}" for name in _FIELDS)
                )

    @property
    def digest(self) -> str:
        """Six hex digits that change with anything the recipe does to a text."""
        parts = {k: v for k, v in asdict(self).items() if k not in ("name", "policy", "why")}
        for new in (
            "prefixes",
            "ending",
            "asks",
            "generates",
            "entailment",
        ):  # recipes keep the digests that they had before
            if not parts[new]:
                del parts[new]
        return hashlib.sha256(repr(sorted(parts.items())).encode()).hexdigest()[:6]

    def scoring_policy(self) -> ScoringPolicy:
        """Return the default policy with the recipe's changes."""
        return ScoringPolicy().but(**self.policy)

    def requests(
        self,
        item: Choice | Entail,
        *,
        language: str | None,
        source_language: str | None,
        encoder: bool,
        pairs: bool = False,
        before: bool = False,
    ) -> list[Request]:
        """Return one request per candidate, or one for a premise and its hypothesis.

        Args:
            item: The item to put.
            language: Language of the candidates.
            source_language: Language of the source.
            encoder: Whether the model reads the source on a side of its own.
            pairs: Whether the model reads two texts; templates are not for such models.
            before: Whether a model that reads the source also reads the sentence before it.
        """
        if isinstance(item, Entail):
            return [Request(text=self.tidied(item.hypothesis), prefix=self.tidied(item.premise))]
        if pairs:
            context = self.tidied(item.context or "")
            return [Request(text=self.tidied(c), prefix=context) for c in item.candidates]
        languages = (source_language, language)
        if encoder:
            source = self.tidied(item.source or "")
            read = self.tidied_lines(item.context or "") if before else None
            return [
                Request(text=self.tidied(c), source=source, languages=languages, context=read)
                for c in item.candidates
            ]
        prefix = self.before(item, language, source_language)
        joined = [self._joined(prefix, self.tidied(c), language) for c in item.candidates]
        return _endings(joined) if self.ending else joined

    def unconditional_requests(
        self, item: Choice, *, language: str | None, source_language: str | None
    ) -> list[Request]:
        """Return the candidates without their context, for pointwise mutual information."""
        bare = replace(item, context="", source=None if item.source is None else "")
        before = self.unconditional.format(**self._values(bare, language, source_language))
        joined = [self._joined(before, self.tidied(c), language) for c in item.candidates]
        return [replace(r, prefix="") for r in _endings(joined)] if self.ending else joined

    def sees_source(self, item: Choice, *, encoder: bool) -> bool:
        """Whether the model reads the item's source sentence under this recipe."""
        shown = encoder or self.generates or "{source}" in (self.prompt or "")
        return item.source is not None and shown

    def sees_context(self, item: Choice, *, encoder: bool, before: bool = False) -> bool:
        """Whether the model reads the item's context under this recipe."""
        if encoder or self.generates:
            return before
        return item.source is None or self.prompt is not None

    def before(self, item: Choice, language: str | None, source_language: str | None) -> str:
        """Return the text before the candidates of an item; empty if there is none."""
        values = self._values(item, language, source_language)
        if item.source is not None:
            if self.prompt is None:
                return ""
            # The sentence before the source stands before the prompt, on a line of its own.
            apart = bool(values["context"]) and "{context}" not in self.prompt
            return (values["context"] + "\n" if apart else "") + self.prompt.format(**values)
        if item.context is None:
            return ""
        tagged = (self.prefixes.get(f"{tag}={value}") for tag, value in item.tags.items())
        return next(filter(None, tagged), self.prefix).format(**values)

    def _values(
        self, item: Choice, language: str | None, source_language: str | None
    ) -> dict[str, str]:
        return {
            "context": self.tidied(item.context or ""),
            "source": self.tidied(item.source or ""),
            "source_language": LANGUAGE_NAMES.get(source_language or "", source_language or ""),
            "target_language": LANGUAGE_NAMES.get(language or "", language or ""),
        }

    def _joined(self, before: str, candidate: str, language: str | None) -> Request:
        if not before:
            return Request(text=candidate)
        glue = "" if language in UNSPACED or before[-1].isspace() else " "
        # The space goes with the text: word-initial tokens of most vocabularies contain it.
        text = glue + candidate
        return Request(text=before + text) if self.whole else Request(text=text, prefix=before)

    def tidied_lines(self, text: str) -> str:
        """Tidy several sentences, one per line, as the recipe requires."""
        return "\n".join(map(self.tidied, text.split("\n")))

    def tidied(self, text: str) -> str:
        """Tidy a text as the recipe requires."""
        if not self.tidy:
            return text
        return " ".join(re.sub(r"\s*\[SEP\]\s*", " ", text).split())


def _endings(requests: list[Request]) -> list[Request]:
    """Return the same texts with all but their common ending as the prefix."""
    texts = [request.text for request in requests]
    same = takewhile(lambda last: len(set(last)) == 1, zip(*map(reversed, texts), strict=False))
    common = "".join(letters[0] for letters in same)[::-1]
    # It begins where a word does: of "Ann's hat" and "Dan's hat" only "'s hat" is common.
    cut = re.search(r"\W", common)
    common = common[cut.start() :] if cut else ""
    if not common.strip() or common in texts:
        return requests
    starts = [text.removesuffix(common) for text in texts]
    return [Request(common, r.prefix + s) for r, s in zip(requests, starts, strict=True)]


SOUND = Recipe(name="sound")
TRANSLATE = Recipe(
    name="translate",
    prompt="{source_language}: {source}\n{target_language}:",
    unconditional="{target_language}:",
    why="a language model reads the source through a prompt and scores the translation after it",
)
ASK = Recipe(
    name="ask",
    asks="text",
    prefix="{context}\n\nWhich option makes the most sense after this text?",
    prompt="{source_language} sentence: {source}\n\n"
    "Which option is the right {target_language} translation?",
    unconditional="Which option makes the most sense?",
    why="the model is asked for the letter of an option, in every order, and its answer is read",
)
ASK_LETTERS = replace(
    ASK,
    name="ask-letters",
    asks="letters",
    why="the model is asked for the letter of an option, in every order; the likeliest one counts",
)
GENERATE = Recipe(
    name="generate",
    generates=True,
    why="the model translates the source, and a judge decides which candidate the translation "
    "carries",
)
ENTAILMENT = Recipe(
    name="paper",
    entailment=True,
    why="only right tails are tested, and entailment is the only right label, likely or not "
    "(Razeghi et al. 2021); a classifier that always answers entailment passes",
)
