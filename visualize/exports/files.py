"""Writes a file whole or not at all."""

import uuid
from pathlib import Path

from cllm_core.errors import ExportError


def write_whole(path: Path, data: bytes) -> None:
    """Put the file in its place once it is complete; ExportError if that cannot be done."""
    part = path.with_name(f".{uuid.uuid4().hex}.part")
    try:
        part.write_bytes(data)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise ExportError(f"Cannot write {path.name} ({error.strerror or error}): choose another folder.") from error
