"""Who is asked what, until when; gold items; disputes; and what the API tells judges."""

from __future__ import annotations

import asyncio
import json
from uuid import uuid4

import pytest
from campaigns import Small, Words, suite

from boxpen.errors import BuildError
from boxpen.items import Choice, Entail, Suite
from boxpen.review.answers import AnswerTask
from boxpen.review.app.gold import read_gold
from boxpen.review.app.plan import Plan
from boxpen.review.database import DatabaseJournal
from boxpen.review.judgement import Judgement


@pytest.fixture
def made(tmp_path):
    opened = []

    def make(*args, **kwargs):
        opened.append(Small(tmp_path / f"{len(opened)}.db", *args, **kwargs))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


def answer_all(small, judge, verdict_of, limit=50):
    """Answer what is open for a judge; return the items."""
    client = small.client(judge)
    key = small.task.key
    done = []
    while questions := client.queue(key, limit)["questions"]:
        saved = client.judge_all(key, [(q, verdict_of(q)) for q in questions])
        assert not saved["refused"], saved
        done += [question["item"] for question in questions]
    return done


class TestPlan:
    @pytest.mark.parametrize(
        ("plan", "votes", "needed"),
        [
            (Plan(), {}, 5), (Plan(), {"a": 4}, 5), (Plan(overlap=7), {"a": 1}, 5),
            (Plan(overlap=2), {}, 2), (Plan(overlap=2), {"a": 1, "b": 1}, 0),
            (Plan(until_agree=2), {}, 2), (Plan(until_agree=2), {"a": 1}, 1),
            (Plan(until_agree=2), {"a": 2}, 0), (Plan(until_agree=2), {"a": 1, "b": 1}, 1),
            (Plan(until_agree=2), {"a": 1, "b": 1, "c": 1}, 1),
            (Plan(until_agree=2, max_judges=3), {"a": 1, "b": 1, "c": 1}, 0),
            (Plan(until_agree=3, max_judges=4), {"a": 2, "b": 1}, 1),
            (Plan(until_agree=3, max_judges=4), {"a": 1, "b": 1}, 2),
        ],
    )  # fmt: skip
    def test_how_many_more_judges_an_item_needs(self, plan, votes, needed):
        assert plan.needed(votes, 5) == needed

    @pytest.mark.parametrize(
        ("wrong", "why"),
        [
            ({"overlap": 0}, "--overlap is 0"),
            ({"max_judges": 3}, "--max-judges needs --until-agree"),
            ({"overlap": 2, "until_agree": 2}, "cannot be combined"),
            ({"until_agree": 3, "max_judges": 2}, "--max-judges is 2"),
        ],
    )
    def test_plans_that_make_no_sense(self, wrong, why):
        with pytest.raises(BuildError, match=why):
            Plan(**wrong)


