"""boxpen review judge: judge in the terminal, one key per item."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from boxpen.cli.command import MultiValueCommand, command
from boxpen.cli.keyboard import Keyboard
from boxpen.cli.output import console, note
from boxpen.cli.review import Asked, Chosen, Target, Values, review
from boxpen.errors import BuildError

if TYPE_CHECKING:
    from rich.console import Console

    from boxpen.review.app.desk import Desk

__all__ = ["judge_items"]

_QUIT = "q"


@command(review, "judge", cls=MultiValueCommand)
def judge_items(
    target: Target,
    judge: Annotated[str, typer.Option(metavar="NAME", help="Who judges.")],
    asked: Asked,
    chosen: Chosen,
    values: Values = None,
) -> None:
    """Judge in the terminal, one key per item; rerun to resume."""
    from boxpen.names import check_judge
    from boxpen.review.app.desk import Desk

    check_judge(judge, "--judge")
    desk = Desk(asked.about(target, values), judge, chosen.selection())
    if desk.torn:
        note(desk.torn)
    guide, screen = desk.task.guide, console()
    if desk.question is not None:
        for text in (guide.title, *guide.instructions):
            screen.print(f"{text}\n")
    start = time.monotonic()
    with Keyboard() as keyboard:
        while desk.question is not None and _ask(desk, screen, keyboard):
            pass
    number, seconds = len(desk.done), time.monotonic() - start
    rate = f", {60 * number / seconds:,.0f} per minute" if number else ""
    noun = desk.task.noun
    note(f"{judge}: {number:,} {noun}(s) judged{rate}; {len(desk.open):,} left")


def _ask(desk: Desk, screen: Console, keyboard: Keyboard) -> bool:
    """Show a question, and do what the next key says; False to stop."""
    from boxpen.review.app.desk import SKIP, UNDO

    question, keys = desk.question, desk.keys
    assert question is not None
    place = f"{len(desk.done) + 1:,} of {len(desk.done) + len(desk.open):,}"
    width = max(map(len, question.texts), default=0)
    lines = [f"{name:{width}}  {text}" for name, text in question.texts.items()]
    labels = [f"{n} {label}" for n, label in desk.labels.items()]
    screen.print("\n".join([place, *lines, "  ".join([*labels, "s skip  u undo  q quit"])]))
    while (key := keyboard.key()) not in (_QUIT, ""):
        if key == SKIP:
            desk.skip()
        elif key == UNDO:
            if not desk.undo():
                note("there is nothing to undo")
                continue
        elif key in keys:
            if not _judged(desk, keys[key], keyboard):
                continue
        else:
            note(f"press {', '.join(keys)}, {SKIP}, {UNDO} or {_QUIT}")
            continue
        screen.print("")
        return True
    return False


def _judged(desk: Desk, verdict: str, keyboard: Keyboard) -> bool:
    """Keep a verdict; False if it was refused, for the reason that is shown."""
    try:
        edited = verdict in desk.task.verdicts.edited
        desk.judged(verdict, keyboard.line("new text: ").strip() if edited else "")
    except BuildError as error:
        note(str(error))
        return False
    return True
