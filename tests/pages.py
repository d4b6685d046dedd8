"""Pages built outside of a running app."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import gradio as gr


def built_in_a_loop(build: Callable[[], gr.Blocks]) -> gr.Blocks:
    """What `build` gives inside an event loop: outside of one, gradio makes some and leaves them open.

    The loop has a thread of its own, because Playwright keeps one running in the tests' thread once it has started.
    """

    async def run() -> gr.Blocks:
        return build()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(run())).result()
