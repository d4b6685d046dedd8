"""Which table of collocations belongs to a run: its pair's own, else the general one that ships with the app."""

import logging
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from cllm_core.collocation_files import load_table
from cllm_core.collocations import CollocationTable
from cllm_core.errors import FormatError
from cllm_core.pairs import assets_folder, runs_folder
from cllm_core.types import Trajectory

log = logging.getLogger(__name__)

TABLE_FILE = "collocations.json"  # in a pair's folder, and in assets
_PAIR = re.compile(r"\w[\w.-]*")


def table_for(lanes: Mapping[str, Trajectory]) -> CollocationTable | None:
    """Return the table for the lanes of a run; None where there is none that can be read."""
    for path in _places(lanes):
        try:
            return _table(path, path.stat().st_mtime_ns)
        except FileNotFoundError:
            continue
        except FormatError as error:
            log.warning("%s: %s", path, error)
    return None


def _places(lanes: Mapping[str, Trajectory]) -> Iterator[Path]:
    for trajectory in lanes.values():
        pair = trajectory.model.adapter.split("/")[0]  # an adapter is called PAIR/PART
        if _PAIR.fullmatch(pair):  # the name may come from anyone's file
            yield from (folder / pair / TABLE_FILE for folder in (assets_folder(), runs_folder()))
    yield assets_folder().parent / TABLE_FILE


@lru_cache(maxsize=8)
def _table(path: Path, changed: int) -> CollocationTable:
    return load_table(path)
