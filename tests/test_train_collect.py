import json
import random
from dataclasses import replace
from pathlib import Path

import datasets
import pytest
import tiny
import torch
import training_rows

from cllm_core import models
from cllm_core.errors import ConfigError, FormatError, TrainingError
from cllm_core.tasks import get_task
from cllm_core.train.answers import greedy_answers, read_answers
from cllm_core.train.clean import is_repetitive, why_dropped
from cllm_core.train.collect import collect
from cllm_core.train.cost import estimate, pretraining_tokens
from cllm_core.train.data import gold_rows
from cllm_core.train.rows import Row
from cllm_core.train.run import train
from cllm_core.train.speed import blockwise_states
from cllm_core.train.store import check_source, read_rows, read_shards, row_from_dict, row_to_dict
from cllm_core.train.trajectories import jacobi_states

EOS = 299


def prompts(*lengths, seed=0):
    rng = random.Random(seed)
    return [tuple(rng.randrange(2, 290) for _ in range(length)) for length in lengths]


def end_tokens(model, asked):
    """Tokens that end some of the answers early: the EOS trick."""
    return {tiny.greedy(model, asked[0], 8)[7], tiny.greedy(model, asked[-1], 18)[17]}


def drafts(row, size, seed=0):
    rng = random.Random(seed)
    lengths = [len(row.answer_ids[at : at + size]) for at in range(0, len(row.answer_ids), size)]
    return [tuple(rng.choices(row.prompt_ids, k=length)) for length in lengths]


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_each_row_of_a_left_padded_batch_answers_as_it_does_alone(attention):
    model = tiny.model(attention=attention)
    asked = prompts(3, 9, 1, 17)
    ends = end_tokens(model, asked)
    rows = greedy_answers(model, asked, max_new_tokens=30, eos_ids=ends, context=256)
    assert len({len(row.answer_ids) for row in rows}) > 1  # they finish at different times
    for prompt, row in zip(asked, rows, strict=True):
        assert row.answer_ids == row.own == tiny.greedy(model, prompt, 30, ends)
        (alone,) = greedy_answers(model, [prompt], max_new_tokens=30, eos_ids=ends, context=256)
        for (keys, values), (own_keys, own_values) in zip(row.cache, alone.cache, strict=True):
            assert keys.shape[1] == len(prompt) + len(row.answer_ids) - 1
            assert torch.allclose(keys, own_keys, atol=1e-4)
            assert torch.allclose(values, own_values, atol=1e-4)


def test_an_answer_ends_where_the_context_does():
    (row,) = greedy_answers(tiny.model(), prompts(10), max_new_tokens=30, eos_ids=(), context=14)
    assert len(row.answer_ids) == 4


def test_reading_an_answer_is_what_writing_it_was():
    model = tiny.model()
    written = greedy_answers(model, prompts(3, 9), max_new_tokens=20, eos_ids=(), context=256)
    read = read_answers(model, [(row.prompt_ids, row.answer_ids) for row in written])
    for one, other in zip(written, read, strict=True):
        assert one.own == other.own
        assert torch.allclose(one.cache[1][0], other.cache[1][0], atol=1e-4)


@pytest.mark.parametrize("block_size", [2, 5, 16])
def test_all_blocks_at_once_go_through_the_states_of_one_block_at_a_time(block_size):
    model = tiny.model()
    asked = prompts(3, 9, 14)
    ends = end_tokens(model, asked)
    rows = greedy_answers(model, asked, max_new_tokens=21, eos_ids=ends, context=256)
    guesses = [drafts(row, block_size, seed) for seed, row in enumerate(rows)]
    found = jacobi_states(model, rows, guesses, block_size)
    assert sum(len(states) for row in found for states in row) > 20
    for row, guess, states in zip(rows, guesses, found, strict=True):
        assert states == blockwise_states(model, row.prompt_ids, row.answer_ids, guess, block_size)
        for block, first in zip(states, guess, strict=True):
            assert block == () or block[0] == first


def test_a_right_draft_has_no_states_and_a_nearly_right_one_has_itself():
    model = tiny.model()
    rows = greedy_answers(model, prompts(5), max_new_tokens=8, eos_ids=(), context=256)
    answer = rows[0].answer_ids
    nearly = (*answer[4:7], (answer[7] + 1) % 290)
    assert jacobi_states(model, rows, [[answer[:4], nearly]], 4) == [((), (nearly,))]


