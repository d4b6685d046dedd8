"""Losses of consistency training as pure functions of logits. Knows no batch layout and no model.

Definitions: docs/definitions.md, after Kou et al. 2024 (CLLMs), section 3.2. Which distribution teaches which, the
fixed point's (GC) or the next state's (LC), is the batch's business.
"""

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor

ConsistencyLoss = Callable[[Tensor, Tensor, Tensor], Tensor]


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Return -log p(target) at each position: logits (N, V), targets (N,) -> (N,) float32."""
    return F.cross_entropy(logits.float(), targets, reduction="none")


def forward_kl(student: Tensor, teacher: Tensor, targets: Tensor) -> Tensor:
    """Return KL(teacher || student) at each position, the teacher held constant: logits (N, V) twice -> (N,) float32.

    `targets` is not used: the soft loss needs the teacher alone.
    """
    expected = teacher.detach().float().log_softmax(-1)
    return F.kl_div(student.float().log_softmax(-1), expected, reduction="none", log_target=True).sum(-1)


def hard_targets(student: Tensor, teacher: Tensor, targets: Tensor) -> Tensor:
    """Return the cross-entropy on the target tokens, whatever the teacher says: shapes as `forward_kl`."""
    return cross_entropy(student, targets)


LOSSES: dict[str, ConsistencyLoss] = {
    "soft": forward_kl,
    "hard": hard_targets,
}
