"""Recording: what was streamed is what is returned, stopping leaves a valid partial run, and no time is stolen."""

import time
from dataclasses import replace
from itertools import islice

import pytest
import worked_example
from hypothesis import given, settings
from tables import SpyLM, cases, run

from cllm_core import io
from cllm_core.decoders import DECODERS
from cllm_core.record import Recorder, with_notes
from cllm_core.types import DecodeConfig, ModelInfo

many = settings(max_examples=100, deadline=None)


def counter(eos_ids: tuple[int, ...] = (), context: int = 1 << 20) -> SpyLM:
    return SpyLM({(token,): token + 1 for token in range(60)}, vocab_size=61, eos_ids=eos_ids, context=context)


def recorder(lm: SpyLM, config: DecodeConfig, **changes: object) -> Recorder:
    values = {"piece": lambda token: b"<%d>" % token, "eos_ids": lm.eos_ids, **changes}
    return Recorder(config, ModelInfo(name="table"), "prompt", (0,), **values)


@many
@given(cases())
def test_streamed_tokens_are_the_returned_ones(case):
    """Accepted tokens went missing from the stream, or the last one was doubled."""
    lm = case.lm()
    listening = Recorder(case.config, ModelInfo(name="table"), "", case.prompt_ids, lambda token: b"", lm.eos_ids)
    streamed: list[int] = []
    for step in listening.listen(DECODERS[case.config.decoder](lm, case.prompt_ids, case.config)):
        gained = step.state[: step.fixed - step.start]
        assert len(streamed) == step.start  # what was accepted never changes later
        streamed += gained
        assert listening.ids() == tuple(streamed)
    assert listening.trajectory().ids == tuple(streamed) == case.answer()


@pytest.mark.parametrize("passes", [1, 2, 3])
def test_stopping_ends_the_run_within_one_pass_and_keeps_a_valid_part(passes):
    config = DecodeConfig(block_size=4, max_new_tokens=30)
    lm = counter()
    listening = recorder(lm, config)
    trajectory = listening.run(DECODERS["jacobi"](lm, (0,), config), stop=lambda: len(lm.fed) >= passes)
    assert len(trajectory.steps) == len(lm.fed) == passes
    assert trajectory.partial
    assert trajectory.finish == "stopped"
    assert trajectory.ids == tuple(range(1, len(trajectory.ids) + 1))
    assert len(trajectory.ids) == trajectory.steps[-1].fixed >= passes
    assert io.loads(io.dumps(trajectory)) == trajectory


def test_a_listener_that_goes_away_leaves_a_partial_run():
    config = DecodeConfig(max_new_tokens=30)
    lm = counter()
    listening = recorder(lm, config)
    stream = listening.listen(DECODERS["jacobi"](lm, (0,), config))
    list(islice(stream, 2))
    stream.close()
    assert listening.trajectory().partial
    assert len(lm.fed) == 2


def test_a_run_stopped_by_its_last_pass_is_complete():
    lm = counter(eos_ids=(1,))
    config = DecodeConfig(max_new_tokens=30)
    trajectory = recorder(lm, config).run(DECODERS["jacobi"](lm, (0,), config), stop=lambda: True)
    assert (trajectory.finish, trajectory.partial) == ("end", False)


def test_a_run_can_be_read_before_its_first_pass():
    trajectory = recorder(counter(), DecodeConfig()).trajectory()
    assert (trajectory.ids, trajectory.steps, trajectory.finish) == ((), (), "stopped")


@pytest.mark.parametrize(
    ("eos_ids", "context", "limit", "finish"),
    [((5,), 100, 30, "end"), ((5,), 100, 5, "end"), ((), 100, 5, "length"), ((), 6, 30, "context")],
)
def test_a_run_says_why_it_ended(eos_ids, context, limit, finish):
    config = DecodeConfig(max_new_tokens=limit)
    trajectory = run(counter(eos_ids, context), (0,), config)
    assert trajectory.ids == (1, 2, 3, 4, 5)
    assert trajectory.finish == finish


def test_every_id_that_occurs_has_its_piece():
    lm = counter()
    config = DecodeConfig(block_size=4, max_new_tokens=6, init="pad")
    steps = (
        replace(step, top=(((60, 0.1), (step.state[0], 0.05)),) * len(step.state))
        for step in DECODERS["jacobi"](lm, (0,), config)
    )
    trajectory = recorder(lm, config, special_ids=frozenset({2, 59})).run(steps)
    seen = {0, 60, *trajectory.ids}
    for step in trajectory.steps:
        seen |= {*step.draft, *step.state}
    assert set(trajectory.pieces) == seen
    assert trajectory.special == {2}  # only those that occur
    assert trajectory.text == "<1><3><4><5><6>"


def test_time_of_whoever_watches_is_not_counted():
    lm = counter()
    config = DecodeConfig(decoder="autoregressive", max_new_tokens=6)
    listening = recorder(lm, config)
    for _ in listening.listen(DECODERS["autoregressive"](lm, (0,), config)):
        time.sleep(0.05)
    assert sum(step.seconds for step in listening.steps) <= listening.seconds < 0.25  # the watching takes 0.3


def test_broken_text_is_marked_and_the_ids_are_kept():
    pieces = {1: b"\xf0\x9f", 2: b"\xa4\x97", 3: b"\xff"}
    trajectory = worked_example.trajectory(ids=(1, 2, 3), pieces=pieces, steps=())
    assert trajectory.text == "🤗\N{REPLACEMENT CHARACTER}"
    assert trajectory.text_of((1,)) == "\N{REPLACEMENT CHARACTER}"


def test_notes_are_added_to_those_there_are():
    trajectory = worked_example.trajectory(notes=("one.",))
    assert with_notes(trajectory, "two.", "three.").notes == ("one.", "two.", "three.")
