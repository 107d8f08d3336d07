"""Training and translating on the command line; one sentence for everything that is refused."""

import importlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

pytest.importorskip("torch")
pytest.importorskip("sentencepiece")
pytest.importorskip("accelerate")

from test_commands import invoke, refused

import boxpen
from boxpen.errors import NmtError
from boxpen.nmt.config import TrainConfig
from boxpen.nmt.training import TrainState
from boxpen.report.training.display import TrainingDisplay
from boxpen.report.training.plot import named_folders
from boxpen.report.training.scale import scale_table
from boxpen.text.stream import LineStream
from boxpen.training.state import ValidationResult

sys.path.append(str(Path(__file__).parents[1] / "nmt"))
from full_disk import largest_file
from toy_corpus import CONFIG, write_config, write_corpus

PLAIN = CONFIG.replace('size = "tiny"', 'size = "tiny"\ndropout = 0.0')
LINES = ["小狗追红鸟。", "大猫看小鱼。", "", "红马爱大人。"]


@pytest.fixture(scope="module")
def toy(tmp_path_factory) -> Path:
    """A folder with a toy corpus, and ``out``, a model that was trained by the command."""
    folder = tmp_path_factory.mktemp("toy")
    write_corpus(folder)
    done = invoke("train", "nmt", config(folder, folder), "--device", "cpu", "--json")
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)
    assert (result["steps"], result["folder"]) == (30, str(folder / "out"))
    pairs = result["data"]["encode"]["train"]["pairs"]
    assert f"encode: {pairs} pairs" in done.stderr
    before = done.stderr.split("step 5/30")[0].splitlines()[-1]
    assert re.fullmatch(rf"training: [\d,]{{6,}} parameters, {pairs} pairs, on cpu", before)
    clock = r"\d:\d\d:\d\d"
    shown = rf"^step 5/30  epoch [\d.]+  loss [\d.]+  [\d,k]+ tokens/s  {clock}, {clock} left$"
    assert re.search(shown, done.stderr, re.M)
    assert len(re.findall(r"^step 10/30  validation: loss", done.stderr, re.M)) == 1
    return folder


def config(toy: Path, folder: Path, text: str = CONFIG, **changes: str) -> Path:
    """A configuration for a training in a folder of its own, on the corpus of the toy."""
    for name in ("train.zh", "train.en", "valid.zh", "valid.en", "data"):
        text = text.replace(f'"{name}"', f'"{toy / name}"')
    return write_config(folder, text, **changes)


def told(result, *parts: str) -> None:
    """Exit status 2, and one sentence behind the notes."""
    assert result.exit_code == 2, (result.exit_code, result.output)
    assert result.stdout == ""
    said = [line for line in result.stderr.splitlines() if line.startswith("boxpen: ")]
    assert said == result.stderr.splitlines()[-1:]
    for part in parts:
        assert part in said[0], (part, said[0])


def losses(folder: Path) -> dict[int, float]:
    entries = map(json.loads, (folder / "log.jsonl").read_text().splitlines())
    return {e["step"]: e["loss"] for e in entries if "loss" in e}


def command(*args: object) -> list[str]:
    return [sys.executable, "-m", "boxpen", *map(str, args)]


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", **more}


