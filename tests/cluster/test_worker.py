"""Workers in threads of one process: who does what, what fails, and what is given back."""

import errno
import os
import random
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from boxpen.cluster.drive import have_done
from boxpen.cluster.executors import executor_of
from boxpen.cluster.executors.elsewhere import ElsewhereExecutor
from boxpen.cluster.queue import Queue, Watch
from boxpen.cluster.store import DirectoryStore
from boxpen.cluster.units import Group, Job, Result, Unit, done_key, read_result, submit
from boxpen.cluster.worker import Told, Worker
from boxpen.errors import ClusterError

KIND = "squares"


@pytest.fixture
def store(tmp_path):
    return DirectoryStore(tmp_path / "store")


def units(count, group=None, **payload):
    group = group or Group(KIND, {})
    return [Unit(group, {"number": n, **payload}, 1.0 + n % 7) for n in range(count)]


def squares(store, job):
    return {row.id: read_result(store, row.id).data for row in Job.read(store, job.id).rows}


def lines(log):
    return [line.split(" ", 1)[1] for line in log.read_text().splitlines()]


def test_every_unit_is_done_once_and_each_group_loaded_once(store, tmp_path):
    log = tmp_path / "log"
    groups = [Group(KIND, {"log": str(log), "group": n}) for n in range(3)]
    job = submit(store, [unit for group in groups for unit in units(10, group)])
    told = Worker(store).run(job.id)
    assert (told.units, told.loads, told.problem, told.failed) == (30, 3, "", {})
    assert sorted(squares(store, job).values()) == sorted(
        b"%d" % n**2 for n in range(10) for _ in groups
    )
    counts = Counter(line.split()[0] for line in lines(log))
    assert counts == {"load": 3, "close": 3, "unit": 30, "done": 30}
    assert Worker(store).run(job.id).units == 0
    assert store.names("workers/") == set()


