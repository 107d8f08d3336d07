"""Plans: the requests of a suite to a model, and the items left out, with reasons."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from boxpen.analysis.reading_judge import ReadingJudge
from boxpen.catalog import load_suite, recipes_of
from boxpen.errors import ModelError, PolicyError, nearest
from boxpen.items import Choice, Entail, Item, Suite, Translate
from boxpen.models.base import Model, ResolvedPolicy
from boxpen.models.resolve import loads_float32, resolve_model
from boxpen.sampling import draw_sample
from boxpen.scoring.ask import Question, questions
from boxpen.scoring.labels import names_of, offered, right_places
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.recipe import Recipe
from boxpen.scoring.requests import Request

__all__ = ["READING_JUDGE", "Plan", "other_contexts", "plan"]

_UNREADABLE = 0.2  # share of unknown tokens above which a text counts as not read
_SAMPLE = 64
READING_JUDGE = "smollm2"


def plan(
    model: str | Model | tuple[Any, Any],
    suite: str | Path | Suite,
    *,
    recipe: str | Recipe = "sound",
    template: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    check_languages: bool = True,
    device: str | None = None,
    batch_size: int | None = None,
    token_budget: int | None = None,
    deterministic: bool | None = None,
    labels: str | Sequence[str] | None = None,
    trust_remote_code: bool | None = None,
    judge: str | Model | ReadingJudge | None = None,
    translate: bool | None = None,
    **policy: Any,
) -> Plan:
    """Check that a model can be evaluated on a suite, and plan how; nothing is scored yet.

    Takes the arguments of ``evaluate``.
    """
    if not isinstance(suite, Suite):
        suite = load_suite(suite)
    suite = draw_sample(suite, limit, seed)
    chosen = _recipe(suite, recipe, template)
    settings = chosen.scoring_policy().but(**policy)
    fast = settings.precision == "fast"
    if fast and settings.dtype not in ("auto", "float32"):
        raise PolicyError(
            f"precision 'fast' scores near ties in float32, and dtype is '{settings.dtype}'; leave "
            "one of them out"
        )
    resolved = resolve_model(
        model,
        dtype="float32" if fast and loads_float32(model) else settings.dtype,
        device=device,
        batch_size=batch_size,
        token_budget=token_budget,
        deterministic=deterministic,
        labels=labels,
        trust_remote_code=trust_remote_code,
    )
    if resolved.pairs:
        if template is not None:
            raise PolicyError(f"'{resolved.name}' reads two texts directly and takes no prompt")
        if policy.get("norm") not in (None, "sum"):
            raise PolicyError(
                f"norm '{policy['norm']}' is for likelihoods, but '{resolved.name}' returns "
                f"{'labels' if resolved.kind == 'nli' else 'one number per candidate'}; leave it "
                "out"
            )
        settings = settings.but(norm="sum")  # a recipe's own norm is for other models
    if resolved.encoder and (template is not None or chosen.name == "translate"):
        raise PolicyError(f"'{resolved.name}' reads the source directly and takes no prompt")
    if chosen.generates and not resolved.can_translate():
        raise PolicyError(
            f"recipe '{chosen.name}' judges free translations, and '{resolved.name}' "
            f"({resolved.kind}) does not translate"
        )
    if judge is not None and not chosen.generates:
        raise PolicyError(f"a judge only applies to the recipe 'generate', not to '{chosen.name}'")
    if chosen.asks and (lack := resolved.cannot_answer(chosen.asks)) is not None:
        raise PolicyError(f"recipe '{chosen.name}' asks questions, and {lack}")
    if translate is None:  # a translation may cost money
        translate = resolved.translates_unasked
    free = chosen.asks or chosen.generates  # of log-probabilities
    if not free and not translate and (lack := resolved.cannot_score()) is not None:
        raise PolicyError(f"{lack}; use --recipe ask, or --bleu for translations only")
    resolved_policy = resolved.resolve_policy(settings)
    contexts = other_contexts(suite, settings.context)
    translates = (translate or chosen.generates) and resolved.can_translate()
    planned = Plan(suite, resolved, chosen, settings, resolved_policy, contexts, translates)
    if chosen.generates:
        planned.judge = _reading_judge(
            judge, device=device, deterministic=deterministic, trust_remote_code=trust_remote_code
        )
    planned.sort_out(check_languages=check_languages)
    planned.fast = fast and not free and resolved.rounded is not None
    return planned


def _reading_judge(judge: str | Model | ReadingJudge | None, **options: Any) -> ReadingJudge:
    if isinstance(judge, ReadingJudge):
        return judge
    return ReadingJudge(resolve_model(judge or READING_JUDGE, **options))


@dataclass
class Plan:
    """The requests to a model, and the items left out, with reasons.

    Attributes:
        contexts: Contexts of items that get another context than their own, or none.
        judge: Decides which candidate a translation carries, if the recipe has them judged.
        translates: Whether sources are translated.
        fast: Whether to score in a faster precision, and near ties again in full.
        rounding: How near a tie that is, by norm; known when all is scored.
    """

    suite: Suite
    model: Model
    recipe: Recipe
    policy: ScoringPolicy
    resolved_policy: ResolvedPolicy
    contexts: dict[str, str | None] = field(default_factory=dict)
    translates: bool = False
    judged: list[Choice | Entail] = field(default_factory=list)
    sources: list[Item] = field(default_factory=list)
    left_out: dict[str, list[str]] = field(default_factory=dict)
    judge: ReadingJudge | None = None
    fast: bool = False
    rounding: dict[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        left_out = sum(map(len, self.left_out.values()))
        pair = f"{self.suite.name} × {self.model.name}"
        return f"Plan({pair}, {len(self.judged)} items to judge, {left_out} left out)"

    def sort_out(self, *, check_languages: bool) -> None:
        """Split the items into those that the model can judge and those left out.

        Raises:
            ModelError: If nothing is left.
            PolicyError: If the norm does not fit the items.
        """
        for item in self.suite:
            reason = self._unfit(item, check_languages=check_languages)
            if reason is not None:
                self.left_out.setdefault(reason, []).append(item.id)
                continue
            choice = item.as_choice() if isinstance(item, Translate) else item
            if self.recipe.entailment and isinstance(choice, Entail):
                choice = replace(choice, also=())
            if choice is not None and self.judges:
                self.judged.append(choice)
            if self.translates and not isinstance(item, Entail) and item.source:
                self.sources.append(item)
        if check_languages:
            self._drop_unreadable()
        if not self.judged and not self.sources:
            reasons = "; ".join(self.left_out)
            raise ModelError(
                f"model '{self.model.name}' cannot judge suite '{self.suite.name}': {reasons}"
            )
        if self.policy.norm == "pmi":
            self._check_pmi()

    @property
    def judges(self) -> bool:
        """Whether candidates are judged; otherwise sources are translated, and nothing else."""
        free = self.recipe.asks or self.recipe.generates
        return bool(free) or self.model.cannot_score() is None

    def all_requests(self) -> Iterator[Request]:
        """Yield everything that must be scored."""
        for item in () if self.recipe.generates else self.judged:
            yield from self.requests(item)
            yield from self.unconditional(item)

    def questions(self, item: Choice | Entail) -> list[Question]:
        """Return what the model is asked about one item, in every order."""
        language, source_language = self.suite.languages_of(item)
        return questions(
            self._with_context(item),
            self.recipe,
            language=language,
            source_language=source_language,
        )

    def _with_context(self, item: Choice | Entail) -> Choice | Entail:
        if isinstance(item, Choice) and item.id in self.contexts:
            return replace(item, context=self.contexts[item.id])
        return item

    def requests(self, item: Choice | Entail) -> list[Request]:
        """Return what a model reads of one item; nothing if it is asked or told instead."""
        if self.recipe.asks or (self.recipe.generates and not self.model.encoder):
            return []
        language, source_language = self.suite.languages_of(item)
        item = self._with_context(item)
        return self.recipe.requests(
            item,
            language=language,
            source_language=source_language,
            encoder=self.model.encoder,
            pairs=self.model.pairs,
            before=self.model.reads_context,
        )

    def context_of(self, item: Item) -> str:
        """Return the context of an item as presented to the model; empty if there is none."""
        if isinstance(item, Entail):
            return ""
        return self.recipe.tidied_lines(self.contexts.get(item.id, item.context) or "")

    def whole_parts(self, ids: Sequence[str]) -> list[str]:
        """Return the parts of the suite that are left out as a whole: ``part=discourse``."""
        gone = set(ids)
        for tag in ("part", "set"):
            kept = {i.tags.get(tag) for i in self.suite if i.id not in gone}
            lost = dict.fromkeys(i.tags[tag] for i in self.suite if i.id in gone and tag in i.tags)
            whole = [f"{tag}={value}" for value in lost if value not in kept]
            if whole:
                return whole
        return []

    def _unfit(self, item: Item, *, check_languages: bool) -> str | None:
        """Return why the model cannot judge an item, or None if it can."""
        reason = self._unfit_kind(item)
        if reason is not None or not check_languages:
            return reason
        encoder = self.model.encoder
        language, source_language = self.suite.languages_of(item)
        if encoder and self.model.direction not in (None, (source_language, language)):
            pair = "-".join(self.model.direction or ())
            if language is None or source_language is None:
                return (
                    f"it translates {pair}, and the items do not say their languages (boxpen suite "
                    "import has --language and --source-language)"
                )
            return f"it translates {pair}, and the items are {source_language}-{language}"
        choice = item.as_choice() if isinstance(item, Translate) else item
        sees_source = isinstance(choice, Choice) and self.recipe.sees_source(
            choice, encoder=encoder
        )
        for needed in (language, source_language if sees_source else None):
            if not self.model.reads(needed):
                reads = ", ".join(sorted(self.model.languages or ()))
                return f"it does not read {needed} (it reads {reads})"
        return None

    def _unfit_kind(self, item: Item) -> str | None:
        """Return why the kind of model cannot judge a kind of item, or None if it can."""
        model = self.model
        if self.recipe.generates and (isinstance(item, Entail) or item.source is None):
            return "there is no source sentence to translate"
        if self.recipe.entailment and isinstance(item, Entail) and item.label != "entailment":
            return f"recipe '{self.recipe.name}' only has tests of entailment"
        if self.recipe.asks:
            if isinstance(item, Choice) and len(item.candidates) > len(ascii_uppercase):
                return f"an item with more options than the {len(ascii_uppercase)} letters"
            lacks = isinstance(item, Translate) and not item.contrast and not self.translates
            return (
                "an item to translate, without a wrong translation to tell apart" if lacks else None
            )
        if isinstance(item, Entail):
            if model.kind != "nli":
                return "an entailment item needs an inference classifier"
            return self._unfit_label(item)
        if model.kind == "nli":
            return "an inference classifier judges premises and hypotheses only"
        if model.kind == "choice" and item.source is not None:
            return "a multiple-choice model reads no source sentence"
        if isinstance(item, Translate) and not item.contrast and not self.translates:
            return "an item to translate, without a wrong translation to tell apart"
        if not self.judges and item.source is None:
            return "it only translates, and there is no source sentence"
        if model.encoder and item.source is None:
            return "a translation model needs a source sentence, and there is none"
        return None

    def _unfit_label(self, item: Entail) -> str | None:
        """Return why a classifier cannot be right or wrong about an item, or None if it can."""
        labels = offered(self.model.labels, self.policy.nli)
        also = () if self.recipe.entailment else item.also
        right = right_places((item.label, *also), labels)
        if 0 < len(right) < len(labels):
            return None
        named = " and ".join(names_of(labels))
        if right:
            return f"{named} are both right for what is only likely"
        return f"the right label is {item.label}, and the choice is between {named}"

    def _drop_unreadable(self) -> None:
        """Leave out the items of a language that the vocabulary does not cover."""
        for language in dict.fromkeys(self.suite.languages_of(c) for c in self.judged):
            members = [c for c in self.judged if self.suite.languages_of(c) == language]
            requests = [r for c in members[:_SAMPLE] for r in self.requests(c)]
            encoded = self.model.encode(requests, self.resolved_policy)
            tokens = sum(e.read for e in encoded)
            unknown = sum(e.unknown for e in encoded)
            if unknown > _UNREADABLE * max(1, tokens):
                name = language[0] or "the language"
                reason = f"it does not read {name} ({unknown / tokens:.0%} of tokens are unknown)"
                self.left_out.setdefault(reason, []).extend(c.id for c in members)
                gone = {c.id for c in members}
                self.judged = [c for c in self.judged if c.id not in gone]
                self.sources = [s for s in self.sources if s.id not in gone]

    def _check_pmi(self) -> None:
        if self.model.encoder:
            raise PolicyError("norm 'pmi' is for language models, not for translation models")
        for item in self.judged:
            if not any(r.prefix for r in self.requests(item)):
                raise PolicyError(
                    f"norm 'pmi' needs a context that is not scored, and item '{item.id}' of "
                    f"suite '{self.suite.name}' has none under recipe '{self.recipe.name}'"
                )

    def unconditional(self, item: Choice | Entail) -> list[Request]:
        """Return the requests for the same candidates without their context, if PMI needs them."""
        if self.policy.norm != "pmi" or isinstance(item, Entail):
            return []
        language, source_language = self.suite.languages_of(item)
        return self.recipe.unconditional_requests(
            item, language=language, source_language=source_language
        )


def other_contexts(suite: Suite, context: str) -> dict[str, str | None]:
    """Return the contexts of items under a policy that changes them.

    Shuffled contexts stay within a part of the suite, so that they are of one kind, and none stays
    where it was. Which goes where follows from the ids alone.

    Raises:
        PolicyError: If no item has a context, or an item of a shuffled part finds no other one.
    """
    if context == "given":
        return {}
    having = [i for i in suite if not isinstance(i, Entail) and i.context]
    if not having:
        raise PolicyError(f"context is '{context}', and no item of suite '{suite.name}' has one")
    if context == "none":
        return {item.id: None for item in having}
    parts: dict[str, list[Choice | Translate]] = {}
    for item in having:
        parts.setdefault(item.tags.get("set", ""), []).append(item)
    found: dict[str, str | None] = {}
    for part, members in parts.items():
        mixed = sorted(members, key=lambda item: zlib.crc32(item.id.encode()))
        for place, item in enumerate(mixed):
            others = (*mixed[place + 1 :], *mixed[:place])
            another = (other.context for other in others if other.context != item.context)
            found[item.id] = next(another, None)
            if found[item.id] is None:
                where = f"set={part} of suite" if part else "suite"
                raise PolicyError(
                    f"context is 'shuffled', and item '{item.id}' finds no other context than its "
                    f"own in {where} '{suite.name}', expected two different ones or more; take "
                    "more items"
                )
    return found


def _recipe(suite: Suite, recipe: str | Recipe, template: str | None) -> Recipe:
    if isinstance(recipe, str):
        known = recipes_of(suite)
        if recipe not in known:
            raise PolicyError(
                f"suite '{suite.name}' has no recipe '{recipe}', {nearest(recipe, sorted(known))}"
            )
        recipe = known[recipe]
    if template is None:
        return recipe
    if not any(getattr(i, "source", None) or getattr(i, "context", None) for i in suite):
        raise PolicyError(
            f"suite '{suite.name}' has no source or context that a template could use"
        )
    if any(not isinstance(i, Entail) and i.source is not None for i in suite):
        return replace(recipe, name="custom", prompt=template)
    return replace(recipe, name="custom", prefix=template, prefixes={})
