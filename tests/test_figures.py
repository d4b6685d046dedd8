"""Figures show the data that the trajectory holds, and show text of users as text."""

import html
import json
import re

import pytest
import run_examples
import worked_example

from cllm_core.types import ModelInfo
from visualize.figures import progress_figure
from visualize.figures.style import LANE_STYLES, escaped, escaped_piece, for_print, lane_styles

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
    assert layout.xaxis.title.text == "Forward passes, prefill included"
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


def test_print_version_is_dark_on_white_and_leaves_the_original():
    figure = progress_figure(run_examples.lanes())
    assert for_print(figure).layout.paper_bgcolor == "white"
    assert figure.layout.paper_bgcolor == "rgba(0, 0, 0, 0)"


def test_labels_show_markup_literally():
    label = escaped(HOSTILE)
    assert not set(label) & set("<>$")
    assert html.unescape(label) == HOSTILE
    assert escaped_piece(b"</span>\n") == "&lt;/span&gt;↵"


@pytest.mark.parametrize("piece", run_examples.NASTY_PIECES)
def test_piece_labels_hold_no_markup_and_no_control_character(piece):
    label = escaped_piece(piece)
    assert label
    assert label.replace("\u200d", "").isprintable()
    assert not set(label) & set("<>$\"'")


def test_text_of_users_enters_no_figure_unescaped():
    """Plotly draws a subset of HTML in names, titles and hover text: tags would vanish or act."""
    lanes = {HOSTILE: run_examples.nasty(model=ModelInfo(name=HOSTILE), prompt=HOSTILE, finish="stopped")}
    values = strings(json.loads(progress_figure(lanes).to_json()))
    assert not [value for value in values if re.search(r"<(?!br>|/?b>|/?i>|extra>|/extra>)", value)]
    assert not [value for value in values if "onerror" in value and "&lt;" not in value]


def strings(value):
    """Return every string in JSON values."""
    if isinstance(value, str):
        return [value]
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for child in children for text in strings(child)]
