"""Where fetched models live: a folder each, written whole or not at all, with a manifest that tells damage.

Knows no model, no package index and no hub.
"""

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

Progress = Callable[[int, int, str], None]
"""Called with (bytes done, bytes in all or 0 when unknown, what is being done)."""

MANIFEST = "manifest.json"
MANIFEST_VERSION = 1
_CHUNK, _CHUNKS = 1 << 16, 64
_PATIENCE = 0.5  # seconds between two reports of a wait


def silent(done: int, total: int, stage: str) -> None:
    """Report to nobody: the default Progress."""


def cache_folder() -> Path:
    """Return the folder for downloaded and converted models: CLLM_CACHE, else the platform's convention."""
    chosen = os.environ.get("CLLM_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "cllm"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "cllm"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cllm"


def fingerprint(path: Path) -> str:
    """Return a checksum of a file's size and of 64 chunks of 64 KiB spread evenly over it: all of it up to 4 MiB.

    It costs milliseconds for any size, and tells truncated, zero-filled and swapped files; a single flipped bit
    between two chunks of a large file escapes it.
    """
    size = path.stat().st_size
    digest = hashlib.sha256(str(size).encode())
    step = max(_CHUNK, (size - _CHUNK) // (_CHUNKS - 1))
    with path.open("rb") as file:
        for start in range(0, size, step):
            file.seek(start)
            digest.update(file.read(_CHUNK))
    return digest.hexdigest()


def write_manifest(folder: Path, source: str) -> None:
    """Record size and fingerprint of every file of the folder, and the checksum of what they were made from."""
    files = {
        path.name: {"size": path.stat().st_size, "fingerprint": fingerprint(path)}
        for path in sorted(folder.iterdir())
        if path.name != MANIFEST
    }
    manifest = {"version": MANIFEST_VERSION, "source": source, "files": files}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")


def damage(folder: Path, source: str) -> str | None:
    """Return what is wrong with a folder that `write_manifest` described, in a few words, or None if it is whole."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        version, made_from = manifest["version"], manifest["source"]
        files = {name: (entry["size"], entry["fingerprint"]) for name, entry in dict(manifest["files"]).items()}
    except (OSError, ValueError, KeyError, TypeError):
        return "its manifest is missing or unreadable"
    if version != MANIFEST_VERSION or made_from != source:
        return "it was made by another version"
    for name, (size, checksum) in files.items():
        path = folder / name
        if not path.is_file():
            return f"{name} is missing"
        if path.stat().st_size != size:
            return f"{name} is truncated"
        if fingerprint(path) != checksum:
            return f"{name} is altered"
    return None


@contextmanager
def locked(folder: Path, report: Progress = silent) -> Iterator[None]:
    """Let one process at a time make `folder`, and clear what a killed one left behind."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder.parent / f"{folder.name}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        _wait(lock, report)
    try:
        for remains in folder.parent.glob(f"{folder.name}.*part"):
            shutil.rmtree(remains, ignore_errors=True)
        yield
    finally:
        lock.release()


def _wait(lock: FileLock, report: Progress) -> None:
    """Take the lock once it is free, reporting meanwhile: who reports may want to stop."""
    while not lock.is_locked:
        report(0, 0, "Waiting for another process that is preparing the model")
        with suppress(Timeout):
            lock.acquire(timeout=_PATIENCE)


@contextmanager
def replacing(folder: Path) -> Iterator[Path]:
    """Yield an empty folder that takes the place of `folder` at once when the block ends well, and never otherwise.

    Call it under `locked`.
    """
    made, replaced = (folder.parent / f"{folder.name}.{suffix}" for suffix in ("part", "old.part"))
    made.mkdir()
    try:
        yield made
        if folder.exists():
            os.replace(folder, replaced)
        os.replace(made, folder)
    finally:
        for remains in (made, replaced):
            shutil.rmtree(remains, ignore_errors=True)
