import random

import pytest
import tiny
import torch
import training_rows

from cllm_core.train.noise import NOISES, NoiseSettings, Stretch, advance, make_item, refill_tails, replace_wrong
from cllm_core.train.pack import Item, pack, wrong_part
from cllm_core.train.rows import Row
from cllm_core.train.student import Student, split_predictions

SETTINGS = NoiseSettings(window=5, frontiers=0, refill=0.0, copies=2, cycle=3, augment=False, local=False)


def settings(**changes):
    return NoiseSettings(**{**vars(SETTINGS), **changes})


def whole(row):
    return Stretch(row, 0, len(row.answer_ids))


@pytest.mark.parametrize("noise", sorted(NOISES))
def test_every_segment_starts_wrong_and_lies_inside_the_answer(noise):
    row = training_rows.random_row(1, answer=22)
    for seed in range(5):
        item = make_item(whole(row), noise, random.Random(seed), SETTINGS)
        assert item.context == row.prompt_ids
        assert item.segments
        for segment in item.segments:
            assert segment.guesses[0] != item.answer[segment.start]
            assert segment.start + len(segment.guesses) < len(item.answer)
            assert segment.targets == item.answer[segment.start + 1 : segment.start + 1 + len(segment.guesses)]


@pytest.mark.parametrize("noise", sorted(NOISES))
def test_the_same_seed_gives_the_same_noise(noise):
    stretch = Stretch(training_rows.random_row(2, answer=22), 4, 16)
    one, same, *others = (make_item(stretch, noise, random.Random(seed), SETTINGS) for seed in (7, 7, 8, 9, 10))
    assert one == same
    assert any(one != other for other in others)


def test_a_stretch_reads_what_comes_before_it_and_keeps_to_its_own_blocks():
    row = training_rows.random_row(3, answer=22)
    item = make_item(Stretch(row, 8, 18), "trajectory", random.Random(0), settings(copies=1))
    assert item.context == (*row.prompt_ids, *row.answer_ids[:8])
    assert item.answer == row.answer_ids[8:18]
    # blocks 2 and 3 are whole; of block 4 two tokens are left, of which the last predicts nothing that is learnt
    assert [segment.start for segment in item.segments] == [0, 4, 8]
    assert [len(segment.guesses) for segment in item.segments] == [4, 4, 1]


def test_trajectory_states_are_used_as_they_were_collected():
    row = training_rows.random_row(4, answer=12, states=3)
    item = make_item(whole(row), "trajectory", random.Random(0), settings(copies=3))
    for segment in item.segments:
        block, at = divmod(segment.start, row.block_size)
        tails = [state[at : at + len(segment.guesses)] for state in row.states[block]]
        assert segment.guesses in tails


def test_augmentation_replaces_only_wrong_positions():
    """Comparing whole lists instead of their elements replaced right tokens too."""
    state, fixed_point, pool = (5, 1, 9, 9), (5, 6, 7, 8), (40, 41)
    changed = replace_wrong(state, fixed_point, pool, random.Random(0))
    assert changed[0] == 5
    assert set(changed[1:]) <= set(pool)
    assert replace_wrong(fixed_point, fixed_point, pool, random.Random(0)) == fixed_point


def test_augmentation_off_leaves_the_states_and_on_leaves_the_fixed_point():
    row = training_rows.random_row(5, answer=9, states=1)
    plain = make_item(whole(row), "trajectory", random.Random(0), settings(copies=1))
    augmented = make_item(whole(row), "trajectory", random.Random(0), settings(copies=1, augment=True))
    assert plain.segments[0].guesses == row.states[0][0]
    assert augmented.segments[0].guesses != row.states[0][0]
    assert plain.answer == augmented.answer == row.answer_ids


