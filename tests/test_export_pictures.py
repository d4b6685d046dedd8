"""SVG, PNG and GIF are opened again, and hold every token and class of the run; long runs are cut and say so."""

import io
from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree

import pytest
import run_examples
import worked_example
from PIL import Image, ImageChops

from cllm_core.errors import ExportError
from cllm_core.types import ModelInfo
from visualize.classes import CLASS_STYLES
from visualize.export import ExportOptions, export
from visualize.exports.drawing import columns_of, fitted
from visualize.exports.fonts import BUNDLED, Fonts
from visualize.exports.gif import MOST_FRAMES, frame_times
from visualize.exports.layout import bands
from visualize.exports.race import Race, palette
from visualize.exports.raster import MOST_PIXELS
from visualize.exports.text_lines import Span, broken, readable
from visualize.labels import piece_label
from visualize.themes import THEMES

SVG = "{http://www.w3.org/2000/svg}"
LINK = "{http://www.w3.org/1999/xlink}href"
NASTY = {"base_ar": run_examples.nasty()}


def svg(lanes, **options):
    return ElementTree.fromstring(export(lanes, "svg", ExportOptions(**options)))


def texts(root):
    """Return what a reader of the picture can read: the lines of text, tooltips included."""
    return ["".join(element.itertext()) for element in root.iter(f"{SVG}text")]


def placed(root):
    """Return the class of each cell in the order of drawing; the legend comes first."""
    return [element.get(LINK).removeprefix("#") for element in root.iter(f"{SVG}use")]


# SVG


@pytest.mark.parametrize("theme", THEMES)
def test_svg_holds_the_classes_of_the_worked_example(theme):
    root = svg({"base_jacobi": worked_example.trajectory()}, theme=theme)
    legend = ["settled", "fast_forwarded", "stationary", "transient", "wrong"]
    assert placed(root) == [
        *legend,
        *("settled", "wrong", "stationary", "wrong", "wrong", "transient"),
        *("settled", "fast_forwarded", "wrong", "stationary", "wrong"),
        *("settled", "settled", "fast_forwarded", "fast_forwarded"),
        *("settled", "settled"),
    ]
    assert root.find(f"{SVG}rect").get("fill") == THEMES[theme].ground


def test_svg_view_known_shows_what_the_decoder_knew():
    cells = placed(svg({"base_jacobi": worked_example.trajectory()}, view="known"))
    assert set(cells) == {"fixed", "draft"}
    assert cells[2:8] == ["fixed", *["draft"] * 5]


def test_svg_tells_classes_by_glyph_and_edge_as_well_as_colour():
    root = svg({"base_jacobi": worked_example.trajectory()})
    looks = set()
    for cell in root.find(f"{SVG}defs"):
        glyph = cell.find(f"{SVG}text").text
        lines = [(path.get("stroke-width"), path.get("stroke-dasharray")) for path in cell.iter(f"{SVG}path")]
        assert glyph == CLASS_STYLES[cell.get("id")].glyph
        looks.add(tuple(lines))
    assert len(looks) == 5


def test_svg_shows_every_nasty_token_and_stays_well_formed():
    """Control characters are not allowed in XML at all, and markup in a token must not become an element."""
    root = svg(NASTY, title="<b>&\x00", lane="base_ar")
    shown = "\n".join(texts(root))
    for piece in run_examples.NASTY_PIECES:
        assert piece_label(piece) in shown
    known = {"svg", "title", "defs", "rect", "g", "path", "text", "use"}
    assert {element.tag.removeprefix(SVG) for element in root.iter()} == known


def test_svg_of_a_model_with_a_strange_name_is_well_formed():
    trajectory = worked_example.trajectory()
    model = replace(trajectory.model, name="a\u0001", dtype="b\u0001", device="c\u0001", device_name="d\u0001")
    ElementTree.fromstring(export({"base_jacobi": replace(trajectory, model=model)}, "svg"))


def test_svg_keeps_the_whole_of_a_token_too_long_for_its_cell():
    long = b"an_identifier_that_is_far_too_long_for_a_cell"
    root = svg({"base_ar": run_examples.autoregressive([b"a"] * 20 + [long])})
    short = next(element for element in root.iter(f"{SVG}text") if (element.text or "").startswith("an_"))
    assert short.text.endswith("…")
    assert short.find(f"{SVG}title").text == long.decode()


def test_svg_frontier_is_a_staircase_of_the_fixed_frontier():
    root = svg({"base_jacobi": worked_example.trajectory()})
    path = next(element for element in root.iter(f"{SVG}path") if element.get("fill") == "none").get("d")
    steps = [float(part.split("V")[0]) for part in path.split("H")[1:]]
    widths = [later - earlier for earlier, later in pairwise(steps)]
    assert len(steps) == 4
    assert widths == pytest.approx([widths[0], 2 * widths[0], 2 * widths[0]], abs=0.3)  # f: 1, 2, 4, 6


