"""What the source may not contain: calls that would run, unpickle or unpack what others wrote."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
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

TRUST_OPTION = "trust_remote_code"
Scope = tuple[ast.FunctionDef, ...]


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def calls() -> Iterator[tuple[str, str, ast.Call]]:
    for path in FILES:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Call):
                where = f"{path.relative_to(SOURCE)}:{node.lineno}"
                yield where, ast.unparse(node.func), node


def said(node: ast.Call, name: str) -> str | None:
    found = next((k.value for k in node.keywords if k.arg == name), None)
    return None if found is None else ast.unparse(found)


def test_no_module_that_runs_what_it_reads():
    found = []
    for path in FILES:
        for node in ast.walk(parsed(path)):
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
    loaders = []
    for path in FILES:
        for node, scope in scoped(parsed(path)):
            owner, _, method = ast.unparse(node.func).rpartition(".")
            # A class of Transformers' own runs no other.
            if method == "from_pretrained" and owner.rpartition(".")[2].lower().startswith("auto"):
                loaders.append((f"{path.relative_to(SOURCE)}:{node.lineno}", node, scope))
    assert len(loaders) > 8
    assert not [where for where, node, scope in loaders if not says_trust(node, scope)]


@pytest.mark.parametrize(
    ("body", "enough"),
    [
        ("AutoModel.from_pretrained(x, trust_remote_code=False)", True),
        ("AutoModel.from_pretrained(x)", False),
        ("code = {'trust_remote_code': False}; AutoModel.from_pretrained(x, **code)", True),
        ("a, code = 1, {'trust_remote_code': False}; AutoModel.from_pretrained(x, **code)", True),
        ("code = {'dtype': 1}; AutoModel.from_pretrained(x, **code)", False),
        ("AutoModel.from_pretrained(x, **unknown)", False),
        ("AutoModel.from_pretrained(x, **{'trust_remote_code': False})", True),
    ],
)
def test_what_says_it(body, enough):
    ((call, scope),) = scoped(ast.parse(f"def f():\n    {body}"))
    assert says_trust(call, scope) is enough


def scoped(tree: ast.AST, scope: Scope = ()) -> Iterator[tuple[ast.Call, Scope]]:
    """Yield every call with the functions around it, the outermost first."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Call):
            yield node, scope
        inner = (*scope, node) if isinstance(node, ast.FunctionDef) else scope
        yield from scoped(node, inner)


def says_trust(call: ast.Call, scope: Scope) -> bool:
    """Whether a call passes ``trust_remote_code``, in its own words or in a dictionary."""
    if said(call, TRUST_OPTION) is not None:
        return True
    for spread in (k.value for k in call.keywords if k.arg is None):
        if has_key(spread):
            return True
        name = ast.unparse(spread)
        if scope and any(has_key(value) for value in assigned(scope[0], name)):
            return True
        for function in scope:
            if function.args.kwarg and function.args.kwarg.arg == name:  # handed on by its callers
                callers = [
                    (node, around)
                    for path in FILES
                    for node, around in scoped(parsed(path))
                    if ast.unparse(node.func).rpartition(".")[2] == function.name
                ]
                return bool(callers) and all(says_trust(*caller) for caller in callers)
    return False


def assigned(function: ast.AST, name: str) -> Iterator[ast.expr]:
    """Yield what is assigned to a name in a function."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                pairs = [(target, node.value)]
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = list(zip(target.elts, node.value.elts, strict=True))
                yield from (value for left, value in pairs if ast.unparse(left) == name)


def has_key(value: ast.expr) -> bool:
    keys = value.keys if isinstance(value, ast.Dict) else []
    return any(isinstance(key, ast.Constant) and key.value == TRUST_OPTION for key in keys)
