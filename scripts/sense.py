"""Train the models of docs/results/sense.md, put them to their suites, make the tables.

    sense.py prepare               build/sense: sentences of subtitles and of ConceptNet
    sense.py train NAME [NAME …]   build/sense/NAME, and its runs; wants a GPU
    sense.py tables                docs/results/sense.md, and the table of steps.md

Names are bilm, bilm-graph (from the first), bilm-tiny and bilm-tiny-graph (for which a CPU will
do), bert-mini, bert-mini-graph, smollm2, smollm2-graph; bert-mini and smollm2 are only put to the
suites. scripts/sense.toml has the settings. ``--quick`` rehearses it all with tiny sizes in
build/sense-quick, and prints the tables of what there is; the tables of docs/results are only made
of all names together. Two variables of the environment name folders: ``BOXPEN_MIRROR`` that of the
downloads, which ``prepare`` reads, ``BOXPEN_MODELS`` that of bert-mini.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from results import said, write

import boxpen
from boxpen.analysis.slices import cut
from boxpen.build.kg.sentences import Verbalised, verbalise, write_sentences
from boxpen.errors import BoxpenError
from boxpen.lm.job import train_lm
from boxpen.lm.options import Options
from boxpen.metrics.choice import accuracy
from boxpen.metrics.compare import Pair, compare_verdicts, holm
from boxpen.metrics.intervals import Estimate
from boxpen.report.formats.markdown import cell
from boxpen.runs.directory import run_directories
from boxpen.text.normal import normalised

ROOT = Path(__file__).parents[1]
PAGE = "sense.md"
SUITE = "senmaking"
SETS = ("sen-making", "explanation")
RECIPES = ("sound", "paper")
STEPS = "starter.sense"
"""Its items say how many steps of inference they take."""
BASES = {"bilm": "", "bilm-tiny": "", "bert-mini": "hf:MODELS/bert-mini", "smollm2": "smollm2"}
"""What is put to the suites before it is trained on the graph; those without are trained here."""
PAPER = {
    "random (paper)": (0.500, 0.333),
    "ELMo (paper)": (0.694, 0.334),
    "BERT (paper)": (0.701, 0.456),
    "fine-tuned ELMo (paper)": (0.741, 0.346),
    "people (paper)": (0.991, 0.978),
}
"""Table 1 of Wang et al. (2019): sen-making and explanation."""
FOLDERS = {
    "BOXPEN_MIRROR": "the folder with conceptnet100k, tatoeba and tvsub in it",
    "BOXPEN_MODELS": "the folder with bert-mini in it",
}
"""Variables of the environment, and what each names."""


class Sense:
    """The trainings, at full size or as a rehearsal."""

    def __init__(self, *, quick: bool) -> None:
        self.quick = quick
        self.folder = ROOT / "build" / ("sense-quick" if quick else "sense")
        self.config = tomllib.loads((ROOT / "scripts" / "sense.toml").read_text("utf-8"))
        self.trainings: dict[str, dict[str, Any]] = self.config["trainings"]

    @property
    def names(self) -> list[str]:
        """Everything that can be put to the suite, each base before what is made of it."""
        return [name for base in BASES for name in (base, f"{base}-graph")]

    def check(self, names: Sequence[str]) -> None:
        """Refuse, before anything is done, a name that is not known or lacks its folder."""
        for name in names:
            if name not in self.names:
                sys.exit(f"no training '{name}'; there are {', '.join(self.names)}")
            self._placed(self.trainings[name]["model"] if name in self.trainings else BASES[name])

    def prepare(self) -> None:
        """Write the sentences of subtitles and of the graph."""
        text, graph = self.folder / "text.txt.xz", self.folder / "graph.tsv"
        mirror = folder_of("BOXPEN_MIRROR")
        self.folder.mkdir(parents=True, exist_ok=True)
        if not text.is_file():
            aside = text.with_name(".text.txt.xz")
            with lzma.open(aside, "wt", encoding="utf-8", preset=1) as stream:
                for line in islice(english(mirror), self._most("lines")):
                    stream.write(f"{line}\n")
            aside.replace(text)
        if not graph.is_file():
            found = verbalise(mirror / "conceptnet100k")
            print(f"ConceptNet: {found.says}")
            step = max(1, len(found.rows) // (self._most("sentences") or len(found.rows)))
            write_sentences(replace_rows(found, step), graph)

    def train(self, name: str) -> None:
        """Train one model, if it is to be trained, and put it to the suite."""
        # Beside the model: a file in its folder would make it another model.
        place = self._figures(name)
        # A training that is finished takes no time the second time.
        if name in self.trainings and not place.is_file():
            place.parent.mkdir(parents=True, exist_ok=True)
            started = time.time()
            figures = {"name": name} | self._trained(name)
            figures["seconds"] = round(time.time() - started, 1)
            place.write_text(json.dumps(figures, indent=1))
        for recipe in RECIPES:
            run = boxpen.evaluate(
                self._spec(name), self.suite(), recipe=recipe, cache=":memory:",
                check_languages=not self.quick,  # to which most words are unknown
            )  # fmt: skip
            run.save(self.folder / "runs" / name / recipe)
            rows = [(r.slice, round(r.value, 4)) for r in run.summary() if r.metric == "accuracy"]
            print(name, recipe, rows, flush=True)
        run = boxpen.evaluate(
            self._spec(name), STEPS, cache=":memory:", check_languages=not self.quick
        )
        run.save(self._steps(name))

    def suite(self) -> boxpen.Suite:
        """Return Sen-Making, or a few items of each of its sets."""
        whole = boxpen.load_suite(SUITE)
        most = self._most("items")
        if most is None:
            return whole
        few = [item for name in SETS for item in islice(whole.where(set=name), most)]
        return replace(whole, items=tuple(few))

    def tables(self) -> None:
        """Put the tables into docs/results, or print those of a rehearsal, of what there is."""
        there = [name for name in self.names if self._finished(name)]
        missing = [name for name in self.names if name not in there]
        if missing and not self.quick:
            sys.exit(
                f"nothing is written: no training, or not every run, of {', '.join(missing)} is "
                f"there, expected those of all {len(self.names)} models ('sense.py train')"
            )
        for name in missing:
            print(f"{name} is not trained", file=sys.stderr)
        figures = {
            name: json.loads(self._figures(name).read_text("utf-8"))
            for name in there
            if name in self.trainings
        }
        runs = {
            (name, recipe): boxpen.Run.load(place)
            for name in there
            for recipe in RECIPES
            for place in run_directories([self.folder / "runs" / name / recipe])
        }
        made = {
            "trainings": trainings_table(figures),
            **{f"{recipe}": accuracy_table(runs, recipe) for recipe in RECIPES},
            "unknown": unknown_table(runs),
            "pairs": pairs_table(runs),
            "signatures": "\n".join(f"- {name}: `{r.signature}`" for (name, _), r in runs.items()),
        }
        steps = [str(place) for name in there for place in run_directories([self._steps(name)])]
        by_steps = said("slices", *steps, "--by", "set x steps", "--trend", "--markdown")
        if self.quick:
            made["steps"] = by_steps
        else:
            write("steps.md", "steps", by_steps.partition("\n\n")[2])  # without its heading
        for key, lines in made.items():
            if self.quick:
                print(f"## {key}\n\n{lines}\n")
            else:
                write(PAGE, key, lines)

    def _trained(self, name: str) -> dict[str, Any]:
        settings = dict(self.trainings[name])
        kind, model, learns = (settings.pop(key) for key in ("kind", "model", "learns"))
        if self.quick:
            settings |= self.config["quick"]["settings"]
            if "vocabulary" in settings:
                settings["vocabulary"] = self.config["quick"]["vocabulary"]
                model = self.config["quick"]["bilm"]
        other = {key: settings.pop(key) for key in ("vocabulary", "holdout") if key in settings}
        source = {
            "text": {"text": [self.folder / "text.txt.xz"]},
            "graph": {"triples": [self.folder / "graph.tsv"]},
        }[learns]
        return train_lm(
            kind=kind, model=self._placed(model), out=self.folder / name,
            exclude=self.config["exclude"], options=Options(**settings), progress=True,
            note=print, **source, **other,
        )  # fmt: skip

    def _spec(self, name: str) -> str:
        if name in self.trainings:
            return f"hf:{self.folder / name}"
        return self._placed(BASES[name])

    def _placed(self, model: str) -> str:
        if "MODELS" in model:
            model = model.replace("MODELS", str(folder_of("BOXPEN_MODELS")))
        return model.replace("FOLDER", str(self.folder))

    def _figures(self, name: str) -> Path:
        return self.folder / f"{name}.figures.json"

    def _finished(self, name: str) -> bool:
        """Return whether a model is trained, if it is to be, and has all its runs."""
        places = [self.folder / "runs" / name / part for part in (*RECIPES, "steps")]
        trained = name not in self.trainings or self._figures(name).is_file()
        return trained and all(any(place.glob("[!.]*/run.json")) for place in places)

    def _steps(self, name: str) -> Path:
        return self.folder / "runs" / name / "steps"

    def _most(self, what: str) -> int | None:
        return int(self.config["quick"][what]) if self.quick else None


def folder_of(variable: str) -> Path:
    """Return the folder that a variable of the environment names."""
    if not os.environ.get(variable):
        sys.exit(f"{variable} is not set, expected {FOLDERS[variable]}")
    return Path(os.environ[variable])


def english(mirror: Path) -> Iterator[str]:
    """Yield the English lines of Tatoeba and TVsub."""
    with (mirror / "tatoeba" / "cmn.txt").open(encoding="utf-8") as lines:
        yield from _column(lines, 0)
    with lzma.open(mirror / "tvsub" / "train.doc.tsv.xz", "rt", encoding="utf-8") as lines:
        yield from _column(lines, 2)


def replace_rows(found: Verbalised, step: int) -> Verbalised:
    """Return every so-manieth sentence."""
    return replace(found, rows=found.rows[::step])


def trainings_table(figures: dict[str, dict[str, Any]]) -> str:
    """Return what each training took and came to."""
    out = [
        "| training | sentences | excluded | steps | best | seconds | held-out loss before "
        "| after |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, f in figures.items():
        some = f["sentences"]
        out.append(
            f"| {name} | {some['train']:,} | {sum(some['excluded'].values()):,} | {f['steps']:,} "
            f"| {f['best_step']:,} | {f['seconds']:,.0f} | {f['loss_before']:.3f} "
            f"| {f['loss']:.3f} |"
        )
    return "\n".join(out)


def accuracy_table(runs: dict[tuple[str, str], boxpen.Run], recipe: str) -> str:
    """Return Table 1: the paper's rows, then ours."""
    out = [f"| system | {' | '.join(SETS)} |", "|---" * (len(SETS) + 1) + "|"]
    for name, values in PAPER.items():
        out.append(f"| {name} | " + " | ".join(f"{value:.3f}" for value in values) + " |")
    for (name, made), run in runs.items():
        if made == recipe:
            rows = {r.slice: r for r in run.summary() if r.metric == "accuracy"}
            out.append(f"| {name} | " + " | ".join(cell(rows[f"set={s}"]) for s in SETS) + " |")
    return "\n".join(out)


