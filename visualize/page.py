"""The player's own files, and a complete offline page around one payload. Needs no gradio and no network."""

import base64
import hashlib
import html
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from visualize.view import PlayerProps

ASSETS = Path(__file__).resolve().parent.parent / "assets"

# One function scope, in this order: each file uses what the files before it define.
SCRIPTS = (
    "names",
    "tokens",
    "read",
    "clock",
    "cells",
    "dom",
    "grid",
    "lanes",
    "inspector",
    "controls",
    "collocations",
    "frame",
    "handle",
    "main",
)
STYLES = ("player", "player/collocations", "player/flags")


@cache
def player_script() -> str:
    """Return the player as one plain script: it defines `CllmPlayer.mount(root, props) -> Handle` (handle.js)."""
    sources = [(ASSETS / "player" / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS]
    return '(() => {\n"use strict";\n' + "\n".join(sources) + "})();\n"


@cache
def player_style() -> str:
    """Return the player's style sheet."""
    return "\n".join((ASSETS / f"{name}.css").read_text(encoding="utf-8") for name in STYLES)


def payload_json(props: Mapping[str, Any]) -> str:
    """Return the payload as JSON that is safe inside a script element and inside a JavaScript string.

    `<` is escaped, so neither `</script` nor `<!--` can occur; U+2028 and U+2029 are, for older engines. Strict
    JSON: a number that is not finite raises ValueError.
    """
    text = json.dumps(props, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")  # half a surrogate pair stays a JSON escape
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def standalone_page(props: PlayerProps, title: str) -> str:
    """Return one complete HTML document that plays `props` offline, from a file."""
    if props.get("title") == title:
        props = {**props, "title": ""}  # the page's heading says it already
    start = 'CllmPlayer.mount(document.getElementById("player"), document.getElementById("props").textContent);\n'
    return offline_page(title, payload_json(props), player_script() + start, player_style(), "player")


def offline_page(title: str, payload: str, script: str, style: str, root: str) -> str:
    """Return a document whose script fills the element `root` from `#props`, JSON made by `payload_json`.

    Its content policy forbids every request, and every script and style but the page's own.
    """
    policy = f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data:; base-uri 'none'"
    name = html.escape(title)
    return f"""<!doctype html>
<html lang="en" class="cllm-page">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{name}</title>
<style>{style}</style>
</head>
<body>
<main>
<h1>{name}</h1>
<div id="{root}"></div>
</main>
<script type="application/json" id="props">{payload}</script>
<script>{script}</script>
</body>
</html>
"""


def _hash(source: str) -> str:
    digest = hashlib.sha256(source.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
