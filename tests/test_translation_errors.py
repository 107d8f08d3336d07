"""Types of translation errors: what is asked, how judges' labels are put together and counted."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boxpen import Run
from boxpen.analysis.error_shares import crossed, error_shares
from boxpen.analysis.translation_errors import (
    ERROR_TYPES,
    RIGHT,
    ErrorTask,
    Output,
    outputs_of,
)
from boxpen.errors import BuildError, RunError
from boxpen.report.translation_errors import (
    PAPER,
    error_table,
    errors_object,
    errors_page,
)
from boxpen.review import (
    Decision,
    Judgement,
    Question,
    Rule,
    decide_labels,
    label_agreement,
    label_pairs,
    labels_of,
    sampled,
)
from boxpen.runs.run import Translation
from small_runs import small_run

C, M, O = ERROR_TYPES  # noqa: E741
FORMS = {RIGHT: ("right", "R", " ok "), C: ("c", "Common Sense", "cs"), M: ("om", "M"), O: ("o",)}
LABELS = st.sampled_from([RIGHT, *ERROR_TYPES]) | st.sets(
    st.sampled_from(ERROR_TYPES), min_size=1
).map(lambda some: "+".join(kind for kind in ERROR_TYPES if kind in some))
GIVEN = st.dictionaries(
    st.tuples(st.sampled_from("xyz"), st.sampled_from(["ann", "bo", "cy"])), LABELS, max_size=9
).map(lambda said: [Judgement(i, j, verdict) for (i, j), verdict in said.items()])


def translating(outcome: str, texts: str = "", model: str = "one") -> Run:
    """A run of items as ``outcome`` says; item i is translated as 'made X', X being texts[i]."""
    run = small_run(outcome, model=model, fingerprint=f"{sum(model.encode()):064x}")
    made = [
        Translation(v.id, f"源 {n}", f"right {n}", f"made {texts[n : n + 1]}", "en", v.tags)
        for n, v in enumerate(run.verdicts)
    ]
    return replace(run, translations=tuple(made))


def votes(*said: tuple[str, str, str]) -> list[Judgement]:
    return [Judgement(item, judge, verdict) for item, judge, verdict in said]


def outputs(*rows: tuple[str, bool | None, str], part: str = "") -> tuple[list, dict]:
    """Outputs of (block, choice, verdict), and the decisions on them; no verdict is open."""
    made = [
        Output("one", f"i{n}", Question(f"i{n}", {}, part=part), block, chose)
        for n, (block, chose, _) in enumerate(rows)
    ]
    found = {
        f"i{n}": Decision(f"i{n}", verdict or None, "", {verdict: 1} if verdict else {}, "")
        for n, (_, _, verdict) in enumerate(rows)
    }
    return made, found


class TestVerdicts:
    @given(st.permutations(ERROR_TYPES), st.integers(1, 3), st.data())
    def test_several_types_however_they_are_written(self, types, count, data):
        some = types[:count]
        text = " + ".join(data.draw(st.sampled_from(FORMS[kind])) for kind in some)
        found = ErrorTask.verdicts.read(text)
        assert found == "+".join(sorted(some, key=ERROR_TYPES.index))
        assert sorted(labels_of(found)) == sorted(some)
        assert ErrorTask.verdicts.read(found) == found

    @pytest.mark.parametrize("text", FORMS[RIGHT])
    def test_right(self, text):
        assert ErrorTask.verdicts.read(text) == RIGHT

    @pytest.mark.parametrize("text", ["right+c", "c+c", "c+", "+", "", "c,m", "wrong", "cm"])
    def test_what_is_no_verdict(self, text):
        assert ErrorTask.verdicts.read(text) is None

    def test_a_message_says_how_to_give_several(self):
        assert "or several of common sense, ordinary meaning, other, joined by '+'" in str(
            ErrorTask.verdicts
        )


class TestQuestions:
    def test_what_a_judge_sees(self):
        (one, _) = ErrorTask(outputs_of([("one", [translating("+-", "ab")])])).questions()
        assert one.shown == {
            "source": "源 0", "reference": "right 0", "wrong": "wrong 0.0", "translation": "made a",
        }  # fmt: skip
        assert (one.part, one.hints, one.score) == ("A", {}, None)
        assert one.item.startswith("i0/d")

    def test_all_wrong_candidates_are_shown(self):
        run = small_run("+", k=3)
        made = Translation("i0", "源", "right 0", "made", "en")
        (one,) = outputs_of([("one", [replace(run, translations=(made,))])])
        assert one.question.shown["wrong"] == "wrong 0.0\nwrong 0.1"

    def test_the_choice_of_the_run_is_kept_and_ties_are_none(self):
        found = outputs_of([("one", [translating("+-=", "abc")])])
        assert [output.chose for output in found] == [True, False, None]
        blocks = [output.cluster.split(", ")[1] for output in found]
        assert blocks == ["block b0", "block b0", "block b1"]
        suites = {output.cluster.split(", ")[0] for output in found}
        assert len(suites) == 1

    def test_items_without_candidates_have_no_choice(self):
        run = translating("++", "ab")
        (extra,) = (replace(run.translations[0], id="only to translate"),)
        run = replace(run, translations=(*run.translations, extra))
        last = outputs_of([("one", [run])])[-1]
        assert (last.chose, last.question.shown["wrong"]) == (None, "")

    def test_what_systems_translate_alike_is_asked_once(self):
        one, two = translating("++++", "abcd"), translating("++++", "abxy", model="two")
        found = outputs_of([("one", [one]), ("two", [two])])
        assert len(found) == 8
        assert len(ErrorTask(found).questions()) == 6

    def test_nothing_of_a_question_depends_on_the_system(self):
        one, two = translating("++++", "abcd"), translating("----", "wxyz", model="two")
        here = ErrorTask(outputs_of([("one", [one]), ("two", [two])])).questions()
        there = ErrorTask(outputs_of([("two", [two]), ("one", [one])])).questions()
        assert here == there
        places = [q.shown["translation"][-1] in "abcd" for q in here]
        assert len(set(zip(places[::2], places[1::2], strict=True))) == 2  # either may come first

    def test_a_system_that_did_a_part_twice_counts_once(self):
        run = translating("++", "ab")
        assert len(outputs_of([("one", [run, run])])) == 2

    def test_spaces_make_no_other_question(self):
        run = translating("+", "a")
        spaced = replace(run, translations=(replace(run.translations[0], translation="made  a "),))
        assert len(ErrorTask(outputs_of([("a", [run]), ("b", [spaced])])).questions()) == 1

    def test_a_sample_has_the_translations_of_all_systems(self):
        runs = [("one", [translating("+" * 9, "abcdefghi")]), ("two", [translating("+" * 9)])]
        found = outputs_of(runs)
        asked = ErrorTask(found).questions()
        taken = sampled(asked, 4, seed=3)
        assert Counter(q.unit for q in taken) == dict.fromkeys({q.unit for q in taken}, 2)
        assert len(taken) == 8
        assert len({tuple(q.unit for q in sampled(asked, 4, seed)) for seed in range(9)}) > 1

    @pytest.mark.parametrize(
        ("language", "kind", "reason"),
        [
            (None, "seq2seq", "the suite 'small' has no sources; expected one that has"),
            ("zh", "causal", r"'one' \(causal\) does not translate; expected the run of a"),
            ("zh", "seq2seq", "made with --no-bleu; run it again without"),
        ],
    )
    def test_runs_without_translations(self, language, kind, reason):
        run = small_run("+-")
        suite = replace(run.info.suite, source_language=language)
        model = replace(run.info.model, kind=kind)
        run = replace(run, info=replace(run.info, suite=suite, model=model))
        with pytest.raises(RunError, match=f"run {run.name} has no translations: .*{reason}"):
            outputs_of([("one", [run])])


class TestDecisions:
    @pytest.mark.parametrize(
        ("verdicts", "rule", "expected"),
        [
            ([C], "majority", C),
            ([C, C], "majority", C),
            ([f"{C}+{M}", f"{C}+{O}", C], "majority", C),
            ([f"{C}+{M}", f"{C}+{M}", RIGHT], "majority", f"{C}+{M}"),
            ([RIGHT, RIGHT, C], "majority", RIGHT),
            ([C, f"{C}+{M}"], "majority", None),  # one of two sees the second: a tie
            ([C, RIGHT], "majority", None),
            ([C, M, O], "majority", None),  # something is wrong, but what?
            ([C, C, M, O, RIGHT], "majority", None),  # the commonest, and not of most
            ([C, M, O], "any-yes", f"{C}+{M}+{O}"),
            ([RIGHT, O], "any-yes", O),
            ([RIGHT, RIGHT], "any-yes", RIGHT),
            ([C, C], "unanimous", C),
            ([f"{C}+{M}", C, C], "unanimous", None),
        ],
    )
    def test_label_by_label(self, verdicts, rule, expected):
        given = [Judgement("x", f"j{n}", verdict) for n, verdict in enumerate(verdicts)]
        assert decide_labels(given, ErrorTask.verdicts, Rule(rule))["x"].verdict == expected

    @given(GIVEN)
    def test_the_majority_by_counting(self, given):
        found = decide_labels(given, ErrorTask.verdicts, items="xyz")
        for item in "xyz":
            of = [labels_of(one.verdict) for one in given if one.item == item]
            most = {k for k in FORMS if sum(k in labels for labels in of) * 2 > len(of)}
            tied = any(sum(k in labels for labels in of) * 2 == len(of) for k in ERROR_TYPES)
            expected = None if tied or not most else "+".join(k for k in FORMS if k in most)
            assert found[item].verdict == expected
            assert found[item].judges == len(of)

    def test_an_adjudicator_decides_and_silence_leaves_it_to_the_others(self):
        given = votes(("x", "ann", C), ("x", "bo", RIGHT), ("x", "cy", f"{C}+{O}"),
                      ("y", "ann", M), ("y", "bo", M), ("z", "ann", M), ("z", "bo", C))  # fmt: skip
        rule = Rule("adjudicator", adjudicator="cy")
        found = decide_labels(given, ErrorTask.verdicts, rule, min_judges=2)
        assert [found[item].verdict for item in "xyz"] == [f"{C}+{O}", M, None]
        assert "cy decides" in found["z"].reason

    def test_reasons(self):
        given = votes(("x", "ann", C), ("x", "bo", RIGHT), ("y", "ann", C),
                      *(("z", f"j{n}", v) for n, v in enumerate((C, C, M, O, RIGHT))))  # fmt: skip
        found = decide_labels(given, ErrorTask.verdicts, min_judges=2, items=["x", "y", "z", "w"])
        assert found["x"].reason == "judges are divided: common sense 1, right 1"
        assert found["y"].reason == "judged by 1, expected 2 or more"
        assert found["z"].reason.startswith("judges are divided: common sense 2, ")
        assert found["w"].reason == "not judged"

    def test_a_withdrawn_verdict_is_none(self):
        given = votes(("x", "ann", C), ("x", "ann", ""))
        assert decide_labels(given, ErrorTask.verdicts)["x"].verdict is None

    def test_a_journal_of_something_else(self):
        with pytest.raises(BuildError, match="'ann' on item 'x' is 'reject', expected right"):
            decide_labels(votes(("x", "ann", "reject")), ErrorTask.verdicts)


class TestAgreement:
    def test_of_labels_as_in_the_paper(self):
        given = votes(("x", "ann", f"{C}+{M}"), ("x", "bo", C),  # 3 labels, 2 alike
                      ("y", "ann", RIGHT), ("y", "bo", RIGHT),
                      ("z", "ann", O), ("z", "bo", RIGHT), ("w", "bo", C))  # fmt: skip
        (pair,) = label_pairs(given, ERROR_TYPES)
        assert (pair.items, pair.alike, pair.labels, pair.share) == (3, 2, 4, 0.5)
        (pair,) = label_pairs(given, (RIGHT, *ERROR_TYPES))
        assert (pair.alike, pair.labels) == (4, 7)

    def test_no_labels_no_number(self):
        (pair,) = label_pairs(votes(("x", "ann", RIGHT), ("x", "bo", RIGHT)), ERROR_TYPES)
        assert math.isnan(pair.share)
        assert label_pairs(votes(("x", "ann", C), ("y", "bo", C)), ERROR_TYPES) == []

    @given(GIVEN)
    def test_by_looking_up_every_label(self, given):
        said = {(g.item, g.judge): labels_of(g.verdict) for g in given}
        expected = {}
        for first, second in combinations(sorted({judge for _, judge in said}), 2):
            alike = labels = 0
            both = [i for i in "xyz" if (i, first) in said and (i, second) in said]
            for item in both:
                for mine, theirs in ((first, second), (second, first)):
                    for label in said[item, mine]:
                        if label != RIGHT:
                            labels += 1
                            alike += label in said[item, theirs]
            if both:
                expected[first, second] = (len(both), alike, labels)
        found = label_pairs(given, ERROR_TYPES)
        assert {(p.first, p.second): (p.items, p.alike, p.labels) for p in found} == expected

    def test_type_by_type(self):
        given = votes(("x", "ann", f"{C}+{M}"), ("x", "bo", C), ("y", "ann", RIGHT),
                      ("y", "bo", RIGHT), ("z", "ann", O), ("z", "bo", O))  # fmt: skip
        common, ordinary, other = label_agreement(given, ERROR_TYPES)
        assert (common.part, common.items, common.percent, common.cohen) == (C, 3, 1.0, 1.0)
        assert ordinary.percent == pytest.approx(2 / 3)
        assert ordinary.cohen == 0.0  # bo never said so: no better than chance
        assert (other.part, other.alpha) == (O, 1.0)


class TestShares:
    def test_errors_are_counted_not_translations(self):
        made, found = outputs(
            ("a", True, f"{C}+{M}"), ("b", True, C), ("c", True, RIGHT), ("d", True, C),
            ("e", True, ""),
        )  # fmt: skip
        (row,) = error_shares(made, found)
        assert (row.part, row.translations, row.judged, row.errors) == ("total", 5, 4, 4)
        assert row.counts == {C: 3, M: 1, O: 0}
        assert [row.shares[kind].value for kind in ERROR_TYPES] == [0.75, 0.25, 0.0]
        assert row.right[0::3] == (0.25, 4)

    def test_wilsons_interval_where_all_is_independent(self):
        rows = [(f"b{n}", True, C) for n in range(81)] + [(f"c{n}", True, M) for n in range(182)]
        (row,) = error_shares(*outputs(*rows))
        low, high = row.shares[C][1:3]  # Newcombe 1998a, table I: 81 of 263
        assert (low, high) == (pytest.approx(0.2553, abs=5e-5), pytest.approx(0.3662, abs=5e-5))

    def test_a_block_is_not_two_independent_items(self):
        verdicts = [C, C, M, M] * 10
        alone = error_shares(*outputs(*((str(n), True, v) for n, v in enumerate(verdicts))))
        blocks = error_shares(*outputs(*((str(n // 2), True, v) for n, v in enumerate(verdicts))))
        for kind in (C, M):
            one, two = alone[0].shares[kind], blocks[0].shares[kind]
            assert one.value == two.value == 0.5
            assert two.high - two.low > 1.3 * (one.high - one.low)

    def test_a_line_for_every_set_and_system(self):
        one, two = translating("++++", "abcd"), translating("++++", "abcd", model="two")
        found = outputs_of([("one", [one]), ("two", [two])])
        items = [q.item for q in ErrorTask(found).questions()]
        given = [Judgement(i, "ann", v) for i, v in zip(items, (C, M, RIGHT, RIGHT), strict=True)]
        rows = error_shares(found, decide_labels(given, ErrorTask.verdicts))
        assert [(r.system, r.part, r.counts[C], r.counts[M], r.right.value) for r in rows] == [
            (system, *line)
            for system in ("one", "two")
            for line in (("A", 1, 0, 0.5), ("B", 0, 1, 0.5), ("total", 1, 1, 0.5))
        ]

    def test_one_set_is_the_total(self):
        made, found = outputs(("a", True, C), part="LA")
        assert [row.part for row in error_shares(made, found)] == ["total"]

    @settings(deadline=None)
    @given(st.lists(st.tuples(st.sampled_from("abcd"), st.booleans(), LABELS), max_size=12))
    def test_shares_are_shares(self, rows):
        for row in error_shares(*outputs(*rows)):
            assert row.errors == sum(row.counts.values())
            if row.errors:
                assert math.fsum(e.value for e in row.shares.values()) == pytest.approx(1)
            for e in (row.right, *row.shares.values()):
                assert e.n == 0 or 0 <= e.low <= e.value <= e.high <= 1


class TestCrossed:
    def test_a_table_by_hand(self):
        made, found = outputs(
            ("a", False, C), ("b", False, f"{C}+{O}"), ("c", False, M), ("d", True, C),
            ("e", True, RIGHT), ("f", True, RIGHT), ("g", True, O), ("h", None, C),
            ("i", False, ""),
        )  # fmt: skip
        (row,) = crossed(made, found)
        assert row.table == ((2, 1), (1, 3))
        assert (row.wrong.value, row.right.value, row.left_out) == (2 / 3, 1 / 4, 1)
        assert row.difference.value == pytest.approx(2 / 3 - 1 / 4)

    def test_newcombes_example(self):
        rows = [(f"w{n}", False, C if n < 56 else RIGHT) for n in range(70)]
        rows += [(f"r{n}", True, C if n < 48 else RIGHT) for n in range(80)]
        (row,) = crossed(*outputs(*rows))
        low, high = row.difference[1:3]  # Newcombe 1998b, table II (a), method 10
        assert (low, high) == (pytest.approx(0.0524, abs=5e-5), pytest.approx(0.3339, abs=5e-5))

    def test_blocks_with_an_item_on_either_side(self):
        def width(second: dict[str, str], block: str) -> float:
            rows = []
            for n in range(20):
                verdict = C if n % 2 else RIGHT
                rows += [(f"{n}", False, verdict), (f"{n}{block}", True, second[verdict])]
            difference = crossed(*outputs(*rows))[0].difference
            assert difference.value == 0
            return difference.high - difference.low

        same, other = {C: C, RIGHT: RIGHT}, {C: RIGHT, RIGHT: C}
        # Always alike: no reason to be surer than of independent items.
        assert width(same, "") == pytest.approx(width(same, "'"))
        # Always opposed: errors add up; side by side they add up as squares.
        assert width(other, "") == pytest.approx(math.sqrt(2) * width(other, "'"))

    def test_nothing_on_one_side_is_no_number(self):
        (row,) = crossed(*outputs(("a", True, C)))
        assert all(math.isnan(number) for number in row.difference[:3])
        assert row.table == ((0, 0), (1, 0))


class TestReport:
    @pytest.fixture
    def table(self):
        run = translating("+-=-", "abcd")
        found = outputs_of([("sys|tem", [run])])
        items = [q.item for q in ErrorTask(found).questions()]
        given = votes((items[0], "ann", RIGHT), (items[0], "bo", RIGHT), (items[1], "ann", C),
                      (items[1], "bo", f"{C}+{M}"), (items[2], "ann", C))  # fmt: skip
        return error_table(found, ErrorTask(found).decide(given, Rule("any")), paper=True)

    def test_markdown(self, table):
        text = errors_page(table).markdown()
        assert "### sys\\|tem: types among all errors" in text
        assert "| paper |  |  |  | 71.6 | 22.7 | 5.7 |" in text
        assert "| total | 3 | 33.3 [" in text
        assert "| wrong candidate | 1 | 0 | 100.0 [" in text
        assert "- not judged yet: 1 of 4 translations\n" in text
        assert "or tied: 1\n" in text
        assert "- ann and bo: 66.7 % of 3 labels of errors are given alike, on 2 tr" in text
        assert "judged, not decided" not in text

    def test_other_suites_stand_without_the_paper(self, table):
        assert "paper" not in errors_page(replace(table, paper=False)).markdown()
        assert errors_object(replace(table, paper=False))["paper"] is None

    def test_the_terminal_has_the_same_numbers_in_80_columns(self, table):
        from io import StringIO

        from rich.console import Console

        stream = StringIO()
        for part in errors_page(table).terminal():
            Console(file=stream, width=80).print(part)
        text = stream.getvalue()
        assert max(map(len, text.splitlines())) <= 80
        for piece in ("71.6", "22.7", "33.3", "sys|tem", "wrong candidate", "• not judged yet: 1"):
            assert piece in text, piece

    def test_the_object(self, table):
        found = errors_object(table)
        assert set(found) == {"shares", "choices", "agreement", "paper", "notes"}
        assert found["paper"] == PAPER
        total = found["shares"][-1]
        assert (total["part"], total["counts"]) == ("total", {C: 2, M: 1, O: 0})
        assert total["shares"][C]["value"] == pytest.approx(2 / 3)
        assert found["choices"][0]["table"] == ((1, 0), (0, 1))
        assert found["agreement"][0]["share"] == pytest.approx(2 / 3)

    def test_what_waits_is_said(self):
        made, found = outputs(("a", True, C), ("b", True, ""))
        found["i1"] = Decision("i1", None, "", {C: 1, RIGHT: 1}, "judges are divided")
        review = replace(ErrorTask(made).decide([]), decisions=found)
        notes = error_table(made, review, paper=False).notes
        assert notes == ["judged, not decided (too few judges, or divided): 1"]
