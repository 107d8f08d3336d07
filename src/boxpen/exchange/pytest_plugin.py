"""The rules of gate files as pytest tests: ``pytest --boxpen gate.toml`` (see gate.md).

Every pytest that boxpen is installed beside imports this module, so it imports nothing heavy: what
reads and checks gates is imported when there is one.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from boxpen.errors import BoxpenError, RunError
from boxpen.printable import printable

if TYPE_CHECKING:
    from boxpen.exchange.gate import CheckedGate, Gate
    from boxpen.runs.rules import Outcome, Rule

__all__ = ["GateFile", "RuleItem", "boxpen_gate"]

_WEEK = 7 * 24 * 3600  # seconds to wait for the worker that runs a gate
_gates = pytest.StashKey[dict[Path, "Gate"]]()
_checked = pytest.StashKey[dict[Path, "CheckedGate | RunError"]]()
_folder = pytest.StashKey[Path]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--boxpen``."""
    parser.getgroup("boxpen").addoption(
        "--boxpen",
        action="append",
        default=[],
        metavar="FILE",
        help="gate file: run what its table [run] says, and test every rule; repeatable.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Read the gate files, and collect them as if they had been named as tests."""
    config.addinivalue_line("markers", "boxpen: rules of the gate files given with --boxpen")
    config.stash[_checked] = {}
    gates = config.stash[_gates] = {}
    for name in config.option.boxpen:
        path = (config.invocation_params.dir / name).resolve()
        if sign := next((sign for sign in ("[", "::") if sign in str(path)), None):
            raise pytest.UsageError(
                f"{printable(str(path))} has '{sign}', after which pytest expects the name of a "
                "test; rename it"
            )
        try:
            gates[path] = _read(config, path)
        except BoxpenError as error:
            raise pytest.UsageError(printable(str(error))) from None
        if str(path) not in config.args:  # workers of xdist may be given the longer list
            config.args.append(str(path))
    config.option.boxpen = [str(path) for path in gates]


def _read(config: pytest.Config, path: Path) -> Gate:
    from boxpen.exchange.gate import read_gate

    gate = read_gate(path, runs=True)
    assert gate.run is not None
    # Tests may change the current folder before the gate is run.
    return replace(gate, run=replace(gate.run, out=config.invocation_params.dir / gate.run.out))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Give the workers of xdist a folder in which one of them leaves results for the others."""
    stash = node.config.stash
    if _folder not in stash:
        stash[_folder] = Path(tempfile.mkdtemp(prefix="boxpen-gate-"))
    node.workerinput["boxpen"] = str(stash[_folder])


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove that folder."""
    if _folder in config.stash:
        shutil.rmtree(config.stash[_folder], ignore_errors=True)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect gate files, but only those given with ``--boxpen``."""
    if not parent.config.option.boxpen:
        return None
    if file_path.resolve() not in parent.config.stash[_gates]:
        return None
    return GateFile.from_parent(parent, path=file_path)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Show the numbers, which tests that pass would not."""
    lines = [
        str(value)
        for status in ("passed", "failed")
        for report in terminalreporter.stats.get(status, ())
        for name, value in getattr(report, "user_properties", ())
        if name == "boxpen"
    ]
    if lines:
        terminalreporter.section("boxpen")
        for line in lines:
            terminalreporter.line(line)


@pytest.fixture(scope="session")
def boxpen_gate(request: pytest.FixtureRequest) -> Callable[[str | Path], CheckedGate]:
    """Run a gate file, once per session, for tests with assertions of their own.

    Call it with the path of the file, relative to the root folder of the tests. The result has
    ``runs`` and the ``outcomes`` of the rules; the rules are not enforced.
    """
    config = request.config

    def checked(path: str | Path) -> CheckedGate:
        found = (config.rootpath / path).resolve()
        try:
            gates = config.stash[_gates]
            return _check(config, found, gates.get(found) or _read(config, found))
        except BoxpenError as error:
            pytest.fail(printable(str(error)), pytrace=False)

    return checked


class GateFile(pytest.File):
    """A gate file: one test for each of its rules."""

    def collect(self) -> Iterator[RuleItem]:
        """Yield the rules as tests; rules with the same words are numbered."""
        seen: dict[str, int] = {}
        for rule in self.config.stash[_gates][self.path.resolve()].rules:
            name = printable(_title(rule))
            seen[name] = seen.get(name, 0) + 1
            shown = name if seen[name] == 1 else f"{name} #{seen[name]}"
            yield RuleItem.from_parent(self, name=shown, rule=rule)


class RuleItem(pytest.Item):
    """A rule of a gate file; it fails if one of the runs does not satisfy it."""

    def __init__(self, *, rule: Rule, **options: Any) -> None:
        super().__init__(**options)
        self.rule = rule
        self.add_marker("boxpen")

    def setup(self) -> None:
        """Run the gate, unless that has been done: what cannot be run is an error, no failure."""
        path = self.path.resolve()
        self.checked = _check(self.config, path, self.config.stash[_gates][path])

    def runtest(self) -> None:
        """Check the rule on all runs that it applies to."""
        outcomes = [o for o in self.checked.outcomes if o.rule == self.rule]
        for o in outcomes:
            verdict = "ok  " if o.passed else "FAIL"
            line = f"{verdict} {self.checked.place(o.run).name} {o.rule}: {o}"
            self.user_properties.append(("boxpen", printable(line)))
        failed = [_told(o, self.checked.place(o.run)) for o in outcomes if not o.passed]
        if failed:
            raise _BrokenRuleError("\n\n".join(failed))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *args: Any) -> Any:
        """Return the numbers of a broken rule, or the sentence of an error; no traceback."""
        if isinstance(excinfo.value, BoxpenError | _BrokenRuleError):
            return printable(str(excinfo.value), keep="\n")
        return super().repr_failure(excinfo, *args)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return what heads the section of a failure."""
        return self.path, None, self.name


class _BrokenRuleError(AssertionError):
    pass


def _title(rule: Rule) -> str:
    named = " × ".join(name for name in (rule.suite, rule.model) if name is not None)
    return f"{rule} [{named}]" if named else str(rule)


def _told(outcome: Outcome, place: Path) -> str:
    """Return what was found and what was asked for."""
    rule, row, run = outcome.rule, outcome.row, outcome.run
    lines = [
        f"{rule} does not hold for {run.suite_title} × {run.info.model.short}",
        f"  value      {row.value:.4f} (n = {row.n})",
        f"  interval   {row.low:.4f} to {row.high:.4f} (95 %)",
    ]
    if (base := outcome.baseline) is None:
        sign = {"min": "at least", "above": "more than", "max": "at most"}[rule.kind]
        lines.append(f"  threshold  {sign} {rule.bound:g}")
    else:
        lines.append(f"  baseline   {base.value:.4f} [{base.low:.4f}, {base.high:.4f}]")
        lines += [f"  p-value    {outcome.p:.2g}"] if outcome.p is not None else []
    return "\n".join([*lines, f"  run        {place}", f"  signature  {run.signature}"])


def _check(config: pytest.Config, path: Path, gate: Gate) -> CheckedGate:
    """Run and check a gate once per session, however many tests and workers need it."""
    known = config.stash[_checked]
    if path not in known:
        shared = getattr(config, "workerinput", {}).get("boxpen")
        try:
            # Users' filters may turn the warnings of libraries into errors.
            with warnings.catch_warnings():
                warnings.simplefilter("default")
                known[path] = gate.check(print) if shared is None else _shared(path, gate, shared)
        except BoxpenError as error:
            known[path] = RunError(str(error))
    found = known[path]
    if isinstance(found, RunError):
        raise found
    return found


def _shared(path: Path, gate: Gate, folder: str) -> CheckedGate:
    """Run and check a gate unless another worker has; wait if one is about to.

    A transaction of SQLite is the lock: it ends with its process, and works on every system.
    """
    Path(folder).mkdir(parents=True, exist_ok=True)
    database = Path(folder) / "gates.sqlite"
    with closing(sqlite3.connect(database, timeout=_WEEK, isolation_level=None)) as shared:
        shared.execute("BEGIN EXCLUSIVE")
        shared.execute("CREATE TABLE IF NOT EXISTS done (gate TEXT, run TEXT, error TEXT)")
        rows = shared.execute("SELECT run, error FROM done WHERE gate = ?", [str(path)]).fetchall()
        for _, error in rows:
            if error is not None:
                raise RunError(error)
        if rows:
            return gate.check_saved([Path(run) for run, _ in rows], allow_sample=True)
        try:
            checked = gate.check(print)
            new = [(str(path), str(place), None) for place in checked.places]
        except BoxpenError as error:
            shared.execute("INSERT INTO done VALUES (?, NULL, ?)", [str(path), str(error)])
            shared.execute("COMMIT")
            raise
        shared.executemany("INSERT INTO done VALUES (?, ?, ?)", new)
        shared.execute("COMMIT")
        return checked
