"""How a job stands, as a gradio component: values go in as JSON text and are drawn as text, never as markup."""

import json
from pathlib import Path

import gradio as gr

from visualize.job_view import JobView

_SCRIPT = Path(__file__).resolve().parent.parent.parent / "assets" / "finetune.js"


def job_panel(value: JobView, elem_id: str) -> gr.HTML:
    """Make the component. Its template is constant: gradio evaluates `${...}` and `{{...}}` in templates."""
    return gr.HTML(
        job_json(value),
        html_template='<div class="ft-root"></div>',
        js_on_load=_SCRIPT.read_text(encoding="utf-8"),
        apply_default_css=False,
        elem_id=elem_id,
        elem_classes="ft-panel",
    )


def job_json(value: JobView) -> str:
    """Return a view as the component's value."""
    return json.dumps(value, allow_nan=False).replace("<", "\\u003c")
