"""Jobs without training: folders, states, queue, stop, kill, restart. Stages are small scripts in real processes."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from fnmatch import fnmatch
from pathlib import Path

import fake_job
import psutil
import pytest

from cllm_core.errors import ConfigError, TrainingError
from cllm_core.tasks.base import Example, Message
from cllm_core.train.jobs import locks, runner, state
from cllm_core.train.jobs.folder import Job, find_job, list_jobs, new_job
from cllm_core.train.jobs.guard import Measures, agreement, collapse, repetition, sound
from cllm_core.train.jobs.locks import device_of, is_locked, lock_file, try_lock
from cllm_core.train.jobs.plan import JobConfig, JobPlan, read_plan, write_plan
from cllm_core.train.jobs.process import identity, is_alive
from cllm_core.train.jobs.state import JobState, read_state, write_json, write_state
from cllm_core.train.jobs.supervise import Supervisor

PLAN = JobPlan(train={"device": "cpu", "steps": 6})
SECONDS = 30.0  # that a busy machine is given


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLLM_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setattr(runner, "SUPERVISE", (fake_job.__file__,))
    return tmp_path / "runs"


@pytest.fixture
def make(runs: Path) -> Iterator[Callable[..., Job]]:
    """Makes jobs with fake stages, and leaves no process behind."""
    made: list[Job] = []

    def make_job(train: str = "ok", evaluate: str = "ok", plan: JobPlan = PLAN) -> Job:
        job = new_job(plan)
        (job.folder / "fake.json").write_text(json.dumps({"train": train, "evaluate": evaluate, "collect": "ok"}))
        made.append(job)
        return job

    yield make_job
    for job in filter(lambda job: job.folder.exists(), made):
        runner.stop(job)
        settled(job)


def until(condition: Callable[[], object], what: str) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.02)


def settled(job: Job) -> JobState:
    until(lambda: not runner.job_state(job).live or not read_state(job.folder), "the job to end")
    return runner.job_state(job)


def ready(job: Job) -> None:
    until((job.folder / "ready").exists, "the stage to begin")


def child_is_gone(job: Job) -> bool:
    pid = int((job.folder / "child.txt").read_text())
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


# --- plans and folders


def test_a_plan_round_trips(tmp_path: Path):
    plan = replace(PLAN, job=JobConfig(title="Zoë </b>", answers="target"), owner="me", made=12.5, uploaded=True)
    write_plan(tmp_path, plan)
    assert read_plan(tmp_path) == plan


def test_a_bad_setting_is_found_when_the_job_is_planned():
    with pytest.raises(ConfigError, match="steps must be at least 1"):
        JobPlan(train={"steps": 0})
    with pytest.raises(ConfigError, match="needs collected states"):
        JobPlan(train={"noise": "trajectory"})
    assert JobPlan(train={"noise": "trajectory"}, job=JobConfig(answers="target")).stages[0] == "collect"


def test_a_job_collects_the_states_that_its_noise_needs(tmp_path: Path):
    target = JobConfig(answers="target")
    collect = JobPlan(train={"noise": "trajectory", "block_size": 8}, job=target).collect_config(tmp_path)
    assert (collect.out, collect.trajectories, collect.block_size) == (str(tmp_path / "rows"), True, 8)
    assert not JobPlan(train={}, job=target).collect_config(tmp_path).trajectories


@pytest.mark.parametrize(
    "title", ["../../etc/passwd", "a/b\\c\0d", "", "<script>", "💥", "x" * 300, "-", "CON", "half \ud83d"]
)
def test_names_are_data_and_folders_are_named_here(runs: Path, title: str):
    job = new_job(replace(PLAN, job=JobConfig(title=title)))
    assert job.folder.parent == runs
    assert find_job(job.name).folder == job.folder
    assert job.plan().job.title == title


@pytest.mark.parametrize(
    "name", ["", None, "..", "../x", "/etc", "20260101-000000-x-000000/..", "20260101-000000-x-000000"]
)
def test_a_name_that_is_no_job_leads_nowhere(runs: Path, name: str | None):
    with pytest.raises(TrainingError, match="There is no such job"):
        find_job(name)


def test_two_jobs_never_share_a_folder_and_the_newest_comes_first(runs: Path):
    jobs = [new_job(replace(PLAN, made=made)) for made in (1e9, 1e9, 2e9)]
    assert len({job.name for job in jobs}) == 3
    assert list_jobs()[0] == jobs[2]


def test_nobody_gets_at_a_job_of_another(runs: Path):
    job = new_job(replace(PLAN, owner="alpha"))
    assert find_job(job.name, "alpha") == job
    with pytest.raises(TrainingError, match="no such job"):
        find_job(job.name, "beta")


def test_uploaded_prompts_travel_with_the_job_as_they_are(runs: Path):
    turns = (Message("user", "hi"), Message("assistant", "yes?"), Message("user", "é\u2028💡"))
    examples = [Example("1", "a </script>\nb", answer="c"), Example("2", "é\u2028💡", turns)]
    job = new_job(PLAN, prompts=examples, held_out=examples[1:])
    train = job.plan().train_config(job.folder)
    assert train.task == "prompts"
    from cllm_core.tasks import get_task

    found = get_task("prompts").load("train", data=Path(train.data))
    assert [(example.prompt, example.answer, example.messages) for example in found] == [
        (example.prompt, example.answer, example.messages) for example in examples
    ]
    split, data = job.plan().held_out(job.folder, ("train", "dev"))
    assert [example.prompt for example in get_task("prompts").load(split, data=Path(data))] == ["é\u2028💡"]


# --- state


def test_a_state_round_trips_and_is_written_whole(tmp_path: Path):
    written = JobState("running", "train", "why", ("collect",), 7, 8.5, 1.0, 2.0, 3.0, guarded=False)
    write_state(tmp_path, written)
    assert read_state(tmp_path) == written
    assert os.listdir(tmp_path) == ["state.json"]
    assert set(json.loads((tmp_path / "state.json").read_text())) == set(asdict(written))


def test_a_full_disk_still_lets_the_reason_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    state.reserve(tmp_path)
    whole = state._replace

    def full(path: Path, data: bytes) -> None:
        if (tmp_path / state.RESERVE).exists():
            raise OSError(errno.ENOSPC, "No space left on device")
        whole(path, data)

    monkeypatch.setattr(state, "_replace", full)
    write_state(tmp_path, JobState("failed", reason="The disk is full."))
    assert read_state(tmp_path) == JobState("failed", reason="The disk is full.")


def test_a_damaged_state_file_shows_as_failed(runs: Path):
    job = new_job(PLAN)
    (job.folder / "state.json").write_text("{")
    assert runner.job_state(job).status == "failed"
    assert "damaged" in runner.job_state(job).reason


def test_a_pid_that_another_process_was_given_is_not_taken_for_the_job(runs: Path):
    pid, started = identity()
    assert is_alive(pid, started)
    job = new_job(PLAN)
    write_state(job.folder, JobState("running", "train", pid=pid, process_started=started - 3600))
    found = runner.job_state(job)
    assert (found.status, found.stage) == ("failed", "train")
    assert "was killed" in found.reason
    assert read_state(job.folder) == found


def test_whoever_was_given_the_number_of_a_dead_job_is_left_alone(runs: Path):
    """Reading the state of a job from before a restart ended the processes of an unrelated group."""
    bystander = subprocess.Popen(["sh", "-c", "sleep 60 & echo; wait"], stdout=subprocess.PIPE, start_new_session=True)
    try:
        assert bystander.stdout is not None
        bystander.stdout.readline()
        (child,) = psutil.Process(bystander.pid).children()
        job = new_job(PLAN)
        state = JobState("running", "train", pid=bystander.pid, process_started=time.time() - 3600)
        write_state(job.folder, state)
        assert runner.job_state(job).status == "failed"
        assert child.is_running()
        assert bystander.poll() is None
    finally:
        os.killpg(bystander.pid, signal.SIGKILL)
        bystander.communicate()


# --- processes


def test_a_job_has_one_supervisor_however_often_it_is_resumed(make: Callable[..., Job]):
    """Of two supervisors the older one went on, and nothing could stop it."""
    job = make(train="sleep")
    runner.start(job)
    ready(job)
    first = read_state(job.folder)
    second = subprocess.run(
        [sys.executable, fake_job.__file__, str(job.folder)], capture_output=True, text=True, timeout=SECONDS
    )
    assert (second.returncode, second.stdout.strip()) == (1, "This job is under way already.")
    assert read_state(job.folder) == first
    runner.stop(job)
    assert settled(job).status == "stopped"


def test_a_best_checkpoint_that_cannot_be_copied_can_be_tried_again(
    make: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
):
    job = make()
    write_state(job.folder, JobState("failed", "train", "The disk is full."))
    (job.folder / "best").mkdir()
    (job.folder / "best" / "adapter.bin").write_text("weights")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shutil, "copytree", lambda *paths: (_ for _ in ()).throw(shutil.Error([])))
        with pytest.raises(TrainingError, match="free some disk space"):
            runner.use_best(job)
    assert not (job.folder / "adapter").exists()
    assert runner.can_use_best(job, runner.job_state(job))
    runner.use_best(job)
    assert settled(job).done == ("train", "evaluate")
    assert (job.folder / "adapter" / "adapter.bin").read_text() == "weights"


def test_time_between_a_stop_and_a_resume_is_not_counted(make: Callable[..., Job]):
    job = make()
    write_state(job.folder, JobState("stopped", "train", started=1.0, ended=61.0, spent=60.0))
    runner.start(job)
    found = settled(job)
    assert 60.0 < found.spent < 60.0 + SECONDS


def test_a_job_runs_its_stages_and_outlives_whoever_started_it(make: Callable[..., Job]):
    job = make()
    runner.start(job)
    found = settled(job)
    assert (found.status, found.done, found.reason) == ("finished", ("train", "evaluate"), "")
    assert found.started <= found.ended
    with pytest.raises(TrainingError, match="nothing left to do"):
        runner.start(job)


def test_a_damaged_job_beside_it_stops_no_job(make: Callable[..., Job]):
    pid, started = identity()
    (make().folder / "state.json").write_text("")
    waiting = make()
    write_state(waiting.folder, JobState("queued", pid=pid, process_started=started, queued=1.0))
    (waiting.folder / "job.json").write_text("")
    job = make()
    runner.start(job)
    assert settled(job).status == "finished"


def test_stop_ends_the_whole_tree_and_resume_goes_on(make: Callable[..., Job]):
    """Stopping a launcher alone leaves its child training, and the device's memory taken."""
    job = make(train="sleep")
    runner.start(job)
    ready(job)
    assert is_locked(lock_file(job.folder.parent, "cpu"))
    with pytest.raises(TrainingError, match="under way already"):
        runner.start(job)
    with pytest.raises(TrainingError, match="stop it before"):
        runner.delete(job)
    runner.stop(job)
    found = settled(job)
    assert (found.status, found.reason) == ("stopped", "Stopped after step 3.")
    assert child_is_gone(job)
    assert not is_locked(lock_file(job.folder.parent, "cpu"))
    (job.folder / "fake.json").write_text(json.dumps({"train": "ok", "evaluate": "ok"}))
    runner.start(job)
    assert settled(job).status == "finished"


