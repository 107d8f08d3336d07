"""Failure rates by relation, as Tables 1 and 2 of Razeghi et al. (2021) print them.

One table per task. Rows are relations under the name of their graph; columns are models, for
inference in each setting: a run of a 3-way classifier shows its 2-way failures too, from the same
records. A test's tags and block hold its task, graph, relation and triple.

The paper's tests of inference all expect entailment, so that a constant answer passes them. Tests
of wrong tails (tag ``tail``) add what it would fail:

- the failure rate on wrong tails: what does not follow was taken to follow;
- balanced accuracy, the mean over both kinds of test, where a constant answer has 0.5. Relations
  that are only likely accept *neutral* for right tails too, and have none: always answering
  *neutral* would pass all of their tests;
- paired accuracy, for all relations: how often the right tail is held likelier to follow than the
  wrong one in the same words, where a constant answer has 0.5.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from boxpen.analysis.graphs import graph_of, in_order
from boxpen.analysis.relations import WRONG, is_wrong
from boxpen.errors import RunError
from boxpen.metrics.choice import balanced_accuracy, chance, failure_rate, right_answers
from boxpen.metrics.intervals import Estimate, share
from boxpen.report.tables import systems
from boxpen.runs.info import SuiteInfo
from boxpen.runs.run import Run
from boxpen.scoring.normalise import TIE_TOLERANCE
from boxpen.scoring.verdicts import Verdict

__all__ = ["ALL", "FailureTable", "Failures", "failure_tables"]

ALL = "all"
_SETTINGS = ("3-way", "2-way", "binary", "")


@dataclass(frozen=True, slots=True)
class Failures:
    """The failures of one model on the tests of one relation, or another measure of them."""

    rate: Estimate
    tests: int
    triples: int


@dataclass(frozen=True)
class FailureTable:
    """The failure rates of one task.

    Attributes:
        task: ``nli``, ``qa``, or what else the tests are tagged with.
        columns: Setting (empty but for inference) and model.
        cells: By graph, relation and number of the column; the relation ``all`` stands for all of
            a graph.
        guessing: The share of tests that guessing fails, column by column.
        notes: Notes needed to compare the columns.
        measure: What the cells hold.
        more: Tables of other measures of the same tests, for those with wrong tails.
    """

    task: str
    columns: tuple[tuple[str, str], ...]
    cells: Mapping[tuple[str, str, int], Failures]
    guessing: tuple[float, ...]
    notes: tuple[str, ...] = ()
    measure: str = "failure rate"
    more: tuple[FailureTable, ...] = ()

    @cached_property
    def rows(self) -> dict[str, list[str]]:
        """The relations of every graph, in the order of the paper, and then ``all``."""
        found = in_order((graph, name) for graph, name, _ in self.cells if name != ALL)
        return {g: [*names, *([ALL] if len(names) > 1 else [])] for g, names in found.items()}

    def row(self, graph: str, relation: str) -> list[Failures | None]:
        """Return the cells of a line."""
        return [self.cells.get((graph, relation, n)) for n in range(len(self.columns))]

    def counts(self, graph: str, relation: str) -> tuple[int, int]:
        """Return the most tests and triples that a model has in a line."""
        cells = [cell for cell in self.row(graph, relation) if cell is not None]
        return max(c.tests for c in cells), max(c.triples for c in cells)


def failure_tables(runs: Sequence[Run]) -> list[FailureTable]:
    """Return a table for every task of runs.

    Args:
        runs: Of suites whose items carry the tag ``relation``; the tags ``graph`` and ``task`` say
            more. Runs of one model on several suites make one column, in which a test that stands
            in two of them (a suite and a part of it) counts once. Ids and blocks are those of their
            suite: other suites may use the same names for other tests.

    Raises:
        RunError: If no item has a relation.
    """
    tasks: dict[str, dict[tuple[str, str], list[Verdict]]] = {}
    lost: Counter[tuple[str, str]] = Counter()
    seen: set[tuple[object, ...]] = set()
    apart = {run.signature: run for run in runs}
    source = _sources(list(apart.values()))
    for setting, name, run in _columns(list(apart.values())):
        made = {(setting, name, *_test(run, v)): v for v in run.verdicts if "relation" in v.tags}
        new = [v for key, v in made.items() if key not in seen]
        seen.update(made)
        verdicts = _in_setting(replace(run, verdicts=tuple(new)), setting)
        lost[setting, name] += len(new) - len(verdicts)
        for verdict in verdicts:
            task = verdict.tags.get("task", "nli" if setting else "choice")
            named = _named_within(source[run.signature], verdict)
            tasks.setdefault(task, {}).setdefault((setting, name), []).append(named)
    if not tasks:
        suites = ", ".join(dict.fromkeys(run.suite_title for run in runs))
        raise RunError(
            f"no item of {suites} has the tag 'relation'; failure tables are of suites made from a "
            "knowledge graph (boxpen build example kg)"
        )
    return [_table(task, columns, lost) for task, columns in tasks.items()]


def _columns(runs: Sequence[Run]) -> Iterator[tuple[str, str, Run]]:
    """Yield every run in each setting that its records allow, each setting of a model once."""
    found: dict[tuple[str, str, str], Run] = {}
    for name, members in _named(runs):
        for run in members:
            settings = ["3-way", "2-way"] if run.setting in ("3-way", "2-way") else [run.setting]
            for setting in settings:
                key = (setting, name, run.suite_title)
                # The run of the other setting has fewer items, if any are neutral.
                if key not in found or run.setting == setting:
                    found[key] = run
    ordered = sorted(found.items(), key=lambda pair: _SETTINGS.index(pair[0][0]))
    for (setting, name, _), run in ordered:
        yield setting, name, run


def _named(runs: Sequence[Run]) -> list[tuple[str, list[Run]]]:
    models = [run for run in runs if not run.human]
    return [*systems(models), *systems([run for run in runs if run.human])]


def _test(run: Run, verdict: Verdict) -> tuple[object, ...]:
    """Return what a test is known by: its id and its texts, or its suite if none are kept."""
    texts = tuple((c.prefix, c.text) for c in run.candidates.get(verdict.id, ()))
    return verdict.id, texts or run.suite_title


def _sources(runs: Sequence[Run]) -> dict[str, int]:
    """Return a number for every run, by signature: equal if an id means the same test in both.

    A suite, its samples and its parts are one source, others have their own.
    """
    found: list[_Source] = []
    out: dict[str, int] = {}
    for run in sorted(runs, key=lambda run: (-len(run.verdicts), not run.candidates)):
        suite = run.info.suite
        tests = {v.id: _test(run, v) for v in run.verdicts if run.candidates.get(v.id)}
        fitting = (n for n, source in enumerate(found) if source.has(suite, tests))
        number = next(fitting, len(found))
        if number == len(found):
            found.append(_Source(set(), set(), {}))
        found[number].hashes.add(suite.hash)
        found[number].names.add(suite.name)
        found[number].tests.update(tests)
        out[run.signature] = number
    return out


class _Source(NamedTuple):
    """Suites in which an id means the same test, and their tests by id."""

    hashes: set[str]
    names: set[str]
    tests: dict[str, tuple[object, ...]]  # of runs that keep texts

    def has(self, suite: SuiteInfo, tests: Mapping[str, tuple[object, ...]]) -> bool:
        """Whether a run is of one of these suites; without context it has other texts."""
        if suite.hash in self.hashes:
            return True
        shared = [self.tests[i] == test for i, test in tests.items() if i in self.tests]
        return all(shared) and (bool(shared) or suite.name in self.names)


def _named_within(source: int, verdict: Verdict) -> Verdict:
    """Return a verdict whose id and block are not those of another source."""
    block = None if verdict.block is None else f"{source} {verdict.block}"
    return replace(verdict, id=f"{source} {verdict.id}", block=block)


def _in_setting(run: Run, setting: str) -> Sequence[Verdict]:
    """Return the verdicts of a run in a setting, without items that have no right label in it."""
    if setting in ("", run.setting):
        return run.verdicts
    kept = [
        v
        for v in run.verdicts
        if not (setting == "2-way" and {run.labels[v.gold], *v.also} == {"neutral"})
    ]
    return replace(run, verdicts=tuple(kept)).rescore(nli=setting).verdicts


def _table(
    task: str,
    found: _Found,
    lost: Mapping[tuple[str, str], int],
) -> FailureTable:
    columns = tuple(sorted(found, key=lambda column: _SETTINGS.index(column[0])))
    right = {c: [v for v in found[c] if not is_wrong(v.tags)] for c in columns}
    wrong = {c: [v for v in found[c] if is_wrong(v.tags)] for c in columns}
    ids = {frozenset(v.id for v in found[column]) for column in columns}
    notes = [
        f"{name}, {setting}: {lost[setting, name]} test(s) expect neutral, and are left out"
        for setting, name in columns
        if lost[setting, name]
    ]
    notes += ["not all columns are of the same tests"] if len(ids) > 1 else []
    if any(right_answers(v) > 1 for column in columns for v in right[column]):
        notes.append(
            "relations that are only likely accept neutral too: guessing fails 33.3 % of their "
            "3-way tests, and 66.7 % of the others; they have no 3-way balanced accuracy"
        )

    def table(measure: str, of: _Measure, over: _Found) -> FailureTable:
        cells = {
            (graph, relation, number): Failures(estimate, len(some), _triples(some))
            for number, column in enumerate(columns)
            for (graph, relation), some in _grouped(over[column]).items()
            if (estimate := of(some, column[0])) is not None
        }
        guessing = (1 - chance(over[c]).value if of is _failed else 0.5 for c in columns)
        return FailureTable(task, columns, cells, tuple(guessing), measure=measure)

    main = replace(table("failure rate", _failed, right), notes=tuple(notes))
    if not any(wrong.values()):
        return main
    more = (
        table("failure rate on wrong tails", _failed, wrong),
        table("balanced accuracy", _balanced, {c: _strict(found[c]) for c in columns}),
        table("paired accuracy", _paired, found),
    )
    return replace(main, more=more)


_Found = Mapping[tuple[str, str], Sequence[Verdict]]
_Measure = Callable[[Sequence[Verdict], str], Estimate | None]


def _grouped(verdicts: Iterable[Verdict]) -> dict[tuple[str, str], list[Verdict]]:
    groups: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in verdicts:
        graph = graph_of(verdict.tags)
        groups.setdefault((graph, verdict.tags["relation"]), []).append(verdict)
        groups.setdefault((graph, ALL), []).append(verdict)
    return groups


def _failed(verdicts: Sequence[Verdict], _: str) -> Estimate:
    return failure_rate(verdicts)


def _strict(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the tests of relations whose right tails must be entailed."""
    right = [v for v in verdicts if not is_wrong(v.tags) and right_answers(v) == 1]
    names = {(graph_of(v.tags), v.tags["relation"]) for v in right}
    wrong = [v for v in verdicts if is_wrong(v.tags)]
    return right + [v for v in wrong if (graph_of(v.tags), v.tags["relation"]) in names]


