"""Lessons: what they point at is really in their recordings, and another recording can take its place."""

import json
import re
from pathlib import Path
from typing import Any

import phrase_runs
import pytest
import worked_example

from cllm_core import io
from cllm_core.collocation_files import load_table
from cllm_core.collocations import Collocation, CollocationTable
from cllm_core.errors import FormatError
from cllm_core.metrics import summarize
from cllm_core.pairs import assets_folder, find_pair
from visualize.learn_page import learn_page
from visualize.lesson_facts import Recording, agreement, found_facts, lane_facts, read_recording
from visualize.lesson_rules import RULES, Lane
from visualize.lessons import RECORDINGS, TEXTS, LearnProps, Step, build_lesson, find_cells, learn_props
from visualize.page import payload_json
from visualize.view import player_props

LANE = Lane(worked_example.trajectory(), CollocationTable())
PHRASES = Lane(phrase_runs.lanes()["cllm_jacobi"], phrase_runs.TABLE)
PHRASES_APART = Lane(phrase_runs.lanes()["base_jacobi"], phrase_runs.TABLE)
NOTES, QUERY = (read_recording(RECORDINGS / name) for name in ("notes.json", "query.json"))
LATER = ("4-fast-forwarded", "5-stationary", "6-collocations")
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
        ("every_stationary", [(1, 2), (2, 4)]),
        ("waiting", []),
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
    assert RULES["together"](PHRASES_APART) == []
    assert RULES["collocation"](PHRASES_APART) == [(1, 0), (3, 2), (5, 4), (6, 5)]


def test_cells_are_found_in_one_pass_the_first_the_named_or_a_later_one() -> None:
    assert find_cells({"rule": "fast_forwarded"}, LANE) == [(2, 2)]
    assert find_cells({"rule": "fast_forwarded", "skip": 1}, LANE) == [(3, 4), (3, 5)]
    assert find_cells({"rule": "fast_forwarded", "after": 2}, LANE) == [(3, 4), (3, 5)]
    assert find_cells({"rule": "fixed", "pass": 4}, LANE) == [(4, 4), (4, 5)]
    assert find_cells({"rule": "fast_forwarded", "most": True}, LANE) == [(3, 4), (3, 5)]
    assert find_cells({"rule": "fixed", "most": True, "skip": 3}, LANE) == [(4, 4), (4, 5)]
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
        "reached": 2, "lost": 2, "passes": "pass 2", "words": "", "fed_due": "“x”", "final_due": "“B”",
    }  # fmt: skip
    assert found_facts(LANE, [(1, 5)])["lost"] == 2
    assert found_facts(LANE, [(1, 2)])["reached"] == 2
    scattered = found_facts(PHRASES_APART, RULES["collocation"](PHRASES_APART)[:2])
    assert (scattered["passes"], scattered["words"]) == ("passes 1 and 3", "SELECT … FROM")


def test_a_fast_forwarded_token_has_a_wrong_guess_to_its_left() -> None:
    """Lesson 4 says so of whatever recording it plays; it follows from what the correct frontier is."""
    for lane in (LANE, PHRASES, NOTES.lanes["cllm_jacobi"]):
        assert RULES["fast_forwarded"](lane)
        for t, position in RULES["fast_forwarded"](lane):
            due = lane.annotation.correct[t - 1]
            assert lane.fed(t, due) != lane.trajectory.ids[due]
            assert position > due


def test_a_leapt_token_was_not_right_before() -> None:
    """Stationary tokens are fast-forwarded too when the frontier reaches them: lesson 4 points at others first."""
    assert RULES["leapt"](LANE) == [(3, 5)]
    lane = NOTES.lanes["cllm_jacobi"]
    leapt = [cell for cell in RULES["leapt"](lane) if cell[0] > 1]
    assert 0 < len(leapt) < len(RULES["fast_forwarded"](lane))
    assert not any(
        right(lane, t - 1, p)
        for t, p in leapt
        if p - lane.trajectory.steps[t - 2].start < len(lane.trajectory.steps[t - 2].state)
    )


def test_the_recorded_answers_are_told_apart_by_their_seeds(props: LearnProps) -> None:
    labels = [lane["label"] for lane in props["recordings"]["animal.jsonl"]["lanes"]]
    assert labels == ["Seed 2", "Seed 2 again", "Seed 3"]


def test_the_seeds_of_the_recorded_answers_are_told(props: LearnProps) -> None:
    (answer,) = [each["answer"][1] for each in props["questions"] if "differently" in each["question"]]
    runs = read_recording(RECORDINGS / "animal.jsonl").lanes.values()
    assert re.findall(r"[Ss]eed (\d+)", answer) == [str(lane.trajectory.config.seed) for lane in runs]


