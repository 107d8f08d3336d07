"""Reading training data, and splitting it so that no premise stands on both sides."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import given as examples
from hypothesis import strategies as st

from boxpen.errors import SuiteError, TrainError
from boxpen.items import Choice, Entail
from boxpen.lm import split
from boxpen.lm.classifier.data import read_choice, read_nli
from boxpen.lm.options import Options
from boxpen.lm.split import given, groups_of, hold_out, without
from boxpen.training.checkpoints import whole

patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def written(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def test_a_csv_file_gives_items_numbered_by_row(tmp_path: Path) -> None:
    path = written(
        tmp_path / "a.csv", 'premise,hypothesis,label\n"A, b.",C.,Neutral\nD.,E.,entailment\n'
    )
    found = read_nli(path)
    assert found.items == (
        Entail(id="1", premise="A, b.", hypothesis="C.", label="neutral"),
        Entail(id="2", premise="D.", hypothesis="E.", label="entailment"),
    )
    assert (found.read, found.skipped) == (2, 0)


def test_the_official_jsonl_of_multinli_and_its_rows_without_majority(tmp_path: Path) -> None:
    rows = [
        {"sentence1": "A.", "sentence2": "B.", "gold_label": "-", "pairID": "7n", "promptID": "7"},
        {"sentence1": "A.", "sentence2": "C.", "gold_label": "neutral", "pairID": "7e",
         "promptID": "7"},
    ]  # fmt: skip
    path = written(tmp_path / "m.jsonl", "".join(json.dumps(r) + "\n" for r in rows))
    found = read_nli(path)
    assert found.items == (
        Entail(id="7e", block="7", premise="A.", hypothesis="C.", label="neutral"),
    )
    assert (found.read, found.skipped) == (2, 1)


def test_numbers_need_a_declared_order(tmp_path: Path) -> None:
    path = written(
        tmp_path / "n.tsv", "premise\thypothesis\tlabel\nA.\tB.\t2\nA.\tC.\t0\nA.\tD.\t-1\n"
    )
    order = ["contradiction", "neutral", "entailment"]
    found = read_nli(path, label_order=order)
    assert [i.label for i in found.items] == ["entailment", "contradiction"]
    assert found.skipped == 1
    with pytest.raises(
        SuiteError, match=r"n\.tsv, line 2 has label 2, a number; say .*--label-ord"
    ):
        read_nli(path)
    with pytest.raises(SuiteError, match="the order of labels is neutral, expected"):
        read_nli(path, label_order=["neutral"])


def test_tsv_with_loose_quotation_marks_is_read_plainly(tmp_path: Path) -> None:
    path = written(
        tmp_path / "q.tsv", 'premise\thypothesis\tlabel\n"A" b.\tC.\tneutral\n"D.\tE.\tneutral\n'
    )
    assert [i.premise for i in read_nli(path).items] == ['"A" b.', '"D.']


def test_columns_can_be_mapped(tmp_path: Path) -> None:
    path = written(tmp_path / "c.csv", "key,a,b,y,x1,x2,x3\nk,A.,B.,neutral,P,Q,R\n")
    columns = {"premise": "a", "hypothesis": "b", "label": "y", "id": "key"}
    assert read_nli(path, columns=columns).items[0].id == "k"
    path = written(tmp_path / "d.csv", "a,y,x1,x2,x3\nA.,3,P,Q,R\n")
    columns = {"goal": "a", "label": "y", "candidates": "x1,x2,x3"}
    found = read_choice(path, columns=columns, label_start=1)
    assert found.items == (Choice(id="1", context="A.", candidates=("P", "Q", "R"), gold=2),)


def test_labels_of_goals_stand_in_the_file_or_beside_it(tmp_path: Path) -> None:
    rows = [{"goal": "Boil water.", "sol1": "Use a pot.", "sol2": "Use a net."}] * 2
    path = written(tmp_path / "v.jsonl", "".join(json.dumps(r) + "\n" for r in rows))
    with pytest.raises(SuiteError, match=r"v\.jsonl has no column 'label'"):
        read_choice(path)
    beside = written(tmp_path / "v-labels.lst", "0\n1\n")
    assert [i.gold for i in read_choice(path).items] == [0, 1]
    assert read_choice(path, labels=beside) == read_choice(path)
    inside = written(tmp_path / "w.jsonl", json.dumps(rows[0] | {"label": 1}) + "\n")
    assert read_choice(inside).items[0].gold == 1
    written(beside, "0\n")
    with pytest.raises(
        SuiteError, match=r"v-labels\.lst has 1 label\(s\), expected 2, one for each"
    ):
        read_choice(path)
    written(beside, "0\n2\n")
    with pytest.raises(SuiteError, match=r"v-labels\.lst, line 2 has label '2', expected 0 to 1"):
        read_choice(path)
    written(beside, "0\nx\n")
    with pytest.raises(SuiteError, match=r"line 2 has label 'x', expected the number of a cand"):
        read_choice(path)


def test_suites_are_read_by_file_and_kind(tmp_path: Path) -> None:
    choice = {"id": "c", "candidates": ["A.", "B."], "gold": 1}
    entail = {"kind": "entail", "id": "e", "premise": "P.", "hypothesis": "H.", "label": "neutral"}
    path = written(tmp_path / "s.jsonl", json.dumps(choice) + "\n")
    assert read_choice(path).items == (Choice(id="c", candidates=("A.", "B."), gold=1),)
    path = written(tmp_path / "e.jsonl", json.dumps(entail) + "\n")
    assert read_nli(path).items == (Entail(id="e", premise="P.", hypothesis="H.", label="neutral"),)
    written(path, json.dumps(entail) + "\n" + json.dumps(choice) + "\n")
    with pytest.raises(SuiteError, match="has the choice item 'c', expected premises"):
        read_nli(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("premise,label\nA.,neutral\n", r"x\.csv has no column 'hypothesis'"),
        ("premise,hypothesis,label\nA.,B.,maybe\n", r"x\.csv, line 2 has label 'maybe', expected"),
        ("premise,hypothesis,label\nA.,B.,\n", r"x\.csv, line 2 has label '', expected"),
        ("premise,hypothesis,label\nA., ,neutral\n", r"line 2: column 'hypothesis' is ' ', exp"),
        ("premise,hypothesis,label\nA.,neutral\n", r"line 2 has 2 cell\(s\), expected 3"),
        ("premise,hypothesis,label\n", r"x\.csv has no rows, expected at least one"),
        ("premise,hypothesis,label\nA.,B.,-\n", r"x\.csv has no rows with a label"),
        ("", r"x\.csv is empty, expected a header line"),
        ("premise,premise,label\nA.,B.,-\n", r"x\.csv has the column 'premise' twice"),
        ("id,premise,hypothesis,label\n1,A.,B.,neutral\n1,A.,C.,neutral\n", "the id '1' twice"),
    ],
)
def test_bad_tables_are_refused_in_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SuiteError, match=message):
        read_nli(written(tmp_path / "x.csv", text))


def test_other_bad_sources(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=r"no\.csv cannot be read: No such file"):
        read_nli(tmp_path / "no.csv")
    with pytest.raises(SuiteError, match=r"j\.jsonl, line 1 is not JSON"):
        read_nli(written(tmp_path / "j.jsonl", "{\n"))
    with pytest.raises(SuiteError, match=r"j\.jsonl, line 1 is '\[1\]', expected a JSON object"):
        read_nli(written(tmp_path / "j.jsonl", "[1]\n"))
    with pytest.raises(SuiteError, match="column 'premis' is unknown, did you mean 'premise'"):
        read_nli(tmp_path / "j.jsonl", columns={"premis": "a"})
    with pytest.raises(SuiteError, match=r"has no columns 'sol1' and 'sol2'"):
        read_choice(written(tmp_path / "g.jsonl", '{"goal": "A.", "label": 0}\n'))


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"batch_size": 0}, "batch_size is 0, expected 1 or more"),
        ({"epochs": 0}, "epochs is 0, expected a number above 0"),
        ({"learning_rate": float("nan")}, "learning_rate is nan, expected a number above 0"),
        ({"warmup": 1.5}, "warmup is 1.5, expected a share of the steps"),
        ({"epochs": 1e308}, r"epochs is 1e\+308, expected a number above 0, at most 1,000,000"),
        ({"epochs": float("inf")}, "epochs is inf, expected a number above 0, at most 1,000,000"),
        ({"batch_size": 10**30}, "batch_size is 10{30}, expected 2147483647 or less"),
        ({"accumulate": 1 << 31}, "accumulate is 2147483648, expected 2147483647 or less"),
        ({"weight_decay": float("inf")}, "weight_decay is inf, expected a number"),
    ],
)
def test_bad_options(knobs: dict[str, float], message: str) -> None:
    with pytest.raises(TrainError, match=message):
        Options(**knobs)  # type: ignore[arg-type]


def entail(number: int, premise: str, block: str | None = None) -> Entail:
    return Entail(id=str(number), premise=premise, hypothesis="H.", label="neutral", block=block)


@st.composite
def many(draw: st.DrawFn) -> list[Entail]:
    premises = st.sampled_from(["A b.", " a  B.", "c", "d", "e", "f", "g", "h"])
    blocks = st.sampled_from([None, None, "1", "2", "3"])
    pairs = draw(st.lists(st.tuples(premises, blocks), min_size=2, max_size=30))
    return [entail(i, *pair) for i, pair in enumerate(pairs)]


def slow_groups(items: list[Entail]) -> list[frozenset[int]]:
    """Join whatever shares a premise or a block until nothing changes."""
    groups = [frozenset([i]) for i in range(len(items))]

    def near(a: Entail, b: Entail) -> bool:
        same = a.premise.lower().split() == b.premise.lower().split()
        return same or (a.block is not None and a.block == b.block)

    while True:
        joined = [
            frozenset().union(
                *(h for h in groups if any(near(items[i], items[j]) for i in g for j in h))
            )
            for g in groups
        ]
        if joined == groups:
            return groups
        groups = joined


@patient
@examples(many())
def test_groups_are_those_of_the_slow_twin(items: list[Entail]) -> None:
    names = groups_of(items)
    fast = [frozenset(i for i, n in enumerate(names) if n == name) for name in names]
    assert fast == slow_groups(items)


@patient
@examples(many(), st.floats(0.05, 0.95), st.integers(0, 9), st.randoms())
def test_no_group_is_split_and_the_order_of_rows_is_nothing(
    items: list[Entail], share: float, seed: int, random: object
) -> None:
    groups = slow_groups(items)
    room = int(share * len(items))
    if min(map(len, groups)) > room:
        with pytest.raises(SuiteError, match=r"leaves nothing\s+to test on"):
            hold_out(items, share, seed)
        return
    split = hold_out(items, share, seed)
    assert sorted(split.train + split.held_out) == list(range(len(items)))
    assert 0 < len(split.held_out) <= room < len(items)
    for group in groups:
        assert group <= set(split.train) or group <= set(split.held_out)
    left = room - len(split.held_out)  # no group that would still fit was passed over
    assert all(len(groups[i]) > left for i in split.train)
    shuffled = list(items)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    again = hold_out(shuffled, share, seed)
    assert {shuffled[i].id for i in again.held_out} == {items[i].id for i in split.held_out}


def test_another_seed_holds_out_others() -> None:
    items = [entail(i, f"premise {i}") for i in range(100)]
    sides = {tuple(hold_out(items, 0.1, seed).held_out) for seed in range(5)}
    assert len(sides) == 5
    assert all(len(side) == 10 for side in sides)


def test_a_share_that_is_none_is_refused() -> None:
    for share in (0.0, 1.0, float("nan")):
        with pytest.raises(SuiteError, match="expected one between 0 and 1"):
            hold_out([entail(1, "A"), entail(2, "B")], share, 0)


def test_what_a_given_side_or_a_suite_asks_leaves_training_with_its_group() -> None:
    train = [entail(1, "A"), entail(2, "B", "x"), entail(3, "C", "x"), entail(4, "D")]
    split = given(train, [entail(1, "c "), entail(2, "Z", "y")])
    assert (split.train, split.held_out, split.removed) == ([0, 3], [0, 1], 2)
    goal = Choice(id="1", context="d", candidates=("a", "b"), gold=0)
    assert without(train, [goal]) == [0, 1, 2]
    bare = Choice(id="1", candidates=("a", "q"), gold=0)
    assert without(train, [bare]) == [1, 2, 3]
    with pytest.raises(SuiteError, match="every item of the training data shares"):
        given(train[:1], [entail(1, "a")])


def test_the_room_exports_all_trainings_and_imports_nothing_heavy() -> None:
    code = "import sys; from boxpen.lm import *; print(*sys.modules, train_lm, train_nli)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"numpy", "polars", "safetensors", "torch", "transformers"}
    assert not heavy & set(done.stdout.split())


def test_a_vocabulary_is_the_same_in_every_process() -> None:
    pytest.importorskip("transformers")
    code = (
        "import json; from boxpen.lm.scratch import new_tokenizer; "
        "t = new_tokenizer('tiny', ['the cat eats bread', 'a dog sees milk', 'Äpfel'] * 3); "
        "print(json.dumps(sorted(t.get_vocab().items()))); print(t('The cat', 'milk')['input_ids'])"
    )
    outs = {
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
        for _ in range(3)
    }
    assert len(outs) == 1


def test_what_is_public_in_splits_is_said_to_be() -> None:
    own = {
        name for name, it in vars(split).items() if getattr(it, "__module__", "") == split.__name__
    }
    assert {name for name in own if not name.startswith("_")} == set(split.__all__)


class AcceleratorError(RuntimeError):
    """As PyTorch has it."""


def _from(cause: Exception) -> Exception:
    """An error that a library makes of another."""
    error = OSError("it cannot be loaded")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (PermissionError(13, "Permission denied", "w"), "[Errno 13] Permission denied: 'w'"),
        (OSError(5, "Input/output error"), "[Errno 5] Input/output error"),
        (OSError(24, "Too many open files"), "[Errno 24] Too many open files"),
        (ModuleNotFoundError("No module named 'tiktoken'"), "No module named 'tiktoken'"),
        (MemoryError(), "MemoryError"),
        (AcceleratorError("CUDA error: device busy\nTry again."), "CUDA error: device busy"),
        (RuntimeError("CUDA out of memory. Tried to"), "CUDA out of memory. Tried to"),
        (RuntimeError("Found no NVIDIA driver"), "Found no NVIDIA driver"),
        (RuntimeError("CPU: can't allocate memory: 9"), "CPU: can't allocate memory: 9"),
        (AssertionError("Not compiled with CUDA enabled"), "Not compiled with CUDA enabled"),
        (_from(PermissionError(13, "Permission denied")), "it cannot be loaded"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_for_now_is_not_called_damaged(
    error: Exception, reason: str, tmp_path: Path
) -> None:
    place = tmp_path / "step-4"
    with pytest.raises(TrainError) as refused, whole(place):
        raise error
    assert str(refused.value) == f"{place} cannot be read ({reason}); it may be intact"


@pytest.mark.parametrize(
    "error",
    [
        FileNotFoundError(2, "No such file or directory"), OSError(22, "Invalid argument"),
        OSError("it has no weights"), ValueError("no JSON"), KeyError("global_step"),
        RuntimeError("PytorchStreamReader failed in CUDA-runs/m"),
    ],
)  # fmt: skip
def test_damage_is_told_with_what_happens_without_the_checkpoint(
    error: Exception, tmp_path: Path
) -> None:
    place = tmp_path / "step-10"
    with pytest.raises(TrainError) as refused, whole(place):
        raise error
    assert str(refused.value) == (
        f"{place} is damaged ({error}); remove {tmp_path} and rerun the same command to start over"
    )
