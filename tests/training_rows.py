"""Random training rows for the tiny models, and settings for short training runs on them."""

import json
import os
import random
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import model_folders

from cllm_core.train.config import CollectConfig, TrainConfig
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


def collect_config(out: Path, where: dict[str, str], **changes: Any) -> CollectConfig:
    values: dict[str, Any] = {
        "out": str(out), "block_size": 4, "max_new_tokens": 12, "batch": 3, "shard": 3, "device": "cpu",
        "max_length": 64,
    }  # fmt: skip
    return CollectConfig(**{**values, **where, **changes})


def launch(function: str, config: Any, folder: Path, *, processes: int) -> str:
    """Run a command of the library in several CPU processes under `accelerate launch`; return what it printed."""
    script = folder / "launched.py"
    module, name = function.rsplit(".", 1)
    kind, settings = type(config).__name__, json.dumps(asdict(config))
    script.write_text(
        f"import json\nfrom torch import distributed\nfrom {module} import {name}\n"
        f"from cllm_core.train.config import {kind}\n"
        f"if __name__ == '__main__':\n    {name}({kind}(**json.loads({settings!r})))\n"
        "    assert not distributed.is_initialized(), 'a process that ends with its group open can abort'\n"
    )
    command = [sys.executable, "-m", "accelerate.commands.launch", "--num_processes", str(processes)]
    command += ["--multi_gpu"]  # the launcher's name for several processes; without a GPU they are CPU processes
    command += ["--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", "0"]
    environment = {**os.environ, "PYTHONPATH": os.getcwd(), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([*command, str(script)], capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    assert f"{processes} processes share the work." in done.stdout
    return done.stdout
