"""Runs of the app: a worker on a tiny random model, followed, stopped, closed, failing. No network."""

import re
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import tiny

from cllm_core.cache import Progress
from cllm_core.errors import ModelGated
from cllm_core.hf import LoadedModel
from cllm_core.pairs import ModelPair, ModelSource
from cllm_core.types import DecodeConfig
from visualize import runs
from visualize.live import follow, run_status
from visualize.runs import Registry, Run, RunRequest

BASE, CLLM = ModelSource("folder", "/models/base"), ModelSource("folder", "/models/cllm")
PAIR = ModelPair("tiny", "Tiny", BASE, CLLM, chat=False)


def load(source: ModelSource, *, device: str, dtype: str, progress: Progress) -> LoadedModel:
    """Stands in for cllm_core.models.load: two models of random weights."""
    progress(0, 0, f"Loading {source.title}")
    return tiny.loaded(tiny.model(seed=0 if source == BASE else 1), name=source.title)


def make_run(
    tokens: int = 12, lanes: tuple[str, ...] = ("base_ar", "base_jacobi", "cllm_jacobi"), **changes: Any
) -> Run:
    config = DecodeConfig(max_new_tokens=tokens, block_size=4, model_defaults=False)
    return Run(RunRequest(**{"pair": PAIR, "prompt": "hello", "config": config, "lanes": lanes, **changes}))


def finish(run: Run) -> None:
    assert run.wait(20), "the worker did not end"


@pytest.fixture(autouse=True)
def no_worker_is_left() -> Iterator[None]:
    yield
    for thread in threading.enumerate():
        if thread.name.startswith("run-"):
            thread.join(5)
            assert not thread.is_alive()


class Gate:
    """A model whose passes wait: each needs one `open`. Wraps a real one."""

    def __init__(self) -> None:
        self.passes = 0
        self._permits = threading.Semaphore(0)

    def open(self, count: int = 1) -> None:
        self._permits.release(count)

    def load(self, source: ModelSource, **options: Any) -> LoadedModel:
        loaded = load(source, **options)
        inner = loaded.session

        def session(*arguments: Any, **keywords: Any) -> Any:
            lm = inner(*arguments, **keywords)
            extend = lm.extend

            def gated(*fed: Any, **how: Any) -> Any:
                assert self._permits.acquire(timeout=10)
                self.passes += 1
                return extend(*fed, **how)

            lm.extend = gated
            return lm

        loaded.session = session
        return loaded


def until(condition: Callable[[], bool], seconds: float = 10) -> None:
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends, "it did not happen"
        time.sleep(0.005)


# --- a run to its end


def test_a_run_decodes_every_lane_and_its_status_says_so():
    run = make_run()
    statuses = list(follow(run, load))
    lanes = run.trajectories()
    assert [status["kind"] for status in statuses] == ["busy"] * len(statuses)
    assert list(lanes) == ["base_ar", "base_jacobi", "cllm_jacobi"]
    assert lanes["base_ar"].ids == lanes["base_jacobi"].ids != lanes["cllm_jacobi"].ids
    assert not any(trajectory.partial for trajectory in lanes.values())
    ended = run_status(run)["lanes"]
    assert [lane["state"] for lane in ended] == ["done"] * 3
    assert [(lane["tokens"], lane["share"]) for lane in ended] == [(12, 1.0)] * 3


def test_the_status_of_a_run_comes_more_than_twice_a_second():
    gate, run = Gate(), make_run(tokens=40, lanes=("base_ar",))
    following, moments = follow(run, gate.load), []
    for _ in range(5):
        next(following)
        moments.append(time.monotonic())
    run.stop()
    gate.open(50)
    list(following)
    assert moments[-1] - moments[0] < 2.0  # four intervals


def test_the_prompt_goes_through_the_pairs_template():
    pair = ModelPair("t", "T", BASE, template="Q: {prompt}\nA:", chat=False)
    run = make_run(lanes=("base_ar",), pair=pair)
    run.start(load)
    finish(run)
    assert run.trajectories()["base_ar"].prompt == "Q: hello\nA:"


def test_only_the_models_of_the_lanes_are_loaded():
    seen: list[ModelSource] = []

    def watched(source: ModelSource, **options: Any) -> LoadedModel:
        seen.append(source)
        return load(source, **options)

    run = make_run(lanes=("base_ar",))
    run.start(watched)
    finish(run)
    assert seen == [BASE]


def test_the_status_tells_stage_and_megabytes_of_a_download():
    run = make_run()
    hold, reached = threading.Event(), threading.Event()

    def slow(source: ModelSource, *, progress: Progress, **options: Any) -> LoadedModel:
        progress(34_000_000, 93_000_000, "Downloading smollm2")
        reached.set()
        hold.wait(10)
        return load(source, progress=progress, **options)

    run.start(slow)
    assert reached.wait(10)
    status = run_status(run)
    hold.set()
    finish(run)
    assert status["text"].startswith("Downloading smollm2: 34 of 93 MB")
    assert status["share"] == pytest.approx(34 / 93)
    assert [lane["state"] for lane in status["lanes"]] == ["queued"] * 3


# --- stopping


