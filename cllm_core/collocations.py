"""Collocations: words that belong together, where they occur in a trajectory, and whether they arrived together.

Works from a table of collocations (cllm_core.mining makes one) and recorded trajectories; knows no model.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from cllm_core.annotate import arrivals
from cllm_core.types import Trajectory
from cllm_core.words import MARK, PlacedWord, joined, placed_sentences

Runs = tuple[tuple[str, ...], ...]
GAP = "…"
_FARTHEST = 16  # items that a gap can hold, marks included
T = TypeVar("T")


@dataclass(frozen=True)
class Share:
    """How many occurrences of a collocation arrived together, of how many that there were."""

    together: int = 0
    occurrences: int = 0

    def __add__(self, other: "Share") -> "Share":
        return Share(self.together + other.together, self.occurrences + other.occurrences)

    @property
    def ratio(self) -> float | None:
        """together / occurrences; None where there was none."""
        return self.together / self.occurrences if self.occurrences else None


@dataclass(frozen=True)
class Collocation:
    """Words that occur together more often than chance. `runs` are case-folded words; a gap lies between two runs."""

    runs: Runs
    label: str  # as it is usually written: GROUP BY, SELECT … FROM
    count: int  # in the corpus
    log_likelihood: float  # Dunning's log-likelihood ratio of the pair it was found as
    pmi: float  # pointwise mutual information of that pair, bits
    shares: Mapping[str, Share] = field(default_factory=dict, hash=False)  # by lane, over the recorded runs measured


@dataclass(frozen=True)
class CollocationTable:
    """The collocations of a corpus, strongest first, and what they were found with."""

    collocations: tuple[Collocation, ...] = ()
    max_gap: int = 4  # most words and numbers in a gap
    corpus: str = ""  # what it was, in a few words
    outputs: int = 0
    words: int = 0
    runs: int = 0  # recorded runs that `shares` were measured on

    @cached_property
    def by_first_word(self) -> Mapping[str, Sequence[Collocation]]:
        """The collocations that start with a word."""
        index: dict[str, list[Collocation]] = {}
        for collocation in self.collocations:
            index.setdefault(collocation.runs[0][0], []).append(collocation)
        return index


@dataclass(frozen=True)
class Occurrence:
    """One occurrence in a trajectory's output."""

    collocation: Collocation
    positions: tuple[int, ...]  # of the tokens that hold its words, a gap's left out
    arrived: tuple[int, ...]  # the pass from which on each of them was right for good
    text: str  # its words as this output writes them

    @property
    def together(self) -> int | None:
        """The pass that its tokens became right in, all of them; None if they came in several."""
        return self.arrived[0] if len(set(self.arrived)) == 1 else None


def occurrences(trajectory: Trajectory, table: CollocationTable) -> list[Occurrence]:
    """Return where the table's collocations occur in the output, in reading order.

    Occurrences that lie in a single token are left out: they cannot but arrive together.
    """
    arrived = arrivals(trajectory)
    found = []
    for sentence in placed_sentences(trajectory):
        for collocation, words in _matches(sentence, table):
            positions = sorted({position for word in words for position in word.positions})
            if len(positions) > 1:
                passes = tuple(arrived[position] for position in positions)
                text = label(cut([word.word.text for word in words], collocation.runs))
                found.append(Occurrence(collocation, tuple(positions), passes, text))
    return found


def _matches(
    sentence: Sequence[PlacedWord], table: CollocationTable
) -> Iterator[tuple[Collocation, Sequence[PlacedWord]]]:
    keys = [placed.word.key for placed in sentence]
    for start, key in enumerate(keys):
        for collocation in table.by_first_word.get(key or "", ()):
            places = match_runs(keys, start, collocation.runs, table.max_gap)
            if places:
                yield collocation, [sentence[place] for place in places]


def match_runs(keys: Sequence[str | None], start: int, runs: Runs, max_gap: int) -> list[int] | None:
    """Return the indexes of the runs' words, the first at `start`; None if they are not there.

    Between two runs lies a gap (`after_gap`); the nearest place counts.
    """
    places: list[int] = []
    candidates: Iterable[int] = (start,)
    for run in runs:
        place = next((at for at in candidates if tuple(keys[at : at + len(run)]) == run), None)
        if place is None:
            return None
        places += range(place, place + len(run))
        candidates = after_gap(keys, places[-1], max_gap)
    return places


def after_gap(keys: Sequence[str | None], last: int, max_gap: int) -> Iterator[int]:
    """Yield the indexes that a gap after index `last` can lead to, nearest first.

    A gap holds at least one item and at most `max_gap` words and numbers; marks take no room in it.
    """
    room = max_gap
    for at in range(last + 1, min(len(keys), last + _FARTHEST + 2)):
        if at > last + 1:
            yield at
        room -= keys[at] != MARK
        if room < 0:
            return


def cut(words: Sequence[T], runs: Runs) -> list[Sequence[T]]:
    """Return the words of a collocation as a list a run."""
    pieces, start = [], 0
    for run in runs:
        pieces.append(words[start : start + len(run)])
        start += len(run)
    return pieces


def label(runs: Sequence[Sequence[str]]) -> str:
    """Return the words of runs as text, an ellipsis for each gap."""
    return f" {GAP} ".join(joined(run) for run in runs)


def count(found: Iterable[Occurrence]) -> dict[Runs, Share]:
    """Return, for each collocation that occurs, how often it does and how often it arrived together."""
    total: Counter[Runs] = Counter()
    together: Counter[Runs] = Counter()
    for occurrence in found:
        total[occurrence.collocation.runs] += 1
        together[occurrence.collocation.runs] += occurrence.together is not None
    return {runs: Share(together[runs], number) for runs, number in total.items()}


def measure(runs: Iterable[Mapping[str, Trajectory]], table: CollocationTable) -> dict[str, dict[Runs, Share]]:
    """Return the shares of each collocation over many runs, by lane."""
    lanes: dict[str, dict[Runs, Share]] = {}
    for run in runs:
        for key, trajectory in run.items():
            shares = lanes.setdefault(key, {})
            for words, share in count(occurrences(trajectory, table)).items():
                shares[words] = shares.get(words, Share()) + share
    return lanes


def overall(shares: Mapping[Runs, Share]) -> Share:
    """Return the share over all collocations."""
    return sum(shares.values(), Share())
