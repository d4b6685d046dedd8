"""The model's generation_config: the same ids as the library's generate, or visibly off in every lane."""

import pytest
import tiny
from hf_runs import configured, first_at, ids_of, ids_with_good_guesses, run

from cllm_core.types import WINDOWS, DecodeConfig

PROMPT = tiny.PROMPT
SEED = 12  # its output repeats a pair of tokens


@pytest.fixture(scope="module")
def answer():
    return tiny.greedy(tiny.model(seed=SEED), PROMPT, 20)


def generation_cases(g):
    early, late = first_at(g, 3), first_at(g, 7)
    return {
        "nothing": {},
        "end tokens": {"eos_token_id": [late, early]},
        "repetition penalty": {"repetition_penalty": 1.3},
        "repetition reward": {"repetition_penalty": 0.8},
        "no repeated pair": {"no_repeat_ngram_size": 2},
        "min new tokens": {"min_new_tokens": 6, "eos_token_id": early},
        "min length": {"min_length": len(PROMPT) + 6, "eos_token_id": early},
        "min length within the prompt": {"min_length": 5, "eos_token_id": early},
        "suppressed": {"suppress_tokens": [g[0], g[2]]},
        "suppressed at the beginning": {"begin_suppress_tokens": [g[0]]},
        "forced end": {"forced_eos_token_id": 2, "eos_token_id": 2},
        "bad words": {"bad_words_ids": [[g[1]], [g[3], g[4]]], "eos_token_id": early},
        "sequence bias": {"sequence_bias": [[[g[0]], -10.0], [[g[1], g[2]], -10.0]]},
        "length penalty": {"exponential_decay_length_penalty": (4, 1.5), "eos_token_id": 2},
        "invalid values removed": {"remove_invalid_values": True},
        "normalised": {"renormalize_logits": True},
        "max length": {"max_length": 5},
        "sampling settings": {"do_sample": True, "temperature": 0.6, "top_p": 0.9, "top_k": 20},
        "many": {
            "repetition_penalty": 1.2,
            "no_repeat_ngram_size": 3,
            "min_new_tokens": 5,
            "eos_token_id": [early, late],
        },
    }


@pytest.mark.parametrize("name", list(generation_cases(range(20))))
def test_ids_are_those_of_generate_with_the_models_generation_config(name, answer):
    """Penalties and length rules of generation_config were applied by generate alone, or counted the prompt."""
    made = configured(seed=SEED, **generation_cases(answer)[name])
    expected = tiny.generate(made, PROMPT, 20)
    loaded = tiny.loaded(made)
    if "end" not in name and loaded.generation.eos_token_id is None:
        loaded.eos_ids = frozenset()  # generate has none then, and goes on
    assert ids_of(loaded, decoder="autoregressive", max_new_tokens=20) == expected
    assert ids_with_good_guesses(loaded, expected, max_new_tokens=20) == expected
    for window in WINDOWS:
        assert ids_of(loaded, window=window, block_size=4, max_new_tokens=20) == expected


def test_these_generation_configs_do_change_the_output(answer):
    without_effect = {"nothing", "invalid values removed", "normalised", "max length", "sampling settings"}
    for name, generation in generation_cases(answer).items():
        changed = tiny.generate(configured(seed=SEED, **generation), PROMPT, 20) != answer
        assert changed == (name not in without_effect), name


def test_min_length_counts_new_tokens_where_it_says_so(answer):
    early = first_at(answer, 3)
    loaded = tiny.loaded(configured(seed=SEED, min_new_tokens=6, eos_token_id=early))
    prompt = PROMPT + PROMPT[:8]
    expected = tiny.generate(loaded.model, prompt, 20)
    assert len(expected) >= 6
    assert ids_of(loaded, prompt, block_size=4, max_new_tokens=20) == expected


def test_forced_first_token_after_a_prompt_of_one(answer):
    loaded = tiny.loaded(configured(seed=SEED, forced_bos_token_id=7, begin_suppress_tokens=[9, 7]))
    expected = tiny.generate(loaded.model, PROMPT[:1], 12)
    assert expected[0] == 7
    assert ids_of(loaded, PROMPT[:1], block_size=4, max_new_tokens=12) == expected


def test_the_models_defaults_can_be_switched_off_for_every_lane(answer):
    loaded = tiny.loaded(configured(seed=SEED, repetition_penalty=1.3, no_repeat_ngram_size=2))
    for decoder in ("autoregressive", "jacobi"):
        trajectory = run(loaded, decoder=decoder, model_defaults=False, max_new_tokens=20)
        assert trajectory.ids == answer
        assert trajectory.notes == (
            "The model's generation_config sets repetition_penalty=1.3, no_repeat_ngram_size=2: "
            "switched off in every lane.",
        )
    assert "applied in every lane" in run(loaded, max_new_tokens=1).notes[0]


def test_settings_that_no_lane_applies_are_named():
    loaded = tiny.loaded(configured(seed=SEED, num_beams=4, guidance_scale=2.0, stop_strings=["x"]))
    (note,) = loaded.run_notes(DecodeConfig())
    assert note == "The model's generation_config sets guidance_scale, num_beams, stop_strings, which no lane applies."


def test_a_plain_generation_config_needs_no_note():
    assert tiny.loaded(configured(seed=SEED, eos_token_id=2)).run_notes(DecodeConfig()) == ()
