"""Lessons, and questions people ask: texts from assets/lessons, joined with recordings into what the Learn tab shows.

A lesson's text is data. Numbers in it ({lane[passes]}) and the cells it points at come from the recording it names, so
that another recording can take its place. Knows no gradio; needs no model.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NotRequired, TypedDict, TypeVar

from cllm_core.errors import FormatError
from cllm_core.io import parse_json
from visualize.lesson_facts import Recording, agreement, found_facts, read_recording
from visualize.lesson_rules import PHRASES, RULES, Cell, Lane, cells_of, is_word, lost, reached
from visualize.load import TRACES
from visualize.view import PlayerProps

T = TypeVar("T")


class NothingFound(ValueError):
    """A recording does not show what a step looks for."""


SCHEMA = "cllm-lessons"
VERSION = 1
TEXTS = Path(__file__).resolve().parent.parent / "assets" / "lessons"
RECORDINGS = TRACES / "lessons"


class Ask(TypedDict):
    """A check: the learner answers by choosing a cell."""

    text: str
    cells: list[Cell]  # every right answer
    right: str  # what is said then


class Step(TypedDict):
    """One step of a lesson: what is said, and what the player shows meanwhile."""

    say: list[str]  # paragraphs; *stars* mark a term
    lane: str
    view: str  # known | hindsight
    at: int  # the pass
    flags: list[Cell]
    ask: NotRequired[Ask]


class LessonProps(TypedDict):
    """One lesson."""

    title: str
    recording: str
    lanes: list[str]
    steps: list[Step]


class Show(TypedDict):
    """What a button under an answer opens in the player."""

    label: str
    recording: str
    lanes: list[str]
    lane: str
    view: str
    at: NotRequired[int]  # the pass; the end of the run where none is given


class Question(TypedDict):
    """A question that people ask, and its answer."""

    question: str
    answer: list[str]
    show: NotRequired[Show]


class Round(TypedDict):
    """A recording to predict in."""

    title: str
    recording: str
    lane: str


class LearnProps(TypedDict):
    """All that the Learn tab shows."""

    schema: str
    version: int
    recordings: dict[str, PlayerProps]
    lessons: list[LessonProps]
    rounds: list[Round]
    questions: list[Question]


def learn_props(texts: Path = TEXTS, recordings: Path = RECORDINGS) -> LearnProps:
    """Return the lessons, the rounds of the prediction game and the questions, with the recordings they play.

    FormatError names the file that is wrong: one that names no recording, lane, rule or number that there is, or a
    lesson whose recording does not show what it points at.
    """
    paths = sorted([*recordings.glob("*.json"), *recordings.glob("*.jsonl")])
    found = {path.name: read_recording(path) for path in paths}
    lessons = [_file(path, lambda data: build_lesson(data, found)) for path in sorted(texts.glob("[0-9]*.json"))]
    rounds = _file(texts / "predict.json", lambda data: [_round(each, found) for each in data["rounds"]])
    questions = _file(texts / "questions.json", lambda data: [_question(each, found) for each in data["questions"]])
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "recordings": {name: recording.props for name, recording in found.items()},
        "lessons": lessons,
        "rounds": rounds,
        "questions": questions,
    }


def _file(path: Path, build: Callable[[Any], T]) -> T:
    try:
        return build(parse_json(path.read_bytes()))
    except OSError as error:
        raise FormatError(f"Cannot read {path.name}: {error.strerror or error}.") from error
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise FormatError(f"{path.name} cannot be taught from: {error}") from error


def build_lesson(data: Mapping[str, Any], recordings: Mapping[str, Recording]) -> LessonProps:
    """Join a lesson's text with its recording."""
    recording = recordings[data["recording"]]
    lanes = _lanes(data["lanes"], recording)
    return {
        "title": data["title"],
        "recording": data["recording"],
        "lanes": lanes,
        "steps": [_step(each, recording, lanes) for each in data["steps"]],
    }


def _lanes(keys: Sequence[str], recording: Recording) -> list[str]:
    for key in keys:
        if key not in recording.lanes:
            raise KeyError(f"there is no lane {key!r} in its recording")
    return list(keys)


def _step(data: Mapping[str, Any], recording: Recording, lanes: Sequence[str]) -> Step:
    """Join one step with the recording; what stands under its `else` holds where it finds no cell."""
    key = data.get("lane", lanes[-1])
    lane = recording.lanes[key]
    try:
        cells = _first_found(data.get("find"), lane, recording.lanes)
    except NothingFound:
        if "else" not in data:
            raise
        kept = {name: value for name, value in data.items() if name != "else"}
        return _step({**kept, **data["else"]}, recording, lanes)
    at = _pass(data["pass"], lane, cells)
    facts = {"lane": recording.facts[key], **recording.facts, "found": found_facts(lane, cells)}
    step: Step = {
        "say": [paragraph.format_map(facts) for paragraph in data["say"]],
        "lane": key,
        "view": data.get("view", "hindsight"),
        "at": at,
        "flags": _marked(data.get("mark", ""), cells, at),
    }
    if "ask" in data:
        step["ask"] = {
            "text": data["ask"].format_map(facts),
            "cells": [cell for cell in RULES[data["accept"]](lane) if cell[0] <= at] if "accept" in data else cells,
            "right": data["right"].format_map(facts),
        }
    return step


