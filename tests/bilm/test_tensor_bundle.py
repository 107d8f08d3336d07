"""TensorFlow checkpoints written by an independent writer, read back; and damaged ones."""

from __future__ import annotations

import bundle_writer
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from boxpen.errors import ModelError
from boxpen.lm.bilm.tensor_bundle import _crc32c, _masked, read_bundle


def tensors() -> dict[str, np.ndarray]:
    dice = np.random.default_rng(1)
    return {
        "lm/softmax/W": dice.normal(size=(7, 3)).astype("float32"),
        "lm/softmax/b": dice.normal(size=7).astype("float32"),
        "lm/softmax/W/Adagrad": dice.normal(size=(7, 3)),
        "global_step": np.array(5, dtype="int64"),
        "lm/RNN_0/counts": np.arange(6, dtype="int32").reshape(1, 2, 3),
        "half": np.array([1.5, -2], dtype="float16"),
        "nothing": np.zeros((0, 4), dtype="float32"),
    }


@pytest.mark.parametrize("shards", [1, 3])
def test_what_was_written_is_read(tmp_path, shards):
    index = bundle_writer.write_bundle(tmp_path / "model.ckpt-12", tensors(), shards=shards)
    bundle = read_bundle(index)
    assert bundle.tensors.keys() == tensors().keys()
    for name, value in tensors().items():
        assert bundle.shape(name) == value.shape
        found = bundle.read(name)
        assert found.dtype == value.dtype
        np.testing.assert_array_equal(found, value)


def test_the_sum_is_that_of_the_standard():
    assert _crc32c(np.frombuffer(b"123456789", np.uint8)) == 0xE3069283  # RFC 3720, B.4


@pytest.mark.parametrize("size", [0, 1, 2047, 2048, 2051, 70_001, 524_287, 524_293])
def test_the_sum_of_rows_is_that_of_bytes(size):
    """From 2,048 bytes on it is folded once, from 524,288 on twice."""
    data = np.random.default_rng(size).integers(0, 256, size + 1, dtype=np.uint8)[1:]
    assert _masked(_crc32c(data)) == bundle_writer.crc(data.tobytes())


@pytest.mark.parametrize("name", ["lm/softmax/W", "half", "global_step", "wide"])
def test_one_wrong_byte_of_a_tensor_is_found_and_others_are_read(tmp_path, name):
    every = tensors() | {"wide": np.arange(3000, dtype="float32")}
    index = bundle_writer.write_bundle(tmp_path / "model", every)
    bundle = read_bundle(index)
    path = tmp_path / "model.data-00000-of-00001"
    raw = bytearray(path.read_bytes())
    raw[bundle.tensors[name].offset + bundle.tensors[name].size // 2] ^= 0xFF
    path.write_bytes(bytes(raw))
    with pytest.raises(ModelError, match=rf"00001 is damaged: the tensor '{name}' does not match"):
        bundle.read(name)
    for other in every.keys() - {name}:
        np.testing.assert_array_equal(bundle.read(other), every[other])


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.dictionaries(st.text(min_size=1, max_size=8), st.integers(0, 5), max_size=12))
def test_any_names_and_sizes(tmp_path, sizes):
    wanted = {name: np.arange(n, dtype="float32") for name, n in sizes.items()}
    bundle = read_bundle(bundle_writer.write_bundle(tmp_path / "any", wanted))
    assert {name: bundle.read(name).tolist() for name in bundle.tensors} == {
        name: value.tolist() for name, value in wanted.items()
    }


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_a_damaged_index_is_one_sentence_or_the_same_tensors(tmp_path, data):
    index = bundle_writer.write_bundle(tmp_path / "model", tensors())
    raw = bytearray(index.read_bytes())
    if data.draw(st.booleans()):
        raw = raw[: data.draw(st.integers(0, len(raw) - 1))]
    else:
        raw[data.draw(st.integers(0, len(raw) - 1))] ^= data.draw(st.integers(1, 255))
    index.write_bytes(bytes(raw))
    said, names = "", set()
    try:
        names = set(read_bundle(index).tensors)
    except ModelError as error:
        said = str(error)
    # The padding of the footer, and the handle that is not used, carry no sum.
    assert names == set(tensors()) if not said else str(index) in said and "\n" not in said


def test_what_cannot_be_read(tmp_path):
    index = bundle_writer.write_bundle(tmp_path / "model", tensors(), sliced="half")
    bundle = read_bundle(index)
    with pytest.raises(ModelError, match="has no tensor 'lm/softmax'"):
        bundle.read("lm/softmax")
    with pytest.raises(ModelError, match="'half' is cut into slices"):
        bundle.read("half")
    data = tmp_path / "model.data-00000-of-00001"
    data.write_bytes(data.read_bytes()[:-5])
    last = max(bundle.tensors, key=lambda name: bundle.tensors[name].offset)
    with pytest.raises(ModelError, match="it is cut short"):
        bundle.read("lm/softmax/b" if last == "nothing" else last)
    data.unlink()
    with pytest.raises(ModelError, match=r"model\.data-00000-of-00001, which is not beside it"):
        bundle.read("lm/softmax/W")
    with pytest.raises(ModelError, match="cannot be read: No such file"):
        read_bundle(tmp_path / "other.index")
    (tmp_path / "text.index").write_text(
        "no table at all, but a text that is long enough to be one"
    )
    with pytest.raises(ModelError, match="its end is not that of an index"):
        read_bundle(tmp_path / "text.index")
