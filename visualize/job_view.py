"""A job as the Fine-tune tab shows it: one JSON value, and the lanes of its probe. Knows no gradio and no torch."""

import time
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TypedDict

from cllm_core import io
from cllm_core.errors import CllmError
from cllm_core.train.jobs.folder import Job, read_metrics
from cllm_core.train.jobs.forecast import duration
from cllm_core.train.jobs.guard import Measures
from cllm_core.train.jobs.plan import JobPlan
from cllm_core.train.jobs.probe import probe_file, read_measures
from cllm_core.train.jobs.progress import Progress, stage_progress
from cllm_core.train.jobs.runner import job_state
from cllm_core.train.jobs.state import JobState
from cllm_core.types import Trajectory
from visualize.labels import one_line
from visualize.view import PlayerProps, player_props

RESULT_PLACE = ": the result is in the Compare tab's list."
POINTS = 120  # of a curve: more would not be seen
LANES = 5  # checkpoints side by side
STAGE_LABELS = {"collect": "Collecting answers", "train": "Training", "evaluate": "Measuring the result"}
STATUS_LABELS = {
    "queued": "waiting",
    "running": "running",
    "stopping": "stopping",
    "stopped": "stopped",
    "paused": "paused",
    "failed": "failed",
    "finished": "finished",
}
Point = tuple[float, float]


class StageView(TypedDict):
    """One stage in the row of stages."""

    label: str
    state: str  # waiting | now | done
    share: float | None


class Curve(TypedDict):
    """A measure over steps."""

    label: str
    help: str
    points: list[Point]  # step, value
    digits: int
    dots: bool  # few measured points, shown as dots


class JobView(TypedDict):
    """All that the panel draws. Text is data."""

    kind: str  # idle | busy | done | stopped | error
    text: str
    stages: list[StageView]
    numbers: list[tuple[str, str]]
    curves: list[Curve]
    notes: list[str]
    log: list[str]


def message(kind: str, text: str, notes: Sequence[str] = ()) -> JobView:
    """Return a panel that only says something."""
    return {
        "kind": kind, "text": text, "stages": [], "numbers": [], "curves": [], "notes": list(notes), "log": []
    }  # fmt: skip


def job_title(job: Job) -> str:
    """Return what the list of jobs calls a job."""
    try:
        plan = job.plan()
    except CllmError:
        return f"{job.name} (damaged)"
    made = time.strftime("%d %b %H:%M", time.localtime(plan.made))
    what = one_line(plan.job.title, 40) or ("own prompts" if plan.uploaded else str(plan.train.get("task", "json")))
    return f"{what}, {made} · {STATUS_LABELS[job_state(job).status]}"


def job_view(job: Job) -> JobView:
    """Return how a job stands, with its curves."""
    state = job_state(job)
    try:
        plan = job.plan()
    except CllmError as error:
        return message("error", str(error))
    progress = {stage: stage_progress(job, stage) for stage in plan.stages}
    metrics, probes = read_metrics(job), read_measures(job)
    return {
        "kind": _kind(state),
        "text": headline(state, progress, plan),
        "stages": [_stage(stage, state, progress[stage]) for stage in plan.stages],
        "numbers": _numbers(metrics, probes, plan),
        "curves": curves(metrics, probes, plan),
        "notes": [one_line(note, 240) for note in job.notes()],
        "log": [one_line(line, 300) for line in job.last_lines(8)] if state.status == "failed" else [],
    }


def _kind(state: JobState) -> str:
    kinds = {"finished": "done", "failed": "error", "paused": "stopped", "stopped": "stopped"}
    return kinds.get(state.status, "busy")


def headline(state: JobState, progress: Mapping[str, Progress], plan: JobPlan) -> str:
    """Return how a job stands in a sentence or two."""
    if state.status == "queued":
        return "In the queue: another job uses this device."
    if state.status == "stopping":
        return "Stopping: a checkpoint is being saved."
    if state.status == "running":
        now = progress.get(state.stage)
        if now is None:
            return "Starting …"
        count = f" {now.done:,} of {now.total:,}" if now.total and now.done else " …"
        left = "" if now.seconds_left is None else f", about {duration(now.seconds_left)} left in this stage"
        return f"{STAGE_LABELS[now.stage]}:{count}{left}." if now.done else f"{STAGE_LABELS[now.stage]} …"
    if state.status == "finished":
        took = duration(state.spent or state.ended - state.started)
        return f"Finished after {took}{RESULT_PLACE}"
    return {"paused": "Paused. ", "stopped": "", "failed": "Failed. "}[state.status] + state.reason


