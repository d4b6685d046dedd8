"""The Fine-tune tab without a browser: from the form to a job, limits, views of jobs, handlers. Nothing is trained."""

import json
import time
import zipfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr
import job_files
import pytest
from model_folders import write_model
from pages import built_in_a_loop
from transformers import AutoModelForCausalLM

from cllm_core.errors import CllmError, ConfigError, FormatError, ModelNotFound, TrainingError
from cllm_core.options import option_field
from cllm_core.pairs import ModelPair, ModelSource, discover_pairs, write_pair
from cllm_core.tasks import TASKS, get_task
from cllm_core.tasks.base import Example
from cllm_core.train.config import EvaluateConfig, TrainConfig
from cllm_core.train.jobs import forecast as forecasts
from cllm_core.train.jobs import runner
from cllm_core.train.jobs.folder import Job, find_job, new_job
from cllm_core.train.jobs.forecast import Forecast, check_room, duration
from cllm_core.train.jobs.locks import lock_file, try_lock
from cllm_core.train.jobs.plan import JobConfig, JobPlan, write_plan
from cllm_core.train.jobs.presets import PRESETS
from cllm_core.train.jobs.probe import probe_file
from cllm_core.train.jobs.progress import stage_progress
from cllm_core.train.jobs.report import write_zip
from cllm_core.train.jobs.state import JobState, write_state
from visualize import job_view, recording, training
from visualize.job_report import report_rows, report_sentence
from visualize.settings import AppSettings
from visualize.tabs import finetune, finetune_watch
from visualize.tabs.finetune import act, begin, open_page, preset_updates, remove, show_command, show_file
from visualize.tabs.finetune_form import JOB_MAIN, JOB_MORE, MAIN, MORE, preset_values
from visualize.tabs.finetune_watch import look, replay
from visualize.tabs.form import pair_list
from visualize.tabs.job_panel import job_json
from visualize.training import order_from, owner_of, read_upload, split_prompts, upload_summary, visible_jobs

HOME, SPACE = AppSettings(), AppSettings(public=True)
DEFAULTS = {
    "model": "smollm2", "own_model": "", "prompts": "json", "file": None,
    "train": dict(zip((*MAIN, *MORE), preset_values("try", TrainConfig, (*MAIN, *MORE)))),
    "job": dict(zip((*JOB_MAIN, *JOB_MORE), preset_values("try", JobConfig, (*JOB_MAIN, *JOB_MORE)))),
}  # fmt: skip


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLLM_RUNS", str(tmp_path / "runs"))
    (tmp_path / "runs").mkdir()
    return tmp_path / "runs"


def order(settings: AppSettings = HOME, **changes: Any) -> training.Order:
    values = {name: dict(value) if isinstance(value, dict) else value for name, value in DEFAULTS.items()}
    for name, value in changes.items():
        where = next((part for part in ("train", "job") if name in DEFAULTS[part]), None)
        (values[where] if where else values)[name] = value
    return order_from(settings, "me" if settings.public else "", **values)


# --- the form


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_a_valid_job_of_known_settings(name: str):
    preset = PRESETS[name]
    plan = JobPlan(train=preset.train, job=JobConfig(**preset.job))
    assert plan.train_config(Path("x")).task == preset.train["task"]
    assert set(preset.train) - {"task"} <= {*MAIN, *MORE}
    assert set(preset.job) <= {*JOB_MAIN, *JOB_MORE}


def test_the_form_offers_every_setting_that_is_not_a_path_or_made_by_the_job():
    hidden = {"out", "rows", "adapter", "data", "model", "task", "split", "log_every"}
    fields = {field.name for field in TrainConfig.__dataclass_fields__.values()}
    assert {*MAIN, *MORE} == fields - hidden
    assert {*JOB_MAIN, *JOB_MORE} == set(JobConfig.__dataclass_fields__)


def test_a_form_becomes_an_order():
    made = order(steps=50, title="Mine", window=4)
    train = made.plan.train_config(Path("x"))
    assert (train.steps, train.window, train.model, train.task) == (50, 4, "smollm2", "json")
    assert made.plan.job.title == "Mine"
    assert made.prompts == ()


