"""How a job stands, as the file that its supervisor writes: whole or not at all, also on a full disk."""

import errno
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cllm_core.errors import FormatError
from cllm_core.io import parse_json

FILE, RESERVE = "state.json", ".reserve"
LIVE = frozenset({"queued", "running", "stopping"})
FULL = (errno.ENOSPC, errno.EDQUOT)
_RESERVED = 64 * 1024  # bytes given back when the disk is full, so that the reason can still be written


@dataclass(frozen=True)
class JobState:
    """How a job stands. Times are seconds since the epoch, 0 where there is none."""

    status: str  # queued | running | stopping | stopped | paused | failed | finished
    stage: str = ""  # the one that runs, or ran last
    reason: str = ""  # one sentence or two: why it is not running
    done: tuple[str, ...] = ()  # stages that are finished
    pid: int = 0  # of the supervisor
    process_started: float = 0.0  # when that process began: another one with its pid began at another time
    queued: float = 0.0
    started: float = 0.0
    ended: float = 0.0
    spent: float = 0.0  # seconds at work, up to the last end: what lay between a stop and a resume is left out
    guarded: bool = True  # False once a run was resumed that the collapse guard had paused

    @property
    def live(self) -> bool:
        """Whether a process should be at work on it."""
        return self.status in LIVE


def write_state(folder: Path, state: JobState) -> None:
    """Replace the state file."""
    write_json(folder, FILE, asdict(state))


def read_state(folder: Path) -> JobState | None:
    """Return the state, or None where nothing was written yet; FormatError if the file is damaged."""
    try:
        data = parse_json((folder / FILE).read_bytes())
        return JobState(**{**data, "done": tuple(data["done"])})
    except FileNotFoundError:
        return None
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise FormatError(f"The state file of {folder.name} is damaged: {error!r}.") from error


def write_json(folder: Path, name: str, value: Mapping[str, Any]) -> None:
    """Replace a small file of the folder, whole or not at all; a full disk gives it the reserved bytes."""
    data = json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "backslashreplace")
    try:
        _replace(folder / name, data)
    except OSError as error:
        if error.errno not in FULL or not (folder / RESERVE).exists():
            raise
        (folder / RESERVE).unlink()
        _replace(folder / name, data)


def _replace(path: Path, data: bytes) -> None:
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.write_bytes(data)
        os.replace(partial, path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise


def reserve(folder: Path) -> None:
    """Put a few bytes by for the day the disk is full."""
    (folder / RESERVE).write_bytes(b"\0" * _RESERVED)
