"""Token classes: the worked example cell by cell, and random runs against the definitions spelt out naively."""

from dataclasses import replace

import worked_example
from hypothesis import given, settings
from tables import SpyLM, cases, run

from cllm_core.annotate import HINDSIGHT_CLASSES, KNOWN_CLASSES, annotate
from cllm_core.types import DecodeConfig, Step, Trajectory

many = settings(max_examples=100, deadline=None)

S, F, K, T, W = "settled", "fast_forwarded", "stationary", "transient", "wrong"


def test_worked_example_has_the_classes_of_the_definitions():
    annotation = annotate(worked_example.trajectory())
    assert annotation.fixed == (0, 1, 2, 4, 6)
    assert annotation.correct == (0, 1, 3, 6, 6)
    assert annotation.hindsight == ((S, W, K, W, W, T), (S, F, W, K, W), (S, S, F, F), (S, S))
    assert annotation.known == (
        ("fixed", "draft", "draft", "draft", "draft", "draft"),
        ("fixed", "draft", "draft", "draft", "draft"),
        ("fixed", "fixed", "draft", "draft"),
        ("fixed", "fixed"),
    )


def test_worked_example_marks_what_was_corrected():
    assert annotate(worked_example.trajectory()).corrected == (
        (True, False, True, False, False, True),
        (True, False, False, True, False),
        (False, True, False, True),
        (False, False),
    )


def states(trajectory: Trajectory) -> list[dict[int, int]]:
    """Return x_0 ... x_T as whole dicts: position -> token, the fixed ones included."""
    first = trajectory.steps[0].draft
    rows = [dict(enumerate(first))]
    for t, step in enumerate(trajectory.steps):
        row = {**dict(enumerate(trajectory.ids[: step.start])), **dict(enumerate(step.state, step.start))}
        if t + 1 < len(trajectory.steps):  # fresh guesses that refilled the window
            following = trajectory.steps[t + 1]
            row = {**dict(enumerate(following.draft, following.start)), **row}
        rows.append(row)
    return rows


def correct(state: dict[int, int], y: tuple[int, ...]) -> int:
    length = 0
    while length < len(y) and state.get(length) == y[length]:
        length += 1
    return length


def naive_class(rows: list[dict[int, int]], t: int, p: int, y: tuple[int, ...], beyond: str) -> str:
    """Apply the table of docs/definitions.md, line by line, to the cell (pass t, position p)."""
    if p >= len(y):
        return beyond
    before, now = correct(rows[t - 1], y), correct(rows[t], y)
    if p < before or p == before:
        return "settled"
    if before < p < now:
        return "fast_forwarded"
    if rows[t][p] != y[p]:
        return "wrong"
    later = [row[p] == y[p] for row in rows[t + 1 :] if p in row]
    return "stationary" if all(later) else "transient"


@many
@given(cases())
def test_classes_are_those_of_the_definitions(case):
    trajectory = case.trajectory()
    rows, y = states(trajectory), trajectory.ids
    annotation = annotate(trajectory)
    assert annotation.correct == tuple(correct(row, y) for row in rows)
    for t, step in enumerate(trajectory.steps, 1):
        positions = range(step.start, step.start + len(step.state))
        assert annotation.hindsight[t - 1] == tuple(naive_class(rows, t, p, y, "after_end") for p in positions)
        assert annotation.known[t - 1] == tuple("fixed" if p < step.fixed else "draft" for p in positions)
        assert annotation.corrected[t - 1] == tuple(
            p < len(y) and p in rows[t - 1] and rows[t - 1][p] != y[p] == rows[t][p] for p in positions
        )


@many
@given(cases())
def test_every_cell_has_one_class_in_each_view(case):
    trajectory = case.trajectory()
    annotation = annotate(trajectory)
    for step, known, hindsight in zip(trajectory.steps, annotation.known, annotation.hindsight, strict=True):
        assert len(known) == len(hindsight) == len(step.state)
        assert set(known) <= set(KNOWN_CLASSES)
        assert set(hindsight) <= set(HINDSIGHT_CLASSES)
        for position, (now, later) in enumerate(zip(known, hindsight, strict=True), step.start):
            if now == "fixed" and position < len(trajectory.ids):  # what is known to be final is right
                assert later in {"settled", "fast_forwarded"}


def test_last_position_of_a_run_can_be_corrected():
    """The guess for a run's last position is never fed, and its correction was not marked for want of it."""
    steps = (Step(0, (9,), (1, 8), 1, 0.1), Step(1, (), (2,), 2, 0.1))
    trajectory = worked_example.trajectory(steps=steps, ids=(1, 2))
    assert annotate(trajectory).corrected == ((True, False), (True,))


def test_cells_past_the_end_token_are_after_the_end():
    counter = SpyLM({(token,): token + 1 for token in range(30)}, vocab_size=31, eos_ids=(3,))
    trajectory = run(counter, (0,), DecodeConfig(block_size=6, max_new_tokens=20, init="pad"))
    assert trajectory.ids == (1, 2, 3)
    hindsight = annotate(trajectory).hindsight
    for step, classes in zip(trajectory.steps, hindsight, strict=True):
        assert set(classes[: 3 - step.start]) <= {"settled", "fast_forwarded", "wrong"}
        assert set(classes[3 - step.start :]) == {"after_end"}


def test_cells_past_a_stopped_run_are_unknown():
    trajectory = replace(
        worked_example.trajectory(), steps=worked_example.STEPS[:2], ids=worked_example.ids("A B"), finish="stopped"
    )
    annotation = annotate(trajectory)
    assert annotation.correct == (0, 1, 2)
    assert annotation.hindsight == (
        ("settled", "wrong", "unknown", "unknown", "unknown", "unknown"),
        ("settled", "unknown", "unknown", "unknown", "unknown"),
    )


def test_run_without_a_pass_has_no_cells():
    annotation = annotate(worked_example.trajectory(steps=(), ids=(), finish="stopped"))
    assert (annotation.correct, annotation.fixed, annotation.hindsight) == ((0,), (0,), ())
