"""How a token class looks wherever Python draws it: its name, glyph, colour and edge.

Colours are Okabe and Ito's, which colour-blind readers can tell apart; glyph and edge say the same without colour.
"""

from dataclasses import dataclass

from cllm_core.annotate import HINDSIGHT_CLASSES, KNOWN_CLASSES


@dataclass(frozen=True)
class ClassStyle:
    """The look of one class. `edge` is solid, double, thick, dashed, dotted or thin."""

    label: str
    glyph: str
    colour: str
    edge: str


CLASS_STYLES = {
    "settled": ClassStyle("settled", "✓", "#0072B2", "solid"),
    "fast_forwarded": ClassStyle("fast-forwarded", "»", "#009E73", "double"),
    "stationary": ClassStyle("stationary", "◆", "#E69F00", "thick"),
    "transient": ClassStyle("transient", "~", "#CC79A7", "dashed"),
    "wrong": ClassStyle("wrong", "×", "#D55E00", "dotted"),
    "after_end": ClassStyle("after the end", "∅", "#8A8A8A", "thin"),
    "unknown": ClassStyle("unknown (run stopped)", "?", "#8A8A8A", "thin"),
    "fixed": ClassStyle("fixed", "▪", "#0072B2", "solid"),
    "draft": ClassStyle("draft", "▫", "#8A8A8A", "dashed"),
}

VIEW_CLASSES = {"hindsight": HINDSIGHT_CLASSES, "known": KNOWN_CLASSES}
