"""Wrong tails: for every triple a few tails of the same relation that do not hold for its head.

Graphs have gaps, so a triple that a graph lacks may still be true. A tail serves as a wrong one
only if nothing speaks for it. ``c`` is refused for a triple (h, r, t) if

- ``linked``: any relation links h and c, in whatever words (see ``boxpen.english.normal``)
- ``inherited``: one links c with a synonym, hypernym, hyponym or sibling of h, by the graph's own
  edges or by WordNet (a poodle has what a dog has), or c is a tail of a thing of nearly the
  same kind as h; if h is a person, with any person
- ``met``: a content word of c has met one of h in another triple, on the same sides of it
- ``related``: c is a synonym, hypernym or hyponym of t, by an edge of the graph or by WordNet, or
  c says nearly what another tail of h says
- ``same words``: c shares a content word with t or with h
- ``company``: other heads that have one of h's tails have c more often than by chance
- ``general``: c holds for many heads, so that it may well hold for h
- ``open``: c may hold of anything or anyone, or t may (see ``boxpen.build.kg.open_ended``)
- ``boundless head``: h has too many tails for anything to be surely wrong ('person')
- ``worn out``: c has been used often enough

These rules are never relaxed: a triple with too few tails left gets fewer, and is reported.

Among the tails left, those come first that were used least, relative to how often they are right
answers in the table, so that answers cannot be recognised by frequency; those about as long as t;
and those that speak of the same kind of thing as t, and hold of things like h, by the closeness of
WordNet, so that they are plausible at a glance. What was drawn for one triple changes what is left
for the next, so triples are processed in an order that depends on their ids and the seed, not on
the order of the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from boxpen.build.kg.kinship import EDGE, Facts, Kin, Limits
from boxpen.build.kg.wrong_tails import Group, text_column

if TYPE_CHECKING:
    from boxpen.english.wordnet import WordNet

__all__ = ["Limits", "Negatives", "sample_negatives"]


class Negatives(NamedTuple):
    """The table with its wrong tails, and the triples that have too few."""

    table: pl.DataFrame
    """The rows given, in their order, with ``wrong``, the ids of the triples of the tails, and
    ``wrong_text``, the tails as they are worded there."""
    short: pl.DataFrame
    """``id``, ``relation``, ``found`` and ``wanted`` numbers of tails, and ``refused``: how many
    tails were refused for which reason."""


def sample_negatives(
    table: pl.DataFrame,
    graph: pl.DataFrame,
    *,
    count: int = 5,
    seed: int,
    wordnet: WordNet | None = None,
    pool: pl.DataFrame | None = None,
    limits: Limits | None = None,
) -> Negatives:
    """Choose wrong tails for every triple of a table.

    Args:
        table: The triples. Tails come from the same relation and, if there is a column ``form``,
            have the same form, so that the grammar fits.
        graph: All known triples, before sampling.
        count: Wrong tails per triple.
        seed: The same seed and triples give the same tails, whatever the order of the rows.
        wordnet: The dictionary; without one, only the graph decides what is related.
        pool: More triples whose tails may be used if the table's own do not suffice. They are
            never right answers, so a large enough table does better without.
        limits: How careful to be.
    """
    text = text_column(table.columns)
    worded = [name for name in ("tail_text", "form") if name in table.columns]
    spare = table[:0]
    if pool is not None:
        # Which of two wordings of a triple is taken must not depend on the order of the rows.
        spare = pool.join(table, on="id", how="anti").sort("id", *worded).unique("id", keep="first")
    rows = pl.concat([frame.select(*EDGE, *worded) for frame in (table, spare)])
    facts = Facts(
        pl.concat([graph.select(EDGE), rows.select(EDGE)]),
        relations=rows["relation"],
        heads=table["head"],
        tails=pl.concat([rows["tail"], rows[text]]),
    )
    kin = Kin(facts, wordnet, limits or Limits())
    own, more = table.to_dicts(), spare.to_dicts()
    found: dict[str, list[dict[str, Any]]] = {}
    refused: dict[str, str] = {}
    for which in dict.fromkeys((row["relation"], row.get("form")) for row in own):
        its, others = (
            [row for row in some if (row["relation"], row.get("form")) == which]
            for some in (own, more)
        )
        group = Group(which[0], which[1], its, others, kin, count)
        for row in group.order(its, seed):
            found[row["id"]], reasons = group.draw(row, seed)
            if len(found[row["id"]]) < count:
                by_number = sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))
                listed = (f"{number} {reason}" for reason, number in by_number if number)
                refused[row["id"]] = ", ".join(listed)

    wrong = [[source["id"] for source in found[row["id"]]] for row in own]
    texts = [[source[text] for source in found[row["id"]]] for row in own]
    short = [
        (row["id"], row["relation"], len(found[row["id"]]), count, refused[row["id"]])
        for row in own
        if row["id"] in refused
    ]
    kinds = {"id": pl.String, "relation": pl.String, "found": pl.Int64, "wanted": pl.Int64}
    return Negatives(
        table.with_columns(
            pl.Series("wrong", wrong, dtype=pl.List(pl.String)),
            pl.Series("wrong_text", texts, dtype=pl.List(pl.String)),
        ),
        pl.DataFrame(short, orient="row", schema={**kinds, "refused": pl.String}),
    )
