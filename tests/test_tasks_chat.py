"""The chat questions: original, whole, and never judged."""

from pathlib import Path

import pytest

from cllm_core.errors import TaskError
from cllm_core.tasks import get_task

TASK = get_task("chat")


def test_forty_questions_over_eight_categories():
    examples = TASK.load("test")
    assert len({example.prompt for example in examples}) == len(examples) == 40
    assert len({example.meta["category"] for example in examples}) == 8
    assert all(example.meta["follow_up"] for example in examples)
    assert len({example.id for example in examples}) == 40


def test_there_is_no_judge():
    (example,) = TASK.load("test", limit=1)
    assert TASK.check(example, "anything") == {}
    assert example.chat() == [{"role": "user", "content": example.prompt}]


def test_a_data_folder_is_refused():
    with pytest.raises(TaskError, match="task prompts"):
        TASK.load("test", data=Path("."))
