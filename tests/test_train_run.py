import dataclasses
import json
import math
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import model_folders
import pytest
import tiny
import torch
import training_rows
from accelerate import Accelerator
from accelerate.tracking import GeneralTracker
from peft import PeftModel
from safetensors import SafetensorError
from safetensors.torch import load_file

from cllm_core import hf, models
from cllm_core.errors import CllmError, ConfigError, TrainingError
from cllm_core.train import adapter, checkpoint, loop, run
from cllm_core.train.config import TrainConfig
from cllm_core.train.cost import estimate
from cllm_core.train.data import fit_rows
from cllm_core.train.folder import RunFolder
from cllm_core.train.pack import Item, pack, wrong_part
from cllm_core.train.refresh import refresh_states
from cllm_core.train.speed import blockwise_states
from cllm_core.train.store import shard_path, write_shard
from cllm_core.train.student import Student


@pytest.fixture(scope="module")
def where(tmp_path_factory):
    return training_rows.folders(tmp_path_factory.mktemp("models"))


def stop_in(step, config):
    """A stop that says so when it is asked in that step."""
    metrics = Path(config.out) / "metrics.jsonl"
    return lambda: metrics.exists() and len(metrics.read_text().splitlines()) >= step - 1


def train(config, **options):
    said = []
    return run.train(config, tell=said.append, **options), said


def final_weights(config):
    kept = sorted((RunFolder(run.Path(config.out)).checkpoints).glob("step-*"))
    return load_file(kept[-1] / "weights.safetensors")


def assert_same_weights(one, other, **tolerance):
    assert one.keys() == other.keys()
    for name in one:
        assert torch.allclose(one[name], other[name], **tolerance), name


def assert_same_gradients(one, other):
    size = max(float(gradient.abs().max()) for gradient in one.values())
    assert_same_weights(one, other, atol=1e-5 * size)


