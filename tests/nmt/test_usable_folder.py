"""Folders for models: refused before the corpus is read, in the words that come after it too."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("sentencepiece")
pytest.importorskip("safetensors")

from toy_corpus import DOCUMENTS, write_config, write_corpus
from typer.testing import CliRunner

from boxpen.cli.app import app
from boxpen.errors import NmtError, TrainError
from boxpen.nmt.config import NmtConfig, read_config
from boxpen.nmt.data.prepared import Prepared, prepare
from boxpen.nmt.folder import ModelFolder, check_folder


@pytest.fixture(scope="module")
def prepared(tmp_path_factory) -> Prepared:
    folder = tmp_path_factory.mktemp("corpus")
    write_corpus(folder, pairs=20)
    return prepare(read_config(write_config(folder)))


@pytest.fixture
def config(tmp_path: Path) -> NmtConfig:
    return read_config(write_config(tmp_path))


def refused(config: NmtConfig, *parts: str) -> None:
    with pytest.raises((NmtError, TrainError)) as found:
        check_folder(config)
    for part in parts:
        assert part in str(found.value)


def test_new_empty_begun_and_finished_folders_are_taken(config, prepared):
    check_folder(config)
    assert not config.folder.exists()
    config.folder.mkdir()
    check_folder(config)
    ModelFolder(config, prepared).begin()
    check_folder(config)
    (config.folder / "config.json").touch()
    check_folder(config)


def test_data_and_a_lock_within_the_folder_are_no_strangers(config, prepared):
    inside = replace(config, data=config.folder / "data")
    inside.data.mkdir(parents=True)
    (inside.folder / ".lock").touch()
    check_folder(inside)
    refused(config, f"{config.folder} holds 'data' and no training.json")


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"seed": 7}, "started with seed = 1, not 7"),
        ({"target": "de"}, "started with target = 'en', not 'de'"),
        ({"model": {"dropout": 0.25}}, "started with [model] dropout = None, not 0.25"),
        ({"train": {"betas": (0.9, 0.98)}}, "[train] betas = [0.9, 0.999], not [0.9, 0.98]"),
        ({"decode": {"beam": 3}}, "started with [decode] beam = 5, not 3"),
        ({"train": {"max_steps": 99, "patience": 1, "log_every": 1}}, ""),
    ],
)
def test_it_says_what_is_said_when_the_corpus_is_known(config, prepared, changed, says):
    ModelFolder(config, prepared).begin()
    (config.folder / "checkpoints" / "step-10").mkdir(parents=True)
    values = {
        name: replace(getattr(config, name), **value) if isinstance(value, dict) else value
        for name, value in changed.items()
    }
    other = replace(config, **values)
    said = []
    for check in (lambda: check_folder(other), ModelFolder(other, prepared).check):
        try:
            check()
            said.append("")
        except TrainError as error:
            said.append(str(error))
    assert said[0] == said[1]
    assert says in said[0]
    assert bool(says) == bool(said[0])


def test_without_a_checkpoint_other_settings_begin_anew(config, prepared):
    ModelFolder(config, prepared).begin()
    other = replace(config, train=replace(config.train, tokens=500))
    check_folder(other)
    ModelFolder(other, prepared).check()
    ModelFolder(other, prepared).begin()
    assert json.loads((config.folder / "training.json").read_text())["train"]["tokens"] == 500
    (config.folder / "checkpoints" / "step-10").mkdir(parents=True)
    refused(config, "started with [train] tokens = 500, not 400")


def test_a_setting_that_has_come_up_since_was_at_its_default(config, prepared):
    ModelFolder(config, prepared).begin()
    record = config.folder / "training.json"
    then = json.loads(record.read_text())
    del then["train"]["average"]
    (config.folder / "checkpoints" / "step-10").mkdir(parents=True)
    record.write_text(json.dumps(then))
    check_folder(config)
    other = replace(config, train=replace(config.train, average=2))
    refused(other, "started with [train] average = 5, not 2")


def test_the_folder_of_a_language_model_is_refused(config, prepared):
    ModelFolder(config, prepared).begin()
    record = config.folder / "training.json"
    then = json.loads(record.read_text())
    assert then["top"].pop("task") == "nmt"
    (config.folder / "checkpoints" / "step-10").mkdir(parents=True)
    record.write_text(json.dumps(then))
    check_folder(config)  # as it was recorded before tasks were
    record.write_text('{"top": {"task": "lm"}}')
    refused(config, "was started with 'boxpen train lm', not 'boxpen train nmt'; use another fold")


def test_places_where_no_folder_can_be(config, tmp_path):
    config.folder.touch()
    refused(config, f"{config.folder} is a file, expected a folder for the model")
    below = replace(config, folder=config.folder / "a" / "b")
    refused(below, f"{below.folder} cannot be created: {config.folder} is a file")
    refused(replace(config, folder=tmp_path / ("x" * 300)), "xxx cannot be", "name too long")


def test_folders_that_are_closed(config, prepared, monkeypatch):
    # In place of permissions, which do not hold for everybody.
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != config.folder)
    check_folder(config)
    config.folder.mkdir()
    refused(config, f"{config.folder} cannot be written", "permission denied")
    refused(replace(config, folder=config.folder / "a"), f"permission denied for {config.folder}")
    ModelFolder(config, prepared).begin()
    refused(config, "permission denied")
    (config.folder / "config.json").touch()  # finished: it is only read
    check_folder(config)


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"top": 1, "model": {}}', "\x00"])
def test_a_record_that_is_none(config, text):
    config.folder.mkdir()
    (config.folder / "training.json").write_text(text)
    with pytest.raises(TrainError, match=re.escape("training.json is damaged or not the record")):
        check_folder(config)


@pytest.mark.parametrize(
    ("name", "held", "says"),
    [
        (
            "base",
            '{"model_type": "bert"}',
            "holds a model of the type 'bert', expected 'marian'",
        ),
        ("base", '{"model_type": "rnnsearch"}', "'rnnsearch', expected 'marian', a Transformer"),
        ("base", '{"model_type": "thumt"}', "of the type 'thumt', expected 'marian'"),
        ("base", "[]", "of the type None, expected 'marian'"),
        ("base", "{", "is not a model: its config.json cannot be read (Expecting"),
        ("bert", '{"model_type": "marian"}', "of the type 'marian', expected 'bert', a BERT"),
        ("bert", '{"model_type": "bert_fused"}', "of the type 'bert_fused', expected 'bert'"),
    ],
)
def test_a_model_of_the_wrong_kind_is_told_first(config, tmp_path, name, held, says):
    for folder, kind in (("base", "marian"), ("bert", "bert")):
        (tmp_path / folder).mkdir()
        shape = {"model_type": kind, "vocab_size": 5, "max_position_embeddings": 8}
        (tmp_path / folder / "config.json").write_text(json.dumps(shape))
    tokens = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    (tmp_path / "bert" / "vocab.txt").write_text("".join(f"{token}\n" for token in tokens))
    places = {"base": tmp_path / "base", "bert": tmp_path / "bert"}
    config = replace(config, model=replace(config.model, architecture="bert-fused", **places))
    check_folder(config)
    (tmp_path / name / "config.json").write_text(held)
    refused(config, f"[model] {name} = {places[name]} ", says)
    assert not config.folder.exists()


def test_a_base_of_the_wrong_kind_is_told_before_the_corpus_is_read(tmp_path):
    text = DOCUMENTS.replace('size = "tiny"', 'base = "strange"')
    path = write_config(tmp_path, text, architecture='"thumt"')
    (tmp_path / "strange").mkdir()
    (tmp_path / "strange" / "config.json").write_text('{"model_type": "bert"}')
    done = CliRunner().invoke(app, ["train", "nmt", str(path), "--device", "cpu"])
    assert done.exit_code == 2  # and not that there is no train.zh
    assert "holds a model of the type 'bert', expected 'marian'" in " ".join(done.stderr.split())
    assert not (tmp_path / "data").exists()
