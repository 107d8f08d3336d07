"""Chat models behind an API: asked for answers and for letters, and what goes wrong with them."""

from __future__ import annotations

import json
import logging

import pytest
from chat_server import ChatServer, longest, options
from typer.testing import CliRunner

import boxpen
from boxpen.analysis.order_effects import order_effects, order_notes
from boxpen.catalog.files import write_suite
from boxpen.cli.app import app
from boxpen.errors import ModelError, PolicyError

pytest.importorskip("httpx")

KEY = "sk-very-secret-0123456789"
THINGS = ("pen", "house", "river", "tree")
SUITE = boxpen.Suite(
    "small",
    (
        *(
            boxpen.Choice(
                id=t,
                candidates=(f"The dog is in the {t}, I think.", f"The {t} is in the dog."),
                gold=0,
                block="dog" if t in THINGS[:2] else None,
            )
            for t in THINGS
        ),
        boxpen.Entail(id="nli", premise="It rains.", hypothesis="It is wet.", label="neutral"),
    ),
    boxpen.Card(language="en", title="Small"),
)


def ask(server, recipe="ask", suite=SUITE, **options):
    return boxpen.evaluate(server.spec, suite, recipe=recipe, **{"cache": ":memory:", **options})


def value(run, metric):
    return next(r.value for r in run.summary() if (r.metric, r.slice) == (metric, "all"))


@pytest.mark.parametrize("recipe", ["ask", "ask-letters"])
def test_choices_labels_and_blocks_are_asked_in_every_order(recipe, tmp_path):
    with ChatServer() as server:
        run = ask(server, recipe)
        assert sorted(server.asked()) == sorted(a.prompt for a in run.answers)
        bodies = [b for p, b in server.log if "chat" in p and "options" not in b]
    assert len(run.answers) == 4 * 2 + 6
    assert [v.credit for v in run.verdicts] == [1, 1, 1, 1, 0]  # "contradiction" is the longest
    assert value(run, "both_right") == 1
    assert value(run, "every_order") == 0.8
    assert all(longest(a.prompt) == a.text for a in run.answers)
    assert "|api:chat|" in run.signature
    assert "fp_9" in run.info.engine["how"]
    assert all(b["temperature"] == (1 if b.get("logprobs") else 0) for b in bodies)
    back = boxpen.Run.load(run.save(tmp_path))
    assert back.answers == run.answers


def test_variants_of_a_letter_add_up():
    with ChatServer() as server:
        run = ask(server, "ask-letters")
    # Alone, the other letter (0.35) would win over 'A' (0.3), but not over 'A' and ' A' (0.55).
    assert {a.text for a in run.answers} == {"A", "B", "C"}
    assert all(a.text == longest(a.prompt) for a in run.answers)


def test_a_letter_that_is_not_listed_is_unparsed():
    with ChatServer(
        brain=lambda q: longest(q) if "pen" in q or "Which one" in q else "x"
    ) as server:
        server.listed = lambda content: {
            "token": content,
            "logprob": -0.5,
            "top_logprobs": [
                {"token": content, "logprob": -0.5 - 0.1 * (content == "B")},
                {"token": "Well", "logprob": -2.0},
            ],
        }
        run = ask(server, "ask-letters")
    outcomes = {a.item: a.outcome for a in run.answers}
    assert outcomes == dict.fromkeys((*THINGS, "nli"), "unparsed") | {"pen": "chosen"}


REFUSED = {
    "constant": "every log-probability is -4.000",
    "positive": "add up to|a log-probability is",
    "sum": "add up to",
    "random": "the same request has different log-probabilities",
    "deaf": "two different questions have the same log-probabilities",
}


@pytest.mark.parametrize("fault", REFUSED)
def test_letters_that_cannot_be_trusted_are_refused_and_answers_are_not(fault):
    with ChatServer(fault=fault) as server:
        with pytest.raises(
            PolicyError, match=f"no log-probabilities of letters.*({REFUSED[fault]})"
        ):
            ask(server, "ask-letters")
        assert value(ask(server), "accuracy") == 0.8


@pytest.mark.parametrize(("top", "said"), [(5, None), (0, "HTTP 400: top_logprobs is more than 0")])
def test_fewer_log_probabilities_will_do(top, said):
    with ChatServer(top=top) as server:
        if said is None:
            assert value(ask(server, "ask-letters"), "accuracy") == 0.8
            assert server.log[-1][1]["top_logprobs"] == 5
        else:
            with pytest.raises(PolicyError, match=said):
                ask(server, "ask-letters")


