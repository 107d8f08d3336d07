"""Which knowledge graph a test comes from, and in which order graphs and relations are shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from boxpen.analysis.relations import ATOMIC, CONCEPTNET

__all__ = ["graph_of", "in_order"]

_TITLES = {"conceptnet": "ConceptNet", "atomic": "ATOMIC"}
_RELATIONS = (*CONCEPTNET, *ATOMIC)


def graph_of(tags: Mapping[str, str]) -> str:
    """Return the graph of a test as papers write it, by its tag or else by its relation."""
    relation = tags.get("relation")
    known = "conceptnet" if relation in CONCEPTNET else "atomic" if relation in ATOMIC else "other"
    name = tags.get("graph", known)
    return _TITLES.get(name.lower(), name)


def in_order(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the relations of every graph, in the order of Razeghi et al. (2021), others behind.

    Args:
        pairs: Graphs with relations.
    """
    found: dict[str, list[str]] = {}
    for graph, relation in sorted(set(pairs), key=_place):
        found.setdefault(graph, []).append(relation)
    return found


def _place(pair: tuple[str, str]) -> tuple[int, str, int, str]:
    graph, relation = pair
    titles = list(_TITLES.values())
    graphs = titles.index(graph) if graph in titles else len(titles)
    relations = _RELATIONS.index(relation) if relation in _RELATIONS else len(_RELATIONS)
    return graphs, graph, relations, relation
