import random

import pytest
import tiny
import torch
import training_rows

from cllm_core.train.answers import greedy_answers, read_answers
from cllm_core.train.clean import is_repetitive, why_dropped
from cllm_core.train.speed import blockwise_states
from cllm_core.train.trajectories import jacobi_states

EOS = 299


def prompts(*lengths, seed=0):
    rng = random.Random(seed)
    return [tuple(rng.randrange(2, 290) for _ in range(length)) for length in lengths]


def end_tokens(model, asked):
    """Tokens that end some of the answers early: the EOS trick."""
    return {tiny.greedy(model, asked[0], 40)[7], tiny.greedy(model, asked[-1], 40)[21]}


def drafts(row, size, seed=0):
    rng = random.Random(seed)
    lengths = [len(row.answer_ids[at : at + size]) for at in range(0, len(row.answer_ids), size)]
    return [tuple(rng.choices(row.prompt_ids, k=length)) for length in lengths]


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_each_row_of_a_left_padded_batch_answers_as_it_does_alone(attention):
    model = tiny.model(attention=attention)
    asked = prompts(3, 9, 1, 17)
    ends = end_tokens(model, asked)
    rows = greedy_answers(model, asked, max_new_tokens=30, eos_ids=ends, context=256)
    assert len({len(row.answer_ids) for row in rows}) > 1  # they finish at different times
    for prompt, row in zip(asked, rows, strict=True):
        assert row.answer_ids == row.own == tiny.greedy(model, prompt, 30, ends)
        (alone,) = greedy_answers(model, [prompt], max_new_tokens=30, eos_ids=ends, context=256)
        for (keys, values), (own_keys, own_values) in zip(row.cache, alone.cache, strict=True):
            assert keys.shape[1] == len(prompt) + len(row.answer_ids) - 1
            assert torch.allclose(keys, own_keys, atol=1e-4)
            assert torch.allclose(values, own_values, atol=1e-4)


def test_an_answer_ends_where_the_context_does():
    (row,) = greedy_answers(tiny.model(), prompts(10), max_new_tokens=30, eos_ids=(), context=14)
    assert len(row.answer_ids) == 4


def test_reading_an_answer_is_what_writing_it_was():
    model = tiny.model()
    written = greedy_answers(model, prompts(3, 9), max_new_tokens=20, eos_ids=(), context=256)
    read = read_answers(model, [(row.prompt_ids, row.answer_ids) for row in written])
    for one, other in zip(written, read, strict=True):
        assert one.own == other.own
        assert torch.allclose(one.cache[1][0], other.cache[1][0], atol=1e-4)


@pytest.mark.parametrize("block_size", [2, 4, 5, 16])
def test_all_blocks_at_once_go_through_the_states_of_one_block_at_a_time(block_size):
    model = tiny.model()
    asked = prompts(3, 9, 14)
    ends = end_tokens(model, asked)
    rows = greedy_answers(model, asked, max_new_tokens=37, eos_ids=ends, context=256)
    guesses = [drafts(row, block_size, seed) for seed, row in enumerate(rows)]
    found = jacobi_states(model, rows, guesses, block_size)
    assert sum(len(states) for row in found for states in row) > 20
    for row, guess, states in zip(rows, guesses, found, strict=True):
        assert states == blockwise_states(model, row.prompt_ids, row.answer_ids, guess, block_size)
        for block, first in zip(states, guess, strict=True):
            assert block == () or block[0] == first


def test_a_right_draft_has_no_states_and_a_nearly_right_one_has_itself():
    model = tiny.model()
    rows = greedy_answers(model, prompts(5), max_new_tokens=8, eos_ids=(), context=256)
    answer = rows[0].answer_ids
    nearly = (*answer[4:7], (answer[7] + 1) % 290)
    assert jacobi_states(model, rows, [[answer[:4], nearly]], 4) == [((), (nearly,))]


def test_the_states_of_a_gold_answer_end_although_the_model_would_answer_otherwise():
    model = tiny.model()
    row = training_rows.random_row(3, answer=13)
    rows = read_answers(model, [(row.prompt_ids, row.answer_ids)])
    (states,) = jacobi_states(model, rows, [drafts(rows[0], 4)], 4)
    assert states == blockwise_states(model, row.prompt_ids, row.answer_ids, drafts(rows[0], 4), 4)
    assert all(len(block) <= 6 for block in states)  # n positions settle in n passes


def test_a_repetitive_answer_is_dropped_and_a_repetitive_prompt_is_not():
    """The filter looked at the prompt, and dropped good answers while collapsed ones stayed."""
    fine = (5, 6, 7, 8, EOS)
    assert why_dropped([3] * 6, [9] * 16 + [EOS], eos_ids={EOS}, max_length=99) == "repetitive"
    assert why_dropped([7] * 12, fine, eos_ids={EOS}, max_length=99) is None
    assert why_dropped([3] * 6, [4, 5] * 8 + [EOS], eos_ids={EOS}, max_length=99) == "repetitive"
    assert not is_repetitive([4, 5] * 7)
    assert not is_repetitive(list(range(40)))
    assert is_repetitive([1, 2, 3, *list(range(50, 58)) * 4])


@pytest.mark.parametrize(
    ("prompt", "answer", "reason"),
    [([1], [], "empty"), ([1], [EOS], "empty"), ([1], [5, 6], "unfinished"), ([1] * 9, [5, EOS], "too_long")],
)
def test_an_answer_that_teaches_nothing_is_dropped_with_its_reason(prompt, answer, reason):
    assert why_dropped(prompt, answer, eos_ids={EOS}, max_length=10) == reason
