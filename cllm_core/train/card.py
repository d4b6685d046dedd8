"""The card of a run: what was trained on what, by which command, and what it cost. Knows no model object."""

import platform
import shlex
from pathlib import Path

import peft
import torch
import transformers

from cllm_core.errors import CllmError
from cllm_core.files import write_text
from cllm_core.io import parse_json
from cllm_core.options import flags
from cllm_core.tasks import get_task
from cllm_core.train.config import CollectConfig, TrainConfig
from cllm_core.types import ModelInfo

CARD = "card.md"  # the last file of a finished run


def write_card(
    folder: Path,
    config: TrainConfig,
    info: ModelInfo,
    *,
    rows: int,
    rank: int | None,
    steps: int,
    tokens: int,
    seconds: float,
) -> None:
    """Write card.md into the run's folder; `rank` is the adapter's, None where every weight was trained.

    `steps` are those that the result had, `tokens` and `seconds` what they fed and took.
    """
    done = f"{steps}" if steps == config.steps else f"{steps} of {config.steps}, the best checkpoint"
    where = info.device_name or info.device
    collected = _collected(config) if config.rows else None
    lines = [
        f"# {folder.name}",
        "",
        f"{'A consistency model' if config.objective == 'consistency' else 'A target model'} made from "
        f"{info.name} ({info.parameters / 1e6:.0f}M weights, revision {info.revision or 'unknown'}).",
        "",
        f"- Trained: {f'LoRA, rank {rank}' if rank else 'every weight'}",
        f"- Data: {rows:,} rows; {_data(config, collected)}",
        f"- Steps: {done}; {tokens:,} tokens fed (noisy copies included)",
        f"- Time: {seconds / 3600:.2f} hours of steps, on {where} ({platform.machine()})",
        f"- Seed: {config.seed}",
        f"- Versions: torch {torch.__version__}, transformers {transformers.__version__}, peft {peft.__version__}",
        "",
        "## Recipe",
        "",
        "```",
        *([_command("collect", collected)] if collected else []),
        command(config),
        "```",
        "",
        "Metrics of every step are in metrics.jsonl, all settings in config.json.",
        "",
    ]
    write_text(folder / CARD, "\n".join(lines))


def _data(config: TrainConfig, collected: CollectConfig | None) -> str:
    if not config.rows:
        return f"gold answers of {_source(config.task, config.split)}"
    if collected is None:
        return f"collected rows ({config.rows}), which do not tell where they are from"
    answers = "gold answers" if collected.answers == "gold" else f"answers of {Path(collected.model).name}"
    return f"{answers} to {_source(collected.task, collected.split)}"


def _source(name: str, split: str) -> str:
    task = get_task(name)
    return f"{task.title}, split {split}; {task.source}; licence {task.licence}"


def _collected(config: TrainConfig) -> CollectConfig | None:
    """Return the settings by which the rows were collected; None where their folder does not hold them."""
    try:
        return CollectConfig(**parse_json((Path(config.rows) / "config.json").read_bytes()))
    except (OSError, TypeError, CllmError):
        return None


def command(config: TrainConfig) -> str:
    """Return the command line that repeats the run: the settings that differ from their defaults."""
    return _command("train", config)


def _command(name: str, config: CollectConfig | TrainConfig) -> str:
    return shlex.join(["python", "-m", "cllm_core", name, *flags(config)])
