"""Jacobi decoding (Santilli et al. 2023; CLLM, Kou et al. 2024): update a window of n guesses until it is stable."""

import random
from collections.abc import Iterator, Sequence

from cllm_core.decoders.loop import Guesser, WindowEnd, decode_windows
from cllm_core.lm import CausalLM
from cllm_core.types import DecodeConfig, Step


def jacobi(lm: CausalLM, prompt_ids: Sequence[int], config: DecodeConfig) -> Iterator[Step]:
    """Yield one Step per pass over a window of `config.block_size` positions."""
    return decode_windows(
        lm,
        prompt_ids,
        size=config.block_size,
        limit=config.max_new_tokens,
        window_end=_window_end(config.window, config.block_size),
        guess=draft_guesser(config, prompt_ids, vocab_size=lm.vocab_size, pad_id=lm.pad_id),
    )


def _window_end(window: str, size: int) -> WindowEnd:
    if window == "sliding":
        return lambda fixed: fixed + size
    return lambda fixed: (fixed // size + 1) * size


def draft_guesser(config: DecodeConfig, prompt_ids: Sequence[int], *, vocab_size: int, pad_id: int) -> Guesser:
    """Return the source of fresh guesses that `config.init` names, seeded by `config.seed`."""
    rng = random.Random(config.seed)
    sources: dict[str, Guesser] = {
        "prompt": lambda count, last: rng.choices(prompt_ids, k=count),
        "repeat": lambda count, last: [last] * count,
        "random": lambda count, last: [rng.randrange(vocab_size) for _ in range(count)],
        "pad": lambda count, last: [pad_id] * count,
    }
    return sources[config.init]
