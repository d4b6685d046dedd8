"""Follows a run: yields what its status line says, several times a second, as values that are shown as text.

Knows no gradio and no widget.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TypedDict

from cllm_core import models
from cllm_core.record import Recorder
from visualize.runs import Load, Run
from visualize.view import LANE_LABELS

TICK = 0.25  # seconds between two looks at a run
PATIENCE = 3.0  # seconds that a stopped load is waited for; it ends by itself, and the next run waits for it


class LaneStatus(TypedDict):
    """How far one lane has come."""

    label: str
    state: str  # queued | running | done | stopped
    tokens: int
    passes: int
    tokens_per_pass: float
    seconds: float  # measured, prefill included
    share: float  # of the tokens asked for


class Status(TypedDict):
    """The status line, the lanes under it, and what the reader should know."""

    kind: str  # idle | busy | done | stopped | error
    text: str
    share: float | None  # of a download; None: not known
    lanes: list[LaneStatus]
    notes: list[str]


def status(kind: str, text: str, *, notes: Sequence[str] = ()) -> Status:
    """Return a status line with no lanes."""
    return {"kind": kind, "text": text, "share": None, "lanes": [], "notes": list(notes)}


def follow(run: Run, load: Load = models.load) -> Iterator[Status]:
    """Start a run and yield its status until it has ended.

    Closing the generator (the page was closed) stops the run; it does not wait, for gradio closes it in its event loop.
    """
    run.start(load)
    stopping = None
    try:
        yield run_status(run)
        while not run.wait(TICK):
            yield run_status(run)
            if run.stopped and not run.decoding:
                stopping = stopping or time.monotonic()
                if time.monotonic() - stopping > PATIENCE:
                    return
    finally:
        run.stop()


def run_status(run: Run) -> Status:
    """Return how far a run that is under way has come."""
    return {
        "kind": "busy",
        "text": _headline(run),
        "share": run.done / run.total if run.total and not run.decoding else None,
        "lanes": lane_statuses(run),
        "notes": ["Until it has ended, the run before it is shown below."],
    }


def _headline(run: Run) -> str:
    if run.stopped:
        return "Stopping after this pass …" if run.decoding else "Stopping …"
    if run.decoding:
        return f"Decoding … {run.elapsed():.1f} s"
    size = f": {_megabytes(run.done)} of {_megabytes(run.total)} MB" if run.total else " …"
    return f"{run.stage}{size} ({run.elapsed():.0f} s)"


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.0f}" if count >= 1e7 or not count else f"{count / 1e6:.1f}"


def lane_statuses(run: Run) -> list[LaneStatus]:
    """Return one line a lane. Lanes run in turn, so that all that began before the last one that did are complete."""
    recorders = dict(run.recorders)
    current = next(reversed(recorders), None)
    return [_row(key, _state(run, key, current, recorders), recorders.get(key)) for key in run.request.lane_keys]


def _state(run: Run, key: str, current: str | None, recorders: Mapping[str, Recorder]) -> str:
    if key not in recorders:
        return "stopped" if run.ended else "queued"
    if key != current:
        return "done"
    if not run.ended:
        return "running"
    return "stopped" if recorders[key].trajectory().partial else "done"


def _row(key: str, state: str, recorder: Recorder | None) -> LaneStatus:
    passes = len(recorder.steps) if recorder else 0
    tokens = recorder.steps[passes - 1].fixed if recorder and passes else 0
    return {
        "label": LANE_LABELS.get(key, key),
        "state": state,
        "tokens": tokens,
        "passes": passes,
        "tokens_per_pass": round(tokens / passes, 2) if passes else 0.0,
        "seconds": round(recorder.seconds, 2) if recorder else 0.0,
        "share": 1.0 if state == "done" else round(tokens / recorder.config.max_new_tokens, 3) if recorder else 0.0,
    }
