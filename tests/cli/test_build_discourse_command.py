"""boxpen build discourse on the command line: what it prints where, and how it ends."""

import csv
import json

import pytest

import boxpen as api
from boxpen.cli import main

CONFIG = """
name = "toy"
folder = "out"
[[texts]]
name = "films"
tsv = "films.tsv"
"""
FILMS = [
    ("My two sisters live in the old house.", "我的两个姐妹住在老房子里"),
    ("They sing every night.", "她们每天晚上都唱歌"),
    ("The girls of the choir came by train.", "合唱团的女孩们是坐火车来的"),
    ("They brought a cake.", "她们带来了一个蛋糕"),
    ("The bus leaves at noon.", "公交车中午开"),
    ("Hurry up, or we will miss it.", "快点 否则我们就赶不上了"),
]


@pytest.fixture
def config(tmp_path):
    rows = "".join(f"{n // 2}\t{n % 2}\t{en}\t{zh}\n" for n, (en, zh) in enumerate(FILMS))
    (tmp_path / "films.tsv").write_text(rows)
    path = tmp_path / "discourse.toml"
    path.write_text(CONFIG)
    return path


@pytest.fixture
def boxpen(monkeypatch, capsys):
    def run(*words):
        monkeypatch.setattr("sys.argv", ["boxpen", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return ended.value.code, said.out, said.err

    return run


def test_a_run_says_what_each_stage_did(boxpen, config):
    code, out, err = boxpen("build", "discourse", "run", config)
    assert code == 0
    assert "read: 6 of 6 lines stay, in 3 documents" in out
    assert "mine: 3 candidates in 3 snippets; the best 3 stay" in out
    assert "write: 3 items, 3 of them with contrasts" in out
    assert "boxpen:" not in err
    code, out, _ = boxpen("build", "discourse", "run", config, "--json")
    assert code == 0
    done = json.loads(out)
    assert [(d["stage"], d["done_now"]) for d in done] == [
        ("read", False), ("mine", False), ("sample", False), ("write", False),
    ]  # fmt: skip
    suite = api.load_suite(config.parent / "out" / "toy.jsonl")
    assert done[-1]["hash"] == suite.hash
    assert [item.tags["class"] for item in suite] == ["她们", "她们", "or-否则"]


def test_the_example_is_printed_and_can_be_read(boxpen, tmp_path):
    code, out, err = boxpen("build", "discourse", "example")
    assert (code, err) == (0, "")
    path = tmp_path / "example.toml"
    path.write_text(out)
    code, _, err = boxpen("build", "discourse", "run", path)
    assert code == 2
    assert "boxpen: text 'subtitles' has a file that is not there: " in err


def filled(path, verdicts):
    """Write verdicts into a sheet, by the English sentence that is judged."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    for row in rows:
        row["verdict"], _, row["edit"] = verdicts[row["source"]].partition(": ")
    with path.open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return rows


def test_people_decide_by_sheets(boxpen, config):
    folder = config.parent
    config.write_text(CONFIG + "[review]\nmin_judges = 2\n")
    code, out, err = boxpen("build", "discourse", "run", config)
    assert code == 2
    assert "sample: 3 candidates" in out  # what was done is shown
    assert "review.jsonl with the judgements of people yet; 'boxpen build discourse import'" in err
    says = {
        "ann": ("a", "edit: 她们带了一个大蛋糕来", "a"),
        "bob": ("a", "edit: 她们带了一个大蛋糕来", "reject"),
    }
    for judge, verdicts in says.items():
        sheet = folder / f"{judge}.csv"
        code, _, err = boxpen(
            "build", "discourse", "export", config, "--judge", judge, "--out", sheet
        )
        assert (code, err) == (0, f"{judge}: 3 item(s) to judge, written to {sheet}\n")
        rows = filled(sheet, dict(zip((en for en, _ in FILMS[1::2]), verdicts, strict=True)))
        assert rows[0]["class"]
        assert rows[0]["context"]
        assert rows[0]["reason"]
    code, _, err = boxpen(
        "build", "discourse", "import", config, folder / "ann.csv", folder / "bob.csv"
    )
    assert code == 0
    assert "6 judgement(s) added to " in err
    code, out, _ = boxpen("build", "discourse", "status", config, "--json")
    assert code == 0
    status = json.loads(out)
    assert status["decisions"] == {"accept": 1, "edit": 1, "reject": 0, "open": 1}
    assert status["judges"] == {"ann": 3, "bob": 3}
    whole = next(row for row in status["agreement"] if row["part"] == "all")
    # Of three items they agree on two; by chance on 2/9 + 1/9, as Ann accepts two, Bob one.
    assert whole["percent"] == pytest.approx(2 / 3)
    assert whole["cohen"] == pytest.approx((2 / 3 - 3 / 9) / (1 - 3 / 9))
    code, out, _ = boxpen("build", "discourse", "status", config)
    assert code == 0
    assert "ann: 3 of 3 judged" in out
    code, out, _ = boxpen("build", "discourse", "run", config)
    assert code == 0
    assert "accept: 2 candidates accepted, 0 rejected, 1 open" in out
    suite = api.load_suite(folder / "out" / "toy.jsonl")
    assert sorted(item.reference for item in suite) == sorted(
        ["她们每天晚上都唱歌", "她们带了一个大蛋糕来"]
    )


@pytest.mark.parametrize(
    ("verdict", "message"),
    [
        (
            "edit: 他们带来了一个蛋糕",
            "line 2 has the edit '他们带来了一个蛋糕', expected one with 她们",
        ),
        ("edit: 她们带来了一个蛋糕", "which is the translation as it was"),
        ("good", "line 2"),
    ],
)
def test_an_answer_that_cannot_be_is_refused(boxpen, config, verdict, message):
    config.write_text(CONFIG + '[sample]\nclasses = {"or-否则" = 0}\n')
    rows = [f"1\t{n}\t{en}\t{zh}\n" for n, (en, zh) in enumerate(FILMS[2:4])]
    (config.parent / "films.tsv").write_text("".join(rows))
    sheet = config.parent / "ann.csv"
    boxpen("build", "discourse", "run", config)
    boxpen("build", "discourse", "export", config, "--judge", "ann", "--out", sheet)
    filled(sheet, {FILMS[3][0]: verdict})
    code, _, err = boxpen("build", "discourse", "import", config, sheet)
    assert code == 2
    assert message in err
    assert not (config.parent / "out" / "review.jsonl").exists()


def test_a_sheet_comes_after_the_sample(boxpen, config):
    code, _, err = boxpen(
        "build", "discourse", "export", config, "--judge", "ann", "--out", config.parent / "a.csv"
    )
    assert code == 2
    assert "sampled.parquet; run the stage that writes it first" in err


def test_contrasts_are_added_to_a_suite(boxpen, config, tmp_path):
    boxpen("build", "discourse", "run", config)
    suite = (tmp_path / "out" / "toy.jsonl").read_text().splitlines()
    bare = [json.loads(line) for line in suite]
    for item in bare[1:]:
        del item["contrast"]
    (tmp_path / "bare.jsonl").write_text("\n".join(map(json.dumps, bare)))
    code, out, _ = boxpen(
        "build", "discourse", "contrast", tmp_path / "bare.jsonl", "--out", tmp_path / "new.jsonl"
    )
    assert code == 0
    assert out.splitlines() == ["pronoun 她们\t2 of 2", "connective or-否则\t1 of 1"]
    assert (
        api.load_suite(tmp_path / "new.jsonl").hash
        == api.load_suite(tmp_path / "out" / "toy.jsonl").hash
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run", "gone.toml"), "boxpen: gone.toml cannot be read: No such file"),
        (("contrast", "gone.jsonl", "--out", "x.jsonl"), "gone.jsonl"),
    ],
)
def test_what_is_not_there_is_told_in_one_line(boxpen, words, message):
    code, out, err = boxpen("build", "discourse", *words)
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err
