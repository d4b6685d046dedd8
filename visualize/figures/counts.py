"""Figures of how tokens came: gained per pass, fast-forwarded and stationary per block."""

from collections import Counter
from collections.abc import Mapping

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from cllm_core.metrics import window_size
from cllm_core.types import Trajectory
from visualize.cells import lane_cells
from visualize.figures.style import lane_label, lane_styles, run_notes, styled


def gains_figure(lanes: Mapping[str, Trajectory]) -> go.Figure:
    """Return the distribution of tokens gained per pass: the share of a lane's passes that fixed 1, 2, ... tokens."""
    figure = go.Figure()
    styles = lane_styles(lanes)
    for key, trajectory in lanes.items():
        gains = Counter(step.fixed - step.start for step in trajectory.steps)
        sizes = sorted(gains)
        figure.add_trace(
            go.Bar(
                x=sizes,
                y=[100 * gains[size] / len(trajectory.steps) for size in sizes],
                customdata=[gains[size] for size in sizes],
                hovertemplate="%{x} tokens: %{customdata} passes (%{y:.1f} %)",
                name=f"{lane_label(key)}: mean {_mean_gain(trajectory):.2f}",
                marker=styles[key].bar,
            )
        )
    figure.update_layout(barmode="group", bargap=0.2)
    figure.update_xaxes(title="Tokens fixed by one pass", dtick=1, rangemode="tozero")
    figure.update_yaxes(title="Share of the lane's passes (%)", rangemode="tozero")
    return styled(figure, "Tokens gained per pass", run_notes(lanes))


def _mean_gain(trajectory: Trajectory) -> float:
    return len(trajectory.ids) / max(1, len(trajectory.steps))


def blocks_figure(lanes: Mapping[str, Trajectory]) -> go.Figure:
    """Return fast-forwarded (left) and stationary (right) positions per block of n output tokens.

    A position counts once, in the block it lies in. Lanes that decode one token at a time have no blocks and are left
    out, with a note.
    """
    figure = make_subplots(
        cols=2, shared_yaxes=True, horizontal_spacing=0.06, subplot_titles=["Fast-forwarded", "Stationary"]
    )
    styles = lane_styles(lanes)
    blocked = {key: trajectory for key, trajectory in lanes.items() if window_size(trajectory) > 1}
    for number, (key, trajectory) in enumerate(blocked.items()):
        size = window_size(trajectory)
        for column, name in enumerate(("fast_forwarded", "stationary"), 1):
            counts = positions_per_block(trajectory, name)
            figure.add_trace(
                go.Bar(
                    x=list(range(1, len(counts) + 1)),
                    y=counts,
                    hovertemplate="block %{x}: %{y} positions",
                    name=f"{lane_label(key)} (n = {size})",
                    legendgroup=str(number),
                    showlegend=column == 1,
                    marker=styles[key].bar,
                ),
                row=1,
                col=column,
            )
    figure.update_layout(barmode="group", bargap=0.2)
    figure.update_xaxes(title="Block of n output tokens")
    figure.update_yaxes(title="Positions, each counted once", rangemode="tozero", row=1, col=1)
    notes = [
        f"{lane_label(key)}: decodes one token at a time, so it has no blocks." for key in lanes if key not in blocked
    ]
    return styled(figure, "Fast-forwarded and stationary positions per block", [*notes, *run_notes(lanes)])


def positions_per_block(trajectory: Trajectory, name: str) -> list[int]:
    """Return, per block of n output tokens, how many of its positions were ever of a hindsight class."""
    size = window_size(trajectory)
    positions = {cell.position for cell in lane_cells("", trajectory) if cell.hindsight == name}
    counts = Counter(position // size for position in positions)
    return [counts[block] for block in range(-(-len(trajectory.ids) // size))]
