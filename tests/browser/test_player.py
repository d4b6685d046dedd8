"""The player in a real browser, from the golden payload: controls, keys, clocks, views, cells, safety, looks, speed."""

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import player_cases
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from cllm_core.annotate import annotate
from cllm_core.io import load_run
from visualize.load import TRACES
from visualize.page import standalone_page
from visualize.view import player_props

pytestmark = pytest.mark.browser

Props = dict[str, Any]
NewPage = Play = Callable[..., Page]


@pytest.fixture
def golden() -> Props:
    return json.loads(player_cases.GOLDEN.read_text(encoding="utf-8"))


@pytest.fixture
def play(new_page: NewPage, golden: Props, tmp_path: Path) -> Play:
    """Opens the exported page of a payload (the golden one), from a file."""

    def open_player(props: Any = None, title: str = "Player", **options: Any) -> Page:
        path = tmp_path / "player.html"
        path.write_text(standalone_page(golden if props is None else props, title), encoding="utf-8")
        page = new_page(**options)
        page.goto(path.as_uri())
        return page

    return open_player


def lane(page: Page, index: int) -> Locator:
    return page.locator(".cp-lane").nth(index)


def count(page: Page, index: int, name: str) -> str:
    return lane(page, index).locator(f".cp-count-{name} b").inner_text()


def passes(page: Page) -> list[int]:
    return [int(count(page, index, "passes")) for index in range(page.locator(".cp-lane").count())]


def text(page: Page, index: int) -> str:
    return lane(page, index).locator(".cp-text").text_content() or ""


def button(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=name, exact=True)


def choose(page: Page, name: str) -> None:
    page.get_by_role("radio", name=name).check()


def pick(page: Page, index: int) -> None:
    lane(page, index).locator(".cp-pick").click()


def cell(page: Page, t: int, position: int) -> Locator:
    return page.locator(f'tr[aria-rowindex="{t + 2}"] td[aria-colindex="{position + 2}"]')


def states(page: Page, t: int) -> list[str]:
    cells = page.locator(f'tr[aria-rowindex="{t + 2}"] td')
    return [cells.nth(i).get_attribute("data-state") or "" for i in range(cells.count())]


def without(props: Props, *keys: str) -> Props:
    """The payload with only the lanes of these keys."""
    return {**props, "lanes": [each for each in props["lanes"] if each["key"] in keys]}


# --- what it shows


def test_it_opens_at_the_end_with_every_lane_complete(play: Play) -> None:
    page = play()
    assert passes(page) == [6, 4, 4]
    assert [count(page, i, "tokens") for i in range(3)] == ["6", "6", "14"]
    assert [count(page, i, "rate") for i in range(3)] == ["1.00", "1.50", "3.50"]
    assert [count(page, i, "seconds") for i in range(3)] == ["0.03", "0.04", "0.08"]
    assert [count(page, i, "forwarded") for i in range(2)] == ["0", "3"]
    assert [count(page, i, "stationary") for i in range(2)] == ["0", "2"]
    assert text(page, 0) == text(page, 1) == "ABCDEF"


def test_counters_end_at_the_summary_of_the_run(play: Play, golden: Props) -> None:
    page = play()
    for index, props in enumerate(golden["lanes"]):
        assert int(count(page, index, "forwarded")) == props["summary"]["fast_forwarded"]
        assert int(count(page, index, "stationary")) == props["summary"]["stationary"]


def test_the_text_stands_as_it_was_at_the_pass(play: Play) -> None:
    page = play()
    page.locator(".cllm-player").press("Home")
    assert [text(page, 0), text(page, 1)] == ["", "pqrstu"]
    page.keyboard.press("ArrowRight")
    assert [text(page, 0), text(page, 1)] == ["A", "AxCxxF"]
    page.keyboard.press("ArrowRight")
    fixed = lane(page, 1).locator(".cp-fixed")
    assert [fixed.nth(i).text_content() for i in range(2)] == ["A", "B"]
    assert text(page, 1) == "ABCyEx"
    assert lane(page, 1).locator(".cp-guess").first.get_attribute("class") == "cp-guess cp-is-fast_forwarded"


def test_the_grid_shows_the_worked_example_in_both_views(play: Play) -> None:
    page = play()
    pick(page, 1)
    assert states(page, 0) == ["draft"] * 6
    assert states(page, 1) == ["settled", "wrong", "stationary", "wrong", "wrong", "transient"]
    assert states(page, 2) == ["passed", "settled", "fast_forwarded", "wrong", "stationary", "wrong"]
    assert states(page, 3) == ["passed", "passed", "settled", "settled", "fast_forwarded", "fast_forwarded"]
    assert states(page, 4) == ["passed"] * 4 + ["settled"] * 2
    choose(page, "known now")
    assert states(page, 1) == ["fixed"] + ["draft"] * 5
    assert states(page, 3) == ["passed", "passed", "fixed", "fixed", "draft", "draft"]
    expect(page.locator(".cp-correct")).to_have_count(0)
    expect(page.locator(".cp-frontier")).to_have_count(1)


