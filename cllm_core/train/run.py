"""One training run from its settings to its result: model, rows, cost, loop, adapter, card. Knows no command line."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState

from cllm_core import models
from cllm_core.errors import ConfigError, TrainingError
from cllm_core.train.adapter import adapter_rank, causal_lm, make_trainable, save_adapter, save_model
from cllm_core.train.card import CARD, write_card
from cllm_core.train.checkpoint import writing
from cllm_core.train.config import TrainConfig, check_stretch
from cllm_core.train.cost import estimate
from cllm_core.train.data import fit_rows, gold_rows
from cllm_core.train.folder import RunFolder, Say
from cllm_core.train.loop import Loop
from cllm_core.train.memory import memory_advice
from cllm_core.train.processes import leaving_together
from cllm_core.train.rows import Row
from cllm_core.train.signals import Stop, stop_on_signals
from cllm_core.train.store import check_source, largest_id, read_rows
from cllm_core.train.student import Student, check_packing

if TYPE_CHECKING:
    from cllm_core.hf import LoadedModel

# called before step 1, and with the folder of each checkpoint while that is being written
Watch = Callable[["LoadedModel", int, Path | None], None]


@dataclass(frozen=True)
class RunResult:
    """How a run ended."""

    folder: Path
    steps: int  # done so far
    finished: bool


def train_command(config: TrainConfig) -> RunResult:
    """Train as the settings say; on SIGTERM or SIGINT, save a checkpoint and return."""
    with stop_on_signals() as stop, leaving_together():
        return train(config, stop=stop)


def train(
    config: TrainConfig,
    *,
    stop: Stop = lambda: False,
    tell: Say = print,
    watch: Watch = lambda loaded, step, checkpoint: None,
) -> RunResult:
    """Start a run, or resume the one in its folder, and return how it ended. `stop` is asked at every step.

    `watch` sees the model as it is before training and at every checkpoint, in the main process only.

    Raises ConfigError, a ModelError, TaskError or TrainingError, each with one sentence for the user.
    """
    accelerator, notes = make_accelerator(config)
    folder = RunFolder(Path(config.out), accelerator.is_main_process, tell)
    folder.open(config)
    for note in notes:
        folder.say(note)
    if accelerator.num_processes > 1:
        folder.say(f"{accelerator.num_processes} processes share the work.")
    loaded = load_target(config.model, str(accelerator.device), _dtype(config, accelerator.mixed_precision))
    rows = training_rows(config, loaded, folder.say)
    model = make_trainable(
        loaded.model,
        method=config.method,
        rank=config.rank,
        alpha=config.alpha,
        seed=config.seed,
        start=start_adapter(config.adapter),
    )
    lm = causal_lm(model)
    rank = adapter_rank(model)
    if rank not in (None, config.rank):
        folder.say(f"The run goes on with the rank of the adapter that it starts from, {rank}.")
    check_packing(lm, loaded.info.name)
    if config.gradient_checkpointing:
        lm.activation_checkpointing_enable()
    loop = Loop(config, accelerator, Student(lm, loss=config.loss, chunk=config.chunk), rows, folder)
    if loop.resume():
        folder.say(f"Resuming after step {loop.step}.")
        if loop.step >= config.steps and (folder.path / CARD).exists():
            folder.say(f"The run in {folder.path} is finished: there is nothing left to do.")
            return RunResult(folder.path, loop.step, True)
    with memory_advice(lambda: _lighter(loop)):
        return _drive(loop, model, loaded, stop, watch)


def _lighter(loop: Loop) -> str:
    return (
        f"It was in step {loop.step + 1}; {loop.last_good()}. Give the command again in another folder with a smaller "
        "batch, a shorter stretch, a smaller window or chunk, or with gradient checkpointing."
    )


def _drive(loop: Loop, model: Any, loaded: "LoadedModel", stop: Stop, watch: Watch) -> RunResult:
    config, folder, accelerator = loop.config, loop.folder, loop.accelerator
    folder.say(estimate(loop.rows, loaded.info.name).sentence())
    if config.tracker != "none":
        accelerator.init_trackers(folder.path.name, config=vars(config))
    if loop.step == 0:
        if folder.writes:
            watch(loaded, 0, None)
        if loop.asked(stop):  # before anything is trained: the run begins anew when it is resumed
            folder.say("Stopped before the first step.")
            return RunResult(folder.path, 0, False)

    def at_checkpoint(checkpoint: Path) -> None:
        if config.method == "lora":
            with writing(folder.checkpoints):
                save_adapter(model, checkpoint / "adapter", base=loaded.info.name)
        watch(loaded, loop.step, checkpoint)

    finished = loop.run(stop, at_checkpoint)
    if not finished:
        folder.say(f"Stopped after step {loop.step} of {config.steps}: the same command goes on from there.")
    elif folder.writes:
        with writing(folder.checkpoints):
            _save_result(config, folder, model, loaded)
        write_card(
            folder.path,
            config,
            loaded.info,
            rows=len(loop.rows),
            rank=adapter_rank(model),
            steps=loop.step,
            tokens=loop.tokens,
            seconds=loop.seconds,
        )
    for tracker in accelerator.trackers:
        tracker.finish()
    return RunResult(folder.path, loop.step, finished)


def _save_result(config: TrainConfig, folder: RunFolder, model: Any, loaded: "LoadedModel") -> None:
    if config.method == "lora":
        size = save_adapter(model, folder.path / "adapter", base=loaded.info.name)
        folder.say(f"Finished: the adapter is in {folder.path / 'adapter'} ({size / 1e6:.1f} MB).")
    else:
        save_model(model, loaded.tokenizer, folder.path / "model")
        folder.say(f"Finished: the model is in {folder.path / 'model'}.")


def start_adapter(adapter: str) -> Path | None:
    """Return the folder of the adapter to go on from; ConfigError if it is none."""
    if not adapter:
        return None
    if not (Path(adapter) / "adapter_config.json").exists():
        raise ConfigError(f"There is no adapter in {adapter}: name a folder that holds adapter_config.json.")
    return Path(adapter)


def training_rows(config: TrainConfig, loaded: "LoadedModel", say: Say) -> list[Row]:
    """Return the collected rows, or a task's gold answers, that fit; says what was cut or left out."""
    if config.rows:
        check_source(Path(config.rows), loaded.info)
        rows = read_rows(Path(config.rows))[: config.limit or None]
        if (largest := largest_id(rows)) >= loaded.vocab_size:
            raise TrainingError(
                f"The rows in {config.rows} hold the token id {largest}, and {loaded.info.name} has ids up to "
                f"{loaded.vocab_size - 1}: collect rows from the model that is trained."
            )
        if (
            config.noise == "trajectory"
            and config.objective == "consistency"
            and not any(any(row.states) for row in rows)
        ):
            raise TrainingError(
                f"The rows in {config.rows} hold no states: collect them with trajectories, or use another noise."
            )
    else:
        rows = gold_rows(
            loaded,
            task=config.task,
            split=config.split,
            data=config.data,
            limit=config.limit,
            seed=config.seed,
            chat=config.chat,
            block_size=config.block_size,
        )
    check_stretch(config, max((row.block_size for row in rows), default=0))
    kept, notes = fit_rows(rows, min(config.max_length, loaded.context))
    for note in notes:
        say(note)
    say(f"{len(kept):,} rows to train on.")
    return kept


