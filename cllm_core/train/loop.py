"""The training loop: plan a step, pack it, one forward and backward a micro-batch, one update. Knows no task.

One process on a CPU and many under `accelerate launch` run the same code and, for the same rows a step, the same
updates: noise is keyed by (seed, step, micro-batch) and losses are divided by the counts of the whole step.
"""

import math
import random
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import gather_object
from torch import Tensor, nn

from cllm_core.errors import TrainingError
from cllm_core.train import checkpoint
from cllm_core.train.adapter import load_trainable_state, trainable_state
from cllm_core.train.config import TrainConfig
from cllm_core.train.data import Plan, choose_stretch, micro_batches
from cllm_core.train.folder import RunFolder
from cllm_core.train.noise import NoiseSettings, advance, make_item, refill_tails
from cllm_core.train.pack import Item, PackedBatch, pack
from cllm_core.train.refresh import refresh_states
from cllm_core.train.rows import Row
from cllm_core.train.store import checksum, row_from_dict, row_to_dict
from cllm_core.train.student import LossSums, Student, split_predictions

SaveExtra = Callable[[Any], None]


@dataclass(frozen=True)
class StepTotals:
    """Counts of one step over all micro-batches and processes: what the losses are divided by."""

    answer_tokens: float
    cell_weight: float
    tokens: float
    stop: bool