def test_a_stage_that_does_not_listen_is_killed_after_its_grace_time(make: Callable[..., Job]):
    job = make(train="stubborn")
    runner.start(job)
    ready(job)
    runner.stop(job)
    assert settled(job).status == "stopped"
    assert child_is_gone(job)


def test_what_a_stage_leaves_behind_is_ended(make: Callable[..., Job]):
    job = make(train="leave")
    runner.start(job)
    assert settled(job).status == "finished"
    assert child_is_gone(job)


def test_a_killed_supervisor_shows_as_failed_and_leaves_no_orphans(make: Callable[..., Job]):
    job = make(train="sleep")
    runner.start(job)
    ready(job)
    os.kill(read_state(job.folder).pid, signal.SIGKILL)
    found = settled(job)
    assert found.status == "failed"
    assert "resume it from its last checkpoint" in found.reason
    assert child_is_gone(job)
    assert not is_locked(lock_file(job.folder.parent, "cpu"))


@pytest.mark.parametrize(("script", "reason"), [("crash", "exit code 1"), ("kill", "killed by signal 9")])
def test_a_stage_that_dies_shows_how_with_its_last_lines(make: Callable[..., Job], script: str, reason: str):
    job = make(train=script)
    runner.start(job)
    found = settled(job)
    assert (found.status, found.stage, found.done) == ("failed", "train", ())
    assert reason in found.reason
    if script == "crash":
        assert job.last_lines(1) == ["There is no model or folder nowhere."]


