"""One job at a time on a device, the others in the order they came. A lock dies with the process that holds it."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from glob import glob
from pathlib import Path

_GPUS = ("/dev/nvidia[0-9]*", "/dev/dxg", "/dev/kfd")  # dxg: under Windows' subsystem for Linux; kfd: AMD's


def device_of(wanted: str) -> str:
    """Return `gpu` or `cpu`: where `auto`, `cuda` or `cpu` leads on this machine. Looks at device files only."""
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1")
    if wanted == "cpu" or hidden or not any(glob(pattern) for pattern in _GPUS):
        return "cpu"
    return "gpu"


def job_lock(folder: Path) -> Path:
    """Return the file whose lock a job's one supervisor holds while it lives."""
    return folder / ".lock"


def lock_file(runs: Path, device: str) -> Path:
    """Return the file whose lock is the device."""
    return runs / f".{device}.lock"


@contextlib.contextmanager
def try_lock(path: Path) -> Iterator[bool]:
    """Take the lock if it is free; yields whether it was. Child processes do not inherit it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


def is_locked(path: Path) -> bool:
    """Return whether some process holds the lock."""
    if not path.exists():
        return False
    with try_lock(path) as free:
        return not free