class TestTrain:
    def test_a_finished_training_is_left_alone_and_its_result_is_shown(self, toy):
        done = invoke("train", "nmt", toy / "toy.toml", "--device", "cpu")
        assert done.exit_code == 0, done.output
        assert "is finished; nothing was done" in done.stderr
        assert "step " not in done.stderr
        lines = dict(line.split("  ", 1) for line in done.stdout.splitlines())
        assert list(lines) == ["validation loss", "validation BLEU", "steps", "model"]
        assert lines["model"].strip() == f"hf:{toy / 'out'}"

    @pytest.mark.parametrize(
        ("number", "status", "what"),
        [
            (signal.SIGINT, 130, "interrupted"),
            pytest.param(signal.SIGTERM, 143, "terminated", marks=pytest.mark.heavy),
        ],
    )
    def test_a_stopped_training_goes_on(self, toy, tmp_path, number, status, what):
        path = config(toy, tmp_path, max_steps="100000")
        begun = subprocess.Popen(
            command("train", "nmt", path, "--device", "cpu"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        said = []
        for line in begun.stderr:
            said.append(line)
            if line.startswith("step 15/"):  # there is a checkpoint
                begun.send_signal(number)
        assert begun.wait() == status
        assert begun.stdout.read() == ""
        assert said[-1] == (f"boxpen: {what}; rerun the same command to resume\n")
        assert not [line for line in said if "Traceback" in line]
        last = max(losses(tmp_path / "out"))
        config(toy, tmp_path, max_steps=str(last + 10))
        done = invoke("train", "nmt", path, "--device", "cpu", "--json")
        assert re.search(r"^resuming from step [1-9]\d*$", done.stderr, re.M)
        assert json.loads(done.stdout)["steps"] == last + 10
        assert re.search(rf"^step {last + 5}/{last + 10}  epoch ", done.stderr, re.M)


class TestBadInput:
    @pytest.fixture
    def corpus(self, tmp_path) -> Path:
        write_corpus(tmp_path, pairs=20)
        return tmp_path

    def refused(self, folder: Path, *parts: str, **changes: str) -> None:
        for task in (("build", "run"), ("train", "nmt")):
            told(invoke(*task, write_config(folder, **changes)), *parts)

    def test_sides_of_unequal_length(self, corpus):
        (corpus / "train.en").write_text("One.\nTwo.\n")
        self.refused(corpus, "train.en ends after line 2", "train.zh has a line 3")

    def test_a_line_that_is_not_utf8(self, corpus):
        lines = (corpus / "train.zh").read_bytes().splitlines()
        lines[6] = "大猫看小鱼。".encode("gb18030")
        (corpus / "train.zh").write_bytes(b"\n".join(lines) + b"\n")
        self.refused(corpus, "train.zh, line 7: byte 0x", "is not UTF-8")

    def test_files_that_are_not_there(self, corpus):
        refused(invoke("train", "nmt", corpus / "no.toml"), "no.toml")
        (corpus / "valid.zh").unlink()
        self.refused(corpus, "there is no", "valid.zh")

    def test_keys_and_values_of_the_configuration(self, corpus):
        self.refused(corpus, "toy.toml: unknown key 'train.tokns'", "'tokens'", tokns="3")
        self.refused(corpus, "train.tokens is 0, expected 1 or more", tokens="0")
        refused(invoke("train", "example", "comonmt-transformer"), "'commonmt-transformer'")

    def test_another_vocabulary(self, toy, tmp_path):
        text = CONFIG.replace('"out"', f'"{toy / "out"}"').replace('"data"', f'"{tmp_path}/data"')
        path = config(toy, tmp_path, text.replace("size = 450", "size = 440"))
        told(invoke("train", "nmt", path), str(toy / "out"), "started with another vocabulary")

    def test_a_folder_that_cannot_be_used_is_told_before_the_corpus_is_read(self, corpus, toy):
        (corpus / "out").write_text("not a folder")
        done = invoke("train", "nmt", write_config(corpus))
        refused(done, "out is a file, expected a folder for the model")
        below = CONFIG.replace('"out"', '"toy.toml/out"')
        done = invoke("train", "nmt", write_config(corpus, below))
        refused(done, "out cannot be created", "toy.toml is a file, expected a folder")
        other = CONFIG.replace('"out"', f'"{toy / "out"}"')
        done = invoke("train", "nmt", write_config(corpus, other, learning_rate="1e-3"))
        refused(done, "started with [train] learning_rate = 0.003, not 0.001")
        assert not (corpus / "data").exists()

    def test_a_folder_of_data_that_cannot_be_used(self, corpus):
        (corpus / "data").write_text("not a folder")
        self.refused(corpus, "cannot create", "data: File exists")
        (corpus / "data").unlink()
        (corpus / "data").mkdir()
        (corpus / "data" / "subwords").write_text("not a folder")
        self.refused(corpus, "cannot create", "subwords: File exists")
        assert [p.name for p in (corpus / "data").iterdir()] == ["subwords"]

    def test_input_that_is_refused_leaves_nothing(self, corpus):
        said = (corpus / "train.en").read_text()
        (corpus / "train.en").write_text("One.\n")
        self.refused(corpus, "train.en ends after line 1")
        assert not (corpus / "data").exists()
        assert not (corpus / "out").exists()
        (corpus / "train.en").write_text(said)
        (corpus / "valid.en").write_text("\n" * 24)  # found after the corpora are cleaned
        self.refused(corpus, "the validation set 'valid' is empty")
        (corpus / "data" / "notes").mkdir(parents=True)  # what was there stays
        self.refused(corpus, "the validation set 'valid' is empty")
        assert [p.name for p in (corpus / "data").iterdir()] == ["notes"]

    def test_rules_that_leave_no_pair_are_named_in_words(self, corpus):
        lines = (corpus / "train.zh").read_text().splitlines()
        other = ["", "abc def", "abc def ghi", *lines[3:]]
        (corpus / "train.zh").write_text("\n".join(other) + "\n")
        text = CONFIG.replace('duplicates = "keep"', "max_characters = 12")
        done = invoke("build", "run", write_config(corpus, text))
        told(
            done,
            "no pair of 20 is left by the rules of [clean], expected some: 19 with too many "
            "characters on a side (max_characters), 1 with an empty side",
        )
        assert "{" not in done.stderr
        for side in ("zh", "en"):
            (corpus / f"train.{side}").write_text("")
        self.refused(corpus, "toy.toml has [[corpora]] without any pair, expected some")

    def test_a_vocabulary_beyond_all_measure(self, corpus):
        text = CONFIG.replace("size = 450", "size = 1_000_000_000")
        done = invoke("build", "run", write_config(corpus, text))
        told(done, "subwords.size is 1000000000, expected 1,000,000 or less")
        done = invoke("train", "example", "--sizes", "--vocabulary", 10**18)
        refused(done, "--vocabulary is 1000000000000000000, expected 3 to 1,000,000")

    def test_a_language_whose_script_is_not_known_is_said_once(self, corpus):
        text = CONFIG.replace('source = "zh"', 'source = "iu"')
        done = invoke("build", "run", write_config(corpus, text))
        assert done.exit_code == 0, done.output
        assert done.stdout.count("the script of iu is not known, nor checked") == 1
        done = invoke("build", "run", write_config(corpus, text), "--json")
        assert json.loads(done.stdout)[0]["unchecked"] == ["iu"]

    def test_a_full_disk(self, toy, tmp_path):
        path = config(toy, tmp_path)
        with largest_file(100_000):
            done = invoke("train", "nmt", path, "--device", "cpu")
        told(done, "the checkpoint of step 10 cannot be written", str(tmp_path / "out"))
        assert not list((tmp_path / "out").glob("**/*.safetensors"))
        assert not (tmp_path / "out" / "config.json").exists()

    def test_devices(self, toy, monkeypatch):
        monkeypatch.setattr("torch.cuda.is_available", lambda: False)
        for device, part in (("gpu", "expected auto, cpu or cuda"), ("cuda", "use cpu or auto")):
            for task in (("train", "nmt", toy / "toy.toml"),
                         ("translate", toy / "out", toy / "valid.zh"),
                         ("train", "scale", toy / "toy.toml", "--out", toy / "s")):  # fmt: skip
                refused(invoke(*task, "--device", device), part)

    def test_rnnsearch_cannot_be_exported(self, tmp_path):
        (tmp_path / "config.json").write_text('{"model_type": "rnnsearch"}')
        out = tmp_path / "ct2"
        refused(
            invoke("model", "export", tmp_path, "--out", out), "'rnnsearch'", "expected 'marian'"
        )
        assert not out.exists()


def translations(toy: Path, *, tokens: int) -> list[str]:
    """The translations of the lines; one that does not end is as long as its batch lets it be."""
    from boxpen.nmt.loading import load_model
    from boxpen.nmt.translate import translate_lines

    made = translate_lines(*load_model(toy / "out"), LINES, beam=5, tokens=tokens)
    return [translation.text for translation in made]


@pytest.fixture(scope="module")
def expected(toy) -> list[str]:
    """What comes of the lines in one batch."""
    return translations(toy, tokens=4096)


@pytest.fixture(scope="module")
def alone(toy) -> list[str]:
    """What comes of each line by itself."""
    return translations(toy, tokens=1)


class TestTranslate:
    @pytest.fixture
    def source(self, tmp_path) -> Path:
        path = tmp_path / "source.zh"
        path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(LINES).encode())
        return path

    def test_a_file_stdin_and_out(self, toy, source, expected, alone, tmp_path):
        model, out = toy / "out", tmp_path / "out.en"
        assert invoke("translate", model, source).stdout.splitlines() == expected
        done = CliRunner().invoke(
            boxpen.cli.app.app, ["translate", f"hf:{model}"], input="\n".join(LINES)
        )
        assert done.stdout.splitlines() == expected
        done = invoke("translate", model, source, "--out", out, "--tokens", "8")
        assert (done.stdout, done.stderr) == ("", "")
        assert out.read_text().splitlines() == alone
        scored = invoke("translate", model, source, "--scores").stdout.splitlines()
        assert [line.split("\t")[1] for line in scored] == expected
        assert float(scored[0].split("\t")[0]) < 0 == float(scored[2].split("\t")[0])

    def test_lines_of_a_pipe_are_not_kept_waiting_and_a_reader_may_leave(self, toy, alone):
        begun = subprocess.Popen(
            command("translate", toy / "out", "--device", "cpu"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
        )
        for line, translation in zip(LINES, alone, strict=True):
            begun.stdin.write(f"{line}\n".encode())
            begun.stdin.flush()
            assert begun.stdout.readline().decode() == f"{translation}\n"
        begun.stdout.close()
        begun.stdin.write("小狗追红鸟。\n".encode())
        begun.stdin.close()
        assert begun.stderr.read().decode() == ""
        assert begun.wait() == 0

    @pytest.mark.parametrize(
        ("options", "part"),
        [
            (("--beam", 0), "--beam is 0, expected 1 to 1,000"),
            (("--beam", -3), "--beam is -3, expected 1 to 1,000"),
            (("--beam", 100_000), "--beam is 100000, expected 1 to 1,000"),
            (("--tokens", 0), "--tokens is 0, expected 1 to 100,000,000"),
            (("--tokens", 10**12), "--tokens is 1000000000000, expected 1 to 100,000,000"),
            (("--length-penalty", "nan"), "--length-penalty is nan, expected -10 to 10"),
            (("--length-penalty", "inf"), "--length-penalty is inf, expected -10 to 10"),
            (("--length-penalty", "-11"), "--length-penalty is -11, expected -10 to 10"),
        ],
    )
    def test_numbers_that_make_no_sense(self, toy, source, options, part):
        refused(invoke("translate", toy / "out", source, *options), part)

    def test_the_source_is_not_written_over(self, toy, source, tmp_path):
        before = source.read_bytes()
        (tmp_path / "link").symlink_to(source)
        for out in (source, tmp_path / "link"):
            done = invoke("translate", toy / "out", source, "--out", out)
            refused(done, f"--out {out} is the input file")
        assert source.read_bytes() == before

    def test_sources_that_cannot_be_read(self, toy, tmp_path):
        path, out = tmp_path / "source.zh", tmp_path / "out.en"
        refused(invoke("translate", toy / "out", path), "source.zh cannot be read: No such")
        refused(invoke("translate", toy / "out", tmp_path), "cannot be read: Is a directory")
        path.write_bytes("小狗\n".encode() + b"\xff\n")
        done = invoke("translate", toy / "out", path, "--out", out)
        refused(done, "source.zh, line 2: byte 0xff is not UTF-8")
        assert not out.exists()

    @pytest.mark.parametrize("kind", ["gzip", "lzma", "bz2"])
    def test_a_packed_source_is_named_as_such(self, tmp_path, kind):
        path = tmp_path / "source.packed"
        path.write_bytes(importlib.import_module(kind).compress("小狗\n".encode() * 9))
        with pytest.raises(NmtError, match=r"source\.packed is compressed, expected plain text"):
            list(LineStream(path).windows(10))

    def test_models_that_are_none(self, toy, source, tmp_path, gpt2_dir):
        missing = tmp_path / "missing"
        refused(invoke("translate", missing, source), f"folder {missing} does not exist")
        refused(invoke("translate", tmp_path, source), "it has no config.json")
        (tmp_path / "training.json").write_text("{}")
        refused(invoke("translate", tmp_path, source), "its training is not finished")
        refused(
            invoke("translate", gpt2_dir, source),
            str(gpt2_dir),
            "gpt2 model, expected one that reads a source",
        )


class TestSentences:
    def test_windows_of_a_file(self, tmp_path):
        path = tmp_path / "a"
        path.write_bytes(b"\xef\xbb\xbfone\r\ntwo\n\nfour \xe2\x80\xa8 four")
        sentences = LineStream(path)
        windows = sentences.windows(2)
        assert next(windows) == ["one", "two"]
        assert sentences.read == 12
        assert list(windows) == [["", "four \u2028 four"]]
        assert sentences.read == sentences.size == path.stat().st_size
        assert sentences.is_file(path)
        assert not sentences.is_file(tmp_path / "b")

    def test_windows_of_a_pipe_have_what_has_come(self, tmp_path):
        path = tmp_path / "pipe"
        os.mkfifo(path)
        seen = threading.Event()

        def write() -> None:
            with path.open("wb", buffering=0) as stream:
                stream.write("一\n二".encode())
                assert seen.wait(10)
                stream.write("二\n三\n四\n五\n".encode())

        writer = threading.Thread(target=write)
        writer.start()
        sentences = LineStream(path)
        windows = sentences.windows(3)
        assert next(windows) == ["一"]
        seen.set()
        writer.join()
        time.sleep(0.2)
        assert list(windows) == [["二二", "三", "四"], ["五"]]
        assert sentences.size is None

    def test_a_line_of_a_pipe_that_is_not_utf8_is_named(self, tmp_path):
        path = tmp_path / "pipe"
        os.mkfifo(path)
        writer = threading.Thread(target=path.write_bytes, args=(b"one\ntwo\n\xc3(\n",))
        writer.start()
        with pytest.raises(NmtError, match=r"pipe, line 3: byte 0xc3 is not UTF-8"):
            list(LineStream(path).windows(10))
        writer.join()


class TestDisplay:
    @pytest.fixture
    def terminal(self, monkeypatch):
        monkeypatch.setenv("TTY_COMPATIBLE", "1")
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "80")

    @staticmethod
    def state(step: int, seconds: float, validations: int = 0) -> TrainState:
        log = {"epoch": 123.456, "loss": 12.3456, "tokens_per_second": 123_456}
        seen = [ValidationResult(step, 10.1234, 12.34) for _ in range(validations)]
        return TrainState(step=step, seconds=seconds, validations=seen, log=log)

    def shown(self, capsys) -> list[str]:
        text = capsys.readouterr().err
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text).replace("\r", "\n").splitlines()

    def test_two_lines_of_80_columns_with_notes_above(self, terminal, capsys):
        with TrainingDisplay(TrainConfig(max_steps=1_000_000)) as display:
            display.show(self.state(250_000, 90_000.0))
            print("going on", file=sys.stderr)
            display.show(self.state(500_000, 180_000.0, validations=1))
        lines = self.shown(capsys)
        assert max(map(len, lines)) <= 80
        assert lines[-2].startswith("step 500,000/1,000,000  ━")
        assert lines[-2].endswith("50%  50:00:00, 50:00:00 left")
        assert lines[-1] == (
            "epoch 123.46  loss 12.346  123k tokens/s  validation: loss 10.123  BLEU 12.3"
        )
        assert "going on" in lines

    def test_standard_output_is_left_alone(self, terminal, capsys):
        with TrainingDisplay(TrainConfig(max_steps=10)) as display:
            display.show(self.state(5, 1.0))
            print("a result")
        assert capsys.readouterr().out == "a result\n"

    @pytest.mark.parametrize(
        ("limits", "left"),
        [
            ({"max_steps": 400}, "0:01:40, 0:05:00 left"),
            ({"max_minutes": 5.0}, "0:01:40, 0:03:20 left"),
            ({"max_steps": 400, "max_minutes": 5.0}, "0:01:40, 0:03:20 left"),
            ({}, "0:01:40"),
            ({"max_steps": 100}, "0:01:40"),
        ],
    )
    def test_what_is_left_of_it(self, capsys, limits, left):
        with TrainingDisplay(TrainConfig(**limits)) as display:
            display.show(self.state(100, 100.0))
        assert self.shown(capsys)[0].split("tokens/s  ")[1] == left

    def test_steps_are_seen_before_the_first_line_of_the_log(self, terminal, capsys):
        state = TrainState()
        with TrainingDisplay(TrainConfig(max_steps=1_000)) as display:
            display.show(state)
            state.step = 3  # as the training does with every step
        lines = self.shown(capsys)
        assert any(line.startswith("step 0/1,000  0:00:00") for line in lines)
        assert any(line.startswith("step 3/1,000  ") for line in lines)

    def test_a_file_gets_no_line_before_the_first_of_the_log(self, capsys):
        with TrainingDisplay(TrainConfig()) as display:
            display.show(TrainState())
            assert capsys.readouterr().err == ""

    def test_nothing_is_shown_of_no_training(self, terminal, capsys):
        with TrainingDisplay(TrainConfig()):
            pass
        assert capsys.readouterr().err == ""


