"""boxpen build: make suites from raw data."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from boxpen.cli.app import app
from boxpen.cli.command import MultiValueCommand, command, group
from boxpen.cli.evaluate.workers import Workers
from boxpen.cli.options import Json, Overwrite, TrustRemoteCode
from boxpen.cli.output import console, note, print_json, progress_bar
from boxpen.errors import BoxpenError, BuildError

if TYPE_CHECKING:
    from boxpen.build.runner import Done

__all__ = ["build"]

build = group(app, "build", "Build suites and training data from raw data.", "Build")

Config = Annotated[
    Path, typer.Argument(help="TOML file; see 'boxpen build example'.", metavar="CONFIG")
]


@command(build, "run")
def run(
    config: Config,
    stage: Annotated[str | None, typer.Option(help="Run this stage only.", metavar="STAGE")] = None,
    force: Annotated[bool, typer.Option("--force", help="Run stages even if up to date.")] = False,
    trust_remote_code: TrustRemoteCode = False,  # noqa: ARG001 (see TrustRemoteCode)
    json: Json = False,
    *,
    workers: Workers,
) -> None:
    """Run the stages of a build that are out of date.

    With --executor, workers divide the stages that take long; the files are the same.
    """
    from boxpen.build.builders import open_build

    workers.check()
    builder, settings = open_build(config)
    done: list[Done] = []
    try:
        with progress_bar() as progress:
            share = None
            if workers.executor is not None:
                from boxpen.build.workers import Shared

                share = Shared(config, *workers.opened(workers.executor), progress)
            done.extend(builder.runner(settings, progress, share).run(stage, force=force))
    except BoxpenError:
        if not json:
            _print(done)  # earlier stages explain why this one failed
        raise
    finally:
        for each in done:
            for warning in each.report.get("warnings", ()):
                note(warning)
    if json:
        print_json([{"stage": d.stage, "done_now": d.fresh, **d.report} for d in done])
    else:
        _print(done)


@command(build, "status")
def status(config: Config, json: Json = False) -> None:
    """Show which stages are up to date, and why others are not."""
    from boxpen.build.builders import open_build

    builder, settings = open_build(config)
    states = builder.runner(settings).status()
    if json:
        print_json(
            [{"stage": s.stage, "up_to_date": not s.reason, "reason": s.reason or None,
              "seconds": s.seconds, "report": s.report} for s in states]
        )  # fmt: skip
        return
    screen = console()
    for state in states:
        last = f"; last: {state.report['says']}" if state.report else ""
        reason = f"out of date, {state.reason}" if state.reason else "up to date"
        screen.print(f"{state.stage}: {reason}{last}", soft_wrap=True)


@command(build, "dropped", cls=MultiValueCommand)
def dropped(
    config: Config,
    step: Annotated[
        str | None, typer.Option(help="Only rows that this step dropped.", metavar="STEP")
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(help="Only rows with this value: relation=isa.", metavar="KEY=VALUE..."),
    ] = None,
    limit: Annotated[int, typer.Option(help="Rows to print; 0 for all.", min=0)] = 20,
    json: Json = False,
) -> None:
    """List what a build dropped, with the step and the reason."""
    from boxpen.build.builders import open_build

    builder, settings = open_build(config)
    rows, total = builder.runner(settings).dropped(step, where=_pairs(where or ()), limit=limit)
    if json:
        print_json({"total": total, "dropped": rows})
        return
    for row in rows:
        shown = [row.get(name) for name in ("step", "reason", *builder.shown)]
        print("\t".join(str(value) for value in shown if value is not None))
    note(f"{len(rows):,} of {total:,} dropped row(s)")


@command(build, "example")
def example(
    builder: Annotated[
        str, typer.Argument(metavar="BUILDER", help="Name of a builder; lists them if omitted.")
    ] = "",
) -> None:
    """Print an example configuration, or list the builders."""
    from boxpen.build.builders import builder_named
    from boxpen.plugins import BUILDERS

    if builder:
        print(builder_named(builder).example, end="")
    else:
        print("\n".join([*BUILDERS.builtin, *BUILDERS.usable_plugins()]))


@command(build, "contrast")
def contrast(
    suite: Annotated[
        str,
        typer.Argument(metavar="SUITE", help="A suite or .jsonl file with classes as tags."),
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Output file, .jsonl.")],
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Add wrong translations to a discourse suite.

    Exchanges the pronoun, connective or verb in the reference of each item that has no contrast.
    """
    from boxpen.build.discourse.contrast import write_contrasts

    counts = write_contrasts(suite, out, overwrite=overwrite)
    if json:
        print_json([{"class": n, "items": a, "contrastive": b} for n, (a, b) in counts.items()])
    else:
        for name, (items, contrastive) in counts.items():
            print(f"{name}\t{contrastive} of {items}")
    note(f"{sum(items for items, _ in counts.values())} items written to {out}")


@command(build, "sentences")
def sentences(
    triples: Annotated[
        str, typer.Option(metavar="SOURCE", help="Source of triples, as for boxpen train lm.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Output file: .txt, or .tsv for sentences with triples.",
            show_default="stdout",
        ),
    ] = None,
    ways: Annotated[int, typer.Option(help="Maximum sentences per triple.")] = 1,
    overwrite: Overwrite = False,
) -> None:
    """Write a knowledge graph as sentences."""
    from boxpen.build.kg.sentences import check_out, verbalise, write_sentences

    if out is not None:
        check_out(out, overwrite=overwrite)
    with progress_bar() as progress:
        found = verbalise(triples, ways=ways, progress=progress)
    if out is None:
        for row in found.rows:
            print(row.sentence)
    else:
        write_sentences(found, out)
    note(f"{triples}: {found.says}")


def _pairs(words: Iterable[str]) -> dict[str, str]:
    pairs = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not (key and equals and value):
            raise BuildError(f"--where is '{word}', expected KEY=VALUE")
        pairs[key] = value
    return pairs


def _print(done: list[Done]) -> None:
    from boxpen.report.build import stage_lines, stage_tables

    screen = console()
    for each in done:
        for line in stage_lines(each):
            screen.print(line, soft_wrap=True)
        for table in stage_tables(each):
            screen.print(table)