def test_the_command_line_does_the_same_as_the_form():
    from cllm_core.cli import COMMANDS
    from cllm_core.cli_train import config_of

    made = order(steps=50, chat=False, answers="target", noise="trajectory")
    lines = training.command_lines(made.plan).split("\n")
    assert [line.split()[3] for line in lines] == ["collect", "train", "evaluate"]
    import argparse
    import shlex

    parser = argparse.ArgumentParser()
    COMMANDS["train"].arguments(parser)
    parsed = config_of(TrainConfig, parser.parse_args(shlex.split(lines[1])[4:]))
    assert parsed == made.plan.train_config(Path("runs/mine"))
    evaluate = argparse.ArgumentParser()
    COMMANDS["evaluate"].arguments(evaluate)
    measured = config_of(EvaluateConfig, evaluate.parse_args(shlex.split(lines[2])[4:]))
    assert (measured.model, measured.cllm_adapter) == ("smollm2", "runs/mine/adapter")
    assert (measured.split, measured.limit, measured.chat) == ("dev", made.plan.job.test_prompts, False)


def test_the_commands_measure_a_fully_trained_model_too():
    *_, line = training.command_lines(order(method="full").plan).split("\n")
    assert " evaluate " in line
    assert " --cllm-adapter runs/mine/model" in line


def test_the_commands_call_an_uploaded_file_by_its_name(tmp_path: Path):
    (tmp_path / "p.jsonl").write_text('{"prompt": "a", "answer": "b"}\n' * 20)
    made = order(prompts="upload", file=str(tmp_path / "p.jsonl"))
    train, evaluate = training.command_lines(made.plan).split("\n")
    assert " --data prompts.jsonl" in train
    assert " --data held-out.jsonl" in evaluate


def test_only_tasks_that_have_something_to_train_on_are_offered():
    offered = [name for _, name in training.task_choices()]
    assert {"json", "spider", "gsm8k"} <= set(offered)
    for name in set(TASKS) - {"prompts"}:
        if name in offered:
            assert order(prompts=name).plan.train_config(Path("x")).split in get_task(name).splits
        else:
            with pytest.raises(ConfigError, match="not on offer"):
                order(prompts=name)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"steps": 0}, ConfigError, "steps must be at least 1"),
        ({"noise": "<img src=x>"}, ConfigError, "noise must be one of"),
        ({"consistency": "local"}, ConfigError, "needs noise trajectory"),
        ({"model": "other"}, ConfigError, "not on offer"),
        ({"model": "/etc"}, ConfigError, "not on offer"),
        ({"prompts": "prompts"}, ConfigError, "not on offer"),
        ({"prompts": "upload"}, FormatError, "Choose a prompt file first"),
        ({"model": "own", "own_model": ""}, ModelNotFound, "Name a base model"),
        ({"model": "own", "own_model": "no such"}, ModelNotFound, "no model or folder"),
    ],
)
def test_a_form_that_makes_no_job_says_why(changes: dict[str, Any], error: type[CllmError], message: str):
    with pytest.raises(error, match=message):
        order(**changes)


@pytest.mark.parametrize(
    "changes",
    [{"steps": 301}, {"limit": 0}, {"limit": 5000}, {"batch": 64}, {"rank": 512}, {"method": "full"},
     {"tracker": "wandb"}, {"test_prompts": 400}, {"stretch": 0}, {"model": "own", "own_model": "owner/name"}],
)  # fmt: skip
def test_limits_of_a_public_space_hold_on_the_server(changes: dict[str, Any]):
    order(SPACE)
    with pytest.raises(CllmError, match=r"On this Space|does not load"):
        order(SPACE, **changes)


def test_training_can_be_off():
    with pytest.raises(ConfigError, match="Training is off on this Space"):
        order(replace(SPACE, training=False))
    assert not AppSettings.from_environment({"SPACE_ID": "a/b"}).training
    assert AppSettings.from_environment({"SPACE_ID": "a/b", "CLLM_ENABLE_TRAINING": "1"}).training
    assert AppSettings.from_environment({}).training


def test_only_models_on_the_list_are_trained():
    listed = AppSettings(models=frozenset({"owner/good"}))
    assert order(listed, model="own", own_model="owner/good").plan.train["model"] == "owner/good"
    for changes in ({"model": "own", "own_model": "owner/bad"}, {"model": "smollm2"}):
        with pytest.raises(CllmError, match=r"does not load|not on offer"):
            order(listed, **changes)


# --- prompt files

