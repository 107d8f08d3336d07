"""What one process does for all: results and errors reach the others, and one of them tells."""

import pytest

pytest.importorskip("accelerate")

from boxpen.errors import SuiteError, TrainError
from boxpen.training.processes import Processes, ToldByChiefError


def failing() -> None:
    raise SuiteError("line 3 is odd")


@pytest.fixture
def several(monkeypatch):
    """One of two processes, of which the other is played by what it would send."""

    def make(rank: int, other: object) -> tuple[Processes, list[object]]:
        sent: list[object] = []

        def broadcast(values: list[object], from_process: int) -> None:
            assert from_process == 0
            if rank == 0:
                sent.append(list(values))
            else:
                values[:] = other

        def gather(values: list[object]) -> list[object]:
            return [*values, other] if rank == 0 else [other, *values]

        monkeypatch.setattr("accelerate.utils.broadcast_object_list", broadcast)
        monkeypatch.setattr("accelerate.utils.gather_object", gather)
        made = Processes("cpu")
        made.count, made.rank = 2, rank
        return made, sent

    return make


def test_a_process_alone():
    alone = Processes("cpu")
    assert (alone.count, alone.rank, alone.chief) == (1, 0, True)
    assert alone.once(lambda: 3) == alone.each(lambda: 3) == 3
    assert alone.gathered(3) == [3]
    with pytest.raises(SuiteError, match="line 3"):
        alone.once(failing)
    with pytest.raises(SuiteError, match="line 3"):
        alone.each(failing)
    alone.part()


def test_the_chief_works_and_tells(several):
    chief, sent = several(0, None)
    assert chief.once(lambda: 3) == 3
    with pytest.raises(SuiteError, match="line 3"):
        chief.once(failing)
    assert sent == [[3, False], [None, True]]


def test_the_others_hear_of_it(several):
    worker, _ = several(1, [3, False])
    assert worker.once(failing) == 3  # it is not called here
    worker, _ = several(1, [None, True])
    with pytest.raises(ToldByChiefError):
        worker.once(lambda: 3)


def test_an_error_of_one_ends_all(several):
    chief, _ = several(0, "no such file")
    with pytest.raises(TrainError, match="process 1: no such file"):
        chief.each(lambda: 3)
    worker, _ = several(1, None)
    with pytest.raises(ToldByChiefError, match="line 3"):
        worker.each(failing)
    worker, _ = several(1, "no such file")
    with pytest.raises(ToldByChiefError):
        worker.each(lambda: 3)
    chief, _ = several(0, "line 3 is odd")
    with pytest.raises(SuiteError, match=r"^line 3 is odd"):
        chief.each(failing)
