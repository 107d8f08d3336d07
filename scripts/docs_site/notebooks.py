"""Show notebooks as pages: their text, their code, and the outputs stored in them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page beside each notebook; links lead to it."""
    for file in [f for f in files if f.src_uri.endswith(".ipynb")]:
        notebook = json.loads(Path(file.abs_src_path or "").read_text("utf-8"))
        parts = [part for cell in notebook["cells"] for part in _parts(cell)]
        note = f"\nThe same as a [notebook]({Path(file.src_uri).name}?raw) to download and run.\n"
        page = file.src_uri.removesuffix(".ipynb") + ".md"
        text = "\n\n".join(parts) + "\n" + note
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Lead links to the page; ``?raw`` leads to the notebook itself."""
    return markdown.replace(".ipynb)", ".md)").replace(".ipynb?raw)", ".ipynb)")


def _parts(cell: dict[str, Any]) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield source
        return
    yield f"```python\n{source}\n```"
    for output in cell["outputs"]:
        data = output.get("data", {})
        if "text/html" in data:
            yield '<div class="output">' + "".join(data["text/html"]).strip() + "</div>"
        else:
            yield "```text\n" + "".join(output.get("text", data.get("text/plain", ""))) + "\n```"
