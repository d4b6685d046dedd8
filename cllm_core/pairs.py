"""Which models there are: sources, the pairs on offer, and the pairs that training left in a folder.

Values only: nothing is fetched, loaded or checked against the network here.
"""

import difflib
import json
import logging
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cllm_core.bundled import NAME as BUNDLED
from cllm_core.errors import ConfigError, FormatError, ModelNotFound, NewerFormat
from cllm_core.files import write_text
from cllm_core.hub import is_adapter
from cllm_core.io import parse_json
from cllm_core.types import DecodeConfig

log = logging.getLogger(__name__)

PAIR_FILE = "pair.json"
PAIR_VERSION = 1
_HUB_ID = re.compile(r"(?P<repo>[\w.-]+/[\w.-]+)(?:@(?P<revision>[\w./-]+))?")
_SOURCES_HELP = f"use {BUNDLED} (bundled), the path of a model folder, or a hub id such as owner/name"


@dataclass(frozen=True)
class ModelSource:
    """Where a model comes from, with a peft adapter to merge into it, if any."""

    kind: str  # bundled, folder or hub
    where: str  # the bundled name, an absolute path, or owner/name
    revision: str = ""  # of a hub model: branch, tag or commit
    adapter: str | None = None  # a folder or a hub id

    @classmethod
    def parse(cls, text: str) -> "ModelSource":
        """Read `smollm2`, the path of an existing folder, or `owner/name[@revision]`; ModelNotFound for the rest."""
        text = text.strip()
        if text == BUNDLED:
            return cls("bundled", BUNDLED)
        folder = _existing_folder(text)
        if folder is not None:
            return cls("folder", str(folder))
        found = _HUB_ID.fullmatch(text)
        if found and not text.startswith((".", "/")):
            return cls("hub", found["repo"], found["revision"] or "")
        near = difflib.get_close_matches(text, [BUNDLED])
        hint = f"did you mean {near[0]}? Or " if near else ""
        raise ModelNotFound(f"There is no model or folder {text!r}: {hint}{_SOURCES_HELP}.")

    @property
    def title(self) -> str:
        """What to call it: the bundled name, the hub id, or the folder's own name, never its full path."""
        name = Path(self.where).name if self.kind == "folder" else self.where
        return f"{name} + {adapter_title(self.adapter)}" if self.adapter else name

    def __str__(self) -> str:
        """Return the text that `parse` reads (the adapter left out)."""
        return f"{self.where}@{self.revision}" if self.revision else self.where


def _existing_folder(text: str) -> Path | None:
    try:
        folder = Path(text).expanduser()
        return folder.resolve() if text and folder.is_dir() else None
    except (OSError, RuntimeError, ValueError):  # a name too long for a file, ~nobody, a NUL
        return None


def adapter_title(adapter: str) -> str:
    """Return a short name of an adapter: its hub id, or its folder's last two parts."""
    return "/".join(Path(adapter).parts[-2:])


@dataclass(frozen=True)
class ModelPair:
    """A target model and the consistency model made from it, with what the app needs to offer them."""

    name: str
    title: str
    base: ModelSource
    cllm: ModelSource | None = None
    description: str = ""
    chat: bool = True  # send prompts through the model's chat template, if it has one
    template: str = "{prompt}"  # the text a prompt is put into before that
    examples: tuple[str, ...] = ()
    needs_gpu: bool = False
    decode: Mapping[str, Any] = field(default_factory=dict, hash=False)  # DecodeConfig fields that suit it
    results: Mapping[str, Any] = field(default_factory=dict, hash=False)  # measured when it was trained

    def wrap(self, prompt: str) -> str:
        """Put a prompt into the pair's template."""
        return self.template.replace("{prompt}", prompt)


_EXAMPLES = (
    "Write a short story about a lighthouse keeper who finds a message in a bottle.",
    "List the first ten prime numbers and say why 1 is not one of them.",
    "Write a Python function that returns the n-th Fibonacci number.",
    "Explain in three sentences how a rainbow forms.",
)
_INSTRUCTION = "### Instruction:\n{prompt}\n### Response:\n"
_SIZES = "Two downloads of about 14 GB; needs a GPU with 32 GB of memory."


