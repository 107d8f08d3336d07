"""The command line as a person meets it: results, notes, and one-sentence errors."""

import functools
import json
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import typer.main
import typer.testing
from typer.testing import CliRunner, Result

import boxpen
from boxpen.cli.app import app
from boxpen.models.loading.presets import ELMO, PRESETS, trial
from boxpen.scoring.cache import ScoreCache

KEYS = ["suite", "slice", "model", "metric", "value", "low", "high", "n", "ties", "signature",
        "truncated"]  # fmt: skip
CSV = (
    "chinese_source,english_target_correct,english_target_wrong\n"
    "盒子在围栏里。,The box is in the pen.,The box is in the ink pen.\n"
    "墨水在笔里。,The ink is in the pen.,The ink is in the playpen.\n"
)


# Typer's runner builds all commands anew for every call, which takes 0.1 s.
typer.testing._get_command = functools.cache(typer.main.get_command)


def invoke(*args: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in args])


def refused(result: Result, *parts: str) -> None:
    """One sentence on stderr, exit status 2, nothing on stdout."""
    assert result.exit_code == 2, (result.exit_code, result.output)
    assert result.stdout == ""
    *before, last = [line for line in result.stderr.splitlines() if line.strip()]
    assert not [line for line in before if "/" not in line], before  # progress bars at most
    assert last.startswith("boxpen: ")
    for part in parts:
        assert part in last, (part, last)


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "mine.csv").write_text(CSV, "utf-8")
    done = invoke("suite", "import", tmp_path / "mine.csv", "--out", tmp_path / "mine.jsonl",
                  "--block-size", 2, "--language", "en", "--source-language", "zh")  # fmt: skip
    assert done.exit_code == 0, done.output
    return tmp_path / "mine.jsonl"


@pytest.fixture
def run_args(gpt2_dir, suite, tmp_path) -> list[object]:
    return ["run", "--suite", suite, "--model", f"hf:{gpt2_dir}", "--cache", tmp_path / "c.sqlite",
            "--out", tmp_path / "runs"]  # fmt: skip


class TestSuitesOfARun:
    @pytest.fixture
    def ran(self, suite, gpt2_dir, tmp_path, monkeypatch):
        """Two suites, two models, and the pairs that a command line runs."""
        for name in ("a", "b"):
            shutil.copytree(gpt2_dir, tmp_path / name)
        monkeypatch.chdir(tmp_path)

        def run(*args: str) -> list[tuple[str, str]]:
            done = invoke("run", "--json", "--cache", "c.sqlite", *args)
            assert done.exit_code == 0, done.output
            rows = json.loads(done.stdout)["results"]
            return list(dict.fromkeys((row["suite"], row["model"]) for row in rows))

        (tmp_path / "other.jsonl").write_text(
            suite.read_text("utf-8").replace('"name": "mine"', '"name": "other"'), "utf-8"
        )
        return run

    @pytest.mark.parametrize(
        "args",
        [
            "mine.jsonl other.jsonl --model ./a ./b",
            "--model ./a --model ./b -- mine.jsonl other.jsonl",
            "mine.jsonl --suite other.jsonl --model ./a ./b",
            "--suite mine.jsonl other.jsonl --model ./a ./b",
            "--model=./a --model=./b mine.jsonl other.jsonl",
            "mine.jsonl --model ./a ./b --limit 9 other.jsonl mine.jsonl",
        ],
    )
    def test_are_named_alone_or_after_the_option(self, args, ran):
        assert ran(*args.split()) == [
            (suite, f"hf:{model}") for model in ("./a", "./b") for suite in ("mine", "other")
        ]

    def test_a_table_with_columns_that_are_recognised_is_a_suite(self, ran, tmp_path):
        (tmp_path / "my pairs.csv").write_text("good,bad\nThe box.,Box the.\n", "utf-8")
        assert ran("my pairs.csv", "--model", "./a") == [("my pairs", "hf:./a")]

    def test_any_other_table_is_refused_with_the_command_that_imports_it(self, ran, tmp_path):
        (tmp_path / "my pairs.csv").write_text("first,second\nThe box.,Box the.\n", "utf-8")
        done = invoke("run", "my pairs.csv", "--model", "./a")
        refused(done, "my pairs.csv has the columns 'first', 'second', expected 'correct' and")
        command = done.stderr.partition("with: boxpen ")[2].partition(" (or")[0]
        assert command == (
            "suite import 'my pairs.csv' --out 'my pairs.jsonl' --correct COLUMN --wrong COLUMN"
        )
        for column in ("first", "second"):
            command = command.replace("COLUMN", column, 1)
        assert invoke(*shlex.split(command)).exit_code == 0
        assert ran("my pairs.jsonl", "--model", "./a") == [("my pairs", "hf:./a")]

    def test_a_suite_after_the_models_is_one_sentence(self, ran, suite):
        why = "is a suite; name suites before --model, or with --suite"
        refused(invoke("run", "--model", "./a", "mine.jsonl"), f"model 'mine.jsonl' {why}")
        refused(invoke("run", "--model", "./a", "cats.sm"), f"model 'cats.sm' {why}")


