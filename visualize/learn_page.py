"""The Learn tab's own files, and the whole of it as one page that works offline. Needs no gradio."""

from functools import cache

from visualize.lessons import LearnProps
from visualize.page import ASSETS, offline_page, payload_json, player_script, player_style

# One function scope, in this order; the helpers that make elements are the player's.
SCRIPTS = ("player/dom", "learn/text", "learn/lesson", "learn/predict", "learn/questions", "learn/book")


@cache
def learn_script() -> str:
    """Return the lessons as one plain script: it defines `CllmLessons.mount(root, props)`, and needs the player's."""
    sources = [(ASSETS / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS]
    return '(() => {\n"use strict";\n' + "\n".join(sources) + "})();\n"


@cache
def learn_style() -> str:
    """Return the style sheet of the lessons."""
    return (ASSETS / "learn" / "learn.css").read_text(encoding="utf-8")


def learn_page(props: LearnProps, title: str = "How many tokens at once?") -> str:
    """Return the lessons as one complete HTML document for a static host or a file."""
    start = 'CllmLessons.mount(document.getElementById("learn"), document.getElementById("props").textContent);\n'
    return offline_page(
        title, payload_json(props), player_script() + learn_script() + start, player_style() + learn_style(), "learn"
    )
