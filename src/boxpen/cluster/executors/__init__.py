"""Executors: they start workers and replace those that die; what is done is up to the store."""

from __future__ import annotations

from boxpen.cluster.drive import Executor
from boxpen.errors import ClusterError, nearest

__all__ = ["EXECUTORS", "executor_of"]

EXECUTORS = ("local", "ray", "worker")


def executor_of(
    name: str,
    *,
    workers: int | None = None,
    threads: int | None = None,
    gpus_per_worker: float | None = None,
    device: str | None = None,
) -> Executor:
    """Return an executor.

    Args:
        name: ``local`` (processes of this machine), ``ray`` (actors of a Ray cluster), or
            ``worker`` (those that others start with ``boxpen worker``).
        workers: How many workers to start; as many as the hardware allows if None.
        threads: CPU threads of each worker; 1 if None.
        gpus_per_worker: For Ray: the share of a GPU that each worker gets; 1 if None.
        device: For local workers: where all of them compute.

    Raises:
        ClusterError: If there is no such executor, or it cannot do this.
    """
    for option, value in (("workers", workers), ("threads", threads)):
        if value is not None and value < 1:
            raise ClusterError(f"{option} is {value}, expected 1 or more")
    if gpus_per_worker is not None and name != "ray":
        raise ClusterError("--gpus-per-worker is for --executor ray; leave it out")
    if device is not None and name in ("ray", "worker"):
        way = {"ray": "leave it out", "worker": "give it where you start boxpen worker"}[name]
        raise ClusterError(
            f"--device {device} is for this machine, not for --executor {name}; {way}"
        )
    if name == "local":
        from boxpen.cluster.executors.local import LocalExecutor

        return LocalExecutor(workers=workers, threads=threads, device=device)
    if name == "ray":
        from boxpen.cluster.executors.ray import RayExecutor

        return RayExecutor(workers=workers, threads=threads, gpus_per_worker=gpus_per_worker)
    if name == "worker":
        if workers is not None or threads is not None:
            raise ClusterError(
                "--executor worker starts no workers, so it takes no --workers and no --threads; "
                "give them where you start boxpen worker"
            )
        from boxpen.cluster.executors.elsewhere import ElsewhereExecutor

        return ElsewhereExecutor()
    raise ClusterError(f"there is no executor '{name}', {nearest(name, list(EXECUTORS))}")
