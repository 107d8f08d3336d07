"""Outcomes of rules as JUnit XML, which every CI system reads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from boxpen.errors import RunError
from boxpen.files import replaced
from boxpen.printable import printable
from boxpen.runs.rules import Outcome
from boxpen.runs.run import Run

__all__ = ["junit_xml", "write_junit"]

_DECLARATION = b'<?xml version="1.0" encoding="utf-8"?>\n'


def write_junit(outcomes: Sequence[Outcome], path: Path) -> None:
    """Write outcomes to a file, whole or not at all.

    Raises:
        RunError: If it cannot be written.
    """
    with replaced(path, RunError) as stream:
        stream.write(junit_xml(outcomes))


def junit_xml(outcomes: Sequence[Outcome]) -> bytes:
    """Return one test suite per run and one test case per rule."""
    root = ElementTree.Element("testsuites", _counts("boxpen check", outcomes))
    runs = {id(o.run): o.run for o in outcomes}
    for run in runs.values():
        _add_run(root, run, [o for o in outcomes if o.run is run])
    ElementTree.indent(root)
    return _DECLARATION + bytes(ElementTree.tostring(root, "utf-8")) + b"\n"


def _add_run(root: ElementTree.Element, run: Run, outcomes: Sequence[Outcome]) -> None:
    suite, model = run.info.suite.name, run.info.model.short
    name = f"{run.suite_title} × {model}"
    group = ElementTree.SubElement(root, "testsuite", _counts(name, outcomes))
    properties = ElementTree.SubElement(group, "properties")
    signature = {"name": "signature", "value": _legal(run.signature)}
    ElementTree.SubElement(properties, "property", signature)
    # Readers divide class names at dots into packages: boxpen > suite > model.
    classname = ".".join(_legal(part).replace(".", "_") for part in ("boxpen", suite, model))
    for outcome in outcomes:
        rule, found = _legal(str(outcome.rule)), _legal(str(outcome))
        case = ElementTree.SubElement(
            group, "testcase", {"classname": classname, "name": rule, "time": "0"}
        )
        if outcome.passed:
            ElementTree.SubElement(case, "system-out").text = found
            continue
        kind = "regression" if outcome.rule.kind == "baseline" else "threshold"
        failure = ElementTree.SubElement(
            case, "failure", {"message": f"{rule}: found {found}", "type": kind}
        )
        failure.text = _legal(f"rule: {rule}\nfound: {found}\nrun: {run.name}\n{run.signature}")


def _counts(name: str, outcomes: Sequence[Outcome]) -> dict[str, str]:
    return {
        "name": _legal(name),
        "tests": str(len(outcomes)),
        "failures": str(sum(not o.passed for o in outcomes)),
        "errors": "0",
        "time": "0",
    }


def _legal(text: str) -> str:
    """Return a text without the characters that XML cannot hold, escaped or not."""
    legal = re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
    return printable(legal, keep="\t\n\r")
