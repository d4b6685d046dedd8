"""The player's payload: exactly the golden one, light, and nothing but data."""

import json

import player_cases
import pytest
import worked_example

from cllm_core.types import Trajectory
from visualize import page, view


def test_the_payload_is_exactly_the_golden_one() -> None:
    golden = json.loads(player_cases.GOLDEN.read_text(encoding="utf-8"))
    assert json.loads(json.dumps(player_cases.golden_props(), allow_nan=False)) == golden


def test_lanes_keep_their_order_and_get_a_name() -> None:
    props = view.player_props(player_cases.lanes(), labels={"base_ar": "Slow"})
    assert [(lane["key"], lane["label"]) for lane in props["lanes"]] == [
        ("base_ar", "Slow"),
        ("base_jacobi", "Base, Jacobi"),
        ("cllm_jacobi", "CLLM, Jacobi"),
    ]


def test_every_cell_has_the_class_of_the_worked_example() -> None:
    (lane,) = view.player_props({"a": worked_example.trajectory()})["lanes"]
    assert [row["h"] for row in lane["passes"]] == ["swkwwt", "sfwkw", "ssff", "ss"]
    assert [lane["c0"], *(row["c"] for row in lane["passes"])] == [0, 1, 3, 6, 6]


def test_pieces_tell_text_from_bytes_from_control_tokens() -> None:
    pieces = view.player_props({"a": player_cases.nasty()})["pieces"]
    kinds = {token: (kind, text) for token, kind, text in pieces}
    assert kinds[0] == (view.TEXT, player_cases.MARKUP)
    assert kinds[6] == (view.BYTES, "f09f")
    assert kinds[player_cases.SEPARATOR] == (view.CONTROL, "<|sep|>")


def test_a_piece_is_stored_once_however_often_it_occurs() -> None:
    pieces = view.player_props(player_cases.lanes())["pieces"]
    assert len(pieces) == len({(token, kind, text) for token, kind, text in pieces})


def test_candidates_are_left_out_and_said_so_above_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "CANDIDATE_CELLS", 10)
    props = view.player_props({"a": player_cases.jacobi()})
    assert not any("k" in row for row in props["lanes"][0]["passes"])
    assert all("p" in row for row in props["lanes"][0]["passes"])
    assert "17 cells" in props["notes"][0]


def test_a_partial_and_an_empty_run_have_a_payload() -> None:
    empty = worked_example.trajectory(steps=(), ids=(), finish="stopped", seconds=0.0)
    (lane,) = view.player_props({"a": empty})["lanes"]
    assert (lane["partial"], lane["passes"], lane["output"]) == (True, [], [])
    assert view.player_props({})["lanes"] == []


def test_the_payload_grows_linearly_with_the_run() -> None:
    """A frame that carries the whole history would make a long run quadratic."""

    def size(blocks: int) -> int:
        steps = tuple(
            worked_example.step(6 * block + step.start, "p p p p p", "A A A A A A", 6 * block + step.start + 1)
            for block in range(blocks)
            for step in worked_example.STEPS
        )
        trajectory: Trajectory = worked_example.trajectory(steps=steps, ids=())
        return len(page.payload_json(view.player_props({"a": trajectory})))

    assert size(80) < 2.2 * size(40)


def test_the_payload_is_safe_inside_a_script_element() -> None:
    text = page.payload_json(player_cases.golden_props())
    assert "<" not in text
    assert "\u2028" not in text
    assert json.loads(text) == json.loads(json.dumps(player_cases.golden_props()))


def test_the_script_and_the_style_cannot_end_their_own_element() -> None:
    for source in (page.player_script(), page.player_style()):
        assert "</" not in source
        assert "<!--" not in source


def test_the_page_names_no_address_and_forbids_requests() -> None:
    html = page.standalone_page(player_cases.golden_props(), player_cases.TITLE)
    assert "Content-Security-Policy" in html
    assert "default-src 'none'" in html
    assert "Golden &lt;b&gt;run&lt;/b&gt;" in html
    assert "http" not in html.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")
    assert html.count("<script") == 2


def test_importing_the_page_imports_no_gradio() -> None:
    import subprocess
    import sys

    code = "import sys, visualize.page; sys.exit('gradio' in sys.modules or 'torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
