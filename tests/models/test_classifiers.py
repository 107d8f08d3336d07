"""Inference classifiers and multiple-choice models: against slow twins, in any batch and order."""

from __future__ import annotations

import copy
import itertools
import json
import random
from pathlib import Path
from typing import Any

import classifiers
import numpy as np
import pytest
import tiny
import torch
import transformers
from typer.testing import CliRunner

import boxpen
from boxpen import (
    Card,
    Choice,
    Entail,
    ModelError,
    PolicyError,
    Request,
    Run,
    RunError,
    Suite,
    Translate,
    resolve_model,
)
from boxpen.cli.app import app
from boxpen.models.loading.kinds import kind_of
from boxpen.models.plain_pairs import PLAIN, checked

EN = Card(language="en")
LABELS = ("entailment", "neutral", "contradiction")
BATCHES = (1, 3, 16, None)
PAIRS = [
    *itertools.product(tiny.SENTENCES[:5], ("Box", "Who did this?", "It rained all night!")),
    ("箱子在围栏里。", "最后他找到了。"),
    ("Who did this?", tiny.LONG),
]


def resolved(pair: Any, **options: Any) -> boxpen.Model:
    return resolve_model(pair, **options)


def saved(folder: Path, module: Any, tokenizer: Any) -> str:
    module.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return f"hf:{folder}"


def shuffled(requests: list[Request], seed: int) -> list[Request]:
    out = list(requests)
    random.Random(seed).shuffle(out)
    return out


@pytest.fixture(scope="module")
def right() -> Any:
    """A pair in memory that gets the plain pairs right."""
    return classifiers.right()


def renamed(pair: Any, names: dict[int, str]) -> Any:
    """The same weights, with other names for the outputs."""
    module, tokenizer = copy.deepcopy(pair)
    module.config.id2label = names
    module.config.label2id = {name: i for i, name in names.items()}
    return module, tokenizer


def entailment(label: str = "entailment", n: int = 6) -> Suite:
    """Items of every label in turn, if none is given."""
    items = tuple(
        Entail(
            id=f"e{i}",
            premise=premise,
            hypothesis=hypothesis,
            label=label or LABELS[i % 3],
            block=f"t{i // 2}",
            tags={"task": "nli", "relation": ("isa", "xWant")[i % 2]},
        )
        for i, (premise, hypothesis) in enumerate(PAIRS[:n])
    )
    return Suite("nli", items, EN)


