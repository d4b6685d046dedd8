import pytest
import tiny
import torch
import training_rows
from torch import nn

from cllm_core.errors import UnsupportedModel
from cllm_core.train.losses import LOSSES, forward_kl
from cllm_core.train.pack import Item, pack, wrong_part
from cllm_core.train.student import Student, check_packing, split_predictions

EOS, PAD = 12, 0
PROMPT, FIXED_POINT, STATE = (1, 2, 3), (10, 11, EOS), (10, 99, 98, 97)  # the state goes on past the end


class NextToken(nn.Module):
    """A stub whose logits are one-hot on a table's token for the fed one; `shift` reads one token too far."""

    base_model_prefix = "body"

    def __init__(self, table, size=100):
        super().__init__()
        self.table, self.size, self.head = table, size, nn.Linear(size, size, bias=False)
        nn.init.eye_(self.head.weight)

    def body(self, input_ids, **_):
        follows = torch.tensor([[self.table.get(token, 0) for token in row] for row in input_ids.tolist()])
        hidden = 50.0 * nn.functional.one_hot(follows, self.size).float()
        return type("Output", (), {"last_hidden_state": hidden})

    def get_output_embeddings(self):
        return self.head


def item(context, answer, *segments):
    return Item(tuple(context), tuple(answer), tuple(segment for segment in segments if segment is not None))


def test_only_positions_after_a_wrong_guess_and_up_to_the_end_token_are_taught():
    """Positions 0 and 1 share their prefix with the fixed point, so their divergence is 0 by construction."""
    segment = wrong_part(0, STATE, FIXED_POINT, end=4)
    assert (segment.start, segment.guesses, segment.targets) == (1, (99,), (EOS,))
    batch = pack([item(PROMPT, FIXED_POINT, segment)])
    assert batch.ids.tolist() == [[1, 2, 3, 10, 11, 99]]
    assert batch.positions.tolist() == [[0, 1, 2, 3, 4, 4]]
    assert batch.ar_at.tolist() == [2, 3, 4]
    assert batch.ar_ids.tolist() == list(FIXED_POINT)
    assert (batch.cell_at.tolist(), batch.cell_ids.tolist()) == ([5], [EOS])  # student: after the guess 99
    assert batch.teacher_at.tolist() == [4]  # teacher: after the right token 11, both predict position 2


def test_a_state_equal_to_the_fixed_point_teaches_nothing():
    assert wrong_part(0, FIXED_POINT, FIXED_POINT, end=3) is None
    batch = pack([item(PROMPT, FIXED_POINT)])
    sums = Student(tiny.make_model())(batch)
    assert sums.consistency.item() == 0
    assert torch.isfinite(sums.ar)


def test_no_gradient_reaches_the_prompt_or_anything_after_the_end():
    segment = wrong_part(0, (10, 59, 58, 57), FIXED_POINT, end=4)
    batch = pack([item(PROMPT, FIXED_POINT, segment)])
    student = Student(tiny.make_model())
    hidden = torch.randn(6, 32, requires_grad=True)
    student.hidden = lambda batch: hidden
    sums = student(batch)
    (sums.ar + sums.consistency).backward()
    touched = hidden.grad.abs().sum(1) > 0
    assert touched.tolist() == [False, False, True, True, True, True]
    hidden.grad = None
    student(batch).consistency.backward()
    assert (hidden.grad.abs().sum(1) > 0).tolist() == [False] * 5 + [True]  # the teacher at 4 is detached


def test_a_model_that_is_right_has_no_ar_loss_and_one_that_is_a_token_ahead_has_a_large_one():
    """Labels shifted twice, or not at all, crash nothing; only the loss of a known model tells."""
    batch = pack([item(PROMPT, FIXED_POINT)])
    right, ahead = {3: 10, 10: 11, 11: EOS}, {3: 11, 10: EOS, 11: PAD}
    assert Student(NextToken(right))(batch).ar.item() == pytest.approx(0, abs=1e-4)
    assert Student(NextToken(ahead))(batch).ar.item() > 100


def test_end_tokens_are_learnt_and_padding_is_not_though_they_share_an_id():
    """Masks made by matching the pad id also erase the true end token, and the tuned model never stops."""
    end = training_rows.END
    rows = [item((5, 6), (7,) * length + (end,)) for length in (1, 2, 4, 7)]
    batch = pack(rows)
    assert batch.ar_ids.tolist().count(end) == 4
    assert len(batch.ar_ids) == sum(len(row.answer) for row in rows)
    assert batch.tokens == sum(2 + len(row.answer) - 1 for row in rows)


def packed_logits(student, batch):
    hidden = student.hidden(batch)
    return (
        student.head(hidden[batch.ar_at]),
        student.head(hidden[batch.cell_at]),
        student.head(hidden[batch.teacher_at]),
    )


