"""The formats that boxpen reads: how a whole file is made, read, and known to be read rightly."""

from __future__ import annotations

import csv
import gzip
import json
import lzma
import math
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import rooms  # noqa: F401
from mutations import Format

from boxpen import Request, Run, ScoreCache, read_suite, resolve_model, write_suite
from boxpen.items import item_to_dict
from boxpen.scoring.cache import cache_key
from boxpen.scoring.policy import ScoringPolicy
from small_runs import small_run, small_suite

REQUESTS = [
    Request(text="The box was in the pen.", source="盒子在围栏里。", languages=("zh", "en")),
    Request(text="It rained all night!", source="大雨下了整整一夜!", languages=("zh", "en")),
]


def saved_suite(folder: Path, ending: str) -> Path:
    write_suite(small_suite(40), folder / f"suite.{ending}")
    return folder / f"suite.{ending}"


def suite_of(path: Path) -> list[dict[str, Any]]:
    return [item_to_dict(item) for item in read_suite(path)]


def is_suite(path: Path, found: list[dict[str, Any]], whole: list[dict[str, Any]]) -> None:
    """What another reader of the format finds in the file has the same texts, in order."""
    texts = [list(item["candidates"]) for item in found if "candidates" in item]
    data = path.read_bytes()
    if path.suffix == ".jsonl":
        lines = data.decode("utf-8-sig").split("\n")
        rows = [json.loads(line) for line in lines if line.strip()]
        assert texts == [row["candidates"] for row in rows if "candidates" in row], "candidates"
        golds = [(row["id"], row["gold"]) for row in rows if "candidates" in row]
        assert golds == [(item["id"], item["gold"]) for item in found if "candidates" in item]
    elif path.suffix == ".parquet":
        assert found == whole, "items"
    else:
        given = data.decode("utf-8-sig")
        given += given.replace('""', '"')  # within quotes
        for text in (text for row in texts for text in row):
            assert text in given or json.dumps(text)[1:-1] in given, text


def made_graph(folder: Path, ending: str) -> Path:
    path = folder / f"graph.{ending}"
    triples = [(f"box {n}", "AtLocation", f"pen {n % 7}") for n in range(60)]
    if ending == "parquet":
        import polars as pl

        columns = ["head", "relation", "tail"]
        pl.DataFrame(triples, schema=columns, orient="row").write_parquet(path)
    elif ending == "jsonl":
        named = (dict(zip(("head", "relation", "tail"), row, strict=True)) for row in triples)
        path.write_text("".join(json.dumps(row) + "\n" for row in named))
    else:
        rows = "".join("\t".join(row) + "\n" for row in triples)
        pack = {"tsv.gz": gzip.compress, "tsv.xz": lzma.compress}.get(ending, bytes)
        path.write_bytes(pack(rows.encode()))
    return path


def graph_of(path: Path) -> list[tuple[str, str, str]]:
    import polars as pl

    from boxpen.build.kg.read.graph import GraphSpec, read_graph

    by_name = path.suffix in (".jsonl", ".parquet")
    names = {n: n if by_name else i + 1 for i, n in enumerate(("head", "relation", "tail"))}
    spec = GraphSpec((path,), "toy", columns=names, language="en")
    frames = [chunk.triples for chunk in read_graph(spec)]
    return pl.concat(frames).select("head", "relation", "tail").rows() if frames else []


def unpacked(path: Path) -> str:
    data = path.read_bytes()
    if path.suffix in (".gz", ".xz"):
        data = (gzip if path.suffix == ".gz" else lzma).decompress(data)
    return data.decode("utf-8", "replace")


def is_graph(path: Path, found: list[tuple[str, str, str]], whole: Any) -> None:
    if path.suffix == ".parquet":
        return  # which has no checksums, and no other reader than Polars
    lines = unpacked(path).replace("\ufeff", "").split("\n")
    known: set[tuple[str, ...]] = set()
    for line in lines:
        if path.suffix == ".jsonl":
            try:
                row = json.loads(line, parse_float=str, parse_int=str)
                known.add(tuple(str(row[n]).strip().lower() for n in ("head", "relation", "tail")))
            except (ValueError, KeyError, TypeError, RecursionError):
                continue
        else:
            known.add(tuple(cell.strip().lower() for cell in line.split("\t")[:3]))
    strange = {tuple(cell.strip().lower() for cell in row) for row in found} - known
    assert not strange, str(sorted(strange)[:2])


