"""Model folders, on this disk or fetched from the Hugging Face Hub: checked before weights are downloaded or loaded.

Every failure becomes one sentence that names the model and the next step. Loads no model, prints no token.
"""

import errno
import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cllm_core.cache import Progress, silent
from cllm_core.errors import (
    CllmError,
    DownloadError,
    ModelError,
    ModelGated,
    ModelNotFound,
    ModelOffline,
    UnsupportedModel,
)

_DESCRIPTION = ["*.json", "*.jinja", "*.txt", "*.model", "*.tiktoken"]  # everything but weights
_WEIGHTS = ["*.safetensors"]
_LEFT_OUT = ["*/*", "consolidated*"]  # other formats, and the same weights a second time
_PICKLED = (".bin", ".pt", ".pth", ".ckpt")


def fetch_repo(repo: str, revision: str = "", report: Progress = silent) -> Path:
    """Return the local snapshot of a hub repo (a model, or a peft adapter), downloading what the cache lacks.

    A complete snapshot in the cache is used without asking the network. Raises the ModelError that fits.
    """
    from huggingface_hub import snapshot_download

    if cached := cached_repo(repo, revision):
        return cached
    wanted = _wanted(repo, revision)
    with wording(repo, revision):
        report(0, 0, f"Looking {repo} up on the Hub")
        described = Path(snapshot_download(**wanted, allow_patterns=_DESCRIPTION))
        check_description(described, repo)  # before gigabytes are fetched for nothing
        bar = _reporting_bar(report, f"Downloading {repo}")
        folder = Path(snapshot_download(**wanted, allow_patterns=_DESCRIPTION + _WEIGHTS, tqdm_class=bar))
    check_folder(folder, repo)
    return folder


def cached_repo(repo: str, revision: str = "") -> Path | None:
    """Return the snapshot of a hub repo that is in the cache, whole; None where the network has to be asked."""
    from huggingface_hub import snapshot_download

    every = _DESCRIPTION + _WEIGHTS
    try:
        folder = Path(snapshot_download(**_wanted(repo, revision), allow_patterns=every, local_files_only=True))
        check_folder(folder, repo)
    except (CllmError, OSError, ValueError):
        return None
    return folder


def parameter_count(folder: Path) -> int:
    """Return how many numbers the weights in a folder have, by the heads of its safetensors files."""
    from safetensors import safe_open

    count = 0
    for file in folder.glob("*.safetensors"):
        with safe_open(file, framework="np") as weights:
            count += sum(math.prod(weights.get_slice(name).get_shape()) for name in weights.keys())  # noqa: SIM118
    return count


def _wanted(repo: str, revision: str) -> dict[str, Any]:
    return {"repo_id": repo, "revision": revision or None, "ignore_patterns": _LEFT_OUT}


def _reporting_bar(report: Progress, stage: str) -> Any:
    """Return a tqdm class that reports bytes instead of drawing; the fullest of the Hub's bars counts."""
    from tqdm import tqdm

    most = 0

    class ReportingBar(tqdm):  # type: ignore[misc]
        def display(self, *args: Any, **kwargs: Any) -> None:
            nonlocal most
            if self.unit == "B" and self.total and self.n >= most:
                most = int(self.n)
                report(most, int(self.total), stage)

    return ReportingBar


def is_adapter(folder: Path) -> bool:
    """Whether a folder holds a peft adapter and no model of its own."""
    return (folder / "adapter_config.json").is_file() and not (folder / "config.json").is_file()


def adapter_base(folder: Path, name: str) -> str:
    """Return the folder or hub id that a peft adapter says it was trained on."""
    base = _read_json(folder / "adapter_config.json", name).get("base_model_name_or_path")
    if not isinstance(base, str) or not base:
        raise ModelNotFound(f"The adapter {name} does not say which base model it was trained on: name the base too.")
    return base


def check_folder(folder: Path, name: str) -> None:
    """Raise the ModelError that fits unless the folder can be loaded: description, whole safetensors, tokenizer."""
    check_description(folder, name)
    _check_weights(folder, name)
    if not is_adapter(folder) and not _has_tokenizer(folder):
        raise UnsupportedModel(f"{name} has no tokenizer files: add those of the model it was made from.")


