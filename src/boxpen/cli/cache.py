"""boxpen cache: size, pruning and checks of the score cache."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from boxpen.cli.app import app
from boxpen.cli.command import command, group
from boxpen.cli.options import Json
from boxpen.cli.output import print_json
from boxpen.errors import CacheError
from boxpen.printable import printable

if TYPE_CHECKING:
    from boxpen.scoring.cache import ScoreCache
    from boxpen.scoring.cache_file.upkeep import Batch

__all__ = ["cache"]

cache = group(app, "cache", "Show, prune and check the score cache.", "Evaluate")

CacheFile = Annotated[
    Path | None,
    typer.Option(
        "--cache", metavar="FILE", help="Score cache.", show_default="in the user's cache folder"
    ),
]
_OTHERS = {
    "data": "downloaded suites",
    "models": "downloaded models",
    "gguf": "tokenizers of GGUF files",
    "units": "results of workers",
}


@command(cache, "info")
def info(file: CacheFile = None, json: Json = False) -> None:
    """Show the size of the score cache, by model."""
    from boxpen.scoring.cache_file.upkeep import EARLIER

    with _opened(file) as scores:
        found = scores.usage()
        path = Path(scores.path)
    models = _by_model(found)
    size = path.stat().st_size
    folders = _folders() if file is None else {}
    if json:
        print_json({"file": str(path), "bytes": size, "models": models, "folders": folders})
        return
    # Names come last and are not wrapped, so that you can copy long ones.
    if models:
        print(f"{'scores':>13} {'size':>9}  {'oldest':10}  {'last used':10}  model")
    for m in models:
        print(
            f"{m['rows']:13,} {_size(m['bytes']):>9}  {m['oldest']:10}  {m['used']:10}  "
            f"{printable(m['model']) or EARLIER}"
        )
    print(f"{path}: {_size(size)}, {sum(m['rows'] for m in models):,} scores")
    for name, taken in folders.items():
        print(f"{path.parent / name}: {_size(taken)}, {_OTHERS[name]}")


@command(cache, "prune")
def prune(
    keep: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Prune until no larger: 500MB, 2GB.")
    ] = None,
    older_than: Annotated[
        str | None, typer.Option(metavar="AGE", help="Only scores not used for so long: 30d, 12h.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Only scores of this model, as 'info' names it."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be removed.")
    ] = False,
    file: CacheFile = None,
    json: Json = False,
) -> None:
    """Remove scores, the least recently used first.

    What is removed is scored again when it is needed. Other boxpen processes may run meanwhile.
    """
    from boxpen.scoring.cache_file.upkeep import parse_age, parse_size

    if keep is None and older_than is None and model is None:
        raise CacheError("nothing to prune; give --keep, --older-than or --model")
    most = None if keep is None else parse_size(keep, "--keep")
    age = None if older_than is None else parse_age(older_than, "--older-than")
    with _opened(file) as scores:
        done = scores.prune(keep=most, older_than=age, model=model, dry_run=dry_run)
    if json:
        print_json(
            {"rows": done.rows, "bytes_before": done.before, "bytes_after": done.after,
             "dry_run": dry_run}
        )  # fmt: skip
        return
    verb = "would be removed" if dry_run else "removed"
    print(f"{done.rows:,} scores {verb}: {_size(done.before)} before, {_size(done.after)} after")
    if not (dry_run or done.shrunk):
        print(
            "the disk space is not free yet: another process uses the cache, or there is no room "
            "for a copy of it; new scores reuse the space, or prune with --keep again later"
        )


@command(cache, "check")
def check(file: CacheFile = None, json: Json = False) -> None:
    """Read the whole score cache, and rebuild it if it is damaged."""
    with _opened(file) as scores:
        whole = scores.check()
        damaged, moved = scores.damaged, [str(place) for place in scores.set_aside]
    if json:
        print_json({"scores": whole, "dropped": damaged, "set_aside": moved})
        return
    state = "rebuilt" if moved else "damaged rows dropped" if damaged else "no damage"
    print(f"{whole:,} scores, {state}")


def _opened(file: Path | None) -> ScoreCache:
    from boxpen.folders import default_cache
    from boxpen.scoring.cache import ScoreCache

    path = file or default_cache()
    if not path.is_file():
        raise CacheError(f"there is no score cache {path}")
    return ScoreCache(path)


def _by_model(found: list[Batch]) -> list[dict[str, Any]]:
    """Return one object per model, the largest first."""
    out: dict[str, dict[str, Any]] = {}
    for one in found:
        own = out.setdefault(one.model, {"model": one.model, "rows": 0, "bytes": 0, "times": []})
        own["rows"] += one.rows
        own["bytes"] += one.bytes
        own["times"].append((one.made, one.used))
    for own in out.values():
        times = own.pop("times")
        own["oldest"] = _day(min(made for made, _ in times))
        own["used"] = _day(max(used for _, used in times))
    return sorted(out.values(), key=lambda own: -own["bytes"])


def _folders() -> dict[str, int]:
    """Return the bytes of what else is in the cache folder."""
    from boxpen.folders import cache_dir

    found = {}
    for name in _OTHERS:
        folder = cache_dir() / name
        if folder.is_dir():
            found[name] = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())
    return found


def _day(seconds: int) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(seconds)) if seconds else "unknown"


def _size(count: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"
