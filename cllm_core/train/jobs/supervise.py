"""A job's own process: waits for its device, runs the stages one after another, writes how the job stands.

    python -m cllm_core.train.jobs.supervise FOLDER

The stages' processes are its children, so that it sees each of them end, whatever ends it. Loads no model.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from psutil import Process

from cllm_core.errors import CllmError, FormatError
from cllm_core.io import parse_json
from cllm_core.train.jobs.folder import OUTCOME, OUTPUT, Job, list_jobs
from cllm_core.train.jobs.locks import job_lock, lock_file, try_lock
from cllm_core.train.jobs.process import descendants, end_all, group_members, identity, is_alive
from cllm_core.train.jobs.stages import stage_command, stage_environment
from cllm_core.train.jobs.state import JobState, read_state, reserve, write_state

GRACE = 180.0  # seconds that a stage has to save a checkpoint and end, before it is killed
_POLL = 0.2
Command = Callable[[Job, str], list[str]]


@dataclass(frozen=True)
class Outcome:
    """How a stage says that it ended."""

    kind: str  # done | stopped | paused | failed
    reason: str = ""


class Supervisor:
    """Runs one job. It alone writes the job's state while it lives."""

    def __init__(self, job: Job, *, command: Command = stage_command, grace: float = GRACE) -> None:
        self.job, self._command, self._grace = job, command, grace
        self._stop = threading.Event()
        self._began = 0.0  # when the stages began, this time
        before = read_state(job.folder)
        pid, started = identity()
        self._state = JobState(
            status="queued",
            done=before.done if before else (),
            pid=pid,
            process_started=started,
            queued=time.time(),
            started=before.started if before else 0.0,
            spent=before.spent if before else 0.0,
            guarded=before is None or (before.guarded and before.status != "paused"),
        )

    def stop(self) -> None:
        """Ask the job to end."""
        self._stop.set()

    def run(self) -> JobState:
        """Run the job to its end, however it ends, and return its last state."""
        reserve(self.job.folder)
        self._write()
        try:
            with self._device(self.job.device) as granted:
                stages = self.job.plan().stages
                outcome = self._run_stages(stages) if granted else Outcome("stopped", "Stopped before it began.")
        except (CllmError, OSError) as error:
            outcome = Outcome("failed", str(error))
        status, now = "finished" if outcome.kind == "done" else outcome.kind, time.time()
        spent = self._state.spent + (now - self._began if self._began else 0.0)
        self._write(status=status, reason=outcome.reason, ended=now, spent=spent)
        return self._state

    def _write(self, **changes: object) -> None:
        self._state = replace(self._state, **changes)  # type: ignore[arg-type]
        write_state(self.job.folder, self._state)

    @contextmanager
    def _device(self, device: str) -> Iterator[bool]:
        """Hold the device, after the jobs that came earlier; yields False if the job was stopped in the queue."""
        path = lock_file(self.job.folder.parent, device)
        while not self._stop.is_set():
            if not self._earlier():
                with try_lock(path) as free:
                    if free:
                        yield True
                        return
            self._stop.wait(_POLL)
        yield False

    def _earlier(self) -> bool:
        """Return whether another job in the queue came before this one."""
        others = [job for job in list_jobs(self.job.folder.parent) if job.name != self.job.name]
        return any(self._came_after(job) for job in others)

    def _came_after(self, other: Job) -> bool:
        try:
            state = read_state(other.folder)
            return (
                state is not None
                and state.status == "queued"
                and (state.queued, other.name) < (self._state.queued, self.job.name)
                and other.device == self.job.device
                and is_alive(state.pid, state.process_started)
            )
        except FormatError:  # a damaged job waits for nothing
            return False

    def _run_stages(self, stages: tuple[str, ...]) -> Outcome:
        self._began = time.time()
        self._write(status="running", started=self._state.started or self._began)
        outcome = Outcome("done")
        for stage in stages:
            if stage in self._state.done:
                continue
            if self._stop.is_set():
                return Outcome("stopped", f"Stopped before the stage {stage}.")
            self._write(stage=stage)
            outcome = self._run_stage(stage)
            if outcome.kind != "done":
                return outcome
            self._write(done=(*self._state.done, stage))
        return outcome

    def _run_stage(self, stage: str) -> Outcome:
        (self.job.folder / OUTCOME).unlink(missing_ok=True)
        with (self.job.folder / OUTPUT).open("ab") as output:
            child = subprocess.Popen(
                self._command(self.job, stage),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=stage_environment(),
            )
            while child.poll() is None and not self._stop.wait(_POLL):
                pass
            if self._stop.is_set():
                self._write(status="stopping")
            end_all(self._processes(), self._grace)  # after a stop, all of them; else what the stage left behind
            code = child.wait()
        return self._outcome(stage, code)

    def _processes(self) -> list[Process]:
        """Return the stage's processes, those whose parent is gone too, which only the group still knows."""
        own = descendants()
        if os.getpgrp() != self._state.pid:
            return own
        known = {process.pid for process in own}
        group = group_members(self._state.pid, self._state.process_started)
        return own + [process for process in group if process.pid not in known]

    def _outcome(self, stage: str, code: int) -> Outcome:
        try:
            found = parse_json((self.job.folder / OUTCOME).read_bytes())
            return Outcome(str(found["kind"]), str(found["reason"]))
        except (OSError, ValueError, KeyError, TypeError):
            pass
        if self._stop.is_set():
            return Outcome("stopped", f"Stopped in the stage {stage}.")
        return Outcome("failed", _unexplained(stage, code))


def _unexplained(stage: str, code: int) -> str:
    how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
    return (
        f"The stage {stage} {how} and gave no reason. A machine that ran out of memory is the usual cause: the last "
        "lines of its output say more."
    )


def supervise(job: Job, *, command: Command = stage_command, grace: float = GRACE) -> int:
    """Run a job in this process, unless another one does; return an exit status. SIGTERM and SIGINT stop the job."""
    with try_lock(job_lock(job.folder)) as alone:
        if not alone:
            print("This job is under way already.", flush=True)
            return 1
        supervisor = Supervisor(job, command=command, grace=grace)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: supervisor.stop())
        return 0 if supervisor.run().status == "finished" else 1


if __name__ == "__main__":
    sys.exit(supervise(Job(Path(sys.argv[1]))))
