"""Links in the app: copied from one page, opened in another, and refused politely where they were changed."""

import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import phrase_runs
import pytest
import run_examples
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from cllm_core import io
from cllm_core.pairs import ModelPair, ModelSource
from cllm_core.types import DecodeConfig
from visualize import settings as app_settings
from visualize import share
from visualize.settings import AppSettings
from visualize.tabs import compare
from visualize.ui import build_ui, launch

pytestmark = pytest.mark.browser

NewPage = Callable[..., Page]
PROMPT = "Which <b>names</b> are there? ${x} {{y}} 日本"
WAIT = 30_000


def recorded() -> dict[str, Any]:
    """One lane of one token at a time and the two of phrase_runs, with the app's default settings and one prompt."""
    config = DecodeConfig(block_size=6)
    runs = {"base_ar": run_examples.autoregressive([b"a"]), **phrase_runs.lanes()}
    return {
        key: replace(
            run,
            prompt=PROMPT,
            config=replace(config, decoder=run.config.decoder),
            model=replace(run.model, adapter=f"mine/{key.split('_')[0]}"),
        )
        for key, run in runs.items()
    }


def mine() -> ModelPair:
    """The pair that they are of, with no settings of its own: the form opens on the defaults."""
    base, cllm = (ModelSource("bundled", "smollm2", adapter=f"/somewhere/mine/{side}") for side in ("base", "cllm"))
    return ModelPair("mine", "Mine", base=base, cllm=cllm)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    trace = tmp_path_factory.mktemp("traces") / "names.json"
    trace.write_text(io.dumps_run(recorded()), encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compare, "bundled_runs", lambda: {"names": Path(trace)})
        patch.setattr(app_settings, "all_pairs", lambda: {"mine": mine()})
        settings = AppSettings(host="127.0.0.1", port=port, max_new_tokens=256)
        blocks = build_ui(settings)
        _, url = launch(blocks, settings)
        yield url
        blocks.close()


@pytest.fixture
def visit(new_page: NewPage, address: str) -> Callable[[str], Page]:
    def open_app(query: str = "") -> Page:
        page = new_page(permissions=["clipboard-read", "clipboard-write"])
        page.set_default_timeout(WAIT)
        page.goto(query if query.startswith("http") else address + query)
        expect(page.locator("#player .cp-lane").first).to_be_visible(timeout=WAIT)
        return page

    return open_app


def status(page: Page) -> Any:
    return expect(page.locator("#run-status .st-line"))


def set_option(page: Page, name: str, value: int) -> None:
    box = page.locator(f"#option-{name} input[type=number]")
    box.fill(str(value))
    box.press("Tab")


def copied_link(page: Page) -> str:
    page.locator("#copy-link").click()
    box = page.locator("#link textarea, #link input")
    page.wait_for_function("document.querySelector('#link textarea, #link input')?.value.includes('?share=')")
    return box.input_value()


def test_a_link_restores_prompt_settings_pass_and_view_and_the_recording(visit: Callable[..., Page]) -> None:
    page = visit()
    page.locator("#prompt textarea").fill(PROMPT)
    set_option(page, "block_size", 6)
    page.locator("#player").get_by_role("radio", name="known now").check()
    page.locator("#player .cp-pick").nth(1).click()
    for _ in range(3):
        page.locator("#player").get_by_role("button", name="Step back", exact=True).click()
    link = copied_link(page)
    assert page.evaluate("navigator.clipboard.readText()") == link
    other = visit(link)
    status(other).to_contain_text("Opened from a link. Recorded: names.", timeout=WAIT)
    expect(other.locator("#prompt textarea")).to_have_value(PROMPT)
    expect(other.locator("#option-block_size input[type=number]")).to_have_value("6")
    expect(other.locator("#player .cp-readout")).to_have_text("pass 4 of 7")
    expect(other.locator("#player").get_by_role("radio", name="known now")).to_be_checked()
    expect(other.locator("#player .cp-selected")).to_contain_text("Base, Jacobi")
    assert other.locator("#player b", has_text="names").count() == 0


def test_a_link_of_a_prompt_that_was_not_run_tells_so_and_has_no_place(visit: Callable[..., Page]) -> None:
    page = visit()
    page.locator("#prompt textarea").fill("Something else")
    page.locator("#player").get_by_role("button", name="To the start").click()
    link = copied_link(page)
    expect(page.locator("#link")).to_contain_text("to no pass")
    assert share.from_query(link.partition("?share=")[2]).place == {}
    other = visit(link)
    status(other).to_have_text("Opened from a link: press Run to decode its prompt.", timeout=WAIT)
    expect(other.locator("#prompt textarea")).to_have_value("Something else")


def test_a_link_to_a_run_that_is_not_recorded_waits_for_run_and_keeps_its_place(visit: Callable[..., Page]) -> None:
    shared = share.Shared("Something else", "mine", place={"lane": "cllm_jacobi", "pass": 0})
    other = visit("?" + share.to_query(shared))
    status(other).to_have_text("Opened from a link: press Run to decode its prompt.", timeout=WAIT)
    expect(other.locator("#player .cp-readout")).to_have_text("pass 7 of 7")  # what is shown is not the link's run
    other.wait_for_timeout(300)
    other.evaluate(
        "props => CllmPlayer.of(document.querySelector('#player .cllm-mount')).update(props)",
        compare._loaded_view(Path(compare.bundled_runs()["names"]), "x").props,
    )
    expect(other.locator("#player .cp-readout")).to_have_text("pass 0 of 7")


@pytest.mark.parametrize("text", ["", "abc", "%3Cscript%3E", "A" * 7000, "eyJ2IjoxfQ"])
def test_a_link_that_was_changed_is_refused_and_the_page_works(visit: Callable[..., Page], text: str) -> None:
    page = visit(f"?share={text}")
    status(page).to_contain_text("This link cannot be opened", timeout=WAIT)
    expect(page.locator("#run-status .st-root")).to_have_attribute("data-kind", "error")
    expect(page.locator("#player .cp-lane")).to_have_count(3)
    expect(page.locator("#run")).to_be_enabled()


def test_a_prompt_too_long_for_a_link_is_told(visit: Callable[..., Page]) -> None:
    page = visit()
    page.locator("#prompt textarea").fill("x" * 2500)
    page.locator("#copy-link").click()
    status(page).to_contain_text("save the run as JSON instead", timeout=WAIT)
    expect(page.locator("#link")).to_have_count(0)


def test_axe_finds_nothing_in_the_link_row(visit: Callable[..., Page]) -> None:
    page = visit()
    copied_link(page)
    results = Axe().run(page, context="#share")
    assert results.violations_count == 0, results.generate_report()
