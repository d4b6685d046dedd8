"""A finished job as one file, to be watched where nothing is trained; and what the tab shows of a job or of a file.

python -m visualize.recording JOB FILE.json      # JOB: a job's name in the runs folder
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cllm_core import io
from cllm_core.errors import CllmError, FormatError, TrainingError
from cllm_core.files import write_text
from cllm_core.io import parse_json
from cllm_core.train.jobs.folder import Job, find_job
from cllm_core.train.jobs.probe import probe_steps
from cllm_core.train.jobs.runner import job_state
from cllm_core.types import Trajectory
from visualize.job_report import read_report
from visualize.job_view import RESULT_PLACE, JobView, job_view, probe_lanes, shown_steps
from visualize.load import TRACES

SCHEMA, VERSION = "cllm-training", 1
PREFIX = "recorded:"  # of a recording's name in the list of jobs
FOLDER = TRACES / "training"


@dataclass(frozen=True)
class Shown:
    """All that is shown of a job, or of the recording of one."""

    name: str
    view: JobView
    steps: tuple[int, ...]  # whose probe can be played
    prompts: Sequence[Mapping[int, Trajectory]]  # the probe: by prompt and step
    report: Mapping[str, Any] | None
    status: str = ""  # of a job; empty for a recording
    job: Job | None = None

    @property
    def key(self) -> tuple[str, tuple[int, ...], str]:
        """What player and table are made from: they change when it does."""
        return self.name, self.steps, self.status


def show_job(job: Job, known: object = None) -> Shown:
    """Return what is shown of a job; its trajectories are read only if its key is another than the `known` one."""
    steps, status = shown_steps(probe_steps(job.folder)), job_state(job).status
    fresh = (job.name, steps, status) != known
    return Shown(
        name=job.name,
        view=job_view(job),
        steps=steps,
        prompts=probe_lanes(job, steps) if fresh else (),
        report=read_report(job) if fresh else None,
        status=status,
        job=job,
    )


def recordings(folder: Path = FOLDER) -> dict[str, Path]:
    """Return the recordings that ship with the app, by the name that the list of jobs gives them."""
    return {PREFIX + path.stem: path for path in sorted(folder.glob("*.json"))}


def record(job: Job) -> dict[str, Any]:
    """Return a job as JSON-ready values."""
    shown = show_job(job)
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "view": shown.view,
        "prompts": [
            {str(step): io.to_dict(trajectory) for step, trajectory in lanes.items()} for lanes in shown.prompts
        ],
        "report": shown.report,
    }


def read_recording(path: Path) -> Shown:
    """Read a recording; FormatError if the file is none."""
    try:
        data = parse_json(path.read_bytes())
        if data["schema"] != SCHEMA or data["version"] > VERSION:
            raise FormatError(f"{path.name} is not a recording of a training job that this program can read.")
        prompts = [
            {int(step): io.from_dict(trajectory) for step, trajectory in lanes.items()} for lanes in data["prompts"]
        ]
        text = str(data["view"]["text"]).replace(RESULT_PLACE, ".")  # its result is not here
        view: JobView = dict(data["view"], text=f"Recorded: {text}")  # type: ignore[assignment]
        return Shown(PREFIX + path.stem, view, tuple(prompts[0]) if prompts else (), prompts, data["report"])
    except (OSError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"The recording {path.name} is damaged: {error!r}.") from error


def find_shown(name: object, owner: str | None, known: object = None) -> Shown:
    """Return what is shown of the named job, if it is the owner's, or recording; a CllmError for anything else."""
    path = recordings().get(name) if isinstance(name, str) else None
    return read_recording(path) if path else show_job(find_job(name, owner), known)


def main() -> int:
    """Record the job that is named on the command line."""
    if len(sys.argv) != 3:
        print("usage: python -m visualize.recording JOB FILE.json", file=sys.stderr)
        return 2
    try:
        job = find_job(sys.argv[1])
        if job_state(job).status != "finished":
            raise TrainingError("Only a finished job can be recorded.")
        text = json.dumps(record(job), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        write_text(Path(sys.argv[2]), text + "\n")
    except CllmError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