# --- the lessons that ship


def test_there_are_six_lessons_a_game_and_five_questions(props: LearnProps) -> None:
    assert [len(props[part]) for part in ("lessons", "rounds", "questions")] == [6, 3, 5]  # type: ignore[literal-required]
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


def built(name: str, recording: Recording) -> list[Step]:
    data = json.loads((TEXTS / f"{name}.json").read_text(encoding="utf-8"))
    return build_lesson(data, {data["recording"]: recording})["steps"]


def right(lane: Lane, t: int, position: int) -> bool:
    return lane.token(t, position) == lane.trajectory.ids[position]


def later(lane: Lane, t: int, position: int) -> list[bool]:
    """Whether the position is right in each pass after t that still predicts it."""
    steps = enumerate(lane.trajectory.steps, 1)
    return [right(lane, each, position) for each, step in steps if each > t and step.start <= position]


def is_fast_forwarded(lane: Lane, t: int, position: int) -> bool:
    return lane.annotation.correct[t - 1] < position < lane.annotation.correct[t]


def is_early(lane: Lane, t: int, position: int) -> bool:
    return right(lane, t, position) and position > lane.annotation.correct[t]


def is_stationary(lane: Lane, t: int, position: int) -> bool:
    return is_early(lane, t, position) and all(later(lane, t, position))


def arrives(lane: Lane, t: int, position: int) -> bool:
    """Whether a token is right from pass t on, and was not in the pass before."""
    before = t > 1 and lane.trajectory.steps[t - 2].start + len(lane.trajectory.steps[t - 2].state) > position
    return right(lane, t, position) and all(later(lane, t, position)) and not (before and right(lane, t - 1, position))


def leaps_over_a_wrong_guess(lane: Lane, t: int, position: int) -> bool:
    """Whether a token is right in spite of a wrong guess to its left, and, where any is, not right before."""
    due = lane.annotation.correct[t - 1]
    new = (t, position) in RULES["leapt"](lane) or not [cell for cell in RULES["leapt"](lane) if cell[0] > 1]
    return new and lane.fed(t, due) != lane.trajectory.ids[due] and is_fast_forwarded(lane, t, position)


def is_transient(lane: Lane, t: int, position: int) -> bool:
    return is_early(lane, t, position) and not all(later(lane, t, position))


def became_final(lane: Lane, t: int, position: int) -> bool:
    """Whether a pass fixed the position: all guesses from the frontier to it came out as they went in."""
    step = lane.trajectory.steps[t - 1]
    kept = [lane.fed(t, each) == lane.held(t, each) for each in range(step.start, position)]
    return step.start <= position and all(kept) and right(lane, t, position)


def beyond_the_first(lane: Lane, t: int, position: int) -> bool:
    return became_final(lane, t, position) and position > lane.trajectory.steps[t - 1].start


def led_astray(lane: Lane, t: int, position: int) -> bool:
    return not right(lane, t, position) and lane.fed(t, position - 1) != lane.trajectory.ids[position - 1]


SAID = {
    "*fast-forwarded*": leaps_over_a_wrong_guess,
    "It is right, although": is_stationary,
    "*stationary*": is_stationary,
    "*transient*": is_transient,
}
ASKED = {
    "sooner than one token a pass allows": is_fast_forwarded,
    "Choose a stationary token": is_stationary,
    "that arrived together, in the pass": arrives,
}


EARLY = {
    "Choose the token that pass 6 gave": lambda lane, t, position: t == 6 and became_final(lane, t, position),
    "became final in pass 4": lambda lane, t, position: t == 4 and became_final(lane, t, position),
    "they are final too": beyond_the_first,
    "fixed beyond its first one": beyond_the_first,
    "What it is fed, it believes": led_astray,
    "that follows a wrong guess": led_astray,
}


@pytest.mark.parametrize(("name", "count"), [("1-one-at-a-time", 1), ("2-many-guesses", 3), ("3-almost-nothing", 2)])
def test_lessons_1_to_3_point_at_what_they_name(name: str, count: int) -> None:
    recording, held = read_recording(RECORDINGS / "week.json"), set()
    for step in built(name, recording):
        lane, asked = recording.lanes[step["lane"]], step.get("ask")
        for words, holds in EARLY.items():
            if words in " ".join(step["say"]):
                held.add(words)
                assert step["flags"]
                assert all(holds(lane, *cell) for cell in step["flags"])
            if asked and words in asked["text"]:
                held.add(words)
                assert all(holds(lane, *cell) for cell in asked["cells"])
    assert len(held) == count


