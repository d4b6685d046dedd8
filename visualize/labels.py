"""Token pieces and other text of users as short labels: whitespace and control characters made visible.

Knows no output format; each writer still escapes a label for its own.
"""

import unicodedata

_WHITESPACE = {" ": "␣", "\n": "↵", "\t": "⇥"}


def piece_label(piece: bytes, limit: int = 40) -> str:
    """Return a piece as one printable line of at most `limit` characters: hex bytes where it is no valid UTF-8."""
    try:
        text = piece.decode("utf-8")
    except UnicodeDecodeError:
        return shortened(piece.hex(" ").upper(), limit)
    return shortened(visible(text), limit) if text else "∅"


def visible(text: str) -> str:
    """Return the text with whitespace, control and direction characters replaced by visible signs."""
    return "".join(_sign(character) for character in text)


def one_line(text: str, limit: int = 80) -> str:
    """Return a text (a prompt, a title, a model's name) on one printable line of at most `limit` characters."""
    return shortened("".join(" " if character.isspace() else _sign(character) for character in text).strip(), limit)


def shortened(text: str, limit: int) -> str:
    """Return the text, its tail replaced by an ellipsis if it is longer than `limit` characters."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _sign(character: str) -> str:
    if character in _WHITESPACE:
        return _WHITESPACE[character]
    if character < " ":
        return chr(0x2400 + ord(character))
    if character == "\x7f":
        return "␡"
    return f"⟨U+{ord(character):04X}⟩" if _is_invisible(character) else character


def _is_invisible(character: str) -> bool:
    """Whether a character draws nothing, or changes the order of what stands around it.

    The joiners U+200C and U+200D shape their neighbours (Persian words, emoji families) and stay.
    """
    category = unicodedata.category(character)
    return category in ("Cc", "Cs", "Cn", "Co", "Zl", "Zp", "Zs") or (
        category == "Cf" and character not in "\u200c\u200d"
    )