def test_the_frontier_is_a_staircase(play: Play) -> None:
    page = play()
    pick(page, 1)
    width = page.locator("tbody td").first.bounding_box()["width"]
    corners = re.findall(r"H([\d.]+)V", page.locator(".cp-frontier").get_attribute("d"))
    assert [round(float(x) / width) for x in corners] == [0, 1, 2, 4, 6]
    corners = re.findall(r"H([\d.]+)V", page.locator(".cp-correct").get_attribute("d"))
    assert [round(float(x) / width) for x in corners] == [0, 1, 3, 6, 6]


def test_passes_to_come_are_not_shown(play: Play) -> None:
    page = play()
    pick(page, 1)
    page.locator(".cllm-player").press("ArrowLeft")
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    assert passes(page)[1] == 2
    assert states(page, 3) == ["blank"] * 6
    assert "cp-now" in page.locator('tr[aria-rowindex="4"]').get_attribute("class")


def test_the_timeline_has_one_tick_per_pass_as_high_as_its_gain(play: Play, golden: Props) -> None:
    page = play(without(golden, "base_jacobi"))
    choose(page, "known now")
    ticks = re.findall(r"M([\d.]+) 100v(-[\d.]+)h([\d.]+)", page.locator(".cp-bars path").first.get_attribute("d"))
    assert [round(-float(height)) for _, height, _ in ticks] == [50, 50, 100, 100]
    choose(page, "hindsight")
    ticks = re.findall(r"M([\d.]+) 100v(-?[\d.]+)h", page.locator(".cp-bars path").first.get_attribute("d"))
    assert [round(-float(height)) for _, height in ticks] == [33, 67, 100, 0]


def test_a_stopped_run_says_so(play: Play) -> None:
    page = play()
    assert lane(page, 2).locator(".cp-tag").inner_text() == "stopped, partial"
    assert lane(page, 1).locator(".cp-tag").count() == 0


# --- controls and keys


def test_every_button_moves_as_it_says(play: Play) -> None:
    page = play()
    pick(page, 1)
    button(page, "To the start").click()
    assert passes(page) == [0, 0, 0]
    button(page, "Step forward").click()
    button(page, "Step forward").click()
    assert passes(page) == [2, 2, 2]
    button(page, "Step back").click()
    assert passes(page) == [1, 1, 1]
    button(page, "Next block").click()
    assert passes(page) == [4, 4, 4]
    button(page, "Block before").click()
    assert passes(page) == [0, 0, 0]
    button(page, "To the end").click()
    assert passes(page) == [6, 4, 4]


def test_every_key_moves_as_it_says(play: Play) -> None:
    page = play()
    pick(page, 1)
    page.locator(".cllm-player").focus()
    moves = {
        "Home": [0, 0, 0],
        "ArrowRight": [1, 1, 1],
        "Shift+ArrowRight": [4, 4, 4],
        "ArrowLeft": [3, 3, 3],
        "Shift+ArrowLeft": [0, 0, 0],
        "End": [6, 4, 4],
    }
    for key, expected in moves.items():
        page.keyboard.press(key)
        assert passes(page) == expected, key


def test_space_plays_and_pauses(play: Play) -> None:
    page = play()
    page.get_by_label("Speed").select_option("0.5")
    page.locator(".cllm-player").focus()
    page.keyboard.press("Space")
    expect(button(page, "Pause")).to_be_visible()
    expect(lane(page, 0).locator(".cp-count-passes b")).not_to_have_text(re.compile("[06]"))
    page.keyboard.press("Space")
    expect(button(page, "Play")).to_be_visible()
    held = passes(page)
    page.wait_for_timeout(600)
    assert passes(page) == held


def test_play_goes_to_the_end_and_stops(play: Play) -> None:
    page = play()
    page.get_by_label("Speed").select_option("16")
    button(page, "Play").click()
    expect(button(page, "Play")).to_be_visible()
    assert passes(page) == [6, 4, 4]


def test_brackets_change_the_speed_within_its_bounds(play: Play) -> None:
    page = play()
    speed = page.get_by_label("Speed")
    page.locator(".cllm-player").press("]")
    expect(speed).to_have_value("2")
    for _ in range(12):
        page.keyboard.press("[")
    expect(speed).to_have_value("0.1")
    for _ in range(12):
        page.keyboard.press("]")
    expect(speed).to_have_value("16")


