"""Autoregressive decoding: the same loop with a window of 1, so every pass predicts and fixes one token."""

from collections.abc import Iterator, Sequence

from cllm_core.decoders.loop import decode_windows
from cllm_core.lm import CausalLM
from cllm_core.types import DecodeConfig, Step


def autoregressive(lm: CausalLM, prompt_ids: Sequence[int], config: DecodeConfig) -> Iterator[Step]:
    """Yield one Step per token."""
    return decode_windows(
        lm,
        prompt_ids,
        size=1,
        limit=config.max_new_tokens,
        window_end=lambda fixed: fixed + 1,
        guess=lambda count, last: (),
    )
