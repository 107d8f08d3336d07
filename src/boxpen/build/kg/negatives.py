"""Wrong tails: for every triple a few tails of the same relation that do not hold of its head.

That a graph does not have a triple says little: graphs have gaps. So a tail serves as a wrong one
only if nothing speaks for it. ``c`` is refused for a triple (h, r, t) if

- ``linked``: any relation links h and c, in whatever words (see ``boxpen.english.normal``)
- ``inherited``: one links c with a synonym, hypernym, hyponym or sibling of h, by the graph's own
  edges or by WordNet (a poodle has what a dog has); where h is a person, with any person; where h
  is an event, with anything that has a content word in common with it
- ``related``: c is a synonym, hypernym or hyponym of t, by an edge of the graph or by WordNet, or
  c says nearly what another tail of h says
- ``same words``: c shares a content word with t or with h
- ``company``: other heads that have one of h's tails have c more often than chance would have it
- ``general``: c holds of so many heads that it may well hold of h, or is a person who made it
- ``boundless head``: h has so many tails that nothing is surely wrong of it ('person')
- ``worn out``: c has served often enough
- what the caller's own ``reject`` says

Nothing of this is relaxed where too few tails are left: such a triple gets fewer, and is reported.

Among the tails that are left, those come first that have served least for how often they are
right answers in the table, so that no answer can be told by having seen it; then those about as
long as t. What was drawn for one triple changes what is left for the next, so triples are worked
on in an order that hangs on their ids and the seed, not on the order of the rows.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from boxpen.build.kg.kinship import EDGE, Facts, Kin, Limits
from boxpen.build.kg.wrong_tails import Group, Reject, text_column
from boxpen.errors import BuildError

if TYPE_CHECKING:
    import polars as pl

    from boxpen.english.wordnet import WordNet

__all__ = ["Limits", "Negatives", "Reject", "sample_negatives"]


class Negatives(NamedTuple):
    """The table with its wrong tails, and where there are too few.

    Attributes:
        table: The rows given, in their order, with ``wrong``, the ids of the triples that the
            tails are of, and ``wrong_text``, the tails as they are worded there.
        short: ``id``, ``relation``, ``found`` and ``wanted`` numbers of tails, and ``refused``:
            how many tails were refused for which reason.
    """

    table: pl.DataFrame
    short: pl.DataFrame


def sample_negatives(
    table: pl.DataFrame,
    graph: pl.DataFrame,
    *,
    count: int = 5,
    seed: int,
    wordnet: WordNet | None = None,
    pool: pl.DataFrame | None = None,
    reject: Reject | None = None,
    limits: Limits | None = None,
) -> Negatives:
    """Choose wrong tails for every triple of a table.

    Args:
        table: The triples. Tails come from the same relation and, if there is a column ``form``,
            have the same form, so that the grammar fits.
        graph: All triples that are known, before any was sampled away.
        count: Wrong tails per triple.
        seed: The same seed and the same triples give the same tails, in whatever order the rows
            come.
        wordnet: The dictionary; without one, only the graph says what is related.
        pool: More triples whose tails may serve where the table's own do not suffice. They are
            never right answers, so a table large enough does better without.
        reject: A last word on every tail about to be taken, for instance a language model's.
        limits: How careful to be.

    Raises:
        BuildError: If a column is missing, an id is there twice, or the count is below 1.
    """
    import polars as pl

    if count < 1:
        raise BuildError(f"{count} wrong tails per triple were asked for, expected 1 or more")
    text = text_column(table.columns)
    worded = [name for name in ("tail_text", "form") if name in table.columns]
    _check("table", table)
    _check("graph", graph)
    spare = table[:0]
    if pool is not None:
        _check("pool", pool, *worded)
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
            found[row["id"]], reasons = group.draw(row, seed, reject)
            if len(found[row["id"]]) < count:
                refused[row["id"]] = _listed(reasons)

    wrong = [[source["id"] for source in found[row["id"]]] for row in own]
    texts = [[source[text] for source in found[row["id"]]] for row in own]
    short = [
        (row["id"], row["relation"], len(found[row["id"]]), count, refused[row["id"]])
        for row in own
        if row["id"] in refused
    ]
    return Negatives(
        table.with_columns(
            pl.Series("wrong", wrong, dtype=pl.List(pl.String)),
            pl.Series("wrong_text", texts, dtype=pl.List(pl.String)),
        ),
        pl.DataFrame(
            short,
            orient="row",
            schema={
                "id": pl.String,
                "relation": pl.String,
                "found": pl.Int64,
                "wanted": pl.Int64,
                "refused": pl.String,
            },
        ),
    )


def _listed(reasons: Counter[str]) -> str:
    by_number = sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{number} {reason}" for reason, number in by_number if number)


def _check(name: str, frame: pl.DataFrame, *worded: str) -> None:
    for column in ("id", *EDGE, *worded):
        if column not in frame.columns:
            raise BuildError(
                f"the {name} of triples has no column '{column}', it has {', '.join(frame.columns)}"
            )
    if name == "table" and (twice := frame.filter(frame["id"].is_duplicated())).height:
        raise BuildError(f"the table has the triple '{twice['id'][0]}' more than once")
