"""Every export is opened again: the data formats give the same ids and bytes, the page holds text as text."""

import csv
import io as text_io
import json
from html.parser import HTMLParser

import pytest
import run_examples
import worked_example
from hypothesis import given
from hypothesis import strategies as st

from cllm_core import io
from cllm_core.errors import ExportError, FormatError, NewerFormat
from cllm_core.types import ModelInfo
from visualize.cells import lane_cells
from visualize.export import EXPORTERS, ExportOptions, export, export_name, read_csv_cells
from visualize.exports.cells_csv import COLUMNS, decode_text, encode_text

# JSON


def test_json_gives_every_lane_back():
    lanes = {**run_examples.lanes(), "cllm_jacobi": run_examples.nasty()}
    again = io.loads_run(export(lanes, "json"))
    assert again == lanes
    assert list(again) == list(lanes)


def test_json_run_has_exactly_this_shape():
    run = json.loads(export({"base_jacobi": worked_example.trajectory()}, "json"))
    assert list(run) == ["schema", "version", "lanes"]
    assert (run["schema"], run["version"]) == ("cllm-run", 1)
    assert run["lanes"] == {"base_jacobi": io.to_dict(worked_example.trajectory())}


def test_lone_trajectory_is_read_as_a_run_of_one_lane():
    trajectory = worked_example.trajectory()
    assert io.loads_run(io.dumps(trajectory)) == {"jacobi": trajectory}


def test_run_file_on_disk_is_read_back(tmp_path):
    path = tmp_path / "run.json"
    path.write_bytes(export(run_examples.lanes(), "json"))
    assert io.load_run(path) == run_examples.lanes()


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"schema": "other"}, FormatError, "not a trajectory file"),
        ({"version": 2}, NewerFormat, "update it"),
        ({"version": True}, FormatError, "no usable version"),
        ({"lanes": []}, FormatError, "'lanes' is missing"),
        ({"lanes": {"base_ar": {}}}, FormatError, "Lane 'base_ar': This is not a trajectory"),
    ],
)
def test_broken_run_is_refused_in_one_sentence(change, error, says):
    with pytest.raises(error, match=says):
        io.run_from_dict({**io.run_to_dict(run_examples.lanes()), **change})


def test_json_of_unpaired_surrogate_is_valid_utf8():
    """A prompt with half a surrogate pair (JSON can carry one) made the export fail while encoding."""
    lanes = {"base_ar": worked_example.trajectory(prompt="a\ud800b")}
    assert io.loads_run(export(lanes, "json")) == lanes


# CSV


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
    rows = list(csv.reader(text_io.StringIO(data.decode("utf-8"), newline=""), strict=True))
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
    rows = csv.reader(text_io.StringIO(export({"@x": run_examples.nasty()}, "csv").decode("utf-8"), newline=""))
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


# HTML


class _Elements(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.attributes = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]


def _elements(lanes, **options):
    parser = _Elements()
    parser.feed(export(lanes, "html", ExportOptions(**options)).decode("utf-8"))
    return parser


def test_html_creates_no_element_from_text():
    hostile = "</title><img src=x onerror=alert(1)>"
    plain = _elements(run_examples.lanes())
    attacked = _elements(
        {hostile: run_examples.nasty(prompt=hostile, model=ModelInfo(name=hostile), notes=(hostile,))}, title=hostile
    )
    assert attacked.tags == plain.tags
    assert not [name for name in attacked.attributes if name.startswith("on")]


# All formats


@pytest.mark.parametrize("format", EXPORTERS)
def test_every_format_saves_hostile_empty_and_partial_runs(format):
    for lanes in (
        {"base_ar": run_examples.nasty()},
        {"base_jacobi": worked_example.trajectory(steps=(), ids=(), finish="stopped")},
        run_examples.lanes(),
    ):
        assert len(export(lanes, format)) > 0


def test_unknown_format_and_empty_run_are_refused_in_one_sentence():
    with pytest.raises(ExportError, match="choose one of json, csv, html"):
        export(run_examples.lanes(), "docx")
    with pytest.raises(ExportError, match="nothing to save"):
        export({}, "json")


def test_export_grows_linearly():
    """Never converging early is the worst case: 512 passes over 512 tokens."""
    half, whole = ({"base_jacobi": run_examples.never_early(tokens)} for tokens in (256, 512))
    for format in ("json", "csv", "html"):
        small, large = len(export(half, format)), len(export(whole, format))
        assert large <= 2.2 * small, format
    assert read_csv_cells(export(whole, "csv"))[-1].position == 511


def test_names_are_safe_and_differ_between_runs():
    lanes = {"base_ar": worked_example.trajectory(model=ModelInfo(name="../../</span> C:\\x\n日本"))}
    name = export_name(lanes, "json")
    assert name.startswith("cllm-run-span-c-x-")
    assert name.isascii()
    assert not set(name) & set('/\\:*?"<>| \n')
    assert export_name(lanes, "json") == name
    assert export_name({"base_ar": worked_example.trajectory(seconds=1.0)}, "json") != name
