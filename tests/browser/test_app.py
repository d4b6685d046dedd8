"""The app in a real browser: `python app.py` in a process of its own, with tiny random models in local folders."""

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import model_folders
import pytest
import tiny
import torch
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, Route, expect
from transformers import AutoTokenizer

from cllm_core.io import loads_run
from cllm_core.pairs import ModelPair, ModelSource, write_pair
from visualize.export import read_csv_cells

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parent.parent.parent
NASTY = "<img src=x onerror=alert(1)> ${1+1} {{x}} &lt;b&gt; </script> \"'` C:\\new"
NASTY_PIECES = ("<img src=x onerror=alert(1)>", "</span>", "&lt;", "<answer>", "\"'", "${1+1}", "{{x}}", "</script>")
ABOUT = {
    "Tiny pair": "Two models of random weights.",
    "<b>Nasty</b>": NASTY,
    "Your own models …": "Any causal language model with safetensors whose layers all use attention.",
}
LONG = 4000  # tokens: several seconds of decoding, even by a tiny model

NewPage = Callable[..., Page]
expect.set_options(timeout=30_000)  # a busy machine takes its time


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of pairs, as training leaves them: `tiny` has a CLLM, `nasty` speaks markup."""
    folder = tmp_path_factory.mktemp("runs")
    base = write_endless_model(folder / "models" / "tiny-base")
    adapter = model_folders.write_adapter(folder / "tiny" / "cllm", str(base))
    source, trained = ModelSource("folder", str(base)), ModelSource("folder", str(base), adapter=str(adapter))
    decode = {"block_size": 4, "max_new_tokens": 24}
    write_pair(
        folder / "tiny",
        ModelPair(
            "tiny",
            "Tiny pair",
            source,
            trained,
            ABOUT["Tiny pair"],
            chat=False,
            examples=("one two three",),
            decode=decode,
        ),
    )
    nasty = ModelSource("folder", str(write_markup_model(folder / "models" / "<b>nasty")))
    write_pair(
        make(folder / "nasty"),
        ModelPair("nasty", "<b>Nasty</b>", nasty, description=NASTY, chat=False, examples=(NASTY,), decode=decode),
    )
    return folder


def write_endless_model(folder: Path) -> Path:
    """Write a tiny model that never says its end token, so that a run is as long as it is asked to be."""
    tokenizer = AutoTokenizer.from_pretrained(model_folders.write_model(folder))
    made = tiny.make_model(max_position_embeddings=8192)
    with torch.no_grad():
        made.lm_head.weight[tokenizer.eos_token_id] = 0
    made.save_pretrained(folder)
    return folder


def write_markup_model(folder: Path) -> Path:
    """Write a tiny model whose favourite tokens are NASTY_PIECES."""
    tokenizer = AutoTokenizer.from_pretrained(model_folders.write_model(folder))
    tokenizer.add_tokens(list(NASTY_PIECES))
    made = tiny.make_model()
    with torch.no_grad():
        made.lm_head.weight[tokenizer.convert_tokens_to_ids(list(NASTY_PIECES))] *= 4
    made.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def make(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


@pytest.fixture(scope="module")
def address(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    log = tmp_path_factory.mktemp("app") / "log.txt"
    variables = {
        "CLLM_PORT": str(port), "CLLM_RUNS": str(models), "GRADIO_TEMP_DIR": str(log.parent), "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1", "CLLM_DEVICE": "cpu",
    }  # fmt: skip
    with log.open("w") as output:
        app = subprocess.Popen(
            [sys.executable, "app.py"], cwd=ROOT, env={**os.environ, **variables}, stdout=output, stderr=output
        )
    try:
        wait_for(lambda: "The app is at" in log.read_text() or app.poll() is not None, 90)
        assert app.poll() is None, log.read_text()
        yield re.search(r"http://\S+", log.read_text())[0]  # type: ignore[index]
    finally:
        app.terminate()
        app.wait(20)
    assert "Traceback" not in log.read_text(), log.read_text()


def wait_for(condition: Callable[[], bool], seconds: float) -> None:
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends, f"it did not happen within {seconds} s"
        time.sleep(0.05)


class App:
    """The app in one page, driven as a visitor does."""

    def __init__(self, page: Page, address: str, query: str = "") -> None:
        self.page = page
        page.set_default_timeout(30_000)
        page.goto(address + query)
        expect(page.locator("#player .cp-lane").first).to_be_visible()

    @property
    def status(self) -> Locator:
        return self.page.locator("#run-status .st-line")

    @property
    def kind(self) -> str:
        return self.page.locator("#run-status .st-root").get_attribute("data-kind") or ""

    def choose(self, pair: str) -> None:
        self.page.locator("#pair input").click()
        self.page.get_by_role("option", name=pair, exact=True).click()
        expect(self.page.locator("#pair input")).to_have_value(pair)
        expect(self.page.locator("#about-pair textarea")).to_have_value(ABOUT[pair])  # the server has answered

    def set(self, name: str, value: int) -> None:
        box = self.page.locator(f"#option-{name} input[type=number]")
        box.fill(str(value))
        box.press("Tab")

    def prompt(self, text: str) -> None:
        self.page.locator("#prompt textarea").fill(text)

    def run(self) -> None:
        self.page.locator("#run").click()

    def stop(self) -> None:
        self.page.locator("#stop").click()

    def ended(self, kind: str = "done", seconds: float = 60) -> None:
        expect(self.page.locator(f"#run-status .st-root[data-kind={kind}]")).to_be_visible(timeout=seconds * 1000)
        expect(self.page.locator("#run")).to_be_enabled()

    def decode(self, pair: str, prompt: str, tokens: int = 24) -> None:
        self.choose(pair)
        self.prompt(prompt)
        self.set("max_new_tokens", tokens)
        self.run()

    def decoding(self) -> None:
        expect(self.page.locator("#run-status .st-running .st-counts")).to_contain_text("passes", timeout=60_000)

    def lanes(self) -> list[str]:
        return self.page.locator("#player .cp-lane-name").all_inner_texts()

    def player_prompt(self) -> str:
        return self.page.locator("#player .cp-prompt pre").text_content() or ""

    def rows(self) -> list[list[str]]:
        """The table's rows, as soon as there is one for every lane of the player."""
        wait_for(lambda: len(self._rows()) == len(self.lanes()), 10)
        return self._rows()

    def _rows(self) -> list[list[str]]:
        cells = self.page.locator("#table [role=gridcell]")
        texts = cells.evaluate_all("cells => cells.map((cell) => [cell.dataset.row, cell.textContent.trim()])")
        rows: dict[str, list[str]] = {}
        for row, text in texts:
            rows.setdefault(row, []).append(text)
        return list(rows.values())

    def download(self, format: str) -> Path:
        with self.page.expect_download() as started:
            self.page.locator(f"#download-{format}").click()
        return Path(started.value.path()).rename(Path(started.value.path()).parent / started.value.suggested_filename)

    def open_file(self, path: Path) -> None:
        self.page.locator("#recorded button").first.click()
        self.page.locator("#recorded input[type=file]").set_input_files(path)


