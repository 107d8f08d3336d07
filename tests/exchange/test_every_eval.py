"""Records of Every Eval Ever: valid for every kind of run, and runs again when read back."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import boxpen
from boxpen import Card, Choice, Entail, Run, RunError, Suite, Translate, evaluate
from boxpen.analysis.reading_judge import ReadingJudge
from boxpen.exchange import export_runs
from boxpen.models.base import Encoded
from boxpen.review.human_run import human_run
from boxpen.runs.directory import run_directories
from boxpen.scoring.reading import ReadingRule
from small_runs import Liking, human_table, small_run, small_suite


class Masked(Liking):
    kind = "masked"


class Labels(Liking):
    """A classifier that says entailment, a little less for long texts."""

    kind, labels = "nli", (0, 1, 2)

    def encode(self, requests, policy) -> list[Encoded]:
        return [Encoded(ids=(0, 1, 2), scored=(0, 1, 2)) for _ in requests]

    def run(self, encoded, policy) -> Iterator:
        yield [(n, np.array([-0.5, -1.5, -2.5], dtype=np.float32)) for n in range(len(encoded))]


class Translator(Liking):
    kind, encoder = "seq2seq", True

    def can_translate(self) -> bool:
        return True

    def translate(self, sources, languages, *, beam, contexts=None) -> Iterator:
        yield [(n, f"right {s[-1]}" if s[-1] != "1" else "wrong 1") for n, s in enumerate(sources)]


class Chat(Liking):
    """A chat model that always takes the first option, and once does not answer clearly."""

    chat_access = "a server"

    def cannot_answer(self, asks: str = "text") -> None:
        return None

    def answer(self, prompts) -> Iterator:
        yield [(n, "A" if n else "I think so") for n, _ in enumerate(prompts)]


def translating() -> Suite:
    made = tuple(
        Choice(id=f"c{n}", candidates=(f"right {n}", f"wrong {n}"), gold=0, source=f"源 {n}",
               block=f"b{n // 2}", tags={"set": "x"})
        for n in range(4)
    )  # fmt: skip
    contrast = Translate(id="t", source="源 5", reference="right 5", contrast=("wrong 5",))
    return Suite("mt", (*made, contrast), Card(language="en", source_language="zh"))


def causal(_: Path) -> Run:
    return small_run("++-=+-+++++-" * 2)


def normed(_: Path) -> Run:
    return small_run("++-=", k=3, norm="token")


def masked(_: Path) -> Run:
    return evaluate(Masked("m", {"right 0"}), small_suite(4), cache=":memory:")


def nli(_: Path) -> Run:
    pair = {"premise": "It rains.", "hypothesis": "It is wet."}
    items = (
        Entail(id="1", **pair, label="entailment"),
        Entail(id="2", **pair, label="neutral", also=("entailment",)),
        Entail(id="3", **pair, label="contradiction"),
    )
    return evaluate(Labels("n", set()), Suite("nli", items), cache=":memory:")


def translation(_: Path) -> Run:
    return evaluate(Translator("t", {"right 0", "right 5"}), translating(), cache=":memory:")


def generation(_: Path) -> Run:
    judge = ReadingJudge(Liking("judge", {" right 0"}), ReadingRule(threshold=0.0))
    suite = translating()
    suite = suite.take(suite.items[:4])
    return evaluate(Translator("t", set()), suite, recipe="generate", judge=judge, cache=":memory:")


def asked(_: Path) -> Run:
    return evaluate(Chat("c", set()), small_suite(4, k=3), recipe="ask", cache=":memory:")


def human(folder: Path) -> Run:
    table = human_table(folder, "item,ann,bo\ni0,0,0\ni1,0,1\ni2,1,1\ni3,0,0\n")
    return human_run(small_suite(4), table, min_judges=2)


KINDS = (causal, normed, masked, nli, translation, generation, asked, human)


def record_of(run: Run, folder: Path) -> Path:
    export_runs([run], "eee", folder)
    (path,) = folder.glob("data/*/*/*/*.json")
    return path


def samples_of(path: Path) -> list[dict]:
    lines = path.with_name(f"{path.stem}_samples.jsonl").read_text("utf-8").split("\n")
    return [json.loads(line) for line in lines if line]


@pytest.fixture(scope="session")
def schemas(data_dir: Path) -> list:
    jsonschema = pytest.importorskip("jsonschema")
    names = ("eval.schema.json", "instance_level_eval.schema.json")
    files = [data_dir / "eee" / name for name in names]
    if not all(file.is_file() for file in files):
        pytest.skip("the mirror has no schemas of Every Eval Ever (eee/)")
    return [jsonschema.Draft7Validator(json.loads(f.read_text("utf-8"))) for f in files]


@pytest.mark.parametrize("make", KINDS)
def test_every_kind_of_run_is_valid(make: Callable[[Path], Run], schemas, tmp_path):
    path = record_of(make(tmp_path), tmp_path / "out")
    whole, instance = schemas
    record = json.loads(path.read_text("utf-8"))
    assert [e.message for e in whole.iter_errors(record)] == []
    for sample in samples_of(path):
        assert [e.message for e in instance.iter_errors(sample)] == []


@pytest.mark.parametrize("make", KINDS)
def test_every_kind_of_run_comes_back(make: Callable[[Path], Run], tmp_path):
    run = make(tmp_path)
    path = record_of(run, tmp_path / "out")
    samples = path.with_name(f"{path.stem}_samples.jsonl")
    for file in (path, samples):
        back = Run.load(file)
        assert back.signature == run.signature
        assert back.info.to_json() == json.loads(json.dumps(run.info.to_json()))
        for part in ("verdicts", "translations", "answers", "readings"):
            assert getattr(back, part) == getattr(run, part)
        assert back.tokens == run.tokens
        assert back.to_polars("records").equals(run.to_polars("records"))
    assert run_directories([tmp_path / "out"]) == [path]
    again = Run.load(back.save(tmp_path / "runs"))
    assert again.verdicts == run.verdicts
    first, second = (tmp_path / name for name in ("first", "second"))
    assert record_of(run, first).name == record_of(back, second).name


def test_the_kinds_are_what_they_are_called(tmp_path):
    made = {make.__name__: make(tmp_path) for make in KINDS}
    assert made["generation"].readings
    assert made["translation"].translations
    assert made["translation"].verdicts
    assert {a.outcome for a in made["asked"].answers} == {"chosen", "unparsed"}
    assert made["human"].human
    assert made["nli"].setting == "3-way"
    assert any(v.tied > 1 for v in made["causal"].verdicts)


@pytest.mark.parametrize("make", KINDS)
def test_results_are_those_of_the_run_and_of_its_instances(make, tmp_path):
    run = make(tmp_path)
    path = record_of(run, tmp_path / "out")
    record, samples = json.loads(path.read_text("utf-8")), samples_of(path)
    results = {r["evaluation_result_id"]: r for r in record["evaluation_results"]}
    for row in run.summary():
        found = results.pop(f"{row.slice}/{row.metric}", None)
        if found is None:
            few = row.n < 10 and row.metric in boxpen.metrics.summary.OF_BLOCKS
            assert few or row.metric.endswith("chance") or math.isnan(row.value)
            continue
        details = found["score_details"]
        assert details["score"] == row.value
        interval = details["uncertainty"].get("confidence_interval")
        if interval is None:
            assert math.isnan(row.low)
        else:
            assert (interval["lower"], interval["upper"]) == (row.low, row.high)
        assert details["details"]["signature"] == row.signature
        config = found["metric_config"]
        assert float(config["min_score"]) <= row.value <= float(config["max_score"])
    assert not results
    accuracy = [s for s in samples if s["evaluation_result_id"] == "all/accuracy"]
    mean = math.fsum(s["evaluation"]["score"] for s in accuracy) / len(accuracy)
    whole = next(r for r in run.summary() if (r.slice, r.metric) == ("all", "accuracy"))
    assert mean == pytest.approx(whole.value)
    told = record["detailed_evaluation_results"]
    content = (tmp_path / "out" / told["file_path"]).read_bytes()
    assert hashlib.sha256(content).hexdigest() == told["checksum"]
    assert told["total_rows"] == len(samples)
    assert {s["evaluation_id"] for s in samples} == {record["evaluation_id"]}
    assert {s["model_id"] for s in samples} == {record["model_info"]["id"]}


def test_results_on_a_sample_begin_with_it(tmp_path):
    run = small_run("++-+" * 5, limit=8)
    home = replace(run.info.suite, url="https://huggingface.co/datasets/boxpen/small")
    run = replace(run, info=replace(run.info, suite=home))
    record = json.loads(record_of(run, tmp_path / "out").read_text("utf-8"))
    for result in record["evaluation_results"]:
        told = result["metric_config"]["evaluation_description"]
        assert told.startswith("Sample of 8 of 20, seed 0, not the whole suite. ")
        assert result["source_data"]["samples_number"] == 20
        assert result["source_data"]["additional_details"]["sample"] == "8/20@0"


def test_an_instance_shows_what_was_chosen(tmp_path):
    samples = samples_of(record_of(small_run("+-"), tmp_path / "out"))
    assert samples[1]["input"]["choices"] == ["right 1", "wrong 1.0"]
    assert samples[1]["input"]["reference"] == ["right 1"]
    assert samples[1]["output"]["raw"] == ["wrong 1.0"]
    assert samples[1]["evaluation"] == {"score": 0.0, "is_correct": False}
    assert samples[1]["metadata"]["tag.set"] == "B"
    assert samples[1]["metadata"]["block"] == "b0"


@pytest.mark.parametrize(
    ("name", "id_", "availability"),
    [
        ("hf:a/b", "a/b", "unknown"),
        ("hf:/models/b", "unknown/b", "unknown"),
        ("gpt2", "openai-community/gpt2", "open_weights"),
        ("openai:gpt-x", "openai/gpt-x", "unknown"),
    ],
)
def test_models_are_named_as_on_the_hub(name, id_, availability, tmp_path):
    record = json.loads(record_of(small_run("++", model=name), tmp_path / "out").read_text())
    found = record["model_info"]
    assert found["id"] == id_
    assert found["additional_details"]["model_availability"] == availability


def test_runs_lie_side_by_side_and_the_same_once(tmp_path):
    one = small_run("++")
    runs = [one, small_run("+-", model="hf:a/b"), one]
    export_runs(runs, "eee", tmp_path / "out")
    found = sorted((tmp_path / "out").glob("data/*/*/*/*.json"))
    assert [p.relative_to(tmp_path / "out").parts[1:4] for p in found] == [
        ("small", "a", "b"), ("small", "unknown", "one"),
    ]  # fmt: skip
    assert len(boxpen.runs.directory.run_directories(found)) == 2


class TestDamage:
    def damaged(self, folder: Path, change: Callable[[Path, Path], None]) -> str:
        path = record_of(small_run("+-"), folder / "out")
        change(path, path.with_name(f"{path.stem}_samples.jsonl"))
        with pytest.raises(RunError) as caught:
            Run.load(path)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    def test_samples_that_are_gone_or_changed(self, tmp_path):
        assert "keep it beside" in self.damaged(tmp_path / "a", lambda _, s: s.unlink())
        said = self.damaged(tmp_path / "b", lambda _, s: s.write_bytes(s.read_bytes()[:-1]))
        assert "is not the file that its results name" in said

    def test_results_that_are_no_json_or_of_another_tool(self, tmp_path):
        def cut(path: Path, _: Path) -> None:
            path.write_bytes(path.read_bytes()[:-9])

        def foreign(path: Path, _: Path) -> None:
            record = json.loads(path.read_text("utf-8"))
            record["eval_library"] = {"name": "helm", "version": "1"}
            path.write_text(json.dumps(record), "utf-8")

        assert "cannot be read" in self.damaged(tmp_path / "a", cut)
        assert "has results of helm without the scores" in self.damaged(tmp_path / "b", foreign)

    @pytest.mark.parametrize("key", ["signature", "suite", "policy", "format"])
    def test_a_run_that_lacks_a_part(self, key, tmp_path):
        def less(path: Path, _: Path) -> None:
            record = json.loads(path.read_text("utf-8"))
            details = record["eval_library"]["additional_details"]
            run = json.loads(details["boxpen_run"])
            del run[key]
            details["boxpen_run"] = json.dumps(run)
            path.write_text(json.dumps(record), "utf-8")

        assert f"is damaged: it has no '{key}'" in self.damaged(tmp_path, less)

    @pytest.mark.parametrize(
        "change", [{"credit": 7.0}, {"scores": None}, {"gold": 9}, {"id": "other"}]
    )
    def test_a_verdict_that_cannot_be(self, change, tmp_path):
        def spoil(path: Path, samples: Path) -> None:
            rows = [json.loads(line) for line in samples.read_text("utf-8").splitlines()]
            kept = json.loads(rows[0]["metadata"]["boxpen"])
            kept["verdicts"][0] |= change
            rows[0]["metadata"]["boxpen"] = json.dumps(kept)
            content = "".join(json.dumps(row) + "\n" for row in rows).encode()
            samples.write_bytes(content)
            record = json.loads(path.read_text("utf-8"))
            told = record["detailed_evaluation_results"]
            told["checksum"] = hashlib.sha256(content).hexdigest()
            path.write_text(json.dumps(record), "utf-8")

        assert "is damaged" in self.damaged(tmp_path, spoil)


def test_a_run_of_lm_eval_names_the_tool_that_ran_it(tmp_path):
    run = small_run("++")
    model = replace(run.info.model, access="lm-eval 0.4.13")
    record = record_of(replace(run, info=replace(run.info, model=model)), tmp_path / "out")
    library = json.loads(record.read_text("utf-8"))["eval_library"]
    assert (library["name"], library["version"]) == ("lm_eval", "0.4.13")


@pytest.mark.parametrize(
    ("name", "sha", "shown"),
    [
        ("gpt2", "607a30d7", "openai-community/gpt2"), ("gpt2", "", "unknown/gpt2"),
        ("EleutherAI/pythia-70m", "a39f36b1", "EleutherAI/pythia-70m"),
        ("EleutherAI/pythia-70m", "", "unknown/pythia-70m"),
        ("./models/gpt2", "", "unknown/gpt2"), ("/models/gpt2", "", "unknown/gpt2"),
    ],
)  # fmt: skip
def test_the_developer_of_a_model_that_lm_eval_ran(name, sha, shown, tmp_path):
    run = small_run("+-")
    model = replace(run.info.model, name=name, short=name.split("/")[-1], access="lm-eval 0.4.13")
    info = replace(run.info, model=model, engine={"model_sha": sha}).signed()
    export_runs([replace(run, info=info)], "eee", tmp_path / "eee")
    (path,) = (tmp_path / "eee").rglob("*.json")
    about = json.loads(path.read_text("utf-8"))["model_info"]
    assert (about["id"], about["name"]) == (shown, name)
    assert about["developer"] == shown.partition("/")[0]
    known = "open_weights" if sha and name == "gpt2" else "unknown"
    assert about["additional_details"]["model_availability"] == known
