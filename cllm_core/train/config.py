"""Every setting of collecting, training and evaluating: default, bounds and help in one place. Checked when made."""

from dataclasses import dataclass

from cllm_core.errors import ConfigError
from cllm_core.options import option, validate
from cllm_core.tasks import TASKS
from cllm_core.types import DRAFT_INITS, WINDOWS

NOISE_NAMES = ("trajectory", "random", "partial", "progressive", "windows")
LOSS_NAMES = ("soft", "hard")
PRECISIONS = ("auto", "fp32", "bf16", "fp16")
TRACKERS = ("none", "tensorboard", "wandb", "trackio", "mlflow", "comet_ml", "aim", "clearml", "dvclive", "swanlab")


@dataclass(frozen=True)
class CollectConfig:
    """How to collect the target's answers and the Jacobi trajectories of their blocks."""

    out: str = option("", "Folder to write the rows to; a killed run goes on from what is there.")
    model: str = option("smollm2", "Target: smollm2, a model folder, or a hub id.")
    adapter: str = option("", "Adapter folder to merge into the model first.")
    task: str = option("prompts", f"Task whose prompts to answer: {', '.join(TASKS)}.")
    split: str = option("train", "Split of the task.")
    data: str = option("", "Folder or file with the task's data; empty: its public home.")
    limit: int = option(0, "Prompts to use, drawn by the seed (0: all).", minimum=0)
    chat: bool = option(True, "Send prompts through the model's chat template, if it has one.")
    answers: str = option(
        "target",
        "target: the model's own greedy answers; gold: the task's.",
        choices=("target", "gold"),
    )
    trajectories: bool = option(True, "Also collect the states of every block (noise windows does not need them).")
    block_size: int = option(16, "Positions decoded together (n).", minimum=2, maximum=256)
    init: str = option("prompt", "Where the drafts come from.", choices=DRAFT_INITS)
    max_new_tokens: int = option(256, "Most tokens of an answer.", minimum=1, maximum=4096)
    max_length: int = option(2048, "Longest prompt and answer together; longer ones are dropped.", minimum=8)
    batch: int = option(16, "Prompts answered at once.", minimum=1, maximum=1024)
    shard: int = option(64, "Prompts in a shard file: what a killed run loses at most.", minimum=1)
    format: str = option("jsonl", "jsonl: the shards alone; arrow: a data set beside them.", choices=("jsonl", "arrow"))
    seed: int = option(0, "Seed of the sample and of the drafts.", minimum=0, maximum=2**31 - 1)
    device: str = option("auto", "auto or cpu.", choices=("auto", "cpu"))
    dtype: str = option("auto", "auto, float32, bfloat16 or float16.")

    def __post_init__(self) -> None:
        validate(self)
        _need(self.out, "out", "the folder to write the rows to")


