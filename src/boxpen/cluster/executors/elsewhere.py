"""Workers that others start, with ``boxpen worker``: in a Slurm array, over ssh, in a pod."""

from __future__ import annotations

import logging
import time

from boxpen.cluster.store import Store

__all__ = ["ElsewhereExecutor"]

_PATIENCE = 30.0  # seconds without a worker before the user is told what is waited for

_log = logging.getLogger(__name__)


class ElsewhereExecutor:
    """Waits for workers that join the store; they may come and go."""

    problems: list[str] = []  # noqa: RUF012 (workers print their own)
    _since: float | None = None

    def start(self, store: Store, job: str) -> None:  # noqa: ARG002
        """Nothing is started here."""
        self._store, self._since = store, time.monotonic()

    def tend(self, done: int) -> bool:  # noqa: ARG002
        """Workers may always come; tell the user, once, if none does."""
        if self._since is not None and time.monotonic() - self._since > _PATIENCE:
            self._since = None
            if not self._store.names("workers/"):
                _log.warning("no worker has joined yet: boxpen worker --join %s", self._store.url)
        return True

    def stop(self) -> None:
        """Workers that joined stay for the next job."""
