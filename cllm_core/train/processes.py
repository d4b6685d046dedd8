"""How the processes of one launch end: together, once the last one is through. Knows no run."""

from collections.abc import Iterator
from contextlib import contextmanager

from accelerate import PartialState


@contextmanager
def leaving_together() -> Iterator[None]:
    """Wait at the end of the block for the other processes, then close the group that they share.

    An interpreter that ends with the group open can abort, and the launcher then ends the others amid their work.
    After an error nothing is waited for: the others may never get here.
    """
    yield
    state = PartialState()
    state.wait_for_everyone()
    state.destroy_process_group()
