"""Results of the user's: a place for them is looked for before the work, and a file is written whole or not at all."""

import tempfile
import uuid
from pathlib import Path

from cllm_core.errors import ExportError


def check_writable(*paths: Path | None) -> None:
    """Raise ExportError, before any work is done, if a file could not be written after it."""
    for path in paths:
        if path is None:
            continue
        if path.is_dir():
            raise ExportError(f"{path} is a folder: name a file.")
        folder = path.absolute().parent
        if not folder.is_dir():
            raise ExportError(f"There is no folder {folder}: make it first.")
        try:
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            raise ExportError(f"Cannot write into {folder} ({error.strerror or error}): choose another.") from error


def write_text(path: Path, text: str) -> None:
    """Write a text as UTF-8 with plain line ends, whole or not at all; ExportError if that cannot be done.

    Half a surrogate pair (a file name that is no UTF-8 has some) is written as its escape, which JSON reads back.
    """
    write_whole(path, text.encode("utf-8", "backslashreplace"))


def write_whole(path: Path, data: bytes) -> None:
    """Put the file in its place once it is complete; ExportError if that cannot be done."""
    part = path.with_name(f".{uuid.uuid4().hex}.part")
    try:
        part.write_bytes(data)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise ExportError(f"Cannot write {path.name} ({error.strerror or error}): choose another folder.") from error