class TestPlot:
    @staticmethod
    def logged(folder: Path) -> Path:
        folder.mkdir(parents=True)
        (folder / "log.jsonl").write_text('{"step": 1, "valid_loss": 2.0}\n')
        return folder

    def test_folders_of_one_name_are_told_apart(self, tmp_path, monkeypatch):
        one, other = (self.logged(tmp_path / name / "out") for name in ("one", "other"))
        svg = tmp_path / "course.svg"
        done = invoke("train", "plot", one, other, "--svg", svg)
        assert done.exit_code == 0, done.output
        drawn = svg.read_text()
        assert ">one/out<" in drawn
        assert ">other/out<" in drawn
        monkeypatch.chdir(one)
        assert invoke("train", "plot", ".", "--svg", svg).exit_code == 0
        assert ">out<" in svg.read_text()

    def test_names_are_as_short_as_can_be(self):
        def names(*paths: str) -> list[str]:
            return list(named_folders([Path(p) for p in paths]))

        assert names("/a/x", "/a/y") == ["x", "y"]
        assert names("/a/x", "/b/x", "/b/y") == ["a/x", "b/x", "b/y"]
        assert names("/a/x", "/a/../a/x") == ["x"]
        assert names("/x", "/y/x") == ["/x", "y/x"]

    def test_a_metric_that_is_unknown(self, tmp_path):
        place = self.logged(tmp_path / "a")
        args = ("train", "plot", place, "--svg", tmp_path / "b.svg", "--metric", "los")
        refused(invoke(*args), "no metric 'los'", "'loss'")