def test_a_run_leaves_config_metrics_log_card_checkpoints_and_a_small_adapter(tmp_path, where):
    config = training_rows.train_config(tmp_path / "run", where)
    result, said = train(config)
    assert (result.steps, result.finished) == (6, True)
    rows = [json.loads(line) for line in (tmp_path / "run/metrics.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert rows[-1]["ar_loss"] < rows[0]["ar_loss"]
    assert {"loss", "consistency_loss", "right_after_wrong", "lr", "gradient_norm", "tokens", "seconds"} <= set(rows[0])
    assert json.loads((tmp_path / "run/config.json").read_text()) == dataclasses.asdict(config)
    assert sorted(path.name for path in (tmp_path / "run/checkpoints").iterdir()) == ["step-000003", "step-000006"]
    assert "step 6/6" in (tmp_path / "run/log.txt").read_text()
    assert "Training tokens:" in "\n".join(said)
    card = (tmp_path / "run/card.md").read_text()
    assert "python -m cllm_core train --out" in card
    assert "licence" in card
    weights = load_file(tmp_path / "run/adapter/adapter_model.safetensors")
    assert {tensor.dtype for tensor in weights.values()} == {torch.bfloat16}
    named = json.loads((tmp_path / "run/adapter/adapter_config.json").read_text())["base_model_name_or_path"]
    assert named == "model"  # never a path


def test_the_card_of_a_run_that_goes_on_from_an_adapter_names_that_adapters_rank(tmp_path, where):
    first = training_rows.train_config(tmp_path / "first", where, steps=1, rank=2)
    train(first)
    more = training_rows.train_config(
        tmp_path / "more", where, steps=1, rank=8, adapter=str(tmp_path / "first/adapter")
    )
    _, said = train(more)
    assert "LoRA, rank 2" in (tmp_path / "more/card.md").read_text()
    assert any("rank of the adapter that it starts from, 2" in line for line in said)


def test_the_saved_adapter_is_the_trained_model(tmp_path, where):
    config = training_rows.train_config(tmp_path / "run", where)
    train(config)
    source = models.ModelSource("folder", where["model"], adapter=str(tmp_path / "run/adapter"))
    merged = models.load(source).model
    base = hf.load_model(where["model"], name="model").model
    trained = adapter.make_trainable(base, method="lora", rank=2, alpha=32, seed=0)
    student = Student(adapter.causal_lm(trained))
    adapter.load_trainable_state(student, final_weights(config))
    ids = torch.tensor([tiny.PROMPT])
    assert torch.allclose(merged(ids).logits, student.lm(ids).logits, atol=0.3, rtol=0.05)  # bfloat16 on disk
    assert not torch.allclose(
        merged(ids).logits, models.load(models.ModelSource.parse(where["model"])).model(ids).logits
    )


@pytest.mark.parametrize("method", ["lora", "full"])
def test_three_steps_and_three_more_are_six(tmp_path, where, method):
    """Resuming forgot the adapter, the optimizer or the place in the data in many a trainer."""
    straight = training_rows.train_config(tmp_path / "straight", where, method=method)
    train(straight)
    broken = training_rows.train_config(tmp_path / "broken", where, method=method)
    first, said = train(broken, stop=stop_in(3, broken))
    assert (first.steps, first.finished) == (3, False)
    assert "the same command goes on" in said[-1]
    second, said = train(broken)
    assert second.finished
    assert "Resuming after step 3." in said
    assert_same_weights(final_weights(straight), final_weights(broken), atol=1e-6)
    steps = [json.loads(line)["step"] for line in (tmp_path / "broken/metrics.jsonl").read_text().splitlines()]
    assert steps == [1, 2, 3, 4, 5, 6]


def test_dropout_changes_no_run(tmp_path, where):
    """GPT-2 has dropout of its own, whose dice no checkpoint remembers."""
    where = {**where, "model": str(model_folders.write_model(tmp_path / "gpt2", "gpt2"))}
    configs = [training_rows.train_config(tmp_path / name, where) for name in ("one", "again", "broken")]
    for config in configs[:2]:
        train(config)
    train(configs[2], stop=stop_in(3, configs[2]))
    train(configs[2])
    for config in configs[1:]:
        assert_same_weights(final_weights(configs[0]), final_weights(config), atol=1e-6)


def test_no_dropout_is_left_in_any_layer():
    for family in ("gpt2", "opt", "llama", "gemma"):
        model = tiny.make_model(family)
        for module in model.modules():
            for name in [
                name for name, value in vars(module).items() if isinstance(value, float) and "dropout" in name
            ]:
                setattr(module, name, 0.3)
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.3
        trained = adapter.make_trainable(model, method="full", rank=2, alpha=4, seed=0)
        ids = torch.randint(1, 50, (1, 12))
        with torch.no_grad():
            assert torch.equal(trained.train()(ids).logits, trained.train()(ids).logits)


def test_settings_survive_a_write_that_fails(tmp_path, where, monkeypatch):
    """A full disk left an empty config.json, and whole checkpoints that could not be resumed."""
    config = training_rows.train_config(tmp_path / "run", where)
    train(config, stop=stop_in(3, config))
    before = (tmp_path / "run/config.json").read_bytes()
    changed = dataclasses.replace(config, log_every=7)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "write_bytes", lambda *arguments: (_ for _ in ()).throw(OSError(28, "No space left")))
        with pytest.raises(CllmError, match=r"config\.json"):
            train(changed)
    assert (tmp_path / "run/config.json").read_bytes() == before
    assert train(config)[0].finished


@pytest.mark.parametrize("damage", ["cut", "no_state", "garbled"])
def test_a_broken_checkpoint_is_passed_over_with_a_message(tmp_path, where, damage):
    straight = training_rows.train_config(tmp_path / "straight", where)
    train(straight)
    config = training_rows.train_config(tmp_path / "run", where, save_every=2)
    train(config, stop=stop_in(4, config))
    newest = tmp_path / "run/checkpoints/step-000004"
    if damage == "cut":
        os.truncate(newest / "weights.safetensors", 100)
    elif damage == "garbled":
        (newest / "state.json").write_text("{")
    else:
        (newest / "state.json").unlink()
    result, said = train(config)
    assert any("step-000004 is broken" in line for line in said)
    assert "Resuming after step 2." in said
    assert result.finished
    assert_same_weights(final_weights(straight), final_weights(config), atol=1e-6)


def test_a_broken_checkpoint_does_not_count_as_the_newest(tmp_path, where):
    """It sorted above those that came after it, and took their places."""
    config = training_rows.train_config(tmp_path / "run", where, save_every=2, keep=1)
    train(config, stop=stop_in(4, config))
    checkpoints = tmp_path / "run/checkpoints"
    os.truncate(checkpoints / "step-000004/weights.safetensors", 100)
    assert checkpoint.last_good(checkpoints) == "there is no checkpoint before it"
    train(config, stop=stop_in(2, config))
    assert [path.name for path in checkpoints.glob("step-*")] == ["step-000002"]
    assert checkpoint.last_good(checkpoints) == "the last good checkpoint is step-000002"
    assert "Resuming after step 2." in train(config)[1]


def test_a_run_without_a_whole_checkpoint_says_that_it_begins_anew(tmp_path, where):
    config = training_rows.train_config(tmp_path / "run", where)
    train(config, stop=stop_in(4, config))
    for path in (tmp_path / "run/checkpoints").glob("step-*"):
        (path / "state.json").write_text("{")
    result, said = train(config)
    assert "No checkpoint is whole: the run begins anew." in said
    assert not any("Resuming" in line for line in said)
    assert result.finished


@pytest.mark.parametrize("writer", ["save_file", "torch.save"])
def test_a_full_disk_is_told_with_the_checkpoint_that_is_left(tmp_path, where, monkeypatch, writer):
    config = training_rows.train_config(tmp_path / "run", where)
    train(config, stop=stop_in(3, config))
    full = RuntimeError("[enforce fail] PytorchStreamWriter failed writing file data/1")
    if writer == "save_file":
        full = SafetensorError("Error while serializing: I/O error: File too large (os error 27)")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"cllm_core.train.checkpoint.{writer}", lambda *arguments: (_ for _ in ()).throw(full))
        with pytest.raises(TrainingError, match=r"the disk is full .*; the last good checkpoint is step-000003\. Free"):
            train(config)
    assert [path.name for path in (tmp_path / "run/checkpoints").iterdir()] == ["step-000003"]
    assert train(config)[0].finished


