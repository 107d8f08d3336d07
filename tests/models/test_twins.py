"""Every scorer against its slow twin: any batch size, any order, any mixture of lengths."""

from __future__ import annotations

import random

import pytest
import tiny

from boxpen import Request

BATCHES = (1, 3, 16, None)
JOINS = (
    ("The box was in", " the pen."),
    ("The little boy was looking for his toy box. Finally", " he found it."),
    ("Who did this?", " Some porter put a letter into the drawer."),
    ("小男孩在找他的玩具箱。 ", "最后他找到了。"),
    ("It", " rained"),
)


def clean(tokenizer, prefix: str, text: str) -> bool:
    before = tokenizer.encode(prefix, add_special_tokens=False)
    return tokenizer.encode(prefix + text, add_special_tokens=False)[: len(before)] == before


def sentences(size: int | None) -> list[str]:
    """All of them; in small batches, where every copy is a forward pass, only some short ones."""
    if size in (1, 3):
        return [s for s in tiny.SENTENCES if len(s) < 30]
    return [s for s in tiny.SENTENCES if s != tiny.LONG or size is None]


def mixed(requests: list, seed: int) -> list:
    shuffled = list(requests)
    random.Random(seed).shuffle(shuffled)
    return shuffled


@pytest.mark.parametrize("name", tiny.CAUSAL)
@pytest.mark.parametrize("bos", ["auto", "never"])
@pytest.mark.parametrize("eos", ["always", "never"])
def test_causal(name, bos, eos, tiny_models, twin, agree, score_all):
    model = tiny_models.model(name)
    tokenizer = model.tokenizer
    if eos == "always" and tokenizer.eos_token_id is None:
        pytest.skip("GPT has no EOS token")
    if bos == "never" and tokenizer.bos_token_id is None:
        pytest.skip("GPT has no BOS token: covered by auto")
    how = {
        "bos": tokenizer.bos_token_id if bos == "auto" else None,
        "eos": tokenizer.eos_token_id if eos == "always" else None,
    }
    joins = [j for j in JOINS if clean(tokenizer, *j)]
    assert len(joins) >= 3
    for size in BATCHES:
        model.batch_size = size
        requests = [Request(text=s) for s in tiny.SENTENCES]
        requests += [Request(text=text, prefix=prefix) for prefix, text in joins]
        requests = mixed(requests, seed=size or 99)
        for request, record in zip(
            requests, score_all(model, requests, bos=bos, eos=eos), strict=True
        ):
            agree(record, twin(name, request.text, request.prefix, **how))
            assert not record.truncated
            assert not record.crossing
            first_is_lost = how["bos"] is None and not request.prefix
            assert record.unscored == int(first_is_lost)


@pytest.mark.parametrize("name", tiny.MASKED)
@pytest.mark.parametrize("pll", ["original", "within_word_l2r", "unmasked"])
def test_masked(name, pll, tiny_models, twin, agree, score_all):
    model = tiny_models.model(name)
    joins = [j for j in JOINS if clean(model.tokenizer, *j)][:3]
    assert len(joins) == 3
    for size in BATCHES:
        model.batch_size = size
        requests = [Request(text=s) for s in sentences(size)]
        requests += [Request(text=text, prefix=prefix) for prefix, text in joins]
        requests = mixed(requests, seed=size or 99)
        for request, record in zip(requests, score_all(model, requests, pll=pll), strict=True):
            agree(record, twin(name, request.text, request.prefix, pll=pll))
            assert (record.unscored, record.truncated, record.crossing) == (0, False, False)


def test_permuted(tiny_models, twin, agree, score_all):
    model = tiny_models.model("xlnet")
    joins = [j for j in JOINS if clean(model.tokenizer, *j)][:3]
    assert len(joins) == 3
    for size in BATCHES:
        model.batch_size = size
        requests = [Request(text=s) for s in sentences(size)]
        requests += [Request(text=text, prefix=prefix) for prefix, text in joins]
        requests = mixed(requests, seed=size or 99)
        for request, record in zip(requests, score_all(model, requests), strict=True):
            agree(record, twin("xlnet", request.text, request.prefix))


PAIRS = (
    ("中国的首都是北京。", "The box was in the pen."),
    ("箱子在围栏里。", "Some porter put a piano into the drawer."),
    ("谁把大象放进了冰箱?", "Who did this?"),
    ("大雨", tiny.LONG),
    ("小男孩在找他的玩具箱。 最后他找到了。 太阳从东方升起。 人们早餐吃面包和黄油。", "Box"),
    ("箱子在围栏里。", "The box was in the pen."),
)


@pytest.mark.parametrize("name", tiny.SEQ2SEQ)
@pytest.mark.parametrize("eos", ["auto", "never"])
def test_seq2seq(name, eos, tiny_models, twin, agree, score_all):
    model = tiny_models.model(name)
    languages = ("zh", "en")
    pairs = [(source, text, languages) for source, text in PAIRS]
    if name != "marian":  # the others also go the other way, in the same call
        pairs += [(text, source, languages[::-1]) for source, text in PAIRS]
    told = ""
    if name == "t5":
        told = model.config.task_specific_params["translation_en_to_zh"]["prefix"]
    for size in BATCHES:
        model.batch_size = size
        requests = [Request(text=t, source=s, languages=pair) for s, t, pair in pairs]
        requests = mixed(requests, seed=size or 99)
        for request, record in zip(requests, score_all(model, requests, eos=eos), strict=True):
            source = request.source
            if name == "t5" and request.languages == ("en", "zh"):
                source = told + source
            expected = twin(
                name, request.text, source, eos=eos == "auto", languages=request.languages
            )
            agree(record, expected)
            assert not record.truncated


@pytest.mark.parametrize("name", list(tiny.BUILDERS))
def test_a_pair_in_memory_scores_as_its_folder_does(name, tiny_models, score_all):
    from boxpen import resolve_model

    folder = tiny_models.model(name)
    pair = resolve_model(tiny_models.pair(name))
    assert pair.kind == folder.kind == tiny.KINDS[name]
    requests = [
        Request(text=s, source="箱子在围栏里。", languages=("zh", "en"))
        for s in ("The box was in the pen.", "Who did this?", "Box")
    ]
    if not folder.encoder:
        requests = [Request(text=r.text) for r in requests]
    for one, other in zip(score_all(folder, requests), score_all(pair, requests), strict=True):
        assert one.token_ids.tolist() == other.token_ids.tolist()
        assert one.logprobs.tolist() == other.logprobs.tolist()


@pytest.mark.parametrize("name", ["gpt2", "bert", "xlnet", "nllb"])
def test_a_small_token_budget_changes_nothing(name, tiny_models, score_all, agree):
    wide, narrow = tiny_models.model(name), tiny_models.model(name, token_budget=40)
    requests = [
        Request(text=s, source="小男孩在找他的玩具箱。", languages=("zh", "en"))
        if wide.encoder
        else Request(text=s)
        for s in tiny.SENTENCES
        if s != tiny.LONG
    ]
    for one, other in zip(score_all(wide, requests), score_all(narrow, requests), strict=True):
        agree(one, (other.token_ids.tolist(), other.logprobs.tolist()))
