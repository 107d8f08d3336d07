"""A stage runs once, and again only when something it depends on changed; for every builder."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest
from toy_builds import TEXTS, toy_runner, write_toy

import boxpen
from boxpen.build.builders import builder_named, open_build
from boxpen.build.runner import RECORD, Runner, Stage
from boxpen.errors import BuildError, ConfigError
from boxpen.plugins import BUILDERS

for library in ("inflect", "lemminflect", "nltk", "sentencepiece", "spellchecker"):
    pytest.importorskip(library)

STAGES = {
    "kg": ["read", "filter", "rank", "sample", "negatives", "render"],
    "discourse": ["read", "clean", "mine", "sample", "write"],
    "duals": ["propose", "rank"],
    "nmt": ["clean", "subwords", "encode"],
}
# A change of the configuration, and the first stage that must run again for it.
CHANGES = {
    "kg": (("per_relation = 8", "per_relation = 5"), "sample"),
    "discourse": (("pronoun = 2", "pronoun = 1"), "sample"),
    "duals": (("top = 2", "top = 1"), "rank"),
    "nmt": (("size = 420", "size = 410"), "subwords"),
}
every_builder = pytest.mark.parametrize("name", list(TEXTS))


def fresh(done):
    return [one.stage for one in done if one.fresh]


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "in.txt"
    path.write_text("one")
    return path


def copy(folder, source, *, version=0, **settings):
    """Return the runner of two stages, the second of which reads what the first has written."""

    def first():
        (folder / "first.txt").write_text(f"made of {source.read_text()}")
        return {"says": source.read_text()}

    def second():
        (folder / "second.txt").write_text((folder / "first.txt").read_text().upper())
        rows = pl.DataFrame({"step": ["short"], "reason": ["too short"], "text": ["A b"]})
        rows.write_parquet(folder / "dropped.parquet")
        return {"says": "done"}

    return Runner(
        folder,
        [
            Stage(name="first", run=first, reads=[source], writes=["first.txt"], settings=settings,
                  hint="ask for it"),
            Stage(name="second", run=second, reads=["first.txt"], dropped="dropped.parquet",
                  writes=["second.txt", "dropped.parquet"]),
        ],
        version,
    )  # fmt: skip


def test_only_what_changed_runs_again(tmp_path, source):
    out = tmp_path / "b"
    assert fresh(copy(out, source).run()) == ["first", "second"]
    again = list(copy(out, source).run())
    assert [(one.report, one.fresh) for one in again] == [
        ({"says": "one"}, False), ({"says": "done"}, False),
    ]  # fmt: skip
    source.write_text("two")
    assert fresh(copy(out, source).run()) == ["first", "second"]
    assert fresh(copy(out, source, other=1).run()) == ["first"]  # which writes the same
    (out / "second.txt").write_text("changed by hand")
    assert fresh(copy(out, source, other=1).run()) == ["second"]
    (out / "first.txt").unlink()
    assert fresh(copy(out, source, other=1).run()) == ["first"]
    assert fresh(copy(out, source, other=1, version=1).run()) == ["first", "second"]
    assert fresh(copy(out, source, other=1, version=1).run("second", force=True)) == ["second"]


def test_status_tells_why_a_stage_would_run(tmp_path, source):
    out = tmp_path / "b"

    def reasons(**more):
        return [state.reason for state in copy(out, source, **more).status()]

    assert reasons() == ["never ran", "waits for first"]
    assert not out.exists()
    list(copy(out, source).run())
    assert reasons() == ["", ""]
    assert reasons(other=1) == ["settings have changed", "waits for first"]
    assert reasons(version=1) == ["settings have changed", "waits for first"]
    (out / "second.txt").write_text("changed by hand")
    assert reasons() == ["", "second.txt was edited"]
    (out / "second.txt").unlink()
    assert reasons() == ["", "second.txt is missing"]
    source.write_text("two")
    assert reasons() == ["in.txt has changed", "waits for first"]
    source.unlink()
    assert reasons()[0] == f"there is no {source}; ask for it"


def test_a_stage_that_failed_runs_again_and_leaves_no_empty_folder(tmp_path, source):
    out = tmp_path / "new" / "b"

    def failing():
        raise KeyboardInterrupt

    runner = Runner(out, [Stage(name="first", run=failing, reads=[source])])
    with pytest.raises(KeyboardInterrupt):
        list(runner.run())
    assert not (tmp_path / "new").exists()
    assert fresh(copy(out, source).run()) == ["first", "second"]


def test_what_is_missing_or_damaged_is_one_sentence(tmp_path, source):
    out = tmp_path / "b"
    with pytest.raises(BuildError, match=r"there is no .*first\.txt; run the stage that writes it"):
        list(copy(out, source).run("second"))
    with pytest.raises(BuildError, match="there is no stage 'fist', did you mean 'first'"):
        list(copy(out, source).run("fist"))
    with pytest.raises(BuildError, match="has no list of dropped rows; run the build first"):
        copy(out, source).dropped()
    source.unlink()
    with pytest.raises(BuildError, match=r"there is no .*in\.txt; ask for it"):
        list(copy(out, source).run())
    (tmp_path / "file").write_text("")
    source.write_text("one")
    with pytest.raises(BuildError, match="cannot create"):
        list(copy(tmp_path / "file", source).run())


@pytest.mark.parametrize(
    "record",
    [
        {"read": ["key", "outputs", "report"]},
        {"read": {"outputs": [], "report": {}}},
        {"read": {"outputs": {}, "report": 3}},
        {"read": 3},
        [],
        "[1",
    ],
)
def test_a_record_that_was_edited_is_refused(tmp_path, record):
    text = record if isinstance(record, str) else json.dumps(record)
    (tmp_path / RECORD).write_text(text)
    with pytest.raises(BuildError, match="is damaged; remove it to build everything again"):
        Runner(tmp_path, [])


def test_a_record_of_an_older_form_makes_the_stages_run_again(tmp_path, source):
    out = tmp_path / "b"
    out.mkdir()
    (out / RECORD).write_text('{"first": {"key": "a", "outputs": {}, "report": {"says": "old"}}}')
    assert fresh(copy(out, source).run()) == ["first", "second"]


def test_dropped_rows_are_found_by_step_and_value(tmp_path, source):
    runner = copy(tmp_path / "b", source)
    list(runner.run())
    row = {"step": "short", "reason": "too short", "text": "A b"}
    assert runner.dropped() == ([row], 1)
    assert runner.dropped("short", where={"text": "a B"}) == ([row], 1)
    assert runner.dropped(where={"text": "c"}) == ([], 0)
    with pytest.raises(BuildError, match="no column 'txt', did you mean 'text'"):
        runner.dropped(where={"txt": "c"})
    with pytest.raises(BuildError, match="the step 'long' dropped nothing; steps that did: short"):
        runner.dropped("long")


@every_builder
def test_a_build_runs_its_stages_once(tmp_path, name):
    runner = toy_runner(tmp_path, name)
    assert [state.stage for state in runner.status()] == STAGES[name]
    assert fresh(runner.run()) == STAGES[name]
    out = runner.folder
    assert list(json.loads((out / RECORD).read_text())) == STAGES[name]
    written = {p for stage in runner.stages.values() for p in stage.writes}
    found = {str(p.relative_to(out)) for p in out.rglob("*") if p.is_file()}
    assert written <= found
    assert fresh(toy_runner(tmp_path, name).run()) == []
    assert not any(state.reason for state in toy_runner(tmp_path, name).status())
    assert all(runner.report(stage)["says"] for stage in STAGES[name])


@every_builder
def test_a_changed_setting_runs_what_follows_from_it(tmp_path, name):
    change, first = CHANGES[name]
    list(toy_runner(tmp_path, name).run())
    stages = STAGES[name]
    assert fresh(toy_runner(tmp_path, name, change).run()) == stages[stages.index(first) :]


@every_builder
def test_what_was_dropped_has_a_step_and_a_reason(tmp_path, name):
    runner = toy_runner(tmp_path, name)
    list(runner.run())
    steps = [s for stage in runner.stages.values() for s in stage.reread]
    reread = [row for step in steps for row in runner.dropped(step)[0]]
    assert bool(reread) == (name in ("discourse", "nmt"))
    listed = []
    if name == "nmt":
        with pytest.raises(BuildError, match="name the step whose dropped rows to list: empty, "):
            runner.dropped()
    else:
        listed, total = runner.dropped()
        assert len(listed) == total > 0
        assert len(runner.dropped(limit=1)[0]) == 1
    assert all(row["step"] and row["reason"] for row in (*reread, *listed))


KILLED = """
import sys, time
from pathlib import Path
from boxpen.build.builders import open_build
builder, config = open_build(Path(sys.argv[1]))
for done in builder.runner(config).run():
    print(done.stage, flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize(
    "name",
    ["kg", *(pytest.param(n, marks=pytest.mark.heavy) for n in ("discourse", "duals", "nmt"))],
)
def test_a_build_that_was_killed_resumes_to_the_same_files(tmp_path, name):
    for folder in ("whole", "cut"):
        (tmp_path / folder).mkdir()
    whole = toy_runner(tmp_path / "whole", name)
    list(whole.run())
    path = write_toy(tmp_path / "cut", name)
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "POLARS_MAX_THREADS": "1"},
    )
    assert child.stdout.readline().strip() == STAGES[name][0]
    time.sleep(0.1)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    cut = toy_runner(tmp_path / "cut", name)
    assert fresh(cut.run()) == STAGES[name][1:]
    for stage in cut.stages.values():
        for file in stage.writes:
            if file.endswith((".jsonl", ".txt", ".spm")):
                assert (cut.folder / file).read_bytes() == (whole.folder / file).read_bytes()
    assert not [p for p in cut.folder.iterdir() if p.name.startswith(".")]


