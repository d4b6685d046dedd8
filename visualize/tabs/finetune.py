"""The Fine-tune tab: reads the form, has a job made, stops, resumes and deletes jobs. Wiring only."""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any
from uuid import uuid4

import gradio as gr

from cllm_core.errors import CllmError
from cllm_core.train.config import TrainConfig
from cllm_core.train.jobs import runner
from cllm_core.train.jobs.folder import Job, find_job
from cllm_core.train.jobs.forecast import forecast
from cllm_core.train.jobs.plan import JobConfig
from cllm_core.train.jobs.presets import PRESETS
from visualize.job_view import job_view, message
from visualize.labels import one_line
from visualize.recording import recordings
from visualize.settings import AppSettings
from visualize.tabs.finetune_form import JOB_MAIN, JOB_MORE, MAIN, MORE, TrainForm, build_train_form, preset_values
from visualize.tabs.finetune_watch import Seen, Watch, build_watch, choices, look, replay
from visualize.tabs.form import pair_list
from visualize.tabs.job_panel import job_json
from visualize.training import (
    OWN_MODEL,
    UPLOAD,
    Order,
    busy_notes,
    check_turn,
    command_lines,
    order_from,
    owner_of,
    preview,
    read_upload,
    upload_summary,
)

_starting = threading.Lock()
TICK = 2.0  # seconds between two looks at a job
_QUIET: dict[str, Any] = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
# A list changes while answers are on their way, or the app starts anew under an open page: gradio would then refuse
# what is chosen there. The handlers judge it themselves.
_AS_SENT: dict[str, Any] = {**_QUIET, "preprocess": False}
_OFF = (
    "**Training is off on this Space.** To train, run the app at home: `pip install -r requirements.txt`, then "
    "`python app.py`, and press *Start* in this tab."
)
_RECORDED = " Below is the recording of a real run: its metrics, and its probe at every checkpoint."


def finetune_tab(settings: AppSettings, blocks: gr.Blocks) -> None:
    """Build the tab in the current context of the page `blocks`."""
    token = _kept(blocks, "cllm-owner")  # a name of this browser's own
    chosen = _kept(blocks, "cllm-job")
    seen = gr.State(None)
    if settings.training:
        with gr.Row(elem_id="finetune"):
            with gr.Column(scale=0, min_width=350, elem_id="ft-form"):
                form = build_train_form(settings)
            with gr.Column(scale=1, min_width=320, elem_id="ft-results"):
                watch = build_watch(training=True)
        _wire_form(form, settings)
        _wire_jobs(form, watch, settings, token)
    else:
        shipped = bool(recordings())
        gr.Markdown(_OFF + _RECORDED * shipped, elem_id="ft-off")
        with gr.Column(visible=shipped, elem_id="ft-results"):
            watch = build_watch(training=False)
    pairs = [block for block in blocks.blocks.values() if block.elem_id == "pair"]  # the Compare tab's list
    _wire_watch(watch, settings, (token, chosen, seen), pairs)
    blocks.load(partial(open_page, settings), [token, chosen], [token, watch.jobs], **_QUIET)


def _kept(blocks: gr.Blocks, name: str) -> gr.BrowserState:
    """Make a text that survives a reload. It belongs to the page: what is in a tab is not there until it is opened."""
    kept = gr.BrowserState("", storage_key=name, secret="cllm")
    kept.parent.children.remove(kept)
    blocks.add(kept)
    return kept


def _wire_watch(
    watch: Watch,
    settings: AppSettings,
    states: tuple[gr.BrowserState, gr.BrowserState, gr.State],
    pairs: Sequence[gr.components.Component],
) -> None:
    token, chosen, seen = states
    inputs = [token, watch.jobs, watch.probe_prompt, seen, *pairs]

    def refresh(token: str, name: Any, prompt: Any, seen: Seen, *current: Any) -> tuple[Any, ...]:
        found = look(settings, token, name, prompt, seen)
        news = found[0] != gr.skip()  # such as a pair that a job has just made, or that went with its job
        owner = owner_of(settings, token) if token else None
        return *found, *[pair_list(settings, pair, owner) if news else gr.skip() for pair in current]

    for happens in (gr.Timer(TICK).tick, watch.jobs.change):
        happens(refresh, inputs, [seen, *watch.outputs, *pairs], **_AS_SENT)
    watch.jobs.change(lambda name: name or gr.skip(), watch.jobs, chosen, **_AS_SENT)
    watch.probe_prompt.input(partial(replay, settings), inputs[:3], watch.player, **_AS_SENT)


# --- the form


def _wire_form(form: TrainForm, settings: AppSettings) -> None:
    fields = [*form.train.values(), *form.job.values()]
    filled = json.dumps({name: preset_updates(name) for name in PRESETS})  # in the browser: no late answer overwrites
    preset_outputs = [form.about, form.prompts, form.file_box, *fields]
    form.preset.input(None, form.preset, preset_outputs, js=f"(name) => ({filled})[name]")
    form.model.input(lambda name: gr.Textbox(visible=name == OWN_MODEL), form.model, form.own_model, **_QUIET)
    form.prompts.input(lambda name: gr.Group(visible=name == UPLOAD), form.prompts, form.file_box, **_QUIET)
    form.file.change(partial(show_file, settings), form.file, [form.file_notes, form.preview], **_QUIET)
    form.command_box.expand(partial(show_command, settings, form), form.inputs, form.command, **_QUIET)
    form.estimate.click(
        partial(estimate, settings, form),
        form.inputs,
        [form.panel, form.command],
        concurrency_id="estimate",
        concurrency_limit=1,
        show_progress="hidden",
        api_visibility="private",
    )


