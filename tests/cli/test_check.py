"""boxpen check, report and review apply --answers: formats, exit statuses, one-sentence errors."""

import csv
import io
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner, Result

from boxpen import write_suite
from boxpen.cli.app import app
from small_runs import human_table, small_run, small_suite

PAIRED = """
[[rule]]
metric = "accuracy"
no_worse_than_baseline = true
test = "paired"
"""


def invoke(*args: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in args])


def human(suite: object, answers: object, *options: object) -> Result:
    return invoke("review", "apply", suite, "--answers", answers, *options)


def refused(result: Result, *parts: str) -> None:
    """One sentence on stderr, exit status 2, nothing on stdout."""
    assert result.exit_code == 2, (result.exit_code, result.output)
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("boxpen: ")
    for part in parts:
        assert part in line, (part, line)


@pytest.fixture
def good(tmp_path) -> Path:
    return small_run("+" * 16 + "-" * 4).save(tmp_path / "before")


@pytest.fixture
def bad(tmp_path) -> Path:
    return small_run("-" * 18 + "++", fingerprint="a" * 64).save(tmp_path / "after")


@pytest.fixture
def rules(tmp_path):
    def write(text: str) -> Path:
        path = tmp_path / "rules.toml"
        path.write_text(text, "utf-8")
        return path

    return write


class TestCheck:
    def test_a_folder_of_runs_and_bounds(self, good, bad):
        done = invoke("check", good.parent, bad, "--min", "accuracy>=0.5", "--min", "accuracy>0")
        assert done.exit_code == 1
        assert [line[:4] for line in done.stdout.splitlines()] == ["ok  ", "ok  ", "FAIL", "ok  "]
        assert f"FAIL {bad.name} accuracy >= 0.5: 0.1000 [" in done.stdout
        assert invoke("check", good, "--min", "accuracy>=0.8").exit_code == 0

    def test_no_worse_than_a_baseline(self, good, bad, rules):
        command = ["--rules", rules(PAIRED)]
        done = invoke("check", bad, "--baseline", good, *command)
        assert done.exit_code == 1
        assert "baseline 0.8000 [" in done.stdout
        assert ", p 0.039" in done.stdout  # nine blocks, eight of them worse
        assert invoke("check", good, "--baseline", bad.parent, *command).exit_code == 0

    def test_json(self, good, bad, rules):
        text = "[[rule]]\nmetric = 'accuracy'\nmin = 0.5\n"
        done = invoke("check", good, bad, "--rules", rules(text), "--json")
        assert done.exit_code == 1
        data = json.loads(done.stdout)
        assert data["passed"] is False
        assert [c["passed"] for c in data["checks"]] == [True, False]
        assert data["checks"][0]["run"] == str(good)
        assert data["checks"][0]["value"] == 0.8
        assert data["checks"][0]["baseline"] is None

    def test_a_run_that_no_rule_speaks_of_is_named(self, good, bad, rules, tmp_path):
        other = small_run("++", suite="other").save(tmp_path)
        text = "[[rule]]\nsuite = 'small'\nmetric = 'accuracy'\nmin = 0.5\n"
        done = invoke("check", good, other, "--rules", rules(text))
        assert done.exit_code == 0
        assert f"no rule applies to {other}" in done.stderr

    def test_refusals(self, good, bad, rules, tmp_path):
        refused(invoke("check", good), "--min or --rules")
        refused(invoke("check", tmp_path / "x", "--min", "accuracy>0"), "not a run directory")
        refused(invoke("check", good, "--min", "accuracy>0", "--baseline", bad), "no rule has")
        refused(invoke("check", good, "--rules", rules(PAIRED)), "needs a baseline")
        missing = tmp_path / "none"
        refused(invoke("check", good, "--rules", rules(PAIRED), "--baseline", missing), "none")
        own = ("--rules", rules(PAIRED), "--baseline", good.parent)
        refused(invoke("check", good, *own), "both a run to check and a baseline")
        refused(invoke("check", good, "--rules", rules("[[rule]]\nmin = 1")), "metric is missing")


class TestJunit:
    def written(self, tmp_path, *args: object) -> ElementTree.Element:
        path = tmp_path / "junit.xml"
        assert invoke("check", *args, "--junit", path).exit_code in (0, 1)
        return ElementTree.fromstring(path.read_bytes())

    def test_has_the_shape_that_readers_expect(self, good, bad, tmp_path):
        root = self.written(tmp_path, good, bad, "--min", "accuracy>=0.5", "--min", "accuracy>=0")
        assert root.tag == "testsuites"
        assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("4", "1", "0")
        assert [child.tag for child in root] == ["testsuite", "testsuite"]
        for group, failures in zip(root, ("0", "1"), strict=True):
            assert group.get("name") == "small × one"
            assert (group.get("tests"), group.get("failures")) == ("2", failures)
            assert [c.tag for c in group] == ["properties", "testcase", "testcase"]
            assert group[0][0].get("name") == "signature"
            for case in group[1:]:
                assert case.get("classname") == "boxpen.small.one"
                assert case.get("name") in ("accuracy >= 0.5", "accuracy >= 0")
                float(case.get("time"))
                assert len(case) == 1
                assert case[0].tag in ("failure", "system-out")
        (failure,) = root.iter("failure")
        assert failure.get("type") == "threshold"
        assert failure.get("message").startswith("accuracy >= 0.5: found 0.1000 [")
        assert "suite:small@" in failure.text

    def test_a_regression_is_named_one(self, good, bad, rules, tmp_path):
        root = self.written(tmp_path, bad, "--baseline", good, "--rules", rules(PAIRED))
        assert [f.get("type") for f in root.iter("failure")] == ["regression"]

    def test_names_are_escaped_and_what_xml_cannot_hold_is_replaced(self, tmp_path):
        run = small_run("+-", suite='<a & "b"> ]]>\x01', model="m.7\x0b")
        root = self.written(tmp_path, run.save(tmp_path / "runs"), "--min", "accuracy>=0.9")
        assert root[0].get("name").startswith('<a & "b"> ]]>\ufffd × m.7')
        assert root[0][1].get("classname").count(".") == 2

    def test_is_written_whole_or_not_at_all(self, good, tmp_path):
        path = tmp_path / "no" / "junit.xml"
        refused(invoke("check", good, "--min", "accuracy>0", "--junit", path), "cannot be written")
        path = tmp_path / "junit.xml"
        path.write_text("old")
        refused(invoke("check", good, "--min", "acuracy>0", "--junit", path), "acuracy")
        assert path.read_text() == "old"
        assert not list(tmp_path.glob(".junit*"))


