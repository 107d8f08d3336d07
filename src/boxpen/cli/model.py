"""boxpen model: list, show, probe, download and convert models."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from boxpen.cli.app import app
from boxpen.cli.command import command, group
from boxpen.cli.options import Json, Overwrite
from boxpen.cli.output import console, note, print_json, print_lines
from boxpen.printable import printable
from boxpen.report.plain_table import plain_table

__all__ = ["model"]

model = group(app, "model", "List, show, check, download and convert models.", "Suites")

_OTHERS = (
    "a model folder or GGUF file, hf:NAME_OR_PATH, gguf:FILE, ct2:DIR, elmo:DIR, api:URL#MODEL, "
    "openai:MODEL, translator:NAME"
)

Name = Annotated[
    str, typer.Argument(metavar="MODEL", help=f"A preset (boxpen model list), {_OTHERS}.")
]


@command(model, "list")
def list_models(json: Json = False) -> None:
    """List the model presets."""
    from boxpen.models.loading.presets import PRESETS, TRIED

    if json:
        print_json([asdict(p) | {"tried": TRIED[p.tried]} for p in PRESETS.values()])
        return

    table = plain_table(gap=1)
    for column in ("name", "kind", "reads", "tried", "checkpoint"):
        table.add_column(column, no_wrap=True)
    for p in PRESETS.values():
        shown = f"{p.spec}\n  {p.note}"
        table.add_row(p.name, p.kind, " ".join(p.languages), p.tried, shown)
    screen = console()
    screen.print(table)
    screen.print()
    print_lines(
        screen,
        [
            f"Any other model: {', '.join([_OTHERS, *_plugin_models()])}",
            "tried: with real weights, or only with a tiny, randomly initialised model of the "
            "same architecture (as for elmo:)",
        ],
    )


def _plugin_models() -> list[str]:
    from boxpen.plugins import MODELS

    return [f"{name}:NAME" for name in MODELS.usable_plugins()]


@command(model, "show")
def show_model(
    name: Name,
    labels: Annotated[str | None, typer.Option(help="Classifier labels, in output order.")] = None,
    json: Json = False,
) -> None:
    """Show a model's kind, languages and scoring settings."""
    from boxpen.models.loading.presets import TRIED, tried
    from boxpen.models.resolve import resolve_model, shadowed_by_preset
    from boxpen.scoring.labels import names_of
    from boxpen.scoring.policy import ScoringPolicy

    if shadowed := shadowed_by_preset(name):
        note(shadowed)
    found = resolve_model(name, labels=labels)
    on = tried(name)
    facts = {
        "name": found.name,
        "kind": found.kind,
        "fingerprint": found.fingerprint,
        "dtype": found.dtype,
        "languages": sorted(found.languages) if found.languages else None,
        "translates": found.can_translate(),
        **({"tried": TRIED[on]} if on else {}),
        **({"labels": list(names_of(found.labels))} if found.labels else {}),
        **found.resolve_policy(ScoringPolicy()).as_dict(),
    }
    if json:
        print_json(facts)
        return
    for key, value in facts.items():
        shown = ", ".join(value) if isinstance(value, list) else value
        print(f"{key:12} {'unknown' if shown is None else shown}")


@command(model, "get")
def get_model(name: Name) -> None:
    """Download a model for later use."""
    from boxpen.models.loading.embedded import smollm2_path
    from boxpen.models.resolve import resolve_model

    if name == "smollm2":
        print(smollm2_path())
        return
    resolve_model(name).load()


@command(model, "export")
def export_model(
    model: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Folder of a trained translation model.")
    ],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for the CTranslate2 model.")],
    quantization: Annotated[
        str | None, typer.Option(metavar="TYPE", help="int8, int8_float16, float16 or bfloat16.")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Convert a trained Transformer to CTranslate2."""
    from boxpen.nmt.export import export_ct2

    export_ct2(model, out, quantization=quantization, overwrite=overwrite)
    note(f"written; use it as ct2:{out}")


@command(model, "probe")
def probe_model(
    name: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="api:URL#MODEL, api:FILE.toml, openai:MODEL or translator:NAME.",
        ),
    ],
    json: Json = False,
) -> None:
    """Check what a model behind an API can do."""
    from boxpen.errors import ModelError
    from boxpen.models.remote.client import Client
    from boxpen.models.remote.probe import probe
    from boxpen.models.remote.settings import settings_of

    scheme = name.partition(":")[0]
    if scheme == "translator":
        from boxpen.models.remote.translators.model import try_translator

        _print_facts(try_translator(name), json=json)
        return
    if scheme not in ("api", "openai"):
        raise ModelError(f"model '{name}' is not behind an API, expected api:URL#MODEL")
    settings = settings_of(name)
    findings = probe(Client(name, settings), settings, chat=True)
    _print_facts(findings.lines(), json=json)
    if findings.access == "none":
        raise ModelError(f"model '{name}' cannot be used: {findings.refusal}")


def _print_facts(facts: dict[str, str], *, json: bool) -> None:
    if json:
        print_json(facts)
        return
    for key, value in facts.items():
        print(f"{key:16} {printable(value)}")