def made_corpus(folder: Path, ending: str) -> Path:
    pack = {"gz": gzip.compress, "xz": lzma.compress}.get(ending.rpartition(".")[2], bytes)
    rows = "".join(f"film\t{n}\tThe box {n}.\t盒子 {n}。\n" for n in range(80))
    (folder / f"films.{ending}").write_bytes(pack(rows.encode()))
    return folder / f"films.{ending}"


def corpus_of(path: Path) -> list[tuple[str, str]]:
    from boxpen.text.corpus import CorpusSpec, read_pairs

    spec = CorpusSpec("toy", tsv=path, columns={"doc": 0, "source": 2, "target": 3},
                      documents="column")  # fmt: skip
    return [(pair.source, pair.target) for pair in read_pairs(spec, Counter())]


def is_corpus(path: Path, found: list[tuple[str, str]], whole: Any) -> None:
    cells = [line.split("\t") for line in unpacked(path).split("\n")]
    known = {(row[2].strip(), row[3].strip()) for row in cells if len(row) > 3}
    strange = {(a.strip(), b.strip()) for a, b in found} - known
    assert not strange, str(sorted(strange)[:2])


def made_config(folder: Path, name: str) -> Path:
    from toy_builds import write_toy

    return write_toy(folder, name).rename(folder / f"{name}.toml")


def config_of(path: Path) -> Any:
    home = path.parent  # the data that the configuration names
    if path.stem in ("kg", "discourse", "duals"):
        from toy_builds import write_toy

        from boxpen.build.builders import open_build

        text = path.read_bytes()
        write_toy(home, path.stem)
        path.write_bytes(text)
        return open_build(path)[1]
    from boxpen.nmt.config import read_config

    return read_config(path)


def is_config(path: Path, found: Any, whole: Any) -> None:
    """Another reader of TOML finds the same simple values."""
    for key, value in tomllib.loads(path.read_text("utf-8-sig")).items():
        if type(value) in (int, str) and key in ("name", "seed", "top", "source", "target"):
            assert str(value) in (str(getattr(found, key, value)), value), key


PLAN = 'model = ["smollm2"]\nsuite = ["small.jsonl"]\nlimit = 12\nseed = 3\nnorm = "token"\n'
GATE = f"[run]\n{PLAN}" + (
    '[[rule]]\nmetric = "accuracy"\nmin = 0.5\nslice = "set=A"\n'
    '[[rule]]\nmetric = "consistency"\nmin = 0.25\n'
)


def made_plan(folder: Path, text: str) -> Path:
    path = folder / ("gate.toml" if "rule" in text else "plan.toml")
    path.write_text(text)
    return path


def plan_of(path: Path) -> Any:
    write_suite(small_suite(), path.parent / "small.jsonl")
    if path.stem == "gate":
        from boxpen.exchange.gate import read_gate

        return read_gate(path)
    from boxpen.matrix.plan_file import read_plan

    return read_plan(path)


def is_plan(path: Path, found: Any, whole: Any) -> None:
    told = tomllib.loads(path.read_text("utf-8-sig"))
    if path.stem == "gate":
        given = [float(rule.get("min")) for rule in told.get("rule", [])]
        assert [rule.bound for rule in found.rules] == given
    for one in found if path.stem == "plan" else ():
        assert one.limit == told.get("limit", one.limit)
        assert one.seed == told.get("seed", one.seed)


def made_run(folder: Path) -> Path:
    return small_run("+-+-=" * 8).save(folder).rename(folder / "run")


def run_of(path: Path) -> tuple[Any, ...]:
    run = Run.load(path)
    logprobs = [one.record.logprobs.tolist() for v in run.verdicts for one in run.candidates[v.id]]
    rows = [(r.slice, r.metric, r.value, r.n) for r in run.summary()]
    return [(v.id, v.scores, v.winner, v.credit, v.tags) for v in run.verdicts], logprobs, rows


def is_run(path: Path, found: tuple[Any, ...], whole: tuple[Any, ...]) -> None:
    assert found[0] == whole[0], "verdicts"
    assert found[1] == whole[1], "records"
    assert all(math.isfinite(row[2]) for row in found[2]), "a metric"


def made_cache(folder: Path) -> Path:
    from test_damaged_cache import filled

    return filled(folder / "scores.sqlite", 200)


def cache_of(path: Path) -> dict[bytes, tuple[Any, ...]]:
    keys = [cache_key("fingerprint", {}, (str(n),)) for n in range(200)]
    with ScoreCache(path) as cache:
        records = {
            k: (r.token_ids.tolist(), r.logprobs.tolist(), r.unscored, r.truncated)
            for k, r in cache.records(keys).items()
        }
        return {**records, **{b"t" + k: v for k, v in cache.translations(keys).items()}}


