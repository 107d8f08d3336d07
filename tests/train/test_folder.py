"""The folder of a training: locks, kills and other trainings in it."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import pytest

from boxpen.errors import TrainError
from boxpen.files import replaced
from boxpen.lm.folder import OutFolder
from boxpen.training.checkpoints import Checkpoints

SETTINGS = {"task": "lm", "kind": "causal"}


@pytest.fixture
def folder(tmp_path: Path) -> OutFolder:
    return OutFolder(tmp_path / "m", SETTINGS, {"text": "x"}, "sentences")


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_disk_without_locks_can_be_trained_on(
    folder: OutFolder, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    fcntl = pytest.importorskip("fcntl")

    def refuse(*_: Any) -> None:
        raise OSError(number, "no locks")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with folder.alone():
        assert folder.folder.is_dir()


def test_a_second_training_in_the_same_folder_is_refused(folder: OutFolder) -> None:
    pytest.importorskip("fcntl")
    with (
        folder.alone(),
        pytest.raises(TrainError, match="another training is running in"),
        OutFolder(folder.folder, SETTINGS).alone(),
    ):
        pass


@pytest.mark.parametrize("step", ["", "step-5"])
@pytest.mark.parametrize(("top", "was"), [({"task": "nli"}, "nli"), ({"source": "zh"}, "nmt")])
def test_the_folder_of_another_task_is_refused(
    folder: OutFolder, step: str, top: dict[str, str], was: str
) -> None:
    (folder.folder / "checkpoints" / step).mkdir(parents=True)
    folder.settings_file.write_text(json.dumps({"top": top, "train": {}}))
    with pytest.raises(TrainError) as refused:
        folder.check()
    assert str(refused.value) == (
        f"{folder.folder} was started with 'boxpen train {was}', not 'boxpen train lm'; "
        "use another --out"
    )


@pytest.mark.parametrize("at", ["training.json", "held-out.txt"])
def test_a_training_that_was_killed_at_the_start_starts_again(
    folder: OutFolder, at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(path: Path, error: type[TrainError]) -> Any:
        if path.name == at:
            (path.parent / f".{at}.0123abcd-12-ab12.tmp").touch()  # what a kill leaves
            raise KeyboardInterrupt
        return replaced(path, error)

    with monkeypatch.context() as patch:
        patch.setattr("boxpen.training.folder.replaced", killed)
        with pytest.raises(KeyboardInterrupt):
            folder.begin({"held-out.txt": b"x"})
    folder.check()
    folder.begin({"held-out.txt": b"x"})
    assert (folder.folder / "held-out.txt").read_bytes() == b"x"
    assert json.loads(folder.settings_file.read_text())["top"] == SETTINGS


@pytest.mark.parametrize("damaged", [b"5", b"[1]", b"\xff\xfe", b'{"step": 2, "lo'])
def test_damaged_lines_of_the_log_are_dropped_on_resume(folder: OutFolder, damaged: bytes) -> None:
    folder.begin()
    log = folder.folder / "log.jsonl"
    log.write_bytes(b'{"step": 1}\n' + damaged + b'\n{"step": 3}\n{"step": 4}\n')
    folder.rewind(3)
    assert log.read_bytes() == b'{"step": 1}\n{"step": 3}\n'


def test_a_checkpoint_is_saved_where_an_old_one_cannot_be_pruned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(folder: Path) -> None:
        (folder / "state.json").write_text("{}")

    def refuse(self: Path, missing_ok: bool = False) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(self))

    kept = Checkpoints(tmp_path / "checkpoints")
    kept.save(1, write, ())
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", refuse)
        kept.save(2, write, {1})
    assert kept.steps() == [1, 2]
    assert (kept.at(1) / "state.json").exists()
    kept.save(3, write, {1})
    assert kept.steps() == [1, 3]
    assert not (kept.at(1) / "state.json").exists()