def _balanced(verdicts: Sequence[Verdict], _: str) -> Estimate | None:
    right = [v for v in verdicts if not is_wrong(v.tags)]
    wrong = [v for v in verdicts if is_wrong(v.tags)]
    return balanced_accuracy([right, wrong]) if right and wrong else None


def _paired(verdicts: Sequence[Verdict], setting: str) -> Estimate | None:
    """Return how often a right tail is held likelier to follow than the wrong one beside it."""
    right = {v.id: v for v in verdicts if not is_wrong(v.tags)}
    earned: list[float] = []
    blocks: list[str] = []
    for wrong in verdicts:
        if is_wrong(wrong.tags) and (beside := right.get(wrong.id.removesuffix(WRONG))):
            gap = _entailed(beside, setting) - _entailed(wrong, setting)
            earned.append(0.5 if abs(gap) <= TIE_TOLERANCE else float(gap > 0))
            blocks.append(wrong.block or wrong.id)
    return share(earned, blocks) if earned else None


def _entailed(verdict: Verdict, setting: str) -> float:
    """Return the log-probability of entailment among the labels that compete; it is the first."""
    if not setting:  # the share of answers
        return verdict.scores[0]
    return verdict.scores[0] - math.log(math.fsum(map(math.exp, verdict.scores)))


def _triples(verdicts: Sequence[Verdict]) -> int:
    return len({v.block if v.block is not None else v.id for v in verdicts})
