"""Collocations in the player, and the handle that a page around it uses."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import phrase_runs
import player_cases
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from visualize.page import standalone_page
from visualize.view import player_props

pytestmark = pytest.mark.browser

Play = Callable[..., Page]


@pytest.fixture
def play(new_page: Callable[..., Page], tmp_path: Path) -> Play:
    """Opens the exported page of a payload (the two lanes of phrase_runs), from a file."""

    def open_player(props: Any = None, **options: Any) -> Page:
        path = tmp_path / "player.html"
        props = player_props(phrase_runs.lanes(), table=phrase_runs.TABLE) if props is None else props
        path.write_text(standalone_page(props, "Collocations"), encoding="utf-8")
        page = new_page(**options)
        page.goto(path.as_uri())
        return page

    return open_player


def brackets(page: Page) -> list[str]:
    return page.locator(".cp-bracket").evaluate_all("nodes => nodes.map((node) => node.dataset.label)")


def test_brackets_stand_over_the_words_that_arrived_together_from_that_pass_on(play: Play) -> None:
    page = play()
    player = page.locator(".cllm-player")
    player.press("Home")
    assert brackets(page) == []
    player.press("ArrowRight")
    assert brackets(page) == ["SELECT … FROM"]
    player.press("ArrowRight")
    assert brackets(page) == ["SELECT … FROM", "GROUP BY"]
    expect(page.locator(".cp-key-bracket")).to_be_visible()
    page.get_by_role("radio", name="known now").check()
    assert brackets(page) == []  # only hindsight knows
    page.get_by_role("radio", name="hindsight").check()
    page.locator(".cp-pick").first.click()
    assert brackets(page) == []
    expect(page.locator(".cp-key-bracket")).to_have_count(0)


def test_a_bracket_spans_its_words_and_dashes_its_gap(play: Play) -> None:
    page = play()
    cell = page.locator('tr[aria-rowindex="4"] td[aria-colindex="6"]').bounding_box()
    bracket = page.locator('.cp-bracket[data-label="GROUP BY"] path').first.bounding_box()
    assert cell is not None
    assert bracket is not None
    assert cell["x"] <= bracket["x"]
    assert bracket["x"] + bracket["width"] <= cell["x"] + 2 * cell["width"]
    assert cell["y"] <= bracket["y"] <= cell["y"] + 5
    gaps = page.locator(".cp-bracket-gap").evaluate_all("nodes => nodes.map((node) => node.getAttribute('d') !== '')")
    assert gaps == [True, False]


def test_the_list_counts_and_its_entries_jump_to_the_pass(play: Play) -> None:
    page = play()
    expect(page.locator(".cp-collocations summary")).to_contain_text("Base, Jacobi 0 of 2, CLLM, Jacobi 2 of 2")
    page.locator(".cp-collocations summary").click()
    rows = page.locator(".cp-collocations tbody tr")
    assert rows.nth(0).inner_text().split("\t") == ["GROUP BY", "0 of 1", "1 of 1 pass 2", "CLLM, Jacobi 7 of 9"]
    expect(page.locator(".cp-collocations")).to_contain_text("nine <b>queries</b>")
    page.locator(".cp-pick").first.click()
    page.get_by_role("button", name="Go to pass 2, position 4").click()
    expect(page.locator(".cp-selected")).to_contain_text("CLLM, Jacobi")
    expect(page.locator(".cp-grid tr.cp-now")).to_have_attribute("aria-rowindex", "4")
    expect(page.locator(".cp-inspector")).to_contain_text("position 4 · pass 2")


def test_a_payload_without_collocations_has_no_list(play: Play) -> None:
    page = play(player_cases.golden_props())
    expect(page.locator(".cp-lane").first).to_be_visible()
    expect(page.locator(".cp-collocations")).to_have_count(0)


@pytest.mark.parametrize(
    "entry", [5, None, {"label": 5, "hits": []}, {"label": "x"}, {"label": "x", "hits": [[9, 0, 1]]},
              {"label": "x", "hits": [[0, 0, 7]]}, {"label": "x", "hits": [[1, 0]]}],
)  # fmt: skip
def test_damaged_collocations_are_told_of_and_not_drawn(play: Play, entry: Any) -> None:
    props: Any = copy.deepcopy(player_props(phrase_runs.lanes(), table=phrase_runs.TABLE))
    props["lanes"][0]["collocations"] = [entry]
    expect(play(props).locator(".cp-message")).to_contain_text("the collocations of lane 1 are not what they should be")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_with_the_list_open(play: Play, scheme: str) -> None:
    page = play(color_scheme=scheme)
    page.locator(".cp-collocations summary").click()
    results = Axe().run(page)
    assert results.violations_count == 0, results.generate_report()


# --- the handle

HANDLE = (
    "window.handle = CllmPlayer.mount(document.getElementById('player'), document.getElementById('props').textContent)"
)


@pytest.fixture
def handled(play: Play) -> Page:
    page = play(reduced_motion="reduce")
    page.evaluate(f"() => {{ {HANDLE}; }}")
    return page


def state(page: Page) -> dict[str, Any]:
    return dict(page.evaluate("handle.state()"))


def test_the_handle_sets_lane_pass_and_view_at_once(handled: Page) -> None:
    handled.evaluate("handle.set({ lane: 'base_jacobi', view: 'known', pass: 3 })")
    assert state(handled) == {
        "lane": "base_jacobi", "pass": 3, "last": 7, "view": "known", "clock": "pass", "fixed": 3, "asked": "",
    }  # fmt: skip
    handled.evaluate("handle.set({ pass: 99 })")
    assert state(handled)["pass"] == 7


def test_the_handle_plays_to_a_pass_and_a_later_call_ends_an_earlier_one(play: Play) -> None:
    page = play()
    page.evaluate(f"() => {{ {HANDLE}; handle.set({{ lane: 'base_jacobi', pass: 0 }}); }}")
    assert page.evaluate("handle.play(2)") == "arrived"
    assert state(page)["pass"] == 2
    assert page.evaluate("Promise.all([handle.play(7), handle.play(3)])") == ["ended", "arrived"]
    assert state(page)["pass"] == 3


def test_a_listener_hears_of_cells_and_can_keep_them_from_being_pinned(handled: Page) -> None:
    handled.evaluate("() => { window.told = []; handle.on('cell', (cell) => told.push(cell) < 2); }")
    cell = handled.locator('tr[aria-rowindex="3"] td[aria-colindex="4"]')
    cell.click()
    expect(handled.locator(".cp-pinned")).to_have_count(0)
    cell.focus()
    cell.press("Enter")
    expect(handled.locator(".cp-pinned")).to_have_count(1)
    assert handled.evaluate("told") == [{"t": 1, "position": 2}] * 2


def test_flags_are_drawn_and_read_out(handled: Page) -> None:
    handled.evaluate("handle.set({ flags: [{ t: 1, position: 2, kind: 'look' }, { t: 2, position: 4, kind: 'no' }] })")
    expect(handled.locator(".cp-flag-look")).to_have_attribute(
        "aria-label", "␣FROM, pass 1, position 2, stationary, corrected, look here"
    )
    expect(handled.locator(".cp-flag-no")).to_have_count(1)
    handled.evaluate("handle.set({ flags: [] })")
    expect(handled.locator(".cp-flag")).to_have_count(0)


def test_a_quiz_hides_what_gives_an_answer_away_and_can_name_the_output(handled: Page) -> None:
    handled.evaluate("handle.set({ view: 'known', quiz: true, targets: true })")
    expect(handled.locator(".cp-inspector")).to_be_hidden()
    expect(handled.locator(".cp-legend")).to_be_hidden()
    expect(handled.locator(".cp-collocations")).to_be_hidden()
    expect(handled.locator("thead th").nth(3)).to_contain_text("FROM")
    handled.evaluate("handle.set({ quiz: false, targets: false })")
    expect(handled.locator(".cp-inspector")).to_be_visible()
    assert "FROM" not in handled.locator("thead th").nth(3).inner_text()


def test_the_handle_says_what_a_cell_is_in_hindsight(handled: Page) -> None:
    cell = handled.evaluate("handle.cell({ t: 2, position: 4 })")
    assert (cell["text"], cell["label"], cell["right"]) == ("␣GROUP", "stationary", True)
    assert handled.evaluate("handle.cell({ t: 2, position: 0 })") is None


def test_a_payload_opens_where_it_says_and_where_it_was_told_once(play: Play) -> None:
    props: Any = {**player_props(phrase_runs.lanes()), "open": {"lane": "base_jacobi", "pass": 2, "view": "known"}}
    page = play(props)
    page.evaluate("window.handle = CllmPlayer.of(document.getElementById('player'))")
    assert state(page)["lane"] == "base_jacobi"
    assert (state(page)["pass"], state(page)["view"]) == (2, "known")
    plain = player_props(phrase_runs.lanes())
    page.evaluate(
        "props => { handle.openNext({ pass: 1, view: 'hindsight', clock: 'time' }); handle.update(props); }", plain
    )
    assert (state(page)["pass"], state(page)["view"], state(page)["clock"]) == (1, "hindsight", "time")
    page.evaluate("props => { handle.set({ clock: 'pass' }); handle.update(props); }", plain)
    assert state(page)["pass"] == 7  # told once


@pytest.mark.parametrize("place", [5, "x", {"lane": 5, "pass": "x", "view": "<b>", "clock": None}, {"lane": "other"}])
def test_an_odd_place_to_open_at_is_no_place(play: Play, place: Any) -> None:
    page = play({**player_props(phrase_runs.lanes()), "open": place})
    expect(page.locator(".cp-readout")).to_have_text("pass 7 of 7")


def test_a_handle_on_nothing_does_nothing_and_says_so(play: Play) -> None:
    page = play()
    page.evaluate("() => { window.handle = CllmPlayer.mount(document.getElementById('player'), null); }")
    page.evaluate("handle.set({ lane: 'x', view: 'known', pass: 1, quiz: true, flags: [] })")
    assert state(page) == {"message": "There is nothing to play yet."}
