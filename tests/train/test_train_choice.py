"""Multiple-choice models learn, whatever their class and however many candidates there are."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
import torch
import transformers
from easy_rules import choice_rows
from transformers import AutoTokenizer
from typer.testing import CliRunner

import boxpen
from boxpen.errors import SuiteError
from boxpen.items import Choice
from boxpen.lm import Options, train_choice
from boxpen.lm.classifier.choice import MultipleChoice
from boxpen.metrics.choice import accuracy

FAST = Options(epochs=3, batch_size=16, learning_rate=5e-3, every=20, patience=0, seed=1)
CLASSES = {
    "bert": "BertForMultipleChoice",
    "llama": "LlamaForSequenceClassification",
}
Base = Callable[[str], str]


def loaded(out: Path) -> Any:
    """Load a model as its configuration says, and nothing but that."""
    config = transformers.AutoConfig.from_pretrained(out)
    (name,) = config.architectures
    module, info = getattr(transformers, name).from_pretrained(out, output_loading_info=True)
    assert not info["missing_keys"]
    return module.eval()


def logit(module: Any, tokenizer: Any, goal: str, candidate: str) -> float:
    """Put one candidate alone."""
    batch = tokenizer(goal, candidate, return_tensors="pt")
    if type(module).__name__.endswith("ForMultipleChoice"):
        batch = {name: value[None] for name, value in batch.items()}
    with torch.no_grad():
        return float(module(**batch).logits.squeeze())


@pytest.mark.parametrize("kind", list(CLASSES))
def test_an_easy_rule_is_learnt_and_one_candidate_at_a_time_decides_alike(
    kind: str, tiny_base: Base, piqa: Path, tmp_path: Path
) -> None:
    out = tmp_path / "model"
    result = train_choice(piqa, base=tiny_base(kind), out=out, options=FAST, holdout=0.2)
    assert result["accuracy"] > 0.9
    assert result["chance"] == 0.5
    module, tokenizer = loaded(out), AutoTokenizer.from_pretrained(out)
    assert type(module).__name__ == CLASSES[kind]
    assert kind == "bert" or module.config.num_labels == 1
    assert module.config.pad_token_id == tokenizer.pad_token_id is not None
    held = [json.loads(line) for line in (out / "held-out.jsonl").read_text().splitlines()[1:]]
    right = 0
    for row in held:
        scores = [logit(module, tokenizer, row["context"], c) for c in row["candidates"]]
        right += scores.index(max(scores)) == row["gold"]
    assert right / len(held) == pytest.approx(result["accuracy"])
    run = boxpen.evaluate(f"hf:{out}", out / "held-out.jsonl", device="cpu", cache=":memory:")
    assert (run.info.model.kind, len(run.verdicts)) == ("choice", len(held))
    assert accuracy(run.verdicts).value == pytest.approx(result["accuracy"])


@pytest.mark.parametrize("kind", list(CLASSES))
def test_scores_of_a_batch_are_those_of_single_candidates(kind: str, tiny_base: Base) -> None:
    """Items with two, three and four candidates in one batch; none is scored as a filler."""
    folder = tiny_base(kind).removeprefix("hf:")
    config = transformers.AutoConfig.from_pretrained(folder)
    from boxpen.lm.classifier.base import find_base

    base = find_base(f"hf:{folder}", tokenizer=None, texts=())
    auto = getattr(transformers, MultipleChoice.auto(config))
    module = base.load(auto, **MultipleChoice.head(config)).eval()
    items = [("the cat eats", ["bread", "fish soup"]), ("", ["milk", "rice", "not the cat"])]
    items.append(("the dog", ["soup", "the", "not not", "cat dog man"]))
    model = MultipleChoice(module, base.tokenizer, 1)
    asked = [Choice(id=g, context=g or None, candidates=tuple(cs), gold=0) for g, cs in items]
    features = sorted(model.features(asked, 32).features)
    batch = model.batch(features, 0)
    with torch.no_grad():
        inputs = {name: batch[name] for name in batch if name not in ("labels", "sizes")}
        scores = model.scores(inputs, batch["sizes"])
    assert scores.shape == (3, 4)
    for row, (goal, candidates) in zip(scores.tolist(), items, strict=True):
        texts = [(goal, c) if goal else (c,) for c in candidates]
        for score, text in zip(row, texts, strict=False):
            single = base.tokenizer(*text, return_tensors="pt")
            if kind == "bert":
                single = {name: value[None] for name, value in single.items()}
            with torch.no_grad():
                assert score == pytest.approx(float(module(**single).logits), abs=1e-5)
        assert all(score < -1e30 for score in row[len(candidates) :])


def test_candidates_of_different_number_are_trained_together(
    tiny_base: Base, tmp_path: Path
) -> None:
    items = []
    for i, row in enumerate(choice_rows(60)):
        candidates = [row["sol1"], row["sol2"], "not bread"][: 2 + i % 2]
        items.append({"id": str(i), "context": row["goal"], "candidates": candidates,
                      "gold": row["label"]})  # fmt: skip
    path = tmp_path / "suite.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in items))
    options = Options(epochs=1, batch_size=8)
    result = train_choice(path, base=tiny_base("bert"), out=tmp_path / "m", options=options)
    assert 1 / 3 <= result["chance"] <= 1 / 2


def test_the_command_reads_labels_beside_the_file_and_refuses_others(
    tiny_base: Base, piqa: Path, tmp_path: Path
) -> None:
    from boxpen.cli.app import app

    rows = [json.loads(line) for line in piqa.read_text().splitlines()]
    labels = tmp_path / "gold.lst"
    labels.write_text("".join(f"{row.pop('label')}\n" for row in rows))
    piqa.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = [
        *("train", "choice", "--data", str(piqa), "--labels", str(labels), "--epochs", "0.1"),
        *("--base", tiny_base("llama"), "--out", str(tmp_path / "m")),
    ]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert "held-out accuracy" in done.stdout
    labels.write_text("0\n")
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 2
    assert "gold.lst has 1 label(s), expected 400" in done.stderr
    with pytest.raises(SuiteError, match="has no column 'label'"):
        train_choice(piqa, base=tiny_base("llama"), out=tmp_path / "n")
