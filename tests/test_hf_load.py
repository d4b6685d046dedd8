"""Loading: what a LoadedModel says of itself, which models are refused, adapters, devices and precisions."""

import json

import pytest
import tiny
import torch
from hf_runs import configured, ids_of, ids_with_good_guesses
from model_folders import write_adapter, write_model
from peft import PeftModel
from tokenizers import Tokenizer
from tokenizers import models as backends
from transformers import AutoConfig, DynamicCache, GenerationConfig, PreTrainedTokenizerFast

from cllm_core import hf
from cllm_core.errors import ConfigError, UnsupportedModel
from cllm_core.types import DecodeConfig

PROMPT = tiny.PROMPT


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("model") / "tiny-llama")


@pytest.fixture(scope="module")
def adapter(tmp_path_factory, folder):
    return write_adapter(tmp_path_factory.mktemp("adapter") / "mine", str(folder))


# What is loaded


def test_a_loaded_model_says_what_it_is(folder):
    info = hf.load_model(folder, name="tiny-llama", revision="abc").info
    assert (info.name, info.revision, info.adapter) == ("tiny-llama", "abc", "")
    assert (info.architecture, info.device, info.dtype) == ("LlamaForCausalLM", "cpu", "float32")
    assert info.attention == "sdpa"
    assert info.parameters == sum(weight.numel() for weight in tiny.model().parameters())
    assert info.device_name.startswith("CPU, ")
    assert str(folder) not in json.dumps(vars(info))


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_attention_is_chosen_by_flag(folder, attention):
    loaded = hf.load_model(folder, name="tiny", attention=attention)
    assert loaded.info.attention == attention
    assert ids_of(loaded, max_new_tokens=12) == tiny.greedy(tiny.model(), PROMPT, 12)


def test_ids_beyond_the_tokenizer_are_no_text():
    """A model's matrix is often padded past its vocabulary; those ids had no piece to show."""
    loaded = tiny.loaded(tiny.model())
    known = max(loaded.tokenizer.get_vocab().values())
    assert known < loaded.vocab_size - 1
    assert set(range(known + 1, loaded.vocab_size)) <= loaded.special_ids
    assert loaded.piece(known + 1) == b""


def test_ids_in_the_gaps_of_a_vocabulary_do_not_hide_the_text_after_them():
    """Ids were taken for unknown from the vocabulary's *size* on, so a gap in it hid the last words."""
    backend = Tokenizer(backends.WordLevel({"a": 0, "b": 1, "far": 280}, unk_token="a"))
    loaded = tiny.loaded(tiny.model(), PreTrainedTokenizerFast(tokenizer_object=backend))
    assert not {0, 1, 280} & loaded.special_ids
    assert {2, 279, 299} <= loaded.special_ids


def test_control_tokens_are_those_that_the_library_skips():
    """A control token outside the tokenizer's named ones (<tool>) was shown as text."""
    loaded = tiny.loaded(tiny.model())
    tokenizer = loaded.tokenizer
    ids = tokenizer("ab<tool>xé日</s>")["input_ids"]
    shown = b"".join(loaded.piece(token) for token in ids if token not in loaded.special_ids)
    assert shown.decode() == tokenizer.decode(ids, skip_special_tokens=True) == "abxé日"


@pytest.mark.parametrize(("pad", "expected"), [(5, 5), (-1, 0), (300, 0), (None, 0)])
def test_padding_is_an_id_that_the_model_knows(pad, expected):
    """Configs say -1, and tokenizers gain a padding token that the matrix lacks: as a guess it was out of range."""
    made = configured(eos_token_id=[9, 7])
    made.generation_config = GenerationConfig(pad_token_id=pad, eos_token_id=[9, 7])
    loaded = tiny.loaded(made)  # its tokenizer's padding is id 0
    assert loaded.pad_id == expected
    assert ids_of(loaded, init="pad", max_new_tokens=8) == tiny.greedy(made, PROMPT, 8, (7, 9))


