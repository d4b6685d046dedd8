"""Exported pages in a real browser: they draw from a file, ask for nothing, and show hostile text as text."""

from collections.abc import Callable
from pathlib import Path

import pytest
import run_examples
from playwright.sync_api import Page, expect

from visualize.export import ExportOptions, export
from visualize.exports.gallery import build_gallery

pytestmark = pytest.mark.browser

HOSTILE = "</script><img src=x onerror=alert(1)>"


@pytest.fixture
def hostile_lanes() -> dict:
    return {HOSTILE: run_examples.nasty(prompt=HOSTILE), **run_examples.lanes()}


def open_figures(page: Page, path: Path) -> None:
    """Open a page that carries Plotly: 5 MB of script, which a busy machine takes its time over."""
    page.goto(path.as_uri(), timeout=60_000)
    expect(page.locator("section .main-svg").last).to_be_visible(timeout=60_000)


def test_player_page_opens_from_a_file_and_shows_markup_literally(page: Page, tmp_path: Path, hostile_lanes: dict):
    path = tmp_path / "run.html"
    path.write_bytes(export(hostile_lanes, "html", ExportOptions(title=HOSTILE)))
    page.goto(path.as_uri())
    expect(page.get_by_role("heading", level=1)).to_have_text(HOSTILE)
    expect(page.locator(".cllm-player table").first).to_be_visible()
    assert page.locator("img").count() == 0


def test_figures_page_draws_every_figure_and_shows_markup_literally(page: Page, tmp_path: Path, hostile_lanes: dict):
    path = tmp_path / "figures.html"
    path.write_bytes(export(hostile_lanes, "figures", ExportOptions(title=HOSTILE)))
    open_figures(page, path)
    assert page.locator("section").count() == 7
    assert page.locator(".legendtext", has_text="onerror").first.text_content() == HOSTILE
    assert page.locator("image[href*='src=x'], img[src='x']").count() == 0


def test_hovering_a_state_shows_its_token_literally(page: Page, tmp_path: Path):
    path = tmp_path / "figures.html"
    path.write_bytes(export({"base_ar": run_examples.autoregressive([b"<b>x</b>&lt;$y$"])}, "figures"))
    open_figures(page, path)
    states = page.locator("section").nth(1)
    states.locator(".nsewdrag").hover()
    expect(states.locator(".hoverlayer")).to_contain_text("<b>x</b>&lt;$y$ (id 0), settled")


def test_gallery_leads_to_its_pages(page: Page, tmp_path: Path, hostile_lanes: dict):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "one.json").write_bytes(export(hostile_lanes, "json"))
    build_gallery(tmp_path / "runs", tmp_path / "site")
    page.goto((tmp_path / "site" / "index.html").as_uri())
    page.get_by_role("link", name="one.json, prompt 2").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("one.json, prompt 2")
    expect(page.locator(".cllm-player table").first).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_index_can_be_read_in_both_schemes(new_page: Callable[..., Page], tmp_path: Path, scheme: str):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "one.json").write_bytes(export(run_examples.lanes(), "json"))
    build_gallery(tmp_path / "runs", tmp_path / "site")
    page = new_page(color_scheme=scheme)
    page.goto((tmp_path / "site" / "index.html").as_uri())
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 28)"
    assert dark == (scheme == "dark")
