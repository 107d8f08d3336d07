"""Heavy libraries are imported where they are used, not with the package."""

import subprocess
import sys

HEAVY = ("jieba", "polars", "pooch", "requests", "rich", "scipy", "torch", "transformers")


def test_the_rooms_import_nothing_heavy():
    code = "import sys, boxpen.catalog, boxpen.analysis; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(HEAVY) & set(done.stdout.split())
