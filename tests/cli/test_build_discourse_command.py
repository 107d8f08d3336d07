"""boxpen build discourse on the command line: what it prints where, and how it ends."""

import csv
import json
from dataclasses import replace

import pytest

import boxpen as api
from boxpen.catalog import write_suite
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
    code, out, err = boxpen("build", "run", config)
    assert code == 0
    assert "read: 6 of 6 lines have text" in out
    assert "clean: 6 of 6 lines stay, in 3 documents" in out
    assert "mine: 3 candidates in 3 snippets; the best 3 stay" in out
    assert "write: 3 items, 3 of them with contrasts" in out
    assert "boxpen:" not in err
    code, out, _ = boxpen("build", "run", config, "--json")
    assert code == 0
    done = json.loads(out)
    assert [(d["stage"], d["done_now"]) for d in done] == [
        ("read", False), ("clean", False), ("mine", False), ("sample", False), ("write", False),
    ]  # fmt: skip
    suite = api.load_suite(config.parent / "out" / "toy.jsonl")
    assert done[-1]["hash"] == suite.hash
    assert [item.tags["class"] for item in suite] == ["她们", "她们", "or-否则"]


def test_a_run_says_what_each_stage_left_out(boxpen, config):
    text = config.parent / "films.tsv"
    aunts = ("My two aunts live in the old house.", "我的两个阿姨住在老房子里")
    more = {"7": FILMS[:2], "8": (aunts, FILMS[1]), "1": FILMS[2:4]}
    added = "".join(
        f"{film}\t{n}\t{en}\t{zh}\n"
        for film, lines in more.items()
        for n, (en, zh) in enumerate(lines, 5)
    )
    text.write_text(text.read_text() + added)
    code, out, _ = boxpen("build", "run", config)
    assert code == 0
    assert "\n  left out: 2 duplicates\n" in out
    assert "\n  left out: 1 of a sentence that was drawn\n" in out
    item = next(i for i in api.load_suite(config.parent / "out" / "toy.jsonl") if "or" in i.source)
    write_suite(api.Suite("other", (item,)), config.parent / "other.jsonl")
    cake = f"1\t7\t{FILMS[2][0]}\t{FILMS[2][1]}\n1\t8\tThey ate a cake.\t她们吃了一个蛋糕\n"
    text.write_text(text.read_text() + cake)
    changed = '[clean]\nexclude = ["other.jsonl"]\n[sample]\nper_document = 1\n'
    config.write_text(CONFIG + changed)
    code, out, _ = boxpen("build", "run", config)
    assert code == 0
    assert "\n  left out: 1 in other (both), 2 duplicates\n" in out
    assert "\n  left out: 1 of a sentence that was drawn, 1 over per_document\n" in out
    config.write_text(CONFIG + "[mine]\nmin_score = 0.95\n")
    code, out, _ = boxpen("build", "run", config)
    assert code == 0
    assert "\n  left out: 1 below min_score, 2 duplicates\n" in out


def test_the_ellipsis_of_the_guide_is_found(boxpen, config):
    """docs/how-to/build/discourse.md begins with it."""
    lines = [("They cried all night.", "他们哭了一整夜"), ("So did I.", "我也哭了")]
    rows = "".join(f"1\t{n}\t{en}\t{zh}\n" for n, (en, zh) in enumerate(lines))
    (config.parent / "films.tsv").write_text(rows)
    assert boxpen("build", "run", config)[0] == 0
    (item,) = api.load_suite(config.parent / "out" / "toy.jsonl")
    assert (item.tags["class"], item.tags["word"]) == ("ellipsis", "哭")