class TestTwins:
    @pytest.mark.parametrize("name", classifiers.FAMILIES)
    def test_labels(self, name, score_all):
        pair = classifiers.nli(name)
        padding = pair[0].config.pad_token_id
        model = resolved(pair)
        assert model.kind == "nli"
        requests = [Request(text=second, prefix=first) for first, second in PAIRS]
        for size in BATCHES:
            model.batch_size = size
            some = shuffled(requests, seed=size or 99)
            for request, record in zip(some, score_all(model, some), strict=True):
                expected = classifiers.label_logprobs(pair, request.prefix, request.text)
                assert record.token_ids.tolist() == [0, 1, 2]
                assert record.logprobs.dtype == np.float32
                for label, value in zip(LABELS, record.logprobs, strict=True):
                    assert value == pytest.approx(expected[label], rel=0, abs=1e-4)
                assert not record.truncated
        assert pair[0].config.pad_token_id == padding

    @pytest.mark.parametrize("name", classifiers.CHOOSING)
    def test_choices(self, name, score_all):
        pair = classifiers.choice(name)
        model = resolved(pair)
        assert model.kind == "choice"
        requests = [Request(text=second, prefix=first) for first, second in PAIRS]
        requests += [Request(text=text) for text in tiny.SENTENCES]  # no context: a single text
        for size in BATCHES:
            model.batch_size = size
            some = shuffled(requests, seed=size or 99)
            for request, record in zip(some, score_all(model, some), strict=True):
                (expected,) = classifiers.logits(pair, request.prefix, request.text)
                assert record.logprobs.tolist() == pytest.approx([expected], rel=0, abs=1e-4)

    @pytest.mark.parametrize("name", ["gpt2", "llama"])
    def test_a_decoder_without_a_padding_token_stays_without(self, name, score_all):
        pair = classifiers.nli(name)
        assert pair[0].config.pad_token_id is None
        model = resolved(pair)
        score_all(model, [Request(text=b, prefix=a) for a, b in PAIRS])
        assert pair[0].config.pad_token_id is None
        assert resolved(pair).fingerprint == model.fingerprint

    def test_a_row_that_must_not_be_padded_is_not(self):
        """XLNet takes the last column for the end of the text."""
        assert not resolved(classifiers.nli("xlnet"))._pads
        for name in ("bert", "roberta", "deberta", "bart", "llama", "gpt2"):
            assert resolved(classifiers.nli(name))._pads

    def test_literal_ends_of_text_do_not_stop_an_encoder_decoder(self, score_all):
        """BART wants as many ends of text in every row of a batch."""
        pair = classifiers.nli("bart")
        model = resolved(pair)
        texts = ["The box</s> was in the pen.", "The box was in the pen.", "a</s>b</s>c"]
        requests = [Request(text=text, prefix="Who did this?") for text in texts]
        for request, record in zip(requests, score_all(model, requests), strict=True):
            expected = classifiers.label_logprobs(pair, request.prefix, request.text)
            assert record.logprobs.tolist() == pytest.approx(
                [expected[label] for label in LABELS], rel=0, abs=1e-4
            )

    def test_the_two_texts_are_told_apart(self, score_all):
        model = resolved(classifiers.nli("bert"))
        one, other = score_all(
            model,
            [Request(text="Box", prefix="It rained"), Request(text="It rained", prefix="Box")],
        )
        assert np.abs(one.logprobs - other.logprobs).max() > 1e-3
        resolved_policy = model.resolve_policy(boxpen.ScoringPolicy())
        (encoded,) = model.encode([Request(text="Box", prefix="It rained")], resolved_policy)
        assert sorted(set(encoded.types)) == [0, 1]

    @pytest.mark.parametrize("name", ["bert", "llama"])
    def test_halves(self, name, score_all):
        module, tokenizer = copy.deepcopy(classifiers.nli(name))
        requests = [Request(text=b, prefix=a) for a, b in PAIRS[:6]]
        whole = score_all(resolved((module, tokenizer)), requests)
        half = resolved((module.to(torch.bfloat16), tokenizer))
        assert half.dtype == "bfloat16"
        for one, other in zip(whole, score_all(half, requests), strict=True):
            assert other.logprobs.dtype == np.float32
            assert np.abs(one.logprobs - other.logprobs).max() < 0.5
            assert np.exp(other.logprobs.astype(np.float64)).sum() == pytest.approx(1, abs=1e-5)

    def test_what_is_too_long_is_cut_and_flagged(self, score_all):
        model = resolved(classifiers.nli("bert"))
        requests = [Request(text="Box", prefix=tiny.LONG), Request(text="Box", prefix="Who?")]
        long, short = score_all(model, requests, max_length=24)
        assert (long.truncated, short.truncated) == (True, False)
        encoded = model.encode(requests, model.resolve_policy(boxpen.ScoringPolicy(max_length=24)))
        assert [len(e.ids) for e in encoded] == [24, len(encoded[1].ids)]
        suite = Suite("long", (entailment().items[0], _entail(tiny.LONG, "Box")), EN)
        run = boxpen.evaluate(model, suite, cache=":memory:", max_length=24)
        assert [v.truncated for v in run.verdicts] == [False, True]

    @pytest.mark.parametrize("make", [classifiers.nli, classifiers.choice])
    @pytest.mark.parametrize("name", classifiers.FAMILIES)
    def test_folder_and_pair_are_one(self, make, name, tmp_path, score_all):
        """A module that was loaded has a configuration of its own, perhaps without padding."""
        pair = make(name)
        folder = resolve_model(saved(tmp_path, *pair), device="cpu")
        requests = [Request(text=b, prefix=a) for a, b in PAIRS[:4]]
        mine, theirs = score_all(folder, requests), score_all(resolved(pair), requests)
        for one, other in zip(mine, theirs, strict=True):
            assert one.logprobs.tolist() == pytest.approx(other.logprobs.tolist(), abs=1e-5)


