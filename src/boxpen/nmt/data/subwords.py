"""Subwords: SentencePiece BPE in a folder that Transformers reads as a Marian tokenizer.

The folder holds ``source.spm``, ``target.spm``, ``vocab.json``, ``tokenizer_config.json`` and,
where the languages keep apart, ``target_vocab.json``. Pieces have the same numbers in the
SentencePiece model and in the vocabulary, and both vocabularies begin with ``</s>``, ``<unk>`` and
``<pad>``: a Marian model and its tokenizer know one number for each of these, whatever side it
stands on, so that the usual place of ``<pad>``, the last, would not do for two vocabularies of
different sizes.

Both SentencePiece models also hold the rules of ``normal_rules``, so that the folder
treats raw text as the text was treated that it was learnt from. Where the languages share one
vocabulary, the two models have the same pieces, but each side still has the rules of its language:
what is a pause in Chinese is a full stop in English.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal

from boxpen.errors import NmtError
from boxpen.files import replaced
from boxpen.nmt.config import SubwordConfig
from boxpen.nmt.data.normal_rules import compiled_rules
from boxpen.text.normal import Punctuation

__all__ = [
    "EOS",
    "PAD",
    "UNK",
    "SubwordConfig",
    "encode_lines",
    "train_subwords",
    "vocabulary_sizes",
]

EOS, UNK, PAD = 0, 1, 2
_SPECIAL = ("</s>", "<unk>", "<pad>")
_ASCII = "".join(map(chr, range(0x21, 0x7F)))
_LONGEST = 512  # tokens; what the tokenizer tells others to cut at, until a model knows better

Side = Literal["source", "target"]


def train_subwords(
    config: SubwordConfig,
    source: Iterable[str],
    target: Iterable[str],
    folder: Path,
    *,
    source_language: str,
    target_language: str,
    punctuation: Punctuation = "space",
    seed: int = 0,
) -> None:
    """Learn subwords and write the folder of the tokenizer.

    Where the text has fewer pieces to give than ``config.size``, the vocabulary is smaller.

    Args:
        config: How.
        source: Sentences of the source language; read once.
        target: Those of the target language.
        folder: Where the files go; it is made if need be.
        source_language: Code of the language, which chooses the rules and is told to those who
            load the tokenizer.
        target_language: Likewise.
        punctuation: How Chinese pause marks are normalised; must match the normalisation of the
            training text.
        seed: Random seed for sampling if there are more than ``config.sample`` sentences.

    Raises:
        NmtError: If there is no text, or more characters than pieces.
    """
    tables = [b"", b""]
    if config.normalisation == "text":
        languages = (source_language, target_language)
        tables = [compiled_rules(language, punctuation) for language in languages]
    sides = [
        _normalised(_sample(lines, config.sample, seed), table)
        for lines, table in zip((source, target), tables, strict=True)
    ]
    for side, lines in zip(("source", "target"), sides, strict=True):
        if not any(line.strip() for line in lines):
            raise NmtError(f"cannot train subwords for {folder}: the {side} side has no text")
    if config.kind == "joint":
        joint = _train(config, list(chain(*sides)), f"the joint vocabulary of {folder}")
        models = [joint, joint]
    else:
        models = [
            _train(config, lines, f"the {side} vocabulary of {folder}")
            for side, lines in zip(("source", "target"), sides, strict=True)
        ]
    models = [_with_rules(model, table) for model, table in zip(models, tables, strict=True)]
    files = {"source.spm": models[0], "target.spm": models[1], "vocab.json": _vocabulary(models[0])}
    if config.kind == "separate":
        files["target_vocab.json"] = _vocabulary(models[1])
    told: dict[str, Any] = {
        "tokenizer_class": "MarianTokenizer",
        "source_lang": source_language,
        "target_lang": target_language,
        "separate_vocabs": config.kind == "separate",
        "model_max_length": _LONGEST,
        "eos_token": _SPECIAL[EOS],
        "unk_token": _SPECIAL[UNK],
        "pad_token": _SPECIAL[PAD],
        # A text that spells out '</s>' has written four characters, and has not ended.
        "split_special_tokens": True,
        "clean_up_tokenization_spaces": False,
    }
    files["tokenizer_config.json"] = (json.dumps(told, indent=2) + "\n").encode()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # A second vocabulary of an earlier training would be taken for one of this.
        (folder / "target_vocab.json").unlink(missing_ok=True)
    except OSError as error:
        raise NmtError(f"{folder} cannot be written: {error.strerror or error}") from None
    for name, content in files.items():
        with replaced(folder / name, NmtError) as stream:
            stream.write(content)


def encode_lines(
    folder: Path, side: Side, lines: Iterable[str], batch: int = 10_000
) -> Iterator[list[int]]:
    """Yield the tokens of every line with EOS, as the tokenizer of the folder gives them.

    It is made for whole corpora: SentencePiece works on ``batch`` lines at a time in all threads.

    Args:
        folder: What ``train_subwords`` has written.
        side: Which of the two languages it is.
        lines: Sentences.
        batch: Lines at a time.

    Raises:
        NmtError: If the folder is not as it was written.
    """
    processor = _processor(folder, side)
    stream = iter(lines)
    while few := list(islice(stream, batch)):
        # Marian's tokenizer takes what stands before the text between these for a language.
        coded = {i: n + 2 for i, x in enumerate(few) if x[:2] == ">>" and (n := x.find("<<")) != -1}
        texts = [x[coded.get(i, 0) :] for i, x in enumerate(few)] if coded else few
        made = processor.encode(texts, out_type=int, add_eos=True, num_threads=_threads())
        for i in coded:
            made[i].insert(0, UNK)  # and knows none
        yield from made


def vocabulary_sizes(folder: Path) -> tuple[int, int]:
    """Return how many pieces the source and the target vocabulary have."""
    source, target = (len(_read_vocabulary(folder, side)) for side in ("source", "target"))
    return source, target


def _sample(lines: Iterable[str], most: int, seed: int) -> list[str]:
    """Return every n-th line, for the smallest power of two n that leaves at most ``most``.

    How many there are is known at the end only: whenever there are too many, every second of them
    goes, and of what comes half as much is taken.
    """
    kept: list[str] = []
    step, first = 1, 0  # lines number first, first + step, … are kept
    for i, line in enumerate(lines):
        if i % step != first:
            continue
        kept.append(line)
        while len(kept) > most:
            # Of the numbers with this remainder, those that the seed has chosen stay.
            chosen = seed % (2 * step)
            kept = kept[chosen != first :: 2]
            step, first = 2 * step, chosen
    return kept


def _normalised(lines: list[str], table: bytes) -> list[str]:
    if not table:
        return lines
    import sentencepiece

    normaliser = sentencepiece.SentencePieceNormalizer(
        model_proto=table, remove_extra_whitespaces=True
    )
    return [normaliser.normalize(line) for line in lines]


def _train(config: SubwordConfig, lines: list[str], what: str) -> bytes:
    import io

    import sentencepiece

    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            # A required character that occurs nowhere makes SentencePiece abort the process.
            sentence_iterator=chain(lines, [" ".join(_ASCII)]),
            model_writer=model,
            model_type="bpe",
            vocab_size=config.size,
            hard_vocab_limit=False,
            character_coverage=config.character_coverage,
            required_chars=_ASCII,
            byte_fallback=config.byte_fallback,
            normalization_rule_name="identity",  # the lines are what they shall be
            eos_id=EOS,
            unk_id=UNK,
            pad_id=PAD,
            bos_id=-1,
            num_threads=_threads(),
            minloglevel=2,
        )
    except (RuntimeError, OSError) as error:
        said = " ".join(str(error).split())
        raise NmtError(
            f"{what} cannot be learnt with size = {config.size}; a larger one, or a smaller "
            f"character_coverage, may help (SentencePiece: {said})"
        ) from None
    return model.getvalue()


def _with_rules(model: bytes, table: bytes) -> bytes:
    import sentencepiece

    # Of protocol buffers one after the other the later fields hold; this writes them once.
    return bytes(
        sentencepiece.SentencePieceProcessor(model_proto=model + table).serialized_model_proto()
    )


def _vocabulary(model: bytes) -> bytes:
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    pieces = processor.id_to_piece(list(range(len(processor))))
    numbers = {piece: i for i, piece in enumerate(pieces)}
    return (json.dumps(numbers, ensure_ascii=False, indent=0) + "\n").encode()


def _processor(folder: Path, side: Side) -> Any:
    import sentencepiece

    path = folder / f"{side}.spm"
    try:
        processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
    except (RuntimeError, OSError):
        raise NmtError(f"{path} is not a SentencePiece model that can be read") from None
    pieces = processor.id_to_piece(list(range(len(processor))))
    if _read_vocabulary(folder, side) != {piece: i for i, piece in enumerate(pieces)}:
        raise NmtError(
            f"{path} and the vocabulary beside it number their pieces differently; expected a "
            "folder that boxpen has made"
        )
    return processor


def _read_vocabulary(folder: Path, side: str) -> dict[str, int]:
    path = folder / "target_vocab.json"
    if side == "source" or not path.is_file():
        path = folder / "vocab.json"
    try:
        found = json.loads(path.read_bytes())
    except OSError as error:
        raise NmtError(f"{path} cannot be read: {error.strerror or error}") from None
    except ValueError:
        raise NmtError(f"{path} is not JSON") from None
    if not isinstance(found, dict):
        raise NmtError(f"{path} holds no table of pieces, expected one with their numbers")
    return found


def _threads() -> int:
    return os.cpu_count() or 1
