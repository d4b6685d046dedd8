"""Trajectory -> PlayerProps: the one JSON payload that the player draws, in the app and in exported HTML.

Pure: no gradio, no model. Tokens are data: the payload carries text and ids, never markup.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, NotRequired, TypedDict

from cllm_core.annotate import annotate
from cllm_core.collocations import Collocation, CollocationTable, occurrences
from cllm_core.metrics import summarize, window_size
from cllm_core.types import Step, Trajectory

SCHEMA = "cllm-player"
VERSION = 1
CANDIDATE_CELLS = 10_000  # above this many cells in a payload, candidates are left out to keep it light

TEXT, BYTES, CONTROL = 0, 1, 2  # kinds of piece

CLASS_LETTERS = {
    "settled": "s",
    "fast_forwarded": "f",
    "stationary": "k",
    "transient": "t",
    "wrong": "w",
    "after_end": "e",
    "unknown": "u",
}


class PassProps(TypedDict):
    """One pass. Lists run over positions s, s + 1, ...; tokens are indexes into `pieces`."""

    s: int  # first position
    d: list[int]  # guesses it was fed (may be one shorter than x)
    x: list[int]  # what it predicted
    f: int  # fixed frontier after it
    c: int  # correct frontier after it
    ms: float  # wall-clock, milliseconds
    h: str  # hindsight class of each cell, one letter each (CLASS_LETTERS)
    p: NotRequired[list[int]]  # probability of each prediction, in thousandths
    k: NotRequired[list[list[int]]]  # candidates of each prediction: piece, thousandths, piece, thousandths, ...


class CollocationProps(TypedDict):
    """A collocation that occurs in a lane's output."""

    label: str  # GROUP BY, SELECT … FROM
    hits: list[list[int]]  # per occurrence: the pass it arrived together in (0: in several), then its positions
    share: NotRequired[list[int]]  # [arrived together, occurrences] of this lane over the runs it was measured on


class LaneProps(TypedDict):
    """One run."""

    key: str
    label: str
    model: str
    decoder: str
    window: str
    n: int
    device: str
    dtype: str
    finish: str
    partial: bool
    c0: int  # correct frontier of the first draft
    output: list[int]
    passes: list[PassProps]
    summary: dict[str, float | int | None]
    notes: list[str]
    collocations: NotRequired[list[CollocationProps]]  # strongest first; absent where there was no table to look in


Piece = tuple[int, int, str]  # token id, kind, text (hex digits for BYTES)


VIEWS = ("known", "hindsight")
CLOCKS = ("pass", "time")


# Where the player stands when a payload is shown: `pass` is a keyword, so the fields are given as text.
OpenProps = TypedDict("OpenProps", {"lane": str, "pass": int, "view": str, "clock": str}, total=False)


class PlayerProps(TypedDict):
    """All that the player draws."""

    schema: str
    version: int
    title: str
    prompt: str
    pieces: list[Piece]
    lanes: list[LaneProps]
    notes: list[str]
    corpus: NotRequired[str]  # what the collocations were found in
    asked: NotRequired[str]  # what tells this run from others (visualize.share), in the app
    open: NotRequired[OpenProps]  # where to open; otherwise at the end, in the view that is set


class _Pieces:
    """Interns token pieces: one entry per (id, bytes), whichever lane it comes from."""

    def __init__(self) -> None:
        self.entries: list[Piece] = []
        self._index: dict[tuple[int, bytes], int] = {}

    def index(self, token: int, trajectory: Trajectory) -> int:
        piece = trajectory.pieces.get(token, f"⟨{token}⟩".encode())
        key = (token, piece)
        if key not in self._index:
            self._index[key] = len(self.entries)
            self.entries.append(_piece(token, piece, token in trajectory.special))
        return self._index[key]


def _piece(token: int, piece: bytes, special: bool) -> Piece:
    try:
        return (token, CONTROL if special else TEXT, piece.decode("utf-8"))
    except UnicodeDecodeError:
        return (token, BYTES, piece.hex())


