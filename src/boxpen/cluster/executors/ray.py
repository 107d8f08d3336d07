"""Workers as actors of a Ray cluster: one for each GPU, or for each group of CPU cores.

Ray starts and places workers and tells when one is dead. What is to be done, and what is done, is
in the store; if you lose the cluster, you lose only the units that were under way.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import secrets
import signal
import socket
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from boxpen.cluster.executors.actor import Actor, Ended
from boxpen.cluster.object_store import MARKER
from boxpen.cluster.store import Store
from boxpen.cluster.worker import LEASE
from boxpen.errors import ClusterError
from boxpen.failures import reason
from boxpen.printable import one_line

__all__ = ["RayExecutor"]

# What nodes may need to find files. No key: a cluster shows everybody what actors are made with.
_PASSED = ("BOXPEN_CACHE", "BOXPEN_MIRROR", "BOXPEN_WORDNET", "BOXPEN_DEVICE",
           "BOXPEN_TRUST_REMOTE_CODE")  # fmt: skip
_STARTS = 10  # of one slot, in a row, without a unit done by anybody in between
_GRACE = 20.0  # seconds for giving back what is under way
_REACHED = 10.0  # seconds in which a node must answer
_PATIENCE = 30.0  # seconds without a worker before the user is told what is waited for
_CALLS = 16  # an actor must hear leave() while it runs, and run() again after a broken connection
# Objects of Ray hold nothing of ours.
_LOCAL = {"include_dashboard": False, "object_store_memory": 80 << 20}

_log = logging.getLogger(__name__)


@dataclass
class _Slot:
    """A place for one actor at a time."""

    ordinal: int
    actor: Any = None
    run: Any = None  # the call that ends when the actor has no more to do
    name: str = ""
    starts: int = 0
    done: int = -1  # units done by all when it was last started
    over: bool = False


@dataclass
class RayExecutor:
    """Actors of the Ray cluster at RAY_ADDRESS, or of one that is started on this machine.

    Attributes:
        workers: How many; as many as the nodes have room for now if None.
        threads: CPU threads of each.
        gpus_per_worker: The share of a GPU for each; 1 if None, where there are GPUs.
        lease: Seconds without a sign of life after which a worker counts as dead.
        problems: Why workers stopped.
    """

    workers: int | None = None
    threads: int | None = None
    gpus_per_worker: float | None = None
    lease: float = LEASE
    problems: list[str] = field(default_factory=list)
    _slots: list[_Slot] = field(default_factory=list)
    _store: Store | None = None
    _made: dict[str, Any] = field(default_factory=dict)  # what every actor is made with
    _needs: dict[str, float] = field(default_factory=dict)
    _ray: Any = None
    _actor: Any = None
    _connected_here: bool = False
    _waiting_since: float | None = None

    def start(self, store: Store, job: str) -> None:
        """Connect to the cluster and start the workers."""
        self._store = store
        self.problems.clear()
        self._ray, self._connected_here = _connected()
        count = self._count()
        store.put_new(MARKER, secrets.token_hex(8).encode())
        self._made = {
            "url": store.url, "marker": store.get(MARKER), "job": job, "lease": self.lease,
            "threads": self.threads or 1, "folder": os.getcwd(),  # noqa: PTH109
            "environment": {k: os.environ[k] for k in _PASSED if k in os.environ},
        }  # fmt: skip
        self._actor = self._ray.remote(Actor).options(
            num_cpus=self._needs["CPU"], num_gpus=self._needs.get("GPU", 0), max_restarts=0,
            max_concurrency=_CALLS, scheduling_strategy="SPREAD",
        )  # fmt: skip
        self._slots = [_Slot(n) for n in range(count)]
        self._waiting_since = time.monotonic()
        for slot in self._slots:
            self._launch(slot)

    def tend(self, done: int) -> bool:
        """Replace workers that died; return whether any is left."""
        running = {slot.run: slot for slot in self._slots if slot.run is not None}
        if running:
            ended, _ = self._ray.wait(list(running), num_returns=len(running), timeout=0)
            for run in ended:
                self._look_at(running[run], done)
        self._tell_what_is_waited_for()
        return any(not slot.over for slot in self._slots)

    def stop(self) -> None:
        """Stop the workers; they give back what they have not finished."""
        if self._ray is None:
            return
        with contextlib.suppress(Exception):  # a cluster that is gone needs no stopping
            self._let_leave()
        for slot in self._slots:
            self._bury(slot)
        self._slots = []
        if self._connected_here:
            self._ray.shutdown()
        self._ray = None

    def _let_leave(self) -> None:
        """Have the workers give back what is under way; those not placed yet have nothing."""
        assert self._store is not None
        placed = self._store.names("workers/") if self._slots else set()
        leaving = [s.actor.leave.remote() for s in self._slots if s.actor and s.name in placed]
        if leaving:
            self._ray.wait(leaving, num_returns=len(leaving), timeout=_GRACE)

    def _count(self) -> int:
        """Return how many workers to start, and set what each needs."""
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        gpus = sum(node.get("GPU", 0) for node in nodes)
        if self.gpus_per_worker is not None and not gpus:
            raise self._refused(
                "the Ray cluster has no GPUs; leave --gpus-per-worker out or use another cluster"
            )
        self._needs = {"CPU": self.threads or 1}
        if gpus:
            self._needs["GPU"] = 1 if self.gpus_per_worker is None else self.gpus_per_worker
        room = sum(
            int(min(node.get(what, 0) / need + 1e-9 for what, need in self._needs.items()))
            for node in nodes
        )
        count = self.workers or room
        if not count:
            raise self._refused(
                f"no node of the Ray cluster has the {self._said()} that a worker needs; use fewer "
                "threads, or --workers N if nodes are added on demand"
            )
        return count

    def _refused(self, text: str) -> ClusterError:
        self.stop()
        return ClusterError(text)

    def _launch(self, slot: _Slot) -> None:
        slot.starts += 1
        slot.name = f"ray-{os.getpid()}-{slot.ordinal}-{secrets.token_hex(3)}"
        slot.actor = self._actor.remote(name=slot.name, ordinal=slot.ordinal, **self._made)
        slot.run = slot.actor.run.remote()

    def _look_at(self, slot: _Slot, done: int) -> None:
        """See why the worker of a slot has ended, and start another one if that may help."""
        from ray.exceptions import ActorUnavailableError, RayActorError, RayError

        try:
            ended: Ended = self._ray.get(slot.run)
        except ActorUnavailableError:
            slot.run = slot.actor.run.remote()  # tells whether it is dead or was only out of reach
            return
        except RayActorError as error:
            problem = _death(error)
        except RayError as error:
            problem = reason(getattr(error, "cause", None) or error)
        else:
            problem = ended.problem
            slot.over = ended.final
        if problem and problem not in self.problems:
            self.problems.append(problem)
        self._bury(slot)
        if slot.over:
            return
        if done > slot.done:
            slot.starts = 0
        slot.done = done
        if slot.starts >= _STARTS:
            slot.over = True
        else:
            self._launch(slot)

    def _bury(self, slot: _Slot) -> None:
        """Let others know at once that a worker is dead, and see to it that it is."""
        assert self._store is not None
        with contextlib.suppress(Exception):
            self._ray.kill(slot.actor)
        slot.actor = slot.run = None
        with contextlib.suppress(ClusterError):
            self._store.delete(f"workers/{slot.name}")

    def _tell_what_is_waited_for(self) -> None:
        if self._waiting_since is None or self._store is None:
            return
        if time.monotonic() - self._waiting_since < _PATIENCE:
            return
        waiting = sum(not slot.over for slot in self._slots)
        if not self._store.names("workers/"):
            _log.warning(
                "waiting for the Ray cluster: %d workers need %s each", waiting, self._said()
            )
        self._waiting_since = None

    def _said(self) -> str:
        return " and ".join(f"{need:g} {what}" for what, need in self._needs.items())


def _connected() -> tuple[Any, bool]:
    """Return Ray, connected to a cluster, and whether it was connected here."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # of a cluster that is started here
    try:
        import ray
    except ImportError:
        raise ClusterError("--executor ray needs Ray: pip install 'boxpen[ray]'") from None
    if ray.is_initialized():
        return ray, False
    address = os.environ.get("RAY_ADDRESS")
    where = f"at {address} (RAY_ADDRESS) " if address else ""
    main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGTERM)
    try:
        _check_address(address or "")
        ray.init(
            log_to_driver=False, logging_level=logging.CRITICAL, **({} if address else _LOCAL),
        )  # fmt: skip
    except Exception as error:  # of many kinds
        ray.shutdown()
        raise ClusterError(
            f"the Ray cluster {where}cannot be used: {one_line(reason(error))}"
        ) from None
    finally:
        if main and handler is not None:
            signal.signal(signal.SIGTERM, handler)
    # Or Ray prints the last lines of the log of a node that died to stdout, among results.
    with contextlib.suppress(AttributeError):
        ray._private.worker._worker_logs_enabled = False
    return ray, True


def _check_address(address: str) -> None:
    """Raise OSError if nobody listens at an address: Ray would try for minutes."""
    host, _, port = address.removeprefix("ray://").partition("/")[0].rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=_REACHED).close()


def _death(error: BaseException) -> str:
    """Return why an actor is dead, in one line."""
    text = str(error)
    if "low on memory" in text:
        return "a worker died: its node ran low on memory; use fewer workers"
    if because := re.search(r"The actor (?:is dead|died) because (its [^.]+)\.", text):
        return one_line(f"a worker died: {because[1]}")
    raised = [line.strip() for line in text.splitlines() if re.match(r"\s*[\w.]*Error: ", line)]
    return one_line(f"a worker died: {raised[-1]}") if raised else "a worker died"
