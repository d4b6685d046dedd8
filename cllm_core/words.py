"""Text -> words, for any script and for code; and the token positions that hold each word. Knows no model.

A word is a run of letters, digits and underscores (with an apostrophe or a hyphen inside it: don't, well-known), or an
operator of code (==, ->, *). Han, Hiragana, Thai and the other scripts that put no space between words give one word a
character (grapheme cluster): what belongs together there is found by counting, like any other collocation.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import regex

from cllm_core.types import Trajectory

_UNSPACED = "".join(
    rf"\p{{Script={script}}}"
    for script in (
        "Han",
        "Hiragana",
        "Bopomofo",
        "Thai",
        "Lao",
        "Khmer",
        "Myanmar",
        "Tibetan",
        "Tai_Tham",
        "New_Tai_Lue",
    )
)
_ITEM = regex.compile(
    rf"""
    (?P<end>    \n\s*\n | ; | [.!?…]+ (?=\s|$) | [。！？｡] )       # ends a sentence or a statement
  | (?P<letter> (?=[{_UNSPACED}]) \X )
  | (?P<number> \p{{Nd}}+ (?:[.,]\p{{Nd}}+)* (?![\p{{L}}_]) )
  | (?P<word>   [[\p{{L}}\p{{M}}\p{{N}}_]--[{_UNSPACED}]]+
                (?:['’‑-] [[\p{{L}}\p{{M}}]--[{_UNSPACED}]]+)* )
  | (?P<operator> [-+*/%=<>!&|^~@]+ )
  | (?P<mark>   \S )                                              # brackets, commas, quotes: no words, but between them
    """,
    regex.VERBOSE | regex.V1,
)
_MEMBERS = {"letter", "word", "operator"}
MARK = ""  # the key of a mark


@dataclass(frozen=True)
class Word:
    """One item of a sentence. `key` is what counts as the same word (case folded).

    A number is no word (None), but takes up room between two. Brackets, commas, colons and quotes are marks (MARK):
    they part neighbours and take no room, or the punctuation of code and JSON would fill every gap.
    """

    text: str
    key: str | None
    start: int  # its first character in the text
    end: int  # the one after its last
    letters: bool  # whether it is made of letters, not of an operator's signs


def sentences(text: str) -> list[list[Word]]:
    """Return the words of each sentence (or statement, in code), in order. A line break alone ends nothing."""
    found: list[list[Word]] = [[]]
    for match in _ITEM.finditer(text):
        kind = match.lastgroup
        if kind == "end":
            found.append([])
            continue
        key = match[0].casefold() if kind in _MEMBERS else MARK if kind == "mark" else None
        found[-1].append(Word(match[0], key, match.start(), match.end(), kind in ("letter", "word")))
    return [sentence for sentence in found if sentence]


def joined(words: Sequence[str]) -> str:
    """Return words as running text: a space between two, except between characters of scripts that use none."""
    text = ""
    for word in words:
        glued = bool(text) and _is_unspaced(text[-1]) and _is_unspaced(word[0])
        text += word if glued or not text else f" {word}"
    return text


def _is_unspaced(character: str) -> bool:
    return regex.match(rf"[{_UNSPACED}\p{{M}}]", character) is not None


@dataclass(frozen=True)
class PlacedWord:
    """A word of an output, and the positions of the tokens that hold a part of it."""

    word: Word
    positions: range


def placed_sentences(trajectory: Trajectory) -> list[list[PlacedWord]]:
    """Return the words of a trajectory's output, sentence by sentence, each with its token positions.

    Tokens are bytes and may cut a word, or a character, anywhere. A control token ends a sentence.
    """
    text, starts = "", []  # starts[p]: the first byte of token p
    data = b""
    for token in trajectory.ids:
        starts.append(len(data))
        data += b"\n\n" if token in trajectory.special else trajectory.pieces.get(token, b"")
    text = data.decode("utf-8", "surrogateescape")  # every broken byte stays one character of one byte
    places = _Places(text, starts, len(data))
    return [[PlacedWord(word, places.of(word)) for word in sentence] for sentence in sentences(text)]


class _Places:
    """Turns characters of a text into positions of the tokens whose bytes they are."""

    def __init__(self, text: str, starts: list[int], length: int) -> None:
        self._bytes = [0]
        for character in text:
            self._bytes.append(self._bytes[-1] + len(character.encode("utf-8", "surrogateescape")))
        self._owner = [0] * length
        for position, (first, after) in enumerate(zip(starts, [*starts[1:], length])):
            self._owner[first:after] = [position] * (after - first)

    def of(self, word: Word) -> range:
        first, last = self._bytes[word.start], self._bytes[word.end] - 1
        return range(self._owner[first], self._owner[last] + 1)
