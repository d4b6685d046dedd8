"""The lessons in a real browser: walked from end to end, answered on the grid, by mouse and by keyboard."""

import copy
import json
import re
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from visualize.learn_page import learn_page
from visualize.lessons import LearnProps, learn_props
from visualize.page import ASSETS
from visualize.settings import AppSettings
from visualize.tabs.learn import learn_tab

pytestmark = pytest.mark.browser

Open = Callable[..., Page]
MARKUP = "<img src=x onerror=alert(1)> ${x} {{x}} </script>"


@pytest.fixture(scope="module")
def props() -> LearnProps:
    return learn_props()


@pytest.fixture
def learn(new_page: Open, props: LearnProps, tmp_path: Path) -> Open:
    """Opens the lessons as a page of their own, from a file: no server, no model."""

    def open_page(data: Any = None, **options: Any) -> Page:
        path = tmp_path / "learn.html"
        path.write_text(learn_page(data or props, "Learn"), encoding="utf-8")
        page = new_page(**{"reduced_motion": "reduce", **options})
        page.goto(path.as_uri())
        return page

    return open_page


def link(page: Page, index: int) -> Locator:
    return page.locator(".cl-link").nth(index)


def forward(page: Page) -> Locator:
    return page.locator(".cl-main")


def cell(page: Page, t: int, position: int) -> Locator:
    return page.locator(f'tr[aria-rowindex="{t + 2}"] td[aria-colindex="{position + 2}"]')


def shown_pass(page: Page) -> int:
    return int(page.locator(".cp-grid tr.cp-now").get_attribute("aria-rowindex") or 0) - 2


def answer(page: Page, step: Any) -> None:
    """Chooses a right answer, bringing its row into sight first."""
    t, position = step["ask"]["cells"][0]
    while cell(page, t, position).count() == 0:
        page.locator(".cllm-player").press("ArrowLeft")
    cell(page, t, position).click()


def assert_accessible(page: Page) -> None:
    results = Axe().run(page)
    assert results.violations_count == 0, results.generate_report()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("number", range(6))
def test_a_lesson_can_be_walked_from_end_to_end(learn: Open, props: LearnProps, number: int, scheme: str) -> None:
    page = learn(color_scheme=scheme)
    link(page, number).click()
    lesson = props["lessons"][number]
    steps = lesson["steps"]
    for index, step in enumerate(steps, 1):
        expect(page.locator(".cl-count")).to_have_text(f"Step {index} of {len(steps)}")
        expect(page.locator(".cl-say p")).to_have_count(len(step["say"]))
        assert shown_pass(page) == step["at"]
        expect(page.locator(".cp-flag-look")).to_have_count(len(step["flags"]))
        if "ask" in step:
            after = "Next lesson" if number < 5 else "Predict, then reveal"
            expect(forward(page)).to_have_text(after if index == len(steps) else "Skip")
            answer(page, step)
            expect(page.locator(".cl-reply")).to_have_text(step["ask"]["right"])
            expect(page.locator(".cp-flag-yes")).to_have_count(1)
        if index == len(steps) or "ask" in step:
            assert_accessible(page)
        forward(page).click()
    expect(link(page, number).locator(".cl-done")).to_contain_text("done")
    expect(link(page, number + 1)).to_have_attribute("aria-current", "page")
    expect(link(page, number + 1)).to_be_focused()


def test_a_wrong_answer_is_told_what_it_is_and_the_second_one_offers_help(learn: Open, props: LearnProps) -> None:
    page = learn()
    link(page, 1).click()
    for _ in range(3):
        forward(page).click()
    show = page.get_by_role("button", name="Show me")
    expect(show).to_be_hidden()
    cell(page, 2, 1).click()
    expect(page.locator(".cl-reply")).to_contain_text("Not this one: “␣are”, pass 2, place 1, is settled.")
    expect(page.locator(".cp-flag-no")).to_have_count(1)
    cell(page, 0, 3).click()
    expect(page.locator(".cl-reply")).to_contain_text("a guess of the draft")
    show.click()
    (t, position), *_ = props["lessons"][1]["steps"][3]["ask"]["cells"]
    expect(page.locator(".cl-reply")).to_contain_text(f"place {position} in the row of pass {t}")
    expect(cell(page, t, position)).to_have_class("cp-flag cp-flag-yes")
    expect(show).to_be_hidden()
    expect(forward(page)).to_have_text("Next")


