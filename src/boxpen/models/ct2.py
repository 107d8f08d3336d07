"""CTranslate2 translation models: fast scoring and translation with OPUS-MT and similar models."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from boxpen.errors import ModelError
from boxpen.models.base import Encoded, Model, ModelSpec, ResolvedPolicy, Scores
from boxpen.models.loading import fingerprint
from boxpen.models.segment import fewest_pieces
from boxpen.scoring.batching import equal_batches
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.requests import Request
from boxpen.text.languages import two_letter

__all__ = ["CTranslate2Model", "from_ct2"]

_SOURCE_MODELS = ("source.spm", "sentencepiece.model", "spm.model", "source.model")
_TARGET_MODELS = ("target.spm", "target.model")
_LIMIT = 1024  # where nothing is said
_LONGEST = 256  # tokens of a translation, as CTranslate2 has it by itself
_TOKENS = 2048  # of a batch
_POSITIONS = re.compile(r"positions >= (\d+)")


def from_ct2(spec: ModelSpec) -> CTranslate2Model:
    """Return the model of a CTranslate2 folder.

    Raises:
        ModelError: If there is none.
    """
    if not spec.local.is_dir():
        raise ModelError(f"model '{spec.name}': folder {spec.local} does not exist")
    return CTranslate2Model(spec.name, spec.local, device=spec.device)


class CTranslate2Model(Model):
    """A CTranslate2 model folder with the SentencePiece models that go with it.

    Two layouts are known: the converter's (``model.bin`` beside ``source.spm`` and ``target.spm``)
    and that of Argos Translate (a folder ``model`` beside ``sentencepiece.model``). Where the
    target has no SentencePiece model of its own, it is segmented into the fewest pieces of the
    model's vocabulary. How long a sequence may be, EOS included, is ``max_length`` in
    ``metadata.json``, which ``boxpen model export`` writes.
    """

    kind = "seq2seq"
    encoder = True

    def __init__(
        self, name: str, folder: Path, *, device: str | None = None, compute_type: str = "auto"
    ) -> None:
        try:
            import ctranslate2  # noqa: F401
            import sentencepiece  # noqa: F401
        except ImportError:
            raise ModelError(
                "this model needs CTranslate2; install it with: pip install 'boxpen[mt]'"
            ) from None
        self.name = name
        self._folder = folder if (folder / "model.bin").is_file() else folder / "model"
        if not (self._folder / "model.bin").is_file():
            raise ModelError(f"model '{name}': {folder} has no model.bin, so it is not a ct2 model")
        source = _first(folder, self._folder, _SOURCE_MODELS)
        if source is None:
            raise ModelError(
                f"model '{name}': {folder} has no tokenizer, expected {', '.join(_SOURCE_MODELS)}"
            )
        self._device = device or "auto"
        self._compute_type = compute_type
        self.dtype = compute_type if compute_type != "auto" else "stored"
        self._source = _sentencepiece(name, source)
        target = _first(folder, self._folder, _TARGET_MODELS)
        parts = [fingerprint.of_directory(self._folder), fingerprint.of_file(source)]
        self._config = _json(self._folder / "config.json")
        self._vocabulary = self._target_vocabulary()
        self._ids = {piece: i for i, piece in enumerate(self._vocabulary)}
        if target is None:
            self._segment: Callable[[str], list[str]] = fewest_pieces(self._vocabulary)
            self._joined: Callable[[list[str]], str] = "".join
        else:
            parts.append(fingerprint.of_file(target))
            processor = _sentencepiece(name, target)
            self._segment = lambda text: list(processor.encode(text, out_type=str))
            self._joined = processor.decode  # which knows the pieces that are bytes of a character
        self.fingerprint = fingerprint.of_parts(*parts, self.dtype)
        about = _json(folder / "metadata.json")
        self._limit = _limit(about, folder / "metadata.json")
        if about.get("from_code") and about.get("to_code"):
            self.direction = (two_letter(about["from_code"]), two_letter(about["to_code"]))
            self.languages = frozenset(self.direction)

    @cached_property
    def _translator(self) -> Any:
        import ctranslate2

        try:
            return ctranslate2.Translator(
                str(self._folder),
                device=self._device,
                compute_type=self._compute_type if self._compute_type != "auto" else "default",
            )
        except (RuntimeError, ValueError, IndexError, MemoryError) as error:
            said = " ".join(str(error).split())
            raise ModelError(f"model '{self.name}' cannot be loaded ({said})") from None

    def exactness(self) -> dict[str, object]:
        """Return what a score depends on besides the text: once, batches were padded."""
        return {**super().exactness(), "batches": "equal lengths"}

    @property
    def rounds(self) -> bool:
        """Whether scores depend on the batch: assumed on a GPU, which gives no guarantee.

        On a CPU they do not, in any compute type, since the texts of a batch have equal lengths.
        """
        import ctranslate2

        if self._device == "cpu" or not ctranslate2.get_cuda_device_count():
            return False
        return str(self._translator.compute_type) != "float32"

    @property
    def _budget(self) -> int:
        return self.token_budget or _TOKENS

    def resolve_policy(self, policy: ScoringPolicy) -> ResolvedPolicy:
        """Resolve a policy for this model."""
        if policy.dtype != "auto":
            raise ModelError(f"{self.name} is a ct2 model and computes as stored; leave --dtype")
        if policy.max_length is not None and policy.max_length > self._limit:
            raise ModelError(
                f"max_length {policy.max_length} is more than {self.name} takes ({self._limit})"
            )
        return ResolvedPolicy(
            eos=policy.eos != "never", max_length=policy.max_length or self._limit
        )

    def encode(self, requests: Sequence[Request], policy: ResolvedPolicy) -> list[Encoded]:
        """Turn requests into source and target pieces."""
        assert policy.max_length is not None
        self.require_sources(requests)
        limit = policy.max_length - 1  # EOS is added by the model
        eos = self._ids.get(self._config.get("eos_token", "</s>"), 0)
        unknown = self._ids.get(self._config.get("unk_token", "<unk>"), 0)
        out = []
        for request in requests:
            source = self._source.encode(request.source or "", out_type=int)
            ids = [self._ids.get(p, unknown) for p in self._segment(request.text)]
            kept = (*ids[:limit], eos)
            out.append(
                Encoded(
                    ids=kept,
                    scored=tuple(range(len(kept) if policy.eos else len(kept) - 1)),
                    source=tuple(source[:limit]),
                    unknown=ids.count(unknown),
                    truncated=len(ids) > limit or len(source) > limit,
                )
            )
        return out

    def token_texts(self, ids: Sequence[int]) -> list[str]:
        """Return what tokens look like in a text, with the space before a word."""
        return [self._vocabulary[i].replace("▁", " ") for i in ids]

    def run(self, encoded: Sequence[Encoded], policy: ResolvedPolicy) -> Iterator[Scores]:  # noqa: ARG002
        """Score requests in batches of equal lengths: int8 models turn padding into nats."""
        self.engine = "CTranslate2"
        shapes = [(len(e.source), len(e.ids)) for e in encoded]
        costs = [sum(shape) for shape in shapes]
        for part in equal_batches(shapes, costs, budget=self._budget, size=self.batch_size):
            batch = [encoded[i] for i in part]
            tokens = sum(costs[i] for i in part)
            self.tally.add(tokens=tokens, nodes=tokens, computed=tokens)
            with self._telling(*shapes[part[0]]):
                results = self._translator.score_batch(
                    [self._source_pieces(self._source.id_to_piece(list(e.source))) for e in batch],
                    [[self._vocabulary[i] for i in e.ids[:-1]] for e in batch],
                    max_input_length=0,
                )
            yield [
                (i, np.array(r.log_probs, dtype=np.float32)[list(encoded[i].scored)])
                for i, r in zip(part, results, strict=True)
            ]

    def can_translate(self) -> bool:
        """Whether the model can also produce translations."""
        return True

    def translate(
        self,
        sources: Sequence[str],
        languages: tuple[str | None, str | None],  # noqa: ARG002
        *,
        beam: int,
        contexts: Sequence[str] | None = None,  # noqa: ARG002
    ) -> Iterator[list[tuple[int, str]]]:
        """Translate by beam search, yielding batches of (index, translation).

        The sources of a batch are of equal length, so that no translation depends on the others.
        A source that is longer than the model reads is cut.
        """
        read = self._limit - 1  # EOS is added
        whole = [self._source.encode(s, out_type=str) for s in sources]
        pieces = [self._source_pieces(p[:read]) for p in whole]
        lengths = [len(p) for p in pieces]
        costs = [max(1, length) * beam for length in lengths]
        for part in equal_batches(lengths, costs, budget=self._budget, size=self.batch_size):
            with self._telling(lengths[part[0]]):
                results = self._translator.translate_batch(
                    [pieces[i] for i in part],
                    beam_size=beam,
                    max_decoding_length=min(self._limit - 1, _LONGEST),
                )
            yield [
                (i, self._joined(r.hypotheses[0]).replace("▁", " ").strip())
                for i, r in zip(part, results, strict=True)
            ]

    @contextlib.contextmanager
    def _telling(self, *lengths: int) -> Iterator[None]:
        """Turn CTranslate2 errors for texts of these lengths into a one-sentence message."""
        try:
            yield
        except RuntimeError as error:
            said = " ".join(str(error).split())
            known = _POSITIONS.search(said)
            way = f'; write {{"max_length": {known[1]}}} into its metadata.json' if known else ""
            raise ModelError(
                f"model '{self.name}' fails on texts of up to {max(lengths)} tokens ({said}){way}"
            ) from None

    def _source_pieces(self, pieces: list[str]) -> list[str]:
        """Return what the encoder reads: with EOS, which some models add by themselves."""
        if self._config.get("add_source_eos"):
            return pieces
        return [*pieces, self._config.get("eos_token", "</s>")]

    def _target_vocabulary(self) -> list[str]:
        for name in ("shared_vocabulary.json", "target_vocabulary.json"):
            if (self._folder / name).is_file():
                return _pieces(self._folder / name)
        for name in ("shared_vocabulary.txt", "target_vocabulary.txt"):
            if (self._folder / name).is_file():
                return _text(self._folder / name).split("\n")
        raise ModelError(f"model '{self.name}': {self._folder} has no vocabulary")


def _first(folder: Path, inner: Path, names: Sequence[str]) -> Path | None:
    for place in (folder, inner):
        for name in names:
            if (place / name).is_file():
                return place / name
    return None


def _limit(about: dict[str, Any], path: Path) -> int:
    """Return the longest sequence that a model takes, by what is said about it."""
    said = about.get("max_length", _LIMIT)
    if not isinstance(said, int) or isinstance(said, bool) or said < 2:
        raise ModelError(f"{path} has max_length = {said!r}, expected a whole number, 2 or more")
    return said


def _sentencepiece(name: str, path: Path) -> Any:
    import sentencepiece

    try:
        return sentencepiece.SentencePieceProcessor(model_file=str(path))
    except (RuntimeError, OSError):
        raise ModelError(f"model '{name}': {path} is not a SentencePiece model") from None


def _json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    data = _parsed(path)
    return data if isinstance(data, dict) else {}


def _pieces(path: Path) -> list[str]:
    found = _parsed(path)
    if not isinstance(found, list) or not all(isinstance(piece, str) for piece in found):
        raise ModelError(f"{path} is not a list of strings")
    return found


def _parsed(path: Path) -> Any:
    try:
        return json.loads(_text(path))
    except (ValueError, RecursionError):
        raise ModelError(f"{path} is not valid JSON") from None


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except ValueError:
        raise ModelError(f"{path} is not UTF-8") from None
