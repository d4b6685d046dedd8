"""Jobs that train: tiny random models through the stages, in this process and, marked slow, through the launcher."""

import errno
import json
import math
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import model_folders
import psutil
import pytest
import torch
from safetensors.torch import load_file

from cllm_core import io, models
from cllm_core.errors import TrainingError
from cllm_core.pairs import all_pairs, find_pair, read_pair
from cllm_core.tasks.base import Example
from cllm_core.train import checkpoint
from cllm_core.train.jobs import runner
from cllm_core.train.jobs.folder import Job, list_jobs, new_job
from cllm_core.train.jobs.forecast import forecast
from cllm_core.train.jobs.plan import JobConfig, JobPlan
from cllm_core.train.jobs.probe import Probe, probe_file, probe_steps, read_measures
from cllm_core.train.jobs.process import descendants
from cllm_core.train.jobs.report import result_files
from cllm_core.train.jobs.state import JobState, read_state, write_state
from cllm_core.train.jobs.worker import run_stage
from cllm_core.train.student import Student

TRAIN = {
    "steps": 6, "batch": 2, "window": 3, "stretch": 8, "block_size": 4, "rank": 2, "lr": 1e-2, "device": "cpu",
    "save_every": 3, "chat": False,
}  # fmt: skip
SMALL = JobConfig(
    title="Tiny <b>", answer_tokens=12, probe_prompts=2, probe_tokens=10, test_prompts=2, decode_block=4, guard=False
)
PROMPTS = [Example(str(n), f"count {n} ->", answer="ab" * (n % 4 + 2)) for n in range(8)]
SECONDS = 240.0  # a launcher imports large libraries, on a busy machine


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(model_folders.write_model(tmp_path_factory.mktemp("models") / "tiny", "llama"))


@pytest.fixture
def make(tmp_path: Path, model: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Job]]:
    monkeypatch.setenv("CLLM_RUNS", str(tmp_path / "runs"))

    def make_job(config: JobConfig = SMALL, **train: Any) -> Job:
        plan = JobPlan(train={**TRAIN, "model": model, **train}, job=config)
        return new_job(plan, prompts=PROMPTS, held_out=PROMPTS[:3])

    yield make_job
    for job in list_jobs(tmp_path / "runs"):
        runner.stop(job)  # one that a failed test left running


def weights(job: Job, step: int) -> dict[str, torch.Tensor]:
    return load_file(job.folder / "checkpoints" / f"step-{step:06d}" / "weights.safetensors")


def assert_same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    assert one.keys() == other.keys()
    for name in one:
        torch.testing.assert_close(one[name], other[name], atol=1e-6, rtol=1e-5)


# --- stages in this process


def test_every_checkpoint_is_probed_and_the_result_is_a_pair_with_its_report(make: Callable[..., Job]):
    job = make()
    assert run_stage(job, "train") == ("done", "")
    assert probe_steps(job.folder) == [0, 3, 6]
    assert [row.step for row in read_measures(job)] == [0, 3, 6]
    lanes = io.load_run(probe_file(job.folder, 3))
    held_out = {example.prompt for example in PROMPTS[:3]}
    assert len(held_out & {lane.prompt for lane in lanes.values()}) == len(lanes) == 2
    assert (job.folder / "best" / "adapter_model.safetensors").is_file()
    assert run_stage(job, "evaluate") == ("done", "")
    pair = find_pair(job.name)
    assert pair == read_pair(job.folder)
    assert pair.title == "Tiny <b>"
    assert pair.results["lanes"]["cllm_jacobi"]["tokens_per_pass"] >= 1.0
    assert {"exact_match", "agreement", "repetition_rate"} <= pair.results["lanes"]["cllm_ar"].keys()
    assert pair.results == json.loads((job.folder / "report.json").read_text())
    assert models.load(pair.cllm).info.adapter


def test_a_fully_trained_model_is_a_pair_too(make: Callable[..., Job]):
    job = make(method="full", steps=1)
    assert run_stage(job, "train") == ("done", "")
    assert run_stage(job, "evaluate") == ("done", "")
    assert read_pair(job.folder).cllm.where == str(job.folder / "model")


