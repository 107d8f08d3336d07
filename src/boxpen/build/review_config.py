"""How a build takes the verdicts of judges into account: the table ``[review]``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from boxpen.config import AtLeast1, ConfigPath
from boxpen.errors import ConfigError

if TYPE_CHECKING:
    from boxpen.review import Rule

__all__ = ["ReviewConfig"]


@dataclass(frozen=True, kw_only=True)
class ReviewConfig:
    """How verdicts become one (see docs/how-to/review/sheets.md).

    Attributes:
        journal: Where judgements are kept; ``review.jsonl`` in the folder of the build if None.
        rule: How to decide where judges differ.
        divided: How to resolve ties and split votes.
        min_judges: Minimum judges per item; with fewer it stays open and is left out.
        adjudicator: The judge who decides, if the rule is ``adjudicator``.
    """

    journal: ConfigPath | None = None
    rule: Literal["majority", "unanimous", "any-reject", "adjudicator"] = "majority"
    divided: Literal["open", "reject"] = "open"
    min_judges: AtLeast1 = 1
    adjudicator: str | None = None

    def __post_init__(self) -> None:
        from boxpen.names import fits_a_line

        if (self.rule == "adjudicator") != bool(self.adjudicator):
            raise ConfigError(
                f"rule is '{self.rule}' and adjudicator {self.adjudicator!r}, expected the name of "
                "the adjudicator with that rule, and none with others"
            )
        if not fits_a_line(self.adjudicator or ""):
            raise ConfigError(
                f"adjudicator is {self.adjudicator!r}, expected a name without control characters"
            )

    def journal_in(self, folder: Path) -> Path:
        """Return where judgements are kept."""
        return self.journal or folder / "review.jsonl"

    def decide_by(self) -> Rule:
        """Return the rule by which judges decide."""
        from boxpen.review import Rule

        return Rule.named(self.rule, self.divided, self.adjudicator)
