"""Starts the app: settings from the environment, the page, its address. `python app.py`, or `make demo`."""

import os
import sys

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")  # read when gradio is imported: no outside request

from cllm_core.errors import CllmError
from visualize.settings import AppSettings
from visualize.ui import build_ui, launch


def main() -> int:
    """Serve until interrupted; return the exit status."""
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


if __name__ == "__main__":
    sys.exit(main())