def test_a_target_that_answers_for_itself_is_collected_from_first(make: Callable[..., Job]):
    job = make(replace(SMALL, answers="target", answer_tokens=64), noise="trajectory", steps=2)
    config = job.plan().collect_config(job.folder)
    assert config.answers == "target"
    assert run_stage(job, "collect") in [("done", "")]
    assert (job.folder / "rows" / "summary.json").is_file()


def test_probing_changes_no_weight(make: Callable[..., Job], monkeypatch: pytest.MonkeyPatch):
    """A probe that touched the order, the noise or the mode of the model would change the run it watches."""
    watched, alone = make(), make()
    run_stage(watched, "train")
    monkeypatch.setattr(Probe, "__call__", lambda *arguments: None)
    run_stage(alone, "train")
    assert_same(weights(watched, 6), weights(alone, 6))


def test_a_collapse_pauses_the_run_and_the_best_checkpoint_stays(
    make: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
):
    job = make(replace(SMALL, guard=True), steps=12)
    rates = iter([0.1, 0.1, 0.9, 0.1])
    measure = Probe._measure
    monkeypatch.setattr(
        Probe, "_measure", lambda *arguments: replace(measure(*arguments), agreement=1.0, repetition=next(rates))
    )
    kind, reason = run_stage(job, "train")
    assert kind == "paused"
    assert reason.startswith("Step 6: 90% of the probe's 4-grams are repeats")
    assert json.loads((job.folder / "best" / "measures.json").read_text())["step"] == 3
    assert probe_steps(job.folder) == [0, 3, 6]


def test_resumed_without_its_guard_a_collapsed_run_is_not_the_best(
    make: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
):
    job = make(replace(SMALL, guard=False), steps=12)
    found = iter([(0.1, 1.0), (0.1, 3.0), (0.9, 14.0), (0.9, 15.0), (0.1, 5.0)])
    measure = Probe._measure

    def measured(*arguments: Any) -> Any:
        rate, speed = next(found)
        return replace(measure(*arguments), agreement=1.0, repetition=rate, tokens_per_pass=speed)

    monkeypatch.setattr(Probe, "_measure", measured)
    assert run_stage(job, "train") == ("done", "")
    assert json.loads((job.folder / "best" / "measures.json").read_text())["step"] == 12


def test_a_collapse_at_the_last_checkpoint_does_not_become_the_result(
    make: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
):
    job = make(replace(SMALL, guard=True), keep=2)
    rates = iter([0.1, 0.1, 0.9])
    measure = Probe._measure
    monkeypatch.setattr(
        Probe, "_measure", lambda *arguments: replace(measure(*arguments), agreement=1.0, repetition=next(rates))
    )
    kind, reason = run_stage(job, "train")
    assert (kind, reason[:11]) == ("paused", "Step 6: 90%")
    assert not (job.folder / "adapter").exists()
    assert checkpoints(job) == [3, 6]  # no step was done, and none saved, after the halt
    assert runner.can_use_best(job, JobState("paused", "train"))
    assert run_stage(job, "train") == ("done", "")  # resumed all the same: the result is what was trained


def test_the_best_checkpoint_of_a_full_model_is_not_pruned(make: Callable[..., Job], monkeypatch: pytest.MonkeyPatch):
    job = make(replace(SMALL, guard=True), method="full", keep=1, steps=8, save_every=2)
    speeds = iter([1.0, 1.5, 2.5, 2.0, 2.0])
    measure = Probe._measure
    monkeypatch.setattr(
        Probe,
        "_measure",
        lambda *arguments: replace(measure(*arguments), agreement=1.0, repetition=0.0, tokens_per_pass=next(speeds)),
    )
    assert run_stage(job, "train") == ("done", "")
    assert checkpoints(job) == [4, 8]
    assert [path.parent.name for path in job.folder.glob("checkpoints/*/kept")] == ["step-000004"]


