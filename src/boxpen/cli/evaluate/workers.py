"""Options that say who does the work: this process, or workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import typer

from boxpen.cli.output import note
from boxpen.errors import ClusterError

if TYPE_CHECKING:
    from boxpen.cluster.drive import Executor
    from boxpen.cluster.store import Store

__all__ = ["Workers"]


@dataclass(frozen=True)
class Workers:
    """Who does the work."""

    panel: ClassVar[str] = "Workers"

    executor: Annotated[
        Literal["local", "ray", "worker"] | None,
        typer.Option(
            help="Compute in processes of this machine, on a Ray cluster, or wherever boxpen "
            "worker runs.",
            show_default="this process; local with several GPUs",
        ),
    ] = None
    store: Annotated[
        str | None,
        typer.Option(
            metavar="STORE",
            help="Folder or URL (s3://…) that all workers see; finished work stays there.",
            show_default="in the user's cache folder",
        ),
    ] = None
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Number of workers.", show_default="one per GPU, or per core"
        ),
    ] = None
    threads: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="CPU threads per worker.", show_default="1"),
    ] = None
    gpus_per_worker: Annotated[
        float | None,
        typer.Option(
            min=0.01, metavar="SHARE", help="With ray: GPUs per worker.", show_default="1"
        ),
    ] = None

    def check(self) -> None:
        """Check that the options fit each other.

        Raises:
            ClusterError: If there is an option for workers but no executor, or no store to meet in.
        """
        if self.executor is None:
            given = {"store": self.store, "workers": self.workers, "threads": self.threads,
                     "gpus-per-worker": self.gpus_per_worker}  # fmt: skip
            for name, value in given.items():
                if value is not None:
                    raise ClusterError(f"--{name} requires --executor local, ray or worker")
        if self.executor == "worker" and self.store is None:
            raise ClusterError(
                "--executor worker requires --store, a folder or URL that the workers see too"
            )

    def chosen(self, *, alone: bool = False) -> str | None:
        """Return the executor that was asked for, or that several GPUs call for.

        Args:
            alone: Whether something was asked for that only this process does.

        Raises:
            ClusterError: If the options do not fit each other.
        """
        self.check()
        if self.executor is not None:
            return self.executor
        from boxpen.cluster.executors.local import gpus

        return "local" if not alone and gpus() > 1 else None

    def opened(self, name: str, device: str | None = None) -> tuple[Store, Executor]:
        """Return the store, and an executor that is not yet started."""
        from boxpen.cluster.executors import executor_of
        from boxpen.cluster.store import open_store
        from boxpen.folders import cache_dir

        executor = executor_of(
            name,
            workers=self.workers,
            threads=self.threads,
            gpus_per_worker=self.gpus_per_worker,
            device=device,
        )
        store = open_store(self.store or cache_dir() / "units")
        if name == "worker":
            note(f"Start workers with: boxpen worker --join {store.url}")
        return store, executor
