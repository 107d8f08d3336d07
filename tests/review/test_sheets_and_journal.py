"""Judgements: sheets there and back, a journal that loses nothing, decisions and agreement."""

from __future__ import annotations

import csv
import json
import math
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from boxpen.errors import BuildError
from boxpen.review import (
    Journal,
    Judgement,
    Question,
    Rule,
    VerdictSet,
    agreement_table,
    assigned,
    decide,
    disagreements,
    import_sheets,
    latest,
    of_these_texts,
    open_questions,
    ordered,
    read_sheet,
    sampled,
    write_sheet,
)

VERDICTS = VerdictSet(
    {"accept": ("a", "y"), "reject": ("r", "n"), "edit": ("e",)}, edited=frozenset({"edit"})
)
QUESTIONS = [
    Question("i1", {"text": "A heron wades."}, part="birds", score=-1.0, hints={"score": "-1.00"}),
    Question("i2", {"text": "A brick swims."}, part="things", score=-9.0, hints={"score": "-9.00"}),
    Question("i3", {"text": "A kite eats."}, part="birds", score=-3.0, hints={"score": "-3.00"}),
]
BY_ITEM = {question.item: question for question in QUESTIONS}


def said(*triples: tuple[str, str, str]) -> list[Judgement]:
    """Judgements of (item, judge, verdict); 'edit:text' for an edit."""
    return [Judgement(i, j, v.partition(":")[0], v.partition(":")[2]) for i, j, v in triples]