def _published(name: str, title: str, base: str, cllm: str, template: str, *examples: str) -> ModelPair:
    return ModelPair(
        name=name,
        title=title,
        base=ModelSource("hub", base),
        cllm=ModelSource("hub", cllm),
        description=f"{base} and {cllm}, published with the CLLM paper. {_SIZES}",
        chat=False,
        template=template,
        examples=examples,
        needs_gpu=True,
    )


_PAIRS = (
    ModelPair(
        name=BUNDLED,
        title="SmolLM2-135M-Instruct (base only)",
        base=ModelSource("bundled", BUNDLED),
        description="A small chat model that runs on any CPU. It has no CLLM yet: train one in the Fine-tune tab.",
        examples=_EXAMPLES,
    ),
    _published(
        "cllm-7b-math",
        "CLLM 7B, maths (GSM8K)",
        "GAIR/Abel-7B-001",
        "cllm/consistency-llm-7b-math",
        "Question:\n{prompt}\nAnswer:\nLet's think step by step.\n",
        "A baker fills 7 trays with 12 rolls each and sells 59 rolls. How many rolls are left?",
    ),
    _published(
        "cllm-7b-spider",
        "CLLM 7B, text to SQL (Spider)",
        "cllm/deepseekcoder-7b-instruct-spider",
        "cllm/consistency-llm-7b-spider",
        _INSTRUCTION,
        "Could you translate the following question into SQL. Please only generate SQL, don't include explanation in "
        "the answer. The SQL database has table named singer with columns ['singer_id', 'name', 'country', 'age'], "
        "Question: Which countries have more than two singers, in descending order?",
    ),
    _published(
        "cllm-7b-code",
        "CLLM 7B, Python code (CodeSearchNet)",
        "cllm/deepseekcoder_7b_codesearch_net_python",
        "cllm/consistency-llm-7b-codesearchnet",
        _INSTRUCTION,
        "Please generate code based on the following doc:\nReturn the lines of a text file that hold a given word.",
    ),
    _published(
        "cllm-7b-chat",
        "CLLM 7B, chat (ShareGPT)",
        "cllm/vicuna-7b-sharegpt-gpt4-48k",
        "cllm/consistency-llm-7b-sharegpt48k",
        "A chat between a curious user and an artificial intelligence assistant. The assistant gives helpful, "
        "detailed, and polite answers to the user's questions. USER: {prompt} ASSISTANT:",
        "What should I see in Lisbon if I have one day?",
    ),
)
PAIRS: dict[str, ModelPair] = {pair.name: pair for pair in _PAIRS}


def assets_folder() -> Path:
    """Return the folder of the pairs that ship with the program."""
    return Path(__file__).resolve().parent.parent / "assets" / "pairs"


def runs_folder() -> Path:
    """Return the folder that training writes to: CLLM_RUNS, else `runs` where the program was started."""
    return Path(os.environ.get("CLLM_RUNS") or "runs").expanduser()


def discover_pairs(folder: Path) -> dict[str, ModelPair]:
    """Return the trained pairs in a folder's subfolders, by name; a broken pair file is logged and left out."""
    found = {}
    for path in sorted(folder.glob(f"*/{PAIR_FILE}")):
        try:
            pair = read_pair(path.parent)
        except FormatError as error:
            log.warning("%s", error)
        else:
            found[pair.name] = pair
    return found


def all_pairs() -> dict[str, ModelPair]:
    """Return every pair on offer: those that ship in assets/pairs, PAIRS, then those of training; first name wins."""
    pairs = {**discover_pairs(assets_folder()), **PAIRS}
    for name, pair in discover_pairs(runs_folder()).items():
        pairs.setdefault(name, pair)
    return pairs


def find_pair(name: str) -> ModelPair:
    """Return a pair by its name; ModelNotFound names the nearest ones."""
    pairs = all_pairs()
    if name in pairs:
        return pairs[name]
    near = difflib.get_close_matches(name, pairs, n=2, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(pairs)}."
    raise ModelNotFound(f"There is no pair {name!r}: {hint}")