class TestRun:
    def test_json_has_the_public_shape(self, run_args, tmp_path):
        done = invoke(*run_args, "--json")
        assert done.exit_code == 0, done.output
        data = json.loads(done.stdout)
        assert [list(row) for row in data["results"]] == [KEYS] * len(data["results"])
        assert {r["metric"] for r in data["results"]} == {
            "accuracy", "failure_rate", "margin", "chance",
            "consistency", "both_right", "both_wrong", "flip_rate",
        }  # fmt: skip
        assert {r["slice"] for r in data["results"]} == {"all"}
        assert Path(data["runs"][0]["path"]).parent == tmp_path / "runs"

    def test_the_table_fits_80_columns(self, run_args):
        done = invoke(*run_args)
        assert done.exit_code == 0, done.output
        table = done.stdout.split("signature")[0]
        assert max(map(len, table.splitlines())) <= 80
        assert "accuracy [95 %]" in table
        assert "signature  suite:mine@" in done.stdout

    def test_several_suites_and_models_in_a_row(self, run_args, suite, tmp_path):
        other = tmp_path / "other.jsonl"
        other.write_text(suite.read_text("utf-8").replace('"mine"', '"other"'), "utf-8")
        done = invoke("run", "--suite", suite, other, *run_args[3:], "--json")
        assert {r["suite"] for r in json.loads(done.stdout)["results"]} == {"mine", "other"}

    @pytest.mark.parametrize(
        ("flags", "part"),
        [
            (("--norm", "token"), "|norm:token|"),
            (("--bos", "never"), "|bos:no|"),
            (("--ties", "strict"), "|ties:strict|"),
            (("--eos", "always"), "|eos:yes|"),
            (("--max-length", 100), "|max:100|"),
            (("--recipe", "translate"), "|recipe:translate@"),
        ],
    )
    def test_flags_reach_the_signature(self, run_args, flags, part):
        done = invoke(*run_args, *flags, "--json")
        assert done.exit_code == 0, done.output
        assert part in json.loads(done.stdout)["results"][0]["signature"]

    def test_without_bos_it_says_that_the_first_token_is_unscored(self, run_args):
        assert "first token of every text is unscored" in invoke(*run_args, "--bos", "never").stdout

    def test_the_hint_of_lint_is_a_command_that_works(self, gpt2_dir, suite, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        items = boxpen.load_suite(suite).items
        spaced = replace(items[0], candidates=("The box is here. ", "The pen is here."))
        boxpen.write_suite(boxpen.Suite("another name", (spaced, items[1])), "my own.jsonl")
        hint = "lint: 1 edge-space (boxpen suite lint 'my own.jsonl')"
        words = ("--model", f"hf:{gpt2_dir}", "--cache", "c.sqlite", "--out", "runs")
        done = invoke("run", "--suite", "my own.jsonl", *words)
        assert f"• {hint}" in done.stdout, done.output
        assert f"- {hint}" in invoke("report", "runs", "--markdown").stdout
        command = shlex.split(hint.partition("(boxpen ")[2].removesuffix(")"))
        assert invoke(*command).stdout.count("edge-space") == 1

        Path("answers.csv").write_text("item,ann\n" + "".join(f"{i.id},0\n" for i in items))
        words = ("--answers", "answers.csv", "--min-judges", 1, "--out", "people")
        done = invoke("review", "apply", "my own.jsonl", *words)
        assert f"• {hint}" in done.stdout, done.output

    def test_report_rescore_and_check_need_no_model(self, run_args, gpt2_dir, tmp_path):
        place = json.loads(invoke(*run_args, "--json").stdout)["runs"][0]["path"]
        shown = json.loads(invoke("report", place, "--json").stdout)
        assert shown["results"][0]["metric"] == "accuracy"
        assert invoke("report", place, "--markdown").stdout.startswith("### mine × ")
        changed = json.loads(invoke("rescore", place, "--norm", "char", "--json").stdout)
        assert "|norm:char|" in changed["results"][0]["signature"]
        assert invoke("check", place, "--min", "accuracy>=0").exit_code == 0
        assert invoke("check", place, "--min", "accuracy>1.0").exit_code == 1
        refused(invoke("check", place, "--min", "accuracy=1"), "expected something like")
        refused(invoke("check", place, "--min", "set=LA:accuracy>0.1"), "has no accuracy")

    def test_only_what_was_saved_is_said_to_be_kept(self, run_args, tmp_path):
        place = invoke(*run_args).stdout.partition("kept in    ")[2].splitlines()[0]
        shown = invoke("report", place).stdout
        assert f"read from  {place}" in shown
        assert "kept in" not in shown
        changed = ("rescore", place, "--norm", "char")
        shown = invoke(*changed).stdout
        assert "kept in" not in shown
        assert place not in shown
        assert json.loads(invoke(*changed, "--json").stdout)["runs"][0]["path"] is None
        shown = invoke(*changed, "--out", tmp_path / "new").stdout
        (kept,) = (tmp_path / "new").iterdir()
        assert f"kept in    {kept}" in shown


class TestRefusals:
    def test_unknown_suite_offers_the_nearest(self, run_args):
        refused(invoke("run", "--suite", "comonmt", *run_args[3:]), "comonmt", "'commonmt'")

    def test_unknown_model_offers_the_nearest(self, suite, tmp_path):
        refused(invoke("run", "--suite", suite, "--model", "gpt-2", "--out", tmp_path), "'gpt2'")

    def test_unknown_recipe(self, run_args):
        refused(invoke(*run_args, "--recipe", "papr"), "'papr'", "sound")

    def test_missing_checkpoint(self, suite, tmp_path):
        refused(invoke("run", "--suite", suite, "--model", "hf:./nowhere", "--out", tmp_path),
                "./nowhere is not a checkpoint folder")  # fmt: skip

    def test_checkpoint_without_tokenizer(self, run_args, gpt2_dir, tmp_path):
        bare = tmp_path / "bare"
        bare.mkdir()
        for name in ("config.json", "model.safetensors"):
            (bare / name).write_bytes((gpt2_dir / name).read_bytes())
        args = ["hf:" + str(bare) if str(a).startswith("hf:") else a for a in run_args]
        refused(invoke(*args), "has no tokenizer files")

    def test_a_model_that_cannot_score_the_suite(self, run_args, tmp_path):
        entail = boxpen.Entail(id="1", premise="A.", hypothesis="B.", label="neutral")
        path = tmp_path / "nli.jsonl"
        boxpen.write_suite(boxpen.Suite("nli", (entail,)), path)
        refused(invoke("run", "--suite", path, *run_args[3:]), "cannot judge suite 'nli'")
        assert not list((tmp_path / "runs").glob("*"))

    def test_unwritable_run_directory(self, run_args, tmp_path):
        (tmp_path / "file").write_text("")
        refused(invoke(*run_args[:-1], tmp_path / "file" / "runs"), "cannot write run directories")

    def test_a_cache_that_is_not_a_cache(self, run_args, tmp_path):
        (tmp_path / "c.sqlite").write_text("not a database, but long enough to look at" * 50)
        refused(invoke(*run_args), "is not a boxpen cache")

    def test_a_foreign_database_is_left_alone(self, run_args, tmp_path):
        with sqlite3.connect(tmp_path / "c.sqlite") as db:
            db.execute("CREATE TABLE mine (x)")
        refused(invoke(*run_args), "not a boxpen cache")
        with sqlite3.connect(tmp_path / "c.sqlite") as db:
            assert db.execute("SELECT name FROM sqlite_master").fetchall() == [("mine",)]

    def test_a_full_disk_while_caching(self, run_args, tmp_path, monkeypatch):
        plain = ScoreCache._open

        def small(self):
            plain(self)
            (pages,) = self._db.execute("PRAGMA page_count").fetchone()
            self._db.execute(f"PRAGMA max_page_count={pages}")

        many = [
            boxpen.Choice(id=str(i), candidates=("The box. " * (i + 1), "The pen."), gold=0)
            for i in range(40)
        ]
        path = tmp_path / "many.jsonl"
        boxpen.write_suite(boxpen.Suite("many", tuple(many)), path)
        args = ["run", "--suite", path, *run_args[3:]]
        monkeypatch.setattr(ScoreCache, "_open", small)
        refused(invoke(*args), "disk is full")
        assert not list((tmp_path / "runs").glob("*"))
        monkeypatch.setattr(ScoreCache, "_open", plain)
        assert invoke(*args).exit_code == 0

    def test_a_panic_of_polars_is_one_sentence(self, run_args, monkeypatch):
        import polars as pl

        def panic(*_, **__):
            raise pl.exceptions.PanicException(
                'called `unwrap()` on Os { code: 24, message: "Too many open files" }'
            )

        monkeypatch.setattr("boxpen.matrix.settings.plan", panic)
        refused(invoke(*run_args), "Polars failed: Too many open files")

    def test_a_full_disk_while_writing_the_run(self, run_args, tmp_path, monkeypatch):
        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("boxpen.runs.directory.parquet", full)
        refused(invoke(*run_args), "No space left on device")
        assert not list((tmp_path / "runs").glob("*"))

    @pytest.mark.parametrize(
        ("content", "part"),
        [
            (b"", "empty"),
            (b"a,b\n1,2\n", "mine.csv"),
            (b"sent0,sent1,label\nA pen.,A box.,7\n", "7"),
            (b"sent0,sent1,label\nA pen.,A \xff\xfe.,0\n", "UTF-8"),
            (b"sent0,sent1,label\nA pen.\n", "mine.csv"),
        ],
    )
    def test_bad_tables(self, tmp_path, content, part):
        (tmp_path / "mine.csv").write_bytes(content)
        out = tmp_path / "out.jsonl"
        refused(invoke("suite", "import", tmp_path / "mine.csv", "--out", out), part)
        assert not out.exists()

    def test_a_missing_column_is_named(self, tmp_path):
        (tmp_path / "mine.csv").write_text(CSV, "utf-8")
        command = ["suite", "import", tmp_path / "mine.csv", "--out", tmp_path / "o.jsonl"]
        done = invoke(*command, "--correct", "english_correct", "--wrong", "english_target_wrong")
        refused(done, "english_correct", "english_target_correct")

    def test_a_frame_of_an_original(self, tmp_path):
        (tmp_path / "val.csv").write_text(
            "startphrase,ending0,ending1,ending2,ending3,label\nA cat,sits.,purrs.,sings.,naps,1\n"
        )
        out = tmp_path / "swag.jsonl"
        command = ["suite", "import", tmp_path / "val.csv", "--frame", "swag", "--out", out]
        refused(invoke(*command, "--gold", "label"), "--frame cannot be combined with --gold")
        refused(invoke(*command[:4], "codah", *command[5:]), "there is no frame 'codah'")
        assert not out.exists()
        assert invoke(*command).exit_code == 0
        assert "A cat purrs." in out.read_text("utf-8")

    def test_a_truncated_download_is_refused_with_both_checksums(
        self, data_dir, run_args, tmp_path, monkeypatch
    ):
        folder = tmp_path / "mirror" / "senmaking"
        folder.mkdir(parents=True)
        whole = (data_dir / "senmaking" / "dataset.jsonl").read_bytes()
        (folder / "dataset.jsonl").write_bytes(whole[:1000])
        monkeypatch.setenv("BOXPEN_MIRROR", str(tmp_path / "mirror"))
        done = invoke("run", "--suite", "senmaking", *run_args[3:])
        refused(done, "dataset.jsonl")
        assert len(set(re.findall(r"\b[0-9a-f]{64}\b", done.stderr))) == 2

    def test_wrong_values_of_flags_exit_with_2(self, run_args):
        assert invoke(*run_args, "--norm", "length").exit_code == 2
        assert invoke(*run_args, "--limit", "0").exit_code == 2
        assert invoke(*run_args, "--nonsense").exit_code == 2

    def test_a_run_that_is_none(self, tmp_path):
        refused(invoke("report", tmp_path), "is not a run directory")


class TestText:
    def test_square_brackets_are_text_and_no_markup(self, run_args, tmp_path):
        item = boxpen.Choice(
            id="1", candidates=("The box.", "The pen."), gold=0, tags={"[/red]": "[/bold]x"}
        )
        other = replace(item, id="2", tags={})
        path = tmp_path / "m.jsonl"
        card = boxpen.Card(title="[/b]")
        boxpen.write_suite(boxpen.Suite("[red]name", (item, other), card), path)
        assert "[/bold]x" in invoke("run", "--suite", path, *run_args[3:]).stdout
        assert "[red]name" in invoke("suite", "show", path).stdout
        assert "[/bold]x" in invoke("suite", "stats", path, "--by", "[/red]").stdout

    def test_a_device_that_is_not_there(self, run_args):
        refused(
            invoke(*run_args, "--device", "nonsense"), "device 'nonsense' is not available; use "
        )

    def test_output_that_cannot_be_written(self):
        command = [sys.executable, "-m", "boxpen", "suite", "list"]
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
        assert done.returncode == 2
        assert done.stderr == b"boxpen: cannot write the output: No space left on device\n"


class TestSuiteCommands:
    def test_lint_exits_with_1_on_findings(self, tmp_path, suite):
        same = boxpen.Choice(id="x", candidates=("A pen.", "A pen."), gold=0)
        path = tmp_path / "same.jsonl"
        boxpen.write_suite(boxpen.Suite("same", (same,)), path)
        done = invoke("suite", "lint", path)
        assert done.exit_code == 1
        assert "x: identical" in done.stdout

    def test_lint_finds_a_label_out_of_range(self, tmp_path):
        path = tmp_path / "bad.jsonl"
        path.write_text('{"id":"x","candidates":["A pen.","A box."],"gold":5}\n')
        assert "label" in invoke("suite", "lint", path).stdout
        refused(invoke("suite", "show", path), "label 5")

    def test_show_stats_export(self, suite, tmp_path):
        assert json.loads(invoke("suite", "show", suite, "--json").stdout)["items"] == 2
        rows = json.loads(invoke("suite", "stats", suite, "--json").stdout)
        assert rows[-1]["items"] == 2
        for ending in ("csv", "tsv", "parquet", "jsonl"):
            out = tmp_path / f"again.{ending}"
            assert invoke("suite", "export", suite, "--out", out).exit_code == 0
            assert boxpen.load_suite(out).hash == boxpen.load_suite(suite).hash

    def test_list_names_every_suite(self):
        listed = {s["name"] for s in json.loads(invoke("suite", "list", "--json").stdout)}
        assert {"starter", "commonmt", "cats", "cats-dual", "senmaking", "comve", "piqa",
                "discourse"} <= listed  # fmt: skip

    def test_the_list_fits_80_columns_and_breaks_no_name(self, monkeypatch):
        monkeypatch.setenv("COLUMNS", "80")
        lines = invoke("suite", "list").stdout.splitlines()
        assert max(map(len, lines)) <= 80
        words = {word for line in lines for word in line.split()}
        for entry in boxpen.catalog.entries().values():
            assert {entry.name, *(f".{part}" for part in entry.parts)} <= words
        facts = {line.split()[0]: line for line in lines if line and not line.startswith(" ")}
        assert " et, lt, lv-en  " in facts["mucow"]
        assert " 11 languages " in facts["xcopa"]
        assert " en, en-zh, zh-en " in facts["starter"]
        assert " zh-en " in facts["commonmt"]

    def test_the_languages_in_the_list_are_those_of_the_items(self, mirror):
        for data in json.loads(invoke("suite", "list", "--json").stdout):
            name = data["name"]
            files = boxpen.catalog.entries()[name].files
            if all((mirror / file.path).is_file() for file in files):
                suite = boxpen.load_suite(name)
                pairs = {suite.languages_of(item) for item in suite}
                found = {"-".join(filter(None, (source, own))) for own, source in pairs}
                assert set(data["languages"]) == found, name

    def test_commonmt_has_the_columns_of_table_1(self, mirror):
        rows = {
            r["name"]: r for r in json.loads(invoke("suite", "stats", "commonmt", "--json").stdout)
        }
        assert [rows[s]["items"] for s in ("LA", "CL-SA", "CT-SA", "TOTAL")] == [
            400,
            450,
            350,
            1200,
        ]
        sources = rows["CL-SA"]["source"]
        assert sources == {"sentences": 450, "tokens": 2340, "unique": 838, "marks": 451}


class TestCost:
    def test_import_and_help_are_quick_and_leave_torch_alone(self):
        code = (
            "import sys, time; t = time.perf_counter(); import boxpen, boxpen.cli; "
            "print(time.perf_counter() - t); "
            "heavy = {'torch', 'transformers', 'polars', 'numpy', 'scipy'} & set(sys.modules); "
            "assert not heavy, heavy"
        )
        command = [sys.executable, "-c", code]
        best = min(
            float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            for _ in range(5)
        )
        assert best < 0.3

    def test_help_names_every_command(self):
        text = invoke("--help").stdout
        for command in ("run", "suite", "model", "report", "rescore", "check"):
            assert f"  {command} " in text


class TestModelList:
    @pytest.mark.parametrize("columns", ["60", "80", "200"])
    def test_no_name_is_broken(self, monkeypatch, columns):
        monkeypatch.setenv("COLUMNS", columns)
        done = invoke("model", "list")
        words = done.stdout.split()
        for preset in PRESETS.values():
            assert {preset.name, preset.spec, preset.kind} <= set(words)
            assert preset.note in done.stdout
        assert max(map(len, done.stdout.splitlines())) <= max(80, int(columns))

    def test_what_was_never_run_on_real_weights_is_marked(self):
        lines = invoke("model", "list").stdout.splitlines()
        marks = {
            line.split()[0]: line.split() for line in lines if not line.startswith(" ") and line
        }
        assert "real" in marks["smollm2"]
        assert "random" in marks["gpt2"]
        assert "as for elmo:" in " ".join(lines[-3:])
        found = {
            p["name"]: p["tried"] for p in json.loads(invoke("model", "list", "--json").stdout)
        }
        assert found.pop("smollm2") == "real weights"
        kin = {name for name, on in found.items() if on.endswith("real weights of another model")}
        assert kin == {"bert-base", "bert-large", "opus-mt-zh-en"}
        others = {on for name, on in found.items() if name not in kin}
        assert others == {"same architecture, random weights"}
        assert trial("elmo:folder") == ELMO
        assert trial("hf:folder") is None
