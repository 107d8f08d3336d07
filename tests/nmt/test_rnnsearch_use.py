"""RNNSearch at work: it learns, and boxpen's scorer scores it."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from boxpen import Request, ScoringPolicy  # noqa: E402
from boxpen.models.seq2seq import Seq2SeqModel  # noqa: E402
from boxpen.nmt.architectures.rnnsearch import (  # noqa: E402
    RNNSearchConfig,
    RNNSearchForConditionalGeneration,
)

PAD, EOS, COPY, REVERSE, FIRST, LETTERS, LONGEST = 0, 1, 2, 3, 4, 10, 8


def tasks(count: int, dice: Any) -> tuple[dict[str, Any], Any]:
    """Return sequences to copy or to reverse, as the first token says; and the answers."""
    source = torch.full((count, LONGEST + 2), PAD)
    labels = torch.full((count, LONGEST + 1), -100)
    for i in range(count):
        length = int(torch.randint(3, LONGEST + 1, (), generator=dice))
        task = int(torch.randint(COPY, REVERSE + 1, (), generator=dice))
        text = torch.randint(FIRST, FIRST + LETTERS, (length,), generator=dice)
        source[i, : length + 2] = torch.tensor([task, *text, EOS])
        answer = text if task == COPY else text.flip(0)
        labels[i, : length + 1] = torch.tensor([*answer, EOS])
    return {"input_ids": source, "attention_mask": (source != PAD).long()}, labels


@pytest.mark.heavy
def test_it_learns_to_copy_and_to_reverse() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = RNNSearchForConditionalGeneration(
        RNNSearchConfig(
            vocab_size=FIRST + LETTERS,
            hidden_size=64,
            num_hidden_layers=2,
            dropout=0.0,
            share_encoder_decoder_embeddings=True,
        )
    )
    dice = torch.Generator().manual_seed(2)
    held_out, answers = tasks(300, torch.Generator().manual_seed(3))
    seen: set[tuple[int, ...]] = set()
    steps = 500
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 5e-3, total_steps=steps)
    for _ in range(steps):
        inputs, labels = tasks(64, dice)
        seen.update(map(tuple, inputs["input_ids"].tolist()))
        optimizer.zero_grad()
        model(**inputs, labels=labels).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        schedule.step()
    made = model.eval().generate(**held_out, max_new_tokens=LONGEST + 1)[:, 1:]
    made = torch.nn.functional.pad(made, (0, LONGEST + 1 - made.shape[1]), value=PAD)
    new = [i for i, row in enumerate(held_out["input_ids"].tolist()) if tuple(row) not in seen]
    assert len(new) > 200
    right = (made == answers.masked_fill(answers == -100, PAD)).all(dim=1)[new]
    assert right.float().mean() >= 0.99


def test_the_scorer_agrees_with_a_sum_over_steps() -> None:
    english = ["the", "box", "was", "in", "a", "pen", "so", "he", "found", "it"]
    tokens = ["<pad>", "</s>", "<unk>", *english, "箱子", "在", "围栏", "里"]
    vocabulary = {token: i for i, token in enumerate(tokens)}
    backend = _tokenizer(vocabulary)
    torch.manual_seed(4)
    config = RNNSearchConfig(
        vocab_size=len(vocabulary), hidden_size=24, num_hidden_layers=3,
        share_encoder_decoder_embeddings=True,
    )  # fmt: skip
    module = RNNSearchForConditionalGeneration(config).eval()
    with torch.no_grad():
        for weight in module.parameters():
            weight.add_(torch.randn(weight.shape) * 0.3)
    model = Seq2SeqModel(
        name="rnn", load=lambda: module, config=config, tokenizer=backend, fingerprint="",
        dtype="float32",
    )  # fmt: skip
    pairs = [
        ("箱子 在 围栏 里", "the box was in the pen"),
        ("箱子 在 围栏 里", "the box was in a box"),
        ("围栏", "he found it so it was in the pen"),
    ]
    requests = [Request(text, source=source) for source, text in pairs]
    resolved_policy = model.resolve_policy(ScoringPolicy())
    records = {i: r for few in model.score(requests, resolved_policy) for i, r in few}
    assert model.head is not None, "the scorer did not find the parts of the model"
    for i, (source, text) in enumerate(pairs):
        read = [vocabulary[w] for w in source.split()] + [EOS]
        target = [vocabulary[w] for w in text.split()] + [EOS]
        total = 0.0
        for place, token in enumerate(target):
            with torch.no_grad():
                logits = module(
                    input_ids=torch.tensor([read]),
                    decoder_input_ids=torch.tensor([[PAD, *target[:place]]]),
                ).logits[0, -1]
            total += float(torch.log_softmax(logits.double(), -1)[token])
        assert records[i].token_ids.tolist() == target
        assert records[i].total == pytest.approx(total, abs=1e-4)
    made = [text for few in model.translate([s for s, _ in pairs], ("zh", "en"), beam=4)
            for _, text in few]  # fmt: skip
    assert len(made) == len(pairs)


def _tokenizer(vocabulary: dict[str, int]) -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    backend = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    backend.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", EOS)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, eos_token="</s>", pad_token="<pad>", unk_token="<unk>"
    )
