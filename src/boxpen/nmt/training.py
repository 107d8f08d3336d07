"""Training of a translation model: steps, validation, checkpoints and the final model.

A killed training resumes from its last checkpoint as if nothing had happened: the order of the data
follows from the seed, and checkpoints store the state of the optimiser and the random generators.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boxpen.ahead import ahead
from boxpen.errors import NmtError
from boxpen.nmt.arithmetic import fast_arithmetic, set_rng_state
from boxpen.nmt.checkpoints import Checkpoints, averaged, load_weights
from boxpen.nmt.compiled import eager
from boxpen.nmt.config import NmtConfig
from boxpen.nmt.data.feed import AHEAD, Feed, nested_share
from boxpen.nmt.data.inputs import PLAIN
from boxpen.nmt.folder import ModelFolder
from boxpen.nmt.learner import Learner, Learnt
from boxpen.nmt.processes import Processes
from boxpen.nmt.schedule import learning_rate
from boxpen.nmt.sizes import parameters
from boxpen.nmt.train_state import TrainState
from boxpen.nmt.validation import Validation, ValidationResult

if TYPE_CHECKING:
    import torch

    from boxpen.nmt.data.prepared import Prepared

__all__ = ["TrainState", "Training"]

Watch = Callable[[TrainState], None]


class Training:
    """One training in one process; several processes are started by ``accelerate launch``.

    Args:
        config: The configuration of the training.
        prepared: The corpus.
        device: ``auto``, ``cpu`` or ``cuda``.
        watch: Called before the first step, when nothing is logged yet, and after every line of
            the log and every validation. The state it gets is updated with every step.
        note: Called with messages for the user.
    """

    def __init__(
        self,
        config: NmtConfig,
        prepared: Prepared,
        *,
        device: str = "auto",
        watch: Watch = lambda _: None,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        # Batches of many shapes would cut the memory of a GPU into pieces that fit no other.
        os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")
        self.config, self.prepared = config, prepared
        self.processes = Processes(device)
        self.watch, self.note = watch, note if self.chief else _silent
        self.folder = ModelFolder(config, prepared)
        self.checkpoints = Checkpoints(config.folder / "checkpoints")
        self.state = TrainState()
        self._begun = 0.0

    @property
    def chief(self) -> bool:
        """Whether this process writes files and runs validation."""
        return self.processes.chief

    def run(self) -> dict[str, Any]:
        """Train to the end, from the start or from a checkpoint, and return the result.

        Raises:
            NmtError: If the folder belongs to another training, a checkpoint cannot be written, or
                the loss is NaN or Inf. Only one of several processes reports it.
        """
        if finished := self.processes.once(self.folder.result):
            self.note(f"{self.config.folder} is finished; nothing was done{self._more(finished)}")
            return finished
        with ExitStack() as held:
            self.processes.once(lambda: held.enter_context(self.folder.alone()))
            return self._run()

    def _more(self, finished: dict[str, Any]) -> str:
        """Return a hint if the configuration asks for more steps than a finished training had."""
        steps, most = finished["steps"], self.config.train.max_steps
        if most is None or most <= steps:
            return ""
        return (
            f": it ended after {steps:,} of now {most:,} steps; to train more, use another folder"
        )

    def _run(self) -> dict[str, Any]:
        self.processes.once(self.folder.check)
        with fast_arithmetic(self.processes.device):
            self._build()
            self.processes.once(self.folder.begin)
            self.processes.each(self._go_on)
            self._train()
            return self.processes.once(self._finish)

    def _build(self) -> None:
        import torch

        config, train = self.config, self.config.train
        torch.manual_seed(config.seed)
        model = self.folder.new_model()
        examples, reads = self.prepared, PLAIN
        if config.model.reads_context:
            from boxpen.nmt.context.making import reads_of, with_bert

            for part, pairs in (
                ("[[corpora]]", self.prepared.train),
                ("[valid]", self.prepared.valid),
            ):
                if not pairs.before.any():
                    raise NmtError(
                        f"[model] architecture = '{config.model.architecture}' reads context, but "
                        f"no pair of {part} has any; set documents = 'blank' or 'column' there, "
                        "and use documents of several lines"
                    )
            reads = reads_of(model, config.model)
            examples = with_bert(self.prepared, config.model, self.note)
        lengths = (
            float(reads.source_lengths(examples.train).mean()),
            examples.train.mean_lengths[1],
        )
        self.learner = Learner(config, model, self.processes, self.processes.device, lengths)
        self.feed = Feed(
            examples.train,
            nested_share(len(self.prepared.train), train.share, config.seed),
            tokens=train.tokens,
            accumulate=train.accumulate,
            seed=config.seed,
            pad=model.config.pad_token_id,
            start=model.config.decoder_start_token_id,
            reads=reads,
            pin=self.learner.device.type == "cuda",
            rank=self.processes.rank,
            world=self.processes.count,
        )
        self.validation = Validation(config, examples, model, reads)

    def _go_on(self) -> None:
        """Resume from the last checkpoint, if there is one."""
        saved = self.checkpoints.state()
        last = self.checkpoints.last()
        if saved is None or last is None:
            if steps := self.checkpoints.steps():
                raise NmtError(
                    f"{self.checkpoints.at(steps[-1])} lacks files that a restart needs; remove "
                    f"{self.checkpoints.folder} to start over, or use another folder"
                )
            if self.chief:
                self.folder.rewind(0)
            return
        try:
            self.state = TrainState.from_dict(saved, self.processes.count)
        except (KeyError, TypeError, ValueError) as error:
            lacks = f"it lacks {error}" if isinstance(error, KeyError) else error
            raise NmtError(
                f"{last / 'state.json'} is not the state of a training ({lacks}); remove "
                f"{self.checkpoints.folder} to start over, or use another folder"
            ) from None
        self.learner.take_up(last)
        if self.chief:
            self.folder.rewind(self.state.step)
        self.note(f"resuming from step {self.state.step}")

    def _train(self) -> None:
        """Do steps until the end."""
        state, train = self.state, self.config.train
        if self._over():
            return
        self._begun = time.monotonic() - state.seconds
        self.note(self._told())
        if self.chief:
            self.watch(state)
        pending: list[Learnt] = []  # losses on the device, looked at when a line is logged
        seen, since = 0, time.monotonic()
        with closing(ahead(self.feed.steps(state.place), depth=AHEAD)) as steps:
            for step in steps:
                rate = learning_rate(train, state.step + 1, self._done())
                pending.append(self.learner.step(step, rate))
                state.step += 1
                state.place, state.epochs = step.after, step.epochs
                state.tokens += step.tokens
                seen += step.tokens
                validate, over = state.step % train.validate_every == 0, self._over()
                if validate or over or state.step % train.log_every == 0:
                    self._log(pending, seen, since)
                    pending, seen, since = [], 0, time.monotonic()
                    over = over or self._over()
                if validate or over:
                    self._validate()
                    since = time.monotonic()
                    over = over or self._over()
                if over:
                    return

    def _told(self) -> str:
        """Describe the training: the first line of the log may take minutes to appear."""
        size, pairs = parameters(self.learner.model), self.feed.pairs
        where = f"on {self.learner.device.type}"
        if self.processes.count > 1:
            where += f" in {self.processes.count} processes"
        return f"training: {size:,} parameters, {pairs:,} pairs, {where}"

    def _log(self, pending: list[Learnt], seen: int, since: float) -> None:
        import torch

        state = self.state
        summed = torch.stack([learnt.loss for learnt in pending]).sum()
        loss = float(self.processes.summed(summed)) / seen
        seconds = time.monotonic() - since  # now that the device has done it all
        state.seconds = self.processes.once(self._elapsed)
        if not math.isfinite(loss):  # in all processes alike
            self.processes.once(lambda: _no_number(loss, state.step))
        state.log = {
            "step": state.step,
            "epoch": state.epochs,
            "loss": round(loss, 6),
            "learning_rate": self.learner.optimizer.param_groups[0]["lr"],
            "gradient": round(float(pending[-1].gradient), 6),
            "tokens": state.tokens,
            "tokens_per_second": round(seen / seconds) if seconds else 0,
            "seconds": round(state.seconds, 1),
        }
        if self.chief:
            self.folder.log(state.log)
            self.watch(state)

    def _validate(self) -> None:
        """Run validation and save a checkpoint."""
        state = self.state
        result, state.seconds = self.processes.once(self._seen)
        state.validations.append(result)
        if self.chief:
            self.watch(state)
        rng_states = self.processes.gathered(self.learner.rng_state())
        self.processes.once(lambda: self._keep(rng_states))

    def _seen(self) -> tuple[ValidationResult, float]:
        """Return the validation result and the time elapsed after it."""
        learner = self.learner
        rng_state = learner.rng_state()
        learner.model.eval()
        with learner.precision():
            result = self.validation.validate(self.state.step)
        learner.model.train()
        set_rng_state(rng_state, learner.device)
        seconds = self._elapsed()
        self.folder.log({**asdict(result), "seconds": round(seconds, 1)})
        return result, seconds

    def _keep(self, rng_states: list[dict[str, torch.Tensor]]) -> None:
        """Write a checkpoint, with the RNG state of every process."""
        state = self.state
        saved = state.as_dict(self.processes.count)

        def write(folder: Path) -> None:
            self.learner.keep(folder, rng_states)
            (folder / "state.json").write_text(json.dumps(saved), "utf-8")

        recent = [result.step for result in state.validations][-self.config.train.average :]
        best = self.validation.best(state.validations)
        self.checkpoints.save(state.step, write, {*recent, best.step})

    def _finish(self) -> dict[str, Any]:
        """Keep the best checkpoint or the average of the last ones, whichever is better."""
        from safetensors.torch import load_file

        state, train, learner = self.state, self.config.train, self.learner
        best = self.validation.best(state.validations)
        recent = [result.step for result in state.validations][-train.average :]
        chosen, mean = best, False
        weights = load_file(self.checkpoints.at(best.step) / "model.safetensors")
        if len(recent) > 1:
            average = averaged([self.checkpoints.at(step) for step in recent])
            load_weights(learner.model, average)
            learner.model.eval()
            with learner.precision():
                mean_result = self.validation.validate(state.step)
            if self.validation.best([best, mean_result]) is mean_result:
                chosen, mean, weights = mean_result, True, average
        load_weights(learner.model, weights)
        result = {
            "steps": state.step,
            "epochs": state.epochs,
            "best_step": best.step,
            "averaged": recent if mean else [],
            "loss": chosen.valid_loss,
            "bleu": chosen.bleu,
            "bleu_signature": chosen.signature,
            "tokens": state.tokens,
            "seconds": round(state.seconds, 1),
            "device": str(learner.device),
            "precision": "bf16" if learner.bf16 else "float32",
            "processes": self.processes.count,
            "data": self.prepared.counts,
        }
        with eager(learner.model):
            self.folder.finish(learner.model.cpu(), result)
        self.checkpoints.remove()
        return result

    def _over(self) -> bool:
        state, train = self.state, self.config.train
        if train.max_steps is not None and state.step >= train.max_steps:
            return True
        if train.max_epochs is not None and state.place.epoch >= train.max_epochs:
            return True
        if self._minutes() >= (train.max_minutes or math.inf):
            return True
        return self.validation.given_up(state.validations)

    def _minutes(self) -> float:
        # Several processes must agree: for them the clock of the chief counts, which they are told
        # with every line of the log.
        alone = self._begun and self.processes.count == 1
        return (self._elapsed() if alone else self.state.seconds) / 60

    def _elapsed(self) -> float:
        return time.monotonic() - self._begun

    def _done(self) -> float:
        """Return the completed share of the training."""
        train = self.config.train
        shares = [
            self.state.step / train.max_steps if train.max_steps else 0.0,
            self._minutes() / train.max_minutes if train.max_minutes else 0.0,
        ]
        return max(shares)


def _silent(_: str) -> None: ...


def _no_number(loss: float, step: int) -> None:
    raise NmtError(
        f"the loss is {loss} at step {step}; a lower learning_rate or a longer warmup may help"
    )
