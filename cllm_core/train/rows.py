"""One training row: a prompt, the target model's own answer, and the Jacobi states on the way to it."""

from dataclasses import dataclass

State = tuple[int, ...]


@dataclass(frozen=True)
class Row:
    """One prompt's material for consistency training. Ids only; text is never re-encoded.

    `states[b]` lists the states of block b (positions `b * block_size` and up of `answer_ids`) from its draft to the
    last state before the fixed point; the fixed point itself is the block's slice of `answer_ids`. Every state is as
    long as its block's slice.
    """

    id: str
    prompt_ids: tuple[int, ...]
    answer_ids: tuple[int, ...]  # up to and including the end token, where the target gave one
    block_size: int
    states: tuple[tuple[State, ...], ...] = ()

    def blocks(self) -> list[State]:
        """Return the fixed points: `answer_ids` cut into blocks."""
        size = self.block_size
        return [self.answer_ids[start : start + size] for start in range(0, len(self.answer_ids), size)]