class TestReport:
    def test_each_format_alone(self, good, bad):
        folder = good.parent
        assert "chance" in invoke("report", folder, "--matrix").stdout
        assert r"\toprule" in invoke("report", folder, "--latex").stdout
        assert r"A & B & all \\" in invoke("report", folder, "--latex", "--by", "set").stdout
        done = invoke("report", folder, bad, "--csv", "--metric", "accuracy", "--by", "set")
        assert done.stdout_bytes.count(b"\r\n") == 7
        rows = list(csv.DictReader(io.StringIO(done.stdout_bytes.decode(), newline="")))
        assert [r["slice"] for r in rows] == ["all", "set=A", "set=B"] * 2

    def test_the_matrix_fits_80_columns(self, good, tmp_path):
        runs = [small_run("+-" * 9, suite=f"suite-{i}").save(tmp_path / "many") for i in range(7)]
        done = invoke("report", *runs, "--matrix", "--by", "set", "--metric", "margin")
        assert done.exit_code == 0, done.output
        assert max(map(len, done.stdout.splitlines())) <= 80
        assert done.stdout.count("suite-6 B") == 1

    def test_refusals(self, good):
        refused(invoke("report", good, "--csv", "--latex"), "--csv and --latex", "choose one")
        refused(invoke("report", good, "--json", "--markdown"), "--markdown and --json")
        refused(invoke("report", good, "--metric", "accuracy"), "--metric requires --matrix")
        refused(invoke("report", good, "--markdown", "--by", "set"), "--by requires")
        refused(invoke("report", good, "--matrix", "--metric", "x"), "no run has the metric 'x'")
        refused(invoke("report", good, "--csv", "--by", "x"), "the tag 'x'")
        refused(invoke("report", good / "nothing"), "not a run directory")


class TestHuman:
    @pytest.fixture
    def suite(self, tmp_path) -> Path:
        path = tmp_path / "small.jsonl"
        write_suite(small_suite(), path)
        return path

    @pytest.fixture
    def answers(self, tmp_path) -> Path:
        rows = "".join(f"i{i},1,1,{1 + i % 2},{1 if i else ''}\n" for i in range(20))
        return human_table(tmp_path, "item,a,b,c,d\n" + rows)

    def test_a_run_like_any_other(self, suite, answers, good, tmp_path):
        out = tmp_path / "runs"
        done = human(suite, answers, "--start", 1, "--out", out, "--min-judges", 4)
        assert done.exit_code == 0, done.output
        for part in ("small × human (4 judges)", "agreement: pairs 0.", "Fleiss' kappa",
                     "Krippendorff's alpha", "accuracy of a single judge: 0.",
                     "left out 1 of 20 items: fewer than 4 judges"):  # fmt: skip
            assert part in " ".join(done.stdout.split()), part
        (place,) = out.iterdir()
        assert "human (4 judges)" in invoke("report", place, "--markdown").stdout
        assert "human (4 judges)" in invoke("report", place, good, "--matrix").stdout
        assert invoke("check", place, "--min", "accuracy>=1").exit_code == 0
        refused(invoke("rescore", place, "--norm", "char"), "human answers")

    def test_json_and_a_name(self, suite, answers, tmp_path):
        done = human(suite, answers, "--start", 1, "--out", tmp_path / "r", "--name",
                     "crowd", "--json")  # fmt: skip
        data = json.loads(done.stdout)
        assert data["results"][0]["model"] == "crowd"
        assert data["human"]["judges"] == 4
        assert Path(data["runs"][0]["path"]).name.startswith("small-crowd-majority-")

    def test_refusals_leave_nothing_behind(self, suite, answers, tmp_path):
        out = tmp_path / "r"
        refused(human(suite, answers, "--out", out), "line 3", "'2'", "from 0 to 1")
        refused(human(suite, tmp_path / "x.csv", "--out", out), "cannot be read")
        refused(human("nosuite", answers, "--out", out), "nosuite")
        options = ("--start", 1, "--min-judges", 9, "--out", out)
        refused(human(suite, answers, *options), "at most 4 judge(s)")
        both = human(suite, answers, "--rule", "unanimous", "--out", out)
        refused(both, "--answers and --rule cannot be combined; choose one")
        for option in (("--unjudged",), ("--task", "tags")):
            done = human(suite, answers, *option, "--out", out)
            refused(done, f"--answers and {option[0]} cannot be combined; choose one")
        assert not out.exists()
