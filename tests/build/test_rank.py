"""Ranking: the best wording wins, sense beats nonsense, and nothing is scored twice."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from boxpen import ModelError, Request, resolve_model
from boxpen.build.kg.rank import rank_triples, score_wordings
from boxpen.build.kg.triples import schema, triple_id
from boxpen.errors import BuildError
from boxpen.scoring.cache import ScoreCache
from boxpen.scoring.policy import ScoringPolicy


@dataclass(frozen=True)
class Way:
    head: str
    tail: str
    form: str
    sentence: str
    stem: str


def ways(relation: str, head: str, tail: str) -> list[Way]:
    """Two ways to say what has a tail, none where the tail is 'unsayable'."""
    if tail == "unsayable":
        return []
    made = []
    for article in ("a", "the"):
        stem = f"{article.capitalize()} {head} {relation}"
        made.append(Way(f"{article} {head}", tail, "np", f"{stem} {tail}.", stem))
    return made


def graph(rows: Sequence[tuple[str, str, str]]) -> pl.DataFrame:
    full = [
        (triple_id(r, h, t), h, r, t, None, "toy", None, "en", line)
        for line, (r, h, t) in enumerate(rows, 1)
    ]
    return pl.DataFrame(full, schema=schema(), orient="row")


TABLE = graph(
    [("isa", "box", tail) for tail in ("pen", "house", "river", "unsayable", "tree")]
    + [("hasa", "house", tail) for tail in ("box", "pen")]
)


class Spy:
    """A model that counts what it is asked, and may be stopped."""

    def __init__(self, model: Any, *, batches: int | None = None) -> None:
        self._model = model
        self._batches = batches
        self.asked: list[Request] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def score(self, requests: Sequence[Request], policy: Any) -> Any:
        self.asked += requests
        for done, request in enumerate(requests):
            if done == self._batches:
                raise KeyboardInterrupt
            yield [(done, record) for _, record in next(self._model.score([request], policy))]


def alone(model: Any, text: str, prefix: str = "") -> tuple[float, int]:
    """The log-probability and the length of one text, scored by itself."""
    policy = model.resolve_policy(ScoringPolicy())
    [(_, record)] = [r for b in model.score([Request(text, prefix)], policy) for r in b]
    return record.total, len(record.logprobs)


def test_ranks_equal_those_of_a_twin(gpt2: Any) -> None:
    found = rank_triples(TABLE, gpt2, wordings=ways, cache=":memory:")
    expected = []
    for row in TABLE.to_dicts():
        best = None
        for way in ways(row["relation"], row["head"], row["tail"]):
            whole, tokens = alone(gpt2, way.sentence)
            tail, _ = alone(gpt2, f" {way.tail}.", way.stem)
            free, _ = alone(gpt2, f"{way.tail.capitalize()}.")
            if best is None or whole / tokens > best[0] + 1e-3:
                best = (whole / tokens, way, tail - free)
        if best:
            expected.append((row["relation"], best[2], best[1].sentence, best[1].head))
    expected.sort(key=lambda e: (e[0], -e[1]))
    table = found.table
    assert table["sentence"].to_list() == [e[2] for e in expected]
    assert table["head_text"].to_list() == [e[3] for e in expected]
    assert table["plausibility"].to_list() == pytest.approx([e[1] for e in expected], abs=2e-3)
    assert table["rank"].to_list() == [1, 2, 1, 2, 3, 4]
    added = ["head_text", "tail_text", "form", "sentence", "fluency", "plausibility", "rank"]
    assert table.columns == [*TABLE.columns, *added]
    assert found.dropped["tail"].to_list() == ["unsayable"]
    assert found.dropped["step"].to_list() == ["wording"]
    assert found.dropped.columns == [*TABLE.columns, "step", "reason"]


def test_the_order_of_rows_is_no_matter(gpt2: Any) -> None:
    first = rank_triples(TABLE, gpt2, wordings=ways, cache=":memory:").table
    turned = rank_triples(TABLE.reverse(), gpt2, wordings=ways, cache=":memory:").table
    assert first.equals(turned)


def test_the_implausible_rest_goes(gpt2: Any) -> None:
    whole = rank_triples(TABLE, gpt2, wordings=ways, cache=":memory:")
    half = rank_triples(TABLE, gpt2, wordings=ways, cache=":memory:", keep=0.5)
    assert half.table.equals(whole.table.filter(pl.col("rank") <= pl.len().over("relation") / 2))
    assert half.table.height + half.dropped.height == TABLE.height
    assert set(half.dropped.filter(pl.col("step") == "rank")["reason"]) == {
        "ranks 2 of 2 in its relation, the first 1 stay",
        "ranks 3 of 4 in its relation, the first 2 stay",
        "ranks 4 of 4 in its relation, the first 2 stay",
    }
    least = rank_triples(TABLE, gpt2, wordings=ways, cache=":memory:", keep=0.01)
    assert least.table["rank"].to_list() == [1, 1]  # no relation is lost


def test_without_a_model_the_first_wording_is_taken() -> None:
    found = rank_triples(TABLE, None, wordings=ways, keep=0.1)
    assert found.table.height == 6
    assert set(found.table["head_text"]) == {"a box", "a house"}
    assert found.table["plausibility"].null_count() == found.table["rank"].null_count() == 6


def test_an_interrupted_ranking_goes_on_where_it_stopped(gpt2: Any, tmp_path: Path) -> None:
    path = tmp_path / "scores.db"
    with pytest.raises(KeyboardInterrupt):
        rank_triples(TABLE, Spy(gpt2, batches=5), wordings=ways, cache=path)  # type: ignore[arg-type]
    again = Spy(gpt2)
    seen: list[tuple[str, int, int]] = []
    found = rank_triples(
        TABLE, again, wordings=ways, cache=path, progress=lambda *p: seen.append(p)  # type: ignore[arg-type]
    )  # fmt: skip
    total = seen[-1][2]
    assert len(again.asked) == total - 5
    assert seen[0][1:] == (5, total)
    assert seen[-1][1:] == (total, total)
    third = Spy(gpt2)
    with ScoreCache(path) as cache:
        repeated = rank_triples(TABLE, third, wordings=ways, cache=cache)  # type: ignore[arg-type]
    assert third.asked == []
    assert repeated.table.equals(found.table)


def test_equal_texts_are_asked_once(gpt2: Any) -> None:
    spy = Spy(gpt2)
    both = ways("isa", "box", "pen")
    said = score_wordings([*both, *both], spy, cache=":memory:")  # type: ignore[arg-type]
    assert len(spy.asked) == len(set(spy.asked)) == 5  # 'Pen.' stands for both wordings
    assert said[:2] == said[2:]


def test_what_cannot_be_ranked_is_told() -> None:
    with pytest.raises(BuildError, match="none of 7 triples can be expressed in English"):
        rank_triples(TABLE, None, wordings=lambda *_: [])
    classifier: Any = SimpleNamespace(kind="nli", short="judge")
    with pytest.raises(BuildError, match="judge is of the kind nli, triples are ranked by a lang"):
        rank_triples(TABLE, classifier, wordings=ways)
    bilm: Any = SimpleNamespace(kind="bidirectional", short="bilm")
    with pytest.raises(BuildError, match="language model of the kind causal, masked or permuted"):
        rank_triples(TABLE, bilm, wordings=ways)


STEMS = {
    "capableof": "{} can", "desires": "{} wants", "createdby": "{} is created by",
    "usedfor": "{} is used to", "isa": "{} is", "madeof": "{} is made of", "hasa": "{} has",
    "xAttr": "{}. This person is", "xNeed": "{}. First, this person had to",
    "xIntent": "{}. The person wanted to", "xEffect": "{}. As a result, the person may",
    "xWant": "{}. Now the person wants to",
}  # fmt: skip


def plainly(relation: str, head: str, tail: str) -> list[Way]:
    stem = STEMS[relation].format(head[0].upper() + head[1:]).replace("PersonX", "Kim")
    return [Way(head, tail, "", f"{stem} {tail}.", stem)]


@pytest.mark.heavy
def test_true_tails_outrank_shuffled_ones() -> None:
    from boxpen.models.loading.embedded import smollm2_path

    try:
        smollm2_path(download=False)
    except ModelError as error:
        pytest.skip(str(error))
    source = resources.files("boxpen.catalog").joinpath("data", "starter", "triples.jsonl")
    triples: dict[str, list[tuple[str, str]]] = {}
    for line in source.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        triples.setdefault(row["relation"], []).append((row["head"], row["tail"]))
    rows, true = [], set()
    for relation, pairs in triples.items():
        few = pairs[::5][:5]
        for (head, tail), (_, other) in zip(few, [*few[1:], few[0]], strict=True):
            true.add((relation, head, tail))
            rows += [(relation, head, tail), (relation, head, other)]
    model = resolve_model("smollm2", device="cpu")
    found = rank_triples(graph(rows), model, wordings=plainly, cache=":memory:").table
    areas = []
    for relation in triples:
        mine = found.filter(pl.col("relation") == relation).to_dicts()
        good = [r["plausibility"] for r in mine if (relation, r["head"], r["tail"]) in true]
        bad = [r["plausibility"] for r in mine if (relation, r["head"], r["tail"]) not in true]
        assert len(good) == len(bad) == 5
        areas.append(sum((g > b) + (g == b) / 2 for g in good for b in bad) / 25)
    area = sum(areas) / len(areas)
    print(f"AUC of true against shuffled tails: {area:.3f}")
    assert area > 0.7  # chance is 0.5
