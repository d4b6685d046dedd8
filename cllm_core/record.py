"""Folds the Steps of a run into a Trajectory, and stops the run when asked. Keeps ids and small numbers only."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from cllm_core.types import DecodeConfig, ModelInfo, Step, Trajectory

PieceTable = Callable[[int], bytes]  # token id -> its bytes


@dataclass
class Recorder:
    """Listens to a run: iterate over `listen(steps)` to drive it, then read `trajectory()` at any time."""

    config: DecodeConfig
    model: ModelInfo
    prompt: str
    prompt_ids: Sequence[int]
    piece: PieceTable
    eos_ids: frozenset[int] = frozenset()
    special_ids: frozenset[int] = frozenset()
    notes: tuple[str, ...] = ()
    steps: list[Step] = field(default_factory=list)
    seconds: float = 0.0
    _finished: bool = False

    def listen(self, steps: Iterable[Step], stop: Callable[[], bool] = lambda: False) -> Iterator[Step]:
        """Pass the Steps through while keeping them. `stop` is asked after every pass; the time of whoever consumes
        the Steps is not counted."""
        source = iter(steps)
        while True:
            started = time.perf_counter()
            step = next(source, None)
            self.seconds += time.perf_counter() - started
            if step is None:
                self._finished = True
                return
            self.steps.append(step)
            yield step
            if stop():
                return

    def run(self, steps: Iterable[Step], stop: Callable[[], bool] = lambda: False) -> Trajectory:
        """Drive the run to its end and return its Trajectory."""
        for _ in self.listen(steps, stop):
            pass
        return self.trajectory()

    def ids(self) -> tuple[int, ...]:
        """Return the tokens fixed so far."""
        return tuple(token for step in self.steps for token in step.state[: step.fixed - step.start])

    def trajectory(self) -> Trajectory:
        """Return the run so far as a Trajectory; partial if it has not come to its own end."""
        ids = self.ids()
        prompt_ids = tuple(self.prompt_ids)
        seen = {*prompt_ids, *ids}
        for step in self.steps:
            seen.update(step.draft, step.state, (token for row in step.top for token, _ in row))
        return Trajectory(
            config=self.config,
            model=self.model,
            prompt=self.prompt,
            prompt_ids=prompt_ids,
            steps=tuple(self.steps),
            ids=ids,
            finish=self._finish(ids),
            seconds=self.seconds,
            pieces={token: self.piece(token) for token in sorted(seen)},
            special=frozenset(seen & self.special_ids),
            eos_ids=self.eos_ids,
            notes=self.notes,
        )

    def _finish(self, ids: tuple[int, ...]) -> str:
        if ids and ids[-1] in self.eos_ids:
            return "end"
        if len(ids) >= self.config.max_new_tokens:
            return "length"
        return "context" if self._finished else "stopped"


def with_notes(trajectory: Trajectory, *notes: str) -> Trajectory:
    """Return the trajectory with further notes."""
    return replace(trajectory, notes=(*trajectory.notes, *notes))
