"""What contexts tell: every number against a slow, obvious twin, and what is refused."""

from __future__ import annotations

import itertools
import math
import statistics
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t

from boxpen import Card, Choice, RunError, Suite, evaluate
from boxpen.analysis.discourse.context_gain import CONTEXTS, context_gains, sign_flip
from boxpen.runs.info import RunInfo
from boxpen.runs.run import Run
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.requests import Record
from boxpen.scoring.verdicts import Scored, decide
from small_runs import Liking

TAGS = [
    {"set": "pronoun", "class": "他们"},
    {"set": "pronoun", "class": "她们"},
    {"set": "connective", "class": "while-而"},
    {"set": "ellipsis", "class": "ellipsis"},
]
SLICES = ("all", "pronoun", "她们", "他们", "connective", "while-而", "ellipsis")


def items(n: int, blocks: bool = False) -> list[Choice]:
    """Items whose references have two to four tokens."""
    return [
        Choice(
            id=f"i{i}", candidates=(f"right {i}", f"wrong {i}"), gold=0, source=f"source {i}",
            context=f"before {i}", block=f"b{i // 3}" if blocks else None, tags=TAGS[i % 4],
        )
        for i in range(n)
    ]  # fmt: skip


def scored(text: str, total: float, tokens: int) -> Scored:
    # Halves of halves, so that single precision holds them and sums are exact.
    logprobs = np.array([total - 0.25 * (tokens - 1)] + [0.25] * (tokens - 1), dtype=np.float32)
    return Scored(text, Record(np.arange(tokens, dtype=np.int32), logprobs))


def made(
    context: str,
    pairs: list[tuple[float, float]],
    *,
    model: str = "one",
    blocks: bool = False,
    suite: str = "small",
    fingerprint: str = "a" * 64,
    order: int = 1,
) -> Run:
    """A run in which item i has these log-probabilities: of the reference and of the contrast."""
    asked = items(len(pairs), blocks)
    # Two items of every set at least, so that each finds another's context.
    put = tuple(items(max(len(pairs), 2 * len(TAGS)), blocks))
    whole = Suite(suite, put, Card(language="zh", source_language="en"))
    empty = evaluate(
        Liking(model, set(), fingerprint), whole, cache=":memory:", context=context,
        check_languages=False,
    )  # fmt: skip
    candidates = {
        item.id: [scored(item.candidates[0], a, 2 + i % 3), scored(item.candidates[1], b, 2)]
        for i, (item, (a, b)) in enumerate(zip(asked, pairs, strict=True))
    }
    verdicts = [decide(item, candidates[item.id], ScoringPolicy()) for item in asked]
    return replace(empty, verdicts=tuple(verdicts[::order]), candidates=candidates)


quarters = st.integers(-40, 0).map(lambda n: n / 4)
numbers = st.lists(st.tuples(*[st.tuples(quarters, quarters)] * 3), min_size=4, max_size=9)


def twin_interval(sums: list[float], sizes: list[int]) -> tuple[float, float, float]:
    """The ratio of sums to sizes, and the t interval of its linearised standard error."""
    n, k = sum(sizes), len(sums)
    value = sum(sums) / n
    if k < 2:
        return value, math.nan, math.nan
    spread = sum((s - z * value) ** 2 for s, z in zip(sums, sizes, strict=True))
    half = t.ppf(0.975, k - 1) * math.sqrt(spread * k / (k - 1)) / n
    return value, value - half, value + half


def twin_flips(sums: list[float]) -> float:
    """All signs, one after the other."""
    reached = [
        abs(sum(s * d for s, d in zip(signs, sums, strict=True))) >= abs(sum(sums)) - 1e-12
        for signs in itertools.product((1, -1), repeat=len(sums))
    ]
    return sum(reached) / len(reached)


