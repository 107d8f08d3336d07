"""Suite x model -> run: score the requests of a plan and decide its items."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from boxpen.analysis.reading_judge import ReadingJudge
from boxpen.catalog.lint.items import lint
from boxpen.errors import ModelError
from boxpen.folders import default_cache
from boxpen.items import Choice, Entail, Item, Suite, Translate
from boxpen.metrics.bleu import require_sacrebleu
from boxpen.models.base import Model, ResolvedPolicy
from boxpen.models.cached import (
    BEAM,
    Ask,
    Contest,
    Progress,
    ScoredRequests,
    Source,
    looked_up,
    scored,
    scored_fast,
)
from boxpen.plans import Plan, plan
from boxpen.runs.info import UNANSWERED, ModelInfo, RecipeInfo, RunInfo, SuiteInfo
from boxpen.runs.run import Run, Translation
from boxpen.scoring.ask import Answer, answered, as_choice, likeliest_letter
from boxpen.scoring.cache import ScoreCache
from boxpen.scoring.reading import Reading
from boxpen.scoring.recipe import Recipe
from boxpen.scoring.requests import Record
from boxpen.scoring.verdicts import Scored

__all__ = ["asks", "evaluate", "run_plans"]

_PROBES = "self-check"


def evaluate(
    model: str | Model | tuple[Any, Any],
    suite: str | Path | Suite,
    *,
    recipe: str | Recipe = "sound",
    template: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    cache: str | Path | ScoreCache | None = None,
    translate: bool | None = None,
    check_languages: bool = True,
    device: str | None = None,
    batch_size: int | None = None,
    token_budget: int | None = None,
    deterministic: bool | None = None,
    labels: str | Sequence[str] | None = None,
    trust_remote_code: bool | None = None,
    judge: str | Model | ReadingJudge | None = None,
    progress: Progress | None = None,
    **policy: Any,
) -> Run:
    """Evaluate a model on a suite.

    Args:
        model: A preset, ``hf:NAME_OR_PATH``, ``gguf:FILE``, ``ct2:DIR``, ``elmo:DIR``,
            ``api:URL#MODEL``, ``openai:MODEL``, ``translator:NAME``, or a
            ``(model, tokenizer)`` pair in memory.
        suite: A suite, the name of one, or the path of a suite file.
        recipe: How to score the suite: ``sound``, ``paper``, ``translate``, ``ask``,
            ``generate``, or a recipe.
        template: A prompt that replaces the recipe's own.
        limit: Draw a sample of at most N items: every set by its share, blocks kept whole.
        seed: Seed of the sample.
        cache: Path of the score cache, the user's own if None; ``:memory:`` keeps nothing.
        translate: Whether a model that can translate also translates the sources, for BLEU; if
            None, chat models behind an API do not.
        check_languages: Whether to skip languages that the model cannot read.
        device: Where to compute.
        batch_size: Maximum sequences per batch.
        token_budget: Maximum tokens per batch; based on free memory if None.
        deterministic: Whether to run every text by itself, for bit-identical scores across runs.
        labels: Names of an inference classifier's labels in the order of its outputs, if those of
            the checkpoint will not do.
        trust_remote_code: Whether code that a checkpoint brings along may run, and is recorded; if
            None, only if ``BOXPEN_TRUST_REMOTE_CODE`` is 1.
        judge: Who judges translations under the recipe ``generate``: a language model, or a
            ``ReadingJudge`` with a rule of its own; ``smollm2`` if None.
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
        seed=seed,
        check_languages=check_languages,
        device=device,
        batch_size=batch_size,
        token_budget=token_budget,
        deterministic=deterministic,
        labels=labels,
        trust_remote_code=trust_remote_code,
        judge=judge,
        translate=translate,
        **policy,
    )
    if isinstance(cache, ScoreCache):
        return run_plans([planned], cache, progress=progress)[0]
    with ScoreCache(cache or default_cache()) as opened:
        return run_plans([planned], opened, progress=progress)[0]


