"""The local executor: real worker processes, killed at random, at load, and with their driver."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
import small_matrix
from ray_driver import units

from boxpen.cluster.drive import have_done
from boxpen.cluster.executors.local import LocalExecutor
from boxpen.cluster.store import DirectoryStore
from boxpen.cluster.units import Group, Unit

HERE = Path(__file__).parent
KIND = "squares"


@pytest.fixture(autouse=True)
def _stub_units_are_found(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(HERE), prepend=os.pathsep)


def results(outcome):
    return {unit: result.data for unit, result in outcome.results()}


def begun(log):
    lines = [line.split(" ", 1)[1] for line in Path(log).read_text().splitlines()]
    return Counter(text for text in lines if text.startswith("unit"))


@pytest.mark.parametrize("kills", [2, pytest.param(50, marks=pytest.mark.heavy)])
def test_killed_workers_lose_no_unit(tmp_path, kills):
    log, count = tmp_path / "log", 18 * (1 + kills)
    wanted = units(str(log), count, 0.1)
    executor = LocalExecutor(workers=2)
    over = threading.Event()
    killed = []

    def kill():
        chance = random.Random(kills)
        while len(killed) < kills and not over.wait(chance.uniform(0, 1)):
            pids = [pid for pid in executor.pids if str(pid) in text(log)]
            if pids:
                os.kill(victim := chance.choice(pids), signal.SIGKILL)
                killed.append(victim)

    killer = threading.Thread(target=kill)
    killer.start()
    outcome = have_done(DirectoryStore(tmp_path / "store"), wanted, executor)
    over.set()
    killer.join()
    assert len(killed) == kills
    assert outcome.missing == {}
    counts = begun(log)
    assert len(counts) == count
    again = sum(counts.values()) - count
    print(f"{kills} workers killed, {again} of {count} units begun again")
    assert again <= kills
    calm = have_done(DirectoryStore(tmp_path / "calm"), wanted, LocalExecutor(workers=1))
    assert results(outcome) == results(calm)


def text(log):
    return log.read_text() if log.exists() else ""


@pytest.mark.parametrize("workers", [1, 2])
def test_what_kills_workers_while_it_is_loaded_is_named_and_the_rest_is_done(tmp_path, workers):
    fatal, fine = Group(KIND, {"fatal": True}, label="huge"), Group(KIND, {"log": None})
    heavy = [Unit(fatal, {"number": n}, weight=10.0) for n in range(10)]
    light = [Unit(fine, {"number": n}) for n in range(5)]
    executor = LocalExecutor(workers=workers)
    store = DirectoryStore(tmp_path)
    outcome = have_done(store, heavy + light, executor)
    said = "3 workers died while they loaded it; is there enough memory?"
    assert outcome.missing == {unit.id: said for unit in heavy}
    assert sorted(json.loads(data) for data in results(outcome).values()) == [0, 1, 4, 9, 16]
    assert executor.problems[0] == "a worker was killed by signal 9"
    # Another call tries again, and is not put off by what is remembered.
    assert have_done(store, heavy, LocalExecutor(workers=1)).missing == outcome.missing


def test_workers_end_with_a_driver_that_is_killed_and_another_one_goes_on(tmp_path):
    store, log = DirectoryStore(tmp_path / "store"), tmp_path / "log"
    code = (
        "import sys; from ray_driver import units; from boxpen.cluster.drive import have_done;"
        "from boxpen.cluster.executors.local import LocalExecutor;"
        "from boxpen.cluster.store import open_store;"
        "have_done(open_store(sys.argv[1]), units(sys.argv[2], 60, 0.2), LocalExecutor(2))"
    )
    command = [sys.executable, "-c", code, store.url, str(log)]
    first = subprocess.Popen(command)
    while text(log).count("done") < 6:
        assert first.poll() is None
        time.sleep(0.05)
    first.send_signal(signal.SIGKILL)
    first.wait()
    until = time.monotonic() + 30
    while store.names("workers/"):  # they see that it is gone, and give back what they have
        assert time.monotonic() < until
        time.sleep(0.05)
    outcome = have_done(store, units(str(log), 60, 0.2), LocalExecutor(workers=2))
    assert outcome.missing == {}
    counts = begun(log)
    assert len(counts) == 60
    assert sum(counts.values()) - 60 <= 2


@pytest.mark.heavy  # fast: killed workers lose no unit; cli/test_run_plan.py, local workers
@pytest.mark.parametrize("workers", [2, 4])
def test_runs_are_the_same_bytes_with_any_number_of_workers_killed_or_not(tmp_path, workers):
    pytest.importorskip("torch")
    settings = small_matrix.build(tmp_path)
    one = small_matrix.run(
        settings, tmp_path / "a", DirectoryStore(tmp_path / "s"), LocalExecutor(workers=1)
    )
    assert len(one) >= 6 * 3  # verdicts, records and tokens of each run
    executor = LocalExecutor(workers=workers)
    store = DirectoryStore(tmp_path / "t")

    def kill():
        while not store.names("done/"):
            time.sleep(0.02)
        os.kill(executor.pids[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    assert small_matrix.run(settings, tmp_path / "b", store, executor) == one
    killer.join()
    assert executor.problems == ["a worker was killed by signal 9"]