class Loop:
    """Takes a student from one step to the next. Holds the run's moving parts; reads no file but its checkpoints."""

    def __init__(
        self, config: TrainConfig, accelerator: Accelerator, student: Student, rows: list[Row], folder: RunFolder
    ) -> None:
        self.config, self.accelerator, self.rows, self.folder = config, accelerator, rows, folder
        self.step, self.tokens, self.seconds = 0, 0, 0.0  # optimizer steps done, tokens fed in them, their time
        self._renewed: dict[int, Row] = {}  # rows, by number, whose states were collected anew for the coming steps
        self._rows_sum = checksum(rows)
        self._plain = student
        trained = [parameter for parameter in student.parameters() if parameter.requires_grad]
        optimizer = torch.optim.AdamW(trained, lr=config.lr, weight_decay=config.weight_decay)
        self._student, self._optimizer = accelerator.prepare(student, optimizer)
        rows_per_step = config.batch * config.accumulation * accelerator.num_processes
        self._plan = Plan(tuple(_length(row, config.stretch) for row in rows), rows_per_step, config.seed)
        self._noise = NoiseSettings(
            config.window,
            config.frontiers,
            config.refill,
            config.copies,
            config.cycle,
            config.augment,
            local=config.consistency == "local",
        )

    def resume(self) -> bool:
        """Go back to the newest whole checkpoint; return whether there was one."""
        found = checkpoint.load_newest(self.folder.checkpoints, self.folder.say)
        if found is not None:
            load_trainable_state(self._plain, dict(found.weights))
            self._optimizer.load_state_dict(found.optimizer["optimizer"])
            if self.accelerator.scaler is not None and found.optimizer["scaler"]:
                self.accelerator.scaler.load_state_dict(found.optimizer["scaler"])
            progress = found.progress
            if progress.get("rows", self._rows_sum) != self._rows_sum:
                raise TrainingError(
                    f"The rows are not those that the run in {self.folder.path} began with: resume it with the same "
                    "data, or choose another folder."
                )
            self.step, self.tokens, self.seconds = found.step, progress["tokens"], progress.get("seconds", 0.0)
            self._renewed = {int(number): row_from_dict(row) for number, row in progress.get("renewed", {}).items()}
        self.folder.forget_metrics_after(self.step)
        return found is not None

    def run(self, stop: Callable[[], bool], extra: SaveExtra = lambda path: None) -> bool:
        """Train up to the last step, or until `stop` says so; return whether the run is finished.

        A halt that is called at a checkpoint, the last one too, leaves that checkpoint as the run's state.
        """
        frozen = _fingerprint(self._plain)
        began = self.step
        while self.step < self.config.steps:
            metrics, stopping = self._one_step(stop)
            if self.step == began + 1:
                _check_frozen(self._plain, frozen)
            self._report(metrics)
            last = stopping or self.step == self.config.steps
            if last or self.step % self.config.save_every == 0:
                self.save(extra)
                if not stopping and self.asked(stop):  # what looked at the checkpoint may have called a halt
                    return False
            if stopping:
                break
        return self.step >= self.config.steps

    def asked(self, stop: Callable[[], bool]) -> bool:
        """Return whether any process was asked to stop; all of them must call it."""
        return float(self._over_processes(torch.tensor([float(stop())]))[0]) > 0

    def save(self, extra: SaveExtra = lambda path: None) -> None:
        """Write a checkpoint; all processes wait for it."""
        renewed = {number: row for part in gather_object([self._renewed]) for number, row in part.items()}
        if self.folder.writes:
            scaler = self.accelerator.scaler
            state = checkpoint.Checkpoint(
                step=self.step,
                weights=trainable_state(self._plain),
                optimizer={
                    "optimizer": self._optimizer.state_dict(),
                    "scaler": scaler.state_dict() if scaler is not None else {},
                },
                progress={
                    "rows": self._rows_sum,
                    "tokens": self.tokens,
                    "seconds": self.seconds,
                    "renewed": {str(number): row_to_dict(row) for number, row in renewed.items()},
                },
            )
            checkpoint.save(self.folder.checkpoints, state, keep=self.config.keep, extra=extra)
        self.accelerator.wait_for_everyone()

    def _one_step(self, stop: Callable[[], bool]) -> tuple[dict[str, Any], bool]:
        started = time.perf_counter()
        if self.config.refresh and self.step and self.step % self.config.refresh == 0:
            self._refresh()
        batches = list(self._batches())
        totals = self._totals(batches, stop())
        rate = learning_rate(self.config, self.step)
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        sums = self.accumulate(batches, totals)
        norm = self._update()
        self.step += 1
        self.tokens += round(totals.tokens)
        seconds = time.perf_counter() - started
        self.seconds += seconds
        metrics = {
            "step": self.step,
            **sums,
            "lr": rate,
            "gradient_norm": norm,
            "tokens": self.tokens,
            "seconds": seconds,
        }
        return metrics, totals.stop

    def _refresh(self) -> None:
        """Collect the states of this process's rows of the coming steps anew from the model as it is."""
        steps = range(self.step, min(self.step + self.config.refresh, self.config.steps))
        numbers = {row for step in steps for _, rows in self._own_rows(step) for row in rows}
        with self.accelerator.autocast():
            rows = {number: self.rows[number] for number in numbers}
            self._renewed = refresh_states(self._plain.lm, rows, f"{self.config.seed}/refresh/{self.step}")

    def _own_rows(self, step: int) -> Iterator[tuple[int, list[int]]]:
        """Yield (number in the step, row numbers) of this process's micro-batches of a step."""
        chosen, accelerator = self._plan.step(step), self.accelerator
        return micro_batches(chosen, self.config.batch, accelerator.num_processes, accelerator.process_index)

    def _batches(self) -> Iterator[PackedBatch]:
        """Yield this process's packed micro-batches of the step."""
        config, accelerator = self.config, self.accelerator
        for number, rows in self._own_rows(self.step):
            rng = random.Random(f"{config.seed}/noise/{self.step}/{number}")
            known = [self._renewed.get(row, self.rows[row]) for row in rows]
            items = [self._item(row, rng) for row in known]
            if config.objective == "consistency" and rng.random() < config.on_policy:
                items = self._advance(items)
                if config.noise == "windows":
                    drafts = [row.prompt_ids for row in known]
                    items = [refill_tails(item, pool, config.refill, rng) for item, pool in zip(items, drafts)]
            yield pack(items, decay=config.decay).to(accelerator.device)

    def _item(self, row: Row, rng: random.Random) -> Item:
        stretch = choose_stretch(row, self.config.stretch, rng)
        if self.config.objective == "target":
            return Item((*row.prompt_ids, *row.answer_ids[: stretch.start]), stretch.answer)
        return make_item(stretch, self.config.noise, rng, self._noise)

    def _advance(self, items: list[Item]) -> list[Item]:
        """Replace the guesses by the ones that the model itself makes from them."""
        if not any(item.segments for item in items):
            return items
        with self.accelerator.autocast():
            predicted = self._plain.predict(pack(items).to(self.accelerator.device))
        front = self.config.noise == "windows"
        grouped = split_predictions(predicted, items)
        return [advance(item, guesses, keep_front=front) for item, guesses in zip(items, grouped, strict=True)]

    def _totals(self, batches: list[PackedBatch], stop: bool) -> StepTotals:
        own = [
            sum(len(batch.ar_ids) for batch in batches),
            sum(float(batch.weights.sum()) for batch in batches),
            sum(batch.tokens for batch in batches),
            float(stop),
        ]
        answer_tokens, weight, tokens, stops = self._over_processes(torch.tensor(own, dtype=torch.float64)).tolist()
        return StepTotals(answer_tokens, weight, tokens, stops > 0)

    def accumulate(self, batches: list[PackedBatch], totals: StepTotals) -> dict[str, float]:
        """Add the gradients of all micro-batches, each loss divided by the whole step's counts; return the metrics."""
        self._student.train()
        found = torch.zeros(6, dtype=torch.float64)
        for number, batch in enumerate(batches):
            with self._sync_only(number == len(batches) - 1):
                sums = self._student(batch)
                loss = self._loss(sums, totals)
                if not torch.isfinite(loss):
                    raise TrainingError(self._broken("the loss", float(loss.detach())))
                # data parallel averages over processes, the counts are already those of all
                self.accelerator.backward(loss * self.accelerator.num_processes)
            found += _measures(sums, batch)
        ar, consistency, right, cells, right_after_wrong, firsts = self._over_processes(found).tolist()
        ar_mean = ar / totals.answer_tokens
        if self.config.objective == "target":
            return {"loss": self.config.ar_weight * ar_mean, "ar_loss": ar_mean}
        consistency_mean = consistency / totals.cell_weight if totals.cell_weight else 0.0
        return {
            "loss": self.config.ar_weight * ar_mean + self.config.consistency_weight * consistency_mean,
            "ar_loss": ar_mean,
            "consistency_loss": consistency_mean,
            "right": right / cells if cells else 1.0,
            "right_after_wrong": right_after_wrong / firsts if firsts else 1.0,
            "cells": cells,
        }

    def _loss(self, sums: LossSums, totals: StepTotals) -> Tensor:
        loss = self.config.ar_weight * sums.ar / totals.answer_tokens
        if totals.cell_weight:
            loss = loss + self.config.consistency_weight * sums.consistency / totals.cell_weight
        return loss

    def _update(self) -> float:
        _check_gradients(self._plain)
        limit = self.config.clip or math.inf
        norm = float(self.accelerator.clip_grad_norm_(self._student.parameters(), limit))
        if not math.isfinite(norm) and self.accelerator.scaler is None:
            raise TrainingError(self._broken("the gradient norm", norm))
        self._optimizer.step()  # with fp16 the scaler leaves out a step whose gradients overflowed
        self._optimizer.zero_grad()
        return norm

    def _broken(self, what: str, value: float) -> str:
        return (
            f"Step {self.step + 1}: {what} is {value}. The run stopped; {self.last_good()}. Try a lower learning rate."
        )

    def last_good(self) -> str:
        """Say which checkpoint is left, in a few words."""
        return checkpoint.last_good(self.folder.checkpoints)

    def _sync_only(self, last: bool) -> AbstractContextManager[None]:
        """Exchange gradients between processes only with the last micro-batch of a step."""
        return nullcontext() if last else self.accelerator.no_sync(self._student)

    def _over_processes(self, values: Tensor) -> Tensor:
        if self.accelerator.num_processes == 1:
            return values
        summed: Tensor = self.accelerator.reduce(values.to(self.accelerator.device, torch.float32), reduction="sum")
        return summed.cpu().double()

    def _report(self, metrics: dict[str, Any]) -> None:
        self.folder.add_metrics(metrics)
        self.accelerator.log({name: value for name, value in metrics.items() if name != "step"}, step=self.step)
        if self.step % self.config.log_every == 0 or self.step in (1, self.config.steps):
            parts = [f"step {self.step}/{self.config.steps}", f"ar {metrics['ar_loss']:.3f}"]
            if "consistency_loss" in metrics:
                parts.append(f"consistency {metrics['consistency_loss']:.3f}")
                parts.append(f"right after wrong {metrics['right_after_wrong']:.2f}")
            self.folder.say("  ".join([*parts, f"{metrics['seconds']:.2f} s a step"]))


