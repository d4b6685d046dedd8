"""Links: what goes in comes out, nothing else goes in, and whatever is no link of ours is refused in one sentence."""

import base64
import json
from dataclasses import replace
from typing import Any

import pytest
import worked_example
from hypothesis import given, settings
from hypothesis import strategies as st

from cllm_core.errors import ConfigError, FormatError
from cllm_core.pairs import PAIRS, ModelPair, ModelSource
from cllm_core.types import DecodeConfig
from visualize import share
from visualize.settings import AppSettings
from visualize.share import MOST_LINK, MOST_PROMPT, Shared, from_query, key_of_form, place_from_player, to_query
from visualize.tabs.form import OPTIONS
from visualize.tabs.share import make_link

SHARED = Shared(
    prompt="List <b>the</b> days, ${x} {{y}} 日本 👨‍👩‍👧\n\u202e",
    pair="smollm2",
    config=DecodeConfig(block_size=4, window="sliding", temperature=0.5, model_defaults=False),
    cllm_ar=True,
    place={"lane": "base_jacobi", "pass": 3, "view": "known", "clock": "time"},
)
VALID = {"v": 1, "prompt": "p", "pair": "smollm2", "set": {}}


def value(query: str) -> str:
    return query.removeprefix("share=")


def link(data: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(data).encode()).decode().rstrip("=")


def test_a_link_restores_what_it_was_made_from() -> None:
    assert from_query(value(to_query(SHARED))) == SHARED


@settings(max_examples=50, deadline=None)
@given(
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=200), st.integers(1, 256), st.integers(0, 99)
)
def test_any_prompt_survives_a_link(prompt: str, block: int, at: int) -> None:
    shared = Shared(prompt, "x.y-z", DecodeConfig(block_size=block), place={"pass": at})
    assert from_query(value(to_query(shared))) == shared


def test_a_link_carries_only_these_fields_and_only_settings_that_were_changed() -> None:
    text = value(to_query(SHARED))
    data = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    assert data == {
        "v": 1,
        "prompt": SHARED.prompt,
        "pair": "smollm2",
        "lane": "base_jacobi",
        "pass": 3,
        "view": "known",
        "clock": "time",
        "set": {"block_size": 4, "window": "sliding", "temperature": 0.5, "model_defaults": False},
        "cllm_ar": True,
    }
    assert set(text) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


def test_the_longest_prompt_fits_and_a_longer_one_is_refused() -> None:
    longest = Shared("👨" * MOST_PROMPT)
    assert len(to_query(longest)) <= MOST_LINK
    assert from_query(value(to_query(longest))) == longest
    with pytest.raises(ConfigError, match=r"2,001 characters .* save the run as JSON instead"):
        to_query(Shared("x" * (MOST_PROMPT + 1)))


def test_half_a_character_is_refused() -> None:
    with pytest.raises(ConfigError, match="half a character"):
        to_query(Shared("\ud800"))


@pytest.mark.parametrize(
    "change",
    [
        {"v": 2},
        {"v": None},
        {"extra": 1},
        {"prompt": None},
        {"prompt": "x" * (MOST_PROMPT + 1)},
        {"prompt": "\ud800"},
        {"pair": "../../etc/passwd"},
        {"pair": "a b"},
        {"pair": ["x"]},
        {"pair": "x" * 81},
        {"set": []},
        {"set": {"decoder": "autoregressive"}},
        {"set": {"block_size": 0}},
        {"set": {"block_size": "4"}},
        {"set": {"device": "cuda"}},
        {"set": {"temperature": 1e99}},
        {"lane": "other"},
        {"lane": {}},
        {"view": "<script>"},
        {"clock": 5},
        {"pass": -1},
        {"pass": 1.5},
        {"pass": True},
        {"pass": 10**9},
    ],
)
def test_a_changed_link_is_refused_in_one_sentence(change: dict[str, Any]) -> None:
    assert from_query(link(VALID)).prompt == "p"
    with pytest.raises(FormatError, match=r"^This link cannot be opened: .*start afresh\.$"):
        from_query(link({**VALID, **change}))


@pytest.mark.parametrize("name", ["v", "prompt", "pair", "set"])
def test_a_link_that_lacks_something_is_refused(name: str) -> None:
    with pytest.raises(FormatError):
        from_query(link({key: part for key, part in VALID.items() if key != name}))


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60) | st.binary(max_size=60).map(lambda data: base64.urlsafe_b64encode(data).decode()))
def test_no_text_breaks_it(text: str) -> None:
    with pytest.raises(FormatError):
        from_query(text)


@pytest.mark.parametrize("text", ["A" * (MOST_LINK + 1), "é", "=", "A", "e30", "bnVsbA", "[" * 5000])
def test_an_oversized_or_broken_link_is_refused(text: str) -> None:
    with pytest.raises(FormatError):
        from_query(text)


PAIR = PAIRS["smollm2"]


def place(state: dict[str, Any]) -> Any:
    key = key_of_form(PAIR, "p", DecodeConfig())
    return place_from_player(json.dumps({"asked": key, **state}), key)


