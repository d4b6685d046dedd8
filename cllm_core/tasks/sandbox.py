"""Running a Python program that a model wrote: a process of its own with hard limits. POSIX only.

It guards against what models write by mistake (endless loops, huge lists, stray files and processes). It is no
defence against a determined attacker: run it where nothing of value is in reach.
"""

import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cllm_core.errors import TaskError

CPU_SECONDS = 5
WALL_SECONDS = 10.0
MEMORY_BYTES = 512 * 2**20
FILE_BYTES = 2**20

# Runs in the child before the program. Root becomes nobody, and nobody may not be able to read an interpreter that root
# installed, so what programs often need is imported first. What the program prints goes nowhere; only when it has come
# to its end is the token written, so that a program that exits early cannot pass.
BOOTSTRAP = """
import abc, array, ast, bisect, cmath, collections, collections.abc, contextlib, copy, dataclasses, datetime, decimal
import enum, fractions, functools, hashlib, heapq, inspect, io, itertools, json, math, numbers, operator, os, queue
import random, re, resource, statistics, string, struct, sys, textwrap, time, traceback, types, typing, unicodedata
token, cpu, memory, size = sys.argv[1], *map(int, sys.argv[2:5])
report, nowhere = os.dup(1), os.open(os.devnull, os.O_RDWR)
for stream in (0, 1, 2):
    os.dup2(nowhere, stream)
program = open("program.py", encoding="utf-8").read()
if os.getuid() == 0:
    try:
        os.setgroups([]), os.setgid(65534), os.setuid(65534)
    except OSError:
        pass
limits = {"CPU": cpu, "AS": memory, "FSIZE": size, "NOFILE": 32, "CORE": 0, "NPROC": 0}
for name, value in limits.items():
    resource.setrlimit(getattr(resource, "RLIMIT_" + name), (value, value))
sys.argv = ["program.py"]
exec(compile(program, "program.py", "exec"), {"__name__": "__main__"})
os.write(report, token.encode())
"""


@dataclass(frozen=True)
class Outcome:
    """How a program ended: `reason` is empty when it ran to its end without an error."""

    passed: bool
    reason: str = ""


def run_program(
    program: str,
    *,
    cpu_seconds: int = CPU_SECONDS,
    wall_seconds: float = WALL_SECONDS,
    memory_bytes: int = MEMORY_BYTES,
) -> Outcome:
    """Run a Python program in a process group of its own and return how it ended.

    It gets an empty folder, an empty environment, no input, no network where the system lets us say so, and limits on
    time, memory, files and processes; what is left of its group is killed. TaskError where there are no such limits.
    """
    if os.name != "posix":
        raise TaskError("Running model-written programs needs Linux or macOS: leave --allow-execution out.")
    token = secrets.token_hex(16)
    with tempfile.TemporaryDirectory(prefix="cllm-sandbox-") as folder:
        Path(folder).chmod(0o755)  # the program may run as nobody
        Path(folder, "program.py").write_text(program, encoding="utf-8", errors="replace")
        limits = [str(number) for number in (cpu_seconds, memory_bytes, FILE_BYTES)]
        command = [*_no_network(), sys.executable, "-I", "-c", BOOTSTRAP, token, *limits]
        return _finish(command, folder, token, wall_seconds)


def _finish(command: list[str], folder: str, token: str, wall_seconds: float) -> Outcome:
    with subprocess.Popen(
        command,
        cwd=folder,
        env={},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=wall_seconds)
        except subprocess.TimeoutExpired:
            return Outcome(False, f"it took longer than {wall_seconds:g} seconds")
        finally:
            _kill_group(process.pid)
    if process.returncode == 0 and output == token.encode():
        return Outcome(True)
    if process.returncode < 0:
        return Outcome(False, f"it was stopped by {signal.Signals(-process.returncode).name}")
    return Outcome(False, "it failed" if process.returncode else "it ended before its tests did")


def _kill_group(group: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


@cache
def _no_network() -> tuple[str, ...]:
    """Return the command prefix that takes the network away; empty where the system does not allow it."""
    unshare = shutil.which("unshare")
    for flags in (("--net",), ("--user", "--map-current-user", "--net")):
        command = (unshare or "", *flags, "--")
        if unshare and subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0:
            return command
    return ()
