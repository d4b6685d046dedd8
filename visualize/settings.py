"""What the person who starts the app decides, read from the environment; nothing a visitor can change.

CLLM_HOST, CLLM_PORT      where to listen (default: this machine only, the first free port from 7860)
CLLM_DEVICE, CLLM_DTYPE   auto, cpu, cuda; auto, float32, bfloat16, float16 (default: auto)
CLLM_MAX_NEW_TOKENS       most tokens a run may ask for (default: 4096; 512 on a Space)
CLLM_MODELS               the only pairs and models that load: pair names, hub ids, folders; separated by commas.
                          Without it everything loads; on a Space (SPACE_ID is set) only pairs that need no GPU.
CLLM_ENABLE_TRAINING      1: visitors of a Space may train (default: not on a Space, yes elsewhere)
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from cllm_core.errors import ConfigError, ModelNotFound
from cllm_core.options import option_field
from cllm_core.pairs import ModelPair, ModelSource, all_pairs, pair_from_models
from cllm_core.train.jobs.folder import made_by
from cllm_core.types import DecodeConfig
from visualize.load import MOST_BYTES

_MOST_TOKENS = int(option_field(DecodeConfig, "max_new_tokens").metadata["maximum"])
_MOST_TOKENS_ON_A_SPACE = 512
_PUBLIC_UPLOAD = 5_000_000  # bytes: reading a large run takes the machine that others are measured on


@dataclass(frozen=True)
class AppSettings:
    """How the app is started."""

    host: str | None = None  # None: gradio's own choice, GRADIO_SERVER_NAME or this machine only
    port: int | None = None
    device: str = "auto"
    dtype: str = "auto"
    max_new_tokens: int = _MOST_TOKENS
    models: frozenset[str] | None = None  # None: no list
    public: bool = False  # a Space: strangers use it
    training: bool = True  # whether fine-tuning jobs may be started

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "AppSettings":
        """Read the settings; ConfigError names the variable that is wrong."""
        public = bool(environment.get("SPACE_ID"))
        most = _MOST_TOKENS_ON_A_SPACE if public else _MOST_TOKENS
        models = {name.strip() for name in environment.get("CLLM_MODELS", "").split(",")} - {""}
        if models:
            _check_names(models)
        return cls(
            host=environment.get("CLLM_HOST") or None,
            port=_number(environment, "CLLM_PORT", None, 65535),
            device=environment.get("CLLM_DEVICE") or "auto",
            dtype=environment.get("CLLM_DTYPE") or "auto",
            max_new_tokens=_number(environment, "CLLM_MAX_NEW_TOKENS", most, _MOST_TOKENS) or most,
            models=frozenset(models) if models else None,
            public=public,
            training=not public or environment.get("CLLM_ENABLE_TRAINING") == "1",
        )

    @property
    def upload_bytes(self) -> int:
        """The largest file that a visitor may open."""
        return _PUBLIC_UPLOAD if self.public else MOST_BYTES

    @property
    def own_models(self) -> bool:
        """Whether a visitor may name models of their own."""
        return not self.public if self.models is None else bool(self.models - set(all_pairs()))

    def pairs(self, owner: str | None = None) -> dict[str, ModelPair]:
        """Return the pairs to list, by name: discovered anew, so that a pair just trained is among them.

        On a public app nobody sees the pairs that another visitor trained: `owner` is who looks.
        """
        found = all_pairs()
        return {name: pair for name, pair in found.items() if self._offers(pair, found) and self._lists(name, owner)}

    def _offers(self, pair: ModelPair, found: Mapping[str, ModelPair]) -> bool:
        """Return whether one of the pairs found may be used: with a list of models, a trained one by its base."""
        if self.models is None:
            return not (self.public and pair.needs_gpu)
        if pair.name in self.models or made_by(pair.name) is None:
            return pair.name in self.models
        bases = {str(other.base) for name, other in found.items() if name in self.models}
        return str(pair.base) in self.models | bases

    def _lists(self, name: str, owner: str | None) -> bool:
        return not self.public or made_by(name) in (None, "", owner)

    def pair(self, name: str) -> ModelPair:
        """Return a pair on offer; ModelNotFound for any other. Who trained a pair, and only they, know its name."""
        found = all_pairs()
        pair = found.get(name)
        if pair is None or not self._offers(pair, found):
            raise ModelNotFound("This pair is not on offer here: choose one from the list.")
        return pair

    def own_pair(self, base: str, cllm: str) -> ModelPair:
        """Return the pair of a visitor's own models; ModelNotFound if one is missing or may not be loaded here."""
        base, cllm = base.strip(), cllm.strip()
        if not base:
            raise ModelNotFound("Name a base model: the path of its folder, or a hub id such as owner/name.")
        for text in filter(None, (base, cllm)):
            if not self.own_models or (self.models is not None and text not in self.models):
                raise ModelNotFound(
                    f"This app does not load {text}: choose one of the pairs on offer, or run the app at home, "
                    "where any model folder or hub id can be used."
                )
        return pair_from_models(base, cllm or None)


def _check_names(models: set[str]) -> None:
    """Raise ConfigError for a name that is neither a pair's nor a model's: it would only make the list shorter."""
    pairs = all_pairs()
    for name in sorted(models - set(pairs)):
        try:
            ModelSource.parse(name)
        except ModelNotFound as error:
            raise ConfigError(
                f"CLLM_MODELS names {name!r}, which is no pair ({', '.join(pairs)}), folder or hub id."
            ) from error


def _number(environment: Mapping[str, str], name: str, default: int | None, most: int) -> int | None:
    text = environment.get(name, "").strip()
    if not text:
        return default
    if not text.isdecimal() or not 1 <= int(text) <= most:
        raise ConfigError(f"{name} must be a whole number from 1 to {most}, not {text!r}.")
    return int(text)
