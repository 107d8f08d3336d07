"""From hidden states to log-probabilities, without ever storing a whole softmax.

A module is taken apart into its *body*, which gives hidden states, and what comes after it: the
output layer, and whatever the architecture does to the logits (a scale, a cap, a layer of its
own). What follows the body is evaluated for the wanted positions only, and in float32, whatever
the weights are: a bfloat16 logit of 20 is off by up to 0.06.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from boxpen.scoring.tree import Ints

if TYPE_CHECKING:
    import torch

__all__ = ["Head", "float_logits", "log_probabilities", "replaced"]

_CPU_ENTRIES = 1 << 20  # 4 MB of logits, which stay in the cache until they are summed
_GPU_ENTRIES = 1 << 27  # 512 MB
_ALIGNED = 256


class Head:
    """The part of a module that follows its body.

    Args:
        module: A Transformers model with an output layer.
        body: The part of it whose first output are the hidden states.
        reads: What the module calls the token ids that its body reads.
        **inputs: Additional inputs of the module.
    """

    def __init__(self, module: Any, body: Any, *, reads: str = "input_ids", **inputs: Any) -> None:
        self._module = module
        self._body = body
        self._reads = reads
        self._inputs = inputs
        self._linear: tuple[torch.Tensor, torch.Tensor | None] | None = None

    def calibrate(self, hidden: torch.Tensor, logits: torch.Tensor) -> float:
        """Find out from an example what follows the body; return the error of the result.

        Args:
            hidden: What the body gives, (rows, width).
            logits: What the module makes of it, (rows, vocab).
        """
        import torch

        truth = torch.log_softmax(logits.float(), dim=-1)
        found = self._logits(hidden)
        layer = self._module.get_output_embeddings()
        if isinstance(layer, torch.nn.Linear) and layer.in_features == hidden.shape[-1]:
            plain = _linear(hidden, layer.weight, layer.bias)
            if torch.allclose(plain, found, rtol=1e-5, atol=1e-5):  # nothing else is done to it
                self._linear = (layer.weight, layer.bias)
        apart = float((torch.log_softmax(found, dim=-1) - truth).abs().max())
        return apart if math.isfinite(apart) else math.inf

    def log_probabilities(self, hidden: torch.Tensor, rows: Ints, targets: Ints) -> torch.Tensor:
        """Return log p of some targets in float32.

        Args:
            hidden: (positions, width).
            rows: (wanted,), the position that predicts each target.
            targets: (wanted,).
        """
        import torch

        def moved(array: Ints) -> torch.Tensor:
            tensor = torch.from_numpy(array)
            if hidden.is_cuda:  # or else the GPU would be waited for
                tensor = tensor.pin_memory()
            return tensor.to(hidden.device, non_blocking=True)

        # Sorted out here and not on the device, which need not be waited for then.
        needed, which = np.unique(rows, return_inverse=True)
        used = hidden[moved(needed)]
        out = torch.empty(len(targets), dtype=torch.float32, device=hidden.device)
        if self._linear is None:
            for start in range(0, len(used), step := self._rows_at_once(hidden)):
                here = np.flatnonzero((which >= start) & (which < start + step))
                logits = self._logits(used[start : start + step])
                out[moved(here)] = log_probabilities(
                    logits, moved(which[here] - start), moved(targets[here])
                )
            return out
        weight, bias = self._linear
        norm = _log_sum_exp(used, weight, bias)  # (needed,)
        step = max(1, _entries(hidden) // hidden.shape[-1])
        for start in range(0, len(targets), step):
            part = slice(start, start + step)
            row, target = moved(which[part]), moved(targets[part])
            logit = (_exact(used[row]) * _exact(weight[target])).sum(-1)
            if bias is not None:
                logit += _exact(bias[target])
            out[part] = logit - norm[row]
        return out

    def _rows_at_once(self, hidden: torch.Tensor) -> int:
        config = self._module.config.get_text_config(decoder=True)
        vocabulary = int(getattr(config, "decoder_vocab_size", None) or config.vocab_size)
        return max(16, _entries(hidden) // vocabulary)

    def _logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return what the module makes of hidden states: its own forward pass, less the body."""
        import torch

        output = _output(hidden[None])
        ids = torch.zeros((1, len(hidden)), dtype=torch.int64, device=hidden.device)
        with replaced(self._body, lambda *_, **__: output), float_logits(self._module):
            logits: torch.Tensor = self._module(**{self._reads: ids}, **self._inputs).logits
        return logits[0].float()


