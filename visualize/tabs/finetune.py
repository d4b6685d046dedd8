"""The Fine-tune tab: reads the form, has a job made, shows how jobs stand and what they made. Wiring only."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import gradio as gr
from gradio.utils import get_upload_folder

from cllm_core.errors import CllmError
from cllm_core.train.config import TrainConfig
from cllm_core.train.jobs import runner
from cllm_core.train.jobs.folder import Job, find_job
from cllm_core.train.jobs.forecast import forecast
from cllm_core.train.jobs.plan import JobConfig
from cllm_core.train.jobs.presets import PRESETS
from cllm_core.train.jobs.report import write_zip
from visualize.job_report import COLUMNS, read_report, report_rows, report_sentence
from visualize.job_view import job_title, job_view, message, probe_props, probed
from visualize.labels import one_line
from visualize.player import TrajectoryPlayer
from visualize.results import file_size
from visualize.settings import AppSettings
from visualize.tabs.finetune_form import JOB_MAIN, JOB_MORE, MAIN, MORE, TrainForm, build_train_form, preset_values
from visualize.tabs.form import pair_choices
from visualize.tabs.job_panel import job_json, job_panel
from visualize.training import (
    OWN_MODEL,
    UPLOAD,
    Order,
    check_turn,
    command_lines,
    order_from,
    owner_of,
    preview,
    read_upload,
    upload_summary,
    visible_jobs,
)

TICK = 2.0  # seconds between two looks at a job
_QUIET: dict[str, Any] = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
_NO_JOB = "No job yet: choose a preset and press Start."
_OFF = (
    "**Training is off on this Space.** Run the app at home to train: `pip install -r requirements.txt`, then "
    "`python app.py`, and choose *Try it* in this tab. It takes under five minutes on two CPU cores."
)
Seen = tuple[str, tuple[int, ...], str] | None  # job, its probed steps, its status: what the player and table show


@dataclass(frozen=True)
class Watch:
    """The widgets that show a job."""

    jobs: gr.Dropdown
    stop: gr.Button
    resume: gr.Button
    delete: gr.Button
    sure: gr.Row
    panel: gr.HTML
    probe_prompt: gr.Radio
    player: TrajectoryPlayer
    player_box: gr.Column
    report_box: gr.Column
    report_text: gr.Textbox
    report: gr.Dataframe
    download: gr.DownloadButton

    @property
    def live(self) -> list[Any]:
        """What changes at every look: panel and buttons."""
        return [self.panel, self.stop, self.resume, self.delete]

    @property
    def results(self) -> list[Any]:
        """What changes when there is something new to play or to read."""
        return [
            self.player_box,
            self.probe_prompt,
            self.player,
            self.report_box,
            self.report_text,
            self.report,
            self.download,
        ]


def finetune_tab(settings: AppSettings, blocks: gr.Blocks) -> None:
    """Build the tab in the current context of the page `blocks`."""
    if not settings.training:
        gr.Markdown(_OFF, elem_id="ft-off")
        return
    token = gr.BrowserState("", storage_key="cllm-owner", secret="cllm")  # a name of this browser's own
    chosen = gr.BrowserState("", storage_key="cllm-job", secret="cllm")
    seen = gr.State(None)
    timer = gr.Timer(TICK)
    with gr.Row(elem_id="finetune"):
        with gr.Column(scale=0, min_width=350, elem_id="ft-form"):
            form = build_train_form(settings)
        with gr.Column(scale=1, min_width=320, elem_id="ft-results"):
            watch = _build_watch()
    pairs = next((block for block in blocks.blocks.values() if block.elem_id == "pair"), None)
    _wire_form(form, settings)
    _wire_jobs(form, watch, settings, token, chosen)
    outputs = [seen, *watch.live, *watch.results]
    look_at = [token, watch.jobs, watch.probe_prompt, seen]
    timer.tick(partial(look, settings), look_at, outputs, **_QUIET)
    watch.jobs.change(partial(look, settings), look_at, outputs, **_QUIET)
    watch.probe_prompt.input(partial(replay, settings), look_at[:3], watch.player, **_QUIET)
    blocks.load(partial(open_page, settings), [token, chosen], [token, watch.jobs], **_QUIET)
    if pairs is not None:  # a new pair is in the Compare tab's list at once
        seen.change(lambda: gr.Dropdown(choices=pair_choices(settings)), None, pairs, **_QUIET)


def _build_watch() -> Watch:
    with gr.Row(elem_id="ft-jobs-row"):
        jobs = gr.Dropdown(
            [], label="Jobs", show_label=False, container=False, scale=4, min_width=260, elem_id="ft-jobs"
        )
        stop = gr.Button("Stop", variant="stop", min_width=80, interactive=False, elem_id="ft-stop")
        resume = gr.Button("Resume", min_width=80, interactive=False, elem_id="ft-resume")
        delete = gr.Button("Delete …", min_width=80, interactive=False, elem_id="ft-delete")
    with gr.Row(visible=False, elem_id="ft-sure") as sure:
        gr.Markdown("Delete this job with its checkpoints and its result? This cannot be undone.")
        gr.Button("Delete it", variant="stop", min_width=80, elem_id="ft-delete-yes")
        gr.Button("Keep it", min_width=80, elem_id="ft-delete-no")
    panel = job_panel(message("idle", _NO_JOB), "ft-panel")
    with gr.Column(visible=False, elem_id="ft-probe") as player_box:
        gr.Markdown("## The probe, checkpoint by checkpoint", elem_classes="heading")
        prompt = gr.Radio([], type="index", label="Prompt", container=False, elem_id="ft-probe-prompt")
        player = TrajectoryPlayer(elem_id="ft-player")
    with gr.Column(visible=False, elem_id="ft-report") as report_box:
        gr.Markdown("## Before and after, measured", elem_classes="heading")
        text = gr.Textbox(
            show_label=False, label="Result", interactive=False, container=False, elem_id="ft-about-report"
        )
        table = gr.Dataframe(
            headers=list(COLUMNS), interactive=False, show_label=False, wrap=True, buttons=[], elem_id="ft-report-table"
        )
        download = gr.DownloadButton("Download the result (zip)", size="sm", elem_id="ft-download")
    return Watch(jobs, stop, resume, delete, sure, panel, prompt, player, player_box, report_box, text, table, download)


# --- the form


def _wire_form(form: TrainForm, settings: AppSettings) -> None:
    fields = [*form.train.values(), *form.job.values()]
    form.preset.input(choose_preset, form.preset, [form.about, form.prompts, form.file_box, *fields], **_QUIET)
    form.model.input(lambda name: gr.Textbox(visible=name == OWN_MODEL), form.model, form.own_model, **_QUIET)
    form.prompts.input(lambda name: gr.Group(visible=name == UPLOAD), form.prompts, form.file_box, **_QUIET)
    form.file.change(partial(show_file, settings), form.file, [form.file_notes, form.preview], **_QUIET)
    form.estimate.click(
        partial(estimate, settings, form),
        form.inputs,
        [form.panel, form.command],
        concurrency_id="estimate",
        concurrency_limit=1,
        show_progress="hidden",
        api_visibility="private",
    )


def choose_preset(name: str) -> list[Any]:
    """Fill the form with a preset's values."""
    preset = PRESETS.get(name) or next(iter(PRESETS.values()))
    key = next(key for key, value in PRESETS.items() if value is preset)
    values = [*preset_values(key, TrainConfig, (*MAIN, *MORE)), *preset_values(key, JobConfig, (*JOB_MAIN, *JOB_MORE))]
    return [preset.about, preset.train["task"], gr.Group(visible=False), *values]


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
        busy = runner.running_job(str(order.plan.train.get("device", "auto")))
        found = forecast(order.plan, prompts=order.prompts, held_out=order.held_out)
    except CllmError as error:
        yield job_json(message("error", str(error))), gr.skip()
        return
    notes = [] if busy is None else ["Another job used this device meanwhile: alone, this one is faster."]
    yield (
        job_json(message("done", found.sentences()[1], [found.sentences()[0], found.sentences()[2], *notes])),
        gr.skip(),
    )


