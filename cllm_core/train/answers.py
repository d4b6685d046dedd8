"""The target's own greedy answers, many prompts at a time, and what the model keeps of having read them.

Every row of a batch gives the ids of its solo run: padding is masked, positions count from each row's own first token,
and a row leaves the batch with its last token. Raw greedy: no penalties of a generation_config. Knows no block.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from cllm_core.train.head import best_tokens
from cllm_core.train.kvcache import GrowingCache, KeysValues
from cllm_core.train.rows import State


@dataclass(frozen=True)
class ReadRow:
    """A prompt and an answer that the model has read: all but the answer's last token is in `cache`."""

    prompt_ids: State
    answer_ids: State
    own: State  # the model's choice at each answer position, given the answer before it
    cache: KeysValues


@torch.inference_mode()
def greedy_answers(
    lm: Any, prompts: Sequence[State], *, max_new_tokens: int, eos_ids: Collection[int], context: int
) -> list[ReadRow]:
    """Answer a batch of prompts greedily, each up to its first end token, `max_new_tokens`, or the full context."""
    width = max(len(prompt) for prompt in prompts)
    padding = [width - len(prompt) for prompt in prompts]
    limits = [min(max_new_tokens, context - len(prompt)) for prompt in prompts]
    answers: list[list[int]] = [[] for _ in prompts]
    found: dict[int, ReadRow] = {}
    running = list(range(len(prompts)))
    cache = GrowingCache()
    fed = torch.tensor([[0] * pad + list(prompt) for pad, prompt in zip(padding, prompts)])
    while running:
        pads = torch.tensor([padding[row] for row in running])[:, None]
        for row, token in zip(running, _next_tokens(lm, cache, fed, pads), strict=True):
            answers[row].append(token)
        done = [row for row in running if answers[row][-1] in eos_ids or len(answers[row]) >= limits[row]]
        for row in done:
            ids = tuple(answers[row])
            kept = cache.row(running.index(row), start=padding[row])
            found[row] = ReadRow(tuple(prompts[row]), ids, ids, kept)
        left = [at for at, row in enumerate(running) if row not in found]
        if done and left:
            cache.select(left)
        running = [running[at] for at in left]
        fed = torch.tensor([[answers[row][-1]] for row in running])
    return [found[row] for row in range(len(prompts))]


def _next_tokens(lm: Any, cache: Any, fed: Tensor, pads: Tensor) -> list[int]:
    """Feed (B, S) tokens of which each row's first `pads` columns of all are padding; return the best next ids."""
    start = cache.get_seq_length()
    column = torch.arange(start + fed.shape[1])[None]
    output = lm(
        input_ids=fed.to(lm.device),
        attention_mask=(column >= pads).long().to(lm.device),
        position_ids=(column[:, start:] - pads).clamp(min=0).to(lm.device),
        cache=cache,
        use_cache=True,
        logits_to_keep=1,
    )
    best: list[int] = output.logits[:, -1].argmax(-1).tolist()
    return best


@torch.inference_mode()
def read_answers(lm: Any, rows: Sequence[tuple[State, State]]) -> list[ReadRow]:
    """Let the model read (prompt, answer) pairs that it need not have written itself."""
    fed = [torch.tensor([*prompt, *answer[:-1]]) for prompt, answer in rows]
    ids = pad_sequence(fed, batch_first=True).to(lm.device)
    cache = GrowingCache()
    body = getattr(lm, lm.base_model_prefix)
    hidden = body(input_ids=ids, cache=cache, use_cache=True).last_hidden_state  # causal: padding behind is harmless
    head = lm.get_output_embeddings()
    found = []
    for at, (prompt, answer) in enumerate(rows):
        size = len(prompt) + len(answer) - 1
        own = best_tokens(hidden[at, len(prompt) - 1 : size], head)
        found.append(ReadRow(tuple(prompt), tuple(answer), tuple(own), cache.row(at, end=size)))
    return found