def test_the_states_of_a_gold_answer_end_although_the_model_would_answer_otherwise():
    model = tiny.model()
    row = training_rows.random_row(3, answer=13)
    rows = read_answers(model, [(row.prompt_ids, row.answer_ids)])
    (states,) = jacobi_states(model, rows, [drafts(rows[0], 4)], 4)
    assert states == blockwise_states(model, row.prompt_ids, row.answer_ids, drafts(rows[0], 4), 4)
    assert all(len(block) <= 6 for block in states)  # n positions settle in n passes


def test_a_repetitive_answer_is_dropped_and_a_repetitive_prompt_is_not():
    """The filter looked at the prompt, and dropped good answers while collapsed ones stayed."""
    fine = (5, 6, 7, 8, EOS)
    assert why_dropped([3] * 6, [9] * 16 + [EOS], eos_ids={EOS}, max_length=99) == "repetitive"
    assert why_dropped([7] * 12, fine, eos_ids={EOS}, max_length=99) is None
    assert why_dropped([3] * 6, [4, 5] * 8 + [EOS], eos_ids={EOS}, max_length=99) == "repetitive"
    assert not is_repetitive([4, 5] * 7)
    assert not is_repetitive(list(range(40)))
    assert is_repetitive([1, 2, 3, *list(range(50, 58)) * 4])


@pytest.mark.parametrize(
    ("prompt", "answer", "reason"),
    [([1], [], "empty"), ([1], [EOS], "empty"), ([1], [5, 6], "unfinished"), ([1] * 9, [5, EOS], "too_long")],
)
def test_an_answer_that_teaches_nothing_is_dropped_with_its_reason(prompt, answer, reason):
    assert why_dropped(prompt, answer, eos_ids={EOS}, max_length=10) == reason


