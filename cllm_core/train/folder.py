"""A run's folder: config.json, metrics.jsonl, log.txt, checkpoints/, card.md and the result. Knows no model."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cllm_core.errors import ConfigError, TrainingError
from cllm_core.files import write_text
from cllm_core.train.config import TrainConfig

KEPT = "kept"  # an empty file: a checkpoint that has it is not pruned
Say = Callable[[str], None]
_FREE = frozenset({"out", "save_every", "keep", "log_every", "tracker", "chunk"})  # may change between stop and resume


@dataclass(frozen=True)
class RunFolder:
    """Where a run writes. Only the main process of several writes; the others hold a mute one."""

    path: Path
    writes: bool = True
    tell: Say = print

    @property
    def checkpoints(self) -> Path:
        """The folder of the checkpoints."""
        return self.path / "checkpoints"

    def open(self, config: TrainConfig) -> None:
        """Make the folder and its config.json; ConfigError if it holds a run with other settings."""
        written = self.path / "config.json"
        if written.exists():
            check_same(written, asdict(config), _FREE)
        if self.writes:
            try:
                self.checkpoints.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise TrainingError(f"Cannot write the run folder {self.path}: {error.strerror}.") from error
            write_settings(written, config)

    def say(self, line: str) -> None:
        """Show a line and add it to log.txt."""
        if self.writes:
            self.tell(line)
            with (self.path / "log.txt").open("a", encoding="utf-8") as log:
                log.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')}  {line}\n")

    def add_metrics(self, row: Mapping[str, Any]) -> None:
        """Add one step's metrics."""
        if self.writes:
            with (self.path / "metrics.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")

    def forget_metrics_after(self, step: int) -> None:
        """Drop the metrics of steps that a resumed run will do again (and a line that was cut off)."""
        path = self.path / "metrics.jsonl"
        if self.writes and path.exists():
            kept = [line for line in path.read_text(encoding="utf-8").splitlines() if _step_of(line) <= step]
            write_text(path, "".join(line + "\n" for line in kept))


def write_settings(path: Path, config: Any) -> None:
    """Write a settings file, whole or not at all, where it is not what it should be; ExportError if that fails."""
    text = json.dumps(asdict(config), indent=1) + "\n"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        write_text(path, text)


def _step_of(line: str) -> float:
    try:
        return float(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError):
        return float("inf")


def check_same(written: Path, now: Mapping[str, Any], free: frozenset[str]) -> None:
    """Raise ConfigError if a folder's config.json has other settings than `now`, those in `free` aside.

    A file inside the run's folder is the same one after the folder was moved.
    """
    try:
        before = json.loads(written.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{written} cannot be read: choose another folder.") from error
    was, here = str(before.get("out", "")), str(now.get("out", ""))
    for name in sorted(now.keys() - free):
        if name in before and _inside(before[name], was) != _inside(now[name], here):
            raise ConfigError(
                f"The run in {written.parent} began with {name} = {before[name]!r}, not {now[name]!r}: "
                "resume it with the settings it began with, or choose another folder."
            )


def _inside(value: Any, folder: str) -> Any:
    """Return a path in a folder as it is from there; anything else as it is."""
    if folder and isinstance(value, str) and Path(value).is_relative_to(folder):
        return ("inside", Path(value).relative_to(folder).as_posix())
    return value
