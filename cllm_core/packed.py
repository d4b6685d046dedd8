"""Linear layers whose weights lie in the order that the CPU's matrix kernels read them in: the same sums, sooner.

A pass of a few tokens through a plain layer reorders the weights anew each time. Here oneDNN does it once. Knows no
model family and no decoder; what it cannot pack it leaves alone.
"""

from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

_WIDTH = 16  # tokens a pass that the order is chosen for; other widths work too


class PackedLinear(nn.Module):
    """An nn.Linear for inference on a CPU: (..., in) -> (..., out), float32. The plain weight is not kept."""

    weight: Tensor  # packed: only its shape and dtype can be used outside
    bias: nn.Parameter | None

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.weight = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach().contiguous(), _WIDTH)
        self.bias = linear.bias

    def forward(self, x: Tensor) -> Tensor:
        output: Tensor = torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, "none", [], "")
        return output


@cache
def can_pack() -> bool:
    """Whether this build of torch has the kernels, and they give what a plain layer does.

    The two operations are not part of torch's public interface (its own compiler uses them), hence the trial.
    """
    with torch.no_grad():
        plain, x = nn.Linear(48, 80), torch.linspace(-1, 1, 3 * 48).reshape(1, 3, 48)
        try:
            packed = PackedLinear(plain)(x)
        except (AttributeError, RuntimeError, TypeError):
            return False
        return packed.shape == (1, 3, 80) and torch.allclose(packed, plain(x), atol=1e-5)


def pack_linears(model: Any) -> bool:
    """Replace the float32 linear layers of a model on a CPU, in place; return whether any was.

    The model can be used for inference only from then on.
    """
    chosen = [
        (parent, name, child)
        for parent in model.modules()
        for name, child in parent.named_children()
        if type(child) is nn.Linear and child.weight.device.type == "cpu" and child.weight.dtype == torch.float32
    ]
    if not chosen or not can_pack():
        return False
    packed: dict[nn.Linear, PackedLinear] = {}  # a layer that stands in two places stays one
    for parent, name, child in chosen:
        if child not in packed:
            packed[child] = PackedLinear(child)
        setattr(parent, name, packed[child])
    return True


def is_packed(model: Any) -> bool:
    """Whether `pack_linears` has replaced layers of this model."""
    return any(isinstance(module, PackedLinear) for module in model.modules())
