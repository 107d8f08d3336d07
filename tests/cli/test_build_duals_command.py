"""boxpen build duals on the command line: from a suite to a suite of blocks, and how it ends."""

import csv
import json
import math
from dataclasses import replace

import pytest

import boxpen as api
from boxpen.build.duals.rows import read_rows
from boxpen.build.duals.stages import PROPOSALS
from boxpen.catalog import write_suite
from boxpen.cli import main
from boxpen.english.wordnet_files import find_wordnet
from boxpen.errors import BuildError

for library in ("lemminflect", "inflect", "nltk", "spellchecker"):
    pytest.importorskip(library)

PAIRS = [
    ("A puppy can sleep in a kennel.", "A puppy can sleep in a kettle."),
    ("Bells are not cast of wool.", "Bells are not cast of bronze."),
    ("I felt cold, so I shut the window.", "I felt cold, so I shut the piano."),
    ("Please go away!", "Please go home!"),
]


UNJUDGED = ("apply", "{folder}", "--out", "x.jsonl", "--unjudged")


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
        of_review = words[0] in ("export", "import", "status", "apply")
        command = "review" if of_review else "build"
        monkeypatch.setattr("sys.argv", ["boxpen", command, *map(str, words)])
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
def propose(boxpen, tmp_path):
    """Return what runs a build with these settings."""

    def run(suite, *words, out="d", **settings):
        table = {"builder": "duals", "suite": str(suite), "folder": str(out), "model": "none"}
        lines = [f"{key} = {json.dumps(value)}" for key, value in {**table, **settings}.items()]
        path = tmp_path / "duals.toml"
        path.write_text("\n".join(lines))
        return boxpen("run", path, *words)

    return run


@pytest.fixture
def folder(propose, suite, tmp_path):
    code, _, err = propose(suite)
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


def duals(folder):
    return read_rows(folder / PROPOSALS)


def test_proposals_are_counted_and_what_is_left_is_told(boxpen, propose, suite):
    code, out, _ = propose(suite)
    assert code == 0
    assert "of 3 of 4 pairs" in out
    assert "left out" not in out
    assert "no dual of 1 pair(s): no finite verb was found in a sentence" in out
    code, out, _ = propose(suite, "--json")
    done = json.loads(out)
    assert [one["stage"] for one in done] == ["propose", "rank"]
    assert not any(one["done_now"] for one in done)
    code, out, _ = boxpen("dropped", "duals.toml", "--step", "del", "--json")
    assert code == 0
    assert {one["item"] for one in json.loads(out)["dropped"]} == {"p0", "p2"}
    code, out, _ = boxpen("dropped", "duals.toml", "--step", "all", "--where", "item=P3")
    assert out == "all\tno finite verb was found in a sentence\tp3\n"


def test_items_that_are_no_pairs_are_listed(boxpen, propose, suite):
    found = api.load_suite(suite)
    three = api.Choice(id="c0", candidates=("A cup.", "A pot.", "A pan."), gold=0, language="en")
    after = replace(found.items[0], id="c1", context="It rains.")
    same = replace(found.items[0], id="p9", candidates=("A pan is hot.", "A pan is hot!"))
    write_suite(found.take([three, after, *found.items, same]), suite)
    code, out, _ = propose(suite)
    assert code == 0
    assert "left out: 2 item(s) that are not pairs\n" in out
    _, out, err = boxpen("dropped", "duals.toml", "--step", "pair")
    lines = [line.split("\t") for line in out.splitlines()]
    assert [line[2] for line in lines] == ["c0", "c1"]
    assert lines[0][:2] == ["pair", "it has 3 candidates, not two"]
    assert err.endswith("2 of 2 dropped row(s)\n")
    _, out, err = boxpen("dropped", "duals.toml", "--step", "pair", "--limit", 1)
    assert out.count("\n") == 1
    assert err.endswith("1 of 2 dropped row(s)\n")
    _, out, err = boxpen("dropped", "duals.toml", "--step", "all", "--json")
    assert {row["item"]: row["reason"] for row in json.loads(out)["dropped"]} == {
        "p3": "no finite verb was found in a sentence",
        "p9": "its sentences have the same words",
    }


