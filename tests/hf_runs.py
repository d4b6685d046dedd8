"""Decoding with real models in the tests: plain runs, runs with mostly right guesses, and end tokens by trick."""

import random
from collections.abc import Sequence
from typing import Any

import tiny
from transformers import GenerationConfig

from cllm_core.compare import decode
from cllm_core.decoders.loop import decode_windows
from cllm_core.encoding import EncodedPrompt
from cllm_core.hf import LoadedModel
from cllm_core.types import DecodeConfig, Trajectory

Ids = tuple[int, ...]


def run(loaded: LoadedModel, prompt: Sequence[int] = tiny.PROMPT, **config: Any) -> Trajectory:
    return decode(loaded, EncodedPrompt("prompt", tuple(prompt)), DecodeConfig(**config))


def ids_of(loaded: LoadedModel, prompt: Sequence[int] = tiny.PROMPT, **config: Any) -> Ids:
    return run(loaded, prompt, **config).ids


def ids_with_good_guesses(
    loaded: LoadedModel, answer: Ids, *, size: int = 5, prompt: Sequence[int] = tiny.PROMPT, **config: Any
) -> Ids:
    """Decode with guesses of which seven in ten are right, so that passes accept, and reject, several tokens each."""
    rng = random.Random(0)
    guesses = iter([token if rng.random() < 0.7 else rng.randrange(300) for token in answer] + [0] * size)
    settings = DecodeConfig(**config)
    session = loaded.session(settings, prompt)
    steps = decode_windows(
        session,
        prompt,
        size=size,
        limit=settings.max_new_tokens,
        window_end=lambda fixed: fixed + size,
        guess=lambda count, last: [next(guesses) for _ in range(count)],
    )
    return tuple(token for step in steps for token in step.state[: step.fixed - step.start])


def configured(*, seed: int = 0, **generation: Any) -> Any:
    """Return a model of one's own with this generation_config."""
    made = tiny.make_model(seed=seed)
    made.generation_config = GenerationConfig(**{"pad_token_id": 0, **generation})
    return made


def first_at(answer: Ids, offset: int) -> int:
    """Return the token whose first appearance is at this offset, to be declared the end token."""
    assert answer.index(answer[offset]) == offset
    return answer[offset]
