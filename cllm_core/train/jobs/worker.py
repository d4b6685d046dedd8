"""One stage of a job, in its own process: does it, and leaves a file that says how it ended.

python -m cllm_core.train.jobs.worker FOLDER STAGE
"""

import errno
import os
import sys
import traceback
from pathlib import Path

from cllm_core.errors import CllmError
from cllm_core.memory import is_out_of_memory
from cllm_core.train.jobs.folder import OUTCOME, Job
from cllm_core.train.jobs.state import FULL, read_state, write_json

Ending = tuple[str, str]  # kind (done, stopped, paused, failed), reason


def collect_stage(job: Job) -> Ending:
    """Have the target answer the prompts."""
    from cllm_core.train.collect import collect_command

    result = collect_command(job.plan().collect_config(job.folder))
    if not result.finished:
        return "stopped", "Stopped while answers were being collected: those there are kept."
    return "done", ""


def train_stage(job: Job) -> Ending:
    """Train, with a probe at every checkpoint."""
    from cllm_core.train.jobs.probe import Probe
    from cllm_core.train.processes import leaving_together
    from cllm_core.train.run import train
    from cllm_core.train.signals import stop_on_signals

    with stop_on_signals() as stop, leaving_together():
        state = read_state(job.folder)
        probe = Probe(job, stop=stop, guarded=state is None or state.guarded)
        result = train(job.plan().train_config(job.folder), stop=lambda: stop() or bool(probe.reason), watch=probe)
    if result.finished:
        return "done", ""
    if probe.reason:
        return "paused", probe.reason
    if result.steps == 0:
        return "stopped", "Stopped before the first step."
    return "stopped", f"Stopped after step {result.steps}: its checkpoint is saved."


def evaluate_stage(job: Job) -> Ending:
    """Make the pair, measure it on held-out prompts, and put the numbers into it."""
    from cllm_core.train.jobs.report import make_report

    make_report(job)
    return "done", ""


STAGES = {"collect": collect_stage, "train": train_stage, "evaluate": evaluate_stage}


def run_stage(job: Job, stage: str) -> Ending:
    """Run a stage; an error becomes its reason, and its traceback goes to the job's output."""
    try:
        return STAGES[stage](job)
    except CllmError as error:
        print(f"error: {error}", flush=True)
        return "failed", str(error)
    except Exception as error:
        traceback.print_exc()
        return "failed", explain(job, error)


def explain(job: Job, error: BaseException) -> str:
    """Say what an unexpected error means for the job, and what to do."""
    text = str(error)
    kept = sorted(path.name for path in (job.folder / "checkpoints").glob("step-*"))
    good = f"The last good checkpoint is {kept[-1]}." if kept else "There is no checkpoint yet."
    if getattr(error, "errno", None) in FULL or any(sign in text for sign in _DISK_SIGNS):
        return f"The disk is full. {good} Free some space and resume the job."
    if is_out_of_memory(error):
        return (
            f"The machine ran out of memory. {good} Start a job with a smaller batch, a shorter stretch or a smaller "
            "window, or with gradient checkpointing."
        )
    first = (text.strip().splitlines() or [""])[0]
    return f"The stage failed ({type(error).__name__}: {first}). {good} The end of its output says more."


# how libraries that write through other languages word a full disk
_DISK_SIGNS = (os.strerror(errno.ENOSPC), "code: 28", "PytorchStreamWriter failed writing")


def main() -> int:
    """Run the stage named on the command line. Of several processes, the first one writes how it ended.

    A failure that was told is exit status 0 for a lone process: launchers would bury its words under a traceback.
    """
    job = Job(Path(sys.argv[1]))
    kind, reason = run_stage(job, sys.argv[2])
    if os.environ.get("RANK", "0") == "0":
        write_json(job.folder, OUTCOME, {"kind": kind, "reason": reason})
    return 1 if kind == "failed" and os.environ.get("WORLD_SIZE", "1") != "1" else 0


if __name__ == "__main__":
    sys.exit(main())
