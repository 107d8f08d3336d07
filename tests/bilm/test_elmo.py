"""The public layout of ELMo: loaded, it is the plain loop; without softmax it is refused."""

from __future__ import annotations

import json
import re
import shutil

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
h5py = pytest.importorskip("h5py")

import bundle_writer  # noqa: E402
import elmo_files  # noqa: E402
from typer.testing import CliRunner  # noqa: E402

from boxpen import Request, ScoringPolicy, resolve_model  # noqa: E402
from boxpen.errors import ModelError  # noqa: E402
from boxpen.lm.bilm.elmo import find_elmo  # noqa: E402
from boxpen.lm.bilm.tensor_bundle import read_bundle  # noqa: E402
from boxpen.lm.bilm.training import load, save  # noqa: E402


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return elmo_files.write(tmp_path_factory.mktemp("elmo") / "public")


@pytest.fixture
def copy(folder, tmp_path):
    """The same files, to be spoilt."""
    return shutil.copytree(folder, tmp_path / "copy")


TEXTS = {
    "the box is in the pen.": ["the", "box", "is", "in", "the", "pen", "."],
    "the zebra's naïve": ["the", "zebra", "'s", "naïve"],
    "incomprehensibilities": ["incomprehensibilities"],  # longer than a word may be
}


def records(model, texts, **policy):
    resolved_policy = model.resolve_policy(ScoringPolicy(**policy))
    found = {}
    for batch in model.score([Request(t) for t in texts], resolved_policy):
        found.update(batch)
    return [found[i] for i in range(len(texts))]


def test_it_scores_as_the_plain_loop_does(folder):
    model = resolve_model(f"elmo:{folder}", device="cpu")
    assert model.kind == "bidirectional"
    for record, words in zip(records(model, list(TEXTS)), TEXTS.values(), strict=True):
        ahead, behind = elmo_files.scores(words)
        expected = [(a + b) / 2 for a, b in zip(ahead[:-1], behind[1:], strict=True)]
        np.testing.assert_allclose(record.logprobs, expected, rtol=0, atol=1e-5)
        assert record.unknown == sum(w not in elmo_files.WORDS for w in words)


def test_the_end_of_a_sentence_is_scored_if_wanted(folder):
    model = resolve_model(f"elmo:{folder}", device="cpu")
    text, words = next(iter(TEXTS.items()))
    ahead, behind = elmo_files.scores(words)
    (record,) = records(model, [text], eos="always")
    assert record.logprobs[-1] == pytest.approx((ahead[-1] + behind[0]) / 2, abs=1e-5)
    assert len(record.logprobs) == len(words) + 1


def test_a_softmax_in_hdf5_will_do(copy):
    for file in copy.glob("model.ckpt*"):
        file.unlink()
    with h5py.File(copy / "elmo_tiny_softmax_weights.hdf5", "w") as file:
        file["softmax/W"] = elmo_files.softmax()["lm/softmax/W"].T  # lying, as some have it
        file["softmax/b"] = elmo_files.softmax()["lm/softmax/b"]
    ahead, behind = elmo_files.scores(["the", "box"])
    (record,) = records(resolve_model(f"elmo:{copy}", device="cpu"), ["the box"])
    assert record.logprobs[1] == pytest.approx((ahead[1] + behind[2]) / 2, abs=1e-5)


def test_it_can_be_kept_as_a_folder_of_our_own(folder, tmp_path):
    files = find_elmo(folder)
    save(tmp_path / "kept", files.load(), files.tokenizer())
    model, tokenizer = load(tmp_path / "kept")
    theirs = records(resolve_model(f"elmo:{folder}", device="cpu"), list(TEXTS))
    ours = records(resolve_model((model, tokenizer)), list(TEXTS))
    for a, b in zip(theirs, ours, strict=True):
        np.testing.assert_array_equal(a.logprobs, b.logprobs)


def test_it_is_trained_further(folder, tmp_path):
    from boxpen.lm import Options, train_lm

    text, valid = tmp_path / "text.txt", tmp_path / "valid.txt"
    text.write_text("".join(f"the box is in the pen {'the ' * n}\n" for n in range(1, 13)))
    valid.write_text("the pen\n")
    result = train_lm(
        kind="bilm", model=f"elmo:{folder}", out=tmp_path / "m", text=[text],
        valid=[valid],
        options=Options(epochs=2, batch_size=4, learning_rate=1e-2, warmup=0), device="cpu",
    )  # fmt: skip
    assert result["loss"] < result["loss_before"] - 0.1
    (before,) = records(resolve_model(f"elmo:{folder}", device="cpu"), ["the pen"], eos="always")
    assert -before.total / 3 == pytest.approx(result["loss_before"], abs=1e-5)
    model = resolve_model(f"hf:{tmp_path / 'm'}", device="cpu")
    assert (model.config.cell_clip, model.config.projection_clip) == (elmo_files.CLIP,) * 2
    (after,) = records(model, ["the pen"], eos="always")
    assert -after.total / 3 == pytest.approx(result["loss"], abs=1e-5)


