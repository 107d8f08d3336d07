"""Settings of [model] that would change nothing are refused when a configuration is read."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy_corpus import DOCUMENTS, write_config

from boxpen.errors import ConfigError
from boxpen.nmt.config import NmtConfig, read_config


def read(folder: Path, model: str) -> NmtConfig:
    text = DOCUMENTS.replace('architecture = "transformer"\nsize = "tiny"\n', model)
    assert text != DOCUMENTS
    return read_config(write_config(folder, text))


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (
            'architecture = "thumt"\nbase = "base"\nsize = "base"\n',
            "toy.toml: model.size is 'base', but the model has the size of base; remove size",
        ),
        (
            'architecture = "cadec"\nbase = "base"\ndrop_net = 0.5\n',
            "toy.toml: model.drop_net is 0.5, but architecture is 'cadec'; only 'bert-fused' uses",
        ),
        (
            "drop_net = 1.0\n",
            "model.drop_net is 1, but architecture is 'transformer'; only 'bert-fused'",
        ),
        (
            'architecture = "thumt"\nbase = "base"\ndenoising = 0\n',
            "model.denoising is 0, but architecture is 'thumt'; only 'cadec' uses denoising",
        ),
        (
            'architecture = "concat"\nbert = "bert"\n',
            "toy.toml: model.architecture is 'concat', which does not use bert",
        ),
        ('bert = "bert"\n', "architecture is 'transformer', which does not use bert"),
    ],
)
def test_a_setting_without_use_is_refused(tmp_path: Path, model: str, says: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read(tmp_path, model)
    assert says in str(refused.value)


def test_settings_that_are_of_use_or_not_given_are_taken(tmp_path: Path) -> None:
    assert read(tmp_path, 'architecture = "thumt"\nbase = "base"\n').model.size == "base"
    assert read(tmp_path, 'architecture = "concat"\nsize = "small"\n').model.size == "small"
    fused = 'architecture = "bert-fused"\nbase = "base"\nbert = "bert"\n'
    assert read(tmp_path, fused).model.drop_net == 1
    assert read(tmp_path, f"{fused}drop_net = 0.5\n").model.drop_net == 0.5
    cadec = 'architecture = "cadec"\nbase = "base"\n'
    assert read(tmp_path, cadec).model.denoising == 0.5
    assert read(tmp_path, f"{cadec}denoising = 0\n").model.denoising == 0
