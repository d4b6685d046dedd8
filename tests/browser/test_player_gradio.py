"""TrajectoryPlayer inside a real gradio app: first value, updates, a hidden tab, two on a page, both themes."""

import socket
from collections.abc import Iterator

import gradio as gr
import player_cases
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from visualize.player import TrajectoryPlayer
from visualize.view import player_props

pytestmark = pytest.mark.browser


def build() -> gr.Blocks:
    with gr.Blocks(analytics_enabled=False) as demo:
        with gr.Tab("First"):
            TrajectoryPlayer(player_cases.golden_props(), elem_id="given")
            second = TrajectoryPlayer(elem_id="second")
            fill, clear = gr.Button("Fill"), gr.Button("Clear")
        with gr.Tab("Hidden"):
            hidden = TrajectoryPlayer(elem_id="hidden")
        fill.click(lambda: [player_props(player_cases.lanes())] * 2, outputs=[second, hidden])
        clear.click(lambda: None, outputs=second)
    return demo


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    demo = build()
    _, url, _ = demo.launch(
        server_name="127.0.0.1", server_port=port, prevent_thread_lock=True, quiet=True, ssr_mode=False
    )
    yield url
    demo.close()


@pytest.fixture
def app(page: Page, address: str) -> Page:
    page.set_default_timeout(20_000)
    page.goto(address)
    page.wait_for_selector("#given .cp-table")
    return page


def test_the_first_value_is_played_with_markup_shown_literally(app: Page) -> None:
    given = app.locator("#given")
    assert given.locator(".cp-lane").count() == 3
    assert (given.locator(".cp-text").nth(2).text_content() or "").startswith(
        player_cases.MARKUP + "${x}{{x}}</script>"
    )
    assert given.locator("img, script").count() == 0
    given.get_by_role("button", name="Step back", exact=True).click()
    assert given.locator(".cp-count-passes b").first.inner_text() == "5"


def test_an_event_fills_and_clears_a_player_and_leaves_the_other_alone(app: Page) -> None:
    expect(app.locator("#second")).to_contain_text("There is nothing to play yet.")
    app.locator("#given .cllm-player").press("Home")
    app.get_by_role("button", name="Fill", exact=True).click()
    expect(app.locator("#second .cp-lane")).to_have_count(3)
    assert app.locator("#given .cp-count-passes b").first.inner_text() == "0"
    app.get_by_role("button", name="Clear", exact=True).click()
    expect(app.locator("#second")).to_contain_text("There is nothing to play yet.")


def test_a_player_in_a_hidden_tab_shows_the_latest_value_when_it_is_opened(app: Page) -> None:
    app.get_by_role("button", name="Fill", exact=True).click()
    expect(app.locator("#second .cp-lane")).to_have_count(3)
    app.get_by_role("tab", name="Hidden").click()
    expect(app.locator("#hidden .cp-lane")).to_have_count(3)
    expect(app.locator("#hidden .cp-table td").first).to_be_visible()


def test_the_script_and_the_style_are_on_the_page_once(app: Page) -> None:
    app.get_by_role("tab", name="Hidden").click()
    expect(app.locator("#hidden .cp-message")).to_be_visible()
    styles = "[...document.querySelectorAll('style')].filter((n) => n.textContent.includes('.cp-toolbar')).length"
    assert app.evaluate(styles) == 1


def assert_accessible(app: Page) -> None:
    results = Axe().run(app, context="#given")
    assert results.violations_count == 0, results.generate_report()


def test_the_theme_of_the_app_decides_and_axe_finds_nothing_in_either(app: Page) -> None:
    background = "getComputedStyle(document.querySelector('#given .cllm-player')).backgroundColor"
    assert app.evaluate(background) == "rgb(255, 255, 255)"
    assert_accessible(app)
    app.evaluate("document.body.classList.add('dark')")
    assert app.evaluate(background) == "rgb(20, 23, 28)"
    app.wait_for_timeout(300)  # colours of buttons fade
    assert_accessible(app)


def test_the_component_takes_a_value_and_gives_strict_json() -> None:
    player = TrajectoryPlayer()
    assert player.postprocess(None) is None
    assert "<" not in player.postprocess(player_cases.golden_props())
    assert player.get_config()["html_template"] == '<div class="cllm-mount"></div>'