@pytest.mark.parametrize(
    "command", [["run", "--help"], ["model", "show", "--help"], ["model", "get", "--help"],
                ["model", "list"]],
)  # fmt: skip
def test_the_commands_name_it(command):
    from boxpen.cli.app import app

    assert "elmo:DIR" in CliRunner().invoke(app, command).output


def test_without_softmax_it_is_one_sentence_and_status_2(tmp_path):
    from boxpen.cli.app import app

    folder = elmo_files.write(tmp_path / "public", with_softmax=False)
    result = CliRunner().invoke(
        app, ["run", "--suite", "starter.sense", "--model", f"elmo:{folder}", "--out", "x"]
    )
    assert result.exit_code == 2
    said = " ".join(result.output.split())
    assert "has no softmax, without which ELMo gives no probabilities" in said


def test_a_checkpoint_without_softmax(copy):
    rest = {n: v for n, v in elmo_files.softmax().items() if "softmax" not in n}
    bundle_writer.write_bundle(copy / "model.ckpt-935588", rest)
    with pytest.raises(ModelError, match="has no 'lm/softmax/W' and 'lm/softmax/b', without"):
        resolve_model(f"elmo:{copy}", device="cpu")


def test_a_softmax_whose_bias_is_no_row(copy):
    whole = elmo_files.softmax()
    for bias in (whole["lm/softmax/b"][:, None], np.float32(1.0)):
        changed = whole | {"lm/softmax/b": np.asarray(bias)}
        bundle_writer.write_bundle(copy / "model.ckpt-935588", changed)
        with pytest.raises(
            ModelError, match=r"'softmax/b' of the shape .*, expected one number per"
        ):
            resolve_model(f"elmo:{copy}", device="cpu")


def test_files_that_do_not_belong_together(copy):
    def refused(said):
        with pytest.raises(ModelError, match=said):
            resolve_model(f"elmo:{copy}", device="cpu").load()

    vocabulary = copy / "vocab-2016-09-10.txt"
    whole = vocabulary.read_text()
    vocabulary.write_text(whole + "more\n")
    refused("a softmax over 11 words, but .* has 12: they do not belong together")
    vocabulary.write_text(whole.replace("<UNK>", "unk"))
    refused("has no <UNK>")
    vocabulary.write_text(whole.replace("pen", "box"))
    refused("has the word 'box' twice")
    vocabulary.write_text(whole)

    options = copy / "elmo_tiny_options.json"
    changed = json.loads(options.read_text())
    changed["lstm"]["dim"] = 10
    options.write_text(json.dumps(changed))
    refused(r"W_0' of the shape \(12, 36\), expected \(12, 40\), as the options say")
    del changed["lstm"]["dim"]
    options.write_text(json.dumps(changed))
    refused("no options of an ELMo")
    options.write_text("{}")
    refused("has no 'char_cnn'")
    options.write_text(json.dumps(elmo_files.OPTIONS))

    with h5py.File(copy / "elmo_tiny_weights.hdf5", "a") as file:
        del file["CNN_proj/W_proj"]
    refused("has no weights 'CNN_proj/W_proj'")
    (copy / "elmo_tiny_weights.hdf5").write_text("no HDF5")
    refused("cannot be read as HDF5")


def test_a_damaged_softmax_is_refused(copy):
    (data,) = copy.glob("*.data-00000-of-00001")
    raw = bytearray(data.read_bytes())
    raw[read_bundle(copy / "model.ckpt-935588.index").tensors["lm/softmax/W"].offset + 9] ^= 0xFF
    data.write_bytes(bytes(raw))
    with pytest.raises(
        ModelError, match="is damaged: the tensor 'lm/softmax/W' does not match its"
    ):
        resolve_model(f"elmo:{copy}", device="cpu").load()


@pytest.mark.parametrize(
    ("room", "name", "value", "rest"),
    [
        ("lstm", "n_layers", 1, r"RNN_0/RNN/MultiRNNCell/Cell1/LSTMCell/B' \(6 such"),
        ("char_cnn", "n_highway", 1, r"CNN_high_1/W_carry' \(4 such"),
    ],
)
def test_weights_that_the_options_do_not_name_are_refused(copy, room, name, value, rest):
    options = copy / "elmo_tiny_options.json"
    changed = json.loads(options.read_text())
    changed[room][name] = value
    options.write_text(json.dumps(changed))
    with pytest.raises(ModelError, match=f"has the weights '{rest} in all.*options.json does not"):
        resolve_model(f"elmo:{copy}", device="cpu").load()


