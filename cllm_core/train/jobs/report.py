"""The end of a job: the pair that it made, measured on held-out prompts before and after. Trains nothing."""

import time
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from cllm_core import models
from cllm_core.compare import LaneResult, compare, summarize_lanes, warm_up
from cllm_core.pairs import ModelPair, ModelSource, write_pair
from cllm_core.tasks import get_task
from cllm_core.tasks.base import Example
from cllm_core.train.jobs.folder import REPORT, Job
from cllm_core.train.jobs.probe import held_out_examples
from cllm_core.train.jobs.state import write_json

if TYPE_CHECKING:
    from cllm_core.hf import LoadedModel

LANES = ("base_ar", "base_jacobi", "cllm_ar", "cllm_jacobi")
_PROGRESS = "evaluate.json"
_EXAMPLES, _EXAMPLE_LENGTH = 4, 1500  # prompts that the pair offers, and the longest of them in characters


def evaluate(job: Job) -> dict[str, Any]:
    """Register the job's pair, measure it, write report.json and put the numbers into the pair; return the report."""
    plan = job.plan()
    examples = held_out_examples(job, plan.job.test_prompts)
    pair = register(job, examples)
    device = "cpu" if job.device == "cpu" else "auto"
    assert pair.cllm is not None
    loaded = {"base": models.load(pair.base, device=device), "cllm": models.load(pair.cllm, device=device)}
    report = _measure(job, loaded, examples)
    write_json(job.folder, REPORT, report)
    register(job, examples, report)
    return report


def register(job: Job, examples: Sequence[Example], report: Mapping[str, Any] | None = None) -> ModelPair:
    """Write the pair file, which makes the job's result one of the pairs on offer; return the pair."""
    plan = job.plan()
    train = plan.train_config(job.folder)
    base = ModelSource.parse(train.model)
    adapter, model = job.folder / "adapter", job.folder / "model"
    if train.method == "lora":
        cllm = ModelSource(base.kind, base.where, base.revision, str(adapter))
    else:
        cllm = ModelSource("folder", str(model))
    decode = plan.decode_config()
    made = time.strftime("%d %B %Y", time.localtime(plan.made))
    pair = ModelPair(
        name=job.name,
        title=plan.job.title or f"{base.title}, tuned on {get_task(train.task).title}",
        base=base,
        cllm=cllm,
        description=f"Trained here on {made}, in {train.steps:,} steps.",
        chat=train.chat,
        examples=tuple(example.prompt for example in examples[:_EXAMPLES] if len(example.prompt) <= _EXAMPLE_LENGTH),
        decode={
            "block_size": decode.block_size,
            "window": decode.window,
            "max_new_tokens": decode.max_new_tokens,
            "model_defaults": decode.model_defaults,
        },
        results=dict(report or {}),
    )
    write_pair(job.folder, pair)
    return pair


def _measure(job: Job, loaded: "Mapping[str, LoadedModel]", examples: Sequence[Example]) -> dict[str, Any]:
    plan = job.plan()
    train, config = plan.train_config(job.folder), plan.decode_config()
    task = get_task(train.task)
    warm_up(loaded, examples[0].prompt, config, chat=train.chat)
    results: list[Mapping[str, LaneResult]] = []
    quality: dict[str, list[dict[str, float]]] = {"base": [], "cllm": []}
    started = time.perf_counter()
    for number, example in enumerate(examples, 1):
        found = compare(loaded, example.chat(), config, chat=train.chat, lanes=LANES)
        results.append(found)
        for side, scores in quality.items():
            scores.append(task.check(example, found[f"{side}_ar"].trajectory.text))
        spent = round(time.perf_counter() - started, 3)
        write_json(job.folder, _PROGRESS, {"done": number, "total": len(examples), "seconds": spent})
        print(f"report: prompt {number} of {len(examples)}", flush=True)
    info = loaded["base"].info
    return {
        "prompts": len(examples),
        "split": plan.held_out(job.folder, task.splits)[0],
        "task": task.title,
        "device": info.device_name or info.device,
        "dtype": info.dtype,
        "lanes": summarize_lanes(results),
        "quality": {side: _means(scores) for side, scores in quality.items()},
    }


def _means(scores: Sequence[Mapping[str, float]]) -> dict[str, float]:
    names = dict.fromkeys(name for row in scores for name in row)
    return {name: fmean(row[name] for row in scores if name in row) for name in names}


def read_progress(job: Job) -> tuple[int, int, float]:
    """Return (prompts measured, of how many, seconds that it took)."""
    rows = job.rows_of(_PROGRESS)
    return (int(rows[-1]["done"]), int(rows[-1]["total"]), float(rows[-1]["seconds"])) if rows else (0, 0, 0.0)


def write_zip(job: Job, path: Path) -> None:
    """Write the result as a zip whose one folder, unpacked into another machine's runs folder, is the pair there."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:  # weights hardly shrink
        for file in result_files(job):
            archive.write(file, f"{job.name}/{file.relative_to(job.folder).as_posix()}")


def result_files(job: Job) -> list[Path]:
    """Return the files of the result: what another machine needs to use the pair."""
    named = [job.folder / name for name in ("pair.json", "card.md", REPORT, "config.json")]
    inside = [path for folder in ("adapter", "model") for path in sorted((job.folder / folder).rglob("*"))]
    return [path for path in (*named, *inside) if path.is_file()]
