"""What a release needs beside the code: versions that agree, workflows, templates, pages."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from boxpen.version import __version__

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted(p for p in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if p.stem != "config")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def load(path: Path) -> dict[str, Any]:
    found = yaml.safe_load(path.read_text("utf-8"))
    assert isinstance(found, dict)
    return found


def pythons() -> list[str]:
    said = PROJECT["project"]["classifiers"]
    return re.findall(r"Python :: (3\.\d+)", "\n".join(said))


def test_the_version_is_one_of_semantic_versioning_and_of_python():
    assert re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", __version__)


def test_the_citation_has_it():
    found = load(ROOT / "CITATION.cff")
    assert found["cff-version"] == "1.2.0"
    assert found["version"] == __version__
    assert {"message", "title", "authors", "type", "license"} <= found.keys()
    kinds = {"article", "conference-paper", "software"}
    for one in found["references"]:
        assert one["type"] in kinds
        assert all({"family-names", "given-names"} <= a.keys() for a in one["authors"])


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.name)
def test_workflows(path):
    found = load(path)
    assert {"name", "jobs", "permissions"} <= found.keys()
    assert True in found or "on" in found  # YAML 1.1 takes "on" for a truth value
    assert found["permissions"] == {"contents": "read"}
    for name, job in found["jobs"].items():
        needed = job.get("needs", [])
        needed = [needed] if isinstance(needed, str) else needed
        assert set(needed) <= found["jobs"].keys()
        if "uses" in job:  # another workflow of this repository, whole
            assert job.keys() == {"uses"}
            assert (ROOT / job["uses"]).resolve() in WORKFLOWS
            continue
        assert {"runs-on", "steps", "timeout-minutes"} <= job.keys(), name
        for step in job["steps"]:
            assert len({"uses", "run"} & step.keys()) == 1, step
            if "uses" in step:  # a tag can be moved, a commit cannot
                assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", step["uses"]), step["uses"]
            # What others may choose, such as a branch, is no part of a script.
            assert "${{" not in step.get("run", ""), step
        matrix = job.get("strategy", {}).get("matrix", {}).get("python")
        assert matrix in (None, pythons()), name


def test_a_release_is_published_after_all_checks_and_without_a_token():
    jobs = load(ROOT / ".github" / "workflows" / "release.yml")["jobs"]
    assert (jobs["wheel"]["needs"], jobs["publish"]["needs"]) == ("build", ["checks", "wheel"])
    called = load(ROOT / jobs["checks"]["uses"])
    assert "workflow_call" in called.get(True, called.get("on"))
    steps = [step.get("run") for job in called["jobs"].values() for step in job["steps"]]
    assert {"make check", "make test"} <= set(steps)
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert jobs["publish"]["environment"] == "pypi"
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8")
    assert "secrets." not in text


@pytest.mark.parametrize("path", FORMS, ids=lambda p: p.name)
def test_issue_forms(path):
    found = load(path)
    assert {"name", "description", "body"} <= found.keys()
    for field in found["body"]:
        assert field["type"] in ("markdown", "textarea", "input", "dropdown", "checkboxes")
        assert field["type"] == "markdown" or field["attributes"]["label"]
    ids = [field["id"] for field in found["body"] if "id" in field]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("name", ["SECURITY.md", ".github/PULL_REQUEST_TEMPLATE.md",
                                  "docs/explanation/security.md",
                                  "docs/explanation/versioning.md"])  # fmt: skip
def test_links_of_pages(name):
    page = ROOT / name
    links = re.findall(r"\]\(([^)#]+)", page.read_text("utf-8"))
    for link in links:
        assert link.startswith("https://") or (page.parent / link).exists(), link


def test_python_is_the_oldest_that_is_named():
    assert PROJECT["project"]["requires-python"] == f">={pythons()[0]}"
    assert f"py{pythons()[0].replace('.', '')}" in (
        PROJECT["tool"]["ruff"].get("target-version") or "py311"
    )


def test_no_library_of_a_newer_python_is_used():
    """The whole source is valid for the oldest Python that is named."""
    import ast

    oldest = tuple(map(int, pythons()[0].split(".")))
    for path in (ROOT / "src").rglob("*.py"):
        ast.parse(path.read_text("utf-8"), feature_version=oldest)
