"""Figures show the data that the trajectory holds, and show text of users as text."""

import html
import json
import re
from dataclasses import replace

import pytest
import run_examples
import worked_example

from cllm_core.errors import FormatError
from cllm_core.metrics import summarize
from cllm_core.types import DecodeConfig, ModelInfo, Step
from visualize.classes import CLASS_STYLES
from visualize.figures import (
    FIGURES,
    blocks_figure,
    confidence_figure,
    gains_figure,
    progress_figure,
    speedup_figure,
    state_figure,
    themed,
)
from visualize.figures.convergence import block_shares, final_token_probabilities, output_shares
from visualize.figures.counts import positions_per_block
from visualize.figures.grid import EARLIER, FIRST_CLASS, GRID_CELLS
from visualize.figures.style import INK, LANE_STYLES, escaped, escaped_piece, lane_styles
from visualize.themes import THEMES

HOSTILE = "<img src=x onerror=alert(1)> &lt; </span> $x^2$ %{y}"


def test_progress_shows_fixed_tokens_by_pass_and_by_time():
    figure = progress_figure(run_examples.lanes())
    by_pass = {trace.name: trace for trace in figure.data if trace.showlegend}
    by_time = {trace.name: trace for trace in figure.data if not trace.showlegend}
    jacobi = "Base, Jacobi"
    assert list(by_pass[jacobi].x) == [0, 1, 2, 3, 4]
    assert list(by_pass[jacobi].y) == list(by_time[jacobi].y) == [0, 1, 2, 4, 6]
    assert list(by_time[jacobi].x) == pytest.approx([0, 0.01, 0.02, 0.03, 0.04])
    assert list(by_pass["Base, one token at a time"].y) == [0, 1, 2, 3, 4, 5, 6]


def test_one_legend_entry_switches_a_lane_in_both_panels():
    figure = progress_figure(run_examples.lanes())
    assert [trace.legendgroup for trace in figure.data] == ["0", "0", "1", "1"]
    assert [trace.showlegend for trace in figure.data] == [True, False, True, False]


def test_axes_name_their_units():
    layout = progress_figure(run_examples.lanes()).layout
    assert layout.xaxis.title.text == "Forward passes,<br>prefill included"
    assert layout.xaxis2.title.text == "Wall-clock (s)"
    assert layout.yaxis.title.text == "Tokens fixed"
    assert layout.title.text


def test_partial_run_is_said_and_empty_run_is_drawn():
    figure = progress_figure({"base_jacobi": worked_example.trajectory(steps=(), ids=(), finish="stopped")})
    assert list(figure.data[0].y) == [0]
    assert "partial" in figure.layout.annotations[0].text


def test_known_lanes_keep_their_look_and_no_two_of_four_share_one():
    assert lane_styles(["cllm_jacobi"])["cllm_jacobi"] == LANE_STYLES["cllm_jacobi"]
    styles = lane_styles(["mine", "base_jacobi", "yours", "base_ar"])
    assert styles["base_jacobi"] == LANE_STYLES["base_jacobi"]
    assert len(set(styles.values())) == 4


def test_themed_copy_has_a_ground_and_leaves_the_original():
    figure = progress_figure(run_examples.lanes())
    assert themed(figure, "print").layout.paper_bgcolor == "#ffffff"
    assert themed(figure, "dark").layout.font.color == THEMES["dark"].ink
    assert figure.layout.paper_bgcolor == "rgba(0, 0, 0, 0)"


