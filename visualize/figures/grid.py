"""The token-state heatmap: iteration by position, one panel a lane, one colour a class."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from cllm_core.annotate import annotate
from cllm_core.types import Step, Trajectory
from visualize.classes import CLASS_STYLES, VIEW_CLASSES
from visualize.figures.style import escaped_piece, lane_label, run_notes, styled

GRID_CELLS = 300_000  # of all panels together; 512 passes x 512 tokens fit, 2,000 x 200 do not
HOVER_CELLS = 40_000  # above this many no token text is attached
GLYPH_SIDE = 64  # a panel with more passes or positions than this has no room for glyphs
ROW_PIXELS, PANEL_PIXELS = 16, 760  # height of a row, and of a panel at most

# Values of places that the pass did not predict: nothing is there yet, or a token fixed by an earlier pass. The
# classes of the view come after them. From zero up: the packed array then has no signs that JSON escapes at length.
EMPTY, EARLIER, FIRST_CLASS = 0, 1, 2
_PLACE_COLOURS = ["rgba(0, 0, 0, 0)", "rgba(0, 114, 178, 0.25)"]


def state_figure(lanes: Mapping[str, Trajectory], view: str = "hindsight") -> go.Figure:
    """Return a heatmap of token classes: passes downwards, positions to the right, the lanes one above the other.

    Cells lie by position, so that repeated tokens never merge. A place before the window was fixed earlier and is
    pale; a place after it is empty. Large runs are cut to their first passes, with a note.
    """
    budget = GRID_CELLS // max(1, len(lanes))
    shown = {key: _passes_within(trajectory, budget) for key, trajectory in lanes.items()}
    sizes = {key: shown[key] * _extent(trajectory, shown[key]) for key, trajectory in lanes.items()}
    total = sum(sizes.values())
    glyphs = all(max(shown[key], _extent(lanes[key], shown[key])) <= GLYPH_SIDE for key in lanes)
    figure, height = _panels(lanes, shown)
    for row, (key, trajectory) in enumerate(lanes.items(), 1):
        heatmap = _heatmap(trajectory, shown[key], view, words=total <= HOVER_CELLS, glyphs=glyphs)
        figure.add_trace(heatmap, row=row, col=1)
        figure.update_yaxes(title="Pass", autorange="reversed", dtick=_tick(shown[key]), tick0=1, row=row, col=1)
    figure.update_xaxes(title="Position (generated tokens)", row=max(1, len(lanes)), col=1)
    for trace in _legend(view, lanes):
        figure.add_trace(trace, row=1, col=1)
    notes = [*_cut_notes(lanes, shown), *([] if total <= HOVER_CELLS else [_HOVER_NOTE]), *run_notes(lanes)]
    name = {"hindsight": "in hindsight", "known": "as known then"}[view]
    styled(figure, f"Token states, {name}", notes, plot_height=height)
    figure.update_xaxes(showgrid=False, zeroline=False)
    figure.update_yaxes(showgrid=False, zeroline=False)
    return figure


def _panels(lanes: Mapping[str, Trajectory], shown: Mapping[str, int]) -> tuple[go.Figure, int]:
    """Return an empty figure with a panel a lane, in proportion to their passes, and the height of them all."""
    heights = [max(60, min(ROW_PIXELS * passes, PANEL_PIXELS)) for passes in shown.values()] or [60]
    between = 40  # pixels, for the next panel's title
    height = sum(heights) + between * (len(heights) - 1)
    figure = make_subplots(
        rows=len(heights),
        shared_xaxes="all",
        row_heights=heights,
        vertical_spacing=between / height,
        subplot_titles=[lane_label(key) for key in lanes],
    )
    return figure, height


_HOVER_NOTE = f"Hover text leaves out the tokens above {HOVER_CELLS:,} cells; the CSV export holds them all."


def _extent(trajectory: Trajectory, passes: int) -> int:
    """Return how many positions the first passes reach."""
    return max((step.start + len(step.state) for step in trajectory.steps[:passes]), default=0)


def _passes_within(trajectory: Trajectory, cells: int) -> int:
    """Return how many first passes fit into a grid of at most `cells` places."""
    widest = 0
    for number, step in enumerate(trajectory.steps, 1):
        widest = max(widest, step.start + len(step.state))
        if number * widest > cells:
            return number - 1
    return len(trajectory.steps)


def _cut_notes(lanes: Mapping[str, Trajectory], shown: Mapping[str, int]) -> list[str]:
    return [
        f"{lane_label(key)}: the first {shown[key]:,} of {len(trajectory.steps):,} passes are drawn."
        for key, trajectory in lanes.items()
        if shown[key] < len(trajectory.steps)
    ]


def _tick(passes: int) -> int:
    """Return a whole distance between ticks that leaves at most about ten of them."""
    return max(1, *(step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500) if step * 10 <= max(10, passes)))


def _heatmap(trajectory: Trajectory, passes: int, view: str, *, words: bool, glyphs: bool) -> go.Heatmap:
    classes = VIEW_CLASSES[view]
    annotation = annotate(trajectory)
    shape = passes, _extent(trajectory, passes)
    z = np.full(shape, EMPTY, dtype=np.uint8)  # one byte a place keeps large figures small
    glyph, label = (np.full(shape, "", dtype=object) for _ in range(2))
    earlier = [f"{escaped_piece(trajectory.pieces.get(token, b''))}, fixed earlier" for token in trajectory.ids]
    for t, step in enumerate(trajectory.steps[:passes]):
        names = getattr(annotation, view)[t]
        window = slice(step.start, step.start + len(step.state))
        z[t, : step.start] = EARLIER
        z[t, window] = [FIRST_CLASS + classes.index(name) for name in names]
        if glyphs:
            glyph[t, window] = [CLASS_STYLES[name].glyph for name in names]
        if words:
            label[t, : step.start] = earlier[: step.start]
            label[t, window] = [_hover(trajectory, step, column, name) for column, name in enumerate(names)]
    return go.Heatmap(
        z=z,
        x=np.arange(shape[1]),
        y=np.arange(1, passes + 1),
        zmin=EMPTY - 0.5,
        zmax=FIRST_CLASS + len(classes) - 0.5,
        colorscale=_steps([*_PLACE_COLOURS, *(CLASS_STYLES[name].colour for name in classes)]),
        showscale=False,
        xgap=1 if glyphs else 0,
        ygap=1 if glyphs else 0,
        text=glyph if glyphs else None,
        texttemplate="%{text}" if glyphs else None,
        customdata=label if words else None,
        hovertemplate="pass %{y}, position %{x}" + ("<br>%{customdata}" if words else "") + "<extra></extra>",
    )


def _hover(trajectory: Trajectory, step: Step, column: int, name: str) -> str:
    token = step.state[column]
    chance = f", probability {step.probabilities[column]:.3f}" if step.probabilities else ""
    return f"{escaped_piece(trajectory.pieces.get(token, b''))} (id {token}), {CLASS_STYLES[name].label}{chance}"


def _steps(colours: Sequence[str]) -> list[tuple[float, str]]:
    """Return a colour scale of equal steps, without blends."""
    count = len(colours)
    return [(edge / count, colour) for number, colour in enumerate(colours) for edge in (number, number + 1)]


def _legend(view: str, lanes: Mapping[str, Trajectory]) -> list[go.Scatter]:
    """Return empty traces that put the classes into the legend: a heatmap has none of its own."""
    partial = any(trajectory.partial for trajectory in lanes.values())
    styles = [CLASS_STYLES[name] for name in VIEW_CLASSES[view] if name != "unknown" or partial]
    entries = [(f"{style.glyph} {style.label}", style.colour) for style in styles]
    return [
        go.Scatter(
            x=[None],
            y=[None],
            mode="markers",
            name=name,
            marker={"symbol": "square", "size": 12, "color": colour},
            hoverinfo="skip",
        )
        for name, colour in [*entries, ("fixed by an earlier pass", _PLACE_COLOURS[1])]
    ]
