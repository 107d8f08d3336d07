"""Parts of stages as units: workers do them, on this machine or others.

A worker reads the same configuration and does the same stage. What the result depends on is
compared first: a worker with another version, configuration or file is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from boxpen.build.builders import open_build
from boxpen.build.runner import Progress, Stage
from boxpen.cluster.drive import Executor, Outcome, have_done
from boxpen.cluster.store import Store
from boxpen.cluster.units import Group, Unit
from boxpen.errors import BuildError

__all__ = ["PartWork", "Shared"]


class Shared:
    """Has workers do the parts of stages.

    Args:
        config: The configuration file, which all workers must see under this path.
        store: Where units and results are kept.
        executor: Who does the units.
        progress: Called as the work goes on.
    """

    def __init__(self, config: Path, store: Store, executor: Executor, progress: Progress) -> None:
        self._config = config.absolute()
        self._store, self._executor, self._progress = store, executor, progress
        self._outcomes: list[Outcome] = []

    def __call__(self, stage: Stage, content: Mapping[str, Any]) -> Iterator[bytes]:
        """Return the results of all parts, in order."""
        assert stage.parts is not None
        shared = {"config": str(self._config), **content}
        group = Group("part", shared, label=f"{stage.name} of {self._config.name}")
        units = (Unit(group, part, label=f"{stage.name}: parts") for part in stage.parts.listed())
        outcome = have_done(self._store, units, self._executor, self._progress)
        self._outcomes.append(outcome)
        if outcome.missing:
            why = next(iter(outcome.missing.values()))
            raise BuildError(
                f"{len(outcome.missing):,} of {len(outcome.job.rows):,} parts of the stage "
                f"'{stage.name}' failed: {why}"
            )
        return (result.data for _, result in outcome.results())

    def forget(self) -> None:
        """Remove the results, as the stage is recorded."""
        while self._outcomes:
            self._outcomes.pop().forget(results=True)


class PartWork:
    """A stage, as the units of its parts need it.

    Args:
        shared: The configuration file, the name of the stage, and what its result depends on.

    Raises:
        BuildError: If the stage is another one here.
    """

    place: dict[str, str] = {}  # noqa: RUF012 (of what runs anywhere with the same result)

    def __init__(self, shared: Mapping[str, Any]) -> None:
        config = Path(shared["config"])
        builder, settings = open_build(config)
        runner = builder.runner(settings)
        stage = runner.stages.get(shared["stage"])
        if stage is None or stage.parts is None:
            raise BuildError(f"{config} of this worker has no stage '{shared['stage']}' with parts")
        found = runner.content(stage)
        if found["settings"] != shared["settings"]:
            raise BuildError(
                f"the stage '{stage.name}' of {config} is not the same for this worker: use the "
                "same configuration, files and version of boxpen everywhere"
            )
        for name, digest in shared["inputs"].items():
            if found["inputs"].get(name) != digest:
                raise BuildError(
                    f"{name.rpartition(' ')[2]} is not the same file for this worker as where "
                    f"{config} is built"
                )
        self._parts = stage.parts

    def run(self, payload: Any) -> bytes:
        """Do one part."""
        return self._parts.do(payload)

    def close(self) -> None:
        """Nothing is left to free."""
        del self._parts
