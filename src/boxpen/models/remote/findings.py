"""What a probe found."""

from __future__ import annotations

from dataclasses import dataclass, field

from boxpen.models.remote.chat import Chat
from boxpen.models.remote.protocol import Access
from boxpen.models.remote.tokenizer import Tokenizer

__all__ = ["Findings"]


@dataclass
class Findings:
    """What the probe found.

    Attributes:
        model: The server's name for the model.
        access: How texts can be scored.
        rejected: Why other ways cannot be used.
        tokenizer: Where token ids come from, if they are known and sent.
        bos: Whether the server itself adds BOS to a text; None if unknown.
        max_length: Longest sequence in tokens, if known.
        system: The server's ``system_fingerprint``.
        values: Log-probabilities that identify the model.
        noise: Largest difference between two answers to the same request.
        chat: The chats of the server, if they were checked and it has them.
        letters: Why the letters of options have no log-probabilities; empty if they do, None if
            that is not known.
        notes: Checks that could not be made, and other remarks.
    """

    model: str
    access: Access = "none"
    rejected: dict[str, str] = field(default_factory=dict)
    tokenizer: Tokenizer | None = None
    bos: bool | None = None
    max_length: int | None = None
    system: str = ""
    values: tuple[float, ...] = ()
    noise: float = 0.0
    chat: Chat | None = None
    letters: str | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def refusal(self) -> str | None:
        """Why the server cannot score texts, in a clause; None if it can."""
        if self.access not in ("chat", "none"):
            return None
        seen: dict[str, list[str]] = {}
        for access, reason in self.rejected.items():
            seen.setdefault(reason, []).append(access)
        reasons = "; ".join(f"{', '.join(names)}: {reason}" for reason, names in seen.items())
        return f"the server gives no log-probabilities that can be trusted ({reasons})"

    def lines(self) -> dict[str, str]:
        """Return what to show to people."""
        return {
            "model": self.model,
            "access": self.access,
            **({"chat": "; ".join(self.chat.notes) or "answers questions"} if self.chat else {}),
            **({"letters": _usable(self.letters)} if self.letters is not None else {}),
            **{name: _usable(reason) for name, reason in self.rejected.items()},
            **(self._tokens() if self.refusal is None else {}),
            "max_length": str(self.max_length or "unknown"),
            "fingerprint": self.system or "none",
            **{f"note {n}": note for n, note in enumerate(self.notes, 1)},
        }

    def _tokens(self) -> dict[str, str]:
        said = {True: "added by the server", False: "not added by the server", None: "unknown"}
        return {
            "tokens": self.tokenizer.source if self.tokenizer else "as the server shows them",
            "bos": said[self.bos],
            "noise": f"{self.noise:.2g} nats between equal requests",
        }


def _usable(reason: str) -> str:
    return f"not usable: {reason}" if reason else "with log-probabilities"
