"""The Compare tab's link: a button that makes one, and what happens when a page is opened by one. Wiring only."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr

from cllm_core.errors import CllmError, FormatError, ModelNotFound
from cllm_core.pairs import ModelPair
from cllm_core.types import DecodeConfig
from visualize.live import status
from visualize.load import load_file
from visualize.settings import AppSettings
from visualize.share import PARAMETER, Shared, from_query, key_of_form, place_from_player, shows, to_query
from visualize.tabs.controls import options_from
from visualize.tabs.form import OPTIONS, OWN_MODELS, Form, pair_choices, pair_updates
from visualize.tabs.status import status_json
from visualize.view import OpenProps

_QUIET: dict[str, Any] = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
_PLAYER = 'CllmPlayer.of(document.querySelector("#player .cllm-mount"))'

# The place of the player goes to the server as the last input; the address and the clipboard are the browser's.
_ADD_PLACE = f"(...values) => [...values.slice(0, -1), JSON.stringify({_PLAYER}?.state() ?? {{}})]"
_COPY = """async (query) => {
  if (!query) return query;
  const link = `${location.origin}${location.pathname}?${query}`;
  try { await navigator.clipboard.writeText(link); } catch { /* the link is in its box, to be copied by hand */ }
  return link;
}"""
_OPEN_NEXT = f"(place) => {{ if (place) {_PLAYER}?.openNext(JSON.parse(place)); return place; }}"

_WHOLE = "Link to this prompt, its settings and this pass"
_FORM_ONLY = "Link to the prompt and the settings of the form, to no pass: they are not those of the run shown"

OpenRun = Callable[[Path, str, OpenProps], tuple[Any, ...]]


def build_link() -> tuple[gr.Button, gr.Textbox]:
    """Lay out the button and the box that shows a link once it was made."""
    with gr.Row(elem_id="share"):
        button = gr.Button("Copy link", size="sm", min_width=100, scale=0, elem_id="copy-link")
        box = gr.Textbox(
            label=_WHOLE,
            visible=False,
            interactive=False,
            max_lines=1,
            buttons=["copy"],
            elem_id="link",
        )
    return button, box


def wire_link(
    settings: AppSettings,
    blocks: gr.Blocks,
    form: Form,
    link: tuple[gr.Button, gr.Textbox],
    results: Sequence[gr.components.Component],
    traces: Mapping[str, Path],
    open_run: OpenRun,
) -> None:
    """Make links from the form and the player, and open them when the page is loaded.

    `results` are what `open_run(path, text, place)` updates, the status line first.
    """
    button, box = link
    place, query = gr.Textbox(visible=False), gr.Textbox(visible=False)
    made = button.click(
        partial(make_link, settings), [*form.inputs, place], [query, box, results[0]], js=_ADD_PLACE, **_QUIET
    )
    made.then(None, query, box, js=_COPY)

    def load(request: gr.Request) -> dict[Any, Any]:
        text = request.query_params.get(PARAMETER)
        if text is None:
            return {place: ""}
        try:
            shared = from_query(text)
        except FormatError as error:
            return {place: "", results[0]: _line("error", str(error))}
        updates, notes = restored(shared, settings, form)
        pair = _pair(settings, shared.pair)
        for title, path in traces.items():
            if pair is not None and shows(shared, pair, load_file(path).lanes):
                said = " ".join([f"Opened from a link. Recorded: {title}.", *notes])
                return {place: "", **updates, **dict(zip(results, open_run(path, said, shared.place)))}
        said = " ".join(["Opened from a link: press Run to decode its prompt.", *notes])
        return {place: json.dumps(shared.place), **updates, results[0]: _line("idle", said)}

    opened = blocks.load(
        load, None, [place, form.pair, form.prompt, *form.pair_outputs, *form.options.values(), *results], **_QUIET
    )
    opened.then(None, place, None, js=_OPEN_NEXT)


def make_link(
    settings: AppSettings, prompt: str, pair: str, own_base: str, own_cllm: str, cllm_ar: bool, *options_and_place: Any
) -> tuple[Any, ...]:
    """Return a link's query, the box to show it in, and the status line. Names of a visitor's own models stay out."""
    *options, place = options_and_place
    try:
        config = options_from(DecodeConfig, dict(zip(OPTIONS, options, strict=True)))
        name = "" if pair == OWN_MODELS else pair or ""
        models = _pair(settings, name) if name else _own_pair(settings, own_base or "", own_cllm or "")
        where = place_from_player(place, key_of_form(models, prompt or "", config)) if models else {}
        query = to_query(Shared(prompt or "", name, config, bool(cllm_ar), where))
    except CllmError as error:
        return "", gr.skip(), _line("error", str(error))
    return query, gr.Textbox(label=_WHOLE if where else _FORM_ONLY, visible=True), gr.skip()


def restored(shared: Shared, settings: AppSettings, form: Form) -> tuple[dict[Any, Any], list[str]]:
    """Return the updates of the form for what a link carries, and what could not be restored, a sentence each."""
    notes = []
    pair = _pair(settings, shared.pair)
    updates: dict[Any, Any] = {}
    if pair is not None:
        choices = dict.fromkeys([*pair_choices(settings), (pair.title, pair.name)])  # one's own, on a public app
        updates = {form.pair: gr.Dropdown(choices=list(choices), value=pair.name)}
        updates |= dict(zip(form.pair_outputs, pair_updates(pair)))
    else:
        notes.append("Its models are not on offer here: choose some from the list.")
    config = shared.config
    if config.max_new_tokens > settings.max_new_tokens:
        config = replace(config, max_new_tokens=settings.max_new_tokens)
        notes.append(f"This app decodes at most {settings.max_new_tokens:,} tokens.")
    updates |= {widget: getattr(config, name) for name, widget in form.options.items()}
    updates[form.prompt] = shared.prompt
    if pair is not None:
        updates[form.cllm_ar] = gr.Checkbox(value=shared.cllm_ar, visible=pair.cllm is not None)
    return updates, notes


def _pair(settings: AppSettings, name: str) -> ModelPair | None:
    with suppress(ModelNotFound):
        return settings.pair(name)
    return None


def _own_pair(settings: AppSettings, base: str, cllm: str) -> ModelPair | None:
    with suppress(ModelNotFound):
        return settings.own_pair(base, cllm)
    return None


def _line(kind: str, text: str) -> str:
    return status_json(status(kind, text))
