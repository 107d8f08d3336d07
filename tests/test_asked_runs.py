"""Models that are asked instead of scored: runs, their directories, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from boxpen import Card, Choice, Entail, Run, Suite, evaluate, resolve_model  # noqa: E402
from boxpen.analysis.order_effects import order_effects  # noqa: E402
from boxpen.errors import ModelError, PolicyError, RunError  # noqa: E402
from boxpen.models.base import ANSWER, ResolvedPolicy  # noqa: E402
from boxpen.scoring.ask import orders, questions, read_answer  # noqa: E402
from boxpen.scoring.recipe import ASK, ASK_LETTERS  # noqa: E402
from boxpen.scoring.requests import Request  # noqa: E402
from small_runs import without_checksums  # noqa: E402

TEMPLATE = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:"
SUITE = Suite(
    "small",
    (
        Choice(id="1", candidates=("the box is in the pen", "the pen is in the box"), gold=0),
        Choice(id="2", candidates=("a", "b", "c"), gold=2, context="one two", tags={"set": "x"}),
        Choice(id="3", candidates=("w", "x", "y", "z"), gold=1, block="b"),
        Choice(id="4", candidates=("w z", "x", "y", "z"), gold=1, block="b"),
        Entail(id="5", premise="it rains", hypothesis="it is wet", label="neutral"),
    ),
    Card(language="en"),
)


@pytest.fixture(scope="module")
def chat(gpt2_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    import transformers

    folder = tmp_path_factory.mktemp("chat") / "model"
    tokenizer = transformers.AutoTokenizer.from_pretrained(gpt2_dir)
    torch.manual_seed(3)
    config = transformers.GPT2Config(
        vocab_size=len(tokenizer), n_positions=1024, n_embd=32, n_layer=2, n_head=2,
        bos_token_id=0, eos_token_id=0, initializer_range=0.5,
    )  # fmt: skip
    transformers.GPT2LMHeadModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    settings["chat_template"] = TEMPLATE
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


def asked(model: object, recipe: str, **options: object) -> Run:
    settings = {"cache": ":memory:", "check_languages": False, **options}
    return evaluate(model, SUITE, recipe=recipe, **settings)


def test_letters_are_those_of_a_twin_that_scores_one_at_a_time(chat):
    model = resolve_model(f"hf:{chat}")
    run = asked(model, "ask-letters")
    policy = ResolvedPolicy(bos=True, eos=False, max_length=model.limit(None))
    for item in SUITE:
        for number, question in enumerate(questions(item, ASK_LETTERS)):
            totals = {}
            for letter in question.letters:
                request = Request(text=letter, prefix=f"user: {question.prompt}\nassistant:")
                [[(_, record)]] = list(model.score([request], policy))
                totals[letter] = record.total
            answer = next(a for a in run.answers if (a.item, a.order) == (item.id, number))
            assert answer.text == max(totals, key=totals.__getitem__)
            assert answer.chosen == question.order[question.letters.index(answer.text)]


def test_answers_are_those_of_a_twin_that_generates_token_by_token(chat):
    model = resolve_model(f"hf:{chat}")
    run = asked(model, "ask")
    tokenizer = model.tokenizer
    for item in (SUITE.items[0], SUITE.items[4]):
        for number, question in enumerate(questions(item, ASK)):
            ids = tokenizer(f"user: {question.prompt}\nassistant:", add_special_tokens=False)
            row = list(ids["input_ids"])
            start = len(row)
            while len(row) < start + ANSWER:
                with torch.no_grad():
                    logits = model.module(input_ids=torch.tensor([row])).logits[0, -1]
                row.append(int(logits.argmax()))
                if row[-1] == tokenizer.eos_token_id:
                    break
            text = tokenizer.decode(row[start:], skip_special_tokens=True)
            answer = next(a for a in run.answers if (a.item, a.order) == (item.id, number))
            assert answer.text == text
            assert (answer.outcome, answer.chosen) == read_answer(text, question)


@pytest.mark.parametrize("recipe", ["ask", "ask-letters"])
def test_a_run_is_the_same_after_writing_and_reading(chat, recipe, tmp_path):
    run = asked(f"hf:{chat}", recipe)
    back = Run.load(run.save(tmp_path))
    assert back.answers == run.answers
    assert back.verdicts == run.verdicts
    assert back.info.asked
    assert f"recipe:{recipe}@" in run.signature
    assert [len(orders(n)) for n in (2, 3, 4, 4, 3)] == [
        sum(a.item == item.id for a in run.answers) for item in SUITE
    ]
    every = next(r for r in back.summary() if (r.metric, r.slice) == ("every_order", "all"))
    assert every.value == sum(v.credit == 1 for v in run.verdicts) / 5
    assert run.to_polars("answers").height == len(run.answers)


def test_answers_come_from_the_cache(chat, tmp_path, monkeypatch):
    first = asked(f"hf:{chat}", "ask", cache=tmp_path / "cache.sqlite")
    model = resolve_model(f"hf:{chat}")

    def none(_: Sequence[str]) -> Iterator[list[tuple[int, str]]]:
        raise AssertionError("asked again")

    monkeypatch.setattr(model, "answer", none)
    assert asked(model, "ask", cache=tmp_path / "cache.sqlite").answers == first.answers


def test_an_item_without_an_answer_is_left_out_and_not_wrong(chat, monkeypatch):
    model = resolve_model(f"hf:{chat}")
    whole = model.answer

    def without_the_first(asked: Sequence[str]) -> Iterator[list[tuple[int, str]]]:
        for batch in whole(asked):
            yield [(i, text) for i, text in batch if i != 0]

    monkeypatch.setattr(model, "answer", without_the_first)
    run = asked(model, "ask")
    assert run.info.left_out == {"unanswered: no answer": ["1"]}
    assert [v.id for v in run.verdicts] == ["2", "3", "4", "5"]


@pytest.mark.parametrize(
    ("recipe", "reason"),
    [
        ("ask", "longer than the 1,024 tokens that it reads"),
        ("ask-letters", "longer than the model reads"),
    ],
)
def test_a_question_that_is_too_long_is_left_out_with_the_reason(chat, recipe, reason):
    long = Choice(id="6", candidates=("x " * 2000, "y"), gold=0)
    suite = Suite("small", (*SUITE, long), Card(language="en"))
    run = evaluate(f"hf:{chat}", suite, recipe=recipe, cache=":memory:", check_languages=False)
    assert run.info.left_out == {f"unanswered: {reason}": ["6"]}
    assert len(run.verdicts) == 5
    assert order_effects(run.answers, run.info.unanswered).failed.value == 1 / 6


def test_a_model_without_a_chat_template_is_refused(gpt2_dir):
    with pytest.raises(PolicyError, match=r"recipe 'ask' asks questions, and .* no chat template"):
        asked(f"hf:{gpt2_dir}", "ask")


def test_a_template_that_fails_is_one_sentence(chat, monkeypatch):
    model = resolve_model(f"hf:{chat}")
    model.tokenizer.chat_template = "{{ raise_exception('system first') }}"
    with pytest.raises(ModelError, match=r"the chat template of .* fails: system first"):
        asked(model, "ask")


def test_asked_runs_have_no_scores_to_change(chat):
    with pytest.raises(RunError, match="asked questions has no scores"):
        asked(f"hf:{chat}", "ask").rescore(norm="token")


def test_answers_that_are_not_those_of_the_verdicts_are_refused(chat, tmp_path):
    import polars as pl

    place = asked(f"hf:{chat}", "ask-letters").save(tmp_path)
    without_checksums(place)
    table = pl.read_parquet(place / "answers.parquet")
    table.with_columns(chosen=pl.lit(0, pl.Int64)).write_parquet(place / "answers.parquet")
    with pytest.raises(RunError, match=r"answers.parquet: the answers of item"):
        Run.load(place)
    table.head(2).write_parquet(place / "answers.parquet")
    with pytest.raises(RunError, match=r"answers.parquet: it does not have the answers of every"):
        Run.load(place)


def test_order_effects_of_a_model_that_always_says_a(chat, monkeypatch):
    model = resolve_model(f"hf:{chat}")
    monkeypatch.setattr(
        model, "answer", lambda asked: iter([[(i, "A") for i in range(len(asked))]])
    )
    run = asked(model, "ask")
    found = order_effects(run.answers)
    assert found.first.value == 1
    assert found.places == {"A": 1.0}
    assert found.unchanged.value == 0
    assert found.expected == pytest.approx((2 / 2 + 6 / 3 + 4 / 4 + 4 / 4 + 6 / 3) / 22)
    accuracy = next(r for r in run.summary() if (r.metric, r.slice) == ("accuracy", "all"))
    chance = next(r for r in run.summary() if (r.metric, r.slice) == ("chance", "all"))
    assert accuracy.value == pytest.approx(chance.value)
