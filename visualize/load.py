"""Reads back what was exported: a run, a lone trajectory, or a JSONL file with one of either a line.

Bytes in, lanes out; says in one sentence what is wrong with a file. Knows no gradio.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cllm_core.errors import FormatError, NewerFormat
from cllm_core.io import RUN_SCHEMA, parse_json, run_from_dict
from cllm_core.types import Trajectory

MOST_BYTES = 50_000_000
MOST_LANES = 8
TRACES = Path(__file__).resolve().parent.parent / "assets" / "traces"
Lanes = dict[str, Trajectory]
NamedLanes = list[tuple[str, Trajectory]]  # as a file has them: a name may come twice


@dataclass(frozen=True)
class LoadedRun:
    """Lanes of one prompt, and what was left out of the file they came from."""

    lanes: Lanes
    notes: tuple[str, ...] = ()


def load_file(path: Path, most: int | None = MOST_BYTES, prompt: int = 1) -> LoadedRun:
    """Read a trajectory file of at most so many bytes (None: any), of several prompts the one of that number, from 1.

    FormatError says what is wrong with it.
    """
    return read_lanes(_bytes(path, most), prompt)


def load_prompts(path: Path) -> list[LoadedRun]:
    """Read a trajectory file of any size: the lanes of each of its prompts, in the file's order; FormatError.

    What was left out of the file is told with the first prompt.
    """
    prompts, problems = _read_all(_bytes(path, None))
    runs = [_run_of(lanes) for lanes in prompts]
    return [LoadedRun(runs[0].lanes, (*_told(problems), *runs[0].notes)), *runs[1:]]


def _bytes(path: Path, most: int | None) -> bytes:
    try:
        size = path.stat().st_size
        if most is not None and size > most:
            raise FormatError(
                f"The file has {size / 1e6:,.0f} MB and the player takes up to {most / 1e6:,.0f} MB: "
                "the command `export` reads larger ones."
            )
        return path.read_bytes()
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
    prompts, problems = _read_all(data)
    if not 1 <= prompt <= len(prompts):
        raise FormatError(f"The file holds {len(prompts)} prompts: there is none of number {prompt}.")
    asked = prompts[prompt - 1]
    run = _run_of(asked)
    notes = _told(problems)
    if len(prompts) > 1:
        lanes = sum(len(each) for each in prompts)
        which = "first one" if prompt == 1 else f"number {prompt}"
        notes.append(f"The file holds other prompts too: the {len(asked)} of {lanes} lanes of its {which} are shown.")
    return LoadedRun(run.lanes, (*notes, *run.notes))


def _read_all(data: bytes) -> tuple[list[NamedLanes], list[str]]:
    """Return the lanes of every prompt in the bytes of a file, and a sentence for each line left out; FormatError."""
    if not data.strip():
        raise FormatError("The file is empty: choose a JSON file that was saved here.")
    try:
        value = parse_json(data)
    except FormatError as whole:
        lines = [(number, line) for number, line in enumerate(data.split(b"\n"), 1) if line.strip()]
        if len(lines) < 2 or (not _is_json(lines[0][1]) and not _is_json(lines[-1][1])):
            raise FormatError(f"{whole} Choose a JSON file that was saved here.") from whole
        return _read_lines(lines)
    found = list(run_from_dict(value).items())
    if not found:
        raise FormatError("The file holds no lanes: choose another one.")
    return _by_prompt(found), []


def _is_json(line: bytes) -> bool:
    try:
        return isinstance(parse_json(line), dict)
    except FormatError:
        return False


def _read_lines(lines: list[tuple[int, bytes]]) -> tuple[list[NamedLanes], list[str]]:
    """Return the lanes of every prompt: a run is a prompt of its own, lone trajectories belong together by theirs."""
    prompts: list[NamedLanes] = []
    lone: dict[str, NamedLanes] = {}
    problems: list[str] = []
    for number, line in lines:
        try:
            value = parse_json(line)
            found = list(run_from_dict(value).items())
        except NewerFormat:
            raise
        except FormatError as error:
            problems.append(f"Line {number} was left out: {error}")
            continue
        for lanes in _by_prompt(found):
            if value["schema"] == RUN_SCHEMA:
                prompts.append(lanes)
            elif (prompt := lanes[0][1].prompt) in lone:
                lone[prompt] += lanes
            else:
                lone[prompt] = lanes
                prompts.append(lanes)
    if not prompts:
        raise FormatError(f"No line of the file is a trajectory. {problems[0] if problems else ''}".strip())
    return prompts, problems


def _by_prompt(found: NamedLanes) -> list[NamedLanes]:
    prompts: dict[str, NamedLanes] = {}
    for key, trajectory in found:
        prompts.setdefault(trajectory.prompt, []).append((key, trajectory))
    return list(prompts.values())


def _told(problems: list[str]) -> list[str]:
    return problems[:3] + ([f"{len(problems) - 3} more lines were left out."] if len(problems) > 3 else [])


def _run_of(same: NamedLanes) -> LoadedRun:
    """Return the lanes of one prompt, as many as a player shows."""
    notes = [f"The first {MOST_LANES} of {len(same)} lanes are shown."] if len(same) > MOST_LANES else []
    shown = same[:MOST_LANES]
    if len({trajectory.model.tokenizer for _, trajectory in shown} - {""}) > 1:
        notes.append("The lanes come from models with different tokenizers: a token of one is not a token of another.")
    return LoadedRun(dict(_unique(shown)), tuple(notes))


def _unique(found: NamedLanes) -> Iterator[tuple[str, Trajectory]]:
    taken: set[str] = set()
    for key, trajectory in found:
        name, number = key, 1
        while name in taken:
            number += 1
            name = f"{key}-{number}"
        taken.add(name)
        yield name, trajectory