FILE_TEXT = (
    '{"prompt": "one", "answer": "1"}\n{"prompt": \n\n{"promt": "x"}\n{"prompt": "two\\u2028", "answer": "<b>"}\n'
)


def test_a_file_is_previewed_counted_and_its_bad_lines_named(tmp_path: Path):
    path = tmp_path / "p.jsonl"
    path.write_text(FILE_TEXT, encoding="utf-8")
    notes, table = show_file(HOME, str(path))
    assert notes.startswith("2 of 4 rows can be used: 1 to learn from, 1 held out.\nLine 2: ")
    assert "Line 4: it has no" in notes
    assert table.value["data"][0] == ["one", "1"]
    made = order(prompts="upload", file=str(path))
    assert made.plan.uploaded
    assert [example.prompt for example in (*made.prompts, *made.held_out)] == ["one", "two\u2028"]


def test_a_file_without_answers_needs_the_models_own(tmp_path: Path):
    path = tmp_path / "p.txt"
    path.write_text("one\ntwo\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="have no answer"):
        order(prompts="upload", file=str(path))
    assert order(prompts="upload", file=str(path), answers="target").plan.stages[0] == "collect"
    (tmp_path / "p.jsonl").write_text('{"prompt": "a", "answer": "b"}\n{"prompt": "c", "answer": ""}\n')
    with pytest.raises(ConfigError, match="have no answer"):
        order(prompts="upload", file=str(tmp_path / "p.jsonl"))


def test_a_broken_or_too_large_file_is_refused(tmp_path: Path):
    (tmp_path / "empty.jsonl").write_text("")
    assert "is empty" in show_file(HOME, str(tmp_path / "empty.jsonl"))[0]
    (tmp_path / "large.txt").write_text("a prompt\n" * 250_000)
    with pytest.raises(FormatError, match=r"the limit is 2 MB"):
        read_upload(SPACE, str(tmp_path / "large.txt"))
    (tmp_path / "many.txt").write_text("a prompt\n" * 2001)
    with pytest.raises(FormatError, match="the limit here is 2,000"):
        read_upload(SPACE, str(tmp_path / "many.txt"))


def test_prompts_held_out_are_never_learnt():
    examples = [Example(str(number), "p") for number in range(250)]
    learnt, held_out = split_prompts(examples)
    assert (len(learnt), len(held_out)) == (230, 20)
    assert not {example.id for example in learnt} & {example.id for example in held_out}
    assert split_prompts(examples[:1]) == (tuple(examples[:1]), tuple(examples[:1]))


# --- what a job shows


@pytest.fixture
def job() -> Job:
    return job_files.write_job()


def alive(job: Job, status: str = "running", **changes: Any) -> None:
    from cllm_core.train.jobs.process import identity

    pid, started = identity()
    state = JobState(status, "train", pid=pid, process_started=started, started=time.time() - 90, **changes)
    write_state(job.folder, state)


def test_a_running_job_shows_step_time_left_and_curves(job: Job):
    alive(job)
    shown = job_view.job_view(job)
    assert shown["kind"] == "busy"
    assert shown["text"] == "Training: 40 of 100, about 2 minutes left in this stage."  # 60 x 2 s + 3 probes x 3 s
    assert shown["stages"][0] == {"label": "Training", "state": "now", "share": 0.4}
    curves = {curve["label"]: curve for curve in shown["curves"]}
    assert curves["Tokens per pass"]["points"] == [(0, 1.0), (20, 2.0), (40, 3.0)]
    assert len(curves["AR loss"]["points"]) == 40  # a step that was done twice counts once
    assert ("Tokens fed", "12,000") in shown["numbers"]
    json.loads(job_json(shown))


def test_steps_that_are_the_default_are_counted_right(job: Job):
    """A plan holds what differs from the defaults: the panel said "Step 40 of 40"."""
    plan = job.plan()
    write_plan(job.folder, replace(plan, train={name: plan.train[name] for name in plan.train if name != "steps"}))
    default = option_field(TrainConfig, "steps").default
    assert ("Step", f"40 of {default}") in job_view.job_view(job)["numbers"]


@pytest.mark.parametrize(
    ("state", "kind", "text"),
    [
        (JobState("stopped", "train", "Stopped after step 40: its checkpoint is saved."), "stopped", "Stopped after"),
        (JobState("paused", "train", "Step 40: repeats."), "stopped", "Paused. Step 40"),
        (JobState("failed", "train", "The disk is full."), "error", "Failed. The disk is full."),
        (JobState("finished", "evaluate", started=1e9, ended=1e9 + 240), "done", "Finished after 4 minutes"),
        (JobState("finished", "evaluate", started=1e9, ended=1e9 + 9e4, spent=240.0), "done", "Finished after 4 min"),
    ],
)
def test_a_job_that_ended_says_how(job: Job, state: JobState, kind: str, text: str):
    write_state(job.folder, state)
    (job.folder / "output.txt").write_text("first\nlast <b>\n")
    (job.folder / "log.txt").write_text("2026-01-01 00:00:00  8 rows to train on.\n2026-01-01 00:00:01  step 1/6 …\n")
    shown = job_view.job_view(job)
    assert shown["kind"] == kind
    assert shown["text"].startswith(text)
    assert shown["notes"] == ["8 rows to train on."]
    assert shown["log"] == (["first", "last <b>"] if kind == "error" else [])


def test_the_probe_is_played_checkpoint_by_checkpoint(job: Job):
    prompts = job_view.probe_lanes(job, (0, 20, 40))
    props = job_view.probe_props(prompts, 1)
    assert [lane["label"] for lane in props["lanes"]] == ["Step 0", "Step 20", "Step 40"]
    assert props["prompt"] == prompts[1][0].prompt
    assert job_view.probe_props([], 0) is None
    probe_file(job.folder, 20).write_text("{")
    assert list(job_view.probe_lanes(job, (0, 20, 40))[0]) == [0, 40]


def test_few_checkpoints_stand_for_many():
    assert job_view.shown_steps([0, 50, 100]) == (0, 50, 100)
    assert job_view.shown_steps(range(0, 1001, 50)) == (0, 250, 500, 750, 1000)


def test_curves_are_thinned_to_what_can_be_seen():
    points = [(float(step), float(step)) for step in range(1, 1001)]
    thin = job_view.thinned(points, 100)
    assert len(thin) == 100
    assert thin[-1][0] == 1000
    assert thin[0] == (10, 5.5)


def test_progress_without_metrics_is_unknown_not_wrong():
    made = new_job(JobPlan(train={}, job=JobConfig(answers="target")))
    assert [stage_progress(made, stage).share for stage in ("collect", "train", "evaluate")] == [None, 0.0, 0.0]
    assert stage_progress(made, "train").seconds_left is None


def test_a_report_is_a_table_of_text_before_and_after():
    rows = {row[0]: row[1:] for row in report_rows(job_files.REPORT)}
    assert rows["Tokens / pass"] == ["3.00", "1.10", "3.00", "3.00"]
    assert rows["Speedup"][0] == "–"
    assert rows["Collocations that arrived together"] == ["–", *["25% of 4"] * 3]
    assert rows["Answers: field accuracy"] == ["90%"] * 4
    assert not any("paper" in label or "seconds" in label for label in rows)
    assert "1.10 tokens a pass before, 3.00 after, 2.00×" in report_sentence(job_files.REPORT)


def test_a_result_is_a_zip_that_is_a_pair_on_another_machine(job: Job, tmp_path: Path):
    (job.folder / "adapter").mkdir()
    for name in ("adapter_model.safetensors", "adapter_config.json"):
        (job.folder / "adapter" / name).write_text("x")
    from cllm_core.train.jobs.report import register

    register(job, [], job_files.REPORT)
    write_zip(job, tmp_path / "result.zip")
    with zipfile.ZipFile(tmp_path / "result.zip") as archive:
        assert all(name.startswith(f"{job.name}/") for name in archive.namelist())
        archive.extractall(tmp_path / "elsewhere")
    pair = discover_pairs(tmp_path / "elsewhere")[job.name]
    assert pair.cllm.adapter == str(tmp_path / "elsewhere" / job.name / "adapter")
    assert pair.results["prompts"] == 5


def test_a_zip_that_cannot_be_written_leaves_nothing_to_download(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A zip that was cut short was served at the next look."""
    from cllm_core.train.jobs.report import register

    register(job, [], job_files.REPORT)
    job_files.write_report(job)
    write_state(job.folder, JobState("finished", "evaluate", started=1.0, ended=2.0))
    monkeypatch.setattr(finetune_watch, "get_upload_folder", lambda: str(tmp_path / "uploads"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zipfile.ZipFile, "write", lambda *arguments: (_ for _ in ()).throw(OSError(28, "No space left")))
        button = look(HOME, "", job.name, None, None)[-1]
        assert (button.interactive, button.value) == (False, None)
        assert not [path for path in (tmp_path / "uploads").rglob("*") if path.is_file()]
    button = look(HOME, "", job.name, None, None)[-1]
    assert button.interactive
    assert zipfile.is_zipfile(next((tmp_path / "uploads").rglob("*.zip")))


# --- forecasts


def test_a_forecast_is_said_in_sentences_and_refused_where_it_does_not_fit(runs: Path):
    made = Forecast(400, 25_000, 1.2e-8, 60_000, 1.5, 240.0, int(2e9), int(1e8))
    assert "1e-08 of the base" in made.sentences()[0]
    assert made.sentences()[1:] == [
        "About 4 minutes on this machine, at 1.50 s a step as timed just now.",
        "About 2.0 GB of memory and 100 MB of disk.",
    ]
    check_room(replace(made, memory=1000), runs)
    with pytest.raises(TrainingError, match=r"of memory and .* GB are free"):
        check_room(replace(made, memory=10**15), runs)
    with pytest.raises(TrainingError, match=r"of disk and .* MB are free"):
        check_room(replace(made, memory=1000, disk=10**18), runs / "not yet")


def test_a_run_that_a_forecast_refused_does_not_start(monkeypatch: pytest.MonkeyPatch):
    started: list[Job] = []
    monkeypatch.setattr(training, "start", started.append)
    made = order(steps=77)
    too_large = Forecast(1, 1.0, None, 1.0, 1.0, 1.0, memory=10**15, disk=1)
    monkeypatch.setitem(forecasts._known, forecasts._key(made.plan), too_large)
    with pytest.raises(TrainingError, match="are free: choose a smaller batch"):
        made.start()
    order(steps=78).start()
    assert len(started) == 1


def test_a_run_whose_weights_alone_do_not_fit_does_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    model = write_model(tmp_path / "tiny")
    count = AutoModelForCausalLM.from_pretrained(model).num_parameters()
    monkeypatch.setattr(training, "start", lambda job: None)
    own = {"model": training.OWN_MODEL, "own_model": str(model), "device": "cpu"}
    large = order(**own, method="full", steps=90, save_every=30, keep=2)
    memory, disk = forecasts.least_room(large.plan)
    assert (memory, disk) == (16 * count, 4 * count * 7)  # weights, gradient, two moments; two checkpoints, a result
    small = order(**own, method="lora", precision="bf16")
    assert forecasts.least_room(small.plan) == (2 * count, 0)
    monkeypatch.setattr(forecasts.shutil, "disk_usage", lambda place: SimpleNamespace(free=disk - 1))
    with pytest.raises(TrainingError, match=r"needs at least .* MB of disk"):
        large.start()
    small.start()
    monkeypatch.setattr(forecasts.psutil, "virtual_memory", lambda: SimpleNamespace(available=memory - 1))
    with pytest.raises(TrainingError, match=r"needs at least .* GB of memory"):
        large.start()
    assert forecasts.least_room(order(**{**own, "own_model": "owner/never-fetched"}).plan) == (0, 0)


def test_gpu_memory_is_held_against_what_is_free_there():
    fits = Forecast(1, 1.0, None, 1.0, 1.0, 1.0, memory=1, disk=1, gpu_memory=10**9, gpu_free=2 * 10**9)
    assert "1.0 GB of GPU memory" in " ".join(fits.sentences())
    check_room(fits)
    with pytest.raises(TrainingError, match=r"1\.0 GB of GPU memory and 0\.5 GB are free"):
        check_room(replace(fits, gpu_free=5 * 10**8))


def test_durations_are_said_as_people_do():
    assert [duration(seconds) for seconds in (0, 45, 300, 9000)] == [
        "1 second",
        "45 seconds",
        "5 minutes",
        "2.5 hours",
    ]


# --- handlers


class Form:
    """Stands in for the widgets."""

    def values_of(self, values: tuple[Any, ...]) -> dict[str, Any]:
        return values[0]


def test_start_makes_a_job_and_chooses_it(monkeypatch: pytest.MonkeyPatch):
    started: list[Job] = []
    monkeypatch.setattr(training, "start", started.append)
    panel, command, jobs = begin(HOME, Form(), "", DEFAULTS)
    assert '"kind": "done"' in panel
    assert command.startswith("python -m cllm_core train --out runs/mine")
    assert jobs.value == started[0].name
    panel, *rest = begin(HOME, Form(), "", {**DEFAULTS, "model": "other"})
    assert '"kind": "error"' in panel
    assert rest == [gr.skip(), gr.skip()]


def test_visitors_of_a_space_see_and_stop_only_their_own_jobs(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(training, "start", alive)
    *_, jobs = begin(SPACE, Form(), "alpha", DEFAULTS)
    name = jobs.value
    assert [job.name for job in visible_jobs(owner_of(SPACE, "alpha"))] == [name]
    assert visible_jobs(owner_of(SPACE, "beta")) == []
    assert [key for _, key in open_page(SPACE, "beta", name)[1].choices] == list(recording.recordings())
    stopped: list[Job] = []
    assert "no such job" in act(SPACE, stopped.append, "beta", name)[0]
    assert "no such job" in remove(SPACE, "beta", name)[0]
    assert look(SPACE, "beta", name, None, None)[0] is None
    assert stopped == []
    act(SPACE, stopped.append, "alpha", name)
    assert [job.name for job in stopped] == [name]
    assert "still under way" in begin(SPACE, Form(), "alpha", DEFAULTS)[0]


def test_a_second_job_of_a_visitor_does_not_go_on_beside_the_first(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(training, "start", lambda job: write_state(job.folder, JobState("stopped", "train")))
    *_, jobs = begin(SPACE, Form(), "alpha", DEFAULTS)
    monkeypatch.setattr(training, "start", alive)
    begin(SPACE, Form(), "alpha", DEFAULTS)
    resumed: list[Job] = []
    assert "still under way" in act(SPACE, resumed.append, "alpha", jobs.value, starts=True)[0]
    assert resumed == []


def test_a_public_app_has_room_for_so_many_jobs(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(training, "start", alive)
    said = [begin(SPACE, Form(), f"visitor {number}", DEFAULTS)[0] for number in range(training.PUBLIC_QUEUE + 1)]
    assert all('"kind": "done"' in panel for panel in said[:-1])
    assert "Too many jobs are waiting" in said[-1]


def test_a_trained_pair_is_listed_for_its_owner_only(job: Job, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(training, "start", alive)
    name = begin(SPACE, Form(), "alpha", {**DEFAULTS, "job": {**DEFAULTS["job"], "title": "Secret"}})[2].value
    folder = find_job(name).folder
    write_pair(folder, ModelPair(name, "Secret", ModelSource("bundled", "smollm2"), examples=("mine",)))
    everybody, alpha, beta = (SPACE.pairs(owner_of(SPACE, token) if token else None) for token in ("", "alpha", "beta"))
    assert name not in everybody
    assert name not in beta
    assert alpha[name].title == "Secret"
    assert "Secret" not in str(pair_list(SPACE, "", owner_of(SPACE, "beta")).choices)
    assert name in HOME.pairs()
    assert name in AppSettings(models=frozenset({"smollm2"})).pairs()  # its base is on the list of models
    assert name not in AppSettings(models=frozenset({"json-smollm2x"})).pairs()


def test_a_browser_without_a_name_is_given_one_and_none_is_shared():
    tokens = {open_page(SPACE, "", "")[0] for _ in range(3)}
    assert len(tokens) == 3
    with pytest.raises(TrainingError, match="reload the page"):
        owner_of(SPACE, "")
    assert owner_of(HOME, "anything") is None


def test_a_look_changes_the_player_only_when_there_is_something_new(job: Job):
    alive(job)
    seen, _, _, *buttons = look(HOME, "", job.name, None, None)
    results = buttons[4:]
    assert [button.interactive for button in buttons[:4]] == [True, False, False, False]
    assert results[2]["lanes"]
    again = look(HOME, "", job.name, None, seen)
    assert again[0] == gr.skip()
    assert all(update == gr.skip() for update in again[7:])
    for name in (None, "20260101-000000-json-gone"):  # the last job was deleted; the chosen one was, elsewhere
        gone, *_, probe, prompts, player, report, text, table, download = look(HOME, "", name, None, seen)
        assert gone is None
        assert not any(box.visible for box in (probe, prompts, report, download))
        assert (player, text, table) == (None, "", None)
        assert all(update == gr.skip() for update in look(HOME, "", name, None, None)[7:])
    write_state(job.folder, JobState("stopped", "train"))
    (job.folder / "best").mkdir()
    (job.folder / "adapter").mkdir()  # what a copy left that was cut short takes nothing away
    _, jobs, _, *buttons = look(HOME, "", job.name, None, seen)
    assert jobs.choices[0][0].endswith("stopped")
    assert [button.interactive for button in buttons[:4]] == [False, True, True, True]


@pytest.mark.parametrize("sent", [[], {}, 3, 1.5, True, "Prompt 1", "../x", [["a"]]])
def test_what_a_browser_sends_may_be_anything(job: Job, sent: object):
    seen, _, panel, *_ = look(HOME, sent, sent, sent, None)
    assert seen is None
    assert ("no such job" if sent else "No job yet") in panel
    assert look(HOME, "", job.name, sent, (job.name, (), "stopped"))[0] is not None
    assert replay(HOME, sent, sent, sent) == gr.skip()
    assert replay(HOME, "", job.name, sent)["prompt"]
    assert "no such job" in act(HOME, lambda found: None, sent, sent)[0]
    assert "no such job" in remove(SPACE, "alpha", sent)[0]
    assert isinstance(open_page(HOME, sent, sent)[0], str)


def test_a_job_can_be_deleted_once_it_has_ended(job: Job):
    alive(job)
    assert "stop it before" in remove(HOME, "", job.name)[0]
    write_state(job.folder, JobState("stopped", "train"))
    assert "deleted" in remove(HOME, "", job.name)[0]
    assert not job.folder.exists()


def test_a_pair_that_went_with_its_job_is_not_left_chosen(monkeypatch: pytest.MonkeyPatch):
    pairs = {name: ModelPair(name, name, base=ModelSource("folder", "/x")) for name in ("first", "second")}
    monkeypatch.setattr(AppSettings, "pairs", lambda self, owner: pairs)
    kept, lost = pair_list(SPACE, "second"), pair_list(SPACE, "deleted")
    assert kept.choices == lost.choices == [("first", "first"), ("second", "second")]
    assert (kept.constructor_args.get("value"), lost.value) == (None, "first")


def test_a_pair_that_a_link_opened_stays_chosen(job: Job):
    name = begin(SPACE, Form(), "alpha", DEFAULTS)[2].value
    write_pair(find_job(name).folder, ModelPair(name, "Alpha's", ModelSource("bundled", "smollm2")))
    opened = pair_list(SPACE, name, owner_of(SPACE, "beta"))
    assert opened.constructor_args.get("value") is None  # as it was
    assert opened.choices[-1] == ("Alpha's", name)


def test_a_pair_whose_plan_cannot_be_read_is_on_no_visitors_list(job: Job):
    name = begin(SPACE, Form(), "alpha", DEFAULTS)[2].value
    write_pair(find_job(name).folder, ModelPair(name, "Secret", ModelSource("bundled", "smollm2")))
    (find_job(name).folder / "job.json").write_text("{")
    assert name not in SPACE.pairs(owner_of(SPACE, "beta"))
    assert name in HOME.pairs()


def test_an_upload_that_is_gone_is_asked_for_again(tmp_path: Path):
    with pytest.raises(FormatError, match="choose it again"):
        read_upload(HOME, str(tmp_path / "cleared.txt"))


def test_a_title_is_data_wherever_it_is_shown(job: Job):
    assert job_view.job_title(job).startswith("A <b>, ")
    alive(job)
    assert "<" not in job_json(job_view.job_view(job))
    (job.folder / "job.json").write_text("{")
    assert job_view.job_title(job).endswith("(damaged)")
    assert runner.job_state(job).status == "failed"


def test_a_preset_fills_the_whole_form():
    about, task, _, *values = preset_updates("gpu")
    assert (about, task) == (PRESETS["gpu"].about, "json")
    filled = dict(zip((*MAIN, *MORE, *JOB_MAIN, *JOB_MORE), values, strict=True))
    assert filled["steps"] == PRESETS["gpu"].train["steps"]
    assert filled["seed"] == option_field(TrainConfig, "seed").default


def test_every_checkpoint_of_a_summary_line_is_named(tmp_path: Path):
    path = tmp_path / "p.csv"
    path.write_text("prompt\n" + "x\n" * 3 + "a,b\n" * 60)
    lines = upload_summary(read_upload(HOME, str(path))).split("\n")
    assert len(lines) == 52
    assert lines[-1] == "… and 10 more lines."


def test_the_commands_are_shown_or_what_is_wrong():
    assert show_command(HOME, Form(), DEFAULTS).startswith("python -m cllm_core train")
    assert "not on offer" in show_command(HOME, Form(), {**DEFAULTS, "model": "other"})


# --- recordings


@pytest.fixture
def recorded(job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A recording of the job, in the place of those that ship."""
    write_state(job.folder, JobState("finished", "evaluate", done=("train", "evaluate")))
    (job.folder / "report.json").write_text(json.dumps(job_files.REPORT))
    (tmp_path / "training").mkdir()
    monkeypatch.setattr(recording, "recordings", lambda: {"recorded:mine": tmp_path / "training" / "mine.json"})
    monkeypatch.setattr("visualize.tabs.finetune_watch.recordings", recording.recordings)
    monkeypatch.setattr("sys.argv", ["recording", job.name, str(tmp_path / "training" / "mine.json")])
    assert recording.main() == 0
    return "recorded:mine"


def test_a_recording_shows_what_the_job_did(job: Job, recorded: str):
    lived, played = recording.find_shown(job.name, None), recording.find_shown(recorded, None)
    assert played.prompts == lived.prompts
    assert played.report == lived.report
    assert lived.view["text"].endswith(": the result is in the Compare tab's list.")  # which is not so of a recording
    text = f"Recorded: {lived.view['text'].partition(':')[0]}."
    assert json.loads(job_json(played.view)) == json.loads(job_json({**lived.view, "text": text}))


def test_a_recording_is_watched_where_training_is_off(recorded: str):
    off = replace(SPACE, training=False)
    assert open_page(off, "alpha", "")[1].value == recorded
    seen, _, panel, *rest = look(off, "alpha", recorded, None, None)
    assert "Recorded: " in panel
    assert not any(button.interactive for button in rest[:4])
    assert rest[4:][5] == report_rows(job_files.REPORT)
    assert look(off, "alpha", recorded, None, seen)[0] == gr.skip()
    assert replay(off, "alpha", recorded, 1)["prompt"]


def test_only_a_finished_job_is_recorded_and_a_damaged_file_is_named(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    alive(job)
    monkeypatch.setattr("sys.argv", ["recording", job.name, str(tmp_path / "out.json")])
    assert recording.main() == 1
    assert "Only a finished job" in capsys.readouterr().err
    (tmp_path / "bad.json").write_text('{"schema": "cllm-training", "version": 1}')
    with pytest.raises(FormatError, match=r"bad\.json is damaged"):
        recording.read_recording(tmp_path / "bad.json")


def test_recordings_that_ship_can_be_read_and_show_fast_forwarding_being_learnt():
    found = [recording.read_recording(path) for path in recording.recordings().values()]
    assert found
    for shown in found:
        assert shown.report
        lanes = shown.report["lanes"]
        assert lanes["cllm_jacobi"]["tokens_per_pass"] > lanes["base_jacobi"]["tokens_per_pass"]
        first, *_, last = shown.steps
        rates = [
            sum(len(run[step].ids) for run in shown.prompts) / sum(len(run[step].steps) for run in shown.prompts)
            for step in (first, last)
        ]
        assert rates[1] > rates[0]


def test_the_tab_has_no_form_where_training_is_off():
    def build() -> gr.Blocks:
        with gr.Blocks(analytics_enabled=False) as blocks:
            finetune.finetune_tab(replace(SPACE, training=False), blocks)
        return blocks

    blocks = built_in_a_loop(build)
    shown = {block.elem_id for block in blocks.blocks.values() if block.elem_id}
    assert "ft-off" in shown
    assert "ft-start" not in shown


def test_a_run_beside_a_job_is_told_so(job: Job):
    assert training.busy_notes("cpu") == []
    with try_lock(lock_file(job.folder.parent, "cpu")):
        assert "using this device" in training.busy_notes("cpu")[0]
    assert training.busy_notes("cpu") == []
