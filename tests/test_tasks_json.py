"""The notes generator: seeded, diverse, and held out in values, phrasings, fields and kinds."""

import json
import re
from collections import Counter
from datetime import date

import pytest

from cllm_core.errors import TaskError
from cllm_core.tasks import get_task
from cllm_core.tasks.base import Example
from cllm_core.tasks.json_notes import JsonNotes
from cllm_core.tasks.notes import wide_words, words
from cllm_core.tasks.notes.assemble import KINDS, UNSEEN, is_combination_held_out
from cllm_core.tasks.notes.values import clock_spellings, date_spellings

TASK = JsonNotes()
CLOSED = {"currency", "colour", "fuel", "doors", "minutes", "level", "rating", "genre", "language", "oven_c", "grams"}
CLOSED |= {"difficulty", "sport", "home_goals", "away_goals"}
SMALL_COUNTS = {"bags", "nights", "rooms", "floor", "quantity", "hours", "attendees", "weeks", "places", "servings"}
SMALL_COUNTS |= {"tickets", "shots", "vat_percent"}


@pytest.fixture(scope="module")
def train() -> list[Example]:
    return TASK.load("train", limit=3000)


@pytest.fixture(scope="module")
def held_out() -> list[Example]:
    return [*TASK.load("dev", limit=300), *TASK.load("test", limit=300)]


def open_values(examples: list[Example]) -> set[tuple[str, object]]:
    """Values of open sets, with their field; codes and counts of closed sets are the same in every split."""
    pairs = ((field, value) for example in examples for field, value in example.meta["record"].items())
    closed = CLOSED | SMALL_COUNTS
    return {(field, v) for field, v in pairs if v is not None and not isinstance(v, bool) and field not in closed}


def combinations(examples: list[Example]) -> set[tuple[str, tuple[str, ...]]]:
    return {(example.meta["kind"], tuple(sorted(example.meta["record"]))) for example in examples}


def phrasings(examples: list[Example]) -> set[tuple[str, str]]:
    return {(example.meta["kind"], phrasing) for example in examples for phrasing in example.meta["phrasings"]}


def test_same_seed_gives_the_same_notes_and_another_seed_others():
    assert TASK.load("train", limit=50) == TASK.load("train", limit=80)[:50]
    assert TASK.load("train", limit=50, seed=1) != TASK.load("train", limit=50)


def test_gold_answers_pass_their_own_check(train, held_out):
    for example in [*train, *held_out]:
        assert TASK.check(example, example.answer) == {"exact_match": 1.0, "field_accuracy": 1.0, "parses": 1.0}


def test_prompt_names_the_fields_in_the_order_of_the_answer(train):
    for example in train[:300]:
        named = example.prompt.split("\nFields: ")[1].removesuffix("\nJSON:\n").split(", ")
        assert list(json.loads(example.answer)) == named
        assert example.answer == json.dumps(example.meta["record"], indent=2, ensure_ascii=False)


def test_held_out_values_never_occur_in_training(train, held_out):
    seen, new = open_values(train), open_values(held_out)
    assert len(new) > 700
    assert not seen & new


def test_held_out_phrasings_never_occur_in_training(train, held_out):
    seen, new = phrasings(train), phrasings(held_out)
    assert len(new) > 150
    assert not seen & new


def test_held_out_sets_of_fields_never_occur_in_training(train, held_out):
    seen, new = combinations(train), combinations(held_out)
    assert len(new) > 60
    assert not seen & new
    assert all(is_combination_held_out(kind, fields) for kind, fields in new)


def test_unseen_kinds_never_occur_in_training(train):
    unseen = {example.meta["kind"] for example in TASK.load("unseen", limit=100)}
    assert unseen == {kind.name for kind in UNSEEN}
    assert not unseen & {kind.name for kind in KINDS}
    assert {example.meta["kind"] for example in train} == {kind.name for kind in KINDS}


def test_dev_and_test_share_no_note(train):
    prompts = [e.prompt for split in ("train", "dev", "test") for e in TASK.load(split, limit=200)]
    assert len(set(prompts)) == len(prompts)


def test_wide_notes_hold_nothing_that_is_held_out_but_words_that_train_never_shows(train, held_out):
    wide = TASK.load("wide", limit=3000)
    assert not open_values(wide) & open_values(held_out)
    assert not phrasings(wide) & phrasings(held_out)
    assert not combinations(wide) & combinations(held_out)
    people = [{value for field, value in open_values(part) if field == "name"} for part in (wide, train)]
    assert len(people[0] - people[1]) > 0.7 * len(people[0])
    assert all(TASK.check(example, example.answer)["exact_match"] for example in wide)


