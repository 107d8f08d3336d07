"""Human answers become a run: read strictly, counted openly, kept and read back."""

import json

import pytest

from boxpen import Choice, Entail, Run, RunError, Suite, SuiteError, Translate
from boxpen.report.terminal import notes
from boxpen.review.human_run import human_run, read_answers
from small_runs import human_table, small_run, small_suite, without_checksums

SUITE = small_suite(4)
WIDE = "item,ann,bo,cy\ni0,0,0,1\ni1,0,0,0\ni2,1,1,0\ni3,0,1,\n"
LONG = (
    "judge,item,answer\nann,i0,0\nbo,i0,right 0\ncy,i0,wrong 0.0\nann,i1,0\nbo,i1,0\ncy,i1,0\n"
    "ann,i2,1\nbo,i2,1\ncy,i2,0\nann,i3,0\nbo,i3,1\ncy,i3,\n"
)


def refused(path, *parts: str, suite: Suite = SUITE, **options) -> None:
    with pytest.raises(SuiteError) as caught:
        human_run(suite, path, **options)
    for part in (str(path), *parts):
        assert part in str(caught.value), (part, str(caught.value))


class TestReading:
    def test_long_and_wide_are_the_same_run(self, tmp_path):
        wide = human_run(SUITE, human_table(tmp_path, WIDE))
        long = human_run(SUITE, human_table(tmp_path, LONG, "long.csv"))
        tabs = human_run(SUITE, human_table(tmp_path, WIDE.replace(",", "\t"), "wide.tsv"))
        assert wide.verdicts == long.verdicts == tabs.verdicts
        assert wide.signature == long.signature == tabs.signature
        assert wide.info.human == long.info.human

    def test_other_answers_are_another_run(self, tmp_path):
        one = human_run(SUITE, human_table(tmp_path, WIDE))
        other = human_run(SUITE, human_table(tmp_path, WIDE.replace("i0,0,0,1", "i0,0,1,0")))
        assert one.signature != other.signature

    def test_answers_may_be_numbered_from_1(self, tmp_path):
        path = human_table(tmp_path, "item,judge,answer\ni0,ann,1\ni1,ann,2\n")
        assert read_answers(SUITE, path, start=1) == {"i0": {"ann": 0}, "i1": {"ann": 1}}
        refused(path, "line 3", "'2'", "from 0 to 1", min_judges=1)

    def test_a_byte_order_mark_crlf_and_other_columns_do_no_harm(self, tmp_path):
        path = tmp_path / "a.csv"
        path.write_bytes(b"\xef\xbb\xbfitem,judge,answer,seconds\r\ni0,ann,0,7\r\n")
        assert read_answers(SUITE, path) == {"i0": {"ann": 0}}

    def test_the_same_answer_twice_counts_once(self, tmp_path):
        path = human_table(tmp_path, "item,judge,answer\ni0,ann,0\ni0,ann,right 0\n")
        assert read_answers(SUITE, path) == {"i0": {"ann": 0}}

    @pytest.mark.parametrize(
        ("table", "parts"),
        [
            ("", ("is empty",)),
            ("item,judge,answer\n", ("no answers",)),
            ("item,judge,answer\ni0,ann,\n", ("no answers",)),
            ("item,judge,answer\ni0,ann,0\nj7,ann,0\n", ("line 3", "'j7'", "'i0'")),
            ("item,judge,answer\ni0,ann,2\n", ("line 2", "'2'", "'i0'", "from 0 to 1")),
            ("item,judge,answer\ni0,ann,-1\n", ("line 2", "'-1'")),
            ("item,judge,answer\ni0,ann,Right 0\n", ("line 2", "'Right 0'")),
            ("item,judge,answer\ni0,ann,0\ni0,bo,1\ni0,ann,1\n", ("line 4", "'ann'", "'1'")),
            ("item,judge,answer\ni0,,0\n", ("line 2", "no judge")),
            ("item,judge,answer\ni0,ann\n", ("line 2", "2 cell(s), expected 3")),
            ("item,answer\ni0,0\n", ("no column 'judge'",)),
            ("id,ann\ni0,0\n", ("line 1", "id, ann", "'item'")),
            ("item\ni0\n", ("line 1", "one column per judge")),
            ("item,ann,ann\ni0,0,0\n", ("'ann' twice",)),
            ("item,,ann\ni0,0,0\n", ("without a name",)),
            ('item,ann\n"i0,0\n', ("line 2", "not a valid row")),
            ("item,ann,bo\n\ni0,0,0\n\ni1,0,x\n", ("line 5", "'x'")),
        ],
    )
    def test_faults_name_the_line_and_the_value(self, tmp_path, table, parts):
        refused(human_table(tmp_path, table), *parts, min_judges=1)

    def test_a_file_that_is_not_there_or_not_text(self, tmp_path):
        refused(tmp_path / "none.csv", "cannot be read")
        (tmp_path / "b.csv").write_bytes(b"item,ann\ni0,\xff\n")
        refused(tmp_path / "b.csv", "line 2", "UTF-8")

    def test_an_answer_that_means_two_candidates(self, tmp_path):
        suite = Suite("n", (
            Choice(id="sum", candidates=("1", "2", "3"), gold=1),
            Choice(id="twin", candidates=("A box.", "A box."), gold=1),
        ))  # fmt: skip
        refused(human_table(tmp_path, "item,a\nsum,2\n"), "several candidates", suite=suite)
        refused(human_table(tmp_path, "item,a\ntwin,A box.\n"), "several", suite=suite)
        path = human_table(tmp_path, "item,a\nsum,3\ntwin,1\n")  # 3: a text, and no number here
        assert read_answers(suite, path) == {"sum": {"a": 2}, "twin": {"a": 1}}

    def test_items_to_translate_and_labels_are_chosen_from(self, tmp_path):
        suite = Suite("t", (
            Translate(id="t", source="盒子", reference="box", contrast=("pen",)),
            Entail(id="e", premise="A pen.", hypothesis="A box.", label="neutral"),
        ))  # fmt: skip
        path = human_table(tmp_path, "item,a\nt,box\ne,neutral\n")
        run = human_run(suite, path, min_judges=1)
        assert [v.credit for v in run.verdicts] == [1.0, 1.0]
        assert run.verdicts[1].scores == (0.0, 1.0, 0.0)
        run = human_run(suite, human_table(tmp_path, "item,a\ne,2\n"), min_judges=1)
        assert [v.credit for v in run.verdicts] == [0.0]
        assert run.info.left_out == {"no human answers": ["t"]}
        bare = Suite("t", (Translate(id="t", source="盒子", reference="box"),))
        refused(human_table(tmp_path, "item,a\nt,0\n"), "line 2", "'t'", suite=bare)

    def test_a_second_label_is_right_too(self, tmp_path):
        suite = Suite("e", (
            Entail(id="e", premise="A pen.", hypothesis="A box.", label="contradiction",
                   also=("neutral",)),
        ))  # fmt: skip
        for answers, credit, margin in (
            ("neutral,neutral,entailment", 1, 1 / 3),
            ("neutral,contradiction,entailment", 2 / 3, 0),
            ("entailment,entailment,neutral", 0, -1 / 3),
        ):
            path = human_table(tmp_path, f"item,a,b,c\ne,{answers}\n")
            (verdict,) = human_run(suite, path).verdicts
            assert verdict.credit == pytest.approx(credit)
            assert verdict.margin == pytest.approx(margin)
            assert verdict.also == ("neutral",)
        assert human_run(suite, path).info.human.single_judge_accuracy == pytest.approx(1 / 3)


