"""boxpen suite: list, show, get, check, count, import and export suites."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from boxpen.cli.app import app
from boxpen.cli.command import MultiValueCommand, command, group
from boxpen.cli.options import Format, Json, Overwrite, SuiteName
from boxpen.cli.output import console, note, print_json

__all__ = ["suite"]

suite = group(app, "suite", "List, inspect, check and convert suites.", "Suites")

By = Annotated[str | None, typer.Option(metavar="TAG", help="Tag to group items by.")]
Out = Annotated[
    Path, typer.Option(metavar="FILE", help="Output file: .jsonl, .csv, .tsv or .parquet.")
]


@command(suite, "list")
def list_suites(json: Json = False) -> None:
    """List the suites that boxpen and its plug-ins know, by topic."""
    from boxpen.catalog import entries
    from boxpen.report.corpus import catalog_lines, catalog_object

    found = entries().values()
    if json:
        print_json(list(map(catalog_object, found)))
    else:
        screen = console()
        for part in catalog_lines(found):
            screen.print(part)


@command(suite, "show")
def show_suite(
    name: SuiteName,
    items: Annotated[int, typer.Option(help="Number of items to show.", min=0)] = 3,
    json: Json = False,
) -> None:
    """Show a suite's card, tags, recipes and some items."""
    from boxpen.catalog import load_suite, recipes_of
    from boxpen.items import item_to_dict

    found = load_suite(name)
    recipes = recipes_of(found)
    sample = [item_to_dict(i) for i in found.items[:items]]
    facts: dict[str, Any] = {
        "name": found.name,
        "items": len(found),
        "blocks": len(found.blocks()),
        "hash": found.hash,
        **{k: v for k, v in asdict(found.card).items() if v},
    }
    tags = found.tag_values()
    if json:
        why = {r.name: r.why for r in recipes.values()}
        print_json({**facts, "tags": tags, "recipes": why, "sample": sample})
        return
    screen = console()
    for key, value in facts.items():
        shown = " ".join(value) if isinstance(value, tuple) else value
        screen.print(f"{key:16} {shown}")
    for tag, values in tags.items():
        more = f" … ({len(values)})" if len(values) > 12 else ""
        screen.print(f"tag {tag:12} {' '.join(values[:12])}{more}")
    for r in recipes.values():
        screen.print(f"recipe {r.name:9} {r.why or 'the default'}")
    for item in sample:
        screen.print()
        for key, value in item.items():
            screen.print(f"  {key:10} {value}")


@command(suite, "get")
def get_suite(name: SuiteName) -> None:
    """Download and verify a suite, and print its file paths."""
    from boxpen.catalog import fetch, is_suite, load_suite
    from boxpen.plugins import SUITES

    found = load_suite(name)
    if is_suite(name.split(".")[0]):
        for path in fetch(SUITES.load(name.split(".")[0])).values():
            print(path)
    note(f"{found.name}: {len(found)} items, hash {found.hash[:8]}")


@command(suite, "lint")
def lint_suite(name: SuiteName, json: Json = False) -> None:
    """Find problems in a suite; exit with status 1 if any."""
    from boxpen.catalog import load_suite
    from boxpen.catalog.lint.items import lint

    findings = lint(load_suite(name, validate=False))
    if json:
        print_json([asdict(f) for f in findings])
    else:
        for f in findings:
            print(f"{f.item or name}: {f.rule}: {f.message}")
        note(f"{len(findings)} finding(s)")
    if findings:
        raise typer.Exit(1)


