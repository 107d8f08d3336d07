"""The folder of a language model's training: a classifier's, except for held-out data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from boxpen.errors import TrainError
from boxpen.files import replaced
from boxpen.lm.classifier.record import Record
from boxpen.lm.sentences import Sentence

__all__ = ["LmRecord"]

_DIGESTS = ("text", "triples", "valid")


class LmRecord(Record):
    """The folder of one training; ``held-out.txt`` has the sentences that are held out."""

    def compare(self, settings: Mapping[str, Any]) -> None:
        """Refuse to resume with other settings, or in the folder of another kind of training.

        Raises:
            TrainError: If it is so; the message names the option.
        """
        if not self._settings.is_file():
            return
        then = self._begun()
        if then.get("task") != settings["task"]:
            raise TrainError(
                f"{self.folder} is of a training of the kind '{then.get('task')}', expected one of "
                "'boxpen train lm'; use another --out"
            )
        plain = {name: value for name, value in settings.items() if name not in _DIGESTS}
        super().compare(plain)
        for name in _DIGESTS:
            if then.get(name) != settings[name]:
                raise TrainError(
                    f"{self.folder} was started with other sentences in --{name}; use another --out"
                )

    def begin_sentences(self, settings: Mapping[str, Any], held_out: Sequence[Sentence]) -> None:
        """Record the settings at the start of a training, unless they are recorded already.

        Raises:
            TrainError: If the folder cannot be written.
        """
        if self._settings.is_file():
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise TrainError(f"{self.folder} cannot be created: {error.strerror}") from None
        with replaced(self.folder / "held-out.txt", TrainError) as stream:
            stream.writelines(f"{sentence.text}\n".encode() for sentence in held_out)
        with replaced(self._settings, TrainError) as stream:
            stream.write(json.dumps(settings, indent=1).encode())
