"""Models with context, made from what a configuration names, and what they read of a corpus."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boxpen.errors import NmtError
from boxpen.files import replaced
from boxpen.nmt.data.inputs import Reads
from boxpen.nmt.loading import load_base
from boxpen.plugins import ARCHITECTURES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from boxpen.nmt.config import ModelConfig
    from boxpen.nmt.context.bert_reading import BertReader
    from boxpen.nmt.data.examples import Examples
    from boxpen.nmt.data.prepared import Prepared

__all__ = ["bert_digest", "new_context_model", "reads_of", "with_bert"]


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
        from boxpen.nmt.context.bert_reading import BertReader, load_bert
        from boxpen.nmt.loading import check_numbers

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
    bert = None
    if "bert_input_ids" in model.reads:
        bert = model.bert_reader
    return Reads(
        sentences=config.context,
        source="context_input_ids" in model.reads,
        limit=config.max_tokens,
        target="context_target_ids" in model.reads,
        bert=bert,
    )


def with_bert(
    prepared: Prepared, config: ModelConfig, note: Callable[[str], None] = lambda _: None
) -> Prepared:
    """Add the tokens of BERT to a corpus, if the model wants them; they are made once.

    Raises:
        NmtError: If the corpus was prepared by an earlier version.
    """
    if config.bert is None:
        return prepared
    return replace(
        prepared,
        train=_read_by_bert(prepared.train, prepared.folder, "train", config.bert, note),
        valid=_read_by_bert(prepared.valid, prepared.folder, "valid", config.bert, note),
    )


def _read_by_bert(
    examples: Examples, folder: Path, part: str, bert: Path, note: Callable[[str], None]
) -> Examples:
    import numpy as np

    from boxpen.nmt.context.bert_reading import BertReader

    reader = BertReader(bert)
    path = folder / f"{part}-bert-{bert_digest(examples, reader)}.npz"
    found = None
    if path.is_file():
        found = _whole_tokens(path, len(examples), len(reader.tokenizer))
        if found is None:
            note(f"{path} is damaged and will be rebuilt")
    if found is None:
        if examples.row is None:
            raise NmtError(
                f"{folder} was prepared by an earlier version; prepare it again for BERT"
            )
        note(f"{part}: cut into the tokens of {bert}")
        place = folder / ("text" if part == "train" else part) / "source.txt"
        found = _cut_by_bert(reader, place, examples.row)
        with replaced(path, NmtError) as stream:
            np.savez(stream, bert=found[0], bert_ends=found[1])
    tokens, ends = found
    most = reader.max_length - 2
    lengths = np.diff(ends, prepend=0)
    if lengths.max() > most:
        raise NmtError(
            f"pair {int(lengths.argmax()) + 1} of {folder} has {int(lengths.max())} tokens of "
            f"BERT, more than the {most} that it takes; lower [model] max_tokens"
        )
    return replace(examples, bert=tokens, bert_ends=ends)


def _cut_by_bert(
    reader: BertReader, place: Path, rows: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the tokens of BERT of some lines of a file, and where each line ends."""
    import numpy as np

    lines = place.read_bytes().decode().split("\n")
    flat: list[NDArray[np.int32]] = []
    ends, total = [], 0
    for start in range(0, len(rows), 100_000):
        few = [lines[row] for row in rows[start : start + 100_000]]
        for ids in reader.sentence_ids(few):
            total += len(ids)
            ends.append(total)
            flat.append(np.asarray(ids, np.int32))
        flat = [np.concatenate(flat)]
    return flat[0], np.asarray(ends, np.int64)


def _whole_tokens(
    path: Path, sentences: int, vocabulary: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]] | None:
    """Return the tokens of BERT that were kept, or None if they are not as they were written."""
    import numpy as np

    try:
        with np.load(path) as kept:
            tokens, ends = kept["bert"], kept["bert_ends"]
    except Exception:  # of many kinds, for a file may be broken in many ways
        return None
    if (tokens.dtype, ends.dtype) != (np.int32, np.int64) or tokens.ndim != 1:
        return None
    if ends.shape != (sentences,):
        return None
    lengths = np.diff(ends, prepend=0)
    if (lengths < 0).any() or lengths.sum() != len(tokens):
        return None
    if len(tokens) and not 0 <= tokens.min() <= tokens.max() < vocabulary:
        return None
    return tokens, ends


def bert_digest(examples: Examples, reader: BertReader) -> str:
    """Return what the tokens of BERT depend on: the sentences, and how it cuts them."""
    digest = hashlib.sha256(examples.source.tobytes() + examples.source_ends.tobytes())
    digest.update(reader.tokenizer.backend_tokenizer.to_str().encode())
    return digest.hexdigest()[:12]
