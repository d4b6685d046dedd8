"""Three recorded lanes for the player's tests, and the golden payload made of them.

`PYTHONPATH=.:tests python tests/player_cases.py` writes tests/golden/player.json anew: look at the difference before
committing it.
"""

import json
from pathlib import Path

import worked_example

from cllm_core.types import DecodeConfig, ModelInfo, Step, Trajectory
from visualize.view import PlayerProps, player_props

GOLDEN = Path(__file__).parent / "golden" / "player.json"
TITLE = 'Golden <b>run</b> & "more"'
MARKUP = "<img src=x onerror=alert(1)>"
PROMPT = "<p>prompt</p> ${prompt}\n{{prompt}}"

# The output of the partial lane, one piece each. Positions 6 and 7 are the halves of an emoji.
NASTY = (
    MARKUP,
    "${x}",
    "{{x}}",
    "</script><!--",
    " שלום",
    "<|sep|>",
    b"\xf0\x9f",
    b"\xa4\x97",
    "\t\n",
    "\x00",
    "\u0301",
    "\u202eabc\u2028",
    "👨‍👩‍👧",
    "long" * 100,
    b"\xff",
    "&lt;",
)
JUNK = 99
SEPARATOR = NASTY.index("<|sep|>")


def autoregressive() -> Trajectory:
    """The worked example one token at a time: more passes than Jacobi's four, and less time."""
    ids = worked_example.ids("A B C D E F")
    steps = tuple(
        Step(start=t, draft=(), state=(token,), fixed=t + 1, seconds=0.005, probabilities=(0.5,))
        for t, token in enumerate(ids)
    )
    config = DecodeConfig(decoder="autoregressive", max_new_tokens=6)
    return worked_example.trajectory(prompt=PROMPT, config=config, steps=steps, seconds=0.03)


def jacobi() -> Trajectory:
    """The worked example with probabilities and candidates."""
    other = worked_example.IDS["z"]
    steps = tuple(
        Step(
            start=step.start,
            draft=step.draft,
            state=step.state,
            fixed=step.fixed,
            seconds=0.01,
            probabilities=(0.75,) * len(step.state),
            top=tuple(((token, 0.75), (other, 0.125)) for token in step.state),
        )
        for step in worked_example.STEPS
    )
    return worked_example.trajectory(prompt=PROMPT, steps=steps)


def nasty() -> Trajectory:
    """A stopped run with a sliding window whose tokens are what breaks displays."""

    def step(start: int, end: int, fixed: int, guessed_wrong: set[int], wrong: set[int]) -> Step:
        return Step(
            start=start,
            draft=tuple(JUNK if p in guessed_wrong else p for p in range(start, end - 1)),
            state=tuple(JUNK if p in wrong else p for p in range(start, end)),
            fixed=fixed,
            seconds=0.02,
            probabilities=(0.999,) * (end - start),
        )

    steps = (
        step(0, 8, 3, {2, 3, 4, 5, 6}, {4, 6}),
        step(3, 11, 5, {4, 6, 8, 9}, {7}),
        step(5, 13, 8, {7, 11}, set()),
        step(8, 16, 14, {13, 14}, {15}),
    )
    pieces = {number: piece if isinstance(piece, bytes) else piece.encode() for number, piece in enumerate(NASTY)}
    return Trajectory(
        config=DecodeConfig(block_size=8, window="sliding"),
        model=ModelInfo(name="<b>model</b>", adapter="${adapter}", device_name="{{device}}"),
        prompt=PROMPT,
        prompt_ids=(JUNK,),
        steps=steps,
        ids=tuple(range(14)),
        finish="stopped",
        seconds=0.08,
        pieces={**pieces, JUNK: b" junk"},
        special=frozenset({SEPARATOR}),
        notes=("A note with <i>markup</i>.",),
    )


def lanes() -> dict[str, Trajectory]:
    return {"base_ar": autoregressive(), "base_jacobi": jacobi(), "cllm_jacobi": nasty()}


def golden_props() -> PlayerProps:
    return player_props(lanes(), title=TITLE, labels={"cllm_jacobi": "CLLM <i>Jacobi</i>"})


if __name__ == "__main__":
    GOLDEN.parent.mkdir(exist_ok=True)
    GOLDEN.write_text(json.dumps(golden_props(), indent=1, ensure_ascii=True) + "\n", encoding="utf-8")
