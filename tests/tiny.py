"""Makers of tiny random models and tokenizers, and G: one-token-at-a-time greedy decoding without a cache."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import AutoConfig, AutoModelForCausalLM, GenerationConfig, PreTrainedTokenizerFast

from cllm_core.hf import LoadedModel
from cllm_core.types import ModelInfo

VOCABULARY = 300
PROMPT = (11, 5, 23, 7, 42, 3, 19, 31, 2, 87, 145, 60)

_SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
_GROUPED = {**_SIZES, "num_key_value_heads": 2, "head_dim": 8}
_WINDOWED = {**_GROUPED, "sliding_window": 8}  # much shorter than the sequences of the tests
FAMILIES: dict[str, dict[str, Any]] = {
    "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 4},
    "gpt_neo": {
        "hidden_size": 32, "num_layers": 2, "num_heads": 4, "attention_types": [[["global", "local"], 1]],
        "window_size": 8,
    },
    "gpt_neox": _SIZES,
    "opt": {
        "hidden_size": 32, "word_embed_proj_dim": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 48
    },
    "bloom": {"hidden_size": 32, "n_layer": 2, "n_head": 4},
    "llama": _GROUPED,
    "mistral": _WINDOWED,
    "qwen2": _GROUPED,
    "qwen3": _GROUPED,
    "gemma": _GROUPED,
    "gemma2": {**_WINDOWED, "query_pre_attn_scalar": 8},
    "gemma3_text": {
        **_WINDOWED, "query_pre_attn_scalar": 8, "layer_types": ["sliding_attention", "full_attention"]
    },
    "phi": _SIZES,
    "phi3": {**_GROUPED, "pad_token_id": 0},
    "starcoder2": {**_GROUPED, "sliding_window": None},
    "falcon": {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4},
    "olmo2": _GROUPED,
    "smollm3": {**_GROUPED, "no_rope_layer_interval": 2},
    "granite": _GROUPED,
    "stablelm": _GROUPED,
}  # fmt: skip
EAGER_ONLY = {"gpt_neo", "bloom", "gemma2"}  # the library has no SDPA for them
VARIANTS = [
    (family, attention)
    for family in FAMILIES
    for attention in ("eager", "sdpa")
    if attention == "eager" or family not in EAGER_ONLY
]


@cache
def model(family: str = "llama", *, attention: str = "sdpa", seed: int = 0, dtype: str = "float32") -> Any:
    """Return a random model of a family (fp32, CPU, 2 layers, vocabulary of 300); shared, so leave it as it is."""
    return make_model(family, attention=attention, seed=seed, dtype=dtype)


def make_model(
    family: str = "llama", *, attention: str = "sdpa", seed: int = 0, dtype: str = "float32", **changes: Any
) -> Any:
    """Return a random model of one's own; `changes` replace fields of its config.

    No end token is set, and the weights are large enough for lively output.
    """
    settings = {"vocab_size": VOCABULARY, "bos_token_id": 1, "eos_token_id": None, **FAMILIES.get(family, _SIZES)}
    settings = {
        "pad_token_id": None,
        "max_position_embeddings": 256,
        "tie_word_embeddings": False,
        **settings,
        **changes,
    }
    config = AutoConfig.for_model(family, **settings)
    torch.manual_seed(seed)
    made = AutoModelForCausalLM.from_config(config, attn_implementation=attention)
    with torch.no_grad():
        for weight in made.parameters():
            if weight.dim() > 1:
                weight.normal_(0, 0.5)
    made.generation_config = GenerationConfig(bos_token_id=1, eos_token_id=None, pad_token_id=None)
    return made.to(getattr(torch, dtype)).eval()


def loaded(made: Any, tokenizer: Any = None, **info: Any) -> LoadedModel:
    """Wrap a model for the decoders."""
    return LoadedModel(made, tokenizer or byte_level_tokenizer(), ModelInfo(**{"name": "tiny", **info}))


@torch.inference_mode()
def greedy(made: Any, prompt: Sequence[int], count: int, eos_ids: Sequence[int] = ()) -> tuple[int, ...]:
    """G: one token at a time, each from a fresh forward pass over everything before it."""
    ids = list(prompt)
    while len(ids) < len(prompt) + count and (len(ids) == len(prompt) or ids[-1] not in eos_ids):
        logits = made(input_ids=torch.tensor([ids]), use_cache=False).logits[0, -1].float()
        ids.append(int(logits.argmax()))
    return tuple(ids[len(prompt) :])


def generate(made: Any, prompt: Sequence[int], count: int) -> tuple[int, ...]:
    """What the library's own greedy generate gives, with the model's generation_config."""
    ids = torch.tensor([prompt])
    output = made.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=count)
    return tuple(output[0, len(prompt) :].tolist())


@cache
def byte_level_tokenizer() -> PreTrainedTokenizerFast:
    """BB: a byte-level BPE whose only merges are "ab" and " a"; an emoji is four tokens. 263 ids."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    names = ["<pad>", "<s>", "</s>", *alphabet, "ab", "\u0120a"]
    backend = Tokenizer(
        models.BPE(vocab={name: token for token, name in enumerate(names)}, merges=[("a", "b"), ("\u0120", "a")])
    )
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        clean_up_tokenization_spaces=False,
    )
    tokenizer.add_tokens([AddedToken("<tool>", special=True), AddedToken("é日", special=False)])
    return tokenizer


@cache
def sentencepiece_tokenizer() -> PreTrainedTokenizerFast:
    """SP: words with a leading-space mark, and a byte token for every byte that no word covers. No padding token."""
    merges = [
        ("▁", "T"), ("h", "e"), ("▁T", "he"), ("▁", "c"), ("a", "t"), ("▁c", "at"), ("▁", "s"), ("▁s", "at"),
        ("▁", "▁"), ("▁", "a"),
    ]  # fmt: skip
    letters = ["▁", *"Theatscindx?':"]
    names = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *dict.fromkeys(letters)]
    names += dict.fromkeys(left + right for left, right in merges)
    backend = Tokenizer(
        models.BPE(
            vocab={name: token for token, name in enumerate(names)},
            merges=merges,
            byte_fallback=True,
            unk_token="<unk>",
            fuse_unk=True,
        )
    )
    backend.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    backend.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        clean_up_tokenization_spaces=False,
    )
