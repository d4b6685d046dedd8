"""Runs whose words arrive when the test says so, and a small table of collocations."""

import worked_example

from cllm_core.collocations import Collocation, CollocationTable, Share
from cllm_core.types import Step, Trajectory

JUNK = 1000  # ids from here on are wrong guesses
GROUP_BY = Collocation((("group", "by"),), "GROUP BY", 9, 99.0, 5.0, {"cllm_jacobi": Share(7, 9)})
SELECT_FROM = Collocation((("select",), ("from",)), "SELECT … FROM", 9, 99.0, 2.0)
TABLE = CollocationTable((GROUP_BY, SELECT_FROM), max_gap=3, corpus="nine <b>queries</b>")
SQL = [b"SELECT", b" name", b" FROM", b" t", b" GROUP", b" BY", b" x"]
APART = [1, 2, 3, 4, 5, 6, 7]
TOGETHER = [1, 2, 1, 3, 2, 2, 3]


def run_of(pieces: list[bytes], passes: list[int], special: frozenset[int] = frozenset()) -> Trajectory:
    """A trajectory whose output is the pieces, a token each; token p is right from pass passes[p] on, or earlier: the
    token after a right prefix always is."""
    ids = tuple(range(len(pieces)))
    steps: list[Step] = []
    fixed, draft = 0, tuple(JUNK for _ in ids)
    while fixed < len(ids):
        t = len(steps) + 1
        known = fixed + next((i for i, token in enumerate(draft) if token != fixed + i), len(draft))
        state = tuple(p if passes[p] <= t or p <= known else JUNK + t for p in ids[fixed:])
        agreed = next((i for i, (guess, token) in enumerate(zip(draft, state)) if guess != token), len(state))
        reached = min(fixed + agreed + 1, len(ids))
        steps.append(Step(fixed, draft, state, reached, 0.01))
        fixed, draft = reached, state[reached - fixed :]
    junk = dict.fromkeys(range(JUNK, JUNK + len(steps) + 1), b" ?")
    return worked_example.trajectory(
        steps=tuple(steps), ids=ids, prompt_ids=(JUNK,), pieces={**dict(enumerate(pieces)), **junk}, special=special
    )


def lanes() -> dict[str, Trajectory]:
    """GROUP BY and SELECT … FROM: apart on the base, together on the CLLM."""
    return {"base_jacobi": run_of(SQL, APART), "cllm_jacobi": run_of(SQL, TOGETHER)}
