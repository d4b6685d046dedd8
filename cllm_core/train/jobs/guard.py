"""Whether a run's answers collapse: measures of a checkpoint's probe, and the limits that pause the run. Ids only."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from cllm_core.train.jobs.plan import JobConfig

GRAM = 4
_WORSE = 0.1  # repetition within this of what it was before training is the task's own, not a collapse


@dataclass(frozen=True)
class Measures:
    """A checkpoint on the probe prompts."""

    step: int
    tokens_per_pass: float  # output tokens / forward passes, over all prompts
    agreement: float  # with the reference answers, 0 to 1, mean over prompts
    repetition: float  # share of 4-grams that are repeats, 0 to 1, mean over prompts
    seconds: float = 0.0  # that decoding the prompts took


def repetition(ids: Sequence[int]) -> float:
    """Return the share of an answer's 4-grams that occurred in it before (seq-rep-4 of Welleck et al. 2020)."""
    grams = [tuple(ids[at : at + GRAM]) for at in range(len(ids) - GRAM + 1)]
    return 1 - len(set(grams)) / len(grams) if grams else 0.0


def agreement(ids: Sequence[int], reference: Sequence[int]) -> float:
    """Return how much of the reference an answer has, in its order: 2 x common tokens / all tokens, 0 to 1."""
    return SequenceMatcher(None, ids, reference, autojunk=False).ratio()


def sound(measured: Sequence[Measures], config: JobConfig) -> list[Measures]:
    """Return the measures, step 0 first, of those checkpoints whose answers had not collapsed."""
    return [now for at, now in enumerate(measured) if collapse(now, measured[:at], config) is None]


def collapse(now: Measures, before: Sequence[Measures], config: JobConfig) -> str | None:
    """Return why the run should pause after this checkpoint, or None. `before` holds the earlier ones, step 0 first."""
    if not before:
        return None
    if now.repetition > max(config.repetition_limit, before[0].repetition + _WORSE):
        return (
            f"Step {now.step}: {now.repetition:.0%} of the probe's 4-grams are repeats, and the limit is "
            f"{config.repetition_limit:.0%}. The run is paused; try a lower learning rate or a higher AR weight."
        )
    best = max(measures.agreement for measures in before)
    if now.agreement < best - config.agreement_drop:
        return (
            f"Step {now.step}: agreement fell to {now.agreement:.2f}, more than {config.agreement_drop:.2f} below its "
            f"best of {best:.2f}. The run is paused; try a lower learning rate or a higher AR weight."
        )
    return None
