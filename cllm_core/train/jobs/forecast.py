"""What a job will cost, before it starts: a short trial of the very run, in a process and a folder of its own.

    python -m cllm_core.train.jobs.forecast FOLDER

Time, memory and disk are measured on this machine, and scaled up; tokens are counted.
"""

import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import psutil

from cllm_core import hub, models
from cllm_core.errors import CllmError, TrainingError
from cllm_core.io import parse_json
from cllm_core.pairs import ModelSource, runs_folder
from cllm_core.tasks import get_task
from cllm_core.tasks.base import Example
from cllm_core.train.config import TrainConfig
from cllm_core.train.jobs.folder import Job, new_job
from cllm_core.train.jobs.locks import device_of, lock_file, try_lock
from cllm_core.train.jobs.plan import JobPlan
from cllm_core.train.jobs.stages import stage_environment
from cllm_core.train.jobs.state import write_json

if TYPE_CHECKING:
    from cllm_core.hf import LoadedModel

STEPS, ROWS, ANSWERED = 3, 64, 4  # of a trial: steps, gold rows read, prompts that the target answers
LONGEST = 600.0  # seconds that a trial may take
_FILE = "forecast.json"
_SPARE = 1.15  # memory asked for per byte measured: longer rows than the trial's will come
_LANES = 4  # of the report
_known: dict[str, "Forecast"] = {}  # by plan: those made since the program started
_RSS_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes in which the system counts a process's memory


@dataclass(frozen=True)
class Forecast:
    """What a run will take, scaled up from a trial."""

    prompts: int  # that training will read
    tokens: float  # of their trajectories: mean trajectories per prompt x mean trajectory length x prompts
    share: float | None  # of the base model's pre-training tokens, where known
    fed: float  # tokens fed to the model over all steps, noisy copies included
    step_seconds: float
    seconds: float  # of the whole job
    memory: int  # bytes at the peak, all of the process
    disk: int  # bytes of checkpoints and result
    gpu_memory: int = 0  # bytes at the peak on the GPU, where there is one
    gpu_free: int = 0  # bytes that were free there, and those the trial took

    def sentences(self) -> list[str]:
        """Return the forecast for the user, a sentence each."""
        share = "" if self.share is None else f" ({self.share:.1g} of the base model's pre-training tokens)"
        gpu = f", {self.gpu_memory / 1e9:.1f} GB of GPU memory" if self.gpu_memory else ""
        return [
            f"{self.prompts:,} prompts, whose trajectories have about {self.tokens:,.0f} tokens{share}; "
            f"{self.fed:,.0f} tokens fed over all steps.",
            f"About {duration(self.seconds)} on this machine, at {self.step_seconds:.2f} s a step as timed just now.",
            f"About {self.memory / 1e9:.1f} GB of memory{gpu} and {max(1, round(self.disk / 1e6)):,} MB of disk.",
        ]


def duration(seconds: float) -> str:
    """Return seconds as people say them."""
    if seconds < 90:
        whole = max(1, round(seconds))
        return "1 second" if whole == 1 else f"{whole} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def forecast(plan: JobPlan, *, prompts: Sequence[Example] = (), held_out: Sequence[Example] = ()) -> Forecast:
    """Try a job out and return what it will cost; TrainingError says why it cannot run, or cannot fit here."""
    with tempfile.TemporaryDirectory(prefix="cllm-trial-") as scratch:
        job = new_job(plan, prompts=prompts, held_out=held_out, runs=Path(scratch))
        command = [sys.executable, "-m", "cllm_core.train.jobs.forecast", str(job.folder)]
        try:
            done = subprocess.run(command, env=stage_environment(), capture_output=True, timeout=LONGEST, check=False)
        except subprocess.TimeoutExpired as error:
            raise TrainingError(f"{STEPS} steps took over {LONGEST / 60:.0f} minutes here: choose less.") from error
        try:
            found = parse_json((job.folder / _FILE).read_bytes())
        except OSError as error:
            how = f"signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
            raise TrainingError(
                f"The trial of {STEPS} steps died ({how}), most likely for want of memory: choose a smaller model or "
                "batch, a shorter stretch, or LoRA."
            ) from error
    if "error" in found:
        raise TrainingError(str(found["error"]))
    made = Forecast(**found)
    _known[_key(plan)] = made
    check_room(made)
    return made


def check_start(plan: JobPlan) -> None:
    """Raise TrainingError if the run does not fit here now: by a forecast of this very plan, if one was made.

    Without one, what the weights alone ask for is held against what is free: a run that passes may still not fit.
    """
    made = _known.get(_key(plan))
    if made is not None:
        check_room(made)
        return
    memory, disk = least_room(plan)
    _check_memory(memory, "at least")
    _check_disk(disk, "at least")


