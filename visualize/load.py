"""Reads back what was exported: a run, a lone trajectory, or a JSONL file with one of either a line.

Bytes in, lanes out; says in one sentence what is wrong with a file. Knows no gradio.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cllm_core.errors import FormatError, NewerFormat
from cllm_core.io import parse_json, run_from_dict
from cllm_core.types import Trajectory

MOST_BYTES = 50_000_000
MOST_LANES = 8
TRACES = Path(__file__).resolve().parent.parent / "assets" / "traces"
Lanes = dict[str, Trajectory]


@dataclass(frozen=True)
class LoadedRun:
    """Lanes of one prompt, and what was left out of the file they came from."""

    lanes: Lanes
    notes: tuple[str, ...] = ()


def load_file(path: Path, most: int | None = MOST_BYTES, prompt: int = 1) -> LoadedRun:
    """Read a trajectory file of at most so many bytes (None: any), of several prompts the one of that number, from 1.

    FormatError says what is wrong with it.
    """
    try:
        size = path.stat().st_size
        if most is not None and size > most:
            raise FormatError(
                f"The file has {size / 1e6:,.0f} MB and the player takes up to {most / 1e6:,.0f} MB: "
                "the command `export` reads larger ones."
            )
        return read_lanes(path.read_bytes(), prompt)
    except OSError as error:
        raise FormatError(f"The file cannot be read ({error.strerror or error}): choose it again.") from error


def bundled_runs(folder: Path = TRACES) -> dict[str, Path]:
    """Return the recorded runs that ship with the app, by title; empty when there are none."""
    return {path.stem.replace("-", " ").replace("_", " "): path for path in sorted(folder.glob("*.json"))}


def read_lanes(data: bytes, prompt: int = 1) -> LoadedRun:
    """Read the lanes of one prompt in the bytes of a JSON or JSONL file.

    Bad lines of a JSONL file are left out and told by their number, as are further prompts and lanes beyond
    MOST_LANES: one player shows the lanes of one prompt.
    """
    if not data.strip():
        raise FormatError("The file is empty: choose a JSON file that was saved here.")
    try:
        value = parse_json(data)
    except FormatError as whole:
        lines = [(number, line) for number, line in enumerate(data.split(b"\n"), 1) if line.strip()]
        if len(lines) < 2 or (not _is_json(lines[0][1]) and not _is_json(lines[-1][1])):
            raise FormatError(f"{whole} Choose a JSON file that was saved here.") from whole
        return _one_prompt(*_read_lines(lines), prompt)
    return _one_prompt(list(run_from_dict(value).items()), [], prompt)


def _is_json(line: bytes) -> bool:
    try:
        return isinstance(parse_json(line), dict)
    except FormatError:
        return False


def _read_lines(lines: list[tuple[int, bytes]]) -> tuple[list[tuple[str, Trajectory]], list[str]]:
    found: list[tuple[str, Trajectory]] = []
    problems: list[str] = []
    for number, line in lines:
        try:
            found += run_from_dict(parse_json(line)).items()
        except NewerFormat:
            raise
        except FormatError as error:
            problems.append(f"Line {number} was left out: {error}")
    if not found:
        raise FormatError(f"No line of the file is a trajectory. {problems[0]}")
    return found, problems


def _one_prompt(found: list[tuple[str, Trajectory]], problems: list[str], number: int) -> LoadedRun:
    if not found:
        raise FormatError("The file holds no lanes: choose another one.")
    asked = list(dict.fromkeys(trajectory.prompt for _, trajectory in found))
    if not 1 <= number <= len(asked):
        raise FormatError(f"The file holds {len(asked)} prompts: there is none of number {number}.")
    same = [(key, trajectory) for key, trajectory in found if trajectory.prompt == asked[number - 1]]
    notes = problems[:3] + ([f"{len(problems) - 3} more lines were left out."] if len(problems) > 3 else [])
    if len(same) < len(found):
        notes.append(
            f"The file holds other prompts too: the {len(same)} of {len(found)} lanes of its "
            f"{'first one' if number == 1 else f'number {number}'} are shown."
        )
    if len(same) > MOST_LANES:
        notes.append(f"The first {MOST_LANES} of {len(same)} lanes are shown.")
    shown = same[:MOST_LANES]
    if len({trajectory.model.tokenizer for _, trajectory in shown} - {""}) > 1:
        notes.append("The lanes come from models with different tokenizers: a token of one is not a token of another.")
    return LoadedRun(dict(_unique(shown)), tuple(notes))


def _unique(found: list[tuple[str, Trajectory]]) -> Iterator[tuple[str, Trajectory]]:
    taken: set[str] = set()
    for key, trajectory in found:
        name, number = key, 1
        while name in taken:
            number += 1
            name = f"{key}-{number}"
        taken.add(name)
        yield name, trajectory
