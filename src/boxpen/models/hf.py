"""The common base of all models that run on PyTorch and Transformers."""

from __future__ import annotations

import contextlib
import copy
import gc
import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from boxpen.errors import ModelError
from boxpen.models.base import Encoded, Model, ResolvedPolicy
from boxpen.models.engine.head import Head, float_logits, log_probabilities
from boxpen.models.engine.memory import Budget, budget_for, within
from boxpen.models.engine.probe import tolerance
from boxpen.models.tokens import Pieces, token_texts
from boxpen.models.vocabulary import beyond, check_target, check_used, check_vocabulary
from boxpen.refcounted import only_inside
from boxpen.scoring.batching import batches
from boxpen.scoring.requests import Record, Request
from boxpen.scoring.tree import Ints
from boxpen.text.languages import special_tokens

if TYPE_CHECKING:
    import torch

__all__ = ["TransformersModel"]

T = TypeVar("T")

_ROLES = ("bos", "eos", "pad", "cls", "sep", "mask")
_ROBERTA_KIN = frozenset({
    "camembert", "data2vec-text", "esm", "ibert", "longformer", "luke", "mpnet", "roberta",
    "roberta-prelayernorm", "xlm-roberta", "xlm-roberta-xl", "xmod",
})  # fmt: skip
_DETERMINISTIC = 1024  # tokens of a batch
_ENTRIES = 1 << 26  # of logits, where they must be had whole
_TURN = 2e-5  # seconds
_GARBAGE = 1_000_000  # new objects
_UNLIMITED = 1_000_000  # tokenizers without a limit report a huge number


