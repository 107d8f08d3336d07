"""What readers say of tests from a graph: drawn blind, gathered by id, counted by hand."""

import math
import random
from collections import defaultdict

import kg_judged
import kg_readings
import pytest

from boxpen import load_suite
from boxpen.analysis.relations import is_wrong
from boxpen.build.kg.wording.templates import load_templates
from boxpen.catalog.files import write_suite
from boxpen.items import Entail
from boxpen.metrics.intervals import Z95

HEAD = ("sample", "relation", "task", "item", "question", "reader", "verdict")
KEY = [
    ("1", "isa", "qa", "isa-1-qa-1", "b"),
    ("2", "isa", "nli", "isa-1-nli-1", "t"),
    ("3", "hasa", "nli, wrong tails", "hasa-1-nli-1-wrong", "uf"),
    ("4", "xWant", "nli", "xWant-1-nli-1", "tl"),
]
SAID = ["1,y,b,w", "2,y,t,-", "3,n,u,-", "4,y,l,-"]
OLD = (kg_readings.BEFORE, "isa", "qa", "isa-9-qa-1", "tail")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "keys").mkdir()
    kg_judged._write_csv(tmp_path / "keys" / "blind.csv", ("row", *kg_judged.KEY), KEY)
    monkeypatch.setattr(kg_judged, "READ", tmp_path / "read.csv")
    old = [(*OLD, "1", "w"), (*OLD, "2", "a"), (kg_readings.NOW, *OLD[1:], "1", "w")]
    kg_judged._write_csv(tmp_path / "read.csv", HEAD, old)
    fill(tmp_path, 1, SAID)
    fill(tmp_path, 2, ["4,y,f,", "3,n,F,", "2,y,l,-", "1,Y,-,a"])
    return tmp_path


def fill(folder, reader, rows):
    lines = ["row,english,answer,tail", *rows]
    (folder / f"blind-{reader}.csv").write_text("\n".join(lines), "utf-8")


def test_answers_are_compared_with_those_expected(folder):
    kg_judged.gather(folder)
    kg_judged.gather(folder)  # a second time, nothing is counted twice
    rows = kg_judged._rows(folder / "read.csv")
    said = {(r["item"], r["question"], r["reader"]): r["verdict"] for r in rows}
    assert len(said) == len(rows) == 2 + 4 * 2 * 2 + 2 * 2  # a right tail has no wrong one
    assert said["isa-1-qa-1", "answer", "1"] == "y"
    assert said["isa-1-qa-1", "answer", "2"] == "n"  # cannot tell which
    assert said["isa-1-qa-1", "tail", "2"] == "a"
    assert said["isa-1-nli-1", "answer", "2"] == "n"  # only likely, where it should follow
    assert [said["hasa-1-nli-1-wrong", "answer", reader] for reader in "12"] == ["y", "y"]
    assert [said["hasa-1-nli-1-wrong", "tail", reader] for reader in "12"] == ["a", "w"]
    assert [said["xWant-1-nli-1", "answer", reader] for reader in "12"] == ["y", "n"]
    now, before = ([c.strip() for c in x.split("|")[2:-1]] for x in kg_readings.readings(rows)[2:])
    assert [(c.split(" ")[0], c[-4:]) for c in now] == [
        ("75%", "of 4"), ("62%", "of 4"), ("50%", "of 2")
    ]  # fmt: skip
    assert [c.split(" ")[0] for c in before] == ["–", "–", "50%"]
    now, before = (
        [c.strip() for c in x.split("|")[2:-1]] for x in kg_readings.agreements(rows)[2:]
    )
    assert [c.split(",")[0] for c in now] == ["100.0%", "25.0%", "0.0%"]
    tails = {
        c[0].strip(): c[1:] for c in (x.split("|")[1:] for x in kg_readings.by_triple(rows, {}))
    }
    assert [c.strip() for c in tails["hasa"][1:4]] == ["1 (1)", "–", "–"]  # one triple


@pytest.mark.parametrize(
    ("answer", "right", "verdicts"),
    [
        (["y", "a", "w"], "b", ["y", "n", "r"]),  # what is wrong was taken to be right
        (["y", "b", "r"], "b", ["y", "y", "r"]),
        (["n", "t", "-"], "uf", ["n", "n", "r"]),
        (["y", "u", ""], "tl", ["y", "n", "-"]),
    ],
)
def test_what_an_answer_says_of_the_expected_one(answer, right, verdicts):
    assert kg_judged._compared(answer, right, "here") == verdicts


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (SAID[:3], "lacks or adds 1 rows: 4"),
        ([*SAID[:3], "4,y,a,-"], "row 4: answer is 'a'"),
        (["1,maybe,b,w", *SAID[1:]], "row 1: english is 'maybe'"),
        (["1,y,b,", *SAID[1:]], "row 1: tail is ''"),
        ([*SAID, SAID[0]], "1 rows twice"),
    ],
)
def test_a_sheet_that_is_not_filled_in_is_refused(folder, rows, message):
    before = (folder / "read.csv").read_bytes()
    fill(folder, 2, rows)
    with pytest.raises(SystemExit, match=message):
        kg_judged.gather(folder)
    assert (folder / "read.csv").read_bytes() == before


def test_two_sheets_are_needed(folder):
    (folder / "blind-2.csv").unlink()
    with pytest.raises(SystemExit, match="1 sheets, not two"):
        kg_judged.gather(folder)