def test_scrubbing_moves_all_lanes(play: Play) -> None:
    page = play()
    page.get_by_label("Position in the run").fill("3")
    assert passes(page) == [3, 3, 3]
    page.get_by_label("Position in the run").press("ArrowRight")
    assert passes(page) == [4, 4, 4]
    assert page.get_by_label("Position in the run").get_attribute("aria-valuetext") == "pass 4 of 6"


def test_a_click_on_the_timeline_or_on_a_pass_goes_there(play: Play) -> None:
    page = play()
    track = lane(page, 0).locator(".cp-track")
    box = track.bounding_box()
    track.click(position={"x": box["width"] / 2, "y": 10})
    assert passes(page) == [3, 3, 3]
    pick(page, 1)
    page.locator('tr[aria-rowindex="3"] th').click()
    assert passes(page) == [1, 1, 1]


def test_the_help_opens_and_closes_by_key(play: Play) -> None:
    page = play()
    page.locator(".cllm-player").press("?")
    expect(page.get_by_role("dialog")).to_contain_text("play or pause")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    assert passes(page) == [6, 4, 4]
    button(page, "Help").click()
    button(page, "Close").click()
    expect(page.get_by_role("dialog")).to_be_hidden()


def test_keys_of_native_controls_stay_theirs(play: Play) -> None:
    """Space on a focused button must press that button, not also toggle the playback."""
    page = play()
    button(page, "Step back").press("Space")
    assert passes(page) == [5, 4, 4]
    expect(button(page, "Play")).to_be_visible()
    page.get_by_label("measured time").press("ArrowLeft")
    expect(page.get_by_label("by pass")).to_be_checked()


def test_chips_filter_their_class(play: Play) -> None:
    page = play()
    pick(page, 1)
    chip = page.get_by_role("button", name="wrong")
    chip.click()
    expect(chip).to_have_attribute("aria-pressed", "false")
    assert cell(page, 1, 1).text_content() == ""
    assert "C" in cell(page, 1, 2).text_content()
    for _ in range(5):
        page.keyboard.press("ArrowLeft")
    assert lane(page, 1).locator(".cp-guess.cp-is-wrong").first.get_attribute("class").endswith("cp-off")
    assert text(page, 1) == "AxCxxF"
    chip.click()
    assert "x" in cell(page, 1, 1).text_content()


def test_rare_classes_are_in_the_legend_only_where_they_occur(play: Play) -> None:
    page = play()
    pick(page, 1)
    assert page.get_by_role("button", name="unknown").count() == 0
    pick(page, 2)
    assert page.get_by_role("button", name="unknown").count() == 1


# --- clocks


def test_on_the_pass_clock_the_lane_with_fewer_passes_wins(play: Play, golden: Props) -> None:
    page = play(without(golden, "base_ar", "base_jacobi"))
    page.get_by_label("Position in the run").fill("4")
    assert passes(page) == [4, 4]
    assert "cp-done" not in lane(page, 0).get_attribute("class")
    assert "cp-done" in lane(page, 1).get_attribute("class")


def test_on_the_time_clock_the_lane_with_fewer_but_slower_passes_loses(play: Play, golden: Props) -> None:
    page = play(without(golden, "base_ar", "base_jacobi"))
    choose(page, "measured time")
    page.get_by_label("Position in the run").fill("30")
    assert passes(page) == [6, 3]
    assert "cp-done" in lane(page, 0).get_attribute("class")
    assert "cp-done" not in lane(page, 1).get_attribute("class")
    assert [lane(page, i).locator(".cp-finish").inner_text() for i in range(2)] == ["0.03 s", "0.04 s"]
    ends = [
        float(lane(page, i).locator(".cp-finish").evaluate("node => parseFloat(node.style.left)")) for i in range(2)
    ]
    assert ends == [75, 100]


def test_stepping_on_the_time_clock_follows_the_selected_lane(play: Play, golden: Props) -> None:
    page = play(without(golden, "base_ar", "base_jacobi"))
    choose(page, "measured time")
    page.locator(".cllm-player").press("Home")
    page.keyboard.press("ArrowRight")
    assert passes(page) == [2, 1]
    page.keyboard.press("ArrowLeft")
    assert passes(page) == [0, 0]
    pick(page, 0)
    for expected in ([1, 0], [2, 1], [3, 1], [4, 2], [5, 2], [6, 3], [6, 4], [6, 4]):
        button(page, "Step forward").click()
        assert passes(page) == expected
    for expected in ([6, 3], [5, 2]):
        button(page, "Step back").click()
        assert passes(page) == expected


def test_switching_the_clock_keeps_the_place_of_the_selected_lane(play: Play) -> None:
    page = play()
    pick(page, 1)
    page.get_by_label("Position in the run").fill("2")
    choose(page, "measured time")
    assert passes(page)[:2] == [4, 2]
    choose(page, "by pass")
    assert passes(page) == [2, 2, 2]