def unknown_table(runs: dict[tuple[str, str], boxpen.Run]) -> str:
    """Return how many words were scored as <UNK>, and accuracy on items that have none of them."""
    out = [
        "| recipe | system | set | unknown words | items that differ | accuracy, all items "
        "| accuracy, no unknown word | items without |",
        "|---" * 8 + "|",
    ]
    for recipe in RECIPES:
        for (name, made), run in runs.items():
            # Other models read words in pieces, and know them all.
            if made != recipe or run.info.model.kind != "bidirectional":
                continue
            for part, verdicts in cut(run, "set").items():
                counts = {
                    v.id: [scored.record.unknown for scored in run.candidates[v.id]]
                    for v in verdicts
                }
                words = sum(len(s.record.token_ids) for v in verdicts for s in run.candidates[v.id])
                known = [v for v in verdicts if not any(counts[v.id])]
                differ = sum(len(set(each)) > 1 for each in counts.values())
                out.append(
                    f"| {recipe} | {name} | {part} "
                    f"| {sum(map(sum, counts.values())):,} of {words:,} | {differ:,} "
                    f"| {_estimate(accuracy(verdicts))} | {_estimate(accuracy(known))} "
                    f"| {len(known):,} |"
                )
    return "\n".join(out)


def _estimate(e: Estimate) -> str:
    return f"{e.value:.3f} [{e.low:.3f}, {e.high:.3f}]" if e.n else "–"


