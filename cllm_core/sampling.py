"""How the next token is chosen: greedy, or sampling with Gumbel noise keyed by (seed, absolute position).

With the noise fixed, sampling is a deterministic function of the prefix, so parallel decoding reaches the very
sequence that one-at-a-time sampling gives. Scores are first processed by the library's own logits processors.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from transformers import GenerationConfig
from transformers.generation import logits_process as library

from cllm_core.errors import ModelError
from cllm_core.lm import Prediction
from cllm_core.types import DecodeConfig

# settings of generation_config that greedy `generate` would apply and that have no meaning for every decoder here
UNSUPPORTED = (
    "guidance_scale", "watermarking_config", "encoder_repetition_penalty", "encoder_no_repeat_ngram_size", "num_beams",
    "stop_strings", "max_time",
)  # fmt: skip

# Scores this near to the best (a share of it: some roundings of float32) are tied with it, and the lowest id wins.
# Equal rows of an output matrix score equally only within one matrix kernel, and a pass's width decides which kernels
# run: without this, an exact tie breaks one way in a wide pass and another way in a narrow one.
TIE = 2.0**-18


class Sampler:
    """Chooses a token for each row of scores.

    `observe` is whether to report probabilities and the `config.top_k` best candidates beside the choice.
    """

    def __init__(self, config: DecodeConfig, processors: Sequence[Any], *, observe: bool = True) -> None:
        self._processors = processors
        self._sampled = config.temperature > 0
        self._seed = config.seed
        self._observe, self._top_k = observe, config.top_k
        self._noise = lru_cache(maxsize=config.block_size)(self._make_noise)  # neighbouring windows share positions

    def choose(self, logits: torch.Tensor, ids: Sequence[int]) -> Prediction:
        """Choose a token after each of the last w of `ids`. Shapes: logits (w, V), ids the whole context (>= w,).

        Raises ModelError if the scores are no numbers.
        """
        scores = self._process(logits.float(), ids)
        best = scores.amax(-1, keepdim=True)
        if not best.isfinite().all():
            raise ModelError("The model's scores are not numbers (NaN or infinite): load it with dtype float32.")
        if self._sampled:
            first = len(ids) - len(scores) + 1
            noise = torch.stack([self._noise(first + row, scores.shape[1]) for row in range(len(scores))])
            chosen = (torch.log_softmax(scores, -1) + noise.to(scores.device)).argmax(-1)
        else:
            chosen = (scores >= best - TIE * best.abs()).int().argmax(-1)  # argmax: the first of equal ones
        if not self._observe:
            return Prediction(tuple(chosen.tolist()))
        return self._with_probabilities(scores, chosen)

    def _process(self, scores: torch.Tensor, ids: Sequence[int]) -> torch.Tensor:
        """Apply every processor to each row on the row's own prefix."""
        if not self._processors:
            return scores
        context = torch.tensor([ids], device=scores.device)
        rows = []
        for row in range(len(scores)):
            prefix = context[:, : len(ids) - len(scores) + row + 1]
            processed = scores[row : row + 1]
            for processor in self._processors:
                processed = processor(prefix, processed)
            rows.append(processed)
        return torch.cat(rows)

    def _with_probabilities(self, scores: torch.Tensor, chosen: torch.Tensor) -> Prediction:
        total = scores.logsumexp(-1, keepdim=True)
        probabilities = (scores.gather(-1, chosen[:, None]) - total).exp()[:, 0]
        ids, shown = tuple(chosen.tolist()), tuple(map(_short, probabilities.tolist()))
        if not self._top_k:
            return Prediction(ids, shown)
        best, best_ids = scores.topk(min(self._top_k, scores.shape[1]), -1)
        top = tuple(
            tuple(zip(row_ids, map(_short, row), strict=True))
            for row_ids, row in zip(best_ids.tolist(), (best - total).exp().tolist(), strict=True)
        )
        if not self._sampled:
            top = tuple(_led_by(choice, row) for choice, row in zip(zip(ids, shown, strict=True), top, strict=True))
        return Prediction(ids, shown, top)

    def _make_noise(self, position: int, vocab_size: int) -> torch.Tensor:
        """Return Gumbel noise (V,) for an absolute position, the same on every device."""
        generator = np.random.Generator(np.random.Philox(key=(self._seed, position)))
        return torch.from_numpy(generator.gumbel(size=vocab_size)).float()


def _led_by(choice: tuple[int, float], row: tuple[tuple[int, float], ...]) -> tuple[tuple[int, float], ...]:
    """Return the candidates with the greedy choice first: `topk` may list, or cut, tied ones in any order."""
    if row[0][0] == choice[0]:
        return row
    return (choice, *(pair for pair in row if pair[0] != choice[0]))[: len(row)]