def preset_updates(name: str) -> list[Any]:
    """Return what fills the form with a preset's values, as the browser takes it."""
    preset = PRESETS[name]
    values = [
        *preset_values(name, TrainConfig, (*MAIN, *MORE)),
        *preset_values(name, JobConfig, (*JOB_MAIN, *JOB_MORE)),
    ]
    return [preset.about, preset.train["task"], gr.update(visible=False), *values]


def show_file(settings: AppSettings, path: str | None) -> tuple[Any, Any]:
    """Say what will be used of a prompt file, and show its first rows."""
    try:
        read = read_upload(settings, path)
    except CllmError as error:
        return one_line(str(error), 400), gr.Dataframe(visible=False)
    return upload_summary(read), gr.Dataframe(preview(read), visible=True)


def estimate(settings: AppSettings, form: TrainForm, *values: Any) -> Iterator[tuple[Any, Any]]:
    """Time a few steps and say what the job will cost, or why it cannot run."""
    try:
        order = _order(settings, "", form, values)
        yield job_json(message("busy", "Timing a few steps on this machine …")), command_lines(order.plan)
        notes = busy_notes(str(order.plan.train.get("device", "auto")))
        found = forecast(order.plan, prompts=order.prompts, held_out=order.held_out)
    except CllmError as error:
        yield job_json(message("error", str(error))), gr.skip()
        return
    tokens, duration, room = found.sentences()
    yield job_json(message("done", duration, [tokens, room, *notes])), gr.skip()


def show_command(settings: AppSettings, form: TrainForm, *values: Any) -> str:
    """Return the commands that do what the form says, or why it makes no job."""
    try:
        return command_lines(_order(settings, "", form, values).plan)
    except CllmError as error:
        return str(error)


def _order(settings: AppSettings, owner: str, form: TrainForm, values: Sequence[Any]) -> Order:
    return order_from(settings, owner, **form.values_of(values))


# --- jobs


def _wire_jobs(form: TrainForm, watch: Watch, settings: AppSettings, token: gr.BrowserState) -> None:
    form.start.click(
        partial(begin, settings, form), [token, *form.inputs], [form.panel, form.command, watch.jobs], **_QUIET
    )
    inputs, changed = [token, watch.jobs], [watch.panel, watch.jobs]
    watch.stop.click(partial(act, settings, runner.stop), inputs, changed, **_AS_SENT)
    watch.resume.click(partial(act, settings, runner.start, starts=True), inputs, changed, **_AS_SENT)
    watch.best.click(partial(act, settings, runner.use_best, starts=True), inputs, changed, **_AS_SENT)
    watch.delete.click(lambda: gr.Row(visible=True), None, watch.sure, **_QUIET)
    watch.sure_yes.click(partial(remove, settings), inputs, [*changed, watch.sure], **_AS_SENT)
    watch.jobs.change(lambda: gr.Row(visible=False), None, watch.sure, **_QUIET)  # the question was about another job
    watch.sure_no.click(lambda: gr.Row(visible=False), None, watch.sure, **_QUIET)


def begin(settings: AppSettings, form: TrainForm, token: str, *values: Any) -> tuple[Any, ...]:
    """Make a job of the form and start it; it is then the one that is shown."""
    try:
        owner = owner_of(settings, token)
        order = _order(settings, owner or "", form, values)
        with _starting:  # two tabs at once would both find that it is their turn
            check_turn(settings, owner)
            job = order.start()
    except CllmError as error:
        return job_json(message("error", str(error))), gr.skip(), gr.skip()
    text = "Started: it goes on by itself, also when this page is closed."
    return job_json(message("done", text)), command_lines(order.plan), choices(owner, job.name)


def act(
    settings: AppSettings, action: Callable[[Job], None], token: object, name: object, *, starts: bool = False
) -> tuple[Any, Any]:
    """Stop the visitor's job, or have it go on, which it does only if no other of theirs is under way."""
    try:
        owner = owner_of(settings, token)
        job = find_job(name, owner)
        with _starting if starts else nullcontext():
            if starts:
                check_turn(settings, owner)
            action(job)
    except CllmError as error:
        return job_json(message("error", str(error))), gr.skip()
    return job_json(job_view(job)), choices(owner, job.name)


def remove(settings: AppSettings, token: object, name: object) -> tuple[Any, Any, Any]:
    """Delete the visitor's job, once that was confirmed."""
    try:
        owner = owner_of(settings, token)
        runner.delete(find_job(name, owner))
    except CllmError as error:
        return job_json(message("error", str(error))), gr.skip(), gr.Row(visible=False)
    return job_json(message("idle", "The job is deleted.")), choices(owner, None), gr.Row(visible=False)


def open_page(settings: AppSettings, token: object, chosen: object) -> tuple[Any, Any]:
    """Name the browser if it has no name, and show the job that it watched last, else the newest."""
    token = token if token and isinstance(token, str) else uuid4().hex
    return token, choices(owner_of(settings, token), chosen)
