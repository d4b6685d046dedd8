"""The command line, run in this process on a tiny random model."""

import argparse
import json
from dataclasses import replace
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest
import tiny

from cllm_core import compare, io, models
from cllm_core.cli import COMMANDS, main
from cllm_core.collocation_files import read_corpus
from cllm_core.errors import FormatError
from cllm_core.options import option_fields
from cllm_core.types import DecodeConfig

LANE_KEYS = {
    "ids", "text", "tokens", "passes", "tokens_per_pass", "prefill_seconds", "seconds", "tokens_per_second", "speedup",
    "fast_forward_per_pass", "paper_fast_forward", "stationary_per_block", "paper_stationary", "equals_ar",
}  # fmt: skip


@pytest.fixture(autouse=True)
def tiny_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every model that a command asks for is the same tiny random one, or another where it has an adapter."""

    def load(source: models.ModelSource, **options: str) -> object:
        return tiny.loaded(tiny.model(seed=1 if source.adapter else 0))

    monkeypatch.setattr(models, "load", load)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_decode_writes_the_trajectory_it_prints(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    flags = ["--decoder", "jacobi", "--block-size", "4", "--max-new-tokens", "12", "--out", str(out)]
    code, printed, notes = run(capsys, "decode", "--prompt", "abc", *flags)
    trajectory = io.load(out)
    assert code == 0
    assert printed == trajectory.text + "\n"
    assert (trajectory.config.block_size, len(trajectory.ids)) == (4, 12)
    assert f"12 tokens in {len(trajectory.steps)} passes" in notes


def test_standard_input_is_the_text_that_was_typed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, typed in enumerate((b"\xef\xbb\xbfhi\r\n", b"hi\n", b"hi", b"hi\n\n")):
        monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(typed)))
        out = tmp_path / f"{number}.json"
        assert run(capsys, "decode", "--prompt", "-", "--max-new-tokens", "2", "--out", str(out))[0] == 0
        assert io.load(out).prompt == ("hi\n" if number == 3 else "hi")


def test_a_comparison_can_be_joined_back_and_its_runs_read_one_by_one(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    prompts, out, saved = tmp_path / "prompts.jsonl", tmp_path / "out.json", tmp_path / "runs.jsonl"
    turns = [{"role": "user", "content": "abc"}]
    rows = [{"id": "x", "prompt": "abc"}, {"id": "x", "prompt": "xyz"}, {"id": "c", "messages": turns}, {"promt": 1}]
    prompts.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    files = ["--prompts", str(prompts), "--json", str(out), "--save-run", str(saved)]
    code, *_ = run(capsys, "compare", *files, "--base", "smollm2", "--no-chat", "--max-new-tokens", "4")
    result = json.loads(out.read_text(encoding="utf-8"))
    assert code == 0
    assert [row["id"] for row in result["prompts"]] == ["x", "x-2", "c"]
    assert [row.get("messages") for row in result["prompts"]] == [None, None, turns]
    assert (result["chat"], result["template"], result["left_out"]) == (False, "{prompt}", 1)
    assert [run["base_ar"].prompt for run in io.load_runs(saved)] == ["abc", "xyz", "abc"]
    for number, prompt in ((1, "abc"), (2, "xyz"), (3, "abc")):  # two conversations may end with the same message
        target = tmp_path / f"{number}.json"
        assert (
            run(capsys, "export", str(saved), "--format", "json", "--prompt", str(number), "--out", str(target))[0] == 0
        )
        assert io.load_run(target)["base_ar"].prompt == prompt
    code, _, error = run(capsys, "export", str(saved), "--format", "csv", "--prompt", "4")
    assert (code, "holds 3 prompts: there is none of number 4" in error) == (1, True)
    code, _, error = run(capsys, "export", str(out), "--format", "csv")
    assert (code, "it is a comparison" in error) == (1, True)
    with pytest.raises(FormatError, match="it is a run, of one or more lanes; load_run reads it"):
        io.load_jsonl(saved)


def test_every_decode_setting_is_a_flag_with_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["decode", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    for field in option_fields(DecodeConfig):
        assert "--" + field.name.replace("_", "-") in text
        assert field.metadata["help"].split(":")[0] in text


def test_compare_offers_no_setting_that_its_lanes_decide(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["compare", "--help"])
    text = capsys.readouterr().out
    assert "--block-size" in text
    assert "--decoder" not in text


def test_compare_writes_every_lane_and_the_summary(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    prompts, out, saved = tmp_path / "prompts.jsonl", tmp_path / "out.json", tmp_path / "run.json"
    prompts.write_text('{"prompt": "abc"}\n\n{"promt": "x"}\n{"id": "b", "prompt": "xyz"}\n', encoding="utf-8")
    files = ["--prompts", str(prompts), "--json", str(out), "--save-run", str(saved)]
    code, table, notes = run(capsys, "compare", *files, "--max-new-tokens", "8", "--block-size", "4")
    result = json.loads(out.read_text(encoding="utf-8"))
    assert code == 0
    assert "line 3" in notes  # the bad row is named, the others are used
    assert [row["prompt"] for row in result["prompts"]] == ["abc", "xyz"]
    for row in result["prompts"]:
        assert set(row["lanes"]) == {"base_ar", "base_jacobi"}
        for lane in row["lanes"].values():
            assert lane.keys() >= LANE_KEYS
            assert lane["equals_ar"] is True
    assert result["summary"]["base_ar"]["tokens"] == 16
    assert result["summary"]["base_ar"]["speedup"] == 1
    assert {"pair", "device", "dtype"} <= result.keys()
    assert "base_jacobi" in table
    assert list(io.load_run(saved)) == ["base_ar", "base_jacobi"]
    every = tmp_path / "runs.jsonl"
    assert run(capsys, "compare", *files[:2], "--save-run", str(every), "--max-new-tokens", "8")[0] == 0
    corpus = read_corpus([every])
    assert [lanes["base_ar"].prompt for lanes in corpus.runs] == ["abc", "xyz"]
    assert not corpus.problems


def test_compare_checks_a_cllm_against_its_own_model(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = models.ModelSource("bundled", "smollm2")
    tuned = models.ModelSource("bundled", "smollm2", adapter="tuned")
    monkeypatch.setattr(models, "find_pair", lambda name: models.ModelPair(name, name, base, tuned))
    out = tmp_path / "out.json"
    code, *_ = run(capsys, "compare", "--pair", "x", "--prompt", "abc", "--max-new-tokens", "8", "--json", str(out))
    lanes = json.loads(out.read_text(encoding="utf-8"))["prompts"][0]["lanes"]
    assert code == 0
    assert set(lanes) == {"base_ar", "base_jacobi", "cllm_jacobi"}
    assert lanes["cllm_jacobi"]["equals_ar"] is True  # against the CLLM's own one-at-a-time ids
    assert lanes["cllm_jacobi"]["ids"] != lanes["base_ar"]["ids"]


def test_an_interrupted_comparison_keeps_what_was_measured(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompts, out, saved = tmp_path / "prompts.txt", tmp_path / "out.json", tmp_path / "runs.jsonl"
    prompts.write_text("abc\nxyz\n", encoding="utf-8")
    whole, asked = compare.compare, []

    def once(loaded: Any, prompt: Any, *arguments: Any, **options: Any) -> Any:
        asked.append(prompt)
        if len(asked) > 1:
            raise KeyboardInterrupt
        return whole(loaded, prompt, *arguments, **options)

    monkeypatch.setattr(compare, "compare", once)
    flags = ["--prompts", str(prompts), "--json", str(out), "--save-run", str(saved), "--max-new-tokens", "4"]
    code, table, error = run(capsys, "compare", *flags)
    result = json.loads(out.read_text(encoding="utf-8"))
    assert (code, result["partial"], [row["prompt"] for row in result["prompts"]]) == (130, True, ["abc"])
    assert "Stopped after 1 of 2 prompts." in error
    assert "base_jacobi" in table
    assert len(io.load_runs(saved)) == 1


def test_compare_says_where_a_lane_first_differs_and_how_near_it_was(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = compare.compare

    def parted(*arguments: Any, **options: Any) -> Any:
        found = whole(*arguments, **options)
        lane = replace(found["base_jacobi"], equals_ar=False, first_difference=compare.Difference(2, 0.01234))
        return {**found, "base_jacobi": lane}

    monkeypatch.setattr(compare, "compare", parted)
    _, _, error = run(capsys, "compare", "--prompt", "abc", "--max-new-tokens", "4")
    assert (
        "prompt: base_jacobi first differs from one at a time at token 3, where the two best tokens are 0.0123 nats "
        "apart." in error
    )


@pytest.mark.parametrize("raised", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory")])
def test_a_full_memory_is_answered_with_advice(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, raised: Exception
) -> None:
    def full(*arguments: Any, **options: Any) -> None:
        raise raised

    monkeypatch.setattr(compare, "decode", full)
    code, printed, error = run(capsys, "decode", "--prompt", "abc")
    assert (code, printed, error.count("\n")) == (1, "", 1)
    assert "The memory is full: choose a smaller model" in error


def test_a_pair_without_examples_is_refused_before_the_measurements(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = models.ModelSource("bundled", "smollm2")
    monkeypatch.setattr(models, "find_pair", lambda name: models.ModelPair(name, name, source, source))
    code, _, error = run(capsys, "bench", "--pair", "mine")
    assert (code, error.count("\n")) == (1, 1)
    assert "mine has no example prompts" in error


def test_compare_decodes_as_the_pair_says_unless_a_flag_says_otherwise(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suits = {"block_size": 5, "window": "sliding", "model_defaults": False, "max_new_tokens": 8}
    pair = models.ModelPair("x", "x", models.ModelSource("bundled", "smollm2"), decode=suits)
    monkeypatch.setattr(models, "find_pair", lambda name: pair)
    out = tmp_path / "out.json"
    for flags, expected in (([], suits), (["--block-size", "3"], {**suits, "block_size": 3})):
        assert run(capsys, "compare", "--pair", "x", "--prompt", "abc", "--json", str(out), *flags)[0] == 0
        config = json.loads(out.read_text(encoding="utf-8"))["config"]
        assert {name: config[name] for name in suits} == expected


def test_a_prompt_that_is_too_long_costs_only_itself(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    prompts, out = tmp_path / "prompts.txt", tmp_path / "out.json"
    prompts.write_text("b" * 5000 + "\nabc\n" + "b" * 5000 + "\nxyz\n", encoding="utf-8")
    flags = ["--prompts", str(prompts), "--json", str(out), "--max-new-tokens", "4"]
    code, _, notes = run(capsys, "compare", *flags)
    result = json.loads(out.read_text(encoding="utf-8"))
    assert code == 0
    assert [row["prompt"] for row in result["prompts"]] == ["abc", "xyz"]
    assert (result["left_out"], notes.count("is left out: The prompt has")) == (2, 2)
    code, _, error = run(capsys, "compare", "--prompt", "b" * 5000, "--max-new-tokens", "4")
    assert code == 1
    assert "shorten the prompt" in error


def test_results_that_could_not_be_written_are_refused_before_the_work(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "load", lambda *arguments, **options: pytest.fail("a model was loaded"))
    for flags in (
        ["decode", "--prompt", "a", "--out", "/proc/x.json"],
        ["compare", "--prompt", "a", "--json", "/proc/x.json"],
        ["compare", "--prompt", "a", "--save-run", "/proc/x.json"],
        ["evaluate", "--json", "/proc/x.json"],
        ["bench", "--json", "/proc/x.json"],
        ["collocations", "x.txt", "--out", "/proc/x.json"],
    ):
        code, _, error = run(capsys, *flags)
        assert (code, error.count("\n")) == (1, 1)
        assert "Cannot write into /proc" in error


def test_standard_input_is_utf_8_whatever_the_locale(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = ["decode", "--prompt", "-", "--max-new-tokens", "2", "--out", str(tmp_path / "run.json")]
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO("é日".encode()), encoding="ascii"))
    assert run(capsys, *flags)[0] == 0
    assert io.load(tmp_path / "run.json").prompt == "é日"
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(b"caf\xe9"), encoding="utf-8"))
    code, _, error = run(capsys, *flags)
    assert code == 1
    assert "not UTF-8" in error


def test_text_that_the_terminal_cannot_show_is_printed_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = BytesIO()
    monkeypatch.setattr("sys.stdout", TextIOWrapper(shown, encoding="ascii", write_through=True))
    monkeypatch.setattr("cllm_core.types.Trajectory.text", property(lambda self: "日本"))
    assert main(["decode", "--prompt", "abc", "--max-new-tokens", "2"]) == 0
    assert shown.getvalue().startswith(rb"\u65e5\u672c")


def test_export_reads_what_decode_wrote(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    run(capsys, "decode", "--prompt", "abc", "--max-new-tokens", "4", "--out", str(out))
    for form in ("csv", "html", "svg"):
        assert run(capsys, "export", str(out), "--format", form)[0] == 0
        assert out.with_suffix("." + form).stat().st_size > 0
    assert run(capsys, "export", str(out), "--format", "json", "--out", str(tmp_path / "again.json"))[0] == 0
    assert list(io.load_run(tmp_path / "again.json").values()) == [io.load(out)]


def test_export_and_figure_say_what_they_leave_out(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for prompt in ("abc", "other"):
        run(capsys, "decode", "--prompt", prompt, "--max-new-tokens", "4", "--out", str(tmp_path / f"{prompt}.json"))
    file = tmp_path / "two.jsonl"
    file.write_text("\n".join([*((tmp_path / f"{name}.json").read_text() for name in ("abc", "other")), '{"broken": ']))
    for command in (["export", "--format", "csv"], ["figure", "--out", str(tmp_path / "x.html")]):
        code, _, error = run(capsys, command[0], str(file), *command[1:])
        assert code == 0
        assert "left out" in error
        assert "The file holds other prompts too" in error


def test_export_says_which_settings_change_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    run(capsys, "decode", "--prompt", "abc", "--max-new-tokens", "4", "--out", str(out))
    _, _, error = run(capsys, "export", str(out), "--format", "html", "--view", "known", "--passes", "3")
    assert error == "--passes changes nothing in html.\n"
    assert '"open":{"view":"known"}' in (tmp_path / "run.html").read_text(encoding="utf-8").replace(" ", "")
    run(capsys, "export", str(out), "--format", "figures")
    assert {"run.html", "run-figures.html"} <= {path.name for path in tmp_path.iterdir()}


@pytest.mark.parametrize("speedup", ["NaN", "1" + "0" * 400, "-1", "true", "[" * 5000 + "]" * 5000])
def test_a_damaged_comparison_is_refused_in_one_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, speedup: str
) -> None:
    file = tmp_path / "c.json"
    file.write_text('{"prompts": [{"prompt": "a", "lanes": {"cllm_jacobi": {"speedup": ' + speedup + "}}}]}")
    code, _, error = run(capsys, "figure", str(file), "--figure", "speedup", "--out", str(tmp_path / "x.html"))
    assert (code, error.count("\n")) == (1, 1)
    assert not (tmp_path / "x.html").exists()


def test_a_corpus_too_small_to_find_anything_in_says_so(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "corpus.txt").write_text("select a from b\n" * 50)
    code, _, error = run(capsys, "collocations", str(tmp_path / "corpus.txt"))
    assert code == 1
    assert "lower --min-outputs" in error
    (tmp_path / "c.json").write_text('{"prompts": [{"prompt": "a", "lanes": ["x"]}]}')
    code, _, error = run(capsys, "collocations", str(tmp_path / "c.json"))
    assert code == 1
    assert "no output in the files" in error


def test_a_figure_is_drawn_from_a_saved_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out, figure = tmp_path / "run.json", tmp_path / "gains.html"
    run(capsys, "decode", "--prompt", "abc", "--max-new-tokens", "4", "--out", str(out))
    assert run(capsys, "figure", str(out), "--figure", "gains", "--out", str(figure))[0] == 0
    assert "Tokens gained per pass" in figure.read_text(encoding="utf-8")


def test_a_folder_of_runs_becomes_a_site(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    runs, site = tmp_path / "runs", tmp_path / "site"
    runs.mkdir()
    run(capsys, "decode", "--prompt", "abc", "--max-new-tokens", "4", "--out", str(runs / "one.json"))
    assert run(capsys, "gallery", str(runs), "--out", str(site))[0] == 0
    assert "one" in (site / "index.html").read_text(encoding="utf-8")


def test_numbers_in_a_settings_file_are_written_as_people_write_them(tmp_path: Path) -> None:
    from cllm_core.cli_train import config_arguments, config_of
    from cllm_core.train.config import TrainConfig

    path = tmp_path / "settings.yaml"
    path.write_text("lr: 1e-3\nar_weight: '4'\nsteps: 5\nout: 1e-3\n", encoding="utf-8")
    parser = argparse.ArgumentParser()
    config_arguments(TrainConfig)(parser)
    config = config_of(TrainConfig, parser.parse_args(["--config", str(path)]))
    assert (config.lr, config.ar_weight, config.steps, config.out) == (0.001, 4.0, 5, "1e-3")


@pytest.mark.parametrize(
    "settings",
    [
        "a: 2026-13-45\n",
        f"steps: {'9' * 5000}\n",
        f"a: {'[' * 3000}\n",
        "lr: fast\n",
        "steps: 5\nunknown: 1\n",
        "- 1\n",
        "steps: [\n",
        "steps: many\n",
    ],
)
def test_a_bad_settings_file_is_answered_in_one_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, settings: str
) -> None:
    path = tmp_path / "settings.yaml"
    path.write_text(settings, encoding="utf-8")
    code, _, error = run(capsys, "train", "--config", str(path), "--out", str(tmp_path / "out"))
    assert (code, error.count("\n")) == (1, 1)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["decode", "--prompt", ""], "prompt is empty"),
        (["decode", "--prompt", "x", "--block-size", "0"], "block_size must be at least 1"),
        (["decode", "--prompt", "x", "--max-new-tokens", "0"], "max_new_tokens must be at least 1"),
        (["decode", "--prompt", "x", "--model", "smolm2"], "did you mean smollm2"),
        (["decode", "--prompt", "x", "--out", "/no/such/folder/run.json"], "There is no folder"),
        (["compare", "--prompt", "x", "--pair", "smolm2"], "did you mean smollm2"),
        (["compare", "--prompt", "x", "--cllm", "smollm2"], "--cllm needs --base"),
        (["compare", "--prompt", "x", "--no-chat"], "--no-chat needs --base"),
        (["compare", "--prompt", "x", "--pair", "smollm2", "--base", "smollm2"], "--pair or --base, not both"),
        (["compare", "--prompt", "x", "--limit", "1"], "--limit belongs to --prompts"),
        (["compare", "--prompt", " "], "The prompt is empty"),
        (["export", "no-such-file.json", "--format", "doc"], "There is no export format 'doc'"),
        (["export", "no-such-file.json", "--format", "csv", "--out", "/no/such/x.csv"], "There is no folder"),
        (["compare", "--prompts", "no-such-file.jsonl"], "no-such-file.jsonl"),
        (["export", "no-such-file.json", "--format", "csv"], "no-such-file.json: The file cannot be read"),
        (["figure", "no-such-file.json", "--out", "x.html"], "cannot be read"),
        (["figure", "no-such-file.json", "--figure", "speedup", "--out", "x.html"], "no-such-file.json"),
        (["figure", "no-such-file.json", "--figure", "speed", "--out", "x.html"], "no figure 'speed'"),
        (["figure", "no-such-file.json", "--out", "x.bmp"], "x.bmp"),
        (["gallery", "no-such-folder", "--out", "site"], "no-such-folder"),
        (["train", "--steps", "0"], "steps must be at least 1"),
        (["train", "--config", "no-such-file.yaml"], "no-such-file.yaml"),
    ],
)
def test_bad_input_is_answered_in_one_sentence(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    code, printed, error = run(capsys, *arguments)
    assert code == 1
    assert printed == ""
    assert said in error
    assert error.count("\n") == 1


def test_every_command_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    for name, command in COMMANDS.items():
        with pytest.raises(SystemExit):
            main([name, "--help"])
        assert command.help in " ".join(capsys.readouterr().out.split())
