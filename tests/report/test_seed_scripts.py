"""The scripts of docs/results/seeds.md: names, samples, and the line through the points."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import asdict, replace

import kinds
import pytest
import results

import nmt
import small_runs
from boxpen import Card, Choice, Suite, evaluate
from boxpen.metrics.intervals import Estimate
from boxpen.scoring.verdicts import Verdict


def test_samples_are_nested_apart_from_what_is_held_out_and_drawn_by_the_seed():
    lines = [f"line {i}" for i in range(100)]
    found = kinds.samples(lines, 10, (5, 20, 90), (1, 2))
    held = set(found["held-out.txt"])
    assert len(held) == 10
    for seed in (1, 2):
        small, some, most = (found[kinds.text_of(n, seed)] for n in (5, 20, 90))
        assert most[:20] == some
        assert some[:5] == small
        assert set(most) == set(lines) - held
    assert found[kinds.text_of(20, 1)] != found[kinds.text_of(20, 2)]
    assert kinds.samples(lines, 10, (5, 20, 90), (1, 2)) == found
    with pytest.raises(SystemExit, match="90 sentences are left to learn from, expected 91"):
        kinds.samples(lines, 10, (91,), (1,))


@pytest.mark.parametrize(("scale", "count"), [("small", 27), ("longer", 6), ("full", 18)])
def test_all_trainings_of_a_scale_read_as_many_sentences(scale, count):
    made = kinds.Kinds(scale)
    assert len(set(made.names)) == len(made.names) == count
    assert all(made.settings["read"] % size == 0 for size in made.settings["sentences"])
    size, kind = made.settings["sentences"][1], list(made.settings["models"])[-1]
    assert made.named(f"{kind}-{size}@3") == kinds.Name(kind, size, 3)
    for wrong in (kind, f"bidi-{size}", f"{kind}-{size}@4", f"{kind}-7"):
        with pytest.raises(SystemExit, match=f"no training '{wrong}'; expected .*{kind}, one of"):
            made.named(wrong)


def test_the_line_is_that_of_weighted_least_squares():
    exact = [(2.0**k, Estimate(0.1 + 0.02 * k, 0.02 * k, 0.2 + 0.02 * k, 9)) for k in (3, 5, 9)]
    fit = kinds.line(exact)
    assert fit.slope == pytest.approx(0.02)
    assert (fit.centre, fit.accuracy) == pytest.approx((17 / 3, 0.1 + 0.02 * 17 / 3))
    # Equal weights: the textbook's error of a slope, with the error of a point known.
    assert fit.error == pytest.approx(
        0.1 / kinds.Z95 / math.sqrt(sum((k - 17 / 3) ** 2 for k in (3, 5, 9)))
    )
    assert fit.error_there == pytest.approx(0.1 / kinds.Z95 / math.sqrt(3))
    blurred = [exact[0], exact[1], (exact[2][0], Estimate(9.0, -1e6, 1e6, 9))]
    assert kinds.line(blurred).slope == pytest.approx(0.02, abs=1e-6)


@pytest.mark.parametrize("slope", [0.03, 0.011, 0.0105, 0.005, -0.004, -0.02])
def test_where_a_line_has_an_accuracy_is_where_its_band_does(slope):
    """Against a plain twin: walk to the right until the band has the accuracy, and has not."""
    fit = kinds.Line(slope, 0.005, 20.0, 0.55, 0.01)
    found, low, high = kinds.reached(fit, 0.6)

    def band(at, sign):
        half = kinds.Z95 * math.hypot(fit.error_there, fit.error * (at - 20))
        return 0.55 + slope * (at - 20) + sign * half

    steps = [20 + n / 100 for n in range(100_000)]
    first = next((at for at in steps if band(at, 1) >= 0.6), math.inf)
    last = next((at for at in steps if band(at, -1) >= 0.6), math.inf)
    assert low == pytest.approx(first, abs=0.011)
    assert high == pytest.approx(last, abs=0.011)
    assert found == (pytest.approx(20 + 0.05 / slope) if slope > 0 else math.inf)


def test_the_lines_of_the_page_are_those_of_its_points():
    points, _, lines = results.shown("seeds", "bilm").partition("\n\n")
    assert lines.splitlines() == kinds.lines_through(points)
    assert kinds.words_cell(3.0, math.inf, 200.0) == "8.0e+00 [none, more than 10^30]"


def test_a_name_is_architecture_share_and_seed():
    assert nmt.parts_of("rnnsearch", nmt.FULL) == ("rnnsearch", "", 1)
    assert nmt.parts_of("transformer-1-16@12", nmt.FULL) == ("transformer", "1-16", 12)
    for name in ("rnnsearch", "transformer@3", "transformer-1-2@2"):
        parts = nmt.parts_of(name, nmt.FULL)
        assert nmt.folder_name(*parts) == name.replace("@", "-seed")
    for scale, wrong in (
        (nmt.FULL, "rnn"), (nmt.FULL, "transformer-1-512"), (nmt.FULL, "transformer@0"),
        (nmt.SMALL, "transformer"), (nmt.FULL, "transformer@x"),
    ):  # fmt: skip
        with pytest.raises(SystemExit, match=f"no training '{wrong}'; expected rnnsearch or"):
            nmt.parts_of(wrong, scale)


def test_trainings_of_a_share_differ_in_nothing_but_the_seed_and_of_a_small_scale_in_steps_neither(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("BOXPEN_MIRROR", str(tmp_path))
    small = replace(nmt.SMALL, folder=tmp_path, data=tmp_path / "data")
    made = {name: nmt.config(name, small) for name in
            ("transformer-1-32", "transformer-1-32@2", "rnnsearch-1-512@2")}  # fmt: skip
    one, two, other = map(asdict, made.values())
    assert {key for key in one if one[key] != two[key]} == {"seed", "folder"}
    assert {key for key in two if two[key] != other[key]} == {"folder", "model", "train"}
    changed = {key for key in two["train"] if two["train"][key] != other["train"][key]}
    assert changed == {"share"}


def test_trainings_with_seeds_read_the_full_corpus_for_as_many_steps(tmp_path, monkeypatch):
    monkeypatch.setenv("BOXPEN_MIRROR", str(tmp_path))
    scale = replace(nmt.SEEDS, folder=tmp_path)
    one, other = (nmt.config(name, scale) for name in ("transformer@3", "rnnsearch@3"))
    assert one.data == other.data == nmt.FULL.data
    assert one.train == other.train
    assert one.folder != other.folder


def trained(*outcomes: str) -> list[dict[str, list[Verdict]]]:
    """What a kind did with several seeds on five sets, the same on all."""
    out = []
    for outcome in outcomes:
        verdicts = small_runs.small_run(outcome).verdicts
        out.append(
            {part: [replace(v, id=f"{part} {v.id}", block=None) for v in verdicts]
             for sets in kinds.SETS.values() for part in sets}
        )  # fmt: skip
    return out


def test_kinds_are_compared_on_every_size_and_sizes_of_every_kind():
    figures = [{"loss": loss, "parameters": 1000, "words": 10} for loss in (3.0, 3.5)]
    found = {
        (100, "causal"): kinds.Seeds(figures, trained("++------", "+++-----")),
        (100, "masked"): kinds.Seeds(figures, trained("+++++---", "++++++--")),
        (200, "causal"): kinds.Seeds(figures, trained("+++++---", "+++++---")),
        (200, "bilm"): kinds.Seeds(figures, trained("++++----", "++++----")),
    }
    rows = [row.split(" | ") for row in kinds.gaps_table(found).splitlines()[2:]]
    assert [[cell[:6] for cell in row[1:]] for row in rows] == [
        ["masked", *["+0.375"] * 6],
        ["bilm", *["-0.125"] * 6],
    ]
    # Five sets that agree are one set of five times the items.
    assert len({row[2] for row in rows}) == 2
    (row,) = kinds.data_table(found).splitlines()[2:]
    assert row.startswith("| causal | 200 minus 100 | +0.312 [")
    table = kinds.accuracy_table(found, read=200).splitlines()
    assert table[2].startswith("| 100 | 2 | causal | 1,000 | 2 | 3.250 [0.073, 6.427] | 0.312 [")
    assert len({line.count("|") for line in table}) == 1


def test_a_pair_of_sentences_in_two_sets_counts_as_one_in_intervals(tmp_path):
    """As of Sen-Making and ``sm``, which differ in case, full stops and the order of sentences."""
    rng = random.Random(2)
    right = {n: [rng.random() < 0.7 for _ in range(2)] for n in range(40)}
    seeds = kinds.Seeds([], [])
    for seed in range(2):
        folder = tmp_path / str(seed)
        for name, sets in kinds.SETS.items():
            items, liked = [], set()
            for part, n in itertools.product(sets, range(40 if "s" in name else 1)):
                own = "" if part in ("sen-making", "sm") else part
                texts = [f"{own} He put {n} on.", f"{own} He drank {n}."]
                if part == "sm":
                    texts = [f"{t.lower().strip(' .')}  ." for t in reversed(texts)]
                gold = int(part == "sm")
                items.append(
                    Choice(id=f"{part}-{n}", candidates=tuple(texts), gold=gold, tags={"set": part})
                )
                liked.add(" ".join(texts[gold if right[n][seed] else 1 - gold].split()))
            suite = Suite(name, tuple(items), Card(language="en"))
            evaluate(small_runs.Liking("m", liked), suite, cache=":memory:").save(folder / name)
        seeds.verdicts.append(kinds.verdicts_of(folder))
    first = {part: {v.block for v in some} for part, some in seeds.verdicts[0].items()}
    assert first["sen-making"] == first["sm"]
    assert len(first["sm"]) == 40
    one = seeds.accuracy("sen-making")
    both = kinds.Seeds([], [
        {"both": by["sen-making"] + by["sm"]} for by in seeds.verdicts
    ]).accuracy("both")  # fmt: skip
    assert both[:3] == pytest.approx(one[:3])
    assert (one.n, both.n) == (40, 80)


def test_the_transformer_is_compared_with_rnnsearch_over_seeds_and_alone():
    def seeds(losses: tuple[float, ...], *outcomes: str) -> nmt.Seeds:
        figures = [
            {"loss": loss, "tvsub_bleu": [loss], "pairs": 5000, "epochs": 2.0} for loss in losses
        ]
        runs = [small_runs.small_run(o, model=f"m{o}{losses}") for o in outcomes]
        return nmt.Seeds(figures, {"sound": runs, "paper": runs})

    found = {
        ("1-16", "rnnsearch"): seeds((4.0, 4.2), "++--", "+---"),
        ("1-16", "transformer"): seeds((3.0, 3.4), "+++-", "++++"),
    }
    sound, paper = nmt.gaps_table(found).splitlines()[2:]
    assert sound == paper.replace("| paper |", "| sound |")
    assert sound.startswith("| 5,000 | sound | +0.500 [")
    assert "| +0.250 [" in sound  # of the first seeds
    assert "| -0.900 [" in sound
    table = nmt.seeds_table(found).splitlines()
    assert "| 3.200 (3.000 to 3.400) |" in table[3]
    assert "| 0.875 (0.750 to 1.000) |" in table[3]
    assert len({line.count("|") for line in table}) == 1
