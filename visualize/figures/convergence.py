"""Figures of how states approach the output: share of positions right, and probability of the final token."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, quantiles

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from cllm_core.metrics import window_size
from cllm_core.types import Step, Trajectory
from visualize.figures.style import lane_label, lane_styles, run_notes, styled


def convergence_figure(lanes: Mapping[str, Trajectory]) -> go.Figure:
    """Return the share of positions that hold their final token: of the output by pass, of a block by iteration.

    Right panel: iteration 0 is the block's draft; mean over the lane's complete blocks, a finished block counts as
    all right. A sliding window and one-at-a-time decoding have no blocks there.
    """
    panels = ["Whole output", "Within a block, mean over blocks"]
    figure = make_subplots(cols=2, shared_yaxes=True, horizontal_spacing=0.06, subplot_titles=panels)
    styles = lane_styles(lanes)
    for number, (key, trajectory) in enumerate(lanes.items()):
        for column, shares in enumerate((output_shares(trajectory), block_shares(trajectory)), 1):
            figure.add_trace(
                go.Scatter(
                    x=list(range(len(shares))),
                    y=[100 * share for share in shares],
                    mode="lines",
                    hovertemplate="%{x}: %{y:.1f} % right",
                    name=lane_label(key),
                    legendgroup=str(number),
                    showlegend=column == 1,
                    line={"color": styles[key].colour, "dash": styles[key].dash, "width": 2.5},
                ),
                row=1,
                col=column,
            )
    figure.update_xaxes(title="Forward passes, prefill included", rangemode="tozero", row=1, col=1)
    figure.update_xaxes(title="Iterations, 0 is the draft", rangemode="tozero", row=1, col=2)
    figure.update_yaxes(title="Positions right (%)", range=[0, 103], row=1, col=1)
    return styled(figure, "Convergence: positions that hold their final token", run_notes(lanes))


def output_shares(trajectory: Trajectory) -> list[float]:
    """Return, for the first draft and after each pass, the share of output positions that hold their final token."""
    if not trajectory.ids:
        return []
    draft = _right(trajectory.steps[0].draft, 0, trajectory.ids, len(trajectory.ids))
    right = [step.start + _right(step.state, step.start, trajectory.ids, None) for step in trajectory.steps]
    return [count / len(trajectory.ids) for count in (draft, *right)]


def block_shares(trajectory: Trajectory) -> list[float]:
    """Return, for iteration 0 (the draft), 1, ... of a block, the share of its positions right, mean over blocks."""
    size = window_size(trajectory)
    if size == 1 or trajectory.config.window != "block":
        return []
    rows = []
    for first in range(0, len(trajectory.ids), size):
        end = min(first + size, len(trajectory.ids))
        steps = [step for step in trajectory.steps if first <= step.start < end]
        if steps and steps[-1].fixed >= end and (end - first == size or not trajectory.partial):
            rows.append(_block_row(steps, trajectory.ids, first, end))
    longest = max(map(len, rows), default=0)
    padded = [[*row, *[1.0] * (longest - len(row))] for row in rows]
    return [fmean(column) for column in zip(*padded, strict=True)]


def _block_row(steps: Sequence[Step], ids: Sequence[int], first: int, end: int) -> list[float]:
    draft = steps[0].start - first + _right(steps[0].draft, steps[0].start, ids, end)
    right = [step.start - first + _right(step.state, step.start, ids, end) for step in steps]
    return [count / (end - first) for count in (draft, *right)]


def _right(tokens: Iterable[int], start: int, ids: Sequence[int], end: int | None) -> int:
    """Return how many of the tokens at positions `start`, ... (before `end`) are the output's."""
    return sum(token == final for token, final in zip(tokens, ids[start:end], strict=False))


def confidence_figure(lanes: Mapping[str, Trajectory]) -> go.Figure:
    """Return the probability of the final token over the iterations before it was fixed: mean and middle half.

    Taken from the recorded predictions and candidates; a final token that was not among them counts as 0, so the
    lines are lower bounds.
    """
    figure = go.Figure()
    styles = lane_styles(lanes)
    notes = ["A final token outside the recorded candidates counts as 0: the lines are lower bounds."]
    for number, (key, trajectory) in enumerate(lanes.items()):
        chances = final_token_probabilities(trajectory)
        if not chances:
            notes.append(f"{lane_label(key)}: no probabilities were recorded.")
            continue
        x = sorted(chances, reverse=True)
        colour, label = styles[key].colour, lane_label(key)
        low, high = zip(*(_middle_half(chances[left]) for left in x), strict=True)
        common = {"x": x, "legendgroup": str(number), "mode": "lines"}
        hidden = {"line": {"width": 0}, "showlegend": False, "hoverinfo": "skip"}
        figure.add_trace(go.Scatter(y=high, **common, **hidden))
        figure.add_trace(go.Scatter(y=low, fill="tonexty", fillcolor=_tint(colour), **common, **hidden))
        figure.add_trace(
            go.Scatter(
                y=[fmean(chances[left]) for left in x],
                customdata=[len(chances[left]) for left in x],
                hovertemplate="%{x} passes before: mean %{y:.3f} over %{customdata} positions",
                name=label,
                line={"color": colour, "dash": styles[key].dash, "width": 2.5},
                **common,
            )
        )
    figure.update_xaxes(title="Passes until the token is fixed (0: the pass that fixes it)", autorange="reversed")
    figure.update_yaxes(title="Probability of the final token", range=[0, 1.02])
    return styled(figure, "Probability of the final token, as it nears", [*notes, *run_notes(lanes)])


def final_token_probabilities(trajectory: Trajectory) -> dict[int, list[float]]:
    """Return {passes until fixed: probability of the final token at each position that far from being fixed}.

    Empty when the run recorded no probabilities.
    """
    fixed_by = {p: t for t, step in enumerate(trajectory.steps) for p in range(step.start, step.fixed)}
    chances: dict[int, list[float]] = defaultdict(list)
    for t, step in enumerate(trajectory.steps):
        for column in range(len(step.probabilities)):
            position = step.start + column
            if position < len(trajectory.ids):
                chances[fixed_by[position] - t].append(_probability(step, column, trajectory.ids[position]))
    return dict(chances)


def _probability(step: Step, column: int, token: int) -> float:
    if step.state[column] == token:
        return step.probabilities[column]
    return dict(step.top[column]).get(token, 0.0) if step.top else 0.0


def _middle_half(values: Sequence[float]) -> tuple[float, float]:
    if len(values) == 1:
        return values[0], values[0]
    low, _, high = quantiles(values, n=4, method="inclusive")
    return low, high


def _tint(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, 0.18)"
