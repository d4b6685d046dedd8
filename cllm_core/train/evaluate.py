"""Measures a pair on held-out prompts: speed and phenomena of every lane, agreement with the target, answer quality.

The lanes, their clock and their counts are those of cllm_core.compare; quality is the task's own check.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from cllm_core import models
from cllm_core.compare import LANES, LaneResult, Prompt, compare, summarize_lanes, warm_up, with_room
from cllm_core.errors import TaskError
from cllm_core.files import check_writable, write_text
from cllm_core.pairs import ModelPair
from cllm_core.tasks import Example, Task, get_task
from cllm_core.train.clean import is_repetitive
from cllm_core.train.config import EvaluateConfig
from cllm_core.types import DecodeConfig

if TYPE_CHECKING:
    from cllm_core.hf import LoadedModel

HELD_OUT = ("test", "dev", "unseen")
RACE = ("base_ar", "cllm_jacobi")
Report = Callable[[str], None]


@dataclass(frozen=True)
class Measured:
    """One prompt through every lane, with the answers judged."""

    example: Example
    lanes: Mapping[str, LaneResult]
    quality: Mapping[str, Mapping[str, float]]  # by lane: the task's measures of its answer
    agreement: Mapping[str, bool]  # by lane: the same ids as the target gives one at a time


def evaluate_command(config: EvaluateConfig, report: Report = print) -> dict[str, Any]:
    """Load the pair, measure it, print the table, write the JSON file if one is named, and return what it holds."""
    check_writable(Path(config.json) if config.json else None)
    pair = chosen_pair(config)
    task = get_task(config.task, **({"allow_execution": True} if config.allow_execution else {}))
    examples = held_out(task, config)
    sides = {"base": pair.base, **({"cllm": pair.cllm} if pair.cllm else {})}
    loaded = {
        side: models.load(source, device=config.device, dtype=config.dtype, attention=config.attention)
        for side, source in sides.items()
    }
    decode = decode_config(config, pair, task)
    race = config.lanes == "race"
    measures = evaluate(loaded, task, examples, decode, chat=pair.chat, wrap=pair.wrap, race=race, report=report)
    split = config.split or first_held_out(task)
    result = {"pair": pair.name, "task": task.name, "split": split, "notes": list(task.notes), **measures}
    if config.json:
        text = json.dumps(result, ensure_ascii=False, allow_nan=False, indent=1)
        write_text(Path(config.json), text + "\n")
    report(as_table(result["lanes"]))
    for note in task.notes:
        report(note)
    if result["partial"]:
        raise KeyboardInterrupt  # what was measured is written and told
    return result


def chosen_pair(config: EvaluateConfig) -> ModelPair:
    """Return the named pair, or the one that the settings' model and adapters make."""
    if not config.model:
        return models.find_pair(config.pair or "smollm2")
    source = models.ModelSource.parse(config.model)
    base = replace(source, adapter=config.adapter or None)
    cllm = _cllm_of(source, config.cllm_adapter) if config.cllm_adapter else None
    title = f"{base.title} and {cllm.title}" if cllm else base.title
    return ModelPair(name=title, title=title, base=base, cllm=cllm, chat=config.chat)


def _cllm_of(source: models.ModelSource, named: str) -> models.ModelSource:
    """Return the CLLM that was made from a model: an adapter on it, or the whole model that full training wrote."""
    if (Path(named) / "config.json").is_file():
        return models.ModelSource.parse(named)
    return replace(source, adapter=named)


def decode_config(config: EvaluateConfig, pair: ModelPair, task: Task) -> DecodeConfig:
    """Return how to decode: what suits the pair and the task, where the settings do not say otherwise."""
    chosen: dict[str, Any] = {"max_new_tokens": config.max_new_tokens or task.max_new_tokens}
    if config.block_size:
        chosen["block_size"] = config.block_size
    if config.window != "auto":
        chosen["window"] = config.window
    return DecodeConfig(**{**pair.decode, **chosen, "seed": config.seed})


def held_out(task: Task, config: EvaluateConfig) -> list[Example]:
    """Return the prompts to measure on; TaskError for a task's training split."""
    split = config.split or first_held_out(task)
    if split not in HELD_OUT:
        raise TaskError(f"Measure on prompts that training does not see: {split} is none of {', '.join(HELD_OUT)}.")
    data = Path(config.data) if config.data else None
    return task.load(split, data=data, limit=config.limit or None, seed=config.seed)


def first_held_out(task: Task) -> str:
    """Return the task's test split, else dev, else unseen."""
    for split in HELD_OUT:
        if split in task.splits:
            return split
    raise TaskError(f"Task {task.name} has no split that is not trained on.")


