"""What a task is: examples to answer, and a check of the answers. Reads data files; knows no model and no tokenizer."""

import gzip
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

from cllm_core.errors import FormatError, TaskError
from cllm_core.io import parse_json

T = TypeVar("T")
SPLITS = ("train", "dev", "test", "unseen")


@dataclass(frozen=True)
class Message:
    """One turn of a conversation."""

    role: str  # system, user or assistant
    content: str


@dataclass(frozen=True)
class Example:
    """One prompt of a task, with its gold answer where there is one."""

    id: str  # unique within its split
    prompt: str
    messages: tuple[Message, ...] | None = None  # the whole conversation, when there is more than one user turn
    answer: str | None = None  # gold answer, in the form the model should write it
    meta: Mapping[str, Any] = field(default_factory=dict)  # what the task's own check needs

    def chat(self) -> list[dict[str, str]]:
        """Return the conversation as a chat template takes it; a lone prompt is one user turn."""
        return [asdict(message) for message in self.messages or (Message("user", self.prompt),)]

    def asked(self, wrap: Callable[[str], str] = str) -> str | list[dict[str, str]]:
        """Return what a model is asked: the conversation where there is one, else the prompt put through `wrap`."""
        return self.chat() if self.messages else wrap(self.prompt)


class Task(Protocol):
    """A source of examples and the judge of their answers."""

    name: str
    title: str
    licence: str  # of the data
    source: str  # where the data comes from, for the card
    splits: tuple[str, ...]
    stop_strings: tuple[str, ...]  # a base model that has answered goes on with one of these
    max_new_tokens: int  # enough for nearly every gold answer
    notes: tuple[str, ...]  # what a reader of its results should know, one sentence each

    def load(self, split: str, *, data: Path | None = None, limit: int | None = None, seed: int = 0) -> list[Example]:
        """Return the examples of a split: all in their own order, or a sample of `limit` drawn with `seed`.

        `data` is a folder (or file) of the user's; without it the data comes from its public home.
        TaskError names the file that is missing or malformed, and what to do.
        """

    def check(self, example: Example, text: str) -> dict[str, float]:
        """Return named quality measures of one answer, each from 0 (wrong) to 1 (right)."""


def check_split(task: Task, split: str) -> None:
    """Raise TaskError if the task has no such split."""
    if split not in task.splits:
        raise TaskError(f"Task {task.name} has no split {split!r}: choose {' or '.join(task.splits)}.")


def sample(items: Sequence[T], limit: int | None, seed: int) -> list[T]:
    """Return all items, or `limit` of them drawn with `seed`; a smaller limit gives the head of a larger one's."""
    if limit is None:
        return list(items)
    if limit < 1:
        raise TaskError(f"limit must be at least 1, not {limit}.")
    order = list(range(len(items)))
    random.Random(seed).shuffle(order)
    return [items[index] for index in order[:limit]]


def cut_at(text: str, stops: Sequence[str]) -> str:
    """Return the text before the first of the stop strings."""
    return text[: min((at for stop in stops if (at := text.find(stop)) >= 0), default=len(text))]


def find_file(task: str, data: Path, *names: str) -> Path:
    """Return the first of `names` in the folder `data` (or beside the file `data`) or in its subfolder named `task`.

    TaskError says which files were looked for.
    """
    if data.is_file():
        data = data.parent
    if not data.is_dir():
        raise TaskError(f"There is no folder {data.name!r}: point --data at the folder that holds {names[0]}.")
    for folder in (data, data / task):
        for name in names:
            if (folder / name).is_file():
                return folder / name
    raise TaskError(
        f"{' or '.join(names)} is not in the folder {data.name!r} nor in its subfolder {task!r}: "
        "point --data at the folder that holds it."
    )


def read_rows(path: Path, fields: Sequence[str]) -> list[dict[str, Any]]:
    """Return the objects of a JSONL file (.gz allowed), each with every one of `fields` as text.

    Unlike a user's prompt file, benchmark data must be whole: TaskError names the first bad line.
    """
    rows = [_row(path.name, number, line, fields) for number, line in _lines(path) if line.strip()]
    if not rows:
        raise TaskError(f"{path.name} is empty: download it again.")
    return rows


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        data = path.read_bytes()
        if path.suffix == ".gz":
            data = gzip.decompress(data)
    except (OSError, EOFError) as error:
        raise TaskError(f"Cannot read {path.name} ({error}): download it again.") from error
    yield from enumerate(data.split(b"\n"), 1)


def _row(name: str, number: int, line: bytes, fields: Sequence[str]) -> dict[str, Any]:
    try:
        row = parse_json(line)
    except FormatError as error:
        raise TaskError(f"{name}, line {number}: {error} Download the file again.") from error
    missing = fields if not isinstance(row, dict) else [key for key in fields if not isinstance(row.get(key), str)]
    if missing:
        raise TaskError(f"{name}, line {number}, lacks the text field {missing[0]!r}: is this the right file?")
    return dict(row)


def hub_rows(task: str, repo: str, split: str, config: str | None = None) -> list[dict[str, Any]]:
    """Return a split of a public data set through `datasets`; TaskError when it cannot be had."""
    try:
        import datasets  # slow to import, and only needed without --data

        return [dict(row) for row in datasets.load_dataset(repo, config, split=split)]
    except ImportError as error:
        raise TaskError(f"Task {task} needs the package datasets, or a folder given by --data.") from error
    except Exception as error:  # the library raises many kinds when offline, missing or gated
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        raise TaskError(
            f"Cannot load {repo} for task {task} ({reason}): connect to the network, or give its folder by --data."
        ) from error
