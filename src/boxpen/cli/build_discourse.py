"""boxpen build discourse: add contrasts to suites of discourse phenomena."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from boxpen.cli.build import build
from boxpen.cli.output import OverwriteFile, note, print_json
from boxpen.cli.path_error_group import PathErrorGroup

__all__ = ["discourse"]

discourse = typer.Typer(
    cls=PathErrorGroup,
    no_args_is_help=True,
    help="Add contrasts to suites.",
)
build.add_typer(discourse, name="discourse")

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@discourse.command("contrast")
def add_contrasts(
    suite: Annotated[
        str, typer.Argument(help="A suite by name or .jsonl file, with classes as tags.")
    ],
    out: Annotated[Path, typer.Option(help="The suite with contrasts, a .jsonl file.")],
    overwrite: OverwriteFile = False,
    json: Json = False,
) -> None:
    """Add wrong translations to the items of a suite that have none, by exchange of the word."""
    from boxpen.build.discourse.contrast import with_contrasts
    from boxpen.catalog import load_suite, write_suite
    from boxpen.errors import BuildError
    from boxpen.files import check_free
    from boxpen.names import check_name

    check_name(suite, "SUITE")
    _check_files(suite, out)
    check_free(out, BuildError, overwrite=overwrite)
    before = load_suite(suite)
    check_name(before.name, f"the name of the suite in {suite}")
    after = with_contrasts(before)
    write_suite(after, out)
    counts: dict[str, list[int]] = {}
    for item in after:
        shown = " ".join(dict.fromkeys(item.tags[t] for t in ("set", "class") if t in item.tags))
        count = counts.setdefault(shown or "all", [0, 0])
        count[0] += 1
        count[1] += bool(getattr(item, "contrast", ()))
    if json:
        print_json([{"class": n, "items": a, "contrastive": b} for n, (a, b) in counts.items()])
    else:
        for name, (items, contrastive) in counts.items():
            print(f"{name}\t{contrastive} of {items}")
    note(f"{len(after)} items written to {out}")


def _check_files(suite: str, out: Path) -> None:
    """Refuse to read or write another form of a suite, and to write over the one that is read."""
    from boxpen.catalog.files import FORMATS
    from boxpen.errors import BuildError

    path = Path(suite)
    ending = path.suffix.lower()
    if ending != ".jsonl" and (ending in FORMATS or path.name != suite):
        raise BuildError(f"SUITE is {suite}, expected the name of a suite, or a .jsonl file")
    if out.suffix.lower() != ".jsonl":
        raise BuildError(f"--out is {out}, expected a file that ends in .jsonl")
    if out.exists() and path.exists() and out.samefile(path):
        raise BuildError(f"--out is {out}, the suite that is read, expected another file")
