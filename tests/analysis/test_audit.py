"""The shortcut audit exposes what is planted, and stays at chance where nothing is."""

import json
import math
import random

import numpy as np
import pytest
from typer.testing import CliRunner

import boxpen
from boxpen.analysis.suites.audit import MARGIN, audit, shortcut_rows
from boxpen.analysis.suites.bag import _RIDGE, Bags
from boxpen.analysis.suites.picks import GUESS, Rule, bag_rule, folds_of, learnt, positions
from boxpen.analysis.suites.twins import groups
from boxpen.analysis.suites.words import divided, worded
from boxpen.cli.app import app
from boxpen.errors import SuiteError
from boxpen.items import Choice, Entail, Suite, Translate

NOUNS = [a + b for a in "bdfgklmnprst" for b in ("ane", "ost", "ill", "urn", "ack")]
LEARNT = ["length", "word frequency", "negation", "position", "bag of words"]


def draw(rng, count):
    return rng.sample(NOUNS, count)


def planted(make, count=300, seed=1, size=2):
    """A suite of items whose right and wrong candidates ``make`` returns; position is by lot."""
    rng = random.Random(seed)
    items = []
    for number in range(count):
        right, *wrong = make(rng, size)
        gold = rng.randrange(size)
        candidates = (*wrong[:gold], right, *wrong[gold:])
        items.append(Choice(id=str(number), candidates=candidates, gold=gold))
    return Suite("planted", tuple(items))


def found(suite):
    return {row.shortcut: row for row in audit(suite)}


def nothing(rng, size):
    return [" ".join(draw(rng, 6)) for _ in range(size)]


class TestPlanted:
    def test_length(self):
        def make(rng, size):
            return [" ".join(draw(rng, 7)), *(" ".join(draw(rng, 5)) for _ in range(size - 1))]

        rows = found(planted(make))
        assert rows["longest"].estimate.value == 1.0
        assert rows["shortest"].estimate.value == 0.0
        assert (rows["length"].estimate.value, rows["length"].rule) == (1.0, "longest")
        assert rows["length"].flagged
        assert rows["longest"].flagged
        assert not rows["negation"].flagged
        assert not rows["position"].flagged

    def test_a_word_in_most_items(self):
        def make(rng, size):
            mark = "really" if rng.random() < 0.8 else "merely"
            right = " ".join([*draw(rng, 5), mark])
            return [right, *(" ".join([*draw(rng, 5), "merely"]) for _ in range(size - 1))]

        rows = found(planted(make, size=3))
        assert rows["bag of words"].flagged
        assert rows["bag of words"].estimate.value > 0.8
        assert rows["bag of words"].rule == "words"
        assert not rows["length"].flagged

    def test_a_word_that_alone_differs_is_not_taken_for_a_twin(self):
        def make(rng, size):
            around = " ".join(draw(rng, 5))
            return [f"{around} always", f"{around} never"]

        rows = found(planted(make))
        assert rows["bag of words"].estimate.value == 1.0
        assert rows["fewest negations"].estimate.value == 1.0
        assert rows["negation"].rule == "fewest negations"

    def test_position(self):
        suite = planted(nothing)
        items = [
            Choice(id=i.id, candidates=i.candidates, gold=0 if n % 4 else 1)
            for n, i in enumerate(suite)
        ]
        row = found(suite.take(items))["position"]
        assert (row.estimate.value, row.rule, row.flagged) == (0.75, "position 1", True)

    def test_frequency(self):
        def make(rng, size):
            rare = f"x{rng.random()}".replace(".", "")
            return [" ".join(draw(rng, 4)), " ".join([*draw(rng, 3), rare])]

        row = found(planted(make))["word frequency"]
        assert row.rule == "commonest words"
        assert row.estimate.value > 0.99


