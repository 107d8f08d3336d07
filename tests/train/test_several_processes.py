"""Several processes learn what one does; several-gpus.md has the commands, which run here."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("sentencepiece")
pytest.importorskip("accelerate")
import torch
from easy_rules import choice_rows, nli_rows, write_csv
from safetensors.torch import load_file
from sentence_rules import BASES, lines, write_text
from typer.testing import CliRunner

from boxpen.cli.app import app
from boxpen.errors import TrainError
from boxpen.items import Choice, Entail
from boxpen.lm import Options
from boxpen.lm.begin import begin
from boxpen.lm.classifier.base import find_base
from boxpen.lm.classifier.choice import MultipleChoice
from boxpen.lm.classifier.nli import Inference
from boxpen.lm.feed import ItemFeed
from boxpen.lm.objective import Objective
from boxpen.training.learner import Learner
from boxpen.training.processes import Processes
from boxpen.training.state import Place, Step

sys.path.append(str(Path(__file__).parents[1] / "nmt"))
from toy_corpus import CONFIG, write_config, write_corpus

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "train" / "several-gpus.md").read_text(
    "utf-8"
)
LINES = [line.strip() for line in PAGE.splitlines() if line.startswith("    ")]
PLAIN = CONFIG.replace('size = "tiny"', 'size = "tiny"\ndropout = 0.0')
LAUNCHERS = {
    "torchrun": [sys.executable, "-m", "torch.distributed.run"],
    # It looks for a free port and takes it seconds later, when the libraries are loaded.
    "accelerate": [sys.executable, "-m", "accelerate.commands.launch", "--main_process_port", "0"],
}
Base = Callable[[str], str]


def command(task: str) -> list[str]:
    """Return the words of the command of the page that trains this."""
    (line,) = [line for line in LINES if f" boxpen train {task} " in line]
    return shlex.split(line)


def launched(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command of the page in two processes.

    A port that another program has taken meanwhile is looked for anew: nothing has begun then.
    """
    launcher = words[0]
    words = [*LAUNCHERS[launcher], *words[1 + (launcher == "accelerate") :]]
    words[words.index("4")] = "2"
    # Threads of the process group may abort when the interpreter is taken apart. Here it always
    # does; a training that is finished does not come to that.
    (folder / "sitecustomize.py").write_text(
        "import atexit, os\nif 'LOCAL_RANK' in os.environ:\n    atexit.register(os.abort)\n"
    )
    found = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    given = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": found}
    for left in (2, 1, 0):
        with subprocess.Popen(
            words,
            cwd=folder,
            env=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as begun:
            try:
                out, err = begun.communicate()
            except BaseException:
                begun.terminate()  # and not killed: it has the two processes to end
                raise
        if begun.returncode == 0 or not left or "EADDRINUSE" not in err:
            break
    return subprocess.CompletedProcess(words, begun.returncode, out, err)


def alone(words: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Run a command in this process, without its launcher, and return its result."""
    monkeypatch.chdir(folder)
    done = CliRunner().invoke(app, [*words[words.index("boxpen") + 1 :], "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def losses(folder: Path) -> dict[int, float]:
    entries = map(json.loads, (folder / "log.jsonl").read_text().splitlines())
    return {e["step"]: e["loss"] for e in entries if "loss" in e}


def assert_alike(one: Path, two: Path) -> None:
    """The same losses and weights."""
    expected, found = losses(one), losses(two)
    assert expected.keys() == found.keys()
    assert len(found) > 1
    for step, loss in expected.items():
        assert found[step] == pytest.approx(loss, abs=1e-4)
    weights = load_file(one / "model.safetensors")
    for name, weight in load_file(two / "model.safetensors").items():
        torch.testing.assert_close(weight, weights[name], rtol=0, atol=1e-4)
    assert json.loads((two / "result.json").read_text())["processes"] == 2


@pytest.mark.timeout(1200)  # three programs load the libraries, and others may be busy
def test_translation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = [*command("nmt"), "--device", "cpu"]
    one, two = tmp_path / "one", tmp_path / "two"
    for folder, changes in ((one, {"accumulate": "2"}), (two, {})):
        folder.mkdir()
        write_corpus(folder)
        write_config(folder, PLAIN, max_steps="10", **changes).rename(folder / "zh-en.toml")
    done = launched(words, two)
    assert done.returncode == 0, done.stderr
    result = alone(words, one, monkeypatch)
    assert_alike(one / "out", two / "out")
    together = json.loads((two / "out" / "result.json").read_text())
    assert together["loss"] == pytest.approx(result["loss"], abs=1e-4)
    # One of them speaks.
    assert done.stdout.count("validation loss") == 1
    for line in ("clean: ", "subwords: ", "encode: ", "training: ", "pairs, on cpu in 2 proc",
                 "step 5/10", "validation: loss"):  # fmt: skip
        assert done.stderr.count(line) == 1, (line, done.stderr)
    assert "as before" not in done.stderr


@pytest.mark.heavy  # fast: test_translation
@pytest.mark.timeout(1200)
def test_language_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = [*command("lm"), "--device", "cpu", "--epochs", "1", "--every", "4"]
    words[words.index("new:small")] = "new:tiny"
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()
        # 217 for training: seven steps, the last of an odd number of sentences.
        write_text(folder / "text.txt", 241)
    done = launched(words, two)
    assert done.returncode == 0, done.stderr
    result = alone(words, one, monkeypatch)
    assert_alike(one / "models" / "lm", two / "models" / "lm")
    together = json.loads((two / "models" / "lm" / "result.json").read_text())
    for name in ("loss", "loss_before", "perplexity"):
        assert together.pop(name) == pytest.approx(result.pop(name), rel=1e-4)
    assert together | {"out": "models/lm"} == result | {"processes": 2}
    assert done.stdout.count("held-out loss") == 1
    for line in ("training: ", "sentences, on cpu in 2 processes"):
        assert done.stderr.count(line) == 1, (line, done.stderr)


@pytest.mark.heavy  # fast: test_translation
@pytest.mark.timeout(1200)
def test_classifiers_resume_in_more_processes(
    tiny_base: Base, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = shutil.copytree(tiny_base("bert").removeprefix("hf:"), tmp_path / "base")
    config = json.loads((base / "config.json").read_text())
    config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    (base / "config.json").write_text(json.dumps(config))
    words = [*command("nli"), "--device", "cpu", "--epochs", "1", "--every", "4"]
    words[words.index("bert-base")] = f"hf:{base}"
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()
        write_csv(folder / "mnli.csv", nli_rows(400))
    result = alone(words, one, monkeypatch)

    step, steps = Learner.step, []

    def stopped(self: Any, *rest: Any) -> Any:
        steps.append(1)
        if len(steps) == 6:
            raise KeyboardInterrupt
        return step(self, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(Learner, "step", stopped)
        with pytest.raises(AssertionError, match="rerun the same command to resume"):
            alone(words, two, monkeypatch)
    done = launched(words, two)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("resuming from step 4") == 1
    assert_alike(one / "models" / "mnli", two / "models" / "mnli")
    assert result["processes"] == 1
    assert done.stdout.count("held-out accuracy") == 1


def trainable(kind: str, tiny_base: Base) -> tuple[Any, list[Any]]:
    """Return a model in training without dropout, and what it learns from."""
    if kind in ("causal", "masked"):
        return begin(kind, tiny_base(BASES[kind]), texts=(), vocabulary=None, seed=1), lines(21)
    if kind == "bilm":
        texts = lines(21)
        return begin(kind, "new:tiny", texts=texts, vocabulary=None, seed=1), texts
    import transformers

    sort: Any = {"nli": Inference, "choice": MultipleChoice}[kind]
    found = find_base(tiny_base("bert"), tokenizer=None, texts=())
    auto = getattr(transformers, sort.auto(found.config))
    made = sort(found.load(auto, **sort.head(found.config)), found.tokenizer, 1)
    if kind == "nli":
        return made, [Entail(id="1", premise=p, hypothesis=h, label=x) for p, h, x in nli_rows(21)]
    return made, [
        Choice(id="1", context=x["goal"], candidates=(x["sol1"], x["sol2"]), gold=x["label"])
        for x in choice_rows(21)
    ]


@pytest.mark.parametrize("kind", ["causal", "masked", "bilm", "nli", "choice"])
def test_parts_of_a_step_add_up(kind: str, tiny_base: Base) -> None:
    """21 items, 10 to a step: the last step has one, and the other processes nothing to learn."""
    made, data = trainable(kind, tiny_base)
    module = made.module.eval()
    objective = Objective(made)
    features = made.features(data, 9 if kind == "bilm" else 64).features  # which cuts some
    options = Options(batch_size=5, accumulate=2, seed=3)
    whole = ItemFeed(made, features, options, pin=False)

    def learnt(batches: list[dict[str, torch.Tensor]]) -> tuple[float, list[torch.Tensor]]:
        module.zero_grad()
        losses = [objective(**batch) for batch in batches]
        for loss in losses:
            loss.backward()
        return float(sum(losses).detach()), [w.grad.clone() for w in module.parameters()]

    for world in (2, 3, 4):
        feeds = [
            ItemFeed(made, features, options, pin=False, rank=rank, world=world)
            for rank in range(world)
        ]
        for group in whole.groups(0):
            batches, count = whole.batches(group, 0)
            if kind in ("causal", "masked", "bilm"):
                assert count == sum(int(batch["labels"].ne(-100).sum()) for batch in batches)
            loss, gradients = learnt(batches)
            parts = [feed.batches(group, 0) for feed in feeds]
            assert {counted for _, counted in parts} == {count}
            assert all(
                len(part) <= feed.accumulate for feed, (part, _) in zip(feeds, parts, strict=True)
            )
            added, together = learnt([batch for part, _ in parts for batch in part])
            assert added == pytest.approx(loss, rel=1e-5)
            for a, b in zip(gradients, together, strict=True):
                torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def test_large_steps_are_divided_with_the_prefetching() -> None:
    options = Options(batch_size=1, accumulate=100)
    made: Any = None
    assert ItemFeed(made, [], options, pin=False, world=8).accumulate == 13
    assert ItemFeed(made, [], replace(options, accumulate=1), pin=False, world=8).accumulate == 1


def test_every_command_of_the_page_is_tested() -> None:
    assert len(LINES) == 3
    assert [command(task)[0] for task in ("nmt", "lm", "nli")] == [
        "torchrun", "torchrun", "accelerate",
    ]  # fmt: skip


def test_weights_without_a_gradient_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next step of several processes would end in a RuntimeError of PyTorch."""
    model = torch.nn.ModuleDict({"used": torch.nn.Linear(1, 1), "idle": torch.nn.Linear(1, 1)})
    optimizer = torch.optim.SGD(model.parameters())
    processes = Processes("cpu")
    step = Step([{"x": torch.ones(1, 1)}], 1, Place(), 0.0)
    learner = Learner(
        model, lambda x: model["used"](x).sum(), optimizer, processes, clip=1.0, bf16=False
    )
    learner.step(step, 0.1)
    monkeypatch.setattr("accelerate.utils.broadcast_object_list", lambda *_, **__: None)
    processes.count = 2
    with pytest.raises(TrainError, match=r"no gradient \('idle.weight'\); train it in one process"):
        learner.step(step, 0.1)