def test_stop_ends_a_run_within_one_pass_and_keeps_what_was_decoded():
    gate, run = Gate(), make_run(tokens=40, lanes=("base_ar", "base_jacobi"))
    run.start(gate.load)
    gate.open(6 + 5)  # the warm-up has three passes for each decoder
    until(lambda: bool(run.recorders) and len(run.recorders["base_ar"].steps) == 5)
    passes = gate.passes
    run.stop()
    gate.open(50)
    finish(run)
    lanes = run.trajectories()
    assert gate.passes <= passes + 1
    assert list(lanes) == ["base_ar"]
    assert lanes["base_ar"].partial
    assert len(lanes["base_ar"].ids) in (5, 6)
    assert [lane["state"] for lane in run_status(run)["lanes"]] == ["stopped", "stopped"]


def test_stop_during_a_load_ends_it_at_its_next_report():
    run, reports = make_run(), []

    def endless(source: ModelSource, *, progress: Progress, **options: Any) -> LoadedModel:
        while True:
            progress(len(reports), 1000, "Downloading")
            reports.append(1)
            time.sleep(0.005)

    run.start(endless)
    until(lambda: len(reports) > 2)
    run.stop()
    finish(run)
    assert run.error == ""
    assert run.trajectories() == {}


def test_a_stopped_load_that_gives_no_sign_of_life_is_let_go(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("visualize.live.PATIENCE", 0.05)
    monkeypatch.setattr("visualize.live.TICK", 0.02)
    run, hold = make_run(), threading.Event()

    def deaf(source: ModelSource, **options: Any) -> LoadedModel:
        hold.wait(10)
        return load(source, **options)

    following = follow(run, deaf)
    next(following)
    run.stop()
    assert next(following)["text"] == "Stopping …"
    list(following)  # ends although the load does not
    assert not run.ended
    hold.set()
    finish(run)
    assert run.trajectories() == {}


def test_closing_the_page_stops_the_run_without_waiting_for_it():
    gate, run = Gate(), make_run(tokens=40, lanes=("base_ar",))
    following = follow(run, gate.load)
    next(following)
    gate.open(6 + 3)
    until(lambda: bool(run.recorders))
    started = time.monotonic()
    following.close()
    assert time.monotonic() - started < 1.0
    gate.open(50)
    finish(run)
    assert run.trajectories()["base_ar"].partial


def test_two_runs_never_use_the_models_at_once():
    gate, first, second = Gate(), make_run(tokens=8, lanes=("base_ar",)), make_run(tokens=2, lanes=("base_ar",))
    first.start(gate.load)
    gate.open(6 + 2)
    until(lambda: bool(first.recorders))
    second.start(load)
    assert not second.wait(0.1)
    assert run_status(second)["text"].startswith("Waiting for the run before")
    gate.open(50)
    finish(first)
    finish(second)
    assert len(second.trajectories()["base_ar"].ids) == 2


# --- failing


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ModelGated("owner/name is gated: accept its licence."), "owner/name is gated: accept its licence."),
        (RuntimeError("CUDA out of memory. Tried to allocate"), "ran out of memory: ask for fewer tokens"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"), "ran out of memory: ask for fewer"),
        (MemoryError(), "ran out of memory: ask for fewer tokens"),
        (ZeroDivisionError("secret detail"), r"Decoding failed \(ZeroDivisionError\)"),
    ],
)
def test_a_failure_is_one_sentence_and_the_next_run_works(
    error: Exception, message: str, caplog: pytest.LogCaptureFixture
):
    run = make_run(lanes=("base_ar",))

    def failing(source: ModelSource, **options: Any) -> LoadedModel:
        raise error

    list(follow(run, failing))
    assert re.search(message, run.error)
    assert "secret detail" not in run.error
    after = make_run(tokens=2, lanes=("base_ar",))
    list(follow(after, load))
    assert after.error == ""
    assert len(after.trajectories()["base_ar"].ids) == 2


def test_lanes_decoded_before_a_failure_are_kept():
    run = make_run(lanes=("base_ar", "base_jacobi"))

    def fails_in_the_second_lane(source: ModelSource, **options: Any) -> LoadedModel:
        loaded = load(source, **options)
        inner, sessions = loaded.session, []

        def session(*arguments: Any, **keywords: Any) -> Any:
            sessions.append(1)
            if len(sessions) == 4:  # two for the warm-up, then one a lane
                raise RuntimeError("out of memory")
            return inner(*arguments, **keywords)

        loaded.session = session
        return loaded

    list(follow(run, fails_in_the_second_lane))
    assert "out of memory" in run.error
    assert list(run.trajectories()) == ["base_ar"]
    assert not run.trajectories()["base_ar"].partial


# --- the registry


def test_the_registry_is_bounded_and_stops_what_it_forgets():
    registry, made = Registry(kept=2), [make_run() for _ in range(3)]
    identities = [registry.add(run) for run in made]
    assert len(set(identities)) == 3
    assert registry.get(identities[0]) is None
    assert [run.stopped for run in made] == [True, False, False]
    assert registry.ahead(identities[2]) == 1


def test_a_session_that_ends_takes_its_own_runs_along_and_no_others():
    registry = Registry()
    mine, theirs = Run(make_run().request, owner="me"), Run(make_run().request, owner="them")
    registry.add(mine)
    registry.add(theirs)
    registry.drop_owner("me")
    assert registry.get(mine.id) is None
    assert mine.stopped
    assert registry.get(theirs.id) is theirs
    assert not theirs.stopped


def test_the_module_keeps_no_run_after_its_end():
    run = make_run(tokens=2, lanes=("base_ar",))
    runs.RUNS.add(run)
    list(follow(run, load))
    runs.RUNS.drop(run.id)
    assert runs.RUNS.get(run.id) is None
