"""The notebook of the docs, executed: what it stores is what it gives.

``python tests/test_notebook.py`` executes it and stores the outputs.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")

NOTEBOOK = Path(__file__).parents[1] / "docs" / "tutorials" / "notebook.ipynb"
NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")


def executed(folder: str):
    """The notebook after execution in a folder, with a cache of its own."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    start = f"import os; os.environ['BOXPEN_CACHE'] = {folder + '/cache.sqlite'!r}"
    notebook.cells.insert(0, nbformat.v4.new_code_cell(start))
    resources = {"metadata": {"path": folder}}
    nbclient.NotebookClient(notebook, timeout=600, resources=resources).execute()
    del notebook.cells[0]
    for count, cell in enumerate(c for c in notebook.cells if c.cell_type == "code"):
        cell.metadata, cell.execution_count = {}, count + 1
        cell.outputs = [o for o in cell.outputs if o.get("name") != "stderr"]  # others' warnings
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = count + 1
    notebook.metadata.language_info = {"name": "python"}
    return notebook


def shown(notebook) -> list[str]:
    """What every code cell shows as text."""
    return [
        "".join(o.get("text", "") or o.get("data", {}).get("text/plain", "") for o in cell.outputs)
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def needs_smollm2() -> None:
    from boxpen import ModelError
    from boxpen.models.loading.embedded import smollm2_path

    pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("pandas", reason="pandas is not installed")
    try:
        smollm2_path(download=False)
    except ModelError:
        pytest.skip("smollm2 is not available")


@pytest.mark.heavy  # fast: test_python_page.py
def test_it_gives_what_it_stores(tmp_path):
    needs_smollm2()
    stored = nbformat.read(NOTEBOOK, as_version=4)
    for old, new in zip(shown(stored), shown(executed(str(tmp_path))), strict=True):
        assert NUMBER.sub("#", new) == NUMBER.sub("#", old)
        numbers = [list(map(float, NUMBER.findall(text))) for text in (old, new)]
        assert numbers[1] == pytest.approx(
            numbers[0], abs=0.011
        )  # the last digit may be rounded otherwise


def test_it_stores_outputs_without_errors_paths_or_times():
    stored = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(stored)
    code = [cell for cell in stored.cells if cell.cell_type == "code"]
    assert all(cell.outputs and not cell.metadata for cell in code)
    kinds = {o.output_type for cell in code for o in cell.outputs}
    assert kinds <= {"execute_result", "stream"}
    assert all(o.get("name") != "stderr" for cell in code for o in cell.outputs)
    text = NOTEBOOK.read_text("utf-8")
    assert not re.search(r"/(home|root|tmp|work|Users)/|\b\d+(\.\d+)? ?(s|ms)\b", text)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        nbformat.write(executed(place), NOTEBOOK)