class TestQueue:
    def test_overlap_gives_every_item_to_two_of_four(self, made):
        judges = ("ann", "bo", "cy", "di")
        small = made([Words(40)], judges, Plan(overlap=2))
        given = {judge: answer_all(small, judge, lambda _: "accept") for judge in judges}
        counts = [sum(f"w/{n}" in of for of in given.values()) for n in range(40)]
        assert counts == [2] * 40
        assert min(map(len, given.values())) > 8
        assert len(small.task.progress.finished) == 40

    def test_a_third_judge_only_where_two_differ(self, made):
        judges = ("ann", "bo", "cy")
        small = made([Words(30)], judges, Plan(until_agree=2, max_judges=3))

        def verdict(judge):
            return lambda q: "reject" if judge == "bo" and int(q["item"][2:]) < 10 else "accept"

        while any(answer_all(small, judge, verdict(judge)) for judge in judges):
            pass
        progress = small.task.progress
        votes = [len(progress.votes(item)) for item in range(30)]
        split = [len({v for v, _ in progress.votes(i).values()}) > 1 for i in range(30)]
        assert set(votes) <= {2, 3}
        assert [n == 3 for n in votes] == split
        assert any(split)
        assert not all(split[:10])  # those that bo was not asked about
        assert len(progress.finished) == 30

    def test_items_of_a_revoked_judge_go_to_others(self, made):
        small = made([Words(20)], ("ann", "bo", "cy"), Plan(overlap=1))
        assert 0 < small.task.progress.left["ann"] < 20
        ann = next(p for p in small.campaign.people.values() if p.name == "ann")
        small.store.revoke(ann, "test")
        small.campaign.know_people()
        left = small.task.progress.left
        assert left["bo"] + left["cy"] == 20
        assert small.task.progress.queue("ann", 5)[1] == []

    def test_imported_judgements_take_nothing_from_the_judges(self, made):
        small = made([Words(5)], ("ann", "bo", "cy"))
        journal = DatabaseJournal(small.store.database.file, "words")
        journal.append(Judgement(f"w/{n}", "eve", "accept") for n in range(5))
        journal.database.close()
        asyncio.run(small.campaign.refresh())
        assert small.task.progress.left == {"ann": 5, "bo": 5, "cy": 5}
        assert not small.task.progress.finished

    def test_where_a_revoked_judge_differs_others_are_asked(self, made):
        small = made([Words(1)], ("ann", "bo", "cy"), Plan(until_agree=2))
        kim = small.add("kim", "coordinator") and small.client("kim")
        first, second = (name for name in ("ann", "bo", "cy") if small.task.progress.left[name])
        assert answer_all(small, first, lambda _: "accept")
        gone = next(p.id for p in small.campaign.people.values() if p.name == first)
        kim.change("/api/people", {"action": "revoke", "id": gone})
        assert answer_all(small, second, lambda _: "reject")
        assert not small.task.progress.finished
        third = ({"ann", "bo", "cy"} - {first, second}).pop()
        assert answer_all(small, third, lambda _: "reject") == ["w/0"]
        assert small.task.progress.finished == {0}

    def test_prefetching_skipping_and_undoing(self, made):
        small = made([Words(5)])
        client = small.client("ann")
        first, second, *_ = client.queue("words", 2)["questions"]
        after = client.queue("words", 9, after=[first["item"], second["item"]])["questions"]
        assert len(after) == 3
        client.judge("words", first, "", skipped=True, comment="later")
        order = [q["item"] for q in client.queue("words", 9)["questions"]]
        assert order[0] == second["item"]
        assert order[-1] == first["item"]
        client.judge("words", second, "accept")
        assert client.queue("words")["done"] == 1
        client.judge("words", second, "")  # undone
        state = client.queue("words", 9)
        assert (state["done"], state["total"], len(state["questions"])) == (0, 5, 5)
        mine = client.get("/api/tasks/words/mine").json()["judgements"]
        assert [(one["item"], one["skipped"]) for one in mine] == [(first["item"], True)]

    def test_what_one_has_said_can_be_found_and_changed(self, made):
        small = made([Words(5)])
        client = small.client("ann")
        for question in client.queue("words", 9)["questions"]:
            client.judge("words", question, "edit", edit=f"better {question['item']}")
        pages, before = [], 0
        while some := client.get(f"/api/tasks/words/mine?limit=2&before={before}").json()[
            "judgements"
        ]:
            pages.append([one["item"] for one in some])
            before = some[-1]["seq"]
        assert sorted(item for page in pages for item in page) == [f"w/{n}" for n in range(5)]
        (found,) = client.get("/api/tasks/words/mine?search=WORD 3").json()["judgements"]
        question = client.get("/api/tasks/words/items/w%2F3").json()
        assert question["mine"]["edit"] == found["edit"] == "better w/3"
        client.judge("words", question, "reject")
        again = client.get("/api/tasks/words/items/w%2F3").json()
        assert again["mine"]["answer"] == "reject"
        assert len(list(small.store.of_judge("words", "ann"))) == 6  # history is kept

    def test_blind_judges_see_no_hints(self, made):
        seeing, blind = made([Words()]), made([Words()], plan=Plan(blind=True))
        assert seeing.client("ann").queue("words")["questions"][0]["hints"]
        assert blind.client("ann").queue("words")["questions"][0]["hints"] == []


