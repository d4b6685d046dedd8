"""The weighted mean of adapters of one line of training: often faster than one of them and as right as the other.

Weight averaging after Wortsman et al. 2022 (model soups). The low-rank factors are averaged one by one, which is the
mean of what they do only where the adapters come from one another: those of two stages, or of two checkpoints.
"""

import json
import math
import shutil
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from cllm_core.errors import ConfigError, ExportError
from cllm_core.train.adapter import ADAPTER_FILE

CONFIG_FILE = "adapter_config.json"
_ALIKE = ("peft_type", "r", "lora_alpha", "target_modules", "base_model_name_or_path")


def average_adapters(folders: Sequence[Path], weights: Sequence[float], out: Path) -> Path:
    """Write the mean of two or more adapters, in the first one's number format; return the file of weights.

    `weights` are positive, one for each, and are divided by their sum; empty: all alike. `out` must be new or empty.
    ConfigError says which adapter does not go with the first.
    """
    if len(folders) < 2:
        raise ConfigError("A mean needs two adapters or more.")
    shares = _shares(weights or [1.0] * len(folders), len(folders))
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ConfigError(f"{out} exists already: choose a new folder.")
    first = _settings(folders[0])
    for folder in folders[1:]:
        if differing := [name for name in _ALIKE if _settings(folder)[name] != first[name]]:
            raise ConfigError(f"{folder} and {folders[0]} differ in {', '.join(differing)}: they have no mean.")
    states = [_weights(folder) for folder in folders]
    for folder, state in zip(folders[1:], states[1:]):
        if {key: value.shape for key, value in state.items()} != {key: value.shape for key, value in states[0].items()}:
            raise ConfigError(f"{folder} and {folders[0]} hold different tensors: they have no mean.")
    mean = {
        key: sum((share * state[key].float() for share, state in zip(shares, states)), torch.zeros(()))
        .to(own.dtype)
        .contiguous()
        for key, own in states[0].items()
    }
    try:
        out.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(folders[0] / CONFIG_FILE, out / CONFIG_FILE)
        save_file(mean, out / ADAPTER_FILE, metadata={"format": "pt"})
    except (OSError, SafetensorError) as error:
        raise ExportError(f"Cannot write into {out} ({error}): choose another folder.") from error
    return out / ADAPTER_FILE


def _shares(weights: Sequence[float], count: int) -> list[float]:
    if len(weights) != count:
        raise ConfigError(f"There are {count} adapters and {len(weights)} weights: give one weight for each.")
    if not all(math.isfinite(weight) and weight > 0 for weight in weights):
        raise ConfigError("Weights must be positive numbers.")
    return [weight / sum(weights) for weight in weights]


def _settings(folder: Path) -> dict[str, object]:
    try:
        config = json.loads((folder / CONFIG_FILE).read_text(encoding="utf-8"))
        found = {name: config.get(name) for name in _ALIKE}
    except (OSError, ValueError, AttributeError) as error:
        raise ConfigError(f"There is no adapter in {folder}: name a folder that holds {CONFIG_FILE}.") from error
    modules = found["target_modules"]
    return {**found, "target_modules": sorted(map(str, modules)) if isinstance(modules, list) else modules}


def _weights(folder: Path) -> dict[str, torch.Tensor]:
    try:
        return load_file(folder / ADAPTER_FILE)
    except (OSError, SafetensorError) as error:
        raise ConfigError(f"The weights of {folder} cannot be read: {error}") from error
