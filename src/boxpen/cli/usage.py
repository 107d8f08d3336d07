"""Errors of usage, reworded: which option or value was meant."""

from __future__ import annotations

import difflib
import re
from typing import Any

__all__ = ["clarify"]

_ELSEWHERE = {
    "--suite": "task tasks dataset datasets data benchmark benchmarks",
    "--model": "models model-args model-name model-path hf-model pretrained checkpoint",
    "--out": "output output-path output-dir out-dir outdir log-dir results-dir",
    "--limit": "samples max-samples num-samples num-examples max-examples",
    "--batch-size": "batch bs batchsize",
    "--max-length": "max-seq-length max-seq-len max-len max-tokens",
    "--dtype": "precision torch-dtype",
    "--device": "gpu devices",
    "--cache": "use-cache cache-dir",
    "--template": "prompt prompt-template",
}
"""Options, and what lm-evaluation-harness, minicons, inspect and others call them."""
_ALIASES = {f"--{alias}": name for name, known in _ELSEWHERE.items() for alias in known.split()}
_DTYPES = {
    "float32": ("fp32", "f32", "float", "full"),
    "float16": ("fp16", "f16", "half"),
    "bfloat16": ("bf16", "bfp16"),
}
_VALUES = {alias: name for name, known in _DTYPES.items() for alias in known}


def clarify(error: Any) -> None:
    """Reword what Typer says of an unknown option, a choice or a number, in place."""
    if hasattr(error, "possibilities"):
        close = _options(error.option_name, error.ctx)
        error.possibilities = None
        if close:
            error.message += f". Did you mean {' or '.join(close)}?"
        return
    choice = re.fullmatch(r"(?:Value error, )?'(.*)' is not one of (.*?)\.?", error.message, re.S)
    if choice:
        error.message = _choice(choice[1], re.findall(r"'([^']*)'", choice[2]))
        return
    # Of newer Typers: pydantic says what was wrong, but not with what.
    for found in getattr(error.__cause__, "errors", list)()[:1]:
        bounds = {"greater_than_equal": ("ge", "more"), "less_than_equal": ("le", "less")}
        if found["type"] in ("int_parsing", "int_from_float", "float_parsing"):
            what = "a number" if found["type"] == "float_parsing" else "a whole number"
            error.message = f"{found['input']!r} is not {what}"
        elif found["type"] in bounds:
            key, way = bounds[found["type"]]
            error.message = f"{found['input']!r} is not {found['ctx'][key]} or {way}"


def _options(name: str, ctx: Any) -> list[str]:
    params = ctx.command.params if ctx is not None else ()
    known = [o for p in params for o in (*p.opts, *p.secondary_opts) if o.startswith("--")]
    dashed = name.lower().replace("_", "-")
    for meant in (dashed, _ALIASES.get(dashed, dashed)):
        if meant in known:
            return [meant]
    return difflib.get_close_matches(dashed, known, n=2, cutoff=0.75)


def _choice(value: str, choices: list[str]) -> str:
    said = f"{value!r} is not one of {', '.join(choices)}"
    meant = _VALUES.get(value.lower())
    close = (
        [meant]
        if meant in choices
        else difflib.get_close_matches(value.lower(), choices, n=1, cutoff=0.6)
    )
    return said + (f"; did you mean {close[0]}?" if close else "")