class TestAnswers:
    def test_nothing_tells_which_candidate_is_first_in_the_suite(self, made):
        """The right one is the first everywhere; numbers as shown must not give it away."""
        small = made([AnswerTask(suite(200))])
        questions = small.client("ann").queue("answers", 200)["questions"]
        places = [next(o["number"] for o in q["options"] if "sun" in o["text"]) for q in questions]
        assert 70 < places.count("1") < 130
        for question in questions:
            sun = next(o["number"] for o in question["options"] if "sun" in o["text"])
            # The order counts in the alphabet, where the right one is the last here.
            assert question["order"].split()[int(sun) - 1] == "2"
            assert set(question) == {
                "item", "seen", "order", "part", "shown", "hints", "options", "training", "mine",
            }  # fmt: skip

    def test_an_answer_is_the_number_as_shown(self, made):
        small = made()
        for judge in ("ann", "bo"):
            answer_all(small, judge, lambda q: next(
                o["number"] for o in q["options"] if "sun" in o["text"]))  # fmt: skip
        assert {row.verdict for row in small.store.since()} == {"1"}

    def test_answers_that_are_refused(self, made):
        small = made([AnswerTask(suite()), Words()])
        client = small.client("ann")
        question = client.queue("answers")["questions"][0]
        word = client.queue("words")["questions"][0]
        cases = [
            ("answers", question, "3", {}, "expected a number from 1 to 2"),
            ("answers", question, "1", {"order": "1 1"}, "order of the options"),
            ("answers", question, "1", {"seen": "dffffffff"}, "texts have changed"),
            ("answers", question, "1", {"edit": "x"}, "has an edit"),
            ("answers", question, "1", {"skipped": True}, "skipped has no answer"),
            ("answers", question, "1", {"item": "nowhere"}, "no such item"),
            ("nothing", question, "1", {}, "no such item"),
            ("words", word, "maybe", {}, "expected accept"),
            ("words", word, "edit", {}, "needs the new text"),
            ("words", word, "accept", {"comment": "a\0b"}, "cannot be stored"),
            ("words", word, "accept", {"comment": "x" * 6000}, "6,000 characters"),
            ("words", word, "accept", {"ms": "1"}, "whole number"),
            ("words", word, "accept", {"ms": True}, "whole number"),
            ("words", word, "accept", {"edit": 1}, "edit must be text"),
        ]
        for key, asked, answer, more, why in cases:
            reply = client.judge(key, asked, answer, **more)
            assert reply["saved"] == []
            assert why in reply["refused"][0]["reason"], reply
        assert list(small.store.since()) == []

    def test_half_a_character_does_not_stop_others(self, made):
        small = made([Words()])
        client = small.client("ann")
        one, two = client.queue("words")["questions"][:2]
        body = json.dumps({"judgements": [
            {"id": str(uuid4()), "task": "words", "item": q["item"], "seen": q["seen"],
             "order": "", "answer": "accept", "comment": comment}
            for q, comment in ((one, "\ud800"), (two, "fine"))
        ]})  # fmt: skip
        headers = {"X-CSRF-Token": client.csrf, "Content-Type": "application/json"}
        reply = client.post("/api/judgements", content=body, headers=headers).json()
        assert (len(reply["saved"]), len(reply["refused"])) == (1, 1)


