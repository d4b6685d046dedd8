"""The numbers and names that the text of a lesson or an answer may use, from recorded lanes. Knows no text itself."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

from cllm_core.collocations import CollocationTable, count, overall
from cllm_core.compare import lane_results
from cllm_core.metrics import summarize
from cllm_core.types import Trajectory
from visualize.labels import piece_label
from visualize.lesson_rules import RULES, Cell, Lane, cells_of, lost, reached
from visualize.load import load_file
from visualize.phrases import table_for
from visualize.view import LANE_LABELS, PlayerProps, player_props

_SAME = {True: "Yes", False: "No", None: "Not compared"}
_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}


@dataclass(frozen=True)
class Recording:
    """A recorded run, its lanes ready to be pointed at."""

    lanes: Mapping[str, Lane]
    props: PlayerProps

    @cached_property
    def facts(self) -> dict[str, dict[str, Any]]:
        """The numbers that a text may name, by lane."""
        results = lane_results({key: lane.trajectory for key, lane in self.lanes.items()})
        base = self.lanes["base_ar"].trajectory.ids if "base_ar" in self.lanes else None
        return {
            key: {
                **lane_facts(lane),
                "same_as_one_at_a_time": _SAME[results[key].equals_ar],
                "same_as_base": _SAME[None if base is None else base == lane.trajectory.ids],
            }
            for key, lane in self.lanes.items()
        }


def lane_facts(lane: Lane) -> dict[str, Any]:
    """Return what can be said of a lane in numbers, ready to be put into a text."""
    trajectory, summary = lane.trajectory, summarize(lane.trajectory, lane.annotation)
    widths = [len(step.draft) + 1 for step in trajectory.steps[1:]]
    shares = overall(count(lane.occurrences))
    return {
        "prompt": trajectory.prompt,
        "answer": " ".join(trajectory.text.split()),
        "model": trajectory.model.name,
        "millions": round(trajectory.model.parameters / 1e6),
        "megabytes": round(trajectory.model.parameters * _BYTES.get(trajectory.model.dtype, 4) / 1e6),
        "seed": trajectory.config.seed,
        "n": trajectory.config.block_size if trajectory.config.decoder == "jacobi" else 1,
        "tokens": summary.tokens,
        "passes": summary.passes,
        "tokens_per_pass": f"{summary.tokens_per_pass:.2f}",
        "seconds": f"{summary.seconds:.2f}",
        "ms": _milliseconds(trajectory, min(widths, default=0)),
        "ms_wide": _milliseconds(trajectory, max(widths, default=0)),
        "fast_forwarded": summary.fast_forwarded,
        "stationary": summary.stationary,
        "transient": len(RULES["transient"](lane)),
        "together": shares.together,
        "collocations": shares.occurrences,
        "corpus": lane.table.corpus,
        "outputs": f"{lane.table.outputs:,}",
    }


def _milliseconds(trajectory: Trajectory, width: int) -> int:
    """Return the median milliseconds of the passes of a width, the prefill left out."""
    times = [step.seconds for step in trajectory.steps[1:] if len(step.draft) + 1 == width]
    return round(1000 * median(times)) if times else 0


def read_recording(path: Path, table: CollocationTable | None = None) -> Recording:
    """Read a recording; FormatError says what is wrong with it."""
    lanes = load_file(path).lanes
    table = table or table_for(lanes) or CollocationTable()
    props = player_props(lanes, table=table, labels=_seed_labels(lanes))
    return Recording({key: Lane(trajectory, table) for key, trajectory in lanes.items()}, props)


def _seed_labels(lanes: Mapping[str, Trajectory]) -> dict[str, str]:
    """Return names for lanes that have none of their own, by what tells them apart here: the seed."""
    labels, met = {}, set()
    for key, trajectory in lanes.items():
        seed = trajectory.config.seed
        if key not in LANE_LABELS:
            labels[key] = f"Seed {seed} again" if seed in met else f"Seed {seed}"
        met.add(seed)
    return labels


def found_facts(lane: Lane, cells: Sequence[Cell]) -> dict[str, Any]:
    """Return what can be said of the first cell that was found."""
    if not cells:
        return {}
    t, position = cells[0]
    trajectory, correct = lane.trajectory, lane.annotation.correct
    target = trajectory.ids[position] if position < len(trajectory.ids) else None
    before, due = lane.fed(t, position - 1), correct[t - 1]
    return {
        "pass": t,
        "pass_before": t - 1,
        "position": position,
        "position_before": position - 1,
        "count": len(cells),
        "token": _label(trajectory, lane.token(t, position)),
        "final": _label(trajectory, target),
        "fed_before": _label(trajectory, before),
        "final_before": _label(trajectory, trajectory.ids[position - 1] if position else None),
        "fed_due": _label(trajectory, lane.fed(t, due)),
        "final_due": _label(trajectory, trajectory.ids[due] if due < len(trajectory.ids) else None),
        "correct_before": due,
        "correct_after": correct[t],
        "gained": correct[t] - correct[t - 1],
        "reached": reached(lane, cells[0]),
        "lost": lost(lane, cells[0]),
        "passes": _passes(cells),
        "words": next((each.text for each in lane.occurrences if cells_of(each) == list(cells)), ""),
    }


def _passes(cells: Sequence[Cell]) -> str:
    """Return the passes of the cells in words: `pass 4`, `passes 2, 3 and 7`."""
    *most, last = [str(t) for t in sorted({t for t, _ in cells})]
    return f"passes {', '.join(most)} and {last}" if most else f"pass {last}"


def _label(trajectory: Trajectory, token: int | None) -> str:
    return "nothing" if token is None else f"“{piece_label(trajectory.pieces.get(token, b''), 24)}”"


def agreement(recordings: Iterable[Recording]) -> dict[str, int]:
    """Return how many parallel lanes of the recordings were compared with one at a time, and how many agree."""
    equal = [
        result.equals_ar
        for recording in recordings
        for key, result in lane_results({key: lane.trajectory for key, lane in recording.lanes.items()}).items()
        if result.equals_ar is not None and result.trajectory.config.decoder != "autoregressive"
    ]
    return {"compared": len(equal), "agree": sum(equal)}