def test_svg_names_model_decoder_counts_and_partial_runs():
    trajectory = worked_example.trajectory(model=ModelInfo(name="</text>"), finish="stopped")
    lines = texts(svg({"base_jacobi": trajectory}))
    assert "</text>, jacobi, n = 6, float32 on cpu" in lines
    assert "6 tokens in 4 passes (1.50 a pass), 0.04 s" in lines
    assert "Stopped before its end: this run is partial." in lines


def test_svg_can_be_cut_to_its_first_passes_and_says_so():
    root = svg({"base_jacobi": worked_example.trajectory()}, passes=2)
    assert "The first 2 of 4 passes are drawn." in texts(root)
    assert len(placed(root)) == 5 + 6 + 5


def test_svg_of_512_passes_stays_small():
    assert len(export({"base_jacobi": run_examples.never_early(512)}, "svg")) < 1_000_000


def test_bands_are_blocks_and_reach_the_token_after():
    run = run_examples.scripted("a b c d e f g h i j k l", easy=1.0, block_size=4)
    layout = bands(run, len(run.steps))
    assert [band.first for band in layout] == [0, 4, 8]
    assert [number for band in layout for number in band.passes] == list(range(1, len(run.steps) + 1))
    for band in layout:
        for number in band.passes:
            step = run.steps[number - 1]
            assert band.first <= step.start
            assert step.start + len(step.state) <= band.end


# PNG


def picture(data):
    image = Image.open(io.BytesIO(data))
    image.load()
    return image


@pytest.mark.parametrize("theme", THEMES)
def test_png_is_the_svg_in_pixels(theme):
    lanes = {"base_jacobi": worked_example.trajectory()}
    image = picture(export(lanes, "png", ExportOptions(theme=theme))).convert("RGB")
    root = svg(lanes, theme=theme)
    assert image.size == tuple(pytest.approx(2 * float(root.get(side)), abs=1) for side in ("width", "height"))
    assert "#{:02x}{:02x}{:02x}".format(*image.getpixel((2, 2))) == THEMES[theme].ground
    assert len(image.getcolors(1_000_000)) > 50


def test_png_names_characters_that_the_font_lacks():
    fonts = Fonts()
    assert fonts.legible("aé✓») ␣⏎") == "aé✓») ␣⏎"
    assert fonts.legible("日␀") == "⟨U+65E5⟩⟨U+2400⟩"
    assert all(piece_label(piece).isascii() or fonts.legible(piece_label(piece)) for piece in run_examples.NASTY_PIECES)


def test_second_font_draws_what_the_bundled_one_lacks():
    fonts = Fonts(str(BUNDLED))
    assert fonts.files == [str(BUNDLED)] * 2
    assert "".join(part for _, part in fonts.parts("aé日", 12)) == "aé日"
    with pytest.raises(ExportError, match="not a font"):
        export(NASTY, "png", ExportOptions(font=__file__))


@pytest.mark.slow
def test_png_of_a_run_too_large_is_cut():
    run = run_examples.never_early(512)
    image = picture(export({"base_jacobi": run, "cllm_jacobi": run}, "png"))
    assert image.width * image.height <= MOST_PIXELS
    assert image.height > 10_000


def test_png_cut_is_written_into_the_picture(monkeypatch):
    monkeypatch.setattr("visualize.exports.raster.MOST_PIXELS", 300_000)
    drawn = []
    monkeypatch.setattr(
        "visualize.exports.raster.render_png", lambda drawing, fonts, scale: drawn.append(drawing) or b""
    )
    export({"base_jacobi": run_examples.never_early(64)}, "png")
    lines = texts(ElementTree.fromstring(drawn[0].to_bytes()))
    assert [line for line in lines if line.startswith("The first ") and line.endswith(" of 64 passes are drawn.")]
    assert drawn[0].area <= 300_000


# GIF


def frames(data):
    image = Image.open(io.BytesIO(data))
    pictures, durations = [], []
    for number in range(image.n_frames):
        image.seek(number)
        pictures.append(image.convert("RGB"))
        durations.append(image.info["duration"])
    return pictures, durations


def same(first, second):
    return ImageChops.difference(first, second).getbbox() is None


def test_gif_plays_every_pass_on_the_measured_clock():
    lanes = {"base_jacobi": worked_example.trajectory(steps=tuple(worked_example.step(*row, 0.25) for row in ROWS))}
    pictures, durations = frames(export(lanes, "gif"))
    assert durations == [600, 250, 250, 250, 3000]
    assert not any(same(first, second) for first, second in pairwise(pictures))


