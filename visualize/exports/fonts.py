"""The fonts of pictures in pixels: the bundled one, so that every machine draws the same, and one the user may add.

A character that none of them holds is named by its code point.
"""

from collections.abc import Iterator
from functools import cache
from itertools import groupby
from pathlib import Path

from PIL import ImageFont

from cllm_core.errors import ExportError
from visualize.labels import code_point

BUNDLED = Path(__file__).resolve().parents[2] / "assets" / "fonts" / "DejaVuSansMono.ttf"
FAMILY = "DejaVu Sans Mono"

Face = ImageFont.FreeTypeFont


class Fonts:
    """Which font draws which character. `extra` is a font file's path, or ""; ExportError if it is not a font."""

    def __init__(self, extra: str = "") -> None:
        self.files = [str(BUNDLED), *([extra] if extra else [])]
        self._faces = [face(path, 20) for path in self.files]
        self._file_of = cache(self._find)

    def legible(self, text: str) -> str:
        """Return the text with every character that no font holds replaced by its code point."""
        return "".join(character if self._file_of(character) else code_point(character) for character in text)

    def parts(self, text: str, size: int) -> Iterator[tuple[Face, str]]:
        """Yield the text in runs of one font each; characters that no font holds go with the bundled one."""
        for path, run in groupby(text, key=lambda character: self._file_of(character) or self.files[0]):
            yield face(path, size), "".join(run)

    def _find(self, character: str) -> str | None:
        return next((path for path, font in zip(self.files, self._faces, strict=True) if _draws(font, character)), None)


@cache
def face(path: str, size: int) -> Face:
    """Return a font at a size in pixels; ExportError if the file is not a font."""
    try:
        return ImageFont.truetype(path, size)
    except OSError as error:
        raise ExportError(f"{Path(path).name} is not a font that can be read: give a .ttf or .otf file.") from error


def _draws(font: Face, character: str) -> bool:
    """Whether the font has a glyph of its own for the character: not the box that stands for all it lacks."""
    return bytes(font.getmask(character)) != bytes(font.getmask("\U0010fffe"))
