"""Comparing lanes: one prompt, one clock, ids compared with the same model one at a time, and no claim unchecked."""

import json
import math
from dataclasses import replace

import pytest
import worked_example
from tables import SpyLM

from cllm_core.compare import (
    DEFAULT_LANES,
    DIFFERENT_DEFAULTS,
    DIFFERENT_PROMPTS,
    LANES,
    Difference,
    compare,
    comparison_to_dict,
    decode,
    first_difference,
    lane_results,
    lane_to_dict,
    lanes_of,
    run_lanes,
    summarize_lanes,
    warm_up,
)
from cllm_core.encoding import EncodedPrompt
from cllm_core.errors import ConfigError, PromptError
from cllm_core.types import DecodeConfig, ModelInfo, Step, Trajectory

COUNTER = {(token,): token + 1 for token in range(200)}
CONFIG = DecodeConfig(block_size=4, max_new_tokens=20)


class TableModel:
    """What a lane needs of a LoadedModel, over a table; remembers every session."""

    piece = staticmethod(lambda token: b" %d" % token)
    special_ids = frozenset()

    def __init__(self, table=COUNTER, *, name="base", prompt_ids=(0,), tokenizer="t", eos_ids=(), defaults=()):
        self.info = ModelInfo(name=name, tokenizer=tokenizer, device_name="a machine")
        self.eos_ids = frozenset(eos_ids)
        self._table, self._prompt_ids, self._defaults = table, prompt_ids, defaults
        self.sessions: list[SpyLM] = []

    def encode(self, prompt, *, chat=True):
        if not prompt:
            raise PromptError("The prompt is empty.")
        return EncodedPrompt(str(prompt), self._prompt_ids, ("fed raw.",) if not chat else ())

    def session(self, config, prompt_ids, *, observe=True):
        self.sessions.append(SpyLM(self._table, vocab_size=201, eos_ids=tuple(self.eos_ids)))
        return self.sessions[-1]

    def run_defaults(self, config):
        return self._defaults

    def run_notes(self, config):
        return (f"{self.info.name} runs.",)


def pair(**changes):
    """A base that counts, and a CLLM that counts the same up to 9 and then stays there."""
    return {"base": TableModel(), "cllm": TableModel({**COUNTER, (9,): 9}, name="cllm", **changes)}


def one_at_a_time(ids, *, top=(), **changes) -> Trajectory:
    steps = tuple(Step(t, (), (token,), t + 1, 0.1, (), (top,) if top else ()) for t, token in enumerate(ids))
    config = DecodeConfig(decoder="autoregressive", max_new_tokens=len(ids))
    values = {"config": config, "steps": steps, "ids": tuple(ids), "seconds": 0.1 * len(ids), **changes}
    return worked_example.trajectory(**values)


# Which lanes run, and how


def test_lanes_run_one_after_another_in_a_fixed_order():
    models = pair()
    seen = [lane.key for lane, _ in run_lanes(models, "p", CONFIG, chat=True, lanes=list(reversed(LANES)))]
    assert list(dict.fromkeys(seen)) == list(LANES)
    assert seen == sorted(seen, key=list(LANES).index)  # none is interleaved
    assert [len(model.sessions) for model in models.values()] == [2, 2]


def test_lanes_that_the_pair_has_no_model_for_are_left_out():
    assert [lane.key for lane in lanes_of({"base": TableModel()})] == ["base_ar", "base_jacobi"]
    assert [lane.key for lane in lanes_of(pair())] == list(DEFAULT_LANES)
    with pytest.raises(ConfigError, match="There is no lane 'fast': use base_ar, base_jacobi"):
        lanes_of(pair(), ["base_ar", "fast"])


def test_both_sides_run_with_the_same_settings_but_for_the_decoder():
    results = compare(pair(), "p", CONFIG, chat=True, lanes=list(LANES))
    configs = {key: result.trajectory.config for key, result in results.items()}
    assert {key: config.decoder for key, config in configs.items()} == {k: lane.decoder for k, lane in LANES.items()}
    assert len({replace(config, decoder="jacobi") for config in configs.values()}) == 1
    assert {result.trajectory.prompt_ids for result in results.values()} == {(0,)}


def test_a_stop_ends_the_running_lane_within_one_pass_and_starts_no_other():
    models = pair()
    recorders = {}
    for lane, recorder in run_lanes(
        models, "p", CONFIG, chat=True, stop=lambda: len(models["base"].sessions[0].fed) >= 3
    ):
        recorders[lane.key] = recorder
    assert list(recorders) == ["base_ar"]
    trajectory = recorders["base_ar"].trajectory()
    assert trajectory.partial
    assert trajectory.ids == (1, 2, 3)
    assert len(models["base"].sessions) == 1
    assert models["cllm"].sessions == []


