"""The model being trained, with its losses inside one forward call, so that it can be wrapped for many devices.

Knows packed batches; no data, no optimizer and no file.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from cllm_core.errors import UnsupportedModel
from cllm_core.train.head import best_tokens, sum_in_chunks
from cllm_core.train.losses import LOSSES, cross_entropy
from cllm_core.train.pack import Item, PackedBatch, pack, wrong_part


@dataclass(frozen=True)
class LossSums:
    """Losses of one packed batch, summed over its positions; divide by the step's own counts."""

    ar: Tensor  # scalar: cross-entropy summed over the answer tokens
    consistency: Tensor  # scalar: weighted consistency loss summed over the student cells
    right: Tensor  # (C,) bool: whether each student cell's best token is its hard target


class Student(nn.Module):
    """A causal language model whose forward call takes a packed batch and returns its losses."""

    def __init__(self, lm: Any, *, loss: str = "soft", chunk: int = 128) -> None:
        super().__init__()
        self.lm: Any = lm
        self._loss, self._chunk = LOSSES[loss], chunk

    @property
    def head(self) -> nn.Linear:
        """The output layer: hidden states (N, H) to logits (N, V)."""
        layer: nn.Linear = self.lm.get_output_embeddings()
        return layer

    def hidden(self, batch: PackedBatch) -> Tensor:
        """Return the last hidden states (B * T, H): logits are computed only where something needs them."""
        body = getattr(self.lm, self.lm.base_model_prefix)
        output: Any = body(
            input_ids=batch.ids, position_ids=batch.positions, attention_mask=batch.mask, use_cache=False
        )
        states: Tensor = output.last_hidden_state
        return states.flatten(0, 1)

    def forward(self, batch: PackedBatch) -> LossSums:
        """Return the AR loss on the clean halves and the consistency loss of the segments, in one pass."""
        hidden = self.hidden(batch)
        right = torch.zeros(len(batch.cell_at), dtype=torch.bool, device=hidden.device)
        constant = hidden.detach()

        def ar(logits: Tensor, start: int) -> Tensor:
            return cross_entropy(logits, batch.ar_ids[start : start + len(logits)]).sum()

        def consistency(logits: Tensor, start: int) -> Tensor:
            cells = slice(start, start + len(logits))
            shared, index = torch.unique(
                batch.teacher_at[cells], return_inverse=True
            )  # windows overlap: one teacher for many
            with torch.no_grad():
                teacher = self.head(constant[shared])[index]
            targets = batch.cell_ids[cells]
            right[cells] = logits.detach().argmax(-1) == targets
            return (self._loss(logits, teacher, targets) * batch.weights[cells]).sum()

        return LossSums(
            ar=sum_in_chunks(hidden[batch.ar_at], self.head, ar, chunk=self._chunk),
            consistency=sum_in_chunks(hidden[batch.cell_at], self.head, consistency, chunk=self._chunk),
            right=right,
        )

    @torch.no_grad()
    def predict(self, batch: PackedBatch) -> list[int]:
        """Return the model's choice at every student cell, in the batch's order."""
        return best_tokens(self.hidden(batch)[batch.cell_at], self.head, chunk=self._chunk)


def split_predictions(predicted: Sequence[int], items: Sequence[Item]) -> list[list[Sequence[int]]]:
    """Cut a batch's predictions into one list a segment, grouped by item."""
    at, grouped = 0, []
    for item in items:
        rows = []
        for segment in item.segments:
            rows.append(predicted[at : at + len(segment.guesses)])
            at += len(segment.guesses)
        grouped.append(rows)
    return grouped


@torch.no_grad()
def check_packing(lm: Any, name: str) -> None:
    """Raise UnsupportedModel unless the packed forward predicts what separate forwards do.

    Feeds a short answer with one noisy segment, packed and unpacked: an architecture that ignores the mask or the
    position ids, or that computes its logits otherwise than by a linear head on its last hidden state, shows here.
    """
    if _has_sliding_windows(lm.config):
        raise UnsupportedModel(
            f"{name} has layers that see only a sliding window, which one mask for all layers cannot describe. Use a "
            "model whose layers all see the whole text."
        )
    training = lm.training
    lm.eval()
    device = next(lm.parameters()).device
    head: Any = lm.get_output_embeddings()
    ids = [token % head.weight.shape[0] for token in (11, 5, 23, 7, 42, 3, 19, 31, 2, 13)]
    context, answer, guesses = tuple(ids[:3]), tuple(ids[3:8]), (ids[8], ids[9], ids[8])
    segment = wrong_part(1, guesses, answer, end=4)
    assert segment is not None
    batch = pack([Item(context, answer, (segment,))]).to(device)
    try:
        student = Student(lm)
        hidden = student.hidden(batch)
        packed = student.head(torch.cat([hidden[batch.ar_at], hidden[batch.cell_at]])).float()
        clean = lm(torch.tensor([[*context, *answer[:-1]]], device=device)).logits[0, len(context) - 1 :]
        noisy = lm(torch.tensor([[*context, *answer[:1], *guesses]], device=device)).logits[0, -len(segment.guesses) :]
    except (TypeError, AttributeError, ValueError, RuntimeError) as error:
        raise UnsupportedModel(f"{name} cannot be trained on packed blocks: {error}") from error
    finally:
        lm.train(training)
    apart = torch.cat([clean, noisy]).float()
    gap = float((packed - apart).abs().max() / apart.std())
    if not gap < (1e-3 if hidden.dtype == torch.float32 else 0.2):
        raise UnsupportedModel(
            f"{name} ({type(lm).__name__}) does not follow the packed batch's mask and positions (gap {gap:.2g}), so "
            "training it would be wrong. Use a Llama-like model with SDPA attention."
        )


def _has_sliding_windows(config: Any) -> bool:
    layers = getattr(config, "layer_types", None)
    if layers:
        return any("sliding" in layer or "chunked" in layer for layer in layers)
    return bool(getattr(config, "sliding_window", None))
