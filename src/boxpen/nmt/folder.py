"""The folder of a translation model: its settings, its first weights, and the finished model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boxpen.errors import NmtError, TrainError
from boxpen.models.vocabulary import vocabulary_digest
from boxpen.nmt.config import DecodeConfig, ModelConfig, NmtConfig, TrainConfig
from boxpen.nmt.data.subwords import EOS, PAD, SubwordConfig, vocabulary_sizes
from boxpen.text.cleaning import CleanConfig
from boxpen.training.folder import RunFolder, read_json

if TYPE_CHECKING:
    from boxpen.nmt.data.prepared import Prepared

__all__ = ["ModelFolder", "check_folder"]

_DEFAULTS = {
    "model": ModelConfig,
    "train": TrainConfig,
    "decode": DecodeConfig,
    "clean": CleanConfig,
    "subwords": SubwordConfig,
}


def check_folder(config: NmtConfig) -> None:
    """Reject an unusable folder for the model, as far as can be checked without the corpus."""
    ModelFolder(config).check()


class ModelFolder(RunFolder):
    """The folder of one training.

    Args:
        config: Its configuration.
        prepared: Its corpus; without it, only settings of the configuration can be checked.
    """

    free = frozenset({"max_steps", "max_epochs", "max_minutes", "patience", "log_every"})

    def __init__(self, config: NmtConfig, prepared: Prepared | None = None) -> None:
        tables = {name: asdict(getattr(config, name)) for name in _DEFAULTS}
        task = {"task": "nmt"}
        top = {**task, "source": config.source, "target": config.target, "seed": config.seed}
        defaults = {"top": task, **{name: asdict(table()) for name, table in _DEFAULTS.items()}}
        super().__init__(config.folder, {"top": top, **tables}, defaults)
        self.config, self._prepared = config, prepared
        self._tokenizer: dict[str, bytes] = {}  # its files, read when the training begins

    @property
    def prepared(self) -> Prepared:
        """The corpus."""
        assert self._prepared is not None, "only settings are known"
        return self._prepared

    @cached_property
    def _corpus(self) -> dict[str, Any]:
        """What is recorded of the corpus."""
        return {
            "vocabulary": vocabulary_digest(self.prepared.subwords),
            "pairs": len(self.prepared.train),
            "corpus": _fingerprint(self.prepared, contexts=self.config.model.reads_context),
        }

    def difference(self, table: str, key: str, was: Any, now: Any) -> str:
        """Describe a setting that differs from the recorded one, and the way out."""
        name = key if table == "top" else f"[{table}] {key}"
        if table == "subwords":
            name = f"another vocabulary: {name}"
        return f"{name} = {was!r}, not {now!r}; use the same value, or another folder"

    def check(self, *ours: Path) -> None:
        """Reject a path that is not a usable folder for this training."""
        _check_kind("base", self.config.model.base, "marian", "a Transformer")
        _check_kind("bert", self.config.model.bert, "bert", "a BERT")
        if self.config.model.bert is not None:
            from boxpen.nmt.data.bert_reading import BertReader

            BertReader(self.config.model.bert)
        super().check(self.config.data, *ours)
        if self._prepared is not None:
            self._prepared.check_unchanged()

    def compare(self, recorded: Mapping[str, Any]) -> None:
        """Refuse other settings, or another corpus, than a training was started with."""
        super().compare(recorded)
        if self._prepared is None:
            return
        self._prepared.check_unchanged()
        differences = {
            "vocabulary": f"another vocabulary than that of {self.prepared.subwords}",
            "pairs": f"{recorded.get('pairs')} pairs, now there are {len(self.prepared.train)}",
            "corpus": f"other pairs than those of {self.prepared.folder}",
        }
        for name, differs in differences.items():
            if recorded.get(name) != self._corpus[name]:
                raise TrainError(f"{self.folder} was started with {differs}; use another folder")

    def begin(self, files: Mapping[str, bytes] | None = None) -> None:
        """Record the settings unless they are recorded already, and keep the tokenizer.

        From here on nothing is read of the corpus in its folder, which others may prepare again.
        """
        try:
            self._tokenizer = {f.name: f.read_bytes() for f in self.prepared.subwords.iterdir()}
        except OSError as error:
            raise NmtError(f"{error.filename} cannot be read: {error.strerror}") from None
        self.prepared.check_unchanged()
        self.settings |= self._corpus
        super().begin(files)

    def new_model(self) -> Any:
        """Return the model; weights without a base are drawn from PyTorch's generator."""
        model = self.config.model
        if model.reads_context:
            from boxpen.nmt.context.making import new_context_model

            return self._decoding(new_context_model(model, self.prepared.subwords, self._plain))
        if model.base is not None:
            from boxpen.nmt.loading import load_base

            return self._decoding(load_base(model.base, self.prepared.subwords, model.dropout))
        return self._decoding(self._plain())

    def _plain(self) -> Any:
        """Return a model that reads one sentence."""
        from boxpen.nmt.architectures.sizes import new_model

        model = self.config.model
        # One size for both, as MarianMTModel and what converts it mostly expect.
        rows = max(vocabulary_sizes(self.prepared.subwords))
        return new_model(
            "rnnsearch" if model.architecture == "rnnsearch" else "transformer",
            model.size,
            source_vocabulary=rows,
            target_vocabulary=rows,
            shared=self.config.subwords.kind == "joint",
            pad=PAD,
            eos=EOS,
            dropout=model.dropout,
            max_length=max(model.max_tokens, 512),
        )

    def _decoding(self, made: Any) -> Any:
        """Let a model translate as the configuration says."""
        room, wanted = getattr(made.config, "max_position_embeddings", None), self.config.model
        if room is not None and room < wanted.max_tokens:
            raise NmtError(
                f"[model] has max_tokens = {wanted.max_tokens}, more than the {room} that base = "
                f"{wanted.base} takes"
            )
        decode = self.config.decode
        made.generation_config.num_beams = decode.beam
        # Without beams Transformers refuses to save a penalty, be it that of the base.
        made.generation_config.length_penalty = decode.length_penalty if decode.beam > 1 else None
        return made

    def save(self, model: Any, folder: Path) -> None:
        """Write a finished model and its tokenizer.

        Raises:
            TrainError: If the tokenizer is not the one that the training was started with.
        """
        model.save_pretrained(folder)
        for name, content in self._tokenizer.items():
            (folder / name).write_bytes(content)
        if vocabulary_digest(folder) != read_json(self.settings_file, self.other).get("vocabulary"):
            raise TrainError(
                f"the tokenizer for {self.folder} is not the one that {self.settings_file} was "
                "started with; the checkpoints are kept, so restore that file and rerun the same "
                "command to resume"
            )
        told = read_json(folder / "tokenizer_config.json", self.other)
        told["model_max_length"] = model.generation_config.max_length
        (folder / "tokenizer_config.json").write_text(json.dumps(told, indent=2), "utf-8")
        if self.config.model.bert is not None:
            from boxpen.nmt.data.bert_reading import BertReader

            BertReader(self.config.model.bert).save_bert_tokenizer(self.folder)


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


def _fingerprint(prepared: Prepared, *, contexts: bool) -> str:
    """Return a digest of the training and validation pairs and, for context, their lines."""
    out = hashlib.sha256()
    for examples in (prepared.train, prepared.valid):
        arrays: list[Any] = [
            examples.source,
            examples.target,
            examples.source_ends,
            examples.target_ends,
        ]
        if contexts:
            arrays += [examples.document, examples.line]
        for array in arrays:
            out.update(array.tobytes())
    return out.hexdigest()
