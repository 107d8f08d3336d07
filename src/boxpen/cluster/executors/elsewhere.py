"""Workers that others start, with ``boxpen worker``: in a Slurm array, over ssh, in a pod."""

from __future__ import annotations

from boxpen.cluster.store import Store

__all__ = ["ElsewhereExecutor"]


class ElsewhereExecutor:
    """Waits for workers that join the store; they may come and go."""

    problems: list[str] = []  # noqa: RUF012 (workers print their own)

    def start(self, store: Store, job: str) -> None:
        """Nothing is started here."""

    def tend(self, done: int) -> bool:  # noqa: ARG002
        """Workers may always come."""
        return True

    def stop(self) -> None:
        """Workers that joined stay for the next job."""
