"""What is shown and kept of a run once it has ended: a table, notes, and files to download.

Works from trajectories alone; knows no gradio and no model.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import plotly.graph_objects as go

from cllm_core.compare import DIFFERENT_PROMPTS, LANES, Difference, LaneResult, first_difference, lane_results
from cllm_core.types import Trajectory
from visualize.export import ExportOptions, export, export_name
from visualize.figures import progress_figure
from visualize.labels import one_line
from visualize.live import Status, status
from visualize.phrases import table_for
from visualize.share import key_of_run
from visualize.view import LANE_LABELS, PlayerProps, player_props

DOWNLOADS = ("json", "csv", "html")
PLAYER_CELLS = 150_000  # above this many the payload would be several megabytes and slow to open
COLUMNS = (
    "Lane",
    "Tokens",
    "Passes",
    "Tokens / pass",
    "Seconds",
    "Tokens / s",
    "Speedup",
    "Fast-forward / pass",
    "Stationary / block",
    "Same ids as one at a time",
)
_UNKNOWN = "–"
ROUNDING_MARGIN = 0.5  # nats; half precision moves a logit of 20 by 0.1, single precision hardly at all


def results_table(lanes: Mapping[str, Trajectory]) -> pd.DataFrame:
    """Return one row a lane, every cell as text ready to be read. Claims no equality that was not checked."""
    results = lane_results(lanes)
    return pd.DataFrame([_row(key, result, lanes) for key, result in results.items()], columns=list(COLUMNS))


def _row(key: str, result: LaneResult, lanes: Mapping[str, Trajectory]) -> list[str]:
    summary = result.summary
    return [
        LANE_LABELS.get(key, one_line(key)) + (" (partial)" if result.trajectory.partial else ""),
        f"{summary.tokens:,}",
        f"{summary.passes:,}",
        f"{summary.tokens_per_pass:.2f}",
        f"{summary.seconds:.2f}",
        f"{summary.tokens_per_second:.1f}",
        _UNKNOWN if result.speedup is None else f"{result.speedup:.2f}×",
        f"{summary.fast_forward_per_pass:.2f}",
        f"{summary.stationary_per_block:.2f}",
        same_ids(key, result, lanes),
    ]


def same_ids(key: str, result: LaneResult, lanes: Mapping[str, Trajectory]) -> str:
    """Say how the lane's ids compare with one-at-a-time decoding of the same model, or why they were not compared."""
    if result.trajectory.config.decoder == "autoregressive":
        return "it is one at a time"
    if result.equals_ar is not None:
        return "yes" if result.first_difference is None else _difference(result.first_difference)
    reference = lanes.get(f"{LANES[key].side}_ar") if key in LANES else None
    return "not compared (its one-at-a-time lane was not run)" if reference is None else "not compared (partial)"


def _difference(difference: Difference) -> str:
    margin = "" if difference.top2_margin is None else f", margin {difference.top2_margin:.3g} nats"
    return f"no: first differs at position {difference.index}{margin}"


def run_notes(lanes: Mapping[str, Trajectory]) -> list[str]:
    """Return what a reader of these lanes should know, each sentence once, with its lanes where not all share it."""
    told: dict[str, list[str]] = {}
    for key, trajectory in lanes.items():
        for note in trajectory.notes:
            told.setdefault(note, []).append(LANE_LABELS.get(key, one_line(key)))
    notes = [note if len(labels) == len(lanes) else f"{', '.join(labels)}: {note}" for note, labels in told.items()]
    if len({trajectory.prompt_ids for trajectory in lanes.values()}) > 1 and DIFFERENT_PROMPTS not in told:
        notes.append(DIFFERENT_PROMPTS)
    notes += [note for note in [_another_answer(lanes)] if note]
    differences = [result.first_difference for result in lane_results(lanes).values() if result.first_difference]
    if differences:
        notes.append(_why_apart(differences))
    return notes


def _why_apart(differences: Sequence[Difference]) -> str:
    """Return what the margins say of outputs that differ from one-at-a-time decoding."""
    margins = [difference.top2_margin for difference in differences]
    known = [margin for margin in margins if margin is not None]
    if len(known) < len(margins):
        return "Outputs differ from one-at-a-time decoding where no margin of the two best candidates is known."
    if max(known) < ROUNDING_MARGIN:
        return (
            "Outputs part where the two best candidates lie close together: a wide pass rounds a little differently "
            "from a narrow one. The margin is the difference of their log-probabilities."
        )
    return (
        f"Outputs part where the best candidate leads by {max(known):.3g} nats, more than rounding explains: the "
        "lanes did not decode the same thing."
    )