def test_lesson_2_says_which_guesses_are_final_and_no_more() -> None:
    """Many guesses come out of a pass as they went in and are not final: those behind one that changed."""
    lane = read_recording(RECORDINGS / "week.json").lanes["base_jacobi"]
    steps = list(enumerate(lane.trajectory.steps, 1))
    kept = [
        (t, p)
        for t, step in steps
        for p in range(step.start, step.start + len(step.draft))
        if lane.fed(t, p) == lane.held(t, p)
    ]
    assert [cell for cell in kept if not became_final(lane, *cell)]
    confirmed = [(t, p) for t, step in steps for p in range(step.start + 1, step.fixed)]
    assert RULES["confirmed"](lane) == confirmed
    assert all(beyond_the_first(lane, *cell) for cell in confirmed)
    five, seven = (built("2-many-guesses", read_recording(RECORDINGS / "week.json"))[index] for index in (4, 6))
    assert "*from the frontier on*, without a gap" in five["say"][0]
    assert "all guesses from the frontier to it" in seven["ask"]["right"]


def assert_true_to(recording: Recording, steps: list[Step]) -> set[str]:
    """Hold what a lesson points at, and what it takes for an answer, to the definitions. Returns what was held to."""
    held = set()
    for step in steps:
        lane, text, flags = recording.lanes[step["lane"]], " ".join(step["say"]), step["flags"]
        asked = step["ask"]["text"] if "ask" in step else ""
        cells = step["ask"]["cells"] if "ask" in step else []
        passes = {t for t, _ in flags}
        for words, holds in SAID.items():
            if words in text and (flags or "there is none" not in text):
                held.add(words)
                assert holds(lane, *flags[0])
        for words, holds in ASKED.items():
            if words in asked:
                held.add(words)
                assert step["lane"] == "cllm_jacobi"
                assert all(holds(lane, *cell) for cell in cells)
        if "it *arrived together*" in text and "When all" not in text:
            held.add("arrived together")
            assert (step["lane"], len(passes), len(flags) > 1) == ("cllm_jacobi", 1, True)
            assert all(arrives(lane, *cell) for cell in flags)
        if "did not become right together" in text:
            held.add("apart")
            assert (step["lane"], len(passes) > 1) == ("base_jacobi", True)
            assert all(arrives(lane, *cell) for cell in flags)
    return held


@pytest.mark.parametrize(
    ("name", "held"),
    [
        ("4-fast-forwarded", {"*fast-forwarded*", "sooner than one token a pass allows"}),
        ("5-stationary", {"It is right, although", "*stationary*", "*transient*", "Choose a stationary token"}),
        ("6-collocations", {"arrived together", "apart", "that arrived together, in the pass"}),
    ],
)
def test_lessons_4_to_6_point_at_what_they_name(name: str, held: set[str]) -> None:
    recording = QUERY if name.startswith("6") else NOTES
    assert assert_true_to(recording, built(name, recording)) == held


def test_every_stationary_cell_of_the_cllm_lane_is_taken_for_an_answer() -> None:
    """A token is stationary in every row until the frontier reaches it, not only in its first."""
    lane = NOTES.lanes["cllm_jacobi"]
    rows = enumerate(zip(lane.trajectory.steps, lane.annotation.hindsight), 1)
    cells = [(t, p) for t, (step, names) in rows for p, name in enumerate(names, step.start) if name == "stationary"]
    (asked,) = [step["ask"] for step in built("5-stationary", NOTES) if "ask" in step]
    assert asked["cells"] == cells


def test_what_training_changes_is_told_with_the_numbers_of_both_lanes(props: LearnProps) -> None:
    (answer,) = [each["answer"] for each in props["questions"] if each["question"].startswith("What does consistency")]
    lesson = props["lessons"][5]["steps"][-2]["say"]
    for recording in (NOTES, QUERY):
        base, cllm = (recording.lanes[key].trajectory for key in ("base_jacobi", "cllm_jacobi"))
        assert len(cllm.ids) / len(cllm.steps) > 1.5 * len(base.ids) / len(base.steps)
        for run, name in ((base, "Base lane"), (cllm, "CLLM")):
            tokens, rate = len(run.ids), f"{len(run.ids) / len(run.steps):.2f} tokens per pass"
            if recording is QUERY:
                assert f"{name}: {tokens} tokens, {len(run.steps)} passes, {rate}" in lesson[1]
            else:
                assert (
                    f"{tokens} tokens in {len(run.steps)} passes, {rate}, {summarize(run).seconds:.2f} s" in answer[1]
                )


