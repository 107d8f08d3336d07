"""Convert a trained Marian model to CTranslate2, which is several times faster.

CTranslate2's own converter expects the models of OPUS-MT: one vocabulary whose last entry is
``<pad>``, and a decoder that starts from zeros. Here each language may have its own vocabulary, and
the decoder starts from the embedding of ``<pad>``, which tied weights move away from zero in
training. The converter for BART, whose weights have the same layout, makes neither assumption, so
it is used here.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from boxpen.errors import NmtError, nearest
from boxpen.files import new_folder
from boxpen.nmt.loading import load_model

__all__ = ["export_ct2"]

_SUBWORDS = ("source.spm", "target.spm")


def export_ct2(
    folder: Path, out: Path, *, quantization: str | None = None, overwrite: bool = False
) -> None:
    """Write the CTranslate2 model, with its subwords, that ``ct2:OUT`` names.

    Args:
        folder: The trained model with its tokenizer.
        out: The folder to write; it appears once everything is written.
        quantization: Type of the stored weights, such as ``int8`` or ``float16``; float32 if None.
        overwrite: Whether to overwrite an existing CTranslate2 model.

    Raises:
        NmtError: If the model is not a Marian one, cannot be read, or the output is in the way.
    """
    try:
        from ctranslate2.specs.model_spec import ACCEPTED_MODEL_TYPES
    except ImportError:
        raise NmtError(
            "this needs CTranslate2; install it with: pip install 'boxpen[mt]'"
        ) from None
    if quantization is not None and quantization not in ACCEPTED_MODEL_TYPES:
        raise NmtError(
            f"there is no quantization '{quantization}', "
            f"{nearest(quantization, list(ACCEPTED_MODEL_TYPES))}"
        )
    _require_marian(folder)
    if out.exists() or out.is_symlink():
        if not overwrite:
            raise NmtError(f"{out} already exists; choose another folder, or give --overwrite")
        if not (out / "model.bin").is_file():
            raise NmtError(f"{out} is not a CTranslate2 model, so it is not overwritten")
    model, tokenizer = load_model(folder)
    try:
        spec = _spec(model.float(), tokenizer)
        spec.validate()
        spec.optimize(quantization=quantization)
    except (ValueError, KeyError, NotImplementedError) as error:
        raise NmtError(f"{folder} cannot be turned into a CTranslate2 model ({error})") from None
    about: dict[str, Any] = {"max_length": _longest(model, tokenizer)}
    if tokenizer.source_lang and tokenizer.target_lang:
        about |= {"from_code": tokenizer.source_lang, "to_code": tokenizer.target_lang}
    with new_folder(out, NmtError) as new:
        spec.save(str(new))
        for name in _SUBWORDS:
            shutil.copyfile(folder / name, new / name)
        (new / "metadata.json").write_text(json.dumps(about, indent=2) + "\n", "utf-8")


def _require_marian(folder: Path) -> None:
    path = folder / "config.json"
    try:
        config = json.loads(path.read_bytes())
    except OSError as error:
        raise NmtError(f"{path} cannot be read: {error.strerror or error}") from None
    except ValueError:
        raise NmtError(f"{path} is not JSON") from None
    kind = config.get("model_type") if isinstance(config, dict) else None
    if kind != "marian":
        raise NmtError(
            f"{folder} holds a model of the type '{kind}', and CTranslate2 runs none such; "
            "expected 'marian', a transformer"
        )
    for name in _SUBWORDS:
        if not (folder / name).is_file():
            raise NmtError(f"{folder} has no {name}, expected a model beside its tokenizer")


def _longest(model: Any, tokenizer: Any) -> int:
    """Return the longest sequence that the model takes, EOS included; CTranslate2 fails on more."""
    return min(int(model.config.max_position_embeddings), int(tokenizer.model_max_length))


def _spec(model: Any, tokenizer: Any) -> Any:
    import torch
    from ctranslate2.converters.transformers import BartLoader

    model.config.normalize_before = model.config.normalize_embedding = False
    loader = BartLoader()
    with torch.no_grad():
        spec = loader.get_model_spec(model)
    spec.config.eos_token = tokenizer.eos_token
    spec.config.unk_token = tokenizer.unk_token
    spec.config.decoder_start_token = tokenizer.pad_token
    target = tokenizer.target_encoder if tokenizer.separate_vocabs else tokenizer.encoder
    spec.register_source_vocabulary(sorted(tokenizer.encoder, key=tokenizer.encoder.__getitem__))
    spec.register_target_vocabulary(sorted(target, key=target.__getitem__))
    return spec
