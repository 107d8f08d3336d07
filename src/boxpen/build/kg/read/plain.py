"""Tables of one's own: tab-separated, comma-separated, JSON lines or Parquet, with a column map.

The map says which column of the file is which of the triple table. Without one the file must call
them ``head``, ``relation`` and ``tail``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from boxpen.build.kg.read.cells import comma_tables, json_tables, parquet_tables, tab_tables
from boxpen.build.kg.read.chunk import WHITE, Draft, GraphSpec, Table, sound
from boxpen.build.kg.read.people import people
from boxpen.build.kg.read.sample import Format, Sample, mostly
from boxpen.build.kg.triples import canonical_relation
from boxpen.errors import BuildError, nearest
from boxpen.failures import reason, refusals

__all__ = ["PLAIN", "plain_draft"]

NEEDED = ("head", "relation", "tail")
MAPPED = (*NEEDED, "weight", "surface", "language")
HOW = "columns = {head = …, relation = …, tail = …}"
_NUMBER = r"^-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$"


def plain_draft(
    table: Table,
    *,
    constants: Mapping[str, str] | None = None,
    persons: Mapping[str, str] | None = None,
) -> Draft:
    """Draft triples of a table whose columns are called as in the triple table.

    Args:
        table: The rows.
        constants: Columns that are the same in every row.
        persons: Names -> the people in events that they stand for; None where heads and tails are
            no events, and are left as they are.
    """
    import polars as pl

    frame = table.frame.with_columns(
        pl.lit(value).alias(name) for name, value in (constants or {}).items()
    )
    given = [name for name in MAPPED if name in frame.columns]
    frame = frame.select("line", *(pl.col(name).str.strip_chars(WHITE) for name in given))
    flaws = {f"empty {name}": pl.col(name).fill_null("") == "" for name in NEEDED}
    optional = [name for name in given if name not in NEEDED]
    frame = frame.with_columns(
        pl.when(pl.col(name) != "").then(pl.col(name)).alias(name) for name in optional
    )
    if "weight" in given:
        written = pl.when(pl.col("weight").str.contains(_NUMBER)).then(pl.col("weight"))
        number = written.cast(pl.Float64, strict=False)
        flaws["the weight is no number"] = pl.col("weight").is_not_null() & ~(
            number.is_finite().fill_null(False)
        )
    frame, broken = sound(frame, flaws)
    names = frame["relation"].unique().to_list()
    spelled = [canonical_relation(name) for name in names]
    frame = frame.with_columns(
        pl.col("relation").replace_strict(names, spelled, return_dtype=pl.String),
    )
    if persons is not None:
        frame = frame.with_columns(people(pl.col(name), persons) for name in ("head", "tail"))
    if "weight" in given:
        frame = frame.with_columns(pl.col("weight").cast(pl.Float64))
    return Draft(table, frame, broken, {name: pl.col(name) for name in frame.columns})


def _separated(sample: Sample, spec: GraphSpec, kind: str) -> Iterator[Draft]:
    """Read a table with or without a header."""
    tables = tab_tables if kind == "tab" else comma_tables
    if not sample.lines:
        raise BuildError(f"{sample.path} has no line of text; expected a table")
    cells = sample.tabs()[0] if kind == "tab" else sample.first_commas()
    numbered = [value for value in spec.columns.values() if isinstance(value, int)]
    columns, constants = _map(sample, spec, None if numbered else [c.strip(WHITE) for c in cells])
    places = {}
    for name, column in columns.items():
        place = column - 1 if isinstance(column, int) else _names(cells).index(column)
        if place < 0 or place >= len(cells):
            raise BuildError(
                f"{sample.path} has {len(cells)} columns, no column {column} for '{name}'; "
                "columns are numbered from 1"
            )
        places[place] = name
    header = 0 if numbered else sample.lines[0][0]
    names = [places.get(at) for at in range(len(cells))]
    for table in tables(sample.path, names, header=header, encoding=spec.encoding):
        yield plain_draft(table, constants=constants, persons=spec.persons or None)


def _json_lines(sample: Sample, spec: GraphSpec) -> Iterator[Draft]:
    columns, constants = _map(sample, spec, None)
    names = {str(column): name for name, column in columns.items()}
    for table in json_tables(sample.path, names, encoding=spec.encoding):
        yield plain_draft(table, constants=constants, persons=spec.persons or None)


def _parquet(sample: Sample, spec: GraphSpec) -> Iterator[Draft]:
    import polars as pl

    try:
        have = list(pl.read_parquet_schema(sample.path))
    except refusals() as error:
        raise BuildError(f"{sample.path} is not a Parquet file ({reason(error)})") from None
    columns, constants = _map(sample, spec, have)
    names = {str(column): name for name, column in columns.items()}
    for table in parquet_tables(sample.path, names):
        yield plain_draft(table, constants=constants, persons=spec.persons or None)


def _map(
    sample: Sample, spec: GraphSpec, have: list[str] | None
) -> tuple[dict[str, str | int], dict[str, str]]:
    """Return which columns of the file are read as what, and the constants."""
    given = dict(spec.columns)
    for name in given:
        if name not in MAPPED:
            raise BuildError(
                f"the column map of {spec.name} has '{name}': {nearest(name, list(MAPPED))}"
            )
    if not given:
        given = {name: name for name in MAPPED if have is None or name in have}
        given |= {name: name for name in NEEDED}
    constants = {
        name: column[1:]
        for name, column in given.items()
        if isinstance(column, str) and column.startswith("=")
    }
    columns = {name: column for name, column in given.items() if name not in constants}
    missing = [name for name in NEEDED if name not in given]
    if missing:
        raise BuildError(f"the column map of {spec.name} has no '{missing[0]}'; give {HOW}")
    if len({type(column) for column in columns.values()}) > 1:
        raise BuildError(
            f"the column map of {spec.name} mixes names and numbers; numbers are for files "
            "without a header"
        )
    if len(set(columns.values())) < len(columns):
        raise BuildError(f"the column map of {spec.name} uses a column twice")
    for name, column in columns.items():
        if have is not None and column not in have:
            raise BuildError(
                f"{sample.path} has no column '{column}' for '{name}', it has "
                f"{', '.join(have)}; give {HOW}"
            )
    return columns, constants


def _names(cells: list[str]) -> list[str]:
    return [cell.strip(WHITE) for cell in cells]


def _has_names(cells: list[str], spec: GraphSpec) -> bool:
    """Say whether a first line is a header, or the map does without one."""
    return bool(spec.columns) or set(NEEDED) <= set(_names(cells))


def _is_tab(sample: Sample, spec: GraphSpec) -> bool:
    rows = sample.tabs()
    same = mostly([len(row) == len(rows[0]) for row in rows])
    return same and len(rows[0]) > 1 and _has_names(rows[0], spec)


def _is_comma(sample: Sample, spec: GraphSpec) -> bool:
    cells = sample.first_commas()
    return len(cells) > 1 and _has_names(cells, spec)


PLAIN = (
    Format(
        "parquet", "a Parquet file with columns head, relation, tail",
        lambda sample, _: sample.parquet, _parquet,
    ),
    Format(
        "jsonl", "a JSON object in every line with head, relation, tail",
        lambda sample, _: mostly([text.lstrip()[:1] == "{" for _, text in sample.lines]),
        _json_lines,
    ),
    Format(
        "tsv", "tab-separated, with a header or numbered columns", _is_tab,
        lambda sample, spec: _separated(sample, spec, "tab"),
    ),
    Format(
        "csv", "comma-separated, with a header or numbered columns", _is_comma,
        lambda sample, spec: _separated(sample, spec, "comma"),
    ),
)  # fmt: skip