def _order(settings: AppSettings, owner: str, form: TrainForm, values: Sequence[Any]) -> Order:
    return order_from(settings, owner, **form.values_of(values))


# --- jobs


def _wire_jobs(
    form: TrainForm, watch: Watch, settings: AppSettings, token: gr.BrowserState, chosen: gr.BrowserState
) -> None:
    form.start.click(
        partial(begin, settings, form), [token, *form.inputs], [form.panel, form.command, watch.jobs], **_QUIET
    )
    watch.jobs.change(lambda name: name or "", watch.jobs, chosen, **_QUIET)
    changed = [watch.panel, watch.jobs]
    watch.stop.click(partial(act, settings, runner.stop), [token, watch.jobs], changed, **_QUIET)
    watch.resume.click(partial(act, settings, runner.start), [token, watch.jobs], changed, **_QUIET)
    watch.delete.click(lambda: gr.Row(visible=True), None, watch.sure, **_QUIET)
    yes, no = watch.sure.children[1:]
    yes.click(partial(remove, settings), [token, watch.jobs], [*changed, watch.sure], **_QUIET)
    no.click(lambda: gr.Row(visible=False), None, watch.sure, **_QUIET)


def begin(settings: AppSettings, form: TrainForm, token: str, *values: Any) -> tuple[Any, ...]:
    """Make a job of the form and start it; it is then the one that is shown."""
    try:
        owner = owner_of(settings, token)
        check_turn(settings, owner)
        order = _order(settings, owner or "", form, values)
        job = order.start()
    except CllmError as error:
        return job_json(message("error", str(error))), gr.skip(), gr.skip()
    text = "Started: it goes on by itself, also when this page is closed."
    return job_json(message("done", text)), command_lines(order.plan), _choices(owner, job.name)


