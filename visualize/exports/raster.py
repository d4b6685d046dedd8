"""Pixels from a drawing, without a browser: resvg and the bundled font."""

from collections.abc import Mapping

import resvg_py

from cllm_core.errors import ExportError
from cllm_core.types import Trajectory
from visualize.exports.drawing import Drawing
from visualize.exports.fonts import FAMILY, Fonts
from visualize.exports.options import ExportOptions
from visualize.exports.svg import draw_run

SCALES = (2, 1.5, 1)  # pixels of a PNG per pixel of the drawing, the largest that fits
MOST_PIXELS = 16_000_000  # of a PNG; a run too large for it at scale 1 is cut


def export_png(lanes: Mapping[str, Trajectory], options: ExportOptions) -> bytes:
    """Return the picture of `export_svg` as PNG. A run too large for it is cut to its first passes, and says so."""
    fonts = Fonts(options.font)
    drawing = draw_run(lanes, options, legible=fonts.legible)
    passes = max((len(trajectory.steps) for trajectory in lanes.values()), default=0)
    while drawing.area > MOST_PIXELS and passes > 1:
        passes = min(passes - 1, int(passes * MOST_PIXELS / drawing.area))
        drawing = draw_run(lanes, options, most_passes=max(1, passes), legible=fonts.legible)
    scale = next((scale for scale in SCALES if drawing.area * scale**2 <= MOST_PIXELS), SCALES[-1])
    return render_png(drawing, fonts, scale)


def render_png(drawing: Drawing, fonts: Fonts, scale: float = 1) -> bytes:
    """Return a drawing as PNG, `scale` pixels a unit; ExportError if it cannot be drawn."""
    try:
        return bytes(
            resvg_py.svg_to_bytes(
                svg_string=drawing.to_bytes().decode("utf-8"),
                skip_system_fonts=True,
                font_files=fonts.files,
                font_family=FAMILY,
                sans_serif_family=FAMILY,
                monospace_family=FAMILY,
                zoom=scale,
            )
        )
    except ValueError as error:
        raise ExportError(f"The picture cannot be drawn: {error}. Save it as SVG instead.") from error
