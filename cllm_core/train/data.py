"""What a training step reads: gold rows of a task, rows that fit, and which stretches of them a step learns.

The order is a pure function of the seed and the step, so a resumed run needs no saved state of a data loader. Knows
ids and a tokenizer; no model.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from cllm_core.errors import PromptError, TrainingError
from cllm_core.tasks import get_task
from cllm_core.train.noise import Stretch
from cllm_core.train.rows import Row

if TYPE_CHECKING:
    from cllm_core.hf import LoadedModel

_SORTED_STEPS = 16  # rows of so many steps are sorted by length together, so that little is padded


def gold_rows(
    loaded: "LoadedModel",
    *,
    task: str,
    split: str,
    data: str = "",
    limit: int = 0,
    seed: int = 0,
    chat: bool = True,
    block_size: int = 16,
) -> list[Row]:
    """Return a task's prompts and gold answers as rows, each answer closed by the model's end token."""
    end = end_token(loaded)
    examples = get_task(task).load(split, data=Path(data) if data else None, limit=limit or None, seed=seed)
    rows = []
    for example in examples:
        if not example.answer:
            raise TrainingError(f"Example {example.id} of {task} has no gold answer: collect the target's answers.")
        try:
            prompt = loaded.encode(example.chat(), chat=chat)
        except PromptError as error:
            raise PromptError(f"Example {example.id} of {task}: {error}") from error
        answer = loaded.tokenizer(example.answer, add_special_tokens=False)["input_ids"]
        rows.append(Row(example.id, prompt.ids, (*answer, end), block_size))
    return rows


def end_token(loaded: "LoadedModel") -> int:
    """Return the id that closes an answer: the tokenizer's end token, or the model's first one."""
    own = loaded.tokenizer.eos_token_id
    if own is not None and (own in loaded.eos_ids or not loaded.eos_ids):
        return int(own)
    if not loaded.eos_ids:
        raise TrainingError(f"{loaded.info.name} has no end token, so it could not learn to stop.")
    return min(loaded.eos_ids)


def fit_rows(rows: Sequence[Row], max_length: int) -> tuple[list[Row], list[str]]:
    """Return the rows that fit and sentences about the others.

    An answer that goes past `max_length` is cut there; a row whose prompt leaves no room for a single answer token,
    or that has no answer, would teach nothing (or NaN) and is left out. TrainingError if no row is left.
    """
    kept, cut, out = [], [], []
    for number, row in enumerate(rows, 1):
        room = max_length - len(row.prompt_ids)
        if room < 1 or not row.answer_ids or not row.prompt_ids:
            out.append(f"{number} ({row.id})")
        elif len(row.answer_ids) > room:
            cut.append(row.id)
            kept.append(_shortened(row, room))
        else:
            kept.append(row)
    notes = []
    if cut:
        notes.append(f"{len(cut)} answers were cut at max_length {max_length}, the first in row {cut[0]}.")
    if out:
        named = ", ".join(out[:3]) + (", ..." if len(out) > 3 else "")
        notes.append(f"{len(out)} rows leave no answer token within max_length {max_length} and are left out: {named}.")
    if not kept:
        raise TrainingError(f"No row is left to train on. {' '.join(notes)}".strip())
    return kept, notes


def _shortened(row: Row, length: int) -> Row:
    """Return the row with the first `length` tokens of its answer, and of its blocks' states what is left of them."""
    cut = replace(row, answer_ids=row.answer_ids[:length], states=())
    states = []
    for fixed_point, found in zip(cut.blocks(), row.states):  # the cut answer has fewer blocks
        parts = dict.fromkeys(state[: len(fixed_point)] for state in found)  # two may be alike in what is left
        states.append(tuple(part for part in parts if part != fixed_point))
    return replace(cut, states=tuple(states))


@dataclass(frozen=True)
class Plan:
    """Which rows each step learns: `rows_per_step` of them, every row once an epoch.

    A row can meet itself in a step only where two epochs meet in it, or where there are fewer rows than a step takes.
    """

    lengths: tuple[int, ...]  # tokens of each row, to put rows of like length side by side
    rows_per_step: int
    seed: int

    def step(self, number: int) -> list[int]:
        """Return the row numbers of one step, longest first."""
        group, at = divmod(number, self.sorted_steps)
        return _group(self, group)[at]

    @property
    def sorted_steps(self) -> int:
        """How many steps' rows are sorted together: never more than an epoch has."""
        return max(1, min(_SORTED_STEPS, len(self.lengths) // self.rows_per_step))


@lru_cache(maxsize=2)
def _group(plan: Plan, number: int) -> list[list[int]]:
    """Return the steps of one group: its rows sorted by length and cut into steps, the steps in random order."""
    size = plan.rows_per_step * plan.sorted_steps

    def longest_first(rows: Iterable[int]) -> list[int]:
        return sorted(rows, key=lambda row: -plan.lengths[row])

    places = range(number * size, (number + 1) * size)
    parts = groupby(places, key=lambda place: place // len(plan.lengths))  # by epoch: each has a row but once
    rows = [row for _, part in parts for row in longest_first(_row_at(plan, place) for place in part)]
    steps = [longest_first(rows[at : at + plan.rows_per_step]) for at in range(0, size, plan.rows_per_step)]
    random.Random(f"{plan.seed}/group/{number}").shuffle(steps)
    return steps


def _row_at(plan: Plan, place: int) -> int:
    epoch, at = divmod(place, len(plan.lengths))
    return _epoch(plan.seed, epoch, len(plan.lengths))[at]


@lru_cache(maxsize=2)
def _epoch(seed: int, epoch: int, size: int) -> list[int]:
    order = list(range(size))
    random.Random(f"{seed}/epoch/{epoch}").shuffle(order)
    return order


def choose_stretch(row: Row, length: int, rng: random.Random) -> Stretch:
    """Return a random stretch of up to `length` answer tokens that starts at a block border (0: the whole answer).

    A stretch shorter than a block starts at any multiple of its own length.
    """
    size = len(row.answer_ids)
    if not length or length >= size:
        return Stretch(row, 0, size)
    border = min(row.block_size, length)
    last = -(-(size - length) // border)  # the first border from which the stretch reaches the end
    start = rng.randint(0, last) * border
    return Stretch(row, start, min(start + length, size))


def micro_batches(rows: Sequence[int], batch: int, processes: int, process: int) -> Iterator[tuple[int, list[int]]]:
    """Yield (number in the step, row numbers) of the micro-batches that one of several processes works on."""
    for number, at in enumerate(range(0, len(rows), batch)):
        if number % processes == process:
            yield number, list(rows[at : at + batch])
