"""boxpen run: evaluate models on suites."""

from __future__ import annotations

import shlex
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from boxpen.cli.app import app
from boxpen.cli.command import MultiValueCommand, command
from boxpen.cli.evaluate.matrix import estimate_matrix, executor_for, run_matrix
from boxpen.cli.evaluate.workers import Workers
from boxpen.cli.options import Json, NliOption, NormOption, TiesOption, TrustRemoteCode
from boxpen.cli.output import note, print_json, print_runs, progress_bar, runs_object
from boxpen.items import Suite
from boxpen.sampling import QUICK
from boxpen.scoring.policy import Bos, Context, Dtype, Eos, Pll, Precision

if TYPE_CHECKING:
    from rich.console import RenderableType

    from boxpen.matrix.settings import RunSettings
    from boxpen.runs.run import Run

__all__ = ["QUICK", "run"]

_FIRST = (60, 140, 220)  # of the quick sample, for a first number and a first table in seconds


@dataclass(frozen=True)
class Scoring:
    """How to score answers."""

    panel: ClassVar[str] = "Scoring"

    norm: NormOption = None
    bos: Annotated[Bos | None, typer.Option(help="Whether to prepend a BOS token.")] = None
    eos: Annotated[Eos | None, typer.Option(help="Whether to score the EOS token.")] = None
    pll: Annotated[
        Pll | None, typer.Option(help="Pseudo-log-likelihood variant for masked models.")
    ] = None
    ties: TiesOption = None
    nli: NliOption = None
    dtype: Annotated[Dtype | None, typer.Option(help="Floating-point type of the weights.")] = None
    precision: Annotated[
        Precision | None,
        typer.Option(
            help="fast: score in bfloat16 where that is faster, and near ties again in float32."
        ),
    ] = None
    max_length: Annotated[int | None, typer.Option(help="Maximum sequence length in tokens.")] = (
        None
    )
    context: Annotated[
        Context | None,
        typer.Option(help="Context to prepend: the item's own, none, or another item's."),
    ] = None


@dataclass(frozen=True)
class Loading:
    """How to load and run models."""

    panel: ClassVar[str] = "Speed and memory"

    device: Annotated[
        str | None, typer.Option(help="cpu, cuda, cuda:1 or mps.", metavar="NAME")
    ] = None
    batch_size: Annotated[int | None, typer.Option(help="Maximum sequences per batch.")] = None
    token_budget: Annotated[
        int | None,
        typer.Option(help="Maximum tokens per batch.", show_default="based on free memory"),
    ] = None
    deterministic: Annotated[
        bool,
        typer.Option("--deterministic", help="Make results bit-identical across runs; slower."),
    ] = False