@command(suite, "stats")
def stats_suite(
    name: SuiteName,
    by: By = None,
    tests: Annotated[
        bool, typer.Option("--tests", help="Knowledge graph tests by relation and task instead.")
    ] = False,
    words: Annotated[
        bool, typer.Option("--words", help="Words unique to right or wrong candidates instead.")
    ] = False,
    top: Annotated[int, typer.Option(help="With --words: words per side.", min=0)] = 20,
    svg: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --words: draw the words that differ most often."),
    ] = None,
    over: Annotated[
        int | None,
        typer.Option(
            help="With --svg: draw words that differ more than N times, both sides together.",
            show_default="9",
            min=0,
        ),
    ] = None,
    overwrite: Overwrite = False,
    *,
    form: Format,
) -> None:
    """Count items and tokens, as in Table 1 of CommonMT."""
    from boxpen.analysis.behaviour import count_tests, example_tests
    from boxpen.analysis.suites.differences import differences
    from boxpen.analysis.suites.stats import stats
    from boxpen.catalog import load_suite
    from boxpen.errors import SuiteError
    from boxpen.files import check_free, replaced
    from boxpen.report import behaviour, corpus
    from boxpen.report.html.word_chart import words_svg

    if (tests and words) or (by is not None and (tests or words)):
        raise SuiteError("--by, --tests and --words cannot be combined; choose one")
    if form.markdown and not tests:
        raise SuiteError("--markdown requires --tests")
    if svg is not None and not words:
        raise SuiteError("--svg requires --words")
    if over is not None and svg is None:
        raise SuiteError("--over requires --svg")
    if svg is not None:
        if svg.suffix.lower() != ".svg":
            raise SuiteError(f"--svg writes an .svg file, not {svg.name}")
        check_free(svg, overwrite=overwrite)
    found = load_suite(name)
    if tests:
        form.show(
            (count_tests(found), example_tests(found)),
            lambda both: behaviour.tests_object(*both),
            lambda both: behaviour.tests_tables(*both),
            lambda both: behaviour.tests_markdown(*both),
        )
    elif words:
        counted = differences(found)
        if svg is not None:
            least = 9 if over is None else over
            title = f"Different words of {found.name}, over {least} times"
            drawn = words_svg(counted, least, title)
            with replaced(svg, SuiteError) as stream:
                stream.write(drawn.encode())
            note(f"chart written to {svg}")
        form.show(
            counted,
            lambda found: corpus.words_object(found, top),
            lambda found: corpus.words_tables(found, top),
        )
    else:
        form.show(stats(found, by), lambda rows: list(map(asdict, rows)), corpus.stats_terminal)


@command(suite, "audit")
def audit_suite(name: SuiteName, by: By = None, json: Json = False) -> None:
    """Measure how well shallow cues alone answer a suite."""
    from boxpen.analysis.suites.audit import audit
    from boxpen.analysis.suites.balance import balance
    from boxpen.catalog import load_suite
    from boxpen.report.corpus import audit_object, audit_tables, balance_lines

    found = load_suite(name)
    rows, answers = audit(found, by), balance(found)
    if json:
        print_json(audit_object(rows, answers, found.name))
        return
    screen = console()
    for part in (*audit_tables(rows), *balance_lines(answers)):
        screen.print(part)
    values = found.tag_values()[by] if by is not None else []
    audited = {row.slice for row in rows}
    if empty := [value for value in values if f"{by}={value}" not in audited]:
        note(f"left out, since there is nothing to choose from: {by} {', '.join(empty)}")


