"""The command line: parses flags, calls the core, prints and writes results. Holds no algorithm of its own.

Flags for settings come from the dataclass fields that declare them. Heavy libraries load only when a command runs.
"""

import argparse
import io
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cllm_core.cli_collocations import collocations_arguments, run_collocations
from cllm_core.cli_export import (
    export_arguments,
    figure_arguments,
    gallery_arguments,
    run_export,
    run_figure,
    run_gallery,
)
from cllm_core.cli_train import (
    average_arguments,
    config_arguments,
    run_average,
    run_collect,
    run_evaluate,
    run_train,
)
from cllm_core.errors import CllmError, ConfigError, PromptError
from cllm_core.files import check_writable, write_text
from cllm_core.memory import is_out_of_memory
from cllm_core.options import add_arguments, from_namespace
from cllm_core.train.config import CollectConfig, EvaluateConfig, TrainConfig
from cllm_core.types import BenchConfig, DecodeConfig

if TYPE_CHECKING:
    from cllm_core.bench import PairUnderTest
    from cllm_core.compare import LaneResult
    from cllm_core.pairs import ModelPair
    from cllm_core.tasks.base import Example


@dataclass(frozen=True)
class Command:
    """One subcommand: what it is for, its flags, and what it does with them."""

    help: str
    arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], None]


