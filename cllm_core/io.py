"""Trajectories to and from JSON and JSONL: a versioned schema, strict JSON, ids lossless. A run is several of them.

Token pieces are bytes; a piece that is valid UTF-8 is written as text, any other as {"bytes": hex}.
"""

import dataclasses
import json
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from cllm_core.errors import ConfigError, FormatError, NewerFormat
from cllm_core.files import write_text
from cllm_core.types import FINISHES, DecodeConfig, ModelInfo, Step, Trajectory

T = TypeVar("T")
SCHEMA = "cllm-trajectory"
RUN_SCHEMA = "cllm-run"
VERSION = 1  # of both schemas
_SHORTEST = 1e-12  # seconds; by shorter ones, rates overflow
_LARGEST = 1e12  # of seconds and probabilities: with larger ones, sums and milliseconds overflow


def to_dict(trajectory: Trajectory) -> dict[str, Any]:
    """Return the trajectory as JSON-ready values."""
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "model": dataclasses.asdict(trajectory.model),
        "config": dataclasses.asdict(trajectory.config),
        "prompt": trajectory.prompt,
        "prompt_ids": list(trajectory.prompt_ids),
        "ids": list(trajectory.ids),
        "text": trajectory.text,
        "finish": trajectory.finish,
        "partial": trajectory.partial,
        "seconds": trajectory.seconds,
        "steps": [_step_to_dict(step) for step in trajectory.steps],
        "pieces": {str(token): piece_to_json(piece) for token, piece in trajectory.pieces.items()},
        "special": sorted(trajectory.special),
        "eos_ids": sorted(trajectory.eos_ids),
        "notes": list(trajectory.notes),
    }


def from_dict(data: Any) -> Trajectory:
    """Rebuild a trajectory from `to_dict`'s values; FormatError says what is wrong with them."""
    _check_schema(data, SCHEMA)
    try:
        return _checked(_build(data))
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError, ConfigError) as error:
        detail = f"field {error} is missing" if isinstance(error, KeyError) else str(error)
        raise FormatError(f"This trajectory file is damaged: {detail}.") from error


def _check_schema(data: Any, *schemas: str) -> None:
    if not isinstance(data, Mapping) or data.get("schema") not in schemas:
        raise FormatError(f"This is not a trajectory file: {_what_it_is(data)}")
    version = data.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise FormatError(f"This trajectory file has no usable version number ({version!r}).")
    if version > VERSION:
        raise NewerFormat(
            f"This trajectory was written in format {version}, and this program reads up to {VERSION}: update it."
        )


def _what_it_is(data: Any) -> str:
    if isinstance(data, Mapping) and data.get("schema") == RUN_SCHEMA:
        return "it is a run, of one or more lanes; load_run reads it."
    if isinstance(data, Mapping) and "prompts" in data and "summary" in data:
        return "it is a comparison, which holds no passes; `compare --save-run FILE` writes the runs themselves."
    return "it has no schema field that says so."


def run_to_dict(lanes: Mapping[str, Trajectory]) -> dict[str, Any]:
    """Return a run as JSON-ready values: its lanes (`base_ar`, `base_jacobi`, ...), in order."""
    lane_dicts = {key: to_dict(trajectory) for key, trajectory in lanes.items()}
    return {"schema": RUN_SCHEMA, "version": VERSION, "lanes": lane_dicts}


def run_from_dict(data: Any) -> dict[str, Trajectory]:
    """Rebuild the lanes of a run. A lone trajectory is a run of one lane, named after its decoder.

    FormatError says what is wrong, and in which lane.
    """
    _check_schema(data, RUN_SCHEMA, SCHEMA)
    if data["schema"] == SCHEMA:
        trajectory = from_dict(data)
        return {trajectory.config.decoder: trajectory}
    if not isinstance(data.get("lanes"), Mapping):
        raise FormatError("This run file is damaged: field 'lanes' is missing.")
    lanes = {}
    for key, value in data["lanes"].items():
        try:
            lanes[key] = from_dict(value)
        except NewerFormat:
            raise
        except FormatError as error:
            raise FormatError(f"Lane {key!r}: {error}") from error
    return lanes


