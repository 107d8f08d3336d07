"""Logs of lm-eval as runs: its own tasks, exported ones, and damaged files."""

import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import boxpen
from boxpen.errors import BoxpenError, RunError
from boxpen.runs.directory import run_directories
from boxpen.runs.run import Run

pytest.importorskip("lm_eval")
pytest.importorskip("torch")
from lm_eval_runs import (
    docs,
    foreign_logs,
    mixed_suite,
    own_logs,
    own_run,
    results_in,
    samples_in,
)


@pytest.fixture
def own(gpt2_dir: Path) -> Path:
    return own_logs(gpt2_dir)


@pytest.fixture
def foreign(gpt2_dir: Path) -> Path:
    return foreign_logs(gpt2_dir)


def _same(a: Run, b: Run) -> None:
    assert a.info == b.info
    assert a.verdicts == b.verdicts
    assert a.to_polars("records").equals(b.to_polars("records"))


def _boxpen(*args: object) -> int:
    """Run a command and return its exit status."""
    from boxpen.cli import main

    before, sys.argv = sys.argv, ["boxpen", *map(str, args)]
    try:
        main()
    except SystemExit as stop:
        return int(stop.code or 0)
    finally:
        sys.argv = before
    return 0


def test_an_exported_suite_comes_back_whole(own: Path, gpt2_dir: Path) -> None:
    run, ours = Run.load(results_in(own)), own_run(gpt2_dir)
    suite = mixed_suite()
    assert run.info.suite.hash == ours.info.suite.hash == suite.take(suite.items[:-1]).hash
    assert run.info.recipe.digest == ours.info.recipe.digest
    assert run.info.model.short == ours.info.model.short
    assert (run.info.unread_sources, run.info.unread_contexts) == (1, 0)
    assert "|bos:yes|eos:no|norm:sum|ties:half|dtype:float32|api:lm-eval 0.4.13|" in run.signature
    (pair,) = boxpen.compare(run, ours)
    assert (pair.n, pair.p) == (14, 1)


def test_one_set_of_it_is_a_part_of_the_suite(own: Path, gpt2_dir: Path) -> None:
    run, ours = Run.load(samples_in(own, "boxpen_mixed_suite_why")), own_run(gpt2_dir)
    assert [v.id for v in run.verdicts] == ["zh", "why-0", "why-1", "why-2", "why-3"]
    with pytest.raises(RunError, match="--common"):
        boxpen.compare(run, ours)
    (pair,) = boxpen.compare(run, ours, common=True)
    assert pair.n == 5


@pytest.mark.parametrize("norm", ["sum", "char", "byte", "word"])
def test_norms_of_sums_are_those_of_boxpen(own: Path, gpt2_dir: Path, norm: str) -> None:
    run, ours = Run.load(results_in(own)).rescore(norm=norm), own_run(gpt2_dir).rescore(norm=norm)
    for mine, other in zip(ours.verdicts, run.verdicts, strict=True):
        assert mine.scores == pytest.approx(other.scores, abs=1e-3)


def test_there_are_no_tokens_to_divide_by(own: Path) -> None:
    with pytest.raises(BoxpenError, match="norm 'token' needs the tokens"):
        Run.load(results_in(own)).rescore(norm="token")


def test_changed_prompts_are_another_recipe(own: Path, tmp_path: Path) -> None:
    path = samples_in(own, "boxpen_mixed_suite_why")
    text = path.read_text("utf-8").replace('"arg_0": "', '"arg_0": "User: ')
    (tmp_path / path.name).write_text(text, "utf-8")
    run = Run.load(tmp_path / path.name)
    assert run.info.recipe.name == "sound+lm-eval"
    assert run.info.model.short == tmp_path.name  # no results beside it
    assert "|bos:tokenizer|" in run.signature
    assert "api:lm-eval of unknown version" in run.signature


def test_a_run_directory_made_from_a_log_reads_back(own: Path, foreign: Path, tmp_path: Path):
    for path in (results_in(own), samples_in(foreign, "tiny_piqa")):
        run = Run.load(path)
        _same(run, Run.load(run.save(tmp_path)))