class TestGold:
    def lines(self, tmp_path, *lines):
        path = tmp_path / "gold.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
        return path

    def test_training_feedback_and_accuracy(self, made, tmp_path):
        task = Words(10)
        lines = [{"item": f"w/{n}", "verdict": "a", "why": f"because {n}"} for n in range(7)]
        (gold,) = read_gold(self.lines(tmp_path, *lines), [task])
        small = made([task], ("ann", "bo", "cy"), Plan(overlap=1), gold)
        small.add("kim", "coordinator")
        client = small.client("ann")
        me = client.get("/api/me").json()["tasks"][0]
        assert me["training"] == {"total": 5, "done": 0}
        state = client.queue("words", 9)
        assert state["phase"] == "training"
        assert [q["item"] for q in state["questions"]] == [f"w/{n}" for n in range(5)]
        assert all(q["training"] for q in state["questions"])
        client.judge("words", state["questions"][0], "", skipped=True)
        assert client.queue("words", 9)["questions"][-1]["item"] == "w/0"
        for n, question in enumerate(state["questions"]):
            reply = client.judge("words", question, "accept" if n else "reject")
            (told,) = reply["feedback"].values()
            assert told == {"right": n > 0, "answer": "accept", "why": f"because {n}"}
        changed = client.judge("words", state["questions"][0], "accept")
        assert "stay as they were given" in changed["refused"][0]["reason"]
        rest = client.queue("words", 9)
        assert rest["phase"] == "judging"
        assert {"w/5", "w/6"} <= {q["item"] for q in rest["questions"]}  # everyone gets these
        for question in rest["questions"]:
            reply = client.judge("words", question, "accept")
            assert reply["feedback"] == {}
        judges = small.client("kim").get("/api/dashboard").json()["judges"]
        ann = next(row for row in judges if row["name"] == "ann")
        assert (ann["gold_right"], ann["gold_total"]) == (6, 7)

    def test_gold_items_beside_a_sample(self, made, tmp_path):
        task = AnswerTask(suite(9))
        lines = [{"item": f"i{n}", "verdict": "1"} for n in range(9)]
        (gold,) = read_gold(self.lines(tmp_path, *lines), [task])
        small = made([task], plan=Plan(sample=3), gold=gold)
        small.add("kim", "coordinator")
        client = small.client("ann")
        while (reply := client.queue("answers", 1))["phase"] == "training":
            client.judge("answers", reply["questions"][0], "1")
        waiting = [q["item"] for q in client.queue("answers", 9)["questions"]]
        assert len(waiting) == 4
        # One that was not drawn can be skipped like any other.
        sample = {q.item for q in small.task.progress.questions[:3]}
        beside = next(item for item in waiting if item not in sample)
        client.judge("answers", client.get(f"/api/tasks/answers/items/{beside}").json(), "",
                     skipped=True)  # fmt: skip
        assert client.queue("answers", 9)["questions"][-1]["item"] == beside
        assert len(answer_all(small, "ann", lambda _: "1")) == 4
        exported = small.client("kim").get("/export/answers.jsonl").text.splitlines()
        assert {json.loads(line)["item"] for line in exported} == sample

    def test_every_accepted_label_is_right(self, made, tmp_path):
        pairs = [Entail(id=f"e{n}", premise="p", hypothesis="h", label="neutral") for n in range(2)]
        task = AnswerTask(Suite("pairs", tuple(pairs)))
        extra = {"kind": "entail", "id": "x", "premise": "A box.", "hypothesis": "A red box.",
                 "label": "contradiction", "also": ["neutral"]}  # fmt: skip
        (gold,) = read_gold(self.lines(tmp_path, extra), [task])
        small = made([task], ("ann", "bo", "cy"), gold=gold)
        small.add("kim", "coordinator")
        for judge, answer, right in (("ann", "1", False), ("bo", "2", True), ("cy", "3", True)):
            client = small.client(judge)
            reply = client.judge("answers", client.queue("answers", 1)["questions"][0], answer)
            (told,) = reply["feedback"].values()
            assert told["right"] == right
        judges = small.client("kim").get("/api/dashboard").json()["judges"]
        assert [row["gold_right"] for row in judges] == [0, 1, 1]

    def test_items_that_are_mixed_in_never_count(self, made, tmp_path):
        task = AnswerTask(suite(4))
        extra = {"kind": "choice", "id": "x", "candidates": ["Snow is cold.", "Snow is hot."],
                 "gold": 0, "why": "it is frozen"}  # fmt: skip
        (gold,) = read_gold(self.lines(tmp_path, extra), [task])
        small = made([task], gold=gold)
        small.add("kim", "coordinator")
        for judge in ("ann", "bo"):
            answered = answer_all(small, judge, lambda _, own=judge: "1" if own == "ann" else "2")
            assert answered[0] == "x"
            assert len(answered) == 5
        kim = small.client("kim")
        (figures,) = kim.get("/api/dashboard").json()["tasks"]
        assert figures["questions"] == 4
        assert {row["n"] for row in figures["agreement"]} == {4}
        exported = kim.get("/export/answers.jsonl").text.splitlines()
        assert len(exported) == 8
        assert not any('"x"' in line for line in exported)

    @pytest.mark.parametrize(
        ("line", "why"),
        [
            ({"item": "i0", "verdict": "9"}, "expected the number of a candidate"),
            ({"item": "none", "verdict": "1"}, "which no target has"),
            ({"verdict": "1"}, "has no 'item'"),
            ({"item": "w/0", "verdict": "maybe"}, "expected accept"),
            ({"kind": "choice", "id": "x", "candidates": ["a"], "gold": 0}, "line 1"),
            ({"kind": "choice", "id": "i0", "candidates": ["a", "b"], "gold": 0}, "part of the"),
            ([], "expected a JSON object"),
        ],
    )
    def test_lines_that_are_refused(self, tmp_path, line, why):
        with pytest.raises(BuildError, match=why):
            read_gold(self.lines(tmp_path, line), [AnswerTask(suite()), Words()])

    def test_a_verdict_may_be_the_text_of_a_candidate(self, tmp_path):
        path = self.lines(tmp_path, {"item": "i0", "verdict": "Ice is hot, 0."})
        (gold,) = read_gold(path, [AnswerTask(suite())])
        assert gold.items[0].verdict == "2"