@pytest.fixture(scope="module")
def where(tmp_path_factory):
    """A tiny model whose answers to some prompts end, and a file of prompts."""
    root = tmp_path_factory.mktemp("models")
    where = training_rows.folders(root)
    rows = [{"prompt": f"{word} {n}"} for n in range(3) for word in ("one", "three", "the longest of them")]
    (root / "prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return where


@pytest.fixture
def unfinished_is_fine(monkeypatch):
    """The tiny model seldom writes its end token: keep the rows without one."""
    whole = why_dropped

    def lenient(*args, **options):
        reason = whole(*args, **options)
        return None if reason == "unfinished" else reason

    monkeypatch.setattr("cllm_core.train.collect.why_dropped", lenient)


def run(config, **options):
    said = []
    return collect(config, tell=said.append, **options), said


def test_collecting_leaves_a_line_for_every_prompt(tmp_path, where, unfinished_is_fine):
    result, said = run(training_rows.collect_config(tmp_path / "rows", where))
    rows, dropped = read_shards(tmp_path / "rows")
    assert result.rows == len(rows) > 0
    assert len(rows) + sum(dropped.values()) == 9
    assert all(row.states and [len(s[0]) for s in row.states if s] for row in rows)
    assert "Training tokens:" in said[-1]
    summary = json.loads((tmp_path / "rows/summary.json").read_text())
    assert summary["rows"] == len(rows)
    assert len(list((tmp_path / "rows").glob("rows-*.jsonl"))) == 3


def test_rows_of_another_vocabulary_are_refused(tmp_path, where, unfinished_is_fine):
    run(training_rows.collect_config(tmp_path / "rows", where))
    collected_from = models.load(models.ModelSource.parse(where["model"]), device="cpu").info
    check_source(tmp_path / "rows", collected_from)
    with pytest.raises(TrainingError, match="another one: collect rows from the model that is trained"):
        check_source(tmp_path / "rows", replace(collected_from, name="other", tokenizer="f00d"))


def test_every_dropped_prompt_is_counted_by_its_reason(tmp_path, where):
    result, said = run(training_rows.collect_config(tmp_path / "rows", where, max_length=20, trajectories=False))
    assert sum(result.dropped.values()) + result.rows == 9
    assert result.dropped["prompt_too_long"] == 3
    assert any("3 prompt_too_long" in line for line in said)


def test_batches_and_shards_change_no_row(tmp_path, where, unfinished_is_fine):
    run(training_rows.collect_config(tmp_path / "a", where, batch=1, shard=2))
    run(training_rows.collect_config(tmp_path / "b", where, batch=9, shard=9))
    assert read_shards(tmp_path / "a") == read_shards(tmp_path / "b")


def test_a_killed_run_goes_on_to_the_same_set(tmp_path, where, unfinished_is_fine):
    config = training_rows.collect_config(tmp_path / "rows", where)
    asked = iter(range(10))
    first, said = run(config, stop=lambda: next(asked) >= 1)
    assert not first.finished
    assert "the same command goes on" in said[-1]
    (tmp_path / "rows/rows-00001.partial-17").write_text('{"id": "cut off')  # what a kill leaves behind
    second, said = run(config)
    assert second.finished
    assert said[0] == "1 of 3 shards are there already."
    run(training_rows.collect_config(tmp_path / "straight", where))
    assert read_shards(tmp_path / "rows") == read_shards(tmp_path / "straight")


@pytest.mark.parametrize("chat", [True, False])
def test_a_prompt_has_the_same_ids_at_demo_collection_and_training(tmp_path, where, chat):
    """A template that writes its own first token, encoded once more with special tokens, would begin with two."""
    data = tmp_path / "answered.jsonl"
    data.write_text(
        "".join(json.dumps({"prompt": f"count {n} ->", "answer": "abcdefgh"[: n + 3]}) + "\n" for n in range(4))
    )
    where = {**where, "data": str(data)}
    collect(training_rows.collect_config(tmp_path / "rows", where, chat=chat, answers="gold"))
    collected = {row.id: row.prompt_ids for row in read_rows(tmp_path / "rows")}
    loaded = models.load(models.ModelSource.parse(where["model"]), device="cpu")
    rows = gold_rows(loaded, task="prompts", split="train", data=where["data"], chat=chat)
    gold = {row.id: row.prompt_ids for row in rows}
    examples = get_task("prompts").load("train", data=Path(where["data"]))
    demo = {each.id: loaded.encode(each.asked(), chat=chat).ids for each in examples}
    assert collected
    assert all(ids == gold[name] == demo[name] for name, ids in collected.items())


def test_an_unfinished_collection_is_not_trained_on(tmp_path, where, unfinished_is_fine):
    config = training_rows.collect_config(tmp_path / "rows", where)
    collect(config)
    assert read_rows(tmp_path / "rows")
    (tmp_path / "rows/rows-00001.jsonl").unlink()
    collect(config, stop=lambda: True)
    with pytest.raises(TrainingError, match="is not finished: give its collect command again"):
        read_rows(tmp_path / "rows")
    collect(config)
    assert read_rows(tmp_path / "rows")


def test_a_folder_is_not_filled_with_other_settings(tmp_path, where):
    run(training_rows.collect_config(tmp_path / "rows", where, trajectories=False))
    with pytest.raises(ConfigError, match="began with seed = 0, not 1"):
        run(training_rows.collect_config(tmp_path / "rows", where, trajectories=False, seed=1))


def test_gold_answers_can_be_collected(tmp_path, where):
    data = training_rows.write_prompts(tmp_path / "gold.jsonl")
    config = training_rows.collect_config(tmp_path / "rows", {**where, "data": str(data)}, answers="gold")
    run(config)
    rows = read_rows(tmp_path / "rows")
    assert len({len(row.answer_ids) for row in rows}) == 4
    assert len({row.answer_ids[-1] for row in rows}) == 1  # the end token
    with pytest.raises(TrainingError, match="has no gold answer"):
        run(training_rows.collect_config(tmp_path / "none", where, answers="gold"))


def test_a_gold_answer_that_is_cut_is_unfinished_and_not_closed(tmp_path, where):
    data = tmp_path / "answers.jsonl"
    answers = ("xyz", "xyzuvwxyzuvwxyzuvw")
    data.write_text("".join(json.dumps({"prompt": answer, "answer": answer}) + "\n" for answer in answers))
    config = training_rows.collect_config(tmp_path / "rows", {**where, "data": str(data)}, answers="gold")
    result, _ = run(config)
    assert (result.rows, dict(result.dropped)) == (1, {"unfinished": 1})


def test_a_folder_whose_answers_were_all_dropped_says_why(tmp_path, where):
    run(training_rows.collect_config(tmp_path / "rows", where, max_new_tokens=1, trajectories=False))
    with pytest.raises(TrainingError, match=r"learnt from \(9 unfinished\)\. An unfinished one needs more tokens"):
        read_rows(tmp_path / "rows")


def test_rows_survive_json_and_arrow(tmp_path, where, unfinished_is_fine):
    run(training_rows.collect_config(tmp_path / "rows", where, format="arrow"))
    rows = read_rows(tmp_path / "rows")
    assert [row_from_dict(json.loads(json.dumps(row_to_dict(row)))) for row in rows] == rows
    assert read_rows(tmp_path / "rows/arrow") == rows
    assert len(datasets.load_from_disk(str(tmp_path / "rows/arrow"))) == len(rows)


def test_a_damaged_row_is_named_by_file_and_line(tmp_path):
    row = training_rows.random_row(1)
    good = json.dumps(row_to_dict(row))
    (tmp_path / "rows-00000.jsonl").write_text(good + "\n" + good[:40] + "\n")
    with pytest.raises(FormatError, match=r"rows-00000\.jsonl, line 2: This is not JSON"):
        read_rows(tmp_path)
    with pytest.raises(FormatError, match="do not fit its answer's blocks"):
        row_from_dict({**row_to_dict(row), "block_size": 3})
    states = row_to_dict(row)["states"]
    for changed in (
        {"block_size": 0},
        {"prompt_ids": [-1]},
        {"states": states[:-1]},
        {"states": [[[*states[0][0]], [1]], *states[1:]]},
        {"states": [[["x"] * 4], *states[1:]]},
    ):
        with pytest.raises(FormatError):
            row_from_dict({**row_to_dict(row), **changed})
    with pytest.raises(TrainingError, match="There is no folder"):
        read_rows(tmp_path / "nowhere")


def test_the_cost_is_trajectories_times_length_times_prompts():
    row = Row("r", (1,), (5, 6, 7, 8, 9, EOS), 4, (((1, 2, 3, 4), (5, 2, 3, 4)), ((1, 2),)))
    cost = estimate([row, row], "SmolLM2-135M-Instruct")
    assert (cost.trajectories_per_prompt, cost.trajectory_tokens, cost.tokens) == (2, 8.0, 32)
    assert cost.share == 32 / 2e12
    assert "2.0 trajectories a prompt x 8 tokens x 2 prompts = 32, 1.6e-11 of" in cost.sentence()
    assert estimate([row], "unknown").share is None


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("smollm2", 2e12),
        ("HuggingFaceTB/SmolLM2-1.7B-Instruct", 11e12),
        ("meta-llama/Llama-2-7b-hf", 2e12),
        ("meta-llama/Llama-3.1-8B", 15e12),
        ("Qwen/Qwen2.5-7B-Instruct", 18e12),
        ("Qwen/Qwen2.5-Coder-7B", None),
        ("deepseek-ai/deepseek-coder-6.7b-instruct", 2e12),
        ("deepseek-ai/DeepSeek-Coder-V2-Lite-Base", None),
        ("gpt2", None),
    ],
)
def test_tokens_of_pre_training_are_those_of_the_very_model_or_unknown(model, tokens):
    assert pretraining_tokens(model) == tokens


