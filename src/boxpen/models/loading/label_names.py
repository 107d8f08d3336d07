"""Map a checkpoint's label names to inference labels: by name, never by position.

Checkpoints put the same labels in different orders (RoBERTa's begins with contradiction, others
with entailment), so the place says nothing, and a name like ``LABEL_0`` does not either.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from boxpen.errors import ModelError
from boxpen.scoring.labels import NAMES

__all__ = ["label_order"]

_SPELLED = {
    "entailment": "entailment", "entail": "entailment", "entails": "entailment",
    "entailed": "entailment",
    "neutral": "neutral",
    "contradiction": "contradiction", "contradict": "contradiction",
    "contradicts": "contradiction", "contradicted": "contradiction",
    "contradictory": "contradiction",
    "notentailment": "not_entailment", "nonentailment": "not_entailment",
    "noentailment": "not_entailment", "notentailed": "not_entailment",
    "notentail": "not_entailment",
}  # fmt: skip
_SETS = (("contradiction", "entailment", "neutral"), ("entailment", "not_entailment"))
_WAY_OUT = (
    "if it is an inference classifier, name the labels in the order of its outputs, such as "
    "--labels {example} (in Python: labels=[…])"
)
_EXAMPLES = {2: "entailment,not_entailment", 3: "entailment,neutral,contradiction"}


def label_order(
    config: Any, name: str, explicit: str | Sequence[str] | None = None
) -> tuple[int, ...]:
    """Return the label of every output of a classifier, as numbers of ``scoring.labels.NAMES``.

    Args:
        config: The configuration of the checkpoint.
        name: As the user named the model.
        explicit: Names of the labels in the order of the outputs, instead of the checkpoint's.

    Raises:
        ModelError: If the names are not those of an inference classifier.
    """
    count = int(config.num_labels)
    if count not in _EXAMPLES:
        raise ModelError(
            f"model '{name}' is a classifier with {count} labels; expected an inference classifier "
            "(entailment, neutral, contradiction; or entailment, not_entailment), or one output to "
            "choose by"
        )
    if explicit is not None:
        given = explicit.split(",") if isinstance(explicit, str) else list(explicit)
        found = _numbers(given)
        if found is None or len(found) != count:
            raise ModelError(
                f"labels of model '{name}' are given as {', '.join(map(str, given))}, and it has "
                f"{count}; expected them in the order of its outputs, such as {_EXAMPLES[count]}"
            )
        return found
    names = [str(config.id2label.get(i, f"LABEL_{i}")) for i in range(count)]
    found = _numbers(names)
    if found is None:
        way = _WAY_OUT.format(example=_EXAMPLES[count])
        raise ModelError(
            f"model '{name}' is a classifier whose labels are named {', '.join(names)}, which are "
            f"not those of inference; {way}"
        )
    return found


def _numbers(names: Sequence[str]) -> tuple[int, ...] | None:
    """Return the numbers of labels, or None where they are not those of an inference classifier."""
    known = [_SPELLED.get(re.sub(r"[\W_]+", "", str(name).lower())) for name in names]
    if tuple(sorted(k for k in known if k is not None)) not in _SETS or None in known:
        return None
    return tuple(NAMES.index(label) for label in known if label is not None)