class TestNothingPlanted:
    @pytest.mark.parametrize("size", [2, 4])
    @pytest.mark.parametrize("seed", range(4))
    def test_chance_lies_in_every_learnt_interval(self, seed, size):
        for row in audit(planted(nothing, seed=seed, size=size)):
            if row.rule is not None:
                assert row.estimate.low <= 1 / size <= row.estimate.high, row
            assert not row.flagged, row

    def test_balanced_blocks_are_at_chance(self):
        rng = random.Random(3)
        pairs = [(" ".join(draw(rng, 4)), " ".join(draw(rng, 5))) for _ in range(100)]
        items = [
            Choice(id=f"{block}{gold}", candidates=pair, gold=gold, block=str(block))
            for block, pair in enumerate(pairs)
            for gold in (0, 1)
        ]
        for row in audit(Suite("balanced", tuple(items))):
            assert row.estimate.value == pytest.approx(0.5, abs=0.02), row

    def test_balance_that_no_block_names_does_not_fall_below_chance(self):
        # Every word is right as often as wrong: held out one by one, each item misleads.
        items = []
        for number, noun in enumerate(NOUNS):
            for gold in (0, 1):
                around = " ".join(draw(random.Random(2 * number + gold), 6))
                pair = (f"{around} {noun}x", f"{around} {noun}y")
                items.append(Choice(id=f"{number}{gold}", candidates=pair, gold=gold))
        random.Random(0).shuffle(items)
        suite = Suite("balanced", tuple(items))
        alone = bag_rule("words", worded(suite), folds_of(range(len(suite))))
        assert alone.earned.mean() < 0.2  # the trap is there
        rows = found(suite)
        assert rows["bag of words"].rule == GUESS
        assert rows["bag of words"].estimate.value == 0.5

    def test_equal_positions_do_not_fall_below_chance(self):
        suite = planted(nothing, count=200)
        golds = [0, 1] * 100
        random.Random(5).shuffle(golds)
        items = [
            Choice(id=i.id, candidates=i.candidates, gold=g)
            for i, g in zip(suite, golds, strict=True)
        ]
        assert found(suite.take(items))["position"].estimate.value == 0.5


class TestTwins:
    def test_blocks_and_near_copies_belong_together(self):
        items = [
            Choice(id="1", candidates=("a b c x", "a b c y"), gold=0),
            Choice(id="2", candidates=("a b d y", "a b d x"), gold=0),  # 2 of 4 other words
            Choice(id="3", candidates=("a e f x", "a e f y"), gold=0),  # 1 of 5
            Choice(id="4", candidates=("k l", "m n"), gold=0, block="one"),
            Choice(id="5", candidates=("o p", "q r"), gold=0, block="one"),
            Choice(id="6", candidates=("yes", "no"), gold=0),
            Choice(id="7", candidates=("yes", "no"), gold=0),
            Choice(id="8", candidates=("yes", "no"), gold=0, context="is it a box"),
            Choice(id="9", candidates=("no", "yes"), gold=0, context="is it a pen"),
        ]
        g = groups([divided(i) for i in items])
        assert g[0] == g[1]
        assert g[3] == g[4]
        assert g[7] == g[8]
        assert g[5] == g[6], "equal items, of which one would tell the other"
        assert len(set(g)) == 5

    def test_a_word_more_in_both_candidates_changes_nothing(self):
        # As in ARCT, where the claim of the twin is negated and so is one of the warrants.
        one = Choice(id="1", candidates=("we do rest", "we do not rest"), gold=0)
        two = Choice(id="2", candidates=("we do rest not so", "we do not rest not so"), gold=1)
        g = groups([divided(i) for i in (one, two)])
        assert g[0] == g[1]

    def test_answers_of_a_whole_suite_are_no_twins(self):
        """Yes and no after questions of one pattern: else all would be one group, and nothing
        could be learnt."""
        items = [
            Choice(id=str(i), candidates=("yes", "no"), gold=0, context=f"Is the box number {i}?")
            for i in range(300)
        ]
        found = {row.shortcut: row for row in audit(Suite("s", tuple(items)))}
        assert found["position"].estimate.value > 0.9

    def test_groups_do_not_depend_on_the_answers(self):
        suite = planted(nothing, count=50)
        flipped = [Choice(id=i.id, candidates=i.candidates, gold=1 - i.gold) for i in suite]
        assert groups(worded(suite)) == groups(worded(suite.take(flipped)))

    def test_arct_is_no_longer_below_chance(self, mirror):
        # Held out one by one, its items give the bag of words 0.15.
        row = found(boxpen.load_suite("cats.arct2"))["bag of words"]
        assert row.estimate.low < 0.5 < row.estimate.high