def test_one_restriction_and_one_role_of_a_pair_are_enough(boxpen, propose, tmp_path):
    pair = ("He gave my aunt some tea.", "He gave my aunt some sand.")
    item = api.Choice(id="t", candidates=pair, gold=0, language="en")
    write_suite(api.Suite("one", (item,)), tmp_path / "one.jsonl")
    code, out, _ = propose("one.jsonl", "--json", top=99)
    assert code == 0
    made = {(row["operation"], row["edit"]): row["duals"] for row in json.loads(out)[0]["duals"]}
    kept = [(row["operation"], row["kind"]) for row in duals(tmp_path / "d")]
    assert made["add", "restriction"] > 1
    assert kept.count(("add", "restriction")) == 1
    assert kept.count(("sub", "role")) <= 1
    _, out, _ = boxpen("dropped", "duals.toml", "--step", "repeated", "--json")
    rows = json.loads(out)["dropped"]
    assert len(rows) == sum(made.values()) - len(kept)
    assert "one restriction of this kind per pair is enough" in {row["reason"] for row in rows}


def test_a_language_model_ranks(propose, suite, gpt2_dir, tmp_path, monkeypatch):
    monkeypatch.setenv("BOXPEN_CACHE", str(tmp_path / "cache"))
    settings = {"model": f"hf:{gpt2_dir}", "min_fluency": -50}
    code, out, err = propose(suite, **settings)
    assert code == 0, err
    assert "rank: " in out
    code, out, _ = propose(suite, **settings)
    assert "rank (up to date)" in out
    code, _, err = propose(suite, **{**settings, "min_fluency": 50})
    assert code == 2
    assert "duals has a fluency of 50.0 or more; lower min_fluency" in err


def test_pairs_that_lose_all_their_duals_in_ranking_are_counted(
    boxpen, propose, suite, gpt2_dir, tmp_path, monkeypatch
):
    monkeypatch.setenv("BOXPEN_CACHE", str(tmp_path / "cache"))
    settings = {"model": f"hf:{gpt2_dir}", "top": 99}
    code, out, _ = propose(suite, min_fluency=-50, **settings)
    assert code == 0
    assert "left out" not in out
    best: dict[str, float] = {}
    for row in read_rows(tmp_path / "d" / PROPOSALS):
        best[row["item"]] = max(row["fluency"], best.get(row["item"], -math.inf))
    first, *others = sorted(best.values(), reverse=True)
    assert others
    assert others[0] < first
    for _ in range(2):  # the second time it is up to date, and says so all the same
        _, out, _ = propose(suite, min_fluency=first, **settings)
        assert f"left out: {len(others)} pair(s) of which no dual is fluent enough\n" in out
    _, out, _ = propose(suite, "--json", min_fluency=first, **settings)
    assert json.loads(out)[-1]["lost"] == len(others)
    _, out, _ = boxpen("dropped", "duals.toml", "--step", "fluency", "--json")
    rows = json.loads(out)["dropped"]
    assert all(row["fluency"] < first and "is below" in row["reason"] for row in rows)


def test_from_sheets_to_a_suite_of_blocks(boxpen, folder):
    for judge in ("anna", "bo"):
        code, _, err = boxpen(
            "export", folder, "--judge", judge, "--out", f"{judge}.csv", "--blind"
        )
        assert code == 0
        assert "dual(s) to judge" in err
    gold = {row["id"]: (row["first"], row["second"])[row["gold"]] for row in duals(folder)}

    def expected(row):
        return "1" if row["1"] == gold[row["item"]] else "2"

    rows = filled(folder.parent / "anna.csv", expected)
    assert "reason" not in rows[0]
    other = {"1": "2", "2": "1"}
    sides = [row["verdict"] for row in rows]
    assert set(sides) == {"1", "2"}  # the expected sentence is first or second
    bo = filled(
        folder.parent / "bo.csv",
        lambda row: other[expected(row)] if "-del-" in row["item"] else expected(row),
    )
    assert {row["item"]: row["1"] for row in rows} != {row["item"]: row["1"] for row in bo}
    code, _, err = boxpen("import", folder, "anna.csv", "bo.csv")
    assert code == 0, err
    code, out, _ = boxpen("status", folder, "--json")
    told = json.loads(out)
    assert told["judges"] == {"anna": len(rows), "bo": len(rows)}
    deleted = sum("-del-" in row["item"] for row in rows)
    assert deleted
    assert len(told["disagreements"]) == deleted
    assert told["operations"][-1]["open"] == deleted
    code, out, err = boxpen("apply", folder, "--out", "duals.jsonl", "--min-judges", 2, "--json")
    assert code == 0, err
    blocks = json.loads(out)["blocks"]
    assert blocks == len(rows) - deleted
    found = api.load_suite(folder.parent / "duals.jsonl")
    assert found.name == "pairs-duals"
    assert found.card.notes.endswith("accepted by judges, each dual judged by 2")
    assert boxpen("apply", folder, "--out", "duals.jsonl", "--min-judges", 2)[0] == 2
    assert all(len(block) == 2 for block in found.blocks().values())
    assert len(found) == 2 * blocks
    assert {"operation", "expected"} <= set(found.tag_values())
    words = ("apply", folder, "--out", "bo.jsonl", "--rule", "adjudicator", "--adjudicator")
    code, out, err = boxpen(*words, "bo")
    assert code == 0, err
    found = api.load_suite(folder.parent / "bo.jsonl").where(operation="del", side="dual")
    assert {item.tags["expected"] for item in found} == {"kept"}  # relabelled by bo
    assert {item.gold for item in found} == {0}
    code, _, err = boxpen(*words, "cy", "--overwrite")
    assert code == 2
    assert "there is no judge 'cy'" in err