def test_a_run_is_not_resumed_on_other_rows(tmp_path, where):
    data = tmp_path / "prompts.jsonl"
    data.write_bytes(Path(where["data"]).read_bytes())
    config = training_rows.train_config(tmp_path / "run", {**where, "data": str(data)})
    train(config, stop=stop_in(3, config))
    rows = data.read_text().splitlines()
    data.write_text("\n".join([*rows[1:], rows[0]]) + "\n")
    with pytest.raises(TrainingError, match="The rows are not those that the run in"):
        train(config)
    data.write_text("\n".join(rows) + "\n")
    assert train(config)[0].finished


def test_a_finished_run_says_that_nothing_is_left_to_do(tmp_path, where):
    config = training_rows.train_config(tmp_path / "run", where, steps=2)
    train(config)
    before = (tmp_path / "run/metrics.jsonl").read_bytes()
    result, said = train(config)
    assert result.finished
    assert "nothing left to do" in said[-1]
    assert (tmp_path / "run/metrics.jsonl").read_bytes() == before


def test_a_run_killed_before_its_result_was_written_writes_it_when_resumed(tmp_path, where):
    config = training_rows.train_config(tmp_path / "run", where, steps=2)
    train(config)
    result = (tmp_path / "run/adapter/adapter_model.safetensors").read_bytes()
    shutil.rmtree(tmp_path / "run/adapter")
    (tmp_path / "run/card.md").unlink()
    train(config)
    assert (tmp_path / "run/adapter/adapter_model.safetensors").read_bytes() == result