@pytest.mark.parametrize(
    ("rejects", "kept"),
    [
        (("temperature=0",), {"max_tokens"}),
        (("max_tokens",), {"max_completion_tokens", "temperature"}),
        (("max_tokens", "temperature"), {"max_completion_tokens"}),
    ],
)
def test_parameters_that_are_rejected_are_left_out(rejects, kept):
    with ChatServer(rejects=rejects) as server:
        run = ask(server)
        before = len(server.log)
        last = server.log[-1][1]
    assert kept == set(last) - {"model", "messages"}
    assert before == 16 + len(rejects) + sum(p != "/v1/chat/completions" for p, _ in server.log)
    assert value(run, "accuracy") == 0.8
    assert ("temperature" in (run.info.model.remark or "")) == ("temperature" not in kept)


def test_what_no_one_accepts_is_one_sentence():
    with (
        ChatServer(rejects=("messages",)) as server,
        pytest.raises(ModelError, match=r"cannot be used: .*chat: HTTP 400: Unsupported.*messages"),
    ):
        boxpen.resolve_model(server.spec)


@pytest.mark.parametrize("fault", ["storm", "half_closed", "some_html"])
def test_a_server_with_trouble_is_survived(fault, tmp_path):
    config = tmp_path / "patient.toml"
    with ChatServer(fault=fault) as server:
        config.write_text(f'url = "{server.url}"\nretries = 60\n')
        model = boxpen.resolve_model(f"api:{config}")
        run = boxpen.evaluate(model, SUITE, recipe="ask", cache=":memory:")
        assert len(set(server.asked())) == 14
    assert model.client.usage.retries > 5
    assert not model.unanswered
    assert value(run, "accuracy") == 0.8


def test_outcomes_are_counted_and_failures_are_neither_right_nor_wrong(tmp_path):
    def brain(question):
        if "river" in question:
            return 500
        if "tree" in question:
            return {"message": {"content": "B"}, "finish_reason": "content_filter"}
        if "house" in question:
            return {"message": {"content": None, "refusal": "I will not."}, "finish_reason": "stop"}
        if "Premise" in question:
            return {"message": {"content": ""}, "finish_reason": "length"}
        return longest(question)

    with ChatServer(brain=brain) as server:
        config = tmp_path / "short.toml"
        config.write_text(f'url = "{server.url}"\nretries = 1\n')
        run = boxpen.evaluate(f"api:{config}", SUITE, recipe="ask", cache=":memory:")
    assert run.info.left_out == {"unanswered: HTTP 500 after 2 tries": ["river"]}
    outcomes = {a.item: a.outcome for a in run.answers}
    assert outcomes == {"pen": "chosen", "house": "refused", "tree": "refused", "nli": "unparsed"}
    assert [v.credit for v in run.verdicts] == [1, 0, 0, 0]
    found = order_effects(run.answers, run.info.unanswered)
    assert (found.unparsed.value, found.refused.value) == (6 / 12, 4 / 12)
    assert (found.failed.value, found.failed.n) == (1 / 5, 5)
    assert "6 answer(s) are empty" in " ".join(order_notes(found))
    assert "chosen" not in str(found.to_json())


@pytest.mark.parametrize("recipe", ["ask", "ask-letters"])
def test_a_prompt_that_is_filtered_is_refused(recipe):
    brain = lambda q: 400 if "tree" in q else longest(q)  # noqa: E731
    with ChatServer(brain=brain) as server:
        run = ask(server, recipe)
    assert {a.item for a in run.answers if a.outcome == "refused"} == {"tree"}
    assert not run.info.left_out


@pytest.mark.parametrize(
    ("choice", "outcome"),
    [
        ({"message": {"content": [{"type": "text", "text": "A"}]}}, "chosen"),
        ({"message": {"content": "<think>B or A?</think>\nA"}}, "chosen"),
        ({"message": {"content": "A B"}}, "unparsed"),
        ({"message": {}}, "unparsed"),
        ({"text": "A"}, None),
    ],
)
def test_answers_of_other_shapes(choice, outcome):
    one = SUITE.take(SUITE.items[:2])
    brain = lambda q: choice if "house" in q else longest(q)  # noqa: E731
    with ChatServer(brain=brain) as server:
        run = ask(server, suite=one)
    found = {a.outcome for a in run.answers if a.item == "house"}
    assert found == ({outcome} if outcome else set())
    assert bool(run.info.left_out) == (outcome is None)


def test_an_answer_that_repeats_the_question_is_unparsed():
    with ChatServer(brain=lambda question: question) as server:
        run = ask(server)
    assert {a.outcome for a in run.answers} == {"unparsed"}


def test_answers_that_change_are_noted():
    count = iter(range(10**6))
    with ChatServer(brain=lambda q: longest(q) if options(q) else f"{next(count)}") as server:
        run = ask(server)
        assert value(run, "accuracy") == 0.8
    assert "different answers" in run.info.model.remark


