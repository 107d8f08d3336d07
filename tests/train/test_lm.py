"""Language models learn, stop, go on after a kill, and are kept so that boxpen runs them."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
from easy_rules import NOUNS, OBJECTS, VERBS, nli_rows, write_csv
from sentence_rules import BASES, lines, write_text
from typer.testing import CliRunner

import boxpen
from boxpen.errors import BoxpenError, ModelError, SuiteError, TrainError
from boxpen.lm import Options, train_lm, train_nli
from boxpen.lm.begin import begin
from boxpen.report.training.plot import read_log, training_svg

FAST = Options(epochs=2, batch_size=16, learning_rate=5e-3, every=8, patience=0, seed=1)
RESUMED = Options(
    epochs=3, batch_size=16, accumulate=2, learning_rate=1e-3, every=5, patience=0, seed=5
)
Base = Callable[[str], str]
WHOLE = ["checksums.json", "model.safetensors", "optimizer.pt", "rng_state-0.pt", "state.json"]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    return write_text(tmp_path / "text.txt", 400)


def base_of(kind: str, tiny_base: Base) -> str:
    return "new:tiny" if kind == "bilm" else tiny_base(BASES[kind])


def suite_file(path: Path) -> Path:
    """Sentences that follow the rule, against others that do not."""
    draw = random.Random(9)
    rows = []
    for i in range(40):
        noun, thing = draw.choice(NOUNS), draw.choice(OBJECTS)
        place = OBJECTS.index(thing) % len(VERBS)
        right, wrong = VERBS[place], VERBS[(place + 1 + i % 3) % len(VERBS)]
        candidates = [f"the {noun} {verb} the {thing}" for verb in (right, wrong)]
        rows.append({"id": str(i), "candidates": candidates, "gold": 0})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("kind", ["causal", "masked", "bilm"])
def test_a_rule_is_learnt_and_the_runs_before_and_after_are_compared(
    kind: str, tiny_base: Base, text: Path, tmp_path: Path
) -> None:
    before = base_of(kind, tiny_base)
    if kind == "bilm":  # one that was trained a little, and goes on
        first = train_lm(
            kind=kind, model=before, out=tmp_path / "first", text=[text],
            options=Options(epochs=0.1, learning_rate=1e-6),
        )  # fmt: skip
        assert first["loss"] == pytest.approx(first["loss_before"], abs=0.01)
        before = str(tmp_path / "first")
    out = tmp_path / "after"
    # A masked model learns from a seventh of the tokens at a time.
    options = replace(FAST, epochs=10, every=46) if kind == "masked" else FAST
    result = train_lm(kind=kind, model=before, out=out, text=[text], options=options)
    assert result["loss"] < result["loss_before"] - 1
    assert result["sentences"]["train"] + result["sentences"]["held_out"] == 400
    suite = suite_file(tmp_path / "rule.jsonl")
    runs = [
        boxpen.evaluate(model, suite, device="cpu", cache=":memory:")
        for model in (f"hf:{before.removeprefix('hf:')}", f"hf:{out}")
    ]
    (pair,) = boxpen.compare(*runs)
    assert (pair.n, pair.test) == (40, "McNemar")
    assert pair.difference.value < 0, "the second is the better one"
    assert pair.only_b > pair.only_a


def test_the_log_is_drawn_and_the_best_look_is_kept(
    tiny_base: Base, text: Path, tmp_path: Path
) -> None:
    out = tmp_path / "model"
    result = train_lm(kind="causal", model=tiny_base("llama"), out=out, text=[text], options=FAST)
    log = read_log(out)
    looks = {e["step"]: e["valid_loss"] for e in log if "valid_loss" in e}
    assert list(looks) == [0, 8, 16, 24, 32, 40, 46]
    assert looks.pop(0) == result["loss_before"]
    assert result["loss"] == pytest.approx(min(looks.values()), abs=1e-6)
    assert looks[result["best_step"]] == min(looks.values())
    assert "<polyline" in training_svg({"a": log}, "valid_loss")
    assert "<polyline" in training_svg({"a": log}, "loss")
    assert {p.name for p in out.iterdir()} - {"generation_config.json"} == {
        "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json",
        "training.json", "result.json", "log.jsonl", "held-out.txt",
    }  # fmt: skip
    held = (out / "held-out.txt").read_text().splitlines()
    assert len(held) == result["sentences"]["held_out"] == result["sentences"]["text"] - 360


def test_it_stops_where_nothing_is_gained_and_keeps_the_best(
    tiny_base: Base, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So small a rate changes nothing: the first look is as good as any."""
    options = Options(epochs=9, batch_size=16, learning_rate=1e-30, every=5, patience=2, seed=1)
    out = tmp_path / "model"
    given: dict[str, Any] = {
        "kind": "causal", "model": tiny_base("llama"), "text": [text], "options": options,
    }  # fmt: skip
    with monkeypatch.context() as patch:
        patch.setattr("boxpen.lm.folder.OutFolder.finish", _no_space)
        with pytest.raises(TrainError, match="cannot be written"):
            train_lm(out=out, **given)
    assert _kept(out) == {"step-5": ["checksums.json", "model.safetensors"], "step-15": WHOLE}
    monkeypatch.setattr("boxpen.training.learner.Learner.step", _never)
    result = train_lm(out=out, **given)
    assert (result["best_step"], result["steps"], result["stopped_early"]) == (5, 15, True)
    assert result["loss"] == result["loss_before"]


