"""The look of one cell in a picture: ground, edge and glyph of its class, defined once and placed many times."""

from collections.abc import Iterable
from xml.etree import ElementTree

from visualize.classes import CLASS_STYLES
from visualize.exports.drawing import Drawing
from visualize.themes import ClassInk, Theme

HEIGHT = 24  # of a cell, pixels
GLYPH_FONT = 10

EDGES: dict[str, tuple[float, dict[str, str | float]]] = {  # of a class: width, line style
    "solid": (2, {}),
    "thick": (4, {}),
    "thin": (1, {}),
    "dashed": (2, {"stroke_dasharray": "5 3"}),
    "dotted": (2.5, {"stroke_dasharray": "0.1 4", "stroke_linecap": "round"}),
}


def define_cells(drawing: Drawing, theme: Theme, names: Iterable[str], width: float) -> None:
    """Define a cell of each class under the class's name, `width` pixels wide."""
    for name in names:
        style, ink = CLASS_STYLES[name], theme.of(name)
        cell = drawing.add("g", drawing.definitions, id=name)
        drawing.add("rect", cell, width=width, height=HEIGHT, rx=3, fill=ink.tint, stroke=theme.line, stroke_width=0.7)
        _edge(drawing, cell, style.edge, ink, width)
        drawing.text(
            width - 3, HEIGHT - 5, style.glyph, cell,
            text_anchor="end", font_size=GLYPH_FONT, font_weight="bold", fill=ink.sign,
        )  # fmt: skip


def _edge(drawing: Drawing, cell: ElementTree.Element, edge: str, ink: ClassInk, width: float) -> None:
    """Draw the line along the bottom that tells the class without colour."""
    if edge == "double":
        for y in (HEIGHT - 3.5, HEIGHT - 0.7):
            drawing.add("path", cell, d=f"M2 {y}H{width - 2:g}", stroke=ink.edge, stroke_width=1.2)
        return
    thickness, line = EDGES[edge]
    y = HEIGHT - thickness / 2
    drawing.add("path", cell, d=f"M2 {y:g}H{width - 2:g}", stroke=ink.edge, stroke_width=thickness, **line)