def test_a_run_stopped_in_its_first_probe_begins_with_it_when_it_is_resumed(
    make: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
):
    """It trained one step and saved it: step 0 was never probed, and every resume failed."""
    job = make(replace(SMALL, guard=True))
    asked: list[bool] = []
    decode = Probe._decode

    def stopping(probe: Probe, *arguments: Any) -> Any:
        asked.append(True)
        return decode(probe, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cllm_core.train.signals.stop_on_signals", lambda: nullcontext(lambda: bool(asked)))
        patch.setattr(Probe, "_decode", stopping)
        assert run_stage(job, "train") == ("stopped", "Stopped before the first step.")
    assert (checkpoints(job), probe_steps(job.folder)) == ([], [])
    assert run_stage(job, "train") == ("done", "")
    assert probe_steps(job.folder) == [0, 3, 6]


def test_a_moved_job_goes_on(make: Callable[..., Job], tmp_path: Path):
    job = make()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cllm_core.train.signals.stop_on_signals", lambda: nullcontext(lambda: bool(checkpoints(job))))
        assert run_stage(job, "train")[0] == "stopped"
    moved = Job(job.folder.rename(tmp_path / job.name))
    assert run_stage(moved, "train") == ("done", "")


def checkpoints(job: Job) -> list[int]:
    return sorted(int(path.name.removeprefix("step-")) for path in job.folder.glob("checkpoints/step-*"))


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "The disk is full. The last good checkpoint is step-000003"),
        (RuntimeError("[enforce fail] PytorchStreamWriter failed writing file data/1"), "The disk is full."),
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate"), "the last good checkpoint is step-000003"),
        (MemoryError(), "The machine ran out of memory."),
        (KeyError("surprise"), "The stage failed (KeyError: 'surprise')."),
    ],
)
def test_an_accident_is_worded_with_the_last_good_checkpoint(
    make: Callable[..., Job], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str],
    error: Exception, words: str,
):  # fmt: skip
    job, save = make(), checkpoint.save

    def broken(folder: Path, state: checkpoint.Checkpoint, **options: Any) -> Path:
        if state.step == 6:
            raise error
        return save(folder, state, **options)

    monkeypatch.setattr(checkpoint, "save", broken)
    kind, reason = run_stage(job, "train")
    assert kind == "failed"
    assert words in reason
    foreseen = isinstance(error, MemoryError | torch.OutOfMemoryError)  # training words these itself
    assert ("Traceback" in capfd.readouterr().err) is not foreseen  # for the log: the reason is one sentence
    monkeypatch.setattr(checkpoint, "save", save)
    assert run_stage(job, "train") == ("done", "")


def test_a_nan_fails_the_job_names_the_step_and_keeps_the_last_good_checkpoint(
    make: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
):
    job, whole, calls = make(save_every=1), Student.forward, iter(range(1, 100))

    def spoilt(self: Student, batch: Any) -> Any:
        sums = whole(self, batch)
        return replace(sums, ar=sums.ar * math.nan) if next(calls) == 3 else sums

    monkeypatch.setattr(Student, "forward", spoilt)
    kind, reason = run_stage(job, "train")
    assert kind == "failed"
    assert "Step 3: the loss is nan" in reason
    assert all(tensor.isfinite().all() for tensor in weights(job, 2).values())


def test_half_precision_on_a_cpu_is_said_in_the_log(make: Callable[..., Job]):
    job = make(precision="fp16", steps=1)
    assert run_stage(job, "train") == ("done", "")
    assert "this run uses fp32" in (job.folder / "log.txt").read_text()


def test_a_job_that_learns_four_answers_by_heart_learns_to_stop(make: Callable[..., Job]):
    """With the end token masked as padding, the tuned model never stops."""
    job = make(
        replace(SMALL, probe_tokens=24), objective="target", method="full", steps=60, batch=4, lr=5e-3, limit=4,
        save_every=60, stretch=0,
    )  # fmt: skip
    assert run_stage(job, "train") == ("done", "")
    assert [lane.finish for lane in io.load_run(probe_file(job.folder, 60)).values()] == ["end", "end"]
    assert read_measures(job)[-1].agreement > 0.9


# --- through the launcher


def wait(condition: Callable[[], Any], what: str) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.05)


def ended(job: Job) -> JobState:
    wait(lambda: not runner.job_state(job).live, "the job to end")
    return runner.job_state(job)


def steps_done(job: Job) -> int:
    return len(job.rows_of("metrics.jsonl"))