class TestDisputes:
    @pytest.mark.parametrize("blind", [False, True])
    def test_they_are_shown_side_by_side_and_decided(self, made, blind):
        small = made(plan=Plan(blind=blind))
        small.add("eve", "adjudicator")
        for judge in ("ann", "bo"):
            client = small.client(judge)
            for question in client.queue("answers", 9)["questions"]:
                wanted = "Ice" if judge == "bo" and question["item"] in ("i1", "i2") else "sun"
                number = next(o["number"] for o in question["options"] if wanted in o["text"])
                client.judge("answers", question, number, comment=f"{wanted}!")
        eve = small.client("eve")
        found = eve.get("/api/disputes?task=answers").json()
        assert (found["total"], found["open"]) == (2, 2)
        one = found["disputes"][0]
        assert one["question"]["item"] == "i1"
        assert [o["text"][:3] for o in one["question"]["options"]] == ["Ice", "The"]
        votes = {v["judge"]: (v["answer"], v["label"], v["comment"]) for v in one["votes"]}
        assert set(votes) == ({"judge A", "judge B"} if blind else {"ann", "bo"})
        assert set(votes.values()) == {
            ("1", "Ice is hot, 1.", "Ice!"), ("2", "The sun is hot, 1.", "sun!"),
        }  # fmt: skip
        eve.judge("answers", one["question"], "2")
        after = eve.get("/api/disputes?task=answers").json()
        assert (after["total"], after["open"]) == (2, 1)
        assert after["disputes"][1]["decided"] == "2"
        eve.judge("answers", one["question"], "")
        assert eve.get("/api/disputes?task=answers").json()["open"] == 2

    def test_edits_that_differ_are_a_dispute(self, made):
        small = made([Words(2)])
        for judge in ("ann", "bo"):
            client = small.client(judge)
            for question in client.queue("words")["questions"]:
                same = question["item"] == "w/0"
                client.judge("words", question, "edit", edit="same  text" if same else judge)
        small.add("eve", "adjudicator")
        found = small.client("eve").get("/api/disputes?task=words").json()["disputes"]
        assert [one["question"]["item"] for one in found] == ["w/1"]


def test_tasks_that_are_not_served_now_are_named(tmp_path):
    Small(tmp_path / "r.db", [Words()]).close()
    other = Small(tmp_path / "r.db")
    assert len(other.campaign.changed) == 1
    assert "also has the task 'words' of words" in other.campaign.changed[0]
    other.close()


def test_a_changed_text_opens_the_item_again(tmp_path):
    place = tmp_path / "r.db"
    small = Small(place)
    client = small.client("ann")
    client.judge("answers", client.get("/api/tasks/answers/items/i1").json(), "1")
    small.close()
    other = suite()
    items = [Choice(id="i1", candidates=("New.", "Texts."), gold=0), *other.items[2:]]
    again = Small(place, [AnswerTask(other.take(items))], ())
    assert again.task.progress.outdated == 1
    assert again.task.progress.done["ann"] == 0
    assert again.task.key == "answers"
    again.close()
