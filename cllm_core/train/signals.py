"""Ends a long run in order: a signal only raises a flag that the run reads when it can stop. Knows no run."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Stop = Callable[[], bool]


@contextmanager
def stop_on_signals() -> Iterator[Stop]:
    """Within the block, SIGTERM and SIGINT only raise a flag, which the yielded function reads.

    Outside the main thread, where signals cannot be caught, the flag stays down.
    """
    stopped = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stopped.is_set
        return
    before = {number: signal.signal(number, lambda *_: stopped.set()) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stopped.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