def load_target(model: str, device: str, dtype: str) -> "LoadedModel":
    """Load a model object of this run's own, which training may change in place, with nothing merged into it."""
    from cllm_core.hf import load_model

    files = models.locate(models.ModelSource.parse(model))
    if files.adapter is not None:
        raise ConfigError(f"{files.name} is an adapter: name its base as model and the adapter's folder as adapter.")
    return load_model(files.folder, name=files.name, revision=files.revision, device=device, dtype=dtype)


def make_accelerator(config: TrainConfig) -> tuple[Accelerator, list[str]]:
    """Return the accelerator, and what the user should know of the precision it uses."""
    cuda = torch.cuda.is_available() and config.device != "cpu"
    wanted, notes = config.precision, []
    if wanted == "auto":
        wanted = "bf16" if cuda and torch.cuda.is_bf16_supported() else "fp32"
    if not cuda and (wanted == "fp16" or (wanted == "bf16" and not cpu_has_bf16())):
        notes.append(f"{wanted} gains nothing on this CPU: this run uses fp32.")
        wanted = "fp32"
    if config.tracker != "none" and find_spec(config.tracker) is None:
        raise ConfigError(f"The tracker {config.tracker} needs a package of that name: pip install {config.tracker}.")
    AcceleratorState._reset_state()  # an earlier run in this process may have had another precision
    accelerator = Accelerator(
        cpu=not cuda,
        mixed_precision="no" if wanted == "fp32" else wanted,
        log_with=None if config.tracker == "none" else config.tracker,
        project_dir=config.out,
    )
    return accelerator, notes


def cpu_has_bf16() -> bool:
    """Return whether this CPU multiplies bfloat16 matrices by instructions of its own; others are slower with them."""
    return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())


def _dtype(config: TrainConfig, mixed_precision: str) -> str:
    """Return the dtype to load in: trained weights stay float32, frozen ones may be half as large."""
    return "bfloat16" if mixed_precision == "bf16" and config.method == "lora" else "float32"
