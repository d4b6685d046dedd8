"""The training commands: collect, train, average, evaluate.

Flags come from the config dataclasses, over a YAML or JSON file.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cllm_core.errors import FormatError
from cllm_core.options import add_arguments, from_namespace, option_fields, option_type


def config_arguments(config: type) -> Callable[[argparse.ArgumentParser], None]:
    """Return the function that adds the flags of a config dataclass, and --config for a file of the same settings."""

    def add(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--config", type=Path, help="a YAML or JSON file of settings; flags override it")
        add_arguments(parser, config)

    return add


def config_of(config: type, arguments: argparse.Namespace) -> Any:
    """Build the config from its file (if one is given) and the flags; ConfigError or FormatError."""
    if not arguments.config:
        return from_namespace(config, arguments)
    settings = read_settings(arguments.config)
    for field in option_fields(config):  # YAML reads 1e-3 as text
        if field.name in settings and option_type(config, field) is float:
            settings[field.name] = _number(settings[field.name])
    return from_namespace(config, arguments, settings)


def _number(value: Any) -> Any:
    """Return text that is a number as that number, anything else as it is."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def read_settings(path: Path) -> dict[str, Any]:
    """Read a mapping of settings from a YAML file (JSON is YAML too); FormatError says what is wrong with it."""
    import yaml

    try:
        settings = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise FormatError(f"Cannot read {path.name}: {error.strerror or error}.") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # a date that is none, a number without end
        raise FormatError(f"{path.name} is neither YAML nor JSON: {' '.join(str(error).split())}.") from error
    if not isinstance(settings, dict) or not all(isinstance(name, str) for name in settings):
        raise FormatError(f"{path.name} must hold settings by name, such as `steps: 600`.")
    return settings


def run_collect(arguments: argparse.Namespace) -> None:
    """Collect the target's answers and the states of their blocks."""
    from cllm_core.train.collect import collect_command
    from cllm_core.train.config import CollectConfig

    collect_command(config_of(CollectConfig, arguments))


def run_train(arguments: argparse.Namespace) -> None:
    """Train a target or a consistency model."""
    from cllm_core.train.config import TrainConfig
    from cllm_core.train.run import train_command

    train_command(config_of(TrainConfig, arguments))


def run_evaluate(arguments: argparse.Namespace) -> None:
    """Measure a pair on held-out prompts."""
    from cllm_core.train.config import EvaluateConfig
    from cllm_core.train.evaluate import evaluate_command

    evaluate_command(config_of(EvaluateConfig, arguments))


def average_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `average`."""
    parser.add_argument("adapters", nargs="+", type=Path, help="adapter folders, of stages of one line of training")
    parser.add_argument("--weights", nargs="+", type=float, default=[], help="one for each (default: all alike)")
    parser.add_argument("--out", type=Path, required=True, help="the new adapter's folder")


def run_average(arguments: argparse.Namespace) -> None:
    """Write the mean of adapters."""
    from cllm_core.train.average import average_adapters

    written = average_adapters(arguments.adapters, arguments.weights, arguments.out)
    print(f"{written} ({written.stat().st_size:,} bytes)")
