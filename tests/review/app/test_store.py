"""What a database keeps, the same on SQLite and PostgreSQL: each judgement once, and for good."""

from __future__ import annotations

import asyncio
import tempfile
import threading
from pathlib import Path

import pytest
from campaigns import Small, Words
from hypothesis import given, settings
from hypothesis import strategies as st

from boxpen.errors import BuildError
from boxpen.review import Journal, Judgement, import_sheets, latest
from boxpen.review.app.store import Store
from boxpen.review.database import Database, DatabaseJournal, is_database
from boxpen.review.database.journal import row_of


def row(n: int, verdict: str = "accept", judge: str = "ann", item: str = "w/0") -> dict:
    return row_of(Judgement(item, judge, verdict), "words", f"id-{n:08}")


def test_the_same_id_is_stored_once_and_others_in_their_order(database):
    store = Store(Database(database, create=True))
    first = store.save([row(1), row(2, "reject"), row(1, "reject")], 0)
    assert [(one.id[-1], one.verdict) for one in first] == [("1", "accept"), ("2", "reject")]
    again = store.save([row(2), row(3), row(1, judge="bo")], first[-1].seq)
    assert [(one.id[-1], one.judge) for one in again] == [("3", "ann"), ("1", "bo")]
    assert [one.seq for one in store.since()] == sorted(one.seq for one in store.since())
    store.database.close()
    assert len(list(Store(Database(database)).since())) == 4


