"""Packed weights: the sums of the plain layers, the same ids in every family, and nothing packed where it can't be."""

import copy

import pytest
import tiny
import torch
from hf_runs import ids_of, ids_with_good_guesses
from model_folders import write_adapter, write_model
from torch import nn

from cllm_core import hf, models
from cllm_core import packed as packing
from cllm_core.models import ModelSource
from cllm_core.packed import PackedLinear, can_pack, is_packed, pack_linears


def test_this_machine_packs():
    """The requirements pin a torch that has the kernels; the rest of this file needs them."""
    assert can_pack()


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("inputs", "outputs"), [(1, 1), (7, 300), (576, 192), (64, 1000)])
@torch.inference_mode()
def test_a_packed_layer_gives_the_sums_of_the_plain_one(inputs, outputs, bias):
    torch.manual_seed(0)
    plain = nn.Linear(inputs, outputs, bias=bias)
    layer = PackedLinear(plain)
    assert layer.weight.shape == plain.weight.shape
    for shape in ((1, 1), (1, 5), (1, 16), (2, 33), (129,)):
        x = torch.randn(*shape, inputs)
        torch.testing.assert_close(layer(x), plain(x), atol=1e-4, rtol=1e-4)
        strided = torch.randn(*shape, 2 * inputs)[..., ::2]  # not contiguous
        torch.testing.assert_close(layer(strided), plain(strided), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(("family", "attention"), tiny.VARIANTS)
def test_every_family_gives_the_ids_of_its_plain_model(family, attention):
    plain = tiny.model(family, attention=attention)
    expected = tiny.greedy(plain, tiny.PROMPT, 12)
    model = copy.deepcopy(plain)
    layers = sum(type(module) is nn.Linear for module in model.modules())
    assert pack_linears(model) == bool(layers)
    assert sum(isinstance(module, PackedLinear) for module in model.modules()) == layers
    loaded = tiny.loaded(model)
    assert loaded.vocab_size == tiny.VOCABULARY
    assert ids_of(loaded, decoder="autoregressive", max_new_tokens=12) == expected
    assert ids_with_good_guesses(loaded, expected, max_new_tokens=12) == expected
    assert tiny.generate(model, tiny.PROMPT, 12) == expected


def test_a_tied_embedding_stays_whole():
    model = tiny.make_model(tie_word_embeddings=True)
    expected = tiny.greedy(model, tiny.PROMPT, 8)
    pack_linears(model)
    assert model.get_input_embeddings().weight.shape[0] == tiny.VOCABULARY
    assert ids_of(tiny.loaded(model), max_new_tokens=8) == expected


def test_half_precision_is_left_alone():
    model = tiny.make_model(dtype="bfloat16")
    assert not pack_linears(model)
    assert not is_packed(model)


def test_a_layer_in_two_places_stays_one():
    shared = nn.Linear(4, 4)
    model = nn.ModuleDict({"a": shared, "b": nn.Sequential(shared)})
    assert pack_linears(model)
    assert model["a"] is model["b"][0]


def missing(self, linear):
    raise AttributeError("'_OpNamespace' 'mkldnn' object has no attribute '_reorder_linear_weight'")


def wrong(self, x):
    return torch.zeros(*x.shape[:-1], self.out_features)


@pytest.mark.parametrize(("method", "broken"), [("__init__", missing), ("forward", wrong)])
def test_where_the_kernels_are_missing_or_wrong_the_model_stays_plain(monkeypatch, method, broken):
    monkeypatch.setattr(PackedLinear, method, broken)
    monkeypatch.setattr(packing, "can_pack", can_pack.__wrapped__)
    model = tiny.make_model()
    assert not pack_linears(model)
    assert ids_of(tiny.loaded(model), max_new_tokens=6) == tiny.greedy(tiny.model(), tiny.PROMPT, 6)


def test_models_are_packed_for_decoding_and_plain_for_training(tmp_path):
    source = ModelSource.parse(str(write_model(tmp_path / "tiny")))
    assert is_packed(models.load(source).model)
    assert not is_packed(models.load(source, packed=False).model)


def test_an_adapter_is_merged_before_packing(tmp_path):
    folder = write_model(tmp_path / "tiny")
    adapter = write_adapter(tmp_path / "mine", str(folder))
    plain, packed = (hf.load_model(folder, name="t", adapter=adapter, packed=choice) for choice in (False, True))
    assert ids_of(packed, max_new_tokens=12) == ids_of(plain, max_new_tokens=12)
