"""Lessons: what they point at is really in their recordings, and another recording can take its place."""

import json
from pathlib import Path
from typing import Any

import phrase_runs
import pytest
import worked_example

from cllm_core import io
from cllm_core.collocations import CollocationTable
from cllm_core.errors import FormatError
from visualize.learn_page import learn_page
from visualize.lesson_facts import agreement, found_facts, lane_facts, read_recording
from visualize.lesson_rules import RULES, Lane
from visualize.lessons import TEXTS, LearnProps, build_lesson, find_cells, learn_props
from visualize.page import payload_json

LANE = Lane(worked_example.trajectory(), CollocationTable())
PHRASES = Lane(phrase_runs.lanes()["cllm_jacobi"], phrase_runs.TABLE)
LESSON = {"title": "T", "recording": "run.json", "lanes": ["base_jacobi"], "steps": [{"say": ["x"], "pass": 1}]}


@pytest.fixture(scope="module")
def props() -> LearnProps:
    return learn_props()


# --- rules


@pytest.mark.parametrize(
    ("rule", "cells"),
    [
        ("fast_forwarded", [(2, 2), (3, 4), (3, 5)]),
        ("stationary", [(1, 2), (2, 4)]),
        ("transient", [(1, 5)]),
        ("next", [(1, 0), (2, 1), (3, 2), (4, 4)]),
        ("fixed", [(1, 0), (2, 1), (3, 2), (3, 3), (4, 4), (4, 5)]),
        ("confirmed", [(3, 3), (4, 5)]),
        ("misled", [(1, 1), (1, 3), (1, 4), (2, 5)]),
    ],
)
def test_a_rule_finds_its_cells_in_the_worked_example(rule: str, cells: list[tuple[int, int]]) -> None:
    assert RULES[rule](LANE) == cells


def test_collocations_are_found_where_their_tokens_arrive() -> None:
    assert RULES["together"](PHRASES) == [(1, 0), (1, 2), (2, 4), (2, 5)]
    apart = Lane(phrase_runs.lanes()["base_jacobi"], phrase_runs.TABLE)
    assert RULES["together"](apart) == []
    assert RULES["collocation"](apart) == [(1, 0), (3, 2), (5, 4), (6, 5)]


def test_cells_are_found_in_one_pass_the_first_the_named_or_a_later_one() -> None:
    assert find_cells({"rule": "fast_forwarded"}, LANE) == [(2, 2)]
    assert find_cells({"rule": "fast_forwarded", "skip": 1}, LANE) == [(3, 4), (3, 5)]
    assert find_cells({"rule": "fast_forwarded", "after": 2}, LANE) == [(3, 4), (3, 5)]
    assert find_cells({"rule": "fixed", "pass": 4}, LANE) == [(4, 4), (4, 5)]
    with pytest.raises(ValueError, match="no cell that is fast_forwarded"):
        find_cells({"rule": "fast_forwarded", "skip": 2}, LANE)


# --- facts


def test_facts_are_those_of_the_recording() -> None:
    facts = lane_facts(LANE)
    names = ("tokens", "passes", "tokens_per_pass", "n", "fast_forwarded", "stationary")
    assert {name: facts[name] for name in names} == {
        "tokens": 6, "passes": 4, "tokens_per_pass": "1.50", "n": 6, "fast_forwarded": 3, "stationary": 2,
    }  # fmt: skip
    assert (facts["transient"], facts["ms"], facts["ms_wide"]) == (1, 10, 10)
    assert (lane_facts(PHRASES)["together"], lane_facts(PHRASES)["collocations"]) == (2, 2)


def test_what_was_found_can_be_named() -> None:
    facts = found_facts(LANE, [(2, 2)])
    assert facts == {
        "pass": 2, "pass_before": 1, "position": 2, "position_before": 1, "count": 1, "token": "“C”", "final": "“C”",
        "fed_before": "“x”", "final_before": "“B”", "correct_before": 1, "correct_after": 3, "gained": 2,
    }  # fmt: skip


def test_a_fast_forwarded_token_was_fed_a_wrong_guess(props: LearnProps) -> None:
    """Lesson 4 says so of whatever recording it plays; it follows from what the correct frontier is."""
    for t, position in RULES["fast_forwarded"](LANE):
        due = LANE.annotation.correct[t - 1]
        assert LANE.fed(t, due) != LANE.trajectory.ids[due]
        assert position > due


# --- the lessons that ship


def test_there_are_six_lessons_a_game_and_four_questions(props: LearnProps) -> None:
    assert [len(props[part]) for part in ("lessons", "rounds", "questions")] == [6, 2, 4]  # type: ignore[literal-required]
    assert all(any("ask" in step for step in lesson["steps"]) for lesson in props["lessons"])
    assert all("show" in question for question in props["questions"])


