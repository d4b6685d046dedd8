"""Plotly figures as files: a page that works offline, and PNG or SVG where Kaleido and a browser are there."""

import base64
import hashlib
import html
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from cllm_core.errors import ExportError
from cllm_core.types import Trajectory
from visualize.exports.kaleido_worker import TIMED_OUT
from visualize.exports.options import ExportOptions
from visualize.figures import FIGURES, themed
from visualize.labels import one_line
from visualize.themes import THEMES

SECONDS = 20.0  # for a picture; most machines take about four
WIDTH, SCALE = 1000, 2
INSTEAD = "save it as HTML instead"


def export_figures(lanes: Mapping[str, Trajectory], options: ExportOptions) -> bytes:
    """Return every figure of a run on one page."""
    figures = [kind.draw(lanes) for kind in FIGURES.values() if kind.source == "run"]
    return figures_page(figures, options.title or "Figures of a run", options.theme)


def figures_page(figures: list[go.Figure], title: str, theme: str = "light") -> bytes:
    """Return one page that draws the figures offline, from a file; Plotly's script is in it (about 5 MB)."""
    colours = THEMES[theme]
    data = ",".join(themed(figure, theme).to_json() for figure in figures).replace("<", "\\u003c")
    library, start = get_plotlyjs(), _START
    policy = f"default-src 'none'; script-src {_hash(library)} {_hash(start)}; style-src 'unsafe-inline'"
    name = html.escape(one_line(title))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}; img-src data: blob:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{name}</title>
<style>
body {{ margin: 1.5rem; color: {colours.ink}; background: {colours.ground}; }}
body {{ font-family: Helvetica, Arial, sans-serif; }}
main {{ max-width: 1100px; margin: auto; }}
section {{ margin-bottom: 2rem; }}
</style>
</head>
<body>
<main>
<h1>{name}</h1>
</main>
<script type="application/json" id="figures">[{data}]</script>
<script>{library}</script>
<script>{start}</script>
</body>
</html>
""".encode("utf-8", "replace")


_START = """
for (const figure of JSON.parse(document.getElementById("figures").textContent)) {
  const section = document.querySelector("main").appendChild(document.createElement("section"));
  Plotly.newPlot(section, figure.data, figure.layout, { displaylogo: false, responsive: true, showSendToCloud: false });
}
"""


@cache
def _hash(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def figure_picture(figure: go.Figure, format: str, theme: str = "print", seconds: float = SECONDS) -> bytes:
    """Return a figure as "png" or "svg", drawn by Kaleido in a process of its own.

    ExportError, within `seconds`, where Kaleido or its browser is missing, broken or hangs.
    """
    if find_spec("kaleido") is None:
        raise ExportError(f"Figures as {format.upper()} need Kaleido: pip install kaleido, or {INSTEAD}.")
    picture = themed(figure, theme).update_layout(width=WIDTH)
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / f"figure.{format}"
        errors = Path(folder) / "errors.txt"  # a file: a pipe would wait for what the browser leaves behind
        command = [
            sys.executable,
            "-m",
            "visualize.exports.kaleido_worker",
            format,
            str(SCALE),
            str(seconds),
            str(made),
        ]
        code = _run(command, picture.to_json(), errors, seconds)
        if code == 0 and made.exists():
            return made.read_bytes()
        raise ExportError(_what_failed(code, errors.read_text(encoding="utf-8", errors="replace"), seconds))


def _run(command: list[str], figure: str, errors: Path, seconds: float) -> int | None:
    """Run the worker and return its exit code, None if it did not end by itself."""
    root = Path(__file__).resolve().parents[2]
    try:
        with errors.open("wb") as log:
            done = subprocess.run(
                command, input=figure.encode(), stdout=log, stderr=log, cwd=root, timeout=seconds + 5, check=False
            )
    except subprocess.TimeoutExpired:
        return None
    return done.returncode


def _what_failed(code: int | None, log: str, seconds: float) -> str:
    if code in (None, TIMED_OUT):
        return f"The browser that draws figures gave no answer in {seconds:g} seconds: try again, or {INSTEAD}."
    if "ChromeNotFoundError" in log:
        return f"Figures as PNG or SVG need Chrome or Chromium, and none was found: install one, or {INSTEAD}."
    if "BrowserFailedError" in log:
        return (
            f"The browser that draws figures did not start: check BROWSER_PATH and the installed Chrome, or {INSTEAD}."
        )
    last = next((line for line in reversed(log.splitlines()) if line.strip()), "no reason given")
    return f"Kaleido could not draw the figure ({one_line(last, 120)}): {INSTEAD}."
