"""Measures what the README claims: what recording costs, our loop against the library's, and a pass by its width.

Absolute times are noisy, so sides alternate within one run and the ratios are medians.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import torch

from cllm_core.compare import open_run
from cllm_core.decoders import DECODERS
from cllm_core.encoding import EncodedPrompt
from cllm_core.hf import LoadedModel
from cllm_core.types import BenchConfig, DecodeConfig

WIDTHS = (1, 2, 4, 8, 16, 32, 64)
PROMPT = "Explain in a few sentences how a bicycle stays upright."


@dataclass(frozen=True)
class Race:
    """Two ways to do the same work, timed in turn: the paired seconds, as (first, second)."""

    seconds: tuple[tuple[float, float], ...]

    @property
    def ratio(self) -> float:
        """Median over the repeats of second / first."""
        return median(second / first for first, second in self.seconds)


def bench(
    loaded: LoadedModel, config: BenchConfig, report: Callable[[str], None] = lambda line: None
) -> dict[str, Any]:
    """Measure everything on one loaded model and return JSON-ready values."""
    prompt = loaded.encode(PROMPT)
    decode = DecodeConfig(max_new_tokens=config.max_new_tokens)
    report("Pass time by width ...")
    pass_ms = {str(width): pass_seconds(loaded, prompt, width, config.passes) * 1000 for width in WIDTHS}
    report("Recorder against the bare loop ...")
    recorder = recorder_race(loaded, prompt, decode, config.repeats)
    report("Autoregressive lane against the library's generate ...")
    generate = generate_race(loaded, prompt, decode, config.repeats)
    return {
        "model": loaded.info.name,
        "device": loaded.info.device_name,
        "dtype": loaded.info.dtype,
        "attention": loaded.info.attention,
        "recorder_overhead": recorder.ratio - 1,
        "ar_vs_generate": generate.ratio,
        "pass_ms": pass_ms,
        "tokens_per_pass_needed": {width: pass_ms[width] / pass_ms["1"] for width in pass_ms},
        "repeats": config.repeats,
    }


def pass_seconds(loaded: LoadedModel, prompt: EncodedPrompt, width: int, passes: int) -> float:
    """Return the median seconds of a pass that feeds `width` tokens after the prompt and rolls them back."""
    lm = loaded.session(DecodeConfig(top_k=0), prompt.ids, observe=False)
    lm.extend(prompt.ids, 1)
    held = lm.length
    fed = (prompt.ids * width)[:width]
    times = []
    for _ in range(passes + 2):
        started = time.perf_counter()
        lm.extend(fed, width)
        lm.rollback(held)
        times.append(time.perf_counter() - started)
    return median(times[2:])  # the first ones warm up


def recorder_race(loaded: LoadedModel, prompt: EncodedPrompt, config: DecodeConfig, repeats: int) -> Race:
    """Time the bare Jacobi loop (nothing observed, nothing kept) against the same loop recorded."""

    def bare() -> tuple[int, ...]:
        steps = DECODERS[config.decoder](loaded.session(config, prompt.ids, observe=False), prompt.ids, config)
        return tuple(token for step in steps for token in step.state[: step.fixed - step.start])

    def recorded() -> tuple[int, ...]:
        recorder, steps = open_run(loaded, prompt, config)
        return recorder.run(steps).ids

    return race(bare, recorded, repeats)


def generate_race(loaded: LoadedModel, prompt: EncodedPrompt, config: DecodeConfig, repeats: int) -> Race:
    """Time our recorded autoregressive lane against `model.generate`; same ids, so seconds give tokens per second."""
    config = replace(config, decoder="autoregressive")

    def ours() -> tuple[int, ...]:
        recorder, steps = open_run(loaded, prompt, config)
        return recorder.run(steps).ids

    return race(ours, lambda: library_generate(loaded, prompt, config), repeats)


def library_generate(loaded: LoadedModel, prompt: EncodedPrompt, config: DecodeConfig) -> tuple[int, ...]:
    """Return the ids of the library's own greedy `generate` with the same limits."""
    fed = torch.tensor([prompt.ids], device=loaded.model.device)
    output = loaded.model.generate(
        fed,
        attention_mask=torch.ones_like(fed),
        do_sample=False,
        temperature=None,
        top_p=None,
        top_k=None,
        max_new_tokens=config.max_new_tokens,
        eos_token_id=sorted(loaded.eos_ids) or None,
        pad_token_id=loaded.pad_id,
    )
    return tuple(output[0, len(prompt.ids) :].tolist())


def race(first: Callable[[], tuple[int, ...]], second: Callable[[], tuple[int, ...]], repeats: int) -> Race:
    """Time two ways in turn, alternating which goes first; RuntimeError if they do not give the same ids.

    Ids are compared only in float32: half precision may part at a near-tie without anything being wrong.
    """
    first(), second()  # warm up
    pairs = []
    for repeat in range(repeats):
        order = (first, second) if repeat % 2 == 0 else (second, first)
        seconds = {way: _timed(way) for way in order}
        if seconds[first][1] != seconds[second][1]:
            raise RuntimeError("the two sides of the benchmark gave different ids")
        pairs.append((seconds[first][0], seconds[second][0]))
    return Race(tuple(pairs))


def _timed(way: Callable[[], tuple[int, ...]]) -> tuple[float, tuple[int, ...]]:
    started = time.perf_counter()
    ids = way()
    return time.perf_counter() - started, ids


def as_table(result: dict[str, Any]) -> str:
    """Return the measurements as a plain-text table."""
    lines = [
        f"{result['model']} on {result['device']}, {result['dtype']}, {result['attention']} attention",
        "",
        f"recorder overhead           {result['recorder_overhead']:+8.1%}   (limit +3 %)",
        f"our autoregressive lane     {result['ar_vs_generate']:8.2f}x   the library's generate (at least 0.97)",
        "",
        "  n    pass, ms   tokens per pass to break even",
    ]
    for width, milliseconds in result["pass_ms"].items():
        lines.append(f"{width:>3}  {milliseconds:10.1f}   {result['tokens_per_pass_needed'][width]:10.2f}")
    return "\n".join(lines)
