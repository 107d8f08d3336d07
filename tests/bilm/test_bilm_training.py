"""New models, batches, folders; and a toy grammar that is learnt."""

from __future__ import annotations

import json
import math
import random

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from boxpen.errors import ModelError  # noqa: E402
from boxpen.lm.bilm.characters import BEGIN, END, spelling, spelt, words_of  # noqa: E402
from boxpen.lm.bilm.training import batch_of, load, new_model, save  # noqa: E402

INPUTS = ["characters", "pieces"]
TEXTS = [
    "Some porter put a letter into the drawer.",
    "Some porter put a piano into the drawer.",
    "The owner of the shop didn't sell 1,000 lanterns.",
    "It's the twelve-year-old boy's toy box, Mr. Brown.",
    "The owner of the toy box didn't sell it.",
]


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


def made(kind, texts=TEXTS, vocabulary=300, seed=1):
    return new_model(texts, size="tiny", vocabulary=vocabulary, seed=seed, input=kind)


@pytest.mark.parametrize("kind", INPUTS)
def test_the_seed_decides_and_nothing_else(kind):
    torch.manual_seed(5)
    first, tokenizer = made(kind)
    drawn = torch.rand(3)
    torch.manual_seed(5)
    assert torch.equal(torch.rand(3), drawn)  # the global generator is left as it was
    second, other = made(kind, texts=(t for t in reversed(TEXTS)))  # read once, in any order
    assert tokenizer.get_vocab() == other.get_vocab()
    for name, weight in first.state_dict().items():
        assert torch.equal(weight, second.state_dict()[name]), name
    third, _ = made(kind, seed=0)
    assert not torch.equal(first.lm_head.weight, third.lm_head.weight)


def test_words_are_cut_as_in_the_corpus_of_elmo():
    _, tokenizer = made("characters", texts=TEXTS * 2)
    cut = tokenizer.tokenize
    assert cut("The owner of the shop didn't sell 1,000 lanterns.") == [
        "The", "owner", "of", "the", "shop", "didn", "'t", "sell", "1,000", "lanterns", ".",
    ]  # fmt: skip
    assert cut(TEXTS[3]) == [
        "It", "'s", "the", "twelve-year-old", "boy", "'s", "toy", "box", ",", "Mr.", "Brown", ".",
    ]  # fmt: skip
    assert cut("the zebra") == ["the", "<UNK>"]


def test_words_seen_once_are_unknown_and_the_vocabulary_has_a_bound():
    _, tokenizer = made("characters")
    known = tokenizer.get_vocab()
    assert {"</S>", "<S>", "<UNK>", "the", "box", "sell", "."} <= known.keys()
    assert "piano" not in known
    _, small = made("characters", vocabulary=5)
    assert sorted(small.get_vocab().values()) == [0, 1, 2, 3, 4]
    _, once = made("characters", texts=["every word once"])  # then all of them are taken
    assert {"every", "word", "once"} <= once.get_vocab().keys()


def test_no_word_is_unknown_to_pieces():
    model, tokenizer = made("pieces")
    assert tokenizer.unk_token_id is None
    ids = tokenizer("zebra Ωμέγα")["input_ids"]
    assert tokenizer.decode(ids).strip() == "zebra Ωμέγα"
    assert len(tokenizer) == model.config.vocab_size <= 300


@pytest.mark.parametrize("kind", INPUTS)
def test_a_batch_has_every_token_between_begin_and_end(kind):
    model, tokenizer = made(kind)
    batch = batch_of(tokenizer, [*TEXTS[:2], ""])
    lengths = [len(tokenizer(t)["input_ids"]) for t in TEXTS[:2]] + [0]
    assert batch["attention_mask"].sum(1).tolist() == [n + 2 for n in lengths]
    assert (batch["labels"] != -100).sum(1).tolist() == [n + 1 for n in lengths]
    found = model(**batch)
    assert int(found.tokens) == sum(lengths) + 3
    # The mean a token, whatever the batch.
    alone = [model.eval()(**batch_of(tokenizer, [t])) for t in [*TEXTS[:2], ""]]
    total = sum(float(a.loss.detach()) * int(a.tokens) for a in alone)
    assert float(model(**batch).loss.detach()) == pytest.approx(total / int(found.tokens), abs=1e-5)


