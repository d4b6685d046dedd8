"""The output layer over a large vocabulary, a chunk of positions at a time, so that their logits are never all alive.

Knows no loss and no batch layout.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

LossOfLogits = Callable[[Tensor, int], Tensor]  # (logits of some positions, number of the first) -> their summed loss


@torch.no_grad()
def best_tokens(hidden: Tensor, head: nn.Module, *, chunk: int = 256) -> list[int]:
    """Return the most probable id at each position: hidden (N, H) -> N ids, the lowest one of a tie."""
    parts = range(0, len(hidden), chunk)
    return [token for at in parts for token in head(hidden[at : at + chunk]).argmax(-1).tolist()]


def sum_in_chunks(hidden: Tensor, head: nn.Linear, loss: LossOfLogits, *, chunk: int) -> Tensor:
    """Return the sum of `loss(head(hidden))` over positions, with at most `chunk` rows of logits alive at a time.

    hidden (N, H) -> scalar. The gradients are computed in the forward pass, chunk by chunk, so nothing of size N x V
    is ever kept and the head is not run twice. `loss` may hold further tensors, but no gradient flows into them.
    """
    total: Tensor = _SumInChunks.apply(hidden, head.weight, head.bias, loss, chunk)  # type: ignore[no-untyped-call]
    return total


@contextmanager
def _no_autocast_cache() -> Iterator[None]:
    """Keep autocast from holding a half-precision copy of the layer for every chunk until the whole pass is over."""
    before = torch.is_autocast_cache_enabled()
    torch.set_autocast_cache_enabled(False)
    try:
        yield
    finally:
        torch.set_autocast_cache_enabled(before)


class _SumInChunks(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor | None, loss: LossOfLogits, chunk: int
    ) -> Tensor:
        sources: list[Any] = [hidden, weight, bias]
        wanted = [index for index in range(3) if ctx.needs_input_grad[index]]
        grads: list[Any] = [torch.zeros_like(sources[index]) if index in wanted else None for index in range(3)]
        total = hidden.new_zeros((), dtype=torch.float32)
        with _no_autocast_cache():
            for start in range(0, len(hidden), chunk):
                rows = slice(start, start + chunk)
                parts = (hidden[rows], weight, bias)
                inputs: list[Any] = [None if part is None else part.detach() for part in parts]
                for index in wanted:
                    inputs[index].requires_grad_()
                with torch.set_grad_enabled(bool(wanted)):
                    value = loss(F.linear(*inputs), start)
                total += value.detach()
                if wanted:
                    found = torch.autograd.grad(value, [inputs[index] for index in wanted])
                    for index, grad in zip(wanted, found, strict=True):
                        (grads[index][rows] if index == 0 else grads[index]).add_(grad)
        ctx.save_for_backward(*grads)
        return total

    @staticmethod
    def backward(ctx: Any, *outputs: Tensor) -> Any:
        (scale,) = outputs
        scaled = [None if grad is None else grad * scale.to(grad.dtype) for grad in ctx.saved_tensors]
        return (*scaled, None, None)