def test_longer_units_are_done_first(store, tmp_path):
    log = tmp_path / "log"
    group = Group(KIND, {"log": str(log)})
    job = submit(store, [Unit(group, {"number": n}, float(n)) for n in range(40)])
    Worker(store).run(job.id)
    order = [int(line.split()[1]) for line in lines(log) if line.startswith("unit")]
    # From the longer half of what is left, so that several workers seldom try the same one.
    for place, number in enumerate(order):
        left = sorted(order[place:], reverse=True)
        assert number in left[: max(4, len(left) // 2)]


@pytest.mark.parametrize("workers", [2, 8])
def test_several_workers_share_the_units(store, workers):
    job = submit(store, [u for n in range(3) for u in units(40, Group(KIND, {"group": n}))])
    with ThreadPoolExecutor(workers) as pool:
        told = list(pool.map(lambda n: Worker(store, ordinal=n).run(job.id), range(workers)))
    assert sum(one.units for one in told) == 120
    assert len(squares(store, job)) == 120
    assert all(not one.problem for one in told)


def test_workers_that_start_together_begin_with_different_groups(store, tmp_path):
    log = tmp_path / "log"
    groups = [Group(KIND, {"log": str(log), "group": n}) for n in range(4)]
    job = submit(store, [u for group in groups for u in units(8, group, seconds=0.05)])
    with ThreadPoolExecutor(4) as pool:
        told = list(pool.map(lambda n: Worker(store, ordinal=n).run(job.id), range(4)))
    assert sum(one.units for one in told) == 32
    assert sum(one.loads for one in told) <= 10  # 16 if each took part in every group


def test_a_unit_that_fails_three_times_is_named_and_the_rest_is_done(store):
    wanted = [*units(9), Unit(Group(KIND, {}), {"number": 99, "error": "poison"}, 0.5)]
    outcome = have_done(store, wanted, InThreads(2))
    assert outcome.missing == {wanted[-1].id: "ValueError: poison"}
    assert len(dict(outcome.results())) == 9
    assert len(store.names("failures/")) == 3
    # A rerun tries it again.
    again = have_done(store, wanted, InThreads(1))
    assert again.missing == outcome.missing
    again.forget()
    left = [kind for kind in ("jobs", "claims", "failures", "sheets") if store.names(f"{kind}/")]
    assert left == []
    assert len(store.names("done/")) == 9


def test_a_worker_whose_units_only_fail_stops_and_says_why(store):
    job = submit(store, units(30, error="out of memory"))
    told = Worker(store).run(job.id)
    assert told.problem == "3 units failed in a row, the last with: ValueError: out of memory"
    assert told.units == 0


def test_a_model_whose_units_only_fail_does_not_keep_others_from_being_done(store):
    bad = [Unit(Group(KIND, {"bad": 1}), {"number": n, "error": "NaN"}, 9.0) for n in range(40)]
    outcome = have_done(store, [*bad, *units(5)], InThreads(1))
    why = "3 units failed in a row, the last with: ValueError: NaN"
    assert outcome.missing == dict.fromkeys([u.id for u in bad], why)
    assert len(dict(outcome.results())) == 5


def test_a_driver_does_not_wait_when_no_worker_that_joined_is_willing(store, monkeypatch):
    monkeypatch.setattr("boxpen.cluster.drive.LEASE", 1.0)
    bad = [Unit(Group(KIND, {"bad": 1}), {"number": n, "error": "NaN"}) for n in range(40)]
    joined = Worker(store)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(joined.run, idle=5.0)
        outcome = have_done(store, [*bad, *units(5)], ElsewhereExecutor())
        joined.leave()
        assert running.result(timeout=30).units == 5
    assert len(outcome.missing) == 40
    assert len(dict(outcome.results())) == 5


def test_a_group_that_cannot_be_loaded_is_named_and_the_rest_is_done(store):
    broken = units(5, Group(KIND, {"broken": "no such model"}, "broken"))
    outcome = have_done(store, [*broken, *units(5)], InThreads(2))
    assert outcome.missing == dict.fromkeys([u.id for u in broken], "RuntimeError: no such model")
    assert len(dict(outcome.results())) == 5


def test_the_units_of_a_dead_worker_are_taken_over_after_a_lease(store):
    job = submit(store, units(5))
    dead = Queue(store, job)
    dead.refresh()
    for row in job.rows[:2]:
        assert dead.claim(row, "dead")
    store.put("workers/dead", b"{}")  # its last sign of life
    started = time.monotonic()
    told = Worker(store, lease=1.0).run(job.id)
    assert told.units == 5
    assert 1.0 <= time.monotonic() - started < 20
    assert len(squares(store, job)) == 5


def test_a_slow_worker_that_shows_signs_of_life_keeps_its_unit(store):
    job = submit(store, units(2, seconds=1.6))
    slow = Worker(store, lease=0.5, name="slow")
    other = Worker(store, lease=0.5, name="other")
    with ThreadPoolExecutor(2) as pool:
        told = list(pool.map(lambda worker: worker.run(job.id), (slow, other)))
    assert [one.units for one in told] == [1, 1]
    assert store.names("failures/") == set()


@pytest.mark.parametrize("skew", [-1e6, pytest.param(1e6, marks=pytest.mark.heavy)])
def test_clocks_of_machines_are_never_compared(store, monkeypatch, skew):
    """A worker whose clock is wrong, and files with times of another machine."""
    job = submit(store, units(6, seconds=0.05))
    queue = Queue(store, job)
    queue.refresh()
    queue.claim(job.rows[0], "alive")
    beating = threading.Event()

    def live():
        beat = 0
        while not beating.wait(0.1):
            beat += 1
            store.put("workers/alive", b'{"beat": %d}' % beat)
            then = time.monotonic() + skew
            os.utime(store.root / "workers" / "alive", (then, then))

    thread = threading.Thread(target=live)
    thread.start()
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + skew)
    try:
        with ThreadPoolExecutor(1) as pool:
            worker = Worker(store, lease=1.0)
            running = pool.submit(worker.run, job.id)
            time.sleep(3)
            assert len(store.names("done/")) == 5  # all but the one that is somebody's
            assert store.names("failures/") == set()
            beating.set()
            assert running.result(timeout=30).units == 6
    finally:
        beating.set()
        thread.join()


def test_a_full_disk_stops_one_worker_and_no_unit_is_lost(store, tmp_path):
    class Full(DirectoryStore):
        """Takes claims, and no results."""

        def put_new(self, key, data):
            if key.startswith("done/"):
                raise self._refused(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
            return super().put_new(key, data)

    job = submit(store, units(12, seconds=0.01))
    told = Worker(Full(store.root)).run(job.id)
    assert told.problem.endswith("cannot be written: No space left on device")
    assert told.units == 0
    assert store.names("claims/") == set()  # given back
    assert Worker(store).run(job.id).units == 12


def test_a_worker_that_is_stopped_gives_its_unit_back(store):
    job = submit(store, units(3, seconds=30))
    worker = Worker(store)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(worker.run, job.id)
        while not store.names("claims/"):
            time.sleep(0.01)
        worker.leave()
        assert store.names("claims/") == set()
        assert store.names("workers/") == set()
        assert store.names("done/") == set()
        os.environ["STUB_UNITS_WAKE"] = "1"
        try:
            pool.shutdown()
        finally:
            del os.environ["STUB_UNITS_WAKE"]
    assert store.names("done/") == set()


def test_workers_wait_for_jobs_and_do_all_of_them(store):
    worker = Worker(store)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(worker.run, idle=3.0)
        jobs = [submit(store, units(4, Group(KIND, {"job": n}))) for n in range(2)]
        assert running.result(timeout=30).units == 8
    assert all(len(squares(store, job)) == 4 for job in jobs)


def test_a_damaged_result_is_computed_again(store):
    wanted = units(4)
    whole = dict(have_done(store, wanted, InThreads(1)).results())
    place = done_key(wanted[2].id)
    store.put(place, store.get(place)[:-1])
    again = have_done(store, wanted, InThreads(1))
    assert {u: r.data for u, r in again.results()} == {u: r.data for u, r in whole.items()}


def test_progress_is_told_by_label(store):
    told = []
    wanted = [Unit(Group(KIND, {}), {"number": n}, label=f"part {n % 2}") for n in range(10)]
    have_done(store, wanted, InThreads(1), lambda *row: told.append(row))
    assert told[:2] == [("part 0", 0, 5), ("part 1", 0, 5)]
    assert {label: (done, total) for label, done, total in told} == {
        "part 0": (5, 5), "part 1": (5, 5)
    }  # fmt: skip


def test_two_drivers_of_one_job_do_each_unit_once(store, tmp_path):
    log = tmp_path / "log"
    wanted = units(40, Group(KIND, {"log": str(log)}), seconds=0.01)
    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(lambda _: have_done(store, wanted, InThreads(2)), range(2)))
    found = [{u: r.data for u, r in outcome.results()} for outcome in outcomes]
    assert found[0] == found[1]
    assert len(found[0]) == 40
    assert Counter(line.split()[0] for line in lines(log))["unit"] == 40


def test_any_order_of_deaths_gives_the_same_results(store, tmp_path):
    """Workers that vanish at random points, simulated: claims stay, and nothing is committed."""
    chance = random.Random(26)
    wanted = units(60)
    job = submit(store, wanted)
    for number in range(25):
        queue = Queue(store, job)
        queue.refresh()
        rows = [row for rows in queue.open().values() for row in rows]
        row = chance.choice(rows)
        queue.claim(row, f"gone-{number}")  # never seen alive
    outcome = have_done(store, wanted, InThreads(3))
    assert not outcome.missing
    assert outcome.lost == 25
    calm = have_done(DirectoryStore(tmp_path / "calm"), wanted, InThreads(1))
    assert {u: r.data for u, r in outcome.results()} == {u: r.data for u, r in calm.results()}


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("locl", {}, "there is no executor 'locl', .*'local'"),
        ("local", {"workers": 0}, "workers is 0, expected 1 or more"),
        ("local", {"gpus_per_worker": 0.5}, "is for --executor ray"),
        ("worker", {"threads": 2}, "starts no workers"),
    ],
)
def test_executors_that_cannot_be_are_refused(name, options, said):
    with pytest.raises(ClusterError, match=said):
        executor_of(name, **options)


