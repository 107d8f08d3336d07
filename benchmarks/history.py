"""Every ratio of a benchmark with its peer and date, kept by commit in ``history.jsonl``.

A ratio is how many times faster boxpen is than a peer on the same texts, in one run. Tools take
turns within a round, so each round gives a ratio of its own; the middle one is kept, with the
smallest and the largest. Other work on a machine disturbs a round, but seldom every round alike: a
slow-down counts only if the best round, too, is over a tenth below the best entry; so small losses
add up. Compared are entries of the same task, peer, model, number of texts, machine and PyTorch.
A ratio that is too low is not kept, unless it is accepted; later ones are then compared with it.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

__all__ = ["Ratio", "append", "best", "labelled", "ratio_table", "ratios_of", "read", "slower"]

SLOWER = 0.1
"""Loss of a ratio, as a share of the best one, that fails a benchmark."""


@dataclass(frozen=True)
class Ratio:
    """How many times faster boxpen is than a peer.

    Attributes:
        task: What was timed.
        peer: The other tool.
        ratio: The middle one of the rounds.
        low: The smallest of the rounds.
        high: The largest of the rounds.
        rounds: How many rounds there were.
        date: When it was measured, in UTC.
        commit: Of boxpen; with a plus if files were changed since.
        machine: What it was measured on.
        model: What scored the texts.
        texts: How many texts both tools scored.
        torch: Version of PyTorch.
        accepted: Whether it was kept although it was too low.
    """

    task: str
    peer: str
    ratio: float
    low: float
    high: float
    rounds: int
    date: str
    commit: str
    machine: str
    model: str
    texts: int
    torch: str
    accepted: bool = False

    @property
    def key(self) -> tuple[str, str, str, str, int, str]:
        """What it can be compared by."""
        return self.task, self.peer, self.machine, self.model, self.texts, self.torch


def labelled() -> dict[str, str]:
    """Return when, and of which commit, a measurement is that is made now."""
    from datetime import UTC, datetime

    def git(*words: str) -> str:
        where = Path(__file__).parent
        done = subprocess.run(["git", *words], cwd=where, capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else ""

    changed = "+" if git("status", "--porcelain", "--untracked-files=no") else ""
    commit = git("rev-parse", "--short=12", "HEAD") or "unknown"
    return {"date": f"{datetime.now(UTC):%Y-%m-%dT%H:%MZ}", "commit": commit + changed}


def ratios_of(found: dict[str, Any]) -> Iterator[Ratio]:
    """Yield the ratios of what the benchmarks have written, by task and peer."""
    for name, task in found.items():
        if not isinstance(task, dict) or "rows" not in task or "date" not in task:
            continue
        same = {r["tool"]: r for r in task["rows"] if "tool" in r and r.get("part") != "all"}
        ours = same.pop("boxpen", None)
        for row in same.values() if ours else ():
            # Tools that were timed in one round stand in one place.
            rounds = [b / a for a, b in zip(ours["rounds"], row["rounds"], strict=False)]
            yield Ratio(
                name, row["tool"], round(median(rounds), 3), round(min(rounds), 3),
                round(max(rounds), 3), len(rounds), task["date"], task["commit"],
                _machine(task["machine"]), task["model"], row["texts"], task["machine"]["torch"],
            )  # fmt: skip


def _machine(found: dict[str, Any]) -> str:
    if "gpu" in found:
        return str(found["gpu"])
    clock = ", CPU seconds" if found.get("clock") == "cpu" else ""
    return f"{found['cpu']}, {found['cores']} cores, {found['threads']} threads{clock}"


def read(path: Path) -> list[Ratio]:
    """Return the entries of a history, the oldest first."""
    if not path.is_file():
        return []
    return [Ratio(**json.loads(line)) for line in path.read_text("utf-8").splitlines() if line]


def append(path: Path, new: Iterable[Ratio]) -> None:
    """Add entries to a history."""
    with path.open("a", encoding="utf-8") as stream:
        for ratio in new:
            stream.write(json.dumps(asdict(ratio), ensure_ascii=False) + "\n")


def best(history: Sequence[Ratio], ratio: Ratio) -> Ratio | None:
    """Return the entry that a ratio is compared with: the best one since one was accepted."""
    before = [one for one in history if one.key == ratio.key and one.date < ratio.date]
    reset = max((one.date for one in before if one.accepted), default="")
    since = (one for one in before if one.date >= reset)
    return max(since, key=lambda one: one.ratio, default=None)


def slower(history: Sequence[Ratio], ratio: Ratio) -> bool:
    """Whether even the best round is slower than the best entry by more than is allowed."""
    before = best(history, ratio)
    return before is not None and ratio.high < (1 - SLOWER) * before.ratio


def ratio_table(ratios: Sequence[Ratio], history: Sequence[Ratio]) -> str:
    """Return every ratio with its peer, its date, and the best entry."""
    lines = [
        "| task | peer | texts | boxpen is faster by | rounds | measured | commit | best before |",
        "|---|---|--:|--:|--:|---|---|--:|",
    ]
    for one in ratios:
        before = best(history, one)
        spread = f" ({one.low:.2f}-{one.high:.2f})" if one.rounds > 1 else ""
        past = "–" if before is None else f"{before.ratio:.2f}×"
        mark = " **slower**" if slower(history, one) else ""
        lines.append(
            f"| {one.task} | {one.peer} | {one.texts:,} | {one.ratio:.2f}×{spread} | {one.rounds} "
            f"| {one.date} | {one.commit} | {past}{mark} |"
        )
    return "\n".join(lines)
