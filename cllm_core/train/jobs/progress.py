"""How far a job has come, from what its stages write: steps, tokens, time left. Reads files; knows no process."""

import re
import statistics
from dataclasses import dataclass

from cllm_core.train.jobs.folder import Job, read_metrics
from cllm_core.train.jobs.plan import ROWS
from cllm_core.train.jobs.probe import read_measures
from cllm_core.train.jobs.report import read_progress
from cllm_core.train.store import shard_path

_RECENT = 20  # steps whose mean time foretells the rest
_SHARD_LINE = re.compile(r"shard \d+/(\d+): .* (\d+\.\d) s$")


@dataclass(frozen=True)
class Progress:
    """One stage of a job."""

    stage: str
    done: int
    total: int  # 0: not known yet
    seconds_left: float | None = None

    @property
    def share(self) -> float | None:
        """From 0 to 1; None where it is not known."""
        return min(1.0, self.done / self.total) if self.total else None


def stage_progress(job: Job, stage: str) -> Progress:
    """Return how far a stage has come, and how long it will take by what it took so far."""
    if stage == "collect":
        return _collecting(job)
    return _training(job) if stage == "train" else _evaluating(job)


def _collecting(job: Job) -> Progress:
    lines = [found for line in job.last_lines(400) if (found := _SHARD_LINE.search(line))]
    total = int(lines[-1][1]) if lines else 0
    done = sum(shard_path(job.folder / ROWS, number).exists() for number in range(total))
    seconds = statistics.fmean(float(line[2]) for line in lines) if lines else 0.0
    return Progress("collect", done, total, seconds * (total - done) if lines else None)


def _training(job: Job) -> Progress:
    config = job.plan().train_config(job.folder)
    metrics = read_metrics(job)
    done = int(metrics[-1]["step"]) if metrics else 0
    if not metrics:
        return Progress("train", 0, config.steps)
    seconds = statistics.fmean(float(row["seconds"]) for row in metrics[-_RECENT:])
    probes = read_measures(job)
    checkpoints = -(-config.steps // config.save_every) - done // config.save_every
    left = seconds * (config.steps - done) + (probes[-1].seconds * checkpoints if probes else 0.0)
    return Progress("train", done, config.steps, left)


def _evaluating(job: Job) -> Progress:
    done, total, seconds = read_progress(job)
    left = seconds / done * (total - done) if done else None
    return Progress("evaluate", done, total or job.plan().job.test_prompts, left)
