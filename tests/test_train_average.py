"""The mean of adapters is that of their tensors, and adapters that do not go together have none."""

import json
from pathlib import Path

import model_folders
import pytest
import torch
from safetensors.torch import load_file, save_file

from cllm_core import cli
from cllm_core.errors import ConfigError
from cllm_core.train.average import average_adapters

WEIGHTS = "adapter_model.safetensors"


@pytest.fixture
def adapters(tmp_path: Path) -> list[Path]:
    return [model_folders.write_adapter(tmp_path / name, "tiny", seed=seed) for seed, name in enumerate("abc")]


def test_the_mean_is_weighted_and_keeps_the_first_ones_format(adapters: list[Path], tmp_path: Path):
    states = [load_file(folder / WEIGHTS) for folder in adapters]
    save_file({key: value.bfloat16() for key, value in states[0].items()}, adapters[0] / WEIGHTS)
    states[0] = load_file(adapters[0] / WEIGHTS)
    found = load_file(average_adapters(adapters, [2, 1, 1], tmp_path / "mean"))
    assert found.keys() == states[0].keys()
    for key, value in found.items():
        expected = states[0][key].float() / 2 + states[1][key] / 4 + states[2][key] / 4
        assert torch.equal(value, expected.bfloat16())
    assert (tmp_path / "mean/adapter_config.json").read_bytes() == (adapters[0] / "adapter_config.json").read_bytes()


def test_the_command_averages_alike_by_default(
    adapters: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert cli.main(["average", str(adapters[0]), str(adapters[1]), "--out", str(tmp_path / "mean")]) == 0
    assert "adapter_model.safetensors (" in capsys.readouterr().out
    one, other, mean = (load_file(folder / WEIGHTS) for folder in (*adapters[:2], tmp_path / "mean"))
    for key, value in mean.items():
        assert torch.allclose(value, (one[key] + other[key]) / 2)


def test_what_has_no_mean_is_refused_in_a_sentence(adapters: list[Path], tmp_path: Path):
    first, second, third = adapters
    config = json.loads((second / "adapter_config.json").read_text())
    (second / "adapter_config.json").write_text(json.dumps({**config, "r": 4, "lora_alpha": 8}))
    state = load_file(third / WEIGHTS)
    save_file({key: value[:1].contiguous() for key, value in state.items()}, third / WEIGHTS)
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut/adapter_config.json").write_bytes((first / "adapter_config.json").read_bytes())
    (tmp_path / "cut" / WEIGHTS).write_bytes(b"cut")
    out = tmp_path / "mean"
    for folders, weights, said in (
        ([first], [], "two adapters or more"),
        ([first, second], [], "differ in r, lora_alpha"),
        ([first, third], [], "hold different tensors"),
        ([first, tmp_path / "none"], [], "no adapter in"),
        ([first, tmp_path / "cut"], [], "cannot be read"),
        ([first, first], [1.0], "one weight for each"),
        ([first, first], [1.0, -1.0], "positive numbers"),
        ([first, first], [1.0, float("nan")], "positive numbers"),
    ):
        with pytest.raises(ConfigError, match=said):
            average_adapters(folders, weights, out)
    assert not out.exists()
    with pytest.raises(ConfigError, match="exists already"):
        average_adapters([first, first], [], third)