def test_padding_falls_back_to_an_end_token():
    made = configured(pad_token_id=None, eos_token_id=[9, 7])
    assert tiny.loaded(made, tiny.sentencepiece_tokenizer()).pad_id == 7


def test_a_tokenizer_that_is_not_the_models_own_is_found_out():
    loaded = tiny.loaded(tiny.make_model(vocab_size=100))
    assert loaded.encode("!", chat=False).ids
    with pytest.raises(UnsupportedModel, match=r"gives id 259 .* knows 100 ids only"):
        loaded.encode("ab", chat=False)


# What is refused


@pytest.mark.parametrize("family", ["mamba", "mamba2", "rwkv", "jamba", "recurrent_gemma", "qwen3_next", "lfm2"])
def test_recurrent_models_are_refused_by_name(family):
    with pytest.raises(
        UnsupportedModel, match=rf"^mine is a {family} model: its recurrent state cannot be rolled back"
    ):
        hf.refuse_recurrent(AutoConfig.for_model(family), "mine")


def test_unknown_families_with_recurrent_layers_are_refused():
    config = AutoConfig.for_model("llama")
    config.layer_types = ["full_attention", "linear_attention"]
    with pytest.raises(UnsupportedModel, match="Choose a model whose layers all use attention"):
        hf.refuse_recurrent(config, "mine")


@pytest.mark.parametrize("family", sorted(hf.TESTED_FAMILIES))
def test_no_tested_family_is_refused(family):
    hf.refuse_recurrent(tiny.model(family, attention="eager").config, family)
    hf.verify_rollback(tiny.loaded(tiny.model(family, attention="eager")))


def test_an_untested_family_is_probed_and_decodes_exactly(tmp_path):
    cohere = write_model(tmp_path / "cohere", "cohere")
    loaded = hf.load_model(cohere, name="cohere")
    expected = tiny.greedy(loaded.model, PROMPT, 12)
    assert ids_of(loaded, max_new_tokens=12) == expected
    assert ids_with_good_guesses(loaded, expected, max_new_tokens=12) == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "changes"),
    [
        *((family, {"sliding_window": 8}) for family in ("cohere2", "olmo3", "exaone4", "gpt_oss")),
        *((family, {}) for family in ("cohere", "glm4", "mixtral", "qwen3_moe", "gpt_bigcode", "mpt")),
        ("gptj", {"rotary_dim": 4}),
    ],
)
def test_untested_families_that_pass_the_probe_decode_exactly(family, changes):
    changes = {"num_key_value_heads": 2, "head_dim": 8, **changes}
    loaded = tiny.loaded(tiny.make_model(family, attention="eager", **changes))
    hf.verify_rollback(loaded)
    expected = tiny.greedy(loaded.model, PROMPT, 24)
    assert ids_of(loaded, block_size=8, max_new_tokens=24) == expected
    assert ids_with_good_guesses(loaded, expected, max_new_tokens=24) == expected


def test_a_state_that_does_not_roll_back_is_found_out(monkeypatch):
    """Models that keep a recurrent state go on with what was rejected, and say nothing."""
    mamba = tiny.make_model("mamba", attention="eager", state_size=4)
    with pytest.raises(UnsupportedModel, match="keeps a recurrent state"):
        hf.verify_rollback(tiny.loaded(mamba))
    monkeypatch.setattr(type(mamba), "_is_stateful", False)
    with pytest.raises(UnsupportedModel, match="predicts something else after its cache was rolled back"):
        hf.verify_rollback(tiny.loaded(mamba))


def test_a_stale_cache_is_found_out_by_its_probabilities(monkeypatch):
    """Four equal choices were taken for proof, though a stale cache had moved their probabilities."""
    made = tiny.make_model("phi")
    with torch.no_grad():
        made.lm_head.bias[5] = 12  # always the choice, with a probability that depends on what came before
    loaded = tiny.loaded(made, dtype="float32")
    assert set(tiny.greedy(made, PROMPT, 8)) == {5}
    hf.verify_rollback(loaded)
    monkeypatch.setattr(DynamicCache, "crop", lambda self, count: None)
    with pytest.raises(UnsupportedModel, match="predicts something else"):
        hf.verify_rollback(loaded)


