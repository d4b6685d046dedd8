"""Noisy states to learn from: which guesses a row's segments hold in a step. Pure functions of a row and a seed.

`trajectory`, `random`, `partial` and `progressive` give whole blocks; `windows` gives every frontier of the answer a
short window of guesses. Knows ids only; no model.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from cllm_core.train.pack import Item, Segment, wrong_part
from cllm_core.train.rows import Row, State


@dataclass(frozen=True)
class NoiseSettings:
    """What the noise functions need to know (fields of TrainConfig)."""

    window: int  # guesses behind each frontier
    frontiers: int  # frontiers of a stretch that get a window, drawn at random (0: all)
    refill: float  # share of windows of own guesses whose tail is a fresh draft
    copies: int  # noisy states of each block in one forward pass
    cycle: int  # blocks over which progressive noise goes from nearly clean to fully random
    augment: bool  # replace a trajectory state's wrong tokens by random prompt tokens
    local: bool  # teach by the next state of the trajectory (LC) instead of the fixed point (GC)


@dataclass(frozen=True)
class Stretch:
    """The part of a row's answer that one step learns, and where it lies."""

    row: Row
    start: int  # a block border
    stop: int

    @property
    def answer(self) -> State:
        """The answer tokens to learn."""
        return self.row.answer_ids[self.start : self.stop]

    def blocks(self) -> Iterator[tuple[int, int, State]]:
        """Yield (number in the row, position in the stretch, fixed point) of each block, cut at the stretch's end."""
        size = self.row.block_size
        for start in range(self.start, self.stop, size):
            fixed_point = self.row.answer_ids[start : min(start + size, self.stop)]
            yield start // size, start - self.start, fixed_point


Noise = Callable[[Stretch, random.Random, NoiseSettings], list[Segment]]


def make_item(stretch: Stretch, noise: str, rng: random.Random, settings: NoiseSettings) -> Item:
    """Return what the stretch gives to a step: the tokens before it as context, and its noisy segments."""
    row = stretch.row
    context = (*row.prompt_ids, *row.answer_ids[: stretch.start])
    return Item(context, stretch.answer, tuple(NOISES[noise](stretch, rng, settings)))


def trajectory(stretch: Stretch, rng: random.Random, settings: NoiseSettings) -> list[Segment]:
    """States that Jacobi decoding went through, each block's drawn evenly from its trajectory."""
    segments = []
    for number, start, fixed_point in stretch.blocks():
        states = _cut(stretch.row.states[number], len(fixed_point)) if stretch.row.states else []
        for at in _draw(rng, len(states), settings.copies):
            if settings.local:
                segments.append(_local_segment(start, [*states, fixed_point], at, stretch.answer))
            else:
                state = states[at]
                if settings.augment:
                    state = replace_wrong(state, fixed_point, stretch.row.prompt_ids, rng)
                segments.append(_block_segment(start, state, stretch.answer))
    return [segment for segment in segments if segment is not None]


def random_blocks(stretch: Stretch, rng: random.Random, settings: NoiseSettings) -> list[Segment]:
    """Whole blocks of random prompt tokens, as the draft is."""
    return _replaced_blocks(stretch, rng, settings, lambda number: 1.0)


def partial(stretch: Stretch, rng: random.Random, settings: NoiseSettings) -> list[Segment]:
    """The fixed point with some of its tokens replaced, their share drawn evenly for every copy."""
    return _replaced_blocks(stretch, rng, settings, lambda number: rng.random())


def progressive(stretch: Stretch, rng: random.Random, settings: NoiseSettings) -> list[Segment]:
    """The fixed point with a share of tokens replaced that cycles along the blocks, from 1 / cycle to all of them.

    After Jacobi Forcing (arXiv 2512.14681). The cycle starts at a random block, so that each meets every level.
    """
    shift = rng.randrange(settings.cycle)
    return _replaced_blocks(
        stretch, rng, settings, lambda number: ((number + shift) % settings.cycle + 1) / settings.cycle
    )


