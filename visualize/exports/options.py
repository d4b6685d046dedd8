"""What a person may choose about an export, declared once for the command line and the app."""

from dataclasses import dataclass

from cllm_core.options import option, validate

VIEWS = ("hindsight", "known")
THEMES = ("light", "dark", "print")


@dataclass(frozen=True)
class ExportOptions:
    """How to draw an export. Data formats (JSON, CSV) always hold everything and need none of it."""

    title: str = option("", "Title of the page or picture (default: one that names the run).", label="Title")
    view: str = option(
        "hindsight",
        "hindsight: classes against the final output; known: what the decoder knew then.",
        choices=VIEWS,
        label="View",
    )
    theme: str = option("light", "Colours of a picture; print is dark on white.", choices=THEMES, label="Theme")

    def __post_init__(self) -> None:
        validate(self)
