"""The command `collocations`: makes a table of collocations from outputs, and says how many arrived together."""

import argparse
import sys
from pathlib import Path

from cllm_core.collocations import CollocationTable, Share
from cllm_core.errors import ConfigError
from cllm_core.files import check_writable
from cllm_core.mining import MiningConfig
from cllm_core.options import add_arguments, from_namespace, option_fields

_SHOWN = 20  # collocations in the printed list


def collocations_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's flags."""
    parser.add_argument(
        "corpus",
        nargs="+",
        type=Path,
        help="files of outputs: text (each file is one output), or JSON or JSONL of runs or of rows with a text",
    )
    parser.add_argument("--out", type=Path, help="write the table to this JSON file")
    parser.add_argument("--table", type=Path, help="find nothing new: measure this table's collocations")
    parser.add_argument("--name", default="", help="what the corpus is, in a few words (default: the files' names)")
    add_arguments(parser, MiningConfig)


def run_collocations(arguments: argparse.Namespace) -> None:
    """Find collocations, or read a table; measure it on the recorded runs in the corpus; print and write it."""
    from cllm_core.collocation_files import load_table, measured, read_corpus, save_table
    from cllm_core.mining import mine

    config = from_namespace(MiningConfig, arguments)
    check_writable(arguments.out)
    corpus = read_corpus(arguments.corpus)
    for problem in corpus.problems:
        print(f"left out: {problem}", file=sys.stderr)
    if arguments.table:
        for name in sorted({"name", *(field.name for field in option_fields(MiningConfig))} & _given(arguments)):
            print(f"--{name.replace('_', '-')} changes nothing with --table.", file=sys.stderr)
        table = load_table(arguments.table)
    else:
        name = arguments.name or ", ".join(path.name for path in arguments.corpus)
        different = len({text.strip() for text in corpus.outputs} - {""})
        if different < config.min_outputs:
            raise ConfigError(
                f"The corpus has {different} different outputs, and a collocation must occur in {config.min_outputs}: "
                "give more (each text file is one), or lower --min-outputs."
            )
        table = mine(corpus.outputs, config, name)
    table = measured(table, corpus.runs)
    if arguments.out:
        save_table(table, arguments.out)
    print(report(table))


def _given(arguments: argparse.Namespace) -> set[str]:
    return {name for name, value in vars(arguments).items() if value != ""}


def report(table: CollocationTable) -> str:
    """Return the strongest collocations as text, a line each, with the share of each lane that arrived together."""
    lanes = sorted({key for each in table.collocations for key in each.shares})
    shown = table.collocations[:_SHOWN]
    head = f"{len(table.collocations)} collocations in {table.outputs:,} outputs, {table.words:,} words"
    rows = [["collocation", "count", "LLR", "PMI", *lanes]]
    for each in shown:
        numbers = [str(each.count), f"{each.log_likelihood:.0f}", f"{each.pmi:.1f}"]
        rows.append([each.label, *numbers, *(_share(each.shares.get(key)) for key in lanes)])
    if lanes:
        rows.append(["all", "", "", "", *(_share(_total(table, key)) for key in lanes)])
        head += f"; arrived together in {table.runs:,} recorded runs"
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))])
        for row in rows
    ]
    return "\n".join([head, "", *lines])


def _total(table: CollocationTable, lane: str) -> Share:
    return sum((each.shares.get(lane, Share()) for each in table.collocations), Share())


def _share(share: Share | None) -> str:
    return "–" if share is None or share.ratio is None else f"{share.together}/{share.occurrences} ({share.ratio:.0%})"
