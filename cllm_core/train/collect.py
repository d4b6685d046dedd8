"""Collects training rows: the target's answers to a task's prompts, cleaned, with the states of their blocks.

Prompts are cut into shards, a file each; processes take turns at them, and a killed run goes on with the shards that
are missing. A shard's rows depend on nothing outside it, so any number of processes gives the same set.
"""

import json
import time
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from accelerate import PartialState

from cllm_core import models
from cllm_core.decoders.jacobi import draft_guesser
from cllm_core.errors import ConfigError, PromptError, TrainingError
from cllm_core.files import write_text
from cllm_core.sampling import describe_defaults
from cllm_core.tasks import Example, get_task
from cllm_core.train.answers import ReadRow, greedy_answers, read_answers
from cllm_core.train.clean import why_dropped
from cllm_core.train.config import CollectConfig
from cllm_core.train.cost import estimate
from cllm_core.train.data import end_token
from cllm_core.train.folder import Say, check_same, write_settings
from cllm_core.train.memory import memory_advice
from cllm_core.train.processes import leaving_together
from cllm_core.train.rows import Row, State
from cllm_core.train.signals import Stop, stop_on_signals
from cllm_core.train.store import SUMMARY, Dropped, read_shards, shard_path, write_arrow, write_shard, write_source
from cllm_core.train.student import check_packing
from cllm_core.train.trajectories import jacobi_states
from cllm_core.types import DecodeConfig

if TYPE_CHECKING:
    from cllm_core.hf import LoadedModel

FREE = frozenset({"out", "format", "device", "batch"})  # settings that may change between stop and resume


@dataclass(frozen=True)
class CollectResult:
    """What lies in the folder when a process is through."""

    folder: Path
    rows: int
    dropped: Counter[str]  # prompts that gave no row, by reason
    finished: bool


def collect_command(config: CollectConfig) -> CollectResult:
    """Collect as the settings say; SIGTERM or SIGINT ends the run after the shard at hand."""
    with stop_on_signals() as stop, leaving_together():
        return collect(config, stop=stop)


def collect(config: CollectConfig, *, stop: Stop = lambda: False, tell: Say = print) -> CollectResult:
    """Collect what is missing in the folder, and say what was dropped and what training on it will cost."""
    process = PartialState(cpu=config.device == "cpu" or not torch.cuda.is_available())
    folder = Path(config.out)
    say: Say = tell if process.is_main_process else lambda line: None
    _open(folder, config, process.is_main_process)
    task = get_task(config.task)
    data = Path(config.data) if config.data else None
    examples = task.load(config.split, data=data, limit=config.limit or None, seed=config.seed)
    for note in task.notes:
        say(note)
    shards = [examples[at : at + config.shard] for at in range(0, len(examples), config.shard)]
    missing = [number for number in range(len(shards)) if not shard_path(folder, number).exists()]
    own = [number for number in missing if number % process.num_processes == process.process_index]
    if missing and process.is_main_process:
        (folder / SUMMARY).unlink(missing_ok=True)  # it is written when nothing is missing any more
    if process.num_processes > 1:
        say(f"{process.num_processes} processes share the work.")
    if len(missing) < len(shards):
        say(f"{len(shards) - len(missing)} of {len(shards)} shards are there already.")
    loaded = load_collector(config, str(process.device)) if own else None
    if loaded:
        write_source(folder, loaded.info)
        for note in describe_defaults(DecodeConfig(model_defaults=False), loaded.generation):
            say(note)
    for number in own:
        if stop():
            break
        assert loaded is not None
        started = time.perf_counter()
        with memory_advice(lambda: "Collect with a smaller batch; the shards that are written stay."):
            results = collect_shard(loaded, shards[number], config)
        write_shard(shard_path(folder, number), results)
        say(f"shard {number + 1}/{len(shards)}: {_tally(results)}, {time.perf_counter() - started:.1f} s")
    process.wait_for_everyone()
    return _finish(folder, config, len(shards), process.is_main_process, say)


def collect_shard(loaded: "LoadedModel", examples: Sequence[Example], config: CollectConfig) -> list[Row | Dropped]:
    """Answer the prompts of a shard, drop what is unfit, and follow the blocks of the rest to their fixed points."""
    found: dict[int, Row | Dropped] = {}
    prompts: dict[int, State] = {}
    longest = min(config.max_length, loaded.context) - 1
    for number, example in enumerate(examples):
        try:
            prompt = loaded.encode(example.chat(), chat=config.chat).ids
        except PromptError:  # such as a conversation that the model's chat template has no place for
            found[number] = Dropped(example.id, "prompt_refused")
            continue
        if len(prompt) <= longest:
            prompts[number] = prompt
        else:
            found[number] = Dropped(example.id, "prompt_too_long")
    fit = list(prompts)
    fit.sort(key=lambda number: len(prompts[number]))  # rows of like length waste little padding
    for at in range(0, len(fit), config.batch):
        batch = fit[at : at + config.batch]
        read = _answers(loaded, [(examples[number], prompts[number]) for number in batch], config)
        found |= _rows(loaded, {number: (examples[number].id, row) for number, row in zip(batch, read)}, config)
    return [found[number] for number in range(len(examples))]