@command(app, "run", cls=MultiValueCommand, panel="Evaluate")
def run(
    suites: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SUITE",
            help="Suites: names (boxpen suite list), parts (cats.sm) or files.",
            show_default=f"{QUICK} items of starter",
        ),
    ] = None,
    suite: Annotated[
        list[str] | None,
        typer.Option(metavar="SUITE...", help="Suites, same as SUITE.", show_default=False),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODEL...",
            help="Models: a preset (boxpen model list), a model folder or GGUF file, "
            "hf:NAME_OR_PATH, gguf:FILE, ct2:DIR, elmo:DIR, api:URL#MODEL, openai:MODEL, "
            "translator:NAME.",
            show_default="smollm2",
        ),
    ] = None,
    recipe: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME...",
            help="How to present items: sound, paper, translate (with a prompt), ask, ask-letters, "
            "or generate (judge free translations).",
            show_default="sound",
        ),
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="TOML file with models × suites × recipes; options override it.",
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Only estimate the work, timed on a sample."),
    ] = False,
    template: Annotated[
        str | None, typer.Option(help="Custom prompt with {source} or {context}.")
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            help="Labels of an inference classifier in output order, if the checkpoint does not "
            "name them: entailment,neutral,contradiction."
        ),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="With --recipe generate: language model that judges translations.",
            show_default="smollm2",
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(help="Sample N items, stratified by set; blocks stay whole."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Random seed for sampling.", show_default="0")
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Run all of starter, not a quick sample.")
    ] = False,
    bleu: Annotated[
        bool | None,
        typer.Option(
            "--bleu/--no-bleu",
            help="Also translate; chat models behind an API only do so with --bleu.",
            show_default="translation models only",
        ),
    ] = None,
    check_languages: Annotated[
        bool | None,
        typer.Option(
            "--check-languages/--any-language",
            help="Skip languages the model cannot read.",
            show_default="check-languages",
        ),
    ] = None,
    cache: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Score cache (:memory: for none).",
            show_default="in the user's cache folder",
        ),
    ] = None,
    max_cost: Annotated[
        float | None,
        typer.Option(
            min=0,
            metavar="AMOUNT",
            help="Stop before the cost of models behind an API exceeds this.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for run directories.", metavar="FOLDER", show_default="runs"),
    ] = None,
    trust_remote_code: TrustRemoteCode = False,  # noqa: ARG001 (see TrustRemoteCode)
    json: Json = False,
    *,
    scoring: Scoring,
    loading: Loading,
    workers: Workers,
) -> None:
    """Evaluate models on suites.

    Without options: the model 'smollm2' on a quick sample of the suite 'starter'.
    """
    from boxpen.matrix.settings import RunSettings

    given: dict[str, Any] = {
        "suite": (*(suites or ()), *(suite or ())), "model": tuple(model or ()),
        "recipe": tuple(recipe or ()), "template": template, "labels": labels, "judge": judge,
        "limit": limit, "seed": seed, "full": full or None, "bleu": bleu,
        "check_languages": check_languages, "cache": cache, "max_cost": max_cost, "out": out,
        **asdict(scoring), **asdict(loading), "deterministic": loading.deterministic or None,
    }  # fmt: skip
    # What was not given keeps its default, or what the plan file says.
    given = {name: value for name, value in given.items() if value is not None and value != ()}
    if plan is not None:
        from boxpen.matrix.plan_file import read_plan

        matrices = read_plan(plan, given)
    else:
        matrices = [RunSettings(**given)]
    workers.check()
    if dry_run:
        estimate_matrix(matrices, json=json)
    elif plan is not None or executor_for(matrices, workers) is not None:
        if not run_matrix(matrices, workers, whole=plan is not None, json=json):
            raise typer.Exit(1)
    else:
        _run(matrices[0], model or [], json=json)


def _run(settings: RunSettings, models: list[str], *, json: bool) -> None:
    """Run in this process, all suites of a model in one go, and print every run."""
    from boxpen.evaluate import run_plans
    from boxpen.folders import default_cache
    from boxpen.report.terminal import run_table
    from boxpen.runs.directory import check_writable
    from boxpen.scoring.cache import ScoreCache

    plans = settings.plans(note)
    # Nothing is written before this point, so a failure above leaves nothing behind.
    check_writable(settings.out)
    so_far: list[RenderableType] = []
    with (
        ScoreCache(settings.cache or default_cache()) as scores,
        progress_bar(above=lambda: so_far[-1] if so_far else None) as progress,
    ):
        # Smaller samples are parts of larger ones.
        shown = _FIRST if sys.stderr.isatty() else _FIRST[:1]
        for size in shown if settings.quick and plans[0].judged else ():
            part = settings.smaller(plans[0], size)
            run = run_plans([part], scores, translate=False, progress=progress)[0]
            if not so_far:
                note(_first_number(run))
            so_far.append(run_table(run))
        runs = run_plans(plans, scores, progress=progress)
        places = [r.save(settings.out) for r in runs]
    if json:
        print_json(runs_object(runs, places))
        return
    print_runs(runs, places)
    if not settings.suite:
        note(_next_steps(plans[0].suite, models, settings.out))


def _first_number(run: Run) -> str:
    """Return the accuracy on the first items, to show while the others are scored."""
    row = next(row for row in run.summary() if row.metric == "accuracy")
    return f"first {row.n} items: accuracy {row.value:.2f} [{row.low:.2f}, {row.high:.2f}]"


def _next_steps(suite: Suite, models: list[str], out: Path) -> str:
    """Suggest what to try after a first result."""
    steps = []
    if suite.sample:
        whole = suite.sample.partition("/")[2].partition("@")[0]
        same = f" --model {shlex.join(models)}" if models else ""
        steps.append(f"boxpen run --full{same} (all {whole} items)")
    if not models:
        steps.append("boxpen run --model ./checkpoint (your own model)")
    steps.append(f"boxpen report {shlex.quote(str(out))} --html report.html (every item)")
    return "Next: " + "\n      ".join(steps)
