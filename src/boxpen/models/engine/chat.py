"""Answers of local instruction models: the chat template, and greedy generation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from boxpen.errors import ModelError
from boxpen.models.encoded import ANSWER

__all__ = ["answers", "chat_prompt"]


def chat_prompt(model: Any, question: str) -> str:
    """Return a question in a model's chat template, up to where its answer begins.

    Args:
        model: A ``TransformersModel``.
        question: What to ask.

    Raises:
        ModelError: If the template does not take a single question of a user.
    """
    asked = [{"role": "user", "content": question}]
    try:
        text: str = model.tokenizer.apply_chat_template(
            asked, tokenize=False, add_generation_prompt=True
        )
    except Exception as error:  # whatever a template of Jinja raises
        raise ModelError(f"the chat template of '{model.name}' fails: {error}") from None
    return text


def answers(model: Any, questions: Sequence[str]) -> Iterator[list[tuple[int, str]]]:
    """Yield batches of (index, answer), each word the likeliest one.

    Questions of one length make a batch, so that nothing is padded and an answer does not depend
    on the other questions.
    """
    import torch

    tokenizer = model.tokenizer
    texts = [chat_prompt(model, question) for question in questions]
    ids = tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"]
    limit = model.limit(None)
    for i, row in enumerate(ids):
        if len(row) + ANSWER > limit:
            model.unanswered[questions[i]] = f"longer than the {limit:,} tokens that it reads"
    settings: dict[str, Any] = {"max_new_tokens": ANSWER, "do_sample": False, "num_beams": 1}
    settings |= {"repetition_penalty": 1.0, "no_repeat_ngram_size": 0}  # letters are in the prompt
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id

    def run(few: Sequence[int]) -> list[str]:
        rows = torch.tensor([ids[i] for i in few], device=model.device)
        with torch.inference_mode():
            made = model.module.generate(
                input_ids=rows,
                attention_mask=torch.ones_like(rows),
                pad_token_id=pad,
                **settings,
            )
        cut = made[:, rows.shape[1] :]
        decoded: list[str] = tokenizer.batch_decode(cut, skip_special_tokens=True)
        return decoded

    lengths = [len(row) + ANSWER for row in ids]
    for length in sorted(n for n in set(lengths) if n <= limit):
        members = [i for i, own in enumerate(lengths) if own == length]
        for few, found in model.in_batches(
            members, [length] * len(members), run, size=model.batch_size
        ):
            yield list(zip(few, found, strict=True))
