"""The Compare tab: reads the form, has the run done, shows what came of it. Layout and wiring only."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr
from gradio.utils import get_upload_folder

from cllm_core.compare import DEFAULT_LANES
from cllm_core.errors import CllmError, PromptError
from cllm_core.pairs import ModelPair
from cllm_core.tasks.prompts import MAX_CHARS
from cllm_core.types import DecodeConfig
from visualize.labels import one_line
from visualize.live import Status, follow, status
from visualize.load import MOST_BYTES, bundled_runs, load_file
from visualize.player import TrajectoryPlayer
from visualize.results import COLUMNS, DOWNLOADS, Download, View, headline, view_of
from visualize.runs import RUNS, Run, RunRequest
from visualize.settings import AppSettings
from visualize.tabs.controls import options_from
from visualize.tabs.form import OPTIONS, OWN_MODELS, Form, build_form, pair_choices, pair_updates, suited_options
from visualize.tabs.share import build_link, wire_link
from visualize.tabs.status import status_json, status_panel
from visualize.training import busy_notes
from visualize.view import OpenProps

MODEL_QUEUE = "model"  # every event that runs a model waits in this one queue
_LOOK = 1.0  # seconds between two looks at who else uses the device
_QUIET: dict[str, Any] = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
_WELCOME = "Press Run to decode the prompt."
_WIDTHS = (165, 66, 66, 68, 76, 72, 76, 84, 90, 180)  # of the table's columns, in pixels
_IDLE, _BUSY = (True, False), (False, True)  # whether Run and Stop can be pressed


@dataclass(frozen=True)
class Results:
    """The widgets that show a run."""

    status: gr.HTML
    player: TrajectoryPlayer
    table: gr.Dataframe
    figure: gr.Plot
    downloads: list[gr.DownloadButton]

    @property
    def outputs(self) -> list[Any]:
        """The widgets in the order of `_updates`."""
        return [self.status, self.player, self.table, self.figure, *self.downloads]


def compare_tab(settings: AppSettings, blocks: gr.Blocks) -> None:
    """Build the tab in the current context of the page `blocks`."""
    traces = bundled_runs()
    opening = _opening_view(traces)
    with gr.Row(elem_id="compare"):
        with gr.Column(scale=0, min_width=330, elem_id="form"):
            form = build_form(settings, opening.props["prompt"] if opening and opening.props else "")
            with gr.Accordion("Recorded runs", open=False, elem_id="recorded"):
                trace = gr.Dropdown(
                    list(traces), value=None, label="Recorded with this app", visible=bool(traces), elem_id="trace"
                )
                upload = gr.UploadButton(
                    "Open a trajectory file …", file_types=[".json", ".jsonl"], size="sm", elem_id="upload"
                )
        with gr.Column(scale=1, min_width=320, elem_id="results"):
            results = _build_results(opening)
            link = build_link()
    blocks.load(partial(refreshed_pairs, settings), None, form.pair, **_QUIET)
    _wire_form(form, settings)
    _wire_run(form, results, settings)
    upload.upload(
        partial(open_file, settings.upload_bytes),
        upload,
        results.outputs,
        show_progress="hidden",
        api_visibility="private",
    )
    trace.input(partial(open_trace, traces), trace, results.outputs, **_QUIET)
    wire_link(settings, blocks, form, link, results.outputs, traces, open_recorded)


def _opening_view(traces: Mapping[str, Path]) -> View | None:
    """Return the view of the first recorded run: the app opens on it, and loads no model."""
    for title, path in traces.items():
        return _loaded_view(path, f"Recorded: {title}. {_WELCOME}")
    return None


def _loaded_view(path: Path, text: str, most: int = MOST_BYTES) -> View:
    loaded = load_file(path, most)
    return view_of(loaded.lanes, Path(get_upload_folder()), kind="idle", text=text, notes=loaded.notes)


def _build_results(view: View | None) -> Results:
    panel = status_panel(view.status if view else status("idle", _WELCOME))
    player = TrajectoryPlayer(view.props if view else None, elem_id="player")
    gr.Markdown("## Lanes, measured", elem_classes="heading")
    table = gr.Dataframe(
        view.table if view else None,
        headers=list(COLUMNS),
        interactive=False,
        show_label=False,
        wrap=True,
        buttons=[],
        column_widths=[f"{width}px" for width in _WIDTHS],
        elem_id="table",
    )
    figure = gr.Plot(view.figure if view else None, show_label=False, elem_id="figure")
    gr.Markdown("## Save this run", elem_classes="heading")
    with gr.Row(elem_id="downloads"):
        files = {file.format: file for file in view.downloads} if view else {}
        downloads = [
            gr.DownloadButton(
                files[name].label if name in files else name.upper(),
                files[name].path if name in files else None,
                interactive=name in files,
                size="sm",
                min_width=100,
                elem_id=f"download-{name}",
            )
            for name in DOWNLOADS
        ]
    return Results(panel, player, table, figure, downloads)


def _updates(view: View) -> tuple[Any, ...]:
    files = {file.format: file for file in view.downloads}
    buttons = [_download(name, files.get(name)) for name in DOWNLOADS]
    return (status_json(view.status), view.props, view.table, view.figure, *buttons)


def _download(name: str, file: Download | None) -> gr.DownloadButton:
    if file is None:
        return gr.DownloadButton(label=name.upper(), value=None, interactive=False)
    return gr.DownloadButton(label=file.label, value=file.path, interactive=True)


def _only_status(kind: str, text: str) -> tuple[Any, ...]:
    """Change the status line and leave what is shown as it is."""
    return (status_json(status(kind, text)), *[gr.skip()] * (3 + len(DOWNLOADS)))


# in the browser, where everything is as it is now: what was typed while the server answered stays
_SUGGEST = """({prompt, examples, suited, before}, now, ...options) => [
  prompt && (!now.trim() || examples.includes(now)) ? prompt : now,
  ...options.map((value, index) => index in suited && value === before[index] ? suited[index] : value),
]"""


def _wire_form(form: Form, settings: AppSettings) -> None:
    form.examples.click(lambda sample: sample[0], form.examples, form.prompt, **_QUIET)
    suggestion = gr.JSON(visible=False)
    options = list(form.options.values())

    def choose(name: str, *before: Any) -> list[Any]:
        pair = None if name == OWN_MODELS else settings.pair(name)
        return [{**suggested(pair, settings), "before": before}, *pair_updates(pair)]

    chosen = form.pair.input(choose, [form.pair, *options], [suggestion, *form.pair_outputs], **_QUIET)
    chosen.then(None, [suggestion, form.prompt, *options], [form.prompt, *options], js=_SUGGEST)


def suggested(pair: ModelPair | None, settings: AppSettings) -> dict[str, Any]:
    """Return what `_SUGGEST` fills in for a pair: its first example, in the place of any pair's example but of nothing
    of one's own, and the settings that it asks for, by their place in the form."""
    suited = suited_options(pair, settings)
    return {
        "prompt": pair.examples[0] if pair and pair.examples else "",
        "examples": [example for other in settings.pairs().values() for example in other.examples],
        "suited": {str(OPTIONS.index(name)): value for name, value in suited.items()},
    }


