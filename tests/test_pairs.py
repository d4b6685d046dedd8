"""Sources and pairs: what a user may name, what training leaves behind, and what is said when neither is found."""

import dataclasses
import json
import logging

import pytest

from cllm_core.errors import FormatError, ModelNotFound, NewerFormat
from cllm_core.pairs import (
    PAIRS,
    ModelPair,
    ModelSource,
    all_pairs,
    discover_pairs,
    find_pair,
    pair_from_models,
    read_pair,
    write_pair,
)


@pytest.fixture(autouse=True)
def runs(tmp_path, monkeypatch):
    """An empty runs folder of the test's own."""
    folder = tmp_path / "runs"
    folder.mkdir()
    monkeypatch.setenv("CLLM_RUNS", str(folder))
    return folder


def test_a_source_is_the_bundled_name_a_folder_or_a_hub_id(tmp_path, monkeypatch):
    folder = tmp_path / "my model"
    folder.mkdir()
    assert ModelSource.parse(" smollm2 ") == ModelSource("bundled", "smollm2")
    assert ModelSource.parse(str(folder)) == ModelSource("folder", str(folder))
    assert ModelSource.parse("owner/some.Name-7b") == ModelSource("hub", "owner/some.Name-7b")
    assert ModelSource.parse("owner/name@refs/pr-1") == ModelSource("hub", "owner/name", "refs/pr-1")
    monkeypatch.chdir(tmp_path)
    assert ModelSource.parse("my model") == ModelSource("folder", str(folder))


def test_a_folder_goes_before_a_hub_id_of_the_same_name(tmp_path, monkeypatch):
    (tmp_path / "owner" / "name").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert ModelSource.parse("owner/name").kind == "folder"


@pytest.mark.parametrize("text", ["smollm2", "owner/name", "owner/name@v1.0"])
def test_a_source_survives_its_own_text(text):
    assert str(ModelSource.parse(text)) == text


@pytest.mark.parametrize(
    "text", ["", "gpt2", "/no/such/folder", "./nothing", "../x/y", "a/b/c", "owner/name@", "a b/c"]
)
def test_what_is_none_of_them_is_said_with_the_ways_to_name_one(text):
    with pytest.raises(
        ModelNotFound, match=r"There is no model or folder .*smollm2 \(bundled\), the path .*owner/name"
    ):
        ModelSource.parse(text)


def test_a_misspelt_bundled_name_is_recognised():
    with pytest.raises(ModelNotFound, match=r"did you mean smollm2"):
        ModelSource.parse("smolm2")
    for text in ("~nosuchuser/model", "x" * 5000, "a\0b"):
        with pytest.raises(ModelNotFound):
            ModelSource.parse(text)


def test_a_title_never_holds_a_full_path(tmp_path):
    source = ModelSource("folder", str(tmp_path / "tiny"), adapter=str(tmp_path / "spider" / "cllm"))
    assert source.title == "tiny + spider/cllm"


def test_the_pairs_on_offer_are_the_bundled_model_and_the_published_four():
    assert list(PAIRS) == ["smollm2", "cllm-7b-math", "cllm-7b-spider", "cllm-7b-code", "cllm-7b-chat"]
    published = [pair for pair in PAIRS.values() if pair.cllm]
    assert {pair.base.where: pair.cllm.where for pair in published} == {
        "GAIR/Abel-7B-001": "cllm/consistency-llm-7b-math",
        "cllm/deepseekcoder-7b-instruct-spider": "cllm/consistency-llm-7b-spider",
        "cllm/deepseekcoder_7b_codesearch_net_python": "cllm/consistency-llm-7b-codesearchnet",
        "cllm/vicuna-7b-sharegpt-gpt4-48k": "cllm/consistency-llm-7b-sharegpt48k",
    }
    for pair in published:
        assert pair.needs_gpu
        assert "GB" in pair.description
        assert not pair.chat
        assert pair.template.count("{prompt}") == 1


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_every_pair_can_be_shown_and_has_examples(pair):
    assert pair.title
    assert pair.description
    assert pair.examples
    assert find_pair(pair.name) is pair


def test_a_template_takes_any_prompt_literally():
    pair = dataclasses.replace(PAIRS["smollm2"], template="Q: {prompt}\nA:")
    assert pair.wrap("{0} {prompt} ${x} \\1") == "Q: {0} {prompt} ${x} \\1\nA:"


def test_the_nearest_pairs_are_named():
    with pytest.raises(ModelNotFound, match=r"There is no pair 'smolm2': did you mean smollm2"):
        find_pair("smolm2")
    with pytest.raises(ModelNotFound, match=r"There is no pair 'xyz': there are .*smollm2, cllm-7b-math"):
        find_pair("xyz")