def test_no_answer_is_asked_for_again(tmp_path):
    def brain(question):
        if "river" in question and down:
            return 500
        return longest(question)

    down = True
    with ChatServer(brain=brain) as server:
        first = ask(server, cache=tmp_path / "scores")
        before = len(server.asked())
        down = False
        second = ask(server, cache=tmp_path / "scores")
        again = server.asked()[before:]
    assert [v.id for v in first.verdicts] == ["pen", "house", "tree", "nli"]
    assert len(second.verdicts) == 5
    assert len(again) == 2
    assert all("river" in question for question in again)
    assert first.info.model.fingerprint == second.info.model.fingerprint


def test_settings_are_part_of_the_cache_and_of_the_signature(tmp_path):
    config = tmp_path / "chatty.toml"
    signatures, asked = set(), []
    with ChatServer() as server:
        for more in ("", "max_answer = 500", 'extra = { reasoning_effort = "low" }', ""):
            config.write_text(f'url = "{server.url}"\n{more}\n')
            before = len(server.asked())
            run = boxpen.evaluate(f"api:{config}", SUITE, recipe="ask", cache=tmp_path / "scores")
            signatures.add(run.signature)
            asked.append(len(server.asked()) - before)
            last = server.log[-1][1]
            assert last.get("reasoning_effort") == ("low" if "extra" in more else None)
            assert last["max_tokens"] == (500 if "max_answer" in more else 32)
    assert asked == [14, 14, 14, 0]
    assert len(signatures) == 3
    assert any("|api:chat,max_answer=500|" in line for line in signatures)
    config.write_text('url = "http://h"\nextra = { model = "x" }\n')
    with pytest.raises(ModelError, match="extra must not have 'model'"):
        boxpen.resolve_model(f"api:{config}")


def test_the_cost_is_counted_and_limited(tmp_path):
    config, path = tmp_path / "priced.toml", tmp_path / "small.jsonl"
    write_suite(SUITE, path)
    with ChatServer() as server:
        config.write_text(
            f'url = "{server.url}"\nprompt_price = 1000\ncompletion_price = 2000\nconcurrency = 1\n'
        )
        options = ["run", str(path), "--recipe", "ask", "--model", f"api:{config}", "--cache"]
        options += [str(tmp_path / "scores"), "--out", str(tmp_path / "out"), "--max-cost"]
        stopped = CliRunner().invoke(app, [*options, "0.5"])
        assert stopped.exit_code == 2
        assert "before --max-cost 0.5 would be exceeded" in stopped.output
        assert 0 < len(server.asked()) < 14
        assert len(server.log) * 0.012 <= 0.5
        done = CliRunner().invoke(app, [*options, "50"])
        assert done.exit_code == 0, done.output
        assert len(server.asked()) == len(set(server.asked())) == 14


def test_keys_appear_nowhere_and_the_report_is_complete(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("BOXPEN_API_KEY", KEY)
    caplog.set_level(logging.DEBUG)
    path, place = tmp_path / "small.jsonl", tmp_path / "out"
    write_suite(SUITE, path)
    brain = lambda q: 418 if "river" in q else longest(q)  # noqa: E731
    with ChatServer(key=KEY, brain=brain) as server:
        command = ["run", str(path), "--recipe", "ask", "--model", server.spec, "--out"]
        command += [str(place), "--cache", str(place / "scores")]
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.output
        shown = " ".join(done.output.split())
        assert "unparsed 0.0%, refused 0.0% (neither is right); failed 20.0% of items" in shown
        assert "the first option was chosen in" in shown
        assert "every order" in shown
        data = CliRunner().invoke(app, [*command, "--json"])
        asked = json.loads(data.stdout)["runs"][0]["asked"]
        assert asked["failed"] | {"value": 0.2, "n": 5} == asked["failed"]
        assert set(asked["first"]) == {"value", "low", "high", "n"}
        monkeypatch.setenv("BOXPEN_API_KEY", f"{KEY}-wrong")
        refused = CliRunner().invoke(app, command)
        assert refused.exit_code == 2
        assert "the key in BOXPEN_API_KEY was rejected" in refused.output
        probed = CliRunner().invoke(app, ["model", "probe", server.spec])
    seen = [done.output, data.output, refused.output, probed.output, caplog.text]
    seen += [p.read_bytes().decode("latin-1") for p in place.rglob("*") if p.is_file()]
    assert not any(KEY in text for text in seen)


def test_scoring_is_refused_with_what_the_probe_saw():
    with ChatServer() as server:
        for recipe in ("sound", "translate"):
            done = CliRunner().invoke(
                app, ["run", "starter", "--recipe", recipe, "--model", server.spec]
            )
            assert done.exit_code == 2
            said = " ".join(done.output.split())
            assert "cannot be scored: the server gives no log-probabilities" in said
            assert "HTTP 404" in said
        probed = CliRunner().invoke(app, ["model", "probe", server.spec])
    assert probed.exit_code == 0
    assert "access           chat" in probed.output
    assert "letters          with log-probabilities" in probed.output