@command(suite, "export")
def export_suite(
    name: SuiteName,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Output file: .jsonl, .csv, .tsv or .parquet."),
    ] = None,
    to: Annotated[
        tuple[str, Path] | None,
        typer.Option(
            "--to",
            metavar="FORMAT FOLDER",
            help="Write a folder for another tool: lm-eval, hf or inspect.",
        ),
    ] = None,
    recipe: Annotated[
        str | None,
        typer.Option(help="With --to: how items become texts.", show_default="sound"),
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Write a suite to a file, or for another tool."""
    from boxpen import exchange
    from boxpen.catalog import load_suite, write_suite
    from boxpen.errors import SuiteError
    from boxpen.files import check_free

    if (out is None) == (to is None):
        raise SuiteError("choose one: --out FILE or --to FORMAT FOLDER")
    if to is None and recipe is not None:
        raise SuiteError("--recipe requires --to")
    if out is not None:
        check_free(out, overwrite=overwrite)
    found = load_suite(name)
    left_out: dict[str, int] = {}
    if out is not None:
        write_suite(found, out)
    if to is not None:
        form, out = to
        chosen = recipe or "sound"
        left_out = exchange.export_suite(found, form, out, recipe=chosen, overwrite=overwrite)
    written = len(found) - sum(left_out.values())
    note(f"{found.name}: {written:,} items written to {out}")
    for reason, count in left_out.items():
        note(f"left out, {count:,} item(s): {reason}")


def _column(what: str) -> Any:
    return typer.Option(metavar="COLUMN", help=f"Column with the {what}.")


def _columns(what: str) -> Any:
    return typer.Option(metavar="COLUMN...", help=f"Columns {what}.")


@command(suite, "import", cls=MultiValueCommand)
def import_suite(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="A .csv, .tsv, .parquet, .jsonl or .json file; .xml with --frame."
        ),
    ],
    out: Out,
    name: Annotated[str | None, typer.Option(help="Name of the suite.")] = None,
    title: Annotated[str, typer.Option(help="Title for the card.")] = "",
    licence: Annotated[str, typer.Option(help="Licence for the card.")] = "",
    language: Annotated[str | None, typer.Option(help="Language of the candidates: en.")] = None,
    source_language: Annotated[str | None, typer.Option(help="Language of the source: zh.")] = None,
    id: Annotated[str | None, _column("id")] = None,  # noqa: A002
    block: Annotated[str | None, _column("block")] = None,
    block_size: Annotated[int | None, typer.Option(help="Rows per block.")] = None,
    source: Annotated[str | None, _column("source sentence")] = None,
    context: Annotated[list[str] | None, _columns("with the text before the candidates")] = None,
    candidates: Annotated[
        list[str] | None, _columns("with the candidates, or one that holds lists of them")
    ] = None,
    gold: Annotated[str | None, _column("number or letter of the right candidate")] = None,
    gold_start: Annotated[
        int | None,
        typer.Option(help="Number of the first candidate.", show_default="from the labels"),
    ] = None,
    gap: Annotated[str | None, _column("sentence whose gap '_' the candidates fill")] = None,
    correct: Annotated[str | None, _column("right candidate")] = None,
    wrong: Annotated[list[str] | None, _columns("with wrong candidates")] = None,
    reference: Annotated[str | None, _column("reference")] = None,
    tags: Annotated[list[str] | None, _columns("to use as tags")] = None,
    frame: Annotated[
        str | None,
        typer.Option(help="Original of a CATs set: wsc, wsc-paper (XML), arct (TSV), swag (CSV)."),
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Convert your own table into a suite.

    The headers of BLiMP, WinoGrande, COPA, PIQA, HellaSwag, SWAG, MMLU, ARC and others need no
    options; nor do columns such as 'good' and 'bad', or '…correct' and '…wrong'.
    """
    from boxpen.catalog import read_suite, write_suite
    from boxpen.catalog.frames import read_frame
    from boxpen.catalog.lint.items import lint
    from boxpen.errors import SuiteError
    from boxpen.files import check_free

    check_free(out, overwrite=overwrite)
    columns: dict[str, Any] = {
        "id": id, "block": block, "block_size": block_size, "source": source, "context": context,
        "candidates": candidates, "gold": gold, "gold_start": gold_start, "gap": gap,
        "correct": correct, "wrong": wrong, "reference": reference, "tags": tags,
        "language": language, "source_language": source_language,
    }  # fmt: skip
    given = {k: v for k, v in columns.items() if v is not None and v != []}
    if frame and given:
        raise SuiteError(f"--frame cannot be combined with --{next(iter(given)).replace('_', '-')}")
    found = read_frame(file, frame) if frame else read_suite(file, **given)
    card = replace(
        found.card, title=title or found.card.title, licence=licence or found.card.licence
    )
    found = replace(found, name=name or found.name, card=card)
    write_suite(found, out)
    note(f"{found.name}: {len(found)} items, {len(found.blocks())} blocks, written to {out}")
    findings = lint(found)
    if findings:
        note(f"{len(findings)} lint finding(s): boxpen suite lint {out}")
