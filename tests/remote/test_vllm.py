"""vLLM itself, in float32: both of its ways to give log-probabilities equal the local scorer.

It needs an environment of its own and a minute to start, so it runs where ``BOXPEN_VLLM`` names
its executable (docs/results/servers.md). ``test_remote_scoring.py`` covers the same code with a
stand-in.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest

import boxpen
from boxpen.models.remote.client import Client
from boxpen.models.remote.model import RemoteModel
from boxpen.models.remote.probe import _Probe, probe
from boxpen.models.remote.settings import settings_of
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.requests import Request

VLLM = os.environ.get("BOXPEN_VLLM")
pytestmark = [
    pytest.mark.skipif(not VLLM, reason="vLLM: set BOXPEN_VLLM to its executable"),
    pytest.mark.timeout(900),
]
pytest.importorskip("httpx")

TEXTS = [
    *(Request(f"The {a} is in the {b}.") for a in ("box", "pen") for b in ("river", "tree")),
    Request(" in the pen.", prefix="The box is"),
    Request("The house by the river. " * 8),
    Request("盒子在围栏里。"),
]


@pytest.fixture(scope="module")
def llama_dir(gpt2_dir, tmp_path_factory):
    """A tiny Llama with random weights: vLLM has no kernels for heads as small as our GPT-2's."""
    import torch
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    folder = tmp_path_factory.mktemp("llama")
    tokenizer = AutoTokenizer.from_pretrained(gpt2_dir)
    torch.manual_seed(7)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=128, intermediate_size=256, num_hidden_layers=2,
        num_attention_heads=2, max_position_embeddings=256, initializer_range=0.3,
        bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def url(llama_dir):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert VLLM
    log = llama_dir / "vllm.log"
    with log.open("wb") as stream:
        server = subprocess.Popen(
            [
                VLLM, "serve", str(llama_dir), "--served-model-name", "tiny", "--dtype", "float32",
                "--host", "127.0.0.1", "--port", str(port), "--enforce-eager",
            ],
            stdout=stream,
            stderr=stream,
            env={
                **{k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
                "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1",
            },
        )  # fmt: skip
    try:
        while not answers(port):
            assert server.poll() is None, log.read_text("utf-8", "replace")[-2000:]
            time.sleep(1)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(60)


def answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
            return True
    except OSError:
        return False


@pytest.mark.parametrize("access", ["prompt_logprobs", "echo"])
@pytest.mark.parametrize("bos", ["always", "never"])
def test_it_equals_the_local_scorer(llama_dir: Path, url, access, bos, tmp_path):
    config = tmp_path / "vllm.toml"  # /tokenize does not name the BOS token
    config.write_text(f'url = "{url}"\nmodel = "tiny"\ntokenizer = "{llama_dir}"\n')
    spec = f"api:{config}"
    settings = settings_of(spec)
    client = Client(spec, settings)
    findings = probe(client, settings)
    assert findings.access == "prompt_logprobs"
    assert findings.tokenizer is not None
    if access == "echo":
        _Probe(client, settings, findings).check("echo")
        findings.access = "echo"
    remote = RemoteModel(spec, client, settings, findings)
    found = []
    for model in (remote, boxpen.resolve_model(f"hf:{llama_dir}")):
        scored = model.score(TEXTS, model.resolve_policy(ScoringPolicy(bos=bos)))
        records = dict(pair for batch in scored for pair in batch)
        found.append([records[n] for n in range(len(TEXTS))])
    assert not remote.unanswered
    for theirs, ours in zip(*found, strict=True):
        assert theirs.token_ids.tolist() == ours.token_ids.tolist()
        assert theirs.total == pytest.approx(ours.total, abs=0.02)