def _wire_run(form: Form, results: Results, settings: AppSettings) -> None:
    run_id = gr.State(None)
    waiting = gr.Timer(0.5, active=False)
    buttons = [form.run, form.stop]

    def press(request: gr.Request, current: str | None, *values: Any) -> tuple[Any, ...]:
        return begin(settings, request.session_hash or "", current, *values)

    started = gr.on(
        [form.run.click, form.prompt.submit],
        press,
        [run_id, *form.inputs],
        [run_id, results.status, waiting, *buttons],
        **_QUIET,
    )
    decoded = started.then(
        decode,
        run_id,
        results.outputs,
        concurrency_id=MODEL_QUEUE,
        concurrency_limit=1,
        show_progress="hidden",
        api_visibility="private",
    )
    waiting.tick(queue_place, run_id, [results.status, waiting], **_QUIET)
    decoded.then(lambda: _buttons(_IDLE), None, buttons, **_QUIET)
    form.stop.click(stop, run_id, [results.status, *buttons], **_QUIET)


def begin(settings: AppSettings, owner: str, current: str | None, *values: Any) -> tuple[Any, ...]:
    """Put the run that the form asks for into the queue, and show its place there."""
    before = RUNS.get(current)
    if before is not None and before.began is not None:  # Shift+Enter in the prompt while a run is under way
        return tuple(gr.skip() for _ in range(5))
    try:
        run = Run(request_from(settings, *values), owner=owner)
    except CllmError as error:
        return None, status_json(status("error", str(error))), gr.skip(), *_buttons(_IDLE)
    if before is not None:  # it waits, or the queue was full and nothing will start it
        RUNS.drop(before.id)
    RUNS.add(run)
    return run.id, status_json(_place(run)), gr.Timer(active=True), *_buttons(_BUSY)


def _buttons(state: tuple[bool, bool]) -> tuple[Any, ...]:
    return tuple(gr.Button(interactive=interactive) for interactive in state)


