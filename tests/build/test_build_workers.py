"""Stages in parts: workers write the files that one process writes, whatever happens to them."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from toy_builds import DISCOURSE, FILMS, GRAPH, KG
from typer.testing import CliRunner

from boxpen.build.builders import open_build
from boxpen.build.discourse import mine, work
from boxpen.build.runner import RECORD, Parts, Runner, Stage
from boxpen.build.workers import PartWork, Shared
from boxpen.cli.app import app
from boxpen.cluster.executors.local import LocalExecutor
from boxpen.cluster.store import DirectoryStore
from boxpen.cluster.worker import Worker
from boxpen.errors import BuildError
from boxpen.matrix import cut

for library in ("inflect", "lemminflect", "nltk", "spellchecker"):
    pytest.importorskip(library)

EPISODES, PART = 60, 300  # twelve lines an episode: three parts


class Here:
    """An executor whose workers are threads of this process; each leaves after some units."""

    problems: list[str] = []  # noqa: RUF012

    def __init__(self, workers: int = 1) -> None:
        self.workers, self.threads, self.told = workers, [], []

    def start(self, store, job):
        def work(number):
            self.told.append(Worker(store, ordinal=number).run(job))

        self.threads = [threading.Thread(target=work, args=(n,)) for n in range(self.workers)]
        for thread in self.threads:
            thread.start()

    def tend(self, done):
        return any(thread.is_alive() for thread in self.threads)

    def stop(self):
        for thread in self.threads:
            thread.join()


@pytest.fixture
def films(tmp_path, monkeypatch):
    """Return a configuration for subtitles of more than one part."""
    monkeypatch.setattr(work, "PART", PART)  # the workers of a build are told
    with (tmp_path / "films.tsv").open("w") as stream:
        for episode in range(EPISODES):
            for line, (en, zh) in enumerate(FILMS):
                stream.write(f"{episode}\t{line}\t{en}\t{zh}\n")
    path = tmp_path / "films.toml"
    path.write_text(DISCOURSE)
    return path


@pytest.fixture
def graph(tmp_path, gpt2_dir, monkeypatch):
    """Return a configuration for a graph that a model ranks in several parts."""
    monkeypatch.setenv("BOXPEN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setitem(cut._BYTES, "score", 2000)
    path = tmp_path / "graph.toml"
    text = KG.replace("GRAPH", str(GRAPH)).replace('model = "none"', f'model = "hf:{gpt2_dir}"')
    path.write_text(text)
    return path


@pytest.fixture(params=["films", "graph"])
def config(request):
    return request.getfixturevalue(request.param)


def build(config, share=None):
    """Build everything; return the files, and drop them and the user's scores."""
    builder, settings = open_build(config)
    list(builder.runner(settings, share=share).run())
    found = {
        path.name: path.read_bytes() for path in settings.folder.iterdir() if path.name != RECORD
    }
    for path in settings.folder.iterdir():
        path.unlink()
    for path in config.parent.glob("cache/*"):
        if path.is_file():
            path.unlink()
    return found


def shared(config, store, executor):
    return Shared(config, store, executor, lambda *_: None)


def left_in(store):
    return store.names("jobs/") | store.names("sheets/") | store.names("done/")


@pytest.mark.parametrize("workers", [1, 3])
def test_workers_write_the_same_bytes_and_leave_nothing_in_the_store(config, tmp_path, workers):
    alone = build(config)
    store = DirectoryStore(tmp_path / "store")
    executor = Here(workers)
    assert build(config, shared(config, store, executor)) == alone
    assert sum(told.units for told in executor.told) > 2
    assert left_in(store) == set()


