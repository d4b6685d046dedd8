"""Measures what the README claims: what recording costs, our loop against the library's, a pass by its width, the
block size that suits this machine, and what the short cuts of training are worth.

Absolute times are noisy, so sides alternate within one run and the ratios are medians.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import torch

from cllm_core.compare import decode, open_run
from cllm_core.decoders import DECODERS
from cllm_core.encoding import EncodedPrompt
from cllm_core.errors import CllmError
from cllm_core.hf import LoadedModel
from cllm_core.metrics import summarize
from cllm_core.packed import is_packed
from cllm_core.train.speed import training_ratios
from cllm_core.types import BenchConfig, DecodeConfig

WIDTHS = (1, 2, 4, 8, 16, 32, 64)
BLOCK_SIZES = (2, 4, 8, 12, 16, 24, 32)
PROMPT = "Explain in a few sentences how a bicycle stays upright."


@dataclass(frozen=True)
class Race:
    """Two ways to do the same work, timed in turn: the paired seconds, as (first, second)."""

    seconds: tuple[tuple[float, float], ...]

    @property
    def ratio(self) -> float:
        """Median over the repeats of second / first."""
        return median(second / first for first, second in self.seconds)


@dataclass(frozen=True)
class PairUnderTest:
    """A consistency model, the target that it was made from, and what to ask them."""

    name: str
    target: LoadedModel
    cllm: LoadedModel
    prompts: tuple[EncodedPrompt, ...]
    config: DecodeConfig  # the window, draft and limits that suit the pair


def bench(
    loaded: LoadedModel,
    plain: LoadedModel,
    config: BenchConfig,
    pair: PairUnderTest | None = None,
    report: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Measure everything and return JSON-ready values.

    `loaded` is the model as it decodes here, `plain` the same one with its weights as the library
    lays them: the same object where that is how it decodes.
    """
    prompt = loaded.encode(PROMPT)
    settings = DecodeConfig(max_new_tokens=config.max_new_tokens)
    report("Pass time by width ...")
    plain_ms = _pass_curve(plain, prompt, config.passes)
    pass_ms = _pass_curve(loaded, prompt, config.passes) if loaded is not plain else plain_ms
    report("Recorder against the bare loop ...")
    recorder = recorder_race(loaded, prompt, settings, config.repeats)
    report("Autoregressive lane against the library's generate ...")
    generate = generate_race(loaded, prompt, settings, config.repeats)
    result = {
        "model": loaded.info.name,
        "device": loaded.info.device_name,
        "dtype": loaded.info.dtype,
        "attention": loaded.info.attention,
        "packed_weights": is_packed(loaded.model),
        "recorder_overhead": recorder.ratio - 1,
        "ar_vs_generate": generate.ratio,
        "pass_ms": pass_ms,
        "plain_pass_ms": plain_ms,
        "tokens_per_pass_needed": {width: pass_ms[width] / pass_ms["1"] for width in pass_ms},
        "repeats": config.repeats,
    }
    if pair is not None:
        report(f"Block sizes with {pair.name} ...")
        result |= block_size_race(pair, config.repeats)
    if config.training:
        report("Collecting and training, each against the plain way ...")
        ratios = training_ratios(plain)
        result |= {name: ratio["ratio"] for name, ratio in ratios.items()} | {"training": ratios}
    return result


def _pass_curve(loaded: LoadedModel, prompt: EncodedPrompt, passes: int) -> dict[str, float]:
    return {str(width): pass_seconds(loaded, prompt, width, passes) * 1000 for width in WIDTHS}


def block_size_race(pair: PairUnderTest, repeats: int) -> dict[str, Any]:
    """Decode the pair's prompts by the CLLM at every block size, and by the target one token at a time, in turn.

    Returns `block_sizes` (n -> tokens a pass, and speedup over the target: the median over the repeats) and
    `best_block_size`, the fastest one. Both sides have the same limits; the speedup is the target's seconds over the
    CLLM's, the prompt's pass included, added up over the prompts.
    """
    target = replace(pair.config, decoder="autoregressive")
    sizes = {size: replace(pair.config, decoder="jacobi", block_size=size) for size in BLOCK_SIZES}
    for loaded, config in ((pair.target, target), *((pair.cllm, config) for config in sizes.values())):
        _decode_all(loaded, pair.prompts[:1], config)  # warm up
    speedups: dict[int, list[float]] = {size: [] for size in sizes}
    per_pass: dict[int, float] = {}
    for _ in range(repeats):
        _, _, target_seconds = _decode_all(pair.target, pair.prompts, target)
        for size, config in sizes.items():
            tokens, passes, seconds = _decode_all(pair.cllm, pair.prompts, config)
            speedups[size].append(target_seconds / seconds)
            per_pass[size] = tokens / passes
    measured = {size: {"tokens_per_pass": per_pass[size], "speedup": median(speedups[size])} for size in sizes}
    best = max(measured, key=lambda size: measured[size]["speedup"])
    return {
        "pair": pair.name,
        "block_sizes": {str(size): values for size, values in measured.items()},
        "best_block_size": best,
    }


