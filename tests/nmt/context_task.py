"""A toy language whose pronoun only the sentence before can settle, and how to learn it.

A source sentence is a few words and one pronoun; each word has one translation, word for word,
but the pronoun has four. Which of them is right is said by the one antecedent in the sentence
before: antecedent 0 wants pronoun 0, and so on. A model that cannot see the context is right one
time in four.

    context   w v A w w /      source   v w P w /      target   v' w' P_A w' /

Both sides have 40 tokens: 0 ends a sentence, 2 fills up (and starts the decoder).
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from functools import cache
from typing import Any

import torch
from torch import Tensor

EOS, CLS, PAD, PRONOUN, VOCABULARY = 0, 1, 2, 3, 40
ANTECEDENTS = range(4, 8)  # in the source; the target's pronouns have the same numbers
WORDS = range(8, 24)
WORD_SHIFT, ANTECEDENT_SHIFT = 10, 30  # from a source token to the target token that renders it
LONGEST = 3  # words of a sentence beside the pronoun or the antecedent


def context_task(seed: int, rows: int, bert: bool = False) -> dict[str, Tensor]:
    """Return a batch of the toy language.

    Returns:
        ``input_ids``, ``attention_mask``, ``context_input_ids``, ``context_attention_mask``,
        ``labels`` (-100 behind the end), ``decoder_input_ids``, and ``answer``, (rows, 2): the
        place of the pronoun in the labels and its right token. With ``bert`` also
        ``bert_input_ids`` (CLS context SEP source SEP, in the same 40 tokens; SEP is the end of a
        sentence) and ``bert_attention_mask``.
    """
    dice = random.Random(seed)
    contexts, sources, targets, answers = [], [], [], []
    for _ in range(rows):
        antecedent = dice.choice(ANTECEDENTS)
        context, _ = _sentence(dice, antecedent)
        source, place = _sentence(dice, PRONOUN)
        target = translated(source)
        target[place] = antecedent
        contexts.append(context)
        sources.append(source)
        targets.append(target)
        answers.append([place, antecedent])
    batch = {"answer": torch.tensor(answers), "labels": _filled(targets, -100)}
    batch["input_ids"], batch["attention_mask"] = padded(sources)
    batch["context_input_ids"], batch["context_attention_mask"] = padded(contexts)
    batch["decoder_input_ids"], _ = padded([[PAD, *target[:-1]] for target in targets])
    if bert:
        read = [[CLS, *c, *s] for c, s in zip(contexts, sources, strict=True)]
        batch["bert_input_ids"], batch["bert_attention_mask"] = padded(read)
    return batch


def translated(source: list[int]) -> list[int]:
    """Return a translation without context: word for word, and pronoun 0 for every pronoun."""
    target = []
    for token in source:
        if token in WORDS:
            token += WORD_SHIFT
        elif token in ANTECEDENTS:
            token += ANTECEDENT_SHIFT
        elif token == PRONOUN:
            token = ANTECEDENTS[0]
        target.append(token)
    return target


def padded(rows: list[list[int]], more: int = 0) -> tuple[Tensor, Tensor]:
    """Return rows filled up on the right, with ``more`` columns than needed, and their mask."""
    ids = torch.nn.functional.pad(_filled(rows, PAD), (0, more), value=PAD)
    lengths = torch.tensor([len(row) for row in rows])
    return ids, (torch.arange(ids.shape[1]) < lengths[:, None]).long()


def tiny_marian(seed: int, *, shared: bool = False, dropout: float = 0.0, length: int = 32) -> Any:
    """Return a plain sentence-level Transformer of the toy language: 64 wide, 2 layers."""
    from boxpen.nmt.architectures.sizes import new_model

    torch.manual_seed(seed)
    return new_model(
        "transformer",
        "tiny",
        source_vocabulary=VOCABULARY,
        target_vocabulary=VOCABULARY,
        shared=shared,
        pad=PAD,
        eos=EOS,
        dropout=dropout,
        max_length=length,
    )


def quick_marian(seed: int) -> Any:
    """Return the same, but sooner learnt: words are faint beside their places at first.

    What a word is rendered by stands at its own place, and that is seen at once.
    """
    model = tiny_marian(seed)
    with torch.no_grad():
        for part in (model.model.encoder, model.model.decoder):
            part.embed_tokens.weight.mul_(0.5)
    return model


@cache
def sentence_model() -> Any:
    """Return a model that has learnt the toy language, but for its pronouns; not to be changed."""
    model = quick_marian(1)
    learn(model, model.parameters(), steps=120)
    return model


def inputs_of(batch: dict[str, Tensor], reads: Iterable[str] = ()) -> dict[str, Tensor]:
    """Return what a model is given of a batch: Marian's own inputs, and those it ``reads``.

    For each ``..._ids`` it reads, the mask comes along.
    """
    names = {"input_ids", "attention_mask", "decoder_input_ids", "labels"}
    for name in reads:
        names |= {name, name.replace("input_ids", "attention_mask")}
    return {name: value for name, value in batch.items() if name in names}


def learn(
    model: Any,
    parameters: Iterable[torch.nn.Parameter],
    *,
    steps: int,
    reads: Iterable[str] = (),
    rate: float = 4e-3,
    rows: int = 64,
    seed: int = 1,
    bert: bool = False,
) -> None:
    """Train the parameters on fresh batches in a plain loop: Adam, one cycle of the rate."""
    reads, chosen = list(reads), list(parameters)
    optimizer = torch.optim.Adam(chosen, lr=rate, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    model.train()
    for step in range(steps):
        batch = context_task(seed * 100_003 + step, rows, bert)
        optimizer.zero_grad()
        model(**inputs_of(batch, reads)).loss.backward()
        torch.nn.utils.clip_grad_norm_(chosen, 1.0)
        optimizer.step()
        schedule.step()
    model.eval()


def accuracy(
    model: Any,
    *,
    reads: Iterable[str] = (),
    seed: int = 0,
    rows: int = 400,
    bert: bool = False,
) -> tuple[float, float]:
    """Return how often the pronoun is right, and how often any other token, when forced.

    The seed 0 draws sentences that ``learn`` (whose seeds are larger) has not drawn.
    """
    batch = context_task(seed, rows, bert)
    with torch.no_grad():
        best = model(**inputs_of(batch, reads)).logits.argmax(-1)  # (rows, target)
    right, given = best == batch["labels"], batch["labels"] != -100
    place = batch["answer"][:, :1]
    pronouns = right.gather(1, place).float().mean().item()
    others = given.scatter(1, place, value=False)
    return pronouns, right[others].float().mean().item()


def _sentence(dice: random.Random, special: int) -> tuple[list[int], int]:
    """Return words with the special token among them and the end behind them, and its place."""
    words = dice.choices(WORDS, k=dice.randint(1, LONGEST))
    place = dice.randint(0, len(words))
    return [*words[:place], special, *words[place:], EOS], place


def _filled(rows: list[list[int]], fill: int) -> Tensor:
    width = max(map(len, rows))
    return torch.tensor([row + [fill] * (width - len(row)) for row in rows])