@dataclass(frozen=True)
class TrainConfig:
    """How to train: a target (AR loss only) or a consistency model."""

    out: str = option("", "Run folder; the same command resumes a run that was stopped.")
    objective: str = option(
        "consistency", "target: AR loss only; consistency: both losses.", choices=("target", "consistency")
    )
    model: str = option("smollm2", "Model to start from: smollm2, a model folder, or a hub id.")
    adapter: str = option("", "Adapter folder to start from (the target's, say).")
    rows: str = option("", "Folder of collected rows; empty: the gold answers of a task.")
    task: str = option(
        "json", f"Task whose gold answers to learn, when there are no collected rows: {', '.join(TASKS)}."
    )
    split: str = option("train", "Split of the task.")
    data: str = option("", "Folder or file with the task's data; empty: its public home.")
    limit: int = option(0, "Rows to use (0: all).", minimum=0)
    chat: bool = option(True, "Send a task's prompts through the model's chat template, if it has one.")
    max_length: int = option(1024, "Longest prompt and answer together; answers are cut to it.", minimum=8)

    noise: str = option("windows", "What the student reads in place of right tokens.", choices=NOISE_NAMES)
    window: int = option(6, "Guesses behind each frontier, for noise windows.", minimum=1, maximum=256)
    decay: float = option(0.8, "Weight of a cell per token behind the first wrong guess.", minimum=0.01, maximum=1.0)
    on_policy: float = option(
        0.6, "Share of steps that use the model's own guesses, one pass on.", minimum=0.0, maximum=1.0
    )
    refill: float = option(
        0.0,
        "For noise windows: share of the windows of own guesses that end in a fresh draft, as a sliding window does.",
        minimum=0.0,
        maximum=1.0,
    )
    frontiers: int = option(
        0, "For noise windows: frontiers of a stretch that get a window, drawn at random (0: all).", minimum=0
    )
    stretch: int = option(33, "Answer tokens learnt from a row in one step (0: all of them).", minimum=0)
    block_size: int = option(16, "Block size for gold answers; collected rows bring theirs.", minimum=2, maximum=256)
    copies: int = option(2, "Noisy states of each block in one forward pass.", minimum=1, maximum=64)
    cycle: int = option(4, "Blocks per cycle of progressive noise.", minimum=1, maximum=64)
    augment: bool = option(False, "Replace the wrong tokens of collected states by random prompt tokens.")
    refresh: int = option(0, "Collect the states anew from the model every so many steps (0: never).", minimum=0)
    consistency: str = option(
        "global", "global: towards the fixed point; local: the next state.", choices=("global", "local")
    )
    loss: str = option(
        "soft", "soft: forward KL from the teacher; hard: cross-entropy on its tokens.", choices=LOSS_NAMES
    )
    ar_weight: float = option(1.0, "Weight of the AR loss.", minimum=0.0)
    consistency_weight: float = option(0.5, "Weight of the consistency loss.", minimum=0.0)

    method: str = option("lora", "lora: a small adapter; full: every weight.", choices=("lora", "full"))
    rank: int = option(16, "LoRA rank.", minimum=1, maximum=512)
    alpha: int = option(32, "LoRA alpha; the update is scaled by alpha / rank.", minimum=1)
    steps: int = option(600, "Optimizer steps.", minimum=1)
    batch: int = option(2, "Rows in one forward pass on one device.", minimum=1)
    accumulation: int = option(1, "Forward passes per step on one device.", minimum=1)
    lr: float = option(1e-3, "Peak learning rate.", minimum=0.0)
    warmup: float = option(0.03, "Share of the steps over which the rate rises.", minimum=0.0, maximum=1.0)
    lr_floor: float = option(0.05, "Share of the peak that the cosine ends at.", minimum=0.0, maximum=1.0)
    weight_decay: float = option(0.0, "AdamW weight decay.", minimum=0.0)
    clip: float = option(1.0, "Largest gradient norm (0: no clipping).", minimum=0.0)
    precision: str = option(
        "auto", "auto: bf16 on a GPU that has it, else fp32. bf16 is faster on some CPUs too.", choices=PRECISIONS
    )
    gradient_checkpointing: bool = option(False, "Recompute activations in the backward pass to save memory.")
    chunk: int = option(128, "Rows of logits alive at a time.", minimum=1)
    seed: int = option(0, "Seed of the order, the noise and the adapter.", minimum=0, maximum=2**31 - 1)
    device: str = option("auto", "auto or cpu.", choices=("auto", "cpu"))

    save_every: int = option(100, "Steps between checkpoints (the last step always has one).", minimum=1)
    keep: int = option(2, "Newest checkpoints kept; older ones are deleted.", minimum=1)
    log_every: int = option(10, "Steps between lines of the log; every step is in the metrics.", minimum=1)
    tracker: str = option("none", "Also send metrics to this tracker of accelerate.", choices=TRACKERS)

    def __post_init__(self) -> None:
        validate(self)
        _need(self.out, "out", "the run folder")
        if self.consistency == "local" and self.noise != "trajectory":
            raise ConfigError(
                "consistency local compares neighbouring states of a trajectory: it needs noise trajectory."
            )
        if self.consistency == "local" and self.on_policy > 0:
            raise ConfigError(
                "consistency local learns the next state of a collected trajectory, which guesses of the model's own "
                "lack: set on_policy to 0."
            )
        if not self.rows:
            check_stretch(self, self.block_size)
        if self.noise == "trajectory" and self.objective == "consistency" and not self.rows:
            raise ConfigError("noise trajectory needs collected states: give their folder as rows.")
        if self.refresh and self.noise != "trajectory":
            raise ConfigError("refresh renews collected states: it needs noise trajectory.")
        if self.objective == "target" and self.ar_weight == 0:
            raise ConfigError("A target learns by the AR loss alone: ar_weight must be above 0.")


