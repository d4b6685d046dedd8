"""Hugging Face causal LMs behind the CausalLM protocol: load them, and one cached session a run.

The only place where a transformers model is run for inference. Knows no decoder, no window and no file of ours.
"""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, DynamicCache, GenerationConfig
from transformers.utils import logging as library_logging

from cllm_core.encoding import EncodedPrompt, encode, tokenizer_checksum
from cllm_core.errors import ConfigError, UnsupportedModel
from cllm_core.lm import Prediction
from cllm_core.packed import pack_linears
from cllm_core.pieces import piece_table
from cllm_core.sampling import Sampler, describe_defaults, logits_processors
from cllm_core.types import DecodeConfig, ModelInfo

# families whose rollback is held to an uncached run by the tests; any other one is probed when it is loaded
TESTED_FAMILIES = frozenset({
    "gpt2", "gpt_neo", "gpt_neox", "opt", "bloom", "llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2",
    "gemma3_text", "phi", "phi3", "starcoder2", "falcon", "olmo2", "smollm3", "granite", "stablelm",
})  # fmt: skip
_RECURRENT_FAMILIES = frozenset({
    "mamba", "mamba2", "falcon_mamba", "falcon_h1", "rwkv", "recurrent_gemma", "jamba", "bamba", "zamba", "zamba2",
    "nemotron_h", "lfm2", "lfm2_moe", "granitemoehybrid", "qwen3_next", "minimax", "xlstm", "kimi_linear",
})  # fmt: skip
_RECURRENT_LAYERS = frozenset({"linear_attention", "mamba", "recurrent", "conv", "ssm"})
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


@dataclass
class LoadedModel:
    """A model, its tokenizer, and what identifies them. Holds no state of any run."""

    model: Any
    tokenizer: Any
    info: ModelInfo
    notes: tuple[str, ...] = ()

    @cached_property
    def piece(self) -> Callable[[int], bytes]:
        """The function from token id to bytes."""
        return piece_table(self.tokenizer)

    @cached_property
    def special_ids(self) -> frozenset[int]:
        """Ids that are control tokens, or that the tokenizer does not know: they are no text."""
        control = {token for token, entry in self.tokenizer.added_tokens_decoder.items() if entry.special}
        unknown = set(range(self.vocab_size)).difference(self.tokenizer.get_vocab().values())
        return frozenset({*self.tokenizer.all_special_ids, *control, *unknown})

    @cached_property
    def generation(self) -> GenerationConfig:
        """The model's own generation_config."""
        return self.model.generation_config or GenerationConfig.from_model_config(self.model.config)

    @cached_property
    def eos_ids(self) -> frozenset[int]:
        """The end tokens: generation_config's, else the tokenizer's."""
        found: int | list[int] | None = self.generation.eos_token_id
        if found is None:
            found = self.tokenizer.eos_token_id
        return frozenset([found] if isinstance(found, int) else found or ())

    @cached_property
    def pad_id(self) -> int:
        """The padding token, an end token where the model knows no such id (some configs say -1), else 0."""
        candidates = (self.generation.pad_token_id, self.tokenizer.pad_token_id, *sorted(self.eos_ids), 0)
        return int(next(token for token in candidates if token is not None and 0 <= token < self.vocab_size))

    @cached_property
    def vocab_size(self) -> int:
        """How many ids the model can predict."""
        return int(self.model.get_output_embeddings().weight.shape[0])

    @cached_property
    def context(self) -> int:
        """Most tokens the model can hold."""
        text = self.model.config.get_text_config()
        return int(getattr(text, "max_position_embeddings", None) or getattr(text, "seq_length", None) or 1 << 20)

    @cached_property
    def short_context(self) -> int:
        """Where the rotary factors change (longrope), else `context`.

        The factors are those of the furthest position in a pass, and `generate` computes all anew where they change. A
        run that begins before that place ends there: beyond it no pass over several positions could be exact.
        """
        text = self.model.config.get_text_config()
        rope = getattr(text, "rope_parameters", None) or getattr(text, "rope_scaling", None) or {}
        if rope.get("rope_type", rope.get("type")) != "longrope":
            return self.context
        place = rope.get("original_max_position_embeddings") or getattr(text, "original_max_position_embeddings", None)
        return min(int(place or self.context), self.context)

    def encode(self, prompt: str | Sequence[Mapping[str, str]], *, chat: bool = True) -> EncodedPrompt:
        """Turn a prompt (text, or chat messages) into ids, through the chat template when `chat` and there is one.

        Raises PromptError for an empty or broken prompt, UnsupportedModel if the tokenizer is not this model's.
        """
        encoded = encode(self.tokenizer, prompt, chat=chat)
        known = int(self.model.get_input_embeddings().weight.shape[0])
        if max(encoded.ids) >= known:
            raise UnsupportedModel(
                f"The tokenizer of {self.info.name} gives id {max(encoded.ids)} for this prompt, and the model "
                f"knows {known} ids only: the two do not belong together."
            )
        return encoded

    def session(self, config: DecodeConfig, prompt_ids: Sequence[int], *, observe: bool = True) -> "HFCausalLM":
        """Open a fresh session for one run; `observe` records probabilities and candidates."""
        device = str(self.model.device)
        processors = logits_processors(
            config, self.generation, prompt_length=len(prompt_ids), eos_ids=self.eos_ids, device=device
        )
        context = self.short_context if len(prompt_ids) < self.short_context else self.context
        return HFCausalLM(self, Sampler(config, processors, observe=observe), context)

    def run_defaults(self, config: DecodeConfig) -> tuple[str, ...]:
        """Return what the model's own generation_config changes about a run, a sentence a setting."""
        return tuple(describe_defaults(config, self.generation))

    def run_notes(self, config: DecodeConfig) -> tuple[str, ...]:
        """Return what a reader of a run with this model should know."""
        short = self.short_context
        ends = (
            f"A prompt of less than {short:,} tokens is answered up to that place, where the model's positions change."
        )
        return (*self.notes, *([ends] if short < self.context else []), *self.run_defaults(config))


