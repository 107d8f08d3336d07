"""Make models with context from a configuration, and find what they read of a corpus."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from boxpen.errors import NmtError
from boxpen.files import replaced
from boxpen.nmt.data.inputs import Reads
from boxpen.nmt.loading import check_numbers, load_base
from boxpen.plugins import ARCHITECTURES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from boxpen.nmt.config import ModelConfig
    from boxpen.nmt.data.bert_reading import BertReader
    from boxpen.nmt.data.examples import Examples
    from boxpen.nmt.data.prepared import Prepared

__all__ = ["new_context_model", "reads_of", "with_bert"]


def new_context_model(config: ModelConfig, subwords: Path, plain: Callable[[], Any]) -> Any:
    """Return a model that begins from a trained one.

    Args:
        config: Which model, and from what.
        subwords: The tokenizer of the corpus.
        plain: Makes a model with random weights, if there is no base to start from.

    Raises:
        NmtError: If the base is not a Transformer, its vocabulary differs from that of the corpus,
            or it or BERT has NaN or Inf in its weights.
    """
    name = config.architecture.replace("-", "_")
    kind = ARCHITECTURES.load(name)
    base = plain() if config.base is None else load_base(config.base, subwords, config.dropout)
    options: dict[str, Any] = {}
    if config.architecture == "bert-fused":
        from boxpen.nmt.data.bert_reading import BertReader, load_bert

        assert config.bert is not None
        bert = load_bert(config.bert)
        check_numbers(bert, f"[model] bert = {config.bert}")
        options = {"bert": bert, "p_net": config.drop_net}
    elif config.architecture == "cadec":
        options = {"context_sentences": config.context}
    made = kind.from_sentence_model(base, **options)
    made.config.context_sentences = config.context
    made.config.context_tokens = config.max_tokens
    if config.bert is not None:
        made.bert_reader = BertReader(config.bert)  # a finished model has it in its folder
    return made


def reads_of(model: Any, config: ModelConfig) -> Reads:
    """Return what a model reads of a corpus besides source and target."""
    return Reads(
        sentences=config.context,
        source="context_input_ids" in model.reads,
        limit=config.max_tokens,
        target="context_target_ids" in model.reads,
        bert=model.bert_reader if "bert_input_ids" in model.reads else None,
    )


def with_bert(
    prepared: Prepared, config: ModelConfig, note: Callable[[str], None] = lambda _: None
) -> Prepared:
    """Add the tokens of BERT to a corpus, if the model wants them; they are made once.

    Raises:
        NmtError: If the corpus was prepared by an earlier version, or a sentence is too long.
    """
    if config.bert is None:
        return prepared
    from boxpen.nmt.data.bert_reading import BertReader

    reader = BertReader(config.bert)

    def read(part: str) -> Examples:
        examples: Examples = getattr(prepared, part)
        path = prepared.folder / f"{part}-bert-{_digest(examples, reader)}.npz"
        found = _kept_tokens(path, note)
        if found is None:
            if examples.row is None:
                raise NmtError(
                    f"{prepared.folder} was prepared by an earlier version; prepare it again for "
                    "BERT"
                )
            note(f"{part}: cut into the tokens of {config.bert}")
            text = prepared.folder / ("text" if part == "train" else part) / "source.txt"
            found = _cut_by_bert(reader, text, examples.row)
            with replaced(path, NmtError) as stream:
                np.savez(stream, **found)
        lengths, most = np.diff(found["bert_ends"], prepend=0), reader.max_length - 2
        if lengths.max() > most:
            raise NmtError(
                f"pair {int(lengths.argmax()) + 1} of {prepared.folder} has {int(lengths.max())} "
                f"tokens of BERT, more than the {most} that it takes; lower [model] max_tokens"
            )
        return replace(examples, **found)

    return replace(prepared, train=read("train"), valid=read("valid"))


def _kept_tokens(path: Path, note: Callable[[str], None]) -> dict[str, Any] | None:
    """Return the tokens of BERT that were written before, or None if they cannot be read."""
    if not path.is_file():
        return None
    try:
        with np.load(path, allow_pickle=False) as kept:
            return {name: kept[name] for name in ("bert", "bert_ends")}
    except Exception:  # of many kinds, for a file may be damaged in many ways
        note(f"{path} is damaged and will be rebuilt")
        return None


def _cut_by_bert(reader: BertReader, path: Path, rows: NDArray[np.int32]) -> dict[str, Any]:
    """Return the tokens of BERT of some lines of a file, and where each line ends."""
    lines = path.read_bytes().decode().split("\n")
    flat: list[NDArray[np.int32]] = []
    ends, total = [], 0
    for start in range(0, len(rows), 100_000):
        few = [lines[row] for row in rows[start : start + 100_000]]
        for ids in reader.sentence_ids(few):
            total += len(ids)
            ends.append(total)
            flat.append(np.asarray(ids, np.int32))
        flat = [np.concatenate(flat)]
    return {"bert": flat[0], "bert_ends": np.asarray(ends, np.int64)}


def _digest(examples: Examples, reader: BertReader) -> str:
    """Return a digest of what the tokens of BERT depend on: the sentences, and its tokenizer."""
    digest = hashlib.sha256(examples.source.tobytes() + examples.source_ends.tobytes())
    digest.update(reader.tokenizer.backend_tokenizer.to_str().encode())
    return digest.hexdigest()[:12]
