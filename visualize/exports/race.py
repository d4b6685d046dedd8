"""One moment of the race of a run's lanes: for each the text as it stands, its guesses by class, and its counters.

A frame of an animation; knows the clock's reading, not how frames are strung together.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from PIL import Image

from cllm_core.annotate import annotate
from cllm_core.types import Trajectory
from visualize.classes import CLASS_STYLES, VIEW_CLASSES
from visualize.exports.canvas import Canvas
from visualize.exports.drawing import columns_of, fitted
from visualize.exports.fonts import BUNDLED, Fonts, face
from visualize.exports.options import ExportOptions
from visualize.exports.text_lines import Span, broken, readable
from visualize.labels import one_line, piece_label
from visualize.themes import THEMES, Theme
from visualize.view import LANE_LABELS

PASSES_PER_SECOND = 5  # of the pass clock at speed 1
COLUMNS, LINES = 100, 12  # of a lane's text; a longer text scrolls
FONT, LINE = 13, 21
MARGIN, PADDING = 20, 10
HEADING, ABOVE, BELOW, LEGEND = 38, 44, 8, 40  # pixels: title; a lane's name; its progress; the classes


@dataclass(frozen=True)
class Racer:
    """A lane on the clock: `ends[t]` is when pass t + 1 ends, in seconds of the animation."""

    key: str
    trajectory: Trajectory
    classes: tuple[tuple[str, ...], ...]
    ends: tuple[float, ...]
    lines: int  # that its text has room for

    def passes_at(self, seconds: float) -> int:
        """Return how many passes have ended by then."""
        return bisect_right(self.ends, seconds)

    @property
    def height(self) -> int:
        return self.lines * LINE + 2 * PADDING - 4


def line_up(lanes: Mapping[str, Trajectory], options: ExportOptions, fonts: Fonts) -> list[Racer]:
    """Return the lanes on the clock that the options name."""
    racers = []
    for key, trajectory in lanes.items():
        steps = trajectory.steps[: options.passes or None]
        times = [step.seconds if options.clock == "time" else 1 / PASSES_PER_SECOND for step in steps]
        lines = len(broken([Span(readable(trajectory.text, fonts.legible))], COLUMNS))
        racers.append(
            Racer(
                key,
                trajectory,
                getattr(annotate(trajectory), options.view),
                tuple(accumulate(time / options.speed for time in times)),
                min(LINES, lines + 1),
            )
        )
    return racers


class Race:
    """Draws the lanes of a run side by side at any reading of the clock, always in the same size."""

    def __init__(self, lanes: Mapping[str, Trajectory], options: ExportOptions) -> None:
        self.fonts = Fonts(options.font)
        self.racers = line_up(lanes, options, self.fonts)
        self.options = options
        self.theme = THEMES[options.theme]
        self.column = face(str(BUNDLED), FONT).getlength("m")
        self.width = round(2 * (MARGIN + PADDING) + COLUMNS * self.column)
        self.height = HEADING + sum(ABOVE + racer.height + BELOW for racer in self.racers) + LEGEND

    def at(self, seconds: float) -> Image.Image:
        """Return the frame at that reading of the clock."""
        canvas = Canvas(self.width, self.height, self.theme.ground, self.fonts)
        title = fitted(self.fonts.legible(one_line(self.options.title) or "Decoding, pass by pass"), 60)
        canvas.text(MARGIN, MARGIN + 14, title, self.theme.ink, 17)
        clock = {"time": "measured time", "pass": "by pass"}[self.options.clock]
        speed = "" if self.options.speed == 1 else f", {self.options.speed:g} times as fast"
        self._right(canvas, MARGIN + 14, clock + speed, self.theme.muted)
        y = HEADING
        for racer in self.racers:
            self._lane(canvas, racer, racer.passes_at(seconds), y)
            y += ABOVE + racer.height + BELOW
        self._legend(canvas, y + 24)
        return canvas.image

    def _right(self, canvas: Canvas, y: float, text: str, colour: str) -> None:
        canvas.text(self.width - MARGIN - face(str(BUNDLED), 12).getlength(text), y, text, colour)

    def _lane(self, canvas: Canvas, racer: Racer, passes: int, y: int) -> None:
        theme, trajectory = self.theme, racer.trajectory
        ended = passes == len(trajectory.steps)
        label = self.fonts.legible(one_line(LANE_LABELS.get(racer.key, racer.key), 40))
        canvas.text(MARGIN, y + 30, label, theme.ink, 14)
        fixed = trajectory.steps[passes - 1].fixed if passes else 0
        spent = sum(step.seconds for step in trajectory.steps[:passes])
        state = ("  stopped" if trajectory.partial else "  ✓") if ended else ""
        counters = f"pass {passes}   {fixed} tokens   {spent:.2f} s{state}"
        self._right(canvas, y + 30, counters, theme.ink if ended else theme.muted)
        width, top = self.width - 2 * MARGIN, y + ABOVE - 4
        canvas.box(MARGIN, top, width, racer.height, theme.earlier, theme.line)
        share = fixed / len(trajectory.ids) if trajectory.ids else 0
        canvas.box(MARGIN, top + racer.height + 3, share * width, 4, theme.settled.edge)
        lines = broken(self._spans(racer, passes), COLUMNS)[-racer.lines :]
        for number, line in enumerate(lines):
            self._line(canvas, line, top + PADDING + number * LINE)

    def _spans(self, racer: Racer, passes: int) -> Iterator[Span]:
        """Yield the fixed text, then the guesses after that many passes: none once the answer has ended."""
        if not passes:
            return
        trajectory = racer.trajectory
        step, names = trajectory.steps[passes - 1], racer.classes[passes - 1]
        yield Span(readable(trajectory.text_of(trajectory.ids[: step.fixed]), self.fonts.legible))
        if passes == len(trajectory.steps) and not trajectory.partial:
            return
        for column in range(step.fixed - step.start, len(step.state)):
            label = piece_label(trajectory.pieces.get(step.state[column], b""), 24)
            yield Span(self.fonts.legible(label), names[column])

    def _line(self, canvas: Canvas, line: Sequence[Span], y: float) -> None:
        x = float(MARGIN + PADDING)
        for span in line:
            width = columns_of(span.text) * self.column
            if span.name:
                self._guess(canvas, span.name, x, y, width)
            canvas.text(x, y + 13, span.text, self.theme.ink, FONT)
            x += width

    def _guess(self, canvas: Canvas, name: str, x: float, y: float, width: float) -> None:
        ink = self.theme.of(name)
        canvas.box(x, y, width - 1, LINE - 4, ink.tint)
        canvas.rule(x + 1, y + LINE - 5, width - 3, ink.edge, CLASS_STYLES[name].edge)

    def _legend(self, canvas: Canvas, y: float) -> None:
        """Name the classes that a guess can have here."""
        drawn = {name for racer in self.racers for row in racer.classes for name in row}
        x = float(MARGIN)
        for name in VIEW_CLASSES[self.options.view]:
            if name in drawn - {"settled", "fixed"}:
                label = f"{CLASS_STYLES[name].glyph} {CLASS_STYLES[name].label}"
                self._guess(canvas, name, x - 3, y - 14, columns_of(label) * self.column + 6)
                x = canvas.text(x, y, label, self.theme.ink, FONT) + 24


def palette(theme: Theme) -> Image.Image:
    """Return an image whose palette holds a theme's colours, and the blends between its texts and their grounds."""
    inks = [theme.settled, theme.fast_forwarded, theme.stationary, theme.transient, theme.wrong]
    grounds = [theme.ground, theme.earlier, *(ink.tint for ink in inks)]
    colours = [*grounds, theme.line, *(ink.edge for ink in inks)]
    colours += [
        _blend(ground, text, step / 6)
        for ground in grounds
        for text in (theme.ink, theme.muted)
        for step in range(1, 7)
    ]
    unique = list(dict.fromkeys(_rgb(colour) for colour in colours))
    image = Image.new("P", (1, 1))
    image.putpalette([channel for colour in unique for channel in colour])
    return image


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _blend(first: str, second: str, share: float) -> str:
    mixed = (round(a + (b - a) * share) for a, b in zip(_rgb(first), _rgb(second), strict=True))
    return "#" + "".join(f"{channel:02x}" for channel in mixed)
