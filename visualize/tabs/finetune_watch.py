"""The Fine-tune tab's right side: how a job stands, its probe to play, its report. Widgets and what fills them."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import gradio as gr
from gradio.utils import get_upload_folder

from cllm_core.errors import CllmError
from cllm_core.train.jobs.folder import REPORT, Job
from cllm_core.train.jobs.report import write_zip
from cllm_core.train.jobs.runner import can_use_best, job_state
from cllm_core.train.jobs.state import LIVE
from visualize.job_report import COLUMNS, report_rows, report_sentence
from visualize.job_view import job_title, message, probe_props
from visualize.player import TrajectoryPlayer
from visualize.recording import PREFIX, Shown, find_shown, recordings
from visualize.results import file_size
from visualize.settings import AppSettings
from visualize.tabs.job_panel import job_json, job_panel
from visualize.training import owner_of, visible_jobs

_BUTTONS = (
    ("stop", "Stop", "stop"),
    ("resume", "Resume", "secondary"),
    ("best", "End with the best", "secondary"),
    ("delete", "Delete …", "secondary"),
)
_SALT = uuid4().hex  # what a visitor would have to guess to find a zip that is not theirs
NO_JOB = "No job yet: choose a preset and press Start."
Seen = tuple[str, tuple[int, ...], str] | None  # the key of what player and table show


@dataclass(frozen=True)
class Watch:
    """The widgets that show a job."""

    jobs: gr.Dropdown
    stop: gr.Button
    resume: gr.Button
    best: gr.Button
    delete: gr.Button
    sure: gr.Row
    sure_yes: gr.Button
    sure_no: gr.Button
    panel: gr.HTML
    probe_box: gr.Column
    probe_prompt: gr.Radio
    player: TrajectoryPlayer
    report_box: gr.Column
    report_text: gr.Textbox
    report: gr.Dataframe
    download: gr.DownloadButton

    @property
    def outputs(self) -> list[Any]:
        """What `look` changes, behind what was seen: panel and buttons at every look, then probe and report."""
        return [
            self.jobs, self.panel, self.stop, self.resume, self.best, self.delete,
            self.probe_box, self.probe_prompt, self.player,
            self.report_box, self.report_text, self.report, self.download,
        ]  # fmt: skip


def build_watch(*, training: bool) -> Watch:
    """Lay the widgets out in the current column; without training, the buttons that act on jobs are left out."""
    with gr.Row(elem_id="ft-jobs-row"):
        jobs = gr.Dropdown(
            [], label="Jobs", show_label=False, container=False, scale=4, min_width=260, elem_id="ft-jobs"
        )
        stop, resume, best, delete = (
            gr.Button(text, variant=kind, min_width=80, interactive=False, visible=training, elem_id=f"ft-{name}")
            for name, text, kind in _BUTTONS
        )
    with gr.Row(visible=False, elem_id="ft-sure") as sure:
        gr.Markdown("Delete this job with its checkpoints and its result? This cannot be undone.")
        yes = gr.Button("Delete it", variant="stop", min_width=80, elem_id="ft-delete-yes")
        no = gr.Button("Keep it", min_width=80, elem_id="ft-delete-no")
    panel = job_panel(message("idle", NO_JOB), "ft-panel")
    with gr.Column(visible=False, elem_id="ft-probe") as probe_box:
        gr.Markdown("## The probe, checkpoint by checkpoint", elem_classes="heading")
        prompt = gr.Radio([], label="Prompt", container=False, elem_id="ft-probe-prompt")
        player = TrajectoryPlayer(elem_id="ft-player")
    with gr.Column(visible=False, elem_id="ft-report") as report_box:
        gr.Markdown("## Before and after, measured", elem_classes="heading")
        text = gr.Textbox(
            show_label=False, label="Result", interactive=False, container=False, elem_id="ft-about-report"
        )
        table = gr.Dataframe(
            headers=list(COLUMNS), interactive=False, show_label=False, wrap=True, buttons=[], elem_id="ft-report-table"
        )
        download = gr.DownloadButton("Download the result", size="sm", visible=training, elem_id="ft-download")
    return Watch(
        jobs,
        stop,
        resume,
        best,
        delete,
        sure,
        yes,
        no,
        panel,
        probe_box,
        prompt,
        player,
        report_box,
        text,
        table,
        download,
    )


def choices(owner: str | None, name: object) -> gr.Dropdown:
    """Return the list of an owner's jobs and of the recordings, with one chosen: the named one, else the newest."""
    found = [(job_title(job), job.name) for job in visible_jobs(owner)]
    found += [(f"Recorded: {key.removeprefix(PREFIX).replace('-', ' ')}", key) for key in recordings()]
    names = [key for _, key in found]
    return gr.Dropdown(found, value=name if name in names else next(iter(names), None))


