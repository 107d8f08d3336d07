"""boxpen run: put suites to models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from boxpen.cli.app import app
from boxpen.cli.output import note, print_json, print_runs, progress_bar, runs_object
from boxpen.cli.several import Several
from boxpen.errors import ModelError
from boxpen.items import Suite
from boxpen.scoring.policy import Bos, Context, Dtype, Eos, Nli, Norm, Pll, Ties

__all__ = ["QUICK", "run"]

QUICK = 300
"""How many items of starter are run when no suite is named: a first result within a minute."""


@app.command(cls=Several)
def run(
    suites: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SUITE",
            help="Suites: names (boxpen suite list), parts (cats.sm), or files.",
            show_default=f"{QUICK} items of starter",
        ),
    ] = None,
    suite: Annotated[
        list[str] | None, typer.Option(help="Suites, the same as SUITE.", show_default=False)
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="Models: a preset (boxpen model list), a model folder or GGUF file, "
            "hf:NAME_OR_PATH, gguf:FILE, ct2:DIR, elmo:DIR.",
            show_default="smollm2",
        ),
    ] = None,
    recipe: Annotated[
        str, typer.Option(help="How suites are put: sound, paper, or translate (through a prompt).")
    ] = "sound",
    norm: Annotated[Norm | None, typer.Option(help="What a score is divided by.")] = None,
    bos: Annotated[Bos | None, typer.Option(help="Whether a BOS token stands first.")] = None,
    eos: Annotated[Eos | None, typer.Option(help="Whether the EOS token is scored.")] = None,
    pll: Annotated[Pll | None, typer.Option(help="Pseudo-log-likelihood of masked models.")] = None,
    ties: Annotated[Ties | None, typer.Option(help="What a tie earns.")] = None,
    nli: Annotated[
        Nli | None, typer.Option(help="Labels that compete for an inference classifier.")
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            help="Labels of an inference classifier in the order of its outputs, if the "
            "checkpoint does not name them: entailment,neutral,contradiction."
        ),
    ] = None,
    dtype: Annotated[Dtype | None, typer.Option(help="Floating-point type of the weights.")] = None,
    context: Annotated[
        Context | None,
        typer.Option(help="What stands before: the item's own context, none, or another item's."),
    ] = None,
    max_length: Annotated[int | None, typer.Option(help="Longest sequence in tokens.")] = None,
    template: Annotated[
        str | None, typer.Option(help="A prompt of your own, with {source} or {context}.")
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(help="Draw a sample of N items: every set by its share, blocks kept whole."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = 0,
    full: Annotated[
        bool, typer.Option("--full", help="All of starter, not a quick sample of it.")
    ] = False,
    cache: Annotated[
        str | None,
        typer.Option(
            help="File of the score cache; :memory: for none.",
            show_default="in the user's cache folder",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Where run directories go.")] = Path("runs"),
    translate: Annotated[
        bool, typer.Option("--bleu/--no-bleu", help="Whether translation models also translate.")
    ] = True,
    check_languages: Annotated[
        bool,
        typer.Option(
            "--check-languages/--any-language", help="Leave out what a model does not read."
        ),
    ] = True,
    device: Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1, mps.")] = None,
    batch_size: Annotated[int | None, typer.Option(help="Most sequences of a batch.")] = None,
    token_budget: Annotated[
        int | None,
        typer.Option(help="Most tokens of a batch.", show_default="chosen from the memory"),
    ] = None,
    deterministic: Annotated[
        bool, typer.Option("--deterministic", help="The same to the last bit every time; slower.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Evaluate models on suites: which answers do they prefer?

    Without options: the model 'smollm2' on a quick sample of the suite 'starter'.
    """
    from boxpen.catalog.files import FORMATS
    from boxpen.catalog.registry import suite_names
    from boxpen.evaluate import run_plans
    from boxpen.folders import default_cache
    from boxpen.models.resolve import resolve_model, shadowed_by_preset
    from boxpen.plans import plan
    from boxpen.rundir import check_writable
    from boxpen.scoring.cache import ScoreCache

    policy: dict[str, Any] = {
        "norm": norm, "bos": bos, "eos": eos, "pll": pll, "ties": ties, "nli": nli,
        "dtype": dtype, "max_length": max_length, "context": context,
    }  # fmt: skip
    names = [*(suites or ()), *(suite or ())]
    quick = not names
    if quick and limit is None and not full:
        limit = QUICK
    plans = []
    for name in dict.fromkeys(model or ["smollm2"]):
        if shadowed := shadowed_by_preset(name):
            note(shadowed)
        try:
            resolved = resolve_model(
                name,
                dtype=dtype or "auto",
                device=device,
                batch_size=batch_size,
                token_budget=token_budget,
                deterministic=deterministic or None,
                labels=labels,
            )
        except ModelError:
            if name in suite_names(parts=True) or Path(name).suffix.lower() in FORMATS:
                raise ModelError(
                    f"model '{name}' is a suite; name suites before --model, or with --suite"
                ) from None
            raise
        plans += [
            plan(
                resolved,
                s,
                recipe=recipe,
                template=template,
                limit=limit,
                seed=seed,
                check_languages=check_languages,
                **policy,
            )
            for s in dict.fromkeys(names or ["starter"])
        ]
    # Only now is anything written: what cannot be done leaves nothing behind.
    check_writable(out)
    with ScoreCache(cache or default_cache()) as scores, progress_bar() as progress:
        runs = run_plans(plans, scores, translate=translate, progress=progress)
        places = [r.save(out) for r in runs]
    if json:
        print_json(runs_object(runs, places))
        return
    print_runs(runs, places)
    if quick:
        note(_next_steps(plans[0].suite, named=model is not None))


def _next_steps(suite: Suite, *, named: bool) -> str:
    """Return what to try after a first result."""
    steps = []
    if suite.sample:
        whole = suite.sample.partition("/")[2].partition("@")[0]
        steps.append(f"boxpen run --full (all {whole} items)")
    if not named:
        steps.append("boxpen run --model ./checkpoint (your own model)")
    steps.append("boxpen report runs --html report.html (every item)")
    return "Next: " + "\n      ".join(steps)
