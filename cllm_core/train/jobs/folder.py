"""Where jobs lie: one folder each in the runs folder, under a name made here. Nothing is read or written elsewhere."""

import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cllm_core.errors import FormatError, TrainingError
from cllm_core.pairs import runs_folder
from cllm_core.tasks.base import Example
from cllm_core.train.jobs import plan as plans
from cllm_core.train.jobs.locks import device_of
from cllm_core.train.jobs.plan import JobPlan, read_plan, write_plan

OUTCOME, OUTPUT, REPORT, BEST = "outcome.json", "output.txt", "report.json", "best"
BEST_MEASURES = "measures.json"  # in BEST, and in a result that was made of it
UNKNOWN = "unknown"  # the owner of a job whose plan cannot be read: no visitor's name is so short
_NAME = re.compile(r"\d{8}-\d{6}-[a-z0-9]+(?:-[a-z0-9]+)*-[0-9a-f]{6}")
_TAIL = 64_000  # bytes of a log that are looked at for its last lines


@dataclass(frozen=True)
class Job:
    """A job by its folder. Everything about it is in there."""

    folder: Path

    @property
    def name(self) -> str:
        """Its folder's name, which is also the name of the pair that it makes."""
        return self.folder.name

    def plan(self) -> JobPlan:
        """Read what it was asked to do."""
        return read_plan(self.folder)

    @property
    def device(self) -> str:
        """Where it runs on this machine: `gpu` or `cpu`."""
        return device_of(str(self.plan().train.get("device", "auto")))

    def last_lines(self, most: int = 12) -> list[str]:
        """Return the end of what its processes printed."""
        try:
            with (self.folder / OUTPUT).open("rb") as file:
                file.seek(max(0, (self.folder / OUTPUT).stat().st_size - _TAIL))
                text = file.read().decode("utf-8", "replace")
        except OSError:
            return []
        return [line for line in text.replace("\r", "\n").split("\n") if line.strip()][-most:]

    def notes(self, most: int = 4) -> list[str]:
        """Return the last things the training said in log.txt, single steps and the job's own place left out."""
        try:
            lines = (self.folder / "log.txt").read_text(encoding="utf-8", errors="replace").split("\n")
        except OSError:
            return []
        said = [line[len("2026-01-01 00:00:00  ") :] for line in lines]
        for place in (self.folder.resolve(), self.folder):  # the job runs by the whole path, the longer one
            said = [text.replace(f"{place}{os.sep}", "") for text in said]
        return [text for text in dict.fromkeys(said) if text and not text.startswith("step ")][-most:]

    def rows_of(self, name: str) -> list[dict[str, Any]]:
        """Return the objects of a JSONL file of the job; a line that is being written, or was cut off, is left out."""
        try:
            lines = (self.folder / name).read_bytes().split(b"\n")
        except OSError:
            return []
        return [row for line in lines if (row := _object(line)) is not None]


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) else None


def new_job(
    plan: JobPlan, *, prompts: Sequence[Example] = (), held_out: Sequence[Example] = (), runs: Path | None = None
) -> Job:
    """Make a job's folder with its plan, and the prompts where they were uploaded. It does not start."""
    runs = runs or runs_folder()
    plan = replace(plan, made=plan.made or time.time(), uploaded=bool(prompts))
    made = time.strftime("%Y%m%d-%H%M%S", time.localtime(plan.made))
    folder = runs / f"{made}-{_slug(plan)}-{secrets.token_hex(3)}"
    try:
        folder.mkdir(parents=True)
        if prompts:
            _write_prompts(folder / plans.PROMPTS, prompts)
            _write_prompts(folder / plans.HELD_OUT, held_out or prompts[:1])
        write_plan(folder, plan)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise TrainingError(
            f"Cannot make a job in {runs}: {error.strerror}. Name another folder by CLLM_RUNS."
        ) from error
    return Job(folder)


def _slug(plan: JobPlan) -> str:
    task = "prompts" if plan.uploaded else str(plan.train.get("task", "json"))
    words = re.findall(r"[a-z0-9]+", (plan.job.title or task).lower())
    return "-".join(words)[:40].strip("-") or "job"


def _write_prompts(path: Path, examples: Sequence[Example]) -> None:
    path.write_text("".join(json.dumps(_row(example)) + "\n" for example in examples), encoding="utf-8")


def _row(example: Example) -> Mapping[str, Any]:
    row: dict[str, Any] = {"id": example.id, "prompt": example.prompt}
    if example.messages:
        row["messages"] = example.chat()
    return row if example.answer is None else {**row, "answer": example.answer}


def list_jobs(runs: Path | None = None) -> list[Job]:
    """Return all jobs of the runs folder, the newest first."""
    found = (runs or runs_folder()).glob(f"*/{plans.FILE}")
    return [Job(path.parent) for path in sorted(found, reverse=True) if _NAME.fullmatch(path.parent.name)]


def find_job(name: object, owner: str | None = None, runs: Path | None = None) -> Job:
    """Return a job by its name, if it is the owner's (None: anybody's); TrainingError for anything else."""
    named = isinstance(name, str) and _NAME.fullmatch(name)
    if named and (folder := (runs or runs_folder()) / named[0]) and (folder / plans.FILE).is_file():
        job = Job(folder)
        try:
            if owner is None or job.plan().owner == owner:
                return job
        except FormatError as error:
            raise TrainingError(str(error)) from error
    raise TrainingError("There is no such job: choose one from the list.")


def made_by(name: str, runs: Path | None = None) -> str | None:
    """Return the owner of the job whose pair has this name (empty: everybody's), or None if no job made it.

    A job whose plan cannot be read is UNKNOWN's.
    """
    try:
        job = find_job(name, runs=runs)
    except TrainingError:
        return None
    try:
        return job.plan().owner
    except FormatError:
        return UNKNOWN


def copy_whole(folder: Path, to: Path, extra: Callable[[Path], object] = lambda part: None) -> None:
    """Put a copy of a folder in place of another, whole or not at all; `extra` adds files to it before that."""
    part = to.with_name(f".{to.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        shutil.copytree(folder, part)
        extra(part)
        shutil.rmtree(to, ignore_errors=True)
        part.replace(to)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def remove_folder(job: Job) -> None:
    """Delete everything of a job."""
    shutil.rmtree(job.folder, ignore_errors=True)
    if job.folder.exists():
        raise TrainingError(f"{job.name} could not be deleted entirely: delete its folder by hand.")


def read_metrics(job: Job) -> list[Mapping[str, Any]]:
    """Return the metrics of each step; what a resumed run does again counts once."""
    rows = {row["step"]: row for row in job.rows_of("metrics.jsonl") if isinstance(row.get("step"), int)}
    return [rows[step] for step in sorted(rows)]
