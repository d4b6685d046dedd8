"""Names for downloads and pages: plain ASCII, safe on every file system, never free text."""

import hashlib
import re
from collections.abc import Mapping

from cllm_core.io import dumps_run
from cllm_core.types import Trajectory


def export_name(lanes: Mapping[str, Trajectory], extension: str) -> str:
    """Return a file name such as `cllm-run-smollm2-135m-instruct-3f9a02c1.json`.

    It names the model of the first lane and the content, so that two runs never share a name.
    """
    model = next((slug(trajectory.model.name) for trajectory in lanes.values()), "")
    return "-".join(part for part in ("cllm-run", model, run_digest(lanes)) if part) + f".{extension}"


def run_digest(lanes: Mapping[str, Trajectory]) -> str:
    """Return eight hex digits that change with any part of the run."""
    return hashlib.sha256(dumps_run(lanes).encode("utf-8")).hexdigest()[:8]


def slug(text: str, limit: int = 40) -> str:
    """Return the ASCII letters and digits of a text in lower case, other runs as one hyphen; may be empty."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower())[:limit].strip("-")