def pair_from_models(base: str, cllm: str | None = None, *, chat: bool = True) -> ModelPair:
    """Return a pair of any two models, each named as `ModelSource.parse` reads it.

    A CLLM that is an adapter's folder is that adapter on the base, whatever name its config has for it.
    """
    target = ModelSource.parse(base)
    consistency = _made_from(target, ModelSource.parse(cllm)) if cllm else None
    title = f"{target.title} and {consistency.title}" if consistency else target.title
    return ModelPair(name=title, title=title, base=target, cllm=consistency, chat=chat, examples=_EXAMPLES)


def _made_from(target: ModelSource, consistency: ModelSource) -> ModelSource:
    if consistency.kind != "folder" or not _is_adapter(consistency) or _is_adapter(target):
        return consistency
    return ModelSource(target.kind, target.where, target.revision, consistency.where)


def _is_adapter(source: ModelSource) -> bool:
    return source.kind == "folder" and is_adapter(Path(source.where))


def write_pair(folder: Path, pair: ModelPair) -> Path:
    """Write the pair file of a trained pair whose adapters, or tuned model, lie in `folder`; return its path."""
    data = {
        "version": PAIR_VERSION,
        "name": pair.name,
        "title": pair.title,
        "description": pair.description,
        "base": str(pair.base),
        "target_adapter": _inside(folder, pair.base.adapter),
        "cllm_adapter": _inside(folder, pair.cllm.adapter if pair.cllm else None),
        "cllm_model": _inside(folder, pair.cllm.where if pair.cllm and not pair.cllm.adapter else None),
        "chat": pair.chat,
        "template": pair.template,
        "examples": list(pair.examples),
        "decode": dict(pair.decode),
        "results": dict(pair.results),
    }
    path = folder / PAIR_FILE
    write_text(path, json.dumps(data, ensure_ascii=False, allow_nan=False, indent=2) + "\n")
    return path


def _inside(folder: Path, adapter: str | None) -> str | None:
    return None if adapter is None else Path(adapter).resolve().relative_to(folder.resolve()).as_posix()


def read_pair(folder: Path) -> ModelPair:
    """Read a trained pair's file; FormatError says what is wrong with it, NewerFormat that it is too new."""
    path = folder / PAIR_FILE
    try:
        data = parse_json(path.read_bytes())
        if data["version"] > PAIR_VERSION:
            raise NewerFormat(f"{path} was written by a newer version of this program: update it.")
        return _build_pair(folder.resolve(), data)
    except NewerFormat:
        raise
    except KeyError as error:
        raise FormatError(f"The pair file {path} is damaged: field {error} is missing.") from error
    except (OSError, TypeError, ValueError, AttributeError, ConfigError, ModelNotFound) as error:
        raise FormatError(f"The pair file {path} is damaged: {error}") from error


def _build_pair(folder: Path, data: Mapping[str, Any]) -> ModelPair:
    DecodeConfig(**data.get("decode", {}))  # checks names and bounds
    return ModelPair(
        name=_text(data, "name"),
        title=_text(data, "title"),
        base=_with_adapter(folder, data, "target_adapter"),
        cllm=_cllm(folder, data),
        description=_text(data, "description"),
        chat=bool(data["chat"]),
        template=_text(data, "template"),
        examples=tuple(str(example) for example in data["examples"]),
        decode=dict(data.get("decode", {})),
        results=dict(data.get("results", {})),
    )


def _cllm(folder: Path, data: Mapping[str, Any]) -> ModelSource | None:
    if data.get("cllm_model"):
        return ModelSource("folder", str(_place(folder, data, "cllm_model")))
    return _with_adapter(folder, data, "cllm_adapter") if data["cllm_adapter"] else None


def _with_adapter(folder: Path, data: Mapping[str, Any], key: str) -> ModelSource:
    base = ModelSource.parse(data["base"])
    if data[key] is None:
        return base
    return ModelSource(base.kind, base.where, base.revision, str(_place(folder, data, key)))


def _place(folder: Path, data: Mapping[str, Any], key: str) -> Path:
    place = (folder / str(data[key])).resolve()
    if not place.is_relative_to(folder) or not place.is_dir():
        raise ValueError(f"{key} names {data[key]!r}, which is not a folder beside it.")
    return place


def _text(data: Mapping[str, Any], key: str) -> str:
    if not isinstance(data[key], str):
        raise ValueError(f"{key} is not text.")
    return str(data[key])