class HFCausalLM:
    """One cached session of a LoadedModel: the CausalLM that decoders drive."""

    def __init__(self, loaded: LoadedModel, sampler: Sampler, context: int) -> None:
        self.vocab_size, self.context, self.pad_id = loaded.vocab_size, context, loaded.pad_id
        self.eos_ids = loaded.eos_ids
        self._model, self._sampler = loaded.model, sampler
        self._ids: list[int] = []
        self._cache = DynamicCache(config=loaded.model.config)
        self._cache.activate_past_recording()  # sliding-window layers keep what a rollback needs

    @property
    def length(self) -> int:
        return len(self._ids)

    @torch.inference_mode()
    def extend(self, ids: Sequence[int], keep: int) -> Prediction:
        fed = torch.tensor([ids], device=self._model.device)
        output = self._model(input_ids=fed, cache=self._cache, use_cache=True, logits_to_keep=keep)
        self._ids.extend(ids)
        return self._sampler.choose(output.logits[0, -keep:], self._ids)

    def rollback(self, length: int) -> None:
        excess = len(self._ids) - length
        if excess < 0:
            raise ValueError(f"cannot roll back to {length}: the cache holds {len(self._ids)} tokens")
        self._cache.crop(-excess)  # of nothing, too: only here does a sliding layer let go of what it has passed
        if excess:
            del self._ids[length:]


def empty_cache() -> None:
    """Give the GPU memory that nothing holds any more back to the machine."""
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def load_model(
    path_or_id: str | Path,
    *,
    name: str,
    revision: str = "",
    adapter: str | Path | None = None,
    adapter_name: str = "",
    device: str = "auto",
    dtype: str = "auto",
    attention: str = "auto",
    local_only: bool = True,
    packed: bool = False,
) -> LoadedModel:
    """Load a model of its own (never shared with another lane), with `adapter` merged into it if one is given.

    `packed` lays its weights out for fast inference where that can be done (cllm_core.packed): no training then.

    Raises ConfigError for an impossible device or dtype, UnsupportedModel for a model whose cache cannot be rolled
    back; errors of the library (OSError, ValueError) pass through and are worded by cllm_core.models.
    """
    library_logging.disable_progress_bar()
    device, dtype_name, notes = choose_device(device, dtype)
    options: dict[str, Any] = {"local_files_only": local_only, "trust_remote_code": False}
    if revision and not Path(path_or_id).is_dir():
        options["revision"] = revision
    config = AutoConfig.from_pretrained(path_or_id, **options)
    refuse_recurrent(config, name)
    tokenizer = AutoTokenizer.from_pretrained(path_or_id, **options)
    if attention != "auto":
        options["attn_implementation"] = attention
    model = AutoModelForCausalLM.from_pretrained(
        path_or_id, config=config, dtype=DTYPES[dtype_name], use_safetensors=True, **options
    )
    if adapter is not None:
        model = merge_adapter(model, adapter)
        if dtype_name != "float32":
            notes.append(
                f"The adapter is merged into {dtype_name} weights, which rounds it: answers may differ a little from "
                "those in float32."
            )
    model = model.to(device).eval()
    info = ModelInfo(
        name=name,
        revision=revision or getattr(config, "_commit_hash", None) or "",
        adapter=adapter_name or (Path(adapter).name if adapter is not None else ""),
        architecture=type(model).__name__,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        device=device,
        device_name=_device_name(device),
        dtype=dtype_name,
        attention=str(model.config._attn_implementation or ""),
        tokenizer=tokenizer_checksum(tokenizer),
    )
    loaded = LoadedModel(model, tokenizer, info, tuple(notes))
    if packed:
        pack_linears(model)
    if getattr(config, "model_type", "") not in TESTED_FAMILIES:
        verify_rollback(loaded)
    return loaded


