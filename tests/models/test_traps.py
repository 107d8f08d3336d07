"""One test for every way in which scoring tools are known to go wrong (the model side)."""

from __future__ import annotations

import contextlib
import copy
import math

import numpy as np
import pytest
import tiny
import torch
import transformers
import twins
from spies import listened, spied
from tokenizers import AddedToken

from boxpen import (
    Card,
    Choice,
    ModelError,
    Request,
    ScoreCache,
    ScoringError,
    ScoringPolicy,
    Suite,
    evaluate,
    resolve_model,
)
from boxpen.models.base import Encoded
from boxpen.scoring.cache import cache_key
from boxpen.scoring.normalise import score

CAT = "The box was in the pen."
ALL = list(tiny.BUILDERS)


def asked(model, text: str, **rest) -> Request:
    """A request that any kind of model can answer."""
    if model.encoder:
        rest = {"source": "箱子在围栏里。", "languages": ("zh", "en")} | rest
    return Request(text=text, **rest)


def warmed(model):
    """The same model after its self-checks, which also run the module."""
    resolved_policy = model.resolve_policy(ScoringPolicy(pll="original"))
    for _ in model.score([asked(model, "Box is")], resolved_policy):
        pass
    return model


def run(model, encoded, resolved_policy):
    """The log-probabilities of distinct encoded requests, in their order."""
    found = dict(pair for batch in model.run(encoded, resolved_policy) for pair in batch)
    assert sorted(found) == list(range(len(encoded)))
    return [found[i] for i in range(len(encoded))]


def tokens(model, requests, **policy):
    return model.encode(requests, model.resolve_policy(ScoringPolicy(**policy)))


# --- Causal models


def test_trap_01_bos_never_doubled(tiny_models):
    """A tokenizer that adds BOS by itself, or a text that begins with it, gave two of them."""
    model = tiny_models.model("llama")
    bos = model.tokenizer.bos_token_id
    for text in (CAT, "<s>" + CAT, "<s> " + CAT):
        for policy in ("auto", "always"):
            (encoded,) = tokens(model, [Request(text=text)], bos=policy)
            assert encoded.ids[0] == bos
            assert encoded.ids.count(bos) == 1
    (encoded,) = tokens(model, [Request(text=CAT, prefix="<s>Who did this? ")])
    assert encoded.ids.count(bos) == 1


def test_trap_01_literal_bos_is_the_bos(tiny_models, score_all):
    """A text that brings its own BOS is scored as the same text without it, and none is lost."""
    model = tiny_models.model("gpt2")
    with_bos, without = score_all(model, [Request(text="<|endoftext|>" + CAT), Request(text=CAT)])
    assert with_bos.token_ids.tolist() == without.token_ids.tolist()
    assert with_bos.total == pytest.approx(without.total, abs=1e-4)
    assert with_bos.unscored == without.unscored == 0


def test_trap_01_bos_has_three_states(tiny_models, score_all):
    """Without BOS the first token has no probability; a tool scored it anyway, or said nothing."""
    model = tiny_models.model("gpt2")
    (auto,) = score_all(model, [Request(text=CAT)], bos="auto")
    (always,) = score_all(model, [Request(text=CAT)], bos="always")
    (never,) = score_all(model, [Request(text=CAT)], bos="never")
    assert auto.logprobs.tolist() == always.logprobs.tolist()
    assert len(never.logprobs) == len(auto.logprobs) - 1
    assert (auto.unscored, never.unscored) == (0, 1)
    chosen = [model.resolve_policy(ScoringPolicy(bos=b)).bos for b in ("auto", "always", "never")]
    assert chosen == [True, True, False]


def test_trap_01_bos_is_not_taken_from_eos(tiny_models):
    """A tokenizer without BOS was given its EOS instead."""
    gpt = tiny_models.model("gpt")
    assert gpt.resolve_policy(ScoringPolicy()).bos is False
    with pytest.raises(ModelError, match="no BOS token"):
        gpt.resolve_policy(ScoringPolicy(bos="always"))
    module, tokenizer = tiny_models.pair("gpt2")
    without = copy.deepcopy(tokenizer)
    without.bos_token = None
    model = resolve_model((module, without))
    assert model.resolve_policy(ScoringPolicy()).bos is False
    (encoded,) = tokens(model, [Request(text=CAT)])
    assert tokenizer.eos_token_id not in encoded.ids