def test_running_out_of_memory_is_told_with_what_to_do(tmp_path, where, monkeypatch):
    def full(self, batch):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 100 bytes.")

    monkeypatch.setattr(Student, "forward", full)
    with pytest.raises(TrainingError, match=r"out of memory\. It was in step 1; there is no checkpoint.*smaller batch"):
        train(training_rows.train_config(tmp_path / "run", where))


def test_an_adapter_to_go_on_from_must_be_one(tmp_path, where):
    with pytest.raises(ConfigError, match="There is no adapter in"):
        train(training_rows.train_config(tmp_path / "run", where, adapter=str(tmp_path)))


def test_a_run_folder_is_not_resumed_with_other_settings(tmp_path, where):
    train(training_rows.train_config(tmp_path / "run", where, steps=2))
    with pytest.raises(ConfigError, match=r"began with lr = 0.01, not 0.5"):
        train(training_rows.train_config(tmp_path / "run", where, steps=2, lr=0.5))


def make_loop(tmp_path, where, rows=None, **changes):
    config = training_rows.train_config(tmp_path / "loop", where, **changes)
    loaded = run.load_target(config.model, "cpu", "float32")
    model = adapter.make_trainable(loaded.model, method=config.method, rank=2, alpha=4, seed=0)
    folder = RunFolder(run.Path(config.out), True, lambda line: None)
    folder.open(config)
    rows = rows or run.training_rows(config, loaded, lambda line: None)
    return loop.Loop(config, Accelerator(cpu=True), Student(adapter.causal_lm(model)), rows, folder)


def gradients_of(built):
    batches = list(built._batches())
    built.accumulate(batches, built._totals(batches, False))
    return {name: p.grad.clone() for name, p in built._plain.named_parameters() if p.requires_grad}


def test_accumulation_changes_no_gradient(tmp_path, where):
    """Rows with 2, 3, 16 and 16 answer tokens: a mean of means would weigh the short ones five times too much."""
    rows = [training_rows.random_row(n, answer=size) for n, size in enumerate((2, 3, 16, 16))]
    together, in_turn = (
        gradients_of(
            make_loop(
                tmp_path / str(batch), where, rows=rows, method="full", objective="target", stretch=0, batch=batch,
                accumulation=4 // batch,
            )
        )
        for batch in (4, 1)
    )  # fmt: skip
    assert_same_gradients(together, in_turn)


def test_the_consistency_loss_is_divided_by_the_whole_step_too(tmp_path, where):
    row = training_rows.random_row(1, answer=9)
    answer = row.answer_ids
    segments = [wrong_part(0, (50,) * n, answer, end=n) for n in (2, 6)]
    items = [Item(row.prompt_ids, answer, (segment,)) for segment in segments]
    built = make_loop(tmp_path, where, rows=[row], method="full")
    found = []
    for batches in ([pack(items)], [pack(items[:1]), pack(items[1:])]):
        totals = built._totals(batches, False)
        built._plain.zero_grad()
        built.accumulate(batches, totals)
        found.append({name: p.grad.clone() for name, p in built._plain.named_parameters()})
    assert_same_gradients(*found)


def test_a_row_without_room_for_an_answer_is_left_out_and_named_and_a_long_answer_is_cut():
    """With no supervised token the loss is NaN, or a 0.0 that looks like success."""
    rows = [training_rows.random_row(n, prompt=size) for n, size in enumerate((40, 25, 4))]
    kept, notes = fit_rows(rows, 32)
    assert [(row.id, len(row.answer_ids)) for row in kept] == [("row-1", 7), ("row-2", 13)]
    assert "row-1" in notes[0]
    assert "1 rows leave no answer token" in notes[1]
    assert "1 (row-0)" in notes[1]
    with pytest.raises(TrainingError, match="No row is left to train on"):
        fit_rows(rows[:1], 32)


