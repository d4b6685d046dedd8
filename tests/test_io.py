"""Trajectories as JSON: nothing is lost, the shape is fixed, and a damaged or newer file is refused in a sentence."""

import copy
import json
from dataclasses import fields, replace

import pytest
import worked_example
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import cases

from cllm_core import io
from cllm_core.errors import FormatError, NewerFormat
from cllm_core.types import DecodeConfig, ModelInfo, Step, Trajectory

many = settings(max_examples=100, deadline=None)


def full() -> Trajectory:
    """A trajectory with a value in every field: candidates, broken bytes, control tokens, notes."""
    step = Step(0, (2,), (1, 3), 1, 0.5, (0.25, 1e-7), (((1, 0.25), (2, 0.1)), ((3, 1e-7), (0, 0.0))))
    return Trajectory(
        config=DecodeConfig(block_size=2, max_new_tokens=2, temperature=0.7, seed=5),
        model=ModelInfo("m", "r1", "a", "Llama", 12, "cuda:0", "H200", "bfloat16", "sdpa", "f00"),
        prompt="naïve \u2028\u0085 🤗",
        prompt_ids=(0, 1),
        steps=(step, Step(1, (), (3,), 2, 0.25)),
        ids=(1, 3),
        finish="end",
        seconds=1.0,
        pieces={0: b"<s>", 1: b"\xf0\x9f", 2: b"{x", 3: "日\n".encode()},
        special=frozenset({0}),
        eos_ids=frozenset({3, 9}),
        notes=("One sentence.",),
    )


@pytest.mark.parametrize("trajectory", [full(), worked_example.trajectory()], ids=["full", "worked example"])
def test_round_trip_loses_nothing(trajectory, tmp_path):
    assert io.loads(io.dumps(trajectory)) == trajectory
    assert io.from_dict(io.to_dict(trajectory)) == trajectory
    io.save(trajectory, tmp_path / "run.json")
    assert io.load(tmp_path / "run.json") == trajectory


@many
@given(cases(), st.dictionaries(st.integers(0, 9), st.binary(max_size=6)))
def test_round_trip_of_any_run(case, pieces):
    trajectory = replace(case.trajectory(), pieces=pieces)
    assert io.loads(io.dumps(trajectory)) == trajectory


@given(st.binary(max_size=8))
def test_pieces_of_any_bytes_survive(piece):
    assert io.piece_from_json(json.loads(json.dumps(io.piece_to_json(piece)))) == piece


def test_shape_is_exactly_this():
    data = io.to_dict(full())
    assert list(data) == [
        "schema", "version", "model", "config", "prompt", "prompt_ids", "ids", "text", "finish", "partial", "seconds",
        "steps", "pieces", "special", "eos_ids", "notes",
    ]  # fmt: skip
    assert (data["schema"], data["version"]) == ("cllm-trajectory", 1)
    assert list(data["model"]) == [
        "name", "revision", "adapter", "architecture", "parameters", "device", "device_name", "dtype", "attention",
        "tokenizer",
    ]  # fmt: skip
    assert list(data["config"]) == [
        "decoder", "block_size", "window", "init", "max_new_tokens", "temperature", "top_p", "seed", "top_k",
        "model_defaults",
    ]  # fmt: skip
    assert data["steps"][0] == {
        "start": 0,
        "draft": [2],
        "state": [1, 3],
        "fixed": 1,
        "seconds": 0.5,
        "probabilities": [0.25, 1e-7],
        "top": [[[1, 0.25], [2, 0.1]], [[3, 1e-7], [0, 0.0]]],
    }
    assert data["pieces"] == {"0": "<s>", "1": {"bytes": "f09f"}, "2": "{x", "3": "日\n"}
    assert (data["special"], data["eos_ids"], data["partial"]) == ([0], [3, 9], False)
    assert {field.name for field in fields(Trajectory)} == set(data) - {"schema", "version", "text", "partial"}


def test_json_is_strict_and_one_line():
    text = io.dumps(full())
    assert "\n" not in text
    with pytest.raises(ValueError, match="not JSON compliant"):
        io.dumps(replace(full(), seconds=float("nan")))


def test_ids_and_text_do_not_depend_on_each_other():
    """Text was encoded again on import, so that "a", "b" came back as "ab"."""
    trajectory = worked_example.trajectory(pieces={**worked_example.trajectory().pieces, 0: b"xy", 1: b"x"})
    assert io.loads(io.dumps(trajectory)).ids == trajectory.ids