def test_a_paused_run_is_resumed_without_its_guard(make: Callable[..., Job]):
    job = make(train="pause")
    assert Supervisor(job, command=fake_job.command).run().status == "paused"
    (job.folder / "fake.json").write_text(json.dumps({"train": "ok", "evaluate": "ok"}))
    again = Supervisor(job, command=fake_job.command).run()
    assert (again.status, again.guarded) == ("finished", False)


def test_jobs_on_one_device_run_one_at_a_time_in_their_order(make: Callable[..., Job]):
    first, second, third = make(train="sleep"), make(train="slow"), make()
    for job in (first, second, third):
        runner.start(job)
        until(lambda job=job: read_state(job.folder), "the job to queue")
    ready(first)
    assert [runner.job_state(job).status for job in (first, second, third)] == ["running", "queued", "queued"]
    runner.stop(first)
    ends = [settled(job) for job in (first, second, third)]
    assert [end.status for end in ends] == ["stopped", "finished", "finished"]
    assert ends[0].ended <= ends[1].started
    assert ends[1].ended <= ends[2].started


def test_a_job_that_waits_in_the_queue_can_be_stopped(make: Callable[..., Job]):
    job = make()
    lock = lock_file(job.folder.parent, "cpu")
    with try_lock(lock) as free:
        assert free
        runner.start(job)
        until(lambda: runner.job_state(job).status == "queued", "the job to queue")
        runner.stop(job)
        assert settled(job).reason == "Stopped before it began."


