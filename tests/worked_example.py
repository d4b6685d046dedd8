"""The worked example of docs/definitions.md as a Trajectory: y = A B C D E F, one block of n = 6."""

from cllm_core.types import DecodeConfig, ModelInfo, Step, Trajectory

NAMES = "ABCDEFpqrstuxyz"
IDS = {name: number for number, name in enumerate(NAMES)}


def ids(text: str) -> tuple[int, ...]:
    """Return the ids of letters, e.g. ids("A B C")."""
    return tuple(IDS[name] for name in text.split())


def step(start: int, draft: str, state: str, fixed: int, seconds: float = 0.01) -> Step:
    return Step(start=start, draft=ids(draft), state=ids(state), fixed=fixed, seconds=seconds)


STEPS = (
    step(0, "p q r s t u", "A x C x x F", 1),
    step(1, "x C x x F", "B C y E x", 2),
    step(2, "C y E x", "C D E F", 4),
    step(4, "E F", "E F", 6),
)


def trajectory(**changes: object) -> Trajectory:
    """Return the worked example; keyword arguments replace fields."""
    values: dict[str, object] = {
        "config": DecodeConfig(block_size=6, max_new_tokens=6),
        "model": ModelInfo(name="worked-example"),
        "prompt": "p",
        "prompt_ids": ids("p"),
        "steps": STEPS,
        "ids": ids("A B C D E F"),
        "finish": "length",
        "seconds": 0.04,
        "pieces": {number: name.encode() for name, number in IDS.items()},
    }
    return Trajectory(**{**values, **changes})  # type: ignore[arg-type]
