"""Choosing tokens: sampling is exact in parallel, reproducible and fair; what is recorded is what was chosen."""

import math
from collections import Counter

import pytest
import tiny
import torch
from hf_runs import ids_of, ids_with_good_guesses, run
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import GenerationConfig

from cllm_core.errors import ModelError
from cllm_core.sampling import Sampler, describe_defaults, logits_processors
from cllm_core.types import DRAFT_INITS, WINDOWS, DecodeConfig

PROMPT = tiny.PROMPT


def sampler(**config):
    config = DecodeConfig(**config)
    return Sampler(
        config,
        logits_processors(config, GenerationConfig(), prompt_length=4, eos_ids=frozenset({1}), device="cpu"),
    )


def scores(*rows):
    return torch.tensor(rows, dtype=torch.float32)


# Sampling


@settings(max_examples=8, deadline=None)
@given(
    seed=st.integers(0, 2**31 - 1),
    temperature=st.floats(0.2, 5.0),
    top_p=st.floats(0.1, 1.0),
    window=st.sampled_from(WINDOWS),
    init=st.sampled_from(DRAFT_INITS),
    size=st.integers(1, 9),
)
def test_sampling_in_parallel_equals_sampling_one_at_a_time(seed, temperature, top_p, window, init, size):
    loaded = tiny.loaded(tiny.model())
    chance = {"seed": seed, "temperature": temperature, "top_p": top_p, "max_new_tokens": 12, "top_k": 0}
    expected = ids_of(loaded, decoder="autoregressive", **chance)
    assert ids_of(loaded, window=window, init=init, block_size=size, **chance) == expected
    assert ids_with_good_guesses(loaded, expected, **chance) == expected


def test_a_seed_gives_the_same_sample_again_and_another_seed_another():
    """Only the lowest bit of a seed had reached the noise, so that seeds 0 and 2 gave the same sample."""
    loaded = tiny.loaded(tiny.model())
    samples = [ids_of(loaded, temperature=2.0, seed=seed, max_new_tokens=12) for seed in (0, 0, 1, 2, 2**31 - 1)]
    assert samples[0] == samples[1]
    assert len(set(samples)) == 4


def test_noise_is_keyed_by_absolute_position():
    """Noise that depended on the row in the window, or on how often it was asked for, made samples differ."""
    chance = sampler(temperature=1.0, seed=7)
    flat = torch.zeros(3, 50)
    wide = chance.choose(flat, [0] * 8).ids  # after 6, 7 and 8 tokens
    assert [chance.choose(flat[:1], [0] * length).ids[0] for length in (6, 7, 8)] == list(wide)
    assert sampler(temperature=1.0, seed=8).choose(flat, [0] * 8).ids != wide


def test_samples_follow_the_distribution():
    probabilities = [0.5, 0.3, 0.15, 0.05]
    rows = scores([math.log(p) for p in probabilities]).expand(1000, -1)
    seen = Counter(
        token for seed in (0, 1, 2) for token in sampler(temperature=1.0, seed=seed).choose(rows, [0] * 1000).ids
    )
    count = seen.total()
    for token, p in enumerate(probabilities):
        assert seen[token] / count == pytest.approx(p, abs=4 * math.sqrt(p * (1 - p) / count))


def test_temperature_and_top_p_shape_what_is_sampled():
    row = scores([math.log(0.5), math.log(0.3), math.log(0.15), math.log(0.05)])
    kept = {sampler(temperature=1.0, top_p=0.75, seed=seed).choose(row, [0]).ids[0] for seed in range(200)}
    assert kept == {0, 1}
    cold = {sampler(temperature=0.01, seed=seed).choose(row, [0]).ids[0] for seed in range(50)}
    assert cold == {0}
    shown = sampler(temperature=0.5, seed=0).choose(row, [0]).top[0]
    assert dict(shown)[0] == pytest.approx(0.25 / (0.25 + 0.09 + 0.0225 + 0.0025), rel=1e-4)