def test_who_committed_and_left_is_not_taken_for_dead(store):
    job = submit(store, units(2))
    queue = Queue(store, job)
    Worker(store, name="gone").run(job.id)
    queue.refresh()
    queue.done.clear()  # as if the last unit was committed after done/ was listed
    assert not queue.take_from_the_dead(Watch(store, lease=10.0))
    assert queue.finished
    assert store.names("failures/") == set()


class InThreads:
    """An executor with workers in this process."""

    def __init__(self, count, lease=5.0):
        self.count, self.lease = count, lease
        self.problems = []

    def start(self, store, job):
        self._workers = [Worker(store, ordinal=n, lease=self.lease) for n in range(self.count)]
        self._pool = ThreadPoolExecutor(self.count)
        self._running = [self._pool.submit(worker.run, job) for worker in self._workers]

    def tend(self, done):
        self.problems = [
            one.result().problem for one in self._running if one.done() and one.result().problem
        ]
        return not all(one.done() for one in self._running)

    def stop(self):
        for worker in self._workers:
            worker.leave()
        self._pool.shutdown()


def test_a_watch_counts_by_its_own_clock(store, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    watch = Watch(store, lease=10.0)
    assert watch.dead(["a"]) == {"a"}
    store.put("workers/a", b"1")
    assert watch.dead(["a"]) == set()
    now[0] += 9.9
    assert watch.dead(["a"]) == set()
    store.put("workers/a", b"2")
    now[0] += 9.9
    assert watch.dead(["a"]) == set()  # the sign changed in between
    now[0] += 10.0
    assert watch.dead(["a"]) == {"a"}
    store.put("workers/a", b"3")
    now[0] += 2.5
    assert watch.dead(["a"]) == set()  # it was only slow
    store.delete("workers/a")
    assert watch.dead(["a"]) == {"a"}  # at once


def test_a_claim_whose_answer_was_lost_is_ones_own(store, monkeypatch):
    """As over NFS: the link is made, the answer is lost, and the repeated request finds it."""
    link = os.link

    def lossy(source, place):
        link(source, place)
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))

    job = submit(store, units(3))
    monkeypatch.setattr(os, "link", lossy)
    assert Worker(store, lease=1.0).run(job.id).units == 3


