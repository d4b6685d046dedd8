"""The status line as a gradio component: values go in as JSON text and are drawn as text, never as markup."""

import json
from pathlib import Path

import gradio as gr

from visualize.live import Status

_SCRIPT = Path(__file__).resolve().parent.parent.parent / "assets" / "status.js"


def status_panel(value: Status) -> gr.HTML:
    """Make the component. Its template is constant: gradio evaluates `${...}` and `{{...}}` in templates."""
    return gr.HTML(
        status_json(value),
        html_template='<div class="st-root"></div>',
        js_on_load=_SCRIPT.read_text(encoding="utf-8"),
        apply_default_css=False,
        elem_id="run-status",
    )


def status_json(value: Status) -> str:
    """Return a status as the component's value."""
    return json.dumps(value, allow_nan=False).replace("<", "\\u003c")
