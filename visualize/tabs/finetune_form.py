"""The Fine-tune tab's settings: preset, target, prompts, training options, Estimate and Start. Layout only."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from cllm_core.options import option_field
from cllm_core.train.config import TrainConfig
from cllm_core.train.jobs.plan import JobConfig
from cllm_core.train.jobs.presets import PRESETS
from visualize.job_view import message
from visualize.settings import AppSettings
from visualize.tabs.controls import control, values_from
from visualize.tabs.job_panel import job_panel
from visualize.training import OWN_MODEL, PUBLIC_MOST, UPLOAD, target_models, task_choices

FIRST = "try"
MAIN = (  # lists and boxes in twos, then sliders
    "steps", "lr", "batch", "accumulation", "noise", "consistency", "ar_weight", "consistency_weight", "method",
    "limit", "window", "block_size", "copies", "rank", "seed",
)  # fmt: skip
MORE = (
    "objective", "loss", "stretch", "refresh", "max_length", "chunk", "alpha", "weight_decay", "clip", "save_every",
    "keep", "precision", "device", "tracker", "augment", "chat", "gradient_checkpointing", "decay", "on_policy",
    "refill", "frontiers", "cycle", "warmup", "lr_floor",
)  # fmt: skip
JOB_MAIN = ("title", "answers")
JOB_MORE = (
    "answer_tokens", "probe_prompts", "probe_tokens", "test_prompts", "decode_block", "guard", "repetition_limit",
    "agreement_drop",
)  # fmt: skip
_LABELS = {  # where a field's name is not how people say it
    "ar_weight": "AR weight",
    "batch": "Rows at once",
    "consistency": "Loss: global (GC) or local (LC)",
    "copies": "Trajectory states kept per block",
    "limit": "Prompts to use",
    "loss": "Form of the loss",
    "lr": "Learning rate",
    "lr_floor": "Rate at the end",
    "method": "What is trained",
    "on_policy": "Own guesses",
    "refill": "Fresh ends of own guesses",
    "frontiers": "Frontiers of a stretch",
    "rank": "LoRA rank",
    "alpha": "LoRA alpha",
    "save_every": "Steps between checkpoints",
    "keep": "Checkpoints kept",
    "chat": "Chat template",
}
_ABOUT_FILE = (
    'JSONL with a "prompt" (and an "answer", if you have one) on each line, CSV with such columns, or plain text with '
    "one prompt a line."
)


@dataclass(frozen=True)
class TrainForm:
    """The widgets that say what to train."""

    preset: gr.Radio
    about: gr.Textbox
    model: gr.Dropdown
    own_model: gr.Textbox
    prompts: gr.Dropdown
    file: gr.File
    file_box: gr.Group
    file_notes: gr.Textbox
    preview: gr.Dataframe
    train: dict[str, gr.components.Component]
    job: dict[str, gr.components.Component]
    estimate: gr.Button
    start: gr.Button
    panel: gr.HTML
    command_box: gr.Accordion
    command: gr.Textbox

    @property
    def inputs(self) -> list[gr.components.Component]:
        """What an order is made from, in the order of `values_of`."""
        return [
            self.model, self.own_model, self.prompts, self.file, *self.train.values(), *self.job.values()
        ]  # fmt: skip

    def values_of(self, values: Sequence[Any]) -> dict[str, Any]:
        """Return the inputs' values as the keyword arguments of `order_from`."""
        model, own_model, prompts, file, *rest = values
        return {
            "model": model,
            "own_model": own_model or "",
            "prompts": prompts,
            "file": file,
            "train": values_from(TrainConfig, dict(zip(self.train, rest[: len(self.train)], strict=True))),
            "job": values_from(JobConfig, dict(zip(self.job, rest[len(self.train) :], strict=True))),
        }


def preset_values(name: str, config: type, names: Sequence[str]) -> list[Any]:
    """Return a preset's values of the named fields: its own, else the fields' defaults."""
    preset = PRESETS[name]
    own = preset.train if config is TrainConfig else preset.job
    return [own.get(field, option_field(config, field).default) for field in names]


def build_train_form(settings: AppSettings) -> TrainForm:
    """Lay the widgets out in the current column, with the first preset's values."""
    offered = {FIRST: PRESETS[FIRST]} if settings.public else PRESETS  # the others are beyond a Space's limits
    preset = gr.Radio(
        [(preset.title, name) for name, preset in offered.items()], value=FIRST, label="Preset", elem_id="ft-preset"
    )
    about = gr.Textbox(
        PRESETS[FIRST].about, label="About this preset", show_label=False, container=False, interactive=False,
        lines=2, elem_id="ft-about",
    )  # fmt: skip
    targets = [(title, name) for name, title in target_models(settings).items()]
    own = [("Another model …", OWN_MODEL)] if settings.own_models else []
    model = gr.Dropdown([*targets, *own], value=targets[0][1] if targets else None, label="Target", elem_id="ft-model")
    own_model = gr.Textbox(
        label="Model folder or hub id", info="A Llama-like model with safetensors weights.", max_lines=1,
        visible=False, elem_id="ft-own-model",
    )  # fmt: skip
    choices = [*task_choices(), ("Your own file …", UPLOAD)]
    prompts = gr.Dropdown(choices, value="json", label="Prompts", elem_id="ft-prompts")
    with gr.Group(visible=False) as file_box:
        file = gr.File(
            label="Prompt file", file_types=[".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".txt"], height=110,
            elem_id="ft-file",
        )  # fmt: skip
        notes = gr.Textbox(
            _ABOUT_FILE, label="What will be used of the file", show_label=False, interactive=False, lines=2,
            max_lines=8, elem_id="ft-file-notes",
        )  # fmt: skip
        table = gr.Dataframe(
            headers=["Prompt", "Answer"], interactive=False, show_label=False, visible=False, wrap=True, buttons=[],
            elem_id="ft-preview",
        )  # fmt: skip
    with gr.Row(elem_id="ft-start-row"):
        estimate = gr.Button("Estimate", min_width=80, elem_id="ft-estimate")
        start = gr.Button("Start", variant="primary", min_width=80, elem_id="ft-start")
    panel = job_panel(message("idle", "Estimate times a few steps on this machine; Start trains."), "ft-form-panel")
    with gr.Accordion("Settings", open=False, elem_id="ft-settings"):
        job = _controls(settings, JobConfig, JOB_MAIN)
        train = _controls(settings, TrainConfig, MAIN)
    with gr.Accordion("More", open=False, elem_id="ft-more"):
        train |= _controls(settings, TrainConfig, MORE)
        job |= _controls(settings, JobConfig, JOB_MORE)
    with gr.Accordion("The same on the command line", open=False, elem_id="ft-command-box") as box:
        command = gr.Textbox(
            label="Commands", show_label=False, interactive=False, lines=3, buttons=["copy"], elem_id="ft-command"
        )
    return TrainForm(
        preset, about, model, own_model, prompts, file, file_box, notes, table, train, job, estimate, start, panel,
        box, command,
    )  # fmt: skip


def _controls(settings: AppSettings, config: type, names: Sequence[str]) -> dict[str, gr.components.Component]:
    found = {}
    for name, value in zip(names, preset_values(FIRST, config, names), strict=True):
        label = option_field(config, name).metadata["label"] or _LABELS.get(name, name.replace("_", " ").capitalize())
        most = PUBLIC_MOST.get(name) if settings.public else None
        found[name] = control(config, name, value=value, maximum=most, label=label, elem_id=f"ft-{name}")
    return found
