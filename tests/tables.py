"""Random table language models and settings to decode them with, for properties that need no neural network."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from hypothesis import strategies as st

from cllm_core.decoders import DECODERS
from cllm_core.lm import Prediction, TableLM
from cllm_core.record import Recorder
from cllm_core.types import DRAFT_INITS, WINDOWS, DecodeConfig, ModelInfo, Trajectory

VOCABULARY = 5
SUFFIXES = [suffix for size in range(3) for suffix in product(range(VOCABULARY), repeat=size)]


@dataclass
class Case:
    """A table, a prompt and the settings to decode it with."""

    table: dict[tuple[int, ...], int]
    prompt_ids: tuple[int, ...]
    eos_ids: frozenset[int]
    config: DecodeConfig
    context: int

    def lm(self) -> "SpyLM":
        return SpyLM(self.table, vocab_size=VOCABULARY, eos_ids=tuple(self.eos_ids), context=self.context)

    @property
    def limit(self) -> int:
        return min(self.config.max_new_tokens, self.context - len(self.prompt_ids))

    def answer(self) -> tuple[int, ...]:
        """G: one token at a time, with a loop that shares nothing with the decoders."""
        lm = self.lm()
        ids = list(lm.extend(self.prompt_ids, 1).ids)
        while len(ids) < self.limit and ids[-1] not in self.eos_ids:
            ids += lm.extend(ids[-1:], 1).ids
        return tuple(ids)

    def trajectory(self) -> Trajectory:
        return run(self.lm(), self.prompt_ids, self.config)


class SpyLM(TableLM):
    """A TableLM that remembers what it was fed and how long its cache was after each rollback."""

    def __init__(self, *args: object, **named: object) -> None:
        super().__init__(*args, **named)  # type: ignore[arg-type]
        self.fed: list[tuple[int, ...]] = []
        self.lengths: list[int] = []

    def extend(self, ids: Sequence[int], keep: int) -> Prediction:
        self.fed.append(tuple(ids))
        return super().extend(ids, keep)

    def rollback(self, length: int) -> None:
        super().rollback(length)
        self.lengths.append(self.length)


def run(lm: TableLM, prompt_ids: Sequence[int], config: DecodeConfig) -> Trajectory:
    """Decode with the decoder that the settings name, and record it."""
    recorder = Recorder(
        config, ModelInfo(name="table"), "prompt", prompt_ids, lambda token: b"<%d>" % token, lm.eos_ids
    )
    return recorder.run(DECODERS[config.decoder](lm, prompt_ids, config))


def cases(**fixed: object) -> st.SearchStrategy[Case]:
    """Draw cases; keyword arguments fix settings of DecodeConfig."""
    ids = st.integers(0, VOCABULARY - 1)
    settings = {
        "block_size": st.integers(1, 8),
        "window": st.sampled_from(WINDOWS),
        "init": st.sampled_from(DRAFT_INITS),
        "max_new_tokens": st.integers(1, 40),
        "seed": st.integers(0, 9),
    }
    config = st.builds(DecodeConfig, **{**settings, **{name: st.just(value) for name, value in fixed.items()}})
    tables = st.binary(min_size=len(SUFFIXES), max_size=len(SUFFIXES))  # quicker to draw than lists of ids
    return st.builds(
        Case,
        table=tables.map(lambda draw: {suffix: byte % VOCABULARY for suffix, byte in zip(SUFFIXES, draw, strict=True)}),
        prompt_ids=st.lists(ids, min_size=1, max_size=6).map(tuple),
        eos_ids=st.frozensets(ids, max_size=2),
        config=config,
        context=st.sampled_from([1 << 20, 7, 12]),
    )
