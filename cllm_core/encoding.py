"""Prompts to ids: plain text, or chat messages through the tokenizer's template. Needs a tokenizer, not torch."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cllm_core.errors import PromptError


@dataclass(frozen=True)
class EncodedPrompt:
    """A prompt as the model sees it."""

    text: str  # the prompt as typed, or the last user message of a chat
    ids: tuple[int, ...]
    notes: tuple[str, ...] = ()


def encode(tokenizer: Any, prompt: str | Sequence[Mapping[str, str]], *, chat: bool = True) -> EncodedPrompt:
    """Turn text or chat messages into ids with exactly one beginning-of-sequence token (where the model has one)."""
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else [dict(m) for m in prompt]
    _check_messages(messages)
    shown = messages[-1]["content"]
    if chat and getattr(tokenizer, "chat_template", None):
        text, notes = _apply_template(tokenizer, messages)
        return EncodedPrompt(shown, _ids(tokenizer, text, special=False), notes)
    raw = shown if len(messages) == 1 else "\n\n".join(message["content"] for message in messages)
    notes = ("The model has no chat template: the prompt is fed as it is.",) if chat else ()
    return EncodedPrompt(shown, _ids(tokenizer, raw, special=True), notes)


def _check_messages(messages: list[dict[str, str]]) -> None:
    if any(not isinstance(message.get(key), str) for message in messages for key in ("role", "content")):
        raise PromptError("Every chat message needs a role and a content, both text.")
    if not messages or not messages[-1]["content"]:
        raise PromptError("The prompt is empty: type some text to continue from.")
    try:
        "".join(message["content"] for message in messages).encode("utf-8")
    except UnicodeEncodeError as error:  # a terminal passes bytes that are no text on as lone surrogates
        raise PromptError("The prompt holds bytes that are not UTF-8 text: type or save it as UTF-8.") from error


def _ids(tokenizer: Any, text: str, *, special: bool) -> tuple[int, ...]:
    ids = tuple(tokenizer(text, add_special_tokens=special)["input_ids"])
    bos = tokenizer.bos_token_id
    while bos is not None and ids[:2] == (bos, bos):  # written in the text and added by the tokenizer
        ids = ids[1:]
    if not ids:
        raise PromptError("The prompt is empty for this model's tokenizer: type some text to continue from.")
    return ids


def _apply_template(tokenizer: Any, messages: list[dict[str, str]]) -> tuple[str, tuple[str, ...]]:
    from jinja2.exceptions import TemplateError

    def render(chat: list[dict[str, str]]) -> str:
        return str(tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False))

    try:
        return render(messages), ()
    except TemplateError as error:
        refused = PromptError(f"The model's chat template refuses these messages: {error}")
        if messages[0]["role"] != "system" or len(messages) < 2:
            raise refused from error
    system, first, *rest = messages
    merged = {"role": first["role"], "content": f"{system['content']}\n\n{first['content']}"}
    note = "The model's chat template takes no system role: the system message leads the first message."
    try:
        return render([merged, *rest]), (note,)
    except TemplateError as error:
        raise refused from error


def tokenizer_checksum(tokenizer: Any) -> str:
    """Return a short checksum of the vocabulary: equal for tokenizers that share their ids."""
    vocabulary = json.dumps(sorted(tokenizer.get_vocab().items(), key=lambda entry: entry[1]))
    return hashlib.sha256(vocabulary.encode("utf-8")).hexdigest()[:16]
