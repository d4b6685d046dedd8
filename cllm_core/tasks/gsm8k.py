"""GSM8K (Cobbe et al. 2021): a grade-school problem in, a worked solution that ends with its number out."""

import re
from decimal import Decimal
from pathlib import Path

from cllm_core.tasks.base import Example, check_split, cut_at, find_file, hub_rows, read_rows, sample

_DIGITS = r"(?:\d{1,3}(?:,\d{3})+(?![\d,]*\d)|\d+)(?:\.\d+)?"  # 1,250.00 is one number; 1, 2 and 1,2 are two
NUMBER = re.compile(rf"(?<![\w.)])[-−]?\$?(?:{_DIGITS}|\.\d+)|(?<=[\w)]){_DIGITS}")


class Gsm8k:
    """Grade-school math; an answer is right when its final number is."""

    name = "gsm8k"
    title = "Grade-school math (GSM8K)"
    licence = "MIT"
    source = "openai/grade-school-math; hub: openai/gsm8k"
    splits: tuple[str, ...] = ("train", "test")
    stop_strings: tuple[str, ...] = ("\nQuestion:",)
    max_new_tokens = 256
    notes: tuple[str, ...] = ()

    def load(self, split: str, *, data: Path | None = None, limit: int | None = None, seed: int = 0) -> list[Example]:
        check_split(self, split)
        if data is None:
            rows = hub_rows(self.name, "openai/gsm8k", split, "main")
        else:
            rows = read_rows(find_file(self.name, data, f"{split}.jsonl"), ("question", "answer"))
        examples = [_example(f"{split}-{n}", row["question"], row["answer"]) for n, row in enumerate(rows)]
        return sample(examples, limit, seed)

    def check(self, example: Example, text: str) -> dict[str, float]:
        """Return exact_match: whether the final numbers are equal."""
        answer = final_number(cut_at(text, self.stop_strings))
        return {"exact_match": float(answer is not None and answer == example.meta["number"])}


def _example(identity: str, question: str, solution: str) -> Example:
    answer = re.sub(r"<<.*?>>", "", solution).strip()  # the data's own calculator notes
    return Example(
        identity, f"Question: {question.strip()}\nAnswer:\n", answer=answer, meta={"number": final_number(answer)}
    )


def final_number(text: str) -> Decimal | None:
    """Return the number that an answer comes to: after the last "####" if there is one, else the last in the text.

    "$1,250.00" is 1250 and "18." is 18; a minus sign counts where no operand stands before it, as in "= -3".
    """
    *_, tail = text.rpartition("####")
    found = NUMBER.findall(tail)
    if not found:
        return None
    return Decimal(re.sub(r"[$,]", "", found[0 if "####" in text else -1]).replace("−", "-"))