def test_the_example_is_printed_and_can_be_read(boxpen, tmp_path):
    code, out, err = boxpen("build", "example", "discourse")
    assert (code, err) == (0, "")
    path = tmp_path / "example.toml"
    path.write_text(out)
    code, _, err = boxpen("build", "run", path)
    assert code == 2
    assert "boxpen: text 'subtitles' has a file that does not exist: " in err


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
    code, out, err = boxpen("build", "run", config)
    assert code == 2
    assert "sample: 3 candidates" in out  # what was done is shown
    assert "review.jsonl; 'boxpen review import' writes it" in err
    none = folder / "none.csv"
    words = ("review", "export", config, "--judge", "cy", "--out", none, "--disputed")
    code, _, err = boxpen(*words)
    assert (code, err) == (0, "cy: no item to judge, so no sheet was written\n")
    assert not none.exists()
    says = {
        "ann": ("a", "edit: 她们带了一个大蛋糕来", "a"),
        "bob": ("a", "edit: 她们带了一个大蛋糕来", "reject"),
    }
    for judge, verdicts in says.items():
        sheet = folder / f"{judge}.csv"
        code, _, err = boxpen("review", "export", config, "--judge", judge, "--out", sheet)
        assert (code, err) == (0, f"{judge}: 3 item(s) to judge, written to {sheet}\n")
        rows = filled(sheet, dict(zip((en for en, _ in FILMS[1::2]), verdicts, strict=True)))
        assert rows[0]["class"]
        assert rows[0]["context"]
        assert rows[0]["reason"]
    code, _, err = boxpen("review", "import", config, folder / "ann.csv", folder / "bob.csv")
    assert code == 0
    assert "6 judgement(s) added to " in err
    code, out, _ = boxpen("review", "status", config, "--json")
    assert code == 0
    status = json.loads(out)
    assert status["decisions"] == {"accept": 1, "edit": 1, "reject": 0, "open": 1}
    assert status["judges"] == {"ann": 3, "bob": 3}
    whole = next(row for row in status["agreement"] if row["part"] == "all")
    # Of three items they agree on two; by chance on 2/9 + 1/9, as Ann accepts two, Bob one.
    assert whole["percent"] == pytest.approx(2 / 3)
    assert whole["cohen"] == pytest.approx((2 / 3 - 3 / 9) / (1 - 3 / 9))
    code, out, _ = boxpen("review", "status", config)
    assert code == 0
    assert "ann: 3 of 3 judged" in out
    code, out, _ = boxpen("build", "run", config)
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
            "line 2: the edit is '他们带来了一个蛋糕', expected one with 她们",
        ),
        ("edit: 她们带来了一个蛋糕", "is the old translation, expected a new one"),
        ("good", "line 2"),
    ],
)
def test_an_answer_that_cannot_be_is_refused(boxpen, config, verdict, message):
    config.write_text(CONFIG + '[sample]\nclasses = {"or-否则" = 0}\n')
    rows = [f"1\t{n}\t{en}\t{zh}\n" for n, (en, zh) in enumerate(FILMS[2:4])]
    (config.parent / "films.tsv").write_text("".join(rows))
    sheet = config.parent / "ann.csv"
    boxpen("build", "run", config)
    boxpen("review", "export", config, "--judge", "ann", "--out", sheet)
    filled(sheet, {FILMS[3][0]: verdict})
    code, _, err = boxpen("review", "import", config, sheet)
    assert code == 2
    assert message in err
    assert not (config.parent / "out" / "review.jsonl").exists()


def reviewed(boxpen, config, verdict="a"):
    """Build, and have Ann say the same of all three candidates; return the journal."""
    config.write_text(CONFIG + "[review]\n")
    sheet = config.parent / "ann.csv"
    boxpen("build", "run", config)
    boxpen("review", "export", config, "--judge", "ann", "--out", sheet)
    filled(sheet, dict.fromkeys((en for en, _ in FILMS), verdict))
    assert boxpen("review", "import", config, sheet)[0] == 0
    return config.parent / "out" / "review.jsonl"


def test_a_torn_judgement_is_told(boxpen, config):
    journal = reviewed(boxpen, config)
    journal.write_bytes(journal.read_bytes()[:-20])
    told = f"{journal}, line 3 was cut off while it was written, and is skipped; import its sheet"
    for words in ((), (), ("--json",)):  # the second time nothing is to be done
        code, out, err = boxpen("build", "run", config, *words)
        assert code == 0
        assert [line for line in err.splitlines() if line] == [f"{told} again"]
    (accepted,) = [stage for stage in json.loads(out) if stage["stage"] == "accept"]
    assert accepted["warnings"] == [f"{told} again"]
    boxpen("review", "import", config, config.parent / "ann.csv")
    code, out, err = boxpen("build", "run", config)
    assert (code, err.strip()) == (0, "")
    assert "accept: 3 candidates accepted, 0 rejected, 0 open" in out