@pytest.fixture
def open_app(new_page: NewPage, address: str) -> Callable[..., App]:
    def opened(query: str = "", **options: object) -> App:
        return App(new_page(**options), address, query)

    return opened


# --- opening


def test_the_app_opens_with_a_recorded_run_that_can_be_saved(open_app: Callable[..., App]):
    app = open_app()
    assert app.lanes()[0] == "Base, one token at a time"
    assert len(app.rows()) == len(app.lanes())
    expect(app.status).to_contain_text("Recorded: ")
    expect(app.page.locator("#figure .main-svg").first).to_be_visible()
    assert next(iter(loads_run(app.download("json").read_bytes()))) == "base_ar"
    assert app.page.title() == "Consistency LLMs, pass by pass"


def test_a_reload_is_a_fresh_start(chromium: Browser, address: str):
    """In a page that is not watched for errors: gradio's client logs the stream that a reload cuts as one."""
    with chromium.new_context() as context:
        app = App(context.new_page(), address)
        app.decode("Tiny pair", "before the reload", LONG)
        app.decoding()
        app.page.reload()
        expect(app.status).to_contain_text("Recorded: ")
        app.decode("Tiny pair", "after the reload", 8)
        app.ended()
        assert app.player_prompt() == "after the reload"


# --- a run