def test_wide_words_are_none_of_the_lists_words():
    listed = {
        word.lower()
        for value in vars(words).values()
        if isinstance(value, tuple)
        for text in value
        for word in re.findall(r"\w+", text)
    }
    for pool in (wide_words.NAMES, wide_words.THINGS):
        assert not listed & {word.lower() for word in pool}
        assert len(set(pool)) == len(pool) > 300


def test_told_wide_values_can_be_read_off_the_note():
    for example in TASK.load("wide", limit=300):
        for field, value in example.meta["record"].items():
            if isinstance(value, str) and field in {"name", "customer", "title", "email", "address", "city", "company"}:
                assert value in example.prompt


def test_notes_are_diverse(train):
    assert len(KINDS) >= 12
    assert len(phrasings(train)) > 700
    assert len(combinations(train)) > 250
    openings = Counter(example.prompt[6:26] for example in train)
    assert openings.most_common(1)[0][1] < len(train) * 0.02
    assert len({value for _, value in open_values(train)}) > 6000


def test_every_phrasing_list_serves_both_parts():
    facets = [facet for kind in (*KINDS, *UNSEEN) for facet in (kind.lead, *kind.facets)]
    for facet in facets:
        assert len(facet.sentences) >= 4
        assert len(set(facet.sentences)) == len(facet.sentences)
        for phrasing in (*facet.clauses, *facet.sentences):
            assert "{0}" in phrasing


def test_told_values_can_be_read_off_the_note(train):
    """What is copied as it is must stand in the note; what the note does not say is null."""
    for example in train[:500]:
        for field, value in example.meta["record"].items():
            if isinstance(value, str) and field in {"name", "customer", "title", "plate", "email", "address", "city"}:
                assert value in example.prompt


def test_some_fields_are_untold_and_some_facts_unasked(train):
    nulls = sum(value is None for example in train for value in example.meta["record"].values())
    asked = sum(len(example.meta["record"]) for example in train)
    assert 0.01 < nulls / asked < 0.06


def test_answers_are_short_enough_to_watch(train):
    lengths = [len(example.answer) for example in train]
    assert 100 < sum(lengths) / len(lengths) < 180
    assert max(len(example.prompt) for example in train) < 500


def test_word_lists_hold_no_word_twice():
    for name, value in vars(words).items():
        if isinstance(value, tuple):
            assert len(set(value)) == len(value), name


def test_dates_can_be_read_without_guessing():
    spellings = date_spellings(date(2024, 3, 4))
    assert not [text for text in spellings if "/" in text]
    assert "04/03" not in " ".join(spellings)
    assert {"13/03/2024", "3/13/2024"} <= set(date_spellings(date(2024, 3, 13)))
    assert "March 22nd, 2024" in date_spellings(date(2024, 3, 22))
    assert "March 11th, 2024" in date_spellings(date(2024, 3, 11))


@pytest.mark.parametrize(("value", "spelling"), [("00:00", "12 am"), ("12:00", "12 pm"), ("18:30", "6:30 pm")])
def test_times_of_day_are_spelled_right(value: str, spelling: str):
    assert spelling in clock_spellings(value)


def sample(**record) -> Example:
    return Example("x", "", answer=json.dumps(record), meta={"record": record})


@pytest.mark.parametrize(
    ("text", "exact", "accuracy", "parses"),
    [
        ('{"a": 1, "b": "x"}', 1, 1, 1),
        ('{"b": "x", "a": 1.0}', 1, 1, 1),
        ('Sure: {"a": 1, "b": "x"} and more', 1, 1, 1),
        ('{"a": 1, "b": "x", "c": 2}', 0, 1, 1),
        ('{"a": "1", "b": "x"}', 0, 0.5, 1),
        ('{"a": true, "b": "X"}', 0, 0, 1),
        ('{"a": 1}', 0, 0.5, 1),
        ('{"a": 1, "b": "x"', 0, 0, 0),
        ("[1]", 0, 0, 0),
        ("", 0, 0, 0),
        ('{"a": ' * 5000, 0, 0, 0),
    ],
)
def test_check_counts_fields(text: str, exact: float, accuracy: float, parses: float):
    found = TASK.check(sample(a=1, b="x"), text)
    assert found == {"exact_match": exact, "field_accuracy": accuracy, "parses": parses}


def test_true_is_not_one_and_null_is_not_missing():
    assert TASK.check(sample(a=True, b=None), '{"a": 1, "b": null}')["field_accuracy"] == 0.5
    assert TASK.check(sample(a=True, b=None), '{"a": true}')["field_accuracy"] == 0.5


def test_load_says_what_it_cannot_do(tmp_path):
    task = get_task("json")
    with pytest.raises(TaskError, match="leave --data out"):
        task.load("train", data=tmp_path)
    with pytest.raises(TaskError, match="train or wide or dev or test or unseen"):
        task.load("validation")
    with pytest.raises(TaskError, match="at least 1"):
        task.load("train", limit=0)
