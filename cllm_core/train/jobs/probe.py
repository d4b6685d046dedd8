"""Decodes a few held-out prompts at every checkpoint, so that one sees fast-forwarding being learnt.

Writes a run of trajectories a checkpoint and a line of measures; pauses a run that collapses; keeps the best adapter.
"""

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from cllm_core import io
from cllm_core.compare import open_run, with_room
from cllm_core.tasks import get_task
from cllm_core.tasks.base import Example
from cllm_core.train.folder import KEPT
from cllm_core.train.jobs.folder import BEST, BEST_MEASURES, Job, copy_whole
from cllm_core.train.jobs.guard import Measures, agreement, collapse, repetition, sound
from cllm_core.types import Trajectory

if TYPE_CHECKING:
    from cllm_core.hf import LoadedModel

FOLDER, FILE = "probe", "probe.jsonl"


def probe_file(folder: Path, step: int) -> Path:
    """Return where a checkpoint's trajectories lie: a run whose lanes are the probe prompts, in their order."""
    return folder / FOLDER / f"step-{step:06d}.json"


def probe_steps(folder: Path) -> list[int]:
    """Return the steps that were probed."""
    return sorted(int(path.stem.removeprefix("step-")) for path in (folder / FOLDER).glob("step-*.json"))


def read_measures(job: Job) -> list[Measures]:
    """Return the measures of each probed checkpoint; a step that was done again after a resume counts once."""
    rows = {row["step"]: Measures(**row) for row in job.rows_of(FILE)}
    return [rows[step] for step in sorted(rows)]


class Probe:
    """Watches a training run. Call it at step 0 and at every checkpoint; `reason` is set once the run must pause."""

    def __init__(self, job: Job, *, stop: Callable[[], bool] = lambda: False, guarded: bool = True) -> None:
        self.job, self.reason = job, ""
        self._stop, self._guarded = stop, guarded
        self._plan = job.plan()
        self._config = self._plan.train_config(job.folder)
        self._examples = held_out_examples(job, self._plan.job.probe_prompts)
        self._before = read_measures(job)

    def __call__(self, loaded: "LoadedModel", step: int, checkpoint: Path | None) -> None:
        """Probe the model as it is now. `checkpoint` is the folder being written, with the adapter in it."""
        if self._stop() or self.reason or step in probe_steps(self.job.folder):
            return
        self._examples = with_room(
            {"probe": loaded}, self._examples, Example.chat, chat=self._config.chat, report=print
        )
        started = time.perf_counter()
        training = loaded.model.training
        loaded.model.eval()
        try:
            found = [self._decode(loaded, example) for example in self._examples]
        finally:
            loaded.model.train(training)
        if self._stop():
            return
        measures = self._measure(loaded, step, found, time.perf_counter() - started)
        self._write(step, found, measures)
        collapsed = collapse(measures, self._before, self._plan.job)
        if self._guarded and self._plan.job.guard:
            self.reason = collapsed or ""
        if checkpoint is not None and not collapsed:
            self._keep_best(measures, checkpoint)
        self._before.append(measures)

    def _decode(self, loaded: "LoadedModel", example: Example) -> Trajectory:
        prompt = loaded.encode(example.chat(), chat=self._config.chat)
        config = self._plan.decode_config(self._plan.job.probe_tokens)
        recorder, steps = open_run(loaded, prompt, config, observe=False)
        return recorder.run(steps, self._stop)

    def _measure(self, loaded: "LoadedModel", step: int, found: Sequence[Trajectory], seconds: float) -> Measures:
        references = self._references(loaded, found, step)
        return Measures(
            step,
            sum(len(run.ids) for run in found) / max(1, sum(len(run.steps) for run in found)),
            fmean(self._agreement(run, reference) for run, reference in zip(found, references, strict=True)),
            fmean(repetition(run.ids) for run in found),
            round(seconds, 3),
        )

    def _agreement(self, run: Trajectory, reference: tuple[int, ...]) -> float:
        """Return the agreement with a reference, which is cut where this run would have been."""
        cut = len(run.ids) if run.finish == "length" else self._plan.job.probe_tokens
        return agreement(run.ids, reference[:cut])

    def _references(self, loaded: "LoadedModel", found: Sequence[Trajectory], step: int) -> list[tuple[int, ...]]:
        """Return what to agree with: the gold answers that are learnt, else the model's answers before training."""
        from cllm_core.train.data import end_token  # it needs torch, and the app reads probes without

        answers = [example.answer for example in self._examples]
        if self._plan.job.answers == "gold" and all(answers):
            texts = [loaded.tokenizer(answer, add_special_tokens=False)["input_ids"] for answer in answers]
            return [(*ids, end_token(loaded)) for ids in texts]
        if step == 0:
            return [run.ids for run in found]
        return [run.ids for run in io.load_run(probe_file(self.job.folder, 0)).values()]

    def _write(self, step: int, found: Sequence[Trajectory], measures: Measures) -> None:
        path = probe_file(self.job.folder, step)
        path.parent.mkdir(exist_ok=True)
        partial = path.with_suffix(".partial")
        lanes = {str(number): run for number, run in enumerate(found, 1)}
        partial.write_text(io.dumps_run(lanes) + "\n", encoding="utf-8")
        with (self.job.folder / FILE).open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(measures)) + "\n")
        os.replace(partial, path)  # last: a step whose trajectories are there has its measures too

    def _keep_best(self, measures: Measures, checkpoint: Path) -> None:
        """Keep the adapter of the checkpoint with the most tokens per pass, whatever pruning does to the others.

        Answers that collapsed count for nothing here: repeats are quickly decoded.
        Of a full model, which is large, the checkpoint itself is kept from pruning.
        """
        earlier = [other.tokens_per_pass for other in sound(self._before, self._plan.job) if other.step > 0]
        adapter, best = checkpoint / "adapter", self.job.folder / BEST
        kept = list(checkpoint.parent.glob(f"step-*/{KEPT}"))
        if (kept or best.exists()) and measures.tokens_per_pass <= max(earlier, default=0.0):
            return
        if not adapter.is_dir():
            (checkpoint / KEPT).touch()
            for other in kept:
                other.unlink()
            return
        told = json.dumps(asdict(measures)) + "\n"
        copy_whole(adapter, best, lambda part: (part / BEST_MEASURES).write_text(told, encoding="utf-8"))


def held_out_examples(job: Job, count: int) -> list[Example]:
    """Return prompts that training does not see: of another split of the task, or put by when a file was uploaded."""
    plan = job.plan()
    task = get_task(plan.train_config(job.folder).task)
    split, data = plan.held_out(job.folder, task.splits)
    return task.load(split, data=Path(data) if data else None, limit=count, seed=0)
