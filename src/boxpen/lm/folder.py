"""The folder of a training of a language model or a classifier."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from boxpen.errors import TrainError
from boxpen.training.folder import RunFolder

__all__ = ["OutFolder", "digest", "tokenizer_digest"]


class OutFolder(RunFolder):
    """The folder ``--out`` of one training.

    Args:
        folder: Where it is.
        settings: The options by name, and the ``task``: ``nli``, ``choice`` or ``lm``.
        digests: Of the data, by the option that gave it.
        data: What the data is: items or sentences.
    """

    other = "another --out"

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, Any] | None = None,
        digests: Mapping[str, str | None] | None = None,
        data: str = "items",
    ) -> None:
        super().__init__(folder, {"top": settings or {}, "digests": digests or {}})
        self.data = data

    def difference(self, table: str, key: str, was: Any, now: Any) -> str:
        """Describe a setting that differs from the recorded one, and the way out."""
        option = "--" + key.replace("_", "-")
        if table == "digests":
            return f"other {self.data} in {option}; use another --out"
        if isinstance(was, dict) and _shown(was) == _shown(now):  # suites of the same names
            return f"other items in {option}; use another --out"
        return f"{option} {_shown(was)}, not {_shown(now)}; use the same value, or another --out"

    def begin(self, files: Mapping[str, bytes] | None = None, tokenizer: str | None = None) -> None:
        """Record the settings, other files and the digest of the tokenizer.

        Raises:
            TrainError: If a training is being resumed that was started with another tokenizer.
        """
        if self.settings_file.is_file() and self.has_learnt:
            was = self.recorded().get("tokenizer", tokenizer)  # older records lack it
            if was != tokenizer:
                raise TrainError(
                    f"{self.folder} was started with another tokenizer than the model has now; "
                    "restore that tokenizer, or use another --out"
                )
        self.settings["tokenizer"] = tokenizer
        super().begin(files)


def digest(lines: Iterable[str]) -> str:
    """Return the digest of data in its order."""
    out = hashlib.sha256()
    for line in lines:
        out.update(f"{line}\n".encode())
    return out.hexdigest()


def tokenizer_digest(tokenizer: Any) -> str:
    """Return the digest of everything in a tokenizer that decides the ids of a text."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    found = {"vocab": tokenizer.get_vocab()} if backend is None else json.loads(backend.to_str())
    for name in ("truncation", "padding"):  # set by calls of the tokenizer
        found.pop(name, None)
    special = {str(role): str(token) for role, token in tokenizer.special_tokens_map.items()}
    return digest([json.dumps([found, special], sort_keys=True)])


def _shown(value: Any) -> str:
    if value is None or value == {}:
        return "unset"
    if isinstance(value, float):
        return f"{value:g}"
    return ", ".join(value) if isinstance(value, dict) else str(value)
