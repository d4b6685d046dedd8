"""Collects the states of rows anew from the model being trained: states drift as it learns. Knows no loop."""

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from cllm_core.train.answers import read_answers
from cllm_core.train.rows import Row, State
from cllm_core.train.trajectories import jacobi_states

BATCH = 16


def refresh_states(lm: Any, rows: Mapping[int, Row], seed: str) -> dict[int, Row]:
    """Return the rows, by their numbers, with new drafts and the states that the model now goes through from them.

    The answers stay. The seed and a row's number fix its drafts, so the order of the rows changes nothing.
    """
    numbers = sorted(rows, key=lambda number: len(rows[number].prompt_ids) + len(rows[number].answer_ids))
    found: dict[int, Row] = {}
    with _at_rest(lm):
        for at in range(0, len(numbers), BATCH):
            some = numbers[at : at + BATCH]
            read = read_answers(lm, [(rows[number].prompt_ids, rows[number].answer_ids) for number in some])
            for size in {rows[number].block_size for number in some}:
                here = [place for place, number in enumerate(some) if rows[number].block_size == size]
                drafts = [_drafts(rows[some[place]], f"{seed}/{some[place]}") for place in here]
                states = jacobi_states(lm, [read[place] for place in here], drafts, size)
                found |= {some[place]: replace(rows[some[place]], states=new) for place, new in zip(here, states)}
    return found


def _drafts(row: Row, seed: str) -> list[State]:
    rng = random.Random(seed)
    return [tuple(rng.choices(row.prompt_ids, k=len(block))) for block in row.blocks()]


@contextmanager
def _at_rest(lm: Any) -> Iterator[None]:
    training = lm.training
    lm.eval()
    try:
        yield
    finally:
        lm.train(training)