def test_every_cell_that_a_step_points_at_or_accepts_is_in_sight(props: LearnProps) -> None:
    for lesson in props["lessons"]:
        lanes = {lane["key"]: lane for lane in props["recordings"][lesson["recording"]]["lanes"]}
        for step in lesson["steps"]:
            passes = lanes[step["lane"]]["passes"]
            assert step["lane"] in lesson["lanes"]
            assert 0 <= step["at"] <= len(passes)
            asked = step["ask"]["cells"] if "ask" in step else []
            assert ("ask" in step) == bool(asked)
            for t, position in [*step["flags"], *asked]:
                assert 1 <= t <= step["at"]
                assert 0 <= position - passes[t - 1]["s"] < len(passes[t - 1]["x"])


def test_no_number_is_left_open_and_a_step_is_short(props: LearnProps) -> None:
    for lesson in props["lessons"]:
        for step in lesson["steps"]:
            texts = [*step["say"], *([step["ask"]["text"], step["ask"]["right"]] if "ask" in step else [])]
            assert not any(sign in text for text in texts for sign in "{}")
            assert sum(len(text.split()) for text in texts) <= 110


def test_every_recording_that_was_compared_agrees_with_one_at_a_time() -> None:
    recordings = [read_recording(path) for path in sorted((TEXTS.parent / "traces" / "lessons").glob("*.json*"))]
    found = agreement(recordings)
    assert found["compared"] == found["agree"] >= 3


def test_the_lessons_stay_light_enough_to_come_with_the_page(props: LearnProps) -> None:
    assert len(payload_json(props)) < 300_000


def test_the_page_of_the_lessons_asks_for_nothing(props: LearnProps) -> None:
    page = learn_page(props, "A <b>title</b>")
    assert "A &lt;b&gt;title&lt;/b&gt;" in page
    assert "default-src 'none'" in page
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")


# --- another recording, and broken texts


def folder(tmp_path: Path, lesson: dict[str, Any] | None = None) -> Path:
    (tmp_path / "run.json").write_text(io.dumps_run({"base_jacobi": worked_example.trajectory()}), encoding="utf-8")
    if lesson is not None:
        (tmp_path / "1.json").write_text(json.dumps(lesson), encoding="utf-8")
        (tmp_path / "predict.json").write_text('{"rounds": []}', encoding="utf-8")
        (tmp_path / "questions.json").write_text('{"questions": []}', encoding="utf-8")
    return tmp_path


def test_lesson_4_can_be_taught_with_another_recording(tmp_path: Path) -> None:
    recording = read_recording(folder(tmp_path) / "run.json", CollocationTable())
    lesson = json.loads((TEXTS / "4-fast-forwarded.json").read_text(encoding="utf-8"))
    lesson["steps"][2]["find"]["skip"] = 1
    steps = build_lesson(lesson, {lesson["recording"]: recording})["steps"]
    assert [step["at"] for step in steps] == [1, 2, 3, 4]
    assert steps[1]["say"][0].startswith("Pass 2 moves it by 2, to 3.")
    assert steps[2]["ask"]["cells"] == [(3, 4), (3, 5)]


@pytest.mark.parametrize(
    ("mark", "at", "flags"),
    [("first", 3, [(2, 4)]), ("follow", 3, [(2, 4), (3, 4)]), ("all", 2, [(2, 4)]), ("", 2, [])],
)
def test_a_step_marks_the_first_cell_its_row_by_row_course_or_all(
    tmp_path: Path, mark: str, at: int, flags: list[tuple[int, int]]
) -> None:
    recording = read_recording(folder(tmp_path) / "run.json")
    step = {"say": [], "pass": at, "mark": mark, "find": {"rule": "stationary", "skip": 1}}
    lesson = build_lesson({**LESSON, "steps": [step]}, {"run.json": recording})
    assert lesson["steps"][0]["flags"] == flags


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"recording": "other.json"}, "other.json"),
        ({"lanes": ["cllm_jacobi"]}, "no lane 'cllm_jacobi'"),
        ({"steps": [{"say": ["{lane[colour]}"], "pass": 1}]}, "colour"),
        ({"steps": [{"say": ["x"], "pass": 9}]}, "no pass 9"),
        ({"steps": [{"say": ["x"]}]}, "pass"),
        ({"steps": [{"say": [], "pass": 1, "find": {"rule": "lucky"}}]}, "no rule 'lucky'"),
        ({"steps": [{"say": [], "pass": "found", "find": {"rule": "together"}}]}, "no cell that is together"),
        ({"steps": [{"say": [], "pass": 1, "find": {"rule": "next"}, "mark": "some"}]}, "some"),
        ({"steps": 5}, "int"),
    ],
)
def test_a_broken_lesson_is_named_with_what_is_wrong(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    texts, recordings = tmp_path / "texts", tmp_path / "runs"
    texts.mkdir()
    recordings.mkdir()
    folder(texts, {**LESSON, **change})
    folder(recordings)
    with pytest.raises(FormatError, match=f"1.json cannot be taught from: .*{said}"):
        learn_props(texts, recordings)


def test_a_missing_text_is_named(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"Cannot read predict\.json"):
        learn_props(tmp_path, folder(tmp_path))
