"""Translation of streams by beam search, and the probability of translations that are given.

The score of a hypothesis is Σ log p(tᵢ | t₍<ᵢ₎, source) / n^penalty, as the beam search of
Transformers reports it. Both the sum and n count every token that was produced: the end of the
sentence, unless the limit of length cut it off, but not the start token. No token is put in by
force, and none but padding is forbidden, so that the sum is what ``force_score`` gives for the
same tokens.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from boxpen.errors import NmtError
from boxpen.models.engine.memory import Budget, within
from boxpen.nmt.data.batches import token_batches
from boxpen.nmt.reading import Reading, Row

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray

__all__ = ["Hypothesis", "Translation", "force_score", "translate_lines"]

_MARGIN = 10  # tokens that a translation may have beyond the ratio


class Hypothesis(NamedTuple):
    """What beam search found, with its score if that was asked for."""

    text: str
    tokens: tuple[int, ...]  # as they were produced, EOS included
    score: float | None


class Translation(NamedTuple):
    """The hypotheses for a line, the best first, and whether the line had to be cut."""

    hypotheses: tuple[Hypothesis, ...]
    cut: bool = False

    @property
    def text(self) -> str:
        """The best translation."""
        return self.hypotheses[0].text

    @property
    def score(self) -> float | None:
        """Its score."""
        return self.hypotheses[0].score


_NOTHING = Translation((Hypothesis("", (), None),))
_NOTHING_SCORED = Translation((Hypothesis("", (), 0.0),))


def translate_lines(
    model: Any,
    tokenizer: Any,
    lines: Iterable[str],
    *,
    contexts: Iterable[str] | None = None,
    beam: int = 5,
    length_penalty: float = 1.0,
    early_stopping: bool | Literal["never"] = False,
    tokens: int = 8192,
    window: int = 100_000,
    max_ratio: float = 2.0,
    n_best: int = 1,
    scores: bool = False,
    device: torch.device | str | None = None,
    dtype: torch.dtype | None = None,
) -> Iterator[Translation]:
    """Translate lines, as many as there are, and yield them in their order.

    A window of lines at a time is sorted by length, so that batches have little padding. Where
    memory runs out, a batch is halved. An empty line is its own translation. A line that is longer
    than the model can read is cut, and says so.

    Args:
        model: Any sequence-to-sequence model of Transformers.
        tokenizer: Its tokenizer.
        lines: Sentences of the source language.
        contexts: The text before each, for a model that reads it: sentences, one per line, the
            nearest last; empty strings to translate without.
        beam: Beam size; 1 is greedy search.
        length_penalty: The power of the length that a score is divided by.
        early_stopping: As in Transformers. False stops when the best open hypothesis, as long as
            it is, scores below the worst finished one; "never" waits until none can overtake it at
            any length, which is exact and slow.
        tokens: Of a batch, beams and padding included.
        window: Lines that are sorted at a time.
        max_ratio: A translation ends at this many tokens (and ten) for each of the longest source
            in its batch.
        n_best: Hypotheses that are returned, of those in the beam.
        scores: Whether to return scores.
        device: Where the model is moved to first, for good.
        dtype: What its weights are turned into first, for good.

    Raises:
        NmtError: If an argument makes no sense, or the model reads contexts and there are none.
    """
    for name, value in (("beam", beam), ("tokens", tokens), ("window", window)):
        if value < 1:
            raise NmtError(f"translation was asked for with {name} = {value}, expected at least 1")
    if not 1 <= n_best <= beam:
        raise NmtError(
            f"translation was asked for with n_best = {n_best}, expected 1 to {beam}, the beam"
        )
    if not max_ratio > 0:
        raise NmtError(f"translation was asked for with max_ratio = {max_ratio}, expected above 0")
    engine = _Engine(model, tokenizer, Budget(tokens))
    engine.reading.check(given=contexts is not None)
    if device is not None or dtype is not None:
        model.to(device=device, dtype=dtype)
    options: dict[str, Any] = {}
    if beam > 1:
        options = {"length_penalty": length_penalty, "early_stopping": early_stopping}
    search = _Search(beam, n_best, scores, length_penalty, max_ratio, options)
    return _in_windows(
        engine, search, iter(lines), None if contexts is None else iter(contexts), window
    )


def force_score(
    model: Any,
    tokenizer: Any,
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    contexts: Sequence[str] | None = None,
    tokens: int = 8192,
) -> list[float]:
    """Return Σ log p of every target given its source, EOS included.

    Args:
        model: Any sequence-to-sequence model of Transformers.
        tokenizer: Its tokenizer.
        sources: Sentences of the source language.
        targets: One for each.
        contexts: The text before each source, for a model that reads it; empty strings to score
            without.
        tokens: Maximum tokens per batch, including padding.

    Raises:
        NmtError: If there are not as many targets as sources, one is too long for the model, or
            the model reads contexts and there are none.
    """
    if len(sources) != len(targets):
        raise NmtError(f"there are {len(sources)} sources for {len(targets)} targets")
    if not sources:
        return []
    engine = _Engine(model, tokenizer, Budget(tokens))
    rows = engine.reading.rows(sources, contexts)
    labels = tokenizer(text_target=list(targets), verbose=False)["input_ids"]
    for i, (row, label) in enumerate(zip(rows, labels, strict=True)):
        if (length := max(row.longest, len(label))) > engine.limit:
            raise NmtError(
                f"pair {i} has {length} tokens, more than the {engine.limit} that the model takes"
            )
    lengths = [max(len(row), len(label)) for row, label in zip(rows, labels, strict=True)]
    out = [0.0] * len(rows)

    def run(few: Sequence[int]) -> list[float]:
        return engine.forced([rows[i] for i in few], [labels[i] for i in few])

    for few, totals in engine.in_batches(lengths, run):
        for i, total in zip(few, totals, strict=True):
            out[i] = total
    return out


@dataclass(frozen=True)
class _Search:
    beam: int
    n_best: int
    scores: bool
    length_penalty: float
    max_ratio: float
    options: dict[str, Any]  # for beams only; greedy search warns of them


def _in_windows(
    engine: _Engine,
    search: _Search,
    lines: Iterator[str],
    contexts: Iterator[str] | None,
    window: int,
) -> Iterator[Translation]:
    while texts := list(islice(lines, window)):
        before = None if contexts is None else list(islice(contexts, len(texts)))
        if before is not None and len(before) < len(texts):
            raise NmtError(
                f"there are fewer contexts than lines: none before {texts[len(before)]!r}"
            )
        out = [_NOTHING_SCORED if search.scores else _NOTHING] * len(texts)
        filled = [i for i, text in enumerate(texts) if text.strip()]
        if filled:
            found = engine.translations(
                [texts[i] for i in filled], before and [before[i] for i in filled], search
            )
            for i, translation in zip(filled, found, strict=True):
                out[i] = translation
        yield from out
    if contexts is not None and any(True for _ in contexts):
        raise NmtError("there are more contexts than lines")


class _Engine:
    """A model, its tokenizer and the memory they may take."""

    def __init__(self, model: Any, tokenizer: Any, budget: Budget) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.budget = budget
        self.reading = Reading(model, tokenizer)
        self.limit, self.pad = self.reading.limit, self.reading.pad

    def translations(
        self, texts: list[str], contexts: list[str] | None, search: _Search
    ) -> list[Translation]:
        """Translate texts, none of them empty."""
        rows = self.reading.rows(texts, contexts)
        out: list[Translation | None] = [None] * len(rows)

        def run(few: Sequence[int]) -> tuple[list[list[int]], list[float | None]]:
            return self._searched([rows[i] for i in few], search)

        for few, (found, scores) in self.in_batches([len(r) * search.beam for r in rows], run):
            decoded = self.tokenizer.batch_decode(found, skip_special_tokens=True)
            made = [
                # Spelt in bytes, a text may hold a line break, and would be two lines of a file.
                Hypothesis(" ".join(text.split()), tuple(ids), score)
                for text, ids, score in zip(decoded, found, scores, strict=True)
            ]
            for n, i in enumerate(few):
                best = made[n * search.n_best : (n + 1) * search.n_best]
                out[i] = Translation(tuple(best), rows[i].cut)
        return [translation for translation in out if translation is not None]

    def in_batches(
        self, lengths: Sequence[int], run: Callable[[Sequence[int]], Any]
    ) -> Iterator[tuple[Sequence[int], Any]]:
        """Run members by their numbers in batches of similar length; yield batches and results."""

        def split(few: Sequence[int], tokens: int) -> Iterator[tuple[list[int], int, list[int]]]:
            for part in token_batches([lengths[i] for i in few], tokens):
                members = [few[i] for i in part]
                yield members, len(members) * lengths[members[0]], members  # the longest is first

        everything = range(len(lengths))
        yield from within(self.budget, lambda tokens: split(everything, tokens), split, run)

    def _searched(
        self, rows: list[Row], search: _Search
    ) -> tuple[list[list[int]], list[float | None]]:
        """Return the tokens of the best hypotheses for every row, and their scores."""
        read = self.reading.tensors(rows, self.model.device)
        longest = int(search.max_ratio * read["input_ids"].shape[1]) + _MARGIN
        kept = search.scores and search.beam > 1
        with _evaluating(self.model):
            made = self.model.generate(
                **read,
                **_options(self.model, search.beam, self.pad),
                do_sample=False,
                num_beams=search.beam,
                num_return_sequences=search.n_best,
                max_length=None,
                max_new_tokens=min(self.limit, longest),
                # The checkpoints of OPUS-MT force EOS at the limit, at the cost of no probability,
                # and share that of padding out among the other tokens.
                forced_eos_token_id=None,
                renormalize_logits=False,
                return_dict_in_generate=True,
                output_scores=kept,
                **search.options,
            )
        found = self._ended(made.sequences[:, 1:].cpu().numpy())  # without the start token
        if not search.scores:
            return found, [None] * len(found)
        if kept:
            return found, made.sequences_scores.tolist()
        totals = self.forced(rows, found)  # greedy search reports none
        return found, [
            t / len(f) ** search.length_penalty for t, f in zip(totals, found, strict=True)
        ]

    def forced(self, rows: list[Row], labels: list[list[int]]) -> list[float]:
        """Return Σ log p of labels given the sources."""
        import torch

        from boxpen.models.hf import padded

        device = self.model.device
        read = self.reading.tensors(rows, device)
        target = torch.from_numpy(padded(labels, self.pad)).to(device)
        wanted = torch.from_numpy(padded(labels, -100)).to(device)
        with torch.no_grad(), _evaluating(self.model):
            logits = self.model(
                **read,
                decoder_input_ids=self._shifted(target),
                use_cache=False,
            ).logits  # (batch, time, vocabulary)
            losses = torch.nn.functional.cross_entropy(
                logits.flatten(0, 1).float(), wanted.flatten(), reduction="none"
            )
        totals: list[float] = (-losses.view(wanted.shape).double().sum(1)).tolist()
        return totals

    def _shifted(self, labels: torch.Tensor) -> torch.Tensor:
        """Return what the decoder reads to produce labels."""
        import torch

        shift = getattr(self.model, "prepare_decoder_input_ids_from_labels", None)
        if shift is not None:
            shifted: torch.Tensor = shift(labels)
            return shifted
        start = self.model.generation_config.decoder_start_token_id
        return torch.cat([torch.full_like(labels[:, :1], start), labels[:, :-1]], dim=1)

    def _ended(self, sequences: NDArray[np.int64]) -> list[list[int]]:
        """Cut what fills up sequences behind their end; padding is never produced."""
        lengths = (sequences != self.pad).sum(axis=1).tolist()
        return [row[:n] for row, n in zip(sequences.tolist(), lengths, strict=True)]


def _options(model: Any, beam: int, pad: int) -> dict[str, Any]:
    from boxpen.models.engine.beam_search import search_options

    return search_options(model, beam, forbidden=pad)


@contextlib.contextmanager
def _evaluating(model: Any) -> Iterator[None]:
    """Temporarily switch dropout off; a model may be translated with in the midst of training."""
    from boxpen.models.engine.cudnn import unplanned_attention

    before = model.training
    model.eval()
    try:
        with unplanned_attention(model.device):
            yield
    finally:
        model.train(before)
