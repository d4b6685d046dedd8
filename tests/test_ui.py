"""What the app makes of the environment, of the form and of a browser that cannot be trusted; no model, no server."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from pages import built_in_a_loop

import app
from cllm_core.errors import ConfigError, ModelNotFound, PromptError
from cllm_core.options import option_field
from cllm_core.pairs import PAIRS, ModelPair, ModelSource, write_pair
from cllm_core.tasks.prompts import MAX_CHARS
from cllm_core.types import DecodeConfig
from visualize import load
from visualize.runs import RUNS
from visualize.settings import AppSettings
from visualize.tabs import compare
from visualize.tabs.compare import begin, decode, open_file, queue_place, request_from, stop
from visualize.tabs.controls import control, options_from
from visualize.tabs.form import OPTIONS, OWN_MODELS, pair_updates, suited_options
from visualize.tabs.status import status_json
from visualize.training import target_models
from visualize.ui import build_ui, theme

DEFAULTS = [option_field(DecodeConfig, name).default for name in OPTIONS]


def built(settings: AppSettings) -> gr.Blocks:
    return built_in_a_loop(lambda: build_ui(settings))


def request(settings: AppSettings | None = None, **changes: Any) -> Any:
    values = {"prompt": "Hello", "pair": "smollm2", "own_base": "", "own_cllm": "", "cllm_ar": False}
    options = dict(zip(OPTIONS, DEFAULTS))
    form = {name: changes.pop(name, value) for name, value in values.items()}
    return request_from(settings or AppSettings(), *form.values(), *{**options, **changes}.values())


# --- the environment


def test_without_variables_the_app_listens_here_only_and_loads_anything():
    settings = AppSettings.from_environment({})
    assert (settings.host, settings.port, settings.device, settings.dtype) == (None, None, "auto", "auto")
    assert settings.own_models
    assert set(PAIRS) <= set(settings.pairs())


def test_every_setting_can_be_given():
    settings = AppSettings.from_environment({
        "CLLM_HOST": "0.0.0.0", "CLLM_PORT": "8000", "CLLM_DEVICE": "cpu", "CLLM_DTYPE": "bfloat16",
        "CLLM_MAX_NEW_TOKENS": "64", "CLLM_MODELS": "smollm2, owner/name",
    })  # fmt: skip
    assert settings == AppSettings(
        "0.0.0.0", 8000, "cpu", "bfloat16", 64, frozenset({"smollm2", "owner/name"}), public=False
    )


@pytest.mark.parametrize(
    ("name", "value"), [("CLLM_PORT", "eighty"), ("CLLM_PORT", "70000"), ("CLLM_MAX_NEW_TOKENS", "0")]
)
def test_a_bad_number_in_the_environment_is_named(name: str, value: str):
    with pytest.raises(ConfigError, match=f"{name} must be a whole number"):
        AppSettings.from_environment({name: value})


def test_a_slip_of_the_pen_in_the_list_of_models_is_named():
    with pytest.raises(ConfigError, match=r"CLLM_MODELS names 'json-smolm2', which is no pair \(.*json-smollm2"):
        AppSettings.from_environment({"CLLM_MODELS": "smollm2,json-smolm2"})


@pytest.mark.parametrize("most", ["1", "2"])
def test_the_smallest_limit_of_tokens_still_makes_a_page(most: str):
    settings = AppSettings.from_environment({"CLLM_MAX_NEW_TOKENS": most})
    limit = control(DecodeConfig, "max_new_tokens", maximum=settings.max_new_tokens)
    assert limit.value == limit.maximum == int(most)


def test_where_only_a_trained_pair_is_on_the_list_its_plain_model_can_be_trained():
    listed = AppSettings.from_environment(
        {"SPACE_ID": "o/s", "CLLM_ENABLE_TRAINING": "1", "CLLM_MODELS": "json-smollm2"}
    )
    assert target_models(listed) == {"smollm2": "smollm2"}
    assert target_models(AppSettings())["smollm2"].startswith("SmolLM2")
    assert list(target_models(AppSettings())) == ["smollm2"]  # and no model of many gigabytes


def test_a_public_space_loads_no_models_of_strangers_and_offers_no_pair_that_needs_a_gpu():
    settings = AppSettings.from_environment({"SPACE_ID": "owner/space"})
    assert not settings.own_models
    assert settings.max_new_tokens == 512
    assert "smollm2" in settings.pairs()
    assert not any(pair.needs_gpu for pair in settings.pairs().values())
    with pytest.raises(ModelNotFound, match="does not load owner/name"):
        request(settings, pair=OWN_MODELS, own_base="owner/name")


def test_a_list_of_models_lets_nothing_else_load():
    settings = AppSettings(models=frozenset({"smollm2", "owner/good"}))
    assert list(settings.pairs()) == ["smollm2"]
    assert request(settings, pair=OWN_MODELS, own_base="owner/good").pair.base == ModelSource("hub", "owner/good")
    for changes in ({"own_base": "owner/bad"}, {"own_base": "owner/good", "own_cllm": "owner/bad"}):
        with pytest.raises(ModelNotFound, match="does not load owner/bad"):
            request(settings, pair=OWN_MODELS, **changes)
    with pytest.raises(ModelNotFound, match="not on offer"):
        request(settings, pair="cllm-7b-math")
    assert not AppSettings(models=frozenset({"smollm2"})).own_models


def test_a_pair_trained_since_the_start_is_on_offer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CLLM_RUNS", str(tmp_path))
    settings = AppSettings()
    (tmp_path / "mine" / "cllm").mkdir(parents=True)
    base = ModelSource("bundled", "smollm2")
    adapted = ModelSource("bundled", "smollm2", adapter=str(tmp_path / "mine" / "cllm"))
    write_pair(tmp_path / "mine", ModelPair("mine", "Mine <b>", base, adapted))
    assert ("Mine <b>", "mine") in compare.refreshed_pairs(settings).choices


# --- widgets from the fields


@pytest.mark.parametrize("name", OPTIONS)
def test_a_widget_takes_default_bounds_and_help_from_its_field(name: str):
    field, widget = option_field(DecodeConfig, name), control(DecodeConfig, name)
    assert widget.value == field.default
    assert widget.info == field.metadata["help"]
    assert widget.label == field.metadata["label"]
    for bound in ("minimum", "maximum"):
        assert getattr(widget, bound, None) == field.metadata[bound]


def test_a_cap_lowers_the_bound_and_the_default():
    slider = control(DecodeConfig, "max_new_tokens", maximum=64)
    assert (slider.maximum, slider.value) == (64, 64)


def test_numbers_of_a_browser_become_the_fields_own_types():
    config = options_from(DecodeConfig, {"block_size": 8.0, "temperature": 1, "seed": 3})
    assert (config.block_size, config.temperature, config.seed) == (8, 1.0, 3)
    assert isinstance(config.temperature, float)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"seed": None}, "Seed is empty"),
        ({"block_size": 8.5}, "block_size must be a whole number"),
        ({"block_size": 1000}, "block_size must be at most 256"),
        ({"window": "<img src=x>"}, "window must be one of"),
        ({"temperature": float("nan")}, "temperature must be a finite number"),
    ],
)
def test_a_widget_value_out_of_bounds_is_named(values: dict[str, Any], message: str):
    with pytest.raises(ConfigError, match=message):
        options_from(DecodeConfig, values)


# --- the form


def test_a_form_becomes_a_request():
    made = request(prompt="  Hello\n", block_size=4.0, cllm_ar=True)
    assert made.prompt == "  Hello\n"  # nothing is trimmed: a prompt is data
    assert made.config == DecodeConfig(block_size=4)
    assert made.lanes == ("base_ar", "base_jacobi", "cllm_jacobi", "cllm_ar")
    assert made.lane_keys == ["base_ar", "base_jacobi"]  # smollm2 has no CLLM


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"prompt": " \n"}, PromptError, "The prompt is empty"),
        ({"prompt": None}, PromptError, "The prompt is empty"),
        ({"prompt": "x" * (MAX_CHARS + 1)}, PromptError, "shorten it"),
        ({"prompt": "half \ud83d"}, PromptError, "half a character"),
        ({"pair": "nonsense"}, ModelNotFound, "not on offer"),
        ({"pair": None}, ModelNotFound, "not on offer"),
        ({"pair": OWN_MODELS}, ModelNotFound, "Name a base model"),
        ({"pair": OWN_MODELS, "own_base": "no such folder"}, ModelNotFound, "no model or folder 'no such folder'"),
    ],
)
def test_a_form_that_cannot_be_run_says_why(changes: dict[str, Any], error: type[Exception], message: str):
    with pytest.raises(error, match=message):
        request(**changes)


def test_the_cap_on_tokens_holds_on_the_server_too():
    with pytest.raises(PromptError, match="at most 64 tokens"):
        request(AppSettings(max_new_tokens=64), max_new_tokens=65)


def test_a_pair_brings_its_description_its_examples_and_the_settings_that_suit_it():
    pair = ModelPair(
        "p",
        "P",
        ModelSource("bundled", "smollm2"),
        description="About it.",
        examples=("new",),
        decode={"block_size": 4, "seed": 7},
    )
    updates = pair_updates(pair)
    assert updates[0].raw_samples == [["new"]]
    assert updates[1] == "About it."
    options = suited_options(pair, AppSettings())
    assert (options["block_size"], options["seed"]) == (4, 7)
    assert not {"temperature", "top_k"} & set(options)
    assert suited_options(None, AppSettings()) == {}


def test_a_former_pairs_settings_do_not_stay():
    """After the pair that likes a sliding window, one without a liking ran with it."""
    settings = AppSettings(max_new_tokens=64)
    liked = {name for pair in settings.pairs().values() for name in pair.decode}
    assert "window" in liked
    options = suited_options(PAIRS["smollm2"], settings)
    for name in liked:
        default = option_field(DecodeConfig, name).default
        assert options[name] == (min(default, 64) if name == "max_new_tokens" else default)


def test_a_suggested_prompt_may_replace_any_pairs_example_and_nothing_else():
    settings = AppSettings()
    suggested = compare.suggested(PAIRS["smollm2"], settings)
    assert suggested["prompt"] == PAIRS["smollm2"].examples[0]
    assert {example for pair in settings.pairs().values() for example in pair.examples} == set(suggested["examples"])
    own = compare.suggested(None, settings)
    assert (own["prompt"], own["suited"]) == ("", {})


def test_suggested_settings_are_named_by_their_place_in_the_form():
    suited = compare.suggested(PAIRS["smollm2"], AppSettings())["suited"]
    options = suited_options(PAIRS["smollm2"], AppSettings())
    assert {OPTIONS[int(index)]: value for index, value in suited.items()} == options


# --- handlers


def test_events_of_a_visitor_without_a_run_change_nothing():
    assert all(update == gr.skip() for update in stop(None))
    assert [set(map(str, updates)) for updates in decode("no such run")] == [{str(gr.skip())}]
    assert queue_place("no such run")[0] == gr.skip()


def test_a_run_that_nothing_started_gives_way_to_the_next_one():
    """A full queue refused the first: the second Run then decoded the first prompt."""
    values = [getattr(DecodeConfig(), name) for name in OPTIONS]

    def press(current: str | None, prompt: str) -> str | None:
        return begin(AppSettings(), "me", current, prompt, "smollm2", "", "", False, *values)[0]

    first = press(None, "first")
    second = press(first, "second")
    try:
        assert RUNS.get(first) is None
        assert RUNS.get(second).request.prompt == "second"
        assert RUNS.ahead(second) == 0
        RUNS.get(second).began = 1.0
        assert press(second, "third") == gr.skip()
    finally:
        RUNS.drop(second)


def test_a_public_app_opens_small_files_only(tmp_path: Path):
    (tmp_path / "large.json").write_bytes(b" " * 6_000_000)
    assert "up to 5 MB" in open_file(AppSettings(public=True).upload_bytes, str(tmp_path / "large.json"))[0]
    assert "up to 5 MB" not in open_file(AppSettings().upload_bytes, str(tmp_path / "large.json"))[0]


def test_a_run_is_shown_though_its_files_cannot_be_written(monkeypatch: pytest.MonkeyPatch):
    path = next(iter(load.bundled_runs().values()))
    monkeypatch.setattr(Path, "write_bytes", lambda *arguments: (_ for _ in ()).throw(OSError(28, "No space left")))
    status, player, *rest = open_file(10**8, str(path))
    assert "could not be written" in status
    assert player["lanes"]
    assert not any(button.interactive for button in rest[-3:])


def test_a_bad_file_is_refused_in_one_line_and_what_was_shown_stays(tmp_path: Path):
    bad = tmp_path / "<b>bad.json"
    bad.write_text('{"schema": "other"}', encoding="utf-8")
    status, *rest = open_file(10**6, str(bad))
    assert '"kind": "error"' in status
    assert "could not be opened" in status
    assert "not a trajectory file" in status
    assert "<" not in status  # it lies in a page's script: every markup character is escaped there
    assert all(update == gr.skip() for update in rest)


def test_status_text_is_carried_as_data_whatever_it_holds():
    value = status_json(
        {"kind": "error", "text": "</script><img> ${x} \ud83d", "share": None, "lanes": [], "notes": []}
    )
    assert value.isascii()
    assert "<" not in value


# --- the page


def test_the_page_can_be_built_with_no_recorded_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(compare, "bundled_runs", lambda: load.bundled_runs(tmp_path))
    blocks = built(AppSettings())
    assert any(isinstance(block, gr.DownloadButton) and not block.interactive for block in blocks.blocks.values())


def test_every_event_is_private_and_every_model_event_shares_one_queue_of_one():
    blocks = built(AppSettings())
    events = list(blocks.fns.values())
    public = [event.name for event in events if event.api_visibility == "public" and event.fn is not None]
    models = [event for event in events if event.concurrency_id == compare.MODEL_QUEUE]
    assert [event.concurrency_limit for event in models] == [1]
    assert public == []


def test_the_theme_fetches_no_fonts():
    assert not theme()._stylesheets


@pytest.mark.slow
def test_the_page_is_built_without_torch_and_transformers():
    code = (
        "import sys, app; from visualize.settings import AppSettings; from visualize.ui import build_ui;"
        "build_ui(AppSettings()); print([name for name in ('torch', 'transformers') if name in sys.modules])"
    )
    root = Path(__file__).resolve().parent.parent
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_bad_variable_and_a_taken_port_are_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def taken(*arguments: object) -> None:
        raise OSError("Cannot find empty port in range: 7860-7860.")

    monkeypatch.setattr(app, "build_ui", lambda settings: None)
    monkeypatch.setattr(app, "launch", taken)
    assert app.main() == 1
    assert capsys.readouterr().err == "error: Cannot find empty port in range: 7860-7860.\n"
    monkeypatch.setenv("CLLM_PORT", "none")
    assert app.main() == 1
    assert "CLLM_PORT must be a whole number" in capsys.readouterr().err


def test_the_app_reaches_its_own_page_whatever_proxy_there_is(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NO_PROXY", "example.org")
    monkeypatch.delenv("no_proxy", raising=False)
    app._keep_proxies_out()
    for name in ("no_proxy", "NO_PROXY"):
        assert {"example.org", "localhost", "127.0.0.1"} <= set(os.environ[name].split(","))
