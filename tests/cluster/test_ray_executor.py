"""The Ray executor, on a real cluster of three nodes on this machine."""

import json
import logging
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
import small_matrix
from ray_driver import units

from boxpen.cluster.drive import have_done
from boxpen.cluster.executors import executor_of
from boxpen.cluster.store import DirectoryStore, open_store
from boxpen.cluster.units import Group, Unit
from boxpen.errors import ClusterError

pytest.importorskip("ray")

HERE = Path(__file__).parent
NODE = {"object_store_memory": 80 << 20, "num_gpus": 0}


@pytest.fixture(scope="module")
def cluster(s3_server):
    """Two nodes of one core each that may die, and a head with two cores."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(HERE))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        for name, value in s3_server.environment.items():
            patch.setenv(name, value)
        logging.getLogger("ray").setLevel(logging.CRITICAL)
        made = Cluster(
            initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False, **NODE}
        )
        for _ in range(2):
            made.add_node(num_cpus=1, **NODE)
        made.wait_for_nodes()
        patch.setenv("RAY_ADDRESS", made.address)
        yield made
        made.shutdown()


def results(outcome):
    return {unit: result.data for unit, result in outcome.results()}


def log_of(path):
    """Count what the workers did: units begun and done, groups loaded by process."""
    lines = [line.split(" ", 1) for line in Path(path).read_text().splitlines()]
    begun = Counter(text for _, text in lines if text.startswith("unit"))
    loads = Counter(pid for pid, text in lines if text == "load")
    return begun, loads


def test_results_are_those_of_local_workers(cluster, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(HERE))
    wanted = units(None, 60, 0)
    local = have_done(DirectoryStore(tmp_path / "local"), wanted, executor_of("local", workers=1))
    assert not local.missing
    for workers in (1, 2, 4):
        store = DirectoryStore(tmp_path / f"ray-{workers}")
        outcome = have_done(store, wanted, executor_of("ray", workers=workers))
        assert not outcome.missing
        assert results(outcome) == results(local)
        assert store.names("workers/") == set()


@pytest.mark.heavy  # fast: the units of test_results_are_those_of_local_workers
def test_runs_are_the_same_bytes_as_those_of_one_local_worker(cluster, tmp_path):
    pytest.importorskip("torch")
    settings = small_matrix.build(tmp_path)
    one, three = (
        small_matrix.run(settings, tmp_path / name, DirectoryStore(tmp_path / name / "s"), executor)
        for name, executor in (
            ("a", executor_of("local", workers=1)), ("b", executor_of("ray", workers=3))
        )
    )  # fmt: skip
    assert len(one) >= 6 * 3
    assert one == three


def test_workers_are_spread_and_load_each_group_once(cluster, tmp_path):
    log = tmp_path / "log"
    wanted = units(str(log), 60, 0.05)
    outcome = have_done(DirectoryStore(tmp_path / "store"), wanted, executor_of("ray"))
    assert not outcome.missing
    begun, loads = log_of(log)
    assert set(begun.values()) == {1}
    assert len(loads) == 4  # as many as cores
    assert sum(loads.values()) <= 4 * 3
    workers = {result.worker for _, result in outcome.results()}
    assert len(workers) == 4


@pytest.mark.heavy  # fast: cluster/test_object_store.py; results of local workers
def test_units_of_a_store_in_s3(cluster, s3_url):
    store = open_store(s3_url)
    outcome = have_done(store, units(None, 60, 0), executor_of("ray", workers=2))
    assert not outcome.missing
    assert sorted(results(outcome).values()) == sorted(
        b"%d" % unit.payload["number"] ** 2 for unit in units(None, 60, 0)
    )
    assert store.names("workers/") == set()


def test_errors_and_deaths_are_told(cluster, tmp_path):
    group = Group("squares", {})
    wanted = [
        Unit(group, {"number": 1}),
        Unit(group, {"number": 2, "error": "no such number"}),
        Unit(group, {"number": 3, "dies_once": str(tmp_path / "died")}),
    ]
    executor = executor_of("ray", workers=2)
    outcome = have_done(DirectoryStore(tmp_path / "store"), wanted, executor)
    assert outcome.missing == {wanted[1].id: "ValueError: no such number"}
    assert results(outcome)[wanted[2].id] == b"9"
    assert any(problem.startswith("a worker died") for problem in executor.problems)


def test_a_store_that_nodes_do_not_see_is_refused(cluster, tmp_path):
    class Elsewhere(DirectoryStore):
        """What this process sees under a path, nodes do not."""

        def __init__(self, root, url):
            super().__init__(root)
            self.url = url

    for url in (str(tmp_path / "other"), "memory://other"):
        store = Elsewhere(tmp_path / "store", url)
        outcome = have_done(store, units(None, 6, 0), executor_of("ray"))
        assert len(outcome.missing) == 6
        assert "does not see the store" in next(iter(outcome.missing.values()))
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"gpus_per_worker": 0.5}, "has no GPUs; leave --gpus-per-worker out"),
        ({"threads": 16}, "no node of the Ray cluster has the 16 CPU that a worker needs"),
    ],
)
def test_what_the_cluster_cannot_give_is_refused(cluster, tmp_path, options, said):
    with pytest.raises(ClusterError, match=said):
        have_done(DirectoryStore(tmp_path), units(None, 6, 0), executor_of("ray", **options))


def test_an_address_without_a_cluster_is_reported(tmp_path, monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    said = r"the Ray cluster at 127.0.0.1:1 \(RAY_ADDRESS\) cannot be used: Connection refused"
    with pytest.raises(ClusterError, match=said):
        have_done(DirectoryStore(tmp_path), units(None, 6, 0), executor_of("ray"))


def test_a_missing_package_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ClusterError, match=r"needs Ray: pip install 'boxpen\[ray\]'"):
        have_done(DirectoryStore(tmp_path), units(None, 6, 0), executor_of("ray"))


def test_ray_is_imported_only_when_it_is_used():
    code = (
        "import sys; from boxpen.cluster.executors import executor_of; executor_of('ray');"
        "assert not {'ray', 'fsspec', 's3fs'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def driver(store, log, count, seconds, workers):
    command = [sys.executable, str(HERE / "ray_driver.py"), store, log, count, seconds, workers]
    return subprocess.Popen(
        [str(part) for part in command],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(HERE)},
    )  # fmt: skip


def kill_nodes(cluster, log, kills, seconds, count, seed):
    """Kill nodes at random times while a driver works; return what it tells, and the kills."""
    chance = random.Random(seed)
    store = log.parent / "store"
    running = driver(store, log, count, seconds, 4)
    killed = 0
    while not log.exists() and running.poll() is None:
        time.sleep(0.05)
    nodes = list(cluster.worker_nodes)
    while killed < kills and running.poll() is None:
        time.sleep(chance.uniform(0, 2))
        if running.poll() is not None:
            break
        node = nodes.pop(chance.randrange(len(nodes)))
        cluster.remove_node(node, allow_graceful=False)
        killed += 1
        nodes.append(cluster.add_node(num_cpus=1, **NODE))
    output, errors = running.communicate(timeout=600)
    assert running.returncode == 0, errors
    return output, errors, killed


def check_campaign(cluster, tmp_path, kills, seconds, count, seed):
    log = tmp_path / "log"
    output, errors, killed = kill_nodes(cluster, log, kills, seconds, count, seed)
    told = json.loads(output)  # and nothing else was printed
    assert errors == ""
    assert told["missing"] == {}
    begun, _ = log_of(log)
    assert len(begun) == told["units"] == count
    again = sum(begun.values()) - count
    print(f"{killed} nodes killed, {again} units begun again, {told['problems']}")
    assert killed == kills
    assert again <= killed
    return told


@pytest.mark.heavy  # fast: a killed driver; killed workers of the local executor
def test_a_killed_node_loses_no_unit(cluster, tmp_path):
    check_campaign(cluster, tmp_path, kills=1, seconds=0.2, count=45, seed=26)


@pytest.mark.heavy
@pytest.mark.timeout(1800)
def test_fifty_killed_nodes_lose_no_unit(cluster, tmp_path):
    told = check_campaign(cluster, tmp_path, kills=50, seconds=0.5, count=1800, seed=50)
    again = driver(tmp_path / "calm", tmp_path / "calm-log", 1800, 0, 4)
    assert json.loads(again.communicate()[0])["digest"] != ""
    assert told["units"] == 1800


@pytest.mark.heavy  # fast: a driver of the local executor that is killed
def test_a_killed_driver_is_resumed(cluster, tmp_path):
    store, log = tmp_path / "store", tmp_path / "log"
    first = driver(store, log, 60, 0.1, 2)
    while not log.exists() or log.read_text().count("done") < 10:
        time.sleep(0.05)
    first.send_signal(signal.SIGKILL)
    first.wait()
    done = len(DirectoryStore(store).names("done/"))
    assert done >= 9
    executor = executor_of("ray", workers=2)
    executor.lease = 3
    outcome = have_done(DirectoryStore(store), units(str(log), 60, 0.1), executor)
    assert not outcome.missing
    begun, _ = log_of(log)
    assert len(begun) == 60
    assert sum(begun.values()) - 60 <= 2  # those that were under way
