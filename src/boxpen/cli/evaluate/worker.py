"""boxpen worker: do units of jobs that boxpen run or boxpen build has put into a store."""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType
from typing import Annotated

import typer

from boxpen.cli.app import app
from boxpen.cli.command import command
from boxpen.cli.options import TrustRemoteCode
from boxpen.cli.output import note
from boxpen.cluster.worker import LEASE
from boxpen.errors import ClusterError

__all__ = ["worker"]


@command(app, "worker", panel="Evaluate")
def worker(
    join: Annotated[
        str,
        typer.Option(
            metavar="STORE", help="Folder or URL given to --store with --executor worker."
        ),
    ],
    idle: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="Leave after this long without work.")
    ] = 60.0,
    device: Annotated[
        str | None, typer.Option(help="cpu, cuda, cuda:1 or mps.", metavar="NAME")
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="CPU threads.", show_default="1")
    ] = None,
    lease: Annotated[
        float,
        typer.Option(
            min=0.5,
            metavar="SECONDS",
            help="Others take over after this long without a sign of life; the same for all "
            "workers.",
        ),
    ] = LEASE,
    ordinal: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Number of this worker; each begins with another model.",
            show_default="SLURM_ARRAY_TASK_ID or 0",
        ),
    ] = None,
    trust_remote_code: TrustRemoteCode = False,  # noqa: ARG001 (see TrustRemoteCode)
    job: Annotated[str | None, typer.Option(hidden=True, help="Work on this job only.")] = None,
    name: Annotated[str | None, typer.Option(hidden=True, help="Name in the store.")] = None,
    tied: Annotated[
        bool, typer.Option("--tied", hidden=True, help="Leave when stdin is closed.")
    ] = False,
) -> None:
    """Compute what runs and builds have put into a store.

    Start as many as you like, on any machine that sees the store; stop them at any time.
    """
    # Before anything that computes is imported.
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        if threads is not None or variable not in os.environ:
            os.environ[variable] = str(threads or 1)
    if device is not None:
        os.environ["BOXPEN_DEVICE"] = device
    from boxpen.cluster.store import open_store
    from boxpen.cluster.worker import Worker

    if not join.strip():
        raise ClusterError("--join is empty; give the folder or URL of the store")
    store = open_store(join)
    if not job and not store.names("jobs/"):
        note(f"no work in {store.url} yet; waiting {idle:g} s for some")
    one = Worker(store, ordinal=_ordinal() if ordinal is None else ordinal, lease=lease, name=name)
    signal.signal(signal.SIGTERM, _stop)
    if tied:
        threading.Thread(target=_until_the_parent_is_gone, daemon=True).start()
    told = one.run(job, idle=0.0 if job else idle)
    note(
        f"{told.units} unit{'' if told.units == 1 else 's'} done in {told.working:.0f} s, "
        f"{told.loads} load{'' if told.loads == 1 else 's'} in {told.loading:.0f} s"
    )
    if told.problem:
        print(f"boxpen: {told.problem}", file=sys.stderr)
        raise typer.Exit(1)
    if told.failed and not told.units:
        print(f"boxpen: {next(iter(told.failed.values()))}", file=sys.stderr)
        raise typer.Exit(1 if not tied else 0)


def _ordinal() -> int:
    for variable in ("SLURM_ARRAY_TASK_ID", "SLURM_PROCID", "PBS_ARRAY_INDEX"):
        if os.environ.get(variable, "").isdigit():
            return int(os.environ[variable])
    return 0


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _until_the_parent_is_gone() -> None:
    """Stop when whoever started this worker has closed its end of stdin, or has died."""
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
