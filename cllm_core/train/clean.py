"""Which answers are fit to learn from. Looks at the answer's ids alone; every dropped one has a named reason."""

from collections.abc import Collection, Sequence

PERIOD, RUN, TIMES = 8, 16, 4


def why_dropped(
    prompt: Sequence[int], answer: Sequence[int], *, eos_ids: Collection[int], max_length: int
) -> str | None:
    """Return why a row is not learnt from, or None: `empty`, `too_long`, `unfinished` or `repetitive`.

    A row is too long when prompt and answer exceed `max_length`, and unfinished when no end token closes the answer.
    """
    if not answer or (len(answer) == 1 and answer[0] in eos_ids):
        return "empty"
    if len(prompt) + len(answer) > max_length:
        return "too_long"
    if eos_ids and answer[-1] not in eos_ids:
        return "unfinished"
    return "repetitive" if is_repetitive(answer) else None


def is_repetitive(ids: Sequence[int]) -> bool:
    """Return whether a phrase of up to 8 tokens stands at least 4 times in a row, over 16 tokens or more.

    Only what is passed is looked at: pass the answer, never the prompt.
    """
    for period in range(1, PERIOD + 1):
        needed = max(RUN, TIMES * period) - period  # tokens that equal the one a period before
        run = 0
        for at in range(period, len(ids)):
            run = run + 1 if ids[at] == ids[at - period] else 0
            if run >= needed:
                return True
    return False