@every_builder
def test_a_builder_is_named_or_told_by_its_tables(tmp_path, name):
    path = write_toy(tmp_path, name)
    assert open_build(path)[0] is builder_named(name)
    path.write_text(f'builder = "{name}"\n' + path.read_text())
    assert open_build(path)[0] is builder_named(name)


def test_an_unclear_builder_is_refused(tmp_path):
    path = tmp_path / "c.toml"
    known = "'conjunctions', 'discourse', 'duals', 'kg', 'nmt'"
    for text, message in (
        ('name = "x"\n', f"c.toml: builder is missing; add builder = NAME with one of {known}"),
        ('suite = "x"\n[[graphs]]\n', "c.toml: builder is missing; add builder = NAME"),
        (
            'builder = "gk"\n',
            "c.toml: builder is 'gk', expected 'conjunctions', 'discourse', 'duals', 'kg'",
        ),
        ("builder = 3\n", "c.toml: builder is 3, expected "),
    ):
        path.write_text(text)
        with pytest.raises(ConfigError) as caught:
            open_build(path)
        assert message in str(caught.value)
    with pytest.raises(ConfigError, match="there is no builder 'dual', did you mean 'duals'"):
        builder_named("dual")


@pytest.mark.parametrize("name", list(BUILDERS))
def test_the_example_is_a_configuration(tmp_path, name):
    text = builder_named(name).example
    for file in ("conceptnet-assertions-5.7.0.csv.gz", "v4_atomic_trn.csv"):
        (tmp_path / file).write_bytes(b"")
    path = tmp_path / "example.toml"
    path.write_text(text)
    builder, config = open_build(path)
    assert config.builder == name
    assert builder.folder(config).is_relative_to(tmp_path)
    assert isinstance(config.path, Path)


