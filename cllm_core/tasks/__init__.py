"""The tasks: one row each. A task's module is imported when it is first asked for."""

from importlib import import_module
from typing import Any, cast

from cllm_core.errors import TaskError
from cllm_core.tasks.base import SPLITS, Example, Message, Task

TASKS = {
    "spider": "cllm_core.tasks.spider:Spider",
    "json": "cllm_core.tasks.json_notes:JsonNotes",
    "gsm8k": "cllm_core.tasks.gsm8k:Gsm8k",
    "humaneval": "cllm_core.tasks.humaneval:HumanEval",
    "chat": "cllm_core.tasks.chat:Chat",
    "prompts": "cllm_core.tasks.prompts:Prompts",
}


def get_task(name: str, **options: Any) -> Task:
    """Return a task by name, built with its own options (`allow_execution=True`, say); TaskError if there is none."""
    if name not in TASKS:
        raise TaskError(f"There is no task {name!r}: choose {', '.join(TASKS)}.")
    module, _, kind = TASKS[name].partition(":")
    return cast(Task, getattr(import_module(module), kind)(**options))


__all__ = ["SPLITS", "TASKS", "Example", "Message", "Task", "get_task"]
