"""Which cells of a recording a lesson points at, by rule: any recording that shows the thing can be taught with.

Pure functions of a lane, or of two; knows no text and no display.
"""

from collections import Counter
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
        token = self.held(t, position)
        if token is None:
            raise IndexError(f"state {t} has no position {position}")
        return token

    def held(self, t: int, position: int) -> int | None:
        """Return the id that state t has at a position; None where it does not reach."""
        step = self.trajectory.steps[max(t - 1, 0)]
        start, state = (step.start, step.state) if t else (0, step.draft)
        column = position - start
        return state[column] if 0 <= column < len(state) else None

    def fed(self, t: int, position: int) -> int | None:
        """Return the guess that pass t was fed at a position; None where it needed none."""
        step = self.trajectory.steps[t - 1]
        column = position - step.start
        return step.draft[column] if 0 <= column < len(step.draft) else None


def _every(name: str) -> Callable[[Lane], list[Cell]]:
    def find(lane: Lane) -> list[Cell]:
        """All cells of one hindsight class."""
        rows = enumerate(zip(lane.trajectory.steps, lane.annotation.hindsight), 1)
        return [
            (t, position)
            for t, (step, classes) in rows
            for position, found in enumerate(classes, step.start)
            if found == name
        ]

    return find


def _of_class(name: str) -> Callable[[Lane], list[Cell]]:
    def find(lane: Lane) -> list[Cell]:
        """Cells of one hindsight class, each position where it has the class first."""
        first: dict[int, Cell] = {}
        for t, position in _every(name)(lane):
            first.setdefault(position, (t, position))
        return sorted(first.values())

    return find


def _leapt(lane: Lane) -> list[Cell]:
    """Fast-forwarded cells that were wrong, or not there, in the state before."""
    ids = lane.trajectory.ids
    return [
        (t, position) for t, position in _every("fast_forwarded")(lane) if lane.held(t - 1, position) != ids[position]
    ]


def _waiting(lane: Lane) -> list[Cell]:
    """Stationary cells that the correct frontier does not reach in the next pass either."""
    correct = lane.annotation.correct
    return [(t, position) for t, position in _of_class("stationary")(lane) if correct[t + 1] <= position]


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


def is_word(lane: Lane, cell: Cell) -> bool:
    """Return whether the cell's token has a letter and is no control token."""
    token, trajectory = lane.token(*cell), lane.trajectory
    text = trajectory.pieces[token].decode("utf-8", "ignore")
    return token not in trajectory.special and any(sign.isalpha() for sign in text)


def reached(lane: Lane, cell: Cell) -> int:
    """Return the first pass, from the cell's on, whose correct frontier lies behind the cell; the last if none does."""
    t, position = cell
    correct = lane.annotation.correct
    return next((each for each in range(t, len(correct)) if correct[each] > position), len(correct) - 1)


def lost(lane: Lane, cell: Cell) -> int:
    """Return the first pass after the cell's that predicts something wrong there; the cell's own if none does."""
    t, position = cell
    wrong = [each for each, place in _every("wrong")(lane) if each > t and place == position]
    return min(wrong, default=t)


def _together(lane: Lane) -> list[Cell]:
    """The same for the collocations that arrived together."""
    return _arrivals(each for each in lane.occurrences if each.together)


RULES: dict[str, Callable[[Lane], list[Cell]]] = {
    "settled": _of_class("settled"),
    "fast_forwarded": _of_class("fast_forwarded"),
    "leapt": _leapt,
    "stationary": _of_class("stationary"),
    "every_stationary": _every("stationary"),
    "waiting": _waiting,
    "transient": _of_class("transient"),
    "wrong": _of_class("wrong"),
    "next": _next,
    "fixed": _fixed,
    "confirmed": _confirmed,
    "misled": _misled,
    "collocation": _collocation,
    "together": _together,
}


# --- one collocation, compared between two lanes


def _regrouped(gathered: Lane, apart: Lane) -> list[tuple[Occurrence, Occurrence]]:
    """Collocations that arrived together in one lane, with the same words in the other, where they did not.

    Longest first, then earliest. The n-th time that the words occur belongs to the n-th time in the other lane.
    """
    counterparts = dict(_counted(apart))
    pairs = [(one, counterparts[key]) for key, one in _counted(gathered) if one.together and key in counterparts]
    pairs = [(one, other) for one, other in pairs if not other.together]
    return sorted(pairs, key=lambda pair: (-len(pair[0].positions), pair[0].positions))


def _counted(lane: Lane) -> list[tuple[tuple[str, int], Occurrence]]:
    seen: Counter[str] = Counter()
    counted = []
    for each in lane.occurrences:
        seen[each.text] += 1
        counted.append(((each.text, seen[each.text]), each))
    return counted


def _gained(lane: Lane, other: Lane) -> Occurrence | None:
    """A collocation that arrived together here, and not in the other lane."""
    return next((here for here, _ in _regrouped(lane, other)), None)


def _scattered(lane: Lane, other: Lane) -> Occurrence | None:
    """The same collocation seen from the lane in which it did not arrive together."""
    return next((here for _, here in _regrouped(other, lane)), None)


def _phrase(lane: Lane, other: Lane) -> Occurrence | None:
    """Any collocation, sooner one that arrived together, sooner a long one."""
    found = sorted(lane.occurrences, key=lambda each: (not each.together, -len(each.positions), each.positions))
    return next(iter(found), None)


PHRASES: dict[str, Callable[[Lane, Lane], Occurrence | None]] = {
    "gained": _gained,
    "scattered": _scattered,
    "phrase": _phrase,
}


def cells_of(occurrence: Occurrence) -> list[Cell]:
    """Return the cells of one collocation, each in the pass from which on it is right."""
    return _arrivals([occurrence])