def test_the_next_run_is_not_touched_by_a_stopped_one():
    models = {"base": TableModel()}
    list(run_lanes(models, "p", CONFIG, chat=True, stop=lambda: True))
    again = compare(models, "p", CONFIG, chat=True)
    assert again["base_ar"].trajectory.ids == tuple(range(1, 21))


def test_warming_up_runs_every_decoder_at_its_full_width():
    """Warm-up runs of three tokens were three positions wide: the first wide pass was a measured one."""
    models = pair()
    warm_up(models, "p", DecodeConfig(block_size=16, max_new_tokens=64), chat=True)
    for model in models.values():
        assert {max(len(fed) for fed in session.fed) for session in model.sessions} == {1, 16}
        assert all(1 < len(session.fed) <= 3 for session in model.sessions)


def test_warming_up_can_be_stopped():
    models = pair()
    warm_up(models, "p", CONFIG, chat=True, stop=lambda: bool(models["base"].sessions))
    assert len(models["base"].sessions) == 1
    assert models["cllm"].sessions == []


def test_notes_of_prompt_and_model_are_kept():
    trajectory = decode(TableModel(), EncodedPrompt("p", (0,), ("fed raw.",)), CONFIG)
    assert trajectory.notes == ("fed raw.", "base runs.")


def test_an_empty_prompt_is_refused_before_any_lane_runs():
    models = pair()
    with pytest.raises(PromptError):
        compare(models, "", CONFIG, chat=True)
    assert models["base"].sessions == []


@pytest.mark.parametrize("change", [{"prompt_ids": (0, 0)}, {"tokenizer": "other"}])
def test_lanes_that_do_not_see_the_same_prompt_ids_say_so(change):
    """A base without a chat template beside a CLLM with one answered another question, unremarked."""

    def flags(models):
        results = compare(models, "p", CONFIG, chat=True)
        return {DIFFERENT_PROMPTS in result.trajectory.notes for result in results.values()}

    assert flags(pair(**change)) == {True}
    assert flags(pair()) == {False}


@pytest.mark.parametrize("change", [{"eos_ids": (150,)}, {"defaults": ("repetition_penalty=1.3",)}])
def test_lanes_that_choose_or_end_by_other_rules_say_so(change):
    """A base with a repetition penalty was raced against a CLLM without one."""

    def flags(models):
        results = compare(models, "p", CONFIG, chat=True)
        return {DIFFERENT_DEFAULTS in result.trajectory.notes for result in results.values()}

    assert flags(pair(**change)) == {True}
    assert flags(pair()) == {False}


# What is said of the results


def test_ids_are_compared_with_one_at_a_time_decoding_of_the_same_model():
    models = pair()
    results = compare(models, "p", CONFIG, chat=True)
    assert list(results) == list(DEFAULT_LANES)
    assert [result.equals_ar for result in results.values()] == [True, True, True]
    assert (
        results["cllm_jacobi"].trajectory.ids != results["base_ar"].trajectory.ids
    )  # another model's ids are no error
    assert all(result.first_difference is None for result in results.values())
    assert len(models["cllm"].sessions) == 2  # its own one-at-a-time run, to compare with


def test_nothing_is_called_equal_that_was_not_compared():
    results = lane_results({"base_jacobi": worked_example.trajectory()})
    assert results["base_jacobi"].equals_ar is None
    assert results["base_jacobi"].speedup is None
    stopped = worked_example.trajectory(finish="stopped")
    results = lane_results({"base_ar": one_at_a_time(stopped.ids), "base_jacobi": stopped})
    assert (results["base_jacobi"].equals_ar, results["base_jacobi"].speedup) == (None, None)
    results = lane_results({"base_ar": one_at_a_time(stopped.ids), "jacobi": worked_example.trajectory()})
    assert (results["jacobi"].equals_ar, results["jacobi"].speedup) == (None, None)


def test_a_difference_has_its_index_and_the_margin_of_the_two_best():
    reference = one_at_a_time([1, 2, 3], top=((7, 0.5), (8, 0.25), (9, 0.1)))
    other = one_at_a_time([1, 9, 3])
    assert first_difference(reference, other) == Difference(1, pytest.approx(math.log(2)))
    assert first_difference(reference, one_at_a_time([1, 2])) == Difference(2, pytest.approx(math.log(2)))
    assert first_difference(reference, reference) is None


