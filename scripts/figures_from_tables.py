"""Draw the figures of docs/results whose numbers are in the tables of their pages.

figures_from_tables.py              draw all of them
figures_from_tables.py NAME [NAME …]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence

from dots import Row, dots
from language_figures import FIGURES as LANGUAGE
from page_tables import columns, number, rows_of, tables
from results import DOCS, PUBLISHED

from boxpen.analysis.curve import Point
from boxpen.metrics.intervals import Estimate
from boxpen.report.curve import curve_svg
from boxpen.report.training.plot import training_svg

PAPERS = ("thumt (paper)", "CADec (paper)", "bert-nmt (paper)")


def main() -> None:
    unknown = set(sys.argv[1:]) - set(FIGURES)
    if unknown:
        sys.exit(f"no figure '{sorted(unknown)[0]}'; expected one of {', '.join(FIGURES)}")
    for name in sys.argv[1:] or FIGURES:
        (DOCS / "figures" / f"{name}.svg").write_text(FIGURES[name](), "utf-8")


def judged(topic: str, key: str, parts: Sequence[str], models: Sequence[str]) -> str:
    """Draw what the class judge calls right, beside the systems of the paper."""
    right = tables(topic, key)[1]
    rows = [
        Row(part, columns(right[part], models), crosses={p: float(right[part][p]) for p in PAPERS})
        for part in parts
    ]
    title = "translated right, by the class judge"
    return dots(title, rows, (0, 100), "% right [95 %]", "the paper's three systems")


def discourse() -> str:
    models = ("sentence-more", "concat", "thumt", "cadec", "bert-fused")
    return judged("discourse", "judge", ("pronoun", "connective", "ellipsis"), models)


def said_instead() -> str:
    parts = list(tables("said-instead", "judge")[1])
    parts = [part for part in parts if part not in ("pronoun", "connective")]
    return judged("said-instead", "judge", parts, ("sentence-more", "concat"))


def discourse_zh_en() -> str:
    """Draw, by class, how often the context is needed and how often a model is right without it."""
    run, read = (tables("discourse-zh-en", key)[0] for key in ("run", "read"))
    rows = [
        Row(
            name.strip("*"),
            {
                "OPUS-MT right": number(run[name]["accuracy"]),
                "needs its context": number(read[name]["needs its context"]),
            },
            float(run[name]["chance"]),
        )
        for name in run
        if name != "all"
    ]
    return dots("Chinese to English by class", rows, (0, 1), "share of items [95 %]")


def cadec() -> str:
    """Draw the losses of the recipes, minus the base's, over the steps."""
    logs = {}
    for name, row in tables("cadec", "curves")[0].items():
        curve = [row["at the start"], *row["validation loss afterwards"].split(" → ")]
        each = int(row["steps"]) // (len(curve) - 1)
        logs[name] = [
            {"step": each * turn, "valid_loss": number(cell)[0]} for turn, cell in enumerate(curve)
        ]
    return training_svg(logs, "valid_loss").replace(
        "validation loss", "validation loss minus the base's"
    )


def commonmt_accuracy(topic: str, systems: Mapping[str, str], title: str) -> str:
    """Draw accuracy by set, and what the paper's two models have."""
    found = tables(topic, "commonmt")[0]
    rows = [
        Row(
            part,
            {label: number(found[system][part]) for system, label in systems.items()},
            0.5,
            {name: float(found[name][part]) for name, metric in PUBLISHED if metric == "accuracy"},
        )
        for part in ("LA", "CL-SA", "CT-SA", "all")
    ]
    return dots(title, rows, (0.45, 0.7), "accuracy [95 %]", "RNNSearch, Transformer (paper)")


def mt() -> str:
    systems = {f"OPUS-MT, {recipe}": f"OPUS-MT, recipe {recipe}" for recipe in ("sound", "paper")}
    return commonmt_accuracy("mt", systems, "OPUS-MT on CommonMT")


def nmt() -> str:
    systems = {
        "rnnsearch, paper": "RNNSearch, trained here",
        "transformer, paper": "Transformer, trained here",
    }
    return commonmt_accuracy("nmt", systems, "Trained models on CommonMT")


def nmt_scale() -> str:
    """Draw accuracy on the sets of CommonMT against pairs of training data."""
    found = tables("nmt", "scale")[0].values()
    drawn = {
        part: [Point(number(row["pairs"])[0], Estimate(*number(row[part]), 0)) for row in found]
        for part in ("LA", "CL-SA", "CT-SA")
    }
    return curve_svg(drawn, metric="accuracy", across="pairs of training data")


def seeds() -> str:
    """Draw the differences that the papers report, with intervals over seeds and items."""
    rows = []
    for pairs, row in tables("seeds", "nmt-seeds-gaps")[0].items():
        if row["recipe"] == "sound":
            gap = number(row["Transformer minus RNNSearch, seeds and items"])
            crosses = {"CommonMT": 0.046} if pairs == "1,788,372" else {}
            rows.append(Row(f"{pairs} pairs", {"Transformer minus RNNSearch": gap}, 0, crosses))
    for size, row in tables("seeds", "kinds-full-gaps")[0].items():
        rows.append(Row(f"{size} sentences", {"masked minus causal": number(row["all"])}, 0))
    for kind, row in tables("seeds", "kinds-full-data")[0].items():
        rows.append(Row(f"{kind} model", {"largest text minus smallest": number(row["all"])}, 0))
    return dots(
        "differences over seeds", rows, (-0.03, 0.06), "difference of accuracy [95 %]", "the paper"
    )


def readings() -> str:
    """Draw the agreement of the judge with the readers."""
    both = "both readers, where they agree"
    rows = []
    for row in [r for r in rows_of("readings", "agreement")[0] if r["against"] == both]:
        part = (
            row["translations"].replace("*", "").replace("both halves, now development", "all 320")
        )
        rows.append(Row(part, {row["rule"]: number(row["κ [95 %]"])}, 0.8))
    return dots("agreement with readers", rows, (0.1, 1), "κ [95 %]; dashed: the goal")


def commonmt() -> str:
    """Draw Figure 7: accuracy by type of knowledge, on all items and on decidable ones."""
    every, some = (tables("commonmt", key)[0] for key in ("figure-7", "figure-7-decidable"))
    rows = [
        Row(
            kind,
            {
                name: number(table[kind]["OPUS-MT, paper"])
                for name, table in (("all items", every), ("decidable items", some))
            },
            0.5,
        )
        for kind in every
        if not kind.startswith("(")
    ]
    title = "Accuracy of OPUS-MT by knowledge type"
    return dots(title, rows, (0.35, 0.8), "accuracy, recipe paper [95 %]")


FIGURES: dict[str, Callable[[], str]] = {
    "discourse": discourse,
    "said-instead": said_instead,
    "discourse-zh-en": discourse_zh_en,
    "cadec": cadec,
    "mt": mt,
    "nmt": nmt,
    "nmt-scale": nmt_scale,
    "seeds": seeds,
    "readings": readings,
    "commonmt-knowledge": commonmt,
    **LANGUAGE,
}


if __name__ == "__main__":
    main()