def test_an_evaluation_shows_consistency_by_operation(boxpen, folder, gpt2):
    code, _, err = boxpen("apply", folder, "--out", "all.jsonl", "--unjudged")
    assert code == 0, err
    suite = api.load_suite(folder.parent / "all.jsonl")
    run = api.evaluate(gpt2, suite, cache=":memory:")
    metrics = {row.metric for row in run.summary()}
    assert {"consistency", "both_right"} <= metrics


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("export", "none", "--judge", "a", "--out", "a.csv"), "suite 'none' is neither known nor"),
        (("export", "{folder}", "--judge", "a", "--out", "a.txt"), "ends in .csv"),
        (("export", "{folder}", "--judge", " ", "--out", "a.csv"), "--judge is empty"),
        (("import", "{folder}", "nothing.csv"), "nothing.csv"),
        (("apply", "{folder}", "--out", "x.csv"), "expected a file that ends in .jsonl"),
        (("apply", "{folder}", "--out", "x.jsonl"), "duals is accepted: 0 rejected"),
        (("apply", "{folder}", "--out", "{folder}/source.jsonl"), "which holds the originals"),
        (("dropped", "none.toml"), "none.toml cannot be read: No such file"),
        (("dropped", "duals.toml", "--step", "foo"), "the step 'foo' dropped nothing; steps that"),
        (("dropped", "duals.toml", "--where", "foo"), "--where is 'foo', expected KEY=VALUE"),
        (("run", "duals.toml", "--stage", "foo"), "there is no stage 'foo', known: propose, rank"),
        ((*UNJUDGED, "--name", "a/b c"), "--name is 'a/b c', expected a valid file name"),
        ((*UNJUDGED, "--name", "."), "--name is '.', expected a valid file name"),
        ((*UNJUDGED, "--name", ".."), "expected a valid file name"),
        ((*UNJUDGED, "--name", "a\\b"), "expected a valid file name"),
        ((*UNJUDGED, "--name", " "), "--name is empty"),
        ((*UNJUDGED, "--name", "x" * 201), "expected a valid file name"),
        ((*UNJUDGED, "--name", "a\tb"), "expected a valid file name"),
        ((*UNJUDGED, "--rule", "majority"), "--unjudged and --rule cannot be combined"),
        ((*UNJUDGED, "--min-judges", "1"), "--unjudged and --min-judges cannot be combined"),
        ((*UNJUDGED, "--adjudicator", "bo"), "--unjudged and --adjudicator cannot be combined"),
        ((*UNJUDGED, "--divided", "open"), "--unjudged and --divided cannot be combined"),
        ((*UNJUDGED, "--journal", "j.jsonl"), "--unjudged and --journal cannot be combined"),
        (("apply", "{folder}", "--out", "x.jsonl", "--min-judges", "0"), "min-judges is 0"),
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


def test_a_suite_that_is_not_there_is_told(propose):
    code, _, err = propose("nowhere.jsonl")
    assert code == 2
    assert "nowhere.jsonl" in err