@pytest.mark.heavy  # fast: threads in place of processes, above
def test_processes_write_the_same_bytes_though_one_is_killed(films, tmp_path):
    alone = build(films)
    store, executor = DirectoryStore(tmp_path / "store"), LocalExecutor(workers=2)

    def kill():
        while not store.names("claims/"):
            time.sleep(0.01)
        with contextlib.suppress(IndexError):
            os.kill(executor.pids[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    assert build(films, shared(films, store, executor)) == alone
    killer.join()
    assert left_in(store) == set()


class OneResult(DirectoryStore):
    """A store whose worker is stopped after the first result."""

    worker: Worker

    def put_new(self, key, data):
        new = super().put_new(key, data)
        if key.startswith("done/"):
            self.worker.stopping.set()
        return new


def test_what_is_done_when_a_build_is_interrupted_is_not_done_again(films, tmp_path):
    alone = build(films)
    store = OneResult(tmp_path / "store")

    class Interrupted(Here):
        def start(self, store, job):
            store.worker = Worker(store)
            store.worker.run(job)

        def tend(self, done):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(films, shared(films, store, Interrupted()))
    assert len(store.names("done/")) == 1
    executor = Here()
    assert build(films, shared(films, DirectoryStore(tmp_path / "store"), executor)) == alone
    assert executor.told[0].units == 2  # of the three parts of the stage that was under way
    assert left_in(store) == set()


def test_a_part_that_fails_ends_the_build_in_one_sentence(films, tmp_path, monkeypatch):
    def broken(*_):
        raise ValueError("no such rule")

    monkeypatch.setattr(mine, "candidates", broken)
    store = DirectoryStore(tmp_path / "store")
    said = "2 of 2 parts of the stage 'mine' failed: ValueError: no such rule"
    with pytest.raises(BuildError, match=said):
        build(films, shared(films, store, Here(2)))
    folder = films.parent / "out"
    assert (folder / "lines.parquet").is_file()
    assert not (folder / "candidates.parquet").exists()
    monkeypatch.undo()
    assert "candidates.parquet" in build(films, shared(films, store, Here()))


class TestAnotherWorker:
    """A worker that would do something else is refused."""

    def shared(self, config, stage="mine"):
        builder, settings = open_build(config)
        runner = builder.runner(settings)
        return {"config": str(config), **runner.content(runner.stages[stage])}

    @pytest.fixture(autouse=True)
    def _built(self, films):
        builder, settings = open_build(films)
        list(builder.runner(settings).run("read"))
        list(builder.runner(settings).run("clean"))

    def test_the_same_is_taken(self, films):
        work = PartWork(self.shared(films))
        assert work.run([0, 12])
        work.close()

    def test_another_file(self, films):
        content = self.shared(films)
        (films.parent / "out" / "lines.parquet").write_bytes(b"something else")
        with pytest.raises(BuildError, match=r"^lines\.parquet is not the same file for this wor"):
            PartWork(content)

    def test_other_settings(self, films):
        content = self.shared(films)
        films.write_text(films.read_text() + "[mine]\nmin_score = 0.5\n")
        with pytest.raises(BuildError, match=r"^the stage 'mine' of .* is not the same for this"):
            PartWork(content)

    def test_no_file(self, films):
        content = self.shared(films)
        (films.parent / "out" / "lines.parquet").unlink()
        with pytest.raises(BuildError, match=r"there is no .*lines.parquet"):
            PartWork(content)

    def test_no_stage(self, films):
        with pytest.raises(BuildError, match="has no stage 'sample' with parts"):
            PartWork({**self.shared(films), "stage": "sample"})


def test_a_runner_gives_results_in_the_order_of_parts(tmp_path):
    """The mechanism by itself: parts are done lazily, and in order."""
    done = []

    def do(number):
        done.append(number)
        return str(number * number).encode()

    def run(results):
        assert next(results) == b"0"
        assert done == [0]
        (tmp_path / "squares.txt").write_bytes(b" ".join(results))
        return {"says": "squared"}

    stage = Stage(
        name="square", run=run, parts=Parts(listed=lambda: range(5), do=do), writes=["squares.txt"]
    )
    assert [d.fresh for d in Runner(tmp_path, [stage]).run()] == [True]
    assert (tmp_path / "squares.txt").read_text() == "1 4 9 16"


@pytest.mark.parametrize(
    ("kind", "who"),
    [
        ("films", "local --workers 8"),
        pytest.param("graph", "worker --store /shared/boxpen", marks=pytest.mark.heavy),
    ],
)
def test_the_commands_of_the_documentation(kind, who, tmp_path, request):
    """docs/how-to/evaluate/many-machines.md, with this file and a store in this folder."""
    config = request.getfixturevalue(kind)
    page = (
        Path(__file__).parents[2] / "docs" / "how-to" / "evaluate" / "many-machines.md"
    ).read_text("utf-8")
    assert len(re.findall(rf"^boxpen build run \w+.toml --executor {who}$", page, re.M)) == 1
    alone = build(config)
    store = str(tmp_path / "store")
    options = who.replace("/shared/boxpen", store).replace("8", f"2 --store {store}").split()
    if "worker" in who:
        join = [sys.executable, "-m", "boxpen", "worker", "--join", store]
        joined = subprocess.Popen(join, stderr=subprocess.PIPE, text=True)
    found = CliRunner().invoke(app, ["build", "run", str(config), "--executor", *options])
    if "worker" in who:
        joined.terminate()
        assert "Traceback" not in joined.communicate(timeout=60)[1]
    assert found.exit_code == 0, found.output
    out = config.parent / "out"
    assert {p.name: p.read_bytes() for p in out.iterdir() if p.name != RECORD} == alone


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--workers", "2"], "--workers requires --executor local, ray or worker"),
        (["--store", "s"], "--store requires --executor local, ray or worker"),
        (["--executor", "worker"], "--executor worker requires --store"),
        (["--executor", "local", "--gpus-per-worker", "0.5"], "--gpus-per-worker is for --exec"),
        (["--executor", "slurm"], "'slurm' is not one of"),
    ],
)
def test_options_that_do_not_fit_are_refused(films: Path, options, said):
    found = CliRunner().invoke(app, ["build", "run", str(films), *options])
    assert found.exit_code == 2
    assert said in " ".join(found.output.split()) + str(found.exception)
    assert not (films.parent / "out").exists()