def evaluate(
    loaded: "Mapping[str, LoadedModel]",
    task: Task,
    examples: Sequence[Example],
    config: DecodeConfig,
    *,
    chat: bool = True,
    wrap: Callable[[str], str] = lambda prompt: prompt,
    race: bool = False,
    report: Report = lambda line: None,
    each: Callable[[Measured], None] = lambda measured: None,
) -> dict[str, Any]:
    """Run every prompt through every lane (`base` and, where given, `cllm`) and return the JSON-ready measures.

    With `race` only the target's autoregressive lane and the CLLM's Jacobi lane are run, neither compared with another.
    `each` is given every prompt as soon as it is measured, with its trajectories, which are in no file and not kept.
    Ctrl-C ends it early, with the numbers of the prompts that were measured, marked `partial`.
    """

    def asked(example: Example) -> Prompt:
        return example.asked(wrap)

    given = len(examples)
    examples = with_room(loaded, examples, asked, chat=chat, report=report)
    warm_up(loaded, asked(examples[0]), config, chat=chat)
    measured: list[Measured] = []
    chosen = RACE if race else tuple(LANES)
    try:
        for number, example in enumerate(examples, 1):
            lanes = compare(loaded, asked(example), config, chat=chat, lanes=chosen, check=not race)
            found = judge(task, example, lanes)
            each(found)
            measured.append(_without_steps(found))
            if number % 10 == 0 or number == len(examples):
                report(f"{number}/{len(examples)} prompts")
    except KeyboardInterrupt:
        if not measured:
            raise
        report(f"Stopped after {len(measured)} of {len(examples)} prompts.")
    info = next(iter(loaded.values())).info
    return {
        "device": info.device_name or info.device,
        "dtype": info.dtype,
        "models": {side: asdict(model.info) for side, model in loaded.items()},
        "decode": asdict(config),
        "prompts": len(measured),
        "left_out": given - len(examples),
        "partial": len(measured) < len(examples),
        "lanes": summarize(measured),
    }


def _without_steps(measured: Measured) -> Measured:
    """Return it without what no sum is made of: the passes of a thousand prompts would fill the memory."""
    lanes = {key: replace(lane, trajectory=replace(lane.trajectory, steps=())) for key, lane in measured.lanes.items()}
    return replace(measured, lanes=lanes)


def judge(task: Task, example: Example, lanes: Mapping[str, LaneResult]) -> Measured:
    """Check every lane's answer and compare its ids with the target's own."""
    target = lanes["base_ar"].trajectory.ids
    return Measured(
        example=example,
        lanes=lanes,
        quality={key: task.check(example, lane.trajectory.text) for key, lane in lanes.items()},
        agreement={key: lane.trajectory.ids == target for key, lane in lanes.items()},
    )


def summarize(measured: Sequence[Measured]) -> dict[str, dict[str, Any]]:
    """Return, by lane, compare's totals and means with the mean of every quality measure, agreement and repetition."""
    rows = summarize_lanes([entry.lanes for entry in measured])
    for key, row in rows.items():
        entries = [entry for entry in measured if key in entry.lanes]
        for name in dict.fromkeys(name for entry in entries for name in entry.quality[key]):
            row[name] = fmean(entry.quality[key][name] for entry in entries if name in entry.quality[key])
        row["agreement"] = fmean(entry.agreement[key] for entry in entries)
        row["repetition_rate"] = fmean(is_repetitive(entry.lanes[key].trajectory.ids) for entry in entries)
    return rows


_KNOWN = ("tokens_per_pass", "speedup", "fast_forward_per_pass", "stationary_per_block", "agreement", "repetition_rate")
_COUNTS = (
    "prompts", "tokens", "passes", "prefill_seconds", "seconds", "fast_forwarded", "stationary", "blocks",
    "tokens_per_second", "paper_fast_forward", "paper_stationary", "equals_ar",
)  # fmt: skip


def as_table(lanes: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the lanes as a Markdown table: the target one token at a time, then by Jacobi, then the CLLM."""
    quality = [name for name in next(iter(lanes.values())) if name not in (*_KNOWN, *_COUNTS)]
    columns = [*_KNOWN[:4], *quality, *_KNOWN[4:]]
    lines = [["lane", *(name.replace("_", " ") for name in columns)], ["---"] * (len(columns) + 1)]
    for key, row in lanes.items():
        lines.append([key, *(_cell(name, row.get(name)) for name in columns)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(name: str, value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.2f}" if name in _KNOWN[:4] else f"{value:.1%}"
