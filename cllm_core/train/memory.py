"""Words for running out of memory: the libraries raise three kinds of error for it. Knows no run."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cllm_core.errors import TrainingError

_SIGNS = ("out of memory", "can't allocate memory", "cannot allocate memory")


@contextmanager
def memory_advice(advice: Callable[[], str]) -> Iterator[None]:
    """Turn an out-of-memory error inside the block into a TrainingError that ends with the advice."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:  # torch.OutOfMemoryError is a RuntimeError
        if isinstance(error, MemoryError) or any(sign in str(error).lower() for sign in _SIGNS):
            raise TrainingError(f"The machine ran out of memory. {advice()}") from error
        raise