def learning_rate(config: TrainConfig, step: int) -> float:
    """Return the rate of a step (0 is the first): linear warm-up, then a cosine down to `lr_floor` of the peak."""
    warmup = round(config.warmup * config.steps)
    if step < warmup:
        return config.lr * (step + 1) / warmup
    along = (step - warmup) / max(1, config.steps - 1 - warmup)
    return config.lr * (config.lr_floor + (1 - config.lr_floor) * 0.5 * (1 + math.cos(math.pi * min(1.0, along))))


def _length(row: Row, stretch: int) -> int:
    return len(row.prompt_ids) + (min(stretch, len(row.answer_ids)) if stretch else len(row.answer_ids))


def _measures(sums: LossSums, batch: PackedBatch) -> Tensor:
    right, first = sums.right.double(), batch.first.double()
    values = (sums.ar.detach(), sums.consistency.detach(), right.sum(), len(right), (right * first).sum(), first.sum())
    return torch.tensor([float(value) for value in values], dtype=torch.float64)


def _check_gradients(module: nn.Module) -> None:
    """Raise TrainingError if a trained tensor got no gradient: it would silently stay what it is."""
    without = [
        name for name, parameter in module.named_parameters() if parameter.requires_grad and parameter.grad is None
    ]
    if without:
        raise TrainingError(f"{len(without)} trained tensors got no gradient, the first is {without[0]}.")


def _fingerprint(module: nn.Module) -> dict[str, tuple[float, float]]:
    with torch.no_grad():
        return {
            name: (float(parameter.sum(dtype=torch.float64)), float(torch.linalg.vector_norm(parameter.float())))
            for name, parameter in module.named_parameters()
            if not parameter.requires_grad
        }


def _check_frozen(module: nn.Module, before: dict[str, tuple[float, float]]) -> None:
    changed = [name for name, found in _fingerprint(module).items() if before[name] != found]
    if changed:
        raise TrainingError(f"{len(changed)} frozen tensors changed in the first step, the first is {changed[0]}.")
