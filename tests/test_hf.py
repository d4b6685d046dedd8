"""Hugging Face models behind the decoders: exact in twenty families, with the library's own generate as the judge."""

import gc
import pickle
from itertools import islice, product

import pytest
import tiny
import torch
from hf_runs import configured, first_at, ids_of, ids_with_good_guesses, run

from cllm_core import hf
from cllm_core.compare import first_difference, open_run
from cllm_core.decoders import DECODERS
from cllm_core.encoding import EncodedPrompt
from cllm_core.errors import ModelError, PromptError
from cllm_core.types import DRAFT_INITS, WINDOWS, DecodeConfig

COMBINATIONS = list(product(WINDOWS, DRAFT_INITS, (2, 5, 8)))
PROMPT = tiny.PROMPT
WINDOWED = ("gpt_neo", "mistral", "gemma2", "gemma3_text")  # layers that see the last 8 tokens only


@pytest.fixture(scope="module")
def answer():
    """G: 40 tokens of M, one at a time; lively enough to tell right from wrong."""
    found = tiny.greedy(tiny.model(), PROMPT, 40)
    assert len(set(found)) > 20
    return found


# Exactness in twenty families


@pytest.mark.parametrize(("family", "attention"), tiny.VARIANTS)
def test_every_family_decodes_exactly(family, attention):
    loaded = tiny.loaded(tiny.model(family, attention=attention))
    expected = tiny.greedy(loaded.model, PROMPT, 12)
    assert len(set(expected)) >= 8
    assert tiny.generate(loaded.model, PROMPT, 12) == expected
    assert ids_of(loaded, decoder="autoregressive", max_new_tokens=12) == expected
    assert ids_with_good_guesses(loaded, expected, max_new_tokens=12) == expected
    number = tiny.VARIANTS.index((family, attention))
    window, init, size = COMBINATIONS[number % len(COMBINATIONS)]  # each comes up in some family
    assert ids_of(loaded, window=window, init=init, block_size=size, max_new_tokens=12) == expected


@pytest.mark.slow
@pytest.mark.parametrize(("family", "attention"), tiny.VARIANTS)
def test_every_family_decodes_exactly_with_every_window_init_and_size(family, attention):
    loaded = tiny.loaded(tiny.model(family, attention=attention))
    expected = tiny.greedy(loaded.model, PROMPT, 18)
    for window, init, size in product(WINDOWS, DRAFT_INITS, (1, 3, 16)):
        assert ids_of(loaded, window=window, init=init, block_size=size, max_new_tokens=18) == expected
    for size in (2, 3, 8, 16, 64):
        assert ids_with_good_guesses(loaded, expected, size=size, max_new_tokens=18) == expected


def test_the_tested_families_are_those_that_load_without_a_probe():
    assert set(tiny.FAMILIES) == hf.TESTED_FAMILIES


# Cache


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("size", [1, 2, 8])
def test_prompts_around_the_block_size_decode_exactly(size, attention):
    """Several tokens on a filled cache were masked wrongly, or rejected drafts stayed in the cache."""
    loaded = tiny.loaded(tiny.model(attention=attention))
    for length in sorted({1, max(1, size - 1), size, size + 1, min(2 * size, len(PROMPT))}):
        expected = tiny.greedy(loaded.model, PROMPT[:length], 8)
        for window in WINDOWS:
            assert ids_of(loaded, PROMPT[:length], block_size=size, window=window, max_new_tokens=8) == expected


@pytest.mark.parametrize(("family", "attention"), tiny.VARIANTS)
def test_later_guesses_do_not_change_earlier_predictions(family, attention):
    loaded = tiny.loaded(tiny.model(family, attention=attention))
    config = DecodeConfig(top_k=5)
    session = loaded.session(config, PROMPT)
    session.extend(PROMPT[:9], 1)
    seen = []
    for block in ((50, 51, 52, 53), (50, 200, 201, 202)):
        prediction = session.extend(block, 4)
        seen.append((prediction.ids[0], prediction.top[0]))
        session.rollback(9)
    fresh = loaded.session(config, PROMPT).extend((*PROMPT[:9], 50), 1)
    for chosen, top in seen:
        assert chosen == fresh.ids[0]
        assert [p for _, p in top] == pytest.approx([p for _, p in fresh.top[0]], rel=1e-4)


@pytest.mark.parametrize("family", ["llama", "mistral", "gemma2", "gemma3_text"])
def test_cache_is_as_long_as_what_is_committed(family):
    loaded = tiny.loaded(tiny.model(family, attention="eager"))
    config = DecodeConfig(block_size=4, max_new_tokens=20)
    session = loaded.session(config, PROMPT)
    for step in DECODERS["jacobi"](session, PROMPT, config):
        assert session.length == session._cache.get_seq_length() == len(PROMPT) + step.fixed - 1
    with pytest.raises(ValueError, match="cannot roll back"):
        session.rollback(session.length + 1)


