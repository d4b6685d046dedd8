import copy
import random
from collections import Counter

import pytest
import tiny
import training_rows

from cllm_core.errors import PromptError, TrainingError
from cllm_core.train.data import Plan, choose_stretch, end_token, gold_rows, micro_batches


def own_tokenizer(**changes):
    """A tiny model with a tokenizer that may be changed."""
    return tiny.loaded(tiny.make_model(**changes), copy.deepcopy(tiny.byte_level_tokenizer()))


def test_every_row_is_learnt_once_before_any_comes_again():
    plan = Plan(tuple(range(10, 107)), rows_per_step=3, seed=5)
    seen = Counter(row for step in range(16 * 97) for row in plan.step(step))
    assert sum(seen.values()) == 3 * 16 * 97
    assert set(seen.values()) == {3 * 16}  # 97 rows, 48 epochs in whole groups of steps


@pytest.mark.parametrize(("size", "per_step"), [(33, 2), (40, 3), (100, 8)])
def test_a_row_meets_itself_in_a_step_only_where_two_epochs_meet(size, per_step):
    plan = Plan(tuple(random.Random(1).sample(range(1000), size)), per_step, seed=2)
    steps = [plan.step(number) for number in range(10 * size)]
    twice = [rows for rows in steps if len(set(rows)) < len(rows)]
    assert len(twice) <= 10 * per_step / 10  # of 10 x per_step epochs
    for rows in steps:
        assert [plan.lengths[row] for row in rows] == sorted((plan.lengths[row] for row in rows), reverse=True)


def test_the_order_is_a_function_of_the_seed_and_the_step():
    lengths = tuple(range(50))
    forwards = [Plan(lengths, 4, 1).step(step) for step in range(40)]
    backwards = [Plan(lengths, 4, 1).step(step) for step in reversed(range(40))]
    assert forwards == backwards[::-1]
    assert forwards != [Plan(lengths, 4, 2).step(step) for step in range(40)]


def test_rows_of_a_step_are_of_like_length_and_more_rows_than_there_are_can_be_asked_for():
    plan = Plan(tuple(random.Random(0).choices(range(1000), k=200)), 4, 0)
    spreads = [
        max(plan.lengths[r] for r in rows) - min(plan.lengths[r] for r in rows) for rows in map(plan.step, range(12))
    ]
    assert sum(spreads) / len(spreads) < 150  # of 1000, and about 600 in random order
    assert sorted(set(Plan((5, 6), 4, 0).step(3))) == [0, 1]


def test_processes_share_the_micro_batches_of_a_step():
    rows = list(range(12))
    shares = [list(micro_batches(rows, 2, 3, process)) for process in range(3)]
    assert shares[1] == [(1, [2, 3]), (4, [8, 9])]
    assert sorted(row for share in shares for _, batch in share for row in batch) == rows


def test_stretches_start_at_block_borders_and_meet_every_answer_token():
    row = training_rows.random_row(1, answer=30, block_size=4)
    covered, rng = set(), random.Random(0)
    for _ in range(100):
        stretch = choose_stretch(row, 10, rng)
        assert stretch.start % 4 == 0
        assert 1 <= stretch.stop - stretch.start <= 10
        covered |= set(range(stretch.start, stretch.stop))
    assert covered == set(range(30))
    whole = choose_stretch(row, 0, rng)
    assert (whole.start, whole.stop) == (0, 30)


@pytest.mark.parametrize("size", [17, 32, 48, 60])
@pytest.mark.parametrize(("length", "block"), [(1, 4), (8, 16), (24, 32), (33, 64), (16, 16), (33, 16)])
def test_no_stretch_is_empty_and_every_token_is_in_one(size, length, block):
    row = training_rows.random_row(1, answer=size, block_size=block)
    covered, rng = set(), random.Random(0)
    for _ in range(400):
        stretch = choose_stretch(row, length, rng)
        assert stretch.start < stretch.stop <= size
        covered |= set(range(stretch.start, stretch.stop))
    assert covered == set(range(size))


def test_a_gold_answer_is_closed_by_one_end_token(tmp_path):
    data = training_rows.write_prompts(tmp_path / "prompts.jsonl", 4)
    loaded = own_tokenizer(eos_token_id=7)
    loaded.tokenizer.eos_token = loaded.tokenizer.convert_ids_to_tokens(7)
    rows = gold_rows(loaded, task="prompts", split="train", data=str(data))
    assert all(row.answer_ids[-1] == 7 and row.answer_ids.count(7) == 1 for row in rows)
    assert [row.id for row in gold_rows(loaded, task="prompts", split="train", data=str(data), limit=2, seed=3)] != []


def test_a_prompt_without_a_gold_answer_cannot_be_learnt(tmp_path):
    (tmp_path / "prompts.jsonl").write_text('{"prompt": "a", "id": "lonely"}\n')
    loaded = own_tokenizer(eos_token_id=7)
    with pytest.raises(TrainingError, match="Example lonely of prompts has no gold answer"):
        gold_rows(loaded, task="prompts", split="train", data=str(tmp_path / "prompts.jsonl"))


def test_a_prompt_that_cannot_be_fed_is_named(tmp_path):
    data = tmp_path / "prompts.jsonl"
    data.write_text('{"prompt": "a", "answer": "b", "id": "odd"}\n')
    loaded = own_tokenizer(eos_token_id=7)
    loaded.tokenizer.chat_template = "{{ raise_exception('a system message comes first') }}"
    with pytest.raises(PromptError, match=r"Example odd of prompts: .*a system message comes first"):
        gold_rows(loaded, task="prompts", split="train", data=str(data))


def test_a_model_without_an_end_token_cannot_learn_to_stop():
    loaded = own_tokenizer()
    loaded.tokenizer.eos_token = None
    with pytest.raises(TrainingError, match="no end token"):
        end_token(loaded)
