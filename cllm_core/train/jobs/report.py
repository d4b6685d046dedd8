"""The end of a job: the pair that it made, measured on held-out prompts before and after. Trains nothing."""

import time
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from cllm_core import models
from cllm_core.collocations import Share, measure, overall
from cllm_core.io import parse_json
from cllm_core.mining import mine
from cllm_core.pairs import ModelPair, ModelSource, write_pair
from cllm_core.tasks import get_task
from cllm_core.tasks.base import Example
from cllm_core.train import evaluate
from cllm_core.train.config import TrainConfig
from cllm_core.train.evaluate import Measured
from cllm_core.train.jobs.folder import BEST_MEASURES, REPORT, Job, read_metrics
from cllm_core.train.jobs.probe import held_out_examples
from cllm_core.train.jobs.state import write_json
from cllm_core.types import Trajectory

if TYPE_CHECKING:
    from cllm_core.hf import LoadedModel

_PROGRESS = "evaluate.json"
_TITLE = 80  # characters of a title that are kept
_CORPUS = 500  # answers in which collocations are looked for
_EXAMPLES, _EXAMPLE_LENGTH = 4, 1500  # prompts that the pair offers, and the longest of them in characters


def make_report(job: Job) -> dict[str, Any]:
    """Register the job's pair, measure it, write report.json and put the numbers into the pair; return the report."""
    plan = job.plan()
    examples = held_out_examples(job, plan.job.test_prompts)
    pair = register(job, examples)
    device = "cpu" if job.device == "cpu" else "auto"
    assert pair.cllm is not None
    loaded = {"base": models.load(pair.base, device=device), "cllm": models.load(pair.cllm, device=device)}
    report = _measure(job, loaded, examples)
    write_json(job.folder, REPORT, report)
    _write_card(job, loaded["base"])
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
    short = [example.prompt for example in examples if len(example.prompt) <= _EXAMPLE_LENGTH]
    pair = ModelPair(
        name=job.name,
        title=" ".join(plan.job.title.split())[:_TITLE] or f"{base.title}, tuned on {get_task(train.task).title}",
        base=base,
        cllm=cllm,
        description=f"Trained here on {made}, in {trained_steps(job):,} steps.",
        chat=train.chat,
        examples=tuple(short[:_EXAMPLES]),
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


def trained_steps(job: Job) -> int:
    """Return the steps that the result had: fewer than were asked for where it is the best checkpoint's."""
    best = job.folder / "adapter" / BEST_MEASURES
    return int(parse_json(best.read_bytes())["step"]) if best.is_file() else job.plan().train_config(job.folder).steps


def _write_card(job: Job, base: "LoadedModel") -> None:
    """Write the card of a run that ended with its best checkpoint; any other has one."""
    from cllm_core.train.card import CARD, write_card  # they need torch, and the app reads reports without
    from cllm_core.train.run import training_rows

    if (job.folder / CARD).exists():
        return
    train, steps = job.plan().train_config(job.folder), trained_steps(job)
    done = [row for row in read_metrics(job) if row["step"] <= steps]
    write_card(
        job.folder,
        train,
        base.info,
        rows=len(training_rows(train, base, lambda line: None)),
        rank=int(parse_json((job.folder / "adapter" / "adapter_config.json").read_bytes())["r"]),
        steps=steps,
        tokens=int(done[-1]["tokens"]) if done else 0,
        seconds=sum(float(row["seconds"]) for row in done),
    )


def _measure(job: Job, loaded: "Mapping[str, LoadedModel]", examples: Sequence[Example]) -> dict[str, Any]:
    plan = job.plan()
    train = plan.train_config(job.folder)
    task = get_task(train.task)
    runs: list[Mapping[str, Trajectory]] = []
    started = time.perf_counter()

    def each(measured: Measured) -> None:
        runs.append({key: lane.trajectory for key, lane in measured.lanes.items()})
        spent = round(time.perf_counter() - started, 3)
        write_json(job.folder, _PROGRESS, {"done": len(runs), "total": len(examples), "seconds": spent})

    measures = evaluate.evaluate(loaded, task, examples, plan.decode_config(), chat=train.chat, report=print, each=each)
    if measures["partial"]:
        raise KeyboardInterrupt  # a report is of all its prompts
    for lane, share in together(runs, _answers(train)).items():
        measures["lanes"][lane]["collocations"] = asdict(share)
    split = plan.held_out(job.folder, task.splits)[0]
    return {"task": task.name, "split": "held out" if plan.uploaded else split, **measures}


def together(runs: Sequence[Mapping[str, Trajectory]], answers: Sequence[str]) -> dict[str, Share]:
    """Return, by lane, how many occurrences of collocations arrived together.

    Collocations are found in the answers that were learnt and in the outputs themselves.
    """
    outputs = [trajectory.text for lanes in runs for trajectory in lanes.values()]
    table = mine([*answers, *outputs], corpus="the answers learnt, and the outputs of the report")
    return {lane: overall(shares) for lane, shares in measure(runs, table).items()}


def _answers(train: TrainConfig) -> list[str]:
    data = Path(train.data) if train.data else None
    limit = min(train.limit or _CORPUS, _CORPUS)
    examples = get_task(train.task).load(train.split, data=data, limit=limit, seed=train.seed)
    return [example.answer for example in examples if example.answer]


def read_progress(job: Job) -> tuple[int, int, float]:
    """Return (prompts measured, of how many, seconds that it took)."""
    rows = job.rows_of(_PROGRESS)
    return (int(rows[-1]["done"]), int(rows[-1]["total"]), float(rows[-1]["seconds"])) if rows else (0, 0, 0.0)


def write_zip(job: Job, path: Path) -> None:
    """Write the result as a zip whose one folder, unpacked into another machine's runs folder, is the pair there.

    The file is there whole or not at all; OSError if it cannot be written.
    """
    part = path.with_name(f".{uuid4().hex}.part")
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_STORED) as archive:  # weights hardly shrink
            for file in result_files(job):
                archive.write(file, f"{job.name}/{file.relative_to(job.folder).as_posix()}")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def result_files(job: Job) -> list[Path]:
    """Return the files of the result: what another machine needs to use the pair."""
    named = [job.folder / name for name in ("pair.json", "card.md", REPORT, "config.json")]
    inside = [path for folder in ("adapter", "model") for path in sorted((job.folder / folder).rglob("*"))]
    return [path for path in (*named, *inside) if path.is_file()]
