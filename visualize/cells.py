"""The cells of a run, one value each: what a pass predicted at a position, with its classes in both views.

Tables and counts are made from these.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from cllm_core.annotate import Annotation, annotate
from cllm_core.types import Trajectory


@dataclass(frozen=True)
class Cell:
    """What pass `pass_number` (1 is the prefill) predicted at `position` (0 is the first generated token)."""

    lane: str
    pass_number: int
    position: int
    token_id: int
    text: bytes  # the token's piece; need not be valid UTF-8 on its own
    control: bool  # a control token, which is no part of the output's text
    guess_id: int | None  # the guess the pass was fed at this position, if any
    hindsight: str
    known: str
    probability: float | None  # None where it was not recorded
    pass_seconds: float  # wall-clock of the whole pass, the same in each of its cells


def lane_cells(key: str, trajectory: Trajectory, annotation: Annotation | None = None) -> Iterator[Cell]:
    """Yield the cells of one lane, pass by pass, position by position."""
    annotation = annotation or annotate(trajectory)
    for t, step in enumerate(trajectory.steps):
        for column, token in enumerate(step.state):
            yield Cell(
                lane=key,
                pass_number=t + 1,
                position=step.start + column,
                token_id=token,
                text=trajectory.pieces.get(token, b""),
                control=token in trajectory.special,
                guess_id=step.draft[column] if column < len(step.draft) else None,
                hindsight=annotation.hindsight[t][column],
                known=annotation.known[t][column],
                probability=step.probabilities[column] if step.probabilities else None,
                pass_seconds=step.seconds,
            )