@pytest.mark.parametrize("blocks", [False, True])
@settings(deadline=None, max_examples=15)
@given(numbers)
def test_every_number_is_that_of_the_slow_twin(blocks, drawn):
    columns = dict(zip(CONTEXTS, map(list, zip(*drawn, strict=True)), strict=True))
    found = context_gains([made(c, pairs, blocks=blocks) for c, pairs in columns.items()])
    (system,) = found.systems
    assert (system.items, system.most, found.slices) == (len(drawn), len(drawn), SLICES)
    inside = {
        "all": (0, 1, 2, 3), "pronoun": (0, 1), "他们": (0,), "她们": (1,), "connective": (2,),
        "while-而": (2,), "ellipsis": (3,),
    }  # fmt: skip
    for part, kinds in inside.items():
        ids = [i for i in range(len(drawn)) if i % 4 in kinds]
        right = {
            c: [1.0 if a > b else 0.5 if a == b else 0.0 for a, b in (pairs[i] for i in ids)]
            for c, pairs in columns.items()
        }
        for context in CONTEXTS:
            accuracy = found.accuracy["one", part, context]
            assert accuracy.value == pytest.approx(statistics.mean(right[context]))
            assert accuracy.low <= accuracy.value <= accuracy.high
        for more, less in (("given", "none"), ("given", "shuffled"), ("shuffled", "none")):
            gain = found.gains["one", part, (more, less)]
            assert gain.accuracy.difference.value == pytest.approx(
                statistics.mean(right[more]) - statistics.mean(right[less])
            )
            clusters: dict[int, list[int]] = {}
            for i in ids:
                clusters.setdefault(i // 3 if blocks else i, []).append(i)
            sums = [
                sum(columns[more][i][0] - columns[less][i][0] for i in some)
                for some in clusters.values()
            ]
            sentences = [len(some) for some in clusters.values()]
            tokens = [sum(2 + i % 3 for i in some) for some in clusters.values()]
            assert gain.n == len(ids)
            approx = {"abs": 1e-9, "nan_ok": True}
            assert gain.sentence[:3] == pytest.approx(twin_interval(sums, sentences), **approx)
            assert gain.token[:3] == pytest.approx(twin_interval(sums, tokens), **approx)
            assert gain.p == gain.adjusted == pytest.approx(twin_flips(sums))
            earned = [
                sum(right[more][ids.index(i)] - right[less][ids.index(i)] for i in some)
                for some in clusters.values()
            ]
            # McNemar's exact test is the sign-flip test of credits that are 0 or 1.
            assert gain.accuracy.p == gain.accuracy.adjusted == pytest.approx(twin_flips(earned))


@settings(deadline=None, max_examples=15)
@given(numbers)
def test_contexts_interchanged_turn_the_signs_and_the_order_changes_nothing(drawn):
    one, other, _ = map(list, zip(*drawn, strict=True))
    found = context_gains([made("given", one), made("none", other)])
    turned = context_gains([made("given", other), made("none", one)])
    again = context_gains([made("none", other, order=-1), made("given", one)])
    assert again.gains == found.gains
    assert again.accuracy == found.accuracy
    for key, gain in found.gains.items():
        back = turned.gains[key]
        assert (back.sentence.value, back.token.value) == pytest.approx(
            (-gain.sentence.value, -gain.token.value)
        )
        assert back.sentence.low == pytest.approx(-gain.sentence.high, nan_ok=True)
        assert back.accuracy.difference.value == pytest.approx(-gain.accuracy.difference.value)
        assert (back.p, back.accuracy.p) == pytest.approx((gain.p, gain.accuracy.p))


@given(st.lists(st.integers(-12, 12).map(lambda n: n / 8), min_size=1, max_size=9))
def test_sign_flips_are_all_counted(sums):
    assert sign_flip(sums) == pytest.approx(twin_flips(sums))


def test_sign_flips_of_any_numbers_are_near_to_exact():
    dice = np.random.default_rng(3)
    for scale in (1e-6, 1.0, 1e4):
        sums = [float(x) for x in scale * dice.normal(0.4, 1, size=14)]
        assert sign_flip(sums) == pytest.approx(twin_flips(sums), abs=2e-3)
    assert sign_flip([0.0, 0.0]) == 1
    assert sign_flip([1.0] * 200) == pytest.approx(2 * 0.5**200)


def test_a_hand_made_gain():
    """Four references gain 1, 2, 3 and 6 nats: 12 nats over 2 + 3 + 4 + 2 tokens."""
    with_context = [(-1.0, -3.0), (-1.0, -3.0), (-1.0, -3.0), (-1.0, -3.0)]
    alone = [(-2.0, -3.0), (-3.0, -3.0), (-4.0, -3.0), (-7.0, -3.0)]
    found = context_gains([made("given", with_context), made("none", alone)])
    gain = found.gains["one", "all", ("given", "none")]
    assert gain.sentence.value == 3
    assert gain.token.value == pytest.approx(12 / 11)
    half = 3.182446 * math.sqrt((4 + 1 + 0 + 9) / 3 / 4)
    assert gain.sentence.high == pytest.approx(3 + half, abs=1e-5)
    assert gain.p == 2 / 16
    assert gain.accuracy.difference.value == 1 - (1 + 0.5 + 0 + 0) / 4
    assert found.gains.keys() == {("one", part, ("given", "none")) for part in SLICES}


def test_p_values_are_corrected_for_the_number_of_systems():
    base = [(-4.0, -3.0)] * 8
    runs = []
    for name, gains in {"one": [1] * 8, "two": [1] * 6 + [-1] * 2, "three": [0] * 8}.items():
        after = [(a + g, b) for (a, b), g in zip(base, gains, strict=True)]
        prints = {"model": name, "fingerprint": f"{len(name):064x}{name}"[-64:]}
        runs += [made("given", after, **prints), made("none", base, **prints)]
    found = context_gains(runs)
    got = {s.name: found.gains[s.name, "all", ("given", "none")] for s in found.systems}
    assert list(got) == ["one", "two", "three"]
    raw = [2 / 256, 2 * (1 + 8 + 28) / 256, 1.0]
    assert [g.p for g in got.values()] == pytest.approx(raw)
    assert [g.adjusted for g in got.values()] == pytest.approx([3 * raw[0], 2 * raw[1], 1])
    assert [s.reads for s in found.systems] == [True, True, False]


def test_a_model_that_reads_no_context_gains_exactly_nothing():
    alone = [(-4.0, -3.0)] * 5
    noisy = [(-4.0 + 1e-5, -3.0)] * 5  # less than sums of log-probabilities are trusted to
    found = context_gains([made("given", noisy), made("none", alone), made("shuffled", alone)])
    assert not found.systems[0].reads
    for gain in found.gains.values():
        assert (gain.sentence.value, gain.token.value, gain.p) == (0, 0, 1)


def test_only_items_that_all_runs_have_count():
    four, six = [(-1.0, -3.0)] * 4, [(-2.0, -3.0)] * 6
    found = context_gains([made("given", four), made("none", six)])
    assert (found.systems[0].items, found.systems[0].most) == (4, 6)
    assert found.gains["one", "all", ("given", "none")].n == 4


def test_runs_of_earlier_versions_were_given_their_contexts():
    pairs = [(-1.0, -3.0)] * 4
    old = made("given", pairs)
    data = old.info.to_json()
    del data["policy"]["context"]
    old = replace(old, info=RunInfo.from_json(data))
    assert list(context_gains([made("none", pairs), old]).systems[0].runs) == ["given", "none"]


class TestRefused:
    pairs = ((-1.0, -3.0),) * 4

    def run(self, context: str, **changes) -> Run:
        return made(context, list(self.pairs), **changes)

    def changed(self, run: Run, part: str, **changes) -> Run:
        changed = replace(getattr(run.info, part), **changes)
        return replace(run, info=replace(run.info, **{part: changed}))

    @pytest.mark.parametrize(("has", "lacks"), [("given", "none"), ("shuffled", "given")])
    def test_one_kind_of_run_only(self, has, lacks):
        with pytest.raises(RunError, match=f"one has only a run with --context {has}") as refused:
            context_gains([self.run(has)])
        wanted = f"make one more: boxpen run --suite FILE --model one --context {lacks}"
        assert str(refused.value).endswith(wanted)

    def test_runs_that_differ_in_more_than_the_context(self):
        other = self.changed(self.run("none"), "policy", norm="token")
        with pytest.raises(RunError, match="has only a run with --context given"):
            context_gains([self.run("given"), other])

    def test_two_suites(self):
        with pytest.raises(RunError, match=r"of 2 suites \(small, other\), expected one"):
            context_gains([self.run("given"), self.run("none", suite="other")])

    def test_the_same_context_twice(self):
        with pytest.raises(RunError, match="one has two runs with --context none"):
            context_gains([self.run("given"), self.run("none"), self.run("none")])

    def test_other_texts_of_the_same_name(self):
        run = self.run("none")
        changed = {**run.candidates, "i1": [replace(c, text="else") for c in run.candidates["i1"]]}
        with pytest.raises(RunError, match="were put different items of one name on small"):
            context_gains([self.run("given"), replace(run, candidates=changed)])

    def test_no_item_in_common(self):
        one, other = self.run("given"), self.run("none")
        one, other = (
            replace(r, verdicts=v, candidates={x.id: r.candidates[x.id] for x in v})
            for r, v in ((one, one.verdicts[:2]), (other, other.verdicts[2:]))
        )
        with pytest.raises(RunError, match="the runs of one have no item of small in common"):
            context_gains([one, other])

    def test_nothing_that_was_scored(self):
        bare = replace(self.run("given"), verdicts=(), candidates={})
        with pytest.raises(RunError, match=r"has 0 scored item\(s\), none with the tag set=pron"):
            context_gains([bare, self.run("none")])

    def test_people_and_classifiers(self):
        run = self.changed(self.run("given"), "model", kind="choice")
        with pytest.raises(RunError, match="is of the kind 'choice' and has no log-prob"):
            context_gains([run, self.run("none")])

    def test_a_class_that_does_not_exist(self):
        run = self.run("given")
        wrong = replace(run.verdicts[0], tags={"set": "pronoun", "class": "我"})
        with pytest.raises(RunError, match="item 'i0': pronoun has no class '我'"):
            context_gains([replace(run, verdicts=(wrong, *run.verdicts[1:])), self.run("none")])

    def test_a_first_token_that_only_a_context_gives_a_score(self):
        run = self.run("none")
        first = replace(run.candidates["i0"][0].record, unscored=1)
        scored = [replace(run.candidates["i0"][0], record=first), run.candidates["i0"][1]]
        with pytest.raises(RunError, match="first token of item 'i0' only after a context"):
            context_gains(
                [
                    self.run("given"),
                    replace(run, candidates={**run.candidates, "i0": scored}),
                ]
            )