@pytest.fixture(scope="module")
def small(toy, tmp_path_factory) -> Path:
    """The configuration of a training that is soon over."""
    return config(toy, tmp_path_factory.mktemp("scale"), max_steps="5", validate_every="5")


@pytest.fixture(scope="module")
def suite(small) -> Path:
    """Three items in two sets."""
    items = [
        boxpen.Choice(
            id=str(n),
            source=f"{kind}狗追红鸟。",
            candidates=(f"The {said} dog chases the red bird.", "The red bird."),
            gold=0,
            tags={"set": name},
        )
        for n, (kind, said, name) in enumerate(
            [("大", "big", "LA"), ("小", "small", "LA"), ("红", "red", "CL-SA")]
        )
    ]
    path = small.parent / "roles.jsonl"
    card = boxpen.Card(language="en", source_language="zh")
    boxpen.write_suite(boxpen.Suite("roles", tuple(items), card), path)
    return path


class TestScale:
    SHARES = ("--share", "1", "--share", "1/2")

    def run(self, small: Path, *args: object):
        out, cache = (small.parent / name for name in ("all", "scores.sqlite"))
        options = ("--out", out, "--cache", cache, "--device", "cpu")
        return invoke("train", "scale", small, *options, *self.SHARES, *args)

    def test_a_table(self, small, suite):
        done = self.run(small, "--train-only")
        assert done.exit_code == 0, done.output
        header, *rows = done.stdout.splitlines()
        assert header.split() == ["share", "pairs", "target", "tokens", "steps", "validation",
                                  "loss", "BLEU"]  # fmt: skip
        made = json.loads((small.parent / "all" / "share-1" / "result.json").read_text())
        assert rows.pop() == f"BLEU: {made['bleu_signature']}"
        half, whole = (row.split()[:2] for row in rows)
        assert (half[0], whole[0]) == ("0.5", "1")
        assert int(half[1]) == round(int(whole[1]) / 2)
        assert "scale.svg" not in done.stderr

        done = self.run(small, "--suite", suite)
        assert done.exit_code == 0, done.output
        lines = done.stdout.splitlines()
        assert re.split(r"\s{2,}", lines[0].strip()) == [
            "share", "pairs", "suite", "n", "accuracy [95 %]", "BLEU [95 %]",
        ]  # fmt: skip
        assert max(map(len, lines[:7])) <= 80
        points = json.loads((small.parent / "all" / "scale.json").read_text())["points"]
        for point, whole in zip(points, (lines[1], lines[4]), strict=True):
            (result,) = point["suites"]
            numbers = re.findall(r"-?[\d.]+", whole)
            assert numbers[:3] == [f"{point['share']:g}", str(point["pairs"]), "3"]
            shown = [result["accuracy"][key] for key in ("value", "low", "high")]
            assert [float(n) for n in numbers[3:6]] == pytest.approx(shown, abs=6e-4)
            shown = [result["bleu"][key] for key in ("value", "low", "high")]
            assert [float(n) for n in numbers[6:9]] == pytest.approx(shown, abs=0.06)
        assert [line.split()[:2] for line in lines[2:4]] == [["LA", "2"], ["CL-SA", "1"]]
        results = [result for point in points for result in point["suites"]]
        assert lines[7:9] == [f"signature  {result['signature']}" for result in results]
        (own,) = {r["bleu_signature"].removeprefix(f"{r['signature']}|") for r in results}
        assert re.match(r"beam:\d+\|nrefs:1\|", own)
        told = f"BLEU: the signature of the run, then {own.replace('|', ' and ', 1)}"
        assert lines[9:] == [told]
        assert json.loads(self.run(small, "--suite", suite, "--json").stdout)["points"] == points

    def test_what_is_refused(self, small, suite):
        done = self.run(small, "--suite", suite, "--train-only")
        refused(done, "--suite and --train-only cannot be combined")
        refused(self.run(small, "--suite", suite, "--recipe", "nosuch"), "no recipe 'nosuch'")
        refused(self.run(small, "--share", "2"), "'2' is not a share of the data")
        refused(self.run(small, "--steps-power", "-1"), "the power of the steps is -1")

    def test_fewer_steps_for_a_smaller_share(self, small):
        out = ("--out", small.parent / "fewer", "--share", "1/4")
        done = invoke("train", "scale", small, *out, "--train-only", "--steps-power", "0.75",
                      "--device", "cpu", "--json")  # fmt: skip
        assert done.exit_code == 0, done.output
        (point,) = json.loads(done.stdout)["points"]
        assert point["steps"] == 2
        assert "step 2/2 " in done.stderr

    def test_rows_of_two_suites_and_of_one_without_sets(self):
        from rich.console import Console

        measure = {"value": 0.5, "low": 0.25, "high": 0.75, "n": 1200}
        first = {"suite": "commonmt", "accuracy": measure, "sets": {"LA": {**measure, "n": 400}},
                 "bleu": {"value": 12.345, "low": 10.0, "high": 14.0, "n": 1200}}  # fmt: skip
        second = {"suite": "plain", "accuracy": measure, "sets": {}, "bleu": None}
        points = [{"share": 1 / 16, "pairs": 1_234_567, "suites": [first, second]}]
        screen = Console(width=80)
        with screen.capture() as captured:
            screen.print(scale_table(points))
        assert [line.rstrip() for line in captured.get().splitlines()] == [
            " share      pairs  suite         n       accuracy [95 %]        BLEU [95 %]",
            "0.0625  1,234,567  commonmt  1,200  0.500 [0.250, 0.750]  12.3 [10.0, 14.0]",
            "                     LA        400  0.500 [0.250, 0.750]",
            "                   plain     1,200  0.500 [0.250, 0.750]",
        ]
