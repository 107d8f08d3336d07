"""Every command and Python block of the documentation runs, or is listed with the reason why not.

The commands of a page run in order, in a folder where ``reader.py`` makes what they name: small
models, suites, runs and files. Commands that ``listed.py`` names are parsed by the parser of their
program. A new command is run as it stands; if it cannot be, add it to ``listed.py``.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("torch")

from listed import reason
from pages import PAGES, ROOT, blocks, commands
from parsed import parse
from reader import Reader
from shell import Shell

FOUND = {str(page.relative_to(ROOT)): found for page in PAGES if (found := commands(page))}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.mark.parametrize("page", FOUND)
def test_the_commands_of_a_page_run(
    page: str, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = Shell(Reader(page, tmp_path / "page", models), monkeypatch)
    failed = []
    for number, command in enumerate(FOUND[page]):
        try:
            if reason(command):
                with pytest.MonkeyPatch.context() as patch:
                    parse(command, patch)
            elif command.alone:
                with pytest.MonkeyPatch.context() as patch:
                    Shell(Reader(page, tmp_path / str(number), models), patch).run(command)
            else:
                shell.run(command)
        except (Exception, SystemExit) as error:
            failed.append(f"{type(error).__name__} {error}\n  {command}")
    assert not failed, "\n" + "\n".join(failed)


def test_commands_were_found() -> None:
    assert sum(map(len, FOUND.values())) > 400


OWN_TESTS = {
    "docs/how-to/coming-from.md": "tests/test_coming_from.py",
    "docs/reference/python.md": "tests/test_python_page.py",
    "docs/how-to/extend/adding-a-builder.md": "tests/build/test_runner.py",
    "docs/how-to/extend/plugins.md": "tests/test_plugins.py",
    "docs/how-to/extend/adding-a-model.md": "a sketch",
    "docs/how-to/evaluate/gate.md": "tests/exchange/test_pytest_plugin.py",
    "docs/results/suites/import.md": "tests/test_suites_page.py",
}
"""Pages whose Python other tests run, or nobody can."""
PYTHON = {
    str(page.relative_to(ROOT)): found
    for page in PAGES
    if (found := [block for block in blocks(page) if block.language == "python"])
}


@pytest.mark.parametrize("page", sorted(PYTHON.keys() - OWN_TESTS))
def test_the_python_of_a_page_runs(
    page: str, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = Reader(page, tmp_path / "page", models)
    Shell(reader, monkeypatch)  # for its folder and its cache
    module = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)
    for block in PYTHON[page]:
        if 'Path("elmo")' in block.text:  # tests/bilm/test_elmo.py writes such files
            continue
        code = re.sub(r'"(hf:\w+)"', lambda named: repr(reader.model(named[1])), block.text)
        code = re.sub(r'"(cadec)"', lambda named: repr(reader.model(named[1])[3:]), code)
        code = re.sub(r'"(commonmt)"', lambda named: repr(reader.suite(named[1])), code)
        exec(compile(code, f"{block.page}:{block.line}", "exec"), vars(module))
