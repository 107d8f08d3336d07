"""A driver in a process of its own: python ray_driver.py STORE LOG UNITS SECONDS WORKERS."""

import hashlib
import json
import sys

from boxpen.cluster.drive import have_done
from boxpen.cluster.executors import executor_of
from boxpen.cluster.store import open_store
from boxpen.cluster.units import Group, Unit

GROUPS = 3


def units(log: str | None, count: int, seconds: float) -> list[Unit]:
    groups = [Group("squares", {"log": log, "group": n}) for n in range(GROUPS)]
    return [
        Unit(group, {"number": place * count + n, "seconds": seconds}, weight=1 + n % 3)
        for place, group in enumerate(groups)
        for n in range(count // GROUPS)
    ]


def main() -> None:
    store, log, count, seconds, workers = sys.argv[1:]
    executor = executor_of("ray", workers=int(workers))
    outcome = have_done(open_store(store), units(log, int(count), float(seconds)), executor)
    digest = hashlib.sha256()
    for unit, result in outcome.results():
        digest.update(unit.encode() + result.data)
    told = {
        "units": len(outcome.job.rows), "missing": outcome.missing, "lost": outcome.lost,
        "digest": digest.hexdigest(), "problems": executor.problems,
    }  # fmt: skip
    print(json.dumps(told))


if __name__ == "__main__":
    main()