def test_a_margin_that_is_not_known_is_none():
    other = one_at_a_time([1, 9, 3])
    assert first_difference(one_at_a_time([1, 2, 3]), other) == Difference(1, None)  # no candidates
    assert first_difference(one_at_a_time([1, 2, 3], top=((7, 0.5),)), other) == Difference(1, None)
    assert first_difference(one_at_a_time([1, 2, 3], top=((7, 1.0), (8, 0.0))), other) == Difference(1, None)
    assert first_difference(one_at_a_time([1, 2, 3], top=((7, 0.0), (8, 0.5))), other) == Difference(1, None)
    assert first_difference(one_at_a_time([1]), other) == Difference(1, None)  # the reference had ended
    sampled = one_at_a_time([1, 2, 3], top=((7, 0.5), (8, 0.25)))
    sampled = replace(sampled, config=replace(sampled.config, temperature=1.0))
    assert first_difference(sampled, other) == Difference(1, None)  # noise decided, not the two best


def test_a_margin_is_never_negative():
    """A choice within rounding of the best can have the smaller probability of the two."""
    reference = one_at_a_time([1, 2, 3], top=((7, 0.4), (8, 0.400001)))
    assert first_difference(reference, one_at_a_time([1, 9, 3])) == Difference(1, 0.0)


def test_speedup_is_measured_against_the_base_one_at_a_time():
    slow = one_at_a_time([1, 2, 3, 4, 5, 6], seconds=0.6)
    fast = worked_example.trajectory(seconds=0.2)
    results = lane_results({"base_ar": slow, "base_jacobi": fast, "cllm_jacobi": replace(fast, seconds=0.0)})
    assert results["base_ar"].speedup == 1
    assert results["base_jacobi"].speedup == pytest.approx(3)
    assert results["cllm_jacobi"].speedup is None  # a time of nothing is no measurement


# JSON


def test_a_lane_as_json_has_exactly_these_keys():
    results = compare(pair(), "p", CONFIG, chat=True)
    keys = [
        "ids", "text", "finish", "tokens", "passes", "tokens_per_pass", "prefill_seconds", "seconds",
        "tokens_per_second", "fast_forward_per_pass", "paper_fast_forward", "stationary_per_block", "paper_stationary",
        "fast_forwarded", "stationary", "blocks", "speedup", "equals_ar", "notes",
    ]  # fmt: skip
    for result in results.values():
        assert list(lane_to_dict(result)) == keys
    differs = lane_results({"base_ar": one_at_a_time([1, 2]), "base_jacobi": one_at_a_time([1, 3])})["base_jacobi"]
    row = lane_to_dict(differs)
    assert list(row) == [*keys, "first_difference"]
    assert row["equals_ar"] is False
    assert row["first_difference"] == {"index": 1, "top2_margin": None}


def test_a_comparison_as_json_is_strict_and_complete():
    models = pair()
    prompts = [(prompt, compare(models, prompt, CONFIG, chat=True)) for prompt in ("p", "q")]
    data = comparison_to_dict("mine", models, prompts, CONFIG)
    assert list(data) == ["pair", "device", "dtype", "models", "config", "prompts", "summary"]
    assert (data["pair"], data["device"], data["dtype"]) == ("mine", "a machine", "float32")
    assert [row["prompt"] for row in data["prompts"]] == ["p", "q"]
    assert list(data["prompts"][0]["lanes"]) == list(data["summary"]) == list(DEFAULT_LANES)
    assert "decoder" not in data["config"]
    assert json.loads(json.dumps(data, allow_nan=False)) == data


def test_summary_has_totals_and_ratios_of_totals():
    """A mean of ratios over prompts of unequal length was given out as the ratio."""
    short = {"base_ar": one_at_a_time([1, 2], seconds=0.2), "base_jacobi": one_at_a_time([1, 2], seconds=0.1)}
    long = {"base_ar": one_at_a_time(range(6), seconds=3.0), "base_jacobi": worked_example.trajectory(seconds=1.0)}
    summary = summarize_lanes([lane_results(short), lane_results(long)])
    row = summary["base_jacobi"]
    assert (row["prompts"], row["tokens"], row["passes"]) == (2, 8, 6)
    assert row["tokens_per_pass"] == pytest.approx(8 / 6)
    assert row["speedup"] == pytest.approx(3.2 / 1.1)
    assert row["tokens_per_second"] == pytest.approx(8 / 1.1)
    assert row["fast_forward_per_pass"] == pytest.approx((1 + 1.5) / 2)
    assert row["equals_ar"] == 1
    assert summary["base_ar"]["speedup"] == 1


def test_a_lane_keeps_its_speedup_where_the_base_lane_is_not_asked_for():
    results = compare(pair(), "p", CONFIG, chat=True, lanes=["base_jacobi"])
    row = summarize_lanes([results])["base_jacobi"]
    assert row["speedup"] == pytest.approx(results["base_jacobi"].speedup)


def test_summary_of_lanes_that_were_not_compared_has_no_share():
    partial = lane_results({"base_jacobi": worked_example.trajectory(finish="stopped")})
    row = summarize_lanes([partial])["base_jacobi"]
    assert (row["equals_ar"], row["speedup"]) == (None, None)
    assert summarize_lanes([]) == {}