def check_stretch(config: TrainConfig, block_size: int) -> None:
    """Raise ConfigError if the blocks that the noise works on are longer than what a step learns of an answer."""
    if config.objective == "consistency" and config.noise != "windows" and 0 < config.stretch < block_size:
        raise ConfigError(
            f"stretch {config.stretch} is shorter than a block of {block_size}, whose end would never be learnt: set "
            f"it to at least {block_size}, or to 0."
        )


@dataclass(frozen=True)
class EvaluateConfig:
    """What to measure a pair on."""

    pair: str = option("", "Pair to measure (empty: smollm2, the bundled model alone).")
    model: str = option("", "Measure adapters of this model instead of a pair: smollm2, a model folder, or a hub id.")
    adapter: str = option("", "With model: the target's adapter folder (empty: the model as it is).")
    cllm_adapter: str = option("", "With model: the consistency model made from it, an adapter's folder or a model's.")
    chat: bool = option(True, "With model: send prompts through its chat template, if it has one.")
    task: str = option("json", f"Task whose prompts to use: {', '.join(TASKS)}.")
    split: str = option("", "Split, never one trained on (empty: the first of test, dev and unseen that there is).")
    data: str = option("", "Folder or file with the task's data; empty: its public home.")
    limit: int = option(200, "Prompts to use, drawn by the seed (0: all).", minimum=0)
    lanes: str = option(
        "all",
        "all: both models, one token at a time and by Jacobi; race: the target one at a time and the CLLM by Jacobi "
        "only, in a third of the time, without comparing the CLLM's ids with its own.",
        choices=("all", "race"),
    )
    allow_execution: bool = option(False, "Task humaneval: check answers by running them, in a guarded process.")
    json: str = option("", "File to write the measures to.")
    block_size: int = option(0, "Positions decoded together (0: what suits the pair).", minimum=0, maximum=256)
    window: str = option("auto", "auto: what suits the pair.", choices=("auto", *WINDOWS))
    max_new_tokens: int = option(0, "Most tokens of an answer (0: what suits the task).", minimum=0, maximum=4096)
    seed: int = option(0, "Seed of the sample and of the drafts.", minimum=0, maximum=2**31 - 1)
    device: str = option("auto", "auto, cpu or cuda.")
    dtype: str = option("auto", "auto, float32, bfloat16 or float16.")
    attention: str = option("auto", "auto, sdpa, eager or flash_attention_2.")

    def __post_init__(self) -> None:
        validate(self)
        if self.pair and self.model:
            raise ConfigError("pair and model name two different things to measure: give one of them.")
        if (self.adapter or self.cllm_adapter) and not self.model:
            raise ConfigError("adapter and cllm_adapter need model, the model that they belong to.")
        if self.allow_execution and self.task != "humaneval":
            raise ConfigError(f"allow_execution belongs to task humaneval: task {self.task} runs no programs.")


def _need(value: str, name: str, what: str) -> None:
    if not value:
        raise ConfigError(f"{name} is missing: name {what}.")