def _entail(premise: str, hypothesis: str, label: str = "entailment") -> Entail:
    return Entail(id=f"{label}-x", premise=premise, hypothesis=hypothesis, label=label)


class TestLabels:
    @pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
    def test_names_and_rows_may_stand_in_any_order(self, order, score_all):
        pair = classifiers.nli("bert")
        module, tokenizer = copy.deepcopy(pair)
        names = {place: classifiers.NAMED[old] for place, old in enumerate(order)}
        with torch.no_grad():
            for weight in (module.classifier.weight, module.classifier.bias):
                weight.copy_(weight[list(order)].clone())
        moved = renamed((module, tokenizer), names)
        requests = [Request(text=b, prefix=a) for a, b in PAIRS]
        mine, theirs = score_all(resolved(moved), requests), score_all(resolved(pair), requests)
        for one, other in zip(mine, theirs, strict=True):
            assert one.logprobs.tolist() == pytest.approx(other.logprobs.tolist(), abs=1e-6)

    @pytest.mark.parametrize(
        ("names", "labels"),
        [
            (("ENTAILMENT", "Neutral", "contradiction"), LABELS),
            (("contradict", "entail", "neutral"), LABELS),
            (("contradictory", "entailed", "NEUTRAL"), LABELS),
            (("not_entailment", "entailment"), ("entailment", "not_entailment")),
            (("entailment", "not entailment"), ("entailment", "not_entailment")),
            (("NON-ENTAILMENT", "Entailment"), ("entailment", "not_entailment")),
        ],
    )
    def test_names_in_any_spelling(self, names, labels):
        pair = classifiers._bert(
            "ForSequenceClassification", classifiers.named(dict(enumerate(names)))
        )
        run = boxpen.evaluate(pair, entailment(), cache=":memory:")
        assert run.labels == labels
        assert run.info.model.labels == tuple(labels)

    @pytest.mark.parametrize(
        "names",
        [
            ("LABEL_0", "LABEL_1", "LABEL_2"),
            ("entailment", "entailment", "neutral"),
            ("entailment", "LABEL_1", "contradiction"),
            ("negative", "neutral", "positive"),
            ("entailment", "neutral", "not_entailment"),
            ("NEGATIVE", "POSITIVE"),
        ],
    )
    def test_other_names_are_refused_with_the_way_out(self, names):
        made = classifiers.named(dict(enumerate(names)))
        made["label2id"] = {str(i): i for i in range(len(names))}
        pair = classifiers._bert("ForSequenceClassification", made)
        with pytest.raises(ModelError, match=r"--labels entailment,n") as caught:
            resolved(pair)
        assert ", ".join(names) in str(caught.value)

    def test_five_labels_are_no_inference(self):
        pair = classifiers._bert("ForSequenceClassification", {"num_labels": 5})
        with pytest.raises(ModelError, match="5 labels"):
            resolved(pair)

    def test_an_explicit_map(self, score_all, tmp_path):
        pair = classifiers.nli("bert")
        nameless = renamed(pair, {i: f"LABEL_{i}" for i in range(3)})
        given = ["contradiction", "neutral", "entailment"]
        requests = [Request(text=b, prefix=a) for a, b in PAIRS[:5]]
        expected = [r.logprobs.tolist() for r in score_all(resolved(pair), requests)]
        folder = saved(tmp_path / "nameless", *nameless)
        for spec in (nameless, folder):
            for labels in (given, ",".join(given)):
                model = resolve_model(spec, labels=labels, device="cpu")
                found = [r.logprobs.tolist() for r in score_all(model, requests)]
                assert found == expected
        one, other = (resolved(nameless, labels=x).fingerprint for x in (given, given[::-1]))
        assert one != other  # a record is in the order of the labels

    @pytest.mark.parametrize(
        "labels", ["entailment,neutral", "a,b,c", "entailment,neutral,neutral", ""]
    )
    def test_a_bad_map_is_refused(self, labels):
        with pytest.raises(ModelError, match="in the order of its outputs"):
            resolved(classifiers.nli("bert"), labels=labels)

    def test_a_map_for_another_kind_of_model(self, tiny_models):
        with pytest.raises(ModelError, match="not an inference classifier"):
            resolved(tiny_models.pair("gpt2"), labels=LABELS)
        with pytest.raises(ModelError, match="not an inference classifier"):
            resolve_model("smollm2", labels=LABELS)
        with pytest.raises(ModelError, match="already loaded; give them when loading it"):
            resolve_model(resolved(classifiers.nli("bert")), labels=LABELS)


