"""Collocation tables as JSON files, and the corpora they are made from: outputs and recorded runs read from files.

A file is plain text, or JSON or JSONL whose values are trajectories, runs, comparisons or objects that hold a text.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cllm_core.collocations import Collocation, CollocationTable, Share, measure
from cllm_core.errors import FormatError, NewerFormat
from cllm_core.files import write_text
from cllm_core.io import (
    RUN_SCHEMA,
    SCHEMA,
    parse_json,
    read_count,
    read_number,
    read_text_value,
    run_from_dict,
)
from cllm_core.types import Trajectory

TABLE_SCHEMA = "cllm-collocations"
TABLE_VERSION = 1
TEXT_FIELDS = ("text", "output", "answer", "response", "completion", "query")  # where a row keeps its output


@dataclass
class Corpus:
    """Outputs, the recorded runs among them, and what could not be read, a sentence a problem."""

    outputs: list[str] = field(default_factory=list)
    runs: list[dict[str, Trajectory]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def read_corpus(paths: Iterable[Path]) -> Corpus:
    """Read outputs from files; FormatError if a file cannot be read at all or if there is none to use.

    A row of a JSONL file that cannot be used is left out and told by its line.
    """
    corpus = Corpus()
    for path in paths:
        try:
            data = path.read_bytes()
        except OSError as error:
            raise FormatError(f"Cannot read {path.name}: {error.strerror or error}.") from error
        if path.suffix.lower() not in (".json", ".jsonl", ".ndjson"):
            corpus.outputs.append(data.decode("utf-8-sig", "replace"))
            continue
        for place, value in _values(data, path.name, corpus.problems):
            for spot, each in _items(place, value):
                try:
                    _add(each, corpus)
                except FormatError as error:
                    corpus.problems.append(f"{spot}: {error}")
    if not any(text.strip() for text in corpus.outputs):
        first = f" {corpus.problems[0]}" if corpus.problems else ""
        raise FormatError(f"There is no output in the files to look for collocations in.{first}")
    return corpus


def _values(data: bytes, name: str, problems: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield the JSON values of a file, each with its place: the whole file, or else line by line."""
    try:
        yield name, parse_json(data)
        return
    except FormatError:
        lines = [(number, line) for number, line in enumerate(data.split(b"\n"), 1) if line.strip()]
    for number, line in lines:
        place = f"{name}, line {number}"
        try:
            yield place, parse_json(line)
        except FormatError as error:
            problems.append(f"{place}: {error}")


