"""Gives every predicted cell its token class, in both views: what the decoder knew then, and what hindsight shows.

Pure functions of a Trajectory; the rules are the vocabulary of the docs (docs/definitions.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from cllm_core.types import Step, Trajectory

KNOWN_CLASSES = ("fixed", "draft")
HINDSIGHT_CLASSES = ("settled", "fast_forwarded", "stationary", "transient", "wrong", "after_end", "unknown")


@dataclass(frozen=True)
class Annotation:
    """The classes of one trajectory. Row t - 1 of `known` and `hindsight` belongs to pass t.

    `correct[t]` is the correct frontier c_t and `fixed[t]` the fixed frontier f_t, t = 0 (the draft) to the last
    pass. A cell at or past the end of a partial run's output is `unknown`: nobody can say what belongs there.
    `corrected` marks cells that were wrong in the state before and are right now.
    """

    correct: tuple[int, ...]  # (passes + 1,)
    fixed: tuple[int, ...]  # (passes + 1,)
    known: tuple[tuple[str, ...], ...]  # (passes, width of the pass)
    hindsight: tuple[tuple[str, ...], ...]  # (passes, width of the pass)
    corrected: tuple[tuple[bool, ...], ...]  # (passes, width of the pass)


def annotate(trajectory: Trajectory) -> Annotation:
    """Classify every cell of the trajectory."""
    steps, ids = trajectory.steps, trajectory.ids
    correct = correct_frontiers(steps, ids)
    lasting = _right_from_now_on(steps, ids)
    beyond = "unknown" if trajectory.partial else "after_end"
    hindsight = tuple(
        tuple(
            _hindsight(step.start + column, correct[t], correct[t + 1], right, lasts, beyond, len(ids))
            for column, (right, lasts) in enumerate(lasting[t])
        )
        for t, step in enumerate(steps)
    )
    return Annotation(
        correct=correct,
        fixed=(0, *(step.fixed for step in steps)),
        known=tuple(
            tuple("fixed" if step.start + column < step.fixed else "draft" for column in range(len(step.state)))
            for step in steps
        ),
        hindsight=hindsight,
        corrected=tuple(_corrected(before, step, ids) for before, step in zip(_states(steps), steps)),
    )


def correct_frontiers(steps: Sequence[Step], ids: Sequence[int]) -> tuple[int, ...]:
    """Return c_0 ... c_T: the length of the longest prefix of state t that equals the output."""
    return tuple(_matching(tokens, ids, start) for start, tokens in _states(steps))


def arrivals(trajectory: Trajectory) -> tuple[int, ...]:
    """Return, for each output position, the pass (from 1) whose prediction of it was right, as were all later ones.

    A guess of the draft that happens to be right does not count: it arrives with the first pass that predicts it.
    """
    found = [0] * len(trajectory.ids)
    for t, row in reversed(list(enumerate(_right_from_now_on(trajectory.steps, trajectory.ids), 1))):
        for position, (_, lasts) in enumerate(row, trajectory.steps[t - 1].start):
            if lasts:
                found[position] = t
    return tuple(found)


def _states(steps: Sequence[Step]) -> list[tuple[int, tuple[int, ...]]]:
    """Return x_0 ... x_T as (first position, tokens); everything before the first position is fixed.

    x_0 is the draft, x_t what pass t predicted and the fresh guesses that refilled its window before pass t + 1.
    """
    states = [(0, steps[0].draft if steps else ())]
    for step, following in zip(steps, [*steps[1:], None]):
        end = step.start + len(step.state)
        refill = following.draft[max(0, end - following.start) :] if following else ()
        states.append((step.start, (*step.state, *refill)))
    return states


def _matching(tokens: Sequence[int], ids: Sequence[int], start: int) -> int:
    position = start
    while position < min(len(ids), start + len(tokens)) and tokens[position - start] == ids[position]:
        position += 1
    return position


def _right_from_now_on(steps: Sequence[Step], ids: Sequence[int]) -> list[list[tuple[bool, bool]]]:
    """Return, per pass and cell, (right now, right now and in every later state)."""
    stays: dict[int, bool] = {}
    rows: list[list[tuple[bool, bool]]] = []
    for step in reversed(steps):
        row = []
        for position, token in enumerate(step.state, step.start):
            right = position < len(ids) and token == ids[position]
            stays[position] = right and stays.get(position, True)
            row.append((right, stays[position]))
        rows.append(row)
    return rows[::-1]


def _hindsight(position: int, before: int, after: int, right: bool, lasts: bool, beyond: str, length: int) -> str:
    if position >= length:
        return beyond
    if position <= before:
        return "settled"
    if position < after:
        return "fast_forwarded"
    if not right:
        return "wrong"
    return "stationary" if lasts else "transient"


def _corrected(before: tuple[int, tuple[int, ...]], step: Step, ids: Sequence[int]) -> tuple[bool, ...]:
    first, tokens = before
    old = tokens[step.start - first :]
    return tuple(
        column < len(old) and position < len(ids) and old[column] != ids[position] == token
        for column, (position, token) in enumerate(enumerate(step.state, step.start))
    )