NO_MEMORY = (
    "The memory is full: choose a smaller model or dtype, a shorter prompt, a smaller --block-size, --batch or "
    "--max-new-tokens, or end other programs."
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return 0, or 1 after printing one sentence about what went wrong."""
    parser = argparse.ArgumentParser(prog="python -m cllm_core", description="Decode, compare and train CLLMs.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        command.arguments(commands.add_parser(name, help=command.help, description=command.help))
    arguments = parser.parse_args(argv)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a model may write what the terminal cannot show
    try:
        COMMANDS[arguments.command].run(arguments)
    except CllmError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader of our output went away
        sys.stderr.close()
        return 1
    except OSError as error:
        print(f"{parser.prog}: {error.filename or 'a file'} cannot be used: {error.strerror or error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        return 130
    except (MemoryError, RuntimeError) as error:  # torch's two allocators raise kinds of RuntimeError
        if not is_out_of_memory(error):
            raise
        print(f"{parser.prog}: {NO_MEMORY}", file=sys.stderr)
        return 1
    return 0


def _device_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1, ... (default auto)")
    parser.add_argument("--dtype", default="auto", help="auto, float32, bfloat16 or float16 (default auto)")
    parser.add_argument("--attention", default="auto", help="auto, sdpa, eager or flash_attention_2 (default auto)")


def _loading(arguments: argparse.Namespace) -> dict[str, Any]:
    return {"device": arguments.device, "dtype": arguments.dtype, "attention": arguments.attention}


def _decode_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", default="smollm2", help="smollm2, a model folder, or a hub id (default smollm2)")
    parser.add_argument(
        "--prompt", required=True, help="the text to answer; - reads standard input, less its last line end"
    )
    parser.add_argument("--adapter", help="a peft adapter of the model, to merge into it: a folder or a hub id")
    parser.add_argument("--raw", action="store_true", help="continue the text as it is, without a chat template")
    parser.add_argument("--out", type=Path, help="write the trajectory to this JSON file")
    _device_arguments(parser)
    add_arguments(parser, DecodeConfig)


def _decode(arguments: argparse.Namespace) -> None:
    from cllm_core import models
    from cllm_core.compare import decode
    from cllm_core.io import save
    from cllm_core.metrics import summarize

    config = from_namespace(DecodeConfig, arguments)
    check_writable(arguments.out)
    prompt = _standard_input() if arguments.prompt == "-" else arguments.prompt
    source = replace(models.ModelSource.parse(arguments.model), adapter=arguments.adapter)
    loaded = models.load(source, **_loading(arguments))
    trajectory = decode(loaded, loaded.encode(prompt, chat=not arguments.raw), config)
    if arguments.out:
        save(trajectory, arguments.out)
    print(trajectory.text)
    summary = summarize(trajectory)
    print(
        f"\n{summary.tokens} tokens in {summary.passes} passes ({summary.tokens_per_pass:.2f} a pass), "
        f"{summary.seconds:.2f} s ({summary.tokens_per_second:.1f} tokens a second) on "
        f"{loaded.info.device_name}, {loaded.info.dtype}; ended by {trajectory.finish}",
        *trajectory.notes,
        sep="\n",
        file=sys.stderr,
    )


def _standard_input() -> str:
    try:
        return re.sub(r"\r?\n\Z", "", sys.stdin.buffer.read().decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise PromptError(f"The standard input is not UTF-8 text ({error.reason} at byte {error.start}).") from error


def _compare_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pair", help="a pair's name (default smollm2)")
    parser.add_argument("--base", help="any base model instead of a pair: smollm2, a folder or a hub id")
    parser.add_argument("--cllm", help="with --base: the consistency model made from it, or its adapter's folder")
    parser.add_argument("--no-chat", action="store_true", help="with --base: send prompts without a chat template")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--prompt", help="one prompt")
    source.add_argument("--prompts", type=Path, help="a JSONL, CSV or text file of prompts")
    parser.add_argument("--limit", type=int, help="use at most this many prompts of the file")
    parser.add_argument("--cllm-ar", action="store_true", help="also show the CLLM's one-at-a-time lane")
    parser.add_argument("--json", type=Path, help="write every lane and the summary to this file")
    parser.add_argument(
        "--save-run",
        type=Path,
        help="write the trajectories to this file: .jsonl every prompt's, a line each; else the last prompt's",
    )
    _device_arguments(parser)
    add_arguments(parser, DecodeConfig, without=("decoder",))  # each lane has its own


def _compare(arguments: argparse.Namespace) -> None:
    from cllm_core import compare, models
    from cllm_core.io import dumps_run

    check_writable(arguments.json, arguments.save_run)
    pair = _pair(arguments)
    config = from_namespace(DecodeConfig, arguments, pair.decode)
    examples, given = _prompts(arguments)
    loaded = {"base": models.load(pair.base, **_loading(arguments))}
    if pair.cllm:
        loaded["cllm"] = models.load(pair.cllm, **_loading(arguments))
    lanes = [*compare.DEFAULT_LANES, *(["cllm_ar"] if arguments.cllm_ar else [])]
    examples = compare.with_room(loaded, examples, lambda each: each.asked(pair.wrap), chat=pair.chat, report=_tell)
    compare.warm_up(loaded, examples[0].asked(pair.wrap), config, chat=pair.chat)
    results: list[tuple[str, Mapping[str, LaneResult]]] = []
    told: set[str] = set()
    stopped = False
    try:
        for number, example in enumerate(examples, 1):
            found = compare.compare(loaded, example.asked(pair.wrap), config, chat=pair.chat, lanes=lanes)
            results.append((example.prompt, found))
            _tell(f"{number}/{len(examples)} {example.id}")
            for note in dict.fromkeys([*_run_notes(found), *_differences(example.id, found)]):
                if note not in told:
                    told.add(note)
                    _tell(note)
    except KeyboardInterrupt:
        if not results:
            raise
        stopped = True
        _tell(f"Stopped after {len(results)} of {len(examples)} prompts.")
    result = compare.comparison_to_dict(pair.name, loaded, results, config)
    for row, example in zip(result["prompts"], examples):
        row |= {"id": example.id} | ({"messages": example.chat()} if example.messages else {})
    result |= {"chat": pair.chat, "template": pair.template, "left_out": given - len(examples), "partial": stopped}
    if arguments.json:
        _write_json(arguments.json, result)
    if arguments.save_run:
        kept = results if arguments.save_run.suffix == ".jsonl" else results[-1:]
        runs = [{key: lane.trajectory for key, lane in found.items()} for _, found in kept]
        write_text(arguments.save_run, "".join(dumps_run(run) + "\n" for run in runs))
    print(_summary_table(result["summary"]))
    if stopped:
        raise KeyboardInterrupt  # what was measured is written and told


def _run_notes(lanes: "Mapping[str, LaneResult]") -> list[str]:
    return [note for lane in lanes.values() for note in lane.trajectory.notes]


def _differences(name: str, lanes: "Mapping[str, LaneResult]") -> list[str]:
    """Return, a sentence a lane, where it first departs from its model's one-at-a-time ids, and how near it was."""
    told = []
    for key, lane in lanes.items():
        if (difference := lane.first_difference) is not None:
            margin = difference.top2_margin
            near = "" if margin is None else f", where the two best tokens are {margin:.3g} nats apart"
            told.append(f"{name}: {key} first differs from one at a time at token {difference.index + 1}{near}.")
    return told


def _pair(arguments: argparse.Namespace) -> "ModelPair":
    from cllm_core import models

    if arguments.base:
        if arguments.pair:
            raise ConfigError("Give --pair or --base, not both.")
        return models.pair_from_models(arguments.base, arguments.cllm, chat=not arguments.no_chat)
    if arguments.cllm:
        raise ConfigError("--cllm needs --base, the model it was made from.")
    if arguments.no_chat:
        raise ConfigError("--no-chat needs --base: a pair knows itself how its prompts are sent.")
    return models.find_pair(arguments.pair or "smollm2")


def _prompts(arguments: argparse.Namespace) -> "tuple[list[Example], int]":
    """Return the prompts to run, and how many were given: those that cannot be used are told."""
    from cllm_core.tasks.base import Example
    from cllm_core.tasks.prompts import read_prompts

    if arguments.limit is not None and arguments.limit < 1:
        raise ConfigError(f"--limit must be at least 1, not {arguments.limit}.")
    if arguments.prompt is not None:
        if arguments.limit is not None:
            raise ConfigError("--limit belongs to --prompts: there is one prompt only.")
        if not arguments.prompt.strip():
            raise PromptError("The prompt is empty: write something for the model to answer.")
        return [Example(id="prompt", prompt=arguments.prompt)], 1
    file = read_prompts(arguments.prompts)
    if file.problems:
        print(file.summary(), file=sys.stderr)
    examples = list(file.examples[: arguments.limit])
    return examples, len(examples) + len(file.problems)


def _tell(line: str) -> None:
    print(line, file=sys.stderr)


def _summary_table(summary: Mapping[str, Mapping[str, Any]]) -> str:
    columns = (
        ("tokens", "d"), ("passes", "d"), ("tokens_per_pass", ".2f"), ("seconds", ".2f"), ("tokens_per_second", ".1f"),
        ("speedup", ".2f"), ("fast_forward_per_pass", ".2f"), ("stationary_per_block", ".2f"), ("equals_ar", ".0%"),
    )  # fmt: skip
    rows = [["lane", *(name.replace("_", " ") for name, _ in columns)]]
    for lane, row in summary.items():
        rows.append([lane, *(format(row[name], form) if row[name] is not None else "–" for name, form in columns)])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in rows)