def _output(hidden: torch.Tensor) -> Any:
    """Return what a body returns, with nothing in it but hidden states."""
    from transformers.modeling_outputs import BaseModelOutputWithPastAndCrossAttentions

    class Output(BaseModelOutputWithPastAndCrossAttentions):  # type: ignore[misc]
        def __getattr__(self, name: str) -> None:
            if name.startswith("__"):
                raise AttributeError(name)
            # Mixtures of experts look for the logits of their routers, and make do without.

    return Output(last_hidden_state=hidden)


def log_probabilities(
    logits: torch.Tensor, rows: torch.Tensor, targets: torch.Tensor
) -> torch.Tensor:
    """Return log p of targets from logits in float32, (positions, vocab); they are overwritten."""
    wanted = _exact(logits[rows, targets])
    top, total = _summed(logits)
    return (wanted - (top + total.log())[rows]).float()


@contextlib.contextmanager
def float_logits(module: Any) -> Iterator[None]:
    """Let the output layer of a half-precision module give its logits in float32."""
    import torch

    layer = module.get_output_embeddings()
    if not isinstance(layer, torch.nn.Linear) or layer.weight.dtype == torch.float32:
        yield
        return
    with replaced(layer, lambda hidden: _linear(hidden, layer.weight, layer.bias)):
        yield


@contextlib.contextmanager
def replaced(part: Any, forward: Any) -> Iterator[None]:
    """Give a part of a module another forward pass for a while."""
    before = vars(part).get("forward")
    part.forward = forward  # on the instance, before that of the class
    try:
        yield
    finally:
        if before is None:
            del part.forward
        else:
            part.forward = before


def _linear(hidden: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """Return logits in float32; halves are multiplied as they are and summed in float32."""
    import torch

    if weight.dtype == torch.float32:
        return torch.nn.functional.linear(hidden.float(), weight, bias)
    if hidden.is_cuda:
        rows = hidden.reshape(-1, hidden.shape[-1])
        product = _product(rows, weight.t()).view(*hidden.shape[:-1], -1)
    else:
        product = torch.nn.functional.linear(hidden.float(), weight.float())
    return product if bias is None else product + bias.float()


def _product(rows: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
    import torch

    try:
        return torch.mm(rows, columns, out_dtype=torch.float32)
    except (TypeError, NotImplementedError):  # before PyTorch 2.8, or not for this device
        return torch.mm(rows.float(), columns.float())


def _log_sum_exp(
    hidden: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None
) -> torch.Tensor:
    """Return log Σ exp over the vocabulary in float64, a tile of it at a time."""
    import torch

    # Matrix products are slow, above all on a GPU, where the lines are not aligned.
    fast = hidden.is_cuda and weight.dtype.itemsize < 4
    tile = max(1, _entries(hidden) // max(1, len(hidden)) // _ALIGNED) * _ALIGNED
    top = _exact(torch.full((len(hidden),), -torch.inf, device=hidden.device))
    total = torch.zeros_like(top)
    for start in range(0, len(weight), tile):
        part = slice(start, start + tile)
        logits = _linear(hidden, weight[part], None if bias is None else bias[part])
        highest, summed = _summed_fast(logits) if fast else _summed(logits)
        new = torch.maximum(top, highest)
        total = total * (top - new).exp() + summed * (highest - new).exp()
        top = new
    return top + total.log()


def _summed(logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the highest logit of every row, and Σ exp of all, less that one.

    The two are joined in float64: rounded to float32, each token would be off by up to 1e-6, and
    these errors add up over a long text. The logits are overwritten.
    """
    top = logits.amax(dim=-1)
    total = logits.sub_(top[:, None]).exp_().sum(dim=-1)
    return _exact(top), _exact(total)


def _summed_fast(logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the same in one pass, joined in float32: as exact as logits of halves deserve."""
    normaliser = logits[:, 0] - logits.log_softmax(dim=-1)[:, 0]
    return _exact(normaliser), _exact(normaliser.new_ones(len(normaliser)))


def _exact(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.float() if tensor.device.type == "mps" else tensor.double()  # MPS has no float64


def _entries(hidden: torch.Tensor) -> int:
    return _GPU_ENTRIES if hidden.is_cuda else _CPU_ENTRIES
