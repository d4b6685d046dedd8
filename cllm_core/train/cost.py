"""What a run will cost, said before it starts. Counts tokens; knows no clock and no model."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from cllm_core.train.rows import Row

# tokens of pre-training, as the models' own cards give them, by what a model's name has before its size
PRETRAINING_TOKENS = {
    "smollm2-135m": 2e12,
    "smollm2-360m": 4e12,
    "smollm2-1.7b": 11e12,
    "smollm2": 2e12,  # the bundled 135M
    "llama-2": 2e12,
    "meta-llama-3": 15e12,
    "meta-llama-3.1": 15e12,
    "llama-3.1": 15e12,
    "llama-3.2": 9e12,
    "qwen2.5": 18e12,
    "deepseek-coder": 2e12,
}


@dataclass(frozen=True)
class CostEstimate:
    """Tokens = mean trajectories per prompt x mean trajectory length x prompts (docs/definitions.md)."""

    prompts: int
    trajectories_per_prompt: float  # blocks of an answer
    trajectory_tokens: float  # mean tokens over all states of one block
    tokens: float
    share: float | None  # of the base model's pre-training tokens, where known

    def sentence(self) -> str:
        """Return the estimate as one sentence."""
        share = "" if self.share is None else f", {self.share:.2g} of the base model's pre-training tokens"
        return (
            f"Training tokens: {self.trajectories_per_prompt:.1f} trajectories a prompt x "
            f"{self.trajectory_tokens:.0f} tokens x {self.prompts:,} prompts = {self.tokens:,.0f}{share}."
        )


def estimate(rows: Sequence[Row], model: str) -> CostEstimate:
    """Estimate one pass over the rows; a block without collected states counts as its fixed point alone."""
    blocks = [len(row.blocks()) for row in rows]
    lengths = [
        sum(len(state) for state in states) + len(block)
        for row in rows
        for states, block in zip(row.states or [()] * len(row.blocks()), row.blocks(), strict=True)
    ]
    per_prompt = fmean(blocks) if blocks else 0.0
    per_trajectory = fmean(lengths) if lengths else 0.0
    tokens = per_prompt * per_trajectory * len(rows)
    known = pretraining_tokens(model)
    return CostEstimate(len(rows), per_prompt, per_trajectory, tokens, tokens / known if known else None)


def pretraining_tokens(model: str) -> float | None:
    """Return how many tokens a model was pre-trained on, by its name; None where that is not known."""
    name = model.rsplit("/", 1)[-1].lower()
    for start, tokens in PRETRAINING_TOKENS.items():
        if re.fullmatch(rf"{re.escape(start)}(-[\d.]+b.*|-instruct.*)?", name):
            return tokens
    return None