def test_what_is_read_of_a_word_are_its_letters():
    _, tokenizer = made("characters", texts=TEXTS * 2)
    batch = batch_of(tokenizer, ["the box", "zebra"])
    read = batch["input_ids"]
    assert read.shape == (2, 4, 50)
    assert read[0, 0, :5].tolist() == [258, 256, 259, 260, 260]
    assert read[0, 2, :6].tolist() == [258, *b"box", 259, 260]
    assert read[1, 1, :8].tolist() == [258, *b"zebra", 259, 260]  # though it is unknown
    assert batch["labels"][1].tolist() == [-100, tokenizer.unk_token_id, 0, -100]


def test_spellings():
    assert spelling("é", 50) == (258, 0xC3, 0xA9, 259)
    assert spelling("incomprehensible", 6) == (258, *b"inco", 259)
    assert list(words_of([*BEGIN, *spelling("a", 50), *END])) == [BEGIN, (258, 97, 259), END]
    assert spelt([[BEGIN], []], 4).tolist() == [[[258, 256, 259, 260]], [[260] * 4]]


@pytest.mark.parametrize("kind", INPUTS)
def test_long_texts_are_cut_to_what_the_tokenizer_says(kind):
    model, tokenizer = made(kind)
    batch = batch_of(tokenizer, ["box " * 2000])
    assert batch["attention_mask"].shape == (1, 512)
    assert batch["input_ids"].shape[:2] == (1, 512)
    assert batch["labels"][0, -1] == tokenizer.eos_token_id
    assert int(model(**batch).tokens) == 511


@pytest.mark.parametrize("kind", INPUTS)
def test_what_is_saved_is_loaded(kind, tmp_path):
    model, tokenizer = made(kind)
    save(tmp_path / "new" / "model", model, tokenizer)
    other, again = load(tmp_path / "new" / "model")
    first, second = batch_of(tokenizer, TEXTS), batch_of(again, TEXTS)
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)
    torch.testing.assert_close(model.eval()(**first).loss, other(**second).loss)
    assert not list((tmp_path / "new" / "model").glob(".*"))
    save(tmp_path / "new" / "model", other, again)  # in the place of itself


def test_a_grammar_is_learnt_in_both_directions():
    """Each sentence: a number, nouns, a verb that agrees with the number, and the number again.

    The forward model can know the verb and the end from the beginning, the backward model the
    other way round; what neither can know is drawn. The loss must reach what is left to chance.
    """
    dice = random.Random(1)
    nouns = ["box", "pen", "key", "van"]

    def sentence():
        number, verb = dice.choice([("one", "is"), ("two", "are")])
        return f"{number} {dice.choice(nouns)} {dice.choice(nouns)} {verb} here {number}"

    model, tokenizer = made("characters", texts=[sentence() for _ in range(200)], vocabulary=50)
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    model.train()
    for _ in range(150):
        optimizer.zero_grad()
        model(**batch_of(tokenizer, [sentence() for _ in range(32)])).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
    model.eval()
    tests = ["one box pen is here one", "two key key are here two"]
    wrong = ["one box pen are here one", "two key key are here one"]
    with torch.no_grad():
        held_out = model(**batch_of(tokenizer, [sentence() for _ in range(200)]))
        right = model(**batch_of(tokenizer, tests), output_log_probabilities=True)
        bad = model(**batch_of(tokenizer, wrong), output_log_probabilities=True)
    # Of seven tokens, drawn are the number (of two) and two nouns (of four).
    least = (math.log(2) + 2 * math.log(4)) / 7
    assert least - 0.05 < float(held_out.loss) < least + 0.1
    for name in ("forward_log_probabilities", "backward_log_probabilities"):
        assert right[name][0, 4] > -0.2  # the verb
        assert bad[name][0, 4] < -2
    assert right.forward_log_probabilities[1, 6] > -0.2  # the number again: from the past only
    assert bad.forward_log_probabilities[1, 6] < -2