def dumps_run(lanes: Mapping[str, Trajectory]) -> str:
    """Return a run as one line of strict JSON."""
    return _strict_json(run_to_dict(lanes))


def loads_run(text: str | bytes) -> dict[str, Trajectory]:
    """Read the lanes of a run (or a lone trajectory) from JSON text; FormatError if it is neither."""
    return run_from_dict(parse_json(text))


def load_run(path: str | Path) -> dict[str, Trajectory]:
    """Read the lanes of a JSON file."""
    return loads_run(_read(path))


def load_runs(path: str | Path) -> list[dict[str, Trajectory]]:
    """Read the runs of a JSONL file, one a line, such as `compare --save-run FILE.jsonl` writes; FormatError."""
    return [run for _, run in _each_line(_read(path), loads_run)]


def dumps(trajectory: Trajectory) -> str:
    """Return one line of strict JSON."""
    return _strict_json(to_dict(trajectory))


def _strict_json(values: Any) -> str:
    text = json.dumps(values, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace").decode("utf-8")  # half a surrogate pair stays a JSON escape


def loads(text: str | bytes) -> Trajectory:
    """Read a trajectory from JSON text; FormatError if it is not strict JSON or not a trajectory."""
    return from_dict(parse_json(text))


def save(trajectory: Trajectory, path: str | Path) -> None:
    """Write one trajectory as a JSON file (UTF-8)."""
    write_text(Path(path), dumps(trajectory) + "\n")


def load(path: str | Path) -> Trajectory:
    """Read the trajectory of a JSON file."""
    return loads(_read(path))


def save_jsonl(trajectories: Iterable[Trajectory], path: str | Path) -> None:
    """Write one trajectory a line (UTF-8)."""
    write_text(Path(path), "".join(dumps(trajectory) + "\n" for trajectory in trajectories))


def load_jsonl(path: str | Path) -> list[Trajectory]:
    """Read every trajectory of a JSON or JSONL file; FormatError names the line."""
    return [trajectory for _, trajectory in _each_line(_read(path), loads)]


def _each_line(data: bytes, read: Callable[[bytes], T]) -> Iterator[tuple[int, T]]:
    for number, line in enumerate(data.split(b"\n"), 1):  # U+2028 and the like do not end a line
        if line.strip():
            try:
                yield number, read(line)
            except NewerFormat:
                raise
            except FormatError as error:
                raise FormatError(f"Line {number}: {error}") from error


def parse_json(text: str | bytes) -> Any:
    """Parse strict JSON (no NaN, no Infinity; a byte-order mark is allowed); FormatError says where it breaks."""
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8-sig")
        return json.loads(text.removeprefix("\ufeff"), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise FormatError(f"This is not UTF-8 text (byte {error.start}).") from error
    except json.JSONDecodeError as error:
        raise FormatError(f"This is not JSON: {error.msg} (line {error.lineno}, column {error.colno}).") from error
    except FormatError:
        raise
    except ValueError as error:
        raise FormatError("This JSON holds a number too long to read.") from error
    except RecursionError as error:
        raise FormatError("This JSON is nested too deeply.") from error


def _refuse_constant(name: str) -> Any:
    raise FormatError(f"This is not strict JSON: it holds {name}.")


def _read(path: str | Path) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise FormatError(f"Cannot read {Path(path).name}: {error.strerror or error}.") from error


def piece_to_json(piece: bytes) -> str | dict[str, str]:
    """Return the piece as text where it is valid UTF-8, else as {"bytes": hex}."""
    try:
        return piece.decode("utf-8")
    except UnicodeDecodeError:
        return {"bytes": piece.hex()}


def piece_from_json(value: Any) -> bytes:
    """Undo `piece_to_json`."""
    return value.encode("utf-8") if isinstance(value, str) else bytes.fromhex(value["bytes"])


def _step_to_dict(step: Step) -> dict[str, Any]:
    return {
        "start": step.start,
        "draft": list(step.draft),
        "state": list(step.state),
        "fixed": step.fixed,
        "seconds": step.seconds,
        "probabilities": list(step.probabilities),
        "top": [[[token, p] for token, p in row] for row in step.top],
    }


def _build(data: Mapping[str, Any]) -> Trajectory:
    return Trajectory(
        config=DecodeConfig(**data["config"]),
        model=_model(data["model"]),
        prompt=read_text_value(data["prompt"], "prompt"),
        prompt_ids=_ids(data["prompt_ids"]),
        steps=tuple(_step(step) for step in data["steps"]),
        ids=_ids(data["ids"]),
        finish=data["finish"],
        seconds=_seconds(data["seconds"]),
        pieces={int(token): piece_from_json(piece) for token, piece in data["pieces"].items()},
        special=frozenset(_ids(data["special"])),
        eos_ids=frozenset(_ids(data["eos_ids"])),
        notes=tuple(read_text_value(note, "note") for note in data["notes"]),
    )


def _model(data: Mapping[str, Any]) -> ModelInfo:
    texts = {name: read_text_value(value, name) for name, value in data.items() if name != "parameters"}
    return ModelInfo(**texts, parameters=read_count(data.get("parameters", 0), "parameters"))


def _step(data: Mapping[str, Any]) -> Step:
    return Step(
        start=read_count(data["start"], "start"),
        draft=_ids(data["draft"]),
        state=_ids(data["state"]),
        fixed=read_count(data["fixed"], "fixed"),
        seconds=_seconds(data["seconds"]),
        probabilities=tuple(read_number(p, "probability") for p in data["probabilities"]),
        top=tuple(
            tuple((read_count(token, "id"), read_number(p, "probability")) for token, p in row) for row in data["top"]
        ),
    )


def _ids(values: Any) -> tuple[int, ...]:
    return tuple(read_count(value, "id") for value in values)


def read_count(value: Any, name: str) -> int:
    """Return a value of a file as a whole number from 0; ValueError if it is none."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{name} {reprlib.repr(value)} is not a whole number from 0")
    return value


def read_number(value: Any, name: str) -> float:
    """Return a value of a file as a finite number from 0; ValueError if it is none."""
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= _LARGEST:
        raise ValueError(f"{name} {reprlib.repr(value)} is not a number from 0 to {_LARGEST:g}")
    return float(value)


def _seconds(value: Any) -> float:
    seconds = read_number(value, "seconds")
    if 0 < seconds < _SHORTEST:
        raise ValueError(f"seconds {seconds!r} is no time that a clock measures")
    return seconds


def read_text_value(value: Any, name: str) -> str:
    """Return a value of a file as text; ValueError if it is none."""
    if not isinstance(value, str):
        raise ValueError(f"{name} {reprlib.repr(value)} is not text")
    return value


def _checked(trajectory: Trajectory) -> Trajectory:
    """Return the trajectory if its parts agree with each other; ValueError if not."""
    if trajectory.finish not in FINISHES:
        raise ValueError(f"finish {trajectory.finish!r} is not one of {', '.join(FINISHES)}")
    fixed: tuple[int, ...] = ()
    for number, step in enumerate(trajectory.steps, 1):
        gained = step.fixed - step.start
        if step.start != len(fixed) or not 1 <= gained <= len(step.state):
            raise ValueError(f"pass {number} does not follow from the one before")
        if not len(step.state) - 1 <= len(step.draft) <= len(step.state):
            raise ValueError(f"pass {number} has {len(step.draft)} guesses for {len(step.state)} positions")
        if step.probabilities and len(step.probabilities) != len(step.state):
            raise ValueError(f"pass {number} has {len(step.probabilities)} probabilities")
        if step.top and len(step.top) != len(step.state):
            raise ValueError(f"pass {number} has {len(step.top)} candidate lists")
        fixed += step.state[:gained]
    if fixed != trajectory.ids:
        raise ValueError("the output is not what its passes fixed")
    ends = [index for index, token in enumerate(fixed) if token in trajectory.eos_ids]
    if ends and ends[0] < len(fixed) - 1:
        raise ValueError(f"the output goes on after its end token, at {ends[0]}")
    if trajectory.eos_ids and (trajectory.finish == "end") != bool(ends):
        raise ValueError(f"finish {trajectory.finish!r} does not fit its last token")
    return trajectory
