"""Fixtures that several rooms share, and the order of the files."""

import gc
import os
from pathlib import Path

import pytest

# The files that take longest, in this order, begin; or one process would wait for the other's last.
LONG = (
    "test_llama_server.py", "test_browser_judging.py", "test_lm_resume.py",
    "test_nmt_command.py", "test_nmt_training.py", "test_context_training.py", "test_train_nli.py",
    "test_lm.py", "test_real_models.py", "test_memory.py", "test_rank.py", "test_remote_kill.py",
    "test_plugins.py", "test_asked_runs.py", "test_rnnsearch_use.py", "test_readers_twins.py",
    "test_html_browser.py", "test_normal_rules.py", "test_starter.py", "test_beam_translation.py",
    "test_filters.py", "test_twins.py", "test_bidirectional.py", "test_engine.py",
)  # fmt: skip

gc.disable()  # what is imported and collected stays


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    place = {name: number for number, name in enumerate(LONG)}
    items.sort(key=lambda item: place.get(item.path.name, len(LONG)))


@pytest.fixture(scope="module", autouse=True)
def _swept() -> None:
    """Free what the last file left; what is alive is not looked at again (0.5 s a look)."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The mirror of the public data sets; what needs it is skipped where it is absent."""
    named = os.environ.get("BOXPEN_TEST_DATA")
    path = Path(named) if named else Path(__file__).parents[2] / "shared" / "data"
    if not path.is_dir():
        pytest.skip("no mirror of the public data: set BOXPEN_TEST_DATA to its folder")
    return path


@pytest.fixture
def mirror(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same mirror, in the place where boxpen looks for one."""
    monkeypatch.setenv("BOXPEN_MIRROR", str(data_dir))
    return data_dir


@pytest.fixture(scope="session")
def gpt2_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkpoint of a tiny GPT-2 with random weights and a byte-level vocabulary."""
    pytest.importorskip("torch")
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.post_processor = processors.ByteLevel(trim_offsets=True)
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    text = ["The box is in the pen.", "The pen is in the box.", "The house by the river, the tree."]
    backend.train_from_iterator(text * 20, trainer)
    end = "<|endoftext|>"
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token=end, eos_token=end, unk_token=end
    )
    torch.manual_seed(7)
    config = GPT2Config(
        vocab_size=len(tokenizer), n_positions=256, n_embd=32, n_layer=2, n_head=2,
        bos_token_id=0, eos_token_id=0, initializer_range=0.5,
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("gpt2")
    GPT2LMHeadModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def gpt2(gpt2_dir: Path):
    """The same model, loaded."""
    import boxpen

    model = boxpen.resolve_model(f"hf:{gpt2_dir}")
    model.load()
    return model
