"""Rules: read strictly, judged as they say, and never passed over in silence."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from boxpen import RunError
from boxpen.errors import ConfigError
from boxpen.exchange.gate import read_gate
from boxpen.metrics.paired import exact_mcnemar
from boxpen.metrics.summary import METRICS, Translation, possible_metrics, summarise
from boxpen.runs.rules import Rule, check_runs, parse_bound
from small_runs import small_run

BEFORE = small_run("+" * 16 + "-" * 4)
DROPPED = small_run("+" * 12 + "-" * 8)
FALLEN = small_run("-" * 18 + "+" * 2)


def rules(tmp_path, text: str) -> list[Rule]:
    path = tmp_path / "rules.toml"
    path.write_text(text, "utf-8")
    return list(read_gate(path).rules)


def passes(run, rule: Rule, *baselines) -> bool:
    (outcome,) = check_runs([run], [rule], baselines)
    return outcome.passed


def against(**settings) -> Rule:
    return Rule(metric="accuracy", kind="baseline", **settings)


class TestFile:
    def test_every_key(self, tmp_path):
        assert rules(tmp_path, """
            [[rule]]
            metric = "accuracy"
            min = 0.6
            [[rule]]
            suite = "small"
            model = "one"
            slice = "set=A"
            metric = "both_wrong"
            max = 1
            [[rule]]
            metric = "accuracy"
            no_worse_than_baseline = true
            by = 0.01
            test = "paired"
            alpha = 0.01
        """) == [
            Rule(metric="accuracy", kind="min", bound=0.6),
            Rule(metric="both_wrong", kind="max", bound=1, slice="set=A", suite="small",
                 model="one"),
            against(by=0.01, test="paired", alpha=0.01),
        ]  # fmt: skip

    @pytest.mark.parametrize(
        ("text", "parts"),
        [
            ("", ("rule is missing; add a table [[rule]]",)),
            ("rule = []", ("rule is [], expected 1 or more",)),
            ("rule = 3", ("rule is 3, expected a list",)),
            ("[rule]\nmin = 1", ("rule is {'min': 1}, expected a list",)),
            ("[[rules]]\nmin = 1", ("unknown key 'rules'",)),
            ("[[rule]\n", ("not TOML", "line 1")),
            ("[[rule]]\nmin = 0.5", ("rule[0].metric is missing",)),
            ("[[rule]]\nmetric = 'accuracy'", ("rule[0]: found none of",)),
            ("[[rule]]\nmetric = 'accuracy'\nmin = 0\nmax = 1", ("min and max",)),
            ("[[rule]]\nmetric = 'a'\nmin = 0\n[[rule]]\nmetric = 'a'\nmni = 1",
             ("unknown key 'rule[1].mni'", "'min'")),
            ("[[rule]]\nmetric = 3\nmin = 0", ("metric is 3", "a string")),
            ("[[rule]]\nmetric = 'a'\nmin = '0.5'", ("min is '0.5'", "a number")),
            ("[[rule]]\nmetric = 'a'\nmin = true", ("min is True", "a number")),
            ("[[rule]]\nmetric = 'a'\nmin = nan", ("min is nan", "a finite number")),
            ("[[rule]]\nmetric = 'a'\nmin = 0\nslice = 'LA'", ("'LA'", "tag=value")),
            ("[[rule]]\nmetric = 'a'\nmin = 0\nby = 0.1", ("rule[0].by is set", "only")),
            ("[[rule]]\nmetric = 'a'\nno_worse_than_baseline = 0.1", ("is 0.1", "true or false")),
            ("[[rule]]\nmetric = 'a'\nno_worse_than_baseline = false", ("is false",)),
            ("[[rule]]\nmetric = 'a'\nno_worse_than_baseline = true\nby = -1", ("-1",)),
            ("[[rule]]\nmetric = 'a'\nno_worse_than_baseline = true\ntest = 't'",
             ("'t'", "'value', 'interval' or 'paired'")),
            ("[[rule]]\nmetric = 'a'\nno_worse_than_baseline = true\nalpha = 0.1",
             ("alpha is set", "paired")),
            ("[[rule]]\nmetric = 'accuracy'\nno_worse_than_baseline = true\ntest = 'paired'\n"
             "alpha = 5", ("alpha is 5", "more than 0 and less than 1")),
            ("[[rule]]\nmetric = 'bleu'\nno_worse_than_baseline = true\ntest = 'paired'",
             ("metric is 'bleu'", "accuracy")),
        ],
    )  # fmt: skip
    def test_faults_are_one_sentence(self, tmp_path, text, parts):
        with pytest.raises(ConfigError) as caught:
            rules(tmp_path, text)
        for part in ("rules.toml", *parts):
            assert part in str(caught.value), (part, str(caught.value))
        assert "\n" not in str(caught.value)

    def test_the_example_of_the_documentation(self, tmp_path):
        page = (Path(__file__).parents[1] / "docs" / "how-to" / "evaluate" / "gate.md").read_text(
            "utf-8"
        )
        example = page.split('```toml title="gate.toml"\n')[1].split("```")[0]
        assert [r.kind for r in rules(tmp_path, example)] == ["min", "max", "baseline"]

    def test_files_that_cannot_be_read(self, tmp_path):
        with pytest.raises(ConfigError, match="cannot be read"):
            read_gate(tmp_path / "none.toml")
        (tmp_path / "b.toml").write_bytes(b"\xff")
        with pytest.raises(ConfigError, match="not UTF-8"):
            read_gate(tmp_path / "b.toml")


class TestBounds:
    @pytest.mark.parametrize(
        ("text", "passed"),
        [
            ("accuracy>=0.8", True),
            ("accuracy>0.8", False),
            ("accuracy >= .81", False),
            ("set=A:accuracy>=8e-1", True),
            ("both_right>=0.8", True),
            ("both_right>0.8", False),
        ],
    )
    def test_on_the_command_line(self, text, passed):
        assert passes(BEFORE, parse_bound(text)) is passed

    @pytest.mark.parametrize("text", ["accuracy", "accuracy=1", "accuracy>=x", ">=1", "a<=0.5"])
    def test_what_is_no_bound(self, text):
        with pytest.raises(RunError, match="expected something like"):
            parse_bound(text)

    def test_max(self):
        assert passes(BEFORE, Rule(metric="accuracy", kind="max", bound=0.8))
        assert not passes(BEFORE, Rule(metric="accuracy", kind="max", bound=0.79))

    def test_what_is_no_number_fails(self):
        run = small_run("++--")
        run.__dict__["_rows"] = tuple(replace(r, value=math.nan) for r in run.summary())
        for kind in ("min", "above", "max"):
            assert not passes(run, Rule(metric="accuracy", kind=kind, bound=0.5))
        assert not passes(run, against(), small_run("++--"))


class TestBaseline:
    def test_value(self):
        assert passes(BEFORE, against(), BEFORE)
        assert passes(BEFORE, against(), DROPPED)
        assert not passes(DROPPED, against(), BEFORE)
        assert passes(DROPPED, against(by=0.2), BEFORE)  # 0.8 - 0.2 is a little over 0.6
        assert not passes(DROPPED, against(by=0.19), BEFORE)

    def test_interval(self):
        assert passes(DROPPED, against(test="interval"), BEFORE)
        assert not passes(FALLEN, against(test="interval"), BEFORE)
        assert passes(FALLEN, against(test="interval", by=0.5), BEFORE)

    @pytest.mark.parametrize("metric", ["accuracy", "failure_rate"])
    def test_intervals_that_overlap_pass(self, metric):
        after = small_run("+" * 8 + "-" * 12)
        ours, theirs = (
            next(r for r in run.summary() if r.metric == "accuracy") for run in (after, BEFORE)
        )
        assert ours.value < theirs.low < ours.high < theirs.value
        assert passes(after, Rule(metric=metric, kind="baseline", test="interval"), BEFORE)

    def test_paired(self):
        # Two blocks lost, four items, and none won: p = 2 / 2 ** 2.
        (outcome,) = check_runs([DROPPED], [against(test="paired")], [BEFORE])
        assert outcome.passed
        assert outcome.p == 0.5
        (outcome,) = check_runs([DROPPED], [against(test="paired", alpha=0.6)], [BEFORE])
        assert not outcome.passed
        assert passes(DROPPED, against(test="paired", alpha=0.6, by=0.2), BEFORE)
        (outcome,) = check_runs([FALLEN], [against(test="paired")], [BEFORE])
        assert outcome.p == 2 * (1 + 9) / 2**9, "eight blocks lost, one won"
        assert not outcome.passed

    def test_a_significant_gain_is_no_failure(self):
        assert passes(BEFORE, against(test="paired"), FALLEN)

    def test_paired_within_a_slice_and_with_ties(self):
        before, after = small_run("+" * 12), small_run("-+" * 5 + "=+")
        (outcome,) = check_runs([after], [against(test="paired", slice="set=A")], [before])
        assert outcome.p == exact_mcnemar(0, 6)
        assert not outcome.passed
        assert passes(after, against(test="paired", slice="set=B"), before)

    @pytest.mark.parametrize("test", ["value", "interval"])
    def test_of_some_metrics_less_is_better(self, test):
        rule = Rule(metric="both_wrong", kind="baseline", test=test)
        assert not passes(FALLEN, rule, BEFORE)
        assert passes(BEFORE, rule, FALLEN)
        assert passes(FALLEN, replace(rule, by=0.9), BEFORE)

    def test_among_several_the_same_model_is_meant(self):
        other = small_run("-" * 20, model="other")
        assert not passes(DROPPED, against(), other, BEFORE)
        assert passes(replace(other, info=other.info), against(), other, BEFORE)

    def test_among_several_the_same_settings_are_meant(self):
        token = small_run("+" * 20, norm="token")
        (outcome,) = check_runs([BEFORE], [against()], [token, BEFORE])
        assert outcome.baseline.signature == BEFORE.signature


class TestMetrics:
    """What is expected before there are results is what is found when there are."""

    @pytest.mark.parametrize("blocks", [True, False])
    @pytest.mark.parametrize("sets", [True, False])
    def test_of_verdicts(self, blocks, sets):
        verdicts = [
            replace(v, block=v.block if blocks else None, tags=v.tags if sets else {})
            for v in BEFORE.verdicts
        ]
        translations = [Translation(f"t{n}", "a", "b", "b", "en", {"set": "T"}) for n in range(9)]
        for translated in ([], translations):
            for asked in (True, False):
                rows = summarise(verdicts, translated, suite="s", model="m", signature="s", beam=1,
                                 asked=asked)  # fmt: skip
                found: dict[str, set[str]] = {}
                for row in rows:
                    found.setdefault(row.slice, set()).add(row.metric)
                known = possible_metrics(verdicts, translated, asked=asked)
                assert {name: set(metrics) for name, metrics in known.items()} == found
                assert set(known["all"]) <= set(METRICS)


class TestRefusals:
    @pytest.mark.parametrize(
        ("rule", "baselines", "parts"),
        [
            (Rule(metric="accuracy", kind="min", suite="big"), (), ("suite 'big'", "small × one")),
            (Rule(metric="accuracy", kind="min", model="two"), (), ("model 'two'", "small × one")),
            (Rule(metric="acuracy", kind="min"), (), ("no acuracy for all", "'accuracy'")),
            (Rule(metric="accuracy", kind="min", slice="set=C"), (), ("set=C", "'set=A'")),
            (against(), (), ("needs a baseline", "--baseline")),
            (against(), (small_run("++", suite="big"),), ("no run of suite 'small'", "big × one")),
            (against(), (small_run("++"),), ("not the same", "20 items", "2 items")),
            (against(), (small_run("+" * 20, norm="token"),), ("norm sum", "norm token")),
            (against(), (small_run("+" * 20, ties="strict"),), ("ties half", "ties strict")),
            (against(), (small_run("+" * 20, model="a"), small_run("+" * 20, model="b")),
             ("small-a-", "small-b-", "give one")),
            (Rule(metric="accuracy", kind="min"), (BEFORE,), ("no rule has no_worse",)),
        ],
    )  # fmt: skip
    def test_one_sentence(self, rule, baselines, parts):
        with pytest.raises(RunError) as caught:
            check_runs([BEFORE], [rule], baselines)
        for part in parts:
            assert part in str(caught.value), (part, str(caught.value))