def test_jsonl_keeps_every_line_whatever_it_holds(tmp_path):
    """U+2028 and U+0085 in a prompt cut a record in two."""
    runs = [full(), worked_example.trajectory(), full()]
    path = tmp_path / "runs.jsonl"
    io.save_jsonl(runs, path)
    assert io.load_jsonl(path) == runs
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n\r\n").rstrip())
    assert io.load_jsonl(path) == runs


def test_a_bad_line_is_named_by_its_number(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text(io.dumps(full()) + '\n\n{"schema": \n', encoding="utf-8")
    with pytest.raises(FormatError, match=r"^Line 3: This is not JSON"):
        io.load_jsonl(path)


def test_half_a_surrogate_pair_survives_as_a_json_escape(tmp_path):
    trajectory = replace(full(), prompt="a\ud800b")
    io.save(trajectory, tmp_path / "run.json")
    assert io.load(tmp_path / "run.json") == trajectory
    assert b"a\\ud800b" in (tmp_path / "run.json").read_bytes()


def test_a_newer_file_is_refused_politely():
    for data in ({**io.to_dict(full()), "version": 2}, {"schema": "cllm-trajectory", "version": 2, "new": True}):
        with pytest.raises(NewerFormat, match="written in format 2, and this program reads up to 1: update it"):
            io.from_dict(data)


def test_a_setting_that_a_file_does_not_know_has_its_default():
    """Files outlive settings that are added later."""
    data = io.to_dict(full())
    del data["config"]["top_k"]
    assert io.from_dict(data).config == replace(full().config, top_k=DecodeConfig().top_k)


def changed(*path: str | int, to: object) -> dict[str, object]:
    data = copy.deepcopy(io.to_dict(full()))
    place: object = data
    for key in path[:-1]:
        place = place[key]  # type: ignore[index]
    place[path[-1]] = to  # type: ignore[index]
    return data


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("config", "block_size"), 0),
        (("config", "block_size"), "4"),
        (("config", "temperature"), 10**400),
        (("seconds",), 10**400),
        (("steps", 0, "seconds"), 10**400),
        (("steps", 0, "probabilities"), [10**400, 0.5]),
        (("config", "colour"), "red"),
        (("config",), []),
        (("config",), None),
        (("model", "name"), 5),
        (("model", "parameters"), "many"),
        (("model", "colour"), "red"),
        (("model",), {}),
        (("model",), None),
        (("prompt",), 5),
        (("prompt_ids",), [1.0]),
        (("prompt_ids",), [-1]),
        (("prompt_ids",), 5),
        (("ids",), [True, 3]),
        (("ids",), [1]),
        (("ids",), [1, 2]),
        (("ids",), "13"),
        (("finish",), "happy"),
        (("finish",), []),
        (("seconds",), "1"),
        (("seconds",), None),
        (("seconds",), -1),
        (("seconds",), float("inf")),
        (("steps",), None),
        (("steps", 0), 5),
        (("steps", 0, "start"), 1),
        (("steps", 0, "fixed"), 0),
        (("steps", 0, "fixed"), 3),
        (("steps", 0, "fixed"), "1"),
        (("steps", 0, "draft"), []),
        (("steps", 0, "draft"), [1, 2, 3]),
        (("steps", 0, "state"), []),
        (("steps", 0, "seconds"), True),
        (("steps", 0, "probabilities"), [0.5]),
        (("steps", 0, "probabilities"), ["a", "b"]),
        (("steps", 0, "top"), [[[1, 0.5]]]),
        (("steps", 0, "top"), [[[1]], [[2]]]),
        (("steps", 1, "start"), 0),
        (("pieces",), []),
        (("pieces",), {"x": "a"}),
        (("pieces", "1"), {"bytes": "zz"}),
        (("pieces", "1"), {"bites": "00"}),
        (("pieces", "1"), 5),
        (("pieces", "1"), "\ud800"),
        (("special",), None),
        (("eos_ids",), ["2"]),
        (("notes",), [5]),
        (("notes",), None),
    ],
)
def test_a_damaged_file_is_refused_in_one_sentence(path, value):
    with pytest.raises(FormatError, match=r"^This trajectory file is damaged: .+\.$") as caught:
        io.from_dict(changed(*path, to=value))
    assert "\n" not in str(caught.value)
    assert not isinstance(caught.value, NewerFormat)


