"""The decode loop over table models: exact, at most n passes a block, no token fed twice, never past its limits."""

from itertools import pairwise

import pytest
import worked_example
from hypothesis import given, settings
from tables import VOCABULARY, SpyLM, cases, run

from cllm_core.annotate import correct_frontiers
from cllm_core.decoders import DECODERS
from cllm_core.decoders.jacobi import draft_guesser
from cllm_core.decoders.loop import accept, decode_windows
from cllm_core.errors import ConfigError, PromptError
from cllm_core.lm import TableLM
from cllm_core.types import DECODER_NAMES, DRAFT_INITS, WINDOWS, DecodeConfig

many = settings(max_examples=100, deadline=None)

COUNTER = {(token,): token + 1 for token in range(60)}  # says the next number


def counter(eos_ids: tuple[int, ...] = (), context: int = 1 << 20) -> SpyLM:
    return SpyLM(COUNTER, vocab_size=61, eos_ids=eos_ids, context=context)


@many
@given(cases())
def test_jacobi_equals_autoregressive(case):
    trajectory = case.trajectory()
    assert trajectory.ids == case.answer()
    assert len(trajectory.ids) <= case.limit


@many
@given(cases(decoder="autoregressive"))
def test_autoregressive_fixes_one_token_a_pass(case):
    trajectory = case.trajectory()
    assert trajectory.ids == case.answer()
    assert [(s.start, s.draft, s.fixed, len(s.state)) for s in trajectory.steps] == [
        (t, (), t + 1, 1) for t in range(len(trajectory.ids))
    ]


@many
@given(cases())
def test_every_pass_fixes_all_that_was_right_and_one_more(case):
    trajectory = case.trajectory()
    fixed = [0, *(step.fixed for step in trajectory.steps)]
    correct = correct_frontiers(trajectory.steps, trajectory.ids)
    assert all(f <= c for f, c in zip(fixed, correct, strict=True))
    for t in range(1, len(fixed)):
        assert fixed[t] >= min(correct[t - 1] + 1, len(trajectory.ids))


@many
@given(cases(window="block"))
def test_a_block_takes_at_most_n_passes(case):
    size = case.config.block_size
    steps = case.trajectory().steps
    for first in range(0, case.limit, size):
        assert sum(first <= step.start < first + size for step in steps) <= size


@many
@given(cases())
def test_passes_account_for_the_output(case):
    trajectory = case.trajectory()
    gains = [step.fixed - step.start for step in trajectory.steps]
    assert sum(gains) == len(trajectory.ids)
    assert all(1 <= gain <= case.config.block_size for gain in gains)  # so tokens per pass <= n
    assert all(step.start == before.fixed for before, step in pairwise(trajectory.steps))


@many
@given(cases())
def test_cache_holds_every_fixed_token_but_the_last(case):
    lm = case.lm()
    steps = list(DECODERS[case.config.decoder](lm, case.prompt_ids, case.config))
    assert lm.lengths == [len(case.prompt_ids) + step.fixed - 1 for step in steps]


@many
@given(cases())
def test_no_fixed_token_but_the_last_is_fed_again(case):
    lm = case.lm()
    steps = list(DECODERS[case.config.decoder](lm, case.prompt_ids, case.config))
    ids = [token for step in steps for token in step.state[: step.fixed - step.start]]
    pending = [case.prompt_ids, *((ids[step.start - 1],) for step in steps[1:])]
    assert lm.fed == [(*fixed, *step.draft) for fixed, step in zip(pending, steps, strict=True)]