class TestSelfCheck:
    def test_the_plain_pairs_are_balanced_and_distinct(self):
        labels = [label for *_, label in PLAIN]
        assert {labels.count(label) for label in LABELS} == {6}
        assert len({pair[:2] for pair in PLAIN}) == len(PLAIN)

    def test_right_names_pass_without_a_word(self, right):
        run = boxpen.evaluate(right, entailment(), cache=":memory:")
        assert run.info.model.remark is None

    @pytest.mark.parametrize("order", list(itertools.permutations(range(3)))[1:])
    def test_wrong_names_are_refused_with_the_right_ones(self, right, order):
        names = {place: classifiers.NAMED[old] for place, old in enumerate(order)}
        with pytest.raises(ModelError, match="misnamed") as caught:
            boxpen.evaluate(renamed(right, names), entailment(), cache=":memory:")
        proposed = "contradiction,neutral,entailment"
        assert f"--labels {proposed}" in str(caught.value)
        assert any(premise in str(caught.value) for premise, *_ in PLAIN)
        run = boxpen.evaluate(
            renamed(right, names), entailment(), cache=":memory:", labels=proposed
        )
        assert run.info.model.remark is None
        assert run.verdicts == boxpen.evaluate(right, entailment(), cache=":memory:").verdicts

    def test_a_wrong_explicit_map_is_obeyed_with_a_warning(self, right):
        run = boxpen.evaluate(right, entailment(), cache=":memory:", labels=LABELS)
        assert "misnamed" in run.info.model.remark
        from boxpen.report.terminal import notes

        assert any("misnamed" in note for note in notes(run))

    def test_an_untrained_model_gets_a_note(self):
        run = boxpen.evaluate(classifiers.nli("bert"), entailment(), cache=":memory:")
        assert "learnt little" in run.info.model.remark

    @pytest.mark.parametrize("labels", [(0, 1, 2), (0, 3)])
    def test_a_model_that_always_says_the_same_is_not_misnamed(self, labels):
        for label in labels:
            found = checked(labels, [label] * len(PLAIN))
            assert not found.misnamed
            assert found.untrained
            assert found.right == pytest.approx(1 / len(labels))

    def test_two_labels(self):
        expected = [0 if label == "entailment" else 3 for *_, label in PLAIN]
        assert checked((0, 3), expected).right == 1
        swapped = checked((0, 3), [3 - answer for answer in expected])
        assert swapped.misnamed
        assert (swapped.right, swapped.other, swapped.order) == (0, 1, (3, 0))

    def test_a_poor_model_is_not_refused(self):
        """Half of its answers are right: other names would explain fewer."""
        expected = [LABELS.index(label) for *_, label in PLAIN]
        answers = [e if i % 2 else (e + 1) % 3 for i, e in enumerate(expected)]
        found = checked((0, 1, 2), answers)
        assert not found.misnamed
        assert found.right == pytest.approx(0.5)

    def test_models_of_other_languages_are_not_asked(self, right):
        model = resolved(right)
        model.languages = frozenset({"zh"})
        assert model.probes() == ()


