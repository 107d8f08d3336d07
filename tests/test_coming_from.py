"""docs/coming-from.md: commands of boxpen run, lines of Python run, lm-eval parses its own.

Hub models are replaced by tiny ones, and suites by a sample. Each command has a folder of its own
with what a reader would have: a table, a suite, runs of two models, and a log of lm-eval.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import boxpen
from boxpen.cli.app import app
from dual_runs import dual_run, dual_suite

TESTS = Path(__file__).parent
PAGE = (TESTS.parent / "docs" / "coming-from.md").read_text("utf-8")
TEXTS = ["The box is in the pen.", "The pen is in the box."]


def rows() -> Iterator[tuple[str, str]]:
    """Yield the first code of the left and of the right cell, of each row of a table."""
    for line in PAGE.splitlines():
        if line.startswith("| ") and "| boxpen |" not in line:
            left, right = line.strip("| ").split(" | ")
            yield left, next(iter(re.findall(r"`([^`]+)`", right)), "")


COMMANDS = [right for _, right in rows() if right.startswith("boxpen ")]
LINES = [right for _, right in rows() if right and not right.startswith("boxpen ")]
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
    made = dual_suite(["add", "del"] * 3)
    items = [replace(item, tags={**item.tags, "set": item.tags["operation"]}) for item in made]
    duals = boxpen.Suite("duals", tuple(items), made.card)
    for model, outcome in (("one", "+-" * 6), ("two", "++-+" * 3)):
        dual_run(outcome, duals, model).save(folder / "runs")
    return folder


@pytest.fixture(scope="module")
def harness_log(gpt2_dir: Path) -> Path:
    """The log of a real run of lm-eval."""
    pytest.importorskip("lm_eval")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(TESTS / "exchange")
        from lm_eval_runs import own_logs, results_in

        return results_in(own_logs(gpt2_dir))


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_runs(
    command: str, gpt2_dir: Path, bert_dir: Path, belongings: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest,
) -> None:  # fmt: skip
    home = shutil.copytree(belongings, tmp_path / "home")
    if "mine.jsonl" in re.findall(r"--out (\S+)", command):
        (home / "mine.jsonl").unlink()
    if "results_DATE" in command:
        logs = request.getfixturevalue("harness_log")
        shutil.copytree(logs.parent, home / "results")
        command = command.replace("results_DATE.json", logs.name)
    if re.search("blimp|piqa|winogrande", command):
        request.getfixturevalue("mirror")
    monkeypatch.chdir(home)
    monkeypatch.setenv("BOXPEN_CACHE", str(tmp_path / "cache"))
    said = [
        word.replace("hf:gpt2", f"hf:{gpt2_dir}").replace("hf:bert-base-uncased", f"hf:{bert_dir}")
        for word in shlex.split(command)[1:]
    ]
    if said[0] == "run":
        if "--limit" not in said:
            said += ["--limit", "4"]
        if "--cache" not in said:
            said += ["--cache", ":memory:"]
    result = CliRunner().invoke(app, said)
    assert result.exit_code == 0, result.output
    if said[0] == "run":
        out = said[said.index("--out") + 1] if "--out" in said else "runs"
        assert len(list(Path(out).iterdir())) > (out == "runs") * 2
    else:
        for path in re.findall(r"--(?:out|html|to \S+) (\S+)", command):
            assert Path(path).exists()


def test_the_python_runs_in_order(
    gpt2_dir: Path, bert_dir: Path, mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    names: dict[str, Any] = {"texts": TEXTS, "prefixes": ["There are two things.", "So what?"]}
    for code in [*blocks, *LINES]:
        exec(compile(code, "docs/coming-from.md", "exec"), names)
    assert len(names["run"].verdicts) == 4
    lengths = [len(tokens) for tokens in names["tokens"]]
    totals = [mean * n for mean, n in zip(names["means"], lengths, strict=True)]
    assert totals == pytest.approx(names["sums"])
    shown = ["".join(text for text, _ in tokens) for tokens in names["tokens"]]
    assert all(text.endswith(shown[n]) for n, text in enumerate(TEXTS))
    assert all(
        len(names[name]) == 2 and max(names[name]) < 0
        for name in ("with_bos", "given", "original", "inside")
    )


@pytest.mark.parametrize("command", HARNESS)
def test_the_harness_parses_its_commands(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("lm_eval")
    from lm_eval._cli.harness import HarnessCLI

    monkeypatch.setattr("sys.argv", ["lm_eval", *shlex.split(command)])
    found = HarnessCLI().parse_args()
    if found.command == "run":
        assert found.model_args["pretrained"] == "gpt2"
        assert found.tasks


def test_every_row_is_tested() -> None:
    assert all(right for _, right in rows())
    assert len(COMMANDS) > 30
    assert len(LINES) == len(re.findall(r"^\| `(?:m|mlm)[ .]", PAGE, re.M)) == 9
    assert len(HARNESS) == PAGE.count("lm_eval ") > 10
