"""The CSV of cells: safe in a spreadsheet, and the same ids and bytes when our reader reads it back."""

import csv
import io

import pytest
import run_examples
import worked_example
from hypothesis import given
from hypothesis import strategies as st

from cllm_core.errors import FormatError
from visualize.cells import lane_cells
from visualize.export import export, read_csv_cells
from visualize.exports.cells_csv import COLUMNS, decode_text, encode_text


def test_csv_gives_same_ids_and_bytes_for_every_nasty_token():
    trajectory = run_examples.nasty()
    cells = read_csv_cells(export({"=lane": trajectory}, "csv"))
    assert [cell.token_id for cell in cells] == list(trajectory.ids)
    assert [cell.text for cell in cells] == list(run_examples.NASTY_PIECES)
    assert {cell.lane for cell in cells} == {"=lane"}


def test_csv_reader_undoes_the_writer():
    lanes = run_examples.lanes()
    expected = [cell for key, trajectory in lanes.items() for cell in lane_cells(key, trajectory)]
    assert read_csv_cells(export(lanes, "csv")) == expected
    assert len(expected) == 6 + 6 + 5 + 4 + 2


def test_csv_is_rectangular_rfc4180_with_one_line_a_row():
    data = export({"base_ar": run_examples.nasty()}, "csv")
    rows = list(csv.reader(io.StringIO(data.decode("utf-8"), newline=""), strict=True))
    assert tuple(rows[0]) == COLUMNS
    assert {len(row) for row in rows} == {len(COLUMNS)}
    assert data.count(b"\r\n") == data.count(b"\n") == data.count(b"\r") == len(rows)


def test_csv_classes_are_those_of_the_worked_example():
    cells = read_csv_cells(export({"base_jacobi": worked_example.trajectory()}, "csv"))
    third = [(cell.position, cell.hindsight, cell.known) for cell in cells if cell.pass_number == 3]
    assert third == [
        (2, "settled", "fixed"),
        (3, "settled", "fixed"),
        (4, "fast_forwarded", "draft"),
        (5, "fast_forwarded", "draft"),
    ]


def test_no_csv_cell_starts_like_a_formula_or_holds_a_control_character():
    rows = csv.reader(io.StringIO(export({"@x": run_examples.nasty()}, "csv").decode("utf-8"), newline=""))
    for row in rows:
        for cell in row:
            assert not cell.strip().startswith(("=", "+", "-", "@", "＝"))
            assert not any(character < " " or "\x7f" <= character <= "\x9f" for character in cell)


@given(st.binary(max_size=12) | st.text(max_size=8).map(str.encode))
def test_csv_text_round_trips_for_any_bytes(piece):
    assert decode_text(encode_text(piece)) == piece


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "first line"),
        (b"a,b\r\n", "first line"),
        (b"\xff", "not UTF-8"),
        (",".join(COLUMNS).encode() + b"\r\nbase_ar,1\r\n", "Line 2"),
        (",".join(COLUMNS).encode() + b'\r\n"', "not CSV"),
        (",".join(COLUMNS).encode() + b"\r\nl,1,0,5,\\q,false,,settled,fixed,,0.1\r\n", "unknown escape"),
    ],
)
def test_broken_csv_is_refused_in_one_sentence(data, says):
    with pytest.raises(FormatError, match=says):
        read_csv_cells(data)
