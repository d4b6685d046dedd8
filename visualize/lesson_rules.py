"""Which cells of a recording a lesson points at, by rule: any recording that shows the thing can be taught with.

Pure functions of a lane; knows no text and no display.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from cllm_core.annotate import Annotation, annotate
from cllm_core.collocations import CollocationTable, Occurrence, occurrences
from cllm_core.types import Trajectory

Cell = tuple[int, int]  # pass (from 1; 0 is the draft), position


@dataclass(frozen=True)
class Lane:
    """A recorded lane with its classes, and the table its collocations are looked up in."""

    trajectory: Trajectory
    table: CollocationTable

    @cached_property
    def annotation(self) -> Annotation:
        """The classes of its cells."""
        return annotate(self.trajectory)

    @cached_property
    def occurrences(self) -> list[Occurrence]:
        """The collocations in its output."""
        return occurrences(self.trajectory, self.table)

    def token(self, t: int, position: int) -> int:
        """Return the id that a cell holds."""
        if t == 0:
            return self.trajectory.steps[0].draft[position]
        step = self.trajectory.steps[t - 1]
        return step.state[position - step.start]

    def fed(self, t: int, position: int) -> int | None:
        """Return the guess that pass t was fed at a position; None where it needed none."""
        step = self.trajectory.steps[t - 1]
        column = position - step.start
        return step.draft[column] if 0 <= column < len(step.draft) else None


def _of_class(name: str) -> Callable[[Lane], list[Cell]]:
    def find(lane: Lane) -> list[Cell]:
        """Cells of one hindsight class, each position where it has the class first."""
        seen: set[int] = set()
        cells = []
        for t, (step, classes) in enumerate(zip(lane.trajectory.steps, lane.annotation.hindsight), 1):
            for position, found in enumerate(classes, step.start):
                if found == name and position not in seen:
                    seen.add(position)
                    cells.append((t, position))
        return cells

    return find


def _next(lane: Lane) -> list[Cell]:
    """The first cell of every pass: it rests on final tokens alone."""
    return [(t, step.start) for t, step in enumerate(lane.trajectory.steps, 1)]


def _fixed(lane: Lane) -> list[Cell]:
    """Every cell in the pass that made it final."""
    steps = enumerate(lane.trajectory.steps, 1)
    return [(t, position) for t, step in steps for position in range(step.start, step.fixed)]


def _confirmed(lane: Lane) -> list[Cell]:
    """Cells that a pass made final beyond its first one."""
    first = set(_next(lane))
    return [cell for cell in _fixed(lane) if cell not in first]


def _misled(lane: Lane) -> list[Cell]:
    """Wrong cells right after a wrong guess."""
    ids = lane.trajectory.ids
    cells = []
    for t, (step, classes) in enumerate(zip(lane.trajectory.steps, lane.annotation.hindsight), 1):
        for position, name in enumerate(classes, step.start):
            before = position - 1
            if name == "wrong" and before >= step.start and lane.fed(t, before) != ids[before]:
                cells.append((t, position))
    return cells


def _arrivals(found: Iterable[Occurrence]) -> list[Cell]:
    return sorted({(t, position) for each in found for t, position in zip(each.arrived, each.positions)})


def _collocation(lane: Lane) -> list[Cell]:
    """Tokens of collocations, each in the pass from which on it is right."""
    return _arrivals(lane.occurrences)


def _together(lane: Lane) -> list[Cell]:
    """The same for the collocations that arrived together."""
    return _arrivals(each for each in lane.occurrences if each.together)


RULES: dict[str, Callable[[Lane], list[Cell]]] = {
    "settled": _of_class("settled"),
    "fast_forwarded": _of_class("fast_forwarded"),
    "stationary": _of_class("stationary"),
    "transient": _of_class("transient"),
    "wrong": _of_class("wrong"),
    "next": _next,
    "fixed": _fixed,
    "confirmed": _confirmed,
    "misled": _misled,
    "collocation": _collocation,
    "together": _together,
}