def test_sheets_are_blind_and_have_no_test_that_was_read(tmp_path, monkeypatch):
    suite = load_suite("starter-graph")
    build = tmp_path / "kg"
    for name in ("files", "automatic"):
        (build / name).mkdir(parents=True)
        write_suite(suite, build / name / "kg.jsonl")
    items = {i.id: i for i in suite}
    read = [i for i in suite if i.tags["relation"] == "isa"][::2]
    rows = [("reviewed", "isa", "qa", i.id, "english", "A", "y") for i in read]
    kg_judged._write_csv(tmp_path / "read.csv", HEAD, rows)
    monkeypatch.setattr(kg_judged, "READ", tmp_path / "read.csv")
    monkeypatch.setattr(kg_judged, "BUILD", build)
    skipped = [i.id for i in suite if i.tags["relation"] == "hasa"][::2]
    (tmp_path / "skip.txt").write_text("\n".join(skipped), "utf-8")
    kg_judged.draw(tmp_path / "out", [build], tmp_path / "skip.txt")
    key = {r["row"]: r for r in kg_judged._rows(tmp_path / "out" / "keys" / "blind.csv")}
    drawn = {row["item"] for row in key.values()}
    assert len(drawn) == len(key) == 12 * kg_judged.EACH
    assert not drawn & {*skipped, *(i.id for i in read)}
    one, two = ([(r["row"], r["text"]) for r in kg_judged._rows(p)]
                for p in sorted((tmp_path / "out").glob("blind-?.csv")))  # fmt: skip
    assert one != two
    assert sorted(one) == sorted(two)
    for number, text in one:
        item = items[key[number]["item"]]
        if isinstance(item, Entail):
            assert text == f"P: {item.premise} H: {item.hypothesis}"
            right = "uf" if is_wrong(item.tags) else "tl" if item.also else "t"
        else:
            right = "ab"[item.gold]
            assert text.endswith(f"A: {item.candidates[0]} B: {item.candidates[1]}")
        assert key[number]["right"] == right


def test_no_template_has_a_wording_that_readers_found_faulty():
    texts = [t for forms in load_templates().forms.values() for f in forms for t in f.texts]
    for fault in ("Here {", "but first", "That makes {", "Over there {"):
        assert not [text for text in texts if fault in text], fault


@pytest.fixture(scope="module")
def rows():
    return kg_judged._rows(kg_judged.READ)


def wilson(value, n):
    """Wilson's interval: where the share is 1.96 of its own standard errors away."""
    z2 = 1.959963984540054**2
    root = math.sqrt(z2 * (z2 + 4 * n * value * (1 - value)))
    return (2 * n * value + z2 - root) / (2 * (n + z2)), (2 * n * value + z2 + root) / (
        2 * (n + z2)
    )


@pytest.mark.parametrize("sample", [kg_readings.NOW, kg_readings.AUTHOR, kg_readings.BEFORE])
@pytest.mark.parametrize("question", ["answer", "tail"])
def test_intervals_are_clustered_by_triple(rows, sample, question):
    """Against a plain twin: Kish's design effect, one triple at a time, and a bootstrap of them."""
    of = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if (row["sample"], row["question"]) == (sample, question):
            relation, triple, *_ = row["item"].split("-")
            of[relation, triple][row["item"]].append(row["verdict"] in ("y", "w"))
    triples = [[sum(v) / len(v) for v in items.values()] for items in of.values()]
    n = sum(map(len, triples))
    value = sum(map(sum, triples)) / n
    spread = sum((sum(triple) - len(triple) * value) ** 2 for triple in triples)
    variance = spread * len(triples) / (len(triples) - 1) / n**2
    effective = n / max(1, variance / (value * (1 - value) / n))
    found = kg_readings._share(kg_readings._of(rows, sample, question))
    assert (found.value, found.n) == (pytest.approx(value), n)
    assert (found.low, found.high) == pytest.approx(wilson(value, effective))
    dice = random.Random(7)
    means = []
    for _ in range(400):
        drawn = dice.choices(triples, k=len(triples))
        means.append(sum(map(sum, drawn)) / sum(map(len, drawn)))
    means.sort()
    assert (found.low, found.high) == pytest.approx((means[10], means[389]), abs=0.03)


def test_a_weighted_share_is_that_of_price_and_bonett(rows):
    said = {
        relation: {i: v for i, v in kg_readings._of(rows, kg_readings.AUTHOR, "tail").items()
                   if i.startswith(f"{relation}-")}
        for relation in kg_readings.RELATIONS
    }  # fmt: skip
    weights = kg_readings.wrong_tails()
    assert sum(weights.values()) == 3056
    groups = {r: w for r, w in weights.items() if w}
    value = variance = centre = 0.0
    for relation, weight in groups.items():
        some = kg_readings._share(said[relation])
        size = len({i.split("-")[1] for i in said[relation]}) if some.value == 1 else some.n
        part, more = weight / 3056, 4 / len(groups)
        middle = (size * some.value + more / 2) / (size + more)
        value += part * some.value
        centre += part * middle
        variance += part**2 * middle * (1 - middle) / (size + more)
    half = Z95 * math.sqrt(variance)
    found = kg_readings.weighted(said, weights)
    assert found == pytest.approx((value, centre - half, min(1, centre + half), 150))
    alike = kg_readings.weighted(said, dict.fromkeys(groups, 7))
    assert alike.value == pytest.approx(
        sum(kg_readings._share(said[r]).value for r in groups) / len(groups)
    )


def test_the_page_says_which_triples_were_read_before(rows):
    now, before, made_on = kg_readings.triples_read_before(rows)
    page = " ".join((kg_judged.RESULTS / "kg.md").read_text("utf-8").split())
    assert f"{before} of the {now} were in earlier samples, {made_on} of them in the two" in page
    skipped = (kg_judged.RESULTS / "data" / "kg-skip.txt").read_text("utf-8").split()
    assert f"[{len(set(skipped)):,} tests](data/kg-skip.txt)" in page
    assert not {row["item"] for row in rows if row["sample"] == kg_readings.NOW} & set(skipped)