def contrast(first, second):
    """Return the contrast ratio of two colours (WCAG 2.2)."""
    bright, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def luminance(colour):
    channels = (int(colour[index : index + 2], 16) / 255 for index in (1, 3, 5))
    linear = (value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels)
    return sum(weight * value for weight, value in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("name", THEMES)
def test_every_text_of_a_picture_can_be_read_on_its_ground(name):
    theme = THEMES[name]
    pairs = [(text, ground) for text in (theme.ink, theme.muted) for ground in (theme.ground, theme.earlier)]
    for kind in CLASS_STYLES:
        ink = theme.of(kind)
        pairs += [(theme.ink, ink.tint), (ink.sign, ink.tint)]
    assert min(contrast(text, ground) for text, ground in pairs) >= 4.5


def test_figures_can_be_read_on_light_and_on_dark():
    assert min(contrast(INK, ground) for ground in ("#ffffff", "#111827", THEMES["dark"].ground)) >= 3.5
    assert min(contrast(style.colour, "#ffffff") for style in LANE_STYLES.values()) >= 3


def test_labels_show_markup_literally():
    label = escaped(HOSTILE)
    assert not set(label) & set("<>$")
    assert html.unescape(label) == HOSTILE
    assert escaped_piece(b"</span>\n") == "&lt;/span&gt;⏎"


@pytest.mark.parametrize("piece", run_examples.NASTY_PIECES)
def test_piece_labels_hold_no_markup_and_no_control_character(piece):
    label = escaped_piece(piece)
    assert label
    assert label.replace("\u200d", "").isprintable()
    assert not set(label) & set("<>$\"'")


# The states heatmap


def test_states_figure_has_one_cell_a_position_and_the_worked_example_classes():
    heatmap = heatmaps(state_figure({"base_jacobi": worked_example.trajectory()}))[0]
    settled, ahead, still, transient, wrong = range(FIRST_CLASS, FIRST_CLASS + 5)
    assert heatmap.z.tolist() == [
        [settled, wrong, still, wrong, wrong, transient],
        [EARLIER, settled, ahead, wrong, still, wrong],
        [EARLIER, EARLIER, settled, settled, ahead, ahead],
        [EARLIER, EARLIER, EARLIER, EARLIER, settled, settled],
    ]
    assert heatmap.customdata[0][5] == "F (id 5), transient"
    assert heatmap.customdata[1][0] == "A, fixed earlier"


def test_known_view_shows_what_the_decoder_knew():
    heatmap = heatmaps(state_figure({"base_jacobi": worked_example.trajectory()}, view="known"))[0]
    fixed, draft = FIRST_CLASS, FIRST_CLASS + 1
    assert heatmap.z.tolist()[2] == [EARLIER, EARLIER, fixed, fixed, draft, draft]


def test_repeated_tokens_never_merge():
    """Cells laid out by token text fall together where a token occurs twice; positions do not."""
    heatmap = heatmaps(state_figure({"base_ar": run_examples.autoregressive([b"ha"] * 5)}))[0]
    assert list(heatmap.x) == [0, 1, 2, 3, 4]
    assert heatmap.z.shape == (5, 5)


def test_grid_of_2000_by_200_is_cut_with_a_notice_and_stays_small():
    step = Step(0, (7,) * 1999, (7,) * 2000, 1, 0.01)
    steps = tuple(replace(step, start=t, fixed=t + 1, draft=(7,) * 1999, state=(7,) * 2000) for t in range(200))
    wide = run_examples.nasty(steps=steps, ids=(7,) * 200, finish="stopped")
    figure = state_figure({"base_jacobi": wide})
    assert heatmaps(figure)[0].z.size <= GRID_CELLS
    assert any("of 200 passes are drawn" in note.text for note in figure.layout.annotations)
    assert len(figure.to_json()) < 1_000_000


def test_grid_of_512_by_512_is_drawn_whole_and_stays_small():
    figure = state_figure({"base_jacobi": run_examples.never_early(512)})
    assert heatmaps(figure)[0].z.shape == (512, 512)
    assert any("Hover text leaves out" in note.text for note in figure.layout.annotations)
    assert len(figure.to_json()) < 600_000


def heatmaps(figure):
    return [trace for trace in figure.data if trace.type == "heatmap"]


# Counts, convergence, confidence


def test_gains_are_shares_of_the_passes_of_each_lane():
    bars = gains_figure(run_examples.lanes()).data
    assert [(list(bar.x), list(bar.y)) for bar in bars] == [([1], [100.0]), ([1, 2], [50.0, 50.0])]


def test_blocks_count_each_position_once():
    trajectory = worked_example.trajectory()
    assert positions_per_block(trajectory, "fast_forwarded") == [3]  # positions 2, 4 and 5
    assert positions_per_block(trajectory, "stationary") == [2]  # positions 2 and 4
    figure = blocks_figure(run_examples.lanes())
    assert [list(bar.y) for bar in figure.data] == [[3], [2]]
    assert any("one token at a time" in note.text for note in figure.layout.annotations)


def test_blocks_agree_with_the_summary():
    run = run_examples.scripted("a b c d e f g h i j k l m n o p q r s t u v w x y z " * 2, easy=0.6, block_size=8)
    assert sum(positions_per_block(run, "stationary")) == summarize(run).stationary > 0
    assert sum(positions_per_block(run, "fast_forwarded")) == summarize(run).fast_forwarded > 0


def test_convergence_counts_positions_that_hold_their_final_token():
    trajectory = worked_example.trajectory()
    expected = [0, 3 / 6, 4 / 6, 1, 1]
    assert output_shares(trajectory) == pytest.approx(expected)
    assert block_shares(trajectory) == pytest.approx(expected)


def test_block_convergence_ends_right_and_leaves_out_an_unfinished_block():
    run = run_examples.scripted("one two three four five six seven", block_size=4)
    shares = block_shares(run)
    assert shares[-1] == 1.0
    first = replace(run, steps=run.steps[:1], ids=run.steps[0].state[: run.steps[0].fixed], finish="stopped")
    assert block_shares(first) == []


def test_lanes_without_blocks_have_no_block_convergence():
    assert block_shares(run_examples.lanes()["base_ar"]) == []
    sliding = worked_example.trajectory(config=DecodeConfig(window="sliding", block_size=6))
    assert block_shares(sliding) == []


def test_probability_of_the_final_token_comes_from_predictions_and_candidates():
    steps = (
        Step(0, (9, 9), (1, 8, 7), 1, 0.01, (0.9, 0.6, 0.5), (((1, 0.9),), ((8, 0.6), (2, 0.3)), ((7, 0.5),))),
        Step(1, (8, 7), (2, 3), 2, 0.01, (0.8, 0.7), (((2, 0.8),), ((3, 0.7),))),
        Step(2, (3,), (3,), 3, 0.01, (0.95,), (((3, 0.95),),)),
    )
    run = worked_example.trajectory(steps=steps, ids=(1, 2, 3))
    assert final_token_probabilities(run) == {0: [0.9, 0.8, 0.95], 1: [0.3, 0.7], 2: [0.0]}
    line = confidence_figure({"base_jacobi": run}).data[-1]
    assert list(line.x) == [2, 1, 0]
    assert list(line.y) == pytest.approx([0.0, 0.5, 2.65 / 3])


def test_lane_without_probabilities_is_named():
    figure = confidence_figure({"base_jacobi": worked_example.trajectory()})
    assert any("Base, Jacobi: no probabilities" in note.text for note in figure.layout.annotations)


# A saved comparison


def comparison(prompts=2, **changes):
    lanes = {
        "base_ar": {"speedup": 1.0},
        "base_jacobi": {"speedup": 0.8, "tokens_per_pass": 1.06, "equals_ar": True},
        "cllm_jacobi": {"speedup": 2.0, "tokens_per_pass": 2.5, "equals_ar": False},
    }
    rows = [{"prompt": f"{HOSTILE} {number}", "lanes": lanes} for number in range(prompts)]
    return {"pair": "smollm2", "device": "cpu", "dtype": "float32", "prompts": rows, **changes}


def test_speedup_has_a_dot_a_prompt_and_lane_but_none_for_the_baseline():
    dots = speedup_figure(comparison()).data
    assert [(trace.name, list(trace.y)) for trace in dots] == [
        ("Base, Jacobi: mean 0.80x", [0.8, 0.8]),
        ("CLLM, Jacobi: mean 2.00x", [2.0, 2.0]),
    ]
    assert dots[1].customdata[0][2] == "other tokens than one at a time"


def test_prompt_whose_speedup_was_not_measured_has_no_dot():
    values = comparison()
    values["prompts"][0] = {"prompt": "x", "lanes": {"base_jacobi": {"speedup": None}}}
    assert list(speedup_figure(values).data[0].x) == [2]


def test_long_comparison_is_cut_with_a_notice():
    figure = speedup_figure(comparison(prompts=2_001))
    assert len(figure.data[0].x) == 2_000
    assert any("first 2,000 of 2,001 prompts" in (note.text or "") for note in figure.layout.annotations)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ([], "not a saved comparison"),
        ({"prompts": []}, "not a saved comparison"),
        ({"prompts": [{"prompt": "x"}]}, "Prompt 1 has no lanes"),
        (
            {"prompts": [{"prompt": "x", "lanes": {"base_jacobi": {"speedup": "2x"}}}]},
            "lane 'base_jacobi' has no usable",
        ),
        ({"prompts": [{"prompt": "x", "lanes": {"base_jacobi": {"speedup": None}}}]}, "has no speedup"),
    ],
)
def test_what_is_no_comparison_is_refused_in_one_sentence(value, says):
    with pytest.raises(FormatError, match=says):
        speedup_figure(value)