@pytest.mark.parametrize("name", ["gpt2", "llama", "bert", "roberta", "xlnet"])
def test_trap_02_token_across_the_join(name, tiny_models):
    """``whole[len(context):]`` shifted or emptied the span where a token crosses the join."""
    model = tiny_models.model(name)
    whole = model.tokenizer.encode("The little boy was", add_special_tokens=False)
    (encoded,) = tokens(model, [Request(text="oy was", prefix="The little b")], pll="original")
    assert encoded.crossing
    kept = [encoded.ids[i] for i in encoded.scored]
    assert kept == whole[-len(kept) :]
    shown = model.tokenizer.decode(kept).replace(" ", "")
    assert shown.endswith("oywas")  # nothing of the text is lost
    assert len(kept) < len(whole)
    (clean,) = tokens(model, [Request(text=" boy was", prefix="The little")], pll="original")
    assert not clean.crossing


@pytest.mark.parametrize("name", ["unigram_bert", "bert"])
def test_trap_02_unknown_token_across_the_join(name, tiny_models):
    """One unknown token swallowed the end of the prefix and the start of the text, unflagged."""
    model = tiny_models.model(name)
    prefix, text = ("鑫", "淼 box") if name == "unigram_bert" else ("xβ", "γx box")
    whole = model.tokenizer(prefix + text, add_special_tokens=False, return_offsets_mapping=True)
    spans = whole["offset_mapping"]
    assert any(start < len(prefix) < end for start, end in spans), "the example must cross"
    (encoded,) = tokens(model, [Request(text=text, prefix=prefix)], pll="original")
    assert encoded.crossing


@pytest.mark.parametrize("name", ["gpt2", "llama", "roberta"])
@pytest.mark.parametrize(
    ("prefix", "text"),
    [
        ("The box", "  was"),
        ("The box", "\n\nwas"),
        ("The box\n", "was"),
        ("The box ", " was"),
        ("The box \n", " was"),
    ],
)
def test_trap_03_white_space_stays_on_its_side(name, prefix, text, tiny_models):
    """Spaces and newlines at the end of a context were silently moved to the continuation."""
    model = tiny_models.model(name)
    tokenizer = model.tokenizer
    (encoded,) = tokens(model, [Request(text=text, prefix=prefix)], pll="original")
    whole = tokenizer.encode(prefix + text, add_special_tokens=False)
    before = tokenizer.encode(prefix, add_special_tokens=False)
    assert whole[: len(before)] == before, "the example must be clean"
    assert [encoded.ids[i] for i in encoded.scored] == whole[len(before) :]
    assert not encoded.crossing


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_trap_03_space_at_the_end_of_a_prefix_is_flagged(name, tiny_models):
    """``'The box ' + 'was'``: the space goes into the token of the text, so it crosses."""
    (encoded,) = tokens(tiny_models.model(name), [Request(text="was", prefix="The box ")])
    assert encoded.crossing
    assert len(encoded.scored) == 1


@pytest.mark.parametrize("name", tiny.CAUSAL)
def test_trap_04_off_by_one(name, tiny_models):
    """Logits at a position were read as predictions of that very position.

    The last token is seen by no prediction, so changing it changes its own probability only, and
    the probabilities of all that could stand there sum to one.
    """
    model = tiny_models.model(name)
    resolved_policy = model.resolve_policy(ScoringPolicy())
    (encoded,) = model.encode([Request(text=CAT)], resolved_policy)
    variants = [
        Encoded(ids=(*encoded.ids[:-1], token), scored=encoded.scored)
        for token in range(len(model.tokenizer))
    ]
    values = np.array(run(model, variants, resolved_policy), dtype=np.float64)
    assert np.abs(values[:, :-1] - values[0, :-1]).max() < 1e-4
    assert math.fsum(np.exp(values[:, -1])) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("name", ALL)
def test_trap_05_truncation_is_flagged(name, tiny_models, score_all):
    """A long text was cut with only a warning."""
    model = tiny_models.model(name)
    long, short = score_all(
        model, [asked(model, tiny.LONG), asked(model, "Box")], max_length=16, pll="original"
    )
    assert long.truncated
    assert not short.truncated
    assert 0 < len(long.logprobs) <= 16
    for encoded in tokens(model, [asked(model, tiny.LONG)], max_length=16, pll="original"):
        assert len(encoded.ids) <= 16