@pytest.mark.parametrize("key", [key for key in io.to_dict(full()) if key not in ("text", "partial")])
def test_a_missing_field_is_named(key):
    data = io.to_dict(full())
    del data[key]
    with pytest.raises(FormatError, match=key):
        io.from_dict(data)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[]", "not a trajectory file"),
        ("5", "not a trajectory file"),
        ('{"schema": "other", "version": 1}', "not a trajectory file"),
        ('{"schema": ["cllm-trajectory"], "version": 1}', "not a trajectory file"),
        ('{"schema": "cllm-trajectory", "version": "1"}', "no usable version"),
        ('{"schema": "cllm-trajectory", "version": true}', "no usable version"),
        ('{"schema": "cllm-trajectory", "version": 0}', "no usable version"),
        ('{"seconds": NaN}', "not strict JSON: it holds NaN"),
        ('{"seconds": -Infinity}', "not strict JSON: it holds -Infinity"),
        ("[" * 200_000, "nested too deeply"),
        ("9" * 5000, "a number too long to read"),
        (b"\xff\xfe{}", "not UTF-8"),
    ],
)
def test_what_is_no_trajectory_is_refused_in_one_sentence(text, message):
    with pytest.raises(FormatError, match=message) as caught:
        io.loads(text)
    assert "\n" not in str(caught.value)


def test_an_output_that_contradicts_its_end_is_refused():
    run = worked_example.trajectory()
    for change, said in (
        ({"eos_ids": frozenset([run.ids[1]])}, "goes on after its end token, at 1"),
        ({"eos_ids": frozenset([10**6]), "finish": "end"}, "finish 'end' does not fit its last token"),
        ({"eos_ids": frozenset([run.ids[-1]]), "finish": "length"}, "finish 'length' does not fit its last token"),
    ):
        with pytest.raises(FormatError, match=said):
            io.loads(io.dumps(replace(run, **change)))


def test_a_number_beyond_floats_is_refused():
    """1e999 is read as infinity, which could not be written again."""
    text = io.dumps(full()).replace('"seconds":1.0', '"seconds":1e999')
    with pytest.raises(FormatError, match="seconds inf is not a number"):
        io.loads(text)


@pytest.mark.parametrize("seconds", ["1e-320", "5e-324", "9e-13"])
def test_a_time_that_no_clock_measures_is_refused(seconds):
    """Tokens a second overflowed to infinity, which no JSON can hold."""
    text = io.dumps(full()).replace('"seconds":1.0', f'"seconds":{seconds}')
    with pytest.raises(FormatError, match="is no time that a clock measures"):
        io.loads(text)


@many
@given(st.data())
def test_a_file_cut_short_or_with_a_byte_changed_never_ends_in_a_traceback(data):
    good = io.dumps(full()).encode()
    position = data.draw(st.integers(0, len(good) - 1))
    bad = good[:position]
    if data.draw(st.booleans()):
        bad += bytes([data.draw(st.integers(0, 255))]) + good[position + 1 :]
    try:
        read = io.loads(bad)
    except FormatError:
        return
    assert io.loads(io.dumps(read)) == read


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(FormatError, match=r"Cannot read missing\.json: No such file"):
        io.load(tmp_path / "missing.json")
    with pytest.raises(FormatError, match="Cannot read"):
        io.load_jsonl(tmp_path)


def test_lanes_of_a_run_survive_in_order(tmp_path):
    lanes = {"base_jacobi": full(), "base_ar": worked_example.trajectory()}
    data = io.run_to_dict(lanes)
    assert list(data) == ["schema", "version", "lanes"]
    assert data["schema"] == "cllm-run"
    assert list(io.loads_run(io.dumps_run(lanes)).items()) == list(lanes.items())
    path = tmp_path / "run.json"
    path.write_text(io.dumps_run(lanes), encoding="utf-8")
    assert io.load_run(path) == lanes


def test_a_lone_trajectory_is_a_run_of_one_lane():
    assert io.run_from_dict(io.to_dict(full())) == {"jacobi": full()}


def test_damage_in_a_run_names_its_lane():
    data = io.run_to_dict({"base_ar": full()})
    data["lanes"]["base_ar"]["finish"] = "happy"
    with pytest.raises(FormatError, match="Lane 'base_ar': This trajectory file is damaged"):
        io.run_from_dict(data)
    data["lanes"]["base_ar"]["version"] = 2
    with pytest.raises(NewerFormat):
        io.run_from_dict(data)
    with pytest.raises(FormatError, match="'lanes' is missing"):
        io.run_from_dict({"schema": "cllm-run", "version": 1})