def test_a_torn_judgement_is_told_where_nothing_is_accepted(boxpen, config):
    journal = reviewed(boxpen, config, "r")
    journal.write_bytes(journal.read_bytes()[:-20])
    code, _, err = boxpen("build", "run", config)
    assert code == 2
    assert "none of 3 candidates is accepted: 2 rejected, 1 open; " in err
    assert "line 3 was cut off" in err


def test_a_torn_line_within_the_journal_is_refused(boxpen, config):
    journal = reviewed(boxpen, config)
    first, *rest = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(first[:-20] + b"\n" + b"".join(rest))
    code, _, err = boxpen("build", "run", config)
    assert code == 2
    assert f"boxpen: {journal}, line 1 is not a judgement (" in err
    assert not (journal.parent / "accepted.parquet").exists()


def test_a_sheet_comes_after_the_sample(boxpen, config):
    code, _, err = boxpen(
        "review", "export", config, "--judge", "ann", "--out", config.parent / "a.csv"
    )
    assert code == 2
    assert "sampled.parquet; run the stage that writes it first" in err


def test_contrasts_are_added_to_a_suite(boxpen, config, tmp_path):
    boxpen("build", "run", config)
    suite = (tmp_path / "out" / "toy.jsonl").read_text().splitlines()
    bare = [json.loads(line) for line in suite]
    for item in bare[1:]:
        del item["contrast"]
    (tmp_path / "bare.jsonl").write_text("\n".join(map(json.dumps, bare)))
    code, out, _ = boxpen(
        "build", "contrast", tmp_path / "bare.jsonl", "--out", tmp_path / "new.jsonl"
    )
    assert code == 0
    assert out.splitlines() == ["pronoun 她们\t2 of 2", "connective or-否则\t1 of 1"]
    assert (
        api.load_suite(tmp_path / "new.jsonl").hash
        == api.load_suite(tmp_path / "out" / "toy.jsonl").hash
    )


@pytest.fixture
def bare(boxpen, config):
    """A suite without contrasts, as a file."""
    boxpen("build", "run", config)
    items = map(json.loads, (config.parent / "out" / "toy.jsonl").read_text().splitlines())
    path = config.parent / "bare.jsonl"
    lines = [{k: v for k, v in item.items() if k != "contrast"} for item in items]
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


@pytest.mark.parametrize(
    ("place", "tags", "message"),
    [
        (0, {"class": "我们"}, "pronoun has no class '我们', did you mean "),
        (2, {"class": "or-因为"}, "connective has no class 'or-因为', did you mean "),
        (2, {"class": None}, "connective has no class '', known: "),
    ],
)
def test_contrasts_of_an_unknown_class_are_refused(boxpen, bare, place, tags, message):
    suite = api.load_suite(bare)
    items = list(suite.items)
    changed = {k: v for k, v in {**items[place].tags, **tags}.items() if v is not None}
    items[place] = replace(items[place], tags=changed)
    write_suite(suite.take(items), bare)
    out = bare.with_name("new.jsonl")
    code, printed, err = boxpen("build", "contrast", bare, "--out", out)
    assert (code, printed) == (2, "")
    assert err.startswith("boxpen: item '")
    assert f"of suite 'toy': {message}" in err
    assert not out.exists()


def test_a_suite_without_discourse_gets_no_contrasts(boxpen, tmp_path):
    out = tmp_path / "new.jsonl"
    for name in ("starter.sense", "starter.mt"):
        code, printed, err = boxpen("build", "contrast", name, "--out", out)
        assert (code, printed) == (2, "")
        assert err == (
            f"boxpen: suite '{name}' has no sentence to translate with the tag set=pronoun, "
            "connective or ellipsis, expected a suite such as discourse\n"
        )
        assert list(tmp_path.iterdir()) == []


def test_contrasts_are_not_written_over_what_is_read(boxpen, bare):
    before = bare.read_bytes()
    link, twin = bare.with_name("link.jsonl"), bare.with_name("twin.jsonl")
    link.symlink_to(bare)
    twin.hardlink_to(bare)
    for suite, out in ((bare, bare), (bare, link), (link, bare), (bare, twin)):
        code, printed, err = boxpen("build", "contrast", suite, "--out", out)
        assert (code, printed) == (2, "")
        assert err == f"boxpen: --out is {out}, the suite that is read, expected another file\n"
        assert bare.read_bytes() == before