# All figures


def drawn(name, lanes):
    kind = FIGURES[name]
    return kind.draw(lanes if kind.source == "run" else comparison(pair=HOSTILE))


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_draws_hostile_partial_and_empty_runs(name):
    for lanes in (
        {HOSTILE: run_examples.nasty(prompt=HOSTILE, finish="stopped")},
        {"base_jacobi": worked_example.trajectory(steps=(), ids=(), finish="stopped")},
        run_examples.lanes(),
    ):
        figure = drawn(name, lanes)
        assert figure.layout.title.text
        assert json.loads(figure.to_json())["data"] is not None


@pytest.mark.parametrize("name", FIGURES)
def test_every_axis_has_a_title(name):
    layout = drawn(name, run_examples.lanes()).layout
    shown = [layout[key] for key in layout if key.startswith(("xaxis", "yaxis"))]
    titled = [axis for axis in shown if axis.title.text]
    assert len(titled) >= len(shown) / 2  # panels side by side or stacked share the other axis
    assert layout.xaxis.title.text or layout.yaxis.title.text


@pytest.mark.parametrize("name", FIGURES)
def test_text_of_users_enters_no_figure_unescaped(name):
    """Plotly draws a subset of HTML in names, titles and hover text: tags would vanish or act."""
    hostile = run_examples.nasty(model=ModelInfo(name=HOSTILE), prompt=HOSTILE, finish="stopped")
    for value in strings(json.loads(drawn(name, {HOSTILE: hostile}).to_json())):
        assert not re.search(r"<(?!br>|extra>|/extra>)", value), value


def strings(value):
    """Return every string in JSON values, the packed number arrays left out."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        value = [child for key, child in value.items() if key != "bdata"]
    return [text for child in value for text in strings(child)] if isinstance(value, list) else []