def test_progressive_noise_cycles_from_partly_to_fully_random_along_the_blocks():
    row = training_rows.random_row(6, prompt=1, answer=4 * 30 + 1, block_size=4)
    (pool,) = row.prompt_ids
    item = make_item(whole(row), "progressive", random.Random(0), settings(copies=1, cycle=2))
    blocks = {segment.start // 4: segment.guesses for segment in item.segments}
    fully_random = [number % 2 for number in range(30) if blocks.get(number) == (pool,) * 4]
    assert fully_random.count(0) == 15 or fully_random.count(1) == 15  # level 2 of 2 at every second block
    assert 15 <= len(fully_random) < 22  # level 1 of 2 in between


def test_windows_stand_at_every_frontier():
    row = training_rows.random_row(7, prompt=3, answer=12)
    item = make_item(whole(row), "windows", random.Random(0), settings(window=4))
    assert [segment.start for segment in item.segments] == list(range(11))
    assert [len(segment.guesses) for segment in item.segments] == [4] * 8 + [3, 2, 1]
    assert all(set(segment.guesses) <= set(row.prompt_ids) for segment in item.segments)


def test_windows_can_stand_at_some_frontiers_only_and_reach_as_far_as_ever():
    row = training_rows.random_row(7, prompt=3, answer=12)
    item = make_item(whole(row), "windows", random.Random(0), settings(window=4, frontiers=3))
    starts = [segment.start for segment in item.segments]
    assert len(starts) == 3
    assert starts == sorted(set(starts))
    assert [len(segment.guesses) for segment in item.segments] == [min(4, 11 - start) for start in starts]
    every = make_item(whole(row), "windows", random.Random(0), settings(window=4, frontiers=99))
    assert len(every.segments) == 11


def test_a_refilled_window_keeps_its_front_and_ends_in_a_fresh_draft():
    answer = tuple(range(20, 40))
    segments = tuple(wrong_part(start, (50, 51, 52, 53, 54), answer, end=20) for start in range(12))
    item = Item((5,), answer, segments)
    assert refill_tails(item, (7, 8), 0.0, random.Random(0)) == item
    refilled = refill_tails(item, (7, 8), 1.0, random.Random(0))
    kept = []
    for before, after in zip(item.segments, refilled.segments, strict=True):
        front = next((at for at, token in enumerate(after.guesses) if token in (7, 8)), 5)
        assert after.guesses[:front] == before.guesses[:front]
        assert set(after.guesses[front:]) <= {7, 8}
        assert (after.start, after.end, after.targets) == (before.start, before.end, before.targets)
        kept.append(front)
    assert set(kept) == {1, 2, 3, 4, 5}
    some = refill_tails(item, (7, 8), 0.5, random.Random(0))
    assert 0 < sum(one != other for one, other in zip(item.segments, some.segments, strict=True)) < 12


def test_local_consistency_is_taught_by_the_next_state():
    """LC compares neighbouring states: the teacher of state j is state j + 1, of the last one the fixed point."""
    fixed_point, states = (20, 21, 22, 23), ((9, 9, 9, 9), (20, 8, 8, 8), (20, 21, 7, 7))
    row = Row("r", (5,), (*fixed_point, 24), 4, (states, ()))
    item = make_item(whole(row), "trajectory", random.Random(0), settings(copies=3, local=True))
    first, second, last = item.segments
    assert first.teacher.guesses == (8, 8, 8)
    assert first.teacher.start == 1
    assert first.targets == (21, 7, 7, 24)
    assert second.teacher.guesses == (7, 7)
    assert last.teacher is None
    assert last.targets == (23, 24)

    model = tiny.make_model()
    batch, student = pack([item]), Student(model)
    teacher = student.head(student.hidden(batch)[batch.teacher_at])
    expected = model(torch.tensor([[5, 20, 8, 8, 8]])).logits[0, 1:]  # read by the fixed prefix, then state 1
    assert torch.allclose(teacher[:4], expected, atol=1e-3, rtol=1e-3)


def test_advancing_is_one_jacobi_pass():
    model = tiny.make_model()
    context, block = (5, 6, 7), (9, 10, 11, 12, 13)
    answer = tuple(model.generate(torch.tensor([context]), max_new_tokens=6, do_sample=False)[0, 3:].tolist())
    segment = wrong_part(0, block, answer, end=5)
    item = Item(context, answer, (segment,))
    predicted = Student(model).predict(pack([item]))
    moved = advance(item, split_predictions(predicted, [item])[0], keep_front=False)
    next_state = model(torch.tensor([[*context, *block]])).logits[0, 2:].argmax(-1).tolist()[:5]
    assert moved.segments == tuple(filter(None, [wrong_part(0, next_state, answer, end=5)]))


def test_an_advanced_window_holds_the_guesses_made_at_the_frontier_before():
    answer = tuple(range(20, 28))
    segments = tuple(wrong_part(k, (9, 9, 9), answer, end=8) for k in range(7))
    predictions = [[30 + k, 31 + k, 32 + k][: len(s.guesses)] for k, s in enumerate(segments)]
    moved = advance(Item((5,), answer, segments), predictions, keep_front=True)
    assert [segment.start for segment in moved.segments] == list(range(7))
    assert moved.segments[0] == segments[0]
    assert moved.segments[2].guesses == (31, 32, 33)
    assert moved.segments[-1].guesses == (35,)


def test_a_block_that_has_become_right_is_dropped():
    answer = (20, 21, 22, 23)
    segment = wrong_part(0, (9, 9, 9), answer, end=3)
    assert advance(Item((5,), answer, (segment,)), [[21, 22, 23]], keep_front=False).segments == ()
