"""Encoder-decoder models (Marian, mBART, NLLB, T5, …): Σ log p(tᵢ | t₍<ᵢ₎, source)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from boxpen.errors import ModelError
from boxpen.models.base import Encoded, ResolvedPolicy, Scores
from boxpen.models.engine.head import Head, float_logits
from boxpen.models.engine.memory import within
from boxpen.models.engine.packed import PackedTranslator
from boxpen.models.engine.packs import Pack, Reading, pack_of
from boxpen.models.engine.probe import fault
from boxpen.models.hf import (
    TransformersModel,
    length_mask,
    padded,
    whole_log_probabilities,
)
from boxpen.refcounted import only_inside
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.requests import Record, Request
from boxpen.scoring.tree import Row, Tree
from boxpen.text.languages import language_code, special_tokens, two_letter

if TYPE_CHECKING:
    import torch

__all__ = ["Seq2SeqModel"]


_NEVER = -3e4
"""A logit that leaves no probability, and fits into every precision."""
_KEPT = 1 << 16  # tokens of sources that are kept encoded at a time
_LENGTHS = 16  # sources whose lengths round up to the same multiple share a maximum length


class Seq2SeqModel(TransformersModel):
    """A model with an encoder for the source and a decoder for the target.

    The target is tokenised as a target. Its tokens are the labels; the decoder reads them shifted
    by one behind its start token, as the model's own training did:

        decoder input   <start>  [lang]  The   box
        label           [lang]   The     box   </s>
        scored                   The     box   (</s>)

    Language tokens are never scored; the end of the sequence is, unless ``eos`` says never.

    Marian has no padding. Transformers adds it with an embedding of zeros, so that its logit is
    zero, and forbids it in searches (``bad_words_ids``). Left alone it takes up to 9 % of the
    probability in OPUS-MT en-fr; here it takes none, as in Marian itself and in CTranslate2.

    Decoders take no position ids, but most look their positions up in a part of their own, which
    is told the depths instead. Where it does not exist (T5 counts distances), targets are decoded
    one by one; their source is still encoded once.
    """

    kind = "seq2seq"
    encoder = True

    def __init__(self, *, forbidden: Sequence[int] = (), **parts: Any) -> None:
        super().__init__(**parts)
        self.forbidden = tuple(forbidden)
        """Tokens that the checkpoint never produces: they take no probability from others."""
        pair = [getattr(self.tokenizer, f"{side}_lang", None) for side in ("source", "target")]
        if all(isinstance(code, str) and code for code in pair):  # Marian names its pair
            self.direction = (two_letter(str(pair[0])), two_letter(str(pair[1])))
            self.languages = frozenset(self.direction)

    def resolve_policy(self, policy: ScoringPolicy) -> ResolvedPolicy:
        """Resolve a policy for this model."""
        return ResolvedPolicy(eos=policy.eos != "never", max_length=self.limit(policy.max_length))

    def encode(self, requests: Sequence[Request], policy: ResolvedPolicy) -> list[Encoded]:
        """Turn requests into source and target tokens."""
        self.require_sources(requests)
        out: list[Encoded | None] = [None] * len(requests)
        for languages in dict.fromkeys(r.languages for r in requests):
            members = [i for i, r in enumerate(requests) if r.languages == languages]
            before = self._tell(languages)
            sources = [before + (requests[i].source or "") for i in members]
            targets = [requests[i].text for i in members]
            source_ids = self.tokenizer(sources, verbose=False)["input_ids"]
            labels = self.tokenizer(text_target=targets, verbose=False)["input_ids"]
            for i, source, target in zip(members, source_ids, labels, strict=True):
                out[i] = self._encoded(source, target, policy)
        return [e for e in out if e is not None]

    def _encoded(self, source: list[int], labels: list[int], policy: ResolvedPolicy) -> Encoded:
        assert policy.max_length is not None
        limit = policy.max_length
        eos = self.tokenizer.eos_token_id
        truncated = len(source) > limit or len(labels) > limit
        source, labels = _cut(source, limit), _cut(labels, limit)
        last_eos = max((i for i, t in enumerate(labels) if t == eos), default=-1)
        scored = tuple(
            i
            for i, token in enumerate(labels)
            if token not in self._special or (policy.eos and i == last_eos)
        )
        return Encoded(
            ids=tuple(labels),
            scored=scored,
            source=tuple(source),
            unknown=0 if self._unk is None else labels.count(self._unk),
            truncated=truncated,
        )

    def score(
        self, requests: Sequence[Request], policy: ResolvedPolicy
    ) -> Iterator[list[tuple[int, Record]]]:
        """Score requests; what the checkpoint never produces has no probability."""
        with self._never_produced():
            yield from super().score(requests, policy)

    @contextmanager
    def _never_produced(self) -> Iterator[None]:
        """Let the module give forbidden tokens no probability for a while."""
        if not self.forbidden:
            yield
            return
        before = self.module.final_logits_bias  # (1, vocabulary)
        bias = before.clone()
        bias[:, list(self.forbidden)] = _NEVER
        self.module.final_logits_bias = bias
        try:
            yield
        finally:
            self.module.final_logits_bias = before

    def run(self, encoded: Sequence[Encoded], policy: ResolvedPolicy) -> Iterator[Scores]:  # noqa: ARG002
        """Score requests: every source is encoded once, its targets are decoded as one tree."""
        readings = []
        for e in encoded:
            read = self._decoder_input(e.ids)[: e.scored[-1] + 1]
            readings.append(Reading(read, e.scored, e.targets))
        groups: dict[tuple[int, ...], list[int]] = {}
        for i, e in enumerate(encoded):
            groups.setdefault(e.source, []).append(i)
        # Some decoders give padding no position, also where a text spells it out.
        pad = self.tokenizer.pad_token_id
        odd = {i for i, r in enumerate(readings) if self._translator and pad in r.tokens[1:]}
        for window in _windows(groups):
            states = dict(self._encode(window))
            members = [i for source in window for i in groups[source]]
            hidden = {i: states[n] for n, source in enumerate(window) for i in groups[source]}
            self.tally.add(
                tokens=sum(len(readings[i].tokens) + len(encoded[i].source) for i in members),
                nodes=sum(map(len, window)),
            )
            for alone in (False, True):
                few = [i for i in members if (i in odd) == alone]
                tree = self._translator is not None and not alone
                yield from self._decode(few, readings, hidden, tree=tree)

    def _encode(self, sources: Sequence[tuple[int, ...]]) -> Iterator[tuple[int, torch.Tensor]]:
        """Yield the number of every source with its hidden states."""
        import torch

        pad = self.tokenizer.pad_token_id or 0

        def run(few: Sequence[int]) -> torch.Tensor:
            lengths = [len(sources[i]) for i in few]
            arrays = padded([sources[i] for i in few], pad), length_mask(lengths)
            ids, mask = (torch.from_numpy(a).to(self.device) for a in arrays)
            with torch.inference_mode():
                hidden: torch.Tensor = self.module.get_encoder()(
                    input_ids=ids, attention_mask=mask
                )[0]
            return hidden  # (batch, time, width)

        lengths = [len(s) for s in sources]
        for few, hidden in self.in_batches(range(len(sources)), lengths, run):
            for row, i in enumerate(few):
                yield i, hidden[row, : lengths[i]]

    def _decode(
        self,
        members: Sequence[int],
        readings: Sequence[Reading],
        states: Mapping[int, torch.Tensor],
        *,
        tree: bool,
    ) -> Iterator[Scores]:
        """Score targets; those of one source as a tree, if that can be."""
        import torch

        counted = False

        def split(
            few: Sequence[int], tokens: int
        ) -> Iterator[tuple[Sequence[int], int, Sequence[_Row]]]:
            nonlocal counted
            rows = _rows(few, readings, states, tokens, self.batch_size if tree else 1)
            if not counted:  # and not again what is cut up for lack of memory
                counted = True
                self.tally.add(nodes=sum(len(r.row.tokens) for r in rows))
            for batch in _batched(rows, tokens, self.batch_size):
                size = len(batch) * (max(r.source for r in batch) + len(batch[0].row.tokens))
                yield [i for r in batch for i in r.members], size, batch

        def run(batch: Sequence[_Row]) -> tuple[Pack, torch.Tensor]:
            pack = pack_of([r.row for r in batch], [r.members for r in batch], readings)
            hidden = [states[r.members[0]] for r in batch]
            source = torch.nn.utils.rnn.pad_sequence(hidden, batch_first=True)
            mask = torch.from_numpy(length_mask([len(h) for h in hidden])).to(self.device)
            self.tally.add(computed=pack.computed)
            if tree:
                assert self._translator is not None
                return pack, self._translator.run(
                    pack, chunk=1, encoder_hidden_states=source, encoder_attention_mask=mask
                )
            return pack, self._padded(pack, source, mask)

        for _, (pack, values) in self.lagging(
            within(self.budget, partial(split, members), split, run)
        ):
            yield pack.shared_out(values)

    def _padded(self, pack: Pack, source: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Run a pack whose rows are single targets."""
        import torch

        ids = torch.from_numpy(pack.ids).to(self.device)
        # What fills up a row comes after it, where a decoder does not look.
        with torch.inference_mode():
            if self.head is not None:
                hidden = self.body(
                    input_ids=ids,
                    encoder_hidden_states=source,
                    encoder_attention_mask=mask,
                    use_cache=False,
                )[0].flatten(0, 1)
                return self.head.log_probabilities(hidden, pack.wanted, pack.targets)
            with float_logits(self.module):
                logits = self.module(
                    decoder_input_ids=ids,
                    encoder_outputs=(source,),
                    attention_mask=mask,
                    use_cache=False,
                ).logits.flatten(0, 1)
            return whole_log_probabilities(logits, pack.wanted, pack.targets)

    @cached_property
    def _parts(self) -> tuple[Any, Head | None]:
        """The decoder, and what follows it, if that can be taken off."""
        from transformers.modeling_outputs import BaseModelOutput

        ids, source, body = self.probe_ids(), self._probe_source, self.module.get_decoder()
        inputs = {"encoder_outputs": BaseModelOutput(last_hidden_state=source)}
        with self._never_produced():
            head = self.proven(
                Head(self.module, body, reads="decoder_input_ids", **inputs),
                lambda: body(input_ids=ids, encoder_hidden_states=source)[0][0],
                lambda: self.module(decoder_input_ids=ids, **inputs).logits[0],
            )
        return body, head

    @cached_property
    def _translator(self) -> PackedTranslator | None:
        """The decoder as one of trees, if it passes the self-check."""
        self.engine = "sources once, targets one by one"
        if self.head is None or not hasattr(self.body, "embed_positions"):
            return None
        translator = PackedTranslator(self.body, self.head, self.device, self.module.dtype)
        source = self._probe_source

        def alone(ids: Sequence[int]) -> torch.Tensor:
            import torch

            row = torch.tensor([ids], device=self.device)
            with float_logits(self.module):
                logits: torch.Tensor = self.module(
                    decoder_input_ids=row, encoder_outputs=(source,), use_cache=False
                ).logits[0]
            return logits

        reason = fault(
            translator,
            alone,
            vocabulary=self.vocabulary,
            special=self._special,
            dtype=self.module.dtype,
            start=self._decoder_input((0,))[0],
            encoder_hidden_states=source,
        )
        if reason is not None:
            self.engine += f": {reason}"
            return None
        self.engine = "sources once, targets as prefix trees"
        return translator

    @cached_property
    def _probe_source(self) -> torch.Tensor:
        """Hidden states of a made-up source."""
        import torch

        with torch.inference_mode():
            hidden: torch.Tensor = self.module.get_encoder()(input_ids=self.probe_ids())[0]
        return hidden

    def can_translate(self) -> bool:
        """Whether the model can also produce translations."""
        return True

    def translate(
        self,
        sources: Sequence[str],
        languages: tuple[str | None, str | None],
        *,
        beam: int,
        contexts: Sequence[str] | None = None,  # noqa: ARG002
    ) -> Iterator[list[tuple[int, str]]]:
        """Translate by beam search, yielding batches of (index, translation)."""
        import torch

        from boxpen.models.engine.beam_search import search_options

        before = self._tell(languages)
        ids = self.tokenizer([before + s for s in sources], verbose=False)["input_ids"]
        limit = self.limit(None)
        forced: dict[str, Any] = {}
        if _multilingual(self.tokenizer):
            code = language_code(self.tokenizer, languages[1], self.name)
            forced["forced_bos_token_id"] = _language_id(self.tokenizer, code)

        def run(most: int, few: Sequence[int]) -> list[str]:
            rows = [_cut(ids[i], limit) for i in few]
            arrays = (
                padded(rows, self.tokenizer.pad_token_id or 0),
                length_mask([len(r) for r in rows]),
            )
            read, mask = (torch.from_numpy(a).to(self.device) for a in arrays)
            with torch.inference_mode():
                made = self.module.generate(
                    input_ids=read,
                    attention_mask=mask,
                    num_beams=beam,
                    do_sample=False,
                    max_length=None,
                    max_new_tokens=most,
                    **search_options(self.module, beam),
                    **forced,
                )
            return list(self.tokenizer.batch_decode(made, skip_special_tokens=True))

        lengths = [len(i) for i in ids]
        yield from self.searched(lengths, [n * beam for n in lengths], limit, run)

    def searched(
        self,
        lengths: Sequence[int],
        costs: Sequence[int],
        limit: int,
        run: Callable[[int, Sequence[int]], list[str]],
    ) -> Iterator[list[tuple[int, str]]]:
        """Translate in batches, yielding them as (index, translation).

        A translation that does not end by itself is cut at a length that only its own source
        decides: the sources of a batch share it.

        Args:
            lengths: Tokens of the sources.
            costs: Tokens that each adds to a batch, beams included.
            limit: Maximum length of a sequence.
            run: Translates sources, given the maximum length and their indices.
        """
        groups: dict[int, list[int]] = {}
        for i, length in enumerate(lengths):
            rounded = -(-length // _LENGTHS) * _LENGTHS
            groups.setdefault(min(limit - 1, 3 * rounded + 20), []).append(i)

        def batches() -> Iterator[list[tuple[int, str]]]:
            for most, members in sorted(groups.items(), reverse=True):
                some = [costs[i] for i in members]
                for few, texts in self.in_batches(members, some, partial(run, most)):
                    yield [(i, text.strip()) for i, text in zip(few, texts, strict=True)]

        yield from only_inside(self.algorithms, batches())

    def _tell(self, languages: tuple[str | None, str | None]) -> str:
        """Set the languages of a multilingual tokenizer; return what goes before the source."""
        source, target = languages
        if _multilingual(self.tokenizer):
            self.tokenizer.src_lang = language_code(self.tokenizer, source, self.name)
            self.tokenizer.tgt_lang = language_code(self.tokenizer, target, self.name)
        tasks = getattr(self.config, "task_specific_params", None) or {}
        task = tasks.get(f"translation_{source}_to_{target}", {})
        return str(task.get("prefix", ""))

    def _decoder_input(self, labels: tuple[int, ...]) -> list[int]:
        import torch

        shift = getattr(self.module, "prepare_decoder_input_ids_from_labels", None)
        if shift is not None:
            shifted: list[int] = shift(torch.tensor([labels]))[0].tolist()
            return shifted
        start = self.module.config.decoder_start_token_id
        if start is None:
            start = self.module.generation_config.decoder_start_token_id
        if start is None:
            raise ModelError(f"{self.name} names no token for its decoder to start with")
        return [start, *labels[:-1]]


class _Row(NamedTuple):
    """Some targets of one source as a tree."""

    row: Row
    members: Sequence[int]
    source: int  # tokens of it


def _rows(
    members: Sequence[int],
    readings: Sequence[Reading],
    states: Mapping[int, torch.Tensor],
    tokens: int,
    size: int | None,
) -> list[_Row]:
    """Put targets of one source into rows."""
    groups: dict[int, list[int]] = {}
    for i in members:
        groups.setdefault(id(states[i]), []).append(i)  # one source, one tensor
    rows = []
    for group in groups.values():
        length = len(states[group[0]])
        limit = max(1, tokens - length)
        tree = Tree([readings[i].tokens for i in group])
        spans = tree.spans(width=limit, limit=limit, size=size, stems=False)
        for span, row in zip(spans, tree.rows(spans), strict=True):
            who = [group[i] for i in tree.order[span.start : span.stop]]
            rows.append(_Row(row, who, length))
    return rows


def _batched(rows: Sequence[_Row], tokens: int, size: int | None) -> Iterator[list[_Row]]:
    """Yield rows of similar length, the longest first; both sides, padded, are under the budget."""
    batch: list[_Row] = []
    longest = 0
    for row in sorted(rows, key=lambda r: (-len(r.row.tokens), -r.source)):
        source = max(longest, row.source)
        if batch:
            width = len(batch[0].row.tokens)
            over = (len(batch) + 1) * (width + source) > tokens
            many = size is not None and sum(len(r.members) for r in [*batch, row]) > size
            if over or many:
                yield batch
                batch, source = [], row.source
        batch.append(row)
        longest = source
    if batch:
        yield batch


def _windows(
    groups: Mapping[tuple[int, ...], Sequence[int]],
) -> Iterator[list[tuple[int, ...]]]:
    """Yield sources, the longest first, as many as may be kept encoded at a time."""
    window: list[tuple[int, ...]] = []
    tokens = 0
    for source in sorted(groups, key=lambda s: (-len(s), s)):
        if tokens > _KEPT:
            yield window
            window, tokens = [], 0
        window.append(source)
        tokens += len(source)
    if window:
        yield window


def _cut(ids: list[int], limit: int) -> list[int]:
    """Cut a sequence before its end, where EOS and language tokens stand."""
    return ids if len(ids) <= limit else ids[: limit - 2] + ids[-2:]


def _multilingual(tokenizer: Any) -> bool:
    return hasattr(tokenizer, "src_lang") and hasattr(tokenizer, "set_src_lang_special_tokens")


def _language_id(tokenizer: Any, code: str) -> int:
    special = special_tokens(tokenizer)
    return special[code] if code in special else special[f"__{code}__"]
