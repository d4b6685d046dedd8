"""The commands that turn saved runs into files: export, figure, gallery. They need no model and load no torch."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cllm_core.errors import ExportError, FormatError
from cllm_core.files import check_writable, write_whole
from cllm_core.io import parse_json
from cllm_core.options import add_arguments, from_namespace, option_fields
from visualize.exports.options import ExportOptions

if TYPE_CHECKING:
    from visualize.load import Lanes


def export_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `export`."""
    parser.add_argument("run", type=Path, help="a saved run or trajectory (JSON, or JSONL with one a line)")
    parser.add_argument("--format", required=True, help="json, csv, html, svg, png, gif or figures")
    parser.add_argument(
        "--out", type=Path, help="the file to write (default: beside the run, with the format's ending)"
    )
    _prompt_argument(parser)
    add_arguments(parser, ExportOptions)


def _prompt_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--prompt", type=int, default=1, help="which prompt of a JSONL file, from 1 (default 1)")


def run_export(arguments: argparse.Namespace) -> None:
    """Write a saved run in another format."""
    from visualize.export import export, exporter_of

    options = from_namespace(ExportOptions, arguments)
    exporter = exporter_of(arguments.format)
    out = arguments.out or arguments.run.with_name(f"{arguments.run.stem}{exporter.ending}")
    if out.resolve() == arguments.run.resolve():
        raise ExportError(f"{out.name} is the file that was read: name another one with --out.")
    check_writable(out)
    data = export(_lanes(arguments.run, arguments.prompt), arguments.format, options)
    for name in sorted({field.name for field in option_fields(ExportOptions)} & vars(arguments).keys() - exporter.uses):
        print(f"--{name} changes nothing in {arguments.format}.", file=sys.stderr)
    _write(out, data)


def figure_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `figure`."""
    parser.add_argument("source", type=Path, help="a saved run, or (for speedup) what `compare --json` wrote")
    parser.add_argument("--figure", default="progress", help="its name (default progress); a wrong one lists them all")
    _prompt_argument(parser)
    parser.add_argument("--out", type=Path, required=True, help="the file to write: .html, .png or .svg")
    parser.add_argument("--theme", choices=("light", "dark", "print"), default="print", help="colours (default print)")


def run_figure(arguments: argparse.Namespace) -> None:
    """Draw one Plotly figure into an HTML page or, with Kaleido and Chrome, a picture."""
    from visualize.exports.plotly_files import figure_picture, figures_page
    from visualize.figures import FIGURES

    if arguments.figure not in FIGURES:
        raise ExportError(f"There is no figure {arguments.figure!r}: choose one of {', '.join(FIGURES)}.")
    kind = FIGURES[arguments.figure]
    ending = arguments.out.suffix.lower().lstrip(".")
    if ending not in ("html", "png", "svg"):
        raise ExportError(f"{arguments.out.name} has no ending that says how to draw it: use .html, .png or .svg.")
    check_writable(arguments.out)
    figure = kind.draw(_source(arguments.source, kind.source, arguments.prompt))
    if ending == "html":
        _write(arguments.out, figures_page([figure], kind.label, arguments.theme))
    else:
        _write(arguments.out, figure_picture(figure, ending, arguments.theme))


def gallery_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `gallery`."""
    parser.add_argument("folder", type=Path, help="a folder of saved runs")
    parser.add_argument("--out", type=Path, required=True, help="the folder of the site")
    parser.add_argument("--title", default="", help="the site's title")


def run_gallery(arguments: argparse.Namespace) -> None:
    """Turn a folder of saved runs into a static site."""
    from visualize.exports.gallery import TITLE, build_gallery

    pages = build_gallery(arguments.folder, arguments.out, arguments.title or TITLE)
    print(f"{arguments.out / 'index.html'} ({len(pages)} pages)")


def _source(path: Path, kind: str, prompt: int) -> Any:
    if kind == "run":
        return _lanes(path, prompt)
    try:
        comparison = parse_json(path.read_bytes())
    except (OSError, FormatError) as error:
        raise FormatError(f"Cannot read {path.name} as a comparison: {error}") from error
    if not isinstance(comparison, dict) or "prompts" not in comparison:
        raise FormatError(f"{path.name} is not a comparison: make one with `compare --json`.")
    return comparison


def _lanes(path: Path, prompt: int) -> "Lanes":
    """Read a run of any size, and say what was left out of its file."""
    from visualize.load import load_file

    try:
        loaded = load_file(path, most=None, prompt=prompt)
    except FormatError as error:
        raise type(error)(f"{path.name}: {error}") from error
    for note in loaded.notes:
        print(f"{path.name}: {note}", file=sys.stderr)
    return loaded.lanes


def _write(path: Path, data: bytes) -> None:
    check_writable(path)
    write_whole(path, data)
    print(f"{path} ({len(data):,} bytes)")
