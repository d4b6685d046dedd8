"""An SVG drawing under way: an XML tree, so that no text can break out of its place, and the few shapes we need.

Plain attributes and no style sheet: vector editors and typesetters read those best. Knows no trajectory.
"""

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from xml.etree import ElementTree

MONO = "'DejaVu Sans Mono', Menlo, Consolas, monospace"
SANS = "Helvetica, Arial, sans-serif"
CHARACTER = 0.603  # width of a character of the fixed-width font, in ems

Legible = Callable[[str], str]  # replaces the characters that a font cannot draw


def as_it_is(text: str) -> str:
    """Leave the text to the viewer's fonts."""
    return text


@dataclass
class Drawing:
    """The tree, what text may hold, and how far down the drawing has come (pixels)."""

    width: float
    ground: str
    legible: Legible = as_it_is
    y: float = 0.0
    root: ElementTree.Element = field(init=False)

    def __post_init__(self) -> None:
        names = {"xmlns": "http://www.w3.org/2000/svg", "xmlns:xlink": "http://www.w3.org/1999/xlink"}
        self.root = ElementTree.Element("svg", {**names, "role": "img", "font-family": MONO, "font-size": "12"})
        self.title = ElementTree.SubElement(self.root, "title")
        self.definitions = ElementTree.SubElement(self.root, "defs")
        self._ground = self.add("rect", fill=self.ground)

    def add(
        self, tag: str, parent: ElementTree.Element | None = None, **attributes: str | float
    ) -> ElementTree.Element:
        """Add an element; `font_size=9` becomes font-size="9"."""
        given = {name.replace("_", "-"): number(value) for name, value in attributes.items()}
        return ElementTree.SubElement(self.root if parent is None else parent, tag, given)

    def text(
        self, x: float, y: float, text: str, parent: ElementTree.Element | None = None, **attributes: str | float
    ) -> ElementTree.Element:
        """Add one line of text with its baseline at y."""
        element = self.add("text", parent, x=x, y=y, **attributes)
        element.text = self.legible(text)
        return element

    def use(self, name: str, x: float, y: float, parent: ElementTree.Element | None = None) -> None:
        """Place a copy of a definition."""
        self.add("use", parent, x=x, y=y).set("xlink:href", f"#{name}")

    def finish(self, title: str, margin: float) -> "Drawing":
        """Set the height to what was drawn, and the title that screen readers and tabs show."""
        size = {"width": number(self.width), "height": number(self.y + margin)}
        self._ground.attrib.update(size)
        self.root.attrib.update(size, viewBox=f"0 0 {size['width']} {size['height']}")
        self.title.text = title
        return self

    @property
    def area(self) -> float:
        """Pixels of the finished drawing."""
        return float(self.root.attrib["width"]) * float(self.root.attrib["height"])

    def to_bytes(self) -> bytes:
        """Return the drawing as a UTF-8 file."""
        data: bytes = ElementTree.tostring(self.root, encoding="utf-8", xml_declaration=True)
        return data


def number(value: str | float) -> str:
    """Return a coordinate with at most one decimal; text as it is."""
    return value if isinstance(value, str) else f"{round(value, 1):g}"


def columns_of(text: str) -> int:
    """Return how many character cells a line takes in a fixed-width font: two for wide ones, none for marks."""
    return sum(_columns(character) for character in text)


def fitted(text: str, columns: int) -> str:
    """Return the text, its tail replaced by an ellipsis if it takes more than `columns` character cells."""
    if columns_of(text) <= columns:
        return text
    kept, used = [], 1
    for character in text:
        used += _columns(character)
        if used > columns:
            break
        kept.append(character)
    return "".join(kept) + "…"


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
