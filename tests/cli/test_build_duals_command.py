"""boxpen build duals on the command line: from a suite to a suite of blocks, and how it ends."""

import csv
import json

import pytest

import boxpen as api
from boxpen.build.wordnet_files import find_wordnet
from boxpen.catalog import write_suite
from boxpen.cli import main
from boxpen.errors import BuildError

for library in ("lemminflect", "inflect", "nltk", "spellchecker"):
    pytest.importorskip(library)

PAIRS = [
    ("The puppy is in its kennel.", "The puppy is in its kettle."),
    ("Bells are not cast of wool.", "Bells are not cast of bronze."),
    ("I felt cold, so I shut the window.", "I felt cold, so I shut the piano."),
    ("Please go away!", "Please go home!"),
]


@pytest.fixture(autouse=True)
def _wordnet():
    try:
        find_wordnet(download=False)
    except BuildError as error:
        pytest.skip(str(error))


@pytest.fixture
def boxpen(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)

    def run(*words):
        monkeypatch.setattr("sys.argv", ["boxpen", "build", "duals", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return ended.value.code, said.out, said.err

    return run


@pytest.fixture
def suite(tmp_path):
    items = [
        api.Choice(id=f"p{n}", candidates=pair, gold=0, language="en")
        for n, pair in enumerate(PAIRS)
    ]
    path = tmp_path / "pairs.jsonl"
    write_suite(api.Suite("pairs", tuple(items)), path)
    return path


@pytest.fixture
def folder(boxpen, suite, tmp_path):
    code, _, err = boxpen("propose", suite, "--out", tmp_path / "d", "--model", "none")
    assert code == 0, err
    return tmp_path / "d"


def filled(path, verdict):
    """Fill in a sheet: every row gets what the function says of it."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    for row in rows:
        row["verdict"] = verdict(row)
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    return rows


def test_proposals_are_counted_and_what_is_left_is_told(boxpen, suite, tmp_path):
    code, out, _ = boxpen("propose", suite, "--out", "d", "--model", "none")
    assert code == 0
    assert "of 3 of 4 pairs" in out
    assert "1: no finite verb was found that both sentences have" in out
    code, out, _ = boxpen("propose", suite, "--out", "d", "--model", "none", "--json")
    done = json.loads(out)
    assert [one["stage"] for one in done] == ["propose", "rank"]
    assert not any(one["done_now"] for one in done)
    code, out, _ = boxpen("unchanged", "d", "--operation", "del", "--json")
    assert code == 0
    assert {one["item"] for one in json.loads(out)["unchanged"]} == {"p0", "p2", "p3"}


def test_a_language_model_ranks(boxpen, suite, gpt2_dir, tmp_path, monkeypatch):
    monkeypatch.setenv("BOXPEN_CACHE", str(tmp_path / "cache"))
    words = ("propose", suite, "--out", "d", "--model", f"hf:{gpt2_dir}", "--min-fluency", -50)
    code, out, err = boxpen(*words)
    assert code == 0, err
    assert "rank: " in out
    code, out, _ = boxpen(*words)
    assert "rank (up to date)" in out
    code, _, err = boxpen(*words[:-1], 50)
    assert code == 2
    assert "duals has a fluency of 50.0 or more; give a smaller --min-fluency" in err


def test_from_sheets_to_a_suite_of_blocks(boxpen, folder):
    for judge in ("anna", "bo"):
        code, _, err = boxpen(
            "export", folder, "--judge", judge, "--out", f"{judge}.csv", "--blind"
        )
        assert code == 0
        assert "dual(s) to judge" in err
    rows = filled(folder.parent / "anna.csv", lambda row: "accept")
    assert "reason" not in rows[0]
    filled(folder.parent / "bo.csv", lambda row: "a" if row["operation"] != "del" else "relabel")
    code, _, err = boxpen("import", folder, "anna.csv", "bo.csv")
    assert code == 0, err
    code, out, _ = boxpen("status", folder, "--json")
    told = json.loads(out)
    assert told["judges"] == {"anna": len(rows), "bo": len(rows)}
    deleted = sum(row["operation"] == "del" for row in rows)
    assert deleted
    assert len(told["disagreements"]) == deleted
    assert told["decisions"][-1]["open"] == deleted
    code, out, err = boxpen("write", folder, "--out", "duals.jsonl", "--min-judges", 2, "--json")
    assert code == 0, err
    blocks = json.loads(out)["blocks"]
    assert blocks == len(rows) - deleted
    found = api.load_suite(folder.parent / "duals.jsonl")
    assert found.name == "pairs-duals"
    assert all(len(block) == 2 for block in found.blocks().values())
    assert len(found) == 2 * blocks
    assert {"operation", "expected"} <= set(found.tag_values())
    words = ("write", folder, "--out", "bo.jsonl", "--rule", "adjudicator", "--adjudicator")
    code, out, err = boxpen(*words, "bo")
    assert code == 0, err
    found = api.load_suite(folder.parent / "bo.jsonl").where(operation="del", side="dual")
    assert {item.tags["expected"] for item in found} == {"kept"}  # relabelled by bo
    assert {item.gold for item in found} == {0}
    code, _, err = boxpen(*words, "cy")
    assert code == 2
    assert "there is no judge 'cy'" in err


def test_an_evaluation_shows_consistency_by_operation(boxpen, folder, gpt2):
    code, _, err = boxpen("write", folder, "--out", "all.jsonl", "--unjudged")
    assert code == 0, err
    suite = api.load_suite(folder.parent / "all.jsonl")
    run = api.evaluate(gpt2, suite, cache=":memory:")
    metrics = {row.metric for row in run.summary()}
    assert {"consistency", "both_right"} <= metrics


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("propose", "nowhere.jsonl", "--out", "d"), "nowhere.jsonl"),
        (("propose", "{suite}", "--out", "d", "--operation", "drop"), "no operation 'drop'"),
        (("propose", "{suite}", "--out", "d", "--top", "0"), "top is 0, expected 1 or more"),
        (("export", "none", "--judge", "a", "--out", "a.csv"), "'boxpen build duals propose' writ"),
        (("export", "{folder}", "--judge", "a", "--out", "a.txt"), "ends in .csv"),
        (("export", "{folder}", "--judge", " ", "--out", "a.csv"), "--judge is empty"),
        (("import", "{folder}", "nothing.csv"), "nothing.csv"),
        (("write", "{folder}", "--out", "x.csv"), "expected a file that ends in .jsonl"),
        (("write", "{folder}", "--out", "x.jsonl"), "people accepted none of"),
        (("write", "{folder}", "--out", "{folder}/source.jsonl"), "which holds the originals"),
        (("unchanged", "none"), "there is no none/unchanged.parquet"),
    ],
)
def test_wrong_words_end_with_one_sentence(boxpen, folder, suite, words, message):
    before = sorted(path.name for path in folder.parent.iterdir())
    given = [word.format(suite=suite, folder=folder) for word in words]
    code, _, err = boxpen(*given)
    assert code == 2
    assert message in err
    assert "Traceback" not in err
    assert len([line for line in err.splitlines() if line.startswith("boxpen:")]) == 1
    assert sorted(path.name for path in folder.parent.iterdir()) == before


def test_a_suite_without_pairs_is_refused(boxpen, tmp_path):
    three = api.Choice(id="1", candidates=("a", "b", "c"), gold=0)
    write_suite(api.Suite("three", (three,)), tmp_path / "three.jsonl")
    code, _, err = boxpen("propose", "three.jsonl", "--out", "d")
    assert code == 2
    assert "suite 'three' has no pair of English sentences among 1 items" in err
    assert "it has 3 candidates, not two" in err
    assert not (tmp_path / "d").exists()


def test_a_changed_text_is_judged_anew(boxpen, folder, suite, tmp_path):
    boxpen("export", folder, "--judge", "a", "--out", "a.csv")
    filled(tmp_path / "a.csv", lambda row: "y")
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as stream:
        text = stream.read()
    (tmp_path / "a.csv").write_text(text.replace("kennel", "garden"), encoding="utf-8")
    code, _, err = boxpen("import", folder, "a.csv")
    assert code == 2
    assert "line" in err
    assert not (folder / "review.jsonl").exists()