def _bench_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", default="smollm2", help="smollm2, a model folder, or a hub id (default smollm2)")
    parser.add_argument(
        "--pair", help="the pair to try block sizes with; none: leave that out (default: the first that is bundled)"
    )
    parser.add_argument("--json", type=Path, help="write the measurements to this file")
    _device_arguments(parser)
    add_arguments(parser, BenchConfig)


def _bench(arguments: argparse.Namespace) -> None:
    from cllm_core import bench, models
    from cllm_core.packed import is_packed

    config = from_namespace(BenchConfig, arguments)
    check_writable(arguments.json)
    source = models.ModelSource.parse(arguments.model)
    loaded = models.load(source, **_loading(arguments))
    plain = models.load(source, packed=False, **_loading(arguments)) if is_packed(loaded.model) else loaded
    pair = _pair_under_test(arguments)
    result = bench.bench(loaded, plain, config, pair, _tell)
    if arguments.json:
        _write_json(arguments.json, result)
    print(bench.as_table(result))


def _pair_under_test(arguments: argparse.Namespace) -> "PairUnderTest | None":
    from cllm_core import models
    from cllm_core.bench import PairUnderTest

    if arguments.pair == "none":
        return None
    pair = models.find_pair(arguments.pair or next(iter(models.all_pairs())))
    if pair.cllm is None:
        if arguments.pair:
            raise ConfigError(f"{pair.name} has no consistency model to try block sizes with.")
        return None
    if not pair.examples:
        if arguments.pair:
            raise ConfigError(f"{pair.name} has no example prompts to try block sizes with: add some to its pair.json.")
        return None
    target, cllm = (models.load(source, **_loading(arguments)) for source in (pair.base, pair.cllm))
    prompts = tuple(target.encode(pair.wrap(example), chat=pair.chat) for example in pair.examples[:3])
    return PairUnderTest(pair.name, target, cllm, prompts, DecodeConfig(**pair.decode))


def _fetch_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", nargs="?", default="smollm2", help="a pair's name, smollm2 or a hub id")


def _fetch(arguments: argparse.Namespace) -> None:
    from cllm_core import models

    print(f"{arguments.model} is ready in {models.fetch_command(arguments.model)}")


def _write_json(path: Path, value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1)
    write_text(path, text + "\n")


COMMANDS = {
    "decode": Command("Decode one prompt and say what it cost.", _decode_arguments, _decode),
    "compare": Command("Run prompts through the lanes of a pair.", _compare_arguments, _compare),
    "export": Command("Turn a saved run into a page, picture, animation or table.", export_arguments, run_export),
    "figure": Command("Draw a figure of a saved run or comparison.", figure_arguments, run_figure),
    "gallery": Command("Turn a folder of saved runs into a static site.", gallery_arguments, run_gallery),
    "collocations": Command("Find the collocations of a corpus of outputs.", collocations_arguments, run_collocations),
    "collect": Command(
        "Collect answers and their trajectories to train on.", config_arguments(CollectConfig), run_collect
    ),
    "train": Command("Train a target or a consistency model.", config_arguments(TrainConfig), run_train),
    "average": Command("Average adapters of one line of training.", average_arguments, run_average),
    "evaluate": Command("Measure a pair on held-out prompts.", config_arguments(EvaluateConfig), run_evaluate),
    "bench": Command("Measure this machine: recorder, generate, pass time by width.", _bench_arguments, _bench),
    "fetch": Command("Get a model onto this machine.", _fetch_arguments, _fetch),
}