def test_measured_time_plays_in_real_time(play: Play, golden: Props) -> None:
    for row in golden["lanes"][1]["passes"]:
        row["ms"] = 250
    page = play(without(golden, "base_jacobi"))
    choose(page, "measured time")
    page.evaluate("window.started = performance.now()")
    button(page, "Play").click()
    expect(button(page, "Pause")).to_be_visible()
    expect(button(page, "Play")).to_be_visible()
    elapsed = page.evaluate("performance.now() - window.started")
    assert 950 < elapsed < 2500


# --- cells


def test_hover_focus_and_click_inspect_a_cell(play: Play) -> None:
    page = play()
    pick(page, 1)
    inspector = page.locator(".cp-inspector")
    cell(page, 2, 2).hover()
    expect(inspector).to_contain_text("id 2 · position 2 · pass 2 · block 1")
    expect(inspector).to_contain_text("fast-forwarded")
    page.mouse.move(0, 0)
    expect(inspector).to_contain_text("Hover, focus or tap a cell")
    cell(page, 1, 5).click()
    page.mouse.move(0, 0)
    expect(inspector).to_contain_text("right now, but pass 2 loses it again")
    page.keyboard.press("Escape")
    expect(inspector).to_contain_text("Hover, focus or tap a cell")


def test_the_panel_shows_probability_candidates_and_history(play: Play) -> None:
    page = play()
    pick(page, 1)
    cell(page, 2, 2).click()
    inspector = page.locator(".cp-inspector")
    assert inspector.locator(".cp-candidates li").all_text_contents() == ["C75 %", "z13 %"]
    rows = inspector.locator(".cp-history tbody tr")
    assert [re.sub(r"\s+", " ", each) for each in rows.all_text_contents()] == [
        "1rC◆stationary (corrected)",
        "2CC»fast-forwarded",
        "3CC✓settled",
    ]


REASONS = [
    ("hindsight", 0, 0, "before the first pass"),
    ("hindsight", 1, 0, "one-token-at-a-time decoding would get it in this pass too"),
    ("hindsight", 1, 1, "not the token that the output has here"),
    ("hindsight", 1, 2, "position 1 to its left is still wrong"),
    ("hindsight", 3, 5, "2 positions past the next token"),
    ("hindsight", 4, 5, "had already reached position 6"),
    ("known now", 1, 0, "the model's own next token"),
    ("known now", 1, 3, "The guess at position 0 came out different"),
    ("known now", 3, 3, "position 2 came out as they went in"),
]


def test_a_cell_says_why_it_has_its_class(play: Play) -> None:
    page = play()
    pick(page, 1)
    for view, t, position, reason in REASONS:
        choose(page, view)
        cell(page, t, position).click()
        expect(page.locator(".cp-why").first).to_contain_text(reason)


def test_tokens_of_a_stopped_run_behind_its_output_are_unknown(play: Play) -> None:
    page = play()
    page.locator(".cllm-player").press("End")
    cell(page, 4, 14).click()
    expect(page.locator(".cp-inspector")).to_contain_text("The run was stopped before this position was fixed")


def test_corrected_cells_are_marked_in_hindsight_only(play: Play) -> None:
    page = play()
    pick(page, 1)
    marked = page.locator(".cp-table .cp-corrected")
    assert marked.count() == 3 + 2 + 2
    cell(page, 3, 3).click()
    expect(page.locator(".cp-inspector")).to_contain_text("Corrected in this pass: the guess was y.")
    choose(page, "known now")
    assert marked.count() == 0


def test_the_last_guess_of_a_full_window_can_be_corrected_too(play: Play) -> None:
    """It is not fed to the pass that corrects it: the player disagreed with `annotate` there."""
    lanes = {"base_jacobi": load_run(TRACES / "lessons" / "week.json")["base_jacobi"]}
    found = annotate(lanes["base_jacobi"]).corrected[-1]
    position = lanes["base_jacobi"].steps[-1].start + found.index(True)
    page = play(player_props(lanes))
    page.locator(".cllm-player").press("End")
    expect(cell(page, len(lanes["base_jacobi"].steps), position)).to_have_attribute(
        "aria-label", re.compile("corrected")
    )


def test_a_pinned_cell_is_told_and_let_go_by_keyboard(play: Play) -> None:
    page = play()
    pick(page, 1)
    cell(page, 1, 5).click()
    expect(cell(page, 1, 5)).to_have_attribute("aria-selected", "true")
    page.mouse.move(0, 0)
    page.get_by_role("button", name="Unpin").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".cp-pinned")).to_have_count(0)
    assert page.evaluate("document.activeElement.closest('.cp-table') !== null")  # where the player's keys still work