class TestRun:
    def test_votes_become_scores_and_the_majority_decides(self, tmp_path):
        run = human_run(SUITE, human_table(tmp_path, WIDE), min_judges=2)
        first, second, third, fourth = run.verdicts
        assert first.scores == (2 / 3, 1 / 3)
        assert (first.winner, first.tied, first.credit) == (0, 1, 1.0)
        assert first.margin == pytest.approx(1 / 3)
        assert (second.credit, third.credit) == (1.0, 0.0)
        assert (fourth.tied, fourth.credit, fourth.margin) == (2, 0.5, 0.0)

    def test_items_with_few_judges_are_left_out_and_counted(self, tmp_path):
        run = human_run(small_suite(6), human_table(tmp_path, WIDE))
        assert run.info.left_out == {
            "fewer than 3 judges": ["i3"],
            "no human answers": ["i4", "i5"],
        }
        assert [v.id for v in run.verdicts] == ["i0", "i1", "i2"]
        shown = "\n".join(notes(run))
        assert "left out 1 of 6 items: fewer than 3 judges" in shown
        assert "left out 2 of 6 items: no human answers" in shown

    def test_too_few_judges_throughout(self, tmp_path):
        refused(human_table(tmp_path, WIDE), "at most 3", "expected 4", min_judges=4)
        with pytest.raises(SuiteError, match="min-judges is 0"):
            human_run(SUITE, human_table(tmp_path, WIDE), min_judges=0)

    def test_judges_agreement_and_single_judges(self, tmp_path):
        human = human_run(SUITE, human_table(tmp_path, WIDE)).info.human
        assert (human.judges, human.answers, human.fewest, human.most) == (3, 9, 3, 3)
        # ann and bo have 2 of 3 right, cy too: i1 and i2.
        assert [j.accuracy for j in human.by_judge] == pytest.approx([2 / 3] * 3)
        assert human.single_judge_accuracy == pytest.approx(2 / 3)
        assert human.agreement["percent"] == pytest.approx((1 / 3 + 1 + 1 / 3) / 3)
        assert "cohen_kappa" not in human.agreement
        # Shares of answers 6/9 and 3/9: chance agrees in 5/9.
        assert human.agreement["fleiss_kappa"] == pytest.approx((5 / 9 - 5 / 9) / (4 / 9))

    def test_two_judges_have_cohens_kappa(self, tmp_path):
        path = human_table(tmp_path, "item,a,b\ni0,0,0\ni1,0,0\ni2,1,1\ni3,1,0\n")
        agreement = human_run(SUITE, path, min_judges=2).info.human.agreement
        assert agreement["cohen_kappa"] == pytest.approx(0.5)
        assert "fleiss_kappa" not in agreement

    def test_what_is_no_number_is_null_and_one_place_is_said(self, tmp_path):
        path = human_table(tmp_path, "item,a,b,c\ni0,0,0,0\ni1,0,0,0\n")
        run = human_run(SUITE, path)
        assert run.info.human.agreement["krippendorff_alpha"] is None
        assert any("is in the same place in 100%" in note for note in notes(run))
        json.dumps(run.info.to_json(), allow_nan=False)

    def test_names_of_judges_are_not_kept(self, tmp_path):
        table = human_table(tmp_path, WIDE.replace("ann", "Zuleika"))
        place = human_run(SUITE, table).save(tmp_path)
        assert not [p for p in place.iterdir() if b"Zuleika" in p.read_bytes()]

    def test_saved_and_read_back(self, tmp_path):
        run = human_run(SUITE, human_table(tmp_path, WIDE), name="readers")
        place = run.save(tmp_path / "runs")
        again = Run.load(place)
        assert again.verdicts == run.verdicts
        assert again.summary() == run.summary()
        assert again.info == run.info
        assert list(notes(again)) == list(notes(run))
        assert again.summary()[0].model == "readers"
        assert "|kind:human|recipe:majority@" in again.signature

    def test_people_have_no_records(self, tmp_path):
        place = human_run(SUITE, human_table(tmp_path, WIDE), min_judges=2).save(tmp_path)
        without_checksums(place)
        model = small_run("++++").save(tmp_path)
        (place / "records.parquet").write_bytes((model / "records.parquet").read_bytes())
        with pytest.raises(RunError, match="2 records, expected 0"):
            Run.load(place)

    def test_only_people_may_have_verdicts_without_records(self, tmp_path):
        place = human_run(SUITE, human_table(tmp_path, WIDE)).save(tmp_path)
        about = json.loads((place / "run.json").read_text("utf-8"))
        model = {**about["model"], "kind": "causal"}
        (place / "run.json").write_text(json.dumps({**about, "model": model}), "utf-8")
        with pytest.raises(RunError, match="0 records, expected 2"):
            Run.load(place)
        fine = about["human"]
        for human in (None, {}, {**fine, "answers": "many"}, {**fine, "by_judge": []}):
            (place / "run.json").write_text(json.dumps({**about, "human": human}), "utf-8")
            with pytest.raises(RunError, match="not a whole run directory"):
                Run.load(place)
