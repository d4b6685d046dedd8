"""The speedup of each prompt, over a saved comparison (the JSON that the compare command writes)."""

from collections.abc import Mapping
from statistics import fmean
from typing import Any

import plotly.graph_objects as go

from cllm_core.errors import FormatError
from visualize.figures.style import INK, escaped, lane_label, lane_styles, styled

BASELINE = "base_ar"
MOST_PROMPTS = 2_000
MOST_SPEEDUP = 1e12


def speedup_figure(comparison: Mapping[str, Any]) -> go.Figure:
    """Return speedup over one-at-a-time decoding of the base model, a dot per prompt and lane, in the file's order.

    `comparison` is {"pair", "prompts": [{"prompt", "lanes": {lane: {"speedup", "tokens_per_pass", ...}}}]}; a lane
    whose speedup was not measured (null) has no dot. FormatError if it is no comparison, or nothing was measured.
    """
    prompts = _prompts(comparison)
    shown = prompts[:MOST_PROMPTS]
    measured = [(number, row, key) for number, row in enumerate(shown, 1) for key in row["lanes"] if _timed(row, key)]
    if not measured:
        raise FormatError("This comparison has no speedup: compare with the base_ar lane and another one.")
    figure = go.Figure()
    for key, style in lane_styles(dict.fromkeys(key for _, _, key in measured)).items():
        rows = [(number, row) for number, row, lane in measured if lane == key]
        speedups = [row["lanes"][key]["speedup"] for _, row in rows]
        figure.add_trace(
            go.Scatter(
                x=[number for number, _ in rows],
                y=speedups,
                mode="markers",
                customdata=[[escaped(row["prompt"], 60), *_details(row["lanes"][key])] for _, row in rows],
                hovertemplate="%{y:.2f}x, %{customdata[1]} tokens per pass<br>%{customdata[2]}<br>%{customdata[0]}",
                name=f"{lane_label(key)}: mean {fmean(speedups):.2f}x",
                marker={"color": style.colour, "symbol": style.marker, "size": 9},
            )
        )
        figure.add_hline(y=fmean(speedups), line={"color": style.colour, "dash": style.dash, "width": 1.5})
    figure.add_hline(y=1, line={"color": INK, "width": 1}, annotation_text="one token at a time")
    figure.update_xaxes(title="Prompt", rangemode="tozero")
    figure.update_yaxes(title="Speedup (wall-clock, times)", rangemode="tozero")
    title = f"Speedup by prompt, {escaped(str(comparison.get('pair') or 'models'), 40)}"
    return styled(figure, title, _notes(comparison, len(shown), len(prompts)))


def _prompts(comparison: Any) -> list[Any]:
    """Return the rows of a comparison, or raise FormatError."""
    problem = "This is not a saved comparison: write one with the compare command and its --json option."
    rows = comparison.get("prompts") if isinstance(comparison, Mapping) else None
    if not isinstance(rows, list) or not rows:
        raise FormatError(problem)
    for number, row in enumerate(rows, 1):
        lanes = row.get("lanes") if isinstance(row, Mapping) else None
        if not isinstance(lanes, Mapping) or not isinstance(row.get("prompt"), str):
            raise FormatError(f"{problem} Prompt {number} has no lanes.")
        for key, lane in lanes.items():
            if not isinstance(lane, Mapping) or not _usable(lane.get("speedup")):
                raise FormatError(f"{problem} Prompt {number}, lane {key!r} has no usable speedup.")
    return rows


def _usable(speedup: Any) -> bool:
    if speedup is None:
        return True
    return isinstance(speedup, int | float) and not isinstance(speedup, bool) and 0 <= speedup <= MOST_SPEEDUP


def _timed(row: Mapping[str, Any], key: str) -> bool:
    return key != BASELINE and row["lanes"][key].get("speedup") is not None


def _details(lane: Mapping[str, Any]) -> tuple[str, str]:
    tokens, same = lane.get("tokens_per_pass"), lane.get("equals_ar")
    told = {True: "same tokens as one at a time", False: "other tokens than one at a time"}
    return (
        f"{tokens:.2f}" if isinstance(tokens, (int, float)) else "?",
        told[same] if isinstance(same, bool) else "not compared",
    )


def _notes(comparison: Mapping[str, Any], shown: int, total: int) -> list[str]:
    machine = ", ".join(escaped(str(comparison[key]), 40) for key in ("device", "dtype") if comparison.get(key))
    cut = [f"The first {shown:,} of {total:,} prompts are drawn."] if shown < total else []
    return [*([f"Measured on {machine}."] if machine else []), *cut]