@pytest.mark.parametrize(("family", "attention"), [v for v in tiny.VARIANTS if v[0] in WINDOWED])
def test_attention_windows_shorter_than_the_sequence_roll_back_rightly(family, attention):
    """A layer that keeps only its window had dropped what a rollback needs."""
    loaded = tiny.loaded(tiny.model(family, attention=attention))
    prompt = PROMPT * 3  # 36 tokens, windows of 8
    expected = tiny.greedy(loaded.model, prompt, 24)
    for size in (3, 16):  # narrower and wider than the window
        assert ids_of(loaded, prompt, block_size=size, window="sliding", max_new_tokens=24) == expected
        assert ids_with_good_guesses(loaded, expected, size=size, prompt=prompt, max_new_tokens=24) == expected


@pytest.mark.parametrize("family", ["mistral", "gemma3_text"])
def test_one_at_a_time_holds_no_more_than_a_windows_keys(family):
    """It held the whole text in every sliding layer, which made the lane that others are compared with slow."""
    loaded = tiny.loaded(tiny.model(family, attention="eager"))
    config = DecodeConfig(decoder="autoregressive", max_new_tokens=30)
    session = loaded.session(config, PROMPT)
    for _ in DECODERS["autoregressive"](session, PROMPT, config):
        pass
    window = loaded.model.config.sliding_window
    held = [layer.keys.shape[-2] for layer in session._cache.layers if layer.is_sliding]
    assert held
    assert max(held) < window


@pytest.mark.parametrize("size", [4, 16])
def test_a_run_ends_where_the_models_positions_change(size):
    """A pass whose guesses lay beyond that place used other rotary factors than one token at a time."""
    rope = {"rope_type": "longrope", "short_factor": [1.0] * 4, "long_factor": [4.0] * 4, "rope_theta": 10000.0}
    change = {"original_max_position_embeddings": 24, "max_position_embeddings": 96}
    model = tiny.make_model("phi3", rope_parameters=rope, **change)
    loaded = tiny.loaded(model)
    assert loaded.short_context == 24
    expected = tiny.generate(model, PROMPT, 24 - len(PROMPT))
    for decoder in ("autoregressive", "jacobi"):
        trajectory = run(loaded, decoder=decoder, block_size=size, max_new_tokens=40)
        assert trajectory.ids == expected
        assert trajectory.finish == "context"
    assert any("where the model's positions change" in note for note in loaded.run_notes(DecodeConfig()))
    long = PROMPT * 3
    assert ids_of(loaded, prompt=long, block_size=size, max_new_tokens=20) == tiny.generate(model, long, 20)


# Where the output ends


@pytest.mark.parametrize("offset", [0, 3, 4, 5, 15])
def test_output_ends_with_the_end_token_wherever_it_falls_in_a_block(offset, answer):
    """The rest of the block was kept behind the end token, and further blocks followed."""
    eos = first_at(answer, offset)
    loaded = tiny.loaded(configured(eos_token_id=eos))
    expected = answer[: offset + 1]
    assert tiny.generate(loaded.model, PROMPT, 40) == expected
    for window, size in product(WINDOWS, (4, 16)):
        trajectory = run(loaded, block_size=size, window=window, max_new_tokens=40)
        assert trajectory.ids == expected
        assert trajectory.finish == "end"
        assert trajectory.steps[-1].fixed == len(expected)
        assert trajectory.text == trajectory.text_of(expected)


def test_end_tokens_are_the_generation_configs_else_the_tokenizers():
    tokenizer = tiny.byte_level_tokenizer()
    assert tiny.loaded(configured(eos_token_id=[7, 9])).eos_ids == {7, 9}
    assert tiny.loaded(configured(eos_token_id=7)).eos_ids == {7}
    assert tiny.loaded(configured()).eos_ids == {tokenizer.eos_token_id}


@pytest.mark.parametrize("limit", [1, 2, 15, 16, 17, 33])
def test_output_is_a_prefix_of_one_at_a_time_decoding_of_just_that_length(limit, answer):
    trajectory = run(tiny.loaded(tiny.model()), block_size=16, max_new_tokens=limit)
    assert trajectory.ids == answer[:limit]
    last = trajectory.steps[-1]
    assert last.start + len(last.state) == limit


def test_context_is_filled_to_its_last_token_and_no_further():
    loaded = tiny.loaded(tiny.make_model(max_position_embeddings=20))
    expected = tiny.greedy(loaded.model, PROMPT, 8)
    for decoder, window in (("autoregressive", "block"), ("jacobi", "block"), ("jacobi", "sliding")):
        trajectory = run(loaded, decoder=decoder, window=window, block_size=16, max_new_tokens=100)
        assert trajectory.ids == expected
        assert trajectory.finish == "context"
    for length in (20, 21):
        with pytest.raises(PromptError, match=f"{length} tokens and the model holds 20"):
            run(loaded, (PROMPT * 2)[:length])