@pytest.mark.parametrize(
    ("room", "name", "value", "said"),
    [
        ("char_cnn", "n_highway", 1e99, r"options.json has n_highway 1e\+99, expected a whole num"),
        ("char_cnn", "n_highway", True, "options.json has n_highway True, expected a whole number"),
        ("char_cnn", "n_highway", 20_000_000, "weights.hdf5 has no weights 'CNN_high_2/W_carry'"),
        ("lstm", "n_layers", 20_000_000, "weights.hdf5 has no weights 'RNN_0/.*/Cell2/LSTMCell/W"),
        ("lstm", "n_layers", 2.5, "options.json has n_layers 2.5, expected a whole number from 1"),
        ("char_cnn", "filters", [[1, 3], [2, 4.5], [3, 5]], "has filters 4.5, expected a whole nu"),
        ("char_cnn", "max_characters_per_token", 10**30, "a whole number from 1 to 1,000"),
        ("char_cnn", "n_characters", 50, "options.json has n_characters 50, expected 261 or 262"),
        (None, "bidirectional", False, "options.json has bidirectional False, expected true"),
    ],
)  # fmt: skip
@pytest.mark.timeout(60)  # millions of layers were built before their weights were looked for
def test_options_of_no_elmo_are_one_sentence_and_status_2(copy, room, name, value, said):
    from boxpen.cli.app import app

    changed = json.loads(json.dumps(elmo_files.OPTIONS))
    (changed[room] if room else changed)[name] = value
    (copy / "elmo_tiny_options.json").write_text(json.dumps(changed))
    result = CliRunner().invoke(
        app, ["run", "--suite", "starter.sense", "--model", f"elmo:{copy}", "--any-language",
              "--out", str(copy / "runs")],
        env={"COLUMNS": "1000"},
    )  # fmt: skip
    assert result.exit_code == 2
    assert re.search(said, " ".join(result.output.split()))


@pytest.mark.parametrize("characters", [261, None])
def test_options_of_the_training_or_without_the_number_of_characters_will_do(copy, characters):
    changed = json.loads(json.dumps(elmo_files.OPTIONS))
    del changed["char_cnn"]["n_characters"], changed["bidirectional"]
    if characters:
        changed["char_cnn"]["n_characters"] = characters
    (copy / "elmo_tiny_options.json").write_text(json.dumps(changed))
    resolve_model(f"elmo:{copy}", device="cpu").load()


def test_a_softmax_among_the_weights_is_no_stranger(copy):
    with h5py.File(copy / "elmo_tiny_weights.hdf5", "a") as file:
        file["softmax/b"] = np.zeros(3, dtype="float32")
    resolve_model(f"elmo:{copy}", device="cpu").load()


def test_numbers_that_are_none_are_told_by_file(copy):
    def refused(said):
        with pytest.raises(ModelError, match=said):
            resolve_model(f"elmo:{copy}", device="cpu").load()

    weights = copy / "elmo_tiny_weights.hdf5"
    with h5py.File(weights, "a") as file:
        file["CNN/b_cnn_1"][2] = np.nan
    refused(r"elmo_tiny_weights.hdf5 has NaN or Inf in the weights 'CNN/b_cnn_1'")
    with h5py.File(weights, "a") as file:
        file["CNN/b_cnn_1"][2] = 0
    spoilt = elmo_files.softmax()
    spoilt["lm/softmax/W"][3, 1] = np.inf
    bundle_writer.write_bundle(copy / "model.ckpt-935588", spoilt)
    refused(r"model.ckpt-935588.index has NaN or Inf in the weights 'softmax/W'")
    options = copy / "elmo_tiny_options.json"
    for name in ("cell_clip", "proj_clip"):
        for value in (float("nan"), float("inf"), 0, -1.0, "3", True):
            changed = json.loads(json.dumps(elmo_files.OPTIONS))
            changed["lstm"][name] = value
            options.write_text(json.dumps(changed))
            refused(rf"options.json has {name} {value!r}, expected a number above 0, or null")


def test_missing_and_doubled_files(copy, tmp_path):
    with pytest.raises(ModelError, match="there is no folder"):
        find_elmo(tmp_path / "none")
    (copy / "other_weights.hdf5").write_bytes(b"")
    with pytest.raises(ModelError, match=r"one file for the weights .* found elmo_tiny.*, other"):
        find_elmo(copy)
    (copy / "other_weights.hdf5").unlink()
    (copy / "LICENSE.txt").write_text("Apache-2.0")
    assert find_elmo(copy).vocabulary.name == "vocab-2016-09-10.txt"
    (copy / "LICENSE.txt").unlink()
    (copy / "vocab-2016-09-10.txt").unlink()
    with pytest.raises(ModelError, match=r"vocabulary of ELMo \(vocab\*\.txt\), found none"):
        find_elmo(copy)
