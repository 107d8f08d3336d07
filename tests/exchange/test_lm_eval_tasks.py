"""Suites as tasks of lm-eval: it scores the same strings, and gets the same numbers."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

import boxpen
from boxpen.errors import SuiteError
from boxpen.exchange import export_suite
from boxpen.exchange.lm_eval_tasks import write_tasks
from boxpen.items import Card, Choice, Entail, Suite, Translate
from boxpen.runs.run import Run
from boxpen.sampling import draw_sample

pytest.importorskip("lm_eval")
pytest.importorskip("torch")
from lm_eval_runs import exported, harness, mixed_suite, own_logs, own_run, results_in


def _docs(folder: Path) -> list[dict]:
    return [json.loads(line) for f in folder.glob("*.jsonl") for line in f.open(encoding="utf-8")]


def test_there_is_a_task_per_set_and_a_group(gpt2_dir: Path) -> None:
    names = {path.name for path in exported(gpt2_dir).iterdir()}
    tasks = {f"boxpen_mixed_suite_{part}" for part in ("pen_box", "why", "mt")}
    data = {f"{task}{end}" for task in tasks for end in (".yaml", ".jsonl")}
    assert names == data | {"boxpen_mixed_suite.yaml", "boxpen_data.py", "README.md", ".boxpen"}


def test_the_right_choice_has_every_place_and_its_order_is_recorded(gpt2_dir: Path) -> None:
    docs = _docs(exported(gpt2_dir))
    assert {doc["gold"] for doc in docs if len(doc["choices"]) == 2} == {0, 1}
    for doc in docs:
        about = json.loads(doc["boxpen"])
        item = next(i for i in mixed_suite() if i.id == doc["id"])
        choice = item.as_choice() if isinstance(item, Translate) else item
        shown = [choice.candidates[i] for i in about["order"]]
        assert [c.strip() for c in doc["choices"]] == shown
        assert shown[doc["gold"]] == choice.candidates[choice.gold]


def test_the_space_goes_with_the_text_where_the_language_has_spaces(gpt2_dir: Path) -> None:
    docs = {doc["id"]: doc for doc in _docs(exported(gpt2_dir))}
    assert docs["why-0"]["prefix"] == "He put 0 boxes in the pen."
    assert all(text.startswith(" ") for text in docs["why-0"]["choices"])
    assert docs["pen-0"]["prefix"] == docs["mt"]["prefix"] == ""
    assert not any(t.startswith(" ") for key in ("pen-0", "zh", "mt") for t in docs[key]["choices"])


def test_the_card_says_what_it_is_and_what_differs(gpt2_dir: Path) -> None:
    text = (exported(gpt2_dir) / "README.md").read_text("utf-8")
    suite = mixed_suite()
    for said in (
        "Mixed", "CC0-1.0", "Nobody (2026).", suite.take(suite.items[:-1]).hash, "sound@",
        "tie goes to the first", "acc_norm", "BLiMP", "--tasks boxpen_mixed_suite ",
        "1 item(s): an entailment item needs", "5 item(s) have a prompt",
        "1 translation(s) are judged without",
    ):  # fmt: skip
        assert said in text, said


def test_scores_are_those_of_boxpen(gpt2_dir: Path) -> None:
    ours, theirs = own_run(gpt2_dir), Run.load(results_in(own_logs(gpt2_dir)))
    _assert_same(ours, theirs)
    _assert_same_accuracy(ours, own_logs(gpt2_dir))
    assert len(theirs.verdicts) == 14
    results = json.loads(results_in(own_logs(gpt2_dir)).read_text("utf-8"))
    assert not any(v.tied > 1 for v in ours.verdicts)
    accuracy = sum(v.credit for v in ours.verdicts) / 14
    assert results["groups"]["boxpen_mixed_suite"]["acc,none"] == pytest.approx(accuracy)


def _endings_suite() -> Suite:
    """Items with a common ending, of two and of three candidates, and one that has none."""
    items = [
        Choice(
            id=f"gap-{n}", gold=n % 2, tags={"set": "gap"},
            candidates=(f"Ann met Eve {n} times so Ann was glad of it.",
                        f"Ann met Eve {n} times so Eve was glad of it."),
        )
        for n in range(6)
    ]  # fmt: skip
    items += [
        Choice(
            id=f"three-{n}", gold=n, tags={"set": "three"},
            candidates=("The box is in the pen.", "The tree is in the pen.", "It is in the pen."),
        )
        for n in range(3)
    ]  # fmt: skip
    ends = ("The pen is red", "The pen is wide")
    items.append(Choice(id="whole", candidates=ends, gold=1, tags={"set": "gap"}))
    return Suite("Endings", tuple(items), Card(title="Endings", language="en"))


def test_a_prompt_before_each_choice(gpt2_dir: Path, tmp_path: Path) -> None:
    """The recipe ``partial`` of WinoGrande scores the words after the gap, given each name."""
    suite, recipe = _endings_suite(), boxpen.recipes_of("winogrande")["partial"]
    (tmp_path / "tasks").mkdir()
    write_tasks(suite, recipe, tmp_path / "tasks")
    texts = [
        (tmp_path / f"tasks/boxpen_endings_{name}.yaml").read_text("utf-8")
        for name in ("gap", "gap_endings", "three")
    ]
    whole, ending, three = (yaml.safe_load(text.replace("!function ", "")) for text in texts)
    assert [m["metric"] for m in whole["metric_list"]] == ["acc", "acc_norm"]
    assert [m["metric"] for m in ending["metric_list"]] == ["acc"]
    assert (ending["doc_to_text"], three["doc_to_choice"]) == ("gold", "contexts")
    assert "9 item(s) have a prompt of their own" in (tmp_path / "tasks/README.md").read_text()
    args = f"pretrained={gpt2_dir},add_bos_token=True"
    logs = harness(["boxpen_endings"], tmp_path / "tasks", tmp_path / "logs", "hf", args)
    ours = boxpen.evaluate(f"hf:{gpt2_dir}", suite, recipe=recipe, cache=":memory:")
    theirs = Run.load(results_in(logs))
    _assert_same(ours, theirs)
    _assert_same_accuracy(ours, logs)
    assert theirs.info.recipe.name == "partial"
    assert theirs.info.recipe.digest == ours.info.recipe.digest
    assert theirs.info.suite.hash == ours.info.suite.hash


def _assert_same_accuracy(ours: Run, logs: Path) -> None:
    """Compare what lm-eval itself logged as right, item by item, where nothing is tied."""
    accs = {}
    for path in logs.glob("samples_*.jsonl"):
        for line in path.read_text("utf-8").splitlines():
            sample = json.loads(line)
            accs[sample["doc"]["id"]] = sample["acc"]
    best = {v.id: sorted(v.scores)[-2:] for v in ours.verdicts}
    untied = [v for v in ours.verdicts if best[v.id][1] - best[v.id][0] > 2e-3]
    assert len(untied) >= len(ours.verdicts) / 2
    assert {v.id: v.credit for v in untied} == {v.id: accs[v.id] for v in untied}


def _assert_same(ours: Run, theirs: Run) -> None:
    assert [v.id for v in ours.verdicts] == [v.id for v in theirs.verdicts]
    for mine, other in zip(ours.verdicts, theirs.verdicts, strict=True):
        assert mine.scores == pytest.approx(other.scores, abs=1e-3), mine.id
        assert (mine.gold, mine.block, mine.tags) == (other.gold, other.block, other.tags)
        if mine.tied == other.tied == 1:
            assert mine.credit == other.credit, mine.id


@pytest.mark.heavy
def test_smollm2_has_the_same_scores_in_both(tmp_path: Path) -> None:
    from lm_eval.models.huggingface import HFLM

    suite = draw_sample(boxpen.load_suite("starter"), 40, 0)
    export_suite(suite, "lm-eval", tmp_path / "tasks")
    model = boxpen.resolve_model("smollm2", device="cpu")
    ours = boxpen.evaluate(model, suite)
    model.tokenizer.add_bos_token = True
    lm = HFLM(pretrained=model.module, tokenizer=model.tokenizer, add_bos_token=True, batch_size=8)
    logs = harness(["boxpen_starter"], tmp_path / "tasks", tmp_path / "logs", lm)
    theirs = Run.load(results_in(logs))
    judged = {v.id for v in ours.verdicts}  # boxpen leaves out what smollm2 does not read
    assert len(judged) >= 30
    shared = tuple(v for v in theirs.verdicts if v.id in judged)
    _assert_same(ours, replace(theirs, verdicts=shared))
    _assert_same_accuracy(ours, logs)


def test_a_suite_without_sets_is_one_task(tmp_path: Path) -> None:
    suite = Suite("plain", tuple(i for i in mixed_suite() if i.id.startswith("pen")))
    export_suite(suite, "lm-eval", tmp_path / "tasks")
    assert [p.name for p in (tmp_path / "tasks").glob("*.yaml")] == ["boxpen_plain.yaml"]


@pytest.mark.parametrize(
    "sets", [("a b", "a-b"), ("x", "x 2", "X"), ("suite 2", "对话", "翻译", "常识")]
)
def test_sets_whose_names_differ_only_in_signs_are_several_tasks(sets, tmp_path: Path) -> None:
    items = [Choice(id=tag, candidates=("Yes.", "No."), gold=0, tags={"set": tag}) for tag in sets]
    export_suite(Suite("signs", tuple(items)), "lm-eval", tmp_path / "tasks")
    assert len(list((tmp_path / "tasks").glob("*.jsonl"))) == len(sets)
    assert {doc["id"] for doc in _docs(tmp_path / "tasks")} == set(sets)


def test_long_names_of_sets_are_shortened_and_differ(gpt2_dir: Path, tmp_path: Path) -> None:
    long = "pen " * 75
    texts = ("The box is in the pen.", "The pen is in the box.")
    items = [
        Choice(id=name[-2:], candidates=texts, gold=0, tags={"set": name})
        for name in (f"{long}a", f"{long}b", "short")
    ]
    suite = Suite("box " * 50, tuple(items), Card(language="en"))
    export_suite(suite, "lm-eval", tmp_path / "tasks")
    tasks = sorted(path.stem for path in (tmp_path / "tasks").glob("*.jsonl"))
    assert len(tasks) == 3
    assert max(map(len, tasks)) <= len("boxpen_") + 2 * (80 + 9) + 1
    assert sum(task.endswith("_short") for task in tasks) == 1
    (group,) = {path.stem for path in (tmp_path / "tasks").glob("*.yaml")} - set(tasks)
    logs = harness([group], tmp_path / "tasks", tmp_path / "out", "hf", f"pretrained={gpt2_dir}")
    run = Run.load(results_in(logs))
    assert [item.tags["set"] for item in run.verdicts] == [item.tags["set"] for item in items]


@pytest.mark.parametrize("recipe", ["ask", "generate"])
def test_recipes_without_scores_are_refused(recipe: str, tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=f"recipe '{recipe}' .* lm-eval tasks score candidates"):
        export_suite(boxpen.load_suite("starter"), "lm-eval", tmp_path / "x", recipe=recipe)
    assert not (tmp_path / "x").exists()


def test_a_suite_with_nothing_to_choose_is_refused(tmp_path: Path) -> None:
    items = (
        Entail(id="a", premise="It rains.", hypothesis="It is wet.", label="entailment"),
        Translate(id="b", source="Das Haus", reference="The house"),
    )
    with pytest.raises(SuiteError, match=r"nothing for lm-eval: an entailment item .*; an item to"):
        export_suite(Suite("none", items), "lm-eval", tmp_path / "x")
    assert not (tmp_path / "x").exists()
