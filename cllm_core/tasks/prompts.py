"""The user's own prompts: a JSONL, CSV or plain-text file, read row by row so that a bad row costs only itself.

Prompts are data: nothing in them is executed, interpolated or trimmed.
"""

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cllm_core.errors import FormatError, TaskError
from cllm_core.io import parse_json
from cllm_core.tasks.base import Example, Message, check_split, sample

MAX_CHARS = 32_000  # about 8,000 tokens of English: the context of the bundled model
ROLES = ("system", "user", "assistant")
FORMATS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".tsv": "csv"}
Row = tuple[int, Example | str]  # physical line number, and the example or what is wrong with it


@dataclass(frozen=True)
class Problem:
    """A row that was left out."""

    line: int  # physical line of the file, or place in its JSON array, from 1
    reason: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}"


@dataclass(frozen=True)
class PromptFile:
    """What a prompt file held. Blank lines are in no count."""

    examples: tuple[Example, ...]  # never empty
    problems: tuple[Problem, ...]
    total: int  # rows, good and bad

    def summary(self, most: int = 5) -> str:
        """Return the totals and the first `most` problems, for the user."""
        head = f"{len(self.examples)} of {self.total} rows used"
        return "; ".join([head, *_shown(self.problems, most)]) + "."


def read_prompts(source: str | Path | bytes, *, name: str = "", max_chars: int = MAX_CHARS) -> PromptFile:
    """Read prompts from a file, or from the bytes of one called `name`.

    The format follows the name: .jsonl, .ndjson or .json holds one object a line, {"prompt": text} with optional
    "id", "answer" and "messages" (a conversation, which can stand in for the prompt), or one JSON array of them; .csv
    or .tsv has a header with a column "prompt" (and "id", "answer"); any other name is plain text, one prompt a line,
    unless its first line is a JSON object. Text is UTF-8 whatever the locale. Lines end at LF, CR or CRLF only.

    Length policy: a prompt of more than `max_chars` characters is left out and reported, never cut.
    FormatError when the file cannot be read, is empty, or holds no usable row.
    """
    data, name = (source, name or "The prompt file") if isinstance(source, bytes) else _read(Path(source))
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FormatError(f"{name} is UTF-16 text: save it as UTF-8.")
    text = data.decode("utf-8-sig", errors="surrogateescape")  # a row that is not UTF-8 is found out by itself
    if not text.strip():
        raise FormatError(f"{name} is empty: write one prompt a line, or one JSON object with a prompt a line.")
    rows = [(line, _sound(row, max_chars)) for line, row in _READERS[_format(name, text)](text)]
    examples = _unique([row for _, row in rows if isinstance(row, Example)])
    problems = tuple(Problem(line, row) for line, row in rows if isinstance(row, str))
    if not examples:
        raise FormatError(f"{name} holds no usable prompt: {'; '.join(_shown(problems, 3)) or 'it has no rows'}.")
    return PromptFile(tuple(examples), problems, len(rows))


class Prompts:
    """Any prompt file of the user's, given as `data`. Rows with an answer are compared with it."""

    name = "prompts"
    title = "Your own prompts"
    licence = "the file's own"
    source = "a JSONL, CSV or plain-text file"
    splits: tuple[str, ...] = ("train", "dev", "test", "unseen")  # the file is whatever the user says it is
    stop_strings: tuple[str, ...] = ()
    max_new_tokens = 256

    def __init__(self) -> None:
        self.notes: tuple[str, ...] = ()

    def load(self, split: str, *, data: Path | None = None, limit: int | None = None, seed: int = 0) -> list[Example]:
        check_split(self, split)
        if data is None:
            raise TaskError("Task prompts needs a file: give one by --data FILE (.jsonl, .csv or .txt).")
        file = read_prompts(data)
        if file.problems:
            self.notes = (file.summary(),)
        return sample(file.examples, limit, seed)

    def check(self, example: Example, text: str) -> dict[str, float]:
        return {} if example.answer is None else {"exact_match": float(text.strip() == example.answer.strip())}


def _read(path: Path) -> tuple[bytes, str]:
    try:
        return path.read_bytes(), path.name
    except OSError as error:
        raise FormatError(f"Cannot read {path.name}: {error.strerror or error}.") from error


def _format(name: str, text: str) -> str:
    by_name = FORMATS.get(Path(name).suffix.lower())
    if by_name:
        return by_name
    first = next(line for line in _split(text) if line.strip())
    return "jsonl" if isinstance(_json(first), dict) else "text"


