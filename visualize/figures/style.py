"""How every figure looks: Okabe-Ito colours, transparent ground, text that reads on light, dark and paper.

Also the one way in which text of users enters a figure: `escaped`.
"""

import html
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import plotly.graph_objects as go

from cllm_core.types import Trajectory
from visualize.labels import one_line, piece_label
from visualize.themes import THEMES
from visualize.view import LANE_LABELS

INK = "#787878"  # as far from white as from the app's dark ground: a contrast of 4 to 1 on both
GRID = "rgba(128, 128, 128, 0.3)"


@dataclass(frozen=True)
class LaneStyle:
    """A lane's look: colour, dash, marker and pattern each tell it apart, so that it also reads in grey print."""

    colour: str
    dash: str
    marker: str
    pattern: str

    @property
    def bar(self) -> dict[str, object]:
        """The fill of the lane's bars."""
        pattern = {"shape": self.pattern, "fillmode": "overlay", "fgcolor": "white", "fgopacity": 0.6, "size": 7}
        return {"color": self.colour, "pattern": pattern, "line": {"color": self.colour, "width": 1}}


LANE_STYLES = {
    "base_ar": LaneStyle("#0072B2", "dot", "circle", ""),
    "base_jacobi": LaneStyle("#D55E00", "dash", "square", "/"),
    "cllm_jacobi": LaneStyle("#009E73", "solid", "diamond", "x"),
    "cllm_ar": LaneStyle("#CC79A7", "dashdot", "triangle-up", "."),
}


def lane_styles(keys: Iterable[str]) -> dict[str, LaneStyle]:
    """Return a style per lane: the known lanes keep theirs in every figure, others take what is left, in order."""
    keys = list(keys)
    free = [style for name, style in LANE_STYLES.items() if name not in keys]
    every = list(LANE_STYLES.values())
    styles = {}
    for number, key in enumerate(keys):
        styles[key] = LANE_STYLES.get(key) or (free.pop(0) if free else every[number % len(every)])
    return styles


def lane_label(key: str) -> str:
    """Return the escaped name of a lane."""
    return escaped(LANE_LABELS.get(key, key))


def escaped(text: str, limit: int = 80) -> str:
    """Return text of users as a label that Plotly shows literally.

    Plotly reads a subset of HTML in every label, %{…} in templates, and TeX between dollar signs where it has MathJax.
    """
    return _literal(one_line(text, limit))


def escaped_piece(piece: bytes, limit: int = 40) -> str:
    """Return a token piece as a label that Plotly shows literally, whitespace made visible."""
    return _literal(piece_label(piece, limit))


def _literal(label: str) -> str:
    return html.escape(label).replace("$", "&#36;").replace("%{", "&#37;{")


def styled(figure: go.Figure, title: str, notes: Iterable[str] = (), plot_height: int = 300) -> go.Figure:
    """Give the figure its title, the common look, and under the plot the notes (of what was left out, say).

    `plot_height` is that of the panels, in pixels; title, legend, axis and notes stand around it.
    """
    notes = list(notes)
    top, bottom = 104, 66 + 18 * len(notes)
    height = plot_height + top + bottom
    figure.update_layout(
        height=height,
        title={"text": title, "x": 0.5, "xanchor": "center", "yref": "container", "y": 1 - 14 / height,
               "yanchor": "top", "font": {"size": 17}},
        template="none",
        paper_bgcolor="rgba(0, 0, 0, 0)",
        plot_bgcolor="rgba(0, 0, 0, 0)",
        font={"color": INK, "size": 13, "family": "Helvetica, Arial, sans-serif"},
        legend={"orientation": "h", "yref": "container", "y": 1 - 44 / height, "yanchor": "top", "x": 0.5,
                "xanchor": "center"},
        margin={"t": top, "r": 24, "b": bottom, "l": 64},
        hoverlabel={"namelength": -1},
    )  # fmt: skip
    axis = {"gridcolor": GRID, "zerolinecolor": GRID, "linecolor": INK, "tickcolor": INK, "automargin": True}
    figure.update_xaxes(title_standoff=10)
    figure.update_xaxes(**axis)
    figure.update_yaxes(**axis)
    for number, note in enumerate(notes):
        figure.add_annotation(
            text=note, showarrow=False, xref="paper", yref="paper", x=0, y=0, xanchor="left", yanchor="top",
            yshift=-50 - 18 * number, font={"size": 12},
        )  # fmt: skip
    return figure


def themed(figure: go.Figure, theme: str) -> go.Figure:
    """Return a copy for one ground, in place of the transparent one: light, dark or print."""
    colours = THEMES[theme]
    copy = go.Figure(figure)
    copy.update_layout(paper_bgcolor=colours.ground, plot_bgcolor=colours.ground, font={"color": colours.ink})
    copy.update_xaxes(linecolor=colours.muted, tickcolor=colours.muted)
    copy.update_yaxes(linecolor=colours.muted, tickcolor=colours.muted)
    return copy


def run_notes(lanes: Mapping[str, Trajectory]) -> list[str]:
    """Return a note for each partial lane."""
    return [
        f"{lane_label(key)}: stopped after {len(trajectory.steps):,} passes, so this run is partial."
        for key, trajectory in lanes.items()
        if trajectory.partial
    ]
