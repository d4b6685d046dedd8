"""Random training rows for the tiny models, and settings for short training runs on them."""

import json
import random
from pathlib import Path
from typing import Any

import model_folders

from cllm_core.train.config import TrainConfig
from cllm_core.train.rows import Row

VOCABULARY, END = 60, 1


def random_ids(rng: random.Random, count: int) -> tuple[int, ...]:
    return tuple(rng.randrange(2, VOCABULARY) for _ in range(count))


def random_row(seed: int, *, prompt: int = 6, answer: int = 13, block_size: int = 4, states: int = 3) -> Row:
    """A row with a random prompt and answer (end token last) and `states` random states a block."""
    rng = random.Random(seed)
    answer_ids = (*random_ids(rng, answer - 1), END)
    row = Row(f"row-{seed}", random_ids(rng, prompt), answer_ids, block_size)
    blocks = tuple(tuple(random_ids(rng, len(block)) for _ in range(states)) for block in row.blocks())
    return Row(row.id, row.prompt_ids, row.answer_ids, block_size, blocks)


def write_prompts(path: Path, count: int = 8) -> Path:
    """A file of prompts with answers of different lengths."""
    rows = [{"prompt": f"count {n} ->", "answer": "ab" * (n % 4 + 2)} for n in range(count)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def folders(root: Path) -> dict[str, str]:
    """Write a tiny model and a prompt file; return the settings that name them."""
    model = model_folders.write_model(root / "model", "llama")
    return {"model": str(model), "task": "prompts", "data": str(write_prompts(root / "prompts.jsonl"))}


def train_config(out: Path, where: dict[str, str], **changes: Any) -> TrainConfig:
    values: dict[str, Any] = {
        "out": str(out), "steps": 6, "batch": 2, "window": 3, "stretch": 8, "block_size": 4, "rank": 2, "lr": 1e-2,
        "on_policy": 0.5, "device": "cpu", "save_every": 3, "log_every": 1,
    }  # fmt: skip
    return TrainConfig(**{**values, **where, **changes})
