"""What is trained: a LoRA adapter or every weight, and how the result is saved. Knows no data and no loss."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from peft.utils import get_peft_model_state_dict
from safetensors.torch import save_file

from cllm_core.errors import ConfigError

ADAPTER_FILE = "adapter_model.safetensors"


def make_trainable(lm: Any, *, method: str, rank: int, alpha: int, seed: int, start: Path | None = None) -> Any:
    """Make the model's own weights or a LoRA adapter trainable; return the PeftModel, or the model itself.

    `start` is an adapter to go on from: it stays an adapter of the same model for `lora` (its own rank and alpha
    hold), and is merged into the weights for `full`. Trainable weights become float32, whatever the model is in.
    LoRA changes the layers of `lm` in place. Dropout is off: fixed points are those of the whole model, and a resumed
    run has no dice to remember.
    """
    with _quiet():
        model = _trainable(lm, method=method, rank=rank, alpha=alpha, seed=seed, start=start)
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.data = parameter.data.float()
    _without_dropout(model)
    return model


def _without_dropout(model: torch.nn.Module) -> None:
    """Set every dropout to zero: modules, and the rates that attention layers hand to functions."""
    for module in model.modules():
        if isinstance(module, torch.nn.modules.dropout._DropoutNd):
            module.p = 0.0
        for name, value in vars(module).items():
            if isinstance(value, float) and ("dropout" in name or name in ("layerdrop", "attn_pdrop", "resid_pdrop")):
                setattr(module, name, 0.0)


def _trainable(lm: Any, *, method: str, rank: int, alpha: int, seed: int, start: Path | None) -> Any:
    if method == "full":
        model = PeftModel.from_pretrained(lm, str(start)).merge_and_unload() if start else lm
        return model.requires_grad_(True)
    if start:
        return PeftModel.from_pretrained(lm, str(start), is_trainable=True)
    config = LoraConfig(
        r=rank, lora_alpha=alpha, target_modules="all-linear", lora_dropout=0.0, bias="none", task_type="CAUSAL_LM"
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return get_peft_model(lm, config)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep peft's use of a renamed property, and what it sets right by itself, from the user's screen."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"fan_in_fan_out is set to False", UserWarning)
        warnings.filterwarnings("ignore", r"`is_gradient_checkpointing` is deprecated", FutureWarning)
        yield


def causal_lm(model: Any) -> Any:
    """Return the plain causal LM inside (with LoRA layers in place, if it has any)."""
    return model.get_base_model() if isinstance(model, PeftModel) else model


def adapter_rank(model: Any) -> int | None:
    """Return the LoRA rank of what is trained; None where that is every weight."""
    return int(model.peft_config["default"].r) if isinstance(model, PeftModel) else None


def save_adapter(model: Any, folder: Path, *, base: str) -> int:
    """Write the adapter in bfloat16 with its config, which names the base model; return its size in bytes.

    `base` is a name that means the same on another machine, so no path.
    """
    if not isinstance(model, PeftModel):
        raise ConfigError("Only an adapter can be saved as one: this run trained every weight.")
    folder.mkdir(parents=True, exist_ok=True)
    state = get_peft_model_state_dict(model, save_embedding_layers=False)
    small = {name: tensor.detach().to("cpu", torch.bfloat16).contiguous() for name, tensor in state.items()}
    save_file(small, folder / ADAPTER_FILE, metadata={"format": "pt"})
    config = model.peft_config["default"]
    training_mode, path = config.inference_mode, config.base_model_name_or_path
    config.inference_mode, config.base_model_name_or_path = True, base
    try:
        config.save_pretrained(str(folder))
    finally:
        config.inference_mode, config.base_model_name_or_path = training_mode, path
    return (folder / ADAPTER_FILE).stat().st_size


def save_model(model: Any, tokenizer: Any, folder: Path, dtype: torch.dtype = torch.bfloat16) -> None:
    """Write every weight of a fully trained model in `dtype`, with its tokenizer, as a model folder."""
    state = {name: tensor.detach().to("cpu", dtype) for name, tensor in model.state_dict().items()}
    model.save_pretrained(str(folder), state_dict=state, safe_serialization=True)
    tokenizer.save_pretrained(str(folder))


def trainable_state(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Return copies on the CPU of the weights that are trained, by name."""
    return {
        name: parameter.detach().to("cpu", copy=True).contiguous()
        for name, parameter in module.named_parameters()
        if parameter.requires_grad
    }


def load_trainable_state(module: torch.nn.Module, state: dict[str, torch.Tensor]) -> None:
    """Put saved weights back; ConfigError if they are not exactly the ones that are trained here."""
    own = {name: parameter for name, parameter in module.named_parameters() if parameter.requires_grad}
    if own.keys() != state.keys() or any(own[name].shape != state[name].shape for name in own):
        raise ConfigError("The checkpoint holds other weights than this run trains: use the settings it began with.")
    with torch.no_grad():
        for name, parameter in own.items():
            parameter.copy_(state[name])
