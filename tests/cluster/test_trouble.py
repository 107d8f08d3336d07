"""What dead workers, stopped drivers and bad moments leave in a store, and who gets over it."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from boxpen.cluster.drive import have_done
from boxpen.cluster.executors.elsewhere import ElsewhereExecutor
from boxpen.cluster.queue import Queue, Watch
from boxpen.cluster.store import DirectoryStore
from boxpen.cluster.units import Group, Unit, submit
from boxpen.cluster.worker import Told, Worker


@pytest.fixture
def store(tmp_path):
    return DirectoryStore(tmp_path / "store")


def units(count, **payload):
    group = Group("squares", {})
    return [Unit(group, {"number": n, **payload}) for n in range(count)]


def test_a_driver_does_not_give_up_what_is_being_done(store, monkeypatch):
    """Three workers died while they loaded the group; a fourth does its units."""
    monkeypatch.setattr("boxpen.cluster.drive.LEASE", 0.5)
    wanted = units(12, seconds=0.2)
    worker = Worker(store)
    with ThreadPoolExecutor(2) as pool:
        running = pool.submit(worker.run, idle=1.0)

        def leave_orphans():
            while len(store.names("done/")) < 2:
                time.sleep(0.02)
            for n in range(3):
                store.put(f"loading/{wanted[0].group.id}.dead{n}", b"")

        pool.submit(leave_orphans)
        outcome = have_done(store, wanted, ElsewhereExecutor())
        worker.leave()
        assert running.result(timeout=30).units == 12
    assert outcome.missing == {}


def test_nobody_waits_for_a_worker_that_died_while_loading(store):
    (unit,) = units(1)
    job = submit(store, [unit])
    store.put(f"loading/{unit.group.id}.dead", b"")
    worker = Worker(store, lease=1.0)
    worker.told = Told(units=5, working=1.0, loads=1, loading=5.0)
    assert worker.run(job.id).units == 6


def test_a_job_ends_when_its_file_is_deleted(store):
    job = submit(store, units(60, seconds=0.05))
    worker = Worker(store, lease=1.0)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(worker.run, idle=0.2)
        while len(store.names("done/")) < 3:
            time.sleep(0.01)
        store.delete(f"jobs/{job.id}")
        told = running.result(timeout=30)
    assert told.problem == ""
    assert told.units < 50


def test_a_unit_is_not_taken_from_whoever_has_it_now(store):
    """One worker gave it back and left; another has it under the same number."""
    job = submit(store, units(1))
    (row,) = job.rows
    first, second, other = (Queue(store, job) for _ in range(3))
    watch = Watch(store, lease=5.0)
    store.put("workers/first", b"1")
    assert first.claim(row, "first")
    other.refresh()
    assert not other.take_from_the_dead(watch)
    first.release(row)
    store.delete("workers/first")
    store.put("workers/second", b"1")
    assert second.claim(row, "second")
    other.refresh()
    assert not other.take_from_the_dead(watch)
    assert store.names("failures/") == set()


def test_a_worker_that_is_stopped_while_it_claims_gives_the_unit_back(store):
    claimed, go_on = threading.Event(), threading.Event()

    class Slow(DirectoryStore):
        """Answers late that a claim was won."""

        def put_new(self, key, data):
            won = super().put_new(key, data)
            if key.startswith("claims/"):
                claimed.set()
                go_on.wait(10)
            return won

    job = submit(store, units(3))
    worker = Worker(Slow(store.root))
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(worker.run, job.id)
        claimed.wait(10)
        worker.leave()
        go_on.set()
        assert running.result(timeout=30).units == 0
    assert store.names("claims/") == set()
    assert store.names("failures/") == set()