def _another_answer(lanes: Mapping[str, Trajectory]) -> str:
    """Say where the CLLM's answer leaves the base's; empty where it does not, or where a run was stopped."""
    sides: dict[str, list[Trajectory]] = {"base": [], "cllm": []}
    for key, trajectory in lanes.items():
        if key in LANES:
            sides[LANES[key].side].append(trajectory)
    if not all(sides.values()) or any(each[0].partial for each in sides.values()):
        return ""
    base, cllm = (each[0] for each in sides.values())
    difference = first_difference(base, cllm)
    if difference is None:
        return ""
    return (
        f"The CLLM is another model than the base: its answer is another one from position {difference.index} on "
        f"({len(cllm.ids):,} tokens, the base {len(base.ids):,})."
    )


@dataclass(frozen=True)
class Download:
    """A file of the run that can be downloaded."""

    format: str
    path: Path
    size: int  # bytes

    @property
    def label(self) -> str:
        """What its button says."""
        return f"{self.format.upper()} · {file_size(self.size)}"


def file_size(count: int) -> str:
    """Return a number of bytes as people say it."""
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{max(1, round(count / 1e3)):,} KB"


def write_downloads(
    lanes: Mapping[str, Trajectory], folder: Path, formats: Sequence[str] = DOWNLOADS
) -> list[Download]:
    """Write the run in formats of DOWNLOADS into a new folder inside `folder`: no two runs share a file."""
    place = folder / uuid.uuid4().hex
    place.mkdir(parents=True)
    name = Path(export_name(lanes, "json"))
    options = ExportOptions(title=one_line(f"Decoding by {_models(lanes)}, pass by pass", 120))
    downloads = []
    for format in formats:
        path = place / name.with_suffix(f".{format}")
        path.write_bytes(export(lanes, format, options))
        downloads.append(Download(format, path, path.stat().st_size))
    return downloads


def _models(lanes: Mapping[str, Trajectory]) -> str:
    return " and ".join(dict.fromkeys(trajectory.model.name for trajectory in lanes.values()))


def cell_count(lanes: Mapping[str, Trajectory]) -> int:
    """Return how many predictions of tokens a run holds."""
    return sum(len(step.state) for trajectory in lanes.values() for step in trajectory.steps)


def payload(lanes: Mapping[str, Trajectory]) -> tuple[PlayerProps | None, list[str]]:
    """Return what the player draws, and notes; (None, why) for a run that is too large for a browser."""
    cells = cell_count(lanes)
    if cells > PLAYER_CELLS:
        return None, [
            f"This run has {cells:,} cells and the player draws up to {PLAYER_CELLS:,}: ask for fewer tokens or a "
            "smaller block. The table, the figure and the JSON file hold all of it; the command `export` turns that "
            "into any other format."
        ]
    labels = {key: one_line(key) for key in lanes if key not in LANE_LABELS}
    return {**player_props(lanes, labels=labels, table=table_for(lanes)), "asked": key_of_run(lanes)}, []


@dataclass(frozen=True)
class View:
    """All that is shown of lanes."""

    status: Status
    props: PlayerProps | None
    table: pd.DataFrame
    figure: go.Figure
    downloads: list[Download]


def view_of(lanes: Mapping[str, Trajectory], folder: Path, *, kind: str, text: str, notes: Sequence[str] = ()) -> View:
    """Return the view of lanes under a status line; downloads are written into `folder`.

    Of a run too large for the player only JSON is written, since the other files would be many times larger.
    """
    props, cuts = payload(lanes)
    try:
        downloads = write_downloads(lanes, folder, DOWNLOADS if props else ("json",))
    except OSError as error:
        downloads = []
        cuts = [*cuts, f"The files to download could not be written ({error.strerror or error})."]
    return View(
        status=status(kind, text, notes=[settings_line(lanes), *notes, *cuts, *run_notes(lanes)]),
        props=props,
        table=results_table(lanes),
        figure=progress_figure(lanes),
        downloads=downloads,
    )


def headline(lanes: Mapping[str, Trajectory]) -> str:
    """Return the finding of a run in a sentence: its most parallel lane against one token at a time."""
    key, result = list(lane_results(lanes).items())[-1]
    summary = result.summary
    found = f"{LANE_LABELS.get(key, one_line(key))}: {summary.tokens:,} tokens in {summary.passes:,} passes"
    if result.speedup is None or key == "base_ar":
        return f"{found}, {summary.seconds:.2f} s."
    return f"{found}, {result.speedup:.2f}× the speed of one token at a time."


def settings_line(lanes: Mapping[str, Trajectory]) -> str:
    """Return one line that says what was run, on what: for the top of the results."""
    trajectory = next(iter(lanes.values()))
    config, model = trajectory.config, trajectory.model
    parallel = next((other.config for other in lanes.values() if other.config.decoder != "autoregressive"), None)
    parts = [f"{one_line(_models(lanes), 80)} on {one_line(model.device_name or model.device)}", model.dtype]
    parts.append("greedy" if config.temperature == 0 else f"temperature {config.temperature:g}, seed {config.seed}")
    if parallel:
        parts.append(f"block of {parallel.block_size}, {parallel.window} window, draft from {parallel.init}")
    return ", ".join(parts) + "."
