"""Counts and rates: the worked example, the paper's known answers, and nothing counted past the end."""

from dataclasses import fields, replace

import pytest
import worked_example
from hypothesis import given, settings
from tables import SpyLM, cases, run

from cllm_core.metrics import Summary, summarize, window_size
from cllm_core.types import DecodeConfig, Step, Trajectory

many = settings(max_examples=100, deadline=None)
COUNTER = {(token,): token + 1 for token in range(60)}


def counted(eos: int, **config: object) -> Trajectory:
    return run(SpyLM(COUNTER, vocab_size=61, eos_ids=(eos,)), (0,), DecodeConfig(max_new_tokens=40, **config))


def block_of_16(steps: tuple[Step, ...]) -> Trajectory:
    config = DecodeConfig(block_size=16, max_new_tokens=16)
    return worked_example.trajectory(config=config, steps=steps, ids=tuple(range(16)), pieces={})


def test_worked_example():
    summary = summarize(worked_example.trajectory())
    assert (summary.tokens, summary.passes, summary.blocks) == (6, 4, 1)
    assert summary.tokens_per_pass == 1.5
    assert summary.fast_forward_per_pass == 1.5
    assert summary.paper_fast_forward == 2.0  # six tokens, right after three passes; the fourth only confirms
    assert (summary.fast_forwarded, summary.stationary) == (3, 2)  # positions 2, 4, 5 and positions 2, 4
    assert summary.stationary_per_block == summary.paper_stationary == 2
    assert summary.prefill_seconds == 0.01
    assert summary.seconds == 0.04
    assert summary.tokens_per_second == pytest.approx(150)


def test_block_that_gains_one_token_a_pass_with_its_first_given_has_the_papers_1_067():
    wrong = (99,)
    first = Step(0, (0, *wrong * 14), (0, 1, *wrong * 14), 2, 0.1)
    steps = (first, *(Step(p, wrong * (15 - p), (p, *wrong * (15 - p)), p + 1, 0.1) for p in range(2, 16)))
    summary = summarize(block_of_16(steps))
    assert summary.paper_fast_forward == pytest.approx(16 / 15)  # 1.067
    assert summary.paper_stationary == 0


def test_block_that_is_right_after_one_pass_has_the_papers_16():
    ids = tuple(range(16))
    steps = (Step(0, (99,) * 16, ids, 1, 0.1), Step(1, ids[1:], ids[1:], 16, 0.1))
    summary = summarize(block_of_16(steps))
    assert summary.paper_fast_forward == 16
    assert summary.paper_stationary == 0
    assert summary.tokens_per_pass == 8  # ours counts the pass that confirms


def test_tokens_after_the_end_are_in_no_count():
    """An end token in position 5 of a block of 16 was counted as 16 tokens."""
    summary = summarize(counted(6, block_size=16, init="pad"))
    assert summary.tokens == 6
    assert summary.blocks == 1
    assert summary.stationary <= 6
    assert summary.tokens_per_pass == 6 / summary.passes


def test_answer_of_one_token():
    summary = summarize(counted(1, block_size=16))
    assert (summary.tokens, summary.passes, summary.tokens_per_pass) == (1, 1, 1.0)
    assert summary.paper_fast_forward == 1.0


def test_autoregressive_decoding_is_one_token_a_pass_in_every_count():
    summary = summarize(counted(9, decoder="autoregressive"))
    assert (summary.tokens, summary.passes, summary.blocks) == (9, 9, 9)
    assert summary.tokens_per_pass == summary.fast_forward_per_pass == summary.paper_fast_forward == 1
    assert summary.fast_forwarded == summary.stationary == summary.paper_stationary == 0


def test_sliding_window_has_no_paper_counts():
    summary = summarize(counted(9, window="sliding"))
    assert summary.paper_fast_forward is None
    assert summary.paper_stationary is None


def test_empty_run_divides_by_nothing():
    summary = summarize(worked_example.trajectory(steps=(), ids=(), finish="stopped", seconds=0.0))
    numbers = {name: value for name, value in vars(summary).items() if value is not None}
    assert set(numbers.values()) == {0}
    assert summary.paper_fast_forward is None


def test_time_of_a_run_that_took_none_gives_no_rate():
    assert summarize(worked_example.trajectory(seconds=0.0)).tokens_per_second == 0


@many
@given(cases())
def test_rates_stay_within_what_a_pass_can_do(case):
    trajectory = case.trajectory()
    summary = summarize(trajectory)
    assert summary.tokens == len(trajectory.ids)
    assert summary.passes == len(trajectory.steps)
    assert 0 < summary.tokens_per_pass <= window_size(trajectory)
    assert summary.fast_forward_per_pass <= summary.tokens_per_pass
    assert summary.stationary + summary.fast_forwarded <= 2 * summary.tokens
    if summary.paper_fast_forward is not None:
        assert 0 < summary.paper_fast_forward <= window_size(trajectory)


@many
@given(cases(decoder="jacobi", window="block"))
def test_guesses_past_the_end_change_no_count(case):
    trajectory = case.trajectory()
    last = trajectory.steps[-1]
    padded = replace(last, state=(*last.state, 9, 9))
    longer = replace(trajectory, steps=(*trajectory.steps[:-1], padded))
    assert summarize(longer) == summarize(trajectory)


def test_every_count_has_its_sentence():
    assert all(field.metadata["help"].endswith(".") for field in fields(Summary))
