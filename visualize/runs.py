"""Runs of the app: a worker thread decodes, the page reads how far it has come, and one run at a time uses the models.

Knows no gradio and no widget. RUNS holds the runs that are under way, by id; none of it belongs to a later visitor.
"""

import logging
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from cllm_core import models
from cllm_core.cache import Progress
from cllm_core.compare import LANES, run_lanes, warm_up
from cllm_core.errors import CllmError
from cllm_core.memory import is_out_of_memory
from cllm_core.pairs import ModelPair, ModelSource
from cllm_core.record import Recorder
from cllm_core.types import DecodeConfig, Trajectory

if TYPE_CHECKING:
    from cllm_core.hf import LoadedModel

log = logging.getLogger(__name__)

KEPT = 128  # runs under way or in the queue; the oldest is stopped when there are more
_models_in_use = threading.Lock()  # a stopped run may still be in its last pass when the queue admits the next one


class Load(Protocol):
    """How a model is had: `cllm_core.models.load`, or a stand-in."""

    def __call__(self, source: ModelSource, *, device: str, dtype: str, progress: Progress) -> "LoadedModel": ...


class RunStopped(CllmError):
    """Ends a download or a load after Stop. A CllmError, so that nothing on the way up rewords it."""


@dataclass(frozen=True)
class RunRequest:
    """What to decode, and how."""

    pair: ModelPair
    prompt: str
    config: DecodeConfig
    lanes: tuple[str, ...]
    device: str = "auto"
    dtype: str = "auto"

    @property
    def lane_keys(self) -> list[str]:
        """The lanes that will run, in their order: those asked for that the pair has a model for."""
        return [
            key
            for key, lane in LANES.items()
            if key in self.lanes and (lane.side == "base" or self.pair.cllm is not None)
        ]


@dataclass
class Run:
    """One run. Its worker writes, the page reads; `stop` may come from anywhere."""

    request: RunRequest
    owner: str = ""  # the session that asked for it
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    stage: str = "Waiting for the run before"
    done: int = 0  # bytes of the stage
    total: int = 0  # 0: unknown
    recorders: dict[str, Recorder] = field(default_factory=dict)
    error: str = ""
    began: float | None = None  # monotonic seconds
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self, load: Load = models.load) -> None:
        """Begin to work, in a thread of its own."""
        self.began = time.monotonic()
        self._thread = threading.Thread(target=self._work, args=(load,), name=f"run-{self.id[:8]}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ask the run to end: within one pass, or at the next sign of life of a download."""
        self._stop.set()

    @property
    def stopped(self) -> bool:
        """Whether a stop was asked for."""
        return self._stop.is_set()

    @property
    def decoding(self) -> bool:
        """Whether the first pass is behind it."""
        return bool(self.recorders)

    @property
    def ended(self) -> bool:
        """Whether the worker has begun and ended."""
        return self._thread is not None and not self._thread.is_alive()

    def wait(self, seconds: float) -> bool:
        """Wait at most so long for the worker to end; return whether it has."""
        if self._thread is not None:
            self._thread.join(seconds)
        return self.ended

    def elapsed(self) -> float:
        """Return the seconds since the work began."""
        return 0.0 if self.began is None else time.monotonic() - self.began

    def trajectories(self) -> dict[str, Trajectory]:
        """Return what each lane that began has decoded so far."""
        return {key: recorder.trajectory() for key, recorder in list(self.recorders.items())}

    def _report(self, done: int, total: int, stage: str) -> None:
        self.done, self.total, self.stage = done, total, stage
        if self.stopped:
            raise RunStopped("The run was stopped.")

    def _work(self, load: Load) -> None:
        out_of_memory = False
        try:
            with _models_in_use:
                self._decode(load)
        except RunStopped:
            pass
        except CllmError as error:
            self.error = str(error)
        except Exception as error:  # the page must hear of it, whatever it is
            log.exception("A run failed.")
            self.error = _worded(error)
            if is_out_of_memory(error):
                out_of_memory = True
        if out_of_memory:  # here, where the error holds nothing any more
            models.make_room()

    def _decode(self, load: Load) -> None:
        request, pair = self.request, self.request.pair
        sides = {LANES[key].side for key in request.lane_keys}
        sources = {"base": pair.base, "cllm": pair.cllm}
        loaded = {}
        for side, source in sources.items():
            if side in sides and source is not None:
                self._report(0, 0, f"Looking for {source.title}")
                loaded[side] = load(source, device=request.device, dtype=request.dtype, progress=self._report)
        self._report(0, 0, "Warming up")
        prompt = pair.wrap(request.prompt)
        warm_up(loaded, prompt, request.config, chat=pair.chat, stop=self._stop.is_set)
        self._report(0, 0, "Decoding")
        for lane, recorder in run_lanes(
            loaded, prompt, request.config, chat=pair.chat, lanes=request.lane_keys, stop=self._stop.is_set
        ):
            self.recorders[lane.key] = recorder


def _worded(error: Exception) -> str:
    if is_out_of_memory(error):
        return "The model ran out of memory: ask for fewer tokens, a shorter prompt or a smaller model."
    return (
        f"Decoding failed ({type(error).__name__}): the server's log says more. You can change a setting and run again."
    )


class Registry:
    """Runs under way, by id."""

    def __init__(self, kept: int = KEPT) -> None:
        self._runs: OrderedDict[str, Run] = OrderedDict()
        self._kept, self._lock = kept, threading.Lock()

    def add(self, run: Run) -> str:
        """Hold a run and return its id."""
        with self._lock:
            self._runs[run.id] = run
            while len(self._runs) > self._kept:
                self._runs.popitem(last=False)[1].stop()
        return run.id

    def get(self, identity: str | None) -> Run | None:
        """Return the run, or None if it has ended."""
        return None if identity is None else self._runs.get(identity)

    def ahead(self, identity: str) -> int:
        """Return how many runs were asked for earlier and have not ended."""
        with self._lock:
            return list(self._runs).index(identity) if identity in self._runs else 0

    def drop(self, identity: str) -> None:
        """Stop a run if it is still at work, and forget it."""
        with self._lock:
            run = self._runs.pop(identity, None)
        if run is not None:
            run.stop()

    def drop_owner(self, owner: str) -> None:
        """Stop and forget every run of a session that has ended."""
        for run in self._each(lambda run: run.owner == owner):
            self.drop(run.id)

    def _each(self, keep: Callable[[Run], bool]) -> list[Run]:
        with self._lock:
            return [run for run in self._runs.values() if keep(run)]


RUNS = Registry()
