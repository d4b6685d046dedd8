"""What a finished job measured, as a table of text: before and after, on prompts it never saw. No gradio."""

from collections.abc import Callable, Mapping
from typing import Any

from cllm_core.errors import FormatError
from cllm_core.io import parse_json
from cllm_core.train.jobs.folder import REPORT, Job

COLUMNS = ("Measure", "Base, one at a time", "Base, Jacobi", "CLLM, one at a time", "CLLM, Jacobi")
_LANES = ("base_ar", "base_jacobi", "cllm_ar", "cllm_jacobi")
_NONE = "–"
_Form = Callable[[Any], str]
_percent: _Form = "{:.0%}".format
_ROWS: Mapping[str, tuple[str, _Form]] = {
    "tokens": ("Tokens", "{:,}".format),
    "passes": ("Passes", "{:,}".format),
    "tokens_per_pass": ("Tokens / pass", "{:.2f}".format),
    "tokens_per_second": ("Tokens / s", "{:.1f}".format),
    "speedup": ("Speedup", "{:.2f}×".format),
    "fast_forward_per_pass": ("Fast-forward / pass", "{:.2f}".format),
    "stationary_per_block": ("Stationary / block", "{:.2f}".format),
    "collocations": ("Collocations that arrived together", lambda share: _share(share)),
    "equals_ar": ("Same ids as its own model one at a time", _percent),
    "agreement": ("Same ids as the base", _percent),
    "repetition_rate": ("Repetitive answers", _percent),
}
_NOT_QUALITY = (  # what else a lane's measures hold
    "prompts", "prefill_seconds", "seconds", "fast_forwarded", "stationary", "blocks", "paper_fast_forward",
    "paper_stationary",
)  # fmt: skip


def _share(share: Mapping[str, int]) -> str:
    if not share["occurrences"]:
        return _NONE
    return f"{share['together'] / share['occurrences']:.0%} of {share['occurrences']:,}"


def read_report(job: Job) -> dict[str, Any] | None:
    """Return the job's report, or None where there is none (yet)."""
    try:
        report = parse_json((job.folder / REPORT).read_bytes())
    except (OSError, FormatError):
        return None
    return report if isinstance(report, dict) else None


def report_rows(report: Mapping[str, Any]) -> list[list[str]]:
    """Return the table's rows, a measure each: the task's own measures of the answers last."""
    lanes = report["lanes"]
    rows = [[label, *(_cell(lanes, lane, name, form) for lane in _LANES)] for name, (label, form) in _ROWS.items()]
    quality = [name for name in lanes["cllm_ar"] if name not in _ROWS and name not in _NOT_QUALITY]
    return rows + [
        [f"Answers: {name.replace('_', ' ')}", *(_cell(lanes, lane, name, _percent) for lane in _LANES)]
        for name in quality
    ]


def _cell(lanes: Mapping[str, Mapping[str, Any]], lane: str, name: str, form: _Form) -> str:
    value = lanes.get(lane, {}).get(name)
    return _NONE if value is None else form(value)


def report_sentence(report: Mapping[str, Any]) -> str:
    """Return the finding in a sentence."""
    before, after = report["lanes"]["base_jacobi"], report["lanes"]["cllm_jacobi"]
    speed = "" if after["speedup"] is None else f", {after['speedup']:.2f}× the speed of the base one token at a time"
    return (
        f"On {report['prompts']} held-out prompts (split {report['split']}), on {report['device']}: "
        f"{before['tokens_per_pass']:.2f} tokens a pass before, {after['tokens_per_pass']:.2f} after{speed}."
    )
