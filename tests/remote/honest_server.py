"""A small OpenAI-compatible server over Transformers, honest or faulty on demand.

It computes log-probabilities in the plainest way (one text, one forward pass) and speaks the
protocols of vLLM (``echo``, ``prompt_logprobs``, ``/tokenize``) and llama.cpp (forced tokens).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from json_server import JsonServer
from transformers import AutoModelForCausalLM, AutoTokenizer

CUT = 24  # tokens that a truncating server reads


@functools.cache
def _loaded(folder: Path) -> tuple[Any, Any]:
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    return AutoTokenizer.from_pretrained(folder), model


class HonestServer(JsonServer):
    """Serves one model in a thread, and logs what it is asked.

    Args:
        folder: The checkpoint.
        serves: Of ``echo``, ``prompt_logprobs``, ``forced``, ``tokenize``, ``chat``.
        bos: Whether BOS is put before a text.
        key: What a client must send.
        fault: What is wrong with it, see ``spoilt`` and ``JsonServer``.
        named: Whether answers name the ids of generated tokens, as llama.cpp's do.
    """

    def __init__(
        self,
        folder: Path,
        *,
        serves: tuple[str, ...] = ("echo",),
        bos: bool = True,
        key: str | None = None,
        fault: str = "",
        named: bool = True,
        delay: float = 0.0,
        fails: Callable[[dict[str, Any]], int] = lambda body: 0,
    ) -> None:
        self.tokenizer, self.model = _loaded(folder)
        super().__init__(key=key, fault=fault, delay=delay)
        self.serves, self.bos, self.named, self.fails = serves, bos, named, fails
        self.spec = f"api:{self.url}/v1#tiny"

    def completions(self) -> list[dict[str, Any]]:
        """Return the bodies of all requests to ``/completions``."""
        with self.lock:
            return [body for path, body in self.log if path.endswith("/v1/completions")]

    def answer(self, path: str, body: dict[str, Any], headers: dict[str, str]) -> tuple[int, Any]:
        if denied := self.denied(headers):
            return denied
        if path == "/v1/models":
            return 200, {"data": [{"id": "tiny", "max_model_len": 256}]}
        if path == "/tokenize" and "tokenize" in self.serves:
            if "prompt" not in body:
                return 400, {"error": {"message": "prompt is missing"}}
            ids = self.ids(body["prompt"], bos=body["add_special_tokens"] and self.bos)
            named = {"token_strs": self.tokenizer.convert_ids_to_tokens(ids)}
            return 200, {"tokens": ids, "count": len(ids)} | (
                named if body.get("return_token_strs") else {}
            )
        if path == "/v1/chat/completions" and "chat" in self.serves:
            return 200, {"choices": [{"message": {"role": "assistant", "content": "yes"}}]}
        if path != "/v1/completions" or not set(self.serves) - {"chat", "tokenize"}:
            return 404, {"error": {"message": f"no {path}"}}
        if body["model"] != "tiny":
            return 404, {"error": {"message": f"The model `{body['model']}` does not exist."}}
        if status := self.fails(body):
            return status, {"error": {"message": f"it failed, {headers.get('Authorization')}"}}
        prompt = body["prompt"]
        ids = self.ids(prompt, bos=self.bos) if isinstance(prompt, str) else list(prompt)
        if len(ids) > 255:
            return 400, {
                "error": {"message": f"maximum context length is 256, you sent {len(ids)}"}
            }
        if self.fault == "truncated":
            ids = ids[-CUT:]
        return 200, self.spoilt(self.completed(ids, body), body)

    def ids(self, text: str, *, bos: bool) -> list[int]:
        plain = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return [self.tokenizer.bos_token_id, *plain] if bos else plain

    def completed(self, ids: list[int], body: dict[str, Any]) -> dict[str, Any]:
        with self.lock, torch.no_grad():
            logits = self.model(torch.tensor([ids])).logits[0].double()
        scores = torch.log_softmax(logits, dim=-1)
        values = [None, *(float(scores[i - 1, ids[i]]) for i in range(1, len(ids)))]
        biased = logits[-1].clone()
        for token, bias in body.get("logit_bias", {}).items():
            biased[int(token)] += bias
        made = int(biased.argmax())
        last = torch.log_softmax(biased, dim=-1) if self.fault == "biased" else scores[-1]
        answer: dict[str, Any] = {
            "model": "tiny",
            "system_fingerprint": "fp_1",
            "usage": {"prompt_tokens": len(ids), "completion_tokens": 1},
        }
        choice: dict[str, Any] = {"text": self.shown(made), "logprobs": None}
        if body.get("logprobs"):
            top = torch.topk(scores[-1], min(body["logprobs"], len(scores[-1]))).indices.tolist()
            choice["logprobs"] = self.listed(made, float(last[made]), top, scores[-1])
        if "echo" in self.serves and body.get("echo"):
            choice["text"] = self.tokenizer.decode(ids) + choice["text"]
            if body.get("logprobs"):
                choice["logprobs"] = {
                    "tokens": [self.shown(i) for i in [*ids, made]],
                    "token_logprobs": [*values, float(scores[-1][made])],
                }
        if "prompt_logprobs" in self.serves and body.get("prompt_logprobs"):
            entries: list[Any] = [None]
            for i in range(1, len(ids)):
                best = int(scores[i - 1].argmax())
                rank = int((scores[i - 1] > scores[i - 1, ids[i]]).sum()) + 1
                entries.append({str(ids[i]): self.entry(ids[i], values[i], rank)})
                if best != ids[i]:
                    entries[-1][str(best)] = self.entry(best, float(scores[i - 1, best]), 1)
            choice["prompt_logprobs"] = entries
        return answer | {"choices": [choice]}

    def entry(self, token: int, value: float | None, rank: int) -> dict[str, Any]:
        return {"logprob": value, "rank": rank, "decoded_token": self.shown(token)}

    def listed(self, made: int, value: float, top: list[int], scores: Any) -> dict[str, Any]:
        if not self.named:  # as in the older protocol
            shown = {self.shown(i): float(scores[i]) for i in top}
            return {
                "tokens": [self.shown(made)],
                "token_logprobs": [value],
                "top_logprobs": [shown],
            }
        likely = [{"id": i, "token": self.shown(i), "logprob": float(scores[i])} for i in top]
        first = {"id": made, "token": self.shown(made), "logprob": value, "top_logprobs": likely}
        return {"content": [first]}

    def shown(self, token: int) -> str:
        return self.tokenizer.decode([token])

    def spoilt(self, answer: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
        """Falsify the log-probabilities of a prompt, and of forced tokens."""
        choice = answer["choices"][0]
        found = choice["logprobs"] or {}
        if self.fault == "random":
            return _mapped(answer, lambda value: value + self.chance.uniform(-1, 0))
        if self.fault == "zeros":
            return _mapped(answer, lambda value: 0.0)
        if self.fault == "constant":
            return _mapped(answer, lambda value: -1.5)
        if self.fault == "positive":
            return _mapped(answer, lambda value: -value)
        if self.fault == "shifted" and "token_logprobs" in found and body.get("echo"):
            found["token_logprobs"] = [*found["token_logprobs"][1:], -1.0]
        if self.fault == "shifted_back" and "token_logprobs" in found and body.get("echo"):
            found["token_logprobs"] = [None, -1.0, *found["token_logprobs"][1:-1]]
        return answer


def _mapped(found: Any, change: Callable[[float], float], key: str = "") -> Any:
    """Change every number that is a log-probability."""
    if isinstance(found, dict):
        return {
            k: _mapped(v, change, "logprob" if key == "top_logprobs" else k)
            for k, v in found.items()
        }
    if isinstance(found, list):
        return [_mapped(v, change, key) for v in found]
    logprob = key in ("logprob", "token_logprobs") and isinstance(found, float)
    return change(found) if logprob else found
