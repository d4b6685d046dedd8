"""Token pieces and other text of users as short labels: whitespace and control characters made visible.

Knows no output format; each writer still escapes a label for its own.
"""

import unicodedata

# Few fonts have pictures of the other control characters: their code points stand for them.
_STAND_INS = {" ": "␣", "\n": "⏎", "\t": "⇥", "\u00a0": "⍽"}
_NO_INK = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"}  # Unicode categories


def piece_label(piece: bytes, limit: int = 48) -> str:
    """Return a piece as one printable line of at most `limit` characters: hex bytes where it is no valid UTF-8."""
    try:
        text = piece.decode("utf-8")
    except UnicodeDecodeError:
        return shortened(piece.hex(" ").upper(), limit)
    return shortened(visible(text), limit) if text else "empty"


def visible(text: str) -> str:
    """Return the text with everything that draws nothing, or turns the text's direction, replaced by a sign.

    A joiner between characters shapes them (emoji families, Persian words) and stays; alone it is shown.
    """
    alone = all(unicodedata.category(character) in _NO_INK for character in text)
    signs = "".join(_sign(character, alone) for character in text)
    return "◌" + signs if signs and unicodedata.category(signs[0]).startswith("M") else signs


def one_line(text: str, limit: int = 80) -> str:
    """Return a text (a prompt, a title, a model's name) on one printable line of at most `limit` characters."""
    spaced = "".join(" " if character.isspace() else _sign(character, False) for character in text)
    return shortened(" ".join(spaced.split()), limit)


def shortened(text: str, limit: int) -> str:
    """Return the text, its tail replaced by an ellipsis if it is longer than `limit` characters."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def code_point(character: str) -> str:
    """Return the name that stands for a character that cannot be drawn, such as ⟨U+200B⟩."""
    return f"⟨U+{ord(character):04X}⟩"


def _sign(character: str, alone: bool) -> str:
    if character in _STAND_INS:
        return _STAND_INS[character]
    joins = character in "\u200c\u200d" or character >= "\U000e0000"
    return code_point(character) if unicodedata.category(character) in _NO_INK and (alone or not joins) else character
