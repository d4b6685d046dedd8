"""A picture in pixels under way, for frames that are too many to draw as SVG. Knows no trajectory."""

from PIL import Image, ImageDraw

from visualize.exports.fonts import Fonts


class Canvas:
    """A raster with the few shapes that an animation needs. Coordinates are pixels, text stands on its baseline."""

    def __init__(self, width: int, height: int, ground: str, fonts: Fonts) -> None:
        self.image = Image.new("RGB", (width, height), ground)
        self._draw = ImageDraw.Draw(self.image)
        self._fonts = fonts

    def box(self, x: float, y: float, width: float, height: float, fill: str, outline: str | None = None) -> None:
        """Draw a rectangle with rounded corners; nothing if it has no width."""
        if width >= 1:
            radius = min(5.0, width / 2, height / 2)
            self._draw.rounded_rectangle((x, y, x + width - 1, y + height - 1), radius, fill, outline)

    def rule(self, x: float, y: float, width: float, colour: str, edge: str) -> None:
        """Draw a line along a class's text: its edge tells the class without colour (see `visualize.classes`)."""
        thickness = {"thick": 3, "thin": 1}.get(edge, 2)
        dash, space = {"dashed": (5, 3), "dotted": (2, 2)}.get(edge, (max(1, round(width)), 0))
        start, end = round(x), round(x + width)
        for left in range(start, end, dash + space):
            right = min(left + dash, end) - 1
            self._draw.rectangle((left, y, right, y + thickness - 1), colour)
            if edge == "double":
                self._draw.rectangle((left, y + thickness + 1, right, y + thickness + 1), colour)

    def text(self, x: float, y: float, text: str, colour: str, size: int = 12) -> float:
        """Draw one line and return where it ends."""
        for font, part in self._fonts.parts(text, size):
            self._draw.text((x, y), part, colour, font, anchor="ls")
            x += font.getlength(part)
        return x