def test_the_builder_of_the_documentation(tmp_path):
    page = (
        Path(__file__).parents[2] / "docs" / "how-to" / "extend" / "adding-a-builder.md"
    ).read_text("utf-8")
    module = ModuleType("pairs_builder")
    sys.modules[module.__name__] = module  # where dataclasses look for annotations
    try:
        for part in page.split("```python\n")[1:]:
            exec(part.split("```")[0], module.__dict__)
        (tmp_path / "pairs.tsv").write_text(f"good\tbad\nYes.\tNo.\n{'x' * 81}.\tNo.\n")
        (tmp_path / "pairs.toml").write_text(module.EXAMPLE)
        config = module.BUILDER.load(tmp_path / "pairs.toml")
        assert fresh(module.BUILDER.runner(config).run()) == ["filter", "write"]
        runner = module.BUILDER.runner(config)
        assert fresh(runner.run()) == []
        parts = module.parts(config)
        kept = [row for start in parts.listed() for row in json.loads(parts.do(start))]
        assert kept == [{"good": "Yes.", "bad": "No."}]
    finally:
        del sys.modules[module.__name__]
    assert len(boxpen.load_suite(tmp_path / "my-pairs" / "my-pairs.jsonl")) == 1
    assert runner.dropped("length")[0][0]["reason"] == "over 80 characters"