def test_the_grid_is_one_tab_stop_and_arrow_keys_walk_it(play: Play) -> None:
    page = play()
    pick(page, 1)
    assert page.locator(".cp-table [tabindex]").count() == 1
    page.locator(".cp-table [tabindex]").focus()
    expect(page.locator(".cp-inspector")).to_contain_text("position 0 · pass 1")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".cp-inspector")).to_contain_text("position 2 · pass 2")
    page.keyboard.press("Enter")
    expect(page.locator("td.cp-pinned")).to_have_count(1)
    assert passes(page) == [6, 4, 4]
    page.keyboard.press("Shift+ArrowLeft")
    assert passes(page) == [4, 4, 4]
    page.keyboard.press("Shift+ArrowLeft")
    assert passes(page) == [0, 0, 0]
    assert page.locator(".cp-table [tabindex]").count() == 1


def test_a_tap_pins_a_cell(play: Play) -> None:
    page = play(viewport={"width": 360, "height": 780}, has_touch=True, is_mobile=True)
    cell(page, 1, 0).tap()
    expect(page.locator("td.cp-pinned")).to_have_count(1)
    expect(page.locator(".cp-inspector")).to_contain_text("position 0 · pass 1")


def test_the_table_has_headers_and_each_cell_a_text(play: Play) -> None:
    page = play()
    pick(page, 1)
    assert page.locator("thead th[scope=col]").count() == 7
    assert page.locator("tbody th[scope=row]").count() == 5
    label = "C, pass 2, position 2, fast-forwarded, 75 %"
    assert cell(page, 2, 2).get_attribute("aria-label") == label
    assert page.get_by_role("grid").get_attribute("aria-label") == "Base, Jacobi: passes down, positions across"


def test_a_screen_reader_hears_of_a_step_but_not_of_every_one(play: Play) -> None:
    page = play()
    page.evaluate(
        """() => {
            window.heard = [];
            const status = document.querySelector(".cllm-player [aria-live]");
            new MutationObserver(() => heard.push(status.textContent)).observe(status, {childList: true});
        }"""
    )
    page.locator(".cllm-player").press("Home")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.wait_for_timeout(900)
    heard = page.evaluate("heard")
    assert heard[-1] == "CLLM <i>Jacobi</i>: pass 3 of 4, 8 tokens fixed."
    assert len(heard) <= 3


# --- tokens are data


def test_markup_in_tokens_names_and_notes_is_shown_and_never_parsed(play: Play) -> None:
    page = play(title=player_cases.TITLE)
    assert page.locator(".cllm-player img, .cllm-player i:not([class]):not([aria-hidden])").count() == 0
    assert page.locator(".cllm-player script, .cllm-player bdi b").count() == 0
    assert text(page, 2).startswith(player_cases.MARKUP + "${x}{{x}}</script><!-- שלום")
    assert lane(page, 2).locator(".cp-pick").inner_text() == "CLLM <i>Jacobi</i>"
    assert lane(page, 2).locator(".cp-facts").inner_text().startswith("<b>model</b> + ${adapter} · n = 8")
    assert lane(page, 2).locator(".cp-notes").inner_text() == "A note with <i>markup</i>."
    assert page.locator("h1").inner_text() == player_cases.TITLE
    assert page.title() == player_cases.TITLE
    assert page.locator(".cp-preview").inner_text() == "<p>prompt</p> ${prompt} {{prompt}}"


def test_markup_in_the_title_of_the_payload_is_shown(play: Play) -> None:
    page = play(title="another")
    assert page.locator(".cp-title").inner_text() == player_cases.TITLE


def test_the_final_text_is_the_recorded_text(play: Play) -> None:
    """Bytes join into the emoji; a control token has no text; NUL and a turn to right-to-left are made visible."""
    page = play()
    recorded = player_cases.nasty().text
    text_node = lane(page, 2).locator(".cp-fixed")
    shown = "".join(text_node.nth(i).text_content() or "" for i in range(2))
    assert shown == recorded.replace("\x00", "␀").replace("\u202e", "⟨U+202E⟩")
    assert "🤗" in shown


def test_half_an_emoji_shows_its_bytes_in_its_cell(play: Play) -> None:
    page = play()
    assert cell(page, 1, 7).locator("bdi").text_content() == "A4 97"
    assert cell(page, 2, 6).locator("bdi").text_content() == "F0 9F"


def test_an_emoji_cut_by_the_frontier_is_never_a_crash(play: Play, golden: Props) -> None:
    partial = golden["lanes"][2]
    partial["passes"] = partial["passes"][:2]
    partial["passes"][1].update(f=7, x=partial["passes"][1]["x"][:4], d=partial["passes"][1]["d"][:4])
    partial["passes"][1].update(h=partial["passes"][1]["h"][:4], p=partial["passes"][1]["p"][:4])
    partial["output"] = partial["output"][:7]
    page = play(without(golden, "cllm_jacobi"))
    assert text(page, 0).endswith("\ufffd")


