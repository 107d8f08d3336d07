"""Models with context, made from what a configuration names, and what they read of a corpus."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boxpen.atomic import replaced
from boxpen.models.own import CONTEXTUAL
from boxpen.nmt.errors import NmtError
from boxpen.nmt.inputs import Reads

if TYPE_CHECKING:
    from boxpen.nmt.config import ModelConfig
    from boxpen.nmt.context.bert_reading import BertReader
    from boxpen.nmt.examples import Examples
    from boxpen.nmt.prepared import Prepared

__all__ = ["bert_digest", "new_context_model", "reads_of", "with_bert"]


def new_context_model(config: ModelConfig, subwords: Path, plain: Callable[[], Any]) -> Any:
    """Return a model that begins from a trained one.

    Args:
        config: Which model, and from what.
        subwords: The tokenizer of the corpus.
        plain: Makes a model with random weights, where there is none to begin from.

    Raises:
        NmtError: If the base is no Transformer, or has another vocabulary than the corpus.
    """
    name = config.architecture.replace("-", "_")
    kind = getattr(import_module(f"boxpen.nmt.context.{name}"), CONTEXTUAL[name])
    base = _base(config.base, subwords) if config.base is not None else plain()
    if config.dropout is not None:
        base.config.dropout = config.dropout
    options: dict[str, Any] = {}
    if config.architecture == "bert-fused":
        from boxpen.nmt.context.bert_reading import BertReader, load_bert

        assert config.bert is not None
        options = {"bert": load_bert(config.bert), "p_net": config.drop_net}
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
    if not path.is_file():
        if examples.row is None:
            raise NmtError(f"{folder} was prepared by an earlier version; prepare it anew for BERT")
        note(f"{part}: cut into the tokens of {bert}")
        place = folder / ("text" if part == "train" else part) / "source.txt"
        lines = place.read_bytes().decode().split("\n")
        flat, ends, total = [], [], 0
        for start in range(0, len(examples.row), 100_000):
            few = [lines[row] for row in examples.row[start : start + 100_000]]
            for ids in reader.sentence_ids(few):
                total += len(ids)
                ends.append(total)
                flat.append(np.asarray(ids, np.int32))
            flat = [np.concatenate(flat)]
        with replaced(path, NmtError) as stream:
            np.savez(stream, bert=flat[0], bert_ends=np.asarray(ends, np.int64))
    with np.load(path) as found:
        bert_tokens, ends = found["bert"], found["bert_ends"]
    most = reader.max_length - 2
    lengths = np.diff(ends, prepend=0)
    if len(ends) != len(examples) or lengths.max() > most:
        raise NmtError(
            f"{path} has {len(ends):,} sentences for {len(examples):,} pairs; remove it"
            if len(ends) != len(examples)
            else f"pair {int(lengths.argmax()) + 1} of {folder} has {int(lengths.max())} tokens of "
            f"BERT, more than the {most} that it takes; lower [model] max_tokens"
        )
    return replace(examples, bert=bert_tokens, bert_ends=ends)


def bert_digest(examples: Examples, reader: BertReader) -> str:
    """Return what the tokens of BERT hang on: the sentences, and how it cuts them."""
    digest = hashlib.sha256(examples.source.tobytes() + examples.source_ends.tobytes())
    digest.update(reader.tokenizer.backend_tokenizer.to_str().encode())
    return digest.hexdigest()[:12]


def _base(folder: Path, subwords: Path) -> Any:
    """Return the trained model that another begins from."""
    from boxpen.nmt.folder import load_model

    base, _ = load_model(folder)
    if type(base).__name__ != "MarianMTModel":
        raise NmtError(
            f"[model] base = {folder} is a {base.config.model_type}, expected a Transformer"
        )
    for name in ("source.spm", "target.spm", "vocab.json"):
        ours, theirs = subwords / name, folder / name
        if not theirs.is_file() or ours.read_bytes() != theirs.read_bytes():
            raise NmtError(
                f"[model] base = {folder} has another vocabulary than the corpus in "
                f"{subwords.parent}; prepare the corpus with the tokenizer of the base, or train "
                "the base on this corpus"
            )
    return base