class TransformersModel(Model):
    """A Transformers model and its tokenizer; the weights are loaded when first needed.

    Args:
        name: As the user named it.
        load: Returns the PyTorch module, on its device and in evaluation mode.
        config: The model's configuration.
        tokenizer: Its tokenizer.
        fingerprint: Digest of weights, tokenizer and dtype.
        dtype: Floating-point type of the weights.
        device_type: Where the module computes: cpu, cuda, mps.
        languages: What the model reads, if known.
    """

    def __init__(
        self,
        *,
        name: str,
        load: Callable[[], Any],
        config: Any,
        tokenizer: Any,
        fingerprint: str,
        dtype: str,
        device_type: str = "cpu",
        languages: frozenset[str] | None = None,
    ) -> None:
        self.name = name
        self.device_type = device_type
        self.config = config
        self.tokenizer = tokenizer
        self.fingerprint = fingerprint
        self.dtype = dtype
        self.languages = languages
        self._load = load
        self.in_memory = False
        self.remote_code = False  # of the checkpoint
        others = {getattr(tokenizer, f"{r}_token_id", None) for r in _ROLES}
        # GPT-2 calls its end of text "unknown" too; then nothing is ever unknown.
        self._unk = None if tokenizer.unk_token_id in others else tokenizer.unk_token_id
        # A text may contain a special token literally; it is read, never scored.
        self._special = frozenset(special_tokens(tokenizer).values()) - {self._unk}

    @cached_property
    def module(self) -> Any:
        """The PyTorch module."""
        module = self._load()
        rows = getattr(module.get_input_embeddings(), "num_embeddings", None)
        if rows is not None:
            check_vocabulary(self.name, self.tokenizer, rows, self.kind, in_memory=self.in_memory)
            target = getattr(self.tokenizer, "target_encoder", None)  # Marian may have two
            if target:
                known = getattr(self.config, "decoder_vocab_size", None) or rows
                check_target(self.name, target, known)
        return module

    def token_texts(self, ids: Sequence[int]) -> list[str]:
        """Return the texts of tokens, with the space before a word."""
        return token_texts(self.tokenizer, ids)

    def load(self) -> None:
        """Load the weights now instead of on first use."""
        _ = self.module

    @cached_property
    def rounded(self) -> Model | None:
        """The same model in bfloat16, if the hardware multiplies that faster than float32."""
        from boxpen.models.engine.products import multiplies_bfloat16

        if self.dtype != "float32" or self.pairs or not multiplies_bfloat16(self.device_type):
            return None
        twin = copy.copy(self)
        for name in list(vars(twin)):
            if isinstance(getattr(type(self), name, None), cached_property):
                del vars(twin)[name]
        twin.dtype = "bfloat16"
        named = json.dumps([self.fingerprint, "rounded to bfloat16"])
        twin.fingerprint = hashlib.sha256(named.encode()).hexdigest()
        twin._load = lambda: copy.deepcopy(self.module).bfloat16()
        return twin

    @property
    def device(self) -> torch.device:
        """Where the module computes."""
        device: torch.device = self.module.device
        return device

    @cached_property
    def budget(self) -> Budget:
        """How many tokens are run at a time."""
        tokens = self.token_budget
        if tokens is None and self.deterministic:
            tokens = _DETERMINISTIC  # whatever memory happens to be free
        elif tokens is None:
            tokens = budget_for(self.config, self.device, self.module.dtype.itemsize)
        return Budget(self.bounded(tokens), fixed=self.deterministic)

    def bounded(self, tokens: int) -> int:
        """Return how many of these tokens may be run at a time."""
        if self.head is None:  # whole rows of logits must fit then
            return min(tokens, max(1, _ENTRIES // self.vocabulary))
        return tokens

    @property
    def vocabulary(self) -> int:
        """How many tokens both the input and the output layer know."""
        config = self.config.get_text_config(decoder=True)
        known = int(config.vocab_size)
        return min(known, getattr(config, "decoder_vocab_size", None) or known)

    @property
    def body(self) -> Any:
        """The module without its output layer, or all of it, if it cannot be taken apart."""
        return self._parts[0]

    @property
    def head(self) -> Head | None:
        """What follows the body, if the two can be taken apart."""
        return self._parts[1]

    @cached_property
    def _parts(self) -> tuple[Any, Head | None]:
        """Body and head, as a probe shows them to belong together."""
        ids = self.probe_ids()
        inner = getattr(self.module, "get_decoder", lambda: None)()
        for body in (self.module.base_model, inner):
            if body is None or body is self.module:
                continue
            head = self.proven(
                Head(self.module, body),
                lambda body=body: body(input_ids=ids)[0][0],  # type: ignore[misc]
                lambda: self.module(input_ids=ids).logits[0],
            )
            if head is not None:
                return body, head
        return self.module, None

    def forget_settings(self) -> None:
        """Discard cached objects that depend on the settings."""
        for name in ("budget", "_decoder", "_translator", "rounded"):
            vars(self).pop(name, None)

    def exactness(self) -> dict[str, object]:
        """Return the settings that scores depend on bit by bit, besides the text."""
        if not self.deterministic:
            return {}
        import torch

        from boxpen.models.engine.products import fast_products_used

        return {
            "deterministic": True,
            "device": self.device_type,
            "threads": torch.get_num_threads(),
            "token_budget": self.token_budget or _DETERMINISTIC,
            **({"products": "onednn"} if fast_products_used(self.device_type) else {}),
        }

    @property
    def rounds(self) -> bool:
        """Whether its precision is so low that scores depend on the batch."""
        return self.dtype not in ("float32", "float64")

    @property
    def batch(self) -> str | None:
        """How texts shared a batch; a text by itself may still be cut up by a token budget."""
        usual = self.token_budget in (None, _DETERMINISTIC)
        shared = super().batch
        return shared if shared != "1" or usual else f"1@{self.token_budget}"

    def score(
        self, requests: Sequence[Request], policy: ResolvedPolicy
    ) -> Iterator[list[tuple[int, Record]]]:
        """Score requests, yielding batches of (index, record) in no particular order."""
        with _undisturbed():
            yield from only_inside(self.algorithms, super().score(requests, policy))

    def _chunks(self, *args: Any) -> Iterator[list[Encoded]]:
        """Tokenise requests, and reject tokens that the model does not know."""
        unknown = beyond(self.tokenizer, self.config)
        for chunk in super()._chunks(*args):
            if unknown:
                check_used(self.name, chunk, unknown)
            yield chunk

    @contextlib.contextmanager
    def algorithms(self) -> Iterator[None]:
        """Temporarily take the fastest algorithms that are exact, and repeatable if asked for.

        Raises:
            ModelError: If the model needs them.
        """
        from boxpen.models.engine.cudnn import unplanned_attention
        from boxpen.models.engine.products import fast_products

        with fast_products(self.device_type), unplanned_attention(self.device), self._repeatable():
            yield

    @contextlib.contextmanager
    def _repeatable(self) -> Iterator[None]:
        """Disable nondeterministic algorithms in deterministic mode."""
        if not self.deterministic:
            yield
            return
        import torch

        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read when CUDA starts
        before = torch.are_deterministic_algorithms_enabled()
        torch.use_deterministic_algorithms(True)
        try:
            yield
        except RuntimeError as error:
            if "deterministic" not in str(error):
                raise
            raise ModelError(
                f"model '{self.name}' uses what has no deterministic form "
                f"({str(error).splitlines()[0]}); leave out --deterministic"
            ) from None
        finally:
            torch.use_deterministic_algorithms(before)

    def probe_ids(self) -> torch.Tensor:
        """Return a row of a few ordinary tokens."""
        import torch

        usable = [i for i in range(self.vocabulary) if i not in self._special]
        return torch.tensor([usable[:: max(1, len(usable) // 8)][:8]], device=self.device)

    def proven(
        self, head: Head, hidden: Callable[[], torch.Tensor], logits: Callable[[], torch.Tensor]
    ) -> Head | None:
        """Return a head if it makes of hidden states what the whole module does, else None."""
        import torch

        try:
            with torch.inference_mode(), float_logits(self.module):
                apart = head.calibrate(hidden(), logits())
        except Exception:  # whatever an architecture may raise: its logits are taken whole then
            return None
        return head if apart <= tolerance(self.module.dtype) else None

    def wanted(
        self,
        arrays: Mapping[str, NDArray[np.int64]],
        wanted: Sequence[tuple[int, int, int]],
        **inputs: Any,
    ) -> torch.Tensor:
        """Run padded rows and return log-probabilities for (row, column, token) triples."""
        import torch

        moved = {k: torch.from_numpy(v).to(self.device) for k, v in arrays.items()}
        row, column, target = np.array(wanted, dtype=np.int64).T
        width = next(iter(arrays.values())).shape[1]
        with torch.inference_mode():
            if self.head is not None:
                hidden = self.body(**moved, **inputs)[0].flatten(0, 1)  # (positions, width)
                return self.head.log_probabilities(hidden, row * width + column, target.copy())
            with float_logits(self.module):
                logits = self.module(**moved, **inputs).logits  # (batch, time, vocab)
            return whole_log_probabilities(logits.flatten(0, 1), row * width + column, target)

    def in_batches(
        self,
        members: Sequence[int],
        lengths: Sequence[int],
        run: Callable[[Sequence[int]], T],
        *,
        size: int | None = None,
    ) -> Iterator[tuple[Sequence[int], T]]:
        """Run members in batches of similar length, as large as memory allows."""
        # By itself, a text is a batch: its copies with other masks count as one.
        size = size or (None if self.deterministic else self.batch_size)
        length = dict(zip(members, lengths, strict=True))

        def split(
            few: Sequence[int], tokens: int
        ) -> Iterator[tuple[Sequence[int], int, Sequence[int]]]:
            costs = [length[i] for i in few]
            for part in batches(costs, budget=tokens, size=size):
                batch = [few[i] for i in part]
                yield batch, len(batch) * length[batch[0]], batch

        def counted(batch: Sequence[int]) -> T:
            result = run(batch)
            self.tally.add(computed=len(batch) * length[batch[0]])
            return result

        return self.lagging(within(self.budget, partial(split, members), split, counted))

    def lagging(self, results: Iterable[T]) -> Iterator[T]:
        """Yield results with a lag of one on a GPU, so that it always has work queued."""
        if self.device.type != "cuda":
            yield from results
            return
        before: list[T] = []
        for result in results:
            yield from before
            before = [result]
        yield from before

    def limit(self, wanted: int | None) -> int:
        """Return the longest sequence in tokens, special tokens included.

        Raises:
            ModelError: If more is wanted than the model can take.
        """
        known = [
            value
            for name in ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len")
            if isinstance(value := getattr(self.config, name, None), int) and value > 0
        ]
        longest = min(known) - self._position_offset() if known else _UNLIMITED
        said = getattr(self.tokenizer, "model_max_length", _UNLIMITED)
        if 0 < said < longest:
            longest = said
        if wanted is not None and wanted > longest:
            raise ModelError(f"max_length {wanted} is more than {self.name} takes ({longest})")
        return wanted or longest

    def _position_offset(self) -> int:
        # RoBERTa and its kin number positions from padding_idx + 1.
        return 2 if self.config.model_type in _ROBERTA_KIN else 0

    def count_unknown(self, pieces: Pieces) -> int:
        """Return how many tokens of the text are the unknown token."""
        return 0 if self._unk is None else pieces.ids[pieces.start :].count(self._unk)

    def framed(
        self,
        pieces: Pieces,
        before: Sequence[int],
        after: Sequence[int],
        limit: int,
        *,
        first: int = 0,
        score_after: bool = False,
    ) -> Encoded:
        """Put special tokens around pieces, cut from the left what is too long, and flag it.

        Args:
            pieces: Tokens of prefix and text.
            before: Special tokens before them.
            after: Special tokens after them.
            limit: Maximum sequence length.
            first: Positions below this one cannot be scored.
            score_after: Whether to score the tokens in ``after`` too.
        """
        room = limit - len(before) - len(after)
        cut = max(0, len(pieces.ids) - room)
        ids = (*before, *pieces.ids[cut:], *after)
        start = max(0, pieces.start - cut) + len(before)
        text = range(start, len(ids) - len(after))
        scored: tuple[int, ...] | range
        if self._special.isdisjoint(pieces.ids):
            scored = range(max(start, first), len(ids) if score_after else text.stop)
            unscored = max(0, min(first, text.stop) - start)
        else:
            plain = [i for i in text if ids[i] not in self._special]
            scored = tuple(i for i in plain if i >= first)
            unscored = len(plain) - len(scored)
            if score_after:
                scored += tuple(range(max(text.stop, first), len(ids)))
        words = (-1,) * len(before) + pieces.words[cut:] + (-1,) * len(after)
        return Encoded(
            ids=ids,
            scored=scored,
            words=words if pieces.words else (),
            unscored=unscored,
            unknown=self.count_unknown(pieces),
            truncated=cut > 0,
            crossing=pieces.crossing,
        )


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Keep the interpreter out of the way for a while.

    Threads take turns every 5 ms by default: so long every single operation of PyTorch would wait
    for the interpreter while another thread is tokenising, and the GPU for them. And the garbage
    collector would look through the many thousand tuples of a run again and again; it goes on, but
    seldom.
    """
    turns, threshold = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(min(turns, _TURN))
    if threshold[0]:  # not switched off
        gc.set_threshold(max(threshold[0], _GARBAGE), *threshold[1:])
    try:
        yield
    finally:
        sys.setswitchinterval(turns)
        gc.set_threshold(*threshold)


def whole_log_probabilities(logits: torch.Tensor, rows: Ints, targets: Ints) -> torch.Tensor:
    """Return log p of targets from whole logits, (positions, vocab)."""
    import torch

    chosen = logits[torch.from_numpy(rows).to(logits.device)].float()
    every = torch.arange(len(rows), device=logits.device)
    return log_probabilities(chosen, every, torch.from_numpy(targets.copy()).to(logits.device))


def padded(rows: Sequence[Sequence[int]], fill: int) -> NDArray[np.int64]:
    """Return rows as one array, padded on the right."""
    width = max(len(row) for row in rows)
    out = np.full((len(rows), width), fill, dtype=np.int64)
    for i, row in enumerate(rows):
        out[i, : len(row)] = row
    return out


def length_mask(lengths: Sequence[int]) -> NDArray[np.int64]:
    """Return the attention mask of right-padded rows: by length, never by token."""
    width = max(lengths)
    return (np.arange(width)[None, :] < np.array(lengths)[:, None]).astype(np.int64)
