"""One prompt through the lanes of a pair, one lane after another so that each is measured alone.

Both sides of a comparison share device, dtype, limits, warm-up and clock. Knows no file and no display.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import islice
from statistics import fmean
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from cllm_core.decoders import DECODERS
from cllm_core.decoders.loop import room_for_output
from cllm_core.errors import ConfigError, PromptError
from cllm_core.metrics import Summary, summarize
from cllm_core.record import Recorder
from cllm_core.types import DecodeConfig, Step, Trajectory

if TYPE_CHECKING:  # hf imports torch and transformers, which takes seconds
    from cllm_core.encoding import EncodedPrompt
    from cllm_core.hf import LoadedModel


@dataclass(frozen=True)
class Lane:
    """One way to decode the prompt: which side of the pair, with which decoder."""

    key: str
    side: str  # base | cllm
    decoder: str


LANES = {
    lane.key: lane
    for lane in (
        Lane("base_ar", "base", "autoregressive"),
        Lane("base_jacobi", "base", "jacobi"),
        Lane("cllm_ar", "cllm", "autoregressive"),
        Lane("cllm_jacobi", "cllm", "jacobi"),
    )
}
DIFFERENT_PROMPTS = "The two models see different prompt ids, because their tokenizers or chat templates differ."
DIFFERENT_DEFAULTS = (
    "The two models have different end tokens, or choose tokens by different settings of their generation_config: "
    "their speeds and answers are not those of one way to decode."
)
WARM_UP_PASSES = 3  # the prompt's pass, and enough after it for what is compiled or tuned on second sight
DEFAULT_LANES = ("base_ar", "base_jacobi", "cllm_jacobi")
Models = Mapping[str, "LoadedModel"]  # side -> model
Prompt = str | Sequence[Mapping[str, str]]  # text, or a conversation


class Named(Protocol):
    """What has an id to be told by."""

    @property
    def id(self) -> str:
        """Unique among its like."""


E = TypeVar("E", bound=Named)


@dataclass(frozen=True)
class Difference:
    """Where two outputs part: the first index, and how near the reference's two best candidates were there."""

    index: int
    top2_margin: float | None  # difference of log-probability, in nats; None where not recorded, or tokens were sampled


@dataclass(frozen=True)
class LaneResult:
    """One lane's run, measured against the others."""

    trajectory: Trajectory
    summary: Summary
    speedup: float | None  # wall-clock of base_ar / of this lane; None where base_ar was not run
    equals_ar: bool | None  # same ids as one-at-a-time decoding of the same model; None where it was not compared
    first_difference: Difference | None


def open_run(
    loaded: "LoadedModel", prompt: "EncodedPrompt", config: DecodeConfig, *, observe: bool = True
) -> tuple[Recorder, Iterator[Step]]:
    """Return a recorder and the Steps for it to listen to; nothing is decoded yet."""
    lm = loaded.session(config, prompt.ids, observe=observe)
    recorder = Recorder(
        config,
        loaded.info,
        prompt.text,
        prompt.ids,
        loaded.piece,
        loaded.eos_ids,
        loaded.special_ids,
        (*prompt.notes, *loaded.run_notes(config)),
    )
    return recorder, DECODERS[config.decoder](lm, prompt.ids, config)


def decode(
    loaded: "LoadedModel", prompt: "EncodedPrompt", config: DecodeConfig, stop: Callable[[], bool] = lambda: False
) -> Trajectory:
    """Decode one prompt and return its trajectory (partial if `stop` said so)."""
    recorder, steps = open_run(loaded, prompt, config)
    return recorder.run(steps, stop)


def lanes_of(models: Models, wanted: Sequence[str] = DEFAULT_LANES) -> list[Lane]:
    """Return the wanted lanes that the pair has a model for, in a fixed order; ConfigError for an unknown one."""
    unknown = sorted(set(wanted) - set(LANES))
    if unknown:
        raise ConfigError(f"There is no lane {unknown[0]!r}: use {', '.join(LANES)}.")
    return [lane for lane in LANES.values() if lane.key in wanted and lane.side in models]


