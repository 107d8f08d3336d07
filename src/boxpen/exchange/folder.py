"""Write suites and runs as folders in the formats of other tools."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from boxpen.catalog import recipes_of
from boxpen.errors import BoxpenError, RunError, SuiteError, nearest
from boxpen.files import new_folder, resolved
from boxpen.plugins import RUN_FORMATS, SUITE_FORMATS
from boxpen.printable import printable
from boxpen.version import __version__

if TYPE_CHECKING:
    from boxpen.items import Suite
    from boxpen.runs.run import Run

__all__ = ["export_runs", "export_suite"]

_MARK = ".boxpen"
"""A file in exported folders that lists the others; only folders with it may be overwritten."""


def export_suite(
    suite: Suite,
    form: str,
    folder: Path | str,
    *,
    recipe: str = "sound",
    overwrite: bool = False,
) -> dict[str, int]:
    """Write a suite into a folder, in the format of another tool.

    Args:
        suite: The suite.
        form: ``lm-eval``, ``hf`` or ``inspect``.
        folder: The folder to make.
        recipe: How items become texts, for formats that hold prompts.
        overwrite: Replace a folder that an earlier export made.

    Returns:
        How many items are left out because the format cannot hold them, by reason.

    Raises:
        SuiteError: If the format or the recipe is unknown, the format cannot hold the suite, or
            the folder cannot be written.
    """
    write = SUITE_FORMATS.load(form)
    recipes = recipes_of(suite)
    if recipe not in recipes:
        raise SuiteError(
            f"suite '{suite.name}' has no recipe '{recipe}', {nearest(recipe, list(recipes))}"
        )
    with _folder(Path(folder), SuiteError, overwrite=overwrite) as new:
        try:
            left_out: dict[str, int] = write(suite, recipes[recipe], new)
        except UnicodeEncodeError:
            raise SuiteError(
                f"suite '{printable(suite.name)}' has a text with half of a surrogate pair, which "
                "no format holds; correct it"
            ) from None
    return left_out


def export_runs(
    runs: Sequence[Run], form: str, folder: Path | str, *, overwrite: bool = False
) -> None:
    """Write runs into a folder, in the format of another tool.

    Args:
        runs: The runs.
        form: ``eee`` (Every Eval Ever), ``hf`` (results for model cards) or ``inspect``.
        folder: The folder to make.
        overwrite: Replace a folder that an earlier export made.

    Raises:
        RunError: If the format is unknown, cannot hold a run, or the folder cannot be written.
    """
    write = RUN_FORMATS.load(form)
    with _folder(Path(folder), RunError, overwrite=overwrite) as new:
        write(runs, new)


@contextlib.contextmanager
def _folder(path: Path, error: type[BoxpenError], *, overwrite: bool) -> Iterator[Path]:
    place = resolved(path, error)
    if place.exists():
        if not place.is_dir():
            raise error(f"{path} cannot be written: it is a file")
        if _here().is_relative_to(place):
            raise error(f"{path} cannot be replaced while you are in it; give a folder within it")
        if any(place.iterdir()) and not (place / _MARK).is_file():
            raise error(f"{path} is not empty; give another folder")
        if (place / _MARK).is_file() and not overwrite:
            raise error(f"{path} already exists; give another name or --overwrite")
        if added := sorted(_files(place) - _written(place)):
            raise error(
                f"{path} has '{added[0]}', which the export did not write; move it elsewhere or "
                "give another folder"
            )
    with new_folder(path, error) as new:
        yield new
        lines = [f"Written by boxpen {__version__}.", *sorted(_files(new))]
        (new / _MARK).write_text("".join(f"{line}\n" for line in lines), "utf-8")


def _here() -> Path:
    """Return the working directory; the root if it has been deleted."""
    try:
        return Path.cwd().resolve()
    except FileNotFoundError:
        return Path("/")


def _files(folder: Path) -> set[str]:
    """Return the files in a folder, but for what Python compiles."""
    return {
        found.relative_to(folder).as_posix()
        for found in folder.rglob("*")
        if (found.is_symlink() or not found.is_dir()) and found.parent.name != "__pycache__"
    }


def _written(folder: Path) -> set[str]:
    """Return the files that the export of a folder wrote."""
    mark = folder / _MARK
    return {_MARK, *mark.read_text("utf-8").splitlines()[1:]} if mark.is_file() else set()