def test_a_run_shows_lanes_table_figure_and_downloads(open_app: Callable[..., App]):
    app = open_app()
    app.decode("Tiny pair", "hello there")
    app.ended()
    assert app.lanes() == ["Base, one token at a time", "Base, Jacobi", "CLLM, Jacobi"]
    assert app.player_prompt() == "hello there"
    rows = app.rows()
    assert [row[0] for row in rows] == app.lanes()
    assert [row[1] for row in rows] == ["24"] * 3
    assert [row[-1] for row in rows] == [
        "it is one at a time", "yes", "not compared (its one-at-a-time lane was not run)"
    ]  # fmt: skip
    expect(app.page.locator("#figure")).to_contain_text("CLLM, Jacobi")
    run = loads_run(app.download("json").read_bytes())
    assert [len(lane.ids) for lane in run.values()] == [24] * 3
    assert run["base_ar"].ids == run["base_jacobi"].ids
    cells = read_csv_cells(app.download("csv").read_bytes())
    assert {cell.lane for cell in cells} == set(run)
    saved = app.download("html")
    app.page.goto(saved.as_uri())
    assert app.page.locator(".cp-lane-name").all_inner_texts() == [
        "Base, one token at a time", "Base, Jacobi", "CLLM, Jacobi"
    ]  # fmt: skip


def test_the_cllms_own_one_at_a_time_lane_makes_its_ids_comparable(open_app: Callable[..., App]):
    app = open_app()
    app.choose("Tiny pair")
    app.page.locator("#cllm-ar input").check()
    app.set("max_new_tokens", 8)
    app.run()
    app.ended()
    assert [row[-1] for row in app.rows()] == ["it is one at a time", "yes", "it is one at a time", "yes"]


def test_the_status_of_a_run_moves_while_it_decodes(open_app: Callable[..., App]):
    app = open_app()
    app.decode("Tiny pair", "a long one", LONG)
    app.decoding()
    counts = app.page.locator("#run-status .st-running .st-counts")
    seen: set[str] = set()
    wait_for(lambda: seen.update(counts.all_inner_texts()) or len(seen) >= 4, 30)
    app.stop()
    app.ended("stopped")


def test_stop_keeps_a_partial_run_and_the_next_one_starts_at_once(open_app: Callable[..., App]):
    app = open_app()
    app.decode("Tiny pair", "never mind", LONG)
    app.decoding()
    app.stop()
    app.ended("stopped")
    expect(app.status).to_contain_text("partial")
    run = loads_run(app.download("json").read_bytes())
    lane = next(reversed(run.values()))
    assert lane.partial
    assert 0 < len(lane.ids) < LONG
    assert app.rows()[-1][0].endswith("(partial)")
    expect(app.page.locator("#player .cp-lane").last).to_contain_text("partial")
    app.decode("Tiny pair", "ten tokens", 10)
    app.ended(seconds=20)
    assert app.rows()[0][1] == "10"


def test_shift_enter_runs_the_prompt(open_app: Callable[..., App]):
    app = open_app()
    app.choose("Tiny pair")
    app.prompt("by keyboard")
    app.page.locator("#prompt textarea").press("Shift+Enter")
    app.ended()
    assert app.player_prompt() == "by keyboard"


def test_choosing_a_pair_brings_its_examples_and_settings(open_app: Callable[..., App]):
    app = open_app()
    app.choose("Tiny pair")
    expect(app.page.locator("#option-block_size input[type=number]")).to_have_value("4")
    expect(app.page.locator("#prompt textarea")).to_have_value("one two three")
    app.prompt("mine")
    app.choose("<b>Nasty</b>")
    app.choose("Tiny pair")
    expect(app.page.locator("#prompt textarea")).to_have_value("mine")
    app.page.locator("#examples").get_by_role("button", name="one two three").click()
    expect(app.page.locator("#prompt textarea")).to_have_value("one two three")


