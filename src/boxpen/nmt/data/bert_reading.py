"""What BERT reads beside a translation model: [CLS] context [SEP] source [SEP], in its own tokens.

BERT has a vocabulary of its own, so its tokenizer goes wherever the model goes: beside a saved
BERT-fused model, in the folder ``bert``. Both sentences are read as segment 0, as in the code of
Zhu et al. (github.com/bert-nmt/bert-nmt).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boxpen.errors import NmtError
from boxpen.files import new_folder
from boxpen.models.engine.quiet import quiet
from boxpen.models.loading.trust import foreign_attention

if TYPE_CHECKING:
    from transformers import BertModel, PreTrainedTokenizerBase

__all__ = ["FOLDER", "BertReader", "load_bert"]

FOLDER = "bert"
"""Where BERT's tokenizer is, beside a saved BERT-fused model."""


class BertReader:
    """Turns sentences and their contexts into BERT's input.

    Args:
        folder_or_tokenizer: A folder of a BERT, the folder of a saved BERT-fused model or the
            folder ``bert`` in it, or a tokenizer of BERT.
        max_length: Maximum tokens per row; fewer, if the BERT of the folder takes fewer.

    Raises:
        NmtError: If the folder holds no BERT, or one of another tokenizer.
    """

    def __init__(
        self, folder_or_tokenizer: Path | str | PreTrainedTokenizerBase, max_length: int = 512
    ) -> None:
        self.max_length = max_length
        self.tokenizer: Any = folder_or_tokenizer
        place, shape = "the tokenizer", None
        if isinstance(folder_or_tokenizer, Path | str):
            folder = Path(folder_or_tokenizer)
            if folder.name == FOLDER and not (folder / "config.json").exists():
                folder = folder.parent  # of a BERT-fused model
            shape = _shape(folder)
            # The folder of a BERT-fused model has the tokenizer of its sentence-level model too.
            folder = folder / FOLDER if shape["fused"] else folder
            place, self.tokenizer = str(folder), _tokenizer(folder)
        for name in ("cls", "sep", "pad", "unk"):
            if getattr(self.tokenizer, f"{name}_token_id", None) is None:
                raise NmtError(
                    f"{place} has no [{name.upper()}] token, expected a tokenizer of BERT"
                )
        if shape is None:
            return
        known, vocabulary = len(self.tokenizer), shape["vocab_size"]
        if known != vocabulary:
            raise NmtError(
                f"{place} has {known:,} tokens, but BERT's embedding has {vocabulary:,}: it "
                "is a BERT of another tokenizer"
            )
        self.max_length = min(max_length, shape["max_position_embeddings"])

    def sentence_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the tokens of texts, without [CLS] and [SEP]."""
        if not texts:
            return []
        with quiet(silent=False):  # it would warn of lengths, which only ``joined`` knows
            read = self.tokenizer(
                list(texts),
                add_special_tokens=False,
                return_attention_mask=False,
                return_token_type_ids=False,
            )
        found: list[list[int]] = read["input_ids"]
        return found

    def joined(self, context_ids: Sequence[int], source_ids: Sequence[int]) -> list[int]:
        """Return [CLS] context [SEP] source [SEP], or [CLS] source [SEP] without context.

        A context that is too long loses its beginning: the text next to the source matters most.

        Raises:
            NmtError: If the source alone is longer than BERT takes.
        """
        cls, sep = self.tokenizer.cls_token_id, self.tokenizer.sep_token_id
        if len(source_ids) + 2 > self.max_length:
            raise NmtError(
                f"a sentence has {len(source_ids)} tokens of BERT, expected {self.max_length - 2} "
                f"at most, for with [CLS] and [SEP] BERT takes {self.max_length}"
            )
        room = max(self.max_length - len(source_ids) - 3, 0)
        kept = list(context_ids)[max(len(context_ids) - room, 0) :]
        return [cls, *kept, sep, *source_ids, sep] if kept else [cls, *source_ids, sep]

    def save_bert_tokenizer(self, folder: Path) -> None:
        """Write the tokenizer beside a saved model, into its folder ``bert``.

        Raises:
            NmtError: If it cannot be written; then what was there stays.
        """
        with new_folder(folder / FOLDER, NmtError) as new:
            self.tokenizer.save_pretrained(str(new))


def load_bert(folder: Path | str) -> BertModel:
    """Load a BERT, without what it has above its last layer, for a BERT-fused model.

    Raises:
        NmtError: If the folder holds none.
    """
    from transformers import BertConfig, BertModel

    place = Path(folder)
    if _shape(place)["fused"]:
        raise NmtError(f"{place} holds a BERT-fused model, expected a BERT alone")
    try:
        with quiet():
            config = BertConfig.from_pretrained(str(place), local_files_only=True)
            if why := foreign_attention(config):
                raise NmtError(why)
            bert, report = BertModel.from_pretrained(
                str(place),
                config=config,
                add_pooling_layer=False,
                local_files_only=True,
                output_loading_info=True,
            )
    except Exception as error:  # of many kinds: a file is missing, cut short, of another shape
        raise NmtError(f"the BERT of {place} cannot be loaded ({_first_line(error)})") from error
    if report["missing_keys"]:
        missing = min(report["missing_keys"])
        raise NmtError(f"the BERT of {place} lacks the weight '{missing}', expected all of them")
    loaded: BertModel = bert
    return loaded.eval()


def _shape(folder: Path) -> dict[str, Any]:
    """Return the size of BERT's vocabulary and its positions, and whether it is in a fused model.

    Raises:
        NmtError: If the folder is that of neither.
    """
    path = folder / "config.json"
    try:
        settings = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise NmtError(
            f"{folder} is not a BERT: its config.json cannot be read ({reason})"
        ) from None
    kind = settings.get("model_type") if isinstance(settings, dict) else None
    if kind not in ("bert", "bert_fused"):
        raise NmtError(
            f"{folder} is not a BERT: its config.json has the model_type '{kind}', expected 'bert' "
            "or 'bert_fused'"
        )
    inner = settings.get("bert_config") if kind == "bert_fused" else settings
    shape: dict[str, Any] = {"fused": kind == "bert_fused"}
    for name in ("vocab_size", "max_position_embeddings"):
        value = inner.get(name) if isinstance(inner, dict) else None
        if not isinstance(value, int):
            raise NmtError(f"{path}: {name} of BERT is {value!r}, expected a number")
        shape[name] = value
    return shape


def _tokenizer(folder: Path) -> Any:
    from transformers import AutoTokenizer

    if not any((folder / name).is_file() for name in ("tokenizer.json", "vocab.txt")):
        raise NmtError(
            f"{folder} has no tokenizer of BERT, expected tokenizer.json or vocab.txt in it"
        )
    try:
        with quiet():
            return AutoTokenizer.from_pretrained(
                str(folder), local_files_only=True, trust_remote_code=False
            )
    except Exception as error:  # of many kinds: not JSON, no known class, a field that is missing
        raise NmtError(
            f"the tokenizer of {folder} cannot be loaded ({_first_line(error)})"
        ) from error


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0] or type(error).__name__
