"""From the Fine-tune form to a job: settings checked, prompts read, limits of a public Space held. Knows no gradio."""

import hashlib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cllm_core.errors import ConfigError, FormatError, TrainingError
from cllm_core.options import flags
from cllm_core.pairs import ModelSource, runs_folder
from cllm_core.tasks import TASKS, get_task
from cllm_core.tasks.base import Example
from cllm_core.tasks.prompts import PromptFile, read_prompts
from cllm_core.train.config import EvaluateConfig, TrainConfig
from cllm_core.train.jobs.folder import Job, find_job, list_jobs, new_job
from cllm_core.train.jobs.forecast import check_start
from cllm_core.train.jobs.locks import device_of, is_locked, lock_file
from cllm_core.train.jobs.plan import HELD_OUT as HELD_OUT_FILE
from cllm_core.train.jobs.plan import PROMPTS, JobConfig, JobPlan
from cllm_core.train.jobs.runner import job_state, start
from visualize.labels import one_line
from visualize.load import MOST_BYTES
from visualize.settings import AppSettings

UPLOAD, OWN_MODEL = "upload", "own"  # the last entries of the lists of prompts and of targets
PREVIEW, PROBLEMS = 5, 50  # rows and bad lines that are shown of a file
HELD_OUT, EVERY = 20, 10  # of an uploaded file one prompt in ten is held out, but no more than so many

# what a visitor of a public Space may ask for at most; it holds here, whatever the form says
PUBLIC_BYTES, PUBLIC_JOBS, PUBLIC_QUEUE = 2_000_000, 1, 8  # bytes of a file; live jobs of a visitor, and of all
PUBLIC_MOST: Mapping[str, float] = {
    "limit": 2000, "steps": 300, "batch": 4, "accumulation": 4, "max_length": 1024, "window": 16, "copies": 4,
    "stretch": 64, "rank": 64, "keep": 3, "answer_tokens": 160, "probe_prompts": 3, "probe_tokens": 64,
    "test_prompts": 20,
}  # fmt: skip


@dataclass(frozen=True)
class Order:
    """What a visitor asks for: a checked plan, and the prompts of an uploaded file."""

    plan: JobPlan
    prompts: tuple[Example, ...] = ()
    held_out: tuple[Example, ...] = ()

    def start(self) -> Job:
        """Make the job and start it; TrainingError if it is known not to fit here."""
        check_start(self.plan)
        job = new_job(self.plan, prompts=self.prompts, held_out=self.held_out)
        start(job)
        return job


def order_from(
    settings: AppSettings,
    owner: str,
    *,
    model: str,
    own_model: str,
    prompts: str,
    file: str | None,
    train: Mapping[str, Any],
    job: Mapping[str, Any],
) -> Order:
    """Return what the form asks for; a CllmError says what is wrong with it. Nothing the browser sent is trusted."""
    if not settings.training:
        raise ConfigError("Training is off on this Space: run the app at home, where it is on.")
    values = {**train, "model": _target(settings, model, own_model)}
    read = read_upload(settings, file) if prompts == UPLOAD else None
    if read is None:
        if prompts not in [name for _, name in task_choices()]:
            raise ConfigError("These prompts are not on offer: choose some from the list.")
        values["task"] = prompts
    if settings.public:
        _hold_to_limits({**values, **job})
    plan = JobPlan(train=_changed(values), job=JobConfig(**job), owner=owner)
    if read is None:
        return Order(plan)
    learnt, held_out = split_prompts(read.examples)
    if plan.job.answers == "gold" and any(not example.answer for example in read.examples):
        raise ConfigError(
            "Some rows of your file have no answer: give each one, or let the model answer (Answers to learn: target)."
        )
    return Order(replace(plan, uploaded=True), learnt, held_out)


def _target(settings: AppSettings, model: str, own_model: str) -> str:
    if model == OWN_MODEL:
        return str(settings.own_pair(own_model, "").base)
    if model not in target_models(settings):
        raise ConfigError("This model is not on offer here: choose one from the list.")
    return str(ModelSource.parse(model))


def target_models(settings: AppSettings) -> dict[str, str]:
    """Return the models that can be trained without naming one, title by name: the plain bases of pairs on offer."""
    found: dict[str, str] = {}
    for pair in settings.pairs().values():
        if pair.base.kind == "folder" or pair.needs_gpu:
            continue
        alone = pair.cllm is None and pair.base.adapter is None and pair.base.kind != "hub"
        title = pair.title.removesuffix(" (base only)") if alone else str(pair.base)
        if alone or str(pair.base) not in found:
            found[str(pair.base)] = title
    return found


def _hold_to_limits(values: Mapping[str, Any]) -> None:
    for name, most in PUBLIC_MOST.items():
        value = values.get(name, 0)
        if value > most or (name in ("limit", "stretch") and value == 0):  # where 0 is: all of them
            raise ConfigError(f"On this Space {name.replace('_', ' ')} can be at most {most:,}.")
    if values.get("method") == "full":
        raise ConfigError("On this Space only LoRA can be trained: a small adapter.")
    if values.get("tracker", "none") != "none":
        raise ConfigError("On this Space metrics are sent to no tracker.")


def _changed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that differ from the fields' defaults: what a reader of the plan wants to see."""
    return {name: value for name, value in values.items() if name == "model" or value != getattr(TrainConfig, name)}


