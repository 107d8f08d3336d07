"""Commands of the documentation that are not run as they are written, each with the reason.

A command that matches no line of these tables is run as it stands, with small models and suites
(see ``reader.py``). Add a line here only if that is impossible.
"""

from __future__ import annotations

import re

from pages import Command

_HOURS = "takes hours, public data or models; its arguments are parsed"

PARSED_ONLY = {
    r"python (scripts|benchmarks)/": _HOURS,
    r"python tests/": "rewrites a file of the repository; its test compares it",
    r"python -c ": "made numbers of one page, once; it is compiled",
    r"docker |mkdir -p ~/boxpen-cache": "needs Docker; tests/release runs what the image does",
    r"make ": "makes environments; the target exists",
    r"pip install": "changes the environment; the extras exist",
    r"(python -m )?pytest .*tests/": "make test and make test-heavy run it",
    r"python -m venv": "makes an environment",
    r"pytest --boxpen": "tests/exchange/test_pytest_plugin.py runs it in a process of its own",
    r"inspect ": "tests/exchange/test_inspect_task.py and test_inspect_log.py run inspect",
    r"lm_eval ": "tests/test_coming_from.py and tests/exchange run lm-eval",
    r".*(api|openai|translator):": "needs a paid service or a server; tests/remote has such models",
    r"(RAY_ADDRESS=\S+ )?boxpen run .*--executor |boxpen worker|srun|for host": (
        "needs workers; tests/cluster/test_machines_page.py and test_ray_executor.py run it"
    ),
    r"boxpen build run .*--executor": "needs workers; tests/build/test_build_workers.py runs it",
    r"boxpen suite import .*(mucow|demetr)": "tests/test_suites_page.py runs it",
    r"boxpen build run zh-en.toml|boxpen run .*tvsub-zh-en": _HOURS,
    r"boxpen (train bilm .*build/|train nli --data part.csv --base hf:encoder)": _HOURS,
    r"boxpen .*elmo:": "published weights; tests/bilm/test_elmo.py reads such files",
}
"""What a command begins with, and why it is parsed but not run."""

OF_RESULTS = r"\b(build|sheets|more)/|hf:deberta-mnli|kg-nli|demetr-"
"""What commands of docs/results use of what their scripts leave; these are parsed too."""


def reason(command: Command) -> str:
    """Return why a command is not run, or nothing if it is."""
    if command.page.startswith("docs/results") and re.search(OF_RESULTS, command.text):
        return _HOURS
    text = re.sub(r"^([A-Z_]+=\S+ )+", "", command.text)
    return next((why for known, why in PARSED_ONLY.items() if re.match(known, text)), "")