def windows(stretch: Stretch, rng: random.Random, settings: NoiseSettings) -> list[Segment]:
    """A window of random prompt tokens at every frontier of the answer, or at some (dense frontier windows)."""
    answer, pool = stretch.answer, stretch.row.prompt_ids
    last = len(answer) - 1
    segments = [
        wrong_part(frontier, rng.choices(pool, k=settings.window), answer, end=len(answer))
        for frontier in (_draw(rng, last, settings.frontiers) if settings.frontiers else range(last))
    ]
    return [segment for segment in segments if segment is not None]


NOISES: dict[str, Noise] = {
    "trajectory": trajectory,
    "random": random_blocks,
    "partial": partial,
    "progressive": progressive,
    "windows": windows,
}


def replace_wrong(state: State, fixed_point: State, pool: Sequence[int], rng: random.Random) -> State:
    """Return the state with random pool tokens in place of its wrong ones; right ones stay."""
    return tuple(token if token == right else rng.choice(pool) for token, right in zip(state, fixed_point, strict=True))


def advance(item: Item, predictions: Sequence[Sequence[int]], *, keep_front: bool) -> Item:
    """Return the item one Jacobi pass later: each segment's guesses become the model's own predictions.

    `predictions[s][i]` is what the model put after guess i of segment s. A window moves one position to the right and
    a block loses its first wrong position; what has become right is dropped, and so is a segment with nothing wrong
    left. `keep_front` keeps the segments at the very front as they were: no window precedes a window there.
    """
    segments = [segment for segment in item.segments if keep_front and segment.start == 0]
    for segment, predicted in zip(item.segments, predictions, strict=True):
        moved = wrong_part(segment.start + 1, predicted, item.answer, end=segment.end)
        if moved is not None:
            segments.append(moved)
    return replace(item, segments=tuple(segments))


def refill_tails(item: Item, pool: Sequence[int], share: float, rng: random.Random) -> Item:
    """Return the item with a fresh draft of pool tokens at the end of a share of its segments.

    A window that slides keeps the guesses behind its new frontier and draws as many new ones as it moved on. How many
    are kept is drawn evenly, the first one always.
    """
    return replace(item, segments=tuple(_refilled(segment, pool, share, rng) for segment in item.segments))


def _refilled(segment: Segment, pool: Sequence[int], share: float, rng: random.Random) -> Segment:
    size = len(segment.guesses)
    if rng.random() >= share:
        return segment
    kept = rng.randint(1, size)
    return replace(segment, guesses=(*segment.guesses[:kept], *rng.choices(pool, k=size - kept)))


def _replaced_blocks(
    stretch: Stretch, rng: random.Random, settings: NoiseSettings, share_of: Callable[[int], float]
) -> list[Segment]:
    pool, segments = stretch.row.prompt_ids, []
    for number, start, fixed_point in stretch.blocks():
        for _ in range(settings.copies):
            share = share_of(number)
            state = tuple(rng.choice(pool) if rng.random() < share else token for token in fixed_point)
            segments.append(_block_segment(start, state, stretch.answer))
    return [segment for segment in segments if segment is not None]


def _block_segment(start: int, state: State, answer: State) -> Segment | None:
    return wrong_part(start, state, answer, end=start + len(state))


def _local_segment(start: int, states: Sequence[State], at: int, answer: State) -> Segment | None:
    """Return state `at` taught by state `at + 1`, whose own output is state `at + 2` (the fixed point stays itself)."""
    end = start + len(states[at])
    teacher = _block_segment(start, states[at + 1], answer)
    after = answer[end : end + 1]  # the token after the block, which the last cell predicts
    following = (*states[min(at + 2, len(states) - 1)][1:], *after)
    student = wrong_part(start, states[at], answer, end=end, targets=following)
    return None if student is None else replace(student, teacher=teacher)


def _cut(states: Sequence[State], length: int) -> list[State]:
    return [state[:length] for state in states]


def _draw(rng: random.Random, size: int, copies: int) -> list[int]:
    """Draw up to `copies` different numbers below `size`."""
    return sorted(rng.sample(range(size), min(copies, size)))