class TestSettings:
    def test_verdicts_have_a_score_for_every_label(self):
        pair = classifiers.nli("roberta")
        suite = entailment("", n=9)
        run = boxpen.evaluate(pair, suite, cache=":memory:")
        assert run.setting == "3-way"
        assert "|nli:3-way|" in run.signature
        assert "norm:" not in run.signature
        for item, verdict in zip(suite, run.verdicts, strict=True):
            expected = classifiers.label_logprobs(pair, item.premise, item.hypothesis)
            assert verdict.scores == pytest.approx([expected[x] for x in LABELS], abs=1e-4)
            assert LABELS[verdict.gold] == item.label
            best = max(expected, key=expected.__getitem__)
            assert LABELS[verdict.winner] == best
            assert verdict.credit == float(best == item.label)

    def test_the_forced_choice_is_read_off_the_same_records(self, tmp_path):
        pair = classifiers.nli("roberta")
        suite = Suite("forced", tuple(i for i in entailment("", n=12) if i.label != "neutral"), EN)
        three = boxpen.evaluate(pair, suite, cache=":memory:")
        direct = boxpen.evaluate(pair, suite, cache=":memory:", nli="2-way")
        for two in (
            three.rescore(nli="2-way"),
            Run.load(three.save(tmp_path)).rescore(nli="2-way"),
        ):
            assert two.verdicts == direct.verdicts
            assert two.signature == direct.signature
            assert two.labels == ("entailment", "contradiction")
            assert two.rescore(nli="3-way").verdicts == three.verdicts
        for item, verdict in zip(suite, direct.verdicts, strict=True):
            expected = classifiers.label_logprobs(pair, item.premise, item.hypothesis)
            kept = [expected["entailment"], expected["contradiction"]]
            assert verdict.scores == pytest.approx(kept, abs=1e-4)
            assert verdict.winner == kept.index(max(kept))

    def test_neutral_items_are_left_out_of_the_forced_choice(self):
        pair = classifiers.nli("bert")
        three = boxpen.evaluate(pair, entailment("", n=9), cache=":memory:")
        with pytest.raises(RunError, match=r"3 item\(s\), such as 'e1'.*--nli 2-way"):
            three.rescore(nli="2-way")
        two = boxpen.evaluate(pair, entailment("", n=9), cache=":memory:", nli="2-way")
        assert [v.id for v in two.verdicts] == ["e0", "e2", "e3", "e5", "e6", "e8"]
        (reason,) = two.info.left_out
        assert "neutral" in reason

    def test_a_model_of_two_labels_has_one_setting(self):
        names = classifiers.named({0: "not_entailment", 1: "entailment"})
        pair = classifiers._bert("ForSequenceClassification", names)
        suite = entailment("", n=6)
        one, other = (
            boxpen.evaluate(pair, suite, cache=":memory:", nli=nli) for nli in ("3-way", "2-way")
        )
        assert one.signature == other.signature
        assert "|nli:binary|" in one.signature
        assert one.verdicts == other.verdicts == one.rescore(nli="2-way").verdicts
        assert [v.gold for v in one.verdicts] == [0, 1, 1, 0, 1, 1]
        assert one.candidates["e0"][0].record.token_ids.tolist() == [0, 3]

    def test_norms_are_for_likelihoods(self):
        pair = classifiers.nli("bert")
        with pytest.raises(PolicyError, match="norm 'token'"):
            boxpen.evaluate(pair, entailment(), cache=":memory:", norm="token")
        run = boxpen.evaluate(pair, entailment(), cache=":memory:", norm="sum")
        with pytest.raises(RunError, match="norm 'char'"):
            run.rescore(norm="char")
        assert run.rescore(ties="strict").summary()
        with pytest.raises(PolicyError, match="nli is '4-way'"):
            boxpen.evaluate(pair, entailment(), cache=":memory:", nli="4-way")

    def test_a_language_model_has_no_setting(self, gpt2):
        item = Choice(id="c", candidates=("The box.", "The pen is."), gold=0)
        run = boxpen.evaluate(gpt2, Suite("c", (item,), EN), cache=":memory:")
        forced = boxpen.evaluate(gpt2, Suite("c", (item,), EN), cache=":memory:", nli="2-way")
        assert forced.signature == run.signature
        assert (forced.labels, forced.setting) == ((), "")
        assert forced.rescore(ties="strict").verdicts == run.verdicts
        assert "nli:" not in run.signature
        with pytest.raises(RunError, match="inference classifiers"):
            run.rescore(nli="2-way")


CHOICES = (
    Choice(id="qa", context="Who did this?", candidates=("A man.", "A piano."), gold=0),
    Choice(id="alone", candidates=("He drank coffee.", "He drank a lake."), gold=0),
)
SOURCED = Choice(id="mt", source="箱子在围栏里。", candidates=("The box.", "The pen."), gold=0)
TO_TRANSLATE = Translate(id="tr", source="箱子", reference="A box.", contrast=("A pen.",))


