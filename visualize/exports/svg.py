"""A run as one SVG picture: for every lane a grid of iterations by positions, with classes and the known frontier."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from xml.etree import ElementTree

from cllm_core.annotate import Annotation, annotate
from cllm_core.metrics import summarize, window_size
from cllm_core.types import Trajectory
from visualize.classes import CLASS_STYLES, VIEW_CLASSES
from visualize.exports.cell_art import HEIGHT, define_cells
from visualize.exports.drawing import CHARACTER, SANS, Drawing, Legible, as_it_is, columns_of, fitted
from visualize.exports.layout import Band, bands
from visualize.exports.options import ExportOptions
from visualize.labels import one_line, piece_label
from visualize.themes import THEMES, Theme
from visualize.view import LANE_LABELS

FONT = 12
COLUMN = FONT * CHARACTER  # width of a character
GAP, PADDING = 2, 17  # between cells; in a cell, for its glyph
ROW = HEIGHT + GAP
MARGIN, GUTTER = 20, 66  # around the picture; left of a grid, for the numbers of its passes
NARROWEST, WIDEST = 5, 10  # a cell's width in characters
LEAST_WIDTH = 780


def export_svg(lanes: Mapping[str, Trajectory], options: ExportOptions) -> bytes:
    """Return the picture as an SVG file. It grows with the passes; nothing is left out."""
    return draw_run(lanes, options).to_bytes()


@dataclass(frozen=True)
class _Lane:
    """What is drawn of one lane."""

    key: str
    trajectory: Trajectory
    annotation: Annotation
    bands: list[Band]
    labels: Mapping[int, str]  # token id -> its text, whole
    characters: int  # that fit a cell


def draw_run(
    lanes: Mapping[str, Trajectory],
    options: ExportOptions,
    *,
    most_passes: int | None = None,
    legible: Legible = as_it_is,
) -> Drawing:
    """Return the drawing of all lanes, or of the first `most_passes` passes of each, which the picture then says."""
    limits = [limit for limit in (most_passes, options.passes) if limit]
    labels = {key: _labels(trajectory, legible) for key, trajectory in lanes.items()}
    characters = _cell_characters(text for row in labels.values() for text in row.values())
    drawn = [
        _Lane(
            key,
            trajectory,
            annotate(trajectory),
            bands(trajectory, min([len(trajectory.steps), *limits])),
            labels[key],
            characters,
        )
        for key, trajectory in lanes.items()
    ]
    cell = characters * COLUMN + PADDING
    columns = max((band.columns for lane in drawn for band in lane.bands), default=0)
    theme = THEMES[options.theme]
    drawing = Drawing(max(LEAST_WIDTH, 2 * MARGIN + GUTTER + columns * cell), theme.ground, legible)
    names = _names(drawn, options.view)
    define_cells(drawing, theme, names, cell - GAP)
    title = one_line(options.title) or "Decoding, pass by pass"
    _heading(drawing, theme, title, next((trajectory.prompt for trajectory in lanes.values()), ""))
    _legend(drawing, theme, names, cell)
    for lane in drawn:
        _lane(drawing, theme, lane, options.view, cell)
    return drawing.finish(title, MARGIN)


def _labels(trajectory: Trajectory, legible: Legible) -> dict[int, str]:
    tokens = {token for step in trajectory.steps for token in step.state}
    return {token: legible(piece_label(trajectory.pieces.get(token, b""))) for token in tokens}


def _cell_characters(texts: Iterable[str]) -> int:
    """Return a cell width that nine in ten of the texts fit into, within bounds."""
    widths = sorted(columns_of(text) for text in texts)
    common = widths[len(widths) * 9 // 10] if widths else NARROWEST
    return min(max(NARROWEST, common), WIDEST)


def _names(lanes: Iterable[_Lane], view: str) -> list[str]:
    """Return the classes that occur, in their own order."""
    drawn = {name for lane in lanes for row in getattr(lane.annotation, view) for name in row}
    return [name for name in VIEW_CLASSES[view] if name in drawn]


def _heading(drawing: Drawing, theme: Theme, title: str, prompt: str) -> None:
    drawing.y = MARGIN + 16
    drawing.text(MARGIN, drawing.y, title, font_family=SANS, font_size=18, font_weight="bold", fill=theme.ink)
    drawing.y += 22
    room = int((drawing.width - 2 * MARGIN) / COLUMN)
    drawing.text(MARGIN, drawing.y, fitted(f"Prompt: {one_line(prompt, 400)}", room), fill=theme.muted)


def _legend(drawing: Drawing, theme: Theme, names: Iterable[str], cell: float) -> None:
    drawing.y += 16
    x = float(MARGIN)
    for name in names:
        label = CLASS_STYLES[name].label
        width = cell + columns_of(label) * COLUMN + 18
        if x + width > drawing.width - MARGIN:
            x, drawing.y = MARGIN, drawing.y + ROW + 4
        drawing.use(name, x, drawing.y)
        drawing.text(x + cell + 4, drawing.y + 16, label, fill=theme.ink)
        x += width
    if x + 160 > drawing.width - MARGIN:
        x, drawing.y = MARGIN, drawing.y + ROW + 4
    drawing.add("path", d=f"M{x + 4:g} {drawing.y:g}v{HEIGHT}", stroke=theme.ink, stroke_width=2.2)
    drawing.text(x + 12, drawing.y + 16, "known frontier", fill=theme.ink)
    drawing.y += ROW


def _lane(drawing: Drawing, theme: Theme, lane: _Lane, view: str, cell: float) -> None:
    drawing.y += 34
    label = one_line(LANE_LABELS.get(lane.key, lane.key))
    drawing.text(MARGIN, drawing.y, label, font_family=SANS, font_size=15, font_weight="bold", fill=theme.ink)
    for line in (*_facts(lane.trajectory), *_cut(lane)):
        drawing.y += 17
        drawing.text(MARGIN, drawing.y, line, fill=theme.muted)
    drawing.y += 4
    for band in lane.bands:
        _band(drawing, theme, lane, band, view, cell)


def _facts(trajectory: Trajectory) -> list[str]:
    """Return what a reader must know of a lane: the model, how it decoded, and what that took."""
    summary, config, model = summarize(trajectory), trajectory.config, trajectory.model
    name = one_line(f"{model.name} + {model.adapter}" if model.adapter else model.name, 60)
    decoder = config.decoder if window_size(trajectory) == 1 else f"{config.decoder}, n = {config.block_size}"
    lines = [
        f"{name}, {decoder}, {one_line(model.dtype, 20)} on {one_line(model.device_name or model.device, 40)}",
        f"{summary.tokens:,} tokens in {summary.passes:,} passes ({summary.tokens_per_pass:.2f} a pass), "
        f"{summary.seconds:.2f} s",
    ]
    return [*lines, "Stopped before its end: this run is partial."] if trajectory.partial else lines


def _cut(lane: _Lane) -> list[str]:
    drawn, passes = sum(len(band.passes) for band in lane.bands), len(lane.trajectory.steps)
    return [f"The first {drawn:,} of {passes:,} passes are drawn."] if drawn < passes else []


def _band(drawing: Drawing, theme: Theme, lane: _Lane, band: Band, view: str, cell: float) -> None:
    left, top = MARGIN + GUTTER, drawing.y + 22
    numbers = drawing.add("g", font_size=9, fill=theme.muted, text_anchor="middle")
    for column in range(band.columns):
        drawing.text(left + (column + 0.5) * cell - GAP / 2, top - 5, str(band.first + column), numbers)
    for row, number in enumerate(band.passes):
        _row(drawing, theme, lane, band, number, view, cell, top + row * ROW)
    _frontier(drawing, theme, lane, band, cell, top)
    drawing.y = top + len(band.passes) * ROW


def _row(
    drawing: Drawing, theme: Theme, lane: _Lane, band: Band, number: int, view: str, cell: float, y: float
) -> None:
    """Draw one pass: its number and gain, what earlier passes fixed, and a cell for each prediction."""
    step, ids = lane.trajectory.steps[number - 1], lane.trajectory.ids
    left = MARGIN + GUTTER
    drawing.text(left - 34, y + 16, str(number), fill=theme.ink, text_anchor="end")
    drawing.text(left - 8, y + 16, f"+{step.fixed - step.start}", fill=theme.muted, text_anchor="end", font_size=10)
    if step.start > band.first:
        width = (step.start - band.first) * cell - GAP
        drawing.add("rect", x=left, y=y, width=width, height=HEIGHT, fill=theme.earlier)
        earlier = drawing.add("g", fill=theme.muted)
        for position in range(band.first, step.start):
            _token(drawing, lane, ids[position], left + (position - band.first) * cell, y, earlier)
    cells = drawing.add("g", fill=theme.ink)
    names = getattr(lane.annotation, view)[number - 1]
    for position, (token, name) in enumerate(zip(step.state, names, strict=True), step.start):
        x = left + (position - band.first) * cell
        drawing.use(name, x, y, cells)
        _token(drawing, lane, token, x, y, cells)


def _token(drawing: Drawing, lane: _Lane, token: int, x: float, y: float, parent: ElementTree.Element) -> None:
    """Write a token into its cell; one that is too long keeps its whole text as a tooltip."""
    whole = lane.labels[token]
    short = fitted(whole, lane.characters)
    element = drawing.text(x + 5, y + 15, short, parent)
    if short != whole:
        drawing.add("title", element).text = whole


def _frontier(drawing: Drawing, theme: Theme, lane: _Lane, band: Band, cell: float, top: float) -> None:
    """Draw the known frontier as a staircase: behind it every token is fixed."""

    def x(position: int) -> float:
        return MARGIN + GUTTER + (min(position, band.end) - band.first) * cell - GAP / 2

    steps = lane.trajectory.steps
    path = [f"M{x(steps[band.passes[0] - 1].start):.1f} {top - GAP / 2:.1f}"]
    for row, number in enumerate(band.passes, 1):
        path.append(f"H{x(steps[number - 1].fixed):.1f}V{top + row * ROW - GAP / 2:.1f}")
    drawing.add("path", d="".join(path), fill="none", stroke=theme.ink, stroke_width=2.2, stroke_linejoin="round")