def read_upload(settings: AppSettings, path: str | None) -> PromptFile:
    """Read a visitor's prompt file; FormatError says what is wrong with it."""
    if not path:
        raise FormatError("Choose a prompt file first: JSONL, CSV, or plain text with one prompt a line.")
    most = PUBLIC_BYTES if settings.public else MOST_BYTES
    try:
        size = Path(path).stat().st_size
    except OSError as error:  # such as an upload that the app has cleared away meanwhile
        raise FormatError(f"The file cannot be read ({error.strerror or error}): choose it again.") from error
    if size > most:
        raise FormatError(f"The file has {size / 1e6:,.1f} MB, and the limit is {most / 1e6:,.0f} MB.")
    read = read_prompts(path)
    most_rows = int(PUBLIC_MOST["limit"])
    if settings.public and len(read.examples) > most_rows:
        raise FormatError(f"The file has {len(read.examples):,} prompts, and the limit here is {most_rows:,}.")
    return read


def split_prompts(examples: Sequence[Example]) -> tuple[tuple[Example, ...], tuple[Example, ...]]:
    """Return (learnt, held out): the last tenth of a file is held out; a lone prompt is both."""
    count = min(HELD_OUT, max(1, len(examples) // EVERY))
    if len(examples) < 2:
        return tuple(examples), tuple(examples)
    return tuple(examples[:-count]), tuple(examples[-count:])


def upload_summary(read: PromptFile) -> str:
    """Return what will be used of a file, and what will not and why, a line each."""
    learnt, held_out = split_prompts(read.examples)
    lines = [
        f"{len(read.examples):,} of {read.total:,} rows can be used: {len(learnt):,} to learn from, "
        f"{len(held_out):,} held out."
    ]
    lines += [f"{str(problem)[:1].upper()}{one_line(str(problem)[1:], 200)}" for problem in read.problems[:PROBLEMS]]
    if len(read.problems) > PROBLEMS:
        lines.append(f"… and {len(read.problems) - PROBLEMS:,} more lines.")
    return "\n".join(lines)


def preview(read: PromptFile) -> list[list[str]]:
    """Return the first rows of a file for a table."""
    return [[one_line(example.prompt, 90), one_line(example.answer or "", 60)] for example in read.examples[:PREVIEW]]


def task_choices() -> list[tuple[str, str]]:
    """Return the built-in tasks that have something to train on, as (title, name)."""
    tasks = {name: get_task(name) for name in TASKS if name != "prompts"}
    return [(task.title, name) for name, task in tasks.items() if "train" in task.splits]


def command_lines(plan: JobPlan) -> str:
    """Return the commands that do the same without the app; an uploaded file is called by its name in the job."""
    folder = Path("runs/mine")
    configs = {"collect": plan.collect_config, "train": plan.train_config}
    lines = [["python", "-m", "cllm_core", stage, *flags(configs[stage](folder))] for stage in plan.stages[:-1]]
    lines.append(["python", "-m", "cllm_core", "evaluate", *_evaluate_flags(plan, folder)])
    if plan.uploaded:
        names = {str(folder / name): name for name in (PROMPTS, HELD_OUT_FILE)}
        lines = [[names.get(part, part) for part in line] for line in lines]
    return "\n".join(shlex.join(line) for line in lines)


def _evaluate_flags(plan: JobPlan, folder: Path) -> list[str]:
    train, decode = plan.train_config(folder), plan.decode_config()
    split, data = plan.held_out(folder, get_task(train.task).splits)
    config = EvaluateConfig(
        model=train.model,
        cllm_adapter=str(folder / ("adapter" if train.method == "lora" else "model")),
        chat=train.chat,
        task=train.task,
        split=split,
        data=data,
        limit=plan.job.test_prompts,
        block_size=decode.block_size,
        window="sliding",
        max_new_tokens=decode.max_new_tokens,
        device=train.device,
    )
    return flags(config)


def owner_of(settings: AppSettings, token: object) -> str | None:
    """Return whose jobs a browser may see: None for all of them, which is so only on one's own machine."""
    if not settings.public:
        return None
    if not token or not isinstance(token, str):
        raise TrainingError("Your browser has no name here yet: reload the page.")
    return hashlib.sha256(token.encode()).hexdigest()[:32]


def visible_jobs(owner: str | None) -> list[Job]:
    """Return the jobs that an owner may see, the newest first."""
    found = []
    for job in list_jobs():
        try:
            found.append(find_job(job.name, owner))
        except TrainingError:
            continue
    return found


def check_turn(settings: AppSettings, owner: str | None) -> None:
    """Raise TrainingError if a visitor of a public Space has a job under way already, or too many others have."""
    if not settings.public:
        return
    if sum(job_state(job).live for job in visible_jobs(owner)) >= PUBLIC_JOBS:
        raise TrainingError("Your last job is still under way: stop it, or wait until it ends.")
    if sum(job_state(job).live for job in list_jobs()) >= PUBLIC_QUEUE:
        raise TrainingError("Too many jobs are waiting here: come back later, or run the app at home.")


def busy_notes(device: str) -> list[str]:
    """Return what someone should know who is about to use a device: a job, or a trial of one, may be training on it."""
    if not is_locked(lock_file(runs_folder(), device_of(device))):
        return []
    return ["A fine-tuning job is using this device: both are slower than they would be alone, and times are too long."]
