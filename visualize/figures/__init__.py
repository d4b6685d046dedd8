"""Plotly figures of runs and of comparisons, as pure functions. The only package that imports plotly.

FIGURES has one row a figure; those of a run take its lanes, those of a comparison the compare command's JSON.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import plotly.graph_objects as go

from visualize.figures.comparison import speedup_figure
from visualize.figures.convergence import confidence_figure, convergence_figure
from visualize.figures.counts import blocks_figure, gains_figure
from visualize.figures.grid import state_figure
from visualize.figures.progress import progress_figure
from visualize.figures.style import themed

__all__ = [
    "FIGURES",
    "FigureKind",
    "blocks_figure",
    "confidence_figure",
    "convergence_figure",
    "gains_figure",
    "progress_figure",
    "speedup_figure",
    "state_figure",
    "themed",
]


@dataclass(frozen=True)
class FigureKind:
    """One figure: its name in a menu, what it is drawn from, and the function that draws it."""

    label: str
    source: Literal["run", "comparison"]
    draw: Callable[[Any], go.Figure]


FIGURES: dict[str, FigureKind] = {
    "progress": FigureKind("Tokens fixed, by pass and by time", "run", progress_figure),
    "states": FigureKind("Token states in hindsight", "run", state_figure),
    "known_states": FigureKind("Token states as known then", "run", partial(state_figure, view="known")),
    "gains": FigureKind("Tokens gained per pass", "run", gains_figure),
    "blocks": FigureKind("Fast-forwarded and stationary per block", "run", blocks_figure),
    "convergence": FigureKind("Convergence", "run", convergence_figure),
    "confidence": FigureKind("Probability of the final token", "run", confidence_figure),
    "speedup": FigureKind("Speedup by prompt", "comparison", speedup_figure),
}
