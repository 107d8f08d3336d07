"""The builders by name, and how a configuration file chooses one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any, Generic, TypeVar

from boxpen.build.runner import Parts, Progress, Runner, Share, Stage
from boxpen.errors import ConfigError, nearest
from boxpen.plugins import BUILDERS

__all__ = ["Builder", "Stage", "builder_named", "find_config", "open_build"]

C = TypeVar("C")

_MARKS = {
    "conjunctions": "text",
    "discourse": "texts",
    "duals": "suite",
    "kg": "graphs",
    "nmt": "corpora",
}
"""A key that only configurations of each builder have; those of plug-ins must name theirs."""


@dataclass(frozen=True, kw_only=True)
class Builder(Generic[C]):
    """A way to build a suite: the type of its configuration, and its stages.

    Attributes:
        load: Loads a configuration file.
        stages: Returns the stages of a configuration.
        version: Of the code; raise it when the same input gives another result.
        example: A commented configuration to start from.
        shown: Columns of dropped rows to show after step and reason.
        folder: Returns the folder of a configuration's build.
    """

    load: Callable[[Path], C]
    stages: Callable[[C, Progress], list[Stage]]
    version: int
    example: str
    shown: tuple[str, ...] = ()
    folder: Callable[[C], Path] = attrgetter("folder")

    def runner(
        self, config: C, progress: Progress = lambda *_: None, share: Share | None = None
    ) -> Runner:
        """Return what runs the stages of a configuration.

        Args:
            config: The configuration.
            progress: Called as the work goes on.
            share: Who does the parts of stages; this process if None.
        """
        return Runner(self.folder(config), self.stages(config, progress), self.version, share)


def builder_named(name: str) -> Builder[Any]:
    """Return a builder.

    Raises:
        ConfigError: If there is none of this name.
    """
    found: Builder[Any] = BUILDERS.load(name)
    return found


def open_build(path: Path) -> tuple[Builder[Any], Any]:
    """Return the builder that a configuration file names, and the configuration.

    Raises:
        ConfigError: If the file is wrong, or does not tell which builder it is for.
    """
    from boxpen.config import read_toml

    name = _name(read_toml(path), path)
    builder = builder_named(name)
    with BUILDERS.guarding(name):
        config = builder.load(path)
    return builder if name in BUILDERS.builtin else _guarded(builder, name), config


def _guarded(builder: Builder[Any], name: str) -> Builder[Any]:
    """Return the builder of a plug-in, with errors of its stages in one sentence."""

    def stages(config: Any, progress: Progress) -> list[Stage]:
        with BUILDERS.guarding(name):
            made = builder.stages(config, progress)
            return [guarded(stage) for stage in made]

    def guarded(stage: Stage) -> Stage:
        parts = stage.parts
        if parts is not None:
            parts = Parts(listed=partial(call, parts.listed), do=partial(call, parts.do))
        return replace(stage, run=partial(call, stage.run), parts=parts)

    def call(inner: Callable[..., Any], *args: Any) -> Any:
        with BUILDERS.guarding(name):
            return inner(*args)

    return replace(builder, stages=stages)


def find_config(path: Path, name: str) -> Any | None:
    """Return the configuration in a TOML file for this builder; None if it is for another.

    Raises:
        ConfigError: If the file is wrong, or does not tell which builder it is for.
    """
    from boxpen.config import read_toml

    if path.suffix != ".toml" or _name(read_toml(path), path) != name:
        return None
    return builder_named(name).load(path)


def _name(table: Mapping[str, Any], path: Path) -> str:
    named = table.get("builder")
    if named in BUILDERS:
        return str(named)
    known = ", ".join(f"'{name}'" for name in BUILDERS)
    if named is not None:
        offer = nearest(str(named), list(BUILDERS))
        meant = f"; {offer}" if offer.startswith("did") else ""
        raise ConfigError(f"{path}: builder is {named!r}, expected {known}{meant}")
    fitting = [name for name, key in _MARKS.items() if key in table]
    if len(fitting) != 1:
        raise ConfigError(f"{path}: builder is missing; add builder = NAME with one of {known}")
    return fitting[0]
