"""boxpen suite: list, show, get, lint, stats, tests, words, audit, import and export suites."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from boxpen.cli.app import app
from boxpen.cli.multi_value_option import MultiValueCommand
from boxpen.cli.output import OverwriteFile, console, note, print_json
from boxpen.report.plain_table import plain_table

__all__ = ["suite"]

suite = typer.Typer(no_args_is_help=True, help="List, show, check and convert suites.")
app.add_typer(suite, name="suite")

Name = Annotated[str, typer.Argument(help="A suite, a part of one (cats.sm) or a file.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@suite.command("list")
def list_suites(json: Json = False) -> None:
    """List the built-in suites."""
    from rich.text import Text

    from boxpen.catalog import ENTRIES

    if json:
        print_json([{"name": e.name, "parts": e.parts, **asdict(e.card)} for e in ENTRIES.values()])
        return

    table = plain_table()
    for column in ("name", "languages", "licence", "title, and parts to run alone"):
        table.add_column(column, overflow="fold")
    for e in ENTRIES.values():
        languages = "-".join(x for x in (e.card.source_language, e.card.language) if x) or "mixed"
        parts = f"\n{' '.join(f'.{p}' for p in e.parts)}" if e.parts else ""
        title = Text.assemble(e.card.title, (parts, "dim"))
        table.add_row(e.name, languages, e.card.licence, title)
    console().print(table)


@suite.command("show")
def show_suite(
    name: Name,
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
        screen.print(f"{key:16} {value}", markup=False)
    for tag, values in tags.items():
        more = f" … ({len(values)})" if len(values) > 12 else ""
        screen.print(f"tag {tag:12} {' '.join(values[:12])}{more}", markup=False)
    for r in recipes.values():
        screen.print(f"recipe {r.name:9} {r.why or 'the default'}", markup=False)
    for item in sample:
        screen.print()
        for key, value in item.items():
            screen.print(f"  {key:10} {value}", markup=False)


@suite.command("get")
def get_suite(name: Name) -> None:
    """Download and verify a suite, and print its file paths."""
    from boxpen.catalog import ENTRIES, fetch, load_suite

    found = load_suite(name)
    entry = ENTRIES.get(name.split(".")[0])
    if entry is not None:
        for path in fetch(entry).values():
            print(path)
    note(f"{found.name}: {len(found)} items, hash {found.hash[:8]}")


@suite.command("lint")
def lint_suite(name: Name, json: Json = False) -> None:
    """Find problems in a suite; exit with status 1 if any."""
    from boxpen.catalog import load_suite
    from boxpen.catalog.lint import lint

    findings = lint(load_suite(name, validate=False))
    if json:
        print_json([asdict(f) for f in findings])
    else:
        for f in findings:
            print(f"{f.item or name}: {f.rule}: {f.message}")
        note(f"{len(findings)} finding(s)")
    if findings:
        raise typer.Exit(1)


@suite.command("stats")
def stats_suite(
    name: Name,
    by: Annotated[str | None, typer.Option(help="Tag to group items by.")] = None,
    json: Json = False,
) -> None:
    """Count items and tokens, as in Table 1 of CommonMT."""
    from boxpen.analysis.suites.stats import stats
    from boxpen.catalog import load_suite

    rows = stats(load_suite(name), by)
    if json:
        print_json([asdict(r) for r in rows])
        return
    from rich.text import Text

    table = plain_table()
    for column in ("set", "items", "unique tokens", "tokens per sentence", "tokens"):
        table.add_column(column, justify="left" if column == "set" else "right")
    for r in rows:
        sides = [s for s in (r.source, r.right, r.wrong) if s is not None]
        table.add_row(
            Text(r.name),
            f"{r.items:,}",
            "/".join(f"{s.unique:,}" for s in sides),
            "/".join(f"{s.average:.1f}" for s in sides),
            "/".join(f"{s.tokens:,}" for s in sides),
            style="bold" if r.name == "TOTAL" else "",
        )
    console().print(table)
    present = [n for n in ("source", "right", "wrong") if getattr(rows[-1], n) is not None]
    print(f"\n{'/'.join('abc'[: len(present)])}: {' / '.join(present)}")


@suite.command("tests")
def behaviour_suite(
    name: Name,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    json: Json = False,
) -> None:
    """Count knowledge graph tests by relation and task."""
    from boxpen.analysis.behaviour import count_tests, example_tests
    from boxpen.catalog import load_suite

    found = load_suite(name)
    counts, examples = count_tests(found), example_tests(found)
    if json:
        rows = [
            {"graph": c.graph, "relation": c.relation, "triples": c.triples, "task": task,
             "templates": templates, "tests": tests}
            for c in counts
            for task, (templates, tests) in c.tasks.items()
        ]  # fmt: skip
        print_json({"counts": rows, "examples": [asdict(e) for e in examples]})
        return
    from boxpen.report.behaviour import tests_markdown, tests_tables

    if markdown:
        print(tests_markdown(counts, examples), end="")
        return
    screen = console()
    for part in tests_tables(counts, examples):
        screen.print(part)


@suite.command("words")
def words_suite(
    name: Name,
    top: Annotated[int, typer.Option(help="Words to show per side.", min=0)] = 20,
    json: Json = False,
) -> None:
    """Show words unique to right or to wrong candidates."""
    from boxpen.analysis.suites.differences import differences
    from boxpen.catalog import load_suite

    found = differences(load_suite(name))
    if json:
        sides = {
            side: {
                **asdict(words),
                "different": dict(list(words.different.items())[:top]),
                "different_words": sum(words.different.values()),
                "different_negations": words.different_negations,
                "negated": words.negated._asdict(),
            }
            for side, words in (("right", found.right), ("wrong", found.wrong))
        }
        counts = {"items": found.items, "pairs": found.pairs, "same_words": found.same_words}
        print_json({**counts, "different_per_pair": found.per_pair, **sides})
        return
    from boxpen.report.corpus import words_tables

    screen = console()
    for part in words_tables(found, top):
        screen.print(part)


@suite.command("audit")
def audit_suite(
    name: Name,
    by: Annotated[str | None, typer.Option(help="Tag to group items by.")] = None,
    json: Json = False,
) -> None:
    """Measure how well shallow cues alone answer a suite."""
    from boxpen.analysis.suites.audit import audit
    from boxpen.analysis.suites.balance import balance
    from boxpen.catalog import load_suite

    found = load_suite(name)
    rows, answers = audit(found, by), balance(found)
    if json:
        plain = [
            {**asdict(r), **r.estimate._asdict(), "flagged": r.flagged, "suite": found.name}
            for r in rows
        ]
        for row in plain:
            del row["estimate"]
        flips = answers.flips._asdict() if answers.flips else None
        print_json({"balance": {**asdict(answers), "flips": flips}, "results": plain})
        return
    from boxpen.report.corpus import audit_tables, balance_lines

    screen = console()
    for part in (*audit_tables(rows), *balance_lines(answers)):
        screen.print(part)
    values = found.tag_values()[by] if by is not None else []
    audited = {row.slice for row in rows}
    if empty := [value for value in values if f"{by}={value}" not in audited]:
        note(f"left out, since there is nothing to choose from: {by} {', '.join(empty)}")


@suite.command("export")
def export_suite(
    name: Name,
    out: Annotated[Path, typer.Option(help="Output file: .jsonl, .csv, .tsv or .parquet.")],
    overwrite: OverwriteFile = False,
) -> None:
    """Write a suite to a file."""
    from boxpen.catalog import load_suite, write_suite
    from boxpen.files import check_free

    check_free(out, overwrite=overwrite)
    found = load_suite(name)
    write_suite(found, out)
    note(f"{found.name}: {len(found)} items written to {out}")


@suite.command("import", cls=MultiValueCommand)
def import_suite(
    file: Annotated[Path, typer.Argument(help="A .csv, .tsv, .parquet or .jsonl file.")],
    out: Annotated[Path, typer.Option(help="Output file: .jsonl, .csv, .tsv or .parquet.")],
    name: Annotated[str | None, typer.Option(help="Name of the suite.")] = None,
    title: Annotated[str, typer.Option(help="Title for the card.")] = "",
    licence: Annotated[str, typer.Option(help="Licence for the card.")] = "",
    language: Annotated[str | None, typer.Option(help="Language of the candidates: en.")] = None,
    source_language: Annotated[str | None, typer.Option(help="Language of the source: zh.")] = None,
    id: Annotated[str | None, typer.Option(help="Column with the id.")] = None,  # noqa: A002
    block: Annotated[str | None, typer.Option(help="Column with the block.")] = None,
    block_size: Annotated[int | None, typer.Option(help="Rows per block.")] = None,
    source: Annotated[str | None, typer.Option(help="Column with the source sentence.")] = None,
    context: Annotated[str | None, typer.Option(help="Column with the context.")] = None,
    candidates: Annotated[
        list[str] | None, typer.Option(help="Columns with the candidates.")
    ] = None,
    gold: Annotated[
        str | None, typer.Option(help="Column with the index of the right one.")
    ] = None,
    gold_start: Annotated[int | None, typer.Option(help="Index of the first candidate.")] = None,
    correct: Annotated[str | None, typer.Option(help="Column with the right candidate.")] = None,
    wrong: Annotated[list[str] | None, typer.Option(help="Columns with wrong candidates.")] = None,
    reference: Annotated[str | None, typer.Option(help="Column with a reference.")] = None,
    tags: Annotated[list[str] | None, typer.Option(help="Columns to use as tags.")] = None,
    overwrite: OverwriteFile = False,
) -> None:
    """Convert your own table into a suite.

    Columns such as 'good' and 'bad', '…correct' and '…wrong', or 'sentence_good' and
    'sentence_bad' (BLiMP) need no options.
    """
    from boxpen.catalog import read_suite, write_suite
    from boxpen.catalog.lint import lint
    from boxpen.files import check_free

    check_free(out, overwrite=overwrite)
    columns: dict[str, Any] = {
        "id": id, "block": block, "block_size": block_size, "source": source, "context": context,
        "candidates": candidates, "gold": gold, "gold_start": gold_start, "correct": correct,
        "wrong": wrong, "reference": reference, "tags": tags, "language": language,
        "source_language": source_language,
    }  # fmt: skip
    found = read_suite(file, **{k: v for k, v in columns.items() if v is not None and v != []})
    card = replace(
        found.card, title=title or found.card.title, licence=licence or found.card.licence
    )
    found = replace(found, name=name or found.name, card=card)
    write_suite(found, out)
    note(f"{found.name}: {len(found)} items, {len(found.blocks())} blocks, written to {out}")
    findings = lint(found)
    if findings:
        note(f"{len(findings)} lint finding(s): boxpen suite lint {out}")
