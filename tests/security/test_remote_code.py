"""No code of a checkpoint runs unless somebody who starts boxpen says so; then it is recorded."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from boxpen import ModelError, Run, evaluate, resolve_model, write_suite
from boxpen.cli.app import app
from boxpen.cluster.executors.local import LocalExecutor
from boxpen.errors import NmtError
from boxpen.lm.classifier.base import find_base
from boxpen.matrix.payload import shared_of
from boxpen.matrix.work import ModelWork
from boxpen.models.loading.trust import TRUST, foreign_attention, trusted, trusting
from boxpen.models.remote.tokenizer import FolderTokenizer
from boxpen.nmt.data.bert_reading import load_bert
from boxpen.nmt.loading import load_model as load_translation
from small_runs import small_suite

MODULE = """
from pathlib import Path
Path({marker!r}).touch()
from transformers import GPT2Config, GPT2LMHeadModel

class BoxyConfig(GPT2Config):
    model_type = "boxy"

class BoxyLM(GPT2LMHeadModel):
    config_class = BoxyConfig
"""
TOKENIZER = """
from pathlib import Path
Path({marker!r}).touch()
from transformers import GPT2Tokenizer

class BoxyTokenizer(GPT2Tokenizer):
    pass
"""
FLAG = "--trust-remote-code"


@pytest.fixture(autouse=True)
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep Transformers' copies of modules, and boxpen's caches, out of the user's folders."""
    dynamic = pytest.importorskip("transformers.dynamic_module_utils")
    monkeypatch.setattr(dynamic, "HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.syspath_prepend(str(tmp_path / "modules"))
    monkeypatch.setenv("BOXPEN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv(TRUST, raising=False)
    monkeypatch.chdir(tmp_path)
    write_suite(small_suite(4), tmp_path / "small.jsonl")


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    return tmp_path / "code-ran"


@pytest.fixture
def model(gpt2_dir: Path, tmp_path: Path, marker: Path) -> Path:
    """A checkpoint whose model class is in a file of its own."""
    folder = Path(shutil.copytree(gpt2_dir, tmp_path / f"boxy-{tmp_path.name[-12:]}"))
    config = json.loads((folder / "config.json").read_text())
    config |= {
        "model_type": "boxy",
        "architectures": ["BoxyLM"],
        "auto_map": {"AutoConfig": "boxy.BoxyConfig", "AutoModelForCausalLM": "boxy.BoxyLM"},
    }
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "boxy.py").write_text(MODULE.format(marker=str(marker)))
    return folder


@pytest.fixture
def reader(gpt2_dir: Path, tmp_path: Path, marker: Path) -> Path:
    """A checkpoint whose tokenizer class is in a file of its own."""
    folder = Path(shutil.copytree(gpt2_dir, tmp_path / f"reader-{tmp_path.name[-12:]}"))
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    settings |= {
        "tokenizer_class": "BoxyTokenizer",
        "auto_map": {"AutoTokenizer": ["boxytok.BoxyTokenizer", None]},
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    (folder / "boxytok.py").write_text(TOKENIZER.format(marker=str(marker)))
    return folder


def boxpen(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def refused(done: Result) -> None:
    assert done.exit_code == 2, (done.exit_code, done.output, done.exception)
    assert FLAG in done.stderr
    assert len([line for line in done.stderr.splitlines() if line.startswith("boxpen: ")]) == 1


def plan_file(model: Path) -> str:
    return f'suite = "./small.jsonl"\nmodel = "hf:{model}"\ncache = "./scores"\n'


class TestCommands:
    """Each command with a model: no marker without the flag; with it, the code has run."""

    @pytest.fixture(params=["run", "plan", "gate", "show", "get", "kg", "lm", "local"])
    def words(self, request, model: Path, tmp_path: Path) -> list[object]:
        plan, gate, graph = (tmp_path / f"{n}.toml" for n in ("plan", "gate", "graph"))
        plan.write_text(plan_file(model))
        gate.write_text(f"[run]\n{plan_file(model)}\n[[rule]]\nmetric = 'accuracy'\nmin = 0\n")
        (tmp_path / "text.txt").write_text("".join(f"Box {n} is in the pen.\n" for n in range(40)))
        (tmp_path / "triples.tsv").write_text(
            "".join(f"{h}\tisa\t{t}\n" for h in ("box", "pen") for t in ("thing", "toy"))
        )
        graph.write_text(
            "name = 'g'\nfolder = 'out'\n[[graphs]]\nname = 't'\nfiles = ['triples.tsv']\n"
            "columns = {head = 1, relation = 2, tail = 3}\nlanguage = 'en'\n"
            f"[rank]\nmodel = 'hf:{model}'\nkeep = 1.0\n[negatives]\nwordnet = false\n"
        )
        run = ["run", "small.jsonl", "--model", model, "--cache", tmp_path / "scores"]
        return {
            "run": run,
            "plan": ["run", "--plan", plan],
            "gate": ["check", "--rules", gate],
            "show": ["model", "show", model],
            "get": ["model", "get", model],
            "kg": ["build", "run", graph, "--stage", "rank"],
            "lm": ["train", "lm", "--kind", "causal", "--text", "text.txt", "--out", "new",
                   "--epochs", 1, "--batch-size", 4, "--model", model],
            "local": [*run, "--executor", "local", "--workers", 1, "--store", tmp_path / "store"],
        }[request.param]  # fmt: skip

    def test_it_runs_with_the_flag_only(self, words, marker):
        if words[:2] == ["build", "run"]:
            for stage in ("read", "filter"):
                boxpen(*words[:3], "--stage", stage)
        refused(boxpen(*words))
        assert not marker.exists()
        done = boxpen(*words, FLAG)
        assert marker.exists(), done.output
        assert done.exit_code == 0, (done.output, done.exception)
        assert not trusted()  # it ends with the command

    def test_neither_a_plan_nor_a_gate_can_give_it(self, model, marker, tmp_path):
        for key in ("trust_remote_code", "trusted"):
            text = f"{plan_file(model)}{key} = true\n"
            (tmp_path / "plan.toml").write_text(text)
            done = boxpen("run", "--plan", tmp_path / "plan.toml")
            assert done.exit_code == 2
            assert key in done.stderr
            (tmp_path / "gate.toml").write_text(
                f"[run]\n{text}\n[[rule]]\nmetric = 'accuracy'\nmin = 0\n"
            )
            done = boxpen("check", "--rules", tmp_path / "gate.toml")
            assert done.exit_code == 2
            assert key in done.stderr
        assert not marker.exists()


class TestApi:
    def test_a_model(self, model, marker):
        with pytest.raises(ModelError, match="trust_remote_code=True"):
            evaluate(f"hf:{model}", small_suite(4), cache=":memory:")
        assert not marker.exists()
        run = evaluate(f"hf:{model}", small_suite(4), cache=":memory:", trust_remote_code=True)
        assert marker.exists()
        assert run.info.model.trust_remote_code is True
        assert "|trust_remote_code:yes|" in run.signature

    def test_a_tokenizer(self, reader, marker):
        plain = resolve_model(f"hf:{reader}")  # Transformers has a class for this architecture
        assert not marker.exists()
        found = resolve_model(f"hf:{reader}", trust_remote_code=True)
        assert marker.exists()
        assert found.remote_code
        assert found.fingerprint != plain.fingerprint

    def test_it_is_in_run_json_and_read_again(self, model, tmp_path):
        done = boxpen("run", "small.jsonl", "--model", model, FLAG, "--json")
        assert done.exit_code == 0, done.output
        (place,) = (tmp_path / "runs").iterdir()
        assert json.loads((place / "run.json").read_text())["model"]["trust_remote_code"] is True
        assert Run.load(place).info.model.trust_remote_code

    def test_a_checkpoint_without_code_is_the_same_with_the_flag(self, gpt2_dir):
        one = evaluate(f"hf:{gpt2_dir}", small_suite(4), cache=":memory:")
        other = evaluate(f"hf:{gpt2_dir}", small_suite(4), cache=":memory:", trust_remote_code=True)
        assert one.signature == other.signature
        assert other.info.model.trust_remote_code is None

    def test_the_base_of_a_classifier(self, model, marker):
        with pytest.raises(ModelError, match=FLAG):
            find_base(f"hf:{model}", tokenizer=None, texts=())
        assert not marker.exists()
        with trusting():
            assert find_base(f"hf:{model}", tokenizer=None, texts=()).config.model_type == "boxy"

    def test_code_beside_a_known_architecture_is_left_alone(self, gpt2_dir, tmp_path, marker):
        folder = Path(shutil.copytree(gpt2_dir, tmp_path / "known"))
        config = json.loads((folder / "config.json").read_text())
        config["auto_map"] = {"AutoConfig": "boxy.BoxyConfig"}
        (folder / "config.json").write_text(json.dumps(config))
        (folder / "boxy.py").write_text(MODULE.format(marker=str(marker)))
        (folder / "custom_generate").mkdir()
        (folder / "custom_generate" / "generate.py").write_text(
            f"open({str(marker)!r}, 'w')\ndef generate(model, **more): ...\n"
        )
        resolve_model(f"hf:{folder}").load()
        assert not marker.exists()

    def test_changed_code_is_another_model_wherever_it_is(self, reader, model, tmp_path):
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        (reader / "boxytok.py").rename(elsewhere / "boxytok.py")
        settings = json.loads((reader / "tokenizer_config.json").read_text())
        settings["auto_map"] = {"AutoTokenizer": [f"{elsewhere}--boxytok.BoxyTokenizer", None]}
        (reader / "tokenizer_config.json").write_text(json.dumps(settings))
        (model / "boxy.py").rename(elsewhere / "boxy.py")
        config = json.loads((model / "config.json").read_text())
        config["auto_map"] = {k: f"{elsewhere}--{v}" for k, v in config["auto_map"].items()}
        (model / "config.json").write_text(json.dumps(config))
        for folder, name in ((reader, "boxytok.py"), (model, "boxy.py")):
            first = resolve_model(f"hf:{folder}", trust_remote_code=True).fingerprint
            assert resolve_model(f"hf:{folder}", trust_remote_code=True).fingerprint == first
            file = elsewhere / name
            file.write_text(f"from .more import A\n{file.read_text()}")
            (elsewhere / "more.py").write_text("A = 1\n")
            second = resolve_model(f"hf:{folder}", trust_remote_code=True).fingerprint
            (elsewhere / "more.py").write_text("A = 2\n")
            third = resolve_model(f"hf:{folder}", trust_remote_code=True).fingerprint
            assert len({first, second, third}) == 3


class TestAttention:
    """An attention from another repository is code; Transformers would load and run it."""

    @pytest.fixture(params=["attn_implementation", "_attn_implementation"])
    def folder(self, request, gpt2_dir, tmp_path) -> Path:
        folder = Path(shutil.copytree(gpt2_dir, tmp_path / "attention"))
        return _with(folder, **{request.param: "somebody/kernel"})

    def test_the_argument_decides_and_not_the_environment(self, folder, monkeypatch):
        found = resolve_model(f"hf:{folder}", trust_remote_code=True)
        assert found.remote_code
        monkeypatch.setenv(TRUST, "1")
        with pytest.raises(ModelError, match="somebody/kernel"):
            resolve_model(f"hf:{folder}", trust_remote_code=False)

    def test_by_default_it_is_refused(self, folder):
        with pytest.raises(ModelError, match=f"somebody/kernel.*{FLAG}"):
            resolve_model(f"hf:{folder}")
        with pytest.raises(ModelError, match=f"somebody/kernel.*{FLAG}"):
            find_base(f"hf:{folder}", tokenizer=None, texts=())

    def test_parts_of_a_configuration(self):
        from transformers import BertConfig, EncoderDecoderConfig

        whole = EncoderDecoderConfig.from_encoder_decoder_configs(BertConfig(), BertConfig())
        assert foreign_attention(whole) is None
        whole.decoder._attn_implementation = "somebody/kernel"
        assert "somebody/kernel" in str(foreign_attention(whole))

    def test_translation_refuses_it_even_with_the_flag(self, tmp_path, monkeypatch):
        from transformers import BertConfig, MarianConfig

        monkeypatch.setattr(
            "transformers.modeling_utils.PreTrainedModel._check_and_adjust_attn_implementation",
            lambda *a, **k: pytest.fail("Transformers was asked for the attention"),
        )
        width = {"d_model": 16, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16, "vocab_size": 20}
        small = MarianConfig(**width, pad_token_id=0, decoder_start_token_id=0)
        bert = BertConfig(hidden_size=16, num_attention_heads=2, vocab_size=57)
        for config in (small, bert):
            config.save_pretrained(tmp_path / config.model_type)
            _with(tmp_path / config.model_type, attn_implementation="somebody/kernel")
        with trusting():
            with pytest.raises(NmtError, match="somebody/kernel"):
                load_translation(tmp_path / "marian")
            with pytest.raises(NmtError, match="somebody/kernel"):
                load_bert(tmp_path / "bert")


def test_the_tokenizer_of_a_server_runs_no_code_at_all(reader, marker):
    config = json.loads((reader / "config.json").read_text())
    (reader / "config.json").write_text(json.dumps(config | {"model_type": "boxy"}))
    with trusting(), pytest.raises(ModelError, match="does not run for a server"):
        FolderTokenizer(reader)
    assert not marker.exists()


class TestWorkers:
    def test_a_unit_cannot_give_it(self, model, marker):
        shared = shared_of(resolve_model(f"hf:{model}", trust_remote_code=True))
        marker.unlink()
        _forget(model)
        for asked in ({}, {"trust_remote_code": True, "trusted": True}):
            with pytest.raises(ModelError, match=FLAG):
                ModelWork({**shared, **asked})
        assert not marker.exists()
        with trusting():
            ModelWork(shared).close()
        assert marker.exists()

    def test_workers_of_this_machine_inherit_it(self):
        executor = LocalExecutor()
        assert TRUST not in executor._environment(0)
        with trusting():
            assert executor._environment(0)[TRUST] == "1"

    def test_the_worker_has_the_flag(self, tmp_path, monkeypatch):
        seen: list[bool] = []
        monkeypatch.setattr(
            "boxpen.cluster.worker.Worker.run",
            lambda self, *a, **k: seen.append(trusted()) or _nothing(self),
        )
        for more in ((), (FLAG,)):
            boxpen("worker", "--join", tmp_path / "store", "--idle", 0, *more)
        assert seen == [False, True]


def test_the_flag_is_no_default_of_the_environment(monkeypatch):
    for value, said in (("1", True), ("0", False), ("", False), ("yes", False)):
        monkeypatch.setenv(TRUST, value)
        assert trusted() is said


def _forget(model: Path) -> None:
    """Drop the modules of a checkpoint, so that loading it again would run them again."""
    import sys

    for name in [n for n in sys.modules if n.startswith("transformers_modules")]:
        del sys.modules[name]


def _with(folder: Path, **settings: object) -> Path:
    """Add settings to a ``config.json``."""
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **settings}))
    return folder


def _nothing(worker: object) -> Callable[..., None]:
    from types import SimpleNamespace

    return SimpleNamespace(units=0, working=0, loads=0, loading=0, problem="", failed={})
