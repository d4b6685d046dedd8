import json

import model_folders
import pytest
import tiny
import training_rows

from cllm_core import models, pairs
from cllm_core.errors import ConfigError, ExportError, TaskError
from cllm_core.tasks import Example, get_task
from cllm_core.train.config import EvaluateConfig
from cllm_core.train.evaluate import (
    as_table,
    chosen_pair,
    decode_config,
    evaluate,
    evaluate_command,
    held_out,
    summarize,
)
from cllm_core.types import DecodeConfig


@pytest.fixture
def pair(tmp_path, monkeypatch):
    """A pair of tiny models in a runs folder, the CLLM with a random adapter."""
    monkeypatch.setenv("CLLM_RUNS", str(tmp_path))
    model = model_folders.write_model(tmp_path / "model")
    folder = tmp_path / "tiny-pair"
    model_folders.write_adapter(folder / "cllm", str(model))
    base = models.ModelSource("folder", str(model))
    made = pairs.ModelPair(
        "tiny-pair", "Tiny", base, models.ModelSource("folder", str(model), adapter=str(folder / "cllm")),
        decode={"block_size": 5, "window": "sliding"},
    )  # fmt: skip
    pairs.write_pair(folder, made)
    models.unload()
    yield made
    models.unload()


def settings(tmp_path, **changes):
    data = training_rows.write_prompts(tmp_path / "held-out.jsonl", 3)
    values = {"pair": "tiny-pair", "task": "prompts", "split": "test", "data": str(data), "max_new_tokens": 12}
    return EvaluateConfig(**{**values, "device": "cpu", **changes})


def test_every_lane_is_measured_and_written_as_json(pair, tmp_path):
    said = []
    out = tmp_path / "result.json"
    evaluate_command(settings(tmp_path, json=str(out)), said.append)
    result = json.loads(out.read_text())
    assert list(result["lanes"]) == ["base_ar", "base_jacobi", "cllm_ar", "cllm_jacobi"]
    for key, row in result["lanes"].items():
        assert row["prompts"] == 3
        assert {
            "tokens", "passes", "tokens_per_pass", "speedup", "fast_forward_per_pass", "stationary_per_block",
            "paper_fast_forward", "paper_stationary", "agreement", "repetition_rate", "exact_match",
        } <= set(row)  # fmt: skip
        assert row["equals_ar"] == 1.0, key
    assert result["lanes"]["base_ar"]["agreement"] == result["lanes"]["base_jacobi"]["agreement"] == 1.0
    assert result["lanes"]["cllm_jacobi"]["agreement"] < 1.0  # a random adapter answers otherwise
    assert (result["decode"]["block_size"], result["decode"]["window"]) == (5, "sliding")
    assert said[-1].startswith("| lane | tokens per pass | speedup |")


def test_a_race_runs_two_lanes_and_claims_no_equality_that_it_did_not_check(pair, tmp_path):
    lanes = evaluate_command(settings(tmp_path, lanes="race"), lambda line: None)["lanes"]
    assert list(lanes) == ["base_ar", "cllm_jacobi"]
    everything = evaluate_command(settings(tmp_path), lambda line: None)["lanes"]
    for key, row in lanes.items():
        assert [row[name] for name in ("tokens", "passes", "agreement")] == [
            everything[key][name] for name in ("tokens", "passes", "agreement")
        ]
    assert lanes["cllm_jacobi"]["equals_ar"] is None


def test_a_prompt_without_room_is_left_out_and_counted(pair, tmp_path):
    rows = [{"id": name, "prompt": text} for name, text in (("long", "b" * 5000), ("short", "abc"))]
    data = tmp_path / "long.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    said = []
    result = evaluate_command(settings(tmp_path, data=str(data)), said.append)
    assert (result["prompts"], result["left_out"]) == (1, 1)
    assert any(line.startswith("long is left out: The prompt has") for line in said)


def test_settings_override_what_suits_the_pair(pair, tmp_path):
    decode = decode_config(settings(tmp_path, block_size=7, window="block", seed=4), pair, get_task("prompts"))
    assert (decode.block_size, decode.window, decode.seed, decode.max_new_tokens) == (7, "block", 4, 12)
    assert decode_config(settings(tmp_path, max_new_tokens=0), pair, get_task("prompts")).max_new_tokens == 256