@pytest.mark.parametrize("family", ["gpt2", "opt"])
def test_learned_positions_reach_to_the_end_of_the_context(family):
    loaded = tiny.loaded(tiny.make_model(family, max_position_embeddings=20))
    assert ids_of(loaded, block_size=16, max_new_tokens=100) == tiny.greedy(loaded.model, PROMPT, 8)


def test_model_without_a_stated_context_has_a_very_long_one():
    assert tiny.loaded(tiny.make_model("bloom", attention="eager", max_position_embeddings=None)).context >= 1 << 20


# Ties and precision


@pytest.mark.parametrize("width", [31, 257, 300, 301])
def test_an_exact_tie_goes_to_the_lowest_id_at_every_width(width):
    """Equal rows of the output matrix scored differently in the last bit, by the kernel that a pass's width chose."""
    made = tiny.make_model(vocab_size=width)
    head, half = made.get_output_embeddings().weight, width // 2
    with torch.no_grad():  # each id has a twin, and one stands at the matrix's edge
        head[half : 2 * half] = head[:half].clone()
        head[-1] = head[half - 1]
    loaded = tiny.loaded(made)
    prompt = [token % width for token in PROMPT]
    outputs = {ids_of(loaded, prompt, decoder="autoregressive", max_new_tokens=24)}
    for size in (2, 3, 4, 5, 16):
        outputs.add(ids_of(loaded, prompt, block_size=size, max_new_tokens=24))
    assert len(outputs) == 1
    assert max(*outputs) < half
    prediction = loaded.session(DecodeConfig(top_k=2), prompt).extend(prompt, 4)
    for chosen, top in zip(prediction.ids, prediction.top, strict=True):
        assert top[0][0] == chosen < top[1][0]
        assert top[0][1] == pytest.approx(top[1][1], rel=1e-4)


def test_bfloat16_runs_are_exact_or_say_where_and_how_narrowly_they_part():
    loaded = tiny.loaded(tiny.model(dtype="bfloat16"))
    parted = 0
    for number in range(4):
        prompt = [(token * (number + 3)) % 300 for token in PROMPT]
        reference = run(loaded, prompt, decoder="autoregressive", max_new_tokens=32)
        other = run(loaded, prompt, block_size=8, max_new_tokens=32)
        difference = first_difference(reference, other)
        assert (difference is None) == (reference.ids == other.ids)
        if difference is not None:
            parted += 1
            assert reference.ids[: difference.index] == other.ids[: difference.index]
            assert reference.ids[difference.index] != other.ids[difference.index]
            assert 0 <= difference.top2_margin < 0.5  # a near-tie in bfloat16, not another sequence
    assert parted < 4


def test_scores_that_are_no_numbers_end_in_a_sentence():
    made = tiny.make_model()
    with torch.no_grad():
        made.get_output_embeddings().weight[5] = float("nan")
    with pytest.raises(ModelError, match=r"not numbers .* dtype float32"):
        run(tiny.loaded(made))


# Memory


def test_a_record_holds_ids_and_small_numbers_only():
    """Every pass kept its logits: 64 passes of a vocabulary of 50,000 took gigabytes."""
    size = 50_000

    def large_tensors() -> int:
        tensors = [thing for thing in gc.get_objects() if issubclass(type(thing), torch.Tensor)]
        return sum(tensor.numel() >= size for tensor in tensors)

    made = tiny.make_model(vocab_size=size, hidden_size=8, head_dim=2, intermediate_size=8)
    before = large_tensors()
    recorder, steps = open_run(tiny.loaded(made), EncodedPrompt("", PROMPT), DecodeConfig(max_new_tokens=64))
    stream = recorder.listen(steps)
    assert len(list(islice(stream, 20))) == 20
    assert large_tensors() == before
    assert len(list(stream)) > 20
    assert len(pickle.dumps(recorder.steps)) < 3_000 * len(recorder.steps)


# On a GPU


@pytest.mark.gpu
@pytest.mark.parametrize("family", ["llama", "mistral", "gemma3_text"])
def test_decoding_on_cuda_is_exact_in_float32_and_explained_in_bfloat16(family):
    for dtype in ("float32", "bfloat16"):
        loaded = tiny.loaded(tiny.make_model(family, dtype=dtype).to("cuda"), device="cuda", dtype=dtype)
        reference = run(loaded, decoder="autoregressive", max_new_tokens=32)
        for window, size in product(WINDOWS, (3, 16)):
            other = run(loaded, window=window, block_size=size, max_new_tokens=32)
            difference = first_difference(reference, other)
            assert difference is None or (dtype == "bfloat16" and difference.top2_margin < 0.5)
