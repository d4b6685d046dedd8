"""Saves a run: EXPORTERS has one row a format, each a function of the lanes that returns the file's bytes.

Works from trajectories alone; needs no model, no tokenizer and no gradio.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cllm_core.errors import ExportError
from cllm_core.io import dumps_run
from cllm_core.types import Trajectory
from visualize.exports.cells_csv import export_csv, read_csv_cells
from visualize.exports.gif import export_gif
from visualize.exports.names import export_name
from visualize.exports.options import ExportOptions
from visualize.exports.plotly_files import export_figures
from visualize.exports.raster import export_png
from visualize.exports.svg import export_svg
from visualize.page import standalone_page
from visualize.phrases import table_for
from visualize.view import player_props

__all__ = ["EXPORTERS", "ExportOptions", "Exporter", "export", "export_name", "read_csv_cells"]


@dataclass(frozen=True)
class Exporter:
    """A format: what a file of it is called, what it is, and how it is made."""

    extension: str
    media_type: str
    help: str
    write: Callable[[Mapping[str, Trajectory], ExportOptions], bytes]
    uses: frozenset[str] = frozenset({"lane"})  # the options that change it
    suffix: str = ""  # of the file's name, where another format has the same extension

    @property
    def ending(self) -> str:
        """The end of a file's name."""
        return f"{self.suffix}.{self.extension}"


def export_json(lanes: Mapping[str, Trajectory], options: ExportOptions) -> bytes:
    """Return the run as strict JSON, lossless: `cllm_core.io.loads_run` reads it back."""
    return (dumps_run(lanes) + "\n").encode("utf-8")


def export_html(lanes: Mapping[str, Trajectory], options: ExportOptions) -> bytes:
    """Return one page with the player in it: works offline, from a file, with no outside request."""
    title = options.title or "Decoding, pass by pass"
    props = player_props(lanes, title=title, table=table_for(lanes))
    if options.view != "hindsight":
        props["open"] = {"view": options.view}
    return standalone_page(props, title).encode("utf-8", "replace")


_HTML = "text/html; charset=utf-8"
_PICTURE = frozenset({"lane", "title", "view", "passes", "theme"})
_ANIMATION = _PICTURE | {"font", "clock", "speed"}
_PAGE, _FIGURES = frozenset({"lane", "title", "view"}), frozenset({"lane", "title", "theme"})
EXPORTERS: dict[str, Exporter] = {
    "json": Exporter("json", "application/json", "Everything, lossless; can be loaded back.", export_json),
    "csv": Exporter("csv", "text/csv; charset=utf-8", "One row a cell, for a spreadsheet or pandas.", export_csv),
    "html": Exporter("html", _HTML, "The player in one file; works offline.", export_html, _PAGE),
    "svg": Exporter("svg", "image/svg+xml", "The grid as a vector picture, for a paper.", export_svg, _PICTURE),
    "png": Exporter(
        "png", "image/png", "The grid as pixels; long runs are cut, with a note.", export_png, _PICTURE | {"font"}
    ),
    "gif": Exporter("gif", "image/gif", "The race of the lanes, animated.", export_gif, _ANIMATION),
    "figures": Exporter(
        "html", _HTML, "All figures on one page; works offline.", export_figures, _FIGURES, suffix="-figures"
    ),
}


def exporter_of(format: str) -> Exporter:
    """Return what writes a format; ExportError if there is no such format."""
    if format not in EXPORTERS:
        raise ExportError(f"There is no export format {format!r}: choose one of {', '.join(EXPORTERS)}.")
    return EXPORTERS[format]


def export(lanes: Mapping[str, Trajectory], format: str, options: ExportOptions | None = None) -> bytes:
    """Return the run as a file of the format; ExportError if there is no such format, no such lane or no run."""
    options = options or ExportOptions()
    exporter = exporter_of(format)
    if not lanes:
        raise ExportError("There is nothing to save yet: run a prompt or load a trajectory first.")
    if options.lane and options.lane not in lanes:
        raise ExportError(f"This run has no lane {options.lane!r}: choose one of {', '.join(lanes)}.")
    chosen = {options.lane: lanes[options.lane]} if options.lane else lanes
    return exporter.write(chosen, options)