def merge_adapter(model: Any, adapter: str | Path) -> Any:
    """Merge a peft adapter's weights into this model object and return it as a plain model."""
    from peft import PeftModel

    with warnings.catch_warnings():  # peft asks transformers by a name that is about to go: not the user's concern
        warnings.filterwarnings("ignore", "`is_gradient_checkpointing` is deprecated", FutureWarning)
        return PeftModel.from_pretrained(model, str(adapter)).merge_and_unload()


def choose_device(device: str, dtype: str) -> tuple[str, str, list[str]]:
    """Return (device, dtype name, notes): CUDA in bfloat16 where there is one, else the CPU in float32."""
    cuda = torch.cuda.is_available()
    if device == "auto":
        device = "cuda" if cuda else "cpu"
    try:
        place = torch.device(device)
    except RuntimeError as error:
        raise ConfigError(f"There is no device {device!r}: use auto, cpu or cuda.") from error
    kind = place.type
    if kind not in ("cpu", "cuda", "mps", "xpu"):
        raise ConfigError(f"Models do not run on {device!r}: use auto, cpu or cuda.")
    if kind == "cuda" and not cuda:
        raise ConfigError("There is no CUDA GPU here: use --device cpu, or auto.")
    if kind == "cuda" and (place.index or 0) >= torch.cuda.device_count():
        raise ConfigError(f"There is no GPU {place.index} here: use cuda:0 to cuda:{torch.cuda.device_count() - 1}.")
    if dtype == "auto":
        dtype = "bfloat16" if kind == "cuda" else "float32"
    if dtype not in DTYPES:
        raise ConfigError(f"There is no dtype {dtype!r}: use auto, {', '.join(DTYPES)}.")
    if kind == "cpu" and dtype == "float16":
        return device, "float32", ["float16 is slow or missing on a CPU: this run uses float32."]
    return device, dtype, []


def _device_name(device: str) -> str:
    if torch.device(device).type == "cuda":
        return str(torch.cuda.get_device_name(device))
    return f"CPU, {torch.get_num_threads()} threads" if device == "cpu" else device


def refuse_recurrent(config: Any, name: str) -> None:
    """Raise UnsupportedModel if the model keeps a recurrent state, which cannot be rolled back."""
    layers = set(getattr(config, "layer_types", None) or ())
    if config.model_type in _RECURRENT_FAMILIES or layers & _RECURRENT_LAYERS:
        raise UnsupportedModel(
            f"{name} is a {config.model_type} model: its recurrent state cannot be rolled back, which Jacobi decoding "
            "needs. Choose a model whose layers all use attention."
        )


def verify_rollback(loaded: LoadedModel) -> None:
    """Raise UnsupportedModel unless feeding, rolling back and feeding again predicts what a fresh session does."""
    if getattr(loaded.model, "_is_stateful", False):
        raise UnsupportedModel(f"{loaded.info.name} keeps a recurrent state, which cannot be rolled back.")
    config = DecodeConfig(model_defaults=False, top_k=0)
    ids = [token % loaded.vocab_size for token in (11, 5, 23, 7, 42, 3, 19, 31)]
    try:
        used, fresh = loaded.session(config, ids), loaded.session(config, ids)
        used.extend(ids[:4], 1)
        used.extend(list(reversed(ids)), 8)
        used.rollback(4)
        rolled_back, expected = used.extend(ids[4:], 4), fresh.extend(ids, 4)
    except (TypeError, AttributeError, ValueError, RuntimeError) as error:
        raise UnsupportedModel(f"{loaded.info.name} cannot be decoded in parallel here: {error}") from error
    if not _agree(rolled_back, expected, 1e-3 if loaded.info.dtype == "float32" else 0.2):
        raise UnsupportedModel(
            f"{loaded.info.name} ({loaded.model.config.model_type}) predicts something else after its cache was rolled "
            "back, so parallel decoding with it would be wrong. Choose another model."
        )


def _agree(one: Prediction, other: Prediction, tolerance: float) -> bool:
    """Whether two predictions come from the same distributions, as far as their choices tell.

    A near-tie may fall either way: two ids can both be right only if their probabilities fit into one distribution.
    """
    choices = zip(one.ids, other.ids, one.probabilities, other.probabilities, strict=True)
    return all(math.isclose(p, q, rel_tol=tolerance) and (a == b or p + q <= 1 + tolerance) for a, b, p, q in choices)