def run_plans(
    plans: Sequence[Plan],
    cache: ScoreCache,
    *,
    translate: bool = True,
    progress: Progress | None = None,
) -> list[Run]:
    """Run plans; requests of several plans to the same model are scored together."""
    if any(p.sources and (translate or p.recipe.generates) for p in plans):
        require_sacrebleu()
    report = progress or (lambda *_: None)
    runs: dict[int, Run] = {}
    groups: dict[tuple[int, ResolvedPolicy, bool], list[int]] = {}
    for number, planned in enumerate(plans):
        key = (id(planned.model), planned.resolved_policy, planned.fast)
        groups.setdefault(key, []).append(number)
    for numbers in groups.values():
        members = [plans[n] for n in numbers]
        model, resolved_policy = members[0].model, members[0].resolved_policy
        ask = _scoring(members)
        remark = _verified(model, resolved_policy, cache)
        if members[0].fast:
            results = _scored_fast(members, ask.label, cache, report)
        else:
            every = scored(model, resolved_policy, ask.items, cache, ask.label, report)
            results = [every] * len(members)
        for n, own in zip(numbers, results, strict=True):
            runs[n] = _decided(
                plans[n], own, cache, translate=translate, remark=remark, report=report
            )
    return [runs[n] for n in range(len(plans))]


def asks(plans: Sequence[Plan], *, translate: bool = True) -> list[Ask]:
    """Return everything that ``run_plans`` asks of models, before any answer is known.

    There is one ``Ask`` for the probes of a model, and one for every suite, model, policy and task,
    so that another suite changes none of the others. What is missing is what a judge reads, which
    depends on translations.

    Args:
        plans: The plans; they are not changed.
        translate: Whether sources are translated, as for ``run_plans``.
    """
    found: dict[tuple[object, ...], Ask] = {}
    for planned in plans:
        policy = planned.resolved_policy
        probes = Ask("score", planned.model, tuple(planned.model.probes()), policy, label=_PROBES)
        for suite, ask in (
            ("", probes),
            *((planned.suite.hash, a) for a in _asked(planned, translate)),
        ):
            key = (suite, id(ask.model), ask.task, ask.policy, ask.languages)
            before = found[key].items if key in found else ()
            if ask.items:
                found[key] = replace(ask, items=(*before, *ask.items))
    return list(found.values())


def _asked(planned: Plan, translate: bool) -> Iterator[Ask]:
    yield _scoring([planned])
    if planned.recipe.asks:
        yield _asking(planned)
    if translate or planned.recipe.generates:
        yield from _translating(planned)


def _scoring(plans: Sequence[Plan]) -> Ask:
    """Ask for the scores that plans of one model and policy need."""
    model, policy = plans[0].model, plans[0].resolved_policy
    requests = tuple(request for planned in plans for request in planned.all_requests())
    suites = ", ".join(dict.fromkeys(planned.suite.name for planned in plans))
    return Ask("score", model, requests, policy, label=f"{suites} × {model.short}")


def _asking(planned: Plan) -> Ask:
    """Ask the questions of a plan."""
    model, label = planned.model, f"{planned.suite.name} ? {planned.model.short}"
    every = [question for item in planned.judged for question in planned.questions(item)]
    if planned.recipe.asks == "letters":
        return Ask("letters", model, tuple(every), planned.resolved_policy, label=label)
    return Ask("answer", model, tuple(question.prompt for question in every), label=label)


def _translating(planned: Plan) -> list[Ask]:
    """Ask for the translations of a plan, for each pair of languages."""
    model, label = planned.model, f"{planned.suite.name} → {planned.model.short}"
    sources: dict[tuple[str | None, str | None], list[Source]] = {}
    for item in planned.sources:
        languages = planned.suite.languages_of(item)[::-1]
        sources.setdefault(languages, []).append(_source(planned, item))
    return [
        Ask("translate", model, tuple(few), planned.resolved_policy, pair, label)
        for pair, few in sources.items()
    ]


def _verified(model: Model, resolved_policy: ResolvedPolicy, cache: ScoreCache) -> str | None:
    """Score a model's probes before anything else, and return its own verdict on them."""
    probes = model.probes()
    if not probes:
        return None
    found = scored(model, resolved_policy, probes, cache, _PROBES)
    return model.verify([found.records[probe] for probe in probes])


def _scored_fast(
    plans: Sequence[Plan], label: str, cache: ScoreCache, report: Progress
) -> list[ScoredRequests]:
    """Score plans of one model in a faster precision, and near ties again in full."""
    contests = [
        Contest(p.policy.norm, {i.id: (p.requests(i), p.unconditional(i)) for i in p.judged})
        for p in plans
    ]
    model, policy = plans[0].model, plans[0].resolved_policy
    results, bounds = scored_fast(model, policy, contests, cache, label, report)
    for planned, found in zip(plans, bounds, strict=True):
        planned.rounding = found
    return results


