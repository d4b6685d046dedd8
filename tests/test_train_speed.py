import random

import tiny
import torch
import training_rows

from cllm_core.train import pack, speed
from cllm_core.train.adapter import causal_lm, make_trainable
from cllm_core.train.config import LOSS_NAMES, NOISE_NAMES
from cllm_core.train.losses import LOSSES
from cllm_core.train.noise import NOISES


def test_both_ways_of_collecting_are_timed_on_the_same_work():
    loaded = tiny.loaded(tiny.model())
    prompts = [training_rows.random_row(n, prompt=4 + n).prompt_ids for n in range(4)]
    found = speed.collect_vs_blockwise(loaded, prompts, block_size=4, max_new_tokens=12)
    assert found["ratio"] == found["at_once"] / found["by_block"] > 0


def test_a_packed_step_supervises_many_block_states_and_the_usual_step_one():
    model = make_trainable(tiny.make_model(), method="lora", rank=2, alpha=4, seed=0)
    rows = [training_rows.random_row(n, answer=17) for n in range(2)]
    before = {name: parameter.clone() for name, parameter in model.named_parameters()}
    found = speed.packed_vs_three_forward(causal_lm(model), rows, copies=3, repeats=2)
    assert found["ratio"] > 2
    for name, parameter in model.named_parameters():
        assert parameter.grad is None
        assert torch.equal(parameter, before[name])


def test_a_packed_step_is_fed_to_the_device_of_the_model(monkeypatch):
    """Where there is a GPU, `bench` ended in a traceback."""
    moved, to = [], pack.PackedBatch.to
    monkeypatch.setattr(pack.PackedBatch, "to", lambda batch, device: moved.append(device) or to(batch, device))
    student = speed.Student(tiny.make_model())
    assert speed.packed_step(student, training_rows.random_row(0, answer=17), random.Random(0), 2) > 0
    assert moved == [student.lm.device]


def test_a_model_stays_as_it_is_when_it_is_measured():
    loaded = tiny.loaded(tiny.make_model(max_position_embeddings=1024))
    before = {name: tensor.clone() for name, tensor in loaded.model.state_dict().items()}
    found = speed.training_ratios(loaded, prompts=2, max_new_tokens=9)
    assert all(values["ratio"] > 0 for values in found.values())
    assert loaded.model.state_dict().keys() == before.keys()
    assert all(torch.equal(tensor, before[name]) for name, tensor in loaded.model.state_dict().items())


def test_settings_name_every_noise_and_every_loss():
    assert set(NOISE_NAMES) == set(NOISES)
    assert set(LOSS_NAMES) == set(LOSSES)
