"""Units, jobs and results: names that follow from content, and what is read back."""

import gzip
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boxpen.cluster.store import DirectoryStore
from boxpen.cluster.units import Group, Job, Result, Unit, done_key, read_result, submit
from boxpen.errors import ClusterError

GROUP = Group("squares", {"seed": 1}, "squares")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def units(count, group=GROUP):
    return [Unit(group, {"number": n}, 1.0 + n % 3, f"label {n % 2}") for n in range(count)]


def test_names_follow_from_content_alone():
    one = Unit(GROUP, {"a": 1, "b": 2}, 1.0, "x")
    assert one.id == Unit(Group(GROUP.kind, {"seed": 1}), {"b": 2, "a": 1}, 9.0, "y").id
    others = [
        Unit(GROUP, {"a": 1, "b": 3}),
        Unit(Group(GROUP.kind, {"seed": 2}), {"a": 1, "b": 2}),
        Unit(Group("other", {"seed": 1}), {"a": 1, "b": 2}),
    ]
    assert len({one.id, *(other.id for other in others)}) == 4


@settings(max_examples=50, deadline=None)
@given(payloads=st.lists(JSON, max_size=6), shared=JSON)
def test_payloads_are_read_back(tmp_path_factory, payloads, shared):
    store = DirectoryStore(tmp_path_factory.mktemp("store"))
    wanted = [Unit(Group("kind", shared), payload) for payload in payloads]
    job = Job.read(store, submit(store, wanted).id)
    assert job is not None
    assert {row.id for row in job.rows} == {unit.id for unit in wanted}
    for row in job.rows:
        payload = job.payload(store, row)
        assert Unit(job.groups[row.group], payload).id == row.id


def test_a_job_is_read_back_and_named_after_its_units(tmp_path):
    store = DirectoryStore(tmp_path)
    other = Group("squares", {"seed": 2}, "others")
    wanted = [*units(150), *units(3, other), *units(150)]
    job = submit(store, iter(wanted))
    assert len(job.rows) == 153  # equal units become one
    assert [row.id for row in job.rows] == list(dict.fromkeys(unit.id for unit in wanted))
    again = Job.read(store, job.id)
    assert again is not None
    assert again.groups == [GROUP, other]
    assert [again.labels[row.label] for row in again.rows[:4]] == ["label 0", "label 1"] * 2
    assert again.rows[1].weight == 2.0
    assert submit(store, wanted[::-1]).id == job.id
    assert submit(store, wanted[1:150]).id != job.id
    assert Job.read(store, "0" * 32) is None


def test_what_is_damaged_is_refused_in_one_sentence(tmp_path):
    store = DirectoryStore(tmp_path)
    job = submit(store, units(3))
    place = tmp_path / "jobs" / job.id
    whole = place.read_bytes()
    for data in (whole[:20], b"", b"x" * 50, gzip.compress(b"[]"), gzip.compress(b'{"format":1}')):
        place.write_bytes(data)
        with pytest.raises(ClusterError, match=rf"job {job.id[:8]} in .* is damaged"):
            Job.read(store, job.id)
    index = json.loads(gzip.decompress(whole))
    place.write_bytes(gzip.compress(json.dumps(index | {"format": 999}).encode()))
    with pytest.raises(ClusterError, match="another version of boxpen"):
        Job.read(store, job.id)
    sheet = tmp_path / job.sheet_key(job.rows[0].sheet)
    sheet.write_bytes(sheet.read_bytes()[:-4])
    with pytest.raises(ClusterError, match=rf"sheets/{job.index}.0 in .* is damaged"):
        job.payload(store, job.rows[0])
    sheet.unlink()
    with pytest.raises(ClusterError, match=rf"job {job.id[:8]} is gone from"):
        job.payload(store, job.rows[0])


@given(cut=st.integers(0, 200), flip=st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_a_damaged_result_is_no_result(tmp_path_factory, cut, flip):
    store = DirectoryStore(tmp_path_factory.mktemp("store"))
    result = Result(bytes(range(256)), {"device": "cpu"}, "me", 1.25, 0.5)
    unit = units(1)[0].id
    assert read_result(store, unit) is None
    store.put_new(done_key(unit), result.to_bytes())
    assert read_result(store, unit) == result
    data = bytearray(result.to_bytes())
    size = len(data)
    body = data.index(b"\n") + 1
    data[body + flip % (size - body)] ^= 1 + flip % 255
    store.put(done_key(unit), bytes(data))
    assert read_result(store, unit) is None
    store.put(done_key(unit), result.to_bytes()[: size - 1 - cut])
    assert read_result(store, unit) is None