@many
@given(cases(window="block"))
def test_a_pass_shows_its_window_and_the_token_after_it_only_where_that_is_fixed(case):
    size = case.config.block_size
    for step in case.trajectory().steps:
        end = min((step.start // size + 1) * size, case.limit)
        assert len(step.state) == max(end, step.fixed) - step.start
        assert len(step.state) - 1 <= len(step.draft) <= len(step.state)


@many
@given(cases(window="sliding"))
def test_a_sliding_window_never_shrinks_before_the_limit(case):
    for step in case.trajectory().steps:
        assert len(step.state) == min(case.config.block_size, case.limit - step.start)


@many
@given(cases(window="sliding"))
def test_tokens_a_pass_carries_over_are_the_next_draft(case):
    steps = case.trajectory().steps
    for before, step in pairwise(steps):
        carried = before.state[step.start - before.start :]
        assert step.draft[: len(carried)] == carried[: len(step.draft)]


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("limit", [1, 2, 15, 16, 17, 33])
def test_never_more_tokens_than_asked_for(limit, window):
    """With a draft longer than what remained, more tokens than max_new_tokens came out."""
    config = DecodeConfig(block_size=16, max_new_tokens=limit, window=window)
    trajectory = run(counter(), (0,), config)
    assert trajectory.ids == tuple(range(1, limit + 1))
    assert trajectory.finish == "length"
    last = trajectory.steps[-1]
    assert last.start + len(last.state) == limit  # the last window is recorded at its true width


def test_no_tokens_at_all_are_refused():
    with pytest.raises(ConfigError, match="max_new_tokens must be at least 1"):
        DecodeConfig(max_new_tokens=0)


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("size", [4, 16])
@pytest.mark.parametrize("offset", [0, 3, 4, 5, 15])
def test_output_ends_with_the_first_end_token_wherever_it_falls(offset, size, window):
    """An end token inside a block was kept together with the rest of the block."""
    eos = offset + 1
    trajectory = run(counter((eos,)), (0,), DecodeConfig(block_size=size, max_new_tokens=40, window=window))
    assert trajectory.ids == tuple(range(1, eos + 1))
    assert trajectory.finish == "end"
    assert trajectory.steps[-1].fixed == len(trajectory.ids)


def test_an_end_token_in_the_prompt_or_in_the_draft_does_not_stop():
    lm = counter((5, 0))
    config = DecodeConfig(block_size=4, max_new_tokens=20, init="prompt")  # drafts are the prompt's end tokens
    assert run(lm, (0, 0, 0), config).ids == (1, 2, 3, 4, 5)


def test_the_last_pass_of_a_block_also_yields_the_token_after_it():
    constant = TableLM({(): 3}, vocab_size=4)
    steps = run(constant, (0,), DecodeConfig(block_size=4, max_new_tokens=20, init="repeat")).steps
    assert [(step.start, step.fixed) for step in steps[:3]] == [(0, 1), (1, 5), (5, 9)]
    assert steps[1].state == (3, 3, 3, 3)  # positions 1-3 of the block, and position 4 after it


def test_worked_example_of_the_definitions():
    """The states, frontiers and passes are those of docs/definitions.md, from a table that predicts them."""
    ids = worked_example.ids
    rows = {
        "p": "A", "p p": "x", "p q": "C", "q r": "x", "r s": "x", "s t": "F",
        "p A": "B", "A x": "C", "x C": "y", "C x": "E", "x x": "x",
        "A B": "C", "B C": "D", "C y": "E", "y E": "F",
        "C D": "E", "D E": "F",
    }  # fmt: skip
    table = {ids(suffix): ids(following)[0] for suffix, following in rows.items()}
    guesses = ids("p q r s t")
    steps = list(
        decode_windows(
            TableLM(table, vocab_size=len(worked_example.IDS)),
            ids("p"),
            size=6,
            limit=6,
            window_end=lambda fixed: 6,
            guess=lambda count, last: guesses[:count],
        )
    )
    expected = worked_example.STEPS
    assert [(s.start, s.state, s.fixed) for s in steps] == [(s.start, s.state, s.fixed) for s in expected]


def test_accept_takes_the_agreeing_prefix_and_one_more():
    none = frozenset()
    assert accept((), (5,), none) == (5,)
    assert accept((1, 2, 3), (1, 2, 9, 4), none) == (1, 2, 9)
    assert accept((1, 2, 3), (1, 2, 3, 4), none) == (1, 2, 3, 4)
    assert accept((1, 2, 3), (9, 2, 3, 4), none) == (9,)
    assert accept((1, 2), (1, 2), none) == (1, 2)  # as many guesses as predictions
    assert accept((1, 2, 3), (1, 2, 3, 4), frozenset({2})) == (1, 2)
    assert accept((2, 2), (2, 2, 2), frozenset({2})) == (2,)


@pytest.mark.parametrize("decoder", DECODER_NAMES)
def test_prompt_that_fills_the_context_is_refused(decoder):
    config = DecodeConfig(decoder=decoder)
    for length in (8, 9):
        with pytest.raises(PromptError, match=rf"{length} tokens and the model holds 8: shorten"):
            run(counter(context=8), tuple(range(length)), config)
    with pytest.raises(PromptError, match="prompt is empty"):
        run(counter(), (), config)


@pytest.mark.parametrize("decoder", DECODER_NAMES)
@pytest.mark.parametrize("length", [1, 5, 7])
def test_output_stops_where_the_context_is_full(decoder, length):
    config = DecodeConfig(decoder=decoder, block_size=16, max_new_tokens=100)
    trajectory = run(counter(context=8), tuple(range(length)), config)
    assert trajectory.ids == tuple(range(length, 8))
    assert trajectory.finish == "context"
    assert not trajectory.partial


def test_every_named_decoder_exists():
    assert tuple(DECODERS) == DECODER_NAMES


@pytest.mark.parametrize("init", DRAFT_INITS)
def test_draft_inits_guess_what_they_say(init):
    config = DecodeConfig(init=init, seed=3)
    guess = draft_guesser(config, (4, 4, 2), vocab_size=VOCABULARY, pad_id=1)
    guesses = guess(200, 3)
    seen = {"prompt": {4, 2}, "repeat": {3}, "random": set(range(VOCABULARY)), "pad": {1}}[init]
    assert len(guesses) == 200
    assert set(guesses) == seen
    again = draft_guesser(config, (4, 4, 2), vocab_size=VOCABULARY, pad_id=1)
    assert again(200, 3) == guesses  # seeded
    assert list(guess(0, 3)) == []


def test_another_seed_gives_another_draft():
    drafts = {
        tuple(draft_guesser(DecodeConfig(seed=seed), range(50), vocab_size=50, pad_id=0)(15, 0)) for seed in range(5)
    }
    assert len(drafts) == 5


def test_table_lm_answers_by_the_longest_suffix_and_forgets():
    lm = TableLM({(): 0, (1,): 2, (1, 2): 3}, vocab_size=4)
    assert lm.extend([1, 2, 2], keep=3).ids == (2, 3, 0)
    lm.rollback(1)
    assert lm.length == 1
    assert lm.extend([2], keep=1).ids == (3,)
    with pytest.raises(ValueError, match="the cache holds 2 tokens"):
        lm.rollback(3)
    with pytest.raises(KeyError, match="no default"):
        TableLM({(1,): 2}, vocab_size=4).extend([3], keep=1)
