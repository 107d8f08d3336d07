"""Trap 15: records are joined by id, never by line order, and leftovers are refused."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl
import pytest

from boxpen import Card, Choice, Model, Run, RunError, Suite, evaluate
from boxpen.models.base import Encoded, ResolvedPolicy
from small_runs import without_checksums


class Letters(Model):
    """A model whose log-probabilities can be read off a text."""

    name, kind, fingerprint, dtype = "letters", "causal", "f" * 64, "float32"

    def resolve_policy(self, policy) -> ResolvedPolicy:
        return ResolvedPolicy(bos=True, eos=False, max_length=100)

    def encode(self, requests, policy) -> list[Encoded]:
        return [
            Encoded(ids=tuple(r.text.encode()), scored=tuple(range(len(r.text.encode()))))
            for r in requests
        ]

    def run(self, encoded: Sequence[Encoded], policy) -> Iterator:
        yield [
            (n, np.array([-i / 256 for i in e.ids], dtype=np.float32))
            for n, e in enumerate(encoded)
        ]


@pytest.fixture
def run() -> Run:
    items = tuple(
        Choice(
            id=f"item {n}",
            candidates=(f"right {n}", f"wrong answer {n * n}", f"other {n}"),
            gold=0,
            block=f"b{n // 2}",
            tags={"half": str(n % 2)},
        )
        for n in range(10)
    )
    return evaluate(Letters(), Suite("small", items, Card(language="en")), cache=None)


@pytest.fixture
def folder(run, tmp_path):
    return run.save(tmp_path)


def rewritten(folder, change, table="records") -> None:
    path = folder / f"{table}.parquet"
    change(pl.read_parquet(path)).write_parquet(path)
    without_checksums(folder)


def test_trap_15_shuffled_rows_change_nothing(run, folder):
    rewritten(folder, lambda rows: rows.sample(fraction=1, shuffle=True, seed=7))
    again = Run.load(folder)
    assert again.verdicts == run.verdicts
    assert again.summary() == run.summary()
    assert again.candidates.keys() == run.candidates.keys()
    for item, members in run.candidates.items():
        for one, other in zip(members, again.candidates[item], strict=True):
            assert one.text == other.text
            assert one.record.logprobs.tobytes() == other.record.logprobs.tobytes()
            assert one.record.token_ids.tobytes() == other.record.token_ids.tobytes()
    for policy in ({"norm": "token"}, {"norm": "char", "ties": "strict"}):
        assert again.rescore(**policy).verdicts == run.rescore(**policy).verdicts


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows.filter(pl.col("item") != "item 3"),
        lambda rows: rows.filter((pl.col("item") != "item 3") | (pl.col("candidate") != 0)),
        lambda rows: rows.filter((pl.col("item") != "item 3") | (pl.col("candidate") != 1)),
        lambda rows: rows.filter((pl.col("item") != "item 3") | (pl.col("candidate") != 2)),
        lambda rows: rows.head(0),
        lambda rows: rows.with_columns(item=pl.col("item").str.replace("item 3", "item 33")),
        lambda rows: pl.concat(
            [rows, rows.head(1).with_columns(item=pl.lit("leftover"))], how="vertical"
        ),
        lambda rows: pl.concat(
            [rows, rows.head(1).with_columns(candidate=pl.lit(3, pl.Int64))], how="vertical"
        ),
        lambda rows: pl.concat([rows, rows.head(1)], how="vertical"),
        lambda rows: rows.drop("logprobs"),
    ],
    ids=[
        "an item is missing",
        "the first candidate is missing",
        "a middle candidate is missing",
        "the last candidate is missing",
        "all are missing",
        "an id was changed",
        "an item is left over",
        "a candidate is left over",
        "a record stands twice",
        "a column is missing",
    ],
)
def test_trap_15_missing_and_leftover_records_are_refused(folder, change):
    rewritten(folder, change)
    with pytest.raises(RunError) as caught:
        Run.load(folder)
    assert f"{folder} is not a whole run directory (records.parquet: " in str(caught.value)
    assert "checksum" not in str(caught.value)


FILES = ("run.json", "verdicts.parquet", "records.parquet", "translations.parquet", "tokens.json")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"\xff\xfe"),
        lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
        lambda path: path.write_text("[" * 100_000),
    ],
    ids=["empty", "junk", "half", "deep"],
)
def test_a_damaged_file_is_named(folder, name, damage):
    if name == "tokens.json":
        (folder / name).write_text('{"1": "a"}')
    damage(folder / name)
    with pytest.raises(RunError) as caught:
        Run.load(folder)
    assert str(caught.value).startswith(f"{folder} is not a whole run directory ({name}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", FILES[1:4])
def test_a_file_that_is_not_there_is_named(folder, name):
    said = f"{folder} is not a whole run directory ({name}: there is no such file)"
    (folder / name).unlink()
    with pytest.raises(RunError) as caught:
        Run.load(folder)
    assert str(caught.value) == said
    (folder / name).mkdir()
    with pytest.raises(RunError) as caught:
        Run.load(folder)
    assert str(caught.value) == said


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("verdicts", lambda rows: rows.drop("tags"), "it has no 'tags'"),
        ("verdicts", lambda rows: rows.drop("gold"), "'gold'"),
        (
            "verdicts",
            lambda rows: pl.concat([rows, rows.head(1)]),
            "'item 0' has two verdicts",
        ),
        ("records", lambda rows: rows.drop("text"), "it has no 'text'"),
        ("records", lambda rows: rows.head(1), "item 'item 0' has 1 records, expected 3"),
        (
            "records",
            lambda rows: rows.filter((pl.col("item") != "item 3") | (pl.col("candidate") != 1)),
            "item 'item 3' has no candidate 1",
        ),
    ],
)
def test_a_table_that_does_not_fit_is_named(folder, name, change, message):
    rewritten(folder, change, name)
    with pytest.raises(RunError) as caught:
        Run.load(folder)
    said = str(caught.value)
    assert said.startswith(f"{folder} is not a whole run directory ({name}.parquet: ")
    assert message in said


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda about: about.pop("suite"), "it has no 'suite'"),
        (lambda about: about.update(signature=7), "expected a string, found 7"),
        (lambda about: about["policy"].update(context="x"), "context is 'x', expected given"),
        (lambda about: about.update(policy={}), "it has no 'norm'"),
        (lambda about: about["policy"].pop("ties"), "it has no 'ties'"),
        (lambda about: about.update(policy=[]), "`policy` must be an object"),
        (lambda about: about.update(settled=[]), "`settled` must be an object"),
        (lambda about: about.update(settled={"bos": []}), "it has [] for 'bos', expected a text"),
        (lambda about: about["model"].update(labels=["x"]), "it has the label 'x', expected"),
        *(
            (
                lambda about, sample=sample: about["suite"].update(sample=sample),
                f"it has the sample {sample!r}, expected DRAWN/WHOLE@SEED",
            )
            for sample in ("0/5@1", "6/5@1", "٣/٥@1", "3/5@", "?/5", "3/5@1\n")
        ),
    ],
)
def test_what_run_json_lacks_is_told_with_its_name(folder, damage, message):
    about = json.loads((folder / "run.json").read_text("utf-8"))
    damage(about)
    (folder / "run.json").write_text(json.dumps(about), "utf-8")
    with pytest.raises(RunError) as caught:
        Run.load(folder)
    said = f"{folder} is not a whole run directory (run.json: {message}"
    assert str(caught.value).startswith(said)