def test_a_model_without_such_a_cache_is_refused_in_a_sentence():
    bert = tiny.make_model("roberta", attention="eager", is_decoder=True)
    with pytest.raises(UnsupportedModel, match="cannot be decoded in parallel here"):
        hf.verify_rollback(tiny.loaded(bert))


# Devices and precision


def test_float16_on_a_cpu_runs_in_float32_and_says_so(folder):
    loaded = hf.load_model(folder, name="tiny", device="cpu", dtype="float16")
    assert loaded.info.dtype == "float32"
    assert loaded.model.dtype == torch.float32
    (note,) = loaded.run_notes(DecodeConfig())
    assert "float16 is slow or missing on a CPU: this run uses float32" in note


def test_bfloat16_on_a_cpu_is_kept(folder):
    loaded = hf.load_model(folder, name="tiny", device="cpu", dtype="bfloat16")
    assert (loaded.info.dtype, loaded.model.dtype, loaded.notes) == ("bfloat16", torch.bfloat16, ())


@pytest.mark.parametrize(
    ("device", "dtype", "message"),
    [
        ("toaster", "auto", "There is no device 'toaster': use auto, cpu or cuda."),
        ("cpu", "float8", "There is no dtype 'float8': use auto, float32, bfloat16, float16."),
    ],
)
def test_an_impossible_device_or_precision_is_refused_in_a_sentence(device, dtype, message):
    with pytest.raises(ConfigError) as caught:
        hf.choose_device(device, dtype)
    assert str(caught.value) == message


@pytest.mark.parametrize("cuda", [True, False])
def test_devices_and_precisions_are_chosen_by_what_is_there(monkeypatch, cuda):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2 if cuda else 0)
    assert hf.choose_device("auto", "auto")[:2] == (("cuda", "bfloat16") if cuda else ("cpu", "float32"))
    assert hf.choose_device("cpu", "auto") == ("cpu", "float32", [])
    if cuda:
        assert hf.choose_device("cuda:1", "float16") == ("cuda:1", "float16", [])
        with pytest.raises(ConfigError, match="There is no GPU 9 here: use cuda:0 to cuda:1"):
            hf.choose_device("cuda:9", "auto")
    else:
        with pytest.raises(ConfigError, match="There is no CUDA GPU here"):
            hf.choose_device("cuda", "auto")


# Adapters


def test_an_adapter_leaves_the_base_model_alone(folder, adapter):
    """Wrapping the base with an adapter changed the base object in place, so both lanes said the same."""
    base = hf.load_model(folder, name="base")
    before = ids_of(base, max_new_tokens=24)
    tuned = hf.load_model(folder, name="base", adapter=adapter)
    assert tuned.info.adapter == "mine"
    assert type(tuned.model) is type(base.model)
    assert ids_of(tuned, max_new_tokens=24) != before
    assert ids_of(base, max_new_tokens=24) == before


def test_a_merged_adapter_predicts_what_the_unmerged_one_does(folder, adapter):
    merged = hf.load_model(folder, name="base", adapter=adapter).model
    unmerged = PeftModel.from_pretrained(hf.load_model(folder, name="base").model, str(adapter)).eval()
    ids = torch.tensor([PROMPT])
    with torch.inference_mode():
        assert (merged(ids).logits - unmerged(ids).logits).abs().max() < 1e-4
    assert tiny.greedy(merged, PROMPT, 24) == tiny.greedy(unmerged, PROMPT, 24)


def test_an_adapter_merged_in_half_precision_is_told(folder, adapter):
    half = hf.load_model(folder, name="base", adapter=adapter, device="cpu", dtype="bfloat16")
    assert half.notes == (
        "The adapter is merged into bfloat16 weights, which rounds it: answers may differ a little from "
        "those in float32.",
    )
    assert hf.load_model(folder, name="base", adapter=adapter, device="cpu").notes == ()
