"""The folder of a translation model: its settings, its log, and the model itself.

training.json   every setting, so that no other training resumes in the same folder
log.jsonl       one JSON object per line: loss and speed of steps, validation results
checkpoints/    until the end
result.json, the weights, the tokenizer and, last of all, config.json

The finished folder is a model of Transformers: ``hf:FOLDER`` for boxpen.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError

from boxpen.errors import NmtError
from boxpen.files import moved_in, replaced
from boxpen.models.engine.quiet import quiet
from boxpen.models.vocabulary import vocabulary_digest
from boxpen.nmt.config import NmtConfig
from boxpen.nmt.data.subwords import EOS, PAD, vocabulary_sizes
from boxpen.nmt.usable import check_folder, has_learnt, settings_of

if TYPE_CHECKING:
    from boxpen.nmt.data.prepared import Prepared

__all__ = ["ModelFolder"]


class ModelFolder:
    """The folder of one training."""

    def __init__(self, config: NmtConfig, prepared: Prepared) -> None:
        self.config, self.prepared = config, prepared
        self.folder = config.folder
        self._tokenizer: dict[str, bytes] = {}  # its files, read when the training begins

    def check(self) -> None:
        """Reject a path that is not a usable folder for this training.

        Raises:
            NmtError: If it is not usable; the message names the setting.
        """
        check_folder(self.config)
        self.prepared.check_unchanged()
        if not self._settings_file.is_file() or not has_learnt(self.folder):
            return
        then, now = _read(self._settings_file), self._settings()
        if then["vocabulary"] != now["vocabulary"]:
            raise NmtError(
                f"{self.folder} was started with another vocabulary than that of "
                f"{self.prepared.subwords}; use another folder"
            )
        if then["pairs"] != now["pairs"]:
            raise NmtError(
                f"{self.folder} was started with {then['pairs']:,} pairs, now there are "
                f"{now['pairs']:,}; use another folder"
            )
        if then["corpus"] != now["corpus"]:
            raise NmtError(
                f"{self.folder} was started with other pairs than those of {self.prepared.folder}; "
                "use another folder"
            )

    def begin(self) -> None:
        """Record the settings unless they are recorded already, and keep the tokenizer.

        From here on nothing is read of the corpus in its folder, which others may prepare again.

        Raises:
            NmtError: If the folder cannot be written, or the corpus was prepared anew meanwhile.
        """
        try:
            self._tokenizer = {f.name: f.read_bytes() for f in self.prepared.subwords.iterdir()}
        except OSError as error:
            raise NmtError(f"{error.filename} cannot be read: {error.strerror}") from None
        self.prepared.check_unchanged()
        if self._settings_file.is_file() and has_learnt(self.folder):
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise NmtError(f"{self.folder} cannot be created: {error.strerror}") from None
        with replaced(self._settings_file, NmtError) as stream:
            stream.write(json.dumps(self._settings(), indent=1).encode())

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other trainings out of the folder; what a killed one held is free at once.

        Of a training that has failed before it was begun nothing stays.

        Raises:
            NmtError: If another training is running there.
        """
        path = self.folder / ".lock"
        try:
            made = [place for place in (self.folder, *self.folder.parents) if not place.exists()]
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = path.open("w")
        except OSError as error:
            raise NmtError(
                f"{self.folder} cannot be a folder for the model: {error.strerror}"
            ) from None
        with lock as held:
            try:
                import fcntl

                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Another one may have failed meanwhile, and taken the file away with it.
                ours = os.path.samestat(os.fstat(held.fileno()), path.stat())
            except ImportError:  # a system without such locks
                ours = True
            except OSError:
                ours = False
            if not ours:
                raise NmtError(f"another training is running in {self.folder}")
            try:
                yield
            finally:
                if not self._settings_file.is_file():
                    with contextlib.suppress(OSError):
                        path.unlink()
                        for place in made:
                            place.rmdir()  # which refuses one that holds anything

    def new_model(self) -> Any:
        """Return the model; weights that it has of no other are drawn from Torch's generator."""
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
        from boxpen.nmt.sizes import new_model

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
        """Let a model translate as the configuration says.

        Raises:
            NmtError: If it begins from one that takes fewer tokens than a sentence may have.
        """
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

    def log(self, entry: Mapping[str, Any]) -> None:
        """Add a line to the log.

        Raises:
            NmtError: If it cannot be written.
        """
        try:
            with (self.folder / "log.jsonl").open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(entry) + "\n")
        except OSError as error:
            raise NmtError(
                f"{self.folder / 'log.jsonl'} cannot be written: {error.strerror}"
            ) from None

    def rewind(self, step: int) -> None:
        """Drop the lines of steps that are done again, and a line that was cut off."""
        path = self.folder / "log.jsonl"
        if not path.is_file():
            return
        kept = []
        for line in path.read_text("utf-8").splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if entry.get("step", 0) <= step:
                kept.append(line)
        with replaced(path, NmtError) as stream:
            stream.write("".join(f"{line}\n" for line in kept).encode())

    def result(self) -> dict[str, Any] | None:
        """Return the result of a finished training, or None."""
        if not (self.folder / "config.json").is_file():
            return None
        self.check()
        found: dict[str, Any] = _read(self.folder / "result.json")
        return found

    def finish(self, model: Any, result: Mapping[str, Any]) -> None:
        """Put model, tokenizer and result in place; ``config.json``, which makes it one, last.

        Raises:
            NmtError: If it cannot be written, or its tokenizer is not that of the beginning; the
                checkpoints stay.
        """
        aside = self.folder / ".finished"
        shutil.rmtree(aside, ignore_errors=True)
        try:
            with quiet():
                model.save_pretrained(aside)
            for name, content in self._tokenizer.items():
                (aside / name).write_bytes(content)
            self._check_vocabulary(aside)
            told = _read(aside / "tokenizer_config.json")
            told["model_max_length"] = model.generation_config.max_length
            (aside / "tokenizer_config.json").write_text(json.dumps(told, indent=2), "utf-8")
            (aside / "result.json").write_text(json.dumps(result, indent=1), "utf-8")
            if self.config.model.bert is not None:
                from boxpen.nmt.context.bert_reading import BertReader

                BertReader(self.config.model.bert).save_bert_tokenizer(self.folder)
            moved_in(aside, self.folder, last="config.json")
        except (OSError, RuntimeError, ValueError, SafetensorError) as error:
            shutil.rmtree(aside, ignore_errors=True)
            raise NmtError(
                f"the model cannot be written to {self.folder} ({error}); its checkpoints are "
                "kept, so rerun the same command to try again"
            ) from error

    def _check_vocabulary(self, made: Path) -> None:
        if vocabulary_digest(made) != _read(self._settings_file).get("vocabulary"):
            shutil.rmtree(made, ignore_errors=True)
            raise NmtError(
                f"the tokenizer for {self.folder} is not the one that {self._settings_file} was "
                "started with; the checkpoints are kept, so restore that file and rerun the same "
                "command to resume"
            )

    def _settings(self) -> dict[str, Any]:
        return {
            **settings_of(self.config),
            "vocabulary": vocabulary_digest(self.prepared.subwords),
            "pairs": len(self.prepared.train),
            "corpus": _fingerprint(self.prepared, contexts=self.config.model.reads_context),
        }

    @property
    def _settings_file(self) -> Path:
        return self.folder / "training.json"


def _fingerprint(prepared: Prepared, *, contexts: bool) -> str:
    """Return a digest of the pairs that are learnt from and judged by, and where they stood."""
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


def _read(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise NmtError(f"{path} cannot be read ({error}); use another folder") from None
    return found