def _items(place: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the values that a value of a file lists, each with its place, so that a bad one loses no other."""
    if isinstance(value, list):
        for number, each in enumerate(value, 1):
            yield from _items(f"{place}, item {number}", each)
    elif isinstance(value, Mapping) and isinstance(value.get("prompts"), list):  # what `compare --json` writes
        for number, prompt in enumerate(value["prompts"], 1):
            answers = prompt.get("lanes") if isinstance(prompt, Mapping) else None
            spot = f"{place}, prompt {number}"
            yield from _items(spot, list(answers.values()) if isinstance(answers, Mapping) else [None])
    else:
        yield place, value


def _add(value: Any, corpus: Corpus) -> None:
    if isinstance(value, str):
        corpus.outputs.append(value)
    elif isinstance(value, Mapping) and value.get("schema") in (SCHEMA, RUN_SCHEMA):
        lanes = run_from_dict(value)
        corpus.runs.append(lanes)
        corpus.outputs += [trajectory.text for trajectory in lanes.values()]
    else:
        corpus.outputs.append(_text(value))


def _text(value: Any) -> str:
    fields = [name for name in TEXT_FIELDS if isinstance(value, Mapping) and isinstance(value.get(name), str)]
    if not fields:
        raise FormatError(
            f"there is no text in it: give a trajectory, or an object with one of {', '.join(TEXT_FIELDS)}."
        )
    return str(value[fields[0]])


def measured(table: CollocationTable, runs: Iterable[Mapping[str, Trajectory]]) -> CollocationTable:
    """Return the table with the shares of its collocations over recorded runs."""
    recorded = list(runs)
    lanes = measure(recorded, table)
    return replace(
        table,
        runs=len(recorded),
        collocations=tuple(
            replace(each, shares={key: shares[each.runs] for key, shares in lanes.items() if each.runs in shares})
            for each in table.collocations
        ),
    )


def table_to_dict(table: CollocationTable) -> dict[str, Any]:
    """Return the table as JSON-ready values."""
    return {
        "schema": TABLE_SCHEMA,
        "version": TABLE_VERSION,
        "corpus": table.corpus,
        "outputs": table.outputs,
        "words": table.words,
        "runs": table.runs,
        "max_gap": table.max_gap,
        "collocations": [
            {
                "runs": [list(run) for run in each.runs],
                "label": each.label,
                "count": each.count,
                "log_likelihood": each.log_likelihood,
                "pmi": each.pmi,
                "shares": {key: [share.together, share.occurrences] for key, share in each.shares.items()},
            }
            for each in table.collocations
        ],
    }


def table_from_dict(data: Any) -> CollocationTable:
    """Rebuild a table from `table_to_dict`'s values; FormatError says what is wrong with them."""
    if not isinstance(data, Mapping) or data.get("schema") != TABLE_SCHEMA:
        raise FormatError("This is not a collocation table: make one with `python -m cllm_core collocations`.")
    try:
        if read_count(data["version"], "version") > TABLE_VERSION:
            raise NewerFormat("This collocation table was written by a newer version of this program: update it.")
        return CollocationTable(
            collocations=tuple(_collocation(each) for each in data["collocations"]),
            max_gap=read_count(data["max_gap"], "max_gap"),
            corpus=read_text_value(data["corpus"], "corpus"),
            outputs=read_count(data["outputs"], "outputs"),
            words=read_count(data["words"], "words"),
            runs=read_count(data["runs"], "runs"),
        )
    except NewerFormat:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        detail = f"field {error} is missing" if isinstance(error, KeyError) else str(error)
        raise FormatError(f"This collocation table is damaged: {detail}.") from error


def _collocation(data: Mapping[str, Any]) -> Collocation:
    runs = tuple(tuple(read_text_value(word, "word") for word in run) for run in data["runs"])
    if not runs or not all(runs) or not all(word for run in runs for word in run):
        raise ValueError("a collocation has no words")
    shares = {
        str(key): _share(read_count(together, "share"), read_count(number, "share"))
        for key, (together, number) in data["shares"].items()
    }
    return Collocation(
        runs=runs,
        label=read_text_value(data["label"], "label"),
        count=read_count(data["count"], "count"),
        log_likelihood=read_number(data["log_likelihood"], "log_likelihood"),
        pmi=_signed(data["pmi"], "pmi"),
        shares=shares,
    )


def _signed(value: Any, name: str) -> float:
    return -read_number(-value, name) if isinstance(value, (int, float)) and value < 0 else read_number(value, name)


def _share(together: int, number: int) -> Share:
    if together > number:
        raise ValueError(f"{together} of {number} occurrences are together")
    return Share(together, number)


def save_table(table: CollocationTable, path: Path) -> None:
    """Write the table as JSON (UTF-8), a collocation a line."""
    data = table_to_dict(table)
    rows = ",\n".join(_json(each) for each in data.pop("collocations"))
    write_text(path, f'{_json(data)[:-1]},"collocations":[\n{rows}\n]}}\n')


def load_table(path: Path) -> CollocationTable:
    """Read a table; FormatError says what is wrong with the file."""
    try:
        return table_from_dict(parse_json(path.read_bytes()))
    except OSError as error:
        raise FormatError(f"Cannot read {path.name}: {error.strerror or error}.") from error


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
