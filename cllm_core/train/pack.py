"""Packs rows for one forward pass: [context, clean answer, noisy segments] under one boolean mask.

Each noisy segment sees the context, the clean answer before it and itself, at its own position ids, so the clean half
gives the AR loss and the teacher while every segment is a student, all in one pass. Knows ids only; no model, no loss.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from cllm_core.train.rows import State


@dataclass(frozen=True)
class Segment:
    """Guesses for the answer positions `start`, `start + 1`, ... of which the first is wrong.

    The guess at position q - 1 is the student cell for position q. Right guesses in front of the first wrong one are
    never packed: given them, the model predicts what it does on the clean answer.
    """

    start: int
    guesses: State
    end: int  # first answer position that guesses of this segment never reach (the end of its block, say)
    targets: State  # hard target of each cell
    teacher: "Segment | None" = None  # match this segment's distributions; None: those on the clean answer


@dataclass(frozen=True)
class Item:
    """What one row gives to a step: tokens to read, answer tokens to learn, and the noisy segments over them."""

    context: State  # the prompt, and the answer before the stretch that is learnt; at least one token
    answer: State  # at least one token
    segments: tuple[Segment, ...] = ()


@dataclass(frozen=True)
class PackedBatch:
    """Tensors of one forward pass over B rows padded to T tokens. Flat indices point into (B * T) tokens."""

    ids: Tensor  # (B, T) int64
    positions: Tensor  # (B, T) int64
    mask: Tensor  # (B, 1, T, T) bool, True where a token may attend
    ar_at: Tensor  # (A,) flat index of the token whose output predicts each answer token
    ar_ids: Tensor  # (A,) those answer tokens
    cell_at: Tensor  # (C,) flat index of each student cell
    teacher_at: Tensor  # (C,) flat index of the token whose output is its teacher
    cell_ids: Tensor  # (C,) its hard target
    weights: Tensor  # (C,) float32
    first: Tensor  # (C,) bool: the cell of the segment's first guess, the token after a wrong one
    tokens: int  # tokens that are not padding

    def to(self, device: torch.device | str) -> "PackedBatch":
        """Return the batch on a device."""
        moved: dict[str, Any] = {
            name: value.to(device) for name, value in vars(self).items() if isinstance(value, Tensor)
        }
        return replace(self, **moved)


def wrong_part(
    start: int, guesses: Sequence[int], answer: Sequence[int], *, end: int, targets: Sequence[int] | None = None
) -> Segment | None:
    """Return the segment that begins at the first wrong guess; None where no wrong guess has an answer token after it.

    `guesses[i]` is for answer position `start + i`. Guesses at or past `end`, or at or past the last answer position,
    are cut off: nothing that they predict is learnt. `targets[i]` is the hard target for position `start + i + 1`, by
    default the answer's token.
    """
    stop = min(start + len(guesses), end, len(answer) - 1)
    first = start
    while first < stop and guesses[first - start] == answer[first]:
        first += 1
    if first >= stop:
        return None
    hard = tuple(answer[first + 1 : stop + 1]) if targets is None else tuple(targets[first - start : stop - start])
    return Segment(first, tuple(guesses[first - start : stop - start]), end, hard)


def pack(items: Sequence[Item], *, decay: float = 1.0) -> PackedBatch:
    """Pack items into one batch. A cell `d` tokens behind the first wrong guess of its segment weighs `decay ** d`."""
    rows = [_lay_out(item, decay) for item in items]
    width = max(len(row.ids) for row in rows)
    flat: dict[str, list[int]] = {"ar_at": [], "cell_at": [], "teacher_at": []}
    for number, row in enumerate(rows):
        for name, indices in flat.items():
            indices.extend(number * width + index for index in getattr(row, name))
    return PackedBatch(
        ids=_padded([row.ids for row in rows], width),
        positions=_padded([row.positions for row in rows], width),
        mask=torch.stack([_mask(row, width) for row in rows])[:, None],
        ar_ids=torch.tensor([token for item in items for token in item.answer]),
        cell_ids=torch.tensor([token for row in rows for token in row.cell_ids], dtype=torch.int64),
        weights=torch.tensor([weight for row in rows for weight in row.weights], dtype=torch.float32),
        first=torch.tensor([first for row in rows for first in row.first], dtype=torch.bool),
        tokens=sum(len(row.ids) for row in rows),
        **{name: torch.tensor(indices, dtype=torch.int64) for name, indices in flat.items()},
    )


@dataclass
class _Layout:
    """One row's tokens in order, and where its losses are (indices into the row)."""

    ids: list[int]
    positions: list[int]
    visible: list[int]  # per token: how many of the row's first tokens it sees
    group: list[int]  # per token: its segment's number, -1 on the clean half
    ar_at: list[int]
    cell_at: list[int]
    teacher_at: list[int]
    cell_ids: list[int]
    weights: list[float]
    first: list[bool]


def _lay_out(item: Item, decay: float) -> _Layout:
    prompt, clean = len(item.context), len(item.context) + len(item.answer) - 1  # the last answer token is not fed
    row = _Layout(
        ids=[*item.context, *item.answer[:-1]],
        positions=list(range(clean)),
        visible=list(range(1, clean + 1)),
        group=[-1] * clean,
        ar_at=list(range(prompt - 1, clean)),
        cell_at=[],
        teacher_at=[],
        cell_ids=[],
        weights=[],
        first=[],
    )
    placed: dict[int, int] = {}  # id of a segment -> index of its first token
    for segment in item.segments:
        if segment.teacher is not None and id(segment.teacher) not in placed:
            placed[id(segment.teacher)] = _place(row, segment.teacher, prompt)
        if id(segment) not in placed:
            placed[id(segment)] = _place(row, segment, prompt)
        _supervise(row, segment, prompt, placed, decay)
    return row


def _place(row: _Layout, segment: Segment, prompt: int) -> int:
    at, width = len(row.ids), len(segment.guesses)
    row.ids += segment.guesses
    row.positions += range(prompt + segment.start, prompt + segment.start + width)
    row.visible += [prompt + segment.start] * width
    row.group += [row.group[-1] + 1] * width
    return at


def _supervise(row: _Layout, segment: Segment, prompt: int, placed: dict[int, int], decay: float) -> None:
    at, teacher = placed[id(segment)], segment.teacher
    for distance in range(len(segment.guesses)):
        guessed = segment.start + distance  # the cell is fed this position's guess and predicts the next one
        row.cell_at.append(at + distance)
        if teacher is None or guessed < teacher.start:
            row.teacher_at.append(prompt + guessed)
        else:
            row.teacher_at.append(placed[id(teacher)] + guessed - teacher.start)
        row.weights.append(decay**distance)
        row.first.append(distance == 0)
    row.cell_ids += segment.targets


def _padded(rows: Sequence[Sequence[int]], width: int) -> Tensor:
    return torch.tensor([[*row, *[0] * (width - len(row))] for row in rows])


def _mask(row: _Layout, width: int) -> Tensor:
    """Return (width, width): the clean prefix that each token sees, its own segment up to itself, padding itself."""
    column = torch.arange(width)
    padding = width - len(row.ids)
    visible = torch.tensor(row.visible + [0] * padding)[:, None]
    group = torch.tensor(row.group + [-1] * padding)
    together = (group[:, None] == group[None]) & (group >= 0)[:, None] & (column[None] <= column[:, None])
    return (column[None] < visible) | together | torch.eye(width, dtype=torch.bool)