VISIBLE = {
    4: "␣שלום",
    5: "<|sep|>",
    8: "⇥⏎",
    9: "␀",
    10: "◌\u0301",
    11: "⟨U+202E⟩abc⟨U+2028⟩",
    12: "👨‍👩‍👧",
    13: "long" * 11 + "lon…",
}


def test_what_cannot_be_seen_is_made_visible_in_cells(play: Play) -> None:
    page = play()
    for position, shown in VISIBLE.items():
        if position == 8:
            page.locator(".cllm-player").press("End")
        assert cell(page, 4 if position >= 8 else 2, position).locator("bdi").text_content() == shown


def test_right_to_left_tokens_do_not_reorder_the_grid(play: Play) -> None:
    page = play()
    boxes = [page.locator("thead th").nth(i).bounding_box()["x"] for i in range(1, 8)]
    assert boxes == sorted(boxes)
    assert cell(page, 2, 4).bounding_box()["x"] == pytest.approx(boxes[4], abs=2)


# --- bad and odd payloads


def broken(change: Callable[[Props], Any]) -> Callable[[Props], Props]:
    def apply(props: Props) -> Props:
        props = copy.deepcopy(props)
        change(props)
        return props

    return apply


BROKEN = {
    "other schema": (broken(lambda p: p.update(schema="x")), "not a recording"),
    "newer": (broken(lambda p: p.update(version=99)), "format 99, and this player reads up to 1"),
    "no version": (broken(lambda p: p.pop("version")), "damaged: it has no version number"),
    "no lanes": (broken(lambda p: p.pop("lanes")), "damaged: it has no lanes"),
    "empty lanes": (broken(lambda p: p.update(lanes=[])), "nothing to play yet"),
    "bad pieces": (broken(lambda p: p.update(pieces=[[1, 7, "x"]])), "damaged: its token pieces"),
    "null lane": (broken(lambda p: p.update(lanes=[None])), "damaged: lane 1 has no passes"),
    "index out of range": (broken(lambda p: p["lanes"][1]["passes"][2]["x"].__setitem__(0, 999)), "pass 3 of lane 2"),
    "classes too short": (broken(lambda p: p["lanes"][0]["passes"][0].update(h="")), "pass 1 of lane 1"),
    "unknown class": (broken(lambda p: p["lanes"][0]["passes"][0].update(h="%")), "pass 1 of lane 1"),
    "frontier backwards": (broken(lambda p: p["lanes"][1]["passes"][1].update(f=0)), "impossible frontier"),
    "gap": (broken(lambda p: p["lanes"][1]["passes"][1].update(s=3)), "does not follow"),
    "time": (broken(lambda p: p["lanes"][1]["passes"][1].update(ms=None)), "has no time"),
    "candidates": (broken(lambda p: p["lanes"][1]["passes"][1].update(k=[1])), "odd candidates"),
    "output": (broken(lambda p: p["lanes"][1]["output"].pop()), "not what its passes fixed"),
}


def test_a_broken_payload_is_one_sentence_in_place(play: Play, golden: Props) -> None:
    page = play()
    for name, (change, sentence) in BROKEN.items():
        page.evaluate("props => { CllmPlayer.mount(document.getElementById('player'), props) }", change(golden))
        assert sentence in page.locator(".cp-message").inner_text(), name
        assert page.locator(".cllm-player > *").count() == 1, name
        page.locator(".cllm-player").press("Space")


def test_any_value_at_all_is_taken_without_an_error(play: Play) -> None:
    page = play()
    for value in ("null", "undefined", "''", "42", "[]", "'{'", "'null'", "({schema: 'cllm-player'})"):
        page.evaluate(f"CllmPlayer.mount(document.getElementById('player'), {value})")
        assert page.locator(".cp-message").inner_text().endswith("."), value


def test_update_shows_another_run_and_destroy_leaves_nothing(play: Play, golden: Props) -> None:
    page = play()
    page.evaluate("window.host = document.body.appendChild(document.createElement('div'))")
    page.evaluate("props => { window.player = CllmPlayer.mount(host, props) }", without(golden, "base_ar"))
    second = page.locator(".cllm-player").nth(1)
    assert second.locator(".cp-lane").count() == 1
    page.evaluate("props => player.update(JSON.stringify(props))", golden)
    assert second.locator(".cp-lane").count() == 3
    assert "Base, one token at a time" in second.locator(".cp-selected").inner_text()
    page.evaluate("player.update(null)")
    assert second.inner_text() == "There is nothing to play yet."
    page.evaluate("player.destroy()")
    assert page.evaluate("host.childElementCount") == 0