def _json(text: str) -> Any:
    """Return the value of a JSON text; None where it is none."""
    try:
        return parse_json(text)
    except ValueError:
        return None


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield every line that is not blank, with its physical number."""
    return ((number, line) for number, line in enumerate(_split(text), 1) if line.strip())


def _split(text: str) -> list[str]:
    return re.split(r"\r\n|\n|\r", text)  # str.splitlines would cut at U+2028, U+0085 and five others as well


def _text_rows(text: str) -> Iterator[Row]:
    for number, line in _lines(text):
        yield number, _example({"prompt": line}, number)


def _json_rows(text: str) -> Iterator[Row]:
    whole = _json(text)
    if isinstance(whole, list | dict):
        for number, row in enumerate(whole if isinstance(whole, list) else [whole], 1):
            yield number, _example(row, number)
        return
    for number, line in _lines(text):
        try:
            yield number, _example(parse_json(line), number)
        except ValueError as error:  # FormatError, or the interpreter's own limit on the digits of a number
            yield number, str(error).rstrip(".").replace("(line 1, ", "(")


def _csv_rows(text: str) -> Iterator[Row]:
    csv.field_size_limit(max(csv.field_size_limit(), 2**31 - 1))  # the length policy is ours, not the library's
    records = _csv_records(text)
    first, header = next(records)
    if isinstance(header, str) or "prompt" not in header:
        yield first, 'the header has no column "prompt"'
        return
    for number, record in records:
        if isinstance(record, str):
            yield number, record
        elif len(record) != len(header):
            yield number, f"it has {len(record)} fields, and the header has {len(header)}"
        else:
            cells = dict(zip(header, record, strict=True))
            yield number, _example({key: value for key, value in cells.items() if value or key == "prompt"}, number)


def _csv_records(text: str) -> Iterator[tuple[int, list[str] | str]]:
    """Yield (line it starts on, cells or what is wrong), starting afresh on the line after a broken record.

    A quote that is never closed swallows the rest of the file for the csv module; here it costs its own line only.
    """
    lines = [line + "\n" for line in _split(text)]
    delimiter = max(",;\t", key=next(line for line in lines if line.strip()).count)
    start = 0
    while start < len(lines):
        reader = csv.reader(lines[start:], delimiter=delimiter, strict=True)
        line, before = start, 0
        try:
            for record in reader:
                line, before = start + before, reader.line_num
                if any(cell.strip() for cell in record):
                    yield line + 1, [cell.removesuffix("\n") for cell in record]
            return
        except csv.Error as error:
            line = start + before
            reason = "a quote is opened and never closed" if "end of data" in str(error) else str(error)
            yield line + 1, f"this is not CSV ({reason})"
            start = line + 1


def _example(row: Any, line: int) -> Example | str:
    """Return the example of a row, or what is wrong with it."""
    if not isinstance(row, dict):
        return 'it is not an object with a "prompt"'
    messages = _messages(row["messages"]) if row.get("messages") is not None else None
    if isinstance(messages, str):
        return messages
    row = {key: value for key, value in row.items() if value is not None or (key == "prompt" and messages is None)}
    if "prompt" not in row and messages is None:
        return f'it has no "prompt" (it has {", ".join(map(repr, row)) or "nothing"})'
    prompt = row["prompt"] if "prompt" in row else messages[-1].content if messages else None
    if not isinstance(prompt, str):
        return f"its prompt is {_KINDS.get(type(prompt), type(prompt).__name__)}, not text"
    if not prompt.strip():
        return "its prompt is empty"
    named = {"id": row.get("id", line), "answer": row.get("answer", "")}
    for name, value in named.items():
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return f"its {name} is {_KINDS.get(type(value), type(value).__name__)}, not text"
    answer = str(named["answer"]) if "answer" in row else None
    return Example(str(named["id"]), prompt, messages, answer, {"line": line})


_KINDS = {
    type(None): "null",
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
}
_READERS: dict[str, Callable[[str], Iterator[Row]]] = {"jsonl": _json_rows, "csv": _csv_rows, "text": _text_rows}


def _messages(value: Any) -> tuple[Message, ...] | str:
    try:
        messages = tuple(Message(turn["role"], turn["content"]) for turn in value)
    except (TypeError, KeyError):
        return 'its messages are not a list of objects with a "role" and a "content"'
    if not all(turn.role in ROLES and isinstance(turn.content, str) and turn.content.strip() for turn in messages):
        return f"each of its messages needs a role ({', '.join(ROLES)}) and some text"
    if not messages or messages[-1].role != "user":
        return "its last message must be the user's"
    return messages


def _sound(row: Example | str, max_chars: int) -> Example | str:
    """Return the row, or why no model could be given it."""
    if isinstance(row, str):
        return row
    text = "".join([row.id, row.prompt, row.answer or "", *(turn.content for turn in row.messages or ())])
    if re.search("[\ud800-\udfff]", text):
        return "it is not valid UTF-8 text"
    if "\0" in text:
        return "it holds a NUL character: is this a text file?"
    length = max(len(row.prompt), sum(len(turn.content) for turn in row.messages or ()))
    if length > max_chars:
        return f"its {length:,} characters are more than the limit of {max_chars:,}: shorten it, or raise the limit"
    return row


def _unique(examples: list[Example]) -> list[Example]:
    """Give every example an id of its own: the second "a" becomes "a-2"."""
    taken = {example.id for example in examples}
    uses: Counter[str] = Counter()
    unique = []
    for example in examples:
        uses[example.id] += 1
        identity = example.id
        while identity in taken and uses[example.id] > 1:
            identity = f"{example.id}-{uses[example.id]}"
            uses[example.id] += identity in taken
        taken.add(identity)
        unique.append(replace(example, id=identity))
    return unique


def _shown(problems: tuple[Problem, ...], most: int) -> list[str]:
    more = len(problems) - most
    return [*map(str, problems[:most]), *([f"and {more} more"] if more > 0 else [])]
