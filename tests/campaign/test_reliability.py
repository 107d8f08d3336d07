"""A short campaign; ``-m heavy`` runs the whole one, and keeps its counts for the page.

python -m pytest tests/campaign -m heavy
python scripts/reliability.py build/campaign.json     # docs/explanation/reliability.md
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from formats import FORMATS

HERE = Path(__file__).parent
RESULTS = HERE.parents[1] / "build" / "campaign.json"
SLOW = ("suite, parquet", "build folder", "lm-eval log", "checkpoint", "gguf", "safetensors",
        "ctranslate2", "elmo")  # fmt: skip
QUICK = [form.name for form in FORMATS if form.name not in SLOW]
MOUNT = ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
CAN_MOUNT = subprocess.run(MOUNT, capture_output=True, check=False).returncode == 0
needs_mount = pytest.mark.skipif(not CAN_MOUNT, reason="mounting a file system is not permitted")


def survives(script: str, results: Path, *options: object) -> None:
    """Run a part of the campaign in a process of its own, which must find nothing."""
    command = [sys.executable, HERE / f"{script}.py", *options, "--json", results]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_damaged_files(tmp_path: Path) -> None:
    survives("mutations", tmp_path / "found.json", *QUICK, "--count", 12)


@pytest.mark.parametrize(
    ("name", "signal"),
    [("suite import", "KILL"), pytest.param("review import", "TERM", marks=pytest.mark.heavy)],
)
def test_stopped_commands(tmp_path: Path, name: str, signal: str) -> None:
    survives("kills", tmp_path / "found.json", name, "--signal", signal, "--count", 2)


@pytest.mark.heavy  # fast: tests/test_full_disk.py
@needs_mount
def test_small_disks(tmp_path: Path) -> None:
    options = ("full", "readonly", "--only", "suite export", "--steps", 2)
    survives("disks", tmp_path / "found.json", *options)


@pytest.mark.heavy
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("form", [form.name for form in FORMATS])
def test_all_damaged_files(form: str) -> None:
    survives("mutations", _results(), form)


@pytest.mark.heavy
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(("signals", "count"), [("KILL", 100), ("INT TERM", 28)])
def test_all_stopped_commands(signals: str, count: int) -> None:
    survives("kills", _results(), "--signal", *signals.split(), "--count", count)


@pytest.mark.heavy
@pytest.mark.timeout(7200)
@needs_mount
@pytest.mark.parametrize("check", ["full", "readonly", "memory", "pairs"])
def test_all_disks(check: str) -> None:
    survives("disks", _results(), check)


def _results() -> Path:
    RESULTS.parent.mkdir(exist_ok=True)
    return RESULTS
