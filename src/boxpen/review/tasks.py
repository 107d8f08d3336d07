"""All review tasks by name, and the one that a target means."""

from __future__ import annotations

from importlib import import_module

from boxpen.errors import BuildError, nearest
from boxpen.review.task import ReviewTask, Target

__all__ = ["TASKS", "find_task"]

TASKS = {
    "triples": "boxpen.build.kg.review:TripleTask",
    "wrong-answers": "boxpen.build.kg.review:WrongAnswerTask",
    "wordings": "boxpen.build.kg.review:WordingTask",
    "candidates": "boxpen.build.discourse.review:CandidateTask",
    "duals": "boxpen.build.duals.review:DualTask",
    "classes": "boxpen.analysis.discourse.people:ClassTask",
    "errors": "boxpen.analysis.translation_errors:ErrorTask",
    "answers": "boxpen.review.answers:AnswerTask",
    "tags": "boxpen.analysis.tagging:TagTask",
}
"""Where each task is defined; modules are imported only when they are needed."""
_OF_SUITES = "answers"


def find_task(target: Target, name: str | None = None) -> ReviewTask:
    """Return the task for a target.

    Args:
        target: What is reviewed: a suite, a build, or runs.
        name: The task; if None, the one that the target allows.

    Raises:
        BuildError: If there is no such task, or several and none is named.
    """
    name = "tags" if name is None and target.tag is not None else name
    if name is not None:
        if name not in TASKS:
            raise BuildError(f"there is no task '{name}', {nearest(name, list(TASKS))}")
        cls = _loaded(name)
        task = cls.find(target)
        if task is None:
            raise BuildError(f"the task '{name}' reviews {cls.target}, not {target}")
        return task
    found = [
        task
        for cls in (_loaded(name) for name in TASKS if name != _OF_SUITES)
        if not cls.only_by_name and cls.fits(target) and (task := cls.find(target)) is not None
    ]
    if len(found) > 1:
        names = " or ".join(sorted(task.name for task in found))
        raise BuildError(f"{target} can be reviewed in several ways; choose --task {names}")
    # What is neither a build nor runs should be a suite; if it is not, loading it says why.
    return found[0] if found else find_task(target, _OF_SUITES)


def _loaded(name: str) -> type[ReviewTask]:
    module, _, attribute = TASKS[name].partition(":")
    cls: type[ReviewTask] = getattr(import_module(module), attribute)
    return cls