class TestPlans:
    SUITE = Suite("mixed", (*CHOICES, *entailment(n=2), SOURCED, TO_TRANSLATE), EN)

    def test_a_classifier_leaves_out_choices(self):
        run = boxpen.evaluate(classifiers.nli("bert"), self.SUITE, cache=":memory:")
        assert [v.id for v in run.verdicts] == ["e0", "e1"]
        assert run.info.left_out == {
            "an inference classifier judges premises and hypotheses only": [
                "qa", "alone", "mt", "tr",
            ]
        }  # fmt: skip

    def test_a_choice_model_leaves_out_entailment_and_translations(self):
        pair = classifiers.choice("bert")
        run = boxpen.evaluate(pair, self.SUITE, cache=":memory:")
        assert [v.id for v in run.verdicts] == ["qa", "alone"]
        assert run.info.left_out == {
            "an entailment item needs an inference classifier": ["e0", "e1"],
            "a multiple-choice model reads no source sentence": ["mt", "tr"],
        }
        for item, verdict in zip(CHOICES, run.verdicts, strict=True):
            expected = [classifiers.logits(pair, item.context or "", c)[0] for c in item.candidates]
            assert verdict.scores == pytest.approx(expected, abs=1e-4)
            assert verdict.winner == expected.index(max(expected))
        assert "|kind:choice|" in run.signature

    def test_a_choice_model_reads_the_bare_context(self):
        """The prompts of recipes are for likelihoods."""
        from boxpen.scoring.recipe import Recipe

        pair = classifiers.choice("bert")
        suite = Suite("qa", CHOICES, EN)
        prompt = Recipe(
            name="prompt", prefix="Question: {context}\nAnswer:", policy={"norm": "char"}
        )
        plain = boxpen.evaluate(pair, suite, cache=":memory:")
        told = boxpen.evaluate(pair, suite, cache=":memory:", recipe=prompt)
        assert plain.verdicts == told.verdicts
        with pytest.raises(PolicyError, match="takes no prompt"):
            boxpen.evaluate(pair, suite, cache=":memory:", template="{context} so")
        with pytest.raises(PolicyError, match="one number per candidate"):
            boxpen.evaluate(pair, suite, cache=":memory:", norm="word")

    def test_nothing_left_is_an_error(self):
        with pytest.raises(ModelError, match="premises and hypotheses"):
            boxpen.evaluate(classifiers.nli("bert"), Suite("c", CHOICES, EN), cache=":memory:")

    def test_a_language_model_reads_goal_and_solution_as_one_text(self, tiny_models):
        model = tiny_models.model("gpt2")
        planned = boxpen.plans.plan(model, Suite("qa", CHOICES[:1], EN))
        texts = [r.prefix + r.text for r in planned.all_requests()]
        assert texts == ["Who did this? A man.", "Who did this? A piano."]

    def test_a_language_that_is_not_read(self):
        items = tuple(_entail("ҶҶҶ ҾҾҾ", "ԀԀԀ", label) for label in LABELS)
        with pytest.raises(ModelError, match="tokens are unknown"):
            boxpen.evaluate(classifiers.nli("bert"), Suite("u", items), cache=":memory:")


