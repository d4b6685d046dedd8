"""ARCHITECTURE.md names every file of the tree, or the folder that holds it, and nothing that is gone."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def named() -> set[str]:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    return set(re.findall(r"^\| `([^`]+)` \|", text.split("## Files")[1].split("\n## ")[0], re.MULTILINE))


def tracked() -> list[str]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True)
    return [name for name in listed.stdout.splitlines() if (ROOT / name).exists()]


def test_every_tracked_file_is_named() -> None:
    known = named()
    folders = tuple(name for name in known if name.endswith("/"))
    missing = [name for name in tracked() if name not in known and not name.startswith(folders)]
    assert [name for name in missing if name != "ARCHITECTURE.md"] == []


def test_every_named_file_exists() -> None:
    assert [name for name in named() if not (ROOT / name).exists()] == []


def test_every_named_file_has_a_purpose() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `([^`]+)` \|\s*\??\s*\|$", text, re.MULTILINE) == []
