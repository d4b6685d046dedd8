"""What is shown and saved of a run, and what is read back: from small hand-made lanes, with no model and no server."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import run_examples
import worked_example

from cllm_core.errors import FormatError, NewerFormat
from cllm_core.io import dumps, dumps_run, loads_run, to_dict
from cllm_core.types import Trajectory
from visualize import load, results
from visualize.export import read_csv_cells
from visualize.load import bundled_runs, load_file, read_lanes
from visualize.page import payload_json
from visualize.results import headline, payload, results_table, run_notes, settings_line, view_of, write_downloads

SAME_IDS = "Same ids as one at a time"
Lanes = dict[str, Trajectory]


def stopped(trajectory: Trajectory, passes: int) -> Trajectory:
    steps = trajectory.steps[:passes]
    return replace(trajectory, steps=steps, ids=trajectory.ids[: steps[-1].fixed], finish="stopped")


def parted(trajectory: Trajectory) -> Trajectory:
    """Return a run whose last token is another one."""
    last = trajectory.steps[-1]
    wrong = worked_example.IDS["z"]
    return replace(
        trajectory,
        steps=(*trajectory.steps[:-1], replace(last, state=(*last.state[:-1], wrong))),
        ids=(*trajectory.ids[:-1], wrong),
    )


# --- the table


def test_the_table_measures_every_lane_against_one_token_at_a_time():
    table = results_table(run_examples.lanes())
    assert table["Lane"].tolist() == ["Base, one token at a time", "Base, Jacobi"]
    assert table["Tokens"].tolist() == ["6", "6"]
    assert table["Passes"].tolist() == ["6", "4"]
    assert table["Tokens / pass"].tolist() == ["1.00", "1.50"]
    assert table["Speedup"].tolist() == ["1.00×", "1.50×"]
    assert table[SAME_IDS].tolist() == ["it is one at a time", "yes"]


def test_equality_is_claimed_only_where_both_runs_were_made_and_compared():
    lanes = run_examples.lanes()
    alone = results_table({"base_jacobi": lanes["base_jacobi"]})
    cut = results_table({**lanes, "base_jacobi": stopped(lanes["base_jacobi"], 2)})
    cut_reference = results_table({**lanes, "base_ar": stopped(lanes["base_ar"], 2)})
    unknown = results_table({"jacobi": lanes["base_jacobi"]})
    assert alone[SAME_IDS].tolist() == ["not compared (its one-at-a-time lane was not run)"]
    assert unknown[SAME_IDS].tolist() == ["not compared (its one-at-a-time lane was not run)"]
    assert cut[SAME_IDS].tolist()[1] == cut_reference[SAME_IDS].tolist()[1] == "not compared (partial)"
    assert cut["Lane"].tolist()[1] == "Base, Jacobi (partial)"
    for table in (alone, cut, cut_reference, unknown):
        assert table["Speedup"].tolist()[-1] == "–"
        assert not any("yes" in cell or "identical" in cell for cell in table[SAME_IDS])


def test_where_ids_part_the_first_position_and_the_margin_are_told():
    lanes = run_examples.lanes()
    close = tuple(replace(step, top=(((step.state[0], 0.5), (1, 0.4)),)) for step in lanes["base_ar"].steps)
    lanes = {"base_ar": replace(lanes["base_ar"], steps=close), "base_jacobi": parted(lanes["base_jacobi"])}
    assert results_table(lanes)[SAME_IDS].tolist()[1] == "no: first differs at position 5, margin 0.223 nats"
    assert any("two best candidates lie close" in note for note in run_notes(lanes))


def test_rounding_is_named_as_the_reason_only_where_the_margin_is_small():
    lanes = run_examples.lanes()
    clear = tuple(replace(step, top=(((step.state[0], 0.9), (1, 0.1)),)) for step in lanes["base_ar"].steps)
    other = parted(lanes["base_jacobi"])
    notes = run_notes({"base_ar": replace(lanes["base_ar"], steps=clear), "base_jacobi": other})
    assert any("leads by 2.2 nats, more than rounding explains" in note for note in notes)
    unknown = tuple(replace(step, top=()) for step in clear)
    notes = run_notes({"base_ar": replace(lanes["base_ar"], steps=unknown), "base_jacobi": other})
    assert any("no margin of the two best candidates is known" in note for note in notes)
    assert not any("lie close" in note for note in notes)


def test_the_headline_is_a_finding_of_the_most_parallel_lane():
    lanes = run_examples.lanes()
    assert headline(lanes) == "Base, Jacobi: 6 tokens in 4 passes, 1.50× the speed of one token at a time."
    assert headline({"base_ar": lanes["base_ar"]}) == "Base, one token at a time: 6 tokens in 6 passes, 0.06 s."


def test_a_note_is_told_once_with_its_lanes_where_not_all_share_it():
    lanes = run_examples.lanes()
    noted = {
        "base_ar": replace(lanes["base_ar"], notes=("Shared.", "Alone.")),
        "base_jacobi": replace(lanes["base_jacobi"], notes=("Shared.",)),
    }
    assert run_notes(noted) == ["Shared.", "Base, one token at a time: Alone."]


def test_lanes_with_differing_prompt_ids_are_flagged():
    lanes = run_examples.lanes()
    lanes["base_jacobi"] = replace(lanes["base_jacobi"], prompt_ids=(1, 2))
    assert any("different prompt ids" in note for note in run_notes(lanes))


def test_a_cllm_that_answers_otherwise_than_the_base_is_told_apart():
    lanes = run_examples.lanes()
    cllm = lanes["base_jacobi"]
    assert not any("another model" in note for note in run_notes({**lanes, "cllm_jacobi": cllm}))
    stopped = replace(parted(cllm), finish="stopped")
    assert not any("another model" in note for note in run_notes({**lanes, "cllm_jacobi": stopped}))
    (note,) = [note for note in run_notes({**lanes, "cllm_jacobi": parted(cllm)}) if "another model" in note]
    assert "from position 5 on (6 tokens, the base 6)" in note
    shorter = replace(cllm, ids=cllm.ids[:4])
    assert any(
        "from position 4 on (4 tokens, the base 6)" in note for note in run_notes({**lanes, "cllm_jacobi": shorter})
    )


def test_the_settings_line_names_model_device_dtype_and_block():
    line = settings_line(run_examples.lanes())
    assert line == "worked-example on cpu, float32, greedy, block of 6, block window, draft from prompt."


# --- downloads


def test_downloads_hold_the_run_and_no_two_runs_share_a_file(tmp_path: Path):
    lanes = run_examples.lanes()
    first, second = write_downloads(lanes, tmp_path), write_downloads(lanes, tmp_path)
    assert [file.format for file in first] == ["json", "csv", "html"]
    assert not {file.path for file in first} & {file.path for file in second}
    files = {file.format: file.path.read_bytes() for file in first}
    assert loads_run(files["json"]) == lanes
    assert len(read_csv_cells(files["csv"])) == sum(len(step.state) for lane in lanes.values() for step in lane.steps)
    assert b"CllmPlayer.mount" in files["html"]
    assert all(file.size == file.path.stat().st_size for file in first)


def test_names_of_downloads_are_safe_whatever_the_model_is_called(tmp_path: Path):
    lanes = run_examples.lanes()
    model = replace(lanes["base_ar"].model, name='../../<img src=x onerror=alert(1)>"\n')
    lanes = {key: replace(lane, model=model) for key, lane in lanes.items()}
    for file in write_downloads(lanes, tmp_path):
        assert file.path.parent.parent == tmp_path
        assert file.path.name.replace("-", "").replace(".", "").isalnum()
    assert (
        b"<img src=x"
        not in next(file.path for file in write_downloads(lanes, tmp_path) if file.format == "html").read_bytes()
    )


# --- the player's payload


def test_the_payload_of_a_long_run_grows_with_its_cells_and_ends_with_the_last_pass():
    props, notes = payload({key: run_examples.never_early(512) for key in ("base_jacobi", "cllm_jacobi")})
    half, _ = payload({key: run_examples.never_early(256) for key in ("base_jacobi", "cllm_jacobi")})
    sizes = [len(json.dumps(each)) for each in (half, props)]
    assert notes == []
    assert props is not None
    assert props["lanes"][0]["passes"][-1]["f"] == 512
    assert sizes[1] < 2.2 * sizes[0]
    assert sizes[1] < 500_000


def test_a_run_too_large_for_a_browser_is_not_drawn_and_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(results, "PLAYER_CELLS", 10)
    view = view_of(run_examples.lanes(), tmp_path, kind="done", text="Done.")
    assert view.props is None
    assert any("the player draws up to 10" in note for note in view.status["notes"])
    assert len(view.table) == 2
    assert [file.format for file in view.downloads] == ["json"]  # the others would be many times larger


# --- reading back


def test_a_run_and_a_lone_trajectory_are_read_back():
    lanes = run_examples.lanes()
    assert read_lanes(dumps_run(lanes).encode()).lanes == lanes
    assert read_lanes(b"\xef\xbb\xbf" + dumps_run(lanes).encode()).lanes == lanes
    assert read_lanes(json.dumps(to_dict(lanes["base_ar"]), indent=2).encode()).lanes == {
        "autoregressive": lanes["base_ar"]
    }


def test_lines_of_a_jsonl_file_become_lanes_and_a_bad_line_costs_only_itself():
    lane = run_examples.lanes()["base_jacobi"]
    odd = replace(lane, notes=("a\u2028b\u0085c — نص 🤗",))
    data = "\r\n".join([dumps(lane), "", "{oops", dumps(odd)]).encode()
    read = read_lanes(data)
    assert read.lanes == {"jacobi": lane, "jacobi-2": odd}
    assert len(read.notes) == 1
    assert read.notes[0].startswith("Line 3 was left out: This is not JSON")


def test_lanes_of_other_prompts_and_too_many_lanes_are_left_out_and_told():
    lane = run_examples.lanes()["base_jacobi"]
    other = replace(lane, prompt="another")
    many = read_lanes("\n".join([dumps(lane)] * 12 + [dumps(other)]).encode())
    assert len(many.lanes) == load.MOST_LANES
    assert many.notes == (
        "The file holds other prompts too: the 12 of 13 lanes of its first one are shown.",
        "The first 8 of 12 lanes are shown.",
    )


def test_two_runs_of_a_file_stay_apart_though_their_prompts_read_alike(tmp_path):
    """Two conversations that end with the same message became one prompt with twice the lanes."""
    lanes = run_examples.lanes()
    path = tmp_path / "runs.jsonl"
    path.write_text(dumps_run(lanes) + "\n" + dumps_run(lanes) + "\n", encoding="utf-8")
    assert [run.lanes for run in load.load_prompts(path)] == [lanes, lanes]
    assert read_lanes(path.read_bytes(), 2).lanes == lanes


def test_lanes_of_different_tokenizers_are_told_apart():
    lane = run_examples.lanes()["base_jacobi"]
    own, other = (replace(lane, model=replace(lane.model, tokenizer=name)) for name in ("one", "two"))
    assert read_lanes("\n".join([dumps(own), dumps(own)]).encode()).notes == ()
    (note,) = read_lanes("\n".join([dumps(own), dumps(other)]).encode()).notes
    assert "different tokenizers" in note


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "The file is empty"),
        (b" \n", "The file is empty"),
        (b"[]", "not a trajectory file"),
        (b"5", "not a trajectory file"),
        (b"not json", "This is not JSON"),
        (b"not\njson", "This is not JSON"),
        (b"\xff\xfe{\x00", "not UTF-8"),
        (b'{"schema": "cllm-run", "version": 1, "lanes": {}}', "holds no lanes"),
        (b'{"schema": "cllm-run", "version": 1}', "'lanes' is missing"),
        (b'{"schema": "cllm-trajectory", "version": 1}', "is missing"),
        (b'{"a": 1}\n{"b": 2}\n', "No line of the file is a trajectory. Line 1 was left out"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_a_file_that_is_no_trajectory_is_refused_in_a_sentence(data: bytes, message: str):
    with pytest.raises(FormatError, match=message):
        read_lanes(data)


def test_numbers_that_would_overflow_the_view_are_refused():
    """1e308 seconds is a finite number of JSON; its milliseconds are not, and the page could not be sent."""
    text = dumps_run(run_examples.lanes()).replace('"seconds":0.01', '"seconds":1e308', 1)
    with pytest.raises(FormatError, match="1e\\+308 is not a number from 0 to"):
        read_lanes(text.encode())


def test_a_newer_file_asks_for_an_update():
    with pytest.raises(NewerFormat, match="update"):
        read_lanes(b'{"schema": "cllm-run", "version": 99, "lanes": {}}')


def test_half_a_character_in_a_file_is_shown_and_saved_like_any_other(tmp_path: Path):
    text = dumps_run(run_examples.lanes()).replace('"prompt":"p"', '"prompt":"\\ud83d"')
    view = view_of(read_lanes(text.encode()).lanes, tmp_path, kind="idle", text="")
    assert view.props is not None
    assert json.loads(payload_json(view.props).encode("utf-8"))["prompt"] == "\ud83d"
    assert read_lanes(view.downloads[0].path.read_bytes()).lanes["base_ar"].prompt == "\ud83d"


def test_a_file_over_the_limit_is_refused_before_it_is_read(tmp_path: Path):
    (tmp_path / "big.json").write_bytes(b"x" * 11)
    with pytest.raises(FormatError, match="takes up to"):
        load_file(tmp_path / "big.json", most=10)
    with pytest.raises(FormatError, match="cannot be read"):
        load_file(tmp_path / "absent.json")


@pytest.mark.parametrize("path", bundled_runs().values(), ids=lambda path: path.stem)
def test_every_recorded_run_that_ships_can_be_shown(path: Path, tmp_path: Path):
    loaded = load_file(path)
    assert loaded.notes == ()
    assert view_of(loaded.lanes, tmp_path, kind="idle", text="").props is not None
    assert not any(lane.partial for lane in loaded.lanes.values())
