"""The one decode loop: guess a window, predict all of it in one pass, accept what agrees, roll back the rest.

A decoder is a window rule and a source of guesses. The loop knows ids, a window and a language model; no text, no
file, no recorder, and no clock but the one around the pass.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from cllm_core.errors import PromptError
from cllm_core.lm import CausalLM
from cllm_core.types import Step


class Holds(Protocol):
    """What has a context: a session, or a loaded model."""

    @property
    def context(self) -> int:
        """Most tokens it can hold."""


WindowEnd = Callable[[int], int]  # fixed frontier -> end (exclusive) of the window that the next pass works on
Guesser = Callable[[int, int], Sequence[int]]  # (how many, last fixed token) -> fresh guesses


def decode_windows(
    lm: CausalLM, prompt_ids: Sequence[int], *, size: int, limit: int, window_end: WindowEnd, guess: Guesser
) -> Iterator[Step]:
    """Yield one Step per forward pass until an end token or `limit` generated tokens.

    A pass is at most `size` tokens wide (the first one also carries the prompt) and fixes at least one token: the
    guesses that agree with the prediction, and the model's own token after them. Before every pass the cache holds
    each fixed token except the last, so no other fixed token is fed twice.
    """
    limit = min(limit, room_for_output(lm, prompt_ids))
    fixed, pending = 0, tuple(prompt_ids)
    guesses: tuple[int, ...] = ()
    while True:
        end = min(window_end(fixed), limit)
        width = min(size, end - fixed + 1, limit - fixed)  # one past the window: the token that a whole match yields
        fresh = max(0, width - 1 - len(guesses))
        draft = (*guesses[: width - 1], *guess(fresh, pending[-1]))
        started = time.perf_counter()
        prediction = lm.extend((*pending, *draft), keep=width)
        accepted = accept(draft, prediction.ids, lm.eos_ids)
        lm.rollback(len(prompt_ids) + fixed + len(accepted) - 1)
        seconds = time.perf_counter() - started
        shown = max(end - fixed, len(accepted))
        yield Step(
            start=fixed,
            draft=draft,
            state=prediction.ids[:shown],
            fixed=fixed + len(accepted),
            seconds=seconds,
            probabilities=prediction.probabilities[:shown],
            top=prediction.top[:shown],
        )
        fixed += len(accepted)
        if accepted[-1] in lm.eos_ids or fixed >= limit:
            return
        pending, guesses = accepted[-1:], prediction.ids[len(accepted) : shown]


def accept(draft: Sequence[int], predicted: Sequence[int], eos_ids: frozenset[int]) -> tuple[int, ...]:
    """Return the tokens a pass fixes: the agreeing prefix and the model's token after it, cut at an end token.

    Shapes: draft (w - 1,) or (w,), predicted (w,); the result has 1 to w tokens.
    """
    agreed = 0
    while agreed < min(len(draft), len(predicted) - 1) and draft[agreed] == predicted[agreed]:
        agreed += 1
    accepted = tuple(predicted[: agreed + 1])
    for index, token in enumerate(accepted):
        if token in eos_ids:
            return accepted[: index + 1]
    return accepted


def room_for_output(lm: Holds, prompt_ids: Sequence[int]) -> int:
    """Return how many tokens fit after the prompt; PromptError if the prompt is empty or leaves no room."""
    if not prompt_ids:
        raise PromptError("The prompt is empty: type some text to continue from.")
    room = lm.context - len(prompt_ids)
    if room < 1:
        raise PromptError(
            f"The prompt has {len(prompt_ids):,} tokens and the model holds {lm.context:,}: shorten the prompt."
        )
    return room
