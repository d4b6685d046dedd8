"""Starts, stops, resumes and deletes jobs, and reads how they stand. Works across restarts: the folder knows it all."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import replace

from cllm_core.errors import FormatError, TrainingError
from cllm_core.train.jobs.folder import BEST, OUTPUT, Job, copy_whole, remove_folder
from cllm_core.train.jobs.locks import job_lock, try_lock
from cllm_core.train.jobs.process import end_all, group_members, is_alive
from cllm_core.train.jobs.stages import stage_environment
from cllm_core.train.jobs.state import JobState, read_state, write_state

SUPERVISE = ("-m", "cllm_core.train.jobs.supervise")
PATIENCE = 60.0  # seconds in which a started process must have said that it lives
_POLL = 0.05


def start(job: Job) -> None:
    """Start a job, or resume one that does not run, in a process group of its own which outlives this process.

    TrainingError if it runs already, is finished, or its process does not come up.
    """
    state = job_state(job)
    if state.live and state.pid:
        raise TrainingError("This job is under way already.")
    if state.status == "finished":
        raise TrainingError("This job is finished: there is nothing left to do.")
    with (job.folder / OUTPUT).open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, *SUPERVISE, str(job.folder.resolve())],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=stage_environment(),
            start_new_session=True,
        )
    threading.Thread(target=process.wait, name=f"job-{job.name}", daemon=True).start()  # so that it leaves no zombie
    end = time.monotonic() + PATIENCE
    while _pid(job) != process.pid:
        if process.poll() is not None or time.monotonic() > end:
            process.terminate()  # one that is late must not come up after all
            raise TrainingError(f"The job did not start: {' '.join(job.last_lines(2)) or 'its process said nothing.'}")
        time.sleep(_POLL)


def _pid(job: Job) -> int:
    with suppress(FormatError):
        state = read_state(job.folder)
        return state.pid if state else 0
    return 0


def stop(job: Job) -> None:
    """Ask a job to save a checkpoint and end; it does so by itself, within its grace time. Nothing if it has ended."""
    state = job_state(job)
    if state.live and is_alive(state.pid, state.process_started):
        with suppress(ProcessLookupError):
            os.kill(state.pid, signal.SIGTERM)


def use_best(job: Job) -> None:
    """End a run that does not go on: make its best adapter the result, and go on with the stages after training.

    TrainingError if it runs, is finished, or kept no adapter.
    """
    with try_lock(job_lock(job.folder)) as alone:
        state = job_state(job)
        if not alone or not can_use_best(job, state):
            raise TrainingError("This job has no best checkpoint to go on with: it runs, is trained, or never had one.")
        try:
            copy_whole(job.folder / BEST, job.folder / "adapter")
            write_state(job.folder, replace(state, status="stopped", done=(*state.done, "train")))
        except OSError as error:
            raise TrainingError("The best checkpoint could not be copied: free some disk space first.") from error
    start(job)


def can_use_best(job: Job, state: JobState) -> bool:
    """Return whether `use_best` has something to do."""
    return not state.live and "train" not in state.done and (job.folder / BEST).is_dir()


def delete(job: Job) -> None:
    """Delete a job with everything it made; TrainingError while it runs."""
    if job_state(job).live:
        raise TrainingError("This job is under way: stop it before you delete it.")
    remove_folder(job)


def job_state(job: Job) -> JobState:
    """Return how a job stands. One whose process has died is settled: what is left of it ends, and it has failed."""
    try:
        state, made = read_state(job.folder), job.plan().made
    except FormatError as error:
        return JobState("failed", reason=str(error))
    if state is None:
        started = time.time() - made < PATIENCE
        return JobState("queued", queued=made) if started else JobState("failed", reason="It was never started.")
    if not state.live or is_alive(state.pid, state.process_started):
        return state
    return _settle(job, state)


def _settle(job: Job, state: JobState) -> JobState:
    latest = read_state(job.folder)
    if latest is not None and latest != state:  # it ended in the moment between
        return latest
    end_all(group_members(state.pid, state.process_started), 0.0)
    last = job.last_lines(1)
    settled = replace(
        state,
        status="failed",
        reason="The job's process was killed, or the machine was restarted: resume it from its last checkpoint."
        + (f" Last line of its output: {last[0]}" if last else ""),
        ended=time.time(),
    )
    write_state(job.folder, settled)
    return settled