@pytest.mark.slow
def test_a_job_runs_from_start_to_a_registered_pair_while_the_usual_port_is_taken(make: Callable[..., Job]):
    job = make()
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", 29500))
        taken.listen()
        runner.start(job)
        assert ended(job) == replace(runner.job_state(job), status="finished", reason="", done=("train", "evaluate"))
    assert all_pairs()[job.name].results["prompts"] == 2
    assert [line for line in job.last_lines(50) if "Finished: the adapter is in" in line]


@pytest.mark.slow
def test_killed_and_stopped_and_resumed_a_job_ends_as_if_unbroken(make: Callable[..., Job]):
    steps = {"steps": 120, "save_every": 10, "keep": 3}
    straight, job = make(**steps), make(**steps)
    runner.start(job)
    wait(lambda: steps_done(job) > 12, "some steps")
    trainer = [process for process in descendants(runner.job_state(job).pid) if not process.children()]
    os.kill(trainer[0].pid, signal.SIGKILL)
    found = ended(job)
    assert found.status == "failed"
    assert "gave no reason" in found.reason
    runner.start(job)
    wait(lambda: "Resuming after step" in "".join(job.last_lines(40)), "the run to resume")
    wait(lambda: steps_done(job) > 24, "more steps")
    processes = descendants(runner.job_state(job).pid)
    runner.stop(job)
    found = ended(job)
    assert (found.status, found.reason[:18]) == ("stopped", "Stopped after step")
    assert not any(process.is_running() and process.status() != psutil.STATUS_ZOMBIE for process in processes)
    runner.start(job)
    assert ended(job).status == "finished"
    assert run_stage(straight, "train") == ("done", "")
    assert_same(weights(job, 120), weights(straight, 120))
    assert [row["step"] for row in job.rows_of("metrics.jsonl")] == list(range(1, 121))


@pytest.mark.slow
def test_a_model_that_is_not_there_fails_the_job_with_its_own_words(make: Callable[..., Job], tmp_path: Path):
    job = make(model=str(tmp_path / "nowhere"))
    runner.start(job)
    found = ended(job)
    assert (found.status, found.stage) == ("failed", "train")
    assert "There is no model or folder" in found.reason
    assert "There is no model or folder" in "".join(job.last_lines())
    assert read_state(job.folder) == found


@pytest.mark.slow
def test_a_paused_run_can_end_with_its_best_checkpoint(make: Callable[..., Job]):
    job = make(replace(SMALL, guard=True), steps=12)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cllm_core.train.jobs.probe.repetition", lambda ids: 0.9 * ((job.folder / "best").exists()))
        assert run_stage(job, "train")[0] == "paused"
    write_state(job.folder, JobState("paused", "train"))
    runner.use_best(job)
    assert ended(job).status == "finished"
    result, best = (job.folder / name / "adapter_model.safetensors" for name in ("adapter", "best"))
    assert result.read_bytes() == best.read_bytes()
    pair = all_pairs()[job.name]
    assert pair.results["prompts"] == 2
    best_step = json.loads((job.folder / "best" / "measures.json").read_text())["step"]
    assert best_step < 12
    assert pair.description.endswith(f", in {best_step} steps.")
    card = (job.folder / "card.md").read_text()
    assert f"Steps: {best_step} of 12, the best checkpoint;" in card
    assert "Data: 8 rows" in card
    assert job.folder / "card.md" in result_files(job)
    with pytest.raises(TrainingError, match="no best checkpoint"):
        runner.use_best(job)


@pytest.mark.slow
def test_a_forecast_tries_the_run_out_and_says_what_is_wrong_with_it(make: Callable[..., Job], tmp_path: Path):
    plan = make(steps=100).plan()
    found = forecast(plan, prompts=PROMPTS, held_out=PROMPTS[:3])
    assert found.prompts == 8
    assert found.tokens > 0
    assert found.fed > found.tokens
    assert found.seconds > found.step_seconds * 100
    assert found.memory > 10**8
    assert found.disk > 1000
    missing = replace(plan, train={**plan.train, "model": str(tmp_path / "nowhere")})
    with pytest.raises(TrainingError, match="There is no model or folder"):
        forecast(missing, prompts=PROMPTS, held_out=PROMPTS[:3])
    assert len(list_jobs()) == 1  # a trial is no job