def test_gif_shows_the_first_pass_as_long_as_it_took():
    """The prefill is a pass like any other: the race began only after it."""
    lanes = {"base_jacobi": worked_example.trajectory(steps=tuple(worked_example.step(*row, 2.0) for row in ROWS))}
    assert frames(export(lanes, "gif"))[1] == [2000, 2000, 2000, 2000, 3000]


def test_gif_that_would_last_too_long_is_refused_in_one_sentence():
    lanes = {"base_jacobi": worked_example.trajectory(steps=tuple(worked_example.step(*row, 70.0) for row in ROWS))}
    with pytest.raises(ExportError, match="choose a higher speed, or the clock by pass"):
        export(lanes, "gif", ExportOptions(speed=0.1))
    assert max(frames(export(lanes, "gif"))[1]) == 70_000


ROWS = (
    (0, "p q r s t u", "A x C x x F", 1),
    (1, "x C x x F", "B C y E x", 2),
    (2, "C y E x", "C D E F", 4),
    (4, "E F", "E F", 6),
)


def test_gif_clock_by_pass_gives_every_pass_the_same_time_and_speed_divides_it():
    _, durations = frames(export(run_examples.lanes(), "gif", ExportOptions(clock="pass", speed=0.5)))
    assert durations == [600, *[400] * 5, 3000]


def test_gif_ends_on_the_last_state_in_the_colours_of_the_theme():
    options = ExportOptions(theme="dark")
    pictures, _ = frames(export(run_examples.lanes(), "gif", options))
    race = Race(run_examples.lanes(), options)
    last = race.at(60.0).quantize(palette=palette(race.theme), dither=Image.Dither.NONE).convert("RGB")
    assert same(pictures[-1], last)
    assert "#{:02x}{:02x}{:02x}".format(*pictures[-1].getpixel((2, 2))) == THEMES["dark"].ground


def test_gif_ends_on_the_answer_alone():
    """What the last state holds past the end of the answer is no part of it; a stopped run keeps its guesses."""
    run = worked_example.trajectory()
    longer = replace(run, steps=(*run.steps[:-1], replace(run.steps[-1], state=(*run.steps[-1].state, run.ids[0]))))
    for trajectory, guesses in ((longer, 0), (replace(longer, finish="stopped"), 1)):
        race = Race({"base_jacobi": trajectory}, ExportOptions())
        spans = list(race._spans(race.racers[0], len(trajectory.steps)))
        assert spans[0].text == trajectory.text
        assert len([span for span in spans if span.name]) == guesses


def test_gif_frames_are_few_and_the_last_pass_always_has_one():
    race = Race({"base_jacobi": run_examples.never_early(512)}, ExportOptions(clock="pass"))
    times = frame_times(race.racers)
    assert len(times) <= MOST_FRAMES + 2
    assert times[-1] == race.racers[0].ends[-1]
    assert race.racers[0].passes_at(times[-1]) == 512


@pytest.mark.slow
def test_gif_of_512_passes_stays_small():
    assert len(export({"base_jacobi": run_examples.never_early(512)}, "gif")) < 5_000_000


def test_gif_of_an_empty_run_is_one_frame():
    pictures, _ = frames(export({"base_ar": worked_example.trajectory(steps=(), ids=(), finish="stopped")}, "gif"))
    assert len(pictures) == 1


@pytest.mark.parametrize("name", THEMES)
def test_palette_has_room_for_every_colour_of_the_theme(name):
    colours = palette(THEMES[name]).getpalette()
    assert 3 * 15 < len(colours) <= 3 * 256


def test_text_breaks_into_lines_without_losing_anything():
    spans = [Span("one two\n  three"), Span("␣guess", "wrong"), Span("x" * 25, "wrong")]
    lines = broken(spans, 10)
    assert ["".join(span.text for span in line) for line in lines] == [
        "one two",
        "  three",
        "␣guess",
        "x" * 10,
        "x" * 10,
        "x" * 5,
    ]
    assert {span.name for span in lines[2]} == {"wrong"}


def test_running_text_keeps_indentation_and_shows_what_cannot_be_seen():
    assert readable("a ?\r\n\tb    c\x00", str) == "a ?\n    b    c⟨U+0000⟩"


def test_wide_characters_count_twice_and_marks_not_at_all():
    assert [columns_of(text) for text in ("ab", "日本", "e\u0301", "👩\u200d👧")] == [2, 4, 1, 4]
    assert fitted("日本語日本語", 7) == "日本語…"
    assert fitted("short", 5) == "short"