def _decided(
    planned: Plan,
    results: ScoredRequests,
    cache: ScoreCache,
    *,
    translate: bool,
    remark: str | None,
    report: Progress,
) -> Run:
    """Turn the scored requests of a plan into a run."""
    started = time.time()
    _leave_out(planned, _unanswered(planned, results))
    texts = _answer_texts(planned, cache, report) if planned.recipe.asks else {}
    recipe = planned.recipe
    made = _translations(planned, cache, report) if translate or recipe.generates else []
    answers = _answers(planned, texts)
    readings = _readings(planned, made, cache, report)
    unscored = recipe.asks or recipe.generates
    candidates = _shown(planned) if unscored else _candidates(planned, results)
    gone = {i for ids in planned.left_out.values() for i in ids}
    judged = planned.suite.take([i for i in planned.suite if i.id not in gone])
    info = RunInfo(
        suite=SuiteInfo.of(judged),
        model=ModelInfo.of(
            planned.model,
            "; ".join(dict.fromkeys(filter(None, (remark, *_remarks(planned))))),
            asked=bool(recipe.asks),
            fast=planned.fast,
        ),
        recipe=RecipeInfo.of(recipe),
        judge=planned.judge.info(readings) if planned.judge else None,
        policy=planned.policy,
        resolved_policy=planned.resolved_policy.as_dict(),
        beam=0 if planned.model.access else BEAM,
        left_out={reason: list(ids) for reason, ids in planned.left_out.items()},
        parts_left_out={
            reason: list(planned.whole_parts(ids)) for reason, ids in planned.left_out.items()
        },
        unread_sources=sum(
            isinstance(c, Choice)
            and c.source is not None
            and not recipe.sees_source(c, encoder=planned.model.encoder)
            for c in planned.judged
        ),
        unread_contexts=sum(
            isinstance(c, Choice)
            and c.context is not None
            and not recipe.sees_context(
                c, encoder=planned.model.encoder, before=planned.model.reads_context
            )
            for c in planned.judged
        ),
        findings=tuple(lint(judged)),
        engine=_engine(planned, results),
        rounding=planned.rounding or None,
        seconds=round(results.seconds + time.time() - started, 3),
    )
    return Run.decided(info, planned.model, planned.judged, candidates, made, answers, readings)


def _remarks(planned: Plan) -> list[str]:
    """Return what readers should know about the model."""
    lack = None if planned.judges else planned.model.cannot_score()
    slow = planned.policy.precision == "fast" and not planned.fast
    return [
        *([f"translations only: {lack}"] if lack else []),
        *(["precision 'fast' is not available here, so it was not used"] if slow else []),
        *planned.model.remarks,
    ]


def _engine(planned: Plan, results: ScoredRequests) -> dict[str, object]:
    """Return what was computed and how; of a server, what was sent in the end."""
    how = {"how": planned.model.engine} if planned.model.access else {}
    return {**results.engine, **how}


def _candidates(planned: Plan, results: ScoredRequests) -> dict[str, list[Scored]]:
    """Return the scored candidates of every item."""
    found = {}
    for item in planned.judged:
        free, requests = planned.unconditional(item), planned.requests(item)
        records, dtype = results.of(item.id)
        found[item.id] = [
            Scored(
                text=request.text,
                record=records[request],
                unconditional=records[free[i]] if free else None,
                prefix=request.prefix,
                source=request.source,
                dtype=dtype,
            )
            for i, request in enumerate(requests)
        ]
    return found


def _shown(planned: Plan) -> dict[str, list[Scored]]:
    """Return the candidates of items that were asked, not scored."""
    nothing = Record(np.zeros(0, np.int32), np.zeros(0, np.float32))
    return {
        item.id: [
            Scored(text, nothing, prefix=choice.context or "", source=choice.source)
            for text in choice.candidates
        ]
        for item in planned.judged
        for choice in [as_choice(item)]
    }


def _answer_texts(planned: Plan, cache: ScoreCache, report: Progress) -> dict[str, str]:
    """Ask all questions, and leave out the items that have one without an answer."""
    model, ask = planned.model, _asking(planned)
    found = looked_up(ask, cache, report).values
    if ask.task == "letters":
        found = {q.prompt: likeliest_letter(q, record) for q, record in found.items()}
    texts: dict[str, str] = found
    lost: dict[str, list[str]] = {}
    for item in planned.judged:
        few = planned.questions(item)
        gone = next((q.prompt for q in few if q.prompt not in texts), None)
        if gone is not None:
            lost.setdefault(model.unanswered.get(gone, "no answer"), []).append(item.id)
    _leave_out(planned, lost)
    return texts


def _answers(planned: Plan, texts: Mapping[str, str]) -> list[Answer]:
    """Read the answers, given by prompt; there are none if candidates were scored."""
    found: list[Answer] = []
    for item in planned.judged if texts else ():
        asked = planned.questions(item)
        found += answered(item, asked, [texts[q.prompt] for q in asked])
    return found


