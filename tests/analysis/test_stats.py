"""The table of sizes."""

import logging

import pytest

from boxpen.analysis.suites.stats import SetStats, SideStats, stats
from boxpen.catalog import load_suite
from boxpen.errors import SuiteError
from boxpen.items import Card, Choice, Entail, Suite, Translate


def test_commonmt_table_1(mirror):
    rows = {row.name: row for row in stats(load_suite("commonmt"))}
    assert list(rows) == ["LA", "CL-SA", "CT-SA", "TOTAL"]
    assert [row.items for row in rows.values()] == [400, 450, 350, 1200]
    # The averages that the paper prints; its 11.1 for the source of CT-SA is 11.0 here.
    averages = {
        name: tuple(round(side.average, 1) for side in (row.source, row.right, row.wrong))
        for name, row in rows.items()
    }
    assert averages["LA"] == (7.3, 9.1, 9.1)
    assert averages["CL-SA"] == (5.2, 6.3, 6.3)
    assert averages["CT-SA"][0] == 11.0
    assert averages["CT-SA"][1] == 13.5
    assert averages["TOTAL"] == (7.6, 9.3, 9.3)
    assert [row.source.tokens for row in rows.values()] == [2921, 2340, 3860, 9121]
    # Unique tokens of source in the paper: 1,246, 838, 1,083 and 2,570.
    assert [row.source.unique for row in rows.values()] == [1243, 838, 1079, 2565]


def test_discourse_table_1_counts_the_sentences_before(mirror):
    rows = {row.name: row.with_context for row in stats(load_suite("discourse"))}
    # The paper has 800 sentences of each, and 8,469, 10,398 and 5,913 English words; whatever its
    # words are, the order and the proportions are the same.
    assert [both[0].sentences for both in rows.values()] == [800, 800, 800, 2400]
    counted = [rows[name][0].tokens + rows[name][0].marks for name in list(rows)[:3]]
    assert counted == [7420, 9055, 5372]
    for found, printed in zip(counted, (8469, 10398, 5913), strict=True):
        assert 0.85 < found / printed < 0.95


def test_contexts_by_hand():
    both = Translate(
        id="1", source="I do.", reference="我也哭。", context="Do you cry, too?",
        reference_context="你也哭吗？",
    )  # fmt: skip
    alone = Translate(id="2", source="I do.", reference="我也哭。")
    suite = Suite("s", (both, alone), Card(language="zh", source_language="en"))
    [total] = stats(suite)
    assert total.context == SideStats(1, 4, 4, 2)
    assert total.right_context == SideStats(1, 4, 4, 1)
    english, chinese = total.with_context
    assert (english.sentences, english.tokens, english.marks) == (3, 8, 4)
    assert (chinese.sentences, chinese.tokens) == (3, 10)
    [total] = stats(suite.take([alone]))
    assert total.with_context is None


def test_marks_by_hand():
    texts = {"I don't know, he said.": ("en", 2), "我不知道，他说：“走吧！”": ("zh", 5)}
    for text, (language, marks) in texts.items():
        item = Translate(id="1", source="x", reference=text)
        [total] = stats(Suite("s", (item,), Card(language=language)))
        assert total.right.marks == marks


def test_words_by_hand():
    items = (
        Choice(id="1", candidates=("It's a DOG.", "a dog, a dog!"), gold=0, tags={"part": "x"}),
        Choice(id="2", candidates=("No", "Yes", "A don’t"), gold=2, tags={"part": "y"}),
    )
    x, y, total = stats(Suite("s", items))
    assert x == SetStats("x", 1, None, SideStats(1, 3, 3, 1), SideStats(1, 4, 2, 2))
    assert y == SetStats("y", 1, None, SideStats(1, 2, 2, 0), SideStats(2, 2, 2, 0))
    assert total == SetStats("TOTAL", 2, None, SideStats(2, 5, 4, 1), SideStats(3, 6, 4, 2))
    assert total.wrong.average == 2.0


def test_chinese_is_divided_into_words(caplog, capfd):
    item = Translate(id="1", source="盒子在围栏里。", reference="The box is in the pen.")
    for card in (Card(), Card(language="en", source_language="zh")):
        [total] = stats(Suite("s", (item,), card))
        assert total.source == SideStats(1, 4, 4, 1)
        assert total.right == SideStats(1, 6, 5, 1)
        assert total.wrong is None
    assert not [r for r in caplog.records if r.levelno >= logging.INFO]
    assert capfd.readouterr() == ("", "")


def test_other_kinds():
    contrast = Translate(id="t", source="ja", reference="oh yes", contrast=("no", "not at all"))
    [total] = stats(Suite("s", (contrast,)))
    assert total.wrong == SideStats(2, 4, 4, 0)
    entail = Entail(id="e", premise="a b c", hypothesis="a", label="neutral")
    [total] = stats(Suite("s", (entail,)))
    assert total == SetStats("TOTAL", 1, SideStats(1, 3, 3, 0), SideStats(1, 1, 1, 0), None)


def test_unusable_labels_do_not_matter():
    items = tuple(Choice(id=str(g), candidates=("a", "b"), gold=g) for g in (-1, 2))
    [total] = stats(Suite("s", items))
    assert total.right is None
    assert total.wrong.sentences == 4


def test_another_tag(mirror):
    assert [row.name for row in stats(load_suite("cats"), "level")] == [
        "token",
        "sentence",
        "TOTAL",
    ]
    with pytest.raises(SuiteError, match="has no tag 'levle', did you mean 'level'"):
        stats(load_suite("cats"), "levle")
    with pytest.raises(SuiteError, match="has no tags at all"):
        stats(load_suite("piqa"), "set")
