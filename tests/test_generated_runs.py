"""Free translations judged by the readings they carry: the rule, runs, and what is refused."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch")

import polars as pl
import torch
from sacrebleu import sentence_chrf

from boxpen import Card, Choice, Entail, Run, Suite, Translate, evaluate
from boxpen.analysis.reading_judge import ReadingJudge
from boxpen.analysis.recipes import recipe_pairs
from boxpen.errors import BoxpenError, ModelError, PolicyError, RunError
from boxpen.models.base import Encoded, Model, ResolvedPolicy
from boxpen.models.cached import scored
from boxpen.review.readings import ReadingTask, free_translations
from boxpen.scoring.cache import ScoreCache
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.reading import ReadingRule
from small_runs import small_run

SUITE = Suite(
    "pens",
    (
        Choice(id="1", candidates=("The box is in the pen.", "The pen is in the box."), gold=0,
               source="盒子在围栏里。", block="b", tags={"set": "x"}),
        Choice(id="2", candidates=("the tree ", "  the river", "the house"), gold=2,
               source="房子。", block="b", tags={"set": "x"}),
        Choice(id="3", candidates=("the same", "the same"), gold=0, source="一样。"),
        Choice(id="4", candidates=("a tree", "a pen"), gold=1, source="树。"),
    ),
    Card(language="en", source_language="zh"),
)  # fmt: skip
MADE = {
    "盒子在围栏里。": "The box is in the pen.",
    "房子。": "the river, the river",
    "一样。": "the same",
    "树。": "",
}


class Phrasebook(Model):
    """A translator that knows a few sentences, and nothing of likelihoods."""

    kind, dtype, name, fingerprint = "seq2seq", "float32", "phrasebook", "a" * 64
    encoder = True

    def __init__(self, made: dict[str, str] = MADE) -> None:
        self.made = made

    def resolve_policy(self, policy: ScoringPolicy) -> ResolvedPolicy:
        return ResolvedPolicy(bos=False, eos=False, max_length=100)

    def encode(self, requests, policy) -> list[Encoded]:
        texts = [r.text.encode() for r in requests]
        return [Encoded(ids=tuple(t), scored=tuple(range(len(t)))) for t in texts]

    def run(self, encoded, policy) -> Iterator:
        raise AssertionError("nothing is scored where translations are judged")

    def can_translate(self) -> bool:
        return True

    def translate(self, sources, languages, *, beam, contexts=None) -> Iterator:
        yield [(n, self.made[source]) for n, source in enumerate(sources)]


def generated(judge: object, suite: Suite = SUITE, model: Model | None = None, **options) -> Run:
    return evaluate(
        model or Phrasebook(), suite, recipe="generate", judge=judge, cache=":memory:", **options
    )


@pytest.fixture(scope="module")
def lenient(gpt2: Model) -> ReadingJudge:
    """A judge of random weights that decides wherever it can."""
    return ReadingJudge(gpt2, ReadingRule(threshold=0.0))


@pytest.fixture(scope="module")
def run(lenient: ReadingJudge) -> Run:
    return generated(lenient)


def twin(pair: tuple, text: str, before: str) -> float:
    """The log-probability of a text after another, one token at a time."""
    module, tokenizer = pair
    prefix = tokenizer.encode(before, add_special_tokens=False)
    ids = [tokenizer.bos_token_id, *prefix, *tokenizer.encode(text, add_special_tokens=False)]
    total = 0.0
    with torch.inference_mode():
        for i in range(len(prefix) + 1, len(ids)):
            logits = module(input_ids=torch.tensor([ids[:i]])).logits[0, -1]
            total += float(torch.log_softmax(logits.double(), dim=-1)[ids[i]])
    return total


def test_scores_are_those_of_a_twin_that_reads_one_token_at_a_time(gpt2, gpt2_dir):
    import transformers

    pair = (
        transformers.AutoModelForCausalLM.from_pretrained(gpt2_dir).eval(),
        transformers.AutoTokenizer.from_pretrained(gpt2_dir),
    )
    rule = ReadingRule()
    made, candidates = "The box is in a pen.", ("The box is in the pen.", "The pen is a box.", "No")
    policy = gpt2.resolve_policy(ScoringPolicy())
    with ScoreCache(":memory:") as cache:
        requests = list(rule.requests(made, candidates, "en"))
        records = scored(gpt2, policy, requests, cache, "twin").records
    found = rule.scores(made, candidates, "en", records)
    frame, bare = rule.frame, rule.frame.strip()
    for candidate, score in zip(candidates, found, strict=True):
        forward = twin(pair, f" {made}", candidate + frame)
        backward = twin(pair, f" {candidate}", made + frame) - twin(pair, f" {candidate}", bare)
        surface = sentence_chrf(made, [candidate]).score / 5
        assert score == pytest.approx((forward + backward) / 2 + surface, abs=1e-4)


@given(
    scores=st.lists(st.floats(-50, 0), min_size=2, max_size=5),
    threshold=st.floats(0, 20),
)
def test_a_candidate_is_chosen_only_if_it_leads_by_the_threshold(scores, threshold):
    chosen = ReadingRule(threshold=threshold).choose(scores)
    leads = [
        s - max(other for j, other in enumerate(scores) if j != i) for i, s in enumerate(scores)
    ]
    winners = [i for i, lead in enumerate(leads) if lead >= threshold and lead > 0]
    assert chosen == (winners[0] if winners else None)
    turned = ReadingRule(threshold=threshold).choose(scores[::-1])
    assert turned == (None if chosen is None else len(scores) - 1 - chosen)


@pytest.mark.parametrize("threshold", [-1.0, math.inf, math.nan])
def test_a_threshold_must_be_a_number(threshold):
    with pytest.raises(PolicyError, match="threshold of the reading judge is"):
        ReadingRule(threshold=threshold)


def test_a_run_has_verdicts_for_what_is_decided(run, lenient):
    assert [v.id for v in run.verdicts] == ["1", "2"]
    first, second = run.verdicts
    assert first.scores[first.winner] == max(first.scores)
    assert (first.credit, first.tied) == (float(first.winner == 0), 1)
    assert first.margin == pytest.approx(first.scores[0] - first.scores[1])
    assert second.winner == max(range(3), key=second.scores.__getitem__)
    assert second.block == "b"
    assert run.info.left_out == {
        "undecided by the reading judge": ["3"],  # two equal candidates
        "undecided by the reading judge: the translation is empty": ["4"],
    }
    assert len(run.translations) == 4  # BLEU is of all
    assert [r.chosen for r in run.readings] == [first.winner, second.winner, None, None]
    judge = lenient.model
    assert f"|judge:{judge.short}@{judge.fingerprint[:8]}|" in run.signature
    assert "|lead:0.0|" in run.signature
    assert "norm:" not in run.signature


def test_readers_are_also_asked_about_what_is_undecided(run):
    found = free_translations(run)
    assert [one.id for one in found] == ["1", "2", "3", "4"]
    assert [one.id for one in ReadingTask.translations([("", [run])])] == ["1", "2", "4"]
    assert found[0].cluster == found[1].cluster != found[3].cluster


def test_white_space_of_candidates_does_not_reach_the_judge(run):
    assert run.readings[1].candidates == ("the tree", "the river", "the house")


def test_a_stricter_judge_decides_less_and_is_not_comparable(run, gpt2):
    best = (sorted(v.scores, reverse=True)[:2] for v in run.verdicts)
    leads = [first - second for first, second in best]
    strict = generated(ReadingJudge(gpt2, ReadingRule(threshold=sum(leads) / 2)))
    assert {v.id for v in strict.verdicts} < {v.id for v in run.verdicts}
    from boxpen.runs.comparison import compare

    with pytest.raises(RunError, match=r"lead 0\.0 and"):
        compare(run, strict, common=True)


def test_runs_are_saved_whole(run, tmp_path):
    place = run.save(tmp_path)
    again = Run.load(place)
    assert again.readings == run.readings
    assert again.info.judge == run.info.judge
    assert again.signature == run.signature
    assert again.verdicts == run.verdicts
    assert again.to_polars("readings")["chosen"].to_list()[2:] == [None, None]
    with pytest.raises(RunError, match="judged translations has no scores"):
        again.rescore(norm="token")


@pytest.mark.parametrize("damage", ["gone", "other"])
def test_damaged_readings_are_refused(run, tmp_path, damage):
    place = run.save(tmp_path)
    path = place / "readings.parquet"
    if damage == "gone":
        path.unlink()
    else:
        frame = pl.read_parquet(path)
        frame.with_columns(chosen=1 - pl.col("chosen")).write_parquet(path)
    with pytest.raises(RunError, match=r"readings\.parquet"):
        Run.load(place)
    shutil.rmtree(place)


def test_a_run_without_its_judge_is_refused(run, tmp_path):
    path = run.save(tmp_path) / "run.json"
    data = json.loads(path.read_text("utf-8"))
    del data["judge"]
    path.write_text(json.dumps(data))
    with pytest.raises(RunError, match="it has no 'judge'"):
        Run.load(path.parent)


def test_what_cannot_be_judged_is_refused(gpt2, lenient):
    def refused(error: type[BoxpenError], said: str, act) -> None:
        with pytest.raises(error) as caught:
            act()
        assert said in str(caught.value)
        assert "\n" not in str(caught.value)

    refused(PolicyError, "does not translate", lambda: generated(gpt2, model=gpt2))
    refused(ModelError, "'phrasebook' is a seq2seq model", lambda: generated(Phrasebook()))
    refused(
        PolicyError,
        "not to 'sound'",
        lambda: evaluate(gpt2, SUITE, judge=gpt2, cache=":memory:"),
    )
    undecided = Phrasebook(dict.fromkeys(MADE, ""))
    refused(ModelError, "the translation is empty", lambda: generated(lenient, model=undecided))
    sourceless = Suite(
        "none", (Choice(id="1", candidates=("a", "b"), gold=0),), Card(language="en")
    )
    refused(PolicyError, "has no recipe 'generate'", lambda: generated(lenient, sourceless))


def test_items_without_a_source_are_left_out(lenient):
    more = (
        Entail(id="5", premise="it rains", hypothesis="it is wet", label="neutral"),
        Choice(id="6", candidates=("a", "b"), gold=0),
    )
    found = generated(lenient, replace(SUITE, items=(*SUITE.items, *more)))
    assert found.info.left_out["there is no source sentence to translate"] == ["5", "6"]


def test_class_words_decide_where_a_suite_has_them(lenient):
    words = {
        "Are you all coming?": "你们都来吗？",
        "Are you there?": "您们在吗",
        "You two!": "你！",
    }
    items = tuple(
        Translate(
            id=str(n),
            source=source,
            reference=f"你们{n}都来吗？",
            contrast=(f"你{n}都来吗？",),
            tags={"set": "pronoun", "class": "你们"},
        )
        for n, source in enumerate(words)
    )
    suite = Suite("you", items, Card(language="zh", source_language="en"))
    found = generated(lenient, suite, Phrasebook(words))
    outcomes = {
        r.id: (r.chosen == r.gold if r.chosen is not None else None) for r in found.readings
    }
    assert outcomes["0"] is True
    assert outcomes["2"] is False
    assert {r.by for r in found.readings} == {"words"}
    assert "|judge:words|" in found.signature
    assert "lead:" not in found.signature


def test_a_judge_that_does_not_read_the_language_decides_nothing(gpt2_dir):
    import boxpen

    english = boxpen.resolve_model(f"hf:{gpt2_dir}")
    english.languages = frozenset({"fr"})
    with pytest.raises(ModelError, match="does not read en"):
        generated(ReadingJudge(english))


def test_recipes_of_one_model_are_compared_item_by_item(run):
    scored_run = small_run("++--+=")
    other = small_run("+-+-+-")
    recipe = replace(other.info.recipe, name="ask", digest="123456", more={"asks": "text"})
    asked = replace(other, info=replace(other.info, recipe=recipe), verdicts=other.verdicts[:5])
    [pair] = recipe_pairs([asked, scored_run, run])
    assert pair.recipes == ("scored (sound)", "asked (ask)")
    assert (pair.accuracies[0].value, pair.accuracies[1].n) == (3.5 / 6, 5)
    assert (pair.common[0].value, pair.common[1].value) == (3 / 5, 3 / 5)
    assert (pair.agree.value, pair.agree.n) == (3 / 5, 5)
    # Chance: 3/5 right twice, 2/5 wrong twice.
    assert pair.kappa.value == pytest.approx((0.6 - 0.52) / (1 - 0.52))
    assert recipe_pairs([scored_run, small_run("+-+-+-", fingerprint="0" * 64), run]) == []


def test_the_report_shows_recipes_side_by_side(tmp_path, capsys):
    from boxpen.cli.output import print_runs
    from boxpen.report.html.report import html_report
    from boxpen.report.recipes import recipes_object, recipes_page

    one, two = small_run("++--"), small_run("+-+-")
    recipe = replace(two.info.recipe, name="generate", digest="123456", more={"generates": True})
    two = replace(two, info=replace(two.info, recipe=recipe))
    print_runs([one, two], [None, None])
    assert "The same model, different recipes" in capsys.readouterr().out
    page = recipes_page([one, two])
    assert page is not None
    assert "generated (generate)" in page.markdown()
    [found] = recipes_object([one, two])
    assert found["agree"]["value"] == 0.5
    assert len(found["recipes"]) == 2
    html = html_report([one, two], items=False)
    assert '<section id="recipes">' in html
    assert "generated (generate)" in html
    assert recipes_page([one]) is None
    assert '<section id="recipes">' not in html_report([one], items=False)