def with_room(
    models: Models,
    examples: Sequence[E],
    asked: Callable[[E], Prompt],
    *,
    chat: bool,
    report: Callable[[str], None],
) -> list[E]:
    """Return the examples whose prompts leave every model room for an answer; the others are told by their id.

    PromptError if none is left.
    """
    kept, error = [], None
    for example in examples:
        try:
            for loaded in models.values():
                room_for_output(loaded, loaded.encode(asked(example), chat=chat).ids)
            kept.append(example)
        except PromptError as found:
            error = found
            report(f"{example.id} is left out: {found}")
    if not kept:
        raise error or PromptError("There is no prompt to decode.")
    return kept


def warm_up(
    models: Models, prompt: Prompt, config: DecodeConfig, *, chat: bool, stop: Callable[[], bool] = lambda: False
) -> None:
    """Run a few passes of every model, as wide as those to be measured, so that no lane pays for first-time work."""
    for loaded in models.values():
        encoded = loaded.encode(prompt, chat=chat)
        for decoder in DECODERS:
            if stop():
                return
            recorder, steps = open_run(loaded, encoded, replace(config, decoder=decoder))
            for _ in islice(recorder.listen(steps, stop), WARM_UP_PASSES):
                pass


def run_lanes(
    models: Models,
    prompt: Prompt,
    config: DecodeConfig,
    *,
    chat: bool,
    lanes: Sequence[str] = DEFAULT_LANES,
    stop: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[Lane, Recorder]]:
    """Decode the prompt lane by lane; yield (lane, its recorder) after every pass. A stop ends all lanes."""
    config = replace(config, top_k=max(2, config.top_k))  # two candidates give a difference its margin
    chosen = lanes_of(models, lanes)
    prompts = _encode({lane.side: models[lane.side] for lane in chosen}, prompt, config, chat)
    for lane in chosen:
        recorder, steps = open_run(models[lane.side], prompts[lane.side], replace(config, decoder=lane.decoder))
        for _ in recorder.listen(steps, stop):
            yield lane, recorder
        if stop():
            return


def _encode(models: Models, prompt: Prompt, config: DecodeConfig, chat: bool) -> "dict[str, EncodedPrompt]":
    """Encode the prompt for each side; where the sides differ in more than weights, every lane's notes say so."""
    prompts = {side: loaded.encode(prompt, chat=chat) for side, loaded in models.items()}
    seen = {(loaded.info.tokenizer, prompts[side].ids) for side, loaded in models.items()}
    rules = {(loaded.eos_ids, loaded.run_defaults(config)) for loaded in models.values()}
    notes = [*([DIFFERENT_PROMPTS] if len(seen) > 1 else []), *([DIFFERENT_DEFAULTS] if len(rules) > 1 else [])]
    return {side: replace(encoded, notes=(*encoded.notes, *notes)) for side, encoded in prompts.items()}


def compare(
    models: Models,
    prompt: Prompt,
    config: DecodeConfig,
    *,
    chat: bool,
    lanes: Sequence[str] = DEFAULT_LANES,
    check: bool = True,
) -> dict[str, LaneResult]:
    """Run one prompt through the lanes and measure them against each other.

    With `check`, where a model's Jacobi lane is wanted without its autoregressive one, that is run too, to compare the
    ids; without it, `equals_ar` of such a lane is None.
    """
    references = {f"{LANES[key].side}_ar" for key in lanes if check and key in LANES}
    runs: dict[str, Recorder] = {}
    for lane, recorder in run_lanes(models, prompt, config, chat=chat, lanes=[*lanes, *sorted(references)]):
        runs[lane.key] = recorder
    results = lane_results({key: recorder.trajectory() for key, recorder in runs.items()})
    return {key: result for key, result in results.items() if key in lanes}


def lane_results(trajectories: Mapping[str, Trajectory]) -> dict[str, LaneResult]:
    """Measure finished lanes of one prompt against base_ar (speed) and their own model's autoregressive lane (ids).

    A lane that is none of LANES (a lone trajectory's, read from a file) is compared with nothing.
    """
    base = trajectories.get("base_ar")
    results = {}
    for key, trajectory in trajectories.items():
        reference = trajectories.get(f"{LANES[key].side}_ar") if key in LANES else None
        comparable = reference is not None and not reference.partial and not trajectory.partial
        difference = first_difference(reference, trajectory) if reference is not None and comparable else None
        timed = (
            key in LANES and base is not None and not base.partial and not trajectory.partial and trajectory.seconds > 0
        )
        results[key] = LaneResult(
            trajectory=trajectory,
            summary=summarize(trajectory),
            speedup=base.seconds / trajectory.seconds if base is not None and timed else None,
            equals_ar=difference is None if comparable else None,
            first_difference=difference,
        )
    return results


