"""Advice for who runs out of memory while training. Knows no run."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cllm_core.errors import TrainingError
from cllm_core.memory import is_out_of_memory


@contextmanager
def memory_advice(advice: Callable[[], str]) -> Iterator[None]:
    """Turn an out-of-memory error inside the block into a TrainingError that ends with the advice."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:  # torch.OutOfMemoryError is a RuntimeError
        if is_out_of_memory(error):
            raise TrainingError(f"The machine ran out of memory. {advice()}") from error
        raise
