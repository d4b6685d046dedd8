"""Trajectories for the tests of figures and exports: nasty tokens, long runs, runs of several lanes."""

import random
import re
from collections.abc import Sequence
from dataclasses import replace

import worked_example

from cllm_core.decoders import DECODERS
from cllm_core.lm import Prediction
from cllm_core.record import Recorder
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


class ScriptedLM:
    """A language model with an answer by heart: it says the next token where the last few before it are right.

    `need[p]` is how many tokens before position p must be right. So 0 is a position that is right in every pass, and
    a large number one that waits for everything before it. Elsewhere it answers with a token that depends on the
    position and the last token alone.
    """

    context, pad_id = 1 << 20, 0

    def __init__(self, prompt_ids: Sequence[int], answer: Sequence[int], need: Sequence[int], eos_ids: Sequence[int]):
        self.vocab_size, self.eos_ids = max(*prompt_ids, *answer) + 1, frozenset(eos_ids)
        self._right, self._need = [*prompt_ids, *answer], [0] * len(prompt_ids) + list(need)
        self._ids: list[int] = []

    @property
    def length(self) -> int:
        return len(self._ids)

    def extend(self, ids: Sequence[int], keep: int) -> Prediction:
        chosen = []
        for token in ids:
            self._ids.append(token)
            chosen.append(self._next())
        probabilities = tuple(0.5 + (token % 50) / 100 for token in chosen)
        top = tuple(((token, p), (1, 0.1)) for token, p in zip(chosen, probabilities, strict=True))
        return Prediction(tuple(chosen[-keep:]), probabilities[-keep:], top[-keep:])

    def rollback(self, length: int) -> None:
        del self._ids[length:]

    def _next(self) -> int:
        position = len(self._ids)
        if position >= len(self._right):
            return self.pad_id
        need = self._need[position]
        known = self._ids[position - need :] == self._right[position - need : position] if need else True
        return self._right[position] if known else (7 * position + self._ids[-1]) % (self.vocab_size - 1)


def scripted(text: str, *, decoder: str = "jacobi", easy: float = 0.3, seed: int = 0, **config: object) -> Trajectory:
    """Return a decoded run that answers with the words of `text`; `easy` is the share of undemanding positions."""
    words = [piece.encode() for piece in re.findall(r"\s?\S+|\s", text)]
    vocabulary = [*dict.fromkeys(words), *(b" what", b" is", b" that", b"?", b"<end>")]
    end = len(vocabulary) - 1
    answer = [*(vocabulary.index(word) for word in words), end]
    rng = random.Random(seed)
    need = [rng.choice((0, 1)) if rng.random() < easy else rng.choice((2, 4, 99)) for _ in answer]
    prompt_ids = tuple(range(end - 4, end))
    lm = ScriptedLM(prompt_ids, answer, [min(k, p + 1) for p, k in enumerate(need)], [end])
    settings = DecodeConfig(decoder=decoder, max_new_tokens=4096, **config)  # type: ignore[arg-type]
    recorder = Recorder(
        settings,
        ModelInfo(name="scripted"),
        "what is that?",
        prompt_ids,
        vocabulary.__getitem__,
        lm.eos_ids,
        lm.eos_ids,
    )
    width = settings.block_size if decoder == "jacobi" else 1
    run = recorder.run(replace(s, seconds=0.03 + 0.001 * width) for s in DECODERS[decoder](lm, prompt_ids, settings))
    return replace(run, seconds=sum(s.seconds for s in run.steps))


def lanes() -> dict[str, Trajectory]:
    """Return a small run of two lanes: the worked example beside one token at a time."""
    jacobi = worked_example.trajectory()
    steps = tuple(Step(t, (), (token,), t + 1, 0.01) for t, token in enumerate(jacobi.ids))
    config = DecodeConfig(decoder="autoregressive", max_new_tokens=6)
    return {"base_ar": replace(jacobi, config=config, steps=steps, seconds=0.06), "base_jacobi": jacobi}
