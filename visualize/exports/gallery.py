"""A folder of trajectories as a static site: an index and one page a prompt, for any web server or none.

Pages are named by number and content, never by text from a file.
"""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cllm_core.errors import ExportError, FormatError
from cllm_core.files import write_whole
from cllm_core.metrics import Summary, summarize
from visualize.exports.names import run_digest
from visualize.labels import one_line
from visualize.load import Lanes, load_prompts
from visualize.page import standalone_page
from visualize.phrases import table_for
from visualize.view import LANE_LABELS, player_props

INDEX = "index.html"
_PAGE = re.compile(r"run-\d+-[0-9a-f]{8}\.html")
_MARK = '<meta name="generator" content="cllm gallery">'
TITLE = "Recorded runs"


@dataclass(frozen=True)
class GalleryPage:
    """One page: its file name, the file it came from, and the lanes on it."""

    name: str
    source: str  # with the prompt's number, if the file has several
    lanes: Lanes
    notes: tuple[str, ...]


def build_gallery(source: Path, target: Path, title: str = TITLE) -> list[GalleryPage]:
    """Write the site of every .json and .jsonl file in `source` into `target`; return its pages.

    Files that cannot be read are named on the index. `target` must be new, empty, or a gallery that was built before,
    whose pages are replaced. ExportError if it is none of these, or if `source` holds nothing to show.
    """
    if not source.is_dir():
        raise ExportError(f"There is no folder {source.name!r}: give one that holds trajectory files.")
    files = sorted(path for path in source.iterdir() if path.suffix in (".json", ".jsonl") and path.is_file())
    pages, problems = _read(files)
    if not pages:
        first = f" {problems[0]}" if problems else " Save runs as JSON into it first."
        raise ExportError(f"The folder {source.name!r} holds no trajectory that can be shown.{first}")
    _make_room(target)
    for page in pages:
        name = one_line(page.source)
        props = player_props(page.lanes, title=name, table=table_for(page.lanes))
        write_whole(target / page.name, standalone_page(props, name).encode())
    write_whole(target / INDEX, _index(pages, problems, title).encode("utf-8", "replace"))
    return pages


def _read(files: Sequence[Path]) -> tuple[list[GalleryPage], list[str]]:
    pages: list[GalleryPage] = []
    problems: list[str] = []
    for path in files:
        try:
            runs = load_prompts(path)
        except FormatError as error:
            problems.append(f"{path.name} is left out: {error}")
            continue
        for number, run in enumerate(runs, 1):
            name = f"run-{len(pages) + 1:03d}-{run_digest(run.lanes)}.html"
            source = f"{path.name}, prompt {number}" if len(runs) > 1 else path.name
            pages.append(GalleryPage(name, source, run.lanes, run.notes))
    return pages, problems


def _make_room(target: Path) -> None:
    """Make the folder; if it is an older gallery, take its pages away."""
    try:
        target.mkdir(parents=True, exist_ok=True)
        held = list(target.iterdir())
        index = target / INDEX
        if held and not (index.is_file() and _MARK in index.read_text(encoding="utf-8", errors="replace")):
            raise ExportError(f"The folder {target.name!r} is not empty and no gallery: choose a new one.")
        for path in held:
            if _PAGE.fullmatch(path.name):
                path.unlink()
    except OSError as error:
        raise ExportError(f"Cannot write into {target.name!r} ({error.strerror or error}): choose another.") from error


def _index(pages: Sequence[GalleryPage], problems: Sequence[str], title: str) -> str:
    rows = "\n".join(_rows(page) for page in pages)
    notes = "\n".join(f"<li>{html.escape(one_line(problem, 400))}</li>" for problem in problems)
    name = html.escape(one_line(title) or TITLE)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
{_MARK}
<link rel="icon" href="data:,">
<title>{name}</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
<h1>{name}</h1>
<div class="table" tabindex="0" role="region" aria-label="Runs">
<table>
<thead><tr><th>Run</th><th>Prompt</th><th>Lane</th><th>Model</th><th>Tokens</th><th>Passes</th><th>Tokens a pass</th>
<th>Seconds</th></tr></thead>
<tbody>
{rows}
</tbody>
</table>
</div>
{f"<h2>Left out</h2><ul>{notes}</ul>" if notes else ""}
</main>
</body>
</html>
"""


_STYLE = """
:root { color-scheme: light dark; }
body { margin: 2rem auto; max-width: 70rem; padding: 0 1rem; font: 15px/1.5 Helvetica, Arial, sans-serif;
  color: light-dark(#1b2026, #e4e8ed); background: light-dark(#ffffff, #14171c); }
.table { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: 0.4rem 0.7rem; text-align: left; vertical-align: top; }
tr { border-bottom: 1px solid light-dark(#d9dfe5, #303844); }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
a { color: light-dark(#005a8c, #6bbdf0); }
"""


def _rows(page: GalleryPage) -> str:
    prompt = next(iter(page.lanes.values())).prompt
    link = f'<a href="{page.name}">{html.escape(one_line(page.source))}</a>'
    notes = "".join(f"<br>{html.escape(one_line(note, 200))}" for note in page.notes)
    first = f"<td>{link}{notes}</td><td>{html.escape(one_line(prompt, 120))}</td>"
    cells = [_lane_cells(key, summarize(trajectory), trajectory.model.name) for key, trajectory in page.lanes.items()]
    blank = "<td></td><td></td>"
    return "\n".join(f"<tr>{blank if number else first}{row}</tr>" for number, row in enumerate(cells))


def _lane_cells(key: str, summary: Summary, model: str) -> str:
    texts = (LANE_LABELS.get(key, key), model)
    numbers = (
        f"{summary.tokens:,}",
        f"{summary.passes:,}",
        f"{summary.tokens_per_pass:.2f}",
        f"{summary.seconds:.2f}",
    )
    return "".join(f"<td>{html.escape(one_line(text))}</td>" for text in texts) + "".join(
        f'<td class="number">{value}</td>' for value in numbers
    )
