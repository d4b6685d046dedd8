"""The Compare tab's settings: prompt, models, decoding options, Run and Stop. Layout only."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gradio as gr

from cllm_core.errors import ModelNotFound
from cllm_core.options import option_field
from cllm_core.pairs import ModelPair
from cllm_core.tasks.prompts import MAX_CHARS
from cllm_core.types import DecodeConfig
from visualize.settings import AppSettings
from visualize.tabs.controls import control

OWN_MODELS = "own"  # the list's last entry
_OWN = "Any causal language model with safetensors whose layers all use attention."
MAIN_OPTIONS = ("block_size", "max_new_tokens", "window", "init", "seed")
MORE_OPTIONS = ("temperature", "top_p", "top_k", "model_defaults")
OPTIONS = MAIN_OPTIONS + MORE_OPTIONS


@dataclass(frozen=True)
class Form:
    """The widgets that say what to decode."""

    prompt: gr.Textbox
    examples: gr.Dataset
    pair: gr.Dropdown
    about_pair: gr.Textbox
    own_box: gr.Group
    own_base: gr.Textbox
    own_cllm: gr.Textbox
    run: gr.Button
    stop: gr.Button
    options: dict[str, gr.components.Component]
    cllm_ar: gr.Checkbox

    @property
    def inputs(self) -> list[gr.components.Component]:
        """What a run is made from, in the order of `request_from`'s parameters."""
        return [self.prompt, self.pair, self.own_base, self.own_cllm, self.cllm_ar, *self.options.values()]

    @property
    def pair_outputs(self) -> list[Any]:
        """What a change of the pair changes, in the order of `pair_updates`."""
        return [self.examples, self.about_pair, self.own_box, self.cllm_ar]


def pair_choices(settings: AppSettings, owner: str | None = None) -> list[tuple[str, str]]:
    """Return the list's entries, as (title, name): with the pairs that `owner` trained, on a public app."""
    choices = [(pair.title, name) for name, pair in settings.pairs(owner).items()]
    return [*choices, ("Your own models …", OWN_MODELS)] if settings.own_models else choices


def pair_list(settings: AppSettings, current: object, owner: str | None = None) -> gr.Dropdown:
    """Return the list as it is now; a chosen pair that is gone gives way to the first.

    One that is there but on nobody's list, such as another visitor's that a link opened, stays.
    """
    choices = pair_choices(settings, owner)
    names = [name for _, name in choices]
    if not current or current in names:
        return gr.Dropdown(choices=choices)
    try:
        chosen = settings.pair(str(current))
    except ModelNotFound:
        return gr.Dropdown(choices=choices, value=next(iter(names), None))
    return gr.Dropdown(choices=[*choices, (chosen.title, chosen.name)])


def build_form(settings: AppSettings, opening_prompt: str = "") -> Form:
    """Lay the widgets out in the current column, the first pair chosen, with the opening run's prompt if it fits it."""
    pairs = settings.pairs()
    first = next(iter(pairs.values()), None)
    examples = list(first.examples) if first else []
    suited = first.decode if first else {}
    text = opening_prompt if opening_prompt in examples else "".join(examples[:1])
    prompt = gr.Textbox(text, label="Prompt", lines=4, max_lines=12, max_length=MAX_CHARS, elem_id="prompt")
    dataset = gr.Dataset(
        label="Examples", components=[prompt], samples=[[example] for example in examples], elem_id="examples"
    )
    pair = gr.Dropdown(pair_choices(settings), value=first.name if first else None, label="Models", elem_id="pair")
    about = gr.Textbox(  # not the list's own info line, which would read markup in a description
        first.description if first else "",
        label="About these models",
        show_label=False,
        container=False,
        interactive=False,
        elem_id="about-pair",
    )
    with gr.Group(visible=first is None and settings.own_models) as own_box:
        own_base = gr.Textbox(
            label="Base model",
            info="A folder on this machine, or a hub id (owner/name).",
            max_lines=1,
            elem_id="own-base",
        )
        own_cllm = gr.Textbox(
            label="Its CLLM (optional)", info="A model, or a LoRA adapter.", max_lines=1, elem_id="own-cllm"
        )
    with gr.Row(elem_id="run-row"):
        run = gr.Button("Run", variant="primary", min_width=80, elem_id="run")
        stop = gr.Button("Stop", variant="stop", min_width=80, interactive=False, elem_id="stop")
    with gr.Accordion("Settings", open=True, elem_id="settings"):
        options = {name: _option(name, settings, suited) for name in MAIN_OPTIONS[:2]}
        with gr.Row():
            options |= {name: _option(name, settings, suited, min_width=120) for name in MAIN_OPTIONS[2:4]}
        options |= {name: _option(name, settings, suited) for name in MAIN_OPTIONS[4:]}
        cllm_ar = gr.Checkbox(
            label="Also run the CLLM one token at a time",
            info="To compare the ids of its parallel lane with its own.",
            visible=bool(first and first.cllm),
            elem_id="cllm-ar",
        )
    with gr.Accordion("More", open=False, elem_id="more"):
        options |= {name: _option(name, settings, suited) for name in MORE_OPTIONS}
    return Form(prompt, dataset, pair, about, own_box, own_base, own_cllm, run, stop, options, cllm_ar)


def _option(name: str, settings: AppSettings, suited: Mapping[str, Any], **layout: Any) -> gr.components.Component:
    """Make one setting's widget; `suited` holds the values that suit the pair."""
    most = settings.max_new_tokens if name == "max_new_tokens" else None
    return control(DecodeConfig, name, value=suited.get(name), maximum=most, **layout)


def pair_updates(pair: ModelPair | None) -> list[Any]:
    """Return the updates of `pair_outputs` for a pair, None for the visitor's own models."""
    if pair is None:
        return [gr.skip(), _OWN, gr.update(visible=True), gr.update(visible=True)]
    samples = [[example] for example in pair.examples]
    has_cllm = pair.cllm is not None
    return [gr.Dataset(samples=samples), pair.description, gr.update(visible=False), gr.update(visible=has_cllm)]


def suited_options(pair: ModelPair | None, settings: AppSettings) -> dict[str, Any]:
    """Return the settings that a pair asks for, by name.

    A setting that any pair on offer has a liking for goes to this one's value, or back to its default, so that no
    former pair's stays; the others stay as the visitor left them, all of them if the models are the visitor's own.
    """
    if pair is None:
        return {}
    liked = {name for other in (pair, *settings.pairs().values()) for name in other.decode}
    return {name: _suited(name, pair, settings) for name in OPTIONS if name in liked}


def _suited(name: str, pair: ModelPair, settings: AppSettings) -> Any:
    value = pair.decode.get(name, option_field(DecodeConfig, name).default)
    return min(value, settings.max_new_tokens) if name == "max_new_tokens" else value
