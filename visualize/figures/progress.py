"""Figures of how a run got on: tokens fixed against passes and against seconds."""

from collections.abc import Mapping
from itertools import accumulate

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from cllm_core.types import Trajectory
from visualize.figures.style import LaneStyle, lane_label, lane_styles, run_notes, styled

MARKED_PASSES = 60  # above this many passes markers would cover the line


def progress_figure(lanes: Mapping[str, Trajectory]) -> go.Figure:
    """Return tokens fixed against passes (left) and against seconds (right), all lanes in both.

    The seconds are the passes' own, added up: the prefill is the first. A lane starts at zero tokens.
    """
    figure = make_subplots(cols=2, shared_yaxes=True, horizontal_spacing=0.06)
    styles = lane_styles(lanes)
    for number, (key, trajectory) in enumerate(lanes.items()):
        fixed = [0, *(step.fixed for step in trajectory.steps)]
        seconds = [0.0, *accumulate(step.seconds for step in trajectory.steps)]
        passes = list(range(len(fixed)))
        hover = "%{y} tokens after pass %{customdata[0]}, %{customdata[1]:.3f} s"
        rows = list(zip(passes, seconds, strict=True))
        for column, x in enumerate((passes, seconds), 1):
            figure.add_trace(
                go.Scatter(
                    x=x,
                    y=fixed,
                    customdata=rows,
                    hovertemplate=hover,
                    name=lane_label(key),
                    legendgroup=str(number),
                    showlegend=column == 1,
                    **_line(styles[key], len(passes)),
                ),
                row=1,
                col=column,
            )
    # in two lines, so that the titles of both panels fit side by side on a phone
    figure.update_xaxes(title="Forward passes,<br>prefill included", rangemode="tozero", row=1, col=1)
    figure.update_xaxes(title="Wall-clock (s)", rangemode="tozero", row=1, col=2)
    figure.update_yaxes(title="Tokens fixed", rangemode="tozero", row=1, col=1)
    return styled(figure, "Tokens fixed, by pass and by time", run_notes(lanes))


def _line(style: LaneStyle, points: int) -> dict[str, object]:
    """Return a staircase: nothing is fixed until a pass ends."""
    return {
        "mode": "lines+markers" if points <= MARKED_PASSES else "lines",
        "line": {"color": style.colour, "dash": style.dash, "width": 2.5, "shape": "hv"},
        "marker": {"symbol": style.marker, "size": 7},
    }
