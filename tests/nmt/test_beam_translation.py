"""Beam search against a search of everything there is, and streams against single lines."""

import copy
import functools
import itertools
import math

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from boxpen.errors import ModelError, NmtError  # noqa: E402
from boxpen.nmt.translate import force_score, translate_lines  # noqa: E402

EOS, UNK, PAD = 0, 1, 2
LETTERS = "abc"  # tokens 3, 4, 5


class Letters:
    """A tokenizer whose tokens are single letters."""

    pad_token_id, eos_token_id, unk_token_id = PAD, EOS, UNK

    def __init__(self, letters=LETTERS, longest=4):
        self.letters = letters
        self.model_max_length = longest

    def __call__(self, texts=None, *, text_target=None, verbose=True):
        assert not verbose
        assert "" not in (texts or [])  # of sources: they cost nothing
        rows = [
            [3 + self.letters.index(c) if c in self.letters else UNK for c in text.strip()] + [EOS]
            for text in (texts if text_target is None else text_target)
        ]
        return {"input_ids": rows}

    def batch_decode(self, rows, skip_special_tokens):
        assert skip_special_tokens
        return ["".join(self.letters[i - 3] for i in row if i >= 3) for row in rows]


def spread(model, seed):
    """Redraw all weights widely, so that models differ and beams have something to choose."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.requires_grad and "norm" not in name:
                weight.normal_(0, 0.5)
    return model.eval()


def marian(seed=0, letters=LETTERS, longest=4):
    torch.manual_seed(seed)
    config = transformers.MarianConfig(
        vocab_size=3 + len(letters),
        d_model=16,
        encoder_layers=1,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        max_position_embeddings=longest,
        pad_token_id=PAD,
        eos_token_id=EOS,
        decoder_start_token_id=PAD,
        forced_eos_token_id=EOS,  # as the checkpoints of OPUS-MT have it
    )
    model = spread(transformers.MarianMTModel(config), seed)
    model.generation_config.forced_eos_token_id = EOS
    model.generation_config.bad_words_ids = [[PAD]]
    model.generation_config.renormalize_logits = True
    return model


def rnnsearch(seed=0, letters=LETTERS, longest=4):
    module = pytest.importorskip("boxpen.nmt.architectures.rnnsearch")
    torch.manual_seed(seed)
    config = module.RNNSearchConfig(
        vocab_size=3 + len(letters),
        hidden_size=16,
        num_hidden_layers=2,
        pad_token_id=PAD,
        eos_token_id=EOS,
        decoder_start_token_id=PAD,
    )
    return spread(module.RNNSearchForConditionalGeneration(config), seed)


MODELS = pytest.mark.parametrize("make", [marian, rnnsearch])


WORDS = ["abc", "hg", "defa", "ceg", "bdfh", "a", "gfedc"]


def trained(make, steps=150):
    """A model that has learnt to write some words backwards, its tokenizer and the words."""
    return copy.deepcopy(_trained(make, steps)), Letters("abcdefgh", 32), WORDS


@functools.cache
def _trained(make, steps):
    model = make(5, "abcdefgh", 32)
    torch.manual_seed(5)
    for weight in model.parameters():
        if weight.requires_grad and weight.dim() > 1:
            torch.nn.init.xavier_uniform_(weight)
    tokenizer = Letters("abcdefgh", 32)
    sources, targets = (
        tokenizer(words, verbose=False)["input_ids"] for words in (WORDS, [w[::-1] for w in WORDS])
    )
    ids, labels = (
        torch.tensor([row + [fill] * (6 - len(row)) for row in rows])
        for rows, fill in ((sources, PAD), (targets, -100))
    )
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    for _ in range(steps):  # without dropout: the model is in its mode of evaluation
        loss = model(input_ids=ids, attention_mask=(ids != PAD).long(), labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


def log_p(model, source, target):
    """Σ log p of tokens, one step after the other."""
    ids = torch.tensor([source])
    total = 0.0
    for i, token in enumerate(target):
        read = torch.tensor([[PAD, *target[:i]]])
        with torch.no_grad():
            logits = model(
                input_ids=ids, attention_mask=torch.ones_like(ids), decoder_input_ids=read
            ).logits[0, -1]
        total += logits.double().log_softmax(-1)[token].item()
    return total


def everything(model, source, longest, penalty):
    """All that can be produced with its score, the best first; padding never is."""
    tokens = [UNK, 3, 4, 5]
    ended = [(*body, EOS) for n in range(longest) for body in itertools.product(tokens, repeat=n)]
    cut_off = list(itertools.product(tokens, repeat=longest))
    scored = [(log_p(model, source, t) / len(t) ** penalty, t) for t in ended + cut_off]
    return sorted(scored, reverse=True)


@MODELS
@pytest.mark.parametrize("penalty", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_beam_as_wide_as_the_space_finds_the_best_there_is(make, seed, penalty):
    model, longest = make(seed), 3
    tokenizer = Letters(longest=longest)
    (made,) = translate_lines(
        model, tokenizer, ["ab"], beam=110, n_best=20, length_penalty=penalty, scores=True
    )
    expected = everything(model, [3, 4, EOS], longest, penalty)
    assert len(expected) == 1 + 4 + 16 + 64
    for found, (score, tokens) in zip(made.hypotheses, expected, strict=False):
        assert found.tokens == tokens
        assert found.score == pytest.approx(score, abs=1e-4)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_same_for_sequences_of_four(seed):
    model = marian(seed)
    (made,) = translate_lines(model, Letters(), ["cab"], beam=420, n_best=5, scores=True)
    expected = everything(model, [5, 3, 4, EOS], 4, 1.0)[:5]
    assert [h.tokens for h in made.hypotheses] == [t for _, t in expected]


@MODELS
@pytest.mark.parametrize("beam", [1, 2, 5])
@pytest.mark.parametrize("penalty", [0.0, 1.0])
@pytest.mark.parametrize("learnt", [False, True])
def test_scores_are_those_of_forced_decoding(make, beam, penalty, learnt):
    """The length counts all that was produced, EOS included; also where the limit cut it off."""
    if learnt:
        model, tokenizer, words = trained(make)
    else:
        model, tokenizer, words = make(7), Letters(), ["a", "abc", "bb", "cab"]
    made = list(
        translate_lines(
            model, tokenizer, words, beam=beam, n_best=beam, length_penalty=penalty, scores=True
        )
    )
    for word, translation in zip(words, made, strict=True):
        source = tokenizer([word], verbose=False)["input_ids"][0]
        scores = [h.score for h in translation.hypotheses]
        assert scores == sorted(scores, reverse=True)
        assert len(scores) == beam
        for h in translation.hypotheses:
            assert PAD not in h.tokens
            expected = log_p(model, source, h.tokens) / len(h.tokens) ** penalty
            assert h.score == pytest.approx(expected, abs=1e-4)
    if learnt:
        assert [t.text for t in made] == [w[::-1] for w in words]
        assert all(t.hypotheses[0].tokens[-1] == EOS for t in made)
        sums = force_score(model, tokenizer, words, [t.text for t in made])
        for t, total in zip(made, sums, strict=True):
            n = len(t.hypotheses[0].tokens) ** penalty
            assert t.score == pytest.approx(total / n, abs=1e-4)


@MODELS
def test_forced_scores_are_the_same_in_any_batch(make):
    model, tokenizer, words = trained(make, steps=2)
    targets = [w[1:] + "ab" for w in words]
    expected = [
        log_p(model, *tokenizer([w, t], verbose=False)["input_ids"])
        for w, t in zip(words, targets, strict=True)
    ]
    for tokens in (1, 12, 8192):
        found = force_score(model, tokenizer, words, targets, tokens=tokens)
        assert found == pytest.approx(expected, abs=1e-4)
    assert force_score(model, tokenizer, [], []) == []


@MODELS
def test_a_stream_comes_back_in_its_order_for_any_batch_and_window(make):
    model, tokenizer, words = trained(make)
    lines = [*words, "", "  ", *reversed(words), "\t", "gg", "abcdefgh"]
    expected = [next(iter(translate_lines(model, tokenizer, [x]))).text for x in lines]
    assert expected[0] == "cba"
    assert expected[len(words)] == ""
    for tokens, window in ((1, 100), (60, 3), (60, 1), (8192, 5)):
        made = translate_lines(model, tokenizer, iter(lines), tokens=tokens, window=window)
        assert [t.text for t in made] == expected


def test_a_stream_is_read_a_window_at_a_time():
    read = []

    def lines():
        for i in itertools.count():
            read.append(i)
            yield "ab"

    made = translate_lines(marian(), Letters(), lines(), window=10)
    next(made)
    assert len(read) == 10


def test_empty_lines_do_not_reach_the_model(monkeypatch):
    model = marian()
    monkeypatch.setattr(model, "generate", None)
    made = list(translate_lines(model, Letters(), ["", " \n"], scores=True))
    assert [(t.text, t.score, t.cut) for t in made] == [("", 0.0, False)] * 2


def test_a_line_that_is_too_long_is_cut_and_says_so():
    model, tokenizer = marian(), Letters(longest=1000)
    made = list(translate_lines(model, tokenizer, ["abc", "abcabc", "a"]))
    assert [t.cut for t in made] == [False, True, False]
    assert made[1].hypotheses[0].tokens == made[0].hypotheses[0].tokens  # 'abc' and EOS are left


def test_memory_that_runs_out_halves_the_batch(monkeypatch):
    model, tokenizer, words = trained(marian)
    expected = [t.text for t in translate_lines(model, tokenizer, words)]
    sizes = []
    generate = model.generate

    def small(input_ids, **options):
        sizes.append(len(input_ids))
        if len(input_ids) > 2:
            raise torch.OutOfMemoryError("out of memory")
        return generate(input_ids=input_ids, **options)

    monkeypatch.setattr(model, "generate", small)
    assert [t.text for t in translate_lines(model, tokenizer, words)] == expected
    assert sizes[0] == len(words)
    assert max(sizes[-2:]) <= 2

    def never(**options):
        raise torch.OutOfMemoryError("out of memory")

    monkeypatch.setattr(model, "generate", never)
    with pytest.raises(ModelError, match="does not fit in memory"):
        list(translate_lines(model, tokenizer, words))


def test_a_model_in_training_goes_on_training_and_translates_without_dropout():
    model, tokenizer, words = trained(marian)
    expected = [t.score for t in translate_lines(model, tokenizer, words, scores=True)]
    model.train()
    made = [t.score for t in translate_lines(model, tokenizer, words, scores=True)]
    assert made == pytest.approx(expected, abs=1e-6)
    assert model.training


def test_translations_end_at_the_ratio():
    model, tokenizer = marian(letters="ab", longest=64), Letters("ab", 64)
    with torch.no_grad():
        model.final_logits_bias[0, EOS] = -100  # it never ends by itself
    for ratio, expected in ((1.0, 3 + 10), (2.5, 7 + 10), (99, 64)):
        for beam in (1, 3):
            (made,) = translate_lines(model, tokenizer, ["ab"], max_ratio=ratio, beam=beam)
            assert len(made.hypotheses[0].tokens) == expected


def test_half_precision_is_had_by_asking():
    model, tokenizer, words = trained(marian)
    made = list(translate_lines(model, tokenizer, words, dtype=torch.bfloat16, device="cpu"))
    assert model.dtype == torch.bfloat16
    assert [t.text for t in made] == [w[::-1] for w in words]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"beam": 0}, "beam = 0, expected at least 1"),
        ({"tokens": 0}, "tokens = 0, expected at least 1"),
        ({"window": -1}, "window = -1, expected at least 1"),
        ({"beam": 2, "n_best": 3}, "n_best = 3, expected 1 to 2, the beam"),
        ({"max_ratio": math.nan}, "max_ratio = nan, expected above 0"),
    ],
)
def test_what_makes_no_sense_is_refused_at_once(options, said):
    with pytest.raises(NmtError, match=said):
        translate_lines(None, None, [], **options)


def test_a_tokenizer_that_pads_with_eos_is_refused():
    tokenizer = Letters()
    tokenizer.pad_token_id = EOS
    with pytest.raises(NmtError, match="pads with token 0 and ends sentences with 0"):
        translate_lines(marian(), tokenizer, ["a"])


def test_pairs_that_cannot_be_scored_are_refused():
    with pytest.raises(NmtError, match="2 sources for 1 targets"):
        force_score(marian(), Letters(), ["a", "b"], ["a"])
    with pytest.raises(NmtError, match="pair 1 has 6 tokens, more than the 4"):
        force_score(marian(), Letters(), ["a", "b"], ["a", "abcab"])
