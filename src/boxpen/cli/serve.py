"""boxpen review serve: the web app for judges."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from boxpen.cli.command import MultiValueCommand, command
from boxpen.cli.output import note
from boxpen.cli.review import Values, review
from boxpen.errors import BuildError

__all__ = ["serve_campaign"]


@command(review, "serve", cls=MultiValueCommand)
def serve_campaign(
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TARGET",
            help="Suites, builds (configuration, folder or table) or run directories.",
            show_default=False,
        ),
    ] = None,
    task: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME...", help="Task of each target.", show_default="by target"),
    ] = None,
    tag: Annotated[
        str | None, typer.Option(metavar="NAME", help="Tag to ask for, such as steps.")
    ] = None,
    values: Values = None,
    judges: Annotated[
        list[str] | None,
        typer.Option(
            metavar="N|NAME...",
            help="How many judges, or their names.",
            show_default="3, or those of the database",
        ),
    ] = None,
    overlap: Annotated[
        int | None,
        typer.Option(metavar="N", help="How many of them judge each item.", show_default="all"),
    ] = None,
    until_agree: Annotated[
        int | None,
        typer.Option(metavar="N", help="Finish an item when N judges agree, not before."),
    ] = None,
    max_judges: Annotated[
        int | None, typer.Option(metavar="N", help="With --until-agree: maximum judges per item.")
    ] = None,
    blind: Annotated[
        bool,
        typer.Option("--blind", help="Hide scores and hints, and names from adjudicators."),
    ] = False,
    gold: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Items with known answers, for training and attention."),
    ] = None,
    sample: Annotated[
        int | None, typer.Option(metavar="N", help="Sample N items, the same for all judges.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed for samples and orders.")] = 0,
    database: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|URL",
            help="SQLite file or PostgreSQL URL.",
            show_default="review.db beside the journal",
        ),
    ] = None,
    new_link: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME...", help="People whose lost links are replaced by new ones."),
    ] = None,
    host: Annotated[
        str, typer.Option(metavar="NAME", help="Address to listen on; 0.0.0.0: all networks.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on (0: any free one).")] = 8760,
    tls_cert: Annotated[
        Path | None, typer.Option(metavar="FILE", help="TLS certificate, .pem.")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(metavar="FILE", help="Its private key.")] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Try it with the starter suite and sample judges.")
    ] = False,
) -> None:
    """Serve a web app in which people judge or answer items."""
    try:
        from boxpen.review.app.demo import serve_demo
        from boxpen.review.app.plan import Plan
        from boxpen.review.app.start import Address, Request, serve
    except ImportError as error:
        raise BuildError(
            f"the web app needs the package {error.name}: pip install 'boxpen[review]'"
        ) from None

    address = Address(host, port, tls_cert, tls_key)
    if demo:
        if targets or task or tag or judges or gold or database:
            raise BuildError("--demo brings its own items and judges; leave out the others")
        serve_demo(address, _say)
        return
    if not targets:
        raise BuildError("there is nothing to judge; expected a suite, a build or runs, or --demo")
    plan = Plan(
        overlap=overlap, until_agree=until_agree, max_judges=max_judges, blind=blind,
        sample=sample, seed=seed,
    )  # fmt: skip
    request = Request(
        words=targets, tasks=task or (), tag=tag, values=None if values is None else tuple(values),
        judges=judges or (), gold=gold, database=database, plan=plan,
        new_links=new_link or (),
    )  # fmt: skip
    serve(request, address, _say)


def _say(base: str, lines: list[str]) -> None:
    for line in lines:
        print(line, flush=True)
    note(f"serving at {base}; press Ctrl-C to stop")
