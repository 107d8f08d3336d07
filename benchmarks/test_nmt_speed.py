"""The peer of nmt_speed.py and boxpen end translations at the same length, and give the same."""

from argparse import Namespace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("sentencepiece")

from nmt_speed import translate  # noqa: E402

from boxpen.nmt.architectures.sizes import new_model  # noqa: E402
from boxpen.nmt.data.subwords import (  # noqa: E402
    EOS,
    PAD,
    SubwordConfig,
    train_subwords,
    vocabulary_sizes,
)

SOURCES = ["盒子在围栏里。", "男孩在找他的玩具。", "冬天湖水结冰了。", "他找到了。", "谁?"]
TARGETS = ["The box is in the pen.", "He looks for his toys.", "The lake freezes.", "Yes!", "Who?"]


@pytest.mark.parametrize("beam", [1, 4])
def test_both_end_at_the_same_length(tmp_path: Path, beam: int) -> None:
    """A model that has learnt nothing never ends by itself, so that the limit is all there is."""
    subwords = tmp_path / "model"
    train_subwords(
        SubwordConfig(size=420), SOURCES * 5, TARGETS * 5, subwords,
        source_language="zh", target_language="en",
    )  # fmt: skip
    source, target = vocabulary_sizes(subwords)
    torch.manual_seed(0)
    model = new_model(
        "transformer", "tiny", source_vocabulary=source, target_vocabulary=target, shared=False,
        pad=PAD, eos=EOS,
    )  # fmt: skip
    with torch.no_grad():  # two tokens that must not come
        model.final_logits_bias[0, [EOS, PAD]] = -1e9
    model.save_pretrained(tmp_path / "model")
    (tmp_path / "lines.zh").write_text("".join(f"{line}\n" for line in SOURCES), "utf-8")
    found = translate(
        Namespace(model=tmp_path / "model", source=tmp_path / "lines.zh", sentences=9, beam=beam)
    )
    assert found["sentences"] == len(SOURCES)
    assert found["same"] == 1.0
