"""A job's folder as a training run leaves it, without one: metrics, a probe, a report."""

import json
from dataclasses import asdict

import run_examples

from cllm_core import io
from cllm_core.train.jobs.folder import REPORT as REPORT_FILE
from cllm_core.train.jobs.folder import Job, new_job
from cllm_core.train.jobs.guard import Measures
from cllm_core.train.jobs.plan import JobConfig, JobPlan
from cllm_core.train.jobs.probe import FILE, probe_file

LANE = {
    "tokens": 72, "passes": 24, "tokens_per_pass": 3.0, "tokens_per_second": 30.0, "speedup": 2.0, "equals_ar": 1.0,
    "fast_forward_per_pass": 3.0, "stationary_per_block": 1.5, "collocations": {"together": 1, "occurrences": 4},
    "agreement": 0.5, "repetition_rate": 0.0, "field_accuracy": 0.9, "seconds": 1.0, "paper_stationary": None,
}  # fmt: skip
REPORT = {
    "prompts": 5, "split": "test", "device": "CPU",
    "lanes": {"base_jacobi": {**LANE, "tokens_per_pass": 1.1}, "cllm_ar": LANE, "cllm_jacobi": LANE,
              "base_ar": {**LANE, "speedup": None, "collocations": {"together": 0, "occurrences": 0}}},
}  # fmt: skip


def write_job(title: str = "A <b>", *, made: float = 0.0) -> Job:
    """A job in the middle of its training: 40 steps of 100, checkpoints at 20 and 40, two probe prompts."""
    plan = JobPlan(train={"steps": 100, "save_every": 20, "device": "cpu"}, job=JobConfig(title=title), made=made)
    job = new_job(plan)
    metrics = [
        {"step": step, "ar_loss": 1 / step, "consistency_loss": 8 / step, "right_after_wrong": 0.5, "lr": 1e-3,
         "tokens": 300 * step, "seconds": 2.0}
        for step in (*range(1, 41), 40)
    ]  # fmt: skip
    (job.folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in metrics))
    probe_file(job.folder, 0).parent.mkdir()
    with (job.folder / FILE).open("w") as file:
        for step in (0, 20, 40):
            file.write(json.dumps(asdict(Measures(step, 1 + step / 20, 0.5, 0.1, 3.0))) + "\n")
            easy = step / 50
            runs = [run_examples.scripted(text, easy=easy) for text in ("one two three four five", "six seven eight")]
            probe_file(job.folder, step).write_text(io.dumps_run({str(n): run for n, run in enumerate(runs, 1)}))
    return job


def write_report(job: Job) -> None:
    """Give the job its report."""
    (job.folder / REPORT_FILE).write_text(json.dumps(REPORT))
