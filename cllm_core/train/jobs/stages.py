"""The command line of each stage. Training and collecting go through `accelerate launch`, the report does not."""

import os
import socket
import sys
from pathlib import Path

from cllm_core.train.jobs.folder import Job

_ROOT = Path(__file__).resolve().parents[3]
_LAUNCHED = frozenset({"collect", "train"})


def stage_command(job: Job, stage: str) -> list[str]:
    """Return the command that runs a stage of the job."""
    worker = ["-m", "cllm_core.train.jobs.worker", str(job.folder), stage]
    if stage not in _LAUNCHED:
        return [sys.executable, *worker]
    launch = [
        "-m", "accelerate.commands.launch",
        "--num_processes", "1", "--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no",
        "--main_process_port", str(free_port()), "--num_cpu_threads_per_process", _threads(),
    ]  # fmt: skip
    if job.device == "cpu":
        launch.append("--cpu")
    return [sys.executable, *launch, *worker]


def stage_environment() -> dict[str, str]:
    """Return this process's environment, with the program on the path of its children and their output unbuffered."""
    paths = [str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONUNBUFFERED": "1"}


def _threads() -> str:
    """Return how many threads a stage computes with: what its user wishes, else one a core that it may use."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return os.environ.get("OMP_NUM_THREADS") or str(allowed)


def free_port() -> int:
    """Return a port that is free now: 29500, which launchers take by default, may be another run's."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
