"""Settings that are known to work, from a few minutes on a laptop to hours on a GPU. A row each; values only."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Preset:
    """Settings by name: what differs from the fields' own defaults."""

    title: str
    about: str
    train: Mapping[str, Any]  # of TrainConfig
    job: Mapping[str, Any]  # of JobConfig


# Target and consistency learnt together from the raw base on gold answers, by dense windows of guesses. On a CPU
# without bf16 instructions a run says so and uses fp32.
PRESETS = {
    "try": Preset(
        "Try it",
        "Under five minutes on two quiet CPU cores: 60 small steps on notes to JSON. Enough to see tokens arrive "
        "together; the answers are still rough.",
        {
            "task": "json", "limit": 400, "chat": False, "steps": 60, "save_every": 20, "lr": 1e-3,
            "precision": "bf16",
        },
        {"answer_tokens": 64, "probe_prompts": 2, "probe_tokens": 40, "test_prompts": 4},
    ),
    "small": Preset(
        "Small",
        "About half an hour on two CPU cores: 600 steps on 3,000 notes, and a report that can be relied on.",
        {
            "task": "json", "limit": 3000, "chat": False, "steps": 600, "save_every": 100, "lr": 1e-3,
            "precision": "bf16",
        },
        {"answer_tokens": 160, "probe_prompts": 3, "probe_tokens": 64, "test_prompts": 20},
    ),
    "gpu": Preset(
        "One GPU",
        "For a GPU with bfloat16: wider windows, whole answers, large batches, all prompts of the task.",
        {
            "task": "json", "limit": 0, "chat": False, "steps": 2000, "batch": 16, "window": 12, "decay": 0.9,
            "stretch": 64, "rank": 64, "alpha": 128, "lr": 5e-4, "save_every": 250,
        },
        {"answer_tokens": 160, "probe_prompts": 4, "probe_tokens": 96, "test_prompts": 100, "decode_block": 24},
    ),
}  # fmt: skip
