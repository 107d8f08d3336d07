"""Runs as logs of inspect_ai: one ``.eval`` file per run, for ``inspect view`` and its data frames.

The numbers are boxpen's. A sample is an item: its candidates are the choices, the winner is the
output, and the score is the credit that it earned.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boxpen.errors import RunError
from boxpen.metrics.choice import clusters
from boxpen.metrics.intervals import standard_error
from boxpen.scoring.ask import Answer
from boxpen.version import __version__

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample, EvalScore
    from inspect_ai.scorer import Score

    from boxpen.runs.run import Run, Translation
    from boxpen.scoring.verdicts import Verdict

__all__ = ["item_metadata", "letter", "write_runs"]

SCORER = "credit"
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def write_runs(runs: Sequence[Run], folder: Path) -> None:
    """Write one log per run into a folder.

    Raises:
        RunError: If inspect_ai is not installed.
    """
    try:
        from inspect_ai.log import write_eval_log
    except ImportError:
        raise RunError(
            "logs for inspect_ai need the package; install it with: pip install 'boxpen[inspect]'"
        ) from None
    seen: Counter[str] = Counter()
    for run in runs:
        seen[run.name] += 1
        again = f"-{seen[run.name]}" if seen[run.name] > 1 else ""
        write_eval_log(_log(run, again), str(folder / f"{run.name}{again}.eval"))


def letter(place: int) -> str:
    """Return how inspect_ai names the choice in a place: A to Z, then numbers from 1."""
    return _LETTERS[place] if place < len(_LETTERS) else str(place - len(_LETTERS) + 1)


def item_metadata(
    item: str, block: str | None, tags: Mapping[str, str], **more: Any
) -> dict[str, Any]:
    """Return block, cluster and tags of an item; ``cluster`` is never empty, as stderr needs it."""
    cluster = f"item {item}" if block is None else f"block {block}"
    own = {"block": block, "cluster": cluster, **more}
    return own | {f"tag:{tag}" if tag in own else tag: value for tag, value in tags.items()}


def _log(run: Run, again: str) -> EvalLog:
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalResults, EvalSpec, EvalStats
    from inspect_ai.viewer import ViewerConfig

    samples = _samples(run)
    info, now = run.info, datetime.now(UTC)
    start, end = ((now - ago).isoformat() for ago in (timedelta(seconds=info.seconds), timedelta()))
    key = hashlib.sha256(f"{run.signature}{again}".encode()).hexdigest()[:22]
    return EvalLog(
        status="success",
        eval=EvalSpec(
            created=end,
            eval_id=key,
            run_id=key,
            task_id=key,
            task=info.suite.name,
            task_version=info.suite.version,
            task_args=_settings(run),  # a column of the viewer
            task_display_name=info.suite.title or None,
            dataset=EvalDataset(
                name=info.suite.name,
                location=info.suite.url or None,
                samples=len(samples),
                sample_ids=[str(sample.id) for sample in samples],
            ),
            model=info.model.name,
            config=EvalConfig(epochs=1),
            packages={"boxpen": info.boxpen},
            metadata={
                "signature": run.signature,
                "suite": f"{info.suite.name}@{info.suite.hash}",
                "recipe": info.recipe.name,
                "kind": info.model.kind,
                "left_out": {reason: len(ids) for reason, ids in info.left_out.items()},
                "written_by": f"boxpen {__version__}",
            },
            # Sentences are shown as they are, not as Markdown.
            viewer=ViewerConfig(trust_content=False),
        ),
        results=EvalResults(
            total_samples=len(samples), completed_samples=len(samples), scores=_scores(run)
        ),
        stats=EvalStats(started_at=start, completed_at=end),
        samples=samples,
    )


def _settings(run: Run) -> dict[str, str]:
    """Return what tells runs of one model on one suite apart."""
    fields = dict(part.partition(":")[::2] for part in run.signature.split("|"))
    shown = ("sample", "recipe", "norm", "nli", "pll", "ties", "context", "judge")
    return {
        name: fields[name].partition("@")[0] if name == "recipe" else fields[name]
        for name in shown
        if name in fields
    }


def _scores(run: Run) -> list[EvalScore]:
    """Return the numbers over all items, as ``Run.summary`` has them, and the standard error."""
    from inspect_ai.log import EvalMetric, EvalScore

    found = {
        row.metric: EvalMetric(
            name=row.metric,
            value=row.value,
            metadata={"low": row.low, "high": row.high, "n": row.n, "signature": row.signature},
        )
        for row in run.summary()
        if row.slice == "all" and math.isfinite(row.value)
    }
    if run.verdicts:
        earned = [v.credit for v in run.verdicts]
        error = standard_error(earned, clusters(run.verdicts))
        if math.isfinite(error):
            metric = EvalMetric(name="stderr", value=error, params={"cluster": "cluster"})
            accuracy = found.pop("accuracy")
            found = {"accuracy": accuracy, "stderr": metric} | found
    bleu = {name: metric for name, metric in found.items() if name == "bleu"}
    credit = {name: metric for name, metric in found.items() if name != "bleu"}
    counts = ((SCORER, credit, len(run.verdicts)), ("bleu", bleu, len(run.translations)))
    return [
        EvalScore(name=name, scorer=name, scored_samples=n, unscored_samples=0, metrics=metrics)
        for name, metrics, n in counts
        if metrics
    ]


def _samples(run: Run) -> list[EvalSample]:
    translations = {one.id: one for one in run.translations}
    asked: dict[str, list[Answer]] = {}
    for answer in run.answers:
        asked.setdefault(answer.item, []).append(answer)
    read = {reading.id: reading.candidates for reading in run.readings}
    judged = [
        _judged(run, v, read.get(v.id, ()), asked.get(v.id, ()), translations.pop(v.id, None))
        for v in run.verdicts
    ]
    return judged + [_translated(run, one) for one in translations.values()]


def _judged(
    run: Run,
    verdict: Verdict,
    read: Sequence[str],
    asked: Sequence[Answer],
    translation: Translation | None,
) -> EvalSample:
    from inspect_ai.log import EvalSample
    from inspect_ai.model import ModelOutput

    before, choices = _shown(run, verdict, read)
    right = {verdict.gold, *(choices.index(one) for one in verdict.also if one in choices)}
    more = {}
    if translation is not None:
        before = before or translation.source
        more = {"reference": translation.reference, "translation": translation.translation}
    said = choices[verdict.winner]
    if run.info.generated and translation is not None:
        said = translation.translation
    turns = [(answer.prompt, answer.text) for answer in asked]
    shown = before or " / ".join(choices)
    return EvalSample(
        id=verdict.id,
        epoch=1,
        input=shown,
        choices=list(choices),
        target=[letter(place) for place in sorted(right)],
        messages=_messages(turns or [(shown, said)]),
        output=ModelOutput.from_content(run.info.model.name, said),
        scores={SCORER: _score(verdict, asked)},
        metadata=item_metadata(verdict.id, verdict.block, verdict.tags, **more),
    )


def _translated(run: Run, one: Translation) -> EvalSample:
    """Return a sentence that was translated, and neither scored nor judged."""
    from inspect_ai.log import EvalSample
    from inspect_ai.model import ModelOutput

    source = "\n".join(filter(None, (one.context, one.source)))
    return EvalSample(
        id=one.id,
        epoch=1,
        input=source,
        target=one.reference,
        messages=_messages([(source, one.translation)]),
        output=ModelOutput.from_content(run.info.model.name, one.translation),
        metadata=item_metadata(one.id, None, one.tags),
    )


def _shown(run: Run, verdict: Verdict, read: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return what comes before the candidates of an item, and the candidates or labels."""
    scored = run.candidates.get(verdict.id, ())
    if run.labels and scored:
        pair = f"Premise: {scored[0].prefix}\nHypothesis: {scored[0].text}"
        return pair, run.labels
    apart = len({one.prefix for one in scored}) > 1  # a recipe that scores the common ending
    whole = (one.prefix + one.text if apart else one.text for one in scored)
    texts = tuple(text.strip() for text in whole) or tuple(read)
    if len(texts) != len(verdict.scores):  # human answers are saved without texts
        texts = tuple(f"candidate {place}" for place in range(len(verdict.scores)))
    first = scored[0] if scored else None
    before = (first.source or "", "" if apart else first.prefix.strip()) if first else ()
    return "\n".join(filter(None, before)), texts


def _score(verdict: Verdict, asked: Sequence[Answer]) -> Score:
    from inspect_ai.scorer import Score

    parts = [f"margin {verdict.margin:.4f}"]
    if verdict.tied > 1:
        parts.append(f"tie of {verdict.tied} candidates")
    if verdict.truncated:
        parts.append("a candidate is longer than the model reads")
    if asked:
        parts.append(f"asked in {len(asked)} orders")
    return Score(
        value=verdict.credit,
        answer=letter(verdict.winner),
        explanation="; ".join(parts),
        metadata={
            "margin": verdict.margin,
            "tied": verdict.tied,
            "scores": list(verdict.scores),
            "truncated": verdict.truncated,
            "crossing": verdict.crossing,
            **({"outcomes": [str(answer.outcome) for answer in asked]} if asked else {}),
        },
    )


def _messages(turns: Sequence[tuple[str, str]]) -> list[Any]:
    from inspect_ai.model import ChatMessageAssistant, ChatMessageUser

    return [
        message
        for question, answer in turns
        for message in (ChatMessageUser(content=question), ChatMessageAssistant(content=answer))
    ]
