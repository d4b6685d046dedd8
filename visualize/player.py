"""TrajectoryPlayer: the player as a gradio component. Its value is PlayerProps, or None for nothing to play.

Nothing is needed in `Blocks()` or `launch()`: the component brings its script and style along, once per page.

    player = TrajectoryPlayer(player_props(lanes))
    button.click(make_props, outputs=player)       # an output only: as an input it would upload the whole payload

gradio evaluates `${...}` and `{{...}}` in templates, so the template is constant and the payload goes through `value`,
as one JSON string: gradio compares values deeply on every change, and a string is compared at once.
"""

import json
from typing import Any

import gradio as gr

from visualize.page import payload_json, player_script, player_style
from visualize.view import PlayerProps

_TEMPLATE = '<div class="cllm-mount"></div>'

# js_on_load runs once per mount (in a hidden tab: when the tab is first shown); watch runs on every later value.
_ON_LOAD = """
const player = CllmPlayer.mount(element.querySelector(".cllm-mount"), props.value);
watch("value", () => player.update(props.value));
"""


class TrajectoryPlayer(gr.HTML):  # type: ignore[misc]
    """Plays recorded lanes. Keyword arguments are those of gr.HTML that concern layout (elem_id, visible, ...)."""

    def __init__(self, value: PlayerProps | None = None, **layout: Any) -> None:
        super().__init__(
            value,
            html_template=_TEMPLATE,
            js_on_load=_ON_LOAD,
            head=player_head(),
            apply_default_css=False,
            **layout,
        )

    def postprocess(self, value: PlayerProps | None) -> str | None:
        """Return the payload as JSON; None clears the player."""
        return None if value is None else payload_json(value)

    def api_info(self) -> dict[str, Any]:
        return {"type": "string", "description": "PlayerProps as JSON"}


def player_head() -> str:
    """Return the player's script and style as one inline script, which gradio adds once per page."""
    style = json.dumps(player_style()).replace("<", "\\u003c")
    add_style = f'document.head.append(Object.assign(document.createElement("style"), {{ textContent: {style} }}));'
    return f"<script>{player_script()}{add_style}</script>"