def test_what_is_changed_while_the_server_answers_stays(open_app: Callable[..., App]):
    """A late answer to the choice of a pair put the number of tokens back that had been typed meanwhile."""
    app = open_app()
    held: list[Route] = []
    app.page.route("**/run/predict*", lambda route: held.append(route))
    app.page.locator("#pair input").click()
    app.page.get_by_role("option", name="Tiny pair", exact=True).click()
    wait_for(lambda: app.page.evaluate("true") and bool(held), 10)  # evaluate: so that Playwright sees the request
    app.set("max_new_tokens", 48)
    app.prompt("typed meanwhile")
    for request in held:
        request.continue_()
    app.page.unroute("**/run/predict*")
    expect(app.page.locator("#about-pair textarea")).to_have_value(ABOUT["Tiny pair"])
    expect(app.page.locator("#option-block_size input[type=number]")).to_have_value("4")
    expect(app.page.locator("#option-max_new_tokens input[type=number]")).to_have_value("48")
    expect(app.page.locator("#prompt textarea")).to_have_value("typed meanwhile")


# --- several visitors


def test_two_visitors_see_only_their_own_runs_and_their_place_in_the_queue(open_app: Callable[..., App]):
    alpha, beta = open_app(), open_app()
    alpha.decode("Tiny pair", "alpha alpha", LONG)
    alpha.decoding()
    beta.decode("Tiny pair", "beta beta", 12)
    expect(beta.status).to_have_text("In the queue: 1 run ahead of yours.")
    alpha.stop()
    alpha.ended("stopped")
    beta.ended()
    assert (alpha.player_prompt(), beta.player_prompt()) == ("alpha alpha", "beta beta")
    alpha.decode("Tiny pair", "alpha again", 8)
    alpha.ended()
    files = [visitor.download("json") for visitor in (alpha, beta)]
    assert [loads_run(file.read_bytes())["base_ar"].prompt for file in files] == ["alpha again", "beta beta"]
    assert files[0].name != files[1].name
    assert beta.player_prompt() == "beta beta"


def test_a_closed_page_frees_the_models_for_the_next_visitor(open_app: Callable[..., App]):
    leaving, waiting = open_app(), open_app()
    leaving.decode("Tiny pair", "leaving", LONG)
    leaving.decoding()
    waiting.decode("Tiny pair", "waiting", 8)
    expect(waiting.status).to_contain_text("In the queue")
    leaving.page.close()
    waiting.ended(seconds=20)
    assert waiting.player_prompt() == "waiting"


def test_a_run_stopped_in_the_queue_leaves_it_at_once(open_app: Callable[..., App]):
    working, waiting = open_app(), open_app()
    working.decode("Tiny pair", "working", LONG)
    working.decoding()
    waiting.decode("Tiny pair", "waiting", 8)
    expect(waiting.status).to_contain_text("In the queue")
    waiting.stop()
    waiting.ended("stopped")
    expect(waiting.status).to_have_text("Stopped before it began.")
    assert working.kind == "busy"
    waiting.decode("Tiny pair", "waiting again", 8)
    working.stop()
    working.ended("stopped")
    waiting.ended()
    assert waiting.player_prompt() == "waiting again"


# --- text that is not to be trusted


def test_markup_in_prompts_names_and_output_is_shown_literally(open_app: Callable[..., App]):
    app = open_app()
    app.choose("<b>Nasty</b>")
    expect(app.page.locator("#about-pair textarea")).to_have_value(NASTY)
    expect(app.page.locator("#examples")).to_contain_text("<img src=x")
    app.prompt(NASTY)
    app.set("max_new_tokens", 24)
    app.run()
    app.ended()
    assert app.player_prompt() == NASTY
    expect(app.page.locator("#run-status")).to_contain_text("<b>nasty on")
    shown = app.page.locator("#player .cp-lane .cp-text").first.text_content() or ""
    assert any(piece in shown for piece in NASTY_PIECES)
    run = loads_run(app.download("json").read_bytes())["base_ar"]
    assert run.prompt == NASTY
    assert app.page.locator("img[src=x], answer, #app-injected").count() == 0


def test_markup_in_error_messages_and_file_names_is_shown_literally(open_app: Callable[..., App], tmp_path: Path):
    app = open_app()
    app.choose("Your own models …")
    app.page.locator("#own-base input, #own-base textarea").fill("<img src=x onerror=alert(1)>")
    app.run()
    app.ended("error")
    expect(app.status).to_contain_text("There is no model or folder '<img src=x onerror=alert(1)>'")
    bad = tmp_path / "a<b>c.json"
    bad.write_text("{", encoding="utf-8")
    app.open_file(bad)
    expect(app.status).to_contain_text("could not be opened. This is not JSON")
    assert app.page.locator("img[src=x]").count() == 0


