"""Suite x model -> run: the only place where the two meet."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from boxpen.analysis.lint import lint
from boxpen.catalog import load_suite, recipes_of
from boxpen.errors import ModelError, PolicyError, nearest
from boxpen.folders import default_cache
from boxpen.items import Choice, Entail, Item, Suite, Translate
from boxpen.metrics.bleu import require_sacrebleu
from boxpen.models.base import Model, Settled
from boxpen.models.resolve import resolve_model
from boxpen.runs import Run, Translation
from boxpen.scoring.cache import ScoreCache, cache_key
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.recipe import Recipe
from boxpen.scoring.requests import Record, Request
from boxpen.scoring.verdicts import Scored

__all__ = ["Plan", "evaluate", "plan", "run_plans"]

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""

BEAM = 5  # as in CommonMT section 5.1
_UNREADABLE = 0.2  # share of unknown tokens above which a text counts as not read
_SAMPLE = 64


def evaluate(
    model: str | Model | tuple[Any, Any],
    suite: str | Path | Suite,
    *,
    recipe: str | Recipe = "sound",
    template: str | None = None,
    limit: int | None = None,
    cache: str | Path | ScoreCache | None = None,
    translate: bool = True,
    check_languages: bool = True,
    device: str | None = None,
    batch_size: int | None = None,
    token_budget: int | None = None,
    deterministic: bool | None = None,
    compiled: bool | None = None,
    progress: Progress | None = None,
    **policy: Any,
) -> Run:
    """Put a suite to a model.

    Args:
        model: A preset, ``hf:NAME_OR_PATH``, ``gguf:FILE``, ``ct2:DIR``, or a
            ``(model, tokenizer)`` pair in memory.
        suite: A suite, the name of one, or the path of a suite file.
        recipe: How the suite is put: ``sound``, ``paper``, ``translate``, or a recipe.
        template: A prompt that replaces the recipe's own.
        limit: Only the first so many items.
        cache: Path of the score cache, the user's own if None; ``:memory:`` keeps nothing.
        translate: Whether a translation model also translates the sources, for BLEU.
        check_languages: Whether to leave out what the model does not read.
        device: Where to compute.
        batch_size: Most sequences of a batch.
        token_budget: Most tokens of a batch; chosen from the memory if None.
        deterministic: Whether every text is run by itself, to the same last bit every time.
        compiled: Whether the module is compiled first.
        progress: Called as the work goes on.
        **policy: Fields of ``ScoringPolicy`` that override the recipe's.

    Returns:
        The run: verdicts, records and metrics.

    Raises:
        BoxpenError: If the suite, the model or the policy cannot be used, with the reason.
    """
    planned = plan(
        model,
        suite,
        recipe=recipe,
        template=template,
        limit=limit,
        check_languages=check_languages,
        device=device,
        batch_size=batch_size,
        token_budget=token_budget,
        deterministic=deterministic,
        compiled=compiled,
        **policy,
    )
    if isinstance(cache, ScoreCache):
        return planned.run(cache, translate=translate, progress=progress)
    with ScoreCache(cache or default_cache()) as opened:
        return planned.run(opened, translate=translate, progress=progress)


def plan(
    model: str | Model | tuple[Any, Any],
    suite: str | Path | Suite,
    *,
    recipe: str | Recipe = "sound",
    template: str | None = None,
    limit: int | None = None,
    check_languages: bool = True,
    device: str | None = None,
    batch_size: int | None = None,
    token_budget: int | None = None,
    deterministic: bool | None = None,
    compiled: bool | None = None,
    **policy: Any,
) -> Plan:
    """Check that a suite can be put to a model, and say how; nothing is scored yet.

    Takes the arguments of ``evaluate``.
    """
    if not isinstance(suite, Suite):
        suite = load_suite(suite)
    if limit is not None and limit < 1:
        raise PolicyError(f"limit is {limit}, expected 1 or more")
    suite = suite.limit(limit)
    chosen = _recipe(suite, recipe, template)
    settings = chosen.scoring_policy().but(**policy)
    resolved = resolve_model(
        model,
        dtype=settings.dtype,
        device=device,
        batch_size=batch_size,
        token_budget=token_budget,
        deterministic=deterministic,
        compiled=compiled,
    )
    if resolved.encoder and (template is not None or chosen.name == "translate"):
        raise PolicyError(f"'{resolved.name}' reads the source by itself and takes no prompt")
    settled = resolved.settle(settings)
    planned = Plan(suite, resolved, chosen, settings, settled)
    planned.sort_out(check_languages=check_languages)
    return planned


def run_plans(
    plans: Sequence[Plan],
    cache: ScoreCache,
    *,
    translate: bool = True,
    progress: Progress | None = None,
) -> list[Run]:
    """Carry plans out; what several of them ask of one model is scored in one go."""
    if translate and any(p.sources for p in plans):
        require_sacrebleu()
    report = progress or (lambda *_: None)
    runs: dict[int, Run] = {}
    groups: dict[tuple[int, Settled], list[int]] = {}
    for number, planned in enumerate(plans):
        groups.setdefault((id(planned.model), planned.settled), []).append(number)
    for numbers in groups.values():
        members = [plans[n] for n in numbers]
        model, settled = members[0].model, members[0].settled
        requests = list(dict.fromkeys(r for p in members for r in p.all_requests()))
        suites = ", ".join(dict.fromkeys(p.suite.name for p in members))
        label = f"{suites} × {model.short}"
        scored = _scored(model, settled, requests, cache, label, report)
        for n in numbers:
            runs[n] = plans[n].decided(scored, cache, translate=translate, report=report)
    return [runs[n] for n in range(len(plans))]


@dataclass(frozen=True)
class _Scored:
    """The records of some requests, and how they were come by."""

    records: Mapping[Request, Record]
    engine: Mapping[str, object]
    seconds: float


def _scored(
    model: Model,
    settled: Settled,
    requests: Sequence[Request],
    cache: ScoreCache,
    label: str,
    report: Progress,
) -> _Scored:
    """Take from the cache what is there, and score the rest, as one."""
    started = time.time()
    settings = settled.as_dict() | model.exactness()
    keys = {r: cache_key(model.fingerprint, settings, astuple(r)) for r in requests}
    known = cache.records(list(keys.values()))
    records = {r: known[key] for r, key in keys.items() if key in known}
    missing = [r for r in requests if r not in records]
    engine: dict[str, object] = {"scored": label, "from_cache": len(records), **model.exactness()}
    if requests:
        report(label, len(records), len(requests))
    if missing:
        before = replace(model.tally)
        with cache.writing() as write:
            for batch in model.score(missing, settled):
                found = [(missing[i], record) for i, record in batch]
                write([(keys[r], record) for r, record in found])
                records.update(found)
                report(label, len(records), len(requests))
        cost = {k: v - getattr(before, k) for k, v in asdict(model.tally).items()}
        engine |= {"how": model.engine, **cost}
    return _Scored(records, engine, time.time() - started)


@dataclass
class Plan:
    """What will be asked of a model, and what will not, and why."""

    suite: Suite
    model: Model
    recipe: Recipe
    policy: ScoringPolicy
    settled: Settled
    choices: list[Choice] = field(default_factory=list)
    sources: list[Item] = field(default_factory=list)
    left_out: dict[str, list[str]] = field(default_factory=dict)

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
            if isinstance(choice, Choice):
                self.choices.append(choice)
            if self.model.can_translate() and not isinstance(item, Entail) and item.source:
                self.sources.append(item)
        if check_languages:
            self._drop_unreadable()
        if not self.choices and not self.sources:
            reasons = "; ".join(self.left_out)
            raise ModelError(
                f"model '{self.model.name}' cannot judge suite '{self.suite.name}': {reasons}"
            )
        if self.policy.norm == "pmi":
            self._check_pmi()

    def run(
        self, cache: ScoreCache, *, translate: bool = True, progress: Progress | None = None
    ) -> Run:
        """Score what is not in the cache yet, and decide."""
        return run_plans([self], cache, translate=translate, progress=progress)[0]

    def all_requests(self) -> Iterator[Request]:
        """Yield everything that must be scored."""
        for item in self.choices:
            yield from self.requests(item)
            yield from self._unconditional(item)

    def decided(
        self, scored: _Scored, cache: ScoreCache, *, translate: bool, report: Progress
    ) -> Run:
        """Make the run of what was scored."""
        started = time.time()
        records = scored.records
        wanted = {c.id: self.requests(c) for c in self.choices}
        free = {c.id: self._unconditional(c) for c in self.choices}
        candidates = {
            item.id: [
                Scored(
                    text=request.text,
                    record=records[request],
                    unconditional=records[free[item.id][i]] if free[item.id] else None,
                    prefix=request.prefix,
                    source=request.source,
                )
                for i, request in enumerate(wanted[item.id])
            ]
            for item in self.choices
        }
        translations = self._translations(cache, report) if translate else []
        gone = {i for ids in self.left_out.values() for i in ids}
        judged = self.suite.take([i for i in self.suite if i.id not in gone])
        return Run.decided(
            suite=judged,
            model=self.model,
            recipe=self.recipe,
            policy=self.policy,
            settled=self.settled,
            choices=self.choices,
            candidates=candidates,
            translations=translations,
            beam=BEAM,
            left_out=self.left_out,
            parts_left_out={
                reason: self._whole_parts(ids) for reason, ids in self.left_out.items()
            },
            unread_contexts=sum(
                c.context is not None
                and not self.recipe.sees_context(c, encoder=self.model.encoder)
                for c in self.choices
            ),
            findings=lint(judged),
            engine=scored.engine,
            seconds=scored.seconds + time.time() - started,
        )

    def requests(self, item: Choice) -> list[Request]:
        """Return what is scored for one item."""
        language, source_language = self.suite.languages_of(item)
        return self.recipe.requests(
            item,
            language=language,
            source_language=source_language,
            encoder=self.model.encoder,
        )

    def _whole_parts(self, ids: Sequence[str]) -> list[str]:
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
        encoder = self.model.encoder
        if isinstance(item, Entail):
            return "an entailment item needs an inference classifier"
        if isinstance(item, Translate) and not item.contrast and not self.model.can_translate():
            return "an item to translate, without a wrong translation to tell apart"
        if encoder and item.source is None:
            return "a translation model needs a source sentence, and there is none"
        if not check_languages:
            return None
        language, source_language = self.suite.languages_of(item)
        if encoder and self.model.direction not in (None, (source_language, language)):
            pair = "-".join(self.model.direction or ())
            return f"it translates {pair}, and the items are {source_language}-{language}"
        choice = item.as_choice() if isinstance(item, Translate) else item
        sees_source = choice is not None and self.recipe.sees_source(choice, encoder=encoder)
        for needed in (language, source_language if sees_source else None):
            if not self.model.reads(needed):
                reads = ", ".join(sorted(self.model.languages or ()))
                return f"it does not read {needed} (it reads {reads})"
        return None

    def _drop_unreadable(self) -> None:
        """Leave out the items of a language that the vocabulary does not cover."""
        for language in dict.fromkeys(self.suite.languages_of(c) for c in self.choices):
            members = [c for c in self.choices if self.suite.languages_of(c) == language]
            requests = [r for c in members[:_SAMPLE] for r in self.requests(c)]
            encoded = self.model.encode(requests, self.settled)
            tokens = sum(len(e.scored) + e.unscored for e in encoded)
            unknown = sum(e.unknown for e in encoded)
            if unknown > _UNREADABLE * max(1, tokens):
                name = language[0] or "the language"
                reason = f"it does not read {name} ({unknown / tokens:.0%} of tokens are unknown)"
                self.left_out.setdefault(reason, []).extend(c.id for c in members)
                gone = {c.id for c in members}
                self.choices = [c for c in self.choices if c.id not in gone]
                self.sources = [s for s in self.sources if s.id not in gone]

    def _check_pmi(self) -> None:
        if self.model.encoder:
            raise PolicyError("norm 'pmi' is for language models, not for translation models")
        for item in self.choices:
            if not any(r.prefix for r in self.requests(item)):
                raise PolicyError(
                    f"norm 'pmi' needs a context that is not scored, and item '{item.id}' of "
                    f"suite '{self.suite.name}' has none under recipe '{self.recipe.name}'"
                )

    def _unconditional(self, item: Choice) -> list[Request]:
        if self.policy.norm != "pmi":
            return []
        language, source_language = self.suite.languages_of(item)
        return self.recipe.unconditional_requests(
            item, language=language, source_language=source_language
        )

    def _translations(self, cache: ScoreCache, report: Progress) -> list[Translation]:
        settings = {
            "task": "translate",
            "beam": BEAM,
            "max_length": self.settled.max_length,
            **self.model.exactness(),
        }
        out: list[Translation] = []
        for languages in dict.fromkeys(self.suite.languages_of(i)[::-1] for i in self.sources):
            items = [i for i in self.sources if self.suite.languages_of(i)[::-1] == languages]
            texts = {i.id: self.recipe.tidied(_source(i)) for i in items}
            keys = {
                text: cache_key(self.model.fingerprint, settings, (text, *languages))
                for text in texts.values()
            }
            known = cache.translations(list(keys.values()))
            made = {text: known[key] for text, key in keys.items() if key in known}
            missing = [text for text in keys if text not in made]
            label = f"{self.suite.name} → {self.model.short}"
            report(label, len(made), len(keys))
            alone = [[text] for text in missing]
            for few in alone if self.model.deterministic or not missing else [missing]:
                for batch in self.model.translate(few, languages, beam=BEAM):
                    cache.add_translations((keys[few[i]], text) for i, text in batch)
                    made.update((few[i], text) for i, text in batch)
                    report(label, len(made), len(keys))
            out += [
                Translation(
                    id=i.id,
                    tags=i.tags,
                    source=texts[i.id],
                    reference=self.recipe.tidied(_reference(i)),
                    translation=made[texts[i.id]],
                    language=languages[1],
                )
                for i in items
            ]
        return out


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
    return replace(recipe, name="custom", prefix=template)


def _source(item: Item) -> str:
    assert not isinstance(item, Entail)
    return item.source or ""


def _reference(item: Item) -> str:
    if isinstance(item, Translate):
        return item.reference
    assert isinstance(item, Choice)
    return item.candidates[item.gold]


class _Evaluate(ModuleType):
    """This module, callable: whoever imports it hides the function ``boxpen.evaluate`` by it."""

    def __call__(self, *inputs: Any, **named: Any) -> Run:
        return evaluate(*inputs, **named)


sys.modules[__name__].__class__ = _Evaluate
