"""The benchmark on tiny models: every ratio is measured on work whose ids were compared, and all of it is reported."""

import copy
import json
from pathlib import Path

import pytest
import tiny

from cllm_core import bench, cli, models
from cllm_core.bench import PairUnderTest
from cllm_core.errors import CllmError
from cllm_core.packed import pack_linears
from cllm_core.types import BenchConfig, DecodeConfig

QUICK = BenchConfig(repeats=1, max_new_tokens=8, passes=1, training=False)


def pair() -> PairUnderTest:
    target, cllm = tiny.loaded(tiny.model()), tiny.loaded(tiny.model(seed=1))
    prompts = tuple(target.encode(text) for text in ("abc", "xyz"))
    return PairUnderTest("mine", target, cllm, prompts, DecodeConfig(max_new_tokens=9, window="sliding"))


def test_everything_is_measured_and_printed():
    plain = tiny.loaded(tiny.model())
    packed = copy.deepcopy(plain.model)
    pack_linears(packed)
    said: list[str] = []
    found = json.loads(json.dumps(bench.bench(tiny.loaded(packed), plain, QUICK, pair(), said.append)))
    assert found["packed_weights"] is True
    assert found["ar_vs_generate"] > 0
    assert found["recorder_overhead"] > -1
    for curve in ("pass_ms", "plain_pass_ms"):
        assert [int(width) for width in found[curve]] == list(bench.WIDTHS)
        assert all(milliseconds > 0 for milliseconds in found[curve].values())
    assert found["tokens_per_pass_needed"]["1"] == 1
    sizes = found["block_sizes"]
    assert [int(size) for size in sizes] == list(bench.BLOCK_SIZES)
    assert all(values["speedup"] > 0 and values["tokens_per_pass"] >= 1 for values in sizes.values())
    fastest = max(sizes.values(), key=lambda values: values["speedup"])
    assert sizes[str(found["best_block_size"])] == fastest
    table = bench.as_table(found)
    assert table.count("best here") == 1
    assert "collecting" not in table
    assert len(said) == 4


def test_without_a_pair_no_block_size_is_named():
    loaded = tiny.loaded(tiny.model())
    found = bench.bench(loaded, loaded, QUICK)
    assert found["packed_weights"] is False
    assert found["pass_ms"] == found["plain_pass_ms"]
    assert "best_block_size" not in found
    assert "best here" not in bench.as_table(found)


def test_the_short_cuts_of_training_are_reported(monkeypatch: pytest.MonkeyPatch):
    ratios = {"collect_vs_blockwise": {"ratio": 6.0}, "packed_vs_three_forward": {"ratio": 12.5}}
    seen = []
    monkeypatch.setattr(bench, "training_ratios", lambda plain: seen.append(plain) or ratios)
    loaded, plain = tiny.loaded(tiny.model()), tiny.loaded(tiny.model())
    found = bench.bench(loaded, plain, BenchConfig(repeats=1, max_new_tokens=8, passes=1))
    assert seen == [plain]
    assert (found["collect_vs_blockwise"], found["packed_vs_three_forward"], found["training"]) == (6.0, 12.5, ratios)
    assert "6.0x   block by block" in bench.as_table(found)


def test_two_sides_with_different_ids_are_no_comparison_where_they_should_be_the_same():
    with pytest.raises(CllmError, match="different ids"):
        bench.race(lambda: (1, 2), lambda: (1, 3), 1, same=True)
    assert len(bench.race(lambda: (1, 2), lambda: (1, 3), 1, same=False).seconds) == 1


def test_the_command_writes_what_it_prints(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(models, "load", lambda source, **options: tiny.loaded(tiny.model()))
    flags = ["--repeats", "1", "--max-new-tokens", "8", "--passes", "1", "--no-training"]
    assert cli.main(["bench", "--json", str(tmp_path / "bench.json"), "--pair", "none", *flags]) == 0
    assert json.loads((tmp_path / "bench.json").read_text())["repeats"] == 1
    assert "recorder overhead" in capsys.readouterr().out
    assert cli.main(["bench", "--pair", "smollm2", *flags]) == 1
    assert "has no consistency model" in capsys.readouterr().err