# --- errors


def test_errors_leave_what_was_shown_and_the_app_usable(open_app: Callable[..., App]):
    app = open_app()
    app.decode("Tiny pair", "kept", 8)
    app.ended()
    app.prompt("  ")
    app.run()
    app.ended("error")
    expect(app.status).to_contain_text("The prompt is empty")
    app.prompt("x" * 9000)  # a byte is a token here, and the model holds 8,192
    app.run()
    app.ended("error")
    expect(app.status).to_contain_text("shorten the prompt")
    app.prompt("kept")
    app.choose("Your own models …")
    app.page.locator("#own-base input, #own-base textarea").fill("owner/name")
    app.run()
    app.ended("error")
    expect(app.status).to_contain_text("owner/name is not on this machine and HF_HUB_OFFLINE is set")
    assert app.player_prompt() == "kept"
    app.choose("Tiny pair")
    app.run()
    app.ended()


def test_a_folder_of_ones_own_can_be_decoded(open_app: Callable[..., App], models: Path):
    app = open_app()
    app.choose("Your own models …")
    app.page.locator("#own-base input, #own-base textarea").fill(str(models / "models" / "tiny-base"))
    app.prompt("my own model")
    app.set("max_new_tokens", 8)
    app.run()
    app.ended()
    expect(app.page.locator("#run-status .st-notes")).to_contain_text("tiny-base on CPU")


# --- files


def test_a_saved_run_is_opened_again(open_app: Callable[..., App]):
    app = open_app()
    app.decode("Tiny pair", "save me", 8)
    app.ended()
    saved = app.download("json")
    other = open_app()
    other.open_file(saved)
    expect(other.status).to_have_text(f"Opened {saved.name}.")
    assert other.player_prompt() == "save me"
    assert other.lanes() == app.lanes()
    assert other.rows() == app.rows()


def test_a_bad_file_is_refused_and_the_player_stays(open_app: Callable[..., App], tmp_path: Path):
    app = open_app()
    before = app.player_prompt()
    newer = tmp_path / "newer.json"
    newer.write_text(json.dumps({"schema": "cllm-run", "version": 99, "lanes": {}}), encoding="utf-8")
    app.open_file(newer)
    expect(app.status).to_contain_text("update it")
    assert app.kind == "error"
    assert app.player_prompt() == before


# --- looks


def folded_open(app: App) -> None:
    for name in ("more", "recorded", "about"):
        app.page.locator(f"#{name} > button").click()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_accessibility_violations(open_app: Callable[..., App], theme: str):
    app = open_app(f"?__theme={theme}")
    folded_open(app)
    expect(app.page.locator("#figure .main-svg").first).to_be_visible()
    assert violations(app.page) == []
    app.decode("Tiny pair", "hello", 8)
    app.ended()
    assert violations(app.page) == []
    app.prompt("")
    app.run()
    app.ended("error")
    assert violations(app.page) == []


def violations(page: Page) -> list[str]:
    page.wait_for_timeout(500)  # a button that fades in is judged by its final colour
    found = Axe().run(page).response["violations"]
    return [f"{problem['id']}: {node['target']}" for problem in found for node in problem["nodes"]]


def test_dark_mode_is_dark_and_light_mode_is_light(open_app: Callable[..., App]):
    def background(app: App) -> int:
        colour = app.page.evaluate("getComputedStyle(document.querySelector('gradio-app')).backgroundColor")
        return sum(map(int, re.findall(r"\d+", colour)[:3]))

    assert background(open_app("?__theme=dark")) < 150
    assert background(open_app("?__theme=light")) > 600


def test_a_phone_shows_everything_without_scrolling_sideways(open_app: Callable[..., App]):
    app = open_app(viewport={"width": 390, "height": 844})
    expect(app.page.locator("#option-block_size")).to_be_hidden()
    assert app.page.evaluate("document.documentElement.scrollWidth") <= 390
    app.page.locator("#settings > button").click()
    expect(app.page.locator("#option-block_size")).to_be_visible()
    app.decode("Tiny pair", "on a phone", 8)
    app.ended()
    assert app.page.evaluate("document.documentElement.scrollWidth") <= 390
