"""The Jacobi states of every block of an answer, all blocks and many rows at once, as one block at a time gives them.

The answer is known already, so no block waits for the one before it: a pass feeds every block's state, each seeing the
clean prefix before it and itself. Knows ids and a model; no task and no file.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from cllm_core.train.answers import ReadRow
from cllm_core.train.head import best_tokens
from cllm_core.train.kvcache import GrowingCache
from cllm_core.train.rows import State

CELLS = {"cpu": 1024}  # guesses fed in one pass, about: on a CPU wider passes gain nothing
CELLS_ELSEWHERE = 8192


@dataclass
class _Block:
    """A block on its way to its fixed point. `states` are its draft and every state after it so far."""

    row: int
    start: int  # answer position of its first token
    fixed_point: State
    states: list[State]
    frontier: int = field(init=False)  # how many leading tokens of the newest state are right

    def __post_init__(self) -> None:
        self._find_frontier()

    @property
    def cells(self) -> State:
        """The guesses to feed: from the first wrong one on, up to the last whose prediction lies in the block."""
        return self.states[-1][self.frontier : -1]

    @property
    def done(self) -> bool:
        """Whether the newest state is the fixed point, or repeats the one before it."""
        return self.states[-1] == self.fixed_point or (len(self.states) > 1 and self.states[-1] == self.states[-2])

    def advance(self, own: State, predicted: Sequence[int]) -> None:
        """Take the next state: the model's own tokens up to the first wrong guess, and its predictions after it."""
        known = own[self.start : self.start + self.frontier + 1]
        self.states.append((*known, *predicted))
        self._find_frontier()

    def _find_frontier(self) -> None:
        newest, size = self.states[-1], len(self.fixed_point)
        wrong = (at for at in range(size) if newest[at] != self.fixed_point[at])
        self.frontier = next(wrong, size)


@torch.inference_mode()
def jacobi_states(
    lm: Any, rows: Sequence[ReadRow], drafts: Sequence[Sequence[State]], block_size: int
) -> list[tuple[tuple[State, ...], ...]]:
    """Return, per row and block, the states from the draft to the last one before the fixed point.

    `drafts[r][b]` is the first guess for block b of row r, as long as the block. The state after x is what the model
    predicts at each position of the block given the clean answer before the block and x's own tokens before the
    position. Where the answer is not the model's own (a gold answer), a trajectory can end at another fixed point.
    """
    found: dict[int, tuple[tuple[State, ...], ...]] = {}
    for numbers in _alike(rows, CELLS.get(lm.device.type, CELLS_ELSEWHERE)):
        group = [rows[number] for number in numbers]
        states = _iterate(lm, group, [drafts[number] for number in numbers], block_size)
        found |= zip(numbers, states, strict=True)
    return [found[number] for number in range(len(rows))]


def _alike(rows: Sequence[ReadRow], cells: int) -> Iterator[list[int]]:
    """Cut the rows into groups of like answer length, so that a pass pads little and is wide enough to be efficient."""
    order = sorted(range(len(rows)), key=lambda number: -len(rows[number].answer_ids))
    while order:
        size = max(1, cells // len(rows[order[0]].answer_ids))
        yield order[:size]
        del order[:size]


def _iterate(
    lm: Any, rows: Sequence[ReadRow], drafts: Sequence[Sequence[State]], block_size: int
) -> list[tuple[tuple[State, ...], ...]]:
    blocks = [
        _Block(number, start, row.answer_ids[start : start + block_size], [tuple(drafts[number][start // block_size])])
        for number, row in enumerate(rows)
        for start in range(0, len(row.answer_ids), block_size)
    ]
    running = [number for number in range(len(rows)) if any(b.row == number and not b.done for b in blocks)]
    cache = GrowingCache.of_rows([rows[number].cache for number in running])
    while running:
        active = [[b for b in blocks if b.row == number and not b.done] for number in running]
        for group, predicted in zip(active, _predict(lm, cache, [rows[n] for n in running], active), strict=True):
            for block, tokens in zip(group, predicted, strict=True):
                block.advance(rows[block.row].own, tokens)
        left = [at for at, group in enumerate(active) if any(not block.done for block in group)]
        if len(left) < len(running) and left:
            cache.select(left)
        running = [running[at] for at in left]
    return _by_row(blocks, len(rows))


def _by_row(blocks: Sequence[_Block], count: int) -> list[tuple[tuple[State, ...], ...]]:
    found: list[list[tuple[State, ...]]] = [[] for _ in range(count)]
    for block in blocks:
        states = block.states[:-1] if len(block.states) > 1 and block.states[-1] == block.states[-2] else block.states
        found[block.row].append(tuple(state for state in states if state != block.fixed_point))
    return [tuple(row) for row in found]


def _predict(lm: Any, cache: Any, rows: Sequence[ReadRow], active: Sequence[Sequence[_Block]]) -> list[list[list[int]]]:
    """Feed every active block's cells behind the rows' cache, then forget them; return the predictions by block."""
    cells = [[token for block in group for token in block.cells] for group in active]
    width = max(len(row) for row in cells)
    if width == 0:  # every active block has only its first token left, and that is the model's own
        return [[[] for _ in group] for group in active]
    held = cache.get_seq_length()
    positions = torch.zeros(len(rows), width, dtype=torch.int64)
    visible = torch.zeros(len(rows), width, dtype=torch.int64)
    group_of = torch.full((len(rows), width), -1)
    for at, (row, group) in enumerate(zip(rows, active)):
        end = 0
        for number, block in enumerate(group):
            begin, end = end, end + len(block.cells)
            first = len(row.prompt_ids) + block.start + block.frontier
            positions[at, begin:end] = torch.arange(first, first + end - begin)
            visible[at, begin:end] = first
            group_of[at, begin:end] = number
    ids = torch.tensor([[*row, *[0] * (width - len(row))] for row in cells])
    body = getattr(lm, lm.base_model_prefix)
    hidden = body(
        input_ids=ids.to(lm.device),
        position_ids=positions.to(lm.device),
        attention_mask=_mask(held, visible, group_of).to(lm.device),
        cache=cache,
        use_cache=True,
    ).last_hidden_state
    cache.crop(-width)
    fed = (group_of >= 0).to(lm.device)
    return _cut(best_tokens(hidden[fed], lm.get_output_embeddings()), active)


def _mask(held: int, visible: Tensor, group: Tensor) -> Tensor:
    """Return (R, 1, S, held + S): a cell sees its clean prefix and its own block up to itself; padding sees itself."""
    width = visible.shape[1]
    prefix = torch.arange(held)[None, None] < visible[:, :, None]
    causal = torch.ones(width, width, dtype=torch.bool).tril()
    same = (group[:, :, None] == group[:, None]) & (group >= 0)[:, :, None] & causal
    return torch.cat([prefix, same | torch.eye(width, dtype=torch.bool)], dim=-1)[:, None]


def _cut(tokens: Sequence[int], active: Sequence[Sequence[_Block]]) -> list[list[list[int]]]:
    at, found = 0, []
    for group in active:
        parts = []
        for block in group:
            size = len(block.cells)
            parts.append(list(tokens[at : at + size]))
            at += size
        found.append(parts)
    return found
