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
from boxpen.exchange import export_runs
from boxpen.exchange.lm_eval_samples import read_samples
from boxpen.runs.directory import run_directories
from boxpen.runs.info import ModelInfo
from boxpen.runs.run import Run

pytest.importorskip("lm_eval")
pytest.importorskip("torch")
from lm_eval_runs import (
    docs,
    exported,
    foreign_logs,
    harness,
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
    dotted = tmp_path / "results" / "..__model"  # of --model_args pretrained=../model
    shutil.copytree(own, dotted)
    assert run_directories([tmp_path / "results"]) == [results_in(dotted)]
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


def _row(n: int, target: object, choices: list[str], best: int, acc: object, **more: object) -> str:
    """A line of a log in which one candidate has the highest score."""
    row = {
        "doc_id": n, "doc": {}, "target": str(target), "filter": "none", "acc": acc,
        "arguments": {f"gen_args_{i}": {"arg_0": "Q:", "arg_1": f" {c}"}
                      for i, c in enumerate(choices)},
        "resps": [[[str(-1.0 - (i != best)), "False"]] for i in range(len(choices))],
    }  # fmt: skip
    return json.dumps(row | more) + "\n"


def _digits(targets: list[int], *, texts: bool) -> str:
    """A log whose choices are digits, and whose targets are the texts or the places of some."""
    choices = ["2", "0", "1", "4"]
    return "".join(
        _row(n, choices[place] if texts else place, choices, n % 4, float(n % 4 == place))
        for n, place in enumerate(targets)
    )


@pytest.mark.parametrize("texts", [True, False])
def test_digits_are_numbers_or_texts_in_all_of_a_file(texts: bool, tmp_path: Path) -> None:
    path = tmp_path / "samples_digits.jsonl"
    golds = [0, 1, 2, 0, 1, 2, 1, 0, 2, 2]
    path.write_text(_digits(golds, texts=texts))
    assert [v.gold for v in Run.load(path).verdicts] == golds


def test_the_item_tells_which_digit_is_right_if_boxpen_exported_it(tmp_path: Path) -> None:
    path = tmp_path / "samples_digits.jsonl"
    row = json.loads(_row(0, "1", ["2", "0", "1", "4"], 0, 0.0))
    row["doc"] |= {"boxpen": {}, "gold": 2}
    path.write_text(json.dumps(row) + "\n")
    (sample,) = read_samples(path)
    assert sample.gold == 2


def test_digits_that_may_be_both_or_are_of_two_kinds_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "samples_digits.jsonl"
    path.write_text(_row(0, "1", ["2", "0", "1", "4"], 0, 0.0))
    with pytest.raises(RunError, match=r"line 1: the target '1' may be the number or the text"):
        Run.load(path)
    path.write_text(_row(0, "3", ["a", "b", "c", "d"], 3, 1.0) + _row(1, "x", ["x", "y"], 0, 1.0))
    with pytest.raises(RunError, match="line 2: the target 'x' is not of the same kind"):
        Run.load(path)


def test_a_part_of_an_exported_suite_is_a_sample(gpt2_dir: Path, tmp_path: Path, capsys) -> None:
    logs = harness(["boxpen_mixed_suite"], exported(gpt2_dir), tmp_path / "logs", "hf",
                   f"pretrained={gpt2_dir},add_bos_token=True", limit=3)  # fmt: skip
    for log, count in (
        (results_in(logs), 7),
        (samples_in(own_logs(gpt2_dir), "boxpen_mixed_suite_why"), 5),
    ):
        run = Run.load(log)
        assert run.sample_note == f"sample of {count} of 14"
        assert f"|sample:{count}/14|" in run.signature
        _same(run, Run.load(run.save(tmp_path / "runs")))
        assert _boxpen("check", log, "--min", "accuracy>=0") == 2
        assert "a run on a sample of the suite" in capsys.readouterr().err.replace("\n", " ")
        assert _boxpen("check", log, "--min", "accuracy>=0", "--allow-sample") == 0
    assert Run.load(results_in(own_logs(gpt2_dir))).sample_note == ""


@pytest.mark.parametrize(
    ("counts", "note"),
    [
        ({"n-samples": {"t": {"original": 40, "effective": 3}}}, "sample of 3 of 40"),
        ({"n-samples": {"t": {"original": 3, "effective": 3}}}, ""),
        ({"config": {"limit": 3.0}}, "sample of 3 items"),
        ({"config": {"limit": None}}, ""),
    ],
)
def test_a_log_with_a_limit_is_a_sample(counts, note: str, tmp_path: Path) -> None:
    date = "2026-01-01T00-00-00.000000"
    (tmp_path / f"samples_t_{date}.jsonl").write_text(_digits([0, 1, 2], texts=True))
    path = tmp_path / f"results_{date}.json"
    path.write_text(json.dumps({"results": {}, **counts}))
    run = Run.load(path)
    assert run.sample_note == note
    _same(run, Run.load(run.save(tmp_path / "runs")))


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        ("pretrained=gpt2,add_bos_token=True,token=hf_A", "pretrained=gpt2,add_bos_token=True,tok"),
        ({"model": "x", "api_key": "hf_A", "more": {"db_password": "hf_A"}}, "{'model': 'x', 'a"),
        ("openai_api_key=hf_A, hf_token=hf_A,think_end_token=</t>", "think_end_token=</t>"),
        (
            "base_url=https://me:hf_A@there/v1,tokenizer=t",
            "base_url=https://***@there/v1,tokenizer",
        ),
    ],
)
def test_keys_of_users_are_not_kept(args: object, shown: str, tmp_path: Path) -> None:
    date = "2026-01-01T00-00-00.000000"
    (tmp_path / f"samples_t_{date}.jsonl").write_text(_digits([0, 1, 2], texts=True))
    results = tmp_path / f"results_{date}.json"
    results.write_text(json.dumps({"results": {}, "config": {"model_args": args}}))
    run = Run.load(results)
    assert shown in run.info.engine["model_args"]
    assert "***" in run.info.engine["model_args"]
    export_runs([run], "eee", tmp_path / "eee")
    run.save(tmp_path / "runs")
    written = [*(tmp_path / "eee").rglob("*.json*"), *(tmp_path / "runs").rglob("run.json")]
    assert len(written) == 3
    assert not any(b"hf_A" in path.read_bytes() for path in written)