@pytest.mark.parametrize("kind", ["causal", "bilm"])
def test_a_full_disk_leaves_the_last_good_checkpoint(
    kind: str, tiny_base: Base, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from boxpen.training.learner import Learner

    save = Learner.save
    out = tmp_path / "model"
    saved: list[Path] = []

    def full(self: Any, folder: Path, rng_states: Any) -> None:
        save(self, folder, rng_states)
        saved.append(folder)
        if len(saved) == 2:
            (folder / "optimizer.pt").write_bytes(b"half")
            raise OSError(28, "No space left on device")

    given: dict[str, Any] = {
        "kind": kind, "model": base_of(kind, tiny_base), "text": [text], "options": RESUMED,
    }  # fmt: skip
    with monkeypatch.context() as patch:
        patch.setattr(Learner, "save", full)
        message = r"the checkpoint of step 10 cannot .*No space .*to resume from step-5"
        with pytest.raises(TrainError, match=message):
            train_lm(out=out, **given)
    assert _kept(out) == {"step-5": WHOLE}
    assert not (out / "config.json").exists()
    assert train_lm(out=out, **given)["steps"] == 36
    assert (out / "config.json").is_file()


def test_a_loss_that_is_no_number_ends_a_training(
    tiny_base: Base, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from boxpen.lm.trainable import Causal

    loss = Causal.loss
    out = tmp_path / "model"
    given: dict[str, Any] = {
        "kind": "causal", "model": tiny_base("llama"), "out": out, "text": [text], "options": FAST,
    }  # fmt: skip

    def broken(when: Callable[[int], bool]) -> Any:
        steps: list[bool] = []

        def found(self: Any, batch: dict[str, Any]) -> Any:
            steps.append(self.module.training)
            nats, tokens = loss(self, batch)
            return (nats * float("nan") if when(sum(steps)) else nats), tokens

        return found

    monkeypatch.setattr(Causal, "loss", broken(lambda step: True))
    with pytest.raises(TrainError, match="the held-out loss is nan before the first step, expect"):
        train_lm(**given)
    monkeypatch.setattr(Causal, "loss", broken(lambda step: step == 10))
    with pytest.raises(TrainError, match="the loss is nan at step 10; a lower --learning-rate"):
        train_lm(**given)
    assert _kept(out) == {"step-8": WHOLE}
    assert not (out / "config.json").exists()
    assert not any("nan" in line for line in (out / "log.jsonl").read_text().lower().splitlines())


def test_the_loss_of_the_end_is_that_of_the_best_look_in_mixed_precision(
    tiny_base: Base, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a GPU: what is loaded at the end is evaluated as in training."""
    from boxpen.training.learner import Learner

    learner = Learner.__init__

    def bf16(self: Any, *given: Any, **options: Any) -> None:
        learner(self, *given, **options | {"bf16": True})

    monkeypatch.setattr(Learner, "__init__", bf16)
    out = tmp_path / "model"
    options = replace(FAST, epochs=0.5)
    result = train_lm(
        kind="causal", model=tiny_base("llama"), out=out, text=[text], options=options
    )
    looks = [e["valid_loss"] for e in read_log(out) if e["step"] and "valid_loss" in e]
    assert result["loss"] == min(looks)


def test_batches_that_are_accumulated_are_one_batch(
    tiny_base: Base, text: Path, tmp_path: Path
) -> None:
    """The tiny Llama has no dropout; sentences have unequal numbers of tokens."""
    valid = tmp_path / "valid.txt"
    valid.write_text("the zebra\n")
    losses = []
    for batch, accumulate in ((16, 1), (4, 4)):
        options = Options(
            epochs=0.3, batch_size=batch, accumulate=accumulate, learning_rate=1e-3, every=1,
            patience=0, seed=2,
        )  # fmt: skip
        out = tmp_path / str(batch)
        train_lm(
            kind="causal", model=tiny_base("llama"), out=out, text=[text], valid=[valid],
            options=options,
        )  # fmt: skip
        losses.append([entry["loss"] for entry in read_log(out) if "loss" in entry])
    assert len(losses[0]) == 8
    assert losses[0] == pytest.approx(losses[1], abs=1e-5)


def test_sentences_of_a_graph_and_of_text_are_learnt_together_without_the_test(
    tmp_path: Path,
) -> None:
    graph = tmp_path / "graph.txt"
    heads = ["dog", "cat", "horse", "cow", "bird", "child", "teacher", "doctor", "farmer", "cook"]
    acts = ["bark", "run", "eat bread", "see star", "drink water"]
    graph.write_text("".join(f"CapableOf\t{h}\t{a}\n" for h in heads for a in acts))
    text = tmp_path / "text.txt.gz"
    import gzip

    text.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines(50)).encode()))
    asked = tmp_path / "asked.csv"
    asked.write_text("premise,hypothesis,label\nA dog can bark.,A cow can fly.,neutral\n")
    said: list[str] = []
    result = train_lm(
        kind="masked", model="new:tiny", out=tmp_path / "m", text=[text], triples=[graph],
        exclude=[str(asked)], holdout=0.2, options=Options(epochs=0.5), note=said.append,
    )  # fmt: skip
    assert said[0] == f"{graph}: 50 sentences of 50 triples"
    assert re.fullmatch(r"training: [\d,]+ parameters, 80 sentences, on (cpu|cuda)", said[1])
    some = result["sentences"]
    assert (some["text"], some["triples"], some["excluded"]) == (50, 50, {"asked": 1})
    assert some["train"] + some["held_out"] == 99
    assert "A dog can bark." not in (tmp_path / "m" / "held-out.txt").read_text().splitlines()


def test_another_folder_option_or_text_is_refused_by_name(
    tiny_base: Base, text: Path, tmp_path: Path
) -> None:
    out, options = tmp_path / "model", Options(epochs=0.2, batch_size=64)
    given: dict[str, Any] = {
        "kind": "causal", "model": tiny_base("llama"), "text": [text], "options": options,
        "out": out,
    }  # fmt: skip
    train_lm(**given)
    for changes, message in (
        ({"options": Options(epochs=1)}, r"was started with --epochs 0\.2, not 1"),
        ({"holdout": 0.2}, r"was started with --holdout 0\.1, not 0\.2"),
        (
            {"kind": "masked", "model": tiny_base("bert")},
            "was started with --kind causal, not mask",
        ),
        ({"valid": [text]}, "nothing is left"),
    ):
        with pytest.raises(TrainError, match=message):
            train_lm(**given | changes)
    other = tmp_path / "other.txt"
    other.write_text("".join(f"{line}\n" for line in lines(30, seed=2)))
    with pytest.raises(TrainError, match="was started with other sentences in --text"):
        train_lm(**given | {"text": [other]})
    data = write_csv(tmp_path / "nli.csv", nli_rows(40))
    train_nli(data, base=tiny_base("bert"), out=tmp_path / "nli", options=options)
    with pytest.raises(
        TrainError, match="nli was started with 'boxpen train nli', not 'boxpen train lm'"
    ):
        train_lm(**given | {"out": tmp_path / "nli"})


def test_bad_input_ends_in_one_sentence(tiny_base: Base, text: Path, tmp_path: Path) -> None:
    empty, marks = tmp_path / "empty.txt", tmp_path / "marks.txt"
    empty.write_text("\n\n")
    marks.write_text("cat\ndog\nman\ncow\n" * 5)
    new = tmp_path / "m"

    def refused(error: type[BoxpenError], message: str, **changes: Any) -> None:
        given: dict[str, Any] = {
            "kind": "causal", "model": tiny_base("llama"), "out": new, "text": [text],
        }  # fmt: skip
        with pytest.raises(error, match=message):
            train_lm(**given | changes)
        assert not new.exists(), "something was half-written"

    refused(ModelError, "kind 'casual' is unknown, did you mean 'causal'", kind="casual")
    refused(SuiteError, r"empty\.txt has no text, expected one sentence per line", text=[empty])
    refused(TrainError, "no training data; give --text, --triples or both", text=[])
    refused(ModelError, "is of the kind 'masked', expected 'causal'; use --kind masked",
            model=tiny_base("bert"))  # fmt: skip
    refused(ModelError, "is of the kind 'causal', expected 'masked'; use --kind causal",
            kind="masked")  # fmt: skip
    refused(ModelError, "is of the kind 'causal', expected 'bilm'", kind="bilm")
    refused(ModelError, "model 'new:huge' is unknown, known: tiny, small", model="new:huge")
    refused(ModelError, "--vocabulary is only for a new model, new:SIZE", vocabulary=1000)
    refused(ModelError, "--uncased is only for a new model, new:SIZE", uncased=True)
    for kind in ("causal", "masked"):
        refused(ModelError, "new:tiny: --vocabulary is 100, expected more than 2",
                kind=kind, model="new:tiny", vocabulary=100)  # fmt: skip
    refused(ModelError, "model 'smolm2' is unknown, did you mean 'smollm2'", model="smolm2")
    refused(ModelError, "device 'tpu' is unknown", device="tpu")
    refused(SuiteError, "the share to hold out is 2, expected one between 0 and 1", holdout=2.0)
    refused(TrainError, r"text\.txt is a file, expected a folder", out=text)
    refused(TrainError, "ways is 0, expected 1 or more", ways=0)
    refused(TrainError, "--triples is empty", triples=[""])
    for language in ("''", "", "e", "english", "en us"):
        refused(TrainError, "--language is .*, expected the code of a language, as zh or en",
                language=language)  # fmt: skip
    refused(TrainError, r"holds 'empty\.txt' and no training\.json", out=tmp_path)
    refused(BoxpenError, "no-suite", exclude=["no-suite"])


def test_a_holdout_that_is_none_is_refused_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("boxpen.lm.job.read_data", _never)
    for holdout in (float("nan"), 0.0, 1.0):
        with pytest.raises(SuiteError, match=f"the share to hold out is {holdout:g}, expected"):
            train_lm(
                kind="causal", model="new:tiny", out=tmp_path / "m", text=["t"], holdout=holdout
            )


def test_a_rate_that_is_far_too_high_ends_in_one_sentence_and_no_model(
    tiny_base: Base, text: Path, tmp_path: Path
) -> None:
    from boxpen.cli.app import app

    out = tmp_path / "m"
    command = [
        *("train", "lm", "--kind", "causal", "--model", tiny_base("llama"), "--out", str(out)),
        *("--text", str(text), "--epochs", "1", "--learning-rate", "1e30"),
    ]
    done = CliRunner().invoke(app, command)
    assert (done.exit_code, done.stdout) == (2, "")
    bar, said = done.stderr.splitlines()[-2:]
    assert "step/s" in bar
    assert re.match(r"boxpen: the .*loss is nan at step \d+; a lower --learning-rate", said)
    assert not (out / "config.json").exists()
    assert not (out / "result.json").exists()


def test_looks_that_never_come_are_one_at_the_end(
    tiny_base: Base, text: Path, tmp_path: Path
) -> None:
    options = Options(epochs=1, batch_size=64, every=99_999_999_999, seed=1)
    out = tmp_path / "m"
    result = train_lm(
        kind="causal", model=tiny_base("llama"), out=out, text=[text], options=options
    )
    assert result["best_step"] == result["steps"] == 6
    assert [e["step"] for e in read_log(out) if "valid_loss" in e] == [0, 6]


def test_a_suite_is_named_though_it_excludes_nothing(
    tiny_base: Base, text: Path, tmp_path: Path
) -> None:
    from boxpen.cli.app import app

    command = [
        *("train", "lm", "--kind", "causal", "--model", tiny_base("llama"), "--out"),
        *(str(tmp_path / "m"), "--text", str(text), "--epochs", "0.1", "--exclude", "starter"),
    ]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert ", 400 read, 0 excluded by starter" in " ".join(done.stdout.split())


def test_sentences_without_a_token_to_predict_are_refused(tmp_path: Path, tiny_base: Base) -> None:
    import shutil

    bare = shutil.copytree(tiny_base("llama").removeprefix("hf:"), tmp_path / "bare")
    settings = json.loads((bare / "tokenizer_config.json").read_text())
    settings.pop("bos_token")
    (bare / "tokenizer_config.json").write_text(json.dumps(settings))
    text = tmp_path / "one.txt"
    text.write_text("cat\ndog\nman\ngirl\nboy\nbird\n")
    with pytest.raises(TrainError, match="none of the 4 sentences for training has a token to"):
        train_lm(kind="causal", model=str(bare), out=tmp_path / "m", text=[text], holdout=0.4)
    assert not (tmp_path / "m").exists()


def test_the_command_prints_the_result_alone_on_stdout(
    tiny_base: Base, text: Path, tmp_path: Path
) -> None:
    from boxpen.cli.app import app

    out = tmp_path / "m"
    command = [
        *("train", "lm", "--kind", "masked", "--model", tiny_base("bert"), "--out", str(out)),
        *("--text", str(text), "--epochs", "0.1", "--json"),
    ]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    shown = json.loads(done.stdout)
    assert (shown["out"], shown["kind"]) == (str(out), "masked")
    assert "held-out loss=" in done.stderr
    done = CliRunner().invoke(app, command[:-1])
    assert "is finished; nothing was done" in done.stderr
    assert done.stdout.startswith("held-out loss   ")
    told = [line for line in done.stdout.splitlines() if str(tmp_path) not in line]
    assert [line[:16].strip() for line in told] == [
        "held-out loss", "held out", "best step", "sentences",
    ]  # fmt: skip
    assert max(map(len, told)) <= 80
    done = CliRunner().invoke(app, [*command, "--seed", "3"])
    assert done.exit_code == 2
    assert "was started with --seed 1960, not 3" in done.stderr
    done = CliRunner().invoke(app, [*command[:2], "--kind", "x", *command[4:]])
    assert (done.exit_code, done.stdout) == (2, "")
    assert "Invalid value for '--kind': 'x' is not one of causal, masked" in done.stderr


def _kept(out: Path) -> dict[str, list[str]]:
    """Return the files of every checkpoint."""
    found = {p.name: sorted(f.name for f in p.iterdir()) for p in (out / "checkpoints").iterdir()}
    return dict(sorted(found.items()))


def _no_space(*_: Any) -> None:
    raise TrainError("cannot be written")


def _never(*_: Any, **__: Any) -> None:
    raise AssertionError("it was trained again")


@pytest.mark.parametrize(("accumulate", "depth"), [(1, 64), (8, 8), (100, 2)])
def test_large_steps_are_not_prefetched_by_the_dozen(
    accumulate: int, depth: int, tiny_base: Base, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(_: Any, *, depth: int) -> Any:
        found.append(depth)
        raise KeyboardInterrupt

    found: list[int] = []
    monkeypatch.setattr("boxpen.training.loop.ahead", stopped)
    options = Options(epochs=1, batch_size=1, accumulate=accumulate)
    with pytest.raises(KeyboardInterrupt):
        train_lm(
            kind="causal", model=tiny_base("llama"), out=tmp_path / "m",
            text=[write_text(tmp_path / "few.txt", 20)], options=options,
        )  # fmt: skip
    assert found == [depth]


def test_uncased_models_of_every_kind_read_the_same_byte_pairs() -> None:
    texts = ["The Cat eats Bread.", "A dog sees the cat.", "The bread sees a Dog."] * 20
    read = {}
    for kind in ("causal", "masked", "bilm"):
        made = begin(kind, "new:tiny", texts=texts, vocabulary=300, uncased=True, seed=1)
        assert 261 < len(made.tokenizer) <= 300  # more than bytes and special tokens
        ids = [made.tokenizer(t, add_special_tokens=False)["input_ids"] for t in texts[:3]]
        assert made.tokenizer(texts[0].upper(), add_special_tokens=False)["input_ids"] == ids[0]
        read[kind] = [made.tokenizer.convert_ids_to_tokens(row) for row in ids]
    assert read["causal"] == read["masked"] == read["bilm"]
    cased = begin("causal", "new:tiny", texts=texts, vocabulary=300, uncased=False, seed=1)
    assert cased.tokenizer.tokenize("CAT") != cased.tokenizer.tokenize("cat")
