"""What a person may choose about an export, declared once for the command line and the app."""

from dataclasses import dataclass

from cllm_core.options import option, validate

VIEWS = ("hindsight", "known")
THEMES = ("light", "dark", "print")
CLOCKS = ("time", "pass")


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
    lane: str = option("", "Save this lane alone (default: all).", label="Lane")
    passes: int = option(
        0, "Draw only the first passes (0: all).", minimum=0, maximum=1_000_000, step=1, label="Passes"
    )
    theme: str = option("light", "Colours of a picture; print is dark on white.", choices=THEMES, label="Theme")
    clock: str = option(
        "time",
        "Pace of an animation: the measured time, or the same time for every pass.",
        choices=CLOCKS,
        label="Clock",
    )
    speed: float = option(1.0, "How many times faster an animation plays.", minimum=0.1, maximum=16, label="Speed")
    font: str = option("", "Font file for characters of pictures that the bundled font lacks.", label="Font file")

    def __post_init__(self) -> None:
        validate(self)