def request_from(
    settings: AppSettings, prompt: str, pair: str, own_base: str, own_cllm: str, cllm_ar: bool, *options: Any
) -> RunRequest:
    """Return what the form asks for; a CllmError says what is wrong with it. Nothing the browser sent is trusted."""
    prompt = prompt or ""
    if not prompt.strip():
        raise PromptError("The prompt is empty: type some text, or choose an example.")
    if len(prompt) > MAX_CHARS:
        raise PromptError(f"The prompt has {len(prompt):,} characters and the limit is {MAX_CHARS:,}: shorten it.")
    if any("\ud800" <= character <= "\udfff" for character in prompt):
        raise PromptError("The prompt holds half a character: delete it and type it again.")
    values = dict(zip(OPTIONS, options, strict=True))
    config = options_from(DecodeConfig, values)
    if config.max_new_tokens > settings.max_new_tokens:
        raise PromptError(f"This app decodes at most {settings.max_new_tokens:,} tokens: ask for fewer.")
    return RunRequest(
        pair=settings.own_pair(own_base or "", own_cllm or "") if pair == OWN_MODELS else settings.pair(pair),
        prompt=prompt,
        config=config,
        lanes=(*DEFAULT_LANES, "cllm_ar") if cllm_ar else DEFAULT_LANES,
        device=settings.device,
        dtype=settings.dtype,
    )


def _place(run: Run) -> Status:
    ahead = RUNS.ahead(run.id)
    text = f"In the queue: {ahead} run{'s' if ahead > 1 else ''} ahead of yours." if ahead else "Starting …"
    return status("busy", text, notes=busy_notes(run.request.device))


def queue_place(identity: str | None) -> tuple[Any, ...]:
    """Say how many runs are ahead of one that waits; once it has begun, its own status takes over."""
    run = RUNS.get(identity)
    if run is None or run.began is not None:
        return gr.skip(), gr.Timer(active=False)
    return status_json(_place(run)), gr.skip()


def decode(identity: str | None) -> Iterator[tuple[Any, ...]]:
    """Follow a run from its start to its end; what it decoded is kept even if it was stopped or failed."""
    run = RUNS.get(identity)
    if run is None or run.began is not None:
        yield tuple(gr.skip() for _ in range(4 + len(DOWNLOADS)))
        return
    try:
        shared: list[str] = []
        looked = 0.0  # a job that trained beside the run may have ended before it
        for now in follow(run):
            if not shared and time.monotonic() - looked > _LOOK:
                shared, looked = busy_notes(run.request.device), time.monotonic()
            yield status_json(now), *[gr.skip()] * (3 + len(DOWNLOADS))
        yield _outcome(run, shared or busy_notes(run.request.device))
    finally:
        RUNS.drop(run.id)


def _outcome(run: Run, notes: Sequence[str]) -> tuple[Any, ...]:
    lanes = run.trajectories()
    if not lanes:
        return (
            _only_status("error", run.error) if run.error else _only_status("stopped", "Stopped before the first pass.")
        )
    if run.error:
        kind, text = "error", run.error
    elif any(trajectory.partial for trajectory in lanes.values()) or len(lanes) < len(run.request.lane_keys):
        kind, text = "stopped", "Stopped: what was decoded until then is shown, marked partial."
    else:
        kind, text = "done", headline(lanes)
    return _updates(view_of(lanes, Path(get_upload_folder()), kind=kind, text=text, notes=notes))


def stop(identity: str | None) -> tuple[Any, ...]:
    """Stop the visitor's own run; one that still waits in the queue leaves it at once."""
    run = RUNS.get(identity)
    if run is None:
        return gr.skip(), gr.skip(), gr.skip()
    if run.began is None:
        RUNS.drop(run.id)
        return status_json(status("stopped", "Stopped before it began.")), *_buttons(_IDLE)
    run.stop()
    return gr.skip(), gr.skip(), gr.Button(interactive=False)


def open_file(most: int, path: str | None) -> tuple[Any, ...]:
    """Show the lanes of a file of at most so many bytes that the visitor chose."""
    if path is None:
        return _only_status("error", "No file was chosen.")
    name = one_line(Path(path).name, 60)
    try:
        return _updates(_loaded_view(Path(path), f"Opened {name}.", most))
    except CllmError as error:
        return _only_status("error", f"{name} could not be opened. {error}")


def open_trace(traces: Mapping[str, Path], title: str) -> tuple[Any, ...]:
    """Show a recorded run that ships with the app."""
    return _updates(_loaded_view(traces[title], f"Recorded: {title}."))


def open_recorded(path: Path, text: str, place: OpenProps) -> tuple[Any, ...]:
    """Show a recorded run that a link names, at its place."""
    view = _loaded_view(path, text)
    return _updates(view if view.props is None else replace(view, props={**view.props, "open": place}))


def refreshed_pairs(settings: AppSettings) -> Any:
    """Return the list of pairs as it is now: one may have been trained since the app was started."""
    return gr.Dropdown(choices=pair_choices(settings))
