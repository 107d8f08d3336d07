"""Train language models from scratch or further, on text and on knowledge graphs."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from boxpen.build.kg.sentences import check_ways
from boxpen.errors import TrainError
from boxpen.lm.begin import begin, check_model, size_of
from boxpen.lm.data import Data, read_data
from boxpen.lm.folder import OutFolder
from boxpen.lm.options import Options
from boxpen.lm.split import check_share
from boxpen.lm.training import ItemTraining, Plan, Trained, check_start
from boxpen.printable import excerpt
from boxpen.training.processes import Processes

__all__ = ["train_lm"]

_RATES = {"causal": (3e-5, 5e-4), "masked": (3e-5, 5e-4), "bilm": (2e-4, 1e-3)}
"""Peak learning rates: of an existing model, and of one trained from scratch."""
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}([_-][A-Za-z0-9]+)*")


def train_lm(
    *,
    kind: str,
    model: str,
    out: str | Path,
    text: Sequence[str | Path] = (),
    triples: Sequence[str | Path] = (),
    valid: Sequence[str | Path] = (),
    ways: int = 1,
    holdout: float = 0.1,
    exclude: Sequence[str] = (),
    language: str = "en",
    vocabulary: int | None = None,
    uncased: bool = False,
    options: Options | None = None,
    device: str = "auto",
    progress: bool = False,
    note: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Train a language model, or resume an interrupted training.

    Args:
        kind: ``causal``, ``masked`` or ``bilm``.
        model: A model of that kind, as ``boxpen run`` takes it, or its folder; ``new:tiny``,
            ``new:small`` (or ``new``) for one trained from scratch.
        out: The folder for the model, its log and its held-out sentences.
        text: Files with one sentence per line.
        triples: Graphs whose triples are verbalised, see ``boxpen.build.kg.sentences``.
        valid: Files with held-out sentences.
        ways: Maximum sentences per triple.
        holdout: Share of the sentences to hold out where there are no such files.
        exclude: Suites to exclude from training and held-out sentences.
        language: Language of the sentences.
        vocabulary: Maximum vocabulary size of a new model.
        uncased: Whether a new model reads lower-cased byte pairs, which are then the same for
            every kind; a new masked model always does.
        options: The training options.
        device: ``auto``, ``cpu`` or ``cuda``.
        progress: Whether to show a progress bar on stderr.
        note: Called with messages for the user.

    Returns:
        The result, as in ``result.json``.

    Raises:
        BoxpenError: If the sentences, the model, the folder or an option cannot be used.
    """
    options = options or Options()
    seed = options.seed

    def read() -> Data:
        check_model(kind, model, vocabulary, uncased)
        check_ways(ways)
        if not valid:
            check_share(holdout)
        if not _LANGUAGE.fullmatch(language):
            raise TrainError(
                f"--language is {excerpt(language)}, expected the code of a language, as zh or en"
            )
        check_start(out, device)
        if not text and not triples:
            raise TrainError("no training data; give --text, --triples or both")
        return read_data(
            text=text, triples=triples, valid=valid, ways=ways, holdout=holdout, exclude=exclude,
            language=language, seed=seed,
        )  # fmt: skip

    processes = Processes(device)
    data = processes.once(read)
    settings = {
        "task": "lm",
        "kind": kind,
        "model": model,
        "vocabulary": vocabulary,
        "ways": ways,
        "holdout": None if valid else holdout,
        "exclude": data.suites,
        "language": language,
        **asdict(options),
        **({"uncased": True} if uncased else {}),  # older records lack it
    }
    folder = OutFolder(Path(out), settings, data.digests, "sentences")
    if processes.chief and not folder.finished:
        for line in data.notes:
            note(line)

    def report(trained: Trained) -> dict[str, Any]:
        used, tested = trained.used
        return {
            "task": "lm",
            "kind": kind,
            "model": model,
            "loss": trained.loss,
            "loss_before": trained.loss_before,
            "perplexity": math.exp(min(trained.loss, 700.0)),
            "tokens": trained.predictions,
            **trained.steps,
            "sentences": {
                **data.counts,
                "train": used,
                "held_out": tested,
                "cut": trained.cut,
                "empty": trained.empty,
            },
            "device": trained.device,
        }

    train = [sentence.text for sentence in data.train]
    held_out = [sentence.text for sentence in data.held_out]
    rate = options.learning_rate
    plan = Plan(
        make=lambda: begin(
            kind, model, texts=train, vocabulary=vocabulary, uncased=uncased, seed=seed
        ),
        train=train,
        held_out=held_out,
        files={"held-out.txt": "".join(f"{line}\n" for line in held_out).encode()},
        report=report,
        learning_rate=_RATES[kind][size_of(model) is not None] if rate is None else rate,
        options=options,
        data="sentences",
        metric="valid_loss",
        device=device,
        progress=progress,
        note=note,
    )
    return ItemTraining(folder, plan).run()