class TestKeeping:
    def test_the_second_run_needs_no_weights(self, tmp_path, monkeypatch):
        spec = saved(tmp_path / "nli", *classifiers.nli("bert"))
        first = boxpen.evaluate(spec, entailment(), cache=tmp_path / "c.sqlite", device="cpu")
        monkeypatch.setattr(boxpen.models.loading.checkpoint, "load_module", None)
        again = boxpen.evaluate(spec, entailment(), cache=tmp_path / "c.sqlite", device="cpu")
        forced = boxpen.evaluate(
            spec, entailment(), cache=tmp_path / "c.sqlite", device="cpu", nli="2-way"
        )
        assert again.verdicts == first.verdicts
        assert again.info.model == first.info.model  # the remark of the self-check, too
        assert forced.verdicts == first.rescore(nli="2-way").verdicts

    @pytest.mark.parametrize("nli", ["3-way", "2-way"])
    def test_round_trip(self, nli, tmp_path):
        run = boxpen.evaluate(classifiers.nli("bert"), entailment(), cache=":memory:", nli=nli)
        again = Run.load(run.save(tmp_path))
        assert again.verdicts == run.verdicts
        assert again.summary() == run.summary()
        assert again.info == run.info
        assert again.labels == run.labels
        for item, (one,) in run.candidates.items():
            (other,) = again.candidates[item]
            assert (one.prefix, one.text) == (other.prefix, other.text)
            assert one.record.logprobs.tobytes() == other.record.logprobs.tobytes()
            assert other.record.token_ids.tolist() == [0, 1, 2]

    @pytest.mark.parametrize(
        "labels", [["entailment", "contradiction"], ["entailment", "not_entailment"], ["yes"], None]
    )
    def test_a_run_with_other_labels_is_damaged(self, labels, tmp_path):
        run = boxpen.evaluate(classifiers.nli("bert"), entailment(), cache=":memory:")
        place = run.save(tmp_path)
        about = json.loads((place / "run.json").read_text("utf-8"))
        about["model"]["labels"] = labels
        (place / "run.json").write_text(json.dumps(about), "utf-8")
        with pytest.raises(RunError, match="not a whole run directory"):
            Run.load(place)

    def test_a_run_of_an_earlier_version_loads(self, gpt2, tmp_path):
        item = Choice(id="c", candidates=("The box.", "The pen is."), gold=0)
        run = boxpen.evaluate(gpt2, Suite("c", (item,), EN), cache=":memory:")
        place = run.save(tmp_path)
        about = json.loads((place / "run.json").read_text("utf-8"))
        del about["policy"]["nli"]
        (place / "run.json").write_text(json.dumps(about), "utf-8")
        old = Run.load(place)
        assert old.verdicts == run.verdicts
        assert old.rescore(ties="strict").signature == run.rescore(ties="strict").signature

    def test_slices_compare_and_the_page(self, tmp_path):
        from boxpen.analysis.slices import cuts
        from boxpen.report.html.page import whole_page

        runs = [
            boxpen.evaluate(classifiers.nli(name), entailment("", n=12), cache=":memory:")
            for name in ("bert", "roberta")
        ]
        forced = boxpen.evaluate(
            classifiers.nli("bert"), entailment("", n=12), cache=":memory:", nli="2-way"
        )
        assert {"relation", "length"} <= set(cuts(runs[0]))
        (pair,) = boxpen.compare(*runs)
        assert pair.n == 12
        with pytest.raises(RunError, match="nli 3-way and 2-way"):
            boxpen.compare(runs[0], forced)
        page, _ = whole_page([*runs, forced])
        assert "2-way" in page


class TestCheckpoints:
    @pytest.mark.parametrize(
        ("architecture", "labels", "kind"),
        [
            ("BertForSequenceClassification", 3, "nli"),
            ("BertForSequenceClassification", 2, "nli"),
            ("LlamaForSequenceClassification", 1, "choice"),
            ("BartForSequenceClassification", 3, "nli"),
            ("RobertaForMultipleChoice", 2, "choice"),
        ],
    )
    def test_kinds(self, architecture, labels, kind):
        config = transformers.BertConfig(num_labels=labels, architectures=[architecture])
        assert kind_of(config, "x") == kind

    @pytest.mark.parametrize("head", ["ForSequenceClassification", "ForMultipleChoice"])
    def test_missing_weights_are_not_made_up(self, head, tmp_path):
        """A checkpoint of the body that calls itself a classifier."""
        more = classifiers.named(classifiers.NAMED)
        module, tokenizer = classifiers._bert(head, more)
        spec = saved(tmp_path / "c", module.bert, tokenizer)
        path = tmp_path / "c" / "config.json"
        config = json.loads(path.read_text("utf-8")) | {"architectures": [f"Bert{head}"]}
        path.write_text(json.dumps(config), "utf-8")
        with pytest.raises(ModelError, match=r"lacks 2 weights, such as 'classifier\.bias'"):
            resolve_model(spec, device="cpu").load()

    @pytest.mark.parametrize(
        ("attribute", "value"),
        [("model_input_names", ["input_ids", "attention_mask"]), ("truncation_side", "left")],
    )
    def test_a_tokenizer_that_puts_pairs_otherwise_makes_another_model(self, attribute, value):
        """Or the cache would serve the scores of the one for the other."""
        module, tokenizer = classifiers.nli("bert")
        other = copy.deepcopy(tokenizer)
        setattr(other, attribute, value)
        request, resolved_policy = (
            Request(text="Box", prefix=tiny.LONG),
            boxpen.ScoringPolicy(max_length=24),
        )
        models = [resolved((module, t)) for t in (tokenizer, other)]
        one, two = (m.encode([request], m.resolve_policy(resolved_policy))[0] for m in models)
        assert one != two
        assert models[0].fingerprint != models[1].fingerprint

    def test_deterministic_runs_are_the_same_to_the_last_bit(self, score_all):
        model = resolved(classifiers.nli("bert"), deterministic=True)
        requests = [Request(text=b, prefix=a) for a, b in PAIRS]
        together = score_all(model, requests)
        for request, record in zip(requests, together, strict=True):
            (alone,) = score_all(model, [request])
            assert alone.logprobs.tobytes() == record.logprobs.tobytes()


