"""All review tasks by name, and the one that a target means."""

from __future__ import annotations

from boxpen.errors import BuildError
from boxpen.plugins import TASKS
from boxpen.review.task import ReviewTask, Target

__all__ = ["find_task"]

_OF_SUITES = "answers"
_SUITE_TASKS = {"wrong-answers": "wrong-candidates"}
"""What a task of builds is called where a suite is the target."""


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
        cls: type[ReviewTask] = TASKS.load(name)
        task = cls.find(target)
        if task is None and name in _SUITE_TASKS and not target.runs:
            task = TASKS.load(_SUITE_TASKS[name]).find(target)
        if task is None:
            raise BuildError(f"the task '{name}' reviews {cls.target}, not {target}")
        return task
    found = [
        task
        for cls in (TASKS.load(name) for name in TASKS if name != _OF_SUITES)
        if not cls.only_by_name and cls.fits(target) and (task := cls.find(target)) is not None
    ]
    if len(found) > 1:
        names = " or ".join(sorted(task.name for task in found))
        raise BuildError(f"{target} can be reviewed in several ways; choose --task {names}")
    # What is neither a build nor runs should be a suite; if it is not, loading it says why.
    return found[0] if found else find_task(target, _OF_SUITES)
