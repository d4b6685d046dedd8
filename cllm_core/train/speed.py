"""What the library's two short cuts are worth: collecting all blocks at once, and one packed forward for three.

Each is measured against the plain way in the same run, on the same work. Knows no file.
"""

from collections.abc import Sequence
from typing import Any

import torch
from transformers import DynamicCache

from cllm_core.train.rows import State


@torch.inference_mode()
def blockwise_states(
    lm: Any, prompt_ids: State, answer_ids: State, drafts: Sequence[State], block_size: int
) -> tuple[tuple[State, ...], ...]:
    """Return what `jacobi_states` does for one row, by plain Jacobi decoding: one block at a time, with a KV cache.

    Every pass feeds the last token before the block and all of the block's guesses but the last.
    """
    cache = DynamicCache()
    fed = [*prompt_ids]  # what the cache lacks before the block
    found = []
    for number, draft in enumerate(drafts):
        fixed_point = answer_ids[number * block_size : (number + 1) * block_size]
        if len(fed) > 1:
            lm(input_ids=torch.tensor([fed[:-1]], device=lm.device), cache=cache, use_cache=True, logits_to_keep=1)
        states = [tuple(draft)]
        while len(states) < 2 or states[-1] != states[-2]:
            ids = torch.tensor([[fed[-1], *states[-1][:-1]]], device=lm.device)
            logits = lm(input_ids=ids, cache=cache, use_cache=True).logits[0]
            cache.crop(-ids.shape[1])
            states.append(tuple(logits.argmax(-1).tolist()))
        found.append(tuple(state for state in states[:-1] if state != fixed_point))
        fed = [fed[-1], *fixed_point]
    return tuple(found)
