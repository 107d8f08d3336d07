"""What the source may not contain: calls that would run, unpickle or unpack what others wrote."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import boxpen

SOURCE = Path(boxpen.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
MODULES = {"pickle", "cPickle", "joblib", "dill", "cloudpickle", "shelve", "marshal", "yaml"}
CALLS = {"eval", "exec", "compile", "os.system", "os.popen", "tempfile.mktemp"}
NEEDED = {
    "torch.load": ("weights_only", True),
    "np.load": ("allow_pickle", False),
    "numpy.load": ("allow_pickle", False),
}


def calls() -> Iterator[tuple[str, str, ast.Call]]:
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                where = f"{path.relative_to(SOURCE)}:{node.lineno}"
                yield where, ast.unparse(node.func), node


def said(node: ast.Call, name: str) -> str | None:
    found = next((k.value for k in node.keywords if k.arg == name), None)
    return None if found is None else ast.unparse(found)


def test_no_module_that_runs_what_it_reads():
    found = []
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = (
                [a.name for a in node.names] if isinstance(node, ast.Import)
                else [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level
                else []
            )  # fmt: skip
            found += [(path.name, n) for n in names if n.partition(".")[0] in MODULES]
    assert not found


def test_no_call_that_runs_text():
    assert not [(where, name) for where, name, _ in calls() if name in CALLS]


def test_no_archive_is_unpacked_by_the_names_in_it():
    names = {"extractall", "unpack_archive"}
    assert not [(w, n) for w, n, _ in calls() if n.rpartition(".")[2] in names]


def test_no_shell():
    assert not [w for w, _, node in calls() if said(node, "shell") not in (None, "False")]


@pytest.mark.parametrize("name", NEEDED)
def test_loaders_say_that_they_take_no_pickle(name):
    option, value = NEEDED[name]
    found = [(where, said(node, option)) for where, call, node in calls() if call == name]
    assert all(given == str(value) for _, given in found), found


def test_every_loader_of_transformers_says_whether_code_may_run():
    """Without it, Transformers asks on the terminal, in the middle of a run."""
    spread = {"code", "options", "more"}
    lacking = []
    for where, name, node in calls():
        owner, _, method = name.rpartition(".")
        if method != "from_pretrained":
            continue
        if not (owner.rpartition(".")[2].startswith("Auto") or owner == "auto"):
            continue  # a class of Transformers' own runs no other
        passed = {ast.unparse(k.value) for k in node.keywords if k.arg is None}
        if said(node, "trust_remote_code") is None and not passed & spread:
            lacking.append(where)
    assert not lacking
