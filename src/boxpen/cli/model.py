"""boxpen model: list, show, probe, download and convert models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from boxpen.cli.app import app
from boxpen.cli.command import command, group
from boxpen.cli.options import Json, Overwrite, TrustRemoteCode
from boxpen.cli.output import console, note, print_json, print_lines
from boxpen.printable import printable
from boxpen.report.plain_table import plain_table

if TYPE_CHECKING:
    from boxpen.models.loading.presets import Preset

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
    from boxpen.models.loading.presets import PRESETS

    if json:
        print_json([_preset_object(p) for p in PRESETS.values()])
        return

    table = plain_table(gap=1)
    for column in ("name", "kind", "reads", "tried", "checkpoint"):
        table.add_column(column, no_wrap=True)
    for p in PRESETS.values():
        shown = f"{p.spec}\n  {p.note}"
        table.add_row(p.name, p.kind, " ".join(p.languages), p.trial.on, shown)
    screen = console()
    screen.print(table)
    screen.print()
    print_lines(
        screen,
        [
            f"Any other model: {', '.join([_OTHERS, *_plugin_models()])}",
            "tried: with real weights, with those of another model of the same architecture (kin), "
            "or only with a tiny, randomly initialised one (random, as for elmo:); "
            "boxpen model show names the test",
        ],
    )


def _preset_object(preset: Preset) -> dict[str, object]:
    from boxpen.models.loading.presets import TRIED

    facts = asdict(preset)
    del facts["trial"]
    return facts | {"tried": TRIED[preset.trial.on], "test": str(preset.trial)}


def _plugin_models() -> list[str]:
    from boxpen.plugins import MODELS

    return [f"{name}:NAME" for name in MODELS.usable_plugins()]


@command(model, "show")
def show_model(
    name: Name,
    labels: Annotated[str | None, typer.Option(help="Classifier labels, in output order.")] = None,
    trust_remote_code: TrustRemoteCode = False,  # noqa: ARG001 (see TrustRemoteCode)
    json: Json = False,
) -> None:
    """Show a model's kind, languages and scoring settings."""
    from boxpen.errors import ModelError
    from boxpen.models.loading.presets import PRESETS, TRIED, trial
    from boxpen.models.resolve import resolve_model, shadowed_by_preset
    from boxpen.scoring.labels import names_of
    from boxpen.scoring.policy import ScoringPolicy

    if shadowed := shadowed_by_preset(name):
        note(shadowed)
    run_on = trial(name)
    tried = {"tried": TRIED[run_on.on], "test": str(run_on)} if run_on else {}
    try:
        found = resolve_model(name, labels=labels)
    except ModelError as error:
        if (preset := PRESETS.get(name)) is None:
            raise
        note(f"only what boxpen knows of {name}, because {error}")
        _print_facts(
            {
                "name": name,
                "checkpoint": preset.spec,
                "kind": preset.kind,
                "languages": sorted(preset.languages),
                **tried,
            },
            json=json,
        )
        return
    facts = {
        "name": found.name,
        "kind": found.kind,
        "fingerprint": found.fingerprint,
        "dtype": found.dtype,
        "languages": sorted(found.languages) if found.languages else None,
        "translates": found.can_translate(),
        **tried,
        **({"labels": list(names_of(found.labels))} if found.labels else {}),
        **found.resolve_policy(ScoringPolicy()).as_dict(),
    }
    _print_facts(facts, json=json)


@command(model, "get")
def get_model(
    name: Name,
    trust_remote_code: TrustRemoteCode = False,  # noqa: ARG001 (see TrustRemoteCode)
) -> None:
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

        _print_facts(try_translator(name), json=json, width=16)
        return
    if scheme not in ("api", "openai"):
        raise ModelError(f"model '{name}' is not behind an API, expected api:URL#MODEL")
    settings = settings_of(name)
    findings = probe(Client(name, settings), settings, chat=True)
    _print_facts(findings.lines(), json=json, width=16)
    if findings.access == "none":
        raise ModelError(f"model '{name}' cannot be used: {findings.refusal}")


def _print_facts(facts: Mapping[str, Any], *, json: bool, width: int = 12) -> None:
    if json:
        print_json(facts)
        return
    for key, value in facts.items():
        shown = ", ".join(value) if isinstance(value, list) else value
        print(f"{key:{width}} {'unknown' if shown is None else printable(str(shown))}")
