"""Slow twins of the scorers: one sentence, one token at a time; no batch, no padding, no mask.

Written from the definitions and sharing nothing with the package. Every function returns the
scored tokens and their log-probabilities; the softmax is taken in float64 of the float32 logits.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import regex
import sentencepiece
import torch

Scores = tuple[list[int], list[float]]

# What GPT-2 and RoBERTa split a text by before their byte-pair encoding (Radford et al. 2019).
_GPT2_WORDS = regex.compile(
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
)


def log_probability(logits: torch.Tensor, token: int) -> float:
    """Of one token, given the logits of one position."""
    return float(torch.log_softmax(logits.float().double(), dim=-1)[token])


def split(tokenizer: Any, prefix: str, text: str) -> tuple[list[int], int]:
    """Return the tokens of prefix and text, and where the text begins; the join must be clean."""
    whole = tokenizer.encode(prefix + text, add_special_tokens=False)
    before = tokenizer.encode(prefix, add_special_tokens=False) if prefix else []
    assert whole[: len(before)] == before, "choose a text whose join is clean"
    return whole, len(before)


@torch.inference_mode()
def causal(
    pair: Any, text: str, prefix: str = "", *, bos: int | None = None, eos: int | None = None
) -> Scores:
    """Each token from what stands before it, and nothing else is even shown to the model."""
    module, tokenizer = pair
    ids, start = split(tokenizer, prefix, text)
    if bos is not None:
        ids, start = [bos, *ids], start + 1
    if eos is not None:
        ids = [*ids, eos]
    positions = [i for i in range(start, len(ids)) if i > 0]
    values = []
    for i in positions:
        logits = module(input_ids=torch.tensor([ids[:i]])).logits
        values.append(log_probability(logits[0, -1], ids[i]))
    return [ids[i] for i in positions], values


def words_of_wordpieces(pieces: list[str]) -> list[int]:
    """Number words by the ``##`` that continues one."""
    numbers, current = [], -1
    for piece in pieces:
        current += not piece.startswith("##")
        numbers.append(current)
    return numbers


def words_of_bytes(pieces: list[str], text: str) -> list[int]:
    """Number words of byte-level pieces, each of whose characters stands for one byte."""
    starts_word, inside_character, han = set(), set(), set()
    place = 0
    for match in _GPT2_WORDS.finditer(text):
        starts_word.add(place)
        for character in match.group():
            size = len(character.encode())
            inside_character.update(range(place + 1, place + size))
            if "\u4e00" <= character <= "\u9fff":
                han.update(range(place, place + size))
            place += size
    numbers, current, place, before_is_han = [], -1, 0, False
    for piece in pieces:
        span = range(place, place + len(piece))
        is_han = any(i in han for i in span)
        cut = (is_han or before_is_han) and place not in inside_character
        current += place in starts_word or cut
        numbers.append(current)
        place, before_is_han = place + len(piece), is_han
    return numbers


def words_of_sentencepieces(pieces: list[str]) -> list[int]:
    """Number words by the ``▁`` that begins one; every piece with a Han character stands alone.

    A bare ``▁`` is no word: it goes with the piece behind it.
    """

    def is_han(piece: str) -> bool:
        return any("\u4e00" <= c <= "\u9fff" for c in piece)

    numbers, current = [], -1
    for i, piece in enumerate(pieces):
        alone = is_han(piece) or (i > 0 and is_han(pieces[i - 1]))
        alone = alone and not (i > 0 and pieces[i - 1] == "▁")
        current += piece.startswith("▁") or i == 0 or alone
        numbers.append(current)
    return numbers


WORDS = {
    "bert": lambda pieces, _: words_of_wordpieces(pieces),
    "roberta": words_of_bytes,
    "unigram_bert": lambda pieces, _: words_of_sentencepieces(pieces),
}


@torch.inference_mode()
def masked(pair: Any, text: str, prefix: str = "", *, pll: str, words: Any = None) -> Scores:
    """Each token from both sides, itself masked, in a sequence of its own."""
    module, tokenizer = pair
    ids, start = split(tokenizer, prefix, text)
    pieces = tokenizer.convert_ids_to_tokens(ids)
    numbers = words(pieces, prefix + text) if pll == "within_word_l2r" else None
    values = []
    for i in range(start, len(ids)):
        shown = list(ids)
        if pll != "unmasked":
            shown[i] = tokenizer.mask_token_id
        if numbers is not None:
            for later in range(i + 1, len(ids)):
                if numbers[later] == numbers[i]:
                    shown[later] = tokenizer.mask_token_id
        row = [tokenizer.cls_token_id, *shown, tokenizer.sep_token_id]
        logits = module(input_ids=torch.tensor([row])).logits
        values.append(log_probability(logits[0, i + 1], ids[i]))
    return ids[start:], values


@torch.inference_mode()
def permuted(pair: Any, text: str, prefix: str = "") -> Scores:
    """Each token from all others: no query may see it, and the one prediction is of its place."""
    module, tokenizer = pair
    ids, start = split(tokenizer, prefix, text)
    row = [*ids, tokenizer.sep_token_id, tokenizer.cls_token_id]
    values = []
    for i in range(start, len(ids)):
        perm_mask = torch.zeros(1, len(row), len(row))
        perm_mask[0, :, i] = 1.0
        target_mapping = torch.zeros(1, 1, len(row))
        target_mapping[0, 0, i] = 1.0
        logits = module(
            input_ids=torch.tensor([row]), perm_mask=perm_mask, target_mapping=target_mapping
        ).logits
        values.append(log_probability(logits[0, 0], ids[i]))
    return ids[start:], values


@torch.inference_mode()
def step_by_step(module: Any, source: list[int], given: list[int], target: list[int]) -> Scores:
    """Each target token from the source and a decoder input that grows by one token a step."""
    values = []
    for i, token in enumerate(target):
        decoder = torch.tensor([[*given, *target[:i]]])
        logits = module(input_ids=torch.tensor([source]), decoder_input_ids=decoder).logits
        values.append(log_probability(logits[0, -1], token))
    return target, values


def translation(
    name: str, pair: Any, folder: Path, source: str, text: str, *, eos: bool, languages: Any
) -> Scores:
    """Spell out, for each family, what the encoder reads and what the decoder is given."""
    module, tokenizer = pair
    if name == "marian":
        vocab = json.loads((folder / "vocab.json").read_text("utf-8"))

        def side(which: str, text: str) -> list[int]:
            model = sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{which}.spm"))
            pieces = model.encode(text, out_type=str)
            return [vocab.get(p, vocab["<unk>"]) for p in pieces]

        end = vocab["</s>"]
        reads, target = [*side("source", source), end], side("target", text)
        given = [vocab["<pad>"]]
    else:
        vocab = tokenizer.get_vocab()
        end = vocab["</s>"]
        reads = tokenizer.encode(source, add_special_tokens=False)
        target = tokenizer.encode(text, add_special_tokens=False)
        if name == "nllb":
            codes = {"en": "eng_Latn", "zh": "zho_Hans"}
            reads = [vocab[codes[languages[0]]], *reads, end]
            given = [end, vocab[codes[languages[1]]]]
        elif name == "mbart":
            codes = {"en": "en_XX", "zh": "zh_CN"}
            reads = [*reads, end, vocab[codes[languages[0]]]]
            given = [vocab[codes[languages[1]]]]
        else:  # T5
            reads, given = [*reads, end], [vocab["<pad>"]]
    return step_by_step(module, reads, given, [*target, end] if eos else target)