def _decode_all(loaded: LoadedModel, prompts: Sequence[EncodedPrompt], config: DecodeConfig) -> tuple[int, int, float]:
    """Return (tokens, passes, seconds), each summed over the prompts."""
    summaries = [summarize(decode(loaded, prompt, config)) for prompt in prompts]
    return (
        sum(summary.tokens for summary in summaries),
        sum(summary.passes for summary in summaries),
        sum(summary.seconds for summary in summaries),
    )


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

    return race(bare, recorded, repeats, same=_exact(loaded))


def generate_race(loaded: LoadedModel, prompt: EncodedPrompt, config: DecodeConfig, repeats: int) -> Race:
    """Time our recorded autoregressive lane against `model.generate`; same ids, so seconds give tokens per second."""
    config = replace(config, decoder="autoregressive")

    def ours() -> tuple[int, ...]:
        recorder, steps = open_run(loaded, prompt, config)
        return recorder.run(steps).ids

    return race(ours, lambda: library_generate(loaded, prompt, config), repeats, same=_exact(loaded))


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


def race(
    first: Callable[[], tuple[int, ...]], second: Callable[[], tuple[int, ...]], repeats: int, *, same: bool
) -> Race:
    """Time two ways in turn, alternating which goes first; CllmError if they should give the same ids and do not.

    `same` is for float32: half precision may part at a near-tie without anything being wrong.
    """
    first(), second()  # warm up
    pairs = []
    for repeat in range(repeats):
        order = (first, second) if repeat % 2 == 0 else (second, first)
        seconds = {way: _timed(way) for way in order}
        if same and seconds[first][1] != seconds[second][1]:
            raise CllmError("The two sides of the benchmark gave different ids, so their times cannot be compared.")
        pairs.append((seconds[first][0], seconds[second][0]))
    return Race(tuple(pairs))


def _exact(loaded: LoadedModel) -> bool:
    return loaded.info.dtype == "float32"


def _timed(way: Callable[[], tuple[int, ...]]) -> tuple[float, tuple[int, ...]]:
    started = time.perf_counter()
    ids = way()
    return time.perf_counter() - started, ids


def as_table(result: dict[str, Any]) -> str:
    """Return the measurements as a plain-text table."""
    weights = "packed weights" if result["packed_weights"] else "plain weights"
    lines = [
        f"{result['model']} on {result['device']}, {result['dtype']}, {result['attention']} attention, {weights}",
        "",
        f"recorder overhead           {result['recorder_overhead']:+8.1%}   (limit +3 %)",
        f"our autoregressive lane     {result['ar_vs_generate']:8.2f}x   the library's generate (at least 0.97)",
    ]
    if "training" in result:
        lines += [
            f"collecting all blocks       {result['collect_vs_blockwise']:8.1f}x   block by block (at least 5)",
            f"one packed forward          {result['packed_vs_three_forward']:8.1f}x   three forwards (at least 2)",
        ]
    lines += ["", "  n    pass, ms   plain, ms   tokens per pass to break even"]
    for width, milliseconds in result["pass_ms"].items():
        plain, needed = result["plain_pass_ms"][width], result["tokens_per_pass_needed"][width]
        lines.append(f"{width:>3}  {milliseconds:10.1f}  {plain:10.1f}   {needed:10.2f}")
    if "block_sizes" in result:
        lines += ["", f"{result['pair']}, by block size: tokens per pass, speedup over its target"]
        for size, values in result["block_sizes"].items():
            mark = "   best here" if int(size) == result["best_block_size"] else ""
            lines.append(f"{size:>3}  {values['tokens_per_pass']:10.2f}  {values['speedup']:9.2f}x{mark}")
    return "\n".join(lines)