def test_commands_take_a_log(own: Path, gpt2_dir: Path, tmp_path: Path, capsys) -> None:
    log, saved = results_in(own), own_run(gpt2_dir).save(tmp_path / "runs")
    assert _boxpen("report", log) == 0
    assert _boxpen("report", log, "--html", tmp_path / "page.html") == 0
    assert _boxpen("compare", log, saved) == 0
    assert _boxpen("slices", log, "--by", "set") == 0
    assert _boxpen("check", log, "--min", "accuracy>=0") == 0
    assert _boxpen("rescore", log, "--norm", "char", "--out", tmp_path / "out") == 0
    assert _boxpen("report", tmp_path / "out") == 0
    assert "lm-eval 0.4.13" in capsys.readouterr().out.replace("\n", " ")
    assert _boxpen("rescore", log, "--norm", "token") == 2
    assert "norm 'token' needs the tokens" in capsys.readouterr().err.replace("\n", " ")


def test_a_folder_of_logs_is_a_folder_of_runs(own: Path, tmp_path: Path) -> None:
    results = results_in(own)
    assert run_directories([own]) == run_directories([own.parent]) == [results]
    assert _boxpen("report", own) == 0
    with pytest.raises(RunError, match=re.escape(f"no run.json; load the log {results}")):
        Run.load(own)
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(RunError, match=r"a run\.json or the results of another tool"):
        run_directories([tmp_path])


def test_a_minimal_pair_as_lm_eval_has_it(foreign: Path) -> None:
    run = Run.load(samples_in(foreign, "tiny_blimp"))
    assert run.info.suite.name == "tiny_blimp"
    assert [v.id for v in run.verdicts] == list("012345")
    assert [v.gold for v in run.verdicts] == [0] * 6
    assert [s.text for s in run.candidates["0"]] == [
        " The box 0 is in the pen.", " The pen 0 is in the box.",
    ]  # fmt: skip
    assert [v.tags["field"] for v in run.verdicts] == ["space"] * 3 + ["time"] * 3
    assert not {"good", "sentence", "question"} & run.verdicts[0].tags.keys()
    _assert_accuracy(run, foreign, "tiny_blimp", "acc,none")


def _assert_accuracy(run: Run, folder: Path, task: str, metric: str) -> None:
    """Compare with the accuracy that lm-eval counted; nothing may be tied."""
    assert not any(v.tied > 1 for v in run.verdicts)
    counted = json.loads(results_in(folder).read_text("utf-8"))["results"][task][metric]
    assert sum(v.credit for v in run.verdicts) / len(run.verdicts) == pytest.approx(counted)


def test_a_prompt_three_options_and_mutual_information(foreign: Path) -> None:
    run = Run.load(samples_in(foreign, "tiny_piqa"))
    assert [v.gold for v in run.verdicts] == [doc["label"] for doc in docs()]
    first = run.candidates["0"][1]
    assert (first.prefix, first.text) == ("Question: Where is box 0?\nAnswer:", " In the tree")
    _assert_accuracy(run, foreign, "tiny_piqa", "acc,none")
    _assert_accuracy(run.rescore(norm="pmi"), foreign, "tiny_piqa", "acc_mutual_info,none")
    _assert_accuracy(run.rescore(norm="char"), foreign, "tiny_piqa", "acc_norm,none")


def test_a_target_may_be_a_text_and_a_log_may_have_two_filters(foreign: Path) -> None:
    path = samples_in(foreign, "tiny_text")
    assert len(path.read_text("utf-8").splitlines()) == 12
    run = Run.load(path)
    assert [v.gold for v in run.verdicts] == [doc["label"] for doc in docs()]


def test_a_context_for_each_candidate(foreign: Path) -> None:
    run = Run.load(samples_in(foreign, "tiny_winogrande"))
    assert [v.gold for v in run.verdicts] == [int(doc["answer"]) - 1 for doc in docs()]
    read = run.text_of(run.candidates["1"][1])
    assert read == "The box 1 is not in the pen because the box is too small."
    _assert_accuracy(run, foreign, "tiny_winogrande", "acc,none")