def test_any_two_models_make_a_pair(tmp_path):
    (tmp_path / "mine").mkdir()
    pair = pair_from_models(str(tmp_path / "mine"), "owner/name")
    assert (pair.base.kind, pair.cllm.kind) == ("folder", "hub")
    assert pair.title == "mine and owner/name"
    assert pair_from_models("smollm2").cllm is None
    assert not pair_from_models("smollm2", chat=False).chat
    with pytest.raises(ModelNotFound):
        pair_from_models("smollm2", "no such thing")


def trained_pair(folder, name="notes") -> ModelPair:
    for adapter in ("target", "cllm"):
        (folder / adapter).mkdir(parents=True, exist_ok=True)
    return ModelPair(
        name=name,
        title="Notes → JSON",
        base=ModelSource("bundled", "smollm2", adapter=str(folder / "target")),
        cllm=ModelSource("bundled", "smollm2", adapter=str(folder / "cllm")),
        description="Trained here.",
        chat=False,
        template="{prompt}\n",
        examples=("Lunch with Zoë",),
        decode={"block_size": 16, "window": "sliding"},
        results={"speedup": 2.3},
    )


def test_a_pair_file_round_trips(runs):
    pair = trained_pair(runs / "a")
    write_pair(runs / "a", pair)
    assert read_pair(runs / "a") == pair
    assert discover_pairs(runs) == {"notes": pair}
    assert find_pair("notes") == pair


def test_a_pair_file_has_exactly_this_shape(runs):
    assert json.loads(write_pair(runs / "a", trained_pair(runs / "a")).read_text(encoding="utf-8")) == {
        "version": 1,
        "name": "notes",
        "title": "Notes → JSON",
        "description": "Trained here.",
        "base": "smollm2",
        "target_adapter": "target",
        "cllm_adapter": "cllm",
        "cllm_model": None,
        "chat": False,
        "template": "{prompt}\n",
        "examples": ["Lunch with Zoë"],
        "decode": {"block_size": 16, "window": "sliding"},
        "results": {"speedup": 2.3},
    }


def test_a_pair_folder_can_be_moved(runs, tmp_path):
    write_pair(runs / "a", trained_pair(runs / "a"))
    (runs / "a").rename(tmp_path / "moved")
    assert read_pair(tmp_path / "moved").cllm.adapter == str(tmp_path / "moved" / "cllm")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"base": None}, "damaged"),
        ({"base": "no such model"}, "There is no model or folder 'no such model'"),
        ({"cllm_adapter": "missing"}, "cllm_adapter names 'missing', which is not a folder beside it"),
        ({"target_adapter": "../elsewhere"}, "target_adapter names '../elsewhere', which is not a folder beside it"),
        ({"target_adapter": 5}, "damaged"),
        ({"name": 5}, "name is not text"),
        ({"examples": None}, "damaged"),
        ({"decode": {"block_size": 0}}, "block_size must be at least 1"),
        ({"decode": {"blok": 1}}, "blok"),
        ({"version": "x"}, "damaged"),
    ],
)
def test_a_damaged_pair_file_is_said_and_left_out(runs, caplog, changes, said):
    path = write_pair(runs / "a", trained_pair(runs / "a"))
    (runs / "elsewhere").mkdir()
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    with pytest.raises(FormatError, match=said):
        read_pair(runs / "a")
    with caplog.at_level(logging.WARNING):
        assert "notes" not in all_pairs()
    assert str(path) in caplog.text


def test_a_missing_field_is_named(runs):
    path = write_pair(runs / "a", trained_pair(runs / "a"))
    data = json.loads(path.read_text())
    del data["template"]
    path.write_text(json.dumps(data))
    with pytest.raises(FormatError, match="field 'template' is missing"):
        read_pair(runs / "a")


def test_a_newer_pair_file_is_refused_politely(runs):
    path = write_pair(runs / "a", trained_pair(runs / "a"))
    path.write_text(json.dumps({**json.loads(path.read_text()), "version": 2}))
    with pytest.raises(NewerFormat, match="newer version of this program: update it"):
        read_pair(runs / "a")


def test_a_trained_pair_cannot_take_the_name_of_one_on_offer(runs):
    write_pair(runs / "a", trained_pair(runs / "a", "smollm2"))
    assert find_pair("smollm2") is PAIRS["smollm2"]


def test_an_adapter_beside_its_base_is_put_on_that_base_whatever_it_calls_it(tmp_path):
    base, adapter = tmp_path / "mine", tmp_path / "adapter"
    for folder, name in ((base, "config.json"), (adapter, "adapter_config.json")):
        folder.mkdir()
        (folder / name).write_text("{}")
    pair = pair_from_models(str(base), str(adapter))
    assert (pair.cllm.where, pair.cllm.adapter) == (str(base), str(adapter))
    assert pair_from_models("smollm2", str(adapter)).cllm == ModelSource("bundled", "smollm2", "", str(adapter))
    two = pair_from_models(str(adapter), str(adapter))  # a target that is an adapter itself: each finds its own base
    assert (two.cllm.where, two.cllm.adapter) == (str(adapter), None)
