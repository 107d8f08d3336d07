"""Whether a folder can take a training, told before minutes are spent on its corpus."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from boxpen.errors import NmtError
from boxpen.nmt.checkpoints import Checkpoints
from boxpen.nmt.config import DecodeConfig, ModelConfig, NmtConfig, TrainConfig
from boxpen.nmt.data.subwords import SubwordConfig
from boxpen.text.cleaning import CleanConfig

__all__ = ["check_folder", "has_learnt", "settings_of"]

# What may be changed for a training that goes on: when it ends, and what is only shown.
_FREE = frozenset({"max_steps", "max_epochs", "max_minutes", "patience", "log_every"})


def check_folder(config: NmtConfig) -> None:
    """Reject an unusable folder for the model, as far as can be checked without the corpus.

    Raises:
        NmtError: If it is a file, cannot be written, holds other things, or belongs to another
            training, or if what the model is made of is of the wrong kind, or a BERT of another
            tokenizer; the message names the setting or the folder.
    """
    folder = config.folder
    _check_kind("base", config.model.base, "marian", "a Transformer")
    _check_kind("bert", config.model.bert, "bert", "a BERT")
    if config.model.bert is not None:
        from boxpen.nmt.context.bert_reading import BertReader

        BertReader(config.model.bert)
    try:
        if folder.exists() and not folder.is_dir():
            raise NmtError(f"{folder} is a file, expected a folder for the model")
        begun = folder / "training.json"
        if begun.is_file():
            then = _read(begun)
            if has_learnt(folder):  # or other settings, perhaps those advised, begin it anew
                _check_settings(folder, then, settings_of(config))
        else:
            _check_others(config)
        if not (folder / "config.json").is_file():  # a finished model is only read
            _check_writable(folder)
    except OSError as error:
        raise NmtError(
            f"{folder} cannot be a folder for the model: {error.strerror or error}"
        ) from None


def has_learnt(folder: Path) -> bool:
    """Whether a training has left a checkpoint in a folder, or a model: other settings ruin it."""
    return (folder / "config.json").is_file() or bool(Checkpoints(folder / "checkpoints").steps())


def _check_kind(name: str, needed: Path | None, kind: str, means: str) -> None:
    """Reject a folder that holds no model, or one of another kind than a setting needs."""
    if needed is None:
        return
    told = f"[model] {name} = {needed}"
    path = needed / "config.json"
    if not path.is_file():
        raise NmtError(f"{told} is not a model: it has no config.json")
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise NmtError(
            f"{told} is not a model: its config.json cannot be read ({reason})"
        ) from None
    held = found.get("model_type") if isinstance(found, dict) else None
    if held != kind:
        raise NmtError(f"{told} holds a model of the type {held!r}, expected '{kind}', {means}")


def settings_of(config: NmtConfig) -> dict[str, dict[str, Any]]:
    """Return the settings that a folder is begun with, by their tables, as JSON has them."""
    top = {"source": config.source, "target": config.target, "seed": config.seed}
    return {"top": top} | _tables(
        model=config.model,
        train=config.train,
        decode=config.decode,
        clean=config.clean,
        subwords=config.subwords,
    )


def _tables(**made: Any) -> dict[str, dict[str, Any]]:
    tables = {name: asdict(table) for name, table in made.items()}
    found: dict[str, dict[str, Any]] = json.loads(json.dumps(tables, default=str))
    return found


def _check_settings(folder: Path, then: dict[str, Any], now: dict[str, dict[str, Any]]) -> None:
    # A setting that has come up since was at its default then.
    usual = _tables(
        model=ModelConfig(),
        train=TrainConfig(),
        decode=DecodeConfig(),
        clean=CleanConfig(),
        subwords=SubwordConfig(),
    )
    for table, values in now.items():
        if table not in then:  # begun when these were not kept: the corpus will tell
            continue
        for key, value in values.items():
            was = then[table].get(key, usual.get(table, {}).get(key))
            if was != value and key not in _FREE:
                name = key if table == "top" else f"[{table}] {key}"
                if table == "subwords":
                    name = f"another vocabulary: {name}"
                raise NmtError(
                    f"{folder} was started with {name} = {was!r}, not {value!r}; use the same "
                    "value, or another folder"
                )


def _check_others(config: NmtConfig) -> None:
    """Reject a folder with files that do not belong to a training."""
    if not config.folder.is_dir():
        return
    ours = {config.data, config.folder / ".lock"}
    strange = sorted(p.name for p in config.folder.iterdir() if p not in ours)
    if strange:
        raise NmtError(
            f"{config.folder} holds '{strange[0]}' and no training.json, expected a new or empty "
            "folder, or one of an earlier training"
        )


def _check_writable(folder: Path) -> None:
    """Reject a folder that cannot be written or created."""
    place = folder.absolute()
    while not place.exists():
        place = place.parent
    if not place.is_dir():
        raise NmtError(f"{folder} cannot be created: {place} is a file, expected a folder")
    if not os.access(place, os.W_OK | os.X_OK):
        raise NmtError(f"{folder} cannot be written: permission denied for {place}")


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8"))
        whole = all(isinstance(found[table], dict) for table in ("top", "model", "train", "decode"))
        whole = whole and all(isinstance(found.get(t, {}), dict) for t in ("clean", "subwords"))
        whole = whole and {"vocabulary", "pairs", "corpus"} <= set(found)
    except (ValueError, TypeError, KeyError):
        whole = False
    if not whole:
        raise NmtError(f"{path} is damaged or not the record of a training; use another folder")
    return dict(found)
