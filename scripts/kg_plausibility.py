"""Which number tells sensible triples from silly ones? Prints areas under the curve (AUC).

    python scripts/kg_plausibility.py                        # starter graph, right and wrong tails
    python scripts/kg_plausibility.py --labels judged.csv    # relation,head,tail,sensible (0 or 1)

AUC is the chance that a sensible triple gets a greater number than a silly one of its relation,
over all such pairs; 0.5 is chance. The wording of every triple is the most fluent one.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Callable, Sequence
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from boxpen.build.kg.rank import Said, score_wordings
from boxpen.build.kg.wording.wordings import Wording, wordings


class Judged(NamedTuple):
    """A triple, and whether judges find it sensible."""

    relation: str
    head: str
    tail: str
    sensible: bool


NUMBERS: dict[str, Callable[[Said], float]] = {
    "sentence": lambda s: s.sentence,
    "sentence / token": lambda s: s.sentence / s.sentence_tokens,
    "tail | head": lambda s: s.tail,
    "tail | head / token": lambda s: s.tail / s.tail_tokens,
    "tail | head - tail alone": lambda s: s.tail - s.alone,
    "(tail | head - tail alone) / token": lambda s: (s.tail - s.alone) / s.tail_tokens,
    "(tail | head - tail alone) / √tokens": lambda s: (s.tail - s.alone) / s.tail_tokens**0.5,
    "head": lambda s: s.sentence - s.tail,
    "sentence - tail alone": lambda s: s.sentence - s.alone,
    "sentence - tail alone / 2": lambda s: s.sentence - s.alone / 2,
    "few tokens": lambda s: -s.sentence_tokens,
    "plausibility (as ranked)": lambda s: s.plausibility,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--labels", type=Path, help="CSV with relation, head, tail, sensible")
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--cache", help="score cache; the user's own if not given")
    parser.add_argument("--limit", type=int, default=20, help="starter triples per relation")
    options = parser.parse_args()
    from boxpen.models.resolve import resolve_model

    judged = labelled(options.labels) if options.labels else starter(options.limit)
    ways = [wordings(j.relation, j.head, j.tail) for j in judged]
    said = [(j, way) for j, way in zip(judged, ways, strict=True) if way]
    print(f"{len(judged)} triples, {len(judged) - len(said)} cannot be said, of which sensible: "
          f"{sum(j.sensible for j, way in zip(judged, ways, strict=True) if not way)}")  # fmt: skip
    scores = best(
        [way for _, way in said], score_wordings(
            [w for _, way in said for w in way], resolve_model(options.model), cache=options.cache
        )
    )  # fmt: skip
    relations = list(dict.fromkeys(j.relation for j, _ in said))
    print(f"{'AUC':38}{'all':>6}" + "".join(f"{r:>10}" for r in relations))
    for name, number in NUMBERS.items():
        wins = [
            outcomes([(j.sensible, number(s)) for (j, _), s in zip(said, scores, strict=True)
                      if j.relation == relation])
            for relation in relations
        ]  # fmt: skip
        cells = "".join(f"{area(few):>10}" for few in wins)
        print(f"{name:38}{area([win for few in wins for win in few]):>6}{cells}")


def best(ways: Sequence[Sequence[Wording]], scores: Sequence[Said]) -> list[Said]:
    """Return the scores of every triple's most fluent wording."""
    flat = iter(scores)
    return [max((next(flat) for _ in way), key=lambda s: s.fluency) for way in ways]


def outcomes(rows: Sequence[tuple[bool, float]]) -> list[float]:
    """Return for every sensible and silly triple whether the sensible one wins; a tie is half."""
    good = [value for sensible, value in rows if sensible]
    bad = [value for sensible, value in rows if not sensible]
    return [(a > b) + (a == b) / 2 for a in good for b in bad]


def area(wins: Sequence[float]) -> str:
    return f"{sum(wins) / len(wins):.2f}" if wins else "–"


def starter(limit: int) -> list[Judged]:
    """Return triples of the starter graph, each once with its tail and once with a wrong one."""
    source = resources.files("boxpen.catalog").joinpath("data", "starter", "triples.jsonl")
    seen: dict[str, int] = {}
    judged = []
    for line in source.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        relation = row["relation"]
        seen[relation] = seen.get(relation, 0) + 1
        if seen[relation] <= limit:
            judged.append(Judged(relation, row["head"], row["tail"], True))
            judged.append(Judged(relation, row["head"], row["wrong"][0], False))
    return judged


def labelled(path: Path) -> list[Judged]:
    with path.open(encoding="utf-8", newline="") as stream:
        return [Judged(r["relation"], r["head"], r["tail"], r["sensible"] == "1")
                for r in csv.DictReader(stream)]  # fmt: skip


if __name__ == "__main__":
    main()
