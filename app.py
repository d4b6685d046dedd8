"""Starts the app: settings from the environment, the page, its address. `python app.py`, or `make demo`."""

import os
import sys

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")  # read when gradio is imported: no outside request

try:
    import fcntl  # noqa: F401
except ImportError:
    sys.exit("error: the app needs Linux or macOS; on Windows, run it under WSL.")
from cllm_core.errors import CllmError
from visualize.settings import AppSettings
from visualize.ui import build_ui, launch


def main() -> int:
    """Serve until interrupted; return the exit status."""
    _keep_proxies_out()
    try:
        settings = AppSettings.from_environment()
        blocks = build_ui(settings)
        _, address = launch(blocks, settings)
    except (CllmError, OSError) as error:  # OSError: the port is taken
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"The app is at {address} (Ctrl+C ends it).", flush=True)
    blocks.block_thread()
    return 0


def _keep_proxies_out() -> None:
    """Name this machine as one that is reached without a proxy: gradio asks its own page whether it is up."""
    known = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    near = ",".join(filter(None, [known, "localhost", "127.0.0.1", "0.0.0.0", "::1"]))
    os.environ["no_proxy"] = os.environ["NO_PROXY"] = near


if __name__ == "__main__":
    sys.exit(main())
