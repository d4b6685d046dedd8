"""The bytes of single tokens, so that token texts join to exactly the full text. Needs a tokenizer, not torch.

A tokenizer's `decode` of one id loses leading spaces and breaks characters that span tokens; the bytes behind each
token do not.
"""

import json
import re
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

_BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")


def piece_table(tokenizer: Any) -> Callable[[int], bytes]:
    """Return a function from token id to its bytes. An id that the tokenizer does not know gives b""."""
    to_bytes = _plain_token_bytes(tokenizer)
    entries = {token: text for text, token in tokenizer.get_vocab().items()}
    decoded = to_bytes is _sentencepiece and hasattr(tokenizer, "backend_tokenizer")  # its marks are spaces everywhere
    added = {
        token: str(content)
        for token, content in tokenizer.added_tokens_decoder.items()
        if content.special or not decoded
    }

    @cache
    def piece(token: int) -> bytes:
        if token in added:
            return added[token].encode("utf-8")
        return to_bytes(entries[token]) if token in entries else b""

    return piece


def _plain_token_bytes(tokenizer: Any) -> Callable[[str], bytes]:
    """Return the function from a vocabulary entry to its bytes, by the kind of the tokenizer's decoder."""
    kinds = set(re.findall(r'"type":\s*"(\w+)"', _decoder_json(tokenizer)))
    if "ByteLevel" in kinds:
        return _byte_level
    if kinds & {"Metaspace", "ByteFallback", "Replace"} or not hasattr(tokenizer, "backend_tokenizer"):
        return _sentencepiece
    return lambda text: text.encode("utf-8")


def _decoder_json(tokenizer: Any) -> str:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return ""
    return json.dumps(json.loads(backend.to_str()).get("decoder"))


def _sentencepiece(text: str) -> bytes:
    byte = _BYTE_TOKEN.fullmatch(text)
    return bytes([int(byte[1], 16)]) if byte else text.replace("\u2581", " ").encode("utf-8")


def _byte_level(text: str) -> bytes:
    table = _byte_of_character()
    if all(character in table for character in text):
        return bytes(table[character] for character in text)
    return text.encode("utf-8")


@lru_cache(maxsize=1)
def _byte_of_character() -> dict[str, int]:
    """Return the byte that each character of a byte-level vocabulary stands for (the GPT-2 table).

    Printable Latin-1 characters stand for themselves; the other bytes, in order, for U+0100 and up.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in set(printable)]
    table = {chr(byte): byte for byte in printable}
    table.update({chr(0x100 + number): byte for number, byte in enumerate(others)})
    return table
