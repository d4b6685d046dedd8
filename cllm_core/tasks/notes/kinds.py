"""What a kind of record is: its facets, and how a note puts each into words. The kinds are in the files beside."""

from dataclasses import dataclass

from cllm_core.tasks.notes.values import Draw


@dataclass(frozen=True)
class Facet:
    """One fact of a record: one field, or several that a note tells in one breath (an amount and its currency).

    A phrasing holds {0}, {1}, ... for the draw's texts. A clause can follow a comma; a sentence stands by itself.
    """

    fields: tuple[str, ...]
    draw: Draw
    clauses: tuple[str, ...]
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Kind:
    """One kind of record. Every note opens with the lead facet; the others come in any number and order."""

    name: str
    lead: Facet
    facets: tuple[Facet, ...]


def facet(fields: str, draw: Draw, clauses: str, sentences: str) -> Facet:
    """Return a facet from text: fields apart by spaces, phrasings by bars."""
    return Facet(tuple(fields.split()), draw, _phrasings(clauses), _phrasings(sentences))


def lead(fields: str, draw: Draw, openers: str, short: str = "{0}") -> Facet:
    """Return a lead facet: its openers are sentences without the full stop, so that clauses can follow."""
    return Facet(tuple(fields.split()), draw, (short,), _phrasings(openers))


def _phrasings(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split("|"))
