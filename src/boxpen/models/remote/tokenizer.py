"""Token ids for a model behind an API, from a local folder or the server's ``/tokenize``.

Two forms of ``/tokenize`` are known: llama.cpp's (``content``, answers with ids and pieces) and
vLLM's (``prompt``, answers with ids).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from boxpen.errors import ModelError
from boxpen.models.loading.trust import refused
from boxpen.models.remote.client import Answer, Call, Client, MismatchError, UnansweredError
from boxpen.models.tokens import Pieces, pieces, token_texts
from boxpen.scoring.requests import Request

__all__ = ["FolderTokenizer", "ServerTokenizer", "Tokenizer"]

_NO_IDS = "/tokenize gives no token ids"


class Tokenizer(Protocol):
    """What turns texts into the token ids that a server expects.

    Attributes:
        source: Where it is, for people.
        bos: Id of the beginning-of-sequence token, if there is one.
        eos: Id of the end-of-sequence token, if known.
        adds: Ids that the tokenizer itself puts before a text.
        slots: Texts that the server keeps at once, if known.
    """

    source: str
    bos: int | None
    eos: int | None
    adds: tuple[int, ...]
    slots: int | None

    def pieces(self, requests: Sequence[Request]) -> Iterator[tuple[int, Pieces | UnansweredError]]:
        """Yield the number of every request with its tokens, without special tokens."""
        ...

    def texts(self, ids: Sequence[int]) -> list[str] | None:
        """Return the texts of tokens; None if one is unknown."""
        ...


class FolderTokenizer:
    """A Transformers tokenizer in a local folder."""

    slots: int | None = None

    def __init__(self, folder: Path) -> None:
        self.source = f"folder {folder.name}"
        if not folder.is_dir():
            raise ModelError(f"tokenizer folder {folder} does not exist")
        try:
            from transformers import AutoTokenizer
        except ImportError:
            raise ModelError("a tokenizer folder needs: pip install 'boxpen[hf]'") from None
        try:
            self._tokenizer: Any = AutoTokenizer.from_pretrained(
                str(folder), local_files_only=True, trust_remote_code=False
            )
        except Exception as error:  # whatever Transformers raises for a folder that is none
            reason = " ".join(str(error).split())[:200]
            if refused(error):
                reason = "it needs Python code of its own, which boxpen does not run for a server"
            raise ModelError(f"tokenizer folder {folder} cannot be loaded: {reason}") from None
        self.bos: int | None = self._tokenizer.bos_token_id
        self.eos: int | None = self._tokenizer.eos_token_id
        plain = self._ids("a", special=False)
        framed = self._ids("a", special=True)
        self.adds = framed[: len(framed) - len(plain)] if framed[-len(plain) :] == plain else ()

    def _ids(self, text: str, *, special: bool) -> tuple[int, ...]:
        return tuple(self._tokenizer(text, add_special_tokens=special)["input_ids"])

    def pieces(self, requests: Sequence[Request]) -> Iterator[tuple[int, Pieces | UnansweredError]]:
        """Yield the number of every request with its tokens, without special tokens."""
        yield from enumerate(pieces(self._tokenizer, requests))

    def texts(self, ids: Sequence[int]) -> list[str] | None:
        """Return the texts of tokens."""
        return token_texts(self._tokenizer, ids)

    @property
    def unknown(self) -> int | None:
        """Id of the unknown token."""
        return self._tokenizer.unk_token_id  # type: ignore[no-any-return]


class ServerTokenizer:
    """The tokenizer of a server; each text is a request, which costs no tokens.

    Raises:
        UnansweredError: If the server has none.
    """

    def __init__(self, client: Client, model: str) -> None:
        self.source = "/tokenize"
        self._client = client
        self._model = model
        self._texts: dict[int, str] = {}
        self._llama = True
        try:
            plain = _ids(self._ask("a"))
        except UnansweredError as error:
            if error.status == 404:
                raise
            plain = ()
        if not plain:
            self._llama = False
            plain = _ids(self._ask("a"))
        framed = _ids(self._ask("a", special=True))
        if not plain or framed[len(framed) - len(plain) :] != plain:
            raise UnansweredError(client.name, _NO_IDS)
        self.adds = framed[: len(framed) - len(plain)]
        self.bos = self.adds[0] if len(self.adds) == 1 else None
        self.eos: int | None = None
        self.slots: int | None = None
        if self._llama:
            self._read_props()

    def _read_props(self) -> None:
        """Take the special tokens and the number of slots from llama.cpp's ``/props``."""
        try:
            props = self._client.call("//props", retries=0)
        except UnansweredError:
            return
        for name in ("bos", "eos"):
            text = props.get(f"{name}_token")
            if isinstance(text, str) and text:
                ids = _ids(self._ask(text))
                if len(ids) == 1:
                    setattr(self, name, ids[0])
        slots = props.get("total_slots")
        self.slots = slots if isinstance(slots, int) and slots > 0 else None

    def pieces(self, requests: Sequence[Request]) -> Iterator[tuple[int, Pieces | UnansweredError]]:
        """Yield the number of every request with its tokens, without special tokens."""
        users: dict[str, list[int]] = {}
        for number, request in enumerate(requests):
            for text in {request.prefix, request.prefix + request.text} - {""}:
                users.setdefault(text, []).append(number)
        known: dict[str, tuple[int, ...]] = {"": ()}
        failed: dict[int, UnansweredError] = {}
        calls = (Call("//tokenize", self._body(t, special=False), tag=t) for t in users)
        for call, ids in self._client.read_each(calls, lambda _, answer: self._read(answer)):
            if isinstance(ids, UnansweredError):
                failed.update((number, ids) for number in users[call.tag])
            else:
                known[call.tag] = ids
            for number in users[call.tag]:
                request = requests[number]
                whole = request.prefix + request.text
                if request.prefix in known and whole in known:
                    yield number, _joined(known[request.prefix], known[whole])
        yield from failed.items()

    def texts(self, ids: Sequence[int]) -> list[str] | None:
        """Return the texts of tokens that the server has named."""
        found = [self._texts.get(i) for i in ids]
        return [t for t in found if t is not None] if None not in found else None

    def _ask(self, text: str, *, special: bool = False) -> Answer:
        return self._client.call("//tokenize", self._body(text, special=special), retries=1)

    def _body(self, text: str, *, special: bool) -> Mapping[str, object]:
        if self._llama:
            return {"content": text, "add_special": special, "with_pieces": True}
        body = {"model": self._model, "prompt": text, "add_special_tokens": special}
        return body | {"return_token_strs": True}

    def _read(self, answer: Answer) -> tuple[int, ...]:
        """Read the ids of a text, and keep the texts of its tokens.

        Raises:
            MismatchError: If there are none: a text without tokens would have the best score.
        """
        ids = _ids(answer)
        if not ids:
            raise MismatchError(_NO_IDS)
        for number, one in zip(ids, answer["tokens"], strict=True):
            if isinstance(one, dict):  # a piece is a text, or the bytes of a part of a character
                piece = one.get("piece")
                self._texts[number] = piece if isinstance(piece, str) else "\ufffd"
        for number, text in zip(ids, answer.get("token_strs") or (), strict=False):
            plain = str(text).replace("Ġ", " ").replace("▁", " ")
            if plain.isascii():  # other tokens are shown as bytes by some tokenizers
                self._texts[number] = plain
        return ids


def _ids(answer: Answer) -> tuple[int, ...]:
    found = answer.get("tokens")
    if not isinstance(found, list):
        return ()
    ids = [one.get("id") if isinstance(one, dict) else one for one in found]
    known = tuple(one for one in ids if isinstance(one, int))
    return known if len(known) == len(ids) else ()


def _joined(prefix: tuple[int, ...], whole: tuple[int, ...]) -> Pieces:
    shared = 0
    while shared < min(len(prefix), len(whole)) and prefix[shared] == whole[shared]:
        shared += 1
    return Pieces(whole, shared, shared < len(prefix), ())
