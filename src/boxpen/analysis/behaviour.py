"""The tests that were made from a knowledge graph: how many, and what they look like.

``count_tests`` is Table 3 of Razeghi et al. (2021), ``example_tests`` their Table 4. Task, graph,
relation and template of a test are its tags; its block is the triple that it was made from.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from boxpen.analysis.graphs import graph_of, in_order
from boxpen.analysis.relations import is_wrong
from boxpen.errors import SuiteError
from boxpen.items import Choice, Entail, Item, Suite

__all__ = ["Example", "RelationCount", "count_tests", "example_tests", "task_of"]


@dataclass(frozen=True, slots=True)
class RelationCount:
    """The tests of one relation.

    Attributes:
        triples: From how many triples tests were made.
        tasks: For every task, how many templates were used and how many tests there are.
    """

    graph: str
    relation: str
    triples: int
    tasks: dict[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Example:
    """One test of a task and a graph: its texts under the names of their parts."""

    task: str
    graph: str
    relation: str
    id: str
    texts: dict[str, str]


def count_tests(suite: Suite) -> list[RelationCount]:
    """Count triples, templates and tests by relation.

    Raises:
        SuiteError: If no item has a relation.
    """
    groups: dict[tuple[str, str], list[Item]] = {}
    for item in _made(suite):
        groups.setdefault((graph_of(item.tags), item.tags["relation"]), []).append(item)
    out = []
    for graph, relations in in_order(groups).items():
        for relation in relations:
            items = groups[graph, relation]
            tasks = dict.fromkeys(map(task_of, items))
            counts = {t: _count(i for i in items if task_of(i) == t) for t in tasks}
            triples = len({i.id if i.block is None else i.block for i in items})
            out.append(RelationCount(graph, relation, triples, counts))
    return out


def example_tests(suite: Suite) -> list[Example]:
    """Return the first test of every task and graph.

    Raises:
        SuiteError: If no item has a relation.
    """
    found: dict[tuple[str, str], Item] = {}
    for item in _made(suite):
        found.setdefault((task_of(item), graph_of(item.tags)), item)
    graphs = list(in_order((graph, "") for _, graph in found))
    ordered = sorted(found.items(), key=lambda pair: (pair[0][0], graphs.index(pair[0][1])))
    return [
        Example(task, graph, item.tags["relation"], item.id, _texts(item))
        for (task, graph), item in ordered
    ]


def task_of(item: Item) -> str:
    """Return the task of a test, by its tag or else by its kind; wrong tails are apart."""
    task = item.tags.get("task", "nli" if isinstance(item, Entail) else item.kind)
    return f"{task}, wrong tails" if is_wrong(item.tags) else task


def _made(suite: Suite) -> list[Item]:
    items = [item for item in suite if "relation" in item.tags]
    if not items:
        raise SuiteError(
            f"suite '{suite.name}' has no tag 'relation', expected a suite made from a knowledge "
            "graph (boxpen build example kg)"
        )
    return items


def _count(items: Iterable[Item]) -> tuple[int, int]:
    some = list(items)
    return len({i.tags["template"] for i in some if "template" in i.tags}), len(some)


def _texts(item: Item) -> dict[str, str]:
    if isinstance(item, Entail):
        label = " or ".join((item.label, *item.also))
        return {"P": item.premise, "H": item.hypothesis, "label": label}
    if not isinstance(item, Choice):
        return {"source": item.source, "reference": item.reference}
    goal = {} if item.context is None else {"goal": item.context}
    right = item.candidates[item.gold]
    wrong = [c for n, c in enumerate(item.candidates) if n != item.gold]
    numbered = {"wrong" if len(wrong) == 1 else f"wrong {n}": c for n, c in enumerate(wrong, 1)}
    return {**goal, "right": right, **numbered}
