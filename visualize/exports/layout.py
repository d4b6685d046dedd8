"""How a run is cut into bands for a picture: the passes that work on one block, over the positions they reach.

Knows positions and rows, no pixels and no colours.
"""

from dataclasses import dataclass
from itertools import groupby

from cllm_core.metrics import window_size
from cllm_core.types import Trajectory

PASSES_A_BAND = 16  # of one-at-a-time decoding, which has no blocks


@dataclass(frozen=True)
class Band:
    """Consecutive passes (numbers from 1) and the positions `first` to `end` (exclusive) that they are drawn over."""

    first: int
    end: int
    passes: range

    @property
    def columns(self) -> int:
        return self.end - self.first


def bands(trajectory: Trajectory, passes: int) -> list[Band]:
    """Return the bands of the first `passes` passes. A sliding window makes bands wider than a block."""
    size = window_size(trajectory)
    size = PASSES_A_BAND if size == 1 else size
    steps = list(enumerate(trajectory.steps[:passes], 1))
    result = []
    for block, group in groupby(steps, key=lambda numbered: numbered[1].start // size):
        rows = list(group)
        end = max(step.start + len(step.state) for _, step in rows)
        result.append(Band(block * size, end, range(rows[0][0], rows[-1][0] + 1)))
    return result