@pytest.mark.parametrize(
    ("args", "name"),
    [
        (
            "pretrained=models/pen/,gguf_file=pen-q4.gguf,add_bos_token=True",
            "models/pen/pen-q4.gguf",
        ),
        ({"pretrained": "models/pen/", "gguf_file": "pen-q8.gguf"}, "models/pen/pen-q8.gguf"),
        ({"pretrained": "models/pen/", "gguf_file": None}, "models/pen/"),
        ("pretrained=models/pen/", "models/pen/"),
    ],
)
def test_a_file_of_a_folder_of_models_is_named(args: object, name: str, tmp_path: Path) -> None:
    model = _model_of(args, tmp_path)
    assert (model.name, model.short) == (name, name.rstrip("/").rpartition("/")[2])


def test_two_files_of_a_folder_are_two_models(tmp_path: Path) -> None:
    files = ("pen-q4.gguf", "pen-q8.gguf")
    marks = {_model_of(f"pretrained=pen,gguf_file={f}", tmp_path).fingerprint for f in files}
    assert len(marks) == 2


def _model_of(args: object, folder: Path) -> ModelInfo:
    date = "2026-01-01T00-00-00.000000"
    (folder / f"samples_t_{date}.jsonl").write_text(_digits([0, 1, 2], texts=True))
    results = folder / f"results_{date}.json"
    about = {"results": {}, "model_name": "models/pen/", "config": {"model_args": args}}
    results.write_text(json.dumps(about))
    return Run.load(results).info.model


def _about(key: str, value: object) -> Callable[[dict], None]:
    """Set a key of the ``boxpen`` field, such as ``suite.sample``; ... removes it."""

    def change(about: dict) -> None:
        *outer, last = key.split(".")
        for name in outer:
            about = about[name]
        if value is ...:
            del about[last]
        else:
            about[last] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        _about("suite.card", ...), _about("suite.card", []), _about("suite.sample", "zzz"),
        _about("suite.items", "x"), _about("suite.items", 1), _about("place", [1]),
        _about("recipe.policy", [1]), _about("recipe.policy", {"norm": "zz"}),
        _about("recipe.prompt", 5), _about("item", {"id": 1}), _about("order", "01"),
    ],
)  # fmt: skip
def test_a_damaged_field_gives_one_sentence(own: Path, tmp_path: Path, change, capsys) -> None:
    source = samples_in(own, "boxpen_mixed_suite_why")
    rows = [json.loads(line) for line in source.open(encoding="utf-8")]
    for row in rows:
        about = json.loads(row["doc"]["boxpen"])
        change(about)
        row["doc"]["boxpen"] = json.dumps(about)
    path = tmp_path / "samples_x.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    assert _boxpen("report", path) == 2
    said = capsys.readouterr().err
    assert f"boxpen: {path}, line 1: the " in said.replace("\n", " ")


@pytest.mark.parametrize("changes", [{"n-shot": [1]}, {"versions": 3}, {"n-samples": {"t": 3}}])
def test_damaged_results_give_one_sentence(changes, tmp_path: Path, capsys) -> None:
    date = "2026-01-01T00-00-00.000000"
    (tmp_path / f"samples_t_{date}.jsonl").write_text(_digits([0, 1, 2], texts=True))
    path = tmp_path / f"results_{date}.json"
    path.write_text(json.dumps({"results": {}, **changes}))
    assert _boxpen("report", path) == 2
    assert f"boxpen: {path} is damaged: " in capsys.readouterr().err.replace("\n", " ")


def test_an_empty_candidate_is_named(tmp_path: Path) -> None:
    path = tmp_path / "samples_t.jsonl"
    path.write_text(_row(0, 0, ["a", "b"], 0, 1.0) + _row(1, 0, ["a", ""], 0, 1.0))
    with pytest.raises(RunError, match="line 2: a candidate is empty"):
        Run.load(path)
