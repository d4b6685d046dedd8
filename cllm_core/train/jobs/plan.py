"""What a job is asked to do: written once into its folder, read by every process of the job. Loads nothing."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from cllm_core.errors import FormatError
from cllm_core.io import parse_json
from cllm_core.options import option, validate
from cllm_core.train.config import CollectConfig, TrainConfig
from cllm_core.types import DecodeConfig

FILE = "job.json"
VERSION = 1
PROMPTS, HELD_OUT, ROWS = "prompts.jsonl", "held-out.jsonl", "rows"
_HELD_OUT_SPLITS = ("dev", "test", "unseen")


@dataclass(frozen=True)
class JobConfig:
    """What a job does around its training."""

    title: str = option("", "What to call the result (empty: the model and the task).", label="Name of the result")
    answers: str = option(
        "gold",
        "gold: the task's own answers, so that target and consistency are learnt together; target: the model answers "
        "the prompts first, and learns to reach its own answers faster.",
        choices=("gold", "target"),
        label="Answers to learn",
    )
    answer_tokens: int = option(
        160, "Most tokens of an answer.", minimum=8, maximum=4096, step=1, label="Answer tokens"
    )
    probe_prompts: int = option(
        2, "Held-out prompts decoded at every checkpoint.", minimum=1, maximum=8, step=1, label="Probe prompts"
    )
    probe_tokens: int = option(
        48, "Tokens decoded for each of them.", minimum=8, maximum=256, step=1, label="Probe tokens"
    )
    test_prompts: int = option(
        10, "Held-out prompts of the report.", minimum=1, maximum=500, step=1, label="Test prompts"
    )
    decode_block: int = option(
        16, "Block size that probe and report decode with.", minimum=2, maximum=256, step=1, label="Decoding block"
    )
    guard: bool = option(True, "Pause the run when its answers collapse.", label="Collapse guard")
    repetition_limit: float = option(
        0.5, "Pause when more of the probe's 4-grams than this are repeats.", minimum=0.05, maximum=1.0, step=0.05,
        label="Repetition limit",
    )  # fmt: skip
    agreement_drop: float = option(
        0.4, "Pause when agreement falls so far below its best value.", minimum=0.05, maximum=1.0, step=0.05,
        label="Agreement drop",
    )  # fmt: skip

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True)
class JobPlan:
    """A whole job. Paths are made from its folder, so that the folder can be moved; none comes from a form."""

    train: Mapping[str, Any]  # fields of TrainConfig, without `out`, `rows` and a prompt file
    job: JobConfig = JobConfig()
    owner: str = ""  # whose job it is; empty: everybody's
    made: float = 0.0  # seconds since the epoch
    uploaded: bool = False  # whether the prompts are PROMPTS and HELD_OUT beside it

    def __post_init__(self) -> None:
        self.train_config(Path("job"))  # a bad setting is found when the job is made

    @property
    def stages(self) -> tuple[str, ...]:
        """The stages, in their order."""
        return ("collect", "train", "evaluate") if self.job.answers == "target" else ("train", "evaluate")

    def train_config(self, folder: Path) -> TrainConfig:
        """Return the settings of the training stage."""
        values = {**self.train, "out": str(folder)}
        if self.uploaded:
            values |= {"task": "prompts", "data": str(folder / PROMPTS)}
        if self.job.answers == "target":
            values["rows"] = str(folder / ROWS)
        return TrainConfig(**values)

    def collect_config(self, folder: Path) -> CollectConfig:
        """Return the settings of the collecting stage."""
        train = self.train_config(folder)
        names = ("model", "adapter", "task", "split", "data", "limit", "chat", "block_size", "max_length", "seed")
        shared = {name: getattr(train, name) for name in names}
        return CollectConfig(
            out=str(folder / ROWS),
            **shared,
            max_new_tokens=self.job.answer_tokens,
            trajectories=train.noise == "trajectory",
            device=train.device,
        )

    def decode_config(self, tokens: int | None = None) -> DecodeConfig:
        """Return how probe and report decode: greedily, a sliding window, the model's penalties left out."""
        return DecodeConfig(
            block_size=self.job.decode_block,
            window="sliding",
            max_new_tokens=tokens or self.job.answer_tokens,
            seed=self.train_config(Path("job")).seed,
            model_defaults=False,
        )

    def held_out(self, folder: Path, splits: tuple[str, ...]) -> tuple[str, str]:
        """Return the split and the data (a path, or "") of prompts that training does not see."""
        if self.uploaded:
            return "test", str(folder / HELD_OUT)
        train = self.train_config(folder)
        found = [split for split in _HELD_OUT_SPLITS if split in splits and split != train.split]
        return (found or [train.split])[0], train.data


def write_plan(folder: Path, plan: JobPlan) -> None:
    """Write the plan into the job's folder."""
    data = {
        "version": VERSION,
        "owner": plan.owner,
        "made": plan.made,
        "uploaded": plan.uploaded,
        "job": asdict(plan.job),
        "train": dict(plan.train),
    }
    text = json.dumps(data, ensure_ascii=False, indent=1) + "\n"
    (folder / FILE).write_text(text, encoding="utf-8", errors="backslashreplace")  # half a surrogate pair in a title


def read_plan(folder: Path) -> JobPlan:
    """Read the plan of a job's folder; FormatError if it is none."""
    path = folder / FILE
    try:
        data = parse_json(path.read_bytes())
        known = {field.name for field in fields(JobConfig)}
        return JobPlan(
            train=dict(data["train"]),
            job=JobConfig(**{name: value for name, value in data["job"].items() if name in known}),
            owner=str(data["owner"]),
            made=float(data["made"]),
            uploaded=bool(data["uploaded"]),
        )
    except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise FormatError(f"The job file {path.parent.name}/{FILE} is damaged: {error!r}.") from error
