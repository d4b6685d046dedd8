"""Checkpoints: a folder each, written whole or not at all, with checksums that tell damage. Knows no training loop."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from cllm_core.errors import TrainingError
from cllm_core.memory import is_out_of_memory
from cllm_core.train.folder import KEPT

WEIGHTS, OPTIMIZER, STATE = "weights.safetensors", "optimizer.pt", "state.json"


@dataclass(frozen=True)
class Checkpoint:
    """What a run needs to go on as if it had not stopped."""

    step: int  # optimizer steps done
    weights: Mapping[str, torch.Tensor]
    optimizer: Mapping[str, Any]  # states of the optimizer and of the loss scaler
    progress: Mapping[str, Any]  # counters and refreshed rows, JSON values


def save(folder: Path, checkpoint: Checkpoint, *, keep: int, extra: Callable[[Path], None] = lambda path: None) -> Path:
    """Write a checkpoint into its own subfolder, let `extra` add files to it, delete all but the newest `keep`.

    Those marked by a file KEPT stay beside them. Later steps can only be broken ones that a resume passed over: they
    are deleted, or they would count as the newest.
    """
    final = folder / f"step-{checkpoint.step:06d}"
    partial = folder / f".{final.name}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    try:
        with writing(folder):
            partial.mkdir(parents=True)
            save_file(dict(checkpoint.weights), partial / WEIGHTS)
            torch.save(dict(checkpoint.optimizer), partial / OPTIMIZER)
        extra(partial)
        with writing(folder):
            files = {name: _checksum(partial / name) for name in (WEIGHTS, OPTIMIZER)}
            state = {"step": checkpoint.step, "files": files, "progress": dict(checkpoint.progress)}
            (partial / STATE).write_text(json.dumps(state), encoding="utf-8")
            shutil.rmtree(final, ignore_errors=True)
            os.replace(partial, final)
    finally:
        shutil.rmtree(partial, ignore_errors=True)  # half a checkpoint is of no use, and takes room
    numbered = _numbered(folder)
    own = numbered.index(final)
    for old in (*numbered[: max(0, own + 1 - keep)], *numbered[own + 1 :]):
        if not (old / KEPT).exists():
            shutil.rmtree(old, ignore_errors=True)
    return final


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Have a write that fails, in whatever library, say so with the checkpoint that is left; TrainingError."""
    try:
        yield
    except (OSError, SafetensorError, RuntimeError) as error:
        if is_out_of_memory(error):
            raise
        why = getattr(error, "strerror", None) or (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise TrainingError(
            f"The run cannot write to its folder, most likely the disk is full ({why}); {last_good(folder)}. "
            "Free some space and resume."
        ) from error


def last_good(folder: Path) -> str:
    """Say which checkpoint is left, in a few words."""
    whole = next((path for path in reversed(_numbered(folder)) if not _inspect(path)[0]), None)
    return f"the last good checkpoint is {whole.name}" if whole else "there is no checkpoint before it"


def load_newest(folder: Path, say: Callable[[str], None]) -> Checkpoint | None:
    """Return the newest checkpoint that is whole, or None; says which broken ones it passes over."""
    for path in reversed(_numbered(folder)):
        fault, state = _inspect(path)
        if fault:
            say(f"Checkpoint {path.name} is broken ({fault}) and is passed over.")
            continue
        return Checkpoint(
            step=state["step"],
            weights=load_file(path / WEIGHTS),
            optimizer=torch.load(path / OPTIMIZER, map_location="cpu", weights_only=True),
            progress=state["progress"],
        )
    if _numbered(folder):
        say("No checkpoint is whole: the run begins anew.")
    return None


def _inspect(path: Path) -> tuple[str, dict[str, Any]]:
    """Return (what is wrong with it, or "", its state)."""
    try:
        state = json.loads((path / STATE).read_text(encoding="utf-8"))
        for name, checksum in state["files"].items():
            if _checksum(path / name) != checksum:
                return f"{name} is cut short or altered", {}
        return ("", state) if isinstance(state["step"], int) else ("its state file is damaged", {})
    except OSError as error:
        return f"{Path(error.filename or path).name} cannot be read", {}
    except (ValueError, KeyError, TypeError, AttributeError):
        return "its state file is damaged", {}


def _numbered(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("step-*") if path.is_dir())


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
