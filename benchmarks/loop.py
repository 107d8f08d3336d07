"""The loop that one writes by hand: sort by length, pad, run, gather. The baseline of all tables.

Made better than most that one finds: the tokenizer is called once for all texts,
nothing is copied back before the end, the log-sum-exp is taken without a second array as large as
the logits, and a causal model is given no mask, since it cannot see padding on the right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

__all__ = ["causal", "causal_rows", "masked", "seq2seq"]


def causal(module: Any, tokenizer: Any, texts: Sequence[str], batch_size: int) -> list[float]:
    """Return Σ log p(token | BOS and the tokens before it) of every text."""
    bos = tokenizer.bos_token_id
    encoded = tokenizer(list(texts), add_special_tokens=False)["input_ids"]
    return causal_rows(module, [[bos, *ids] for ids in encoded], batch_size)


def causal_rows(module: Any, rows: Sequence[list[int]], batch_size: int) -> list[float]:
    """Do the same for token ids, BOS first."""
    totals = []
    order = list(_by_length([len(row) for row in rows], batch_size))
    for batch in order:
        ids, mask = _padded([rows[i] for i in batch], 0, module.device)  # (batch, time)
        with torch.inference_mode():
            logits = module(input_ids=ids[:, :-1], use_cache=False).logits
            totals.append((_logprobs(logits, ids[:, 1:]) * mask[:, 1:]).sum(1))
    return _in_order(order, totals)


def masked(
    module: Any, tokenizer: Any, texts: Sequence[str], batch_size: int, *, pll: str
) -> list[float]:
    """Return the pseudo-log-likelihood of every text; the batch size counts masked copies."""
    encoded = tokenizer(list(texts), return_special_tokens_mask=True)
    copies: list[tuple[int, int, list[int]]] = []  # text, position, tokens
    for i, ids in enumerate(encoded["input_ids"]):
        words = encoded.word_ids(i)
        for at, special in enumerate(encoded["special_tokens_mask"][i]):
            if not special:
                hidden = {at}
                if pll == "within_word_l2r":
                    hidden = {j for j in range(at, len(ids)) if words[j] == words[at]}
                masks = [tokenizer.mask_token_id if j in hidden else t for j, t in enumerate(ids)]
                copies.append((i, at, masks))
    values = []
    order = list(_by_length([len(ids) for _, _, ids in copies], batch_size))
    for batch in order:
        texts_of, columns, rows = zip(*(copies[c] for c in batch), strict=True)
        ids, mask = _padded(rows, tokenizer.pad_token_id, module.device)
        targets = [encoded["input_ids"][i][at] for i, at in zip(texts_of, columns, strict=True)]
        with torch.inference_mode():
            logits = module(input_ids=ids, attention_mask=mask).logits
            asked = logits[torch.arange(len(batch)), torch.tensor(columns)]
            values.append(_logprobs(asked, torch.tensor(targets, device=module.device)))
    totals = [0.0] * len(texts)
    for (i, _, _), value in zip(copies, _in_order(order, values), strict=True):
        totals[i] += value
    return totals


def seq2seq(
    module: Any, tokenizer: Any, pairs: Sequence[tuple[str, str]], batch_size: int
) -> list[float]:
    """Return Σ log p(token | source, the tokens before it), end included, of every target."""
    sources = tokenizer([source for source, _ in pairs])["input_ids"]
    labels = tokenizer(text_target=[target for _, target in pairs])["input_ids"]
    start, pad = module.config.decoder_start_token_id, tokenizer.pad_token_id
    totals = []
    lengths = [max(len(s), len(t)) for s, t in zip(sources, labels, strict=True)]
    order = list(_by_length(lengths, batch_size))
    for batch in order:
        read, read_mask = _padded([sources[i] for i in batch], pad, module.device)
        ids, mask = _padded([[start, *labels[i]] for i in batch], pad, module.device)
        with torch.inference_mode():
            logits = module(
                input_ids=read,
                attention_mask=read_mask,
                decoder_input_ids=ids[:, :-1],
                use_cache=False,
            ).logits
            totals.append((_logprobs(logits, ids[:, 1:]) * mask[:, 1:]).sum(1))
    return _in_order(order, totals)


def _by_length(lengths: Sequence[int], size: int) -> Iterator[list[int]]:
    """Yield batches of indices, the longest first, so that want of memory shows at once."""
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    for start in range(0, len(order), size):
        yield order[start : start + size]


def _padded(
    rows: Sequence[Sequence[int]], fill: int, device: Any
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return rows filled up on the right, and which of it is real: both (rows, longest)."""
    width = max(len(row) for row in rows)
    ids = torch.tensor([[*row, *[fill] * (width - len(row))] for row in rows])
    real = torch.arange(width) < torch.tensor([len(row) for row in rows])[:, None]
    return ids.to(device), real.long().to(device)


def _logprobs(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    logits = logits.float()  # (..., vocab)
    return logits.gather(-1, targets[..., None])[..., 0] - logits.logsumexp(-1)


def _in_order(order: Sequence[Sequence[int]], parts: Sequence[torch.Tensor]) -> list[float]:
    flat = torch.cat(list(parts)).tolist() if parts else []
    out = [0.0] * len(flat)
    for i, value in zip((i for batch in order for i in batch), flat, strict=True):
        out[i] = value
    return out