def is_cache(path: Path, found: dict[bytes, Any], whole: dict[bytes, Any]) -> None:
    assert all(whole[key] == value for key, value in found.items()), "a record"


def made_elmo(folder: Path) -> Path:
    import elmo_files

    return elmo_files.write(folder / "elmo")


def made_build(folder: Path) -> Path:
    from toy_builds import toy_runner

    path = folder / "toy"
    path.mkdir()
    list(toy_runner(path, "kg").run())
    return path


def build_of(path: Path) -> dict[str, bytes]:
    """What rerunning the build leaves."""
    from boxpen.build.builders import open_build

    builder, config = open_build(path / "kg.toml")
    list(builder.runner(config).run())
    return {p.name: p.read_bytes() for p in (path / "out").iterdir() if p.suffix != ".json"}


def is_build(path: Path, found: dict[str, bytes], whole: dict[str, bytes]) -> None:
    different = [name for name in found.keys() & whole.keys() if found[name] != whole[name]]
    assert not different, different


def made_gguf(folder: Path) -> Path:
    import tiny

    tiny.gguf(folder / "tiny.gguf")
    return folder / "tiny.gguf"


def made_safetensors(folder: Path) -> Path:
    import tiny

    module, tokenizer = tiny.gpt2()
    module.save_pretrained(folder / "gpt2")
    tokenizer.save_pretrained(folder / "gpt2")
    return folder / "gpt2"


def made_ct2(folder: Path) -> Path:
    import tiny

    tiny.ct2(folder)
    return folder / "ct2"


def scores_of(path: Path) -> tuple[str, list[list[float]]]:
    import torch

    torch.set_num_threads(1)
    kind = {"tiny.gguf": "gguf", "gpt2": "hf"}.get(path.name, path.name)
    model = resolve_model(f"{kind}:{path}", device="cpu")
    found: dict[int, list[float]] = {}
    for batch in model.score(REQUESTS, model.resolve_policy(ScoringPolicy())):
        found |= {number: record.logprobs.tolist() for number, record in batch}
    return model.fingerprint, [found[number] for number in sorted(found)]


def is_model(path: Path, found: Any, whole: Any) -> None:
    """No NaN, and another model never passes for the whole one."""
    assert all(math.isfinite(value) for one in found[1] for value in one), "a score"
    assert found[1] == whole[1] or found[0] != whole[0], "other scores, same fingerprint"


def training(out: Path) -> dict[str, Any]:
    import torch
    from sentence_rules import write_text

    from boxpen.lm import Options, train_lm

    torch.set_num_threads(1)
    text = out.parent / "text.txt"
    if not text.exists():
        write_text(text, 60)
    options = Options(epochs=1, batch_size=16, every=2, patience=0, seed=5)
    return train_lm(kind="causal", model="new:tiny", text=[text], out=out, options=options)


def made_training(folder: Path) -> Path:
    from boxpen.training.learner import Learner

    step, steps = Learner.step, []

    def stopped(self: Any, *rest: Any) -> Any:
        steps.append(1)
        if len(steps) == 4:
            raise KeyboardInterrupt
        return step(self, *rest)

    Learner.step = stopped
    try:
        training(folder / "trained")
    except KeyboardInterrupt:
        return folder / "trained"
    finally:
        Learner.step = step
    raise AssertionError("the training was not stopped")


def training_of(path: Path) -> dict[str, Any]:
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        text = "".join(line + "\n" for line in __import__("sentence_rules").lines(60))
        Path(folder, "text.txt").write_text(text)
        shutil.copytree(path, Path(folder) / "trained")
        return training(Path(folder) / "trained")


def is_training(path: Path, found: dict[str, Any], whole: dict[str, Any]) -> None:
    assert found == whole, f"{found['loss']} for {whole['loss']}"


def made_journal(folder: Path) -> Path:
    from boxpen.review import Journal, Judgement

    path = folder / "small-judgements.jsonl"
    verdicts = ("accept", "reject", "edit")
    Journal(path).append(
        Judgement(item=f"i{n}", judge=f"judge {n % 3}", verdict=verdicts[n % 3],
                  comment=f"note {n}", seen="0" * 16, time="2026-01-01T00:00:00+00:00")
        for n in range(40)
    )  # fmt: skip
    return path


def journal_of(path: Path) -> list[tuple[str, str, str]]:
    from boxpen.review import Journal

    return [(one.item, one.judge, one.verdict) for one in Journal(path).read().judgements]


def is_journal(path: Path, found: list[tuple[str, str, str]], whole: Any) -> None:
    lines = path.read_text("utf-8-sig").split("\n")
    known = []
    for line in lines:
        try:
            row = json.loads(line)
            known.append((row["item"], row["judge"], row["verdict"]))
        except ValueError:
            continue
    assert found == known, "judgements"


