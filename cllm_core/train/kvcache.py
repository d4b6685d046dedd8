"""A KV cache that grows in place: the library's own copies all it holds with every token. Knows no model."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers.cache_utils import Cache, DynamicLayer

KeysValues = tuple[tuple[Tensor, Tensor], ...]  # per layer: keys and values of one row (heads, tokens, size)
SPARE = 64  # tokens of room that are made whenever the room is used up


class GrowingLayer(DynamicLayer):  # type: ignore[misc]
    """Keys and values (rows, heads, tokens, size) at the front of a larger buffer."""

    _room: tuple[Tensor, ...] = ()  # the buffers; `keys` and `values` are views of them

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Add the states of further tokens; return all."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        start: int = self.get_seq_length()
        end = start + key_states.shape[-2]
        if not self._room or end > self._room[0].shape[-2]:
            old = (self.keys, self.values)
            self._room = tuple(_larger(new, end + SPARE) for new in (key_states, value_states))
            if start:
                self._write(old, 0, start)
        self._write((key_states, value_states), start, end)
        self._show(end)
        return self.keys, self.values

    def batch_select_indices(self, indices: Tensor) -> None:
        """Keep only some rows."""
        self._room = tuple(room[indices] for room in self._room)
        self._show(self.get_seq_length())

    def _write(self, states: Sequence[Tensor], start: int, end: int) -> None:
        for room, new in zip(self._room, states, strict=True):
            room[:, :, start:end] = new

    def _show(self, length: int) -> None:
        self.keys, self.values = (room[:, :, :length] for room in self._room)


def _larger(like: Tensor, tokens: int) -> Tensor:
    rows, heads, _, size = like.shape
    return like.new_empty(rows, heads, tokens, size)


class GrowingCache(Cache):  # type: ignore[misc]
    """A cache of GrowingLayers for a batch of rows."""

    def __init__(self) -> None:
        super().__init__(layer_class_to_replicate=GrowingLayer)

    @classmethod
    def of_rows(cls, rows: Sequence[KeysValues]) -> "GrowingCache":
        """Return the batched cache of single rows, padded behind; mask what lies past a row's own length."""

        def batch(parts: Iterator[Tensor]) -> Tensor:
            return pad_sequence([part.transpose(0, 1) for part in parts], batch_first=True).transpose(1, 2)

        cache = cls()
        for number, layer in enumerate(zip(*rows)):
            cache.update(batch(keys for keys, _ in layer), batch(values for _, values in layer), number)
        return cache

    def row(self, at: int, start: int = 0, end: int | None = None) -> KeysValues:
        """Return a copy of one row's keys and values, of the tokens from `start` to `end`."""
        return tuple(
            (layer.keys[at, :, start:end].clone(), layer.values[at, :, start:end].clone()) for layer in self.layers
        )

    def select(self, rows: Sequence[int]) -> None:
        """Keep only some rows."""
        for layer in self.layers:
            layer.batch_select_indices(torch.tensor(rows, device=layer.keys.device))
