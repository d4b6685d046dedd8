"""GSM8K: final numbers, and loading."""

import json
import sys
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import pytest

from cllm_core.errors import TaskError
from cllm_core.tasks import get_task
from cllm_core.tasks.gsm8k import final_number

TASK = get_task("gsm8k")
ROW = {"question": "Two and two?\n", "answer": "It is 2+2=<<2+2=4>>4.\n#### 4"}


def write(folder: Path, *rows: object) -> Path:
    (folder / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("#### 18", "18"),
        ("She earns 9 * 2 = $18.\n#### 1,250", "1250"),
        ("#### $1,250.00", "1250"),
        ("#### 18 dollars, not 20", "18"),
        ("The answer is 18.", "18"),
        ("so 16 - 3 = 13", "13"),
        ("that leaves 16-3", "3"),
        ("the change is -3", "-3"),
        ("= -$4.50", "-4.5"),
        ("a 20% discount", "20"),
        ("1.5 hours", "1.5"),
        ("\\boxed{42}", "42"),
        ("#### -7", "-7"),
        ("#### −7", "-7"),
        ("it costs $.50", "0.5"),
        ("#### .5", "0.5"),
        ("#### 1,2", "1"),
        ("either 1, 2 or 1,234,567", "1234567"),
        ("12,34", "34"),
        ("1234567.25", "1234567.25"),
    ],
)
def test_final_number_is_read(text: str, number: str):
    assert final_number(text) == Decimal(number)


@pytest.mark.parametrize("text", ["", "none at all", "####", "$", "#### ?"])
def test_text_without_a_number_has_none(text: str):
    assert final_number(text) is None


def test_check_compares_final_numbers_only(tmp_path: Path):
    (example,) = TASK.load("test", data=write(tmp_path, ROW))
    assert example.prompt == "Question: Two and two?\nAnswer:\n"
    assert example.answer == "It is 2+2=4.\n#### 4"
    assert TASK.check(example, example.answer) == {"exact_match": 1.0}
    assert TASK.check(example, "I think 4.0") == {"exact_match": 1.0}
    assert TASK.check(example, "#### 5") == {"exact_match": 0.0}
    assert TASK.check(example, "no idea") == {"exact_match": 0.0}


def test_what_a_base_model_rambles_on_with_is_not_judged(tmp_path: Path):
    (example,) = TASK.load("test", data=write(tmp_path, ROW))
    assert TASK.check(example, "4\n\nQuestion: What is 7 times 8?\nAnswer: 56") == {"exact_match": 1.0}


def test_folder_can_be_the_tasks_own_or_the_one_above(tmp_path: Path):
    folder = tmp_path / "gsm8k"
    folder.mkdir()
    write(folder, ROW)
    assert TASK.load("test", data=folder) == TASK.load("test", data=tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"test\.jsonl is empty"),
        (b'{"question": "x"}\n', r"test\.jsonl, line 1, lacks the text field 'answer'"),
        (b'{"question": "x", "answer": "#### 1"}\n[]\n', r"line 2, lacks the text field 'question'"),
        (b'{"question": \n', r"test\.jsonl, line 1: This is not JSON"),
        (b"\xff\xfe\n", r"not UTF-8"),
    ],
)
def test_malformed_data_is_one_clear_sentence(tmp_path: Path, content: bytes, message: str):
    (tmp_path / "test.jsonl").write_bytes(content)
    with pytest.raises(TaskError, match=message):
        TASK.load("test", data=tmp_path)


def test_missing_data_says_what_to_do(tmp_path: Path):
    with pytest.raises(TaskError, match=r"train\.jsonl is not in the folder .* point --data at"):
        TASK.load("train", data=write(tmp_path, ROW))
    with pytest.raises(TaskError, match="no folder 'nowhere'"):
        TASK.load("test", data=tmp_path / "nowhere")
    with pytest.raises(TaskError, match="no split 'dev'"):
        TASK.load("dev", data=tmp_path)


def test_without_network_the_hub_is_one_clear_sentence(monkeypatch):
    def offline(*args, **kwargs):
        raise ConnectionError("Couldn't reach the hub\nand a long story")

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=offline))
    with pytest.raises(TaskError, match=r"Cannot load openai/gsm8k .* \(Couldn't reach the hub\): .* by --data"):
        TASK.load("test")


def test_rows_from_the_hub_are_the_same_examples(monkeypatch, tmp_path: Path):
    hub = SimpleNamespace(load_dataset=lambda repo, config, split: [ROW])
    monkeypatch.setitem(sys.modules, "datasets", hub)
    assert TASK.load("test") == TASK.load("test", data=write(tmp_path, ROW))