def test_what_the_page_tells_of_its_player_is_kept_only_where_it_is_right() -> None:
    state = {"lane": "cllm_jacobi", "pass": 2, "view": "hindsight", "clock": "pass", "last": 9, "fixed": 3}
    assert place(state) == {
        "lane": "cllm_jacobi",
        "pass": 2,
        "view": "hindsight",
        "clock": "pass",
    }
    assert place({"lane": "x", "pass": -1, "view": "known"}) == {"view": "known"}
    for odd in ("", "{", "[]", "5", None, json.dumps({"message": "There is nothing to play yet."})):
        assert place_from_player(odd, "key") == {}


@pytest.mark.parametrize(
    "change",
    [
        {"prompt": "q"}, {"block_size": 5}, {"window": "sliding"}, {"seed": 1}, {"temperature": 0.5},
        {"max_new_tokens": 7}, {"pair": "json-smollm2"},
    ],
)  # fmt: skip
def test_a_place_in_a_run_of_something_else_is_left_out(change: dict[str, Any]) -> None:
    """A link said that it led to a pass of this prompt and these settings, when the run had had others."""
    shown = json.dumps({"pass": 2, "asked": key_of_form(PAIR, "p", DecodeConfig())})
    query, box, _ = make_link(AppSettings(), *form_values(), shown)
    assert from_query(value(query)).place == {"pass": 2}
    query, box, _ = make_link(AppSettings(), *form_values(**change), shown)
    assert from_query(value(query)).place == {}
    assert "to no pass" in box.label


def test_the_place_in_a_run_of_a_pair_with_a_template_is_kept() -> None:
    pair = PAIRS["cllm-7b-math"]
    shown = json.dumps({"pass": 2, "asked": key_of_form(pair, "p", DecodeConfig())})
    query, *_ = make_link(AppSettings(), *form_values(pair=pair.name), shown)
    assert from_query(value(query)).place == {"pass": 2}
    run = worked_example.trajectory(prompt=pair.wrap("p"), config=DecodeConfig())
    assert share.key_of_run({"base_jacobi": run, "cllm_jacobi": run}) == key_of_form(pair, "p", DecodeConfig())


def test_a_recording_is_shown_only_for_the_same_prompt_and_settings() -> None:
    run = worked_example.trajectory(config=DecodeConfig(block_size=6, max_new_tokens=6, top_k=3))
    run = replace(run, model=replace(run.model, adapter="mine/target"))
    ar = replace(run, config=replace(run.config, decoder="autoregressive"))
    shared = Shared("p", "mine", DecodeConfig(block_size=6, max_new_tokens=6, top_k=5))
    source = ModelSource("bundled", "smollm2", adapter="/somewhere/mine/target")
    pair = ModelPair("mine", "Mine", base=source, cllm=source)

    def shows(shared: Shared, lanes: dict[str, Any], pair: ModelPair = pair) -> bool:
        return share.shows(shared, pair, lanes)

    both = {"base_jacobi": run, "cllm_jacobi": run}
    assert shows(shared, {"base_ar": ar, **both})
    assert not shows(shared, {"base_ar": ar})
    assert not shows(shared, {"base_jacobi": run})
    assert not shows(replace(shared, prompt="q"), both)
    plain = replace(run, model=replace(run.model, adapter=""))
    bare = ModelPair("bare", "Bare", base=ModelSource("bundled", "smollm2"))
    assert shows(shared, {"base_jacobi": plain}, bare)
    assert not shows(shared, {"base_jacobi": run}, bare)
    assert not shows(shared, {"base_jacobi": plain, "cllm_jacobi": plain})
    assert not shows(shared, {"base_jacobi": plain, "cllm_jacobi": plain}, bare)
    assert not shows(shared, {"jacobi": run})
    assert not shows(replace(shared, config=DecodeConfig()), both)


def form_values(**changes: Any) -> list[Any]:
    """What the form's widgets send: prompt, pair, own base, own CLLM, its checkbox, then the options."""
    config = DecodeConfig()
    options = {name: getattr(config, name) for name in OPTIONS}
    values = {"prompt": "p", "pair": "smollm2", "own_base": "", "own_cllm": "", "cllm_ar": False, **options, **changes}
    return list(values.values())


def test_the_button_makes_a_link_of_the_form_and_the_player() -> None:
    key = key_of_form(PAIR, "p", DecodeConfig(block_size=4))
    shown = json.dumps({"pass": 2, "view": "known", "asked": key})
    query, box, line = make_link(AppSettings(), *form_values(block_size=4), shown)
    assert from_query(value(query)) == Shared(
        "p", "smollm2", DecodeConfig(block_size=4), place={"pass": 2, "view": "known"}
    )
    assert box.visible is True
    assert line["__type__"] == "update"  # the status line stays


def test_names_of_a_visitors_own_models_stay_out_of_a_link() -> None:
    query, *_ = make_link(
        AppSettings(), *form_values(pair="own", own_base="/home/me/model", own_cllm="me/secret"), "{}"
    )
    assert from_query(value(query)) == Shared("p")


@pytest.mark.parametrize(
    ("change", "said"), [({"block_size": None}, "Block size n is empty"), ({"prompt": "x" * 3000}, "3,000")]
)
def test_a_form_that_makes_no_link_says_why(change: dict[str, Any], said: str) -> None:
    query, _, line = make_link(AppSettings(), *form_values(**change), "{}")
    assert query == ""
    assert json.loads(line)["kind"] == "error"
    assert said in json.loads(line)["text"]