def test_writers_in_several_threads_lose_and_double_nothing(database):
    store = Store(Database(database, create=True))
    seen: list[int] = []

    def work(judge: str) -> None:
        for n in range(12):
            found = store.save([row(n, judge=judge), row(max(0, n - 1), judge=judge)], 0)
            seen.append(len(found))

    threads = [threading.Thread(target=work, args=(name,)) for name in ("ann", "bo", "cy")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rows = [(one.judge, one.id) for one in store.since()]
    assert len(rows) == len(set(rows)) == 36
    assert max(seen) == 36
    store.database.close()


def test_hostile_texts_come_back_as_they_were(database):
    store = Store(Database(database, create=True))
    text = "'; DROP TABLE review_judgement; -- ‮ 你好 \U0001f990 \\ \" \t\n"
    said = Judgement("w/0", "ann", "edit", text, text, time="2026-01-01T00:00:00Z")
    store.save([row_of(said, "words", "id-1")], 0)
    (found,) = store.since()
    assert (found.edit, found.comment) == (text, text)
    store.database.close()


def test_people_tokens_and_sessions(database):
    store = Store(Database(database, create=True))
    token = store.add_person("ann", "judge", "test")
    with pytest.raises(BuildError, match="called 'ann' already"):
        store.add_person("ann", "judge", "test")
    person, cookie = store.enter(token) or (0, "")
    assert list(store.sessions().values()) == [person]
    kept = str([tuple(one) for one in store.audit()]) + str(store.sessions())
    assert token not in kept
    assert cookie not in kept
    assert store.enter("wrong") is None
    (ann,) = store.people()
    newer = store.renew(ann, "test")
    assert store.enter(token) is None
    assert store.enter(newer)
    store.revoke(ann, "test")
    assert store.sessions() == {}
    assert store.enter(newer) is None
    actions = [one.action for one in store.audit()]
    assert actions == ["add", "enter", "refuse", "renew", "refuse", "enter", "revoke", "refuse"]
    store.database.close()


def test_the_journal_of_a_database_is_a_journal(database):
    small = Small(database, [Words()])
    small.store.save([row(1), row(2, "reject")], 0)
    journal = DatabaseJournal(database, "words")
    assert is_database(database)
    assert [one.verdict for one in journal.read().judgements] == ["accept", "reject"]
    new = [Judgement("w/0", "ann", "reject"), Judgement("w/1", "zoe", "accept", time="t")]
    assert journal.merge(new) == new[1:]
    assert journal.merge(new) == []
    journal.append(new[:1])
    assert len(journal.read().judgements) == 4
    asyncio.run(small.campaign.refresh())  # a running server learns of it
    assert small.task.progress.done["zoe"] == 1
    with pytest.raises(BuildError, match="no task 'tags' of"):
        DatabaseJournal(database, "tags")
    journal.database.close()
    small.close()


def test_the_last_adjudicator_decides_and_does_not_vote(database, tmp_path):
    small = Small(database, [Words()])
    said = [("ann", "accept", "judge"), ("bo", "reject", "judge"), ("eve", "reject", "decide"),
            ("kim", "accept", "decide")]  # fmt: skip
    rows = [
        row_of(Judgement("w/0", who, verdict), "words", f"{who}-12345", kind=kind)
        for who, verdict, kind in said
    ]
    small.store.save(rows, 0)
    task = Words()
    task.journal = DatabaseJournal(database, "words")
    review = task.review()
    assert review.decisions["w/0"].verdict == "accept"
    assert review.decisions["w/0"].votes == {"accept": 1, "reject": 1}
    assert list(review.judges) == ["ann", "bo"]
    assert review.agreement[0].judges == 2
    # A copy in a file, and one that is imported elsewhere, decide the same.
    copy, elsewhere = Journal(tmp_path / "copy.jsonl"), Journal(tmp_path / "elsewhere.jsonl")
    copy.append(task.journal.read().judgements)
    import_sheets([copy.path], task.questions(), task.verdicts, elsewhere)
    back = Small(tmp_path / "back.db", [Words()])
    other = DatabaseJournal(tmp_path / "back.db", "words")
    import_sheets([copy.path], task.questions(), task.verdicts, other)
    for journal in (copy, elsewhere, other):
        again = Words()
        again.journal = journal
        assert again.review().decisions == review.decisions
        assert again.review().judges == review.judges
    asyncio.run(back.campaign.refresh())
    assert back.task.progress.decided[0].by == "kim"
    for some in (task.journal, other):
        some.database.close()
    small.close()
    back.close()


def test_a_second_server_is_refused(database):
    one = Database(database, create=True)
    one.serve_alone()
    other = Database(database)
    with pytest.raises(BuildError, match="in use by another 'boxpen review serve'"):
        other.serve_alone()
    other.close()
    one.close()
    third = Database(database)
    third.serve_alone()
    third.close()


def test_what_is_not_our_database_is_refused(tmp_path):
    path = tmp_path / "x.db"
    path.write_text("item,verdict\n")
    assert not is_database(path)
    with pytest.raises(BuildError, match="cannot be used: file is not a database"):
        Database(path)
    with pytest.raises(BuildError, match=r"no database .*none\.db"):
        Database(tmp_path / "none.db")
    import sqlite3

    sqlite3.connect(tmp_path / "other.db").execute("CREATE TABLE a (b)").connection.close()
    with pytest.raises(BuildError, match="not a database of 'boxpen review serve'"):
        Database(tmp_path / "other.db")
    with pytest.raises(BuildError) as secret:
        Database("postgresql://user:s3cret@localhost:1/none")
    assert "s3cret" not in str(secret.value)


ENTRIES = st.lists(
    st.tuples(
        st.integers(0, 14),  # the id
        st.sampled_from(["ann", "bo"]),
        st.integers(0, 2),  # the item
        st.sampled_from(["accept", "reject", "", "skip"]),
    ),
    max_size=25,
)


@settings(max_examples=15, deadline=None)
@given(batches=st.lists(ENTRIES, max_size=5), again=st.booleans())
def test_repeated_batches_undo_and_skip(batches, again):
    """A slow twin: a dictionary of what every judge said last, each id counting once."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "r.db"
        small = Small(place, [Words(3)])
        known: set[tuple[str, int]] = set()
        said: dict[tuple[str, str], tuple[str, bool]] = {}
        for batch in batches:
            rows = []
            for n, judge, item, what in batch:
                skipped = what == "skip"
                verdict = "" if skipped else what
                one = Judgement(f"w/{item}", judge, verdict)
                kind = "skip" if skipped else "judge"
                rows.append(row_of(one, "words", f"id-{n:08}", kind=kind))
                if (judge, n) not in known:
                    known.add((judge, n))
                    said[judge, one.item] = (verdict, skipped)
            for _ in range(1 + again):
                asyncio.run(small.campaign.writer.save(rows))

        def check(small: Small) -> None:
            progress = small.task.progress
            names = progress.verdict_names()
            for judge in ("ann", "bo"):
                mine = {i: v for (j, i), v in said.items() if j == judge}
                done = {i for i, (verdict, _) in mine.items() if verdict}
                assert progress.done[judge] == len(done)
                assert progress.left[judge] == 3 - len(done)
                phase, queue = progress.queue(judge, 9)
                found = [progress.questions[i].item for i in queue]
                assert sorted(found) == sorted({"w/0", "w/1", "w/2"} - done)
                later = [i for i, (_, skipped) in mine.items() if skipped]
                assert set(found[len(found) - len(later) :]) == set(later)
                assert phase == ("judging" if found else "finished")
                for item in done:
                    code = progress.votes(progress.index[item])[judge][0]
                    assert names[code] == mine[item][0]

        check(small)
        small.campaign.writer.close()
        journal = DatabaseJournal(place, "words")
        kept = latest(journal.read().judgements)
        assert {(j, i): one.verdict for i, of in kept.items() for j, one in of.items()} == {
            key: verdict for key, (verdict, _) in said.items()
        }
        journal.database.close()
        small.close()
        again_ = Small(place, [Words(3)])  # rebuilt from the database
        check(again_)
        again_.close()