def test_the_card_of_a_run_on_collected_rows_says_where_they_are_from(tmp_path, where, unfinished_is_fine):
    collect(training_rows.collect_config(tmp_path / "rows", where))
    config = training_rows.train_config(tmp_path / "run", where, rows=str(tmp_path / "rows"), steps=1)
    train(config, tell=lambda line: None)
    card = (tmp_path / "run/card.md").read_text()
    assert "rows; answers of model to " in card
    assert "licence" in card
    assert card.index("python -m cllm_core collect --out") < card.index("python -m cllm_core train --out")
    (tmp_path / "rows/config.json").unlink()
    other = training_rows.train_config(tmp_path / "other", where, rows=str(tmp_path / "rows"), steps=1)
    train(other, tell=lambda line: None)
    assert "which do not tell where they are from" in (tmp_path / "other/card.md").read_text()


@pytest.mark.slow
def test_two_processes_collect_the_same_set_as_one(tmp_path, where):
    data = training_rows.write_prompts(tmp_path / "gold.jsonl")
    where = {**where, "data": str(data)}
    run(training_rows.collect_config(tmp_path / "one", where, answers="gold"))
    config = training_rows.collect_config(tmp_path / "two", where, answers="gold")
    said = training_rows.launch("cllm_core.train.collect.collect_command", config, tmp_path, processes=2)
    assert said.count("rows in") == 1  # one process speaks
    assert read_shards(tmp_path / "two") == read_shards(tmp_path / "one")