def test_deleting_removes_the_folder_and_nothing_else(make: Callable[..., Job]):
    job, other = make(), make()
    Supervisor(job, command=fake_job.command).run()
    runner.delete(job)
    assert list_jobs() == [other]


def test_a_job_whose_process_does_not_come_up_says_so(make: Callable[..., Job], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(runner, "SUPERVISE", ("-c", "import sys; sys.exit('no such module')"))
    with pytest.raises(TrainingError, match="did not start: no such module"):
        runner.start(make())


@pytest.mark.parametrize("name", ["/dev/nvidia0", "/dev/nvidia3", "/dev/nvidia12", "/dev/dxg", "/dev/kfd"])
def test_a_gpu_is_seen_by_its_device_file_and_only_if_it_is_visible(monkeypatch: pytest.MonkeyPatch, name: str):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(locks, "glob", lambda pattern: [name] if fnmatch(name, pattern) else [])
    assert device_of("auto") == device_of("cuda") == "gpu"
    assert device_of("cpu") == "cpu"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert device_of("auto") == "cpu"
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    monkeypatch.setattr(locks, "glob", lambda pattern: ["/dev/nvidiactl"] if fnmatch("/dev/nvidiactl", pattern) else [])
    assert device_of("auto") == "cpu"


def test_a_line_that_is_being_written_is_left_out(runs: Path):
    job = new_job(PLAN)
    (job.folder / "metrics.jsonl").write_bytes(b'{"step": 1}\n{"step": 2}\n[3]\n{"ste')
    assert [row["step"] for row in job.rows_of("metrics.jsonl")] == [1, 2]
    write_json(job.folder, "one.json", {"text": "half \ud83d"})
    assert json.loads((job.folder / "one.json").read_text())


def test_notes_leave_out_the_jobs_own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    job = new_job(PLAN, runs=Path("runs"))
    line = f"2026-01-01 00:00:00  Finished: the adapter is in {{}}{os.sep}adapter."
    for place in (job.folder, job.folder.resolve()):
        (job.folder / "log.txt").write_text(line.format(place) + "\n")
        assert job.notes() == ["Finished: the adapter is in adapter."]


# --- the guard


def measured(step: int, **values: float) -> Measures:
    return Measures(**{"step": step, "tokens_per_pass": 1.0, "agreement": 0.9, "repetition": 0.1, **values})


def test_repetition_counts_the_answer_only_and_knows_one_token_and_two():
    assert repetition([7] * 16) == pytest.approx(12 / 13)
    assert repetition([1, 2] * 10) > 0.8
    assert repetition(range(40)) == 0.0
    assert repetition([1, 2]) == 0.0


def test_agreement_is_one_for_the_same_ids_only():
    assert agreement([1, 2, 3], [1, 2, 3]) == 1.0
    assert agreement([1, 2, 3], [1, 2, 3, 4, 5]) == 0.75
    assert agreement([1, 2, 3], [4, 5, 6]) == 0.0
    assert 0 < agreement([1, 2, 9], [1, 2, 3]) < 1
    assert agreement([], [1]) == 0.0


def test_the_guard_pauses_a_collapse_and_says_its_limit():
    before = [measured(0), measured(50, agreement=0.95)]
    config = JobConfig()
    assert collapse(measured(100), before, config) is None
    assert "limit is 50%" in (collapse(measured(100, repetition=0.6), before, config) or "")
    assert "below its best of 0.95" in (collapse(measured(100, agreement=0.5), before, config) or "")


def test_collapsed_checkpoints_are_no_measure_of_the_best():
    first, bad, good = (
        measured(0),
        measured(50, repetition=0.9, tokens_per_pass=14.0),
        measured(100, tokens_per_pass=5.0),
    )
    assert sound([first, bad, good], JobConfig()) == [first, good]


def test_a_task_that_repeats_by_nature_is_no_collapse():
    before = [measured(0, repetition=0.7)]
    assert collapse(measured(50, repetition=0.75), before, JobConfig()) is None
    assert collapse(measured(0, repetition=1.0), [], JobConfig()) is None


def test_a_lock_is_held_by_one_at_a_time(tmp_path: Path):
    held: list[bool] = []
    with try_lock(tmp_path / "lock") as first:
        thread = threading.Thread(target=lambda: held.append(is_locked(tmp_path / "lock")))
        thread.start()
        thread.join()
    assert first
    assert held == [True]
    assert not is_locked(tmp_path / "lock")
