"""Making one note and its record: which facets, in which order and style, with what beside the point."""

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cllm_core.tasks.notes import kinds_leisure, kinds_people, kinds_trade, kinds_travel, words
from cllm_core.tasks.notes.kinds import Facet, Kind
from cllm_core.tasks.notes.values import Source, Value

KINDS: tuple[Kind, ...] = (*kinds_travel.KINDS, *kinds_trade.KINDS, *kinds_people.KINDS, *kinds_leisure.KINDS)
UNSEEN: tuple[Kind, ...] = (*kinds_trade.UNSEEN, *kinds_people.UNSEEN, *kinds_leisure.UNSEEN)
COMBINATIONS_HELD_OUT_OF = 4  # one in so many sets of fields is held out
FEWEST, MOST = 4, 8  # fields of a record
UNTOLD = 0.03  # how often the note says nothing of a field that the record asks for: null
UNASKED = 0.25  # how often it tells something that the record does not ask for
ASIDE = 0.35  # how often it holds a sentence that has nothing to do with the record


@dataclass(frozen=True)
class Note:
    """A note, the fields that are asked for, in order, and their values; `told` names the texts that were used."""

    kind: str
    text: str
    record: Mapping[str, Value]
    phrasings: tuple[str, ...]

    @property
    def answer(self) -> str:
        """The record as JSON, one field a line."""
        return json.dumps(self.record, indent=2, ensure_ascii=False)


def make_note(source: Source, kinds: Sequence[Kind]) -> Note:
    """Return a note about one of `kinds`, all of its open values, phrasings and fields from the source's part."""
    kind = source.rng.choice(kinds)
    facets = _choose(source, kind)
    told = [facet for facet in facets if source.rng.random() >= UNTOLD]
    extra = [facet for facet in kind.facets if facet not in facets and not _overlap(facet, facets)]
    if extra and source.rng.random() < UNASKED:
        told.append(source.rng.choice(extra))
    writer = _Writer(source)
    text = writer.write(kind.lead, told)
    asked = [kind.lead, *facets]
    if source.rng.random() < 0.35:  # mostly in the kind's own order, which a reader expects
        source.rng.shuffle(asked)
    record = {field: writer.values.get(field) for facet in asked for field in facet.fields}
    return Note(kind.name, text, record, tuple(writer.phrasings))


def is_combination_held_out(kind: str, fields: Sequence[str]) -> bool:
    """Return whether a set of fields of a kind is kept from training."""
    return zlib.crc32(" ".join([kind, *sorted(fields)]).encode()) % COMBINATIONS_HELD_OUT_OF == 0


def _choose(source: Source, kind: Kind) -> list[Facet]:
    """Return some of the kind's facets in its own order: a combination from the source's part."""
    while True:
        size = source.rng.randint(3, 5)
        chosen = sorted(source.rng.sample(range(len(kind.facets)), size))
        facets = [kind.facets[index] for index in chosen]
        fields = [field for facet in (kind.lead, *facets) for field in facet.fields]
        fits = kind in UNSEEN or is_combination_held_out(kind.name, fields) == source.held_out
        if fits and FEWEST <= len(fields) <= MOST:
            return facets


def _overlap(facet: Facet, others: Sequence[Facet]) -> bool:
    return any(set(facet.fields) & set(other.fields) for other in others)


class _Writer:
    """Puts facets into words and remembers what it said."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.values: dict[str, Value] = {}
        self.phrasings: list[str] = []

    def write(self, lead: Facet, facets: Sequence[Facet]) -> str:
        """Return the note: a sentence with clauses and then more sentences, or a list of catchwords."""
        rng = self.source.rng
        order = rng.sample(facets, len(facets))
        if rng.random() < 0.2:
            return self._list(lead, order)
        clauses = rng.choice((0, 1, 2, 2, 3, len(order)))
        opener = self._say(lead, lead.sentences)
        first = ", ".join([opener, *(self._say(facet, facet.clauses) for facet in order[:clauses])]) + "."
        rest = [self._say(facet, facet.sentences) for facet in order[clauses:]]
        if rng.random() < ASIDE:
            rest.insert(rng.randint(0, len(rest)), self.source.phrasing(words.ASIDES))
        sentences = [first, *rest]
        if rng.random() < 0.15:  # the point comes last, as in "That was on 4 May 2024. Dinner with ..."
            sentences = [*rest, first]
        return " ".join(sentences)

    def _list(self, lead: Facet, facets: Sequence[Facet]) -> str:
        parts = [lead.clauses[0].format(*self._draw(lead)), *(self._say(facet, facet.clauses) for facet in facets)]
        head = self.source.rng.choice(("", "", "", "FYI: ", "New: ", "For the file: "))
        return head + self.source.rng.choice((", ", "; ", " / ", " - ", "\n")).join(parts)

    def _say(self, facet: Facet, phrasings: Sequence[str]) -> str:
        phrasing = self.source.phrasing(phrasings)
        self.phrasings.append(phrasing)
        return phrasing.format(*self._draw(facet))

    def _draw(self, facet: Facet) -> tuple[str, ...]:
        drawn = facet.draw(self.source)
        self.values.update(zip(facet.fields, drawn.values, strict=True))
        return drawn.said
