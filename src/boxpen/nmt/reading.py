"""Turn texts into the input of a translation model: the source, and its context if it reads one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import Ge, Le

from boxpen.config import check_config
from boxpen.errors import NmtError

if TYPE_CHECKING:
    import torch

__all__ = ["Reading", "Row", "context_limits", "reads_context"]

_UNLIMITED = 1 << 20
_MOST_CONTEXT = 100_000


@dataclass(frozen=True, slots=True)
class Row:
    """One sentence as tokens.

    Attributes:
        source: Its tokens, EOS included.
        context: Those of the sentences before it, each with its EOS; EOS alone if there are none.
            Empty for a model that reads none.
        aside: What BERT reads of both; empty without BERT.
        longest: Tokens of the source, before it was cut to what the model takes.
        cut: Whether anything was.
    """

    source: list[int]
    context: list[int]
    aside: list[int]
    longest: int
    cut: bool = False

    def __len__(self) -> int:
        return len(self.source) + len(self.context)


def reads_context(model: Any) -> bool:
    """Whether a model reads the sentences before."""
    return bool(getattr(model, "reads", None))


@dataclass(frozen=True)
class ContextLimits:
    """How much of a context a model reads: two settings of its ``config.json``."""

    context_sentences: Annotated[int, Ge(1), Le(_MOST_CONTEXT)] = 1
    context_tokens: Annotated[int, Ge(1), Le(_MOST_CONTEXT)] = 0  # as many as a sentence may have


def context_limits(config: Any) -> ContextLimits:
    """Return how much of a context a model reads.

    Raises:
        ConfigError: If a setting is not a number in range.
    """
    given = {
        field.name: getattr(config, field.name)
        for field in fields(ContextLimits)
        if hasattr(config, field.name)
    }
    place = getattr(config, "name_or_path", "") or "the model"
    return check_config(ContextLimits, given, f"{place} has a wrong config.json")


class Reading:
    """A model's tokenizers, and how much it takes.

    Args:
        model: Any sequence-to-sequence model of Transformers.
        tokenizer: That goes with it. BERT's is in the model's folder.

    Attributes:
        limit: Maximum tokens per sentence, and per context.
        pad: The padding token.
        sentences: Maximum sentences per context.
        context_tokens: Maximum tokens of several sentences; a single one may use the whole limit.

    Raises:
        BoxpenError: If the tokenizer or the settings of the model cannot be used.
    """

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.wants = frozenset(getattr(model, "reads", ()))
        known = [
            getattr(model.config, "max_position_embeddings", None),
            getattr(tokenizer, "model_max_length", None),
        ]
        self.limit = min([k for k in known if isinstance(k, int) and k > 0] + [_UNLIMITED])
        pad, self.eos = tokenizer.pad_token_id, tokenizer.eos_token_id
        if pad is None or pad == self.eos:
            raise NmtError(
                f"the tokenizer pads with token {pad} and ends sentences with {self.eos}, "
                "expected two"
            )
        self.pad = int(pad)
        limits = context_limits(model.config)
        self.sentences = limits.context_sentences
        self.context_tokens = limits.context_tokens or self.limit
        self._bert: Any = None
        if "bert_input_ids" in self.wants:
            from boxpen.nmt.data.bert_reading import BertReader

            self._bert = getattr(model, "bert_reader", None)
            if self._bert is None:
                self._bert = BertReader(Path(model.name_or_path) / "bert")

    def check(self, *, given: bool) -> None:
        """Reject contexts for a model that reads none, and none for a model that reads them.

        Args:
            given: Whether there are contexts.

        Raises:
            NmtError: If they do not go with the model.
        """
        if given and not self.wants:
            raise NmtError("contexts were given to a model that reads none")
        if self.wants and not given:
            raise NmtError(
                "no contexts were given to a model that reads them, expected one for each source, "
                "empty strings to do without"
            )

    def rows(self, sources: Sequence[str], contexts: Sequence[str] | None = None) -> list[Row]:
        """Cut texts into tokens.

        Args:
            sources: None of them empty.
            contexts: The text before each, for a model that reads it: sentences, one per line,
                the nearest last; an empty string if there is none.

        Raises:
            NmtError: If the model reads contexts and none are given, or vice versa; if there are
                not as many as sources, or one is not a string.
        """
        self.check(given=contexts is not None)
        before = [""] * len(sources) if contexts is None else list(contexts)
        if len(before) != len(sources):
            raise NmtError(f"there are {len(before)} contexts for {len(sources)} sources")
        for source, context in zip(sources, before, strict=True):
            if not isinstance(context, str):
                raise NmtError(
                    f"the context of {source!r} is {context!r}, expected a string, empty for no "
                    "context"
                )
        ids = self.tokenizer(list(sources), verbose=False)["input_ids"]
        found = self._contexts(before) if "context_input_ids" in self.wants else [[]] * len(ids)
        aside = (
            self._bert_rows(sources, before) if self._bert is not None else [([], False)] * len(ids)
        )
        return [
            Row(
                source if len(source) <= self.limit else source[: self.limit - 1] + source[-1:],
                context[-self.limit :],  # the furthest are cut off
                read,
                len(source),
                max(len(source), len(context)) > self.limit or shortened,
            )
            for source, context, (read, shortened) in zip(ids, found, aside, strict=True)
        ]

    def tensors(self, rows: Sequence[Row], device: Any) -> dict[str, torch.Tensor]:
        """Return rows as the input of the model."""
        import torch

        from boxpen.models.hf import length_mask, padded

        parts = {("input_ids", "attention_mask"): ([row.source for row in rows], self.pad)}
        if "context_input_ids" in self.wants:
            names = ("context_input_ids", "context_attention_mask")
            parts[names] = ([row.context for row in rows], self.pad)
        if self._bert is not None:
            names = ("bert_input_ids", "bert_attention_mask")
            parts[names] = ([row.aside for row in rows], self._bert.tokenizer.pad_token_id)
        out = {}
        for (ids, mask), (some, fill) in parts.items():
            out[ids] = torch.from_numpy(padded(some, fill)).to(device)
            out[mask] = torch.from_numpy(length_mask([len(row) for row in some])).to(device)
        return out

    def _contexts(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the previous sentences, truncated as in training."""
        lines = [self._nearest(text) for text in texts]
        flat = [line for some in lines for line in some]
        ids = iter(self.tokenizer(flat, verbose=False)["input_ids"] if flat else [])
        found = []
        for some in lines:
            sentences = [next(ids) for _ in some]
            while len(sentences) > 1 and sum(map(len, sentences)) > self.context_tokens:
                sentences.pop(0)
            found.append([token for sentence in sentences for token in sentence] or [self.eos])
        return found

    def _nearest(self, text: str) -> list[str]:
        return [line for line in text.split("\n") if line.strip()][-self.sentences :]

    def _bert_rows(
        self, sources: Sequence[str], contexts: Sequence[str]
    ) -> list[tuple[list[int], bool]]:
        """Return what BERT reads, and whether a source or its context was too long for it."""
        most = self._bert.max_length - 2
        own = self._bert.sentence_ids(list(sources))
        before = self._bert.sentence_ids([" ".join(self._nearest(text)) for text in contexts])
        found = []
        for context, source in zip(before, own, strict=True):
            read = self._bert.joined(context, source[:most])
            whole = len(source) + len(context) + (3 if context else 2)  # with [CLS] and [SEP]
            found.append((read, len(read) < whole))
        return found
