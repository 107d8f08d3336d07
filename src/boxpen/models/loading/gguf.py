"""GGUF files, dequantised; their tokenizer and configuration are kept in the cache folder.

Reading them out of the file takes seconds: the reader of the package ``gguf`` splits a vocabulary
into a quarter of a million slices of a memory map, each of which is a memory map again, and
Transformers rebuilds the table of all tensor names for each part of a module. Both are patched
while a file is read.
"""

from __future__ import annotations

import contextlib
import functools
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from boxpen.errors import ModelError
from boxpen.folders import cache_dir
from boxpen.models.base import ModelSpec
from boxpen.models.engine.quiet import quiet
from boxpen.models.loading import fingerprint
from boxpen.models.loading.assembly import assemble, load_module, loaded, transformers
from boxpen.refcounted import refcounted

if TYPE_CHECKING:
    from boxpen.models.hf import TransformersModel

__all__ = ["from_gguf", "read_fast"]


def from_gguf(spec: ModelSpec, sha256: str = "") -> TransformersModel:
    """Return the model of a GGUF file.

    Args:
        spec: What was asked for.
        sha256: What the digest of the file must be, if it is known.

    Raises:
        ModelError: If there is no such file, or it cannot be loaded.
    """
    library, path, name = transformers(), spec.local, spec.name
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise ModelError(f"model '{name}': file {path} {what}")
    with path.open("rb") as stream:
        if stream.read(4) != b"GGUF":
            raise ModelError(f"model '{name}': {path} is not a GGUF file")
    digest = fingerprint.of_file(path)
    if sha256 not in ("", digest):
        raise ModelError(
            f"model '{name}': {path} has sha256 {digest}, expected {sha256}; delete it, and get it "
            f"again with: boxpen model get {name}"
        )
    with quiet(), read_fast():
        config, tokenizer = _parts(library, name, path, digest)

    def load(dtype: str, device: str) -> Any:
        auto, folder = library.AutoModelForCausalLM, str(path.parent)
        with read_fast():
            return load_module(
                name, auto, folder, dtype, device, gguf_file=path.name, config=config,
                trust_remote_code=False,
            )  # fmt: skip

    return assemble(spec, "causal", config, tokenizer, digest, load)


def _parts(library: Any, name: str, path: Path, digest: str) -> tuple[Any, Any]:
    kept = cache_dir() / "gguf" / f"{digest[:16]}-{library.__version__}"
    if kept.is_dir():
        with contextlib.suppress(OSError, ValueError):  # damaged: made again below
            config = library.AutoConfig.from_pretrained(kept, trust_remote_code=False)
            return config, library.AutoTokenizer.from_pretrained(kept, trust_remote_code=False)

    def part(what: str, auto: Any) -> Any:
        options = {"gguf_file": path.name, "trust_remote_code": False}
        return loaded(name, what, lambda: auto.from_pretrained(str(path.parent), **options))

    tokenizer = part("tokenizer", library.AutoTokenizer)
    config = part("configuration", library.AutoConfig)
    _keep(config, tokenizer, kept)
    return config, tokenizer


def _keep(config: Any, tokenizer: Any, place: Path) -> None:
    """Keep a configuration and a tokenizer, whole or not at all; failing only costs time later."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=place.parent))
    except OSError:
        return
    try:
        config.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        shutil.rmtree(place, ignore_errors=True)
        folder.rename(place)
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)


@refcounted
@contextlib.contextmanager
def read_fast() -> Iterator[None]:
    """Let ``gguf`` cut plain arrays and make each table of names once, in all threads."""
    try:
        import gguf
    except ImportError:  # Transformers says what is missing
        yield
        return
    module: Any = gguf
    reader, table = module.GGUFReader, module.get_tensor_name_map

    class Reader(reader):  # type: ignore[misc, valid-type]
        data: Any

        def _get(self, *args: Any, **options: Any) -> Any:
            if isinstance(self.data, np.memmap):
                self.data = self.data.view(np.ndarray)
            return super()._get(*args, **options)

    module.GGUFReader, module.get_tensor_name_map = Reader, functools.cache(table)
    try:
        yield
    finally:
        module.GGUFReader, module.get_tensor_name_map = reader, table