@pytest.mark.parametrize(("recording", "pair"), [(NOTES, "json-smollm2"), (QUERY, "spider-smollm2")])
def test_a_recorded_pair_is_decoded_as_the_pair_says_and_compared_with_one_at_a_time(
    recording: Recording, pair: str
) -> None:
    config = recording.lanes["cllm_jacobi"].trajectory.config
    wanted = find_pair(pair).decode
    assert {name: getattr(config, name) for name in wanted} == dict(wanted)
    facts = recording.facts
    assert [facts[key]["same_as_one_at_a_time"] for key in ("base_jacobi", "cllm_jacobi")] == ["Yes", "Yes"]
    table = load_table(assets_folder() / pair / "collocations.json")
    assert facts["cllm_jacobi"]["outputs"] == f"{table.outputs:,}"


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


JSON = [
    b"{",
    b"\n ",
    b' "',
    b"rent",
    b'":',
    b" ",
    b"1",
    b"3",
    b",",
    b"\n",
    b' "',
    b"currency",
    b'":',
    b' "',
    b"CHF",
    b'"}',
]
RENT = CollocationTable((Collocation((("rent",), ("currency",)), "rent … currency", 9, 99.0, 3.0),), 4, "notes", 9)
SLOW = list(range(1, 17))


@pytest.mark.parametrize(
    "passes",
    [
        [1, 1, 2, 1, 2, 3, 2, 3, 3, 4, 3, 4, 4, 5, 4, 5],  # about three tokens a pass
        [1, 1, 1, 1, 2, 1, 1, 2, 2, 2, 3, 2, 2, 2, 3, 3],  # about four
        [1, 1, 1, 2, 5, 2, 2, 2, 6, 3, 3, 2, 7, 3, 4, 8],  # with stationary tokens; rent … currency comes in one pass
        [1, 2, 3, 4, 4, 5, 6, 7, 7, 8, 9, 10, 10, 11, 3, 12],  # hardly faster than the base
    ],
)
def test_lessons_4_to_6_can_be_taught_with_another_recording(passes: list[int]) -> None:
    """Another CLLM gains more or less, arrives elsewhere and may have no transient token: the lessons still hold."""
    runs = {"base_jacobi": phrase_runs.run_of(JSON, SLOW), "cllm_jacobi": phrase_runs.run_of(JSON, passes)}
    assert runs["base_jacobi"].ids == runs["cllm_jacobi"].ids
    recording = Recording({key: Lane(run, RENT) for key, run in runs.items()}, player_props(runs, table=RENT))
    for name in LATER:
        assert_true_to(recording, built(name, recording))
    steps = built("4-fast-forwarded", recording)
    cllm = recording.facts["cllm_jacobi"]
    assert f"{cllm['fast_forwarded']} of 16 tokens were fast-forwarded, in the base lane 0 of 16" in steps[-1]["say"][0]
    assert f"CLLM: 16 tokens, {cllm['passes']} passes" in built("6-collocations", recording)[-2]["say"][1]


def test_a_step_says_something_else_where_its_recording_does_not_show_the_thing() -> None:
    runs = {"base_jacobi": phrase_runs.run_of(JSON, SLOW), "cllm_jacobi": phrase_runs.run_of(JSON, [1, 1, 1, 1] * 4)}
    recording = Recording({key: Lane(run, RENT) for key, run in runs.items()}, player_props(runs, table=RENT))
    lesson = json.loads((TEXTS / "5-stationary.json").read_text(encoding="utf-8"))
    lesson["steps"] = lesson["steps"][2:3]
    (step,) = build_lesson(lesson, {"notes.json": recording})["steps"]
    assert step["say"][0].endswith("In this run there is none.")
    assert (step["flags"], step["lane"]) == ([], "base_jacobi")
    lesson["steps"][0]["else"].pop("else")
    with pytest.raises(ValueError, match="no cell that is transient"):
        build_lesson(lesson, {"notes.json": recording})


def test_one_phrase_is_compared_between_two_lanes() -> None:
    assert find_cells({"rule": "gained", "other": "base"}, PHRASES, {"base": PHRASES_APART}) == [(1, 0), (1, 2)]
    assert find_cells({"rule": "scattered", "other": "c"}, PHRASES_APART, {"c": PHRASES}) == [(1, 0), (3, 2)]
    assert find_cells({"rule": "phrase"}, PHRASES_APART) == [(1, 0), (3, 2)]
    with pytest.raises(ValueError, match="no cell that is gained"):
        find_cells({"rule": "gained", "other": "cllm"}, PHRASES_APART, {"cllm": PHRASES})


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
        ({"steps": [{"say": [5], "pass": 1}]}, "int"),
        ({"steps": [{"say": ["{lane.tokens}"], "pass": 1}]}, "tokens"),
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
