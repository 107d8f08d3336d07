"""The matrix: every number in its place, chance and people below, 80 columns wide."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from boxpen import Recipe, RunError
from boxpen.report.tables import chosen_rows, matrix, matrix_tables
from boxpen.review.human_run import human_run
from small_runs import human_table, small_run, small_suite

ONE = small_run("+++-" * 5)
BIG = small_run("++" * 6, suite="big", k=4)
TWO = small_run("++==" * 5, model="two")


@pytest.fixture
def people(tmp_path):
    table = "item,a,b,c\n" + "".join(f"i{i},0,0,{i % 2}\n" for i in range(20))
    return human_run(small_suite(), human_table(tmp_path, table))


def printed(found, width: int = 80) -> str:
    console = Console(width=width, record=True, file=io.StringIO())
    for table in matrix_tables(found, width):
        console.print(table)
    return console.export_text()


class TestMatrix:
    def test_models_by_suites_with_chance_and_people_last(self, people):
        found = matrix([people, ONE, BIG, TWO])
        assert [c.title for c in found.columns] == ["small", "big"]
        assert [(line.name, line.kind) for line in found.lines] == [
            ("one", "model"),
            ("two", "model"),
            ("chance", "chance"),
            ("human (3 judges)", "human"),
        ]
        values = [[c and round(c.value, 6) for c in line.cells] for line in found.lines]
        assert values == [[0.75, 1.0], [0.75, None], [0.5, 0.25], [1.0, None]]

    def test_cells_are_rows_of_the_runs(self):
        (cell,) = matrix([ONE]).lines[0].cells
        assert cell in ONE.summary()

    def test_by_a_tag(self):
        found = matrix([ONE, TWO], by="set")
        assert [c.title for c in found.columns] == ["A", "B", "all"]
        expected = {(r.slice, r.metric): r.value for r in ONE.summary()}
        assert [c.value for c in found.lines[0].cells] == [
            expected[s, "accuracy"] for s in ("set=A", "set=B", "all")
        ]
        assert [c.title for c in matrix([ONE, BIG], by="set").columns] == [
            "small A", "small B", "small all", "big A", "big B", "big all",
        ]  # fmt: skip

    def test_chance_is_what_ties_throughout_would_earn(self):
        tied = small_run("=" * 20)
        for metric in dict.fromkeys(row.metric for row in ONE.summary()):
            found = matrix([ONE], metric)
            chance = next(line for line in found.lines if line.kind == "chance")
            (expected,) = (
                r.value for r in tied.summary() if (r.slice, r.metric) == ("all", metric)
            )
            assert chance.cells[0].value == pytest.approx(expected, abs=1e-6), metric

    def test_chance_of_items_with_two_right_labels(self):
        run = small_run("++")
        verdicts = [
            replace(v, scores=(0.0, -1.0, -2.0), also=also)
            for v, also in zip(run.verdicts, ((), ("neutral",)), strict=True)
        ]
        found = matrix([replace(run, verdicts=tuple(verdicts))])
        chance = next(line for line in found.lines if line.kind == "chance")
        assert chance.cells[0].value == pytest.approx((1 / 3 + 2 / 3) / 2)

    def test_chance_of_both_right_is_the_product(self):
        assert matrix([BIG], "both_right").lines[-1].cells[0].value == pytest.approx(1 / 16)

    def test_a_run_given_twice_counts_once(self):
        assert matrix([ONE, ONE]) == matrix([ONE])

    @pytest.mark.parametrize(
        ("other", "names"),
        [
            (small_run("+-" * 10, recipe=Recipe(name="mine")), ["one (sound)", "one (mine)"]),
            (small_run("+-" * 10, norm="token"),
             ["one (sound, norm:sum, ties:half)", "one (sound, norm:token, ties:half)"]),
            (small_run("+-" * 10, fingerprint="a" * 64), ["one (@ffffffff)", "one (@aaaaaaaa)"]),
            (small_run("+-" * 6, suite="big", fingerprint="a" * 64),
             ["one (@ffffffff)", "one (@aaaaaaaa)"]),
            (small_run("+-" * 6, suite="big", norm="token"), ["one"]),
        ],
    )  # fmt: skip
    def test_runs_of_one_model_are_told_apart_where_they_must(self, other, names):
        found = matrix([ONE, other])
        assert [line.name for line in found.lines if line.kind == "model"] == names
        values = {c.value for line in found.lines if line.kind == "model" for c in line.cells if c}
        assert values == {0.75, 0.5}

    def test_runs_of_unequal_items_are_noted(self):
        assert matrix([ONE, TWO]).notes == ()
        (note,) = matrix([ONE, small_run("++", model="two")]).notes
        assert "small: the runs are not of the same items (one 20, two 2)" in note

    def test_refusals(self):
        with pytest.raises(RunError, match="'acuracy', did you mean 'accuracy'"):
            matrix([ONE], "acuracy")
        with pytest.raises(RunError, match="tag 'sets', did you mean 'set'"):
            matrix([ONE], by="sets")
        with pytest.raises(RunError, match="no run has both_right by the tag 'set', only other"):
            matrix([ONE], "both_right", by="set")  # no block lies within a set
        many = replace(ONE, verdicts=tuple(
            replace(v, tags={"word": f"{i}-{j}"})
            for j in range(3) for i, v in enumerate(ONE.verdicts)
        ))  # fmt: skip
        with pytest.raises(RunError, match="more than 32 values"):
            matrix([many], by="word")


class TestRows:
    def test_all_or_some(self):
        assert chosen_rows([ONE, TWO]) == ONE.summary() + TWO.summary()
        some = chosen_rows([ONE], "accuracy", "set")
        assert [(r.slice, r.metric) for r in some] == [
            (s, "accuracy") for s in ("all", "set=A", "set=B")
        ]
        with pytest.raises(RunError, match="the tag 'part'"):
            chosen_rows([ONE], by="part")
        with pytest.raises(RunError, match="metric 'x'"):
            chosen_rows([ONE], "x")


class TestTerminal:
    @pytest.mark.parametrize("width", [40, 80, 200])
    def test_fits_and_loses_nothing(self, width, people):
        suites = [small_run("+++-" * 5, suite=f"suite-number-{i}") for i in range(9)]
        long = small_run("+-" * 10, model="organisation/model-with-a-long-name-of-many-parts-7b")
        text = printed(matrix([*suites, long, ONE, people]), width)
        assert max(map(len, text.splitlines())) <= width
        folded = "".join(text.split())
        for i in range(9):
            assert f"-{i}" in folded
        assert text.count("0.750") == 10
        assert text.count("[0.") == 12

    def test_brackets_in_names_are_text(self):
        assert "[/red]" in printed(matrix([small_run("++", suite="[/red]", model="[/b]")]))
