"""Suites as data sets of the Hugging Face Hub: Parquet files and a card, for ``load_dataset``.

The configuration ``default`` holds the whole suite in its order, and every value of the tag ``set``
is one more. Each is a Parquet file of boxpen's own columns, so ``read_suite`` reads it back.
"""

from __future__ import annotations

import hashlib
import io
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from boxpen.catalog.parquet import write_parquet
from boxpen.errors import SuiteError
from boxpen.exchange.free_name import marked_name
from boxpen.exchange.yaml import to_yaml
from boxpen.items import Entail, Suite, Translate
from boxpen.scoring.recipe import Recipe
from boxpen.version import __version__

__all__ = ["DEFAULT", "canary", "config_of", "dataset_id", "write_dataset"]

DEFAULT = "default"
"""The configuration of the whole suite."""

_NAMESPACE = uuid.UUID("0b6f9b3e-5a36-4d0c-9a7c-6f2b1f6f1c25")
_LICENCES = (
    "afl-3.0", "agpl-3.0", "apache-2.0", "artistic-2.0", "bsd", "bsd-2-clause", "bsd-3-clause",
    "bsd-3-clause-clear", "bsl-1.0", "c-uda", "cc", "cc-by-2.0", "cc-by-2.5", "cc-by-3.0",
    "cc-by-4.0", "cc-by-nc-2.0", "cc-by-nc-3.0", "cc-by-nc-4.0", "cc-by-nc-nd-3.0",
    "cc-by-nc-nd-4.0", "cc-by-nc-sa-2.0", "cc-by-nc-sa-3.0", "cc-by-nc-sa-4.0", "cc-by-nd-4.0",
    "cc-by-sa-3.0", "cc-by-sa-4.0", "cc0-1.0", "cdla-permissive-1.0", "cdla-permissive-2.0",
    "cdla-sharing-1.0", "ecl-2.0", "epl-1.0", "epl-2.0", "etalab-2.0", "eupl-1.1", "gfdl", "gpl",
    "gpl-2.0", "gpl-3.0", "isc", "lgpl", "lgpl-2.1", "lgpl-3.0", "lgpl-lr", "lppl-1.3c", "mit",
    "mpl-2.0", "ms-pl", "ncsa", "odbl", "odc-by", "ofl-1.1", "openrail", "osl-3.0", "pddl",
    "postgresql", "unlicense", "wtfpl", "zlib",
)  # fmt: skip
"""The Hub's identifiers of licences for data and code."""
_SIZES = ((10**3, "n<1K"), (10**4, "1K<n<10K"), (10**5, "10K<n<100K"), (10**6, "100K<n<1M"))


@dataclass(frozen=True)
class _Config:
    """A configuration: its name, its file and the file's content."""

    name: str
    path: str
    content: bytes
    items: int


def write_dataset(suite: Suite, recipe: Recipe, folder: Path) -> dict[str, int]:
    """Write a suite as a data set: one Parquet file per configuration, and a card.

    Returns:
        How many items are left out, by reason: none.

    Raises:
        SuiteError: If a recipe is asked for, as items are written and no prompts.
    """
    if recipe.name != "sound":
        raise SuiteError(
            f"the format 'hf' holds items, not prompts, so recipe '{recipe.name}' does not apply; "
            "leave out --recipe"
        )
    configs = _configs(suite)
    card = _card(suite, configs).encode()
    (folder / "data").mkdir()
    for config in configs:
        (folder / config.path).write_bytes(config.content)
    (folder / "README.md").write_bytes(card)
    return {}


def config_of(value: str) -> str:
    """Return the configuration of a set: its name, or a safe one that is as unique."""
    safe = re.sub("[^A-Za-z0-9._-]+", "_", value).strip("._-")[:40]
    if safe and safe == value and value.lower() != DEFAULT:
        return value
    return marked_name(safe or "set", value)


def canary(suite: Suite) -> str:
    """Return a GUID that is the same for the same suite, to be looked for in training data."""
    return str(uuid.uuid5(_NAMESPACE, f"{suite.name}@{suite.hash}"))


