"""A link that restores what is on the page: prompt, pair, settings, and the place in the run. It carries nothing else.

A link comes from anyone: it is read field by field against what may be there, and its text is only ever text.
"""

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cllm_core.compare import LANES
from cllm_core.errors import ConfigError, FormatError
from cllm_core.io import parse_json
from cllm_core.options import option_fields
from cllm_core.pairs import ModelPair, adapter_title
from cllm_core.types import DecodeConfig, Trajectory
from visualize.view import CLOCKS, VIEWS, OpenProps

PARAMETER = "share"  # of the page's address
VERSION = 1
MOST_PROMPT = 2_000  # characters; a longer one does not fit into every browser's address line
MOST_LINK = 4 * MOST_PROMPT * 4 // 3 + 2_000  # characters: four bytes each, as base64, and room for the rest
SETTINGS = tuple(each.name for each in option_fields(DecodeConfig) if each.name != "decoder")

_FIELDS = {"v", "prompt", "pair", "set", "cllm_ar", "lane", "pass", "view", "clock"}
_PAIR = re.compile(r"[\w.-]{0,80}")
_MOST_PASSES = 100_000
_REFUSED = "This link cannot be opened: it is damaged, or was changed on its way. Ask for it again, or start afresh."


@dataclass(frozen=True)
class Shared:
    """What a link carries."""

    prompt: str
    pair: str = ""  # its name; "" where it was the visitor's own models: a link names no folder
    config: DecodeConfig = field(default_factory=DecodeConfig)
    cllm_ar: bool = False  # whether the CLLM runs one token at a time, too
    place: OpenProps = field(default_factory=OpenProps)  # where the player stands


def to_query(shared: Shared) -> str:
    """Return the part of the address after the `?`; ConfigError for a prompt that is too long for a link."""
    if len(shared.prompt) > MOST_PROMPT:
        raise ConfigError(
            f"The prompt has {len(shared.prompt):,} characters and a link holds up to {MOST_PROMPT:,}: "
            "save the run as JSON instead."
        )
    plain = DecodeConfig()
    values: dict[str, Any] = {"v": VERSION, "prompt": shared.prompt, "pair": shared.pair, **shared.place}
    changed = {name: getattr(shared.config, name) for name in SETTINGS}
    values["set"] = {name: value for name, value in changed.items() if value != getattr(plain, name)}
    if shared.cllm_ar:
        values["cllm_ar"] = True
    text = json.dumps(values, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        return f"{PARAMETER}={base64.urlsafe_b64encode(text.encode()).decode().rstrip('=')}"
    except UnicodeEncodeError as error:
        raise ConfigError("The prompt holds half a character, which a link cannot carry: delete it.") from error


def from_query(text: str) -> Shared:
    """Read the value of the parameter; FormatError, a sentence for the visitor, for whatever is no link of ours."""
    try:
        return _checked(parse_json(_bytes(text)))
    except (binascii.Error, FormatError, ConfigError, KeyError, TypeError, ValueError) as error:
        raise FormatError(_REFUSED) from error


def _bytes(text: str) -> bytes:
    if len(text) > MOST_LINK:
        raise ValueError("too long")
    return base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)


def _checked(data: Any) -> Shared:
    if not isinstance(data, Mapping) or set(data) - _FIELDS or data["v"] != VERSION:
        raise ValueError("not a link of this version")
    prompt, pair, settings = data["prompt"], data["pair"], data["set"]
    if not isinstance(prompt, str) or len(prompt) > MOST_PROMPT or not isinstance(settings, Mapping):
        raise ValueError("no prompt")
    prompt.encode("utf-8")  # half a character raises UnicodeEncodeError, a ValueError
    if not isinstance(pair, str) or not _PAIR.fullmatch(pair) or set(settings) - set(SETTINGS):
        raise ValueError("no pair or settings")
    return Shared(prompt, pair, DecodeConfig(**settings), data.get("cllm_ar", False) is True, _place(data))


def _place(data: Mapping[str, Any]) -> OpenProps:
    place: OpenProps = {}
    if "lane" in data:
        place["lane"] = _one_of(data["lane"], tuple(LANES))
    if "view" in data:
        place["view"] = _one_of(data["view"], VIEWS)
    if "clock" in data:
        place["clock"] = _one_of(data["clock"], CLOCKS)
    if "pass" in data:
        number = data["pass"]
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= _MOST_PASSES:
            raise ValueError("no pass")
        place["pass"] = number
    return place


def _one_of(value: Any, choices: tuple[str, ...]) -> str:
    if value not in choices:
        raise ValueError(f"none of {choices}")
    return str(value)


def place_from_player(text: Any, key: str) -> OpenProps:
    """Return where the player stands, as the page tells it (JSON); what is odd in it is left out.

    Nothing is left where the player shows a run with another key than the one given.
    """
    try:
        state = parse_json(text) if isinstance(text, str) else None
    except FormatError:
        state = None
    if not key or not isinstance(state, Mapping) or state.get("asked") != key:
        return {}
    kept: OpenProps = {}
    for name in ("lane", "pass", "view", "clock"):
        try:
            kept.update(_place({name: state[name]}))
        except (KeyError, TypeError, ValueError):
            continue
    return kept


def key_of_form(pair: ModelPair, prompt: str, config: DecodeConfig) -> str:
    """Return what tells the run that a form asks for from others: its prompt, its adapters, its settings."""
    sources = {"base": pair.base, "cllm": pair.cllm}
    adapters = {side: adapter_title(source.adapter or "") for side, source in sources.items() if source}
    return _key(pair.wrap(prompt), adapters, config)


def key_of_run(lanes: Mapping[str, Trajectory]) -> str:
    """Return the same of a run that was decoded; empty where it is none that a form could ask for."""
    parallel = [trajectory for trajectory in lanes.values() if trajectory.config.decoder != "autoregressive"]
    if not parallel or not lanes.keys() <= LANES.keys():
        return ""
    adapters = {LANES[key].side: trajectory.model.adapter for key, trajectory in lanes.items()}
    return _key(parallel[0].prompt, adapters, parallel[0].config)


def _key(prompt: str, adapters: Mapping[str, str], config: DecodeConfig) -> str:
    settings = {name: getattr(config, name) for name in SETTINGS if name != "top_k"}  # it says what is recorded
    text = json.dumps([prompt, adapters, settings], sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:16]


def shows(shared: Shared, pair: ModelPair, lanes: Mapping[str, Trajectory]) -> bool:
    """Whether recorded lanes are the run that a link is about: its pair, its prompt, decoded with its settings."""
    return key_of_run(lanes) == key_of_form(pair, shared.prompt, shared.config)
