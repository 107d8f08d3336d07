"""The quick run fills a table on a terminal while it scores; a file gets the first number alone."""

import io
import time

import pytest

from boxpen.cli import output


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("terminal", [True, False])
def test_what_is_above_the_bars_goes_with_them(terminal, monkeypatch):
    stream = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    shown: list[str] = []
    with output.progress_bar(above=lambda: shown[-1] if shown else None) as report:
        report("suite × model", 0, 4)
        for done, table in enumerate(("60 items", "140 items"), 1):
            shown.append(table)
            report("suite × model", done, 4)
        time.sleep(0.5)  # terminals are drawn ten times a second
        report("suite × model", 4, 4)
    text = stream.getvalue()
    assert ("items" in text) == terminal
    last = text.rpartition("\x1b[2K")[2]  # what is left when the display ends
    assert "items" not in last
    assert "4/4" in last


def test_a_bar_for_more_of_the_same_begins_anew(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    with output.progress_bar() as report:
        report("suite", 0, 100)
        report("suite", 100, 100)
        report("suite", 0, 7)
        report("suite", 7, 7)
    assert "7/7" in stream.getvalue()
    assert "-" not in stream.getvalue().split("7/7")[1].split("/s")[0]