class TestByHand:
    ITEMS = (
        Choice(id="1", candidates=("no", "yes sir"), gold=0),
        Choice(id="2", candidates=("yes yes", "never no"), gold=0),
        Choice(id="3", candidates=("a", "b", "c d"), gold=2),
    )

    def test_fixed_rules(self):
        rows = found(Suite("s", self.ITEMS))
        values = {name: row.estimate.value * 3 for name, row in rows.items()}
        assert values["longest"] == pytest.approx(0 + 1 / 2 + 1)
        assert values["shortest"] == pytest.approx(1 + 1 / 2 + 0)
        assert values["most negations"] == pytest.approx(1 + 0 + 1 / 3)
        assert values["fewest negations"] == pytest.approx(0 + 1 + 1 / 3)
        # 'no' stands once elsewhere, 'yes' twice, 'sir' nowhere: log 2 against log 3 / 2. In the
        # second item 'yes' and 'no' stand once elsewhere, 'never' nowhere.
        assert math.log(2) > math.log(3) / 2
        assert values["commonest words"] == pytest.approx(1 + 1 + 1 / 3)
        assert values["rarest words"] == pytest.approx(0 + 0 + 1 / 3)
        assert rows["longest"].chance == pytest.approx((1 / 2 + 1 / 2 + 1 / 3) / 3)
        assert rows["bag of words"].estimate.n == 3

    def test_a_single_item_is_guessed(self):
        rows = found(Suite("s", self.ITEMS[:1]))
        assert all(rows[name].rule == GUESS for name in LEARNT)
        assert all(rows[name].estimate.value == 0.5 for name in LEARNT)

    def test_flagged_means_the_whole_interval(self):
        for row in audit(planted(nothing, count=30)):
            assert row.flagged == (row.estimate.low - row.chance > MARGIN)


