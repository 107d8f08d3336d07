"""docs/how-to/coming-from.md: lines of Python run, and lm-eval parses its own.

Lines of minicons run, and give the numbers of those of boxpen, where an environment has it: that of
``make bench``, or the interpreter that ``BOXPEN_TEST_MINICONS`` names.

Hub models are replaced by tiny ones, and suites by a sample. tests/docs runs the commands.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import boxpen
from boxpen.exchange import export_suite

TESTS = Path(__file__).parent
PAGE = (TESTS.parent / "docs" / "how-to" / "coming-from.md").read_text("utf-8")
TEXTS = ["The box is in the pen.", "The pen is in the box."]
PREFIXES = ["There are two things.", "So what?"]
MINICONS = Path(os.environ.get("BOXPEN_TEST_MINICONS", f"{sys.prefix}-minicons/bin/python"))


def rows() -> Iterator[tuple[str, str]]:
    """Yield the first code of the left and of the right cell, of each row of a table."""
    for line in PAGE.splitlines():
        if line.startswith("| ") and "| boxpen |" not in line:
            left, right = line.strip("| ").split(" | ")
            yield left, next(iter(re.findall(r"`([^`]+)`", right)), "")


COMMANDS = [right for _, right in rows() if right.startswith("boxpen ")]
LINES = [right for _, right in rows() if right and not right.startswith("boxpen ")]
THEIRS = re.findall(r"^\| `(m(?:lm)?[ .][^`]+)`.* \| `(\w+) = ", PAGE, re.M)
HARNESS = re.findall(r"^\| `lm_eval ([^`]+)`", PAGE, re.M)


@pytest.fixture(scope="module")
def bert_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(TESTS / "models")
        import tiny

        folder = tmp_path_factory.mktemp("masked") / "bert"
        tiny.build("bert", folder)
    return folder


@pytest.fixture(scope="module")
def belongings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a reader has before the commands."""
    folder = tmp_path_factory.mktemp("reader")
    pairs = "".join(f"The box {n} is in the pen.,The pen {n} is in the box.\n" for n in range(4))
    for table in ("mine.csv", "pairs.csv"):
        (folder / table).write_text(f"good,bad\n{pairs}", "utf-8")
    suite = boxpen.read_suite(folder / "mine.csv", language="en")
    boxpen.write_suite(suite, folder / "mine.jsonl")
    return folder


