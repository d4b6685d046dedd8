"""The frozen values that cross module borders: how to decode, what one pass did, what a whole run did.

They hold ids, small numbers and token pieces; they know no model, no tokenizer, no clock and no colour.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from cllm_core.options import option, validate

DECODER_NAMES = ("jacobi", "autoregressive")
WINDOWS = ("block", "sliding")
DRAFT_INITS = ("prompt", "repeat", "random", "pad")


@dataclass(frozen=True)
class DecodeConfig:
    """How to decode one prompt. Checked when made: a bad value raises ConfigError."""

    decoder: str = option("jacobi", "How tokens are decoded.", choices=DECODER_NAMES, label="Decoder")
    block_size: int = option(
        16, "Positions decoded together (n).", minimum=1, maximum=256, step=1, label="Block size n"
    )
    window: str = option(
        "block",
        "block: finish a block before the next one starts (the paper's); sliding: refill the window every pass.",
        choices=WINDOWS,
        label="Window",
    )
    init: str = option(
        "prompt",
        "First guess for new positions: random prompt tokens, the last token repeated, any tokens, or padding.",
        choices=DRAFT_INITS,
        label="Draft init",
    )
    max_new_tokens: int = option(
        128, "Most tokens to generate.", minimum=1, maximum=4096, step=1, label="Max new tokens"
    )
    temperature: float = option(
        0.0, "0 is greedy; above 0 samples, reproducibly for a seed.", minimum=0.0, maximum=5.0, label="Temperature"
    )
    top_p: float = option(
        1.0, "Sample from the smallest set with this probability.", minimum=0.01, maximum=1.0, label="Top-p"
    )
    seed: int = option(0, "Seed of the draft and of sampling.", minimum=0, maximum=2**31 - 1, step=1, label="Seed")
    top_k: int = option(
        3,
        "Candidates recorded per prediction, with their probabilities (0 records none).",
        minimum=0,
        maximum=20,
        step=1,
        label="Candidates recorded",
    )
    model_defaults: bool = option(
        True,
        "Apply the penalties and length rules of the model's generation_config, as the library's generate does.",
        label="Apply the model's generation_config",
    )

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True)
class BenchConfig:
    """How long to measure."""

    repeats: int = option(5, "Repeats of every comparison; medians are reported.", minimum=1, maximum=100, step=1)
    max_new_tokens: int = option(
        64,
        "Tokens per timed run; those of a pair's block sizes have the pair's own limit.",
        minimum=8,
        maximum=1024,
        step=1,
    )
    passes: int = option(15, "Timed passes for each width.", minimum=1, maximum=1000, step=1)
    training: bool = option(True, "Also measure the two short cuts of training (about a minute).")

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True)
class Step:
    """One forward pass.

    Positions are counted in generated tokens. The pass was fed the last fixed token (the whole prompt, in the
    first pass) and then `draft`, the guesses for positions `start`, `start + 1`, ...; it predicted `state`, the
    tokens at positions `start` to `start + len(state) - 1`. The guess for the window's last position is never
    needed, so `draft` can be one shorter than `state`.
    """

    start: int  # first position the pass predicted: how many tokens were fixed before it
    draft: tuple[int, ...]  # the guesses it was fed
    state: tuple[int, ...]  # what it predicted
    fixed: int  # fixed frontier f_t: how many leading positions are known to be final after it
    seconds: float  # wall-clock of the pass, synchronised with the device
    probabilities: tuple[float, ...] = ()  # of each prediction; empty when not recorded
    top: tuple[tuple[tuple[int, float], ...], ...] = ()  # per prediction the best (id, probability) pairs, best first


@dataclass(frozen=True)
class ModelInfo:
    """What identifies the model of a run."""

    name: str  # hub id, bundled name, or the folder's own name; never a full path
    revision: str = ""  # commit of a hub model, or a checksum of the weights
    adapter: str = ""  # name of the adapter merged into it, if any
    architecture: str = ""
    parameters: int = 0
    device: str = "cpu"
    device_name: str = ""
    dtype: str = "float32"
    attention: str = ""
    tokenizer: str = ""  # checksum of the vocabulary: two models with the same one share their ids


@dataclass(frozen=True)
class Trajectory:
    """A whole run, self-contained: everything downstream works without the model or its tokenizer.

    `ids` is the output y: up to and including the first end token. `finish` is `end` (an end token), `length`
    (max_new_tokens), `context` (the model's context is full) or `stopped` (partial: ids is what was fixed by then).
    """

    config: DecodeConfig
    model: ModelInfo
    prompt: str
    prompt_ids: tuple[int, ...]
    steps: tuple[Step, ...]
    ids: tuple[int, ...]
    finish: str
    seconds: float  # wall-clock of the whole run, prefill included
    pieces: Mapping[int, bytes] = field(default_factory=dict)  # the bytes of every token id that occurs
    special: frozenset[int] = frozenset()  # ids among `pieces` that are control tokens, not text
    eos_ids: frozenset[int] = frozenset()
    notes: tuple[str, ...] = ()  # what the user should know of this run, one sentence each

    @property
    def partial(self) -> bool:
        """Whether the run was stopped before it was complete."""
        return self.finish == "stopped"

    @property
    def text(self) -> str:
        """The output as text: control tokens left out, broken UTF-8 shown as U+FFFD."""
        return self.text_of(self.ids)

    def text_of(self, ids: tuple[int, ...]) -> str:
        """Join the pieces of `ids` (control tokens left out) into text."""
        joined = b"".join(self.pieces.get(token, b"") for token in ids if token not in self.special)
        return joined.decode("utf-8", errors="replace")


FINISHES = ("end", "length", "context", "stopped")