def _short(probability: float) -> float:
    """Keep six significant digits: enough for a near-tie's margin, short in a file."""
    return float(f"{probability:.6g}")


def logits_processors(
    config: DecodeConfig, defaults: GenerationConfig, *, prompt_length: int, eos_ids: frozenset[int], device: str
) -> list[Any]:
    """Return what `generate` would build from the model's generation_config (in its order), then our warpers.

    Every processor is the library's own; only the settings that make sense for one greedy or sampled sequence count.
    """
    processors = _default_processors(config, defaults, prompt_length, eos_ids, device) if config.model_defaults else []
    if config.temperature > 0:
        processors.append(library.TemperatureLogitsWarper(config.temperature))
        if config.top_p < 1:
            processors.append(library.TopPLogitsWarper(config.top_p))
    return processors


def _default_processors(
    config: DecodeConfig, defaults: GenerationConfig, prompt_length: int, eos_ids: frozenset[int], device: str
) -> list[Any]:
    end = sorted(eos_ids)
    limit = prompt_length + config.max_new_tokens
    penalty, decay = defaults.repetition_penalty, defaults.exponential_decay_length_penalty
    begin = prompt_length if prompt_length > 1 or defaults.forced_bos_token_id is None else prompt_length + 1
    table: list[tuple[Any, Callable[[], Any]]] = [
        (defaults.sequence_bias, lambda: library.SequenceBiasLogitsProcessor(defaults.sequence_bias)),
        (penalty not in (None, 1.0), lambda: library.RepetitionPenaltyLogitsProcessor(penalty)),
        (defaults.no_repeat_ngram_size, lambda: library.NoRepeatNGramLogitsProcessor(defaults.no_repeat_ngram_size)),
        (defaults.bad_words_ids, lambda: library.NoBadWordsLogitsProcessor(defaults.bad_words_ids, end or None)),
        (
            end and defaults.min_length,
            lambda: library.MinLengthLogitsProcessor(defaults.min_length, end, device=device),
        ),
        (
            end and defaults.min_new_tokens,
            lambda: library.MinNewTokensLengthLogitsProcessor(
                prompt_length, defaults.min_new_tokens, end, device=device
            ),
        ),
        (
            defaults.forced_bos_token_id is not None,
            lambda: library.ForcedBOSTokenLogitsProcessor(defaults.forced_bos_token_id),
        ),
        (
            defaults.forced_eos_token_id is not None,
            lambda: library.ForcedEOSTokenLogitsProcessor(limit, defaults.forced_eos_token_id, device=device),
        ),
        (defaults.remove_invalid_values, lambda: library.InfNanRemoveLogitsProcessor()),
        (decay and end, lambda: library.ExponentialDecayLengthPenalty(decay, end, prompt_length)),
        (
            defaults.suppress_tokens,
            lambda: library.SuppressTokensLogitsProcessor(defaults.suppress_tokens, device=device),
        ),
        (
            defaults.begin_suppress_tokens,
            lambda: library.SuppressTokensAtBeginLogitsProcessor(defaults.begin_suppress_tokens, begin, device=device),
        ),
    ]
    return [make() for wanted, make in table if wanted]


def describe_defaults(config: DecodeConfig, defaults: GenerationConfig) -> list[str]:
    """Return one sentence for every setting of the model's generation_config that changes, or could change, the ids."""
    active = {name: value for name, value in _changes(defaults).items() if name not in UNSUPPORTED}
    ignored = [name for name in _changes(defaults) if name in UNSUPPORTED]
    notes = []
    if active:
        listed = ", ".join(f"{name}={value}" for name, value in active.items())
        applied = "applied in every lane" if config.model_defaults else "switched off in every lane"
        notes.append(f"The model's generation_config sets {listed}: {applied}.")
    if ignored:
        notes.append(f"The model's generation_config sets {', '.join(ignored)}, which no lane applies.")
    return notes


def _changes(defaults: GenerationConfig) -> dict[str, Any]:
    neutral: dict[str, tuple[Any, ...]] = {
        "sequence_bias": (None,),
        "repetition_penalty": (None, 1.0),
        "no_repeat_ngram_size": (None, 0),
        "bad_words_ids": (None,),
        "min_length": (None, 0),
        "min_new_tokens": (None, 0),
        "forced_bos_token_id": (None,),
        "forced_eos_token_id": (None,),
        "exponential_decay_length_penalty": (None,),
        "suppress_tokens": (None,),
        "begin_suppress_tokens": (None,),
        "guidance_scale": (None, 1, 1.0),
        "watermarking_config": (None,),
        "encoder_repetition_penalty": (None, 1.0),
        "encoder_no_repeat_ngram_size": (None, 0),
        "num_beams": (None, 1),
        "stop_strings": (None,),
        "max_time": (None,),
    }
    return {name: value for name, same in neutral.items() if (value := getattr(defaults, name, None)) not in same}
