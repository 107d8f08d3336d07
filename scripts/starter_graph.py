"""Make the part ``graph`` of the starter suite: its triples, put into boxpen's templates.

Writes ``graph.jsonl`` beside ``triples.jsonl``. It is made once and kept, so that the suite is the
same whatever versions of the inflection libraries a user has; tests/test_starter.py makes it again
and compares.
"""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import polars as pl

from boxpen.analysis.relations import ATOMIC
from boxpen.build.kg.wording.render import render
from boxpen.build.kg.wording.templates import load_templates
from boxpen.catalog.releases.starter import starter_triples
from boxpen.items import Item, item_to_dict

SEED = 1960


def main() -> None:
    path = Path(str(resources.files("boxpen.catalog").joinpath("data", "starter", "graph.jsonl")))
    lines = [json.dumps(item_to_dict(i), ensure_ascii=False) for i in rendered()]
    card = json.dumps({"kind": "suite", "name": "starter-graph", "language": "en"})
    path.write_text("\n".join((card, *lines)) + "\n", "utf-8")


def rendered() -> list[Item]:
    """Return a test of inference, five questions and five pairs of every triple."""
    table = pl.DataFrame(
        {
            "id": triple["id"],
            "head_text": triple["head"],
            "relation": triple["relation"],
            "tail_text": triple["tail"],
            "form": triple["form"],
            "origin": "events" if triple["relation"] in ATOMIC else "things",
            "wrong_text": triple["wrong"],
        }
        for triple in starter_triples()
    )
    forms = {"nli": 1, "qa": 1, "pairs": 1}
    return list(render(table, load_templates(), seed=SEED, per_triple=forms))


if __name__ == "__main__":
    main()
