"""The race of a run's lanes as an animated GIF: measured time or one beat a pass, few frames, the last one always."""

import io
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from PIL import Image

from cllm_core.errors import ExportError
from cllm_core.types import Trajectory
from visualize.exports.options import ExportOptions
from visualize.exports.race import Race, Racer, palette

MOST_FRAMES = 200  # passes closer together than this allows share a frame
SHORTEST = 0.04  # seconds a frame: browsers slow down faster ones
LONGEST = 655.0  # seconds: a GIF counts them in hundredths, in two bytes
HOLD_FIRST, HOLD_LAST = 0.6, 3.0  # seconds


def export_gif(lanes: Mapping[str, Trajectory], options: ExportOptions) -> bytes:
    """Return the animation. It plays for ever, and rests on its last frame."""
    race = Race(lanes, options)
    times = frame_times(race.racers)
    waits = [later - time for time, later in pairwise(times[1:])]
    first = max([HOLD_FIRST, *times[1:2]])  # what is seen until the first pass ends
    durations = [first, *waits, HOLD_LAST][-len(times) :]
    if max(durations) > LONGEST:
        raise ExportError(
            f"A pass would last {max(durations):,.0f} s in this animation, and a GIF shows a picture for at most "
            f"{LONGEST:.0f} s: choose a higher speed, or the clock by pass."
        )
    colours = palette(race.theme)
    frames = (race.at(time).quantize(palette=colours, dither=Image.Dither.NONE) for time in times)
    return _encode(frames, durations)


def frame_times(racers: Iterable[Racer]) -> list[float]:
    """Return the readings of the clock that get a frame: the start, then the last end of a pass in each beat."""
    ends = sorted({end for racer in racers for end in racer.ends})
    beat = max(SHORTEST, ends[-1] / MOST_FRAMES) if ends else SHORTEST
    last_of_beat = {int(end / beat): end for end in ends}
    return [0.0, *last_of_beat.values()]


def _encode(frames: Iterable[Image.Image], durations: Sequence[float]) -> bytes:
    buffer = io.BytesIO()
    first, *others = frames
    milliseconds = [max(20, round(100 * seconds) * 10) for seconds in durations]  # GIF counts in hundredths
    first.save(buffer, "GIF", save_all=True, append_images=others, duration=milliseconds, loop=0, optimize=False)
    return buffer.getvalue()
