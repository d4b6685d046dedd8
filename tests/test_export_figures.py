"""Plotly figures as files: an offline page, and pictures by Kaleido that come, or fail, within seconds."""

import io
import json
import os
import re
import stat
import time
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
import run_examples
from PIL import Image

from cllm_core.errors import ExportError
from visualize.export import ExportOptions, export
from visualize.exports import plotly_files
from visualize.exports.plotly_files import figure_picture, figures_page
from visualize.figures import FIGURES, progress_figure
from visualize.themes import THEMES

HOSTILE = "</script><img src=x onerror=alert(1)>"


class _Page(HTMLParser):
    def __init__(self, data):
        super().__init__()
        self.tags, self.scripts, self.policy = [], [], ""
        self._script = None
        self.feed(data.decode("utf-8"))

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self._script = dict(attrs).get("type", "code") if tag == "script" else None
        if dict(attrs).get("http-equiv") == "Content-Security-Policy":
            self.policy = dict(attrs)["content"]

    def handle_data(self, data):
        if self._script == "application/json":
            self.scripts.append(data)


def test_page_holds_every_figure_of_a_run():
    page = _Page(export(run_examples.lanes(), "figures"))
    titles = [figure["layout"]["title"]["text"] for figure in json.loads("".join(page.scripts))]
    assert len(titles) == len([kind for kind in FIGURES.values() if kind.source == "run"])
    assert titles[0] == progress_figure(run_examples.lanes()).layout.title.text


def test_text_of_users_makes_no_element_on_the_page():
    lanes = {HOSTILE: run_examples.nasty(prompt=HOSTILE, finish="stopped")}
    plain = _Page(export(run_examples.lanes(), "figures"))
    assert _Page(export(lanes, "figures", ExportOptions(title=HOSTILE))).tags == plain.tags


def test_page_forbids_every_request():
    policy = _Page(figures_page([progress_figure(run_examples.lanes())], "x")).policy
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-inline" not in policy.split("style-src")[0]


def test_page_takes_the_theme():
    page = figures_page([progress_figure(run_examples.lanes())], "x", "dark").decode()
    figure = json.loads(re.search(r'id="figures">(.*?)</script>', page).group(1))[0]
    assert figure["layout"]["paper_bgcolor"] == THEMES["dark"].ground
    assert f"background: {THEMES['dark'].ground}" in page


# Pictures by Kaleido


def stub(tmp_path, monkeypatch, script):
    """Put a program in the browser's place."""
    path = tmp_path / "browser"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("BROWSER_PATH", str(path))


def test_without_kaleido_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setattr(plotly_files, "find_spec", lambda name: None)
    with pytest.raises(ExportError, match="pip install kaleido, or save it as HTML"):
        figure_picture(progress_figure(run_examples.lanes()), "png")


def test_without_a_browser_the_message_comes_at_once(monkeypatch, tmp_path):
    monkeypatch.setenv("BROWSER_PATH", str(tmp_path / "missing"))
    with pytest.raises(ExportError, match=r"need Chrome or Chromium.*save it as HTML"):
        figure_picture(progress_figure(run_examples.lanes()), "png")


def test_browser_that_does_not_start_is_told(monkeypatch, tmp_path):
    stub(tmp_path, monkeypatch, "exit 1")
    with pytest.raises(ExportError, match="did not start"):
        figure_picture(progress_figure(run_examples.lanes()), "svg")


def test_browser_that_hangs_is_ended_with_all_it_started(monkeypatch, tmp_path):
    """A browser that never answers kept the export waiting for ever, and stayed behind when it was given up."""
    process = tmp_path / "process"
    stub(tmp_path, monkeypatch, f"echo $$ > {process}; exec sleep 600")
    started = time.monotonic()
    with pytest.raises(ExportError, match="gave no answer in 3 seconds"):
        figure_picture(progress_figure(run_examples.lanes()), "png", seconds=3)
    assert time.monotonic() - started < 15
    assert not alive(int(process.read_text()))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["browser", "process"]


def alive(process):
    """Return whether a process still runs (one that ended and was not yet collected does not)."""
    for _ in range(20):
        try:
            state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except FileNotFoundError:
            return False
        if state == "Z":
            return False
        time.sleep(0.1)
    return True


@pytest.mark.browser
def test_figures_are_drawn_as_png_and_svg(monkeypatch):
    if "BROWSER_PATH" not in os.environ and (path := os.environ.get("CLLM_CHROMIUM")):
        monkeypatch.setenv("BROWSER_PATH", path)
    figure = progress_figure(run_examples.lanes())
    png = Image.open(io.BytesIO(figure_picture(figure, "png", seconds=60)))
    png.load()
    assert png.size == (2 * plotly_files.WIDTH, 2 * figure.layout.height)
    svg = ElementTree.fromstring(figure_picture(figure, "svg", "dark", seconds=60))
    assert "Wall-clock (s)" in "".join(svg.itertext())