@pytest.mark.parametrize("name", ["gpt2", "bert", "marian"])
def test_trap_05_what_just_fits_is_not_flagged(name, tiny_models):
    model = tiny_models.model(name)
    (free,) = tokens(model, [asked(model, CAT)], pll="original")
    length = max(len(free.ids), len(free.source))
    (fits,) = tokens(model, [asked(model, CAT)], max_length=length, pll="original")
    (cut,) = tokens(model, [asked(model, CAT)], max_length=length - 1, pll="original")
    assert fits == free
    assert cut.truncated
    with pytest.raises(ModelError, match="max_length 9999"):
        tokens(model, [asked(model, CAT)], max_length=9999)


def test_trap_05_a_cut_causal_text_is_scored_as_the_twin_of_what_is_left(
    tiny_models, score_all, agree
):
    model = tiny_models.model("gpt2")
    module, tokenizer = tiny_models.pair("gpt2")
    (record,) = score_all(model, [Request(text=tiny.LONG)], max_length=16)
    ids = [tokenizer.bos_token_id, *tokenizer.encode(tiny.LONG)[-15:]]
    values = []
    for i in range(1, 16):
        with torch.inference_mode():
            logits = module(input_ids=torch.tensor([ids[:i]])).logits
        values.append(twins.log_probability(logits[0, -1], ids[i]))
    agree(record, (ids[1:], values))


def test_trap_05_bos_survives_truncation_before_a_scored_eos(tiny_models):
    """BOS is what a resolved ``bos: yes`` promises, whether EOS is scored or not."""
    model = tiny_models.model("llama")
    for eos in ("never", "always"):
        (encoded,) = tokens(model, [Request(text=tiny.LONG)], max_length=16, eos=eos)
        assert encoded.truncated
        assert len(encoded.ids) == 16
        assert encoded.ids[0] == model.tokenizer.bos_token_id


@pytest.mark.parametrize("family", ["roberta", "mpnet"])
def test_trap_05_positions_that_do_not_start_at_zero(family, tiny_models, score_all):
    """RoBERTa and its kin lose the first positions: the limit is not the size of the table."""
    _, tokenizer = tiny_models.pair("roberta")
    shape = {
        "vocab_size": len(tokenizer), "hidden_size": 32, "intermediate_size": 48,
        "num_hidden_layers": 1, "num_attention_heads": 2, "max_position_embeddings": 32,
    }  # fmt: skip
    module = (
        transformers.RobertaForMaskedLM(transformers.RobertaConfig(**shape))
        if family == "roberta"
        else transformers.MPNetForMaskedLM(transformers.MPNetConfig(**shape))
    )
    model = resolve_model((module, tokenizer))
    (record,) = score_all(model, [Request(text=tiny.LONG)])
    assert record.truncated
    assert np.isfinite(record.logprobs).all()


@pytest.mark.parametrize("side", ["left", "right"])
def test_trap_06_pad_may_equal_eos(side, tiny_models, score_all, agree):
    """``ids != pad`` also masked a real EOS; left padding moved absolute positions."""
    module, tokenizer = tiny_models.pair("gpt2")
    padding = copy.deepcopy(tokenizer)
    padding.pad_token = padding.eos_token
    padding.padding_side = side
    model = resolve_model((module, padding))
    requests = [
        Request(text=CAT),
        Request(text="He found<|endoftext|> it."),
        Request(text=tiny.LONG),
        Request(text="Box<|endoftext|>"),
    ]
    together = score_all(model, requests, eos="always")
    for request, record in zip(requests, together, strict=True):
        (alone,) = score_all(model, [request], eos="always")
        agree(record, (alone.token_ids.tolist(), alone.logprobs.tolist()))
    agree(together[0], twins.causal((module, tokenizer), CAT, bos=0, eos=0))


def test_trap_06_literal_pad_in_a_masked_text(tiny_models, score_all, agree):
    model = tiny_models.model("bert")
    requests = [Request(text="The box [PAD] was in the pen."), Request(text=tiny.LONG)]
    (alone,) = score_all(model, requests[:1])
    together = score_all(model, requests)[0]
    agree(together, (alone.token_ids.tolist(), alone.logprobs.tolist()))


def before_the_output_layer(name, half, hidden):
    """What stands between the body and the output layer, spelt out for each family."""
    if name == "bert":
        return half.cls.predictions.transform(hidden)
    if name == "roberta":
        head = half.lm_head
        return head.layer_norm(torch.nn.functional.gelu(head.dense(hidden)))
    if name == "t5" and half.config.tie_word_embeddings:
        return hidden * half.config.d_model**-0.5
    return hidden


