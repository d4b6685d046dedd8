"""Breaks a lane's text, fixed and guessed, into lines of a fixed width, as a terminal does. Knows no pixels."""

from collections.abc import Iterable
from dataclasses import dataclass

from visualize.exports.drawing import Legible, columns_of
from visualize.labels import visible


@dataclass(frozen=True)
class Span:
    """One part of a line: a stretch of fixed text, or a guess of a class."""

    text: str
    name: str = ""  # class of a guess; empty for fixed text


def readable(text: str, legible: Legible) -> str:
    """Return running text: spaces and line breaks do their work, all else that cannot be seen gets a sign."""
    lines = text.replace("\r\n", "\n").expandtabs(4).split("\n")
    return "\n".join(" ".join(legible(visible(word)) for word in line.split(" ")) for line in lines)


def broken(spans: Iterable[Span], columns: int) -> list[list[Span]]:
    """Return the spans in lines of at most `columns` characters. A guess that fits a line is not torn."""
    lines: list[list[Span]] = [[]]
    room = columns
    for span in spans:
        for number, rest in enumerate(span.text.split("\n")):
            if number or (span.name and columns_of(rest) > room):
                lines.append([])
                room = columns
            while rest:
                part, rest = _split(rest, room)
                lines[-1].append(Span(part, span.name))
                room -= columns_of(part)
                if rest:
                    lines.append([])
                    room = columns
    return lines


def _split(text: str, columns: int) -> tuple[str, str]:
    """Return the start of the text that fits (at least one character on a whole line), and the rest."""
    used = 0
    for index, character in enumerate(text):
        used += columns_of(character)
        if used > columns:
            return text[:index], text[index:]
    return text, ""