@pytest.mark.parametrize("tied", [True, False])
def test_one_packed_forward_equals_a_forward_of_each_part_alone(tied):
    model = tiny.make_model(tie_word_embeddings=tied)
    context, answer = (5, 6, 7), tuple(range(20, 32))
    segments = [
        wrong_part(0, (9, 9, 9, 9), answer, end=4),
        wrong_part(0, (20, 8, 22, 8), answer, end=4),
        wrong_part(4, (3, 4, 5, 6), answer, end=8),
        wrong_part(9, (2, 2, 2, 2), answer, end=12),
    ]
    short = item((8,), (40, 41), wrong_part(0, (3, 3), (40, 41), end=2))
    batch = pack([short, item(context, answer, *segments)])
    student = Student(model)
    clean, cells, teachers = packed_logits(student, batch)

    def alone(*ids):
        return model(torch.tensor([ids])).logits[0]

    expected_clean = torch.cat([alone(8, 40), alone(*context, *answer[:-1])[2:]])
    expected = [alone(8, 3)[-1:]]
    expected_teachers = [alone(8, 40)[-1:]]
    for segment in segments:
        width = len(segment.guesses)
        expected.append(alone(*context, *answer[: segment.start], *segment.guesses)[-width:])
        after = len(context) + segment.start
        expected_teachers.append(alone(*context, *answer)[after : after + width])
    assert torch.allclose(clean, expected_clean, atol=1e-3, rtol=1e-3)
    assert torch.allclose(cells, torch.cat(expected), atol=1e-3, rtol=1e-3)
    assert torch.allclose(teachers, torch.cat(expected_teachers), atol=1e-3, rtol=1e-3)

    sums = student(batch)
    kl = forward_kl(torch.cat(expected), torch.cat(expected_teachers), batch.cell_ids)
    assert sums.consistency.item() == pytest.approx(kl.sum().item(), rel=1e-3)
    assert sums.ar.item() == pytest.approx(
        nn.functional.cross_entropy(expected_clean, batch.ar_ids, reduction="sum").item(), rel=1e-5
    )
    assert sums.right.tolist() == (torch.cat(expected).argmax(-1) == batch.cell_ids).tolist()


def test_predictions_are_handed_back_a_segment_at_a_time():
    answer = tuple(range(20, 30))
    rows = [
        item((5,), answer, wrong_part(0, (9, 9), answer, end=2), wrong_part(3, (9, 9, 9), answer, end=9)),
        item((5,), answer, wrong_part(8, (9, 9), answer, end=10)),
    ]
    batch = pack(rows)
    predicted = Student(tiny.make_model()).predict(batch)
    grouped = split_predictions(predicted, rows)
    assert [[len(segment) for segment in row] for row in grouped] == [[2, 3], [1]]
    assert [token for row in grouped for segment in row for token in segment] == predicted


def test_weights_decay_with_the_distance_from_the_first_wrong_guess():
    answer = tuple(range(20, 30))
    batch = pack([item((5,), answer, wrong_part(2, (22, 9, 9, 9), answer, end=9))], decay=0.5)
    assert batch.weights.tolist() == [1.0, 0.5, 0.25]
    assert batch.first.tolist() == [True, False, False]


def test_the_chunk_size_changes_no_loss_and_no_gradient():
    answer = tuple(range(20, 40))
    batch = pack([item((5,), answer, *(wrong_part(k, (9,) * 6, answer, end=20) for k in range(19)))], decay=0.8)
    found = []
    for chunk in (7, 1000):
        model = tiny.make_model()
        sums = Student(model, chunk=chunk)(batch)
        (sums.ar + sums.consistency).backward()
        found.append([sums.ar, sums.consistency, *(parameter.grad for parameter in model.parameters())])
    for one, other in zip(*found, strict=True):
        assert torch.allclose(one, other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_a_llama_can_be_trained_on_packed_blocks(loss):
    model = tiny.make_model()
    check_packing(model, "tiny")
    answer = tuple(range(20, 30))
    batch = pack([item((5,), answer, wrong_part(0, (9,) * 5, answer, end=5))])
    student = Student(model, loss=loss)
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    losses = []
    for _ in range(20):
        sums = student(batch)
        optimizer.zero_grad()
        (sums.ar + sums.consistency).backward()
        optimizer.step()
        losses.append((sums.ar + sums.consistency).item())
    assert losses[-1] < losses[0] / 2


def test_a_model_that_ignores_the_mask_is_refused():
    model = tiny.make_model()
    inner = model.model.forward
    model.model.forward = lambda *args, attention_mask=None, **rest: inner(*args, **rest)
    with pytest.raises(UnsupportedModel, match=r"tiny .*mask and positions"):
        check_packing(model, "tiny")


def test_an_attention_that_cannot_take_a_boolean_mask_is_refused():
    model = tiny.make_model()
    model.set_attn_implementation("eager")
    with pytest.raises(UnsupportedModel, match="SDPA"):
        check_packing(model, "tiny")


@pytest.mark.parametrize("family", ["mistral", "gemma2"])
def test_layers_with_a_sliding_window_are_refused(family):
    with pytest.raises(UnsupportedModel, match="sliding window"):
        check_packing(tiny.model(family, attention="eager"), family)


@pytest.mark.parametrize("family", ["qwen2", "qwen3", "olmo2", "phi3", "gemma"])
def test_models_like_llama_can_be_trained(family):
    check_packing(tiny.model(family), family)


@pytest.mark.parametrize("family", ["bloom", "gpt2"])
def test_positions_or_logits_of_another_kind_are_refused(family):
    with pytest.raises(UnsupportedModel, match=family):
        check_packing(tiny.make_model(family, attention="eager"), family)
