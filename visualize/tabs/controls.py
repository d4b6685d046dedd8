"""Widgets made from a settings dataclass: a field's default, bounds, choices and help become a slider or a list."""

import math
from collections.abc import Mapping
from typing import Any

import gradio as gr

from cllm_core.errors import ConfigError
from cllm_core.options import option_field, option_type

_LONGEST_SLIDER = 10_000  # values; a wider range is typed


def control(
    config: type, name: str, *, value: Any = None, maximum: float | None = None, **layout: Any
) -> gr.components.Component:
    """Make the widget of one option field; `maximum` lowers its bound, `value` stands in for its default."""
    field = option_field(config, name)
    kind, low, high = option_type(config, field), field.metadata["minimum"], field.metadata["maximum"]
    if maximum is not None:
        high = maximum if high is None else min(high, maximum)
    value = field.default if value is None else value
    value = min(value, high) if high is not None else value
    layout = {
        "label": field.metadata["label"] or name,
        "info": field.metadata["help"],
        "elem_id": f"option-{name}",
        **layout,
    }
    if field.metadata["choices"]:
        return gr.Dropdown(list(field.metadata["choices"]), value=value, **layout)
    if kind is bool:
        return gr.Checkbox(value=value, **layout)
    if kind is str:
        return gr.Textbox(value=value, **layout)
    step = field.metadata["step"] or (1 if kind is int else 0.05)
    if low is None or high is None or not 0 < (high - low) / step <= _LONGEST_SLIDER:
        return gr.Number(value=value, precision=0 if kind is int else None, minimum=low, maximum=high, **layout)
    return gr.Slider(low, high, value=value, step=step, **layout)


def options_from(config: type, values: Mapping[str, Any]) -> Any:
    """Build the dataclass from what widgets sent; ConfigError names a field that is empty or out of bounds."""
    return config(**values_from(config, values))


def values_from(config: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what widgets sent as values of the fields' own types; ConfigError names a field that is empty."""
    return {name: _plain(config, name, value) for name, value in values.items()}


def _plain(config: type, name: str, value: Any) -> Any:
    """Return a widget's number as the field's type: browsers have one kind of number only."""
    field = option_field(config, name)
    if value is None:
        raise ConfigError(f"{field.metadata['label'] or name} is empty: give it a value.")
    kind = option_type(config, field)
    if kind is int and isinstance(value, float) and math.isfinite(value) and value.is_integer():
        return int(value)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value
