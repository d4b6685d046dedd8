"""The colours of pictures: light, dark, and print (white paper, no tints)."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ClassInk:
    """The colours of one token class."""

    edge: str
    tint: str  # ground of a cell
    sign: str  # the class's glyph


@dataclass(frozen=True)
class Theme:
    """The colours of a whole picture; every text colour has a contrast of at least 4.5 to 1 on its ground."""

    ground: str
    ink: str
    muted: str
    line: str
    earlier: str  # ground of what an earlier pass fixed
    settled: ClassInk
    fast_forwarded: ClassInk
    stationary: ClassInk
    transient: ClassInk
    wrong: ClassInk

    def of(self, name: str) -> ClassInk:
        """Return the colours of a class of either view."""
        plain = ClassInk(edge=self.muted, tint=self.ground, sign=self.muted)
        inks: dict[str, ClassInk] = {
            "settled": self.settled,
            "fixed": self.settled,
            "fast_forwarded": self.fast_forwarded,
            "stationary": self.stationary,
            "transient": self.transient,
            "wrong": self.wrong,
        }
        return inks.get(name, plain)


THEMES = {
    "light": Theme(
        ground="#ffffff",
        ink="#1b2026",
        muted="#545d68",
        line="#d9dfe5",
        earlier="#f3f5f7",
        settled=ClassInk("#0072b2", "#deedf5", "#005a8c"),
        fast_forwarded=ClassInk("#009e73", "#d4efe7", "#00664b"),
        stationary=ClassInk("#e69f00", "#faeccc", "#795300"),
        transient=ClassInk("#cc79a7", "#f5e6ee", "#9a4f78"),
        wrong=ClassInk("#d55e00", "#faeade", "#a34700"),
    ),
    "dark": Theme(
        ground="#14171c",
        ink="#e4e8ed",
        muted="#a4aebb",
        line="#303844",
        earlier="#191d23",
        settled=ClassInk("#56b4e9", "#1f303d", "#7cc4ee"),
        fast_forwarded=ClassInk("#35c99b", "#1b3c37", "#4ed3a9"),
        stationary=ClassInk("#f0b42e", "#403620", "#f3bf4d"),
        transient=ClassInk("#e29ac3", "#3b303c", "#e8aacd"),
        wrong=ClassInk("#ff8746", "#352722", "#ff9a63"),
    ),
    "print": Theme(
        ground="#ffffff",
        ink="#000000",
        muted="#404040",
        line="#b0b0b0",
        earlier="#ffffff",
        settled=ClassInk("#0072b2", "#ffffff", "#005a8c"),
        fast_forwarded=ClassInk("#009e73", "#ffffff", "#00664b"),
        stationary=ClassInk("#e69f00", "#ffffff", "#795300"),
        transient=ClassInk("#cc79a7", "#ffffff", "#9a4f78"),
        wrong=ClassInk("#d55e00", "#ffffff", "#a34700"),
    ),
}