class TestCommandLine:
    @pytest.fixture
    def files(self, tmp_path) -> dict[str, Path | str]:
        suite = Suite("kg", (*entailment(n=8), *CHOICES), EN)
        boxpen.write_suite(suite, tmp_path / "kg.jsonl")
        return {
            "nli": saved(tmp_path / "nli", *classifiers.nli("bert")),
            "choice": saved(tmp_path / "mc", *classifiers.choice("bert")),
            "nameless": saved(
                tmp_path / "nameless",
                *renamed(classifiers.nli("bert"), {i: f"LABEL_{i}" for i in range(3)}),
            ),
            "suite": tmp_path / "kg.jsonl",
            "cache": tmp_path / "c.sqlite",
            "out": tmp_path / "runs",
        }

    def invoke(self, *args: object) -> Any:
        return CliRunner().invoke(app, [str(a) for a in args])

    def run(self, files: dict[str, Any], model: str, *more: object) -> Any:
        return self.invoke(
            "run", "--suite", files["suite"], "--model", files[model], "--cache", files["cache"],
            "--out", files["out"], "--device", "cpu", "--json", *more,
        )  # fmt: skip

    def test_from_the_first_run_to_the_forced_choice(self, files):
        first = self.run(files, "nli")
        assert first.exit_code == 0, first.output
        done = json.loads(first.stdout)
        assert "|nli:3-way|" in done["runs"][0]["signature"]
        accuracy = {r["slice"]: r for r in done["results"] if r["metric"] == "accuracy"}
        assert accuracy["all"]["n"] == 8
        assert accuracy["relation=isa"]["n"] == 4
        forced = json.loads(self.run(files, "nli", "--nli", "2-way").stdout)
        again = self.invoke("rescore", done["runs"][0]["path"], "--nli", "2-way", "--json")
        rescored = json.loads(again.stdout)
        assert rescored["results"] == forced["results"]
        assert forced["runs"][0]["path"] != done["runs"][0]["path"]
        checked = self.invoke(
            "check", done["runs"][0]["path"], "--min", "relation=isa:failure_rate>=0"
        )
        assert checked.exit_code == 0, checked.output

    def test_multiple_choice(self, files):
        done = self.run(files, "choice")
        assert done.exit_code == 0, done.output
        assert "|kind:choice|" in json.loads(done.stdout)["runs"][0]["signature"]

    def test_labels_by_hand(self, files):
        refused = self.run(files, "nameless")
        assert refused.exit_code == 2
        assert "--labels entailment,neutral,contradiction" in refused.stderr
        given = self.run(files, "nameless", "--labels", "contradiction,neutral,entailment")
        assert given.exit_code == 0, given.output
        named = json.loads(self.run(files, "nli").stdout)
        values = [[r["value"] for r in d["results"]] for d in (json.loads(given.stdout), named)]
        assert values[0] == values[1]

    def test_model_show_names_the_labels(self, files):
        shown = self.invoke("model", "show", files["nli"], "--json")
        facts = json.loads(shown.stdout)
        assert (facts["kind"], facts["labels"]) == ("nli", list(LABELS))