@pytest.mark.parametrize("room", range(1, 13))
def test_a_cut_answer_keeps_the_states_that_are_left_of_its_blocks(room):
    row = training_rows.random_row(1, prompt=6)
    ((cut,), _) = fit_rows([replace(row, states=(((*row.states[0][0],), row.states[0][0]), *row.states[1:]))], 6 + room)
    assert (len(cut.answer_ids), len(cut.states)) == (room, len(cut.blocks()))
    for states, fixed_point in zip(cut.states, cut.blocks(), strict=True):
        assert len(set(states)) == len(states)
        assert all(len(state) == len(fixed_point) and state != fixed_point for state in states)
    assert estimate([cut], "unknown").tokens > 0


def test_every_trained_tensor_must_get_a_gradient(tmp_path, where):
    """A loss made to require a gradient by hand trains nothing, silently."""
    built = make_loop(tmp_path, where)
    built._plain.unused = torch.nn.Linear(2, 2)
    with pytest.raises(TrainingError, match=r"2 trained tensors got no gradient, the first is unused\.weight"):
        built.run(lambda: False)


def test_frozen_weights_that_change_are_noticed(tmp_path, where):
    built = make_loop(tmp_path, where)
    frozen = next(p for p in built._plain.parameters() if not p.requires_grad)
    step = built._optimizer.step

    def leak():
        step()
        frozen.data += 1

    built._optimizer.step = leak
    with pytest.raises(TrainingError, match="frozen tensors changed in the first step"):
        built.run(lambda: False)


def test_a_nan_stops_the_run_names_the_step_and_keeps_the_last_good_checkpoint(tmp_path, where, monkeypatch):
    config = training_rows.train_config(tmp_path / "run", where, save_every=1)
    whole, calls = Student.forward, iter(range(1, 100))

    def spoilt(self, batch):
        sums = whole(self, batch)
        return dataclasses.replace(sums, ar=sums.ar * math.nan) if next(calls) == 3 else sums

    monkeypatch.setattr(Student, "forward", spoilt)
    with pytest.raises(TrainingError, match=r"Step 3: the loss is nan.*last good checkpoint is step-000002"):
        train(config)
    weights = load_file(tmp_path / "run/checkpoints/step-000002/weights.safetensors")
    assert all(tensor.isfinite().all() for tensor in weights.values())


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_half_precision_falls_back_on_a_cpu_with_a_note(tmp_path, where, precision, monkeypatch):
    monkeypatch.setattr(run, "cpu_has_bf16", lambda: False)
    result, said = train(training_rows.train_config(tmp_path / "run", where, steps=1, precision=precision))
    assert result.finished
    assert f"{precision} gains nothing on this CPU: this run uses fp32." in said


@pytest.mark.parametrize("method", ["lora", "full"])
def test_bf16_trains_on_a_cpu_that_has_it(tmp_path, where, method, monkeypatch):
    monkeypatch.setattr(run, "cpu_has_bf16", lambda: True)
    config = training_rows.train_config(tmp_path / "run", where, precision="bf16", method=method, steps=2)
    result, said = train(config)
    assert result.finished
    assert not any("fp32" in line for line in said)
    assert {tensor.dtype for tensor in final_weights(config).values()} == {torch.float32}


def test_weights_loaded_in_half_precision_are_trained_in_float32():
    model = adapter.make_trainable(tiny.make_model(dtype="float16"), method="full", rank=2, alpha=4, seed=0)
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    model = adapter.make_trainable(tiny.make_model(dtype="bfloat16"), method="lora", rank=2, alpha=4, seed=0)
    assert {p.dtype for p in model.parameters() if p.requires_grad} == {torch.float32}
    assert {p.dtype for p in model.parameters() if not p.requires_grad} == {torch.bfloat16}


def test_training_goes_on_from_an_adapter(tmp_path, where):
    first = training_rows.train_config(tmp_path / "target", where, objective="target")
    _, said = train(first)
    assert not any("consistency" in line for line in said)  # a target has none to speak of
    second = training_rows.train_config(
        tmp_path / "cllm", where, adapter=str(tmp_path / "target/adapter"), steps=1, lr=0.0
    )
    train(second)
    before = load_file(tmp_path / "target/adapter/adapter_model.safetensors")
    assert_same_weights(before, load_file(tmp_path / "cllm/adapter/adapter_model.safetensors"))