def fill(path: Path, **answers: tuple[str, ...]) -> None:
    """Write verdict, edit and comment into the rows of a sheet, as a judge would."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        header, *rows = csv.reader(stream)
    at = header.index("verdict")
    for row in rows:
        for place, cell in enumerate(answers.get(row[0], ())):
            row[at + place] = cell
    with path.open("w", encoding="utf-8-sig", newline="") as stream:
        csv.writer(stream).writerows([header, *rows])


def sheet(folder: Path, judge: str = "anna", **answers: tuple[str, ...]) -> Path:
    path = folder / f"sheet-{judge}.csv"
    write_sheet(path, QUESTIONS, judge)
    fill(path, **answers)
    return path


def refused(act, *parts: str) -> None:
    with pytest.raises(BuildError) as caught:
        act()
    message = str(caught.value)
    assert "\n" not in message
    for part in parts:
        assert part in message, (part, message)


NASTY = st.text(
    st.sampled_from("=+-@'\"\n\r\t,; ＝a1") | st.characters(codec="utf-8", exclude_characters="\0")
)


NAMES = st.text(
    st.sampled_from("=+-@'\",;＝a1")
    | st.characters(codec="utf-8", exclude_categories=["Cc", "Cf", "Zs", "Zl", "Zp"]),
    min_size=1,
    max_size=100,
)


class TestSheet:
    @settings(deadline=None)
    @given(shown=st.lists(NASTY, min_size=2, max_size=2), edit=NASTY, comment=NASTY, judge=NAMES)
    @example(shown=["=1+1", "'=1+1"], edit="-5", comment="@SUM(A1)", judge="+anna")
    @example(shown=["''+x", "' =x"], edit="'tis", comment=" =HYPERLINK()", judge="a")
    @example(shown=["\ta", "'\r"], edit="a\r\nb", comment='"', judge="b,c")
    def test_whatever_is_written_is_read(self, tmp_path_factory, shown, edit, comment, judge):
        path = tmp_path_factory.mktemp("sheet") / "s.csv"
        question = Question("i", {"head": shown[0], "tail": shown[1]})
        if not edit.strip():
            return
        one = Judgement("i", judge, "edit", edit.strip(), comment.strip(), question.digest)
        write_sheet(path, [question], one.judge, said=latest([one]))
        (line,) = read_sheet(path, {"i": question}, VERDICTS)
        assert line.judgement == one

    @settings(deadline=None)
    @given(NASTY)
    def test_no_cell_begins_like_a_formula_and_texts_come_back_as_they_were(
        self, tmp_path_factory, text
    ):
        from boxpen.printable import restored

        path = tmp_path_factory.mktemp("sheet") / "s.csv"
        write_sheet(path, [Question("i", {"text": text})], "anna")
        with path.open(encoding="utf-8-sig", newline="") as stream:
            cell = list(csv.reader(stream))[1][1]
        assert cell.lstrip()[:1] not in {*"=+-@"} - {""}
        assert restored(cell) == text

    def test_it_is_what_a_spreadsheet_program_expects(self, tmp_path):
        path = sheet(tmp_path)
        assert path.read_bytes() == (
            b"\xef\xbb\xbfitem,text,score,verdict,edit,comment,judge,digest\r\n"
            + b"".join(
                f"{q.item},{q.shown['text']},{q.hints['score']},,,,anna,{q.digest}\r\n".encode()
                for q in QUESTIONS
            )
        )

    def test_blind_judges_see_no_hints(self, tmp_path):
        write_sheet(tmp_path / "s.csv", QUESTIONS, "anna", blind=True)
        assert b"score" not in (tmp_path / "s.csv").read_bytes()

    def test_a_number_is_a_number_in_hints_only(self, tmp_path):
        question = Question("i", {"text": "-5"}, hints={"score": "-5"})
        write_sheet(tmp_path / "s.csv", [question], "anna")
        assert b"i,'-5,-5," in (tmp_path / "s.csv").read_bytes()

    @pytest.mark.parametrize(
        ("text", "verdict"),
        [
            ("accept", "accept"),
            (" A ", "accept"),
            ("Y", "accept"),
            ("n", "reject"),
            ("R", "reject"),
        ],
    )
    def test_short_forms_in_any_case(self, tmp_path, text, verdict):
        (line,) = read_sheet(sheet(tmp_path, i2=(text,)), BY_ITEM, VERDICTS, time="noon")
        digest = BY_ITEM["i2"].digest
        assert line.judgement == Judgement("i2", "anna", verdict, seen=digest, time="noon")
        assert line.number == 3

    def test_sorted_rows_moved_columns_semicolons_and_blank_rows_do_no_harm(self, tmp_path):
        path = tmp_path / "s.csv"
        path.write_text(
            "verdict;judge;item;text\n;;;\na;anna;i3;A  kite\teats.\n;anna;i1;A heron wades.\n"
        )
        assert [x.judgement.item for x in read_sheet(path, BY_ITEM, VERDICTS)] == ["i3"]

    @pytest.mark.parametrize(
        ("answer", "parts"),
        [
            (("maybe",), ("line 3", "'maybe'", "accept (a, y), reject (r, n), edit (e)")),
            (("edit",), ("line 3", "'edit' and no edit", "the new text")),
            (("edit", "  "), ("line 3", "no edit")),
            (("a", "A duck swims."), ("line 3", "'A duck swims.'", "'accept'", "expected 'edit'")),
            (("", "A duck swims."), ("line 3", "'A duck swims.'", "''", "expected 'edit'")),
        ],
    )
    def test_answers_that_are_none(self, tmp_path, answer, parts):
        path = sheet(tmp_path, i2=answer)
        refused(lambda: read_sheet(path, BY_ITEM, VERDICTS), str(path), *parts)

    def test_a_text_edited_by_accident(self, tmp_path):
        path = sheet(tmp_path)
        path.write_bytes(path.read_bytes().replace(b"A kite", b"The kite"))
        refused(
            lambda: read_sheet(path, BY_ITEM, VERDICTS),
            f"{path}, line 4", "'The kite eats.'", "'A kite eats.'", "column 'edit'",
        )  # fmt: skip

    def test_a_sheet_of_another_table(self, tmp_path):
        path = sheet(tmp_path)
        other = {**BY_ITEM, "i2": Question("i2", {"text": "A brick sinks."})}
        refused(lambda: read_sheet(path, other, VERDICTS), "line 3", "'i2'", "another table")
        del other["i2"]
        refused(lambda: read_sheet(path, other, VERDICTS), "line 3", "'i2'", "not in the table")

    def test_a_digest_alone_is_compared_too(self, tmp_path):
        path = tmp_path / "s.csv"
        path.write_text(f"item,verdict,judge,digest\ni1,a,anna,{BY_ITEM['i1'].digest}\n")
        assert len(read_sheet(path, BY_ITEM, VERDICTS)) == 1
        path.write_text("item,verdict,judge,digest\ni1,a,anna,d0\n")
        refused(lambda: read_sheet(path, BY_ITEM, VERDICTS), "line 2", "'d0'")
        path.write_text("item,verdict,judge\ni1,a,anna\n")
        refused(lambda: read_sheet(path, BY_ITEM, VERDICTS), "line 2", "shows nothing", "'i1'")

    @pytest.mark.parametrize(
        ("content", "parts"),
        [
            (b"", ("line 1", "(none)", "'item'")),
            (b"item,text,judge\n", ("line 1", "'verdict' once")),
            (b"item,item,verdict,judge\n", ("'item' once",)),
            (b"item,text,verdict\n", ("'judge' once", "name the judge")),
            (b"item,text,verdict,judge\ni1,A heron wades.,a\n", ("line 2", "3 cell(s)", "4")),
            (b"item,text,verdict,judge\ni1,A heron wades.,a,\n", ("line 2", "no judge")),
            (b"item,text,verdict,judge\ni1,A heron wades.\0,a,x\n", ("line 2", "NUL")),
            (b"item,text,verdict,judge\ni1,caf\xe9,a,x\n", ("line 2", "0xe9", "UTF-8")),
            (b'item,text,verdict,judge\ni1,"A heron,a,x\n', ("line 2", "not a valid row")),
            (
                b"item,text,verdict,judge\ni1,A heron wades.,a,x\ni1,A heron wades.,r,x\n",
                ("line 3", "'i1' again", "line 2"),
            ),
        ],
    )
    def test_files_that_are_no_sheets(self, tmp_path, content, parts):
        path = tmp_path / "s.csv"
        path.write_bytes(content)
        refused(lambda: read_sheet(path, BY_ITEM, VERDICTS), str(path), *parts)

    def test_the_judge_may_be_named_by_the_caller(self, tmp_path):
        path = tmp_path / "s.csv"
        path.write_text("item,text,verdict\ni1,A heron wades.,a\n")
        (line,) = read_sheet(path, BY_ITEM, VERDICTS, judge="bo")
        assert line.judgement.judge == "bo"
        path = sheet(tmp_path, "anna")
        refused(lambda: read_sheet(path, BY_ITEM, VERDICTS, judge="bo"), "'anna'", "expected 'bo'")

    def test_nul_is_refused_and_nothing_is_written(self, tmp_path):
        path = tmp_path / "s.csv"
        refused(
            lambda: write_sheet(path, [Question("i", {"tail": "a\0b"})], "x"), "'i'", "its tail"
        )
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
    def test_a_full_disk_is_one_sentence(self):
        refused(lambda: write_sheet(Path("/dev/full"), QUESTIONS, "x"), "/dev/full", "No space")

    def test_no_folder(self, tmp_path):
        path = tmp_path / "no" / "s.csv"
        refused(lambda: write_sheet(path, QUESTIONS, "x"), str(path), "cannot be written")


class TestJournal:
    def test_what_is_added_is_read_and_the_last_counts(self, tmp_path):
        journal = Journal(tmp_path / "review.jsonl")
        assert journal.read().judgements == ()
        first, second = said(("i1", "anna", "accept"), ("i1", "anna", "edit:A heron.\nfishes"))
        assert journal.merge([first]) == [first]
        assert journal.merge([first]) == []
        assert journal.merge([second]) == [second]
        assert journal.read().judgements == (first, second)
        assert latest(journal.read().judgements) == {"i1": {"anna": second}}
        assert journal.merge([first]) == [first]  # the judge has thought again
        assert len(journal.path.read_text().splitlines()) == 3

    def test_a_line_is_plain_json_without_a_time_unless_one_is_given(self, tmp_path):
        journal = Journal(tmp_path / "review.jsonl")
        one = Judgement("i1", "anna", "reject", comment="Näh", time="2026-01-01")
        journal.append(said(("i1", "bo", "accept")))
        journal.append([one])
        assert journal.path.read_text(encoding="utf-8") == (
            '{"item": "i1", "judge": "bo", "verdict": "accept"}\n'
            '{"item": "i1", "judge": "anna", "verdict": "reject", "comment": "Näh", '
            '"time": "2026-01-01"}\n'
        )

    def test_the_same_said_at_another_time_is_not_news(self, tmp_path):
        journal = Journal(tmp_path / "review.jsonl")
        journal.append([Judgement("i1", "anna", "accept", time="1")])
        assert journal.merge([Judgement("i1", "anna", "accept", time="2")]) == []

    def test_cut_off_anywhere_only_the_last_line_is_lost_and_said_so(self, tmp_path):
        journal = Journal(tmp_path / "review.jsonl")
        first, second, third = said(
            ("i1", "anna", "accept"), ("i2", "anna", "edit:Käse"), ("i3", "anna", "reject")
        )
        journal.append([first, second])
        whole = journal.path.read_bytes()
        start = whole.index(b"\n") + 1
        for end in range(start, len(whole) + 1):
            journal.path.write_bytes(whole[:end])
            history = journal.read()
            if end >= len(whole) - 1:  # the line end alone is missing, or nothing
                assert history.judgements == (first, second)
                assert history.torn is None
            else:
                assert history.judgements == (first,)
                assert (history.torn is None) == (end == start)
                assert history.torn is None or "line 2" in history.torn
            kept = history.judgements
            cut = journal.path.read_bytes()
            for add in (journal.append, journal.merge):
                journal.path.write_bytes(cut)
                add([third])
                assert journal.read().judgements == (*kept, third)
                assert journal.read().torn is None

    @pytest.mark.parametrize(
        ("line", "parts"),
        [
            ("{", ("line 2",)),
            ("[]", ("line 2", "not an object")),
            ('{"item": "i", "judge": "a"}', ("line 2", "no 'verdict'")),
            ('{"item": "i", "judge": "", "verdict": "x"}', ("line 2", "no judge")),
            ('{"item": 3, "judge": "a", "verdict": "x"}', ("line 2", "'item' is 3")),
        ],
    )
    def test_a_broken_line_in_the_middle_is_an_error(self, tmp_path, line, parts):
        good = '{"item": "i", "judge": "a", "verdict": "x"}\n'
        journal = Journal(tmp_path / "review.jsonl")
        journal.path.write_text(good + line + "\n" + good)
        refused(journal.read, str(journal.path), *parts)
        refused(lambda: journal.merge(said(("j", "b", "x"))), str(journal.path), *parts)

    def test_an_append_does_not_depend_on_the_length(self, tmp_path):
        def seconds(lines: int) -> float:
            journal = Journal(tmp_path / f"{lines}.jsonl")
            line = '{"item": "i%d", "judge": "anna", "verdict": "accept", "seen": "d1234567"}\n'
            journal.path.write_text("".join(line % n for n in range(lines)))
            spent = []
            for n in range(15):
                start = time.perf_counter()
                journal.append(said((f"new{n}", "anna", "accept")))
                spent.append(time.perf_counter() - start)
            assert journal.path.read_bytes().count(b"\n") == lines + 15
            return min(spent)

        # Reading 200,000 lines takes over a second; a loaded disk explains a few milliseconds.
        assert seconds(200_000) < 5 * seconds(1_000) + 0.02

    def test_an_append_after_a_very_long_line(self, tmp_path):
        journal = Journal(tmp_path / "review.jsonl")
        long = Judgement("i1", "anna", "accept", comment="x" * 100_000)
        (one,) = said(("i2", "anna", "accept"))
        journal.append([long])
        journal.append([one])
        assert journal.read().judgements == (long, one)

    def test_an_append_checks_the_tag(self, tmp_path):
        path = tmp_path / "tags.jsonl"
        Journal(path, tag="steps").append(said(("i1", "anna", "2")))
        told = f"the last line of {path} is about the tag 'steps', expected 'kind'"
        refused(lambda: Journal(path, tag="kind").append(said(("i1", "anna", "a"))), told)

    def test_unknown_keys_are_for_later_versions(self, tmp_path):
        journal = Journal(tmp_path / "review.jsonl")
        journal.path.write_text('{"item": "i", "judge": "a", "verdict": "x", "mood": 1}\n')
        assert journal.read().judgements == tuple(said(("i", "a", "x")))

    def test_two_judges_at_once(self, tmp_path):
        path = tmp_path / "review.jsonl"
        context = multiprocessing.get_context("spawn")
        judges = [context.Process(target=_judge_all, args=(path, j)) for j in ("anna", "bo")]
        for one in judges:
            one.start()
        for one in judges:
            one.join(60)
            assert one.exitcode == 0
        found = [(one.judge, one.item) for one in Journal(path).read().judgements]
        assert sorted(found) == sorted((j, f"i{n}") for j in ("anna", "bo") for n in range(100))
        for judge in ("anna", "bo"):
            assert [i for j, i in found if j == judge] == [f"i{n}" for n in range(100)]

    def test_nobody_writes_while_another_does(self, tmp_path):
        fcntl = pytest.importorskip("fcntl")
        journal = Journal(tmp_path / "review.jsonl")
        journal.path.touch()
        one = said(("i1", "anna", "accept"))
        writer = threading.Thread(target=journal.append, args=(one,))
        with journal.path.open("rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            writer.start()
            writer.join(0.3)
            assert writer.is_alive()
            assert journal.path.read_bytes() == b""
        writer.join(10)
        assert journal.read().judgements == tuple(one)

    def test_killed_while_writing_it_loses_nothing_that_was_said_to_be_kept(self, tmp_path):
        path = tmp_path / "review.jsonl"
        code = (
            "import sys\nfrom boxpen.review import *\nj = Journal(sys.argv[1])\n"
            "for n in range(10**6):\n"
            "    j.append([Judgement(f'i{n}', 'anna', 'accept')]); print(n, flush=True)\n"
        )
        with subprocess.Popen(
            [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True
        ) as writer:
            assert writer.stdout is not None
            for _ in range(20):
                last = int(writer.stdout.readline())
            writer.kill()
        assert last == 19
        assert len(Journal(path).read().judgements) >= 20
        Journal(path).append(said(("last", "anna", "accept")))
        assert Journal(path).read().judgements[-1].item == "last"

    def test_a_device_is_no_journal(self):
        refused(
            lambda: Journal("/dev/zero").append(said(("i", "a", "x"))),
            "/dev/zero is not a regular file",
        )
        refused(Journal("/dev/zero").read, "/dev/zero is not a regular file")

    def test_no_room_is_one_sentence_and_leaves_the_journal_as_it_was(self, tmp_path):
        path = tmp_path / "review.jsonl"
        Journal(path).append(said(("i1", "anna", "accept")))
        before = path.read_bytes()
        code = (
            "import resource, signal, sys\nfrom boxpen.review import *\n"
            "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))\n"
            "try:\n    Journal(sys.argv[1]).append([Judgement('i2', 'bo', 'x' * 300)])\n"
            "except Exception as error:\n    print(type(error).__name__, error)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
        )
        assert done.stdout == f"BuildError {path} cannot be written: File too large\n"
        assert path.read_bytes() == before

    def test_a_disk_that_fills_up_halfway_leaves_the_journal_as_it_was(self, tmp_path, monkeypatch):
        journal = Journal(tmp_path / "review.jsonl")
        journal.append(said(("i1", "anna", "accept")))
        before = journal.path.read_bytes()
        write = os.write
        room = iter([7])

        def fills(file, data):
            left = next(room, None)
            if left is None:
                raise OSError(28, "No space left on device")
            return write(file, bytes(data[:left]))

        monkeypatch.setattr(os, "write", fills)
        refused(lambda: journal.append(said(("i2", "anna", "accept"))), "No space left on device")
        assert journal.path.read_bytes() == before

    def test_places_that_cannot_be_written_or_read(self, tmp_path):
        one = said(("i", "a", "x"))
        refused(lambda: Journal(tmp_path).append(one), str(tmp_path), "cannot be written")
        refused(Journal(tmp_path).read, str(tmp_path), "is not a regular file")
        refused(lambda: Journal(tmp_path / "no" / "j").append(one), "cannot be written", "No such")

    def test_a_read_only_disk_is_one_sentence(self, tmp_path, monkeypatch):
        def read_only(*_):
            raise OSError(30, "Read-only file system")

        journal = Journal(tmp_path / "review.jsonl")
        monkeypatch.setattr(os, "open", read_only)
        refused(lambda: journal.append(said(("i", "a", "x"))), str(journal.path), "Read-only file")

    def test_half_a_character_is_refused(self, tmp_path):
        journal = Journal(tmp_path / "j")
        refused(lambda: journal.append(said(("i", "a", "edit:\ud800"))), "'a'", "half a character")
        assert journal.read().judgements == ()

    def test_a_judgement_is_of_something_by_someone(self):
        refused(lambda: Judgement("", "anna", "x"), "no item")
        refused(lambda: Judgement("i", " ", "x"), "no judge")


def _judge_all(path: Path, judge: str) -> None:
    for number in range(100):
        Journal(path).append([Judgement(f"i{number}", judge, "accept", comment="x" * 500)])


class TestImport:
    def imported(self, journal: Journal, *paths: Path, **options):
        return import_sheets(list(paths), QUESTIONS, VERDICTS, journal, **options)

    def test_several_sheets_and_twice_is_once(self, tmp_path):
        journal = Journal(tmp_path / "review.jsonl")
        anna = sheet(tmp_path, "anna", i1=("a",), i2=("e", "A duck swims.", "really"))
        bo = sheet(tmp_path, "bo", i1=("n",))
        found = self.imported(journal, anna, bo)
        assert [(x.judge, x.item, x.verdict) for x in found.added] == [
            ("anna", "i1", "accept"), ("anna", "i2", "edit"), ("bo", "i1", "reject"),
        ]  # fmt: skip
        before = journal.path.read_bytes()
        again = self.imported(journal, bo, anna, time="later")
        assert (again.added, again.changed, again.known) == ((), (), 3)
        assert journal.path.read_bytes() == before

    def test_a_changed_verdict_supersedes_and_the_history_stays(self, tmp_path):
        journal = Journal(tmp_path / "review.jsonl")
        self.imported(journal, sheet(tmp_path, i1=("a",), i2=("a",)))
        found = self.imported(journal, sheet(tmp_path, i1=("r",), i2=("a",)))
        assert [(a.verdict, b.verdict) for a, b in found.changed] == [("accept", "reject")]
        assert [x.verdict for x in journal.read().judgements if x.item == "i1"] == [
            "accept", "reject",
        ]  # fmt: skip
        assert latest(journal.read().judgements)["i1"]["anna"].verdict == "reject"

    def test_an_emptied_cell_takes_nothing_back_but_a_question_mark_does(self, tmp_path):
        journal = Journal(tmp_path / "review.jsonl")
        self.imported(journal, sheet(tmp_path, i1=("a",)))
        assert self.imported(journal, sheet(tmp_path)).added == ()
        assert self.imported(journal, sheet(tmp_path, i1=("", "", "hm"))).added == ()
        assert latest(journal.read().judgements)["i1"]["anna"].verdict == "accept"
        (one,) = self.imported(journal, sheet(tmp_path, i1=("?", "", "hm"))).added
        assert (one.verdict, one.comment) == ("", "hm")
        assert self.imported(journal, sheet(tmp_path, i1=("?", "", "hm"))).added == ()
        assert self.imported(journal, sheet(tmp_path, i3=("?",))).added == ()
        assert open_questions(QUESTIONS, latest(journal.read().judgements), "anna") == QUESTIONS

    def test_a_comment_without_a_verdict_is_kept_and_comes_back(self, tmp_path):
        journal = Journal(tmp_path / "review.jsonl")
        self.imported(journal, sheet(tmp_path, i1=("", "", "ask bo")))
        write_sheet(
            tmp_path / "again.csv", QUESTIONS, "anna", said=latest(journal.read().judgements)
        )
        assert b"ask bo" in (tmp_path / "again.csv").read_bytes()
        assert decide(journal.read().judgements)["i1"].verdict is None

    def test_one_fault_and_nothing_is_imported(self, tmp_path):
        journal = Journal(tmp_path / "review.jsonl")
        anna, bo = sheet(tmp_path, "anna", i1=("a",)), sheet(tmp_path, "bo", i1=("what",))
        refused(lambda: self.imported(journal, anna, bo), f"{bo}, line 2", "'what'")
        assert not journal.path.exists()

    def test_two_sheets_of_one_judge_must_not_differ(self, tmp_path):
        journal = Journal(tmp_path / "review.jsonl")
        first = sheet(tmp_path, i1=("a",)).rename(tmp_path / "first.csv")
        other = sheet(tmp_path, i1=("r",))
        refused(
            lambda: self.imported(journal, first, other),
            f"{other}, line 2", f"{first}, line 2", "'anna'", "'i1'",
        )  # fmt: skip

    def test_a_torn_journal_is_reported_and_what_it_lacks_is_added(self, tmp_path):
        journal = Journal(tmp_path / "review.jsonl")
        path = sheet(tmp_path, i1=("a",), i2=("r",))
        self.imported(journal, path)
        journal.path.write_bytes(journal.path.read_bytes()[:-9])
        found = self.imported(journal, path)
        assert found.torn is not None
        assert [one.item for one in found.added] == ["i2"]
        assert len(journal.path.read_text().splitlines()) == 2

    def test_what_was_said_of_other_texts_is_open_again(self, tmp_path):
        journal = Journal(tmp_path / "review.jsonl")
        self.imported(journal, sheet(tmp_path, i1=("a",), i2=("r",)))
        new = [Question("i1", {"text": "A heron flies."}), *QUESTIONS[1:]]
        assert [q.item for q in open_questions(new, latest(journal.read().judgements), "anna")] == [
            "i1",
            "i3",
        ]
        kept, outdated = of_these_texts(journal.read().judgements, new)
        assert ([one.item for one in kept], outdated) == (["i2"], 1)
        write_sheet(tmp_path / "all.csv", new, "anna", said=latest(journal.read().judgements))
        lines = (tmp_path / "all.csv").read_text(encoding="utf-8-sig").splitlines()
        assert ",reject,," in lines[2]
        assert "accept" not in lines[1]


class TestAssignment:
    MANY = tuple(Question(f"i{n}", {}, part=f"p{n % 3}", score=-float(n)) for n in range(600))

    def test_each_item_has_so_many_judges_and_keeps_them(self):
        judges = ["anna", "bo", "cy"]
        shares = {j: assigned(self.MANY, j, judges, 2, seed=1) for j in judges}
        count = Counter(q.item for share in shares.values() for q in share)
        assert set(count.values()) == {2}
        assert all(340 < len(share) < 460 for share in shares.values())
        for one, other in combinations(judges, 2):
            both = {q.item for q in shares[one]} & {q.item for q in shares[other]}
            assert 140 < len(both) < 260
        fewer = assigned(self.MANY[:50], "bo", judges[::-1], 2, seed=1)
        assert fewer == [q for q in shares["bo"] if q in self.MANY[:50]]
        assert assigned(self.MANY, "bo", judges, 2, seed=2) != shares["bo"]
        assert assigned(self.MANY, "bo", judges, 3) == list(self.MANY)

    def test_judges_who_are_none(self):
        refused(lambda: assigned(self.MANY, "ana", ["anna", "bo"], 1), "'ana'", "'anna'")
        refused(lambda: assigned(self.MANY, "bo", ["anna", "bo"], 3), "3 judges", "from 1 to 2")
        refused(lambda: assigned(self.MANY, "bo", ["anna", "bo"], 0), "0 judges")

    def test_samples_do_not_depend_on_the_order_of_rows(self):
        some = sampled(self.MANY, 50, seed=3)
        assert len(some) == 50
        assert some == [q for q in self.MANY if q in some]
        assert {q.item for q in sampled(self.MANY[::-1], 50, seed=3)} == {q.item for q in some}
        assert sampled(self.MANY, 50, seed=4) != some
        assert sampled(self.MANY, None) == list(self.MANY)
        assert sampled(self.MANY, 10**6) == list(self.MANY)
        refused(lambda: sampled(self.MANY, 0), "0", "1 or more")

    def test_likely_good_first_in_every_part(self):
        questions = [
            Question(item, {}, part=part, score=score)
            for item, part, score in [
                ("a", "p", 1.0), ("b", "p", 3.0), ("c", "p", None),
                ("d", "q", 2.0), ("e", "q", -1.0),
            ]
        ]  # fmt: skip
        for order in (questions, questions[::-1]):
            assert "".join(q.item for q in ordered(order, "score")) == "bdaec"

    def test_one_shuffle_for_all_or_one_for_each(self):
        def names(order, judge, seed=0):
            return [q.item for q in ordered(self.MANY, order, judge, seed)]

        assert names("given", "anna") == [q.item for q in self.MANY]
        assert names("random", "anna") == names("random", "bo") != names("given", "")
        assert names("own", "anna") != names("own", "bo")
        assert names("own", "anna") == names("own", "anna") != names("own", "anna", 1)
        assert sorted(names("own", "bo")) == sorted(names("given", ""))


def twin(votes: list[tuple[str, str, str]], rule: Rule, min_judges: int) -> tuple[str | None, str]:
    """Decide one item by counting on fingers: (verdict, edit); votes are (judge, verdict, edit)."""
    for judge, verdict, edit in votes:
        if rule.name == "adjudicator" and judge == rule.adjudicator:
            return verdict, edit
    if not votes or len(votes) < min_judges:
        return None, ""
    divided = (rule.otherwise, "")
    if rule.name in ("unanimous", "adjudicator"):
        same = all(vote[1:] == votes[0][1:] for vote in votes)
        return votes[0][1:] if same else divided
    if rule.name == "any-reject" and any(verdict == "reject" for _, verdict, _ in votes):
        return "reject", ""

    def leaders(names: list[str]) -> list[str]:
        return [
            n for n in sorted(set(names)) if all(names.count(n) >= names.count(m) for m in names)
        ]

    best = leaders([verdict for _, verdict, _ in votes])
    if len(best) > 1:
        return divided
    texts = leaders([edit for _, verdict, edit in votes if verdict == best[0]])
    return (best[0], texts[0]) if len(texts) == 1 else divided


RULES = [
    Rule(name, otherwise, "j0" if name == "adjudicator" else None)
    for name in ("majority", "unanimous", "any-reject", "adjudicator")
    for otherwise in (None, "reject")
]
VOTE = st.sampled_from(["accept", "reject", "edit:x", "edit:y"])


class TestSettle:
    @given(
        votes=st.dictionaries(st.sampled_from([f"j{n}" for n in range(6)]), VOTE),
        rule=st.sampled_from(RULES),
        least=st.integers(1, 4),
        data=st.data(),
    )
    def test_it_does_what_counting_does_in_any_order(self, votes, rule, least, data):
        given = said(*(("i", judge, vote) for judge, vote in votes.items()))
        expected = twin([(x.judge, x.verdict, x.edit) for x in given], rule, least)
        decision = decide(data.draw(st.permutations(given)), rule, least, ["i"])["i"]
        assert (decision.verdict, decision.edit) == expected
        assert decision.judges == len(votes)

    @pytest.mark.parametrize(
        ("votes", "rule", "least", "verdict", "reason"),
        [
            ("r r a", Rule(), 1, "reject", "by 2 of 3 judges"),
            ("a r", Rule(), 1, None, "judges are divided: accept 1, reject 1"),
            ("a r", Rule(otherwise="reject"), 1, "reject",
             "as judges are divided: accept 1, reject 1"),
            ("a a", Rule(), 3, None, "judged by 2, expected 3 or more"),
            ("", Rule(), 1, None, "not judged"),
            ("a a r", Rule("unanimous"), 1, None, "judges are divided: accept 2, reject 1"),
            ("a a r", Rule("any-reject"), 1, "reject", "by 1 of 3 judges"),
            ("a a r", Rule("adjudicator", adjudicator="j2"), 4, "reject", "by j2, who decides"),
            ("a r", Rule("adjudicator", adjudicator="zoe"), 1, None,
             "judges are divided: accept 1, reject 1; zoe decides"),
            ("a a", Rule("adjudicator", adjudicator="zoe"), 1, "accept", "by 2 of 2 judges"),
            ("x y", Rule(), 1, None, "judges are divided: edit 2, the edits differ"),
            ("x x y", Rule(), 1, "edit", "by 3 of 3 judges"),
        ],
    )  # fmt: skip
    def test_reasons(self, votes, rule, least, verdict, reason):
        words = {"a": "accept", "r": "reject", "x": "edit:x", "y": "edit:y"}
        given = said(*(("i", f"j{n}", words[vote]) for n, vote in enumerate(votes.split())))
        decision = decide(given, rule, least, ["i"])["i"]
        assert (decision.verdict, decision.reason) == (verdict, reason)

    def test_any_verdicts_will_do(self):
        given = said(("s1", "anna", "word order"), ("s1", "bo", "tense"), ("s2", "bo", "tense"))
        found = decide(given, Rule("any-tense"))
        assert [d.verdict for d in found.values()] == ["tense", "tense"]

    def test_spaces_do_not_make_another_edit(self):
        given = said(("i", "anna", "edit:a  duck"), ("i", "bo", "edit:a duck"))
        assert decide(given, Rule("unanimous"))["i"].edit == "a  duck"
        assert disagreements(given) == []

    def test_only_the_last_word_of_a_judge_counts_and_withdrawn_ones_do_not(self):
        given = said(
            ("i", "a", "reject"), ("i", "b", "accept"), ("i", "a", "accept"), ("i", "b", "")
        )
        decision = decide(given)["i"]
        assert (decision.verdict, dict(decision.votes)) == ("accept", {"accept": 1})

    def test_rules_that_are_none(self):
        refused(lambda: Rule("majorty"), "'majorty'", "'majority'")
        refused(lambda: Rule("any-"), "'any-'")
        refused(lambda: Rule("adjudicator"), "the name of the adjudicator")
        refused(lambda: Rule("majority", adjudicator="anna"), "no adjudicator")
        refused(lambda: decide([], Rule(), 0), "min-judges is 0")

    def test_an_adjudicator_must_have_judged_something(self):
        given = said(("i", "bo", "accept"), ("j", "anna", "reject"), ("j", "bo", "reject"))
        rule = Rule("adjudicator", adjudicator="ana")
        refused(lambda: rule.check(given, "j.jsonl"), "no judge 'ana' in j.jsonl, expected one of")
        refused(lambda: rule.check(given, "j.jsonl"), "anna, bo")
        refused(lambda: rule.check([], "j.jsonl"), "'ana' in j.jsonl, nobody has judged yet")
        Rule("adjudicator", adjudicator="anna").check(given, "j.jsonl")
        Rule().check([], "j.jsonl")


class TestAgreement:
    def test_two_judges_by_hand(self):
        # 20 items: both accept 8, both reject 6, anna alone accepts 4, bo alone accepts 2.
        pairs = ["aa"] * 8 + ["rr"] * 6 + ["ar"] * 4 + ["ra"] * 2
        given = said(
            *(
                (f"i{n:02}", judge, vote)
                for n, p in enumerate(pairs)
                for judge, vote in zip("ab", p, strict=True)
            )
        )
        (row,) = agreement_table(given)
        assert (row.part, row.judges, row.items, row.fleiss_items) == ("all", 2, 20, 20)
        assert row.percent == pytest.approx(14 / 20)
        # anna accepts 12 of 20, bo 10: chance agrees in .6 * .5 + .4 * .5 = .5.
        assert row.cohen == pytest.approx((0.7 - 0.5) / (1 - 0.5))
        # Both together accept 22 of 40: chance agrees in .55² + .45² = .505.
        assert row.fleiss == pytest.approx((0.7 - 0.505) / (1 - 0.505))
        # Disagreeing pairs 6 of 20; expected 2 * 22 * 18 / (40 * 39).
        assert row.alpha == pytest.approx(1 - (6 / 20) / (2 * 22 * 18 / (40 * 39)))
        assert [(p.first, p.second, p.items) for p in row.pairs] == [("a", "b", 20)]
        assert len(disagreements(given)) == 6

    def test_three_judges_part_by_part(self):
        votes = {"i1": "aaa", "i2": "aar", "i3": "rr-", "i4": "a--", "i5": "---"}
        given = said(
            *(
                (item, judge, "" if v == "-" else v)
                for item, of in votes.items()
                for judge, v in zip(("anna", "bo", "cy"), of, strict=True)
            )
        )
        parts = {"i1": "isa", "i2": "isa", "i3": "hasa", "i4": "hasa", "i5": "hasa", "i6": "madeof"}
        rows = {row.part: row for row in agreement_table(given, parts)}
        assert list(rows) == ["all", "hasa", "isa", "madeof"]
        everything = rows["all"]
        assert (everything.judged, everything.items, everything.fleiss_items) == (4, 3, 2)
        assert everything.percent == pytest.approx((1 + 1 / 3 + 1) / 3)
        assert {(p.first, p.second): (p.items, p.percent) for p in everything.pairs} == {
            ("anna", "bo"): (3, 1.0), ("anna", "cy"): (2, 0.5), ("bo", "cy"): (2, 0.5),
        }  # fmt: skip
        # Anna and bo agree throughout: 1. Anna (a, a) and cy (a, r): chance agrees as often: 0.
        assert everything.cohen == pytest.approx((1 + 0 + 0) / 3)
        # i1 and i2: five accept, one reject: chance .25/.36 + .01/.36 …
        chance = (5 / 6) ** 2 + (1 / 6) ** 2
        assert everything.fleiss == pytest.approx((2 / 3 - chance) / (1 - chance))
        assert rows["isa"].fleiss == pytest.approx(everything.fleiss)
        # 8 verdicts in pairs: 5 accept, 3 reject; observed disagreement 3 * (2/3) = 2 of 8.
        assert everything.alpha == pytest.approx(1 - 7 * 2 / (64 - 25 - 9))
        assert rows["hasa"].items == 1
        assert math.isnan(rows["hasa"].cohen)
        assert rows["madeof"].judges == 0
        assert math.isnan(rows["madeof"].percent)

    def test_fleiss_is_taken_over_the_commonest_number_of_verdicts(self):
        votes = {"i1": "aa", "i2": "ar", "i3": "rr", "i4": "aaa"}
        given = said(*((i, f"j{n}", v) for i, of in votes.items() for n, v in enumerate(of)))
        (row,) = agreement_table(given)
        assert (row.items, row.fleiss_items) == (4, 3)
        assert row.fleiss == pytest.approx((2 / 3 - 1 / 2) / (1 - 1 / 2))

    def test_nobody_has_judged(self):
        (row,) = agreement_table([])
        assert (row.judges, row.items, row.pairs) == (0, 0, ())
        assert all(map(math.isnan, (row.percent, row.cohen, row.fleiss, row.alpha)))

    def test_disagreements_name_who_said_what(self):
        given = said(
            ("i2", "bo", "edit:x"), ("i2", "anna", "edit:y"), ("i1", "anna", "accept"),
            ("i1", "bo", "accept"), ("i0", "anna", "accept"), ("i0", "bo", ""),
        )  # fmt: skip
        (found,) = disagreements(given)
        assert found.item == "i2"
        assert [(one.judge, one.edit) for one in found.judgements] == [("anna", "y"), ("bo", "x")]


def test_a_digest_is_of_item_names_and_texts_but_not_of_spaces_and_hints():
    question = Question("i", {"head": "a b", "tail": "c"}, hints={"x": "1"})
    same = Question("i", {"tail": "c ", "head": " a\nb"}, score=3.0)
    assert question.digest == same.digest
    others = [
        Question("j", question.shown),
        Question("i", {"head": "a", "tail": "b c"}),
        Question("i", {"head": "a b", "wrong tail": "c"}),
    ]
    assert len({question.digest, *(other.digest for other in others)}) == 4
    assert json.loads(f'"{question.digest}"')[0] == "d"


@pytest.mark.parametrize("text", [b"my precious notes, one line", b"\xff\xfe", b"[" * 100_000])
def test_a_file_that_is_no_journal_is_left_alone(tmp_path, text):
    path = tmp_path / "notes.txt"
    path.write_bytes(text)
    one = [Judgement("item", "anna", "accept")]
    refused(lambda: Journal(path).merge(one), "line 1 is not a judgement")
    for ending in (b"", b"\n", b"\r\n \n"):
        path.write_bytes(text + ending)
        refused(lambda: Journal(path).append(one), f"the last line of {path} is not a judgement")
        assert path.read_bytes() == text + ending


def named(path: Path, *names: str) -> Path:
    """Put names into the column of judges, row by row, as a spreadsheet or its user may do."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        header, *rows = csv.reader(stream)
    for row, name in zip(rows, names, strict=False):
        row[header.index("judge")] = name
    with path.open("w", encoding="utf-8-sig", newline="") as stream:
        csv.writer(stream).writerows([header, *rows])
    return path


