"""Chromium for the browser tests. A page that logs an error, throws, or asks for anything off this machine fails its
test."""

import os
import shutil
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Playwright, sync_playwright

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
LOCAL_SCHEMES = {"file", "data", "blob", "about"}
LOCAL_HOSTS = {"localhost", "127.0.0.1"}

NewPage = Callable[..., Page]


def chromium_path() -> str | None:
    named = os.environ.get("CLLM_CHROMIUM")
    return named or next((path for name in NAMES if (path := shutil.which(name))), None)


@pytest.fixture(scope="session")
def playwright_session() -> Iterator[Playwright]:
    with sync_playwright() as session:
        yield session


@pytest.fixture(scope="session")
def chromium(playwright_session: Playwright) -> Iterator[Browser]:
    path = chromium_path()
    if path is None or not os.path.exists(path):
        pytest.fail(
            "The browser tests need Chromium: install it (apt-get install chromium), or set CLLM_CHROMIUM to its path."
        )
    browser = playwright_session.chromium.launch(executable_path=path, args=FLAGS)
    yield browser
    browser.close()


@pytest.fixture
def new_page(chromium: Browser) -> Iterator[NewPage]:
    """Opens pages; keyword arguments are those of a browser context (viewport, color_scheme, reduced_motion, ...)."""
    contexts, problems = [], []

    def open_page(**options: object) -> Page:
        context = chromium.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
        context.set_default_timeout(5_000)
        contexts.append(context)
        page = context.new_page()
        _watch(page, problems)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not problems, "\n".join(problems)


@pytest.fixture
def page(new_page: NewPage) -> Page:
    return new_page()


def _watch(page: Page, problems: list[str]) -> None:
    page.on("pageerror", lambda error: problems.append(f"page error: {error}"))
    page.on("console", lambda message: message.type == "error" and problems.append(_said(message)))
    page.on("request", lambda request: is_local(request.url) or problems.append(f"outside request: {request.url}"))
    page.on("dialog", lambda dialog: (problems.append(f"dialog: {dialog.message}"), dialog.dismiss()))


def _said(message: ConsoleMessage) -> str:
    """What the console said, and of which address: a failed request is not named in the text."""
    return f"console: {message.text} ({message.location.get('url', '')})"


def is_local(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme in LOCAL_SCHEMES or parts.hostname in LOCAL_HOSTS
