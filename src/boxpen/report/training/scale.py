"""The effect of more training data, as a table for a terminal of 80 columns and as a plot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from boxpen.analysis.curve import Point
from boxpen.metrics.intervals import Estimate
from boxpen.report.curve import curve_svg
from boxpen.report.numbers import interval
from boxpen.report.plain_table import plain_table

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from boxpen.nmt.scale import Measure, ScalePoint, SuiteResult

__all__ = ["scale_notes", "scale_svg", "scale_table"]


def scale_table(points: Sequence[ScalePoint]) -> RenderableType:
    """Return the points: a line for each set of each suite, or for each training without any."""
    if any(point["suites"] for point in points):
        return _of_suites(points)
    return _of_trainings(points)


def scale_notes(points: Sequence[ScalePoint]) -> list[str]:
    """Return how the numbers of the table were made: every signature, and of BLEU each way once."""
    made = _suites_made(points) if any(point["suites"] for point in points) else _looks_made(points)
    return list(dict.fromkeys(made))


def scale_svg(points: Sequence[ScalePoint]) -> str:
    """Return the accuracies against pairs of sentences as an SVG; empty if there are none."""
    drawn = _curves(points)
    return curve_svg(drawn, metric="accuracy", across="pairs of sentences") if drawn else ""


def _curves(points: Sequence[ScalePoint]) -> dict[str, list[Point]]:
    """Return the accuracy of every set, or of a suite that has none, against pairs."""
    out: dict[str, list[Point]] = {}
    for point in points:
        for result in point["suites"]:
            suite = result["suite"]
            before = f"{suite}: " if len(point["suites"]) > 1 else ""
            named = {f"{before}{name}": measure for name, measure in result["sets"].items()}
            if not named and result["accuracy"] is not None:
                named = {suite: result["accuracy"]}
            for name, measure in named.items():
                out.setdefault(name, []).append(Point(point["pairs"], Estimate(**measure)))
    return out


def _suites_made(points: Sequence[ScalePoint]) -> Iterator[str]:
    from boxpen.report.terminal import bleu_note

    results = [result for point in points for result in point["suites"]]
    yield from (f"signature  {result['signature']}" for result in results)
    for result in results:
        if result["bleu_signature"] is not None:
            yield bleu_note(result["bleu_signature"], result["signature"])


def _looks_made(points: Sequence[ScalePoint]) -> Iterator[str]:
    for point in points:
        if point["valid_bleu_signature"] is not None:
            yield f"BLEU: {point['valid_bleu_signature']}"


def _of_suites(points: Sequence[ScalePoint]) -> Table:
    from rich.text import Text

    table = _empty("share", "pairs", "suite", "n", "accuracy [95 %]", "BLEU [95 %]")
    for point in points:
        first = [f"{point['share']:g}", f"{point['pairs']:,}"]
        for result in point["suites"]:
            for name, measure, bleu in _lines(result):
                n = measure or bleu
                table.add_row(
                    *first,
                    Text(name),
                    f"{n['n']:,}" if n else "",
                    _shown(measure, 3),
                    _shown(bleu, 1),
                    style="bold" if name == result["suite"] else "",
                )
                first = ["", ""]
    return table


def _of_trainings(points: Sequence[ScalePoint]) -> Table:
    table = _empty("share", "pairs", "target tokens", "steps", "validation loss", "BLEU")
    for point in points:
        bleu = point["valid_bleu"]
        table.add_row(
            f"{point['share']:g}",
            f"{point['pairs']:,}",
            f"{point['target_tokens']:,}",
            f"{point['steps']:,}",
            f"{point['valid_loss']:.4f}",
            "" if bleu is None else f"{bleu:.2f}",
        )
    return table


def _lines(result: SuiteResult) -> list[tuple[str, Measure | None, Measure | None]]:
    """Return the suite as a whole, then its sets, whose BLEU is not kept."""
    sets = [(f"  {name}", measure, None) for name, measure in result["sets"].items()]
    return [(result["suite"], result["accuracy"], result["bleu"]), *sets]


def _empty(*columns: str) -> Table:
    table = plain_table()
    for column in columns:
        if column == "suite":
            table.add_column(column, overflow="fold")
        else:
            table.add_column(column, justify="right", no_wrap=True)
    return table


def _shown(measure: Measure | None, digits: int) -> str:
    if measure is None:
        return ""
    return interval(measure["value"], measure["low"], measure["high"], digits)