def test_what_a_store_names_is_not_imported(store, tmp_path):
    group = Group("subprocess:getoutput", f"touch {tmp_path / 'pwned'}")
    job = submit(store, [Unit(group, "1")])
    told = Worker(store).run(job.id)
    assert told.units == 0
    assert "unit kind" in next(iter(told.failed.values()))
    assert not (tmp_path / "pwned").exists()


def test_two_drivers_of_one_job_with_a_poisoned_unit_both_end(store):
    wanted = [*units(6, seconds=0.05), Unit(Group(KIND, {}), {"number": 99, "error": "poison"})]
    with ThreadPoolExecutor(2) as pool:
        running = [pool.submit(have_done, store, wanted, InThreads(1)) for _ in range(2)]
        outcomes = [one.result(timeout=60) for one in running]
    for outcome in outcomes:
        outcome.forget()
        assert len(dict(outcome.results())) == 6
        assert len(outcome.missing) == 1
    left = [kind for kind in ("jobs", "sheets", "claims", "failures") if store.names(f"{kind}/")]
    assert left == []


def test_a_job_that_is_forgotten_leaves_nothing_for_its_workers(store):
    job = submit(store, units(200, seconds=0.02))
    worker = Worker(store)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(worker.run, idle=2.0)
        while len(store.names("done/")) < 3:
            time.sleep(0.01)
        Queue(store, job).clear()
        told = running.result(timeout=30)
    assert told.problem == ""
    assert told.units < 200
    assert [kind for kind in ("failures", "sheets", "refused") if store.names(f"{kind}/")] == []


def test_jobs_with_the_same_payloads_share_no_sheets(store):
    one, two = (submit(store, units(5, Group(KIND, {"job": n}))) for n in range(2))
    Queue(store, one).clear()
    assert Worker(store).run(two.id).units == 5


def test_an_index_that_was_replaced_is_read_again(store):
    wanted = units(40, seconds=0.02)
    job = submit(store, wanted)
    worker = Worker(store)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(worker.run, idle=3.0)
        while len(store.names("done/")) < 3:
            time.sleep(0.01)
        assert submit(store, wanted).id == job.id  # as a driver does that is started again
        assert running.result(timeout=60).units == 40
    assert store.names("failures/") == set()


def test_a_job_that_cannot_be_read_keeps_no_worker_from_others(store):
    store.put("jobs/" + "0" * 32, b"not a job")
    job = submit(store, units(4))
    told = Worker(store).run(idle=0.5)
    assert (told.units, told.problem) == (4, "")
    outcome = have_done(store, units(4), InThreads(1))
    outcome.forget()
    assert store.names("jobs/") == {"0" * 32}
    assert job.id not in store.names("jobs/")


def test_a_worker_does_other_jobs_while_others_hold_what_is_left_of_one(store):
    held, free = (submit(store, units(4, Group(KIND, {"job": n}))) for n in range(2))
    queue = Queue(store, held)
    queue.refresh()
    for row in held.rows:
        queue.claim(row, "somebody")
    store.put("workers/somebody", b"1")
    worker = Worker(store, lease=3.0)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(worker.run, idle=0.5)
        until = time.monotonic() + 2.5
        while not all(store.get(done_key(row.id)) for row in free.rows):
            assert time.monotonic() < until
            time.sleep(0.02)
        assert running.result(timeout=60).units == 8  # somebody is dead after all
    assert store.names("workers/") == set()


@pytest.mark.parametrize("loading", [0.0, 5.0])  # seconds, where a unit takes 0.2
def test_what_takes_long_to_load_is_not_loaded_for_what_others_will_soon_have_done(
    store, tmp_path, loading
):
    log = tmp_path / "log"
    group = Group(KIND, {"log": str(log)})
    job = submit(store, units(3, group, seconds=0.2))
    queue = Queue(store, job)
    for row in job.rows[:2]:
        queue.claim(row, "other")
    store.put("workers/other", b"1")
    worker = Worker(store)
    worker.told = Told(units=5, working=1.0, loads=1, loading=loading)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(worker.run, job.id)
        time.sleep(1)
        assert log.exists() == (loading == 0)  # one unit is open, and two workers are at it
        for row in job.rows[:2]:
            queue.commit(row, Result(b"0", {}, "other", 0.1))
        assert running.result(timeout=30).units == 6  # they left one
