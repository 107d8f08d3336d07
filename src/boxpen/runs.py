"""Runs: the outcome of one suite put to one model."""

from __future__ import annotations

import hashlib
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boxpen.errors import RunError
from boxpen.items import Choice, Suite
from boxpen.metrics.summary import Row, Translation, summarise
from boxpen.rundir import FORMAT, read_run, write_run
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.recipe import Recipe
from boxpen.scoring.signature import signature
from boxpen.scoring.verdicts import Scored, Verdict, decide
from boxpen.version import __version__

if TYPE_CHECKING:
    from boxpen.analysis.lint import Finding
    from boxpen.models.base import Model, Settled

__all__ = ["Row", "Run", "Translation"]


@dataclass(frozen=True)
class Run:
    """A suite put to a model.

    Attributes:
        about: What ``run.json`` holds: suite, model, recipe, policy, signature, what was left out
            and why, lint findings, versions, time.
        verdicts: One per judged item.
        candidates: The scored candidates of every item, by its id.
        translations: What a translation model made of the sources.
        tokens: What the tokens of the candidates look like in a text, if the model can tell.
    """

    about: dict[str, Any]
    verdicts: tuple[Verdict, ...]
    candidates: Mapping[str, Sequence[Scored]]
    translations: tuple[Translation, ...] = ()
    tokens: Mapping[int, str] = field(default_factory=dict)

    @classmethod
    def decided(
        cls,
        *,
        suite: Suite,
        model: Model,
        recipe: Recipe,
        policy: ScoringPolicy,
        settled: Settled,
        choices: Sequence[Choice],
        candidates: Mapping[str, Sequence[Scored]],
        translations: Sequence[Translation],
        beam: int,
        left_out: Mapping[str, Sequence[str]],
        parts_left_out: Mapping[str, Sequence[str]],
        unread_contexts: int,
        findings: Sequence[Finding],
        engine: Mapping[str, object],
        seconds: float,
    ) -> Run:
        """Make a run of scored candidates."""
        about: dict[str, Any] = {
            "format": FORMAT,
            "boxpen": __version__,
            "suite": {
                "name": suite.name,
                "hash": suite.hash,
                "items": len(suite),
                **asdict(suite.card),
            },
            "model": {
                "name": model.name,
                "short": model.short,
                "kind": model.kind,
                "fingerprint": model.fingerprint,
                "dtype": model.dtype,
                "languages": sorted(model.languages) if model.languages else None,
            },
            "recipe": {**asdict(recipe), "digest": recipe.digest},
            "policy": asdict(policy),
            "settled": settled.as_dict(),
            "beam": beam,
            "left_out": {reason: list(ids) for reason, ids in left_out.items()},
            "parts_left_out": {reason: list(names) for reason, names in parts_left_out.items()},
            "unread_contexts": unread_contexts,
            "findings": [asdict(f) for f in findings],
            "engine": dict(engine),
            "seconds": round(seconds, 3),
            "python": platform.python_version(),
        }
        about["signature"] = _signature(about)
        verdicts = tuple(decide(c, candidates[c.id], policy) for c in choices)
        used = {int(t) for c in candidates.values() for s in c for t in s.record.token_ids}
        ids = sorted(used)
        tokens = dict(zip(ids, model.token_texts(ids), strict=False))
        return cls(about, verdicts, candidates, tuple(translations), tokens)

    @property
    def signature(self) -> str:
        """How the numbers of this run were made."""
        return str(self.about["signature"])

    @property
    def human(self) -> bool:
        """Whether people answered, not a model."""
        return bool(self.about["model"]["kind"] == "human")

    @property
    def name(self) -> str:
        """A directory name that is the same for the same signature."""
        parts = (
            self.about["suite"]["name"],
            self.about["model"]["short"],
            self.about["recipe"]["name"],
            hashlib.sha256(self.signature.encode()).hexdigest()[:8],
        )
        return re.sub(r"[^\w.-]+", "_", "-".join(part[-60:] for part in parts)).strip("_")

    def summary(self) -> list[Row]:
        """Return accuracy, consistency, both-right and BLEU, over all and by every tag."""
        return list(self._rows)

    @cached_property
    def _rows(self) -> tuple[Row, ...]:
        return tuple(
            summarise(
                self.verdicts,
                self.translations,
                suite=self.about["suite"]["name"],
                model=self.about["model"]["name"],
                signature=self.signature,
                beam=self.about["beam"],
            )
        )

    def rescore(self, **policy: Any) -> Run:
        """Return this run decided under another norm or tie rule; no model is needed.

        Raises:
            RunError: If a field is asked for that changes the log-probabilities themselves.
        """
        if self.human:
            raise RunError("a run of human answers has no scores to decide anew")
        fixed = sorted(k for k, v in policy.items() if v is not None and k not in ("norm", "ties"))
        if fixed:
            raise RunError(
                f"'{fixed[0]}' changes the log-probabilities, so it needs the model; "
                "only norm and ties can be changed without it"
            )
        changed = ScoringPolicy(**self.about["policy"]).but(**policy)
        about = {**self.about, "policy": asdict(changed)}
        about["signature"] = _signature(about)
        verdicts = tuple(decide(_as_item(v), self.candidates[v.id], changed) for v in self.verdicts)
        return replace(self, about=about, verdicts=verdicts)

    def save(self, parent: Path | str = "runs") -> Path:
        """Write the run directory under ``parent`` and return it.

        Raises:
            RunError: If it cannot be written; then nothing is left behind.
        """
        return write_run(self, Path(parent))

    @classmethod
    def load(cls, path: Path | str) -> Run:
        """Read a run directory.

        Raises:
            RunError: If it is not one, or a file of it is damaged.
        """
        return cls(*read_run(Path(path)))


def _signature(about: Mapping[str, Any]) -> str:
    suite, model, recipe = about["suite"], about["model"], about["recipe"]
    settled = about["settled"]
    return signature(
        suite=suite["name"],
        suite_hash=suite["hash"],
        model=model["short"],
        fingerprint=model["fingerprint"],
        kind=model["kind"],
        recipe=f"{recipe['name']}@{recipe['digest']}",
        bos=settled.get("bos"),
        eos=settled.get("eos"),
        norm=about["policy"]["norm"],
        pll=settled.get("pll"),
        ties=about["policy"]["ties"],
        dtype=model["dtype"],
        max=settled.get("max_length"),
    )


def _as_item(verdict: Verdict) -> Choice:
    """Return as much of an item as a decision needs."""
    return Choice(
        id=verdict.id,
        candidates=("",) * len(verdict.scores),
        gold=verdict.gold,
        block=verdict.block,
        tags=verdict.tags,
    )
