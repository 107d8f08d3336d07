"""A stage is done once, and again only when something it rests on changed."""

import pytest

from boxpen.build.stages import Stages
from boxpen.errors import BuildError


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "in.txt"
    path.write_text("one")
    return path


def run(stages, source, *, times, settings=None, **more):
    def work():
        times.append(source.read_text())
        (stages.folder / "out.txt").write_text(f"made of {source.read_text()}")
        return {"count": len(times)}

    return stages.run(
        "copy",
        settings=settings or {"a": 1},
        inputs=[source],
        outputs=["out.txt"],
        work=work,
        **more,
    )


def test_done_once_by_several_builds(tmp_path, source):
    times = []
    assert run(Stages(tmp_path / "b"), source, times=times) == ({"count": 1}, True)
    assert run(Stages(tmp_path / "b"), source, times=times) == ({"count": 1}, False)
    assert times == ["one"]


def test_done_again_if_something_changed(tmp_path, source):
    times, stages = [], Stages(tmp_path / "b")
    run(stages, source, times=times)
    source.write_text("two")
    assert run(stages, source, times=times)[1]
    assert run(stages, source, times=times, settings={"a": 2})[1]
    (tmp_path / "b" / "out.txt").write_text("changed by hand")
    assert run(stages, source, times=times, settings={"a": 2})[1]
    (tmp_path / "b" / "out.txt").unlink()
    assert run(stages, source, times=times, settings={"a": 2})[1]
    assert run(stages, source, times=times, settings={"a": 2}, force=True)[1]
    assert not run(stages, source, times=times, settings={"a": 2})[1]
    assert len(times) == 6


def test_a_stage_that_failed_is_done_again(tmp_path, source):
    stages = Stages(tmp_path / "b")

    def failing():
        (stages.folder / "out.txt").write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stages.run("copy", settings={"a": 1}, inputs=[source], outputs=["out.txt"], work=failing)
    times = []
    assert run(Stages(tmp_path / "b"), source, times=times)[1]


def test_missing_input_and_damaged_record_are_one_sentence(tmp_path, source):
    stages = Stages(tmp_path / "b")
    source.unlink()
    with pytest.raises(BuildError, match=r"there is no .*in\.txt; run the stage"):
        run(stages, source, times=[])
    (tmp_path / "b" / "stages.json").write_text("[1")
    with pytest.raises(BuildError, match=r"stages\.json is damaged"):
        Stages(tmp_path / "b")
    (tmp_path / "file").write_text("")
    with pytest.raises(BuildError, match="cannot be made"):
        Stages(tmp_path / "file")
