"""boxpen build on the command line: what it prints where, and how it ends."""

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
    code, out, _ = boxpen("build", "run", config, "--json")
    assert code == 0
    assert next((d["stage"], d["done_now"]) for d in json.loads(out)) == ("read", True)
    code, out, err = boxpen("build", "run", config)
    assert code == 0
    assert "read (up to date): 3 rows, 3 triples" in out
    assert "boxpen:" not in err


def test_stages_that_were_done_are_shown_when_the_next_one_fails(boxpen, config):
    config.write_text(CONFIG + "[filter]\nmax_characters = 1\n")
    code, out, err = boxpen("build", "run", config)
    assert code == 2
    assert out == "read: 3 rows, 3 triples\n"
    assert "no triple is left, the last went at step 'length'" in err
    code, out, err = boxpen("build", "run", config, "--json")
    assert (code, out) == (2, "")
    code, out, err = boxpen("build", "dropped", config)
    assert code == 0
    assert out.count("length\t") == 3
    assert "3 of 3 dropped row(s)" in err


def test_one_stage_alone(boxpen, config):
    code, _, err = boxpen("build", "run", config, "--stage", "filter")
    assert code == 2
    assert "triples.parquet; run the stage that writes it first" in err
    assert not (config.parent / "out").exists()
    code, out, _ = boxpen("build", "run", config, "--stage", "read")
    assert (code, out) == (0, "read: 3 rows, 3 triples\n")
    code, out, _ = boxpen("build", "run", config, "--stage", "read", "--force")
    assert (code, out) == (0, "read: 3 rows, 3 triples\n")
    code, _, err = boxpen("build", "run", config, "--stage", "fitler")
    assert code == 2
    assert "there is no stage 'fitler', did you mean 'filter'" in err


def test_status_shows_what_a_run_would_do(boxpen, config):
    boxpen("build", "run", config, "--stage", "read")
    code, out, _ = boxpen("build", "status", config)
    assert code == 0
    assert out.splitlines()[:3] == [
        "read: up to date; last: 3 rows, 3 triples",
        "filter: out of date, never ran",
        "rank: out of date, waits for filter",
    ]
    code, out, _ = boxpen("build", "status", config, "--json")
    first, second, *_ = json.loads(out)
    assert (first["up_to_date"], first["reason"]) == (True, None)
    assert first["report"]["triples"] == 3
    assert (second["up_to_date"], second["reason"]) == (False, "never ran")


def test_files_and_builders_that_are_not_there(boxpen, config):
    for words, message in (
        (("run", "nowhere.toml"), "nowhere.toml cannot be read: No such file"),
        (("status", "nowhere.toml"), "nowhere.toml cannot be read: No such file"),
        (("example", "gk"), "there is no builder 'gk', did you mean 'kg'"),
    ):
        code, out, err = boxpen("build", *words)
        assert (code, out) == (2, "")
        assert message in err
    config.write_text("name = 'toy'\n")
    code, _, err = boxpen("build", "run", config)
    assert code == 2
    builders = "'conjunctions', 'discourse', 'duals', 'kg'"
    assert f"builder is missing; add builder = NAME with one of {builders}" in err


def test_the_example_of_a_builder_is_printed(boxpen):
    code, out, err = boxpen("build", "example", "kg")
    assert (code, err) == (0, "")
    assert 'builder = "kg"' in out


def test_a_review_is_not_written_over_its_table(boxpen, config):
    assert boxpen("build", "run", config)[0] == 0
    table = config.parent / "out" / "ranked.parquet"
    before = table.read_bytes()
    code, _, err = boxpen("review", "apply", table, "--out", table, "--overwrite")
    assert code == 2
    assert "which holds the table that is reviewed; expected another file" in err
    assert table.read_bytes() == before


@pytest.mark.parametrize("named", ["", "builder = 'kg'\n"])
def test_a_review_finds_the_build_of_a_configuration(boxpen, config, named):
    config.write_text(named + CONFIG + "[review]\nmin_judges = 2\n")
    assert boxpen("build", "run", config, "--stage", "read")[0] == 0
    for stage in ("filter", "rank", "sample"):
        assert boxpen("build", "run", config, "--stage", stage)[0] == 0
    sheet = config.with_name("ann.csv")
    code, _, err = boxpen("review", "export", config, "--judge", "ann", "--out", sheet)
    assert (code, err) == (0, f"ann: 3 item(s) to judge, written to {sheet}\n")
    code, _, err = boxpen("review", "status", config, "--task", "candidates")
    assert code == 2
    assert "reviews a folder or configuration of the builder 'discourse', not" in err


def test_a_review_needs_the_builder_of_a_configuration(boxpen, config):
    config.write_text("name = 'toy'\n")
    code, _, err = boxpen("review", "status", config)
    assert code == 2
    assert f"{config}: builder is missing; add builder = NAME" in err