class TestLearning:
    def test_a_rule_is_chosen_on_other_folds_than_it_is_measured_on(self):
        # 'up' is right in the second fold only: there it is not followed, in the first it is.
        up = Rule("up", np.array([0.0] * 20 + [1.0] * 20))
        down = Rule("down", 1 - up.earned)
        fold = np.array([0] * 20 + [1] * 20)
        result = learnt([up, down], np.full(40, 0.5), range(40), fold)
        assert result.earned.tolist() == [0.0] * 40

    def test_less_than_two_standard_errors_is_not_followed(self):
        earned = np.array([1.0] * 11 + [0.0] * 9 + [1.0] * 20)
        fold = np.array([0] * 20 + [1] * 20)
        result = learnt([Rule("up", earned)], np.full(40, 0.5), range(40), fold)
        assert result.earned[:20].tolist() == earned[:20].tolist()  # 20 of 20 elsewhere
        assert result.earned[20:].tolist() == [0.5] * 20  # 11 of 20 elsewhere

    def test_items_of_a_group_are_one_piece_of_evidence(self):
        earned, fold = np.ones(40), np.array([0, 1] * 20)
        apart = learnt([Rule("up", earned)], np.full(40, 0.5), range(40), fold)
        assert apart.rule == "up"
        together = learnt([Rule("up", earned)], np.full(40, 0.5), fold.tolist(), fold)
        assert together.rule == GUESS

    def test_positions_of_items_of_different_size(self):
        items = [divided(i) for i in TestByHand.ITEMS]
        earned = [rule.earned.tolist() for rule in positions(items)]
        assert earned == [[1, 1, 0], [0, 0, 0], [0.5, 0.5, 1]]

    def test_bag_of_words_is_the_ridge_of_a_dense_solution(self):
        items = worded(planted(nothing, count=40, size=3, seed=7))
        fold = folds_of(range(40))
        vocabulary = sorted({w for i in items for c in i.words for w in c})
        dense = [[[float(w in c) for w in vocabulary] for c in i.words] for i in items]
        x = [np.array(rows) - np.mean(rows, axis=0) for rows in dense]
        y = [np.array([float(c == i.item.gold) for c in range(3)]) - 1 / 3 for i in items]

        def slow(keep):
            a, b = np.concatenate([x[n] for n in keep]), np.concatenate([y[n] for n in keep])
            return np.linalg.solve(a.T @ a + _RIDGE * np.eye(len(vocabulary)), a.T @ b)

        def earned(n, weights):
            scores = x[n] @ weights
            best = [c for c in range(3) if scores[c] > max(scores) - 1e-6]
            return (items[n].item.gold in best) / len(best)

        rule = bag_rule("words", items, fold)
        for n in range(40):
            weights = slow([m for m in range(40) if fold[m] != fold[n]])
            assert rule.earned[n] == earned(n, weights)
            for held in range(10):
                weights = slow([m for m in range(40) if fold[m] not in (fold[n], held)])
                assert rule.training[held, n] == earned(n, weights)

    def test_weights_are_exact(self):
        items = worded(planted(nothing, count=30, seed=9))
        bags = Bags(items)
        rows = bags._rows.toarray()
        expected = np.linalg.solve(
            rows.T @ rows + _RIDGE * np.eye(rows.shape[1]), rows.T @ bags._target
        )
        assert np.abs(bags.weights(np.ones(30, dtype=bool)) - expected).max() < 1e-8

    def test_candidates_without_words_tie(self):
        items = [divided(Choice(id=str(n), candidates=("?", "!"), gold=0)) for n in range(4)]
        assert bag_rule("words", items, folds_of(range(4))).earned.tolist() == [0.5] * 4


class TestEntailment:
    def suite(self, label, count=240):
        rng = random.Random(4)
        items = []
        for number in range(count):
            words = draw(rng, 5)
            right = label(number, rng)
            if right == "contradiction":
                words.append("never")
            items.append(
                Entail(
                    id=str(number),
                    premise=" ".join(draw(rng, 8)),
                    hypothesis=" ".join(words),
                    label=right,
                )
            )
        return Suite("nli", tuple(items))

    def test_a_word_that_betrays_a_label(self):
        rows = found(self.suite(lambda n, _: ("entailment", "neutral", "contradiction")[n % 3]))
        assert list(rows) == [
            "majority label",
            *(f"hypothesis {x}" for x in ("length", "frequency", "negation", "words")),
        ]
        assert rows["majority label"].chance == pytest.approx(1 / 3)
        assert not rows["majority label"].flagged
        for name in ("hypothesis negation", "hypothesis words"):
            assert rows[name].flagged
            # A third is known for certain, the rest is a guess between two.
            assert rows[name].estimate.value == pytest.approx(2 / 3, abs=0.1)

    def test_an_uneven_share_of_labels_counts_once(self):
        rows = found(self.suite(lambda n, rng: "entailment" if n % 4 else "neutral"))
        assert rows["majority label"].estimate.value == 0.75
        assert rows["majority label"].rule == "entailment"
        assert rows["majority label"].flagged
        assert rows["hypothesis words"].chance == 0.75
        assert not rows["hypothesis words"].flagged

    def test_one_label_alone_has_nothing_to_tell_apart(self):
        suite = self.suite(lambda n, rng: "neutral")
        with pytest.raises(SuiteError, match="nothing to pick from"):
            audit(suite)
        assert shortcut_rows(suite) == []