def look(settings: AppSettings, token: object, name: object, prompt: object, seen: Seen) -> tuple[Any, ...]:
    """Show how the chosen job stands; what is played and tabled changes only when there is something new.

    Token, name and prompt are as the browser sent them: anything.
    """
    unchanged = [gr.skip()] * 7
    gone = _nothing() if seen else unchanged  # what was shown of a job goes with it
    if not name:
        return None, gr.skip(), job_json(message("idle", NO_JOB)), *_buttons(None), *gone
    known = tuple(tuple(part) if isinstance(part, list) else part for part in seen) if seen else None
    try:
        owner = owner_of(settings, token)
        shown = find_shown(name, owner, known)
    except CllmError as error:
        return None, gr.skip(), job_json(message("error", str(error))), *_buttons(None), *gone
    panel, buttons = job_json(shown.view), _buttons(shown)
    if shown.key == known:
        return gr.skip(), gr.skip(), panel, *buttons, *unchanged
    same_job = known is not None and known[0] == name
    told = known[2] if known is not None and same_job else shown.status
    titles = gr.skip() if told == shown.status else choices(owner, name)  # the list tells the status
    return shown.key, titles, panel, *buttons, *_results(shown, prompt if same_job else 0)


def _buttons(shown: Shown | None) -> list[gr.Button]:
    """Return the buttons, in the order of _BUTTONS: which can be pressed."""
    job = shown.job if shown else None
    if shown is None or job is None:
        return [gr.Button(interactive=False)] * len(_BUTTONS)
    ended = shown.status in ("stopped", "paused", "failed")
    best = ended and can_use_best(job, job_state(job))
    live = shown.status in LIVE
    return [gr.Button(interactive=yes) for yes in (live and shown.status != "stopping", ended, best, not live)]


def _results(shown: Shown, prompt: object) -> list[Any]:
    report, count = shown.report, len(shown.prompts)
    number = _number(prompt, count)
    props = probe_props(shown.prompts, number)
    numbers = [(f"Prompt {number + 1}", number) for number in range(count)]
    return [
        gr.Column(visible=props is not None),
        gr.Radio(numbers, value=number if count else None, visible=count > 1),
        props,
        gr.Column(visible=report is not None),
        report_sentence(report) if report else "",
        report_rows(report) if report else None,
        _zip(shown.job) if report and shown.job else gr.DownloadButton(visible=False),
    ]


def _number(prompt: object, count: int) -> int:
    """Return the number of a probe prompt as the browser sent it; the first if there is none of that number."""
    return prompt if isinstance(prompt, int) and 0 <= prompt < count else 0


def _nothing() -> list[Any]:
    """Return the updates of `_results` where there is no job."""
    hidden = gr.Column(visible=False)
    return [hidden, gr.Radio(visible=False), None, hidden, "", None, gr.DownloadButton(visible=False)]


def _zip(job: Job) -> gr.DownloadButton:
    made = (job.folder / REPORT).stat().st_mtime_ns
    place = Path(get_upload_folder()) / hashlib.sha256(f"{_SALT}{job.folder}{made}".encode()).hexdigest()
    path = place / f"{job.name}.zip"
    try:
        if not path.exists():
            place.mkdir(parents=True, exist_ok=True)
            write_zip(job, path)
    except OSError:
        return gr.DownloadButton("No room on the disk for the zip", value=None, interactive=False, visible=True)
    return gr.DownloadButton(
        f"Download the result · zip, {file_size(path.stat().st_size)}", value=path, interactive=True, visible=True
    )


def replay(settings: AppSettings, token: object, name: object, prompt: object) -> Any:
    """Play another prompt of the probe."""
    try:
        prompts = find_shown(name, owner_of(settings, token)).prompts
    except CllmError:
        return gr.skip()
    return probe_props(prompts, _number(prompt, len(prompts)))
