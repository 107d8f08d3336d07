"""Train causal, masked and bidirectional models on the same text, with seeds; compare them.

    kinds.py prepare                build/kinds: nested samples of text, one per seed
    kinds.py train NAME [NAME …]    build/kinds/NAME, and its runs; wants a GPU
    kinds.py tables                 docs/results/seeds.md

A name is a kind (causal, masked, bilm), how many sentences there are to learn from, and a seed:
masked-500000@2. The seed draws the sentences, the weights and their order. scripts/kinds.toml has
the settings. ``--scale small`` and ``--scale longer`` do it on one CPU core, in build/kinds-small
and build/kinds-longer; the tables of ``longer`` are among those of ``small``. ``train`` without
names trains all, seed by seed. Needs ``BOXPEN_MIRROR``.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import sys
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import sense
from results import shown, write

import boxpen
from boxpen.analysis.slices import cut
from boxpen.errors import BoxpenError
from boxpen.lm.job import train_lm
from boxpen.lm.options import Options
from boxpen.metrics.choice import accuracy
from boxpen.metrics.intervals import Z95, Estimate
from boxpen.metrics.seeds import accuracy_over_seeds, gap_over_seeds, over_seeds
from boxpen.runs.directory import run_directories
from boxpen.scoring.verdicts import Scored, Verdict

ROOT = Path(__file__).parents[1]
PAGE = "seeds"
KINDS = ("causal", "masked", "bilm")
SCALES = ("small", "longer", "full")
SETS = {
    "senmaking": ("sen-making",), "cats": ("sm", "wsc", "ca"), "comve": ("A",),
}  # fmt: skip
"""Where single words decide: what is put to the models."""
LOOKS = 4
ELMO = 0.694
"""Sense making of ELMo (Wang et al. 2019, Table 1)."""
EARLIER = {"bilm-tiny": 0.25, "bilm": 1.0}
"""Trainings of docs/results/sense.md, and the share of its text that each has read."""
WORDS = 12.9e6
"""Of that text."""


class Name(NamedTuple):
    """What one training is."""

    kind: str
    sentences: int
    seed: int

    def __str__(self) -> str:
        return f"{self.kind}-{self.sentences}-seed{self.seed}"


class Kinds:
    """The trainings of one scale."""

    def __init__(self, scale: str = "full") -> None:
        self.scale = scale
        self.folder = ROOT / "build" / ("kinds" if scale == "full" else f"kinds-{scale}")
        config = tomllib.loads((ROOT / "scripts" / "kinds.toml").read_text("utf-8"))
        self.exclude: list[str] = config["exclude"]
        self.seeds: list[int] = config["seeds"]
        self.held_out: int = config["held_out"]
        self.settings: dict[str, Any] = config[self.scale]

    @property
    def names(self) -> list[Name]:
        """All trainings, seed by seed: after the second there is something to compare."""
        return [
            Name(kind, size, seed)
            for seed in self.seeds
            for size in self.settings["sentences"]
            for kind in self.settings["models"]
        ]

    def named(self, text: str) -> Name:
        """Read the name of a training."""
        found = re.fullmatch(r"([a-z]+)-(\d+)(?:@(\d+))?", text)
        if found:
            name = Name(found[1], int(found[2]), int(found[3] or 1))
            if name in self.names:
                return name
        known, sizes, seeds = (
            ", ".join(map(str, some))
            for some in (self.settings["models"], self.settings["sentences"], self.seeds)
        )
        like = self.names[0]
        sys.exit(
            f"no training '{text}'; expected {known}, one of the sizes {sizes}, and a seed of "
            f"{seeds}, such as {like.kind}-{like.sentences}@2"
        )

    def prepare(self) -> None:
        """Write the sentences of every seed and size, and those that are held out."""
        lines = list(sense.english(sense.folder_of("BOXPEN_MIRROR")))
        self.folder.mkdir(parents=True, exist_ok=True)
        sizes = self.settings["sentences"]
        for path, some in samples(lines, self.held_out, sizes, self.seeds).items():
            (self.folder / path).write_text("".join(f"{line}\n" for line in some), "utf-8")

    def train(self, name: Name) -> None:
        """Train one model and put it to the suites, unless that has been done."""
        place = self.folder / f"{name}.figures.json"
        if place.is_file():
            print(f"{name} is trained and evaluated: {place}")
            return
        started = time.time()
        read, options = self.settings["read"], self.settings["options"]
        figures = train_lm(
            kind=name.kind,
            model=self.settings["models"][name.kind],
            out=self.folder / str(name),
            text=[self.folder / text_of(name.sentences, name.seed)],
            valid=[self.folder / "held-out.txt"],
            exclude=self.exclude,
            vocabulary=self.settings["vocabulary"],
            uncased=True,
            options=Options(
                epochs=read / name.sentences,
                every=max(1, read // options["batch_size"] // LOOKS),
                patience=0,
                seed=name.seed,
                **options,
            ),
            note=print,
        )
        for suite, sets in SETS.items():
            run = boxpen.evaluate(
                f"hf:{self.folder / str(name)}", part_of(suite, sets),
                cache=str(self.folder / "cache"),
            )  # fmt: skip
            run.save(self.folder / "runs" / str(name) / suite)
            print(name, [(r.slice, round(r.value, 4)) for r in run.summary()][:8], flush=True)
        figures |= {
            "words": sum(len(line.split()) for line in self._lines(name)),
            "seconds": round(time.time() - started, 1),
            "parameters": parameters(self.folder / str(name)),
        }
        place.write_text(json.dumps(figures, indent=1), "utf-8")

    def _lines(self, name: Name) -> list[str]:
        text = (self.folder / text_of(name.sentences, name.seed)).read_text("utf-8")
        return text.splitlines()

    def trained(self) -> dict[tuple[int, str], Seeds]:
        """Return what there is by size and kind, of the seeds that have all trainings."""
        places = {name: self.folder / f"{name}.figures.json" for name in self.names}
        lacking = {name.seed for name, place in places.items() if not place.is_file()}
        out: dict[tuple[int, str], Seeds] = {}
        for name, place in places.items():
            if name.seed not in lacking:
                some = out.setdefault((name.sentences, name.kind), Seeds([], []))
                some.figures.append(json.loads(place.read_text("utf-8")))
                some.verdicts.append(verdicts_of(self.folder / "runs" / str(name)))
        return out

    def tables(self) -> None:
        """Put the tables into docs/results."""
        found = self.trained()
        if not found or any(len(some.figures) < 2 for some in found.values()):
            sys.exit(f"{self.folder}: fewer than two seeds have all their trainings")
        key = f"kinds-{self.scale}"
        write(PAGE, key, accuracy_table(found, self.settings["read"]))
        write(PAGE, f"{key}-gaps", gaps_table(found))
        write(PAGE, f"{key}-data", data_table(found))
        if self.scale == "small":
            both = [
                (scale.settings["read"] / size, s)
                for scale in (self, Kinds("longer"))
                for (size, kind), s in scale.trained().items()
                if kind == "bilm"
            ]
            write(PAGE, "bilm", bilm_table(both))


class Seeds(NamedTuple):
    """The trainings of one kind on one size, seed by seed."""

    figures: list[dict[str, Any]]
    verdicts: list[dict[str, list[Verdict]]]  # by set

    def of(self, part: str) -> list[list[Verdict]]:
        """Return the verdicts of a set, or of all, by seed."""
        return [
            by[part] if part else [v for some in by.values() for v in some] for by in self.verdicts
        ]

    def accuracy(self, part: str) -> Estimate:
        """Return the accuracy on a set over seeds, or over items where there is one seed."""
        rows = self.of(part)
        return accuracy_over_seeds(rows) if len(rows) > 1 else accuracy(rows[0])


def samples(
    lines: Sequence[str], held_out: int, sizes: Sequence[int], seeds: Sequence[int]
) -> dict[str, list[str]]:
    """Return files of sentences: of one seed, a smaller one begins a larger one."""
    order = random.Random(0).sample(range(len(lines)), len(lines))
    out = {"held-out.txt": [lines[i] for i in order[:held_out]]}
    left = order[held_out:]
    if len(left) < max(sizes):
        sys.exit(f"{len(left):,} sentences are left to learn from, expected {max(sizes):,}")
    for seed in seeds:
        drawn = random.Random(seed).sample(left, max(sizes))
        for size in sizes:
            out[text_of(size, seed)] = [lines[i] for i in drawn[:size]]
    return out


def text_of(sentences: int, seed: int) -> str:
    """Return the file of the sentences that a training learns from."""
    return f"text-{sentences}-seed{seed}.txt"


def part_of(suite: str, sets: Sequence[str]) -> boxpen.Suite:
    """Return some sets of a suite."""
    whole = boxpen.load_suite(suite)
    return replace(whole, items=tuple(i for i in whole if i.tags["set"] in sets))


def verdicts_of(folder: Path) -> dict[str, list[Verdict]]:
    """Return the verdicts of a model by set; those of the same pair of sentences are a block.

    Nearly all pairs of ``sm`` are pairs of Sen-Making.
    """
    out: dict[str, list[Verdict]] = {}
    for place in run_directories([folder / suite for suite in SETS]):
        run = boxpen.Run.load(place)
        blocks = (replace(v, block=pair_of(run.candidates[v.id])) for v in run.verdicts)
        run = replace(run, verdicts=tuple(blocks))
        out |= {str(part): list(v) for part, v in cut(run, "set").items()}
    return {part: out[part] for sets in SETS.values() for part in sets}


def pair_of(candidates: Sequence[Scored]) -> str:
    """Return sentences in one order, without case, spaces and full stops at their ends."""
    return " | ".join(sorted(" ".join(c.text.lower().split()).rstrip(" .") for c in candidates))


def parameters(folder: Path) -> int:
    """Return how many numbers the weights of a model have; tied ones are stored once."""
    from safetensors import safe_open

    with safe_open(folder / "model.safetensors", "pt") as stored:
        return sum(math.prod(stored.get_slice(key).get_shape()) for key in stored.keys())  # noqa: SIM118


def accuracy_table(found: Mapping[tuple[int, str], Seeds], read: int) -> str:
    """Return what every kind came to on every size."""
    parts = [part for sets in SETS.values() for part in sets]
    out = [
        "| sentences | passes | kind | parameters | seeds | held-out loss | " + " | ".join(parts)
        + " |",
        "|---" * (6 + len(parts)) + "|",
    ]  # fmt: skip
    for (size, kind), s in found.items():
        loss = over_seeds([[f["loss"]] for f in s.figures])
        out.append(
            f"| {size:,} | {read / size:g} | {kind} | {s.figures[0]['parameters']:,} "
            f"| {len(s.figures)} | {interval(loss)} | "
            + " | ".join(interval(s.accuracy(part)) for part in parts)
            + " |"
        )
    return "\n".join(out)


def gaps_table(found: Mapping[tuple[int, str], Seeds]) -> str:
    """Return how far the bidirectional kinds are above the causal one (finding 2)."""
    parts = [part for sets in SETS.values() for part in sets]
    out = [
        "| sentences | minus causal | " + " | ".join(parts) + " | all |",
        "|---" * (3 + len(parts)) + "|",
    ]
    for (size, kind), s in found.items():
        base = found.get((size, "causal"))
        if kind == "causal" or base is None:
            continue
        cells = [interval(gap_over_seeds(s.of(p), base.of(p)), "+") for p in (*parts, "")]
        out.append(f"| {size:,} | {kind} | " + " | ".join(cells) + " |")
    return "\n".join(out)


def data_table(found: Mapping[tuple[int, str], Seeds]) -> str:
    """Return how far the largest text is above the smallest (finding 3)."""
    parts = [part for sets in SETS.values() for part in sets]
    out = [
        "| kind | sentences | " + " | ".join(parts) + " | all |",
        "|---" * (3 + len(parts)) + "|",
    ]
    for kind in KINDS:
        sizes = [size for size, of in found if of == kind]
        if len(sizes) < 2:
            continue
        most, least = found[max(sizes), kind], found[min(sizes), kind]
        cells = [interval(gap_over_seeds(most.of(p), least.of(p)), "+") for p in (*parts, "")]
        out.append(f"| {kind} | {max(sizes):,} minus {min(sizes):,} | " + " | ".join(cells) + " |")
    return "\n".join(out)


def bilm_table(found: Sequence[tuple[float, Seeds]]) -> str:
    """Return sense making of bidirectional models by words of text, and a line through it.

    Args:
        found: The trainings on every text, and how often each was read.
    """
    rows = []
    for passes, s in found:
        words = sum(f["words"] for f in s.figures) / len(s.figures)
        loss = sum(f["loss"] for f in s.figures) / len(s.figures)
        name = f"new:tiny, seeds: {len(s.figures)}"
        rows.append((name, words, f"{passes:g}", f"{loss:.3f}", s.accuracy("sen-making")))
    for name, share in EARLIER.items():
        row = f"`{name}` of [sense](sense.md), seeds: 1"
        rows.append((row, WORDS * share, "1", "–", on_page(name)))
    out = ["| model | words of text | passes | held-out loss | accuracy |", "|---" * 5 + "|"]
    for name, words, passes, loss, e in rows:
        out.append(f"| {name} | {words:,.0f} | {passes} | {loss} | {interval(e)} |")
    return "\n".join([*out, "", *lines_through("\n".join(out))])


def lines_through(table: str) -> list[str]:
    """Return the lines through the accuracies of a table, as it shows them."""
    cells = re.findall(r"^\| [^|]+ \| ([\d,]+) \|.*\| ([\d.]+) \[([\d.]+), ([\d.]+)\]", table, re.M)
    points = [
        (float(words.replace(",", "")), Estimate(*map(float, e), 2021)) for words, *e in cells
    ]
    out = ["| line through | per doubling of the text | words for ELMo's accuracy |"]
    out.append("|---" * 3 + "|")
    for name, some in (("all points", points), ("the last two", points[-2:])):
        out.append(f"| {name} | {followed(line(some))} |")
    return out


def on_page(name: str) -> Estimate:
    """Return the accuracy on Sen-Making that the results on sense have of a model."""
    found = re.search(rf"\| {name} \| ([\d.]+) \[([\d.]+), ([\d.]+)\]", shown("sense", "sound"))
    if not found:
        sys.exit(f"the results on sense have no row '{name}'")
    value, low, high = map(float, found.groups())
    return Estimate(value, low, high, 2021)


class Line(NamedTuple):
    """Accuracy over the logarithm of words to base 2, through the points' weighted centre.

    At the centre, the errors of slope and accuracy are independent.
    """

    slope: float
    error: float
    centre: float
    accuracy: float
    error_there: float


def line(points: Sequence[tuple[float, Estimate]]) -> Line:
    """Fit accuracy over doublings of the text by weighted least squares."""
    x = [math.log2(words) for words, _ in points]
    weights = [(2 * Z95 / (e.high - e.low)) ** 2 for _, e in points]
    total = math.fsum(weights)
    centre = math.fsum(w * a for w, a in zip(weights, x, strict=True)) / total
    mean = math.fsum(w * e.value for w, (_, e) in zip(weights, points, strict=True)) / total
    spread = math.fsum(w * (a - centre) ** 2 for w, a in zip(weights, x, strict=True))
    slope = (
        math.fsum(
            w * (a - centre) * (e.value - mean)
            for w, a, (_, e) in zip(weights, x, points, strict=True)
        )
        / spread
    )
    return Line(slope, spread**-0.5, centre, mean, total**-0.5)


def reached(fit: Line, accuracy: float = ELMO) -> tuple[float, float, float]:
    """Return where a line has an accuracy, in doublings, with a 95 % interval (Fieller 1954).

    The interval ends where the band of the line has that accuracy, so that slope and height are
    both uncertain. A line that may not rise may never get there: infinity.
    """
    missing = accuracy - fit.accuracy
    found = fit.centre + missing / fit.slope if fit.slope > 0 else math.inf
    a = fit.slope**2 - (Z95 * fit.error) ** 2
    b, c = fit.slope * missing, missing**2 - (Z95 * fit.error_there) ** 2
    if missing <= 0 or c <= 0:
        raise ValueError("the accuracy is not above the line's centre")
    if a > 0 and b < 0:  # it falls
        return math.inf, math.inf, math.inf
    # Roots of a d² - 2 b d + c, as c / (b ± root), which also holds for a = 0.
    root = math.sqrt(b * b - a * c)
    low = fit.centre + c / (b + root)
    return found, low, fit.centre + c / (b - root) if a > 0 else math.inf


def followed(fit: Line) -> str:
    """Return cells of a table: the slope, and the words at which the line has ELMo's accuracy."""
    low, high = fit.slope - Z95 * fit.error, fit.slope + Z95 * fit.error
    return f"{fit.slope:+.4f} [{low:+.4f}, {high:+.4f}] | {words_cell(*reached(fit))}"


def words_cell(found: float, low: float, high: float) -> str:
    """Return numbers of words, given in doublings."""
    value, *ends = (
        "none" if math.isinf(d) else f"{2**d:.1e}" if d < 100 else "more than 10^30"
        for d in (found, low, high)
    )
    return f"{value} [{', '.join(ends)}]"


def interval(e: Estimate, sign: str = "") -> str:
    return f"{e.value:{sign}.3f} [{e.low:{sign}.3f}, {e.high:{sign}.3f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["prepare", "train", "tables"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--scale", choices=SCALES, default="full", help="how much to train")
    given = parser.parse_intermixed_args()
    kinds = Kinds(given.scale)
    try:
        if given.command == "prepare":
            kinds.prepare()
        elif given.command == "train":
            for name in [kinds.named(text) for text in given.names] or kinds.names:
                kinds.train(name)
        elif given.scale == "longer":
            parser.error("the tables of longer are among those of small")
        else:
            kinds.tables()
    except BoxpenError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
