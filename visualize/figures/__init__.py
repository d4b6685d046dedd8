"""Plotly figures of runs, as pure functions. The only package that imports plotly."""

from visualize.figures.progress import progress_figure

__all__ = ["progress_figure"]
