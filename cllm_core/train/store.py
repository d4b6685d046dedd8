"""Rows on disk: JSONL shards, each written whole or not at all, and an Arrow data set beside them when asked for.

Every prompt leaves one line: a row, or why it was dropped. Knows no model.
"""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cllm_core.errors import FormatError, TrainingError
from cllm_core.files import write_text
from cllm_core.io import parse_json
from cllm_core.train.rows import Row
from cllm_core.types import ModelInfo

ARROW = "arrow"
SOURCE = "model.json"  # which model answered
SUMMARY = "summary.json"  # the last file of a finished collection


@dataclass(frozen=True)
class Dropped:
    """A prompt that gave no row, and why."""

    id: str
    reason: str


def row_to_dict(row: Row) -> dict[str, Any]:
    """Return a row as JSON-ready values."""
    return {
        "id": row.id,
        "prompt_ids": list(row.prompt_ids),
        "answer_ids": list(row.answer_ids),
        "block_size": row.block_size,
        "states": [[list(state) for state in states] for states in row.states],
    }


def row_from_dict(data: Any) -> Row:
    """Rebuild a row; FormatError if the values are none."""
    try:
        row = Row(
            id=str(data["id"]),
            prompt_ids=tuple(int(token) for token in data["prompt_ids"]),
            answer_ids=tuple(int(token) for token in data["answer_ids"]),
            block_size=int(data["block_size"]),
            states=tuple(tuple(tuple(int(token) for token in state) for state in states) for states in data["states"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"This is not a training row: {error!r}.") from error
    if row.block_size < 1 or min((*row.prompt_ids, *row.answer_ids, 0)) < 0:
        raise FormatError(f"Row {row.id} has a block size below 1 or a token id below 0.")
    blocks = row.blocks()
    if row.states and (
        len(row.states) != len(blocks)
        or any(len(state) != len(block) for states, block in zip(row.states, blocks) for state in states)
    ):
        raise FormatError(f"Row {row.id} has states that do not fit its answer's blocks.")
    return row


def checksum(rows: Iterable[Row]) -> str:
    """Return a checksum of the rows' prompts and answers, in their order."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update(json.dumps([row.id, row.prompt_ids, row.answer_ids]).encode())
    return digest.hexdigest()[:16]


def largest_id(rows: Iterable[Row]) -> int:
    """Return the largest token id of the rows; -1 where there is none."""
    parts = ((row.prompt_ids, row.answer_ids, *(state for states in row.states for state in states)) for row in rows)
    return max((max(part, default=-1) for row in parts for part in row), default=-1)


def shard_path(folder: Path, number: int) -> Path:
    """Return the file of a shard."""
    return folder / f"rows-{number:05d}.jsonl"


def write_shard(path: Path, results: Iterable[Row | Dropped]) -> None:
    """Write a shard's lines; the file appears only when it is whole."""
    partial = path.with_suffix(f".partial-{os.getpid()}")
    lines = [row_to_dict(entry) if isinstance(entry, Row) else vars(entry) for entry in results]
    partial.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines), encoding="utf-8")
    os.replace(partial, path)


def write_source(folder: Path, info: ModelInfo) -> None:
    """Note which model the rows of a folder come from, and the checksum of its vocabulary."""
    noted = {"model": info.name, "revision": info.revision, "tokenizer": info.tokenizer}
    write_text(folder / SOURCE, json.dumps(noted, ensure_ascii=False, indent=1) + "\n")


def check_source(folder: Path, info: ModelInfo) -> None:
    """Raise TrainingError if the folder's rows are ids of another vocabulary than the model's."""
    written = folder / SOURCE
    if not written.is_file():
        return
    noted = parse_json(written.read_bytes())
    tokenizer = noted.get("tokenizer") if isinstance(noted, dict) else None
    if tokenizer and info.tokenizer and tokenizer != info.tokenizer:
        raise TrainingError(
            f"The rows in {folder} are ids of the vocabulary of {noted.get('model')}, and {info.name} has another one: "
            "collect rows from the model that is trained, or from one that shares its tokenizer."
        )


def read_shards(folder: Path) -> tuple[list[Row], Counter[str]]:
    """Return the rows of all shards in order, and how many prompts were dropped for which reason."""
    rows: list[Row] = []
    dropped: Counter[str] = Counter()
    for path in sorted(folder.glob("rows-*.jsonl")):
        for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
            if not line.strip():
                continue
            try:
                data = parse_json(line)
                if isinstance(data, dict) and "reason" in data:
                    dropped[str(data["reason"])] += 1
                else:
                    rows.append(row_from_dict(data))
            except FormatError as error:
                raise FormatError(f"{path.name}, line {number}: {error}") from error
    return rows, dropped


def read_rows(folder: Path) -> list[Row]:
    """Return the rows that were collected into a folder (its shards, or an Arrow data set); TrainingError if none."""
    if not folder.is_dir():
        raise TrainingError(f"There is no folder {folder}: collect rows into it first.")
    if (folder / "config.json").is_file() and not (folder / SUMMARY).is_file():
        raise TrainingError(f"The collection in {folder} is not finished: give its collect command again first.")
    rows, dropped = read_shards(folder)
    if not rows and (folder / "dataset_info.json").exists():
        import datasets  # slow to import, and only needed for Arrow

        rows = [row_from_dict(dict(data)) for data in datasets.load_from_disk(str(folder))]
    if not rows:
        reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(dropped.items())) or "there were none"
        longer = " An unfinished one needs more tokens an answer." if dropped["unfinished"] else ""
        raise TrainingError(f"None of the answers in {folder.name} can be learnt from ({reasons}).{longer}")
    return rows


def write_arrow(folder: Path, rows: Sequence[Row]) -> Path:
    """Write the rows as an Arrow data set that `datasets.load_from_disk` reads; return its folder."""
    import datasets  # slow to import, and only needed for Arrow

    place = folder / ARROW
    datasets.Dataset.from_list([row_to_dict(row) for row in rows]).save_to_disk(str(place))
    return place