def test_a_second_mount_takes_the_place_of_the_first(play: Play, golden: Props) -> None:
    page = play()
    page.evaluate("props => { CllmPlayer.mount(document.getElementById('player'), props) }", golden)
    page.locator(".cllm-player").press("ArrowLeft")
    assert passes(page) == [5, 4, 4]


def test_two_players_on_one_page_do_not_touch_each_other(play: Play, golden: Props) -> None:
    page = play()
    page.evaluate("window.host = document.body.appendChild(document.createElement('div'))")
    page.evaluate("props => { CllmPlayer.mount(host, props) }", golden)
    second = page.locator(".cllm-player").nth(1)
    second.get_by_role("radio", name="measured time").check()
    second.press("Home")
    assert page.locator(".cllm-player").first.get_by_label("by pass").is_checked()
    assert page.locator(".cllm-player").first.locator(".cp-count-passes b").first.inner_text() == "6"


def test_an_empty_run_a_one_token_run_and_a_full_one_play_together(play: Play, golden: Props) -> None:
    empty, one, full = copy.deepcopy(golden["lanes"])
    empty.update(passes=[], output=[], partial=True)
    one.update(passes=one["passes"][:1], output=one["output"][:1])
    one["passes"][0].update(x=one["passes"][0]["x"][:1], d=[], h="s", p=[750], k=[[0, 750]])
    page = play({**golden, "lanes": [empty, one, full]})
    assert passes(page) == [0, 1, 4]
    assert count(page, 0, "rate") == "–"
    pick(page, 0)
    expect(page.locator(".cp-empty")).to_have_text("No pass was recorded in this run.")
    page.locator(".cllm-player").press("Shift+ArrowLeft")
    page.keyboard.press("Shift+ArrowRight")
    pick(page, 1)
    assert text(page, 1) == "A"
    pick(page, 2)
    assert page.get_by_role("grid").is_visible()


def test_only_empty_runs_can_be_played(play: Play, golden: Props) -> None:
    (only,) = without(golden, "base_ar")["lanes"]
    only.update(passes=[], output=[])
    page = play({**golden, "lanes": [only]})
    page.locator(".cllm-player").focus()
    for key in ("Space", "ArrowLeft", "ArrowRight", "Shift+ArrowLeft", "Shift+ArrowRight", "Home", "End"):
        page.keyboard.press(key)
    choose(page, "measured time")
    assert passes(page) == [0]
    expect(button(page, "Play")).to_be_visible()


# --- looks


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", ["known now", "hindsight"])
def test_axe_finds_nothing(play: Play, scheme: str, view: str) -> None:
    page = play(color_scheme=scheme)
    choose(page, view)
    for _ in range(3):
        page.locator(".cllm-player").press("ArrowLeft")
    pick(page, 1)
    cell(page, 1, 2).click()
    results = Axe().run(page)
    assert results.violations_count == 0, results.generate_report()
    page.locator(".cllm-player").press("?")
    results = Axe().run(page)
    assert results.violations_count == 0, results.generate_report()


def test_the_app_decides_on_dark_and_the_page_follows_the_system(play: Play) -> None:
    background = "getComputedStyle(document.querySelector('.cllm-player')).backgroundColor"
    page = play(color_scheme="dark")
    assert page.evaluate(background) == "rgb(20, 23, 28)"
    page.evaluate("document.documentElement.classList.remove('cllm-page')")
    assert page.evaluate(background) == "rgb(255, 255, 255)"
    page.evaluate("document.body.classList.add('dark')")
    assert page.evaluate(background) == "rgb(20, 23, 28)"


def test_classes_differ_by_glyph_and_edge_and_not_by_colour_alone(play: Play) -> None:
    page = play()
    seen = set()
    for name in ("settled", "fast-forwarded", "stationary", "transient", "wrong"):
        chip = page.get_by_role("button", name=name)
        style = chip.evaluate(
            "n => { const s = getComputedStyle(n); return s.borderBottomStyle + s.borderBottomWidth }"
        )
        seen.add((chip.locator("i").text_content(), style))
    assert len({glyph for glyph, _ in seen}) == len({edge for _, edge in seen}) == 5


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_scrolls_only_inside_the_grid(play: Play, scheme: str) -> None:
    page = play(viewport={"width": 360, "height": 780}, color_scheme=scheme, has_touch=True, is_mobile=True)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert page.evaluate("(b => b.scrollWidth > b.clientWidth)(document.querySelector('.cp-grid'))")
    for name in ("Play", "Step back", "Next block"):
        box = button(page, name).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360
    assert Axe().run(page).violations_count == 0