def test_sampled_candidates_are_listed_by_probability_not_by_luck():
    row = scores([0.0, 0.1, 0.2, 0.3])
    for seed in range(10):
        prediction = sampler(temperature=1.0, seed=seed).choose(row, [0])
        assert [token for token, _ in prediction.top[0]] == [3, 2, 1]
        assert prediction.probabilities[0] == pytest.approx(
            torch.softmax(row, -1)[0, prediction.ids[0]].item(), rel=1e-4
        )


# Greedy


def test_the_lowest_of_tied_ids_wins():
    assert sampler().choose(scores([1, 5, 2, 5], [5, 5, 5, 5], [0, 0, 0, -1]), [0] * 3).ids == (1, 0, 0)


@pytest.mark.parametrize("best", [20.0, -20.0, 1e-3])
def test_scores_apart_by_rounding_only_are_tied(best):
    """The last bit of two equal scores depended on the width of the pass."""
    nudged = torch.nextafter(torch.tensor(best), torch.tensor(math.inf)).item()
    assert nudged > best
    row = [-100.0, best, nudged, -100.0]
    assert sampler().choose(scores(row), [0]).ids == (1,)
    apart = [-100.0, best, best + abs(best) * 1e-4, -100.0]
    assert sampler().choose(scores(apart), [0]).ids == (2,)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(-50, 50), min_size=2, max_size=30), st.integers(1, 20))
def test_greedy_choice_leads_its_candidates(row, top_k):
    prediction = sampler(top_k=top_k).choose(scores([value / 4 for value in row]), [0])
    best = row.index(max(row))
    assert prediction.ids == (best,)
    top = prediction.top[0]
    assert top[0] == (best, prediction.probabilities[0])
    assert len(top) == len({token for token, _ in top}) == min(top_k, len(row))
    shown = [p for _, p in top]
    assert shown == sorted(shown, reverse=True)


def test_nothing_is_recorded_that_was_not_asked_for():
    row = scores([0.0, 1.0])
    assert sampler(top_k=0).choose(row, [0]).top == ()
    assert sampler(top_k=0).choose(row, [0]).probabilities == pytest.approx((0.731059,))
    silent = Sampler(DecodeConfig(), [], observe=False).choose(row, [0])
    assert (silent.ids, silent.probabilities, silent.top) == ((1,), (), ())


def test_watching_does_not_change_the_choice():
    loaded = tiny.loaded(tiny.model())
    for temperature in (0.0, 1.5):
        config = DecodeConfig(temperature=temperature)
        watched, unwatched = loaded.session(config, PROMPT), loaded.session(config, PROMPT, observe=False)
        assert watched.extend(PROMPT, 6).ids == unwatched.extend(PROMPT, 6).ids


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_scores_that_are_no_numbers_are_refused(value):
    with pytest.raises(ModelError, match="not numbers"):
        sampler().choose(scores([0.0, value, 1.0]), [0])


def test_suppressed_scores_are_numbers_enough():
    row = [0.0, -math.inf, -1.0]
    prediction = sampler(top_k=3).choose(scores(row), [0])
    assert prediction.ids == (0,)
    assert prediction.top[0][2] == (1, 0.0)


def test_processors_see_each_position_with_its_own_prefix():
    """Every position of a block was penalised by the prefix of the first."""
    config = DecodeConfig()
    defaults = GenerationConfig(repetition_penalty=100.0)
    processors = logits_processors(config, defaults, prompt_length=1, eos_ids=frozenset(), device="cpu")
    row = [1.0, 0.9, 0.8, 0.7]
    chosen = Sampler(config, processors).choose(scores(row, row, row), [0, 1, 2]).ids  # after 0, after 0 1, after 0 1 2
    assert chosen == (1, 2, 3)


# Notes


@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_settings_that_change_nothing_here_need_no_note(temperature):
    defaults = GenerationConfig(
        do_sample=True, temperature=0.6, top_p=0.9, repetition_penalty=1.0, min_length=0, num_beams=1, max_length=20
    )
    assert describe_defaults(DecodeConfig(temperature=temperature), defaults) == []


def test_a_sampled_run_says_how_in_its_settings():
    trajectory = run(tiny.loaded(tiny.model()), temperature=0.7, top_p=0.5, seed=4, max_new_tokens=4)
    assert (trajectory.config.temperature, trajectory.config.top_p, trajectory.config.seed) == (0.7, 0.5, 4)
