"""GGUF files are read faster, and what is read stays the same."""

from __future__ import annotations

import numpy as np
import pytest

from boxpen.models.loading.gguf import read_fast

gguf = pytest.importorskip("gguf")


@pytest.fixture
def path(tmp_path):
    writer = gguf.GGUFWriter(tmp_path / "m.gguf", "llama")
    writer.add_token_list(["<s>", "the", "箱子"])
    writer.add_token_scores([0.5, -1.0, 2.0])
    writer.add_uint32("llama.block_count", 3)
    dice = np.random.default_rng(1)
    writer.add_tensor("token_embd.weight", dice.random((3, 8), np.float32))
    writer.add_tensor("output_norm.weight", dice.random(8, np.float32).astype(np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return tmp_path / "m.gguf"


def test_fields_and_tensors_are_those_of_the_plain_reader(path):
    plain = gguf.GGUFReader(path)
    with read_fast():
        fast = gguf.GGUFReader(path)
    assert list(fast.fields) == list(plain.fields)
    for name, field in plain.fields.items():
        assert fast.fields[name].contents() == field.contents()
    assert fast.fields["tokenizer.ggml.tokens"].contents() == ["<s>", "the", "箱子"]
    assert [t.name for t in fast.tensors] == ["token_embd.weight", "output_norm.weight"]
    for one, other in zip(fast.tensors, plain.tensors, strict=True):
        assert one.data.dtype == other.data.dtype
        assert np.array_equal(one.data, other.data)
        assert type(one.data) is np.ndarray  # a slice of a memory map is dear
    assert type(plain.tensors[0].data) is np.memmap, "there is nothing to mend any more"


def test_a_table_of_names_is_made_once():
    llama, bert = gguf.MODEL_ARCH.LLAMA, gguf.MODEL_ARCH.BERT
    with read_fast():
        table = gguf.get_tensor_name_map(llama, 3)
        assert gguf.get_tensor_name_map(llama, 3) is table
        assert gguf.get_tensor_name_map(llama, 4) is not table
        assert gguf.get_tensor_name_map(bert, 3) is not table
    assert table.mapping == gguf.get_tensor_name_map(llama, 3).mapping


def test_afterwards_all_is_as_it_was():
    before = gguf.GGUFReader, gguf.get_tensor_name_map
    with pytest.raises(FileNotFoundError), read_fast():
        gguf.GGUFReader("no such file")
    assert (gguf.GGUFReader, gguf.get_tensor_name_map) == before


def test_readings_that_overlap_leave_nothing_behind():
    before = gguf.GGUFReader, gguf.get_tensor_name_map
    first, second = read_fast(), read_fast()
    with first:
        fast = gguf.GGUFReader
        second.__enter__()
        assert gguf.GGUFReader is fast, "mended twice"
    assert gguf.GGUFReader is fast, "the other still reads"
    second.__exit__(None, None, None)
    assert (gguf.GGUFReader, gguf.get_tensor_name_map) == before