def test_reduced_motion_has_no_transitions_and_still_plays(play: Play) -> None:
    page = play(reduced_motion="reduce")
    durations = page.evaluate(
        "[...document.querySelectorAll('.cllm-player *')].map(n => getComputedStyle(n).transitionDuration)"
    )
    assert set(durations) == {"0s"}
    page.get_by_label("Speed").select_option("16")
    button(page, "Play").click()
    expect(button(page, "Play")).to_be_visible()
    assert passes(page) == [6, 4, 4]


# --- size


def large(lanes: int = 3, size: int = 512, n: int = 32) -> Props:
    """A payload of `size` positions and passes in every lane: windows of n that gain one token a pass."""
    pieces = [[i, 0, f" word{i}"] for i in range(200)]
    rows = []
    for t in range(size):
        width = min(n, size - t)
        x = [(t + i) % 200 if i < 3 else (7 * t + i) % 200 for i in range(width)]
        draft = [(t + 5 + i) % 200 for i in range(width - 1)]
        h = "".join("sskwtw"[i % 6] if i else "s" for i in range(width))
        rows.append({"s": t, "d": draft, "x": x, "f": t + 1, "c": t + 1, "ms": 20 + t % 7, "h": h, "p": [500] * width})
    lane = {
        "label": "Large",
        "model": "m",
        "decoder": "jacobi",
        "window": "sliding",
        "n": n,
        "device": "cpu",
        "dtype": "float32",
        "finish": "length",
        "partial": False,
        "c0": 0,
        "output": [t % 200 for t in range(size)],
        "passes": rows,
        "summary": {},
        "notes": [],
    }
    each = [{**lane, "key": f"lane{i}"} for i in range(lanes)]
    base = {"schema": "cllm-player", "version": 1, "title": "", "prompt": "", "notes": []}
    return {**base, "pieces": pieces, "lanes": each}


def test_a_step_of_a_large_run_is_fast_and_draws_only_what_is_in_view(play: Play) -> None:
    page = play(large())
    page.locator(".cllm-player").press("Home")
    meter = page.context.new_cdp_session(page)
    meter.send("Performance.enable", {"timeDomain": "threadTicks"})  # processor time: other programs don't count

    def seconds() -> float:
        metrics = meter.send("Performance.getMetrics")["metrics"]
        return next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")

    before = seconds()
    page.evaluate(
        """() => {
            const root = document.querySelector(".cllm-player");
            for (let i = 0; i < 300; i++) {
                root.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight", bubbles: true}));
                root.getBoundingClientRect();
            }
        }"""
    )
    assert passes(page) == [300, 300, 300]
    assert (seconds() - before) / 300 < 0.030
    assert page.locator(".cp-table td").count() < 600
    assert page.locator(".cllm-player *").count() < 4000


def test_the_grid_follows_the_pass_that_plays(play: Play, golden: Props) -> None:
    page = play(large(lanes=1, size=90))
    page.locator(".cllm-player").press("Home")
    for _ in range(60):
        page.keyboard.press("ArrowRight")
        row = page.locator("tbody tr.cp-now")
        assert row.count() == 1
        assert row.locator("td:not([data-state=blank], [data-state=passed])").count() > 3


def test_a_large_grid_can_be_scrolled_to_any_place(play: Play) -> None:
    page = play(large(lanes=1))
    box = page.locator(".cp-grid")
    box.evaluate("b => { b.scrollTop = b.scrollHeight / 2; b.scrollLeft = b.scrollWidth / 2 }")
    expect(page.locator("tbody tr").first).not_to_have_attribute("aria-rowindex", "2")
    middle = int(page.locator("tbody tr").first.get_attribute("aria-rowindex"))
    assert 240 < middle < 270
    assert int(page.locator("thead th").nth(1).get_attribute("aria-colindex")) > 240
    page.locator(".cllm-player").press("Home")
    expect(page.locator("tbody tr").first).to_have_attribute("aria-rowindex", "2")


def test_a_run_that_ended_out_of_sight_is_scrolled_to_where_its_rows_are(play: Play) -> None:
    """A box that is not shown takes no scrolling: as in a tab that was left while the run played."""
    page = play(large(lanes=1, size=90))
    player = page.locator(".cllm-player")
    player.press("Home")
    player.evaluate("node => { node.parentElement.hidden = true; CllmPlayer.of(node).set({ pass: 60 }); }")
    page.wait_for_timeout(100)
    player.evaluate("node => { node.parentElement.hidden = false; }")
    expect(page.locator("tbody tr.cp-now")).to_have_attribute("aria-rowindex", "62")
    top = page.locator(".cp-grid").evaluate("box => box.scrollTop")
    first = int(page.locator("tbody tr").first.get_attribute("aria-rowindex") or 0) - 2
    assert abs(top - first * 34) < 2
    page.locator(".cp-grid").evaluate("box => { box.scrollTop -= 34; }")
    expect(page.locator("tbody tr").first).to_have_attribute("aria-rowindex", str(first + 1))