def questions() -> Any:
    from boxpen.review import Question, VerdictSet

    verdicts = VerdictSet({"accept": ("a",), "reject": ("r",), "edit": ("e",)},
                          edited=frozenset({"edit"}))  # fmt: skip
    return [Question(f"i{n}", {"text": f'A heron {n} wades, "so".'}) for n in range(30)], verdicts


def made_sheet(folder: Path) -> Path:
    from boxpen.review import write_sheet

    asked, _ = questions()
    path = folder / "sheet.csv"
    write_sheet(path, asked, "anna")
    rows = list(csv.reader(path.open(encoding="utf-8-sig", newline="")))
    at = rows[0].index("verdict")
    for number, row in enumerate(rows[1:]):
        row[at] = ("accept", "reject")[number % 2]
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows(rows)
    return path


def sheet_of(path: Path) -> list[tuple[str, str]]:
    from boxpen.review import Journal, import_sheets

    asked, verdicts = questions()
    journal = Journal(path.parent / "journal.jsonl")
    try:
        done = import_sheets([path], asked, verdicts, journal)
    finally:
        journal.path.unlink(missing_ok=True)
    return [(one.item, one.verdict) for one in done.added]


def is_sheet(path: Path, found: list[tuple[str, str]], whole: list[tuple[str, str]]) -> None:
    answers: dict[str, set[str]] = {}
    rows = csv.reader(path.read_text("utf-8-sig").splitlines(True))
    for row in rows:
        for cell in row:
            answers.setdefault(cell.strip(), set()).update(other.strip().lower() for other in row)
    full = {"accept": "a", "reject": "r", "edit": "e"}
    for item, verdict in found:
        assert answers.get(item, set()) & {verdict, full[verdict]}, (item, verdict)


def made_logs(folder: Path) -> Path:
    import shutil

    import lm_eval_runs

    checkpoint = made_safetensors(folder)
    found = lm_eval_runs.own_logs(checkpoint)
    shutil.copytree(found, folder / "logs")
    return folder / "logs"


def logs_of(path: Path) -> list[Any]:
    from boxpen.runs.directory import run_directories

    runs = [Run.load(one) for one in run_directories([path])]
    verdicts = [(v.id, v.gold, v.winner, v.credit) for run in runs for v in run.verdicts]
    return verdicts + [(r.slice, r.metric, r.value, r.n) for run in runs for r in run.summary()]


def is_logs(path: Path, found: list[Any], whole: list[Any]) -> None:
    for row in found:
        assert all(math.isfinite(v) for v in row if isinstance(v, float)), row


def with_ending(make: Any, ending: str) -> Any:
    return lambda folder: make(folder, ending)


FORMATS = [
    *(Format(f"suite, {e}", with_ending(saved_suite, e), suite_of, is_suite, n)
      for e, n in (("jsonl", 900), ("csv", 700), ("tsv", 500), ("parquet", 300))),
    *(Format(f"graph, {e}", with_ending(made_graph, e), graph_of, is_graph, n)
      for e, n in (("jsonl", 400), ("tsv", 400), ("tsv.gz", 250), ("tsv.xz", 250),
                   ("parquet", 250))),
    *(Format(f"subtitles, {e}", with_ending(made_corpus, e), corpus_of, is_corpus, n)
      for e, n in (("tsv", 400), ("tsv.gz", 250), ("tsv.xz", 250))),
    *(Format(f"config, {e}", with_ending(made_config, e), config_of, is_config, 250)
      for e in ("kg", "discourse", "duals", "nmt")),
    Format("plan", with_ending(made_plan, PLAN), plan_of, is_plan, 300),
    Format("gate", with_ending(made_plan, GATE), plan_of, is_plan, 300),
    Format("run directory", made_run, run_of, is_run, 600),
    Format("score cache", made_cache, cache_of, is_cache, 500),
    Format("build folder", made_build, build_of, is_build, 150, "out/*"),
    Format("journal", made_journal, journal_of, is_journal, 400),
    Format("sheet", made_sheet, sheet_of, is_sheet, 400),
    Format("lm-eval log", made_logs, logs_of, is_logs, 300),
    Format("checkpoint", made_training, training_of, is_training, 200),
    Format("gguf", made_gguf, scores_of, is_model, 250),
    Format("safetensors", made_safetensors, scores_of, is_model, 250),
    Format("ctranslate2", made_ct2, scores_of, is_model, 250),
    Format("elmo", made_elmo, scores_of, is_model, 250),
]  # fmt: skip
