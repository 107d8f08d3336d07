"""The command line in a process that is forked from one which has imported the libraries."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import sys
from pathlib import Path

with contextlib.suppress(ImportError):
    import torch  # noqa: F401
    import transformers  # noqa: F401

import polars  # noqa: F401

from boxpen.cli import main


def run(
    words: list[str], folder: str, env: dict[str, str], log: str, megabytes: int | None
) -> None:
    """Run ``boxpen`` in a folder, with so much more memory than it has already."""
    os.chdir(folder)
    os.environ.update(env)
    for stream, name in ((1, "stdout"), (2, "stderr")):
        opened = os.open(f"{log}.{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(opened, stream)
        os.close(opened)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if megabytes is not None:
        found = re.search(r"VmSize:\s+(\d+)", Path("/proc/self/status").read_text())
        size = (int(found[1]) << 10) + (megabytes << 20)
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
    sys.argv = ["boxpen", *words]
    main()