@pytest.fixture
def ours(
    gpt2_dir: Path, bert_dir: Path, mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """The names that the page's Python of boxpen has bound when it has run in order."""
    pytest.importorskip("pandas")
    monkeypatch.setenv("BOXPEN_CACHE", str(tmp_path / "cache"))
    real = {"hf:gpt2": f"hf:{gpt2_dir}", "hf:bert-base-uncased": f"hf:{bert_dir}"}
    evaluate, resolve = boxpen.evaluate, boxpen.resolve_model
    monkeypatch.setattr(
        boxpen, "evaluate", lambda spec, suite: evaluate(real[spec], suite, limit=4)
    )
    monkeypatch.setattr(
        boxpen, "resolve_model", lambda spec, **options: resolve(real[spec], **options)
    )
    blocks = re.findall(r"```python\n(.+?)```", PAGE, re.S)
    names: dict[str, Any] = {"texts": TEXTS, "prefixes": PREFIXES}
    for code in [*blocks, *LINES]:
        exec(compile(code, "docs/how-to/coming-from.md", "exec"), names)
    return names


def test_the_python_runs_in_order(ours: dict[str, Any]) -> None:
    assert len(ours["run"].verdicts) == 4
    lengths = [len(tokens) for tokens in ours["tokens"]]
    totals = [mean * n for mean, n in zip(ours["means"], lengths, strict=True)]
    assert totals == pytest.approx(ours["sums"])
    shown = ["".join(text for text, _ in tokens) for tokens in ours["tokens"]]
    assert all(text.endswith(shown[n]) for n, text in enumerate(TEXTS))
    assert all(
        len(ours[name]) == 2 and max(ours[name]) < 0
        for name in ("with_bos", "given", "original", "inside")
    )


def test_minicons_gives_the_same_numbers(
    ours: dict[str, Any], gpt2_dir: Path, bert_dir: Path, tmp_path: Path
) -> None:
    if not MINICONS.is_file():
        pytest.skip(f"{MINICONS} is missing: make bench, or set BOXPEN_TEST_MINICONS")
    code = ["from minicons import scorer", f"texts, prefixes = {TEXTS!r}, {PREFIXES!r}", "out = {}"]
    for line, name in THEIRS:
        for known, folder in (("gpt2", gpt2_dir), ("bert-base-uncased", bert_dir)):
            line = line.replace(f'"{known}"', repr(str(_for_minicons(folder, tmp_path / known))))
        code.append(line if " = scorer." in line else f"out[{name!r}] = {line}")
    code += ["import json", "print(json.dumps(out))"]
    done = subprocess.run([MINICONS, "-c", "\n".join(code)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    theirs = json.loads(done.stdout.splitlines()[-1])
    assert len(theirs) == len(THEIRS) - 2
    # It shows 0 for a first token, which nothing precedes.
    tokens = [[score for _, score in some[1:]] for some in theirs.pop("tokens")]
    assert tokens == [pytest.approx([s for _, s in some], abs=1e-4) for some in ours["tokens"]]
    for name, found in theirs.items():
        assert found == pytest.approx(ours[name], abs=1e-4), name


def _for_minicons(folder: Path, copy: Path) -> Path:
    """Return a checkpoint whose tokenizer the Transformers of minicons can load."""
    if not copy.exists():
        shutil.copytree(folder, copy)
        config = copy / "tokenizer_config.json"
        text = config.read_text("utf-8").replace("TokenizersBackend", "PreTrainedTokenizerFast")
        config.write_text(text, "utf-8")
    return copy


@pytest.mark.parametrize("command", HARNESS)
def test_the_harness_parses_its_commands(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("lm_eval")
    from lm_eval._cli.harness import HarnessCLI

    monkeypatch.setattr("sys.argv", ["lm_eval", *shlex.split(command)])
    found = HarnessCLI().parse_args()
    if found.command == "run":
        assert found.model_args["pretrained"] == "gpt2"
        assert found.tasks


@pytest.mark.heavy  # fast: the harness parses them
@pytest.mark.parametrize("command", [c for c in HARNESS if re.search("my_task|--log_samples", c)])
def test_the_harness_runs_two_of_its_commands(
    command: str, gpt2_dir: Path, belongings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On four pairs that boxpen exported, and a tiny model."""
    pytest.importorskip("lm_eval")
    from lm_eval._cli.harness import HarnessCLI

    export_suite(boxpen.read_suite(belongings / "mine.jsonl"), "lm-eval", tmp_path / "my-tasks")
    monkeypatch.chdir(tmp_path)
    words = re.sub("my_task|piqa", "boxpen_mine", command).replace("gpt2", str(gpt2_dir)).split()
    if "--include_path" not in words:
        words += ["--include_path", "my-tasks"]
    monkeypatch.setattr("sys.argv", ["lm_eval", *words])
    cli = HarnessCLI()
    cli.execute(cli.parse_args())
    if "--log_samples" in words:
        (run,) = map(boxpen.Run.load, tmp_path.glob("results/*/results_*.json"))
        assert len(run.verdicts) == 4


def test_every_row_is_tested() -> None:
    assert all(right for _, right in rows())
    assert len(COMMANDS) > 30
    assert len(LINES) == len(THEIRS) == len(re.findall(r"^\| `(?:m|mlm)[ .]", PAGE, re.M)) == 9
    assert len(HARNESS) == PAGE.count("lm_eval ") > 10
