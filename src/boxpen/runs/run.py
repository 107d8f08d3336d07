"""Runs: the results of one model on one suite."""

from __future__ import annotations

import hashlib
import math
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from boxpen.catalog.data_frames import with_tag_columns
from boxpen.errors import RunError
from boxpen.items import Choice, Entail
from boxpen.metrics.summary import Row, Translation, summarise
from boxpen.notebook import Listed, as_pandas, facts_table
from boxpen.runs.directory import read_run, write_run
from boxpen.runs.info import RunInfo
from boxpen.runs.logs import read_log
from boxpen.runs.tables import RunContent, run_frame
from boxpen.scoring.ask import Answer, as_choice, decide_asked
from boxpen.scoring.labels import names_of
from boxpen.scoring.reading import Reading, decide_reading
from boxpen.scoring.verdicts import Scored, Verdict, decide

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from boxpen.models.base import Model

__all__ = ["Row", "Run", "Translation"]


TableName = Literal["verdicts", "records", "translations", "tokens", "answers", "readings"]


class Run(RunContent):
    """The results of one model on one suite."""

    @classmethod
    def decided(
        cls,
        info: RunInfo,
        model: Model,
        items: Sequence[Choice | Entail],
        candidates: Mapping[str, Sequence[Scored]],
        translations: Sequence[Translation],
        answers: Sequence[Answer] = (),
        readings: Sequence[Reading] = (),
    ) -> Run:
        """Make a run from scored candidates, or from answers or readings of translations."""
        if info.asked:
            of: dict[str, list[Answer]] = {}
            for answer in answers:
                of.setdefault(answer.item, []).append(answer)
            verdicts = tuple(decide_asked(i, of[i.id]) for i in items)
        elif info.generated:
            read = {reading.id: reading for reading in readings}
            verdicts = tuple(decide_reading(as_choice(i), read[i.id]) for i in items)
        else:
            verdicts = tuple(decide(i, candidates[i.id], info.policy) for i in items)
        ids = sorted({int(t) for c in candidates.values() for s in c for t in s.record.token_ids})
        tokens = dict(zip(ids, model.token_texts(ids), strict=False))
        made = (tuple(translations), tokens, tuple(answers), tuple(readings))
        return cls(info.signed(), verdicts, candidates, *made)

    @property
    def signature(self) -> str:
        """The signature: how the numbers of this run were obtained."""
        return self.info.signature

    @property
    def sample_note(self) -> str:
        """``sample of 100 of 1,200, seed 0``; empty for a whole suite."""
        sample = self.info.suite.sample
        if sample is None:
            return ""
        whole = f" of {sample.whole:,}" if sample.whole is not None else " items"
        seed = f", seed {sample.seed}" if sample.seed is not None else ""
        return f"sample of {sample.drawn:,}{whole}{seed}"

    @property
    def suite_title(self) -> str:
        """The suite as tables name it, with the size of its sample if it is one."""
        name = self.info.suite.name
        return f"{name} ({self.sample_note})" if self.sample_note else name

    @property
    def suite_argument(self) -> str:
        """What a command takes for the suite: its file, or its name; ``FILE`` if neither tells."""
        from boxpen.catalog import is_suite

        suite = self.info.suite
        if suite.file:
            return shlex.quote(suite.file)
        return suite.name if is_suite(suite.name) else "FILE"

    @property
    def human(self) -> bool:
        """Whether people answered, not a model."""
        return self.info.model.kind == "human"

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that competed, in the order of scores; none but of an inference classifier."""
        return names_of(self.info.competing())

    @property
    def setting(self) -> str:
        """``3-way``, ``2-way`` or ``binary``; empty but for an inference classifier."""
        return self.info.setting or ""

    @property
    def name(self) -> str:
        """A directory name that is the same for the same signature."""
        parts = (
            self.info.suite.name,
            self.info.model.short,
            self.info.recipe.name,
            hashlib.sha256(self.signature.encode()).hexdigest()[:8],
        )
        return re.sub(r"[^\w.-]+", "_", "-".join(part[-60:] for part in parts)).strip("_")

    def summary(self) -> Listed[Row]:
        """Return accuracy, consistency, both-right and BLEU, over all and by every tag."""
        return Listed(self._rows)

    @cached_property
    def _rows(self) -> tuple[Row, ...]:
        return tuple(
            summarise(
                self.verdicts,
                self.translations,
                suite=self.info.suite.name,
                model=self.info.model.name,
                signature=self.signature,
                beam=self.info.beam,
                asked=self.info.asked,
                labels=self.info.suite.labels or {},
            )
        )

    def __repr__(self) -> str:
        # Of a suite that is translated only, there is no accuracy.
        first = next((row for row in self.summary() if row.metric in ("accuracy", "bleu")), None)
        number = f", {first.metric} {first}" if first else ""
        return (
            f"{self.suite_title} × {self.info.model.name}\n"
            f"{len(self.verdicts) or len(self.translations)} items{number}\n{self.signature}"
        )

    def _repr_html_(self) -> str:
        """Return a small table, for notebooks."""
        rows = [row for row in self.summary() if row.slice == "all"]
        cells = [("suite", self.suite_title), ("model", self.info.model.name)]
        cells += [(row.metric.replace("_", " "), f"{row} (n = {row.n})") for row in rows]
        cells.append(("signature", self.signature))
        return facts_table(cells)

    def to_polars(self, table: TableName = "verdicts") -> pl.DataFrame:
        """Return a table of the run as a Polars data frame.

        Each tag is a column ``tag:NAME``, null for items without it.

        Args:
            table: ``verdicts``: one row per item, with the fields of ``Verdict``. ``records``: one
                row per scored candidate (item, candidate, role, prefix, text, source, token_ids,
                logprobs, unscored, unknown, truncated, crossing); ``role`` is ``candidate``, or
                ``unconditional`` for the score without its context. ``translations``: one row per
                source sentence, with the fields of ``Translation``. ``tokens``: one row per scored
                token (item, candidate, role, position, token_id, token, logprob); ``token`` is its
                text, the label of an inference classifier, or null if unknown. ``answers``: one row
                per question of a model that was asked, with the fields of ``Answer``.
                ``readings``: one row per translation that the reading judge judged, with the
                fields of ``Reading``.

        Raises:
            RunError: If there is no such table.
        """
        frame = run_frame(self, table)
        if table == "verdicts":
            return with_tag_columns(frame, [v.tags for v in self.verdicts])
        if table == "translations":
            return with_tag_columns(frame, [t.tags for t in self.translations])
        return frame

    def to_pandas(self, table: TableName = "verdicts") -> pd.DataFrame:
        """Return a table of the run as a pandas data frame; see ``to_polars``.

        Raises:
            RunError: If there is no such table, or pandas is not installed.
        """
        return as_pandas(self.to_polars(table), RunError)

    def text_of(self, scored: Scored) -> str:
        """Return a candidate after its context, as people read it."""
        # A language model reads one text, with the space in it; others read two.
        joint = " / " if self.info.model.kind in ("nli", "choice") else ""
        return joint.join(filter(None, (scored.prefix, scored.text))).strip()

    def rescore(self, **policy: Any) -> Run:
        """Re-evaluate this run with another norm, tie rule or setting, without a model.

        Raises:
            RunError: If a field is asked for that changes the log-probabilities themselves, or
                that does not fit them.
        """
        if self.human:
            raise RunError("a run of human answers has no scores to re-evaluate")
        if self.info.asked:
            raise RunError("a run of asked questions has no scores to re-evaluate")
        if self.info.generated:
            raise RunError("a run of judged translations has no scores to re-evaluate")
        free = ("norm", "ties", "nli")
        fixed = sorted(k for k, v in policy.items() if v is not None and k not in free)
        if fixed:
            raise RunError(
                f"'{fixed[0]}' changes the log-probabilities, so it needs the model; "
                "only norm, ties and nli can be changed without it"
            )
        self._refuse(policy)
        info = replace(self.info, policy=self.info.policy.but(**policy)).signed()
        verdicts = tuple(
            decide(self._as_item(v), self.candidates[v.id], info.policy) for v in self.verdicts
        )
        self._refuse_rounded(verdicts, info.policy.norm)
        return replace(self, info=info, verdicts=verdicts)

    def _refuse_rounded(self, verdicts: Sequence[Verdict], norm: str) -> None:
        """Raise if rounding may have decided a verdict of a run of two precisions."""
        if self.info.rounding is None:
            return
        bound = self.info.rounding.get(norm, math.inf)
        near = [
            v.id
            for v in verdicts
            if self.candidates[v.id][0].dtype == "bfloat16"
            and max(v.scores) - sorted(v.scores)[-2] <= bound
        ]
        if near:
            raise RunError(
                f"under norm '{norm}', {len(near)} item(s), such as '{near[0]}', are nearer to a "
                f"tie than precision 'fast' allows; run again with --precision fast --norm {norm}"
            )

    def _refuse(self, policy: Mapping[str, Any]) -> None:
        """Raise if a policy does not fit what was scored."""
        kind, norm = self.info.model.kind, policy.get("norm")
        if norm not in (None, "sum") and kind in ("nli", "choice"):
            raise RunError(
                f"norm '{norm}' is for likelihoods, but a run of the kind '{kind}' has none"
            )
        wanted = policy.get("nli")
        if wanted is None:
            return
        if not self.labels:
            raise RunError(f"'nli' is for inference classifiers, but this run is of a {kind} model")
        competing = names_of(self.info.competing(wanted))
        lost = [v.id for v in self.verdicts if {self.labels[v.gold], *v.also}.isdisjoint(competing)]
        if lost:
            raise RunError(
                f"{len(lost)} item(s), such as '{lost[0]}', expect a label that is not among "
                f"{' and '.join(competing)}; run again with --nli {wanted}, which leaves them out"
            )

    def _as_item(self, verdict: Verdict) -> Choice | Entail:
        """Return the part of an item that a decision needs."""
        if self.labels:
            return Entail(
                id=verdict.id,
                premise="",
                hypothesis="",
                label=self.labels[verdict.gold],
                also=verdict.also,
                block=verdict.block,
                tags=verdict.tags,
            )
        return Choice(
            id=verdict.id,
            candidates=("",) * len(verdict.scores),
            gold=verdict.gold,
            block=verdict.block,
            tags=verdict.tags,
        )

    def save(self, parent: Path | str = "runs") -> Path:
        """Write the run directory under ``parent`` and return it.

        Raises:
            RunError: If it cannot be written; then nothing is left behind.
        """
        target = Path(parent) / self.name
        write_run(self, target)
        return target

    @classmethod
    def load(cls, path: Path | str) -> Run:
        """Read a run directory, or a log of another tool (lm-evaluation-harness, Every Eval Ever).

        Raises:
            RunError: If it is neither, or a file of it is damaged.
        """
        path = Path(path)
        return cls(**vars(read_log(path) if path.is_file() else read_run(path)))