@pytest.mark.parametrize("name", ["gpt2", "llama", "bert", "roberta", "xlnet", "marian", "t5"])
@torch.inference_mode()
def test_trap_07_bf16_logits_are_made_and_softmaxed_in_float32(name, tiny_models, score_all):
    """Log-softmax in bf16 errs by up to 0.1 nats and makes false ties; so do logits in bf16."""
    module, tokenizer = tiny_models.pair(name)
    half = copy.deepcopy(module).to(torch.bfloat16)
    model = resolve_model((half, tokenizer))
    assert model.dtype == "bfloat16"
    model.batch_size = 1
    policy = {"pll": "unmasked"} if model.kind == "masked" else {}
    (encoded,) = tokens(model, [asked(model, CAT)], **policy)
    seen = []
    with listened(warmed(model).body, seen.append):
        (record,) = score_all(model, [asked(model, CAT)], **policy)
    assert len(seen) == (len(encoded.scored) if model.kind == "permuted" else 1)
    assert all(hidden.dtype == torch.bfloat16 for hidden in seen)
    shift = {"causal": 1}.get(model.kind, 0)
    hidden = [  # one forward for all tokens, but for XLNet one for each
        seen[n][0, 0] if model.kind == "permuted" else seen[0][0, i - shift]
        for n, i in enumerate(encoded.scored)
    ]
    rows = before_the_output_layer(name, half, torch.stack(hidden))
    assert rows.dtype == torch.bfloat16
    layer = half.get_output_embeddings()
    bias = 0 if layer.bias is None else layer.bias.double()
    logits = rows.double() @ layer.weight.double().T + bias
    targets = [encoded.ids[i] for i in encoded.scored]

    def gathered(of):
        return np.array([float(row[t]) for row, t in zip(of, targets, strict=True)])

    exact = gathered(torch.log_softmax(logits, -1))
    coarse = gathered(torch.log_softmax(logits.bfloat16(), -1))
    rounded = gathered(torch.log_softmax(logits.bfloat16().double(), -1))
    assert np.abs(coarse - exact).max() > 1e-3, "the example must be able to fail"
    assert np.abs(rounded - exact).max() > 1e-4, "in both ways"
    np.testing.assert_allclose(record.logprobs, exact, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", ALL)
def test_trap_08_batch_and_order_change_nothing(name, tiny_models, score_all, agree):
    """Scores changed with the batch size, or with what stood beside a text."""
    model = tiny_models.model(name)
    requests = [asked(model, s) for s in tiny.SENTENCES if len(s) < 40]
    model.batch_size = 1
    alone = score_all(model, requests)
    model.batch_size = None
    for order in (requests, requests[::-1]):
        records = dict(zip(order, score_all(model, order), strict=True))
        for request, expected in zip(requests, alone, strict=True):
            agree(records[request], (expected.token_ids.tolist(), expected.logprobs.tolist()))


@pytest.mark.parametrize("name", tiny.CAUSAL)
def test_trap_08b_prefixes_of_each_other_and_equal_texts(name, tiny_models, twin, score_all, agree):
    """A text that begins another one, or stands twice, was off by one token's log-probability."""
    model = tiny_models.model(name)
    bos = model.tokenizer.bos_token_id
    texts = ["The box", "The box was", CAT, "The", "The box was", CAT, "The box"]
    records = score_all(model, [Request(text=t) for t in texts])
    for text, record in zip(texts, records, strict=True):
        agree(record, twin(name, text, bos=bos, eos=None))
    assert records[1].logprobs.tolist() == records[4].logprobs.tolist()  # not nearly: the same
    assert records[2].logprobs.tolist() == records[5].logprobs.tolist()


# --- Masked models


def masks_of(model, text: str, pll: str) -> list[list[int]]:
    """Return the masked places of every copy, in the order of the scored tokens."""
    resolved_policy = model.resolve_policy(ScoringPolicy(pll=pll))
    encoded = model.encode([Request(text=text)], resolved_policy)
    with spied(warmed(model).body) as calls:
        run(model, encoded, resolved_policy)
    mask = model.tokenizer.mask_token_id
    rows = [row for call in calls for row in call["input_ids"].tolist()]
    return sorted([i - 1 for i, token in enumerate(row) if token == mask] for row in rows)


def test_trap_09_word_pieces_do_not_give_the_word_away(tiny_models):
    """Original PLL shows ``sou … ##ir`` while asking for ``##ven``."""
    model = tiny_models.model("bert")
    text = "lanternless porterhouses refreezing"
    pieces = model.tokenizer.tokenize(text)
    assert sum(p.startswith("##") for p in pieces) >= 2, "the example must have word pieces"
    assert masks_of(model, text, "original") == [[i] for i in range(len(pieces))]
    ends = [i for i in range(len(pieces)) if not "".join(pieces[i + 1 : i + 2]).startswith("##")]
    expected = [list(range(i, min(e for e in ends if e >= i) + 1)) for i in range(len(pieces))]
    assert masks_of(model, text, "within_word_l2r") == expected


def test_trap_09_chinese_in_sentencepiece_is_not_one_word(tiny_models):
    """SentencePiece sees one word in a Chinese sentence, so that all of it would be masked."""
    model = tiny_models.model("unigram_bert")
    copies = masks_of(model, "小男孩在找他的玩具箱。", "within_word_l2r")
    assert len(copies) >= 10
    assert max(len(c) for c in copies) <= 2  # the mark of the space and the first character
    assert sum(len(c) for c in copies) <= len(copies) + 1


def test_trap_09_chinese_in_bytes_is_masked_by_the_character(tiny_models):
    """Byte-level pieces of one character give it away; those of its neighbours do not."""
    model = tiny_models.model("roberta")
    text = "小男孩在找他的玩具箱"
    ids = model.tokenizer.encode(text, add_special_tokens=False)
    pieces = model.tokenizer.convert_ids_to_tokens(ids)
    assert len(pieces) > len(text), "the example must split characters"
    expected = twins.words_of_bytes(pieces, text)
    copies = masks_of(model, text, "within_word_l2r")
    assert copies == [
        [j for j in range(i, len(ids)) if expected[j] == expected[i]] for i in range(len(ids))
    ]
    assert any(len(c) > 1 for c in copies)
    assert max(len(c) for c in copies) < len(ids) / 2


@pytest.mark.parametrize("name", ALL)
def test_trap_10_no_forward_exceeds_the_token_budget(name, tiny_models, score_all):
    """All masked copies of a 350-word sentence in one forward pass took 80 GB.

    A row that is longer than the budget goes alone; nothing else may go over it, padding included.
    """
    budget = 200
    model = tiny_models.model(name, token_budget=budget)
    texts = [s for s in tiny.SENTENCES if s != tiny.LONG]
    copies = model.kind in ("masked", "permuted")
    requests = [asked(model, s) for s in (*texts, tiny.LONG[:60] if copies else tiny.LONG)]
    if model.encoder:  # long beside short, on both sides
        requests.append(asked(model, "Box", source=" ".join(["箱子在围栏里。"] * 12)))
        requests.append(asked(model, tiny.LONG, source="大雨"))
    parts = [warmed(model).body, *([model.module.get_encoder()] if model.encoder else [])]
    with spied(*parts) as calls:
        score_all(model, requests)
    assert calls
    for call in calls:
        rows, width = call["input_ids"].shape
        if "encoder_hidden_states" in call:  # every row of a decoder also attends to its source
            width += call["encoder_hidden_states"].shape[1]
        assert rows == 1 or rows * width <= budget, (rows, width)


@pytest.mark.parametrize("name", ALL)
def test_trap_11_no_special_token_is_ever_scored(name, tiny_models, score_all):
    """Only pad, cls and sep were left out; others, and literal ones in a text, were scored."""
    model = tiny_models.model(name)
    tokenizer = model.tokenizer
    special = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    special -= {tokenizer.eos_token_id} if model.encoder else set()  # scored by design
    words = " ".join(t for t in tokenizer.all_special_tokens if t != tokenizer.unk_token)
    records = score_all(
        model, [asked(model, f"The box {words} was in the pen."), asked(model, words + " Box is")]
    )
    for record in records:
        assert len(record.logprobs)
        assert not special & set(record.token_ids.tolist())
    if model.encoder:
        end = tokenizer.eos_token_id
        assert [r.token_ids.tolist().count(end) for r in records] == [1, 1]
        assert [r.token_ids.tolist()[-1] for r in records] == [end, end]


@pytest.mark.parametrize("name", ["gpt2", "bert"])
def test_trap_11_special_tokens_beyond_the_named_roles(name, tiny_models, score_all):
    """Chat and reserved tokens are special in the vocabulary, without being one of the roles."""
    module, tokenizer = tiny_models.pair(name)
    more = copy.deepcopy(tokenizer)
    more.add_tokens([AddedToken("<|reserved_0|>", special=True)], special_tokens=True)
    wider = copy.deepcopy(module)
    wider.resize_token_embeddings(len(more), mean_resizing=False)
    model = resolve_model((wider, more))
    (record,) = score_all(model, [Request(text="The box <|reserved_0|> was in the pen.")])
    assert more.convert_tokens_to_ids("<|reserved_0|>") not in record.token_ids.tolist()


@pytest.mark.parametrize("name", ["bert", "roberta", "xlnet"])
def test_trap_12_the_target_is_hidden(name, tiny_models):
    """XLNet saw its target where ``perm_mask`` left the column open to other queries.

    If a model cannot see the token it is asked for, the probabilities of all tokens that could
    stand there sum to one; if it can, they do not.
    """
    model = tiny_models.model(name)

    def mass(pll: str) -> float:
        resolved_policy = model.resolve_policy(ScoringPolicy(pll=pll))
        (encoded,) = model.encode([Request(text=CAT)], resolved_policy)
        place = encoded.scored[2]
        variants = [
            Encoded(
                ids=(*encoded.ids[:place], token, *encoded.ids[place + 1 :]),
                scored=(place,),
                words=encoded.words,
            )
            for token in range(len(model.tokenizer))
        ]
        return math.fsum(math.exp(v[0]) for v in run(model, variants, resolved_policy))

    assert mass("original") == pytest.approx(1, abs=1e-4)
    assert mass("within_word_l2r") == pytest.approx(1, abs=1e-4)
    if model.kind == "masked":
        assert mass("unmasked") != pytest.approx(1, abs=1e-2)


# --- Sequence-to-sequence models

STARTS = {
    "marian": ["<pad>"],
    "nllb": ["</s>", "eng_Latn"],
    "mbart": ["en_XX"],
    "t5": ["<pad>"],
}


@pytest.mark.parametrize("name", tiny.SEQ2SEQ)
def test_trap_13_decoder_start_language_and_eos_are_explicit(name, tiny_models, score_all):
    """The decoder began with the wrong token, or the language token was scored as a word."""
    model = tiny_models.model(name)
    vocabulary = model.tokenizer.get_vocab()
    start = [vocabulary[t] for t in STARTS[name]]
    with spied(warmed(model).body) as calls:
        (with_eos,) = score_all(model, [asked(model, CAT)])
    assert len(calls) == 1
    assert calls[0]["input_ids"][0, : len(start)].tolist() == start
    (without,) = score_all(model, [asked(model, CAT)], eos="never")
    assert with_eos.token_ids.tolist() == [*without.token_ids.tolist(), vocabulary["</s>"]]
    assert not set(start) & set(without.token_ids.tolist())


def test_trap_13_targets_are_tokenised_as_targets(tiny_models, score_all):
    """English targets cut by the Chinese model of the source side are unknown tokens."""
    model = tiny_models.model("marian")
    (record,) = score_all(model, [asked(model, CAT)])
    assert record.unknown == 0
    assert model.tokenizer(CAT)["input_ids"].count(model.tokenizer.unk_token_id) > 0


@pytest.mark.parametrize(("name", "code"), [("nllb", "eng_Latn"), ("mbart", "en_XX")])
def test_trap_13_a_plain_piece_is_no_language_code(name, code, tiny_models):
    """The vocabularies of NLLB and mBART also hold the plain piece ``en``."""
    from boxpen.text.languages import language_code

    _, tokenizer = tiny_models.pair(name)
    assert "en" in tokenizer.get_vocab()
    assert language_code(tokenizer, "en", name) == code


def test_trap_13_languages_must_be_known(tiny_models):
    model = tiny_models.model("nllb")
    with pytest.raises(ModelError, match="needs to know the languages"):
        tokens(model, [Request(text=CAT, source="大雨")])
    with pytest.raises(ModelError, match="does not know the language 'vi'"):
        tokens(model, [Request(text=CAT, source="大雨", languages=("vi", "en"))])
    with pytest.raises(ModelError, match="without a source"):
        tokens(tiny_models.model("marian"), [Request(text=CAT)])


@pytest.mark.parametrize("name", ALL)
def test_trap_14_an_empty_text_fails_loudly(name, tiny_models, score_all):
    """An empty candidate got the best possible score: a sum over nothing is 0."""
    model = tiny_models.model(name)
    (record,) = score_all(model, [asked(model, "")])
    with pytest.raises(ScoringError):
        score(record, "", "sum")


def two_candidates() -> Suite:
    return Suite(
        "two",
        (Choice(id="1", candidates=(CAT, "The pen was in the box."), gold=0),),
        Card(language="en"),
    )


def test_trap_14_not_a_number_fails_loudly_and_is_not_kept(tiny_models, tmp_path):
    """A NaN compares false with everything, so the first candidate won; and it was cached."""
    module, tokenizer = tiny_models.pair("gpt2")
    broken = copy.deepcopy(module)
    with torch.no_grad():
        broken.transformer.ln_f.weight[0] = math.nan
    cache = tmp_path / "scores.sqlite"
    with pytest.raises(ScoringError, match="NaN"):
        evaluate((broken, tokenizer), two_candidates(), cache=cache)
    import sqlite3

    with contextlib.closing(sqlite3.connect(cache)) as database:
        kept = [np.frombuffer(b, "<f4") for (b,) in database.execute("SELECT logprobs FROM scores")]
    assert all(np.isfinite(values).all() for values in kept)


@pytest.mark.parametrize("name", ALL)
def test_trap_18_larger_is_more_likely(name, tiny_models, score_all):
    """Losses were taken for scores. Log-probabilities are never positive, and the likelier wins."""
    model = resolve_model(tiny_models.pair(name))
    candidates = (CAT, "Who did this?")
    records = score_all(model, [asked(model, c) for c in candidates], bos="auto")
    assert all((r.logprobs <= 0).all() for r in records)
    totals = [r.total for r in records]
    item = Choice(
        id="1",
        candidates=candidates,
        gold=totals.index(max(totals)),
        source="箱子在围栏里。" if model.encoder else None,
    )
    suite = Suite("one", (item,), Card(language="en", source_language="zh"))
    run = evaluate(model, suite, cache=None, translate=False)
    assert run.verdicts[0].winner == item.gold
    assert run.verdicts[0].credit == 1
    assert run.verdicts[0].margin > 0


# --- Cache keys and fingerprints


def test_trap_24_every_part_of_the_request_is_in_the_key():
    """A cache without the model, its dtype or its tokenizer served another model's scores."""
    settings = {"bos": True, "max_length": 8}
    parts = ("text", "prefix", "source", ("zh", "en"))
    base = cache_key("f", settings, parts)
    assert base == cache_key("f", dict(reversed(settings.items())), parts)
    others = [
        cache_key("g", settings, parts),
        cache_key("f", settings | {"bos": False}, parts),
        cache_key("f", settings | {"pll": "original"}, parts),
        cache_key("f", settings | {"max_length": 9}, parts),
        cache_key("f", {"max_length": 8}, parts),
        cache_key("f", settings, ("text ", "prefix", "source", ("zh", "en"))),
        cache_key("f", settings, ("text", "", "source", ("zh", "en"))),
        cache_key("f", settings, ("prefixtext", "", "source", ("zh", "en"))),
        cache_key("f", settings, ("text", "prefix", None, ("zh", "en"))),
        cache_key("f", settings, ("text", "prefix", "", ("zh", "en"))),
        cache_key("f", settings, ("text", "prefix", "source", ("zh", "fr"))),
        cache_key("f", settings, ("text", "prefix", "source", (None, "en"))),
    ]
    assert len({base, *others}) == len(others) + 1


def forwards(model, cache, **policy) -> int:
    with spied(model.body) as calls:
        evaluate(model, two_candidates(), cache=cache, **policy)
    return len(calls)


def test_trap_24_only_what_is_the_same_is_served(tiny_models):
    module, tokenizer = tiny_models.pair("gpt2")
    with ScoreCache(":memory:") as cache:
        model = resolve_model((module, tokenizer))
        assert forwards(model, cache) > 0
        assert forwards(model, cache) == 0
        assert forwards(resolve_model((module, tokenizer)), cache) == 0
        assert forwards(model, cache, norm="token", ties="strict") == 0  # derived, not scored
        assert forwards(model, cache, bos="never") > 0
        assert forwards(model, cache, eos="always") > 0
        assert forwards(model, cache, max_length=5) > 0
        half = copy.deepcopy(module).to(torch.bfloat16)
        assert forwards(resolve_model((half, tokenizer)), cache) > 0
    with ScoreCache(":memory:") as cache:
        model = tiny_models.model("bert")
        for pll in ("original", "within_word_l2r", "unmasked"):
            assert forwards(model, cache, pll=pll) > 0
            assert forwards(model, cache, pll=pll) == 0


@pytest.mark.parametrize("name", ["gpt2", "marian"])
def test_trap_24_a_pair_is_known_by_its_content(name, tiny_models):
    module, tokenizer = tiny_models.pair(name)
    base = resolve_model((module, tokenizer)).fingerprint
    assert resolve_model((copy.deepcopy(module), tokenizer)).fingerprint == base
    seen = {base}
    changed = copy.deepcopy(module)
    with torch.no_grad():
        next(changed.parameters()).view(-1)[0] += 1e-3
    seen.add(resolve_model((changed, tokenizer)).fingerprint)
    seen.add(resolve_model((copy.deepcopy(module).to(torch.bfloat16), tokenizer)).fingerprint)
    if name == "gpt2":
        seen.add(resolve_model((module, swapped(tokenizer))).fingerprint)
        other = copy.deepcopy(tokenizer)
        other.bos_token = "The"
        seen.add(resolve_model((module, other)).fingerprint)
        assert len(seen) == 5
    else:
        other = copy.copy(tokenizer)
        other.encoder = dict(zip(tokenizer.encoder, range(len(tokenizer)), strict=True))
        pieces = list(other.encoder)
        other.encoder[pieces[20]], other.encoder[pieces[21]] = 21, 20
        seen.add(resolve_model((module, other)).fingerprint)
        assert len(seen) == 4


def swapped(tokenizer):
    """The same tokenizer with the ids of two entries exchanged."""
    vocabulary = dict(tokenizer.get_vocab())
    vocabulary["a"], vocabulary["b"] = vocabulary["b"], vocabulary["a"]
    return transformers.GPT2Tokenizer(vocab=vocabulary, merges=[])


@pytest.mark.parametrize("name", ["nllb", "gpt2", "marian"])
def test_trap_24_using_a_tokenizer_does_not_make_it_another(name, tiny_models, score_all):
    """Languages and padding are state of a tokenizer, and no part of what the model is."""
    module, tokenizer = tiny_models.pair(name)
    used = copy.deepcopy(tokenizer)
    model = resolve_model((module, used))
    score_all(model, [asked(model, CAT)])
    if model.encoder and name == "nllb":
        score_all(model, [asked(model, "大雨", source=CAT, languages=("en", "zh"))])
    if name == "gpt2":
        used.pad_token = used.eos_token
        before = resolve_model((module, used)).fingerprint
        used(["a", "b c d"], padding=True, truncation=True, max_length=3)
        assert resolve_model((module, used)).fingerprint == before
    else:
        assert resolve_model((module, used)).fingerprint == model.fingerprint


@pytest.mark.parametrize("what", ["weight", "tokenizer", "dtype", "config", "card"])
def test_trap_24_a_folder_is_known_by_its_content(what, tiny_models, tmp_path):
    import shutil

    folder = tmp_path / "copy"
    shutil.copytree(tiny_models.folder("gpt2"), folder)
    base = resolve_model(f"hf:{tiny_models.folder('gpt2')}", device="cpu").fingerprint
    assert resolve_model(f"hf:{folder}", device="cpu").fingerprint == base
    dtype = "auto"
    if what == "weight":
        module = copy.deepcopy(tiny_models.pair("gpt2")[0])
        with torch.no_grad():
            module.transformer.h[1].mlp.c_fc.bias[3] += 1e-3
        module.save_pretrained(folder)
    elif what == "tokenizer":
        path = folder / "tokenizer.json"
        text = path.read_text("utf-8")
        path.write_text(text.replace('"!": 1', '"!": 2').replace('"\\"": 2', '"\\"": 1'), "utf-8")
        assert path.read_text("utf-8") != text
    elif what == "config":
        path = folder / "config.json"
        path.write_text(path.read_text("utf-8").replace("gelu_new", "relu"), "utf-8")
    elif what == "dtype":
        dtype = "bfloat16"
    else:
        for file in ("README.md", ".gitattributes"):  # no part of the model
            (folder / file).write_text("A card.", "utf-8")
    changed = resolve_model(f"hf:{folder}", device="cpu", dtype=dtype).fingerprint
    assert (changed == base) is (what == "card")


@pytest.mark.parametrize("value", [0, -1])
@pytest.mark.parametrize("field", ["batch_size", "token_budget"])
def test_trap_25_zero_is_not_unset(field, value, tiny_models):
    """A zero that means "not given": a batch size of 0 is a mistake, not a batch without end."""
    from boxpen import BoxpenError

    with pytest.raises(BoxpenError, match=r"batch|budget"):
        tiny_models.model("gpt2", **{field: value})