UNFIT = [
    ("ann ", "'ann ', expected a name without spaces at its ends"),
    ("\u3000ann", "'\\u3000ann', expected a name without spaces at its ends"),
    ("\u200bann", "'\\u200bann', expected a name without spaces at its ends"),
    ("an\x1b[31mn", "'an\\x1b[31mn', expected a name without control characters"),
    ("an\nn", "'an\\nn', expected a name without control characters"),
    ("x" * 101, f"'{'x' * 59}…', expected a name of 100 characters or fewer"),
]


class TestNames:
    @pytest.mark.parametrize(("name", "told"), UNFIT)
    def test_that_two_would_read_differently_are_refused(self, tmp_path, name, told):
        journal = Journal(tmp_path / "j.jsonl")
        path = named(sheet(tmp_path, i1=("a",)), *[name] * 3)
        refused(
            lambda: import_sheets([path], QUESTIONS, VERDICTS, journal),
            f"{path}, line 2 has the judge {told}",
        )
        assert not journal.path.exists()
        new = tmp_path / "new.csv"
        refused(lambda: write_sheet(new, QUESTIONS, name), f"the judge is {told}")
        assert not new.exists()

    def test_of_one_sheet_are_one(self, tmp_path):
        """Spreadsheets that fill a column down make anna1, anna2 and anna3 of one name."""
        journal = Journal(tmp_path / "j.jsonl")
        path = named(sheet(tmp_path, i1=("a",), i2=("a",), i3=("a",)), "anna", "anna", "anna3")
        refused(
            lambda: import_sheets([path], QUESTIONS, VERDICTS, journal),
            f"{path}, line 4 has the judge 'anna3', expected 'anna' as in line 2",
        )
        assert not journal.path.exists()

    @pytest.mark.parametrize("name", ["x" * 100, "安娜\u3000李", "O'Neil, Zoë", "=ann"])
    def test_of_all_kinds_are_fine(self, tmp_path, name):
        path = named(sheet(tmp_path, i1=("a",)), *[name] * 3)
        assert [one.judgement.judge for one in read_sheet(path, BY_ITEM, VERDICTS)] == [name]


def test_empty_cells_of_the_judge_take_the_name_that_is_given(tmp_path):
    questions = [Question("i1", {"text": "Water is wet."}, "")]
    path = tmp_path / "sheet.csv"
    write_sheet(path, questions, "anna")
    rows = list(csv.DictReader(path.open(encoding="utf-8-sig", newline="")))
    rows[0] |= {"judge": "", "verdict": "y"}
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    by_item = {question.item: question for question in questions}
    verdicts = VerdictSet({"yes": ("y",), "no": ("n",)})
    (line,) = read_sheet(path, by_item, verdicts, judge="bo")
    assert line.judgement.judge == "bo"
    with pytest.raises(BuildError, match="has no judge, expected a name"):
        read_sheet(path, by_item, verdicts)
