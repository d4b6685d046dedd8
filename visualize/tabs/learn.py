"""The Learn tab: lessons, a prediction game and answers, played in the browser over recordings that ship with the app.

Layout and wiring only; no event of it reaches the server.
"""

import json
import logging
from functools import cache
from typing import Any

import gradio as gr

from cllm_core.errors import FormatError
from visualize.learn_page import learn_script, learn_style
from visualize.lessons import LearnProps, learn_props
from visualize.page import payload_json
from visualize.player import player_head
from visualize.settings import AppSettings

log = logging.getLogger(__name__)

_TEMPLATE = '<div class="cllm-learn-mount"></div>'
_ON_LOAD = 'CllmLessons.mount(element.querySelector(".cllm-learn-mount"), props.value);'


def lesson_book(value: LearnProps, **layout: Any) -> gr.HTML:
    """Make the component that shows LearnProps. Like the player's, its template is constant and its value JSON text."""
    return gr.HTML(
        payload_json(value),
        html_template=_TEMPLATE,
        js_on_load=_ON_LOAD,
        head=player_head() + _head(),
        apply_default_css=False,
        **layout,
    )


@cache
def _head() -> str:
    style = json.dumps(learn_style()).replace("<", "\\u003c")
    add_style = f'document.head.append(Object.assign(document.createElement("style"), {{ textContent: {style} }}));'
    return f"<script>{learn_script()}{add_style}</script>"


def learn_tab(settings: AppSettings, blocks: gr.Blocks) -> None:
    """Build the tab in the current context."""
    try:
        lesson_book(learn_props(), elem_id="learn")
    except FormatError as error:  # a lesson or a recording was changed by hand: the rest of the app still starts
        log.warning("The lessons cannot be shown: %s", error)
        gr.Markdown("The lessons cannot be shown: the app's log says why.", elem_id="learn")
