"""The tables of docs/results/sense.md: made of all models or not at all, unknown words counted."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import results
import sense

import small_runs
from boxpen import Run, evaluate
from boxpen.models.base import Encoded

HERE = Path(__file__).parents[2]


class Reader(small_runs.Liking):
    """A bidirectional model to which the numbers of some texts are unknown."""

    kind = "bidirectional"

    def __init__(self, liked: set[str], unknown: dict[str, int]) -> None:
        super().__init__("reader", liked)
        self.unknown = unknown

    def encode(self, requests, policy) -> list[Encoded]:
        made = super().encode(requests, policy)
        return [
            e._replace(unknown=self.unknown.get(r.text, 0))
            for e, r in zip(made, requests, strict=True)
        ]


def read(unknown: dict[str, int]) -> Run:
    """Eight items of two sets; right are 0, 1, 2 and 4."""
    liked = {f"right {i}" for i in (0, 1, 2, 4)} | {f"wrong {i}.0" for i in (3, 5, 6, 7)}
    return evaluate(
        Reader(liked, unknown), small_runs.small_suite(8), cache=":memory:", check_languages=False
    )


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A repository with the settings and the pages of two topics alone."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(HERE / "scripts" / "sense.toml", tmp_path / "scripts")
    pages = tmp_path / "docs" / "results"
    pages.mkdir(parents=True)
    for topic in ("sense", "steps"):
        shutil.copy(HERE / "docs" / "results" / f"{topic}.md", pages)
        shutil.copytree(HERE / "docs" / "results" / topic, pages / topic)
    monkeypatch.setattr(sense, "ROOT", tmp_path)
    monkeypatch.setattr(results, "DOCS", pages)
    for variable in sense.FOLDERS:
        monkeypatch.delenv(variable, raising=False)
    return tmp_path


def state(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def called(monkeypatch, *words: str) -> str:
    monkeypatch.setattr("sys.argv", ["sense.py", *words])
    with pytest.raises(SystemExit) as ended:
        sense.main()
    assert isinstance(ended.value.code, str)  # a sentence, and status 1
    return ended.value.code


def finished(root: Path) -> Path:
    """Let all models look as if they were trained and put to the suites."""
    folder = root / "build" / "sense"
    for name in sense.Sense(quick=False).names:
        for part in (*sense.RECIPES, "steps"):
            (folder / "runs" / name / part / "one").mkdir(parents=True)
            (folder / "runs" / name / part / "one" / "run.json").write_text("{}")
        (folder / f"{name}.figures.json").write_text("{}")
    return folder


def test_tables_want_every_training(root, monkeypatch):
    folder = finished(root)
    (folder / "bilm-graph.figures.json").unlink()
    shutil.rmtree(folder / "runs" / "bert-mini" / "steps")
    shutil.rmtree(folder / "runs" / "smollm2" / "paper")
    before = state(root)
    said = called(monkeypatch, "tables")
    assert "no training, or not every run, of bilm-graph, bert-mini, smollm2 is there" in said
    assert "expected those of all 8 models" in said
    assert state(root) == before


def test_what_is_only_put_to_the_suites_needs_no_figures(root, monkeypatch):
    folder = finished(root)
    (folder / "bert-mini.figures.json").unlink()
    # So it goes on, to runs that are none.
    assert "run.json" in called(monkeypatch, "tables")


def test_a_rehearsal_goes_on_with_what_there_is(root, monkeypatch, capsys):
    monkeypatch.setattr(sense, "said", lambda *_: "steps")
    monkeypatch.setattr("sys.argv", ["sense.py", "tables", "--quick"])
    before = state(root)
    sense.main()
    printed = capsys.readouterr()
    assert printed.err.count(" is not trained") == 8
    assert "## unknown" in printed.out
    assert state(root) == before


@pytest.mark.parametrize(
    ("words", "variable"),
    [
        (["prepare"], "BOXPEN_MIRROR"),
        (["train", "bert-mini"], "BOXPEN_MODELS"),
        (["train", "smollm2", "bert-mini-graph"], "BOXPEN_MODELS"),
    ],
)
def test_a_folder_that_nobody_named_is_one_sentence_and_nothing_is_left(
    root, monkeypatch, words, variable
):
    before = sorted(root.rglob("*"))
    assert (
        called(monkeypatch, *words)
        == f"{variable} is not set, expected " + (sense.FOLDERS[variable])
    )
    assert sorted(root.rglob("*")) == before


def test_a_folder_without_the_model_leaves_no_figures(root, monkeypatch):
    monkeypatch.setenv("BOXPEN_MODELS", str(root / "nowhere"))
    monkeypatch.setattr(sense.Sense, "suite", lambda self: small_runs.small_suite(2))
    assert "nowhere" in called(monkeypatch, "train", "bert-mini")
    assert not (root / "build").exists()


def test_unknown_words_are_counted_by_set():
    # Of set A the items 0, 2, 4, 6, right but for the last; of B 1, 3, 5, 7, right the first.
    run = read({"right 0": 2, "wrong 0.0": 1, "right 2": 3, "wrong 2.0": 3, "wrong 7.0": 1})
    other = small_runs.small_run("++--", model="causal")
    runs = {("reader", "sound"): run, ("causal", "sound"): other, ("reader", "paper"): run}
    _, rule, *rows = sense.unknown_table(runs).split("\n")
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert len(rule.strip("|").split("|")) == len(cells[0])
    assert [row[:3] for row in cells] == [
        [recipe, "reader", part] for recipe in ("sound", "paper") for part in "AB"
    ]
    words = 4 * (len("right 0") + len("wrong 0.0"))  # this model reads bytes
    assert [row[3:5] for row in cells[:2]] == [[f"9 of {words}", "1"], [f"1 of {words}", "1"]]
    assert [[row[5][:5], row[6][:5], row[7]] for row in cells[:2]] == [
        ["0.750", "0.500", "2"],
        ["0.250", "0.333", "3"],
    ]
    assert cells[0][5] == "0.750 [0.301, 0.954]"  # Wilson's of 3 in 4


def test_a_set_without_an_item_that_is_known_has_no_accuracy_on_them():
    run = read({f"right {i}": 1 for i in range(0, 8, 2)})
    rows = sense.unknown_table({("reader", "sound"): run}).split("\n")[2:]
    assert rows[0].endswith("| – | 0 |")
    assert rows[1].endswith("| 4 |")