def check_description(folder: Path, name: str) -> None:
    """Raise ModelNotFound or UnsupportedModel unless config.json names an architecture that the library has."""
    if not folder.is_dir():
        raise ModelNotFound(f"There is no folder {name}: check the path.")
    if is_adapter(folder):
        return
    if not (folder / "config.json").is_file():
        raise ModelNotFound(
            f"{name} is not a model folder, it has no config.json: name the folder that save_pretrained wrote."
        )
    config = _read_json(folder / "config.json", name)
    kind = config.get("model_type")
    if not _library_knows(kind):
        if "auto_map" in config:
            raise UnsupportedModel(
                f"{name} needs Python code from its own repository, which is never run here: choose a model whose "
                "architecture is part of the transformers library."
            )
        raise UnsupportedModel(
            f"{name} has an architecture that the installed transformers library does not know ({kind!r}): "
            "choose another model, or update transformers."
        )


def _library_knows(model_type: Any) -> bool:
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    return model_type in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES


def _shards(weight_map: Any, name: str) -> set[str]:
    if not isinstance(weight_map, dict) or not all(isinstance(file, str) for file in weight_map.values()):
        raise DownloadError(f"The list of the weight files of {name} cannot be read: fetch the model again.")
    return set(weight_map.values())


def _check_weights(folder: Path, name: str) -> None:
    files = sorted(folder.glob("*.safetensors"))
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        shards = _shards(_read_json(index, name).get("weight_map"), name)
        missing = sorted(shards - {file.name for file in files})
        if missing:
            raise DownloadError(f"{name} is incomplete, {missing[0]} is missing: fetch the model again.")
    if not files:
        if any(path.suffix in _PICKLED for path in folder.iterdir()):
            raise UnsupportedModel(
                f"{name} has its weights only as pickle files, which can run code and are not loaded here: "
                "convert it with save_pretrained, or choose a model with .safetensors files."
            )
        raise UnsupportedModel(f"{name} has no weights in .safetensors files: choose a model that has them.")
    for file in files:
        _check_whole(file, name)


def _check_whole(file: Path, name: str) -> None:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, framework="np"):
            pass
    except (SafetensorError, OSError) as error:
        raise DownloadError(f"{file.name} of {name} is cut off or damaged: fetch the model again.") from error


def _has_tokenizer(folder: Path) -> bool:
    known = ("tokenizer.json", "tokenizer.model", "tokenizer_config.json", "vocab.json", "vocab.txt", "spiece.model")
    return any((folder / file).is_file() for file in known)


def _read_json(path: Path, name: str) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DownloadError(f"{path.name} of {name} cannot be read as JSON: fetch the model again.") from error
    if not isinstance(data, dict):
        raise DownloadError(f"{path.name} of {name} holds no settings: fetch the model again.")
    return data


@contextmanager
def wording(repo: str, revision: str = "") -> Iterator[None]:
    """Turn the Hub client's errors into one sentence each."""
    try:
        yield
    except CllmError:
        raise
    except Exception as error:  # its transport errors share no base with OSError
        raise hub_error(repo, revision, error) from error


def hub_error(repo: str, revision: str, error: BaseException) -> ModelError:
    """Say what a failure of the Hub client means. The client's own text is left out: it may quote a header."""
    from huggingface_hub import errors as hub

    cause = error.__cause__ if isinstance(error, hub.LocalEntryNotFoundError) and error.__cause__ else error
    status = getattr(getattr(cause, "response", None), "status_code", None)
    if isinstance(cause, hub.GatedRepoError) or (status == 403 and not isinstance(cause, hub.DisabledRepoError)):
        return ModelGated(
            f"{repo} is gated: accept its licence on its page on the Hugging Face Hub, log in with `hf auth login` "
            "(or set HF_TOKEN), and try again."
        )
    if isinstance(cause, hub.RevisionNotFoundError):
        return ModelNotFound(f"{repo} has no revision {revision!r}: check the part after the @.")
    if isinstance(cause, hub.RepositoryNotFoundError | hub.DisabledRepoError | hub.HFValidationError):
        return ModelNotFound(
            f"The Hugging Face Hub has no model {repo} that can be seen from here: check the spelling (owner/name), "
            "and if it is private, log in with `hf auth login`."
        )
    if status == 401:
        return ModelGated(f"The Hugging Face Hub refused the login for {repo}: run `hf auth login` again.")
    if status is not None:
        return ModelOffline(f"The Hugging Face Hub answered {status} for {repo}: try again later.")
    if isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EDQUOT):
        return DownloadError(f"{repo} cannot be kept on this disk ({cause.strerror}): free some space, or set HF_HOME.")
    if os.environ.get("HF_HUB_OFFLINE", "0").upper() in ("1", "ON", "YES", "TRUE"):
        return ModelOffline(f"{repo} is not on this machine and HF_HUB_OFFLINE is set: unset it, or name a folder.")
    return ModelOffline(
        f"{repo} is not on this machine and the Hugging Face Hub cannot be reached ({type(cause).__name__}): "
        "check the network, or name the folder of a model."
    )
