"""boxpen build kg on the command line: what it prints where, and how it ends."""

import json

import pytest

from boxpen.cli import main

CONFIG = """
name = "toy"
folder = "out"
[[graphs]]
name = "mine"
files = ["graph.tsv"]
language = "en"
[rank]
model = "none"
[negatives]
count = 1
wordnet = false
[render]
tasks = ["nli"]
"""
GRAPH = "head\trelation\ttail\na rose\tisa\ta flower\nan oak\tisa\ta tree\na saw\tisa\ta tool\n"


@pytest.fixture
def config(tmp_path):
    (tmp_path / "graph.tsv").write_text(GRAPH)
    path = tmp_path / "kg.toml"
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


def test_stdout_is_for_results(boxpen, config):
    code, out, _ = boxpen("build", "kg", config, "--json")
    assert code == 0
    assert next((d["stage"], d["done_now"]) for d in json.loads(out)) == ("read", True)
    code, out, err = boxpen("build", "kg", "all", config)
    assert code == 0
    assert "read (up to date): 3 rows, 3 triples" in out
    assert "boxpen:" not in err


def test_stages_that_were_done_are_shown_when_the_next_one_fails(boxpen, config):
    config.write_text(CONFIG + "[filter]\nmax_characters = 1\n")
    code, out, err = boxpen("build", "kg", config)
    assert code == 2
    assert out == "read: 3 rows, 3 triples\n"
    assert "no triple is left, the last went at step 'length'" in err
    code, out, err = boxpen("build", "kg", config, "--json")
    assert (code, out) == (2, "")
    code, out, err = boxpen("build", "kg", "dropped", config)
    assert code == 0
    assert out.count("length\t") == 3
    assert "3 of 3 dropped triple(s)" in err


def test_a_stage_that_is_misspelt_is_no_file(boxpen, config, monkeypatch):
    code, _, err = boxpen("build", "kg", "fitler", config)
    assert code == 2
    assert "No such command 'fitler'" in err
    code, _, err = boxpen("build", "kg", "nowhere.toml")
    assert code == 2
    assert "nowhere.toml cannot be read: No such file" in err
    bare = config.with_name("graph")
    config.rename(bare)
    monkeypatch.chdir(bare.parent)
    assert boxpen("build", "kg", "graph")[0] == 0


def test_a_review_is_not_written_over_its_table(boxpen, config):
    assert boxpen("build", "kg", config)[0] == 0
    table = config.parent / "out" / "ranked.parquet"
    before = table.read_bytes()
    code, _, err = boxpen("review", "apply", table, "--out", table, "--overwrite")
    assert code == 2
    assert "which holds the table that is reviewed; expected another file" in err
    assert table.read_bytes() == before
