"""Counts and rates of one trajectory, to the rules of docs/definitions.md. Nothing after the end is counted."""

from dataclasses import dataclass, field
from statistics import fmean

from cllm_core.annotate import Annotation, annotate
from cllm_core.types import Trajectory


def _metric(help: str) -> float:
    return field(metadata={"help": help})  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Summary:
    """What a run cost and how its tokens came. Seconds are wall-clock; the prefill counts as a pass and in the time."""

    tokens: int = _metric("Output tokens, the end token included.")  # type: ignore[assignment]
    passes: int = _metric("Forward passes, prefill included.")  # type: ignore[assignment]
    tokens_per_pass: float = _metric("Output tokens / forward passes.")
    prefill_seconds: float = _metric("Wall-clock of the first pass.")
    seconds: float = _metric("Wall-clock of the run, prefill included.")
    tokens_per_second: float = _metric("Output tokens / wall-clock seconds.")
    fast_forward_per_pass: float = _metric("Mean growth of the correct frontier per pass, the guaranteed one included.")
    paper_fast_forward: float | None = _metric(
        "Block tokens / passes until the block is right (the pass that only confirms it is dropped), mean over blocks. "
        "None for a sliding window, which has no blocks."
    )
    stationary_per_block: float = _metric("Positions that were ever stationary / blocks.")
    paper_stationary: float | None = _metric(
        "The same over the passes that the paper's rule counts; None for a sliding window."
    )
    fast_forwarded: int = _metric("Positions that were ever fast-forwarded.")  # type: ignore[assignment]
    stationary: int = _metric("Positions that were ever stationary.")  # type: ignore[assignment]
    blocks: int = _metric("Blocks that the output spans.")  # type: ignore[assignment]


def summarize(trajectory: Trajectory, annotation: Annotation | None = None) -> Summary:
    """Summarize a run; an empty run (stopped before its first pass) has zeros."""
    annotation = annotation or annotate(trajectory)
    tokens, passes = len(trajectory.ids), len(trajectory.steps)
    size = window_size(trajectory)
    blocks = -(-tokens // size)
    stationary = _positions(trajectory, annotation, "stationary")
    paper = _paper_counts(trajectory, annotation, size) if _has_blocks(trajectory) else []
    return Summary(
        tokens=tokens,
        passes=passes,
        tokens_per_pass=_ratio(tokens, passes),
        prefill_seconds=trajectory.steps[0].seconds if passes else 0.0,
        seconds=trajectory.seconds,
        tokens_per_second=_ratio(tokens, trajectory.seconds),
        fast_forward_per_pass=_ratio(annotation.correct[-1] - annotation.correct[0], passes),
        paper_fast_forward=fmean(ratio for ratio, _ in paper) if paper else None,
        stationary_per_block=_ratio(len(stationary), blocks),
        paper_stationary=fmean(count for _, count in paper) if paper else None,
        fast_forwarded=len(_positions(trajectory, annotation, "fast_forwarded")),
        stationary=len(stationary),
        blocks=blocks,
    )


def window_size(trajectory: Trajectory) -> int:
    """Return n: the positions decoded together (1 for autoregressive decoding)."""
    return 1 if trajectory.config.decoder == "autoregressive" else trajectory.config.block_size


def _has_blocks(trajectory: Trajectory) -> bool:
    return trajectory.config.decoder == "autoregressive" or trajectory.config.window == "block"


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _positions(trajectory: Trajectory, annotation: Annotation, name: str) -> set[int]:
    return {
        step.start + column
        for step, classes in zip(trajectory.steps, annotation.hindsight, strict=True)
        for column, cell in enumerate(classes)
        if cell == name
    }


def _paper_counts(trajectory: Trajectory, annotation: Annotation, size: int) -> list[tuple[float, int]]:
    """Return (fast-forward, stationary) of each block under the rule of Kou et al. 2024 (their speed profiling).

    Per block: its tokens / the passes until all of it is right, so the pass that only confirms it is dropped.
    """
    counts = []
    for first in range(0, len(trajectory.ids), size):
        end = min(first + size, len(trajectory.ids))
        rows = [t for t, step in enumerate(trajectory.steps) if first <= step.start < end]
        needed = [t for t in rows if annotation.correct[t] < end]
        stationary = {
            trajectory.steps[t].start + column
            for t in needed
            for column, cell in enumerate(annotation.hindsight[t])
            if cell == "stationary" and trajectory.steps[t].start + column < end
        }
        counts.append(((end - first) / max(1, len(needed)), len(stationary)))
    return counts
