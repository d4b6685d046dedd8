"""HumanEval (Chen et al. 2021): the head of a Python function in, its body out; checked by running its tests."""

import ast
import re
from pathlib import Path

from cllm_core.tasks.base import Example, check_split, cut_at, find_file, hub_rows, read_rows, sample
from cllm_core.tasks.sandbox import run_program

FIELDS = ("task_id", "prompt", "entry_point", "canonical_solution", "test")


class HumanEval:
    """Python completion. Tests run model-written code, so they are off unless `allow_execution` is given."""

    name = "humaneval"
    title = "Python completion (HumanEval)"
    licence = "MIT"
    source = "openai/human-eval; hub: openai/openai_humaneval"
    splits: tuple[str, ...] = ("test",)
    stop_strings: tuple[str, ...] = ("\nclass ", "\ndef ", "\n#", "\nif ", "\nprint(", "\n@", "\nassert ", "\n```")
    max_new_tokens = 384

    def __init__(self, allow_execution: bool = False) -> None:
        self.allow_execution = allow_execution
        self.notes: tuple[str, ...] = (
            ()
            if allow_execution
            else ("Answers are not checked: that would run code written by a model; ask for it by allow_execution.",)
        )

    def load(self, split: str, *, data: Path | None = None, limit: int | None = None, seed: int = 0) -> list[Example]:
        check_split(self, split)
        if data is None:
            rows = hub_rows(self.name, "openai/openai_humaneval", split)
        else:
            rows = read_rows(find_file(self.name, data, "HumanEval.jsonl.gz", "HumanEval.jsonl"), FIELDS)
        examples = [
            Example(
                row["task_id"],
                row["prompt"],
                answer=row["canonical_solution"],
                meta={"entry_point": row["entry_point"], "test": row["test"]},
            )
            for row in rows
        ]
        return sample(examples, limit, seed)

    def program(self, example: Example, text: str) -> str:
        """Return the program that checks an answer: the function, its tests, and the call of the tests.

        An answer that gives the whole function again (in a code block, or by itself) is taken up to its end, and so is
        a body: a model that is done goes on in prose.
        """
        entry = example.meta["entry_point"]
        head = re.compile(rf"^(?:async )?def {re.escape(entry)}\b", re.MULTILINE)
        blocks = [found[1] for found in _BLOCK.finditer(text)]
        code = next((block for block in blocks if head.search(block)), None)
        if code is None:  # a body; where it opens the answer, a fence behind it only closes a block
            code = text if not blocks or text.lstrip("\n").startswith((" ", "\t")) else blocks[0]
        body = f"    pass\n\n{code}" if head.search(code) else cut_at(code, self.stop_strings)
        return f"{_program(example.prompt + body)}\n{example.meta['test']}\ncheck({entry})\n"

    def check(self, example: Example, text: str) -> dict[str, float]:
        """Return pass_at_1, or nothing where running code was not allowed."""
        if not self.allow_execution:
            return {}
        return {"pass_at_1": float(run_program(self.program(example, text)).passed)}


_BLOCK = re.compile(r"^ *```\w*\n(.*?)(?:^ *```|\Z)", re.DOTALL | re.MULTILINE)


def _program(code: str) -> str:
    """Return as many first lines as are a program."""
    lines = code.split("\n")
    for end in range(len(lines), 0, -1):
        try:
            ast.parse("\n".join(lines[:end]))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        return "\n".join(lines[:end])
    return code
