"""The bundled model: real text, the same ids in every lane and from the library, and text that joins."""

import pytest
import tiny
from hf_runs import ids_of

from cllm_core import io, models
from cllm_core.compare import compare, decode
from cllm_core.metrics import summarize
from cllm_core.types import WINDOWS, DecodeConfig

pytestmark = pytest.mark.slow

QUESTION = "Write the numbers from one to ten, then say “done 🤗”."


@pytest.fixture(scope="module")
def smollm2():
    return models.load(models.PAIRS["smollm2"].base, device="cpu", dtype="float32")


@pytest.fixture(scope="module")
def prompt(smollm2):
    return smollm2.encode(QUESTION)


def test_every_lane_says_what_the_library_says(smollm2, prompt):
    expected = tiny.generate(smollm2.model, prompt.ids, 32)
    assert ids_of(smollm2, prompt.ids, decoder="autoregressive", max_new_tokens=32) == expected
    for window in WINDOWS:
        assert ids_of(smollm2, prompt.ids, window=window, max_new_tokens=32) == expected


def test_text_of_the_pieces_is_the_text_of_the_library(smollm2, prompt):
    trajectory = decode(smollm2, prompt, DecodeConfig(max_new_tokens=48))
    assert trajectory.text == smollm2.tokenizer.decode(trajectory.ids, skip_special_tokens=True)
    assert QUESTION in trajectory.text_of(prompt.ids)
    assert io.loads(io.dumps(trajectory)) == trajectory


def test_the_chat_template_gives_one_beginning_and_the_end_token_ends(smollm2):
    encoded = smollm2.encode("Answer with one word: what colour is the sky?")
    assert smollm2.piece(encoded.ids[0]) == b"<|im_start|>"
    trajectory = decode(smollm2, encoded, DecodeConfig(max_new_tokens=64))
    assert trajectory.finish == "end"
    assert trajectory.ids[-1] in smollm2.eos_ids
    assert "<|im_end|>" not in trajectory.text


def test_lanes_of_the_pair_are_equal_and_measured(smollm2):
    results = compare({"base": smollm2}, QUESTION, DecodeConfig(max_new_tokens=24), chat=True)
    assert list(results) == ["base_ar", "base_jacobi"]
    assert all(result.equals_ar for result in results.values())
    assert results["base_jacobi"].speedup > 0
    summary = summarize(results["base_jacobi"].trajectory)
    assert summary.tokens == 24
    assert summary.passes <= 24


def test_sampling_is_exact_with_the_whole_vocabulary(smollm2, prompt):
    chance = {"temperature": 0.8, "top_p": 0.9, "seed": 11, "max_new_tokens": 16}
    expected = ids_of(smollm2, prompt.ids, decoder="autoregressive", **chance)
    assert ids_of(smollm2, prompt.ids, **chance) == expected
