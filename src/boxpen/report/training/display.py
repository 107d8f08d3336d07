"""Training progress on stderr: a live display in a terminal, plain lines in a file."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

from boxpen.printable import printable

if TYPE_CHECKING:
    from rich.console import RenderableType

    from boxpen.nmt.config import TrainConfig
    from boxpen.nmt.training import TrainState

__all__ = ["TrainingDisplay"]

_BAR = 20


class TrainingDisplay:
    """Shows a training while the block runs; notes printed meanwhile appear above it.

    Args:
        train: The limits of the training, used to estimate the time left.
    """

    def __init__(self, train: TrainConfig) -> None:
        from rich.console import Console
        from rich.live import Live

        self._train = train
        self._state: TrainState | None = None
        self._since = 0.0  # when the state was last shown
        self._left: float | None = None
        console = Console(stderr=True, highlight=False)
        # Standard output is left alone: it may be a file while stderr is a terminal.
        self._live = (
            Live(console=console, get_renderable=self._render, redirect_stdout=False)
            if console.is_terminal
            else None
        )

    def __enter__(self) -> TrainingDisplay:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None and self._live.is_started:
            self._since = time.monotonic()  # leave the last known times on the screen
            self._live.stop()

    def show(self, state: TrainState) -> None:
        """Show the state of the training; a terminal display follows its steps from then on."""
        self._state, self._since = state, time.monotonic()
        self._left = _left(state, self._train)
        if self._live is None:
            if not state.log:  # nothing to report before the first step
                return
            validated = state.validations and state.validations[-1].step == state.step
            line = _validation(state) if validated else f"{_numbers(state)}  {self._times()}"
            text = f"step {_steps(state, self._train)}  {line}"
            print(printable(text, keep="\n\t"), file=sys.stderr)
        elif (
            not self._live.is_started
        ):  # not before, so that no empty display is left if training never starts
            self._live.start(refresh=True)
        else:
            self._live.refresh()

    def _times(self, more: float = 0.0) -> str:
        """Return the elapsed time and the estimated time left."""
        assert self._state is not None
        passed = _clock(self._state.seconds + more)
        return passed if self._left is None else f"{passed}, {_clock(self._left - more)} left"

    def _render(self) -> RenderableType:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        state = self._state
        if state is None:
            return Text()
        done = _done(state, self._train)
        top = Table.grid(padding=(0, 2, 0, 0))
        cells: list[RenderableType] = [Text(f"step {_steps(state, self._train)}", no_wrap=True)]
        if done:
            cells += [ProgressBar(1.0, done, width=_BAR), Text(f"{done:.0%}", no_wrap=True)]
        top.add_row(*cells, Text(self._times(time.monotonic() - self._since), no_wrap=True))
        below = "  ".join(part for part in (_numbers(state), _validation(state)) if part)
        return Group(top, Text(below, no_wrap=True, overflow="ellipsis"))


def _done(state: TrainState, train: TrainConfig) -> float | None:
    """Return the completed share of the training, or None if its end is unknown."""
    shares = [
        state.step / train.max_steps if train.max_steps else None,
        state.log.get("epoch", 0) / train.max_epochs if train.max_epochs else None,
        state.seconds / 60 / train.max_minutes if train.max_minutes else None,
    ]
    known = [share for share in shares if share is not None]
    return min(1.0, max(known)) if known else None


def _steps(state: TrainState, train: TrainConfig) -> str:
    return f"{state.step:,}" + (f"/{train.max_steps:,}" if train.max_steps else "")


def _numbers(state: TrainState) -> str:
    log = state.log
    if not log:
        return ""
    speed = log["tokens_per_second"]
    shown = f"{speed / 1000:,.0f}k" if speed >= 10_000 else f"{speed:,}"
    return f"epoch {log['epoch']:.2f}  loss {log['loss']:.3f}  {shown} tokens/s"


def _validation(state: TrainState) -> str:
    """Describe the last validation result."""
    if not state.validations:
        return ""
    result = state.validations[-1]
    bleu = "" if result.bleu is None else f"  BLEU {result.bleu:.1f}"
    return f"validation: loss {result.valid_loss:.3f}{bleu}"


def _left(state: TrainState, train: TrainConfig) -> float | None:
    done = _done(state, train)
    return state.seconds / done - state.seconds if done and done < 1 else None


def _clock(seconds: float) -> str:
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"