def _answers(loaded: "LoadedModel", asked: Sequence[tuple[Example, State]], config: CollectConfig) -> list[ReadRow]:
    if config.answers == "target":
        return greedy_answers(
            loaded.model,
            [prompt for _, prompt in asked],
            max_new_tokens=config.max_new_tokens,
            eos_ids=loaded.eos_ids,
            context=min(config.max_length, loaded.context),
        )
    end = end_token(loaded)
    pairs = []
    for example, prompt in asked:
        if not example.answer:
            raise TrainingError(f"Example {example.id} of {config.task} has no gold answer: use answers target.")
        ids = loaded.tokenizer(example.answer, add_special_tokens=False)["input_ids"]
        pairs.append((prompt, (*ids, end)[: config.max_new_tokens]))  # one that is cut has no end and is dropped
    return read_answers(loaded.model, pairs)


def _rows(
    loaded: "LoadedModel", read: dict[int, tuple[str, ReadRow]], config: CollectConfig
) -> dict[int, Row | Dropped]:
    found: dict[int, Row | Dropped] = {}
    kept: dict[int, tuple[str, ReadRow]] = {}
    for number, (name, row) in read.items():
        reason = why_dropped(row.prompt_ids, row.answer_ids, eos_ids=loaded.eos_ids, max_length=config.max_length)
        if reason:
            found[number] = Dropped(name, reason)
        else:
            kept[number] = (name, row)
    states: Sequence[tuple[tuple[State, ...], ...]] = [()] * len(kept)
    if config.trajectories and kept:
        rows = [row for _, row in kept.values()]
        guesses = [_drafts(loaded, name, row, config) for name, row in kept.values()]
        states = jacobi_states(loaded.model, rows, guesses, config.block_size)
    for (number, (name, row)), trajectories in zip(kept.items(), states, strict=True):
        found[number] = Row(name, row.prompt_ids, row.answer_ids, config.block_size, trajectories)
    return found


def _drafts(loaded: "LoadedModel", name: str, row: ReadRow, config: CollectConfig) -> list[State]:
    """Return a first guess for each block, by the decoder's own rule and a seed of the row's own."""
    seed = zlib.crc32(f"{config.seed}/{name}".encode()) % 2**31
    guess = draft_guesser(
        DecodeConfig(init=config.init, seed=seed), row.prompt_ids, vocab_size=loaded.vocab_size, pad_id=loaded.pad_id
    )
    before = (row.prompt_ids[-1], *row.answer_ids)
    starts = range(0, len(row.answer_ids), config.block_size)
    return [tuple(guess(min(config.block_size, len(row.answer_ids) - at), before[at])) for at in starts]


def load_collector(config: CollectConfig, device: str) -> "LoadedModel":
    """Load the target, with its adapter merged, and check that packed blocks can be fed to it."""
    source = models.ModelSource.parse(config.model)
    if config.adapter:
        source = models.ModelSource(source.kind, source.where, source.revision, config.adapter)
    loaded = models.load(source, device=device, dtype=config.dtype)
    check_packing(loaded.model, loaded.info.name)
    return loaded


def _open(folder: Path, config: CollectConfig, writes: bool) -> None:
    written = folder / "config.json"
    if written.exists():
        check_same(written, asdict(config), FREE)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"Cannot write the folder {folder}: {error.strerror}.") from error
    if writes:
        write_settings(written, config)


def _finish(folder: Path, config: CollectConfig, shards: int, main: bool, say: Say) -> CollectResult:
    rows, dropped = read_shards(folder)
    finished = all(shard_path(folder, number).exists() for number in range(shards))
    reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(dropped.items())) or "none"
    say(f"{len(rows):,} rows in {folder}; dropped: {reasons}.")
    if not finished:
        say("Stopped before the last shard: the same command goes on from there.")
    elif main:
        cost = estimate(rows, config.model)
        summary = {"rows": len(rows), "dropped": dict(dropped), "cost": asdict(cost)}
        write_text(folder / SUMMARY, json.dumps(summary, indent=1) + "\n")
        if config.format == "arrow" and rows:
            write_arrow(folder, rows)
        say(cost.sentence())
    return CollectResult(folder, len(rows), dropped, finished)


def _tally(results: Sequence[Row | Dropped]) -> str:
    kept = sum(isinstance(entry, Row) for entry in results)
    return f"{kept} rows, {len(results) - kept} dropped"