def test_a_lesson_needs_no_mouse(learn: Open) -> None:
    page = learn()
    link(page, 0).focus()
    page.keyboard.press("Enter")
    forward(page).focus()
    for _ in range(4):
        page.keyboard.press("Enter")
    expect(page.locator(".cl-ask")).to_be_visible()
    while "cp-table" not in page.evaluate("document.activeElement.closest('table')?.className ?? ''"):
        page.keyboard.press("Tab")
    for _ in range(20):  # down and right along the staircase, to pass 6
        if page.evaluate("document.activeElement.getAttribute('aria-label')").endswith("pass 6, position 5, fixed"):
            break
        label = page.evaluate("document.activeElement.getAttribute('aria-label')")
        page.keyboard.press("ArrowDown" if "pass 6" not in label else "ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator(".cl-reply")).to_contain_text("Yes: pass 6")


def test_a_check_shows_nothing_that_gives_the_answer_away(learn: Open, props: LearnProps) -> None:
    page = learn()
    link(page, 3).click()
    forward(page).click()
    forward(page).click()
    expect(page.locator(".cl-ask")).to_be_visible()
    for part in (".cp-inspector", ".cp-legend", ".cp-lanes", ".cp-segmented"):
        expect(page.locator(part).first).to_be_hidden()
    cells = [cell(page, *place) for place in props["lessons"][3]["steps"][2]["ask"]["cells"]]
    seen = [each.get_attribute("data-state") for each in cells if each.count()]  # some may lie beyond the right edge
    assert seen
    assert set(seen) == {"draft"}
    assert page.locator(".cp-grid thead small").all_inner_texts() != [""] * 9


def test_a_step_plays_pass_by_pass_and_stops(learn: Open) -> None:
    page = learn(reduced_motion="no-preference")
    link(page, 1).click()
    forward(page).click()
    forward(page).click()
    seen = set()
    while len(seen) < 4 and (4 not in seen):
        seen.add(shown_pass(page))
        page.wait_for_timeout(50)
    assert seen >= {2, 3}
    page.wait_for_timeout(700)
    assert shown_pass(page) == 4


def test_back_and_another_lesson_can_interrupt_a_step_that_plays(learn: Open) -> None:
    page = learn(reduced_motion="no-preference")
    for _ in range(2):
        forward(page).click()  # the second one plays to pass 8
    page.get_by_role("button", name="Back", exact=True).click()
    expect(page.locator(".cl-count")).to_have_text("Step 2 of 5")
    assert shown_pass(page) == 2
    forward(page).click()
    link(page, 4).click()
    page.wait_for_timeout(1200)
    expect(page.locator(".cp-prompt")).to_contain_text("onion tart")


def test_a_step_that_plays_is_left_to_who_takes_the_player_over(learn: Open) -> None:
    page = learn(reduced_motion="no-preference")
    for _ in range(2):
        forward(page).click()  # the second one plays to pass 8
    page.get_by_role("button", name="To the start").click()
    page.wait_for_timeout(1200)
    assert shown_pass(page) == 0


def test_an_answer_during_a_walk_shows_the_pass_that_is_asked_about(learn: Open, props: LearnProps) -> None:
    page = learn(reduced_motion="no-preference")
    link(page, 4).click()
    for _ in range(3):
        forward(page).click()
    page.locator('td:not([data-state="blank"]):not([data-state="passed"])').first.click()
    assert shown_pass(page) == props["lessons"][4]["steps"][3]["at"]


def test_an_answer_and_a_mark_belong_to_one_lane(learn: Open, props: LearnProps) -> None:
    page = learn()
    link(page, 5).click()
    expect(page.locator(".cp-flag-look").first).to_be_visible()
    base, cllm = (page.locator(".cp-lane-name", has_text=re.compile(name)) for name in ("^Base", "^CLLM"))
    base.click()
    expect(page.locator(".cp-flag")).to_have_count(0)
    cllm.click()
    expect(page.locator(".cp-flag-look").first).to_be_visible()
    for _ in range(3):
        forward(page).click()
    base.click()
    page.locator('td:not([data-state="blank"]):not([data-state="passed"])').first.click()
    expect(page.locator(".cl-reply")).to_contain_text("That is the other lane")
    for _ in range(2):
        cllm.click()
        page.locator('td[data-state="wrong"]').first.click()
    base.click()
    page.get_by_role("button", name="Show me").click()
    t, position = props["lessons"][5]["steps"][3]["ask"]["cells"][0]
    expect(cell(page, t, position)).to_have_class("cp-flag cp-flag-yes")
    expect(forward(page)).to_be_focused()


def test_the_focus_stays_in_the_lesson_where_a_button_goes(learn: Open) -> None:
    page = learn()
    forward(page).click()
    page.get_by_role("button", name="Back", exact=True).press("Enter")
    expect(page.locator(".cl-count")).to_have_text("Step 1 of 5")
    expect(forward(page)).to_be_focused()


def test_classes_that_were_switched_off_are_back_in_a_check(learn: Open) -> None:
    page = learn()
    link(page, 1).click()
    for _ in range(2):
        forward(page).click()
    for chip in page.locator(".cp-legend button").all():
        chip.click()
    expect(page.locator(".cp-off").first).to_be_visible()
    forward(page).click()
    expect(page.locator(".cl-ask")).to_be_visible()
    expect(page.locator(".cp-off")).to_have_count(0)


# --- predict


def test_predictions_are_marked_revealed_and_scored(learn: Open, props: LearnProps) -> None:
    page = learn()
    link(page, 6).click()
    lane = next(lane for lane in props["recordings"]["week.json"]["lanes"] if lane["key"] == "base_jacobi")
    first, second = lane["passes"][0], lane["passes"][1]
    cell(page, 0, 0).click()
    cell(page, 0, 2).click()
    expect(page.locator(".cp-flag-pick")).to_have_count(2)
    expect(page.locator(".cl-card")).to_contain_text("2 marked for pass 1")
    forward(page).click()
    assert shown_pass(page) == 1
    right = [position for position in range(len(first["d"])) if first["h"][position] in "sfkt"]
    expect(page.locator(".cl-reply")).to_contain_text(f"{len({0, 2} & set(right))} of your 2 marks")
    judged = sum((position in (0, 2)) == (position in right) for position in range(len(first["d"])))
    expect(page.locator(".cl-total")).to_contain_text(f"{judged} of {len(first['d'])} places")
    expect(cell(page, 1, 0)).to_have_class("cp-flag cp-flag-yes")
    forward(page).click()
    expect(page.locator(".cl-reply")).to_contain_text("You marked none.")
    expect(page.locator(".cp-flag-missed")).to_have_count(sum(letter in "sfkt" for letter in second["h"]))


def test_marks_can_be_taken_back_and_only_guesses_can_be_marked(learn: Open) -> None:
    page = learn()
    link(page, 6).click()
    cell(page, 0, 1).click()
    cell(page, 0, 1).click()
    expect(page.locator(".cp-flag-pick")).to_have_count(0)
    forward(page).click()
    cell(page, 0, 3).click()
    expect(page.locator(".cl-reply")).to_contain_text("in the row of the last pass")
    expect(page.locator(".cp-flag-pick")).to_have_count(0)


def test_a_game_can_be_played_to_its_end_and_started_again(learn: Open, props: LearnProps) -> None:
    page = learn()
    link(page, 6).click()
    while forward(page).is_enabled():
        forward(page).click()
    expect(page.locator(".cl-card")).to_contain_text("The answer is complete.")
    (lane,) = [lane for lane in props["recordings"]["week.json"]["lanes"] if lane["key"] == "base_jacobi"]
    assert shown_pass(page) == len(lane["passes"])
    page.get_by_role("button", name="Start again").click()
    assert shown_pass(page) == 0
    page.locator(".cl-select").select_option("A multiplication table")
    expect(page.locator(".cp-prompt")).to_contain_text("multiplication table")
    assert_accessible(page)


def expect_a_new_start_at(page: Page, at: int) -> None:
    """The game goes on from a pass that was jumped to, with nothing marked."""
    assert shown_pass(page) == at
    expect(page.locator(".cl-card")).to_contain_text(f"Pass {at} of 35. 0 marked for pass {at + 1}.")
    expect(page.locator(".cp-flag")).to_have_count(0)


def test_the_game_shows_no_later_pass_and_takes_a_jump_for_a_new_start_there(learn: Open) -> None:
    page = learn()
    link(page, 6).click()
    expect(page.locator(".cp-transport")).to_be_hidden()
    cell(page, 0, 1).click()
    page.locator(".cllm-player").press("ArrowRight")
    expect_a_new_start_at(page, 1)


def test_the_game_knows_the_pass_however_it_was_reached(learn: Open) -> None:
    page = learn()
    link(page, 6).click()
    player = page.locator(".cllm-player")
    forward(page).click()
    for key, at in (("ArrowLeft", 0), ("ArrowRight", 1)):
        player.press(key)
        expect_a_new_start_at(page, at)
    page.get_by_role("button", name="Start again").click()
    cell(page, 0, 1).click()
    player.press("ArrowRight")
    expect_a_new_start_at(page, 1)


def test_the_game_is_played_by_keyboard_and_no_key_gives_the_answer_away(learn: Open) -> None:
    page = learn()
    link(page, 6).click()
    guess = page.locator(".cp-grid td[tabindex='0']")
    expect(guess).to_have_attribute("aria-label", re.compile("draft, position 0"))
    guess.focus()
    for key, marks in (("Space", 1), ("Space", 0), ("Enter", 1)):
        page.keyboard.press(key)
        expect(page.locator(".cl-card")).to_contain_text(f"Pass 0 of 35. {marks} marked for pass 1.")
    for key in ("Home", "End"):
        page.keyboard.press(key)
        assert shown_pass(page) == 0
    page.locator(".cllm-player").focus()
    page.keyboard.press("Space")
    page.wait_for_timeout(300)
    assert shown_pass(page) == 0


def test_places_after_the_end_are_in_no_score(learn: Open, props: LearnProps) -> None:
    page = learn(viewport={"width": 2400, "height": 1000})
    link(page, 6).click()
    page.locator(".cl-select").select_option("A note to JSON, by a CLLM")
    (lane,) = [lane for lane in props["recordings"]["notes.json"]["lanes"] if lane["key"] == "cllm_jacobi"]
    of = right = 0
    while forward(page).is_enabled():
        t = shown_pass(page)
        state, row = lane["passes"][t - 1], lane["passes"][t]
        marked = state["s"] + len(state["x"]) - row["s"] if t else len(row["d"])  # the guesses that are in sight
        classes = row["h"][:marked]
        of += sum(letter != "e" for letter in classes)
        right += sum(letter == "w" for letter in classes)
        forward(page).click()
    expect(page.locator(".cl-total")).to_contain_text(f"So far you judged {right} of {of} places rightly")


def test_a_round_can_be_played_on_a_cllm_lane(learn: Open, props: LearnProps) -> None:
    page = learn(viewport={"width": 2400, "height": 1000})
    link(page, 6).click()
    page.locator(".cl-select").select_option("A note to JSON, by a CLLM")
    (lane,) = [lane for lane in props["recordings"]["notes.json"]["lanes"] if lane["key"] == "cllm_jacobi"]
    first = lane["passes"][0]
    right = [position for position, letter in enumerate(first["h"]) if letter in "sfkt"]
    cell(page, 0, right[-1]).click()
    forward(page).click()
    expect(page.locator(".cl-reply")).to_contain_text("1 of your 1 mark was right.")
    expect(page.locator(".cp-flag-missed")).to_have_count(len([each for each in right if each < len(first["d"])]) - 1)
    while forward(page).is_enabled():
        forward(page).click()
    assert shown_pass(page) == len(lane["passes"])


# --- questions


def test_answers_open_and_their_recordings_play(learn: Open, props: LearnProps) -> None:
    page = learn()
    link(page, 7).click()
    for index, question in enumerate(props["questions"]):
        entry = page.locator(".cl-question").nth(index)
        if index:
            entry.locator("summary").click()
        expect(entry.locator("p")).to_have_count(len(question["answer"]))
        entry.get_by_role("button").click()
        expect(page.locator(".cp-lane")).to_have_count(len(question["show"]["lanes"]))
    assert_accessible(page)


# --- safety and size


def test_texts_are_never_markup(learn: Open, props: LearnProps) -> None:
    data: Any = copy.deepcopy(props)
    data["lessons"][0]["title"] = MARKUP
    data["lessons"][0]["steps"][0]["say"] = [f"*{MARKUP}* and {MARKUP}"]
    data["questions"][0]["question"] = MARKUP
    page = learn(data)
    expect(page.locator(".cl-say em")).to_have_text(MARKUP)
    assert page.locator(".cl-card h2").inner_text() == MARKUP
    link(page, 7).click()
    expect(page.locator(".cl-question summary").first).to_have_text(MARKUP)
    assert page.locator(".cllm-learn img").count() == 0


@pytest.mark.parametrize("width", [360, 768])
def test_nothing_is_wider_than_the_screen_and_the_text_stays_in_sight(learn: Open, width: int) -> None:
    page = learn(viewport={"width": width, "height": 780})
    for index in (0, 2, 6, 7):
        link(page, index).click()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    link(page, 1).click()
    page.locator(".cp-grid").scroll_into_view_if_needed()
    page.mouse.wheel(0, 400)
    expect(forward(page)).to_be_in_viewport()
    assert_accessible(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("number", range(6))
def test_on_a_phone_text_head_and_controls_are_in_sight_together(
    learn: Open, props: LearnProps, number: int, scheme: str
) -> None:
    """The pinned text lay over the grid's head: whoever had scrolled to a row could not read its columns."""
    page = learn(viewport={"width": 390, "height": 844}, color_scheme=scheme)
    link(page, number).click()
    for step in props["lessons"][number]["steps"][1:]:
        forward(page).click()
        assert shown_pass(page) == step["at"]
        expect(page.locator(".cp-flag-look").first).to_be_visible(visible=bool(step["flags"]))
        text, line = box(page, ".cl-text"), box(page, ".cp-line")
        head, row = box(page, ".cp-grid thead"), box(page, ".cp-grid tr.cp-now")
        assert text["y"] >= 0  # pinned to the top, or not yet scrolled there, where the run has few rows
        assert text["y"] + text["height"] <= 0.45 * 844
        assert text["y"] + text["height"] <= line["y"] + 1
        assert line["y"] + line["height"] <= head["y"] + 1
        assert head["y"] + head["height"] <= row["y"] + 1
        assert row["y"] + row["height"] <= 844
        for part in (".cl-main", ".cp-play", ".cp-corner"):
            assert on_top(page, part), part
    page.mouse.wheel(0, 2000)
    expect(forward(page)).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def box(page: Page, selector: str) -> Any:
    return page.locator(selector).first.bounding_box()


def on_top(page: Page, selector: str) -> bool:
    """Whether nothing lies over the middle of an element."""
    return bool(
        page.locator(selector).first.evaluate(
            """element => {
                const { x, y, width, height } = element.getBoundingClientRect();
                const top = document.elementFromPoint(x + width / 2, y + height / 2);
                return element.contains(top);
            }"""
        )
    )


def test_on_a_phone_the_head_stays_over_the_rows_while_the_page_is_scrolled(learn: Open) -> None:
    page = learn(viewport={"width": 390, "height": 844})
    link(page, 3).click()
    forward(page).click()
    top = page.locator(".cp-grid").evaluate("grid => grid.getBoundingClientRect().top + scrollY")
    bottom = top + box(page, ".cp-grid")["height"]
    for scroll in range(0, int(bottom), 90):
        page.evaluate("y => scrollTo(0, y)", scroll)
        deadline = time.monotonic() + 3  # the head is moved in a frame of its own
        while not (held := head_over_rows(page)) and time.monotonic() < deadline:
            page.wait_for_timeout(50)
        assert held, scroll


def head_over_rows(page: Page) -> bool:
    """Whether the grid's head lies below the pinned line, or as low as the grid lets it, and not outside the grid."""
    head, line, grid = box(page, ".cp-grid thead"), box(page, ".cp-line"), box(page, ".cp-grid")
    lowest = grid["y"] + grid["height"] - 2 * head["height"]
    below = bool(head["y"] + 2 >= min(lowest, line["y"] + line["height"]))
    return below and bool(grid["y"] <= head["y"] <= max(grid["y"] + 2, lowest + 2))


def test_on_a_phone_a_reply_is_scrolled_to_in_the_text(learn: Open, props: LearnProps) -> None:
    """The text is held low on a phone: a reply at its end must not lie outside of what is seen of it."""
    page = learn(viewport={"width": 390, "height": 700})
    link(page, 6).click()
    forward(page).click()
    link_bottom = box(page, ".cl-buttons")["y"]
    reply = box(page, ".cl-reply")
    assert box(page, ".cl-card")["y"] <= reply["y"]
    assert reply["y"] + reply["height"] <= link_bottom
    link(page, 5).click()
    assert page.locator(".cl-card").evaluate("card => card.scrollTop") == 0


def test_on_a_wide_screen_the_head_stays_where_it_is(learn: Open) -> None:
    page = learn(viewport={"width": 1200, "height": 500})
    link(page, 3).click()
    page.locator(".cp-inspector").scroll_into_view_if_needed()
    assert box(page, ".cp-grid thead")["y"] - box(page, ".cp-grid")["y"] <= 2


@pytest.mark.parametrize("value", ["null", "{}", '{"schema": "cllm-lessons", "version": 99}'])
def test_lessons_that_cannot_be_shown_say_so(learn: Open, value: str) -> None:
    page = learn()
    page.evaluate("value => CllmLessons.mount(document.getElementById('learn'), value)", value)
    expect(page.locator("#learn")).to_contain_text("These lessons cannot be shown")


# --- in the app


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with gr.Blocks(analytics_enabled=False) as demo:
        with gr.Tab("Other"):
            gr.Markdown("Something else")
        with gr.Tab("Learn"):
            learn_tab(AppSettings(), demo)
    _, url, _ = demo.launch(
        server_name="127.0.0.1", server_port=port, prevent_thread_lock=True, quiet=True, ssr_mode=False
    )
    yield url
    demo.close()


def test_the_tab_teaches_inside_the_app_and_sends_nothing_for_a_step(new_page: Open, address: str) -> None:
    page = new_page(reduced_motion="reduce")  # colours change at once
    page.set_default_timeout(20_000)
    page.goto(address)
    page.get_by_role("tab", name="Learn").click()
    expect(page.locator("#learn .cl-count")).to_have_text("Step 1 of 5")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/queue/join" in request.url else None)
    link(page, 3).click()
    forward(page).click()
    expect(page.locator(".cp-flag-look")).to_have_count(1)
    assert not asked
    page.evaluate("document.body.classList.add('dark')")
    assert page.evaluate("getComputedStyle(document.querySelector('.cl-card')).backgroundColor") == "rgb(27, 32, 39)"
    results = Axe().run(page, context="#learn")
    assert results.violations_count == 0, results.generate_report()


def test_on_a_phone_the_head_stays_below_the_text_inside_the_app(new_page: Open, address: str) -> None:
    page = new_page(viewport={"width": 390, "height": 844}, reduced_motion="reduce")
    page.set_default_timeout(20_000)
    page.goto(address)
    page.add_style_tag(path=ASSETS / "app.css")  # as the app's page has it
    page.get_by_role("tab", name="Learn").click()
    link(page, 3).click()
    forward(page).click()
    expect(page.locator(".cp-flag-look")).to_be_in_viewport()
    page.evaluate("() => scrollBy(0, document.querySelector('.cp-grid').getBoundingClientRect().top - 100)")
    page.wait_for_timeout(100)
    text, line, head = box(page, ".cl-text"), box(page, ".cp-line"), box(page, ".cp-grid thead")
    assert text["y"] >= -1
    assert text["y"] + text["height"] <= line["y"] + 1
    assert line["y"] + line["height"] <= head["y"] + 1
    for part in (".cl-main", ".cp-play", ".cp-corner"):
        assert on_top(page, part), part


def test_the_payload_of_the_tab_is_strict_json(props: LearnProps) -> None:
    assert json.loads(json.dumps(props, allow_nan=False))["schema"] == "cllm-lessons"
