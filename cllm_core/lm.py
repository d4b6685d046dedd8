"""What a decoder needs of a language model: extend, roll back, a length. And TableLM, a fake that ships.

Knows no text, no device and no library.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Prediction:
    """The model's choice after each of the last `keep` fed ids: `ids[i]` follows fed id number `-keep + i`."""

    ids: tuple[int, ...]
    probabilities: tuple[float, ...] = ()
    top: tuple[tuple[tuple[int, float], ...], ...] = ()


class CausalLM(Protocol):
    """A causal language model with a cache that can be rolled back. One session, one sequence."""

    vocab_size: int
    context: int  # most tokens the model can hold
    pad_id: int
    eos_ids: frozenset[int]

    @property
    def length(self) -> int:
        """How many tokens the cache holds."""
        ...

    def extend(self, ids: Sequence[int], keep: int) -> Prediction:
        """Feed ids (at least one) after what the cache holds; return the choices after the last `keep` of them."""
        ...

    def rollback(self, length: int) -> None:
        """Forget all but the first `length` tokens."""
        ...


class TableLM:
    """A language model that is a table: the longest suffix of the context found in it names the next token.

    For tests, teaching and examples. `table` maps suffixes (tuples of ids) to the next id; `()` is the default.

    >>> lm = TableLM({(): 0, (1,): 2, (1, 2): 3}, vocab_size=4)
    >>> lm.extend([1, 2], keep=2).ids
    (2, 3)
    """

    def __init__(
        self,
        table: Mapping[tuple[int, ...], int],
        *,
        vocab_size: int,
        eos_ids: Sequence[int] = (),
        pad_id: int = 0,
        context: int = 1 << 20,
    ) -> None:
        self.vocab_size, self.context, self.pad_id = vocab_size, context, pad_id
        self.eos_ids = frozenset(eos_ids)
        self._table = dict(table)
        self._longest = max((len(suffix) for suffix in self._table), default=0)
        self._ids: list[int] = []

    @property
    def length(self) -> int:
        return len(self._ids)

    def extend(self, ids: Sequence[int], keep: int) -> Prediction:
        chosen = []
        for token in ids:
            self._ids.append(token)
            chosen.append(self._next())
        return Prediction(tuple(chosen[-keep:]), (1.0,) * keep)

    def rollback(self, length: int) -> None:
        if not 0 <= length <= len(self._ids):
            raise ValueError(f"cannot roll back to {length}: the cache holds {len(self._ids)} tokens")
        del self._ids[length:]

    def _next(self) -> int:
        for size in range(min(self._longest, len(self._ids)), -1, -1):
            found = self._table.get(tuple(self._ids[len(self._ids) - size :]))
            if found is not None:
                return found
        raise KeyError("the table has no entry for this context and no default under ()")