def test_a_full_run_saves_a_model_that_loads(tmp_path, where):
    train(training_rows.train_config(tmp_path / "run", where, method="full", steps=1, gradient_checkpointing=True))
    loaded = models.load(models.ModelSource.parse(str(tmp_path / "run/model")))
    assert not isinstance(loaded.model, PeftModel)
    assert loaded.encode("count 1 ->").ids


def test_the_learning_rate_rises_then_falls_to_its_floor():
    config = TrainConfig(out="x", steps=100, warmup=0.1, lr=1.0, lr_floor=0.1)
    rates = [loop.learning_rate(config, step) for step in range(100)]
    assert rates[0] == pytest.approx(0.1)
    assert max(rates) == rates[9] == rates[10] == 1.0
    assert rates[10:] == sorted(rates[10:], reverse=True)
    assert rates[-1] == pytest.approx(0.1)


def test_a_model_learns_to_stop(tmp_path, where):
    """With the end token masked as padding, a tuned model never stops."""
    config = training_rows.train_config(
        tmp_path / "run", where, objective="target", method="full", steps=60, batch=4, lr=5e-3, limit=4, save_every=60,
        stretch=0,
    )  # fmt: skip
    train(config)
    loaded = models.load(models.ModelSource.parse(str(tmp_path / "run/model")))
    for row in run.training_rows(config, loaded, lambda line: None):
        answer = tiny.greedy(loaded.model, row.prompt_ids, 20, loaded.eos_ids)
        assert answer[-1] == row.answer_ids[-1]
        assert abs(len(answer) - len(row.answer_ids)) <= 1


def states_config(tmp_path, where, name, **changes):
    """Settings of a run on collected rows, by the paper's recipe."""
    rows = tmp_path / "rows"
    rows.mkdir(exist_ok=True)
    write_shard(shard_path(rows, 0), [training_rows.random_row(n, answer=9 + n) for n in range(6)])
    values = {"rows": str(rows), "noise": "trajectory", "stretch": 0, "on_policy": 0.0, **changes}
    return training_rows.train_config(tmp_path / name, where, **values)


@pytest.mark.parametrize("changes", [{"consistency": "local"}, {"loss": "hard"}, {"augment": True}, {"on_policy": 1.0}])
def test_every_variant_of_the_loss_trains(tmp_path, where, changes):
    config = states_config(tmp_path, where, "run", lr=3e-2, **changes)
    result, _ = train(config)
    assert result.finished
    losses = [json.loads(line)["loss"] for line in (tmp_path / "run/metrics.jsonl").read_text().splitlines()]
    assert losses[-1] < losses[0]


def test_rows_are_learnt_that_the_longest_length_cuts(tmp_path, where):
    config = states_config(tmp_path, where, "run", max_length=13)
    assert train(config)[0].finished


def test_rows_whose_ids_the_model_lacks_are_refused(tmp_path, where):
    config = states_config(tmp_path, where, "run")
    row = training_rows.random_row(1)
    write_shard(shard_path(tmp_path / "rows", 0), [replace(row, answer_ids=(10**6, *row.answer_ids[1:]))])
    with pytest.raises(TrainingError, match="hold the token id 1000000"):
        train(config)


def test_a_stretch_shorter_than_a_block_is_refused_where_blocks_are_learnt(tmp_path, where):
    with pytest.raises(ConfigError, match="shorter than a block of 64"):
        training_rows.train_config(tmp_path / "run", where, noise="random", block_size=64, stretch=33)
    with pytest.raises(ConfigError, match="shorter than a block of 4"):
        train(states_config(tmp_path, where, "run", stretch=3))
    windows = training_rows.train_config(tmp_path / "windows", where, block_size=64, stretch=3, steps=2)
    assert train(windows)[0].finished


def test_collected_rows_without_states_are_refused_where_states_are_needed(tmp_path, where):
    config = states_config(tmp_path, where, "run")
    write_shard(shard_path(tmp_path / "rows", 0), [training_rows.random_row(1, states=0)])
    with pytest.raises(TrainingError, match="hold no states"):
        train(config)