def player_props(
    lanes: Mapping[str, Trajectory],
    *,
    title: str = "",
    labels: Mapping[str, str] | None = None,
    table: CollocationTable | None = None,
) -> PlayerProps:
    """Return the payload for lanes of one prompt, keyed and ordered as given (`base_ar`, `base_jacobi`, ...).

    With a table, each lane says which of its collocations occur in it and when they arrived.
    """
    pieces = _Pieces()
    cells = sum(len(step.state) for trajectory in lanes.values() for step in trajectory.steps)
    candidates = cells <= CANDIDATE_CELLS
    props = [
        _lane(key, (labels or {}).get(key, LANE_LABELS.get(key, key)), trajectory, pieces, candidates)
        for key, trajectory in lanes.items()
    ]
    if table is not None:
        for lane, (key, trajectory) in zip(props, lanes.items()):
            lane["collocations"] = _collocations(key, trajectory, table)
    payload: PlayerProps = {
        "schema": SCHEMA,
        "version": VERSION,
        "title": title,
        "prompt": next((trajectory.prompt for trajectory in lanes.values()), ""),
        "pieces": pieces.entries,
        "lanes": props,
        "notes": [] if candidates else [f"Candidates are left out of this view: it has {cells:,} cells."],
    }
    if table is not None:
        payload["corpus"] = table.corpus
    return payload


LANE_LABELS = {
    "base_ar": "Base, one token at a time",
    "base_jacobi": "Base, Jacobi",
    "cllm_ar": "CLLM, one token at a time",
    "cllm_jacobi": "CLLM, Jacobi",
}


def _lane(key: str, label: str, trajectory: Trajectory, pieces: _Pieces, candidates: bool) -> LaneProps:
    annotation = annotate(trajectory)
    model, config = trajectory.model, trajectory.config
    return {
        "key": key,
        "label": label,
        "model": f"{model.name} + {model.adapter}" if model.adapter else model.name,
        "decoder": config.decoder,
        "window": config.window,
        "n": window_size(trajectory),
        "device": model.device_name or model.device,
        "dtype": model.dtype,
        "finish": trajectory.finish,
        "partial": trajectory.partial,
        "c0": annotation.correct[0],
        "output": [pieces.index(token, trajectory) for token in trajectory.ids],
        "passes": [
            _pass(step, annotation.correct[t + 1], annotation.hindsight[t], trajectory, pieces, candidates)
            for t, step in enumerate(trajectory.steps)
        ],
        "summary": {name: _rounded(value) for name, value in asdict(summarize(trajectory, annotation)).items()},
        "notes": list(trajectory.notes),
    }


def _collocations(key: str, trajectory: Trajectory, table: CollocationTable) -> list[CollocationProps]:
    found: dict[Collocation, list[list[int]]] = {}
    for occurrence in occurrences(trajectory, table):
        hit = [occurrence.together or 0, *occurrence.positions]
        found.setdefault(occurrence.collocation, []).append(hit)
    listed = []
    for collocation in sorted(found, key=table.collocations.index):
        props: CollocationProps = {"label": collocation.label, "hits": found[collocation]}
        if key in collocation.shares:
            share = collocation.shares[key]
            props["share"] = [share.together, share.occurrences]
        listed.append(props)
    return listed


def _pass(
    step: Step, correct: int, classes: Sequence[str], trajectory: Trajectory, pieces: _Pieces, candidates: bool
) -> PassProps:
    def indexes(tokens: Sequence[int]) -> list[int]:
        return [pieces.index(token, trajectory) for token in tokens]

    props: PassProps = {
        "s": step.start,
        "d": indexes(step.draft),
        "x": indexes(step.state),
        "f": step.fixed,
        "c": correct,
        "ms": round(step.seconds * 1000, 3),
        "h": "".join(CLASS_LETTERS[name] for name in classes),
    }
    if step.probabilities:
        props["p"] = [_thousandths(p) for p in step.probabilities]
    if step.top and candidates:
        props["k"] = [
            [number for token, p in row for number in (pieces.index(token, trajectory), _thousandths(p))]
            for row in step.top
        ]
    return props


def _thousandths(probability: float) -> int:
    return round(probability * 1000)


def _rounded(value: Any) -> Any:
    return round(value, 4) if isinstance(value, float) else value