def first_difference(reference: Trajectory, other: Trajectory) -> Difference | None:
    """Return where `other` first departs from the one-at-a-time run `reference`; None if the ids are equal."""
    if reference.ids == other.ids:
        return None
    shared = min(len(reference.ids), len(other.ids))
    index = next((i for i in range(shared) if reference.ids[i] != other.ids[i]), shared)
    return Difference(index, _top2_margin(reference, index))


def _top2_margin(reference: Trajectory, index: int) -> float | None:
    if reference.config.temperature > 0 or index >= len(reference.steps):
        return None
    if not reference.steps[index].top or len(reference.steps[index].top[0]) < 2:
        return None
    (_, best), (_, second) = reference.steps[index].top[0][:2]
    return max(0.0, math.log(best / second)) if best > 0 and second > 0 else None


def lane_to_dict(result: LaneResult) -> dict[str, Any]:
    """Return one lane of one prompt as JSON-ready values."""
    counts = asdict(result.summary)
    row: dict[str, Any] = {
        "ids": list(result.trajectory.ids),
        "text": result.trajectory.text,
        "finish": result.trajectory.finish,
        **counts,
        "speedup": result.speedup,
        "equals_ar": result.equals_ar,
        "notes": list(result.trajectory.notes),
    }
    if result.first_difference is not None:
        row["first_difference"] = asdict(result.first_difference)
    return row


_TOTALS = ("tokens", "passes", "prefill_seconds", "seconds", "fast_forwarded", "stationary", "blocks")
_MEANS = ("fast_forward_per_pass", "paper_fast_forward", "stationary_per_block", "paper_stationary")


def summarize_lanes(prompts: Sequence[Mapping[str, LaneResult]]) -> dict[str, dict[str, Any]]:
    """Return totals and means over prompts, by lane. Rates (tokens per pass, speedup) are ratios of totals."""
    keys = [key for key in LANES if any(key in lanes for lanes in prompts)]
    return {key: _summarize_lane([lanes for lanes in prompts if key in lanes], key) for key in keys}


def _summarize_lane(prompts: Sequence[Mapping[str, LaneResult]], key: str) -> dict[str, Any]:
    results = [lanes[key] for lanes in prompts]
    totals = {name: sum(getattr(result.summary, name) for result in results) for name in _TOTALS}
    compared = [result.equals_ar for result in results if result.equals_ar is not None]
    timed = [(result.speedup, result.summary.seconds) for result in results if result.speedup is not None]
    base_seconds = sum(speedup * seconds for speedup, seconds in timed)
    lane_seconds = sum(seconds for _, seconds in timed)
    row: dict[str, Any] = {"prompts": len(results), **totals}
    row["tokens_per_pass"] = totals["tokens"] / totals["passes"] if totals["passes"] else 0.0
    row["tokens_per_second"] = totals["tokens"] / totals["seconds"] if totals["seconds"] else 0.0
    row["speedup"] = base_seconds / lane_seconds if lane_seconds else None
    for name in _MEANS:
        values = [value for result in results if (value := getattr(result.summary, name)) is not None]
        row[name] = fmean(values) if values else None
    row["equals_ar"] = fmean(compared) if compared else None  # share of the prompts with the same ids
    return row


def comparison_to_dict(
    pair: str, models: Models, prompts: Sequence[tuple[str, Mapping[str, LaneResult]]], config: DecodeConfig
) -> dict[str, Any]:
    """Return a whole comparison as JSON-ready values."""
    info = next(iter(models.values())).info
    return {
        "pair": pair,
        "device": info.device_name or info.device,
        "dtype": info.dtype,
        "models": {side: asdict(loaded.info) for side, loaded in models.items()},
        "config": {field.name: getattr(config, field.name) for field in fields(config) if field.name != "decoder"},
        "prompts": [
            {"prompt": prompt, "lanes": {key: lane_to_dict(result) for key, result in lanes.items()}}
            for prompt, lanes in prompts
        ],
        "summary": summarize_lanes([lanes for _, lanes in prompts]),
    }
