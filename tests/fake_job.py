"""A job's supervisor with stages that are small scripts, named in the job's fake.json: nothing is trained.

Run as a program it stands in for `python -m cllm_core.train.jobs.supervise FOLDER`.
"""

import json
import sys
from pathlib import Path

from cllm_core.train.jobs.folder import Job
from cllm_core.train.jobs.supervise import supervise

GRACE = 2.0
_HEAD = "import json, os, signal, subprocess, sys, time; from pathlib import Path; folder = Path(sys.argv[1]);"
_END = "(folder / 'outcome.json').write_text(json.dumps({'kind': kind, 'reason': reason}))"
_CHILD = (  # a process of its own below the stage's, whose number is noted
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']);"
    "(folder / 'child.txt').write_text(str(child.pid));"
)
SCRIPTS = {
    "ok": _HEAD + f"kind, reason = 'done', ''; {_END}",
    "slow": _HEAD + f"time.sleep(0.5); kind, reason = 'done', ''; {_END}",
    "pause": _HEAD + f"kind, reason = 'paused', 'The answers collapsed.'; {_END}",
    "crash": _HEAD + "sys.exit('There is no model or folder nowhere.')",
    "kill": _HEAD + "os.kill(os.getpid(), signal.SIGKILL)",
    "leave": _HEAD + _CHILD + f"kind, reason = 'done', ''; {_END}",
    "sleep": _HEAD
    + _CHILD
    + "stopped = []; signal.signal(signal.SIGTERM, lambda *_: stopped.append(1));"
    + "(folder / 'ready').touch()\nwhile not stopped: time.sleep(0.02)\n"
    + f"kind, reason = 'stopped', 'Stopped after step 3.'; {_END}",
    "stubborn": _HEAD
    + _CHILD
    + "signal.signal(signal.SIGTERM, signal.SIG_IGN); (folder / 'ready').touch(); time.sleep(60)",
}


def command(job: Job, stage: str) -> list[str]:
    script = json.loads((job.folder / "fake.json").read_text())[stage]
    return [sys.executable, "-c", SCRIPTS[script], str(job.folder)]


if __name__ == "__main__":
    sys.exit(supervise(Job(Path(sys.argv[1])), command=command, grace=GRACE))
