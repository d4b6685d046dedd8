"""HumanEval: programs are run only when asked for, and cannot do harm or cheat by accident."""

import gzip
import json
import os
import time
from pathlib import Path

import pytest

from cllm_core.errors import TaskError
from cllm_core.tasks import get_task
from cllm_core.tasks.humaneval import HumanEval
from cllm_core.tasks.sandbox import _no_network, run_program

ROW = {
    "task_id": "HumanEval/0",
    "prompt": 'def double(x: int) -> int:\n    """Return twice x."""\n',
    "entry_point": "double",
    "canonical_solution": "    return 2 * x\n",
    "test": "def check(candidate):\n    assert candidate(2) == 4\n    assert candidate(0) == 0\n",
}
TASK = HumanEval(allow_execution=True)


@pytest.fixture
def example(tmp_path: Path):
    (tmp_path / "HumanEval.jsonl.gz").write_bytes(gzip.compress(json.dumps(ROW).encode() + b"\n"))
    (example,) = TASK.load("test", data=tmp_path)
    return example


def test_execution_is_off_unless_asked_for(example, monkeypatch):
    task = get_task("humaneval")
    monkeypatch.setattr("cllm_core.tasks.humaneval.run_program", lambda program: pytest.fail("it ran"))
    assert task.check(example, example.answer) == {}
    assert "allow_execution" in task.notes[0]
    assert not get_task("humaneval", allow_execution=True).notes


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("    return 2 * x\n", 1.0),
        ("    return x + x\n\ndef double(x):\n    return 0\n\nprint(double(1))\n", 0.0),
        ("    return x + x\n\ndef other(x):\n    return 0\n", 1.0),
        ("```python\ndef double(x):\n    return x * 2\n```\nThis works.", 1.0),
        ("Here it is:\n```\n    return x * 2\n```", 1.0),
        ("    return x * 2\n```\nIt doubles x.", 1.0),
        ("```py\ndef double(x):\n    return x * 2\n```", 1.0),
        ("```Python\n    return x * 2\n```\nDone.", 1.0),
        ("def double(x):\n    return x * 2\n\nThis function doubles x: it's done.", 1.0),
        ("First:\n```\ndouble(1)\n```\nThen:\n```python\ndef double(x):\n    return x * 2\n```", 1.0),
        ("    return x\n", 0.0),
        ("    return (\n", 0.0),
        ("    import sys; sys.exit(0)\n", 0.0),
        ("    import os; os._exit(0)\n", 0.0),
    ],
)
def test_answers_pass_only_when_the_tests_run_through(example, text: str, passes: float):
    assert TASK.check(example, text) == {"pass_at_1": passes}


def test_what_programs_often_need_can_be_imported_whoever_runs_them():
    names = "dataclasses, ast, enum, array, queue, inspect, string, abc, contextlib, types, numbers, textwrap, struct"
    assert run_program(
        f"import {names}\nfrom dataclasses import dataclass\nfrom collections.abc import Iterable"
    ).passed


def test_endless_loop_is_stopped_by_the_clock():
    start = time.monotonic()
    assert "longer than 0.5 seconds" in run_program("while True: pass", wall_seconds=0.5).reason
    assert time.monotonic() - start < 3


def test_endless_loop_is_stopped_by_processor_time():
    outcome = run_program("while True: pass", cpu_seconds=1)
    assert not outcome.passed
    assert "stopped by SIG" in outcome.reason


def test_memory_is_limited():
    assert not run_program("x = bytearray(2**31)").passed
    assert run_program("x = bytearray(2**20)").passed


def test_files_are_limited_in_size_and_place():
    limited = "import resource\nassert resource.getrlimit(resource.RLIMIT_FSIZE) == (2**20, 2**20)\n"
    assert run_program(limited).passed
    assert not run_program("open('big', 'w').write('x' * 2**22)").passed
    leak = "import os\nassert os.path.basename(os.getcwd()).startswith('cllm-sandbox-'), os.getcwd()"
    assert run_program(leak).passed


def test_no_process_can_be_started():
    refused = "import os\ntry:\n    os.fork()\nexcept OSError:\n    pass\nelse:\n    os._exit(1)\n"
    assert run_program(refused).passed


def test_environment_and_input_are_empty():
    os.environ["CLLM_TEST_SECRET"] = "s"
    try:
        assert run_program("import os\nassert 'CLLM_TEST_SECRET' not in os.environ").passed
    finally:
        del os.environ["CLLM_TEST_SECRET"]
    assert not run_program("input()").passed


def test_what_a_program_prints_is_neither_kept_nor_mistaken():
    assert run_program("print('x' * 10**6)").passed
    assert not run_program("import sys\nprint(sys.argv)\nraise SystemExit(0)").passed


def test_network_is_out_of_reach_where_the_system_allows_it():
    listen = "import socket\ns = socket.socket()\ns.bind(('127.0.0.1', 0))\ns.listen()\n"
    reach = listen + "socket.create_connection(s.getsockname(), 1)"
    assert run_program(reach).passed is not bool(_no_network())


def test_systems_without_limits_are_refused(monkeypatch):
    monkeypatch.setattr("cllm_core.tasks.sandbox.os.name", "nt")
    with pytest.raises(TaskError, match="Linux or macOS"):
        run_program("pass")


def test_damaged_archive_is_one_clear_sentence(tmp_path: Path):
    (tmp_path / "HumanEval.jsonl.gz").write_bytes(b"\x1f\x8b broken")
    with pytest.raises(TaskError, match=r"Cannot read HumanEval\.jsonl\.gz .*: download it again"):
        TASK.load("test", data=tmp_path)


@pytest.mark.parametrize("prose", ["\n\nThis function adds.", "\nIt's done!", "\n\n**Why:** it adds `x` twice."])
def test_prose_behind_a_body_is_no_part_of_the_program(example, prose: str):
    assert TASK.check(example, "    return 2 * x" + prose) == {"pass_at_1": 1.0}
    assert TASK.check(example, "    return x" + prose) == {"pass_at_1": 0.0}