def _stage(stage: str, state: JobState, progress: Progress) -> StageView:
    if stage in state.done:
        return {"label": STAGE_LABELS[stage], "state": "done", "share": 1.0}
    now = stage == state.stage and state.live
    share = progress.share if now or progress.done else 0.0
    return {"label": STAGE_LABELS[stage], "state": "now" if now else "waiting", "share": share}


def _numbers(metrics: Sequence[Mapping[str, Any]], probes: Sequence[Measures], plan: JobPlan) -> list[tuple[str, str]]:
    if not metrics:
        return []
    last = metrics[-1]
    found = [
        ("Step", f"{last['step']:,} of {plan.train_config(Path('job')).steps:,}"),
        ("Tokens fed", f"{last['tokens']:,}"),
        ("Seconds a step", f"{last['seconds']:.2f}"),
        ("Learning rate", f"{last['lr']:.2g}"),
    ]
    if len(probes) > 1:
        found.append(("Tokens / pass", f"{probes[0].tokens_per_pass:.2f} → {probes[-1].tokens_per_pass:.2f}"))
    return found


def curves(metrics: Sequence[Mapping[str, Any]], probes: Sequence[Measures], plan: JobPlan) -> list[Curve]:
    """Return the curves, those of the probe first: they say what the run is for."""
    reference = "the answers being learnt" if plan.job.answers == "gold" else "the base model's answers"
    found = [
        _probe_curve("Tokens per pass", "Of the probe prompts, at every checkpoint.", probes, "tokens_per_pass"),
        _probe_curve("Agreement", f"Of the probe's answers with {reference}.", probes, "agreement"),
        _probe_curve("Repetition", "Share of the probe's 4-grams that are repeats.", probes, "repetition"),
        _curve("Consistency loss", "How far the guesses are from the fixed point.", metrics, "consistency_loss"),
        _curve("AR loss", "Cross-entropy on the answers.", metrics, "ar_loss"),
        _curve(
            "Right after a wrong one", "How often the token behind a wrong one is right.", metrics, "right_after_wrong"
        ),
        _curve("Learning rate", "", metrics, "lr", digits=5),
    ]
    return [curve for curve in found if curve["points"]]


def _probe_curve(label: str, help: str, probes: Sequence[Measures], name: str) -> Curve:
    points = [(float(row.step), round(float(getattr(row, name)), 4)) for row in probes]
    return {"label": label, "help": help, "points": points, "digits": 2, "dots": True}


def _curve(label: str, help: str, metrics: Sequence[Mapping[str, Any]], name: str, digits: int = 2) -> Curve:
    points = [(float(row["step"]), float(row[name])) for row in metrics if isinstance(row.get(name), (int, float))]
    return {"label": label, "help": help, "points": thinned(points), "digits": digits, "dots": False}


def thinned(points: Sequence[Point], most: int = POINTS) -> list[Point]:
    """Return at most `most` points: means of runs of neighbours, each at the step of its last one."""
    if len(points) <= most:
        return [(step, round(value, 6)) for step, value in points]
    edges = [round(number * len(points) / most) for number in range(most + 1)]
    groups = [points[start:end] for start, end in pairwise(edges)]
    return [(group[-1][0], round(sum(value for _, value in group) / len(group), 6)) for group in groups]


def shown_steps(steps: Sequence[int], most: int = LANES) -> tuple[int, ...]:
    """Return at most `most` of the steps, evenly spread, the first and the last among them."""
    if len(steps) <= most:
        return tuple(steps)
    return tuple(dict.fromkeys(steps[round(number * (len(steps) - 1) / (most - 1))] for number in range(most)))


def probe_lanes(job: Job, steps: Sequence[int]) -> list[dict[int, Trajectory]]:
    """Return, by probe prompt, how it was decoded at each of the steps; a file that cannot be read is left out."""
    prompts: list[dict[int, Trajectory]] = []
    for step in steps:
        try:
            runs = list(io.load_run(probe_file(job.folder, step)).values())
        except CllmError:
            continue
        prompts += [{} for _ in runs[len(prompts) :]]
        for lanes, run in zip(prompts, runs):
            lanes[step] = run
    return prompts


def probe_props(prompts: Sequence[Mapping[int, Trajectory]], prompt: int) -> PlayerProps | None:
    """Return the player's payload of one probe prompt, a lane a checkpoint; None where there is nothing to play."""
    if not 0 <= prompt < len(prompts):
        return None
    lanes = {f"step-{step}": trajectory for step, trajectory in prompts[prompt].items()}
    return player_props(lanes, labels={f"step-{step}": f"Step {step:,}" for step in prompts[prompt]})