def pairs_table(runs: dict[tuple[str, str], boxpen.Run]) -> str:
    """Return before against after on the same items; all p-values are corrected together."""
    found: list[tuple[str, str, Pair]] = []
    for recipe in RECIPES:
        for base in BASES:
            both = (base, f"{base}-graph")
            if any((name, recipe) not in runs for name in both):
                continue
            parts = {name: cut(runs[name, recipe], "set") for name in both}
            for part in SETS:
                (pair,) = compare_verdicts({name: by[part] for name, by in parts.items()}, part)
                found.append((recipe, part, pair))
    return _pairs(found, holm([pair.p for *_, pair in found]))


def _pairs(found: Sequence[tuple[str, str, Pair]], adjusted: Sequence[float]) -> str:
    out = [
        "| recipe | set | before | after | right only before : only after | after minus before "
        "| test | p | Holm |",
        "|---" * 9 + "|",
    ]
    for (recipe, part, p), corrected in zip(found, adjusted, strict=True):
        e = p.difference  # of the first less the second
        out.append(
            f"| {recipe} | {part} | {p.a} | {p.b} | {p.only_a} : {p.only_b} "
            f"| {0 - e.value:+.3f} [{0 - e.high:+.3f}, {0 - e.low:+.3f}] | {p.test} | {p.p:.2g} "
            f"| {corrected:.2g} |"
        )
    return "\n".join(out)


def _column(lines: Iterator[str], number: int) -> Iterator[str]:
    for line in lines:
        text = normalised(line.rstrip("\n").split("\t")[number], "en")
        if text:
            yield text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["prepare", "train", "tables"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--quick", action="store_true", help="rehearse it with tiny sizes")
    given = parser.parse_args()
    sense = Sense(quick=given.quick)
    sense.check(given.names)
    try:
        if given.command == "prepare":
            sense.prepare()
        elif given.command == "train":
            for name in given.names:
                sense.train(name)
        else:
            sense.tables()
    except BoxpenError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