class TestSlices:
    def test_a_slice_is_audited_as_a_suite_of_its_own(self):
        suite = planted(nothing, count=60)
        items = [
            Choice(id=i.id, candidates=i.candidates, gold=i.gold, tags={"half": str(n % 2)})
            for n, i in enumerate(suite)
        ]
        suite = suite.take(items)
        rows = audit(suite, "half")
        assert list(dict.fromkeys(r.slice for r in rows)) == ["half=0", "half=1", "all"]
        alone = audit(suite.where(half="1"))
        mine = [r for r in rows if r.slice == "half=1"]
        assert [(r.shortcut, r.estimate) for r in mine] == [(r.shortcut, r.estimate) for r in alone]
        assert [r for r in rows if r.slice == "all"] == audit(suite)

    def test_rows_for_a_report(self):
        suite = planted(nothing, count=30)
        rows = shortcut_rows(suite)
        assert [name for name, _ in rows] == LEARNT
        assert dict(rows)["length"] == found(suite)["length"].estimate

    def test_the_same_suite_gives_the_same_numbers(self):
        suite = planted(nothing, count=50)
        assert audit(suite) == audit(suite)


class TestCommands:
    @pytest.fixture
    def path(self, tmp_path):
        suite = planted(nothing, count=40)
        items = [
            Choice(id=i.id, candidates=i.candidates, gold=i.gold, tags={"set": "[/red]"})
            for i in suite
        ]
        silent = Translate(id="t", source="x", reference="y", tags={"set": "silent"})
        boxpen.write_suite(suite.take([*items, silent]), tmp_path / "s.jsonl")
        return tmp_path / "s.jsonl"

    def invoke(self, *args):
        return CliRunner().invoke(app, ["suite", *map(str, args)])

    def test_audit(self, path):
        done = self.invoke("audit", path, "--by", "set")
        assert done.exit_code == 0, done.output
        assert "set=[/red]: 40 items" in done.stdout
        assert "bag of words" in done.stdout
        assert max(map(len, done.stdout.splitlines())) <= 80
        assert "left out, since there is nothing to choose from: set silent" in done.stderr

    def test_flagged_lines_are_marked(self, tmp_path):
        items = [Choice(id=n, candidates=(f"{n} more", n), gold=0) for n in NOUNS[:40]]
        boxpen.write_suite(Suite("s", tuple(items)), tmp_path / "s.jsonl")
        lines = self.invoke("audit", tmp_path / "s.jsonl").stdout.splitlines()
        assert [x for x in lines if x.startswith("!") and "longest" in x]
        assert [x for x in lines if x.startswith(" ") and "shortest" in x]
        assert "right position of 2: 40 / 0" in lines

    def test_audit_json(self, path):
        data = json.loads(self.invoke("audit", path, "--json").stdout)
        assert {r["shortcut"] for r in data["results"]} >= set(LEARNT)
        assert set(data["results"][0]) == {
            "suite", "slice", "shortcut", "rule", "value", "low", "high", "n", "chance", "flagged",
        }  # fmt: skip
        assert sum(data["balance"]["positions"]["2"]) == 40

    def test_words(self, path):
        done = self.invoke("stats", path, "--words", "--top", "3")
        assert done.exit_code == 0, done.output
        assert "words per sentence" in done.stdout
        assert max(map(len, done.stdout.splitlines())) <= 80
        data = json.loads(self.invoke("stats", path, "--words", "--top", "3", "--json").stdout)
        assert len(data["right"]["different"]) == 3
        assert data["right"]["length"] == 6.0

    def test_bad_input_is_one_sentence(self, path, tmp_path):
        boxpen.write_suite(
            Suite("mt", (Translate(id="t", source="x", reference="y"),)), tmp_path / "mt.jsonl"
        )
        for args, part in (
            (("audit", path, "--by", "sett"), "has no tag 'sett', did you mean 'set'?"),
            (("audit", tmp_path / "mt.jsonl"), "has nothing to pick from"),
            (("stats", tmp_path / "mt.jsonl", "--words"), "has no candidates to compare"),
        ):
            done = self.invoke(*args)
            assert done.exit_code == 2
            assert part in done.stderr
            assert len(done.stderr.strip().splitlines()) == 1
