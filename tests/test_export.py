"""Every export is opened again: the data formats give the same ids and bytes, the page holds text as text."""

import json
from html.parser import HTMLParser

import pytest
import run_examples
import worked_example

from cllm_core import io
from cllm_core.errors import ExportError, FormatError, NewerFormat
from cllm_core.files import write_whole
from cllm_core.types import ModelInfo, Step
from visualize.export import EXPORTERS, ExportOptions, export, export_name, read_csv_cells

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


# The text, in every data format


@pytest.mark.parametrize(
    "pieces",
    [
        [b" hug ", b"\xf0\x9f", b"\xa4\x97", b"\xe6\x97", b"\xa5\xe6\x9c\xac", b" e", "\u0301".encode()],
        [b"The", b" cat", b"s", b" sat", b" ...", b"': 'x", b" a ?", b"    indented"],
        [b"cut inside an emoji ", b"\xf0\x9f"],
    ],
)
def test_joined_cells_are_the_text(pieces):
    """A character over several tokens must come back whole, and no space between tokens may be lost."""
    trajectory = run_examples.autoregressive(pieces)
    expected = b"".join(pieces).decode("utf-8", "replace")
    assert trajectory.text == expected
    assert json.loads(export({"base_ar": trajectory}, "json"))["lanes"]["base_ar"]["text"] == expected
    cells = read_csv_cells(export({"base_ar": trajectory}, "csv"))
    assert b"".join(cell.text for cell in cells).decode("utf-8", "replace") == expected


def test_ids_come_back_as_they_were_though_encoding_the_text_would_give_others():
    """ "a" and "b" unmerged, a lone byte and a control token: text encoded again would give other ids."""
    pieces = {0: b"ab", 1: b"a", 2: b"b", 3: b"\xa4", 4: b"<|end|>"}
    steps = tuple(Step(t, (), (token,), t + 1, 0.01) for t, token in enumerate((1, 2, 3, 4)))
    model = ModelInfo(name="m", revision="abc", tokenizer="t")
    trajectory = worked_example.trajectory(
        steps=steps,
        ids=(1, 2, 3, 4),
        pieces=pieces,
        special=frozenset({4}),
        eos_ids=frozenset({4}),
        finish="end",
        model=model,
    )
    again = io.loads_run(export({"base_ar": trajectory}, "json"))["base_ar"]
    assert again == trajectory
    cells = read_csv_cells(export({"base_ar": trajectory}, "csv"))
    assert [(cell.token_id, cell.control) for cell in cells] == [(1, False), (2, False), (3, False), (4, True)]


def test_what_comes_after_the_end_is_marked_in_every_row():
    run = run_examples.scripted("a b c d e", easy=1.0, block_size=16)
    cells = read_csv_cells(export({"base_jacobi": run}, "csv"))
    after = {cell.position for cell in cells if cell.hindsight == "after_end"}
    assert after == set(range(len(run.ids), 16))


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
        assert len(export(lanes, format, ExportOptions(passes=16))) > 0


def test_unknown_format_and_empty_run_are_refused_in_one_sentence():
    with pytest.raises(ExportError, match="choose one of json, csv, html, svg, png, gif, figures"):
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


def test_one_lane_can_be_saved_alone_and_an_unknown_one_is_refused():
    run = io.loads_run(export(run_examples.lanes(), "json", ExportOptions(lane="base_jacobi")))
    assert list(run) == ["base_jacobi"]
    with pytest.raises(ExportError, match="choose one of base_ar, base_jacobi"):
        export(run_examples.lanes(), "svg", ExportOptions(lane="cllm_jacobi"))


def test_names_are_safe_and_differ_between_runs():
    lanes = {"base_ar": worked_example.trajectory(model=ModelInfo(name="../../</span> C:\\x\n日本"))}
    name = export_name(lanes, "json")
    assert name.startswith("cllm-run-span-c-x-")
    assert name.isascii()
    assert not set(name) & set('/\\:*?"<>| \n')
    assert export_name(lanes, "json") == name
    assert export_name({"base_ar": worked_example.trajectory(seconds=1.0)}, "json") != name


def test_file_is_written_whole_or_not_at_all(tmp_path):
    write_whole(tmp_path / "run.json", b"1")
    write_whole(tmp_path / "run.json", b"22")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("run.json", b"22")]
    with pytest.raises(ExportError, match=r"Cannot write run\.json"):
        write_whole(tmp_path / "missing" / "run.json", b"3")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ExportError, match="Cannot write folder"):
        write_whole(tmp_path / "folder", b"4")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "run.json"]