def act(settings: AppSettings, action: Any, token: str, name: str | None) -> tuple[Any, Any]:
    """Stop or resume the visitor's job."""
    try:
        owner = owner_of(settings, token)
        job = find_job(name, owner)
        action(job)
    except CllmError as error:
        return job_json(message("error", str(error))), gr.skip()
    return job_json(job_view(job)), _choices(owner, job.name)


def remove(settings: AppSettings, token: str, name: str | None) -> tuple[Any, Any, Any]:
    """Delete the visitor's job, once that was confirmed."""
    try:
        owner = owner_of(settings, token)
        runner.delete(find_job(name, owner))
    except CllmError as error:
        return job_json(message("error", str(error))), gr.skip(), gr.Row(visible=False)
    return job_json(message("idle", "The job is deleted.")), _choices(owner, None), gr.Row(visible=False)


def _choices(owner: str | None, name: str | None) -> gr.Dropdown:
    jobs = visible_jobs(owner)
    names = [job.name for job in jobs]
    value = name if name in names else next(iter(names), None)
    return gr.Dropdown([(job_title(job), job.name) for job in jobs], value=value)


def open_page(settings: AppSettings, token: str, chosen: str) -> tuple[Any, Any]:
    """Name the browser if it has no name, and show the job that it watched last, else the newest."""
    token = token or uuid4().hex
    return token, _choices(owner_of(settings, token), chosen)


def look(settings: AppSettings, token: str, name: str | None, prompt: int | None, seen: Seen) -> tuple[Any, ...]:
    """Show how the chosen job stands; what is played and tabled changes only when there is something new."""
    skipped = [gr.skip()] * 7
    if not name:
        return None, job_json(message("idle", _NO_JOB)), *_buttons(None), *skipped
    try:
        job = find_job(name, owner_of(settings, token))
    except CllmError:
        return None, gr.skip(), *_buttons(None), *skipped
    status, steps = runner.job_state(job).status, probed(job)
    now = (job.name, steps, status)
    same = seen is not None and tuple(seen) == now
    results = skipped if same else _results(job, steps, prompt if seen and seen[0] == name else None)
    return gr.skip() if same else now, job_json(job_view(job)), *_buttons(status), *results


def _buttons(status: str | None) -> tuple[gr.Button, gr.Button, gr.Button]:
    live = status in ("queued", "running", "stopping")
    ended = status in ("stopped", "paused", "failed")
    return (
        gr.Button(interactive=live and status != "stopping"),
        gr.Button(interactive=ended),
        gr.Button(interactive=status is not None and not live),
    )


def _results(job: Job, steps: Sequence[int], prompt: int | None) -> list[Any]:
    props = probe_props(job, steps, prompt or 0)
    count = job.plan().job.probe_prompts
    radio = gr.Radio(
        [f"Prompt {number + 1}" for number in range(count)], value=f"Prompt {(prompt or 0) + 1}", visible=count > 1
    )
    report = read_report(job)
    return [
        gr.Column(visible=props is not None),
        radio,
        props,
        gr.Column(visible=report is not None),
        report_sentence(report) if report else "",
        report_rows(report) if report else None,
        _zip(job) if report else None,
    ]


def _zip(job: Job) -> gr.DownloadButton:
    place = Path(get_upload_folder()) / uuid4().hex
    place.mkdir(parents=True)
    path = place / f"{job.name}.zip"
    write_zip(job, path)
    return gr.DownloadButton(f"Download the result · zip, {file_size(path.stat().st_size)}", value=path)


def replay(settings: AppSettings, token: str, name: str | None, prompt: int | None) -> Any:
    """Play another prompt of the probe."""
    try:
        job = find_job(name, owner_of(settings, token))
    except CllmError:
        return gr.skip()
    return probe_props(job, probed(job), prompt or 0)