def least_room(plan: JobPlan) -> tuple[int, int]:
    """Return the bytes of memory and of disk below which a run cannot go; zeros where they cannot be told.

    Frozen weights are in memory once. Trained ones have a gradient and AdamW's two moments beside them, all in
    float32, and each checkpoint holds them with both moments.
    """
    from safetensors import SafetensorError

    config = plan.train_config(Path())
    try:
        folder = models.on_disk(ModelSource.parse(config.model))
        count = hub.parameter_count(folder) if folder else 0
    except (CllmError, OSError, SafetensorError):
        return 0, 0  # what is wrong with the model is for the run to say
    full = config.method == "full"
    weights = count * (4 if full or config.precision != "bf16" else 2)
    memory = 0 if device_of(config.device) == "gpu" else weights * (4 if full else 1)
    checkpoints = min(config.keep, -(-config.steps // config.save_every))
    return memory, weights * (3 * checkpoints + 1) if full else 0


def _key(plan: JobPlan) -> str:
    return json.dumps([dict(plan.train), asdict(replace(plan.job, title="")), plan.uploaded], sort_keys=True)


def check_room(needed: Forecast, runs: Path | None = None) -> None:
    """Raise TrainingError if the machine has not the memory or the disk that a run needs, now."""
    _check_memory(needed.memory, "about")
    if needed.gpu_memory > needed.gpu_free:
        raise TrainingError(
            f"The run needs about {needed.gpu_memory / 1e9:.1f} GB of GPU memory and {needed.gpu_free / 1e9:.1f} GB "
            "are free: choose a smaller batch, window or stretch, or LoRA, or close other programs."
        )
    _check_disk(needed.disk, "about", runs)


def _check_memory(needed: int, how: str) -> None:
    free = psutil.virtual_memory().available
    if needed > free:
        raise TrainingError(
            f"The run needs {how} {needed / 1e9:.1f} GB of memory and {free / 1e9:.1f} GB are free: choose a "
            "smaller batch, window or stretch, or LoRA, or close other programs."
        )


def _check_disk(needed: int, how: str, runs: Path | None = None) -> None:
    folder = runs or runs_folder()
    place = next(path for path in (folder, *folder.resolve().parents) if path.exists())
    space = shutil.disk_usage(place).free
    if needed > space:
        raise TrainingError(
            f"The run needs {how} {needed / 1e6:,.0f} MB of disk and {space / 1e6:,.0f} MB are free: keep fewer "
            "checkpoints, or name another folder by CLLM_RUNS."
        )


def trial(job: Job) -> Forecast:
    """Run a few steps and one probe of the job, in its folder, and scale them up."""
    from cllm_core.train.cost import estimate
    from cllm_core.train.jobs.folder import read_metrics
    from cllm_core.train.jobs.probe import Probe, read_measures
    from cllm_core.train.run import train, training_rows

    plan = job.plan()
    config = plan.train_config(job.folder)
    prompts = _prompts(config)
    collecting = _try_collecting(plan, job, prompts) if plan.job.answers == "target" else 0.0
    short = replace(config, steps=STEPS, limit=min(ROWS, prompts), save_every=STEPS, tracker="none")
    probe, costs = Probe(job), []

    def before_training(loaded: "LoadedModel", step: int, checkpoint: Path | None) -> None:
        if step == 0:
            probe(loaded, step, checkpoint)
            costs.append(estimate(training_rows(short, loaded, lambda line: None), loaded.info.name))

    train(short, watch=before_training)
    metrics, (cost,), decoded = read_metrics(job), costs, read_measures(job)[0].seconds
    step = fmean(float(row["seconds"]) for row in metrics[1:])  # the first one also warms up
    gpu_memory, gpu_free = _gpu()
    probes = decoded * (1 + -(-config.steps // config.save_every))
    per_token = decoded / (plan.job.probe_prompts * plan.job.probe_tokens)  # before training a pass gives one token
    report = per_token * plan.job.test_prompts * plan.job.answer_tokens * _LANES
    return Forecast(
        prompts=prompts,
        tokens=cost.tokens / cost.prompts * prompts,
        share=None if cost.share is None else cost.share / cost.prompts * prompts,
        fed=metrics[-1]["tokens"] / len(metrics) * config.steps,
        step_seconds=step,
        seconds=collecting + step * config.steps + probes + report,
        memory=round(_SPARE * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RSS_UNIT),
        disk=_size(job.folder / "checkpoints") * (config.keep + 1) + 2 * _size(job.folder),
        gpu_memory=round(_SPARE * gpu_memory),
        gpu_free=gpu_free,
    )


def _gpu() -> tuple[int, int]:
    """Return (bytes that this process took at most on its GPU, bytes free for it there); zeros without one."""
    import torch

    if not torch.cuda.is_available() or not torch.cuda.max_memory_reserved():
        return 0, 0
    return torch.cuda.max_memory_reserved(), torch.cuda.mem_get_info()[0] + torch.cuda.memory_reserved()


def _prompts(config: TrainConfig) -> int:
    data = Path(config.data) if config.data else None
    return len(get_task(config.task).load(config.split, data=data, limit=config.limit or None, seed=config.seed))


def _try_collecting(plan: JobPlan, job: Job, prompts: int) -> float:
    """Have the target answer a few prompts; return the seconds that all of them will take."""
    from cllm_core.train.collect import collect

    asked = min(ANSWERED, prompts)
    started = time.perf_counter()
    collect(replace(plan.collect_config(job.folder), limit=asked))
    return (time.perf_counter() - started) / asked * prompts


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main() -> int:
    """Try out the job whose folder is named on the command line; its forecast, or what is wrong, goes to a file."""
    from cllm_core.train.jobs.worker import explain

    job = Job(Path(sys.argv[1]))
    runs_folder().mkdir(parents=True, exist_ok=True)
    try:
        with try_lock(lock_file(runs_folder(), job.device)):  # free or not: who decodes beside it is told
            found: dict[str, Any] = asdict(trial(job))
    except CllmError as error:
        found = {"error": str(error)}
    except Exception as error:
        found = {"error": explain(job, error)}
    write_json(job.folder, _FILE, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
