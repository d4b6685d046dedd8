"""Draws one Plotly figure with Kaleido, in a process of its own, so that a browser that hangs can be ended.

Run as `python -m visualize.exports.kaleido_worker FORMAT SCALE SECONDS FILE`, the figure's JSON on standard input.
Asks nothing of the network. Exits with TIMED_OUT when the time is up.
"""

import asyncio
import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

TIMED_OUT = 75


def main(format: str, scale: str, seconds: str, file: str) -> None:
    """Read the figure, draw it, write the file."""
    from kaleido import Kaleido  # optional, and slow to import

    browser = Kaleido(mathjax=False)
    guard = threading.Timer(float(seconds), give_up, [browser])
    guard.daemon = True
    guard.start()
    data = asyncio.run(draw(browser, json.load(sys.stdin), {"format": format, "scale": float(scale)}))
    guard.cancel()
    Path(file).write_bytes(data)


async def draw(browser: Any, figure: dict[str, Any], options: dict[str, Any]) -> bytes:
    """Return the picture, in the size that the figure's layout has."""
    async with browser:
        data: bytes = await browser.calc_fig(figure, opts=options)
        return data


def give_up(browser: Any) -> None:
    """End the browser with all that it started, and this process: threads that wait for it never would."""
    process = getattr(browser, "subprocess", None)
    if process is not None and os.name == "posix":
        os.killpg(process.pid, signal.SIGKILL)  # the browser leads a session of its own
    elif process is not None:
        process.kill()
    os._exit(TIMED_OUT)


if __name__ == "__main__":
    main(*sys.argv[1:])
