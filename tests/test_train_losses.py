import math

import pytest
import torch
from torch import nn

from cllm_core.train.head import sum_in_chunks
from cllm_core.train.losses import LOSSES, cross_entropy, forward_kl


def test_forward_kl_has_the_known_value_and_its_gradient_is_p_minus_q():
    student = torch.log(torch.tensor([[0.5, 0.25, 0.25]])).requires_grad_()
    teacher = torch.log(torch.tensor([[0.5, 0.5, 1e-12]])).requires_grad_()
    loss = forward_kl(student, teacher, torch.tensor([0]))
    assert loss.item() == pytest.approx(0.5 * math.log(2), abs=1e-5)
    loss.sum().backward()
    assert torch.allclose(student.grad, torch.tensor([[0.0, -0.25, 0.25]]), atol=1e-6)
    assert teacher.grad is None  # the teacher is detached


def test_forward_kl_of_equal_distributions_is_zero_and_finite_even_for_huge_logits():
    logits = torch.tensor([[1e4, -1e4, 0.0], [0.0, 0.0, 0.0]])
    assert forward_kl(logits, logits, torch.tensor([0, 0])).tolist() == [0.0, 0.0]


def test_hard_targets_are_cross_entropy_whatever_the_teacher_says():
    logits, targets = torch.randn(4, 7), torch.tensor([1, 2, 3, 6])
    assert torch.equal(LOSSES["hard"](logits, torch.randn(4, 7), targets), cross_entropy(logits, targets))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("chunk", [1, 3, 100])
def test_a_sum_in_chunks_has_the_plain_value_and_gradients(chunk, bias):
    head, targets = nn.Linear(5, 11, bias=bias), torch.randint(11, (7,))
    plain, chunked = (torch.randn(7, 5, generator=torch.Generator().manual_seed(1)).requires_grad_() for _ in range(2))

    (3 * cross_entropy(head(plain), targets).sum()).backward()
    expected = [plain.grad, *(parameter.grad.clone() for parameter in head.parameters())]
    head.zero_grad()
    total = sum_in_chunks(
        chunked, head, lambda logits, at: cross_entropy(logits, targets[at : at + len(logits)]).sum(), chunk=chunk
    )
    (3 * total).backward()

    assert total.item() == pytest.approx(cross_entropy(head(plain), targets).sum().item(), rel=1e-5)
    for found, wanted in zip([chunked.grad, *(p.grad for p in head.parameters())], expected, strict=True):
        assert torch.allclose(found, wanted, atol=1e-5)


def test_a_long_row_over_a_large_vocabulary_never_holds_all_its_logits():
    """512 positions x 50,000 words are 100 MB a copy in fp32; several copies ended real runs."""
    head, hidden, widest = nn.Linear(4, 50_000, bias=False), torch.randn(512, 4, requires_grad=True), 0

    def loss(logits, at):
        nonlocal widest
        widest = max(widest, logits.numel())
        return logits.logsumexp(-1).sum()

    sum_in_chunks(hidden, head, loss, chunk=32).backward()
    assert widest == 32 * 50_000
    assert hidden.grad.abs().sum() > 0


def test_a_sum_over_nothing_is_zero_and_still_has_a_gradient():
    head, hidden = nn.Linear(5, 11), torch.zeros(0, 5, requires_grad=True)
    total = sum_in_chunks(hidden, head, lambda logits, at: logits.sum(), chunk=4)
    total.backward()
    assert total.item() == 0
    assert head.weight.grad.abs().sum() == 0


def test_no_copy_of_the_output_layer_is_kept_for_each_chunk():
    """Autocast caches the half-precision copy of every weight it meets until the pass is over: one a chunk."""
    head, hidden = torch.nn.Linear(8, 50), torch.randn(64, 8, requires_grad=True)
    cached = []

    def loss(logits, start):
        cached.append(torch.is_autocast_cache_enabled())
        return logits.float().logsumexp(-1).sum()

    with torch.autocast("cpu", torch.bfloat16):
        sum_in_chunks(hidden, head, loss, chunk=16).backward()
        assert torch.is_autocast_cache_enabled()
    assert cached == [False] * 4
    assert head.weight.grad.abs().sum() > 0
