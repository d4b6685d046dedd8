"""Processes: which one a number means, and how a whole tree of them is ended. Knows no job."""

import contextlib
import os
import time
from collections.abc import Iterable, Sequence

import psutil

_CLOCK = 2.0  # seconds that the start time of one process may differ between two readings
_POLL = 0.1


def identity(pid: int | None = None) -> tuple[int, float]:
    """Return (pid, start time) of a process, this one by default; psutil.NoSuchProcess if there is none."""
    process = psutil.Process(pid)
    return process.pid, process.create_time()


def is_alive(pid: int, started: float) -> bool:
    """Return whether that very process still runs: not one that was given its number later, not a zombie."""
    try:
        process = psutil.Process(pid)
        return bool(abs(process.create_time() - started) < _CLOCK and process.status() != psutil.STATUS_ZOMBIE)
    except (psutil.Error, ValueError):
        return False


def descendants(pid: int | None = None) -> list[psutil.Process]:
    """Return the children of a process, their children, and so on."""
    with contextlib.suppress(psutil.Error):
        found: list[psutil.Process] = psutil.Process(pid).children(recursive=True)
        return found
    return []


def group_members(group: int, since: float) -> list[psutil.Process]:
    """Return the processes of a group but its leader, which can be dead, and their children.

    `since` is when the leader began: nothing older belongs to it. Where its number is another process's by now, or the
    machine was started after it, the group is gone, and one that bears its number is somebody else's.
    """
    members: dict[int, psutil.Process] = {}
    with contextlib.suppress(psutil.Error):
        if abs(psutil.Process(group).create_time() - since) >= _CLOCK:
            return []
    if since < psutil.boot_time() - _CLOCK:
        return []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if os.getpgid(process.pid) == group and process.pid != group and process.create_time() > since - _CLOCK:
                for member in (process, *descendants(process.pid)):
                    members[member.pid] = member
    return list(members.values())


def end_all(processes: Sequence[psutil.Process], grace: float) -> None:
    """Ask the processes to end, wait for them at most `grace` seconds, and kill those that have not."""
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.terminate()
    _wait(processes, grace)
    for process in _running(processes):
        with contextlib.suppress(psutil.Error):
            process.kill()
    _wait(processes, 5.0)


def _wait(processes: Sequence[psutil.Process], seconds: float) -> None:
    end = time.monotonic() + seconds
    while _running(processes) and time.monotonic() < end:
        time.sleep(_POLL)


def _running(processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    found = []
    for process in processes:
        with contextlib.suppress(psutil.Error):
            if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:  # its parent may never fetch it
                found.append(process)
    return found