def test_the_trainer_of_transformers_takes_it(tmp_path):
    """Gradients summed over small batches are those of the large one: the loss is by token."""

    def trained(size, steps):
        model, tokenizer = made("characters")
        model.config.dropout = 0.0
        for module in model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        trainer = transformers.Trainer(
            model=model,
            args=transformers.TrainingArguments(
                output_dir=str(tmp_path / f"{size}"), per_device_train_batch_size=size,
                gradient_accumulation_steps=steps, max_steps=2, learning_rate=1e-2, use_cpu=True,
                remove_unused_columns=False, report_to=[], save_strategy="no",
                disable_tqdm=True, per_device_eval_batch_size=2, prediction_loss_only=True,
                lr_scheduler_type="constant", optim="sgd", logging_steps=1, max_grad_norm=0,
            ),
            train_dataset=TEXTS[:4], eval_dataset=TEXTS[4:],
            data_collator=lambda texts: batch_of(tokenizer, texts),
        )  # fmt: skip
        trainer.train()
        assert math.isfinite(trainer.evaluate()["eval_loss"])
        return model.state_dict()

    few, many = trained(1, 4), trained(4, 1)
    start = made("characters")[0].state_dict()
    for name, weight in many.items():
        torch.testing.assert_close(few[name], weight, rtol=1e-4, atol=1e-6)
    assert not torch.equal(start["lm_head.bias"], many["lm_head.bias"])


def test_bad_input(tmp_path):
    with pytest.raises(ModelError, match="no size 'huge' of a bidirectional model, known: tiny"):
        new_model(TEXTS, size="huge", vocabulary=50, seed=1)
    with pytest.raises(ModelError, match="cannot read 'words', expected characters or pieces"):
        made("words")
    with pytest.raises(ModelError, match="a vocabulary of 3 has no room for words"):
        made("characters", vocabulary=3)
    with pytest.raises(ModelError, match="the texts have no words"):
        made("characters", texts=["", "  "])
    with pytest.raises(ModelError, match="room for more than 258 pieces"):
        made("pieces", texts=["  "])
    _, tokenizer = made("characters")
    with pytest.raises(ModelError, match="a batch needs at least one text"):
        batch_of(tokenizer, [])


def test_folders_that_cannot_be_loaded(tmp_path):
    with pytest.raises(ModelError, match="there is no folder"):
        load(tmp_path / "none")
    with pytest.raises(ModelError, match=r"has no config\.json"):
        load(tmp_path)
    model, tokenizer = made("characters")
    save(tmp_path / "whole", model, tokenizer)
    config = json.loads((tmp_path / "whole" / "config.json").read_text())
    (tmp_path / "whole" / "config.json").write_text(json.dumps(config | {"highways": 2}))
    with pytest.raises(ModelError, match="the checkpoint lacks 4 weights"):
        load(tmp_path / "whole")
    (tmp_path / "whole" / "config.json").write_text(json.dumps(config | {"input": "bytes"}))
    with pytest.raises(ModelError, match="cannot read 'bytes'"):
        load(tmp_path / "whole")
    (tmp_path / "whole" / "config.json").write_text(json.dumps(config))
    _, pieces = made("pieces")
    pieces.save_pretrained(tmp_path / "whole")
    with pytest.raises(ModelError, match="they do not belong together"):
        load(tmp_path / "whole")
    _, other = made("characters", texts=TEXTS[:2] * 2)  # fewer words, of another corpus
    other.save_pretrained(tmp_path / "whole")
    with pytest.raises(ModelError, match=r"has \d+ tokens, its softmax \d+: they do not belong"):
        load(tmp_path / "whole")
    tokenizer.save_pretrained(tmp_path / "whole")
    (tmp_path / "whole" / "config.json").write_text(json.dumps(config | {"bos_token_id": 2}))
    with pytest.raises(
        ModelError, match=r"the bos token of .* is 2, that of its tokenizer 1: they"
    ):
        load(tmp_path / "whole")
    gpt2 = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(n_layer=1, n_head=1, n_embd=4, vocab_size=300)
    )
    gpt2.save_pretrained(tmp_path / "gpt2")
    pieces.save_pretrained(tmp_path / "gpt2")
    with pytest.raises(ModelError, match="is a causal model, expected a bidirectional one"):
        load(tmp_path / "gpt2")


def test_a_folder_that_cannot_be_written(tmp_path):
    model, tokenizer = made("characters")
    (tmp_path / "file").write_text("here")
    with pytest.raises(ModelError, match=r"the model cannot be written to .*file"):
        save(tmp_path / "file", model, tokenizer)
    save(tmp_path / "model", model, tokenizer)
    before = (tmp_path / "model" / "model.safetensors").read_bytes()
    broken, _ = made("characters", seed=2)
    with pytest.raises(ModelError, match="no space"):
        save(tmp_path / "model", broken, _Refusing())
    assert (tmp_path / "model" / "model.safetensors").read_bytes() == before
    assert not (tmp_path / "model" / ".unfinished").exists()


class _Refusing:
    """A tokenizer on a full disk."""

    def save_pretrained(self, folder):
        raise OSError(28, "no space")