def dataset_id(url: str) -> str | None:
    """Return ``owner/name`` if a URL is that of a data set on the Hub."""
    found = re.match(
        r"https?://(?:www\.)?(?:huggingface\.co|hf\.co)/datasets/([\w.-]+/[\w.-]+)", url, re.ASCII
    )
    return found[1] if found else None


def _configs(suite: Suite) -> list[_Config]:
    stem = config_of(suite.name)  # read_suite names a suite by its file
    made = [_config(DEFAULT, f"data/{stem}.parquet", suite)]
    taken = {made[0].path.lower()}
    for value in suite.tag_values().get("set", ()):
        name = config_of(value)
        path = f"data/{stem}.{name}.parquet"
        if path.lower() in taken:  # some systems do not tell upper from lower case
            path = f"data/{stem}.{marked_name(name, value)}.parquet"
        taken.add(path.lower())
        made.append(_config(name, path, suite.where(set=value)))
    return made


def _config(name: str, path: str, suite: Suite) -> _Config:
    buffer = io.BytesIO()
    write_parquet(suite, buffer)
    return _Config(name, path, buffer.getvalue(), len(suite))


def _card(suite: Suite, configs: Sequence[_Config]) -> str:
    card = suite.card
    title = " ".join((card.title or suite.name).split())
    sample = [f"A sample of a larger suite ({suite.sample})."] if suite.sample else []
    rows = [
        f"| `{c.name}` | {c.items:,} | `{c.path}` | `{hashlib.sha256(c.content).hexdigest()}` |"
        for c in configs
    ]
    version = f", version {card.version}" if card.version else ""
    parts = [
        f"---\n{to_yaml(_metadata(suite, title, configs))}---",
        f"# {title}",
        *filter(None, (card.notes.strip(), *sample)),
        f"Suite `{suite.name}`{version}, {len(suite):,} items in {len(suite.blocks()):,} blocks, "
        f"exported by boxpen {__version__}. Evaluate models on it with `boxpen run`, which reads "
        "any of the files below.",
        '```python\nfrom datasets import load_dataset\n\nitems = load_dataset("FOLDER_OR_REPO", '
        'split="test")\n```',
        "## Files",
        "| config | items | file | sha256 |\n|---|---|---|---|\n" + "\n".join(rows),
        f"Suite hash (sha256 of the items): `{suite.hash}`",
        "## Licence",
        card.licence or "Not stated.",
        *(["## Citation", card.citation] if card.citation else []),
        *(["## Home", card.url] if card.url else []),
        "## Canary",
        "These items are test data and should not appear in training corpora.",
        f"boxpen canary GUID {canary(suite)}",
    ]
    return "\n\n".join(parts) + "\n"


def _metadata(suite: Suite, title: str, configs: Sequence[_Config]) -> dict[str, Any]:
    found = {code for item in suite for code in suite.languages_of(item) if code}
    languages = sorted(code for code in found if re.fullmatch("[a-z]{2,3}", code))
    size = next((name for limit, name in _SIZES if len(suite) < limit), "1M<n<10M")
    return {
        "pretty_name": title,
        **({"language": languages} if languages else {}),
        **_licence(suite.card.licence),
        "task_categories": _tasks(suite),
        "size_categories": [size],
        "tags": ["boxpen", "common-sense"],
        "configs": [
            {"config_name": c.name, "data_files": [{"split": "test", "path": c.path}]}
            for c in configs
        ],
    }


def _licence(licence: str) -> dict[str, str]:
    """Return the Hub's identifier of a licence, or its own name if the Hub has none."""
    bare = re.sub(r"\(.*?\)", "", licence).strip().lower()
    known = re.sub(r"[\s_]+", "-", bare)
    if known in _LICENCES:
        return {"license": known}
    if bare in ("", "none stated", "unknown"):
        return {"license": "unknown"}
    return {"license": "other", "license_name": " ".join(licence.split())}


def _tasks(suite: Suite) -> list[str]:
    found: set[str] = set()
    for item in suite:
        if isinstance(item, Entail):
            found.add("text-classification")
        elif isinstance(item, Translate) or item.source is not None:
            found |= {"translation"} | ({"multiple-choice"} if item.kind == "choice" else set())
        else:
            found.add("multiple-choice")
    return sorted(found)