def _readings(
    planned: Plan, made: Sequence[Translation], cache: ScoreCache, report: Progress
) -> list[Reading]:
    """Have translations judged, and leave out the items of those that stay undecided."""
    if planned.judge is None:
        return []
    translations = {one.id: one for one in made}
    tidied = planned.recipe.tidied
    items = [
        replace(item, candidates=tuple(map(tidied, item.candidates)))
        for item in planned.judged
        if isinstance(item, Choice)
    ]
    label = f"{planned.suite.name} ← {planned.judge.model.short}"
    found = planned.judge.read(items, translations, cache, label, report)
    lost: dict[str, list[str]] = {}
    for reading in found:
        if reading.chosen is None:
            lost.setdefault(reading.undecided, []).append(reading.id)
    if len(found) == sum(map(len, lost.values())):
        raise ModelError(
            f"no translation of '{planned.model.name}' is decided on suite "
            f"'{planned.suite.name}': {next(iter(lost), 'there is none')}"
        )
    _drop(planned, lost)
    return found


def _unanswered(planned: Plan, results: ScoredRequests) -> dict[str, list[str]]:
    """Return the items with a request that failed for good, by reason."""
    found: dict[str, list[str]] = {}
    reasons: dict[str, str] = {}  # messages about one problem differ in their numbers
    for item in planned.judged if results.unanswered else ():
        asked = (*planned.requests(item), *planned.unconditional(item))
        reason = next((results.unanswered[r] for r in asked if r in results.unanswered), None)
        if reason is not None:
            found.setdefault(reasons.setdefault(reason.partition(":")[0], reason), []).append(
                item.id
            )
    return found


def _leave_out(planned: Plan, unanswered: Mapping[str, Sequence[str]]) -> None:
    """Leave out items without an answer, given by reason: they are neither right nor wrong.

    Raises:
        ModelError: If there is no other item.
    """
    gone = {item for items in unanswered.values() for item in items}
    if gone and gone >= {item.id for item in (*planned.judged, *planned.sources)}:
        raise ModelError(
            f"model '{planned.model.name}' answered no item of suite '{planned.suite.name}': "
            f"{next(iter(unanswered))}"
        )
    _drop(planned, {f"{UNANSWERED}{reason}": ids for reason, ids in unanswered.items()})
    planned.sources = [item for item in planned.sources if item.id not in gone]


def _drop(planned: Plan, lost: Mapping[str, Sequence[str]]) -> None:
    """Leave out items, given by reason, from those to decide."""
    for reason, ids in lost.items():
        planned.left_out.setdefault(reason, []).extend(ids)
    gone = {item for ids in lost.values() for item in ids}
    planned.judged = [item for item in planned.judged if item.id not in gone]


def _translations(planned: Plan, cache: ScoreCache, report: Progress) -> list[Translation]:
    """Translate the sources of a plan; items without a translation are left out."""
    model, suite = planned.model, planned.suite
    out: list[Translation] = []
    lost: dict[str, list[str]] = {}
    for ask in _translating(planned):
        made: dict[Source, str] = looked_up(ask, cache, report).values
        for i in planned.sources:
            if suite.languages_of(i)[::-1] != ask.languages:
                continue
            source = _source(planned, i)
            if source not in made:
                reason = model.unanswered.get(source[0], "no translation")
                lost.setdefault(reason, []).append(i.id)
                continue
            out.append(
                Translation(
                    id=i.id,
                    tags=i.tags,
                    source=source[0],
                    reference=planned.recipe.tidied(_reference(i)),
                    translation=made[source],
                    language=ask.languages[1],
                    context=getattr(i, "context", None),
                    reference_context=getattr(i, "reference_context", None),
                )
            )
    _leave_out(planned, lost)
    return out


def _source(planned: Plan, item: Item) -> Source:
    """Return what is translated of an item, as presented to the model."""
    assert not isinstance(item, Entail)
    before = planned.context_of(item) if planned.model.reads_context else ""
    return planned.recipe.tidied(item.source or ""), before


def _reference(item: Item) -> str:
    if isinstance(item, Translate):
        return item.reference
    assert isinstance(item, Choice)
    return item.candidates[item.gold]


class _Evaluate(ModuleType):
    """This module, made callable: importing it shadows the function ``boxpen.evaluate``."""

    def __call__(self, *inputs: Any, **named: Any) -> Run:
        return evaluate(*inputs, **named)


sys.modules[__name__].__class__ = _Evaluate