@pytest.mark.parametrize("name", ["bare.csv", "bare.tsv", "bare.parquet", "discourse.toml"])
def test_contrasts_are_read_from_json_lines_and_written_so(boxpen, bare, name):
    other = bare.with_name(name)
    if not other.exists():
        write_suite(api.load_suite(bare), other)
    out = bare.with_name("new.jsonl")
    code, printed, err = boxpen("build", "contrast", other, "--out", out)
    expected = f"SUITE is {other}, expected the name of a suite, or a .jsonl file"
    assert (code, printed, err) == (2, "", f"boxpen: {expected}\n")
    before = other.read_bytes()
    code, printed, err = boxpen("build", "contrast", bare, "--out", other)
    expected = f"--out is {other}, expected a file that ends in .jsonl"
    assert (code, printed, err) == (2, "", f"boxpen: {expected}\n")
    assert other.read_bytes() == before
    assert not out.exists()


@pytest.mark.parametrize("name", ["a\nb", "a\tb", "a\x1b[31mb", "a\x7fb", "a\u2028b", "a\udcffb"])
def test_names_with_control_characters_are_refused(boxpen, config, name):
    boxpen("build", "run", config)
    sheet = config.parent / "a.csv"
    export = ("review", "export", config, "--out", sheet)
    for words, what in (
        ((*export, "--judge", name), "--judge"),
        ((*export, "--judge", "ann", "--judges", "ann", name, "--overlap", 1), "--judges"),
        (("review", "import", config, sheet, "--judge", name), "--judge"),
        (("build", "contrast", name, "--out", config.parent / "new.jsonl"), "SUITE"),
    ):
        code, out, err = boxpen(*words)
        assert (code, out) == (2, "")
        assert err == f"boxpen: {what} is {name!r}, expected a name without control characters\n"
    assert not sheet.exists()


def test_a_suite_whose_name_has_control_characters_is_refused(boxpen, bare):
    suite = replace(api.load_suite(bare), name="a\x1b[31mb")
    write_suite(suite, bare)
    out = bare.with_name("new.jsonl")
    code, _, err = boxpen("build", "contrast", bare, "--out", out)
    assert code == 2
    assert f"the name of the suite in {bare} is 'a\\x1b[31mb', expected a name without" in err
    assert not out.exists()


def test_names_of_other_scripts_and_with_wide_spaces_are_fine(boxpen, config):
    boxpen("build", "run", config)
    for name in ("安娜\u3000李", "Zoë\u00a0O’Neil"):
        sheet = config.parent / f"{len(name)}.csv"
        words = ("--judge", name, "--out", sheet)
        assert boxpen("review", "export", config, *words)[0] == 0
        with sheet.open(encoding="utf-8-sig", newline="") as stream:
            assert {row["judge"] for row in csv.DictReader(stream)} == {name}


LONG = "x" * 300


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (CONFIG.replace("films.tsv", f"{LONG}.tsv"), f"{LONG}.tsv"),
        (CONFIG + f'[clean]\nexclude = ["{LONG}.jsonl"]\n', f"{LONG}.jsonl"),
        (CONFIG + f'[review]\njournal = "{LONG}"\n', LONG),
    ],
    ids=["text", "exclude", "journal"],
)
def test_what_the_system_refuses_is_told_with_its_path(boxpen, config, text, path):
    config.write_text(text)
    code, _, err = boxpen("build", "run", config)
    assert code == 2
    told = f"boxpen: {config.parent / path} cannot be used: File name too long"
    assert err.splitlines()[-1] == told


def test_paths_of_options_are_told_too(boxpen, config, bare):
    out = config.parent / f"{LONG}.jsonl"
    code, _, err = boxpen("build", "contrast", bare, "--out", out)
    assert (code, err) == (2, f"boxpen: {out} cannot be used: File name too long\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run", "gone.toml"), "boxpen: gone.toml cannot be read: No such file"),
        (("contrast", "gone.jsonl", "--out", "x.jsonl"), "gone.jsonl"),
    ],
)
def test_what_is_not_there_is_told_in_one_line(boxpen, words, message):
    code, out, err = boxpen("build", *words)
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err
