"""Settings declared once: a dataclass field carries its default, bounds, choices and help.

The command line's flags and the app's sliders are both made from these fields. Knows no settings of its own.
"""

import argparse
import dataclasses
import math
import typing
from collections.abc import Mapping, Sequence
from typing import Any

from cllm_core.errors import ConfigError


def option(
    default: Any,
    help: str,
    *,
    minimum: float | None = None,
    maximum: float | None = None,
    step: float | None = None,
    choices: Sequence[str] | None = None,
    label: str | None = None,
) -> Any:
    """Return a dataclass field that also says its bounds (inclusive), its choices and its help text."""
    metadata = {
        "help": help,
        "minimum": minimum,
        "maximum": maximum,
        "step": step,
        "choices": None if choices is None else tuple(choices),
        "label": label,
    }
    return dataclasses.field(default=default, metadata=metadata)


def option_fields(config: Any) -> list[dataclasses.Field[Any]]:
    """Return the fields of a dataclass (type or value) that were declared with `option`."""
    return [field for field in dataclasses.fields(config) if "help" in field.metadata]


def option_field(config: Any, name: str) -> dataclasses.Field[Any]:
    """Return one such field by name; KeyError if there is none."""
    return {field.name: field for field in option_fields(config)}[name]


def option_type(config: Any, field: dataclasses.Field[Any]) -> type:
    """Return the plain type of a field: bool, int, float or str (`X | None` counts as X)."""
    owner = config if isinstance(config, type) else type(config)
    hint = typing.get_type_hints(owner)[field.name]
    plain: list[type] = [part for part in typing.get_args(hint) if part is not type(None)] or [hint]
    return plain[0]


def validate(config: Any) -> None:
    """Raise ConfigError if a field of the dataclass value breaks its own type, bounds or choices."""
    for field in option_fields(config):
        value = getattr(config, field.name)
        if value is None and field.default is None:
            continue
        _check_type(field.name, value, option_type(config, field))
        _check_bounds(field, value)


def _check_type(name: str, value: Any, wanted: type) -> None:
    if wanted is float:
        fits = isinstance(value, (int, float)) and not isinstance(value, bool) and _is_finite(value)
    elif wanted is int:
        fits = isinstance(value, int) and not isinstance(value, bool)
    else:
        fits = isinstance(value, wanted)
    if not fits:
        raise ConfigError(f"{name} must be {_TYPE_NAMES.get(wanted, wanted.__name__)}, not {value!r}.")


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False


_TYPE_NAMES = {int: "a whole number", float: "a finite number", str: "text", bool: "true or false"}


def _check_bounds(field: dataclasses.Field[Any], value: Any) -> None:
    low, high, choices = (field.metadata[key] for key in ("minimum", "maximum", "choices"))
    if choices is not None and value not in choices:
        raise ConfigError(f"{field.name} must be one of {', '.join(choices)}, not {value!r}.")
    if low is not None and value < low:
        raise ConfigError(f"{field.name} must be at least {low}, not {value!r}.")
    if high is not None and value > high:
        raise ConfigError(f"{field.name} must be at most {high}, not {value!r}.")


def add_arguments(parser: argparse._ActionsContainer, config: type, *, without: Sequence[str] = ()) -> None:
    """Add one flag for every option field of a dataclass type; absent flags stay out of the namespace.

    `without` names the fields that a command sets itself.
    """
    for field in option_fields(config):
        if field.name in without:
            continue
        kind = option_type(config, field)
        flag = "--" + field.name.replace("_", "-")
        text = _help_text(field)
        if kind is bool:
            action = argparse.BooleanOptionalAction
            parser.add_argument(flag, dest=field.name, action=action, default=argparse.SUPPRESS, help=text)
        else:
            parser.add_argument(
                flag,
                dest=field.name,
                type=kind,
                choices=field.metadata["choices"],
                default=argparse.SUPPRESS,
                metavar=None if field.metadata["choices"] else kind.__name__.upper(),
                help=text,
            )


def _help_text(field: dataclasses.Field[Any]) -> str:
    low, high = field.metadata["minimum"], field.metadata["maximum"]
    bounds = f"{low} to {high}" if low is not None and high is not None else f"from {low}" if low is not None else ""
    notes = "; ".join(note for note in (bounds, f"default {field.default}") if note)
    return f"{field.metadata['help']} ({notes})".replace("%", "%%")


def flags(config: Any) -> list[str]:
    """Return the flags that make this dataclass value: the fields that differ from their defaults."""
    found: list[str] = []
    for field in option_fields(config):
        value, flag = getattr(config, field.name), "--" + field.name.replace("_", "-")
        if value == field.default:
            continue
        if isinstance(value, bool):
            found.append(flag if value else "--no-" + flag[2:])
        else:
            found += [flag, str(value)]
    return found


def from_namespace(config: type, namespace: argparse.Namespace, base: Mapping[str, Any] | None = None) -> Any:
    """Build the dataclass from parsed flags, over the values in `base` (a config file's, say); ConfigError."""
    names = {field.name for field in option_fields(config)}
    unknown = sorted(set(base or {}) - names)
    if unknown:
        raise ConfigError(f"Unknown setting {unknown[0]!r}; known ones are {', '.join(sorted(names))}.")
    given = {name: getattr(namespace, name) for name in names if hasattr(namespace, name)}
    return config(**{**(base or {}), **given})