def test_adapters_can_be_measured_before_they_are_a_pair(pair, tmp_path):
    adapter = str(tmp_path / "tiny-pair/cllm")
    config = settings(tmp_path, pair="", model=str(tmp_path / "model"), cllm_adapter=adapter)
    result = evaluate_command(config, lambda line: None)
    assert "cllm_jacobi" in result["lanes"]
    assert result["models"]["base"]["adapter"] == ""
    with pytest.raises(ConfigError, match="need model"):
        settings(tmp_path, cllm_adapter=adapter)
    with pytest.raises(ConfigError, match="two different things"):
        settings(tmp_path, model=str(tmp_path / "model"))


def test_quality_is_the_tasks_own_check_of_each_lanes_text():
    class Judge:
        name, splits = "judge", ("test",)

        def check(self, example, text):
            return {"long": float(len(text) > 3), "known": 1.0} if example.id == "a" else {"long": 0.0}

    loaded = {"base": tiny.loaded(tiny.model())}
    examples = [Example("a", "abc"), Example("b", "def")]
    result = evaluate(loaded, Judge(), examples, DecodeConfig(max_new_tokens=20), chat=False)
    for row in result["lanes"].values():
        assert row["long"] == 0.5
        assert row["known"] == 1.0  # only where the task gave it
    assert set(result["lanes"]) == {"base_ar", "base_jacobi"}
    assert "long" in as_table(result["lanes"]).splitlines()[0]


def test_ctrl_c_gives_the_numbers_of_what_was_measured_and_no_passes_are_kept(monkeypatch):
    loaded = {"base": tiny.loaded(tiny.model())}
    examples = [Example(name, "abc") for name in "abcd"]
    seen, kept = [], []

    def each(measured):
        seen.append(measured)
        if len(seen) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(
        "cllm_core.train.evaluate.summarize", lambda measured: kept.extend(measured) or summarize(measured)
    )
    said = []
    config = DecodeConfig(max_new_tokens=8)
    result = evaluate(loaded, get_task("prompts"), examples, config, chat=False, each=each, report=said.append)
    assert (result["prompts"], result["partial"], result["left_out"]) == (2, True, 0)
    assert "Stopped after 2 of 4 prompts." in said
    assert all(lane.trajectory.steps for lane in seen[0].lanes.values())
    assert not any(lane.trajectory.steps for entry in kept for lane in entry.lanes.values())
    assert result["lanes"]["base_jacobi"]["passes"] == sum(
        len(seen[n].lanes["base_jacobi"].trajectory.steps) for n in (0, 1)
    )

    def at_once(measured):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate(loaded, get_task("prompts"), examples, config, chat=False, each=at_once)


def test_a_collapsed_lane_shows_in_the_repetition_rate(monkeypatch):
    monkeypatch.setattr("cllm_core.train.evaluate.is_repetitive", lambda ids: True)
    loaded = {"base": tiny.loaded(tiny.model())}
    task = get_task("prompts")
    result = evaluate(loaded, task, [Example("a", "abc")], DecodeConfig(max_new_tokens=8), chat=False)
    assert result["lanes"]["base_jacobi"]["repetition_rate"] == 1.0
    assert summarize([]) == {}


def test_nothing_is_measured_on_what_was_trained_on(tmp_path):
    with pytest.raises(TaskError, match="train is none of test, dev, unseen"):
        held_out(get_task("prompts"), settings(tmp_path, split="train"))
    with pytest.raises(TaskError, match="wide is none of"):
        held_out(get_task("json"), settings(tmp_path, task="json", data="", split="wide"))


def test_what_a_reader_of_the_results_should_know_is_told(pair, tmp_path):
    said = []
    task = get_task("humaneval")
    assert task.notes
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cllm_core.train.evaluate.held_out", lambda *arguments: [Example("a", "abc")])
        result = evaluate_command(settings(tmp_path, task="humaneval", data="", split="test"), said.append)
    assert result["notes"] == list(task.notes)
    assert set(task.notes) <= set(said)


def test_running_programs_is_asked_for_by_its_flag(tmp_path):
    config = settings(tmp_path, task="humaneval", allow_execution=True)
    assert config.allow_execution
    with pytest.raises(ConfigError, match="runs no programs"):
        settings(tmp_path, task="json", allow_execution=True)


def test_a_file_that_could_not_be_written_is_refused_before_any_work(tmp_path):
    with pytest.raises(ExportError, match="There is no folder"):
        evaluate_command(settings(tmp_path, json=str(tmp_path / "none/out.json")))


def test_a_cllm_may_be_a_whole_model_that_full_training_wrote(tmp_path):
    model = model_folders.write_model(tmp_path / "tuned")
    pair = chosen_pair(settings(tmp_path, pair="", model="smollm2", cllm_adapter=str(model)))
    assert (pair.cllm.kind, pair.cllm.where, pair.cllm.adapter) == ("folder", str(model), None)
