"""Trajectories for the tests of figures and exports: nasty tokens, long runs, runs of several lanes."""

from collections.abc import Sequence
from dataclasses import replace

import worked_example

from cllm_core.types import DecodeConfig, ModelInfo, Step, Trajectory

NASTY_TEXTS = (
    # spreadsheets: formulas, numbers, missing values, line ends, NUL
    *("=1+1", "+3", "-", "@x", "\n", "\r", "\r\n", ",", '"', "NA", "null", "", "\t", "\x00", "00012", "1e5"),
    *("'=1+1", "'", "true", " =1+1", "\\n", "\\", "\\x41", "＝1", "(5)", "$5", "  "),
    # markup and templates
    *("<", "img src=x onerror=alert(1)", ">", "</span>", "&lt;", "<answer>", "\"'", "</script>", "<!--", "<b>", "]]>"),
    *("${x}", "{{x}}", "%{y}", "$x^2$"),
    # characters of several code points, right to left, direction marks, invisible signs
    *("日本", "e\u0301", "👩\u200d👩\u200d👧", "🇫🇷", "שלום", "\u202eabc", "\u2028", "\u0085", "\ufeff", "\x1b[31m"),
    # spaces that must not be lost
    *("_The", " a ?", "': 'x", "    indented"),
)
BROKEN_PIECES = (b"\xf0\x9f", b"\xa4\x97", b"\xff\xfe", b"\xe6\x97")  # parts of characters, and no part of any
NASTY_PIECES = (*(text.encode() for text in NASTY_TEXTS), *BROKEN_PIECES)


def autoregressive(pieces: Sequence[bytes], seconds: float = 0.01, **changes: object) -> Trajectory:
    """Return a one-token-at-a-time run that says the pieces in order, each with an id of its own."""
    ids = tuple(range(len(pieces)))
    steps = tuple(Step(t, (), (token,), t + 1, seconds, (0.5,), (((token, 0.5),),)) for t, token in enumerate(ids))
    values: dict[str, object] = {
        "config": DecodeConfig(decoder="autoregressive", max_new_tokens=max(1, len(pieces))),
        "model": ModelInfo(name="example"),
        "prompt": "say it",
        "prompt_ids": (0,),
        "steps": steps,
        "ids": ids,
        "finish": "length",
        "seconds": seconds * len(pieces),
        "pieces": dict(enumerate(pieces)),
    }
    return Trajectory(**{**values, **changes})  # type: ignore[arg-type]


def nasty(**changes: object) -> Trajectory:
    """Return a run whose tokens are NASTY_PIECES."""
    return autoregressive(NASTY_PIECES, **changes)


def never_early(tokens: int = 512, size: int = 16) -> Trajectory:
    """Return a Jacobi run that gains one token a pass: as many passes as tokens, every other guess wrong."""
    wrong = tokens  # an id that is never right
    steps = []
    for fixed in range(tokens):
        end = min((fixed // size + 1) * size, tokens)
        state = (fixed, *[wrong] * (end - fixed - 1))
        steps.append(Step(fixed, (wrong,) * (end - fixed - 1), state, fixed + 1, 0.01, (0.5,) * len(state)))
    return replace(
        worked_example.trajectory(),
        config=DecodeConfig(block_size=size, max_new_tokens=tokens),
        steps=tuple(steps),
        ids=tuple(range(tokens)),
        seconds=0.01 * tokens,
        pieces={token: f" t{token}".encode() for token in range(tokens + 1)},
    )


def lanes() -> dict[str, Trajectory]:
    """Return a small run of two lanes: the worked example beside one token at a time."""
    jacobi = worked_example.trajectory()
    steps = tuple(Step(t, (), (token,), t + 1, 0.01) for t, token in enumerate(jacobi.ids))
    config = DecodeConfig(decoder="autoregressive", max_new_tokens=6)
    return {"base_ar": replace(jacobi, config=config, steps=steps, seconds=0.06), "base_jacobi": jacobi}
