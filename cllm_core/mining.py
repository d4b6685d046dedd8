"""A corpus of outputs -> a table of collocations, by NLTK's association measures. Knows no trajectory and no file."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from cllm_core.collocations import Collocation, CollocationTable, Runs, after_gap, cut, label, match_runs
from cllm_core.options import option, validate
from cllm_core.words import MARK, Word, sentences

Keys = Sequence[str | None]  # the words of a sentence; None for a number, MARK for a mark
Unit = tuple[str, ...]  # one word, or words that were found to belong together

_ROUNDS = 2  # neighbours become units, twice over: up to four words
_LONGEST = 4  # words of a run
_SPARE = 3  # times the limit are grown: many turn out to lie in a longer one
_MOSTLY = 0.8  # of a collocation's occurrences: so many in a longer one, and the longer one says it all


@dataclass(frozen=True)
class MiningConfig:
    """What counts as a collocation. Checked when made: a bad value raises ConfigError."""

    min_count: int = option(5, "A collocation occurs at least so often in the corpus.", minimum=2, maximum=10_000)
    min_outputs: int = option(
        3,
        "... and in at least so many different outputs: one that repeats itself proves nothing.",
        minimum=1,
        maximum=10_000,
    )
    min_log_likelihood: float = option(
        15.13,
        "Least log-likelihood ratio of its two halves (15.13: p < 0.0001, one degree of freedom).",
        minimum=0.0,
        maximum=1e6,
    )
    min_pmi: float = option(
        1.0, "Least pointwise mutual information, in bits (1: twice as often as chance).", minimum=0.0, maximum=40.0
    )
    max_gap: int = option(
        4, "Most words and numbers in a gap; brackets, commas and quotes take no room.", minimum=1, maximum=10, step=1
    )
    limit: int = option(400, "Keep at most so many, the strongest.", minimum=1, maximum=10_000, step=1)

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True)
class _Scored:
    """Words that belong together, and the scores of the pair that they were found as."""

    runs: Runs
    log_likelihood: float
    pmi: float


def mine(outputs: Iterable[str], config: MiningConfig | None = None, corpus: str = "") -> CollocationTable:
    """Find the collocations of a corpus, an output a text; equal outputs count once. `corpus` says what it is.

    Neighbours that score high enough become one unit, twice over, so that runs of up to four words are found. Pairs
    with a gap are words that follow each other within `max_gap` words more often than chance, together with the words
    that nearly always stand beside them. Scores are Dunning's log-likelihood ratio and pointwise mutual information
    (Manning and Schütze 1999, chapter 5), by NLTK.
    """
    config = config or MiningConfig()
    distinct = list(dict.fromkeys(stripped for text in outputs if (stripped := text.strip())))
    by_output = [sentences(text) for text in distinct]
    corpus_sentences = [sentence for found in by_output for sentence in found]
    outputs_of = [number for number, found in enumerate(by_output) for _ in found]
    letters = {word.key for sentence in corpus_sentences for word in sentence if word.letters and word.key}
    lines: list[Keys] = [[word.key for word in sentence] for sentence in corpus_sentences]
    found = _runs(lines, letters, config) + _gapped(lines, letters, config)
    uses = _uses(corpus_sentences, outputs_of, {each.runs for each in found}, config.max_gap)
    return CollocationTable(
        collocations=tuple(_collocation(each, uses[each.runs]) for each in _strongest(found, uses, config)),
        max_gap=config.max_gap,
        corpus=corpus,
        outputs=len(distinct),
        words=sum(bool(key) for line in lines for key in line),
    )


def _collocation(scored: _Scored, uses: "_Uses") -> Collocation:
    return Collocation(
        runs=scored.runs,
        label=uses.spellings.most_common(1)[0][0],
        count=uses.count,
        log_likelihood=round(scored.log_likelihood, 2),
        pmi=round(scored.pmi, 2),
    )


def _runs(lines: Sequence[Keys], letters: Set[str], config: MiningConfig) -> list[_Scored]:
    """Return the runs of two to four neighbours of which one is a word of letters."""
    from nltk.collocations import BigramCollocationFinder  # takes more than a second
    from nltk.metrics import BigramAssocMeasures

    units: list[list[Unit | None]] = [[(key,) if key else None for key in line] for line in lines]
    found: list[_Scored] = []
    for _ in range(_ROUNDS):
        finder = BigramCollocationFinder.from_words(unit for line in units for unit in (*line, None))
        finder.apply_ngram_filter(lambda first, second: first == second or letters.isdisjoint(first + second))
        finder.apply_freq_filter(config.min_count)
        information = dict(finder.score_ngrams(BigramAssocMeasures.pmi))
        pairs = {
            pair: _Scored((pair[0] + pair[1],), likelihood, information[pair])
            for pair, likelihood in finder.score_ngrams(BigramAssocMeasures.likelihood_ratio)
            if likelihood >= config.min_log_likelihood and information[pair] >= config.min_pmi
        }
        found += pairs.values()
        units = [_merged(line, pairs.keys()) for line in units]
    return found


def _merged(line: Sequence[Unit | None], pairs: Set[tuple[Unit, Unit]]) -> list[Unit | None]:
    """Return the sentence with each of the pairs made one unit, from left to right."""
    merged: list[Unit | None] = []
    fresh = False  # whether the last unit was made just now: it takes no third part in this round
    for unit in line:
        last = merged[-1] if merged else None
        if unit is not None and last is not None and not fresh and (last, unit) in pairs:
            merged[-1], fresh = last + unit, True
        else:
            merged.append(unit)
            fresh = False
    return merged


def _gapped(lines: Sequence[Keys], letters: Set[str], config: MiningConfig) -> list[_Scored]:
    """Return pairs of words of letters with a gap between them, each grown to the words beside it.

    An event is a window: it starts with the first word or not, and the second follows in it, after a gap, or not.
    """
    from nltk.metrics import BigramAssocMeasures

    starts: Counter[str] = Counter()
    follows: Counter[str] = Counter()
    both: Counter[tuple[str, str]] = Counter()
    total = 0
    for line in lines:
        for at, first in enumerate(line):
            if first == MARK:
                continue
            window = {key for place in after_gap(line, at, config.max_gap) if (key := line[place]) and key in letters}
            total += 1
            follows.update(window)
            if first is not None and first in letters:
                starts[first] += 1
                both.update((first, second) for second in window if second != first)
    found = []
    for (first, second), number in both.items():
        if number >= config.min_count:
            table = (number, (starts[first], follows[second]), total)
            likelihood, pmi = BigramAssocMeasures.likelihood_ratio(*table), BigramAssocMeasures.pmi(*table)
            if likelihood >= config.min_log_likelihood and pmi >= config.min_pmi:
                found.append(_Scored(((first,), (second,)), likelihood, pmi))
    found.sort(key=lambda each: (-each.log_likelihood, each.runs))
    return _grown(found[: _SPARE * config.limit], lines, config.max_gap)


def _grown(found: Sequence[_Scored], lines: Sequence[Keys], max_gap: int) -> list[_Scored]:
    """Return the collocations with the words that mostly stand beside their runs: ORDER … DESC, ORDER BY … DESC."""
    done: list[_Scored] = []
    growing = list(found)
    while growing:
        beside = _beside(lines, {each.runs for each in growing}, max_gap)
        grown = []
        for each in growing:
            longer = _extended(each.runs, *beside[each.runs])
            if longer is None:
                done.append(each)
            else:
                grown.append(replace(each, runs=longer))
        growing = grown
    return done


Side = tuple[int, int, str]  # which run, 0 before it or 1 after it, and the word there


def _beside(lines: Sequence[Keys], wanted: Set[Runs], max_gap: int) -> dict[Runs, tuple[int, Counter[Side]]]:
    """Return how often each collocation occurs, and what stands beside its runs there."""
    counts: Counter[Runs] = Counter()
    sides: dict[Runs, Counter[Side]] = {runs: Counter() for runs in wanted}
    for runs, number, places in _matches(lines, wanted, max_gap):
        counts[runs] += 1
        line = lines[number]
        for index, run in enumerate(cut(places, runs)):
            for side, at in enumerate((run[0] - 1, run[-1] + 1)):
                key = line[at] if 0 <= at < len(line) else None
                if key and not {at - 1, at, at + 1} - {run[0], run[-1]} & set(places):
                    sides[runs][index, side, key] += 1
    return {runs: (counts[runs], sides[runs]) for runs in wanted}


def _extended(runs: Runs, count: int, sides: Mapping[Side, int]) -> Runs | None:
    """Return the runs with the one word that stands beside one of them most, if it mostly does."""
    for (index, side, key), number in sorted(sides.items(), key=lambda item: (-item[1], item[0])):
        if number < _MOSTLY * count:
            return None
        if len(runs[index]) < _LONGEST:
            run = (key, *runs[index]) if side == 0 else (*runs[index], key)
            return (*runs[:index], run, *runs[index + 1 :])
    return None


@dataclass
class _Uses:
    """Where a collocation occurs in the corpus, how it is written there, and what its gap holds."""

    outputs: set[int] = field(default_factory=set)
    spellings: Counter[str] = field(default_factory=Counter)
    gaps: Counter[tuple[str, ...]] = field(default_factory=Counter)

    @property
    def count(self) -> int:
        return self.spellings.total()

    @property
    def free(self) -> bool:
        """Whether the gap is one: not the same words in most places."""
        return () in self.gaps or 2 * max(self.gaps.values(), default=0) <= self.count

    def suffice(self, config: MiningConfig) -> bool:
        """Whether the corpus shows enough of it."""
        return self.free and self.count >= config.min_count and len(self.outputs) >= config.min_outputs


def _uses(
    corpus: Sequence[Sequence[Word]], outputs_of: Sequence[int], wanted: Set[Runs], max_gap: int
) -> dict[Runs, _Uses]:
    found = {runs: _Uses() for runs in wanted}
    lines = [[word.key for word in sentence] for sentence in corpus]
    for runs, number, places in _matches(lines, wanted, max_gap):
        words = [word.text for word in corpus[number]]
        found[runs].outputs.add(outputs_of[number])
        found[runs].spellings[label(cut([words[place] for place in places], runs))] += 1
        between = sorted({*range(places[0], places[-1])}.difference(places))
        held = tuple(words[place].casefold() for place in between if lines[number][place] != MARK)
        found[runs].gaps[held] += 1
    return found


def _matches(lines: Sequence[Keys], wanted: Set[Runs], max_gap: int) -> Iterator[tuple[Runs, int, list[int]]]:
    """Yield (runs, number of the sentence, places of the words in it) for every occurrence of the wanted runs."""
    by_first: dict[str, list[Runs]] = {}
    for runs in wanted:
        by_first.setdefault(runs[0][0], []).append(runs)
    for number, line in enumerate(lines):
        for start, key in enumerate(line):
            for runs in by_first.get(key or "", ()):
                places = match_runs(line, start, runs, max_gap)
                if places:
                    yield runs, number, places


def _strongest(found: Sequence[_Scored], uses: Mapping[Runs, _Uses], config: MiningConfig) -> list[_Scored]:
    """Return each collocation once, strongest first, without those that hardly occur outside a longer one."""
    best = {each.runs: each for each in sorted(found, key=lambda each: (each.log_likelihood, each.runs))}
    often = [each for runs, each in best.items() if uses[runs].suffice(config)]
    with_word: dict[str, list[Runs]] = {}
    for each in often:
        for word in {word for run in each.runs for word in run}:
            with_word.setdefault(word, []).append(each.runs)

    def swallowed(runs: Runs) -> bool:
        enough = _MOSTLY * uses[runs].count
        return any(uses[other].count >= enough and _within(runs, other) for other in with_word[runs[0][0]])

    return [each for each in reversed(often) if not swallowed(each.runs)][: config.limit]


def _within(runs: Runs, other: Runs) -> bool:
    """Whether the runs lie, in their order, in different runs of the other collocation, which is a longer one."""
    if runs == other:
        return False
    rest = iter(other)
    return all(any(_holds(part, run) for part in rest) for run in runs)


def _holds(words: tuple[str, ...], part: tuple[str, ...]) -> bool:
    return any(words[at : at + len(part)] == part for at in range(len(words) - len(part) + 1))
