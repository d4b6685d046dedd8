"""The Fine-tune tab in a real browser: `python app.py` in a process of its own, tiny models, real and written jobs."""

import json
import os
import re
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import job_files
import model_folders
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, Route, expect

from cllm_core.train.jobs import runner
from cllm_core.train.jobs.folder import list_jobs
from cllm_core.train.jobs.state import JobState, write_state

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parent.parent.parent
NewPage = Callable[..., Page]
LONG = 240_000  # milliseconds for what imports large libraries on a busy machine
FILE_TEXT = "\n".join(
    [
        *(json.dumps({"prompt": f"count {n} ->", "answer": "ab" * (n % 4 + 2)}) for n in range(12)),
        '{"prompt": "<img src=x onerror=alert(1)>", "answer": "</script>"}',
        '{"prompt": ',
        '{"promt": "<b>"}',
    ]
)


class App:
    """The app on a port of its own; it can be ended and started anew."""

    def __init__(self, folder: Path, **variables: str) -> None:
        self.log = folder / "log.txt"
        self.runs = folder / "runs"
        self.runs.mkdir(exist_ok=True)
        self.process: subprocess.Popen[bytes] | None = None
        self._variables = {
            **os.environ, "CLLM_RUNS": str(self.runs), "GRADIO_TEMP_DIR": str(folder), "OMP_NUM_THREADS": "1",
            "HF_HUB_OFFLINE": "1", "CLLM_DEVICE": "cpu", **variables,
        }  # fmt: skip

    def start(self) -> str:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        with self.log.open("w") as output:
            self.process = subprocess.Popen(
                [sys.executable, "app.py"],
                cwd=ROOT,
                env={**self._variables, "CLLM_PORT": str(port)},
                stdout=output,
                stderr=output,
            )
        ends = time.monotonic() + 120
        while "The app is at" not in self.log.read_text():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < ends, "the app did not start"
            time.sleep(0.1)
        return re.search(r"http://\S+", self.log.read_text())[0]  # type: ignore[index]

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(20)
        assert "Traceback" not in self.log.read_text(), self.log.read_text()

    def __enter__(self) -> "App":
        return self

    def __exit__(self, *error: object) -> None:
        """Leave nothing that runs behind, whatever a test came to: neither the app nor a job of its."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(20)
        for job in list_jobs(self.runs):
            runner.stop(job)


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[App, str]]:
    with App(tmp_path_factory.mktemp("app")) as app, pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLLM_RUNS", str(app.runs))
        address = app.start()
        yield app, address
        app.end()


@pytest.fixture
def jobs(app: tuple[App, str]) -> Iterator[None]:
    """Two jobs that ended: an older one that is finished, and a newer one that failed."""
    done, failed = job_files.write_job("Older </script>", made=1.7e9), job_files.write_job("Newer", made=1.8e9)
    job_files.write_report(done)
    (done.folder / "pair.json").write_text("{}")
    write_state(done.folder, JobState("finished", "evaluate", done=("train", "evaluate"), started=1.0, ended=200.0))
    write_state(failed.folder, JobState("failed", "train", "The disk is full."))
    (failed.folder / "output.txt").write_text("<img src=x onerror=alert(1)>\nNo space left on device\n")
    yield
    for job in list_jobs():
        runner.delete(job)


def open_tab(page: Page, address: str, theme: str = "light") -> Page:
    page.set_default_timeout(30_000)
    expect.set_options(timeout=30_000)
    page.goto(f"{address}?__theme={theme}")
    page.get_by_role("tab", name="Fine-tune").click()
    page.wait_for_selector("#ft-panel .ft-text")
    return page


def leave(page: Page) -> None:
    """Go somewhere else: a page complains of an app that ends under it."""
    page.goto("about:blank")


def choose(page: Page, what: str, option: str | re.Pattern[str]) -> None:
    page.locator(f"{what} input").first.click()
    page.get_by_role("option", name=option).click()


def test_a_job_is_shown_as_it_ended_and_a_reload_shows_the_same_one(page: Page, app: tuple[App, str], jobs: None):
    open_tab(page, app[1])
    expect(page.locator("#ft-panel .ft-text")).to_have_text("Failed. The disk is full.")
    expect(page.locator("#ft-panel .ft-log")).to_contain_text("<img src=x onerror=alert(1)>")
    choose(page, "#ft-jobs", re.compile("Older"))
    expect(page.locator("#ft-panel .ft-text")).to_contain_text("Finished after 3 minutes")
    expect(page.locator("#ft-player .cp-lane")).to_have_count(3)
    expect(page.locator("#ft-player .cp-lane-name").first).to_have_text("Step 0")
    expect(page.locator("#ft-report-table")).to_contain_text("Collocations that arrived together")
    page.get_by_label("Prompt 2", exact=True).check()
    expect(page.locator("#ft-player")).to_contain_text("seven")
    page.reload()
    page.get_by_role("tab", name="Fine-tune").click()
    expect(page.locator("#ft-panel .ft-text")).to_contain_text("Finished after 3 minutes")


def test_a_job_is_deleted_only_after_it_was_confirmed(page: Page, app: tuple[App, str], jobs: None):
    open_tab(page, app[1])
    expect(page.locator("#ft-panel .ft-text")).to_have_text("Failed. The disk is full.")
    page.locator("#ft-delete").click()
    page.locator("#ft-delete-no").click()
    expect(page.locator("#ft-sure")).to_be_hidden()
    assert len(list_jobs()) == 2
    page.locator("#ft-delete").click()
    page.locator("#ft-delete-yes").click()
    expect(page.locator("#ft-panel .ft-text")).to_contain_text("Finished after")
    assert len(list_jobs()) == 1


def test_a_file_is_previewed_as_text_with_its_bad_lines(page: Page, app: tuple[App, str], tmp_path: Path):
    path = tmp_path / "prompts.jsonl"
    path.write_text(FILE_TEXT)
    open_tab(page, app[1])
    choose(page, "#ft-prompts", re.compile("Your own file"))
    page.locator("#ft-file input[type=file]").set_input_files(path)
    notes = page.locator("#ft-file-notes textarea")
    expect(notes).to_have_value(re.compile(r"^13 of 15 rows can be used: 12 to learn from, 1 held out\.\nLine 14: "))
    expect(page.locator("#ft-preview")).to_contain_text("count 0 ->")


def test_a_preset_fills_the_form_and_the_commands_follow(page: Page, app: tuple[App, str]):
    open_tab(page, app[1])
    page.get_by_label("Small", exact=True).check()
    expect(page.locator("#ft-about textarea")).to_have_value(re.compile("half an hour"))
    page.get_by_role("button", name="The same on the command line").click()
    expect(page.locator("#ft-command textarea")).to_have_value(re.compile(r"^python -m cllm_core train .*--limit 3000"))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(page: Page, app: tuple[App, str], jobs: None, theme: str):
    open_tab(page, app[1], theme)
    choose(page, "#ft-jobs", re.compile("Older"))
    expect(page.locator("#ft-player .cp-lane")).to_have_count(3)
    page.wait_for_timeout(400)  # colours of buttons fade
    for context in ("#ft-form", "#ft-panel", "#ft-report", "#ft-jobs-row"):
        results = Axe().run(page, context=context)
        assert results.violations_count == 0, results.generate_report()


def test_where_training_is_off_the_tab_says_how_to_run_it_at_home(new_page: NewPage, tmp_path: Path):
    page = new_page()
    page.set_default_timeout(30_000)
    with App(tmp_path, SPACE_ID="owner/space") as space:
        page.goto(space.start())
        page.get_by_role("tab", name="Fine-tune").click()
        expect(page.locator("#ft-off")).to_contain_text("Training is off on this Space")
        expect(page.locator("#ft-start")).to_have_count(0)
        leave(page)
        space.end()


def start_job(page: Page, folder: Path, title: str, steps: int) -> None:
    """Fill the form in and press Start: a tiny model, a file of prompts."""
    model = model_folders.write_model(folder / "tiny")
    (folder / "prompts.jsonl").write_text(FILE_TEXT)
    choose(page, "#ft-model", re.compile("Another model"))
    page.get_by_label("Model folder or hub id").fill(str(model))
    choose(page, "#ft-prompts", re.compile("Your own file"))
    page.locator("#ft-file input[type=file]").set_input_files(folder / "prompts.jsonl")
    page.locator("#ft-settings > button").click()
    page.get_by_label("Name of the result").fill(title)
    page.locator("#ft-steps input").fill(str(steps))
    page.locator("#ft-start").click()
    expect(page.locator("#ft-form-panel .ft-text")).to_contain_text("Started", timeout=LONG)


def test_a_job_that_the_server_has_not_listed_for_this_page_is_shown(page: Page, app: tuple[App, str], jobs: None):
    """As when answers overtake each other, or when the app starts anew under an open page."""
    open_tab(page, app[1])
    choose(page, "#ft-jobs", re.compile("Older"))
    expect(page.locator("#ft-player .cp-lane")).to_have_count(3)
    page.route("**/run/predict*", _from_another_session)
    page.get_by_label("Prompt 2", exact=True).check()
    expect(page.locator("#ft-player")).to_contain_text("seven")
    expect(page.locator("#ft-panel .ft-text")).to_contain_text("Finished after 3 minutes")
    page.wait_for_timeout(2_500)  # a look or two of the timer
    expect(page.locator(".toast-body")).to_have_count(0)


def _from_another_session(route: Route) -> None:
    """Send the request on as a page would of which the server knows nothing yet."""
    sent = json.loads(route.request.post_data or "{}")
    route.continue_(post_data=json.dumps({**sent, "session_hash": uuid4().hex[:10]}))


@pytest.mark.slow
def test_a_job_outlives_the_page_and_the_app_and_is_stopped_and_resumed(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = page.locator("#ft-panel .ft-text")
    with App(tmp_path) as app:
        monkeypatch.setenv("CLLM_RUNS", str(app.runs))
        open_tab(page, app.start())
        start_job(page, tmp_path, "Long", 100_000)
        expect(text).to_contain_text("Training: ", timeout=LONG)
        leave(page)
        app.end()
        open_tab(page, app.start())
        expect(text).to_contain_text("Training: ", timeout=LONG)
        page.locator("#ft-stop").click()
        expect(text).to_contain_text("Stopped after step", timeout=LONG)
        page.locator("#ft-resume").click()
        expect(text).to_contain_text("Training: ", timeout=LONG)
        leave(page)
        app.end()


@pytest.mark.slow
def test_a_job_ends_as_a_pair_that_is_listed_at_once_and_can_be_downloaded(
    page: Page, app: tuple[App, str], tmp_path: Path
):
    open_tab(page, app[1])
    start_job(page, tmp_path, "Mine <b>", 20)
    expect(page.locator("#ft-panel .ft-text")).to_contain_text("Finished after", timeout=2 * LONG)
    expect(page.locator("#ft-player .cp-lane")).to_have_count(2)
    expect(page.locator("#ft-report-table")).to_contain_text("Tokens / pass")
    with page.expect_download() as download:
        page.locator("#ft-download").click()
    with zipfile.ZipFile(download.value.path()) as archive:
        assert any(name.endswith("/adapter/adapter_model.safetensors") for name in archive.namelist())
    page.get_by_role("tab", name="Compare").click()
    page.locator("#pair input").click()
    expect(page.get_by_role("option", name="Mine <b>")).to_be_visible()