def test_a_group_is_a_suite_with_a_set_per_task(foreign: Path, tmp_path: Path) -> None:
    for path in (results_in(foreign), *foreign.glob("samples_tiny_blimp*")):
        shutil.copy(path, tmp_path)
    run = Run.load(results_in(tmp_path))
    assert run.info.suite.name == "tiny_group"
    assert len(run.verdicts) == 12
    assert {v.tags["set"] for v in run.verdicts} == {"tiny_blimp", "tiny_blimp_two"}


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ("tiny_lambada", "one text per item, so there is nothing to compare"),
        ("tiny_generation", "the task generates text"),
    ],
)
def test_tasks_that_choose_nothing_are_refused(foreign: Path, task: str, said: str) -> None:
    with pytest.raises(RunError, match=said):
        Run.load(samples_in(foreign, task))


def test_results_of_unrelated_tasks_are_refused(foreign: Path, tmp_path: Path) -> None:
    for path in (results_in(foreign), *foreign.glob("samples_tiny_[bpw]*")):
        shutil.copy(path, tmp_path)
    with pytest.raises(RunError, match=r"4 tasks .* are not one group; give the samples"):
        Run.load(results_in(tmp_path))
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(results_in(foreign), alone)
    with pytest.raises(RunError, match="--log_samples"):
        Run.load(results_in(alone))


def _edit(**changes: object) -> Callable[[list[dict]], list[dict]]:
    return lambda rows: [rows[0], {**rows[1], **changes}, *rows[2:]]


def _without(key: str) -> Callable[[list[dict]], list[dict]]:
    return lambda rows: [{k: v for k, v in row.items() if k != key} for row in rows]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_without("resps"), "line 1: there are no scores; run lm_eval with --log_samples"),
        (lambda rows: [*rows, rows[0]], "line 7: item 0 appears twice"),
        (lambda _: [], "has no items"),
        (_edit(resps=[[["nan", "False"]], [["-1", "False"]]]), "line 2: .* not a finite number"),
        (_edit(resps=[[["-1", "False"]]]), "line 2: 2 texts and 1 scores"),
        (_edit(resps=[["text"], ["other"]]), "line 2: `resps` has no log-likelihoods"),
        (_edit(target="7"), "line 2: it does not tell which of 2 candidates is right"),
        (_edit(target="[0, 1]"), "line 2: it does not tell which of 2 candidates is right"),
        (_edit(acc=0.4), "line 2: acc is 0.4; the task does not choose one"),
        (_edit(arguments=3), "line 2: `arguments` is neither"),
        (_edit(doc_id=None), "line 2: not a sample of lm-eval"),
        (_edit(doc={"boxpen": "{}"}), None),  # only the first item tells whose task it is
        (lambda rows: _edit(doc={"boxpen": "{}"})(rows[1:] + rows[:2])[1:], "field is damaged"),
    ],
)
def test_damaged_logs_give_one_sentence(foreign: Path, tmp_path: Path, change, said) -> None:
    source = samples_in(foreign, "tiny_blimp")
    rows = [json.loads(line) for line in source.open(encoding="utf-8")]
    path = tmp_path / source.name
    path.write_text("".join(json.dumps(row) + "\n" for row in change(rows)), "utf-8")
    if said is None:
        assert len(Run.load(path).verdicts) == 6
        return
    with pytest.raises(RunError, match=said) as error:
        Run.load(path)
    assert "\n" not in str(error.value)


def test_a_line_cut_short_is_named(foreign: Path, tmp_path: Path) -> None:
    source = samples_in(foreign, "tiny_blimp")
    path = tmp_path / source.name
    path.write_bytes(source.read_bytes()[:-40])
    with pytest.raises(RunError, match="line 6: damaged"):
        Run.load(path)


def test_edited_items_of_an_exported_suite_are_refused(own: Path, tmp_path: Path) -> None:
    for path in own.iterdir():
        text = path.read_text("utf-8")
        (tmp_path / path.name).write_text(text.replace("The river is wide", "It rained"), "utf-8")
    with pytest.raises(RunError, match="items are not those of suite 'Mixed suite'"):
        Run.load(results_in(tmp_path))