def _marked(mark: str, cells: Sequence[Cell], at: int) -> list[Cell]:
    """Return the cells that a step points at: the `first` that was found, that one in every row since, or `all`."""
    if mark == "follow":
        return [(t, cells[0][1]) for t in range(cells[0][0], at + 1)]
    return {"": [], "first": list(cells[:1]), "all": list(cells)}[mark]


def _first_found(find: Any, lane: Lane, lanes: Mapping[str, Lane]) -> list[Cell]:
    """Return the cells that the first of several ways to look for them finds; none where a step looks for nothing."""
    *others, last = find if isinstance(find, list) else [find]
    for each in others:
        try:
            return find_cells(each, lane, lanes)
        except NothingFound:
            continue
    return find_cells(last, lane, lanes) if last else []


def find_cells(find: Mapping[str, Any], lane: Lane, lanes: Mapping[str, Lane] | None = None) -> list[Cell]:
    """Return the cells of a rule in one pass: the pass that is named, else the first that has some.

    `skip` passes over so many such passes, `after` starts behind a pass, `most` takes the pass with the most of what is
    left, `words` keeps to tokens with a letter. A rule about a phrase gives the cells of one collocation, in as many
    passes as it took; it may look at an `other` lane of the recording. NothingFound if there are none.
    """
    rule = find["rule"]
    if rule in PHRASES:
        occurrence = PHRASES[rule](lane, (lanes or {})[find["other"]] if "other" in find else lane)
        cells = cells_of(occurrence) if occurrence else []
    elif rule in RULES:
        cells = RULES[rule](lane)
        cells = _one_pass(find, [cell for cell in cells if not find.get("words") or is_word(lane, cell)])
    else:
        raise KeyError(f"there is no rule {rule!r}, only {', '.join([*RULES, *PHRASES])}")
    if not cells:
        raise NothingFound(f"its recording has no cell that is {rule} where the lesson looks for one ({find})")
    return cells


def _one_pass(find: Mapping[str, Any], cells: Sequence[Cell]) -> list[Cell]:
    sizes = Counter(t for t, _ in cells if t > find.get("after", 0) and find.get("pass", t) == t)
    passes = sorted(sizes)[find.get("skip", 0) :]
    if find.get("most"):
        passes.sort(key=lambda t: -sizes[t])
    return [cell for cell in cells if cell[0] in passes[:1]]


_LATER: dict[Any, Callable[[Lane, Sequence[Cell]], int]] = {
    "reached": lambda lane, cells: reached(lane, cells[0]),
    "lost": lambda lane, cells: lost(lane, cells[0]),
    "arrived": lambda lane, cells: max(t for t, _ in cells),
}


def _pass(value: Any, lane: Lane, cells: Sequence[Cell]) -> int:
    """Return the pass that a step shows: a number, `end`, `found`, or a distance from what was found (`found-1`).

    `reached` is the pass in which the correct frontier gets behind the first cell that was found, `lost` the one that
    predicts something wrong there, `arrived` the last pass of the cells that were found.
    """
    last = len(lane.trajectory.steps)
    if value == "end":
        return last
    if value in _LATER:
        return _LATER[value](lane, cells)
    if isinstance(value, str) and value.startswith("found"):
        return min(last, cells[0][0] + int(value.removeprefix("found") or 0))
    if not isinstance(value, int) or not 0 <= value <= last:
        raise ValueError(f"its recording has no pass {value!r}")
    return value


def _round(data: Mapping[str, Any], recordings: Mapping[str, Recording]) -> Round:
    (lane,) = _lanes([data["lane"]], recordings[data["recording"]])
    return {"title": data["title"], "recording": data["recording"], "lane": lane}


def _question(data: Mapping[str, Any], recordings: Mapping[str, Recording]) -> Question:
    names = data.get("facts", {})
    facts: dict[str, Any] = {name: recordings[file].facts for name, file in names.items()}
    facts["all"] = agreement(recordings.values())
    question: Question = {
        "question": data["question"],
        "answer": [paragraph.format_map(facts) for paragraph in data["answer"]],
    }
    if "show" in data:
        question["show"] = _show(data["show"], recordings)
    return question


def _show(data: Mapping[str, Any], recordings: Mapping[str, Recording]) -> Show:
    recording = recordings[data["recording"]]
    lanes = _lanes(data["lanes"], recording)
    show: Show = {
        "label": data["label"],
        "recording": data["recording"],
        "lanes": lanes,
        "lane": lanes[-1],
        "view": data.get("view", "hindsight"),
    }
    if "pass" in data:
        show["at"] = _pass(data["pass"], recording.lanes[lanes[-1]], [])
    return show