def test_refreshed_states_are_the_ones_the_model_goes_through_now():
    model = tiny.make_model()
    rows = {number: training_rows.random_row(number, answer=6 + number) for number in (3, 1, 2)}
    found = refresh_states(model, rows, "seed")
    assert {number: row.answer_ids for number, row in found.items()} == {n: row.answer_ids for n, row in rows.items()}
    alone = refresh_states(model, {1: rows[1]}, "seed")
    assert alone[1] == found[1] != rows[1]
    for row in found.values():
        drafts = [states[0] if states else block for states, block in zip(row.states, row.blocks(), strict=True)]
        assert row.states == blockwise_states(model, row.prompt_ids, row.answer_ids, drafts, row.block_size)


def test_a_resumed_run_goes_on_with_the_states_that_were_refreshed(tmp_path, where):
    """The states come from weights that are gone by then, so they are part of the checkpoint."""
    straight = states_config(tmp_path, where, "straight", refresh=2)
    train(straight)
    broken = states_config(tmp_path, where, "broken", refresh=2)
    train(broken, stop=stop_in(3, broken))
    train(broken)
    assert_same_weights(final_weights(straight), final_weights(broken), atol=1e-6)
    plain = states_config(tmp_path, where, "plain")
    train(plain)
    assert any(not torch.equal(a, b) for a, b in zip(final_weights(straight).values(), final_weights(plain).values()))


class Notebook(GeneralTracker):
    """A tracker that keeps what it is sent."""

    name, requires_logging_directory = "notebook", False
    sent: ClassVar[list] = []

    def __init__(self):
        super().__init__()

    @property
    def tracker(self):
        return self.sent

    def store_init_configuration(self, values):
        self.sent.append(values)

    def log(self, values, step, **rest):
        self.sent.append((step, values))


def test_a_tracker_gets_the_settings_and_the_metrics_of_every_step(tmp_path, where, monkeypatch):
    monkeypatch.setattr(run, "make_accelerator", lambda config: (Accelerator(cpu=True, log_with=Notebook()), []))
    train(training_rows.train_config(tmp_path / "run", where, steps=2, tracker="trackio"))
    settings, *steps = Notebook.sent
    assert settings["steps"] == 2
    assert [step for step, _ in steps] == [1, 2]
    assert {"loss", "right_after_wrong", "tokens"} <= set(steps[0][1])


def test_a_tracker_that_is_not_installed_is_refused(tmp_path, where, monkeypatch):
    monkeypatch.setattr(run, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="pip install wandb"):
        train(training_rows.train_config(tmp_path / "run", where, tracker="wandb"))


@pytest.mark.slow
def test_sigterm_saves_a_checkpoint_and_ends_cleanly(tmp_path, where):
    config = training_rows.train_config(tmp_path / "run", where, steps=100_000, save_every=100_000)
    code = (
        "import json, sys; from cllm_core.train import config, run;"
        "run.train_command(config.TrainConfig(**json.loads(sys.argv[1])))"
    )
    command = [sys.executable, "-c", code, json.dumps(dataclasses.asdict(config))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        for line in child.stdout:
            if line.startswith("step 5/"):
                break
        child.send_signal(signal.SIGTERM)
        rest = child.stdout.read()
    assert child.returncode == 0
    assert "Stopped after step" in rest
    assert list((tmp_path / "run/checkpoints").glob("step-*"))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["lora", "full"])
def test_two_processes_train_as_one_does(tmp_path, where, method):
    """Averaging over processes what is already divided by the whole step's counts would halve every update."""
    one = training_rows.train_config(tmp_path / "one", where, method=method, batch=1, accumulation=4)
    two = training_rows.train_config(tmp_path / "two", where, method=method, batch=1, accumulation=2)
    train(one)
    said = training_rows.launch("cllm_core.train.run.train_command", two, tmp_path, processes=2)
    assert said.count("step 6/6") == 1  # one process speaks
    assert_same_weights(final_weights(one), final_weights(two), atol=1e-4)