def test_a_suite_without_pairs_is_refused(propose, tmp_path):
    three = api.Choice(id="1", candidates=("a", "b", "c"), gold=0)
    write_suite(api.Suite("three", (three,)), tmp_path / "three.jsonl")
    code, _, err = propose("three.jsonl", model="smollm2")
    assert code == 2
    assert "suite 'three' has no pair of English sentences among 1 items" in err
    assert "it has 3 candidates, not two" in err
    assert not (tmp_path / "d").exists()


@pytest.mark.parametrize(
    ("name", "holds"),
    [
        ("review.jsonl", "the judgements"),
        ("source.jsonl", "the originals"),
        ("proposals.parquet", "the duals that were proposed"),
        ("unchanged.parquet", "what was left unchanged"),
        ("stages.json", "the record of the build"),
    ],
)
def test_a_suite_takes_the_place_of_no_file_of_the_build(boxpen, folder, name, holds):
    boxpen("export", folder, "--judge", "anna", "--out", "anna.csv")
    filled(folder.parent / "anna.csv", lambda row: "1")
    assert boxpen("import", folder, "anna.csv")[0] == 0
    before = (folder / name).read_bytes()
    link = folder.parent / "link.jsonl"
    link.symlink_to(folder / name)
    for out in (folder / name, link):
        for more in ((), ("--unjudged",), ("--overwrite",)):
            code, _, err = boxpen("apply", folder, "--out", out, *more)
            assert code == 2
            assert f"{out}, which holds {holds};" in err
            assert (folder / name).read_bytes() == before


def test_a_suite_takes_the_place_of_no_journal(boxpen, folder):
    boxpen("export", folder, "--judge", "anna", "--out", "anna.csv")
    filled(folder.parent / "anna.csv", lambda row: "1")
    journal = folder.parent / "mine.jsonl"
    assert boxpen("import", folder, "anna.csv", "--journal", journal)[0] == 0
    before = journal.read_bytes()
    words = ("apply", folder, "--out", "mine.jsonl", "--journal", journal, "--overwrite")
    code, _, err = boxpen(*words)
    assert code == 2
    assert "--out is mine.jsonl, which holds the judgements" in err
    assert journal.read_bytes() == before


def test_a_build_that_fails_leaves_no_empty_folder(propose, tmp_path):
    last = api.Choice(id="1", candidates=PAIRS[-1], gold=0, language="en")
    write_suite(api.Suite("norule", (last,)), tmp_path / "norule.jsonl")
    (tmp_path / "mine").mkdir()
    (tmp_path / "duals.toml").touch()
    before = sorted(tmp_path.rglob("*"))
    for out in ("q", "q/r/s", "mine", "mine/q"):
        code, _, err = propose("norule.jsonl", out=out)
        assert code == 2
        assert "no rule can change any of 1 pairs of suite 'norule'" in err
        assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("stage", ["propose", "rank_proposals"])
def test_an_interrupt_keeps_what_was_done(propose, suite, tmp_path, monkeypatch, stage):
    where = {"propose": "stages.propose", "rank_proposals": "rank.rank_proposals"}[stage]

    def stop(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(f"boxpen.build.duals.{where}", stop)
        code, _, err = propose(suite, out="new/d")
    assert code == 130
    assert [line for line in err.splitlines() if line.strip()] == [
        "boxpen: interrupted; rerun the same command to resume"
    ]
    assert (tmp_path / "new" / "d" / "source.jsonl").exists() == (stage != "propose")
    assert (tmp_path / "new").exists() == (stage != "propose")
    code, out, _ = propose(suite, out="new/d")
    assert code == 0
    assert ("propose (up to date)" in out) == (stage != "propose")


def test_a_configuration_stands_for_its_folder(boxpen, folder, tmp_path):
    sheets = []
    for target in (folder, "duals.toml"):
        words = ("export", target, "--judge", "ann", "--out", "ann.csv", "--overwrite")
        assert boxpen(*words)[0] == 0
        sheets.append((tmp_path / "ann.csv").read_bytes())
    assert sheets[0] == sheets[1]
    rows = filled(tmp_path / "ann.csv", lambda row: "accept")
    code, _, err = boxpen("import", "duals.toml", "ann.csv")
    assert code == 2  # a blind judge does not know what would be accepted
    assert "has the verdict 'accept', expected a number from 1 to 2 or 'both' or 'neither'" in err
    assert len(rows) > 1
    filled(tmp_path / "ann.csv", lambda row: "1")
    assert boxpen("import", "duals.toml", "ann.csv")[0] == 0
    assert (folder / "review.jsonl").is_file()
