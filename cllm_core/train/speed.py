"""What the library's two short cuts are worth: collecting all blocks at once, and one packed forward for three.

Each is measured against the plain way in the same run, on the same work. Knows no file.
"""

import copy
import random
import time
from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

import torch
from transformers import DynamicCache

from cllm_core.tasks import get_task
from cllm_core.train.adapter import causal_lm, make_trainable
from cllm_core.train.answers import greedy_answers
from cllm_core.train.data import choose_stretch, gold_rows
from cllm_core.train.losses import cross_entropy, forward_kl
from cllm_core.train.noise import NoiseSettings, make_item
from cllm_core.train.pack import pack
from cllm_core.train.rows import Row, State
from cllm_core.train.student import Student
from cllm_core.train.trajectories import jacobi_states

if TYPE_CHECKING:
    from cllm_core.hf import LoadedModel


def training_ratios(
    loaded: "LoadedModel", *, block_size: int = 8, prompts: int = 24, max_new_tokens: int = 64
) -> dict[str, dict[str, float]]:
    """Measure both short cuts on a loaded model (which stays as it is), with generated notes as prompts.

    It takes about a minute with the bundled model on two cores. Collecting gains more in small blocks, whose passes
    are narrow when blocks take turns, than in large ones.
    """
    examples = get_task("json").load("dev", limit=prompts)
    asked = [loaded.encode(example.chat()).ids for example in examples]
    lm = make_trainable(copy.deepcopy(loaded.model), method="lora", rank=16, alpha=32, seed=0)
    rows = gold_rows(loaded, task="json", split="dev", limit=4, block_size=block_size)
    return {
        "collect_vs_blockwise": collect_vs_blockwise(
            loaded, asked, block_size=block_size, max_new_tokens=max_new_tokens
        ),
        "packed_vs_three_forward": packed_vs_three_forward(causal_lm(lm), rows),
    }


@torch.inference_mode()
def blockwise_states(
    lm: Any, prompt_ids: State, answer_ids: State, drafts: Sequence[State], block_size: int
) -> tuple[tuple[State, ...], ...]:
    """Return what `jacobi_states` does for one row, by plain Jacobi decoding: one block at a time, with a KV cache.

    Every pass feeds the last token before the block and all of the block's guesses but the last.
    """
    cache = DynamicCache()
    fed = [*prompt_ids]  # what the cache lacks before the block
    found = []
    for number, draft in enumerate(drafts):
        fixed_point = answer_ids[number * block_size : (number + 1) * block_size]
        if len(fed) > 1:
            lm(input_ids=torch.tensor([fed[:-1]], device=lm.device), cache=cache, use_cache=True, logits_to_keep=1)
        states = [tuple(draft)]
        while len(states) < 2 or states[-1] != states[-2]:
            ids = torch.tensor([[fed[-1], *states[-1][:-1]]], device=lm.device)
            logits = lm(input_ids=ids, cache=cache, use_cache=True).logits[0]
            cache.crop(-ids.shape[1])
            states.append(tuple(logits.argmax(-1).tolist()))
        found.append(tuple(state for state in states[:-1] if state != fixed_point))
        fed = [fed[-1], *fixed_point]
    return tuple(found)


def collect_vs_blockwise(
    loaded: "LoadedModel",
    prompts: Sequence[State],
    *,
    block_size: int = 16,
    max_new_tokens: int = 96,
    compared: int = 2,
) -> dict[str, float]:
    """Return the throughput of collecting all prompts at once over that of one block at a time (`ratio`), and both.

    Throughput is answer tokens, with the states of their blocks, per second. Our way pays for the greedy answers too,
    the blockwise way gets them as it goes; it is run on `compared` of the prompts.
    """
    started = time.perf_counter()
    rows = greedy_answers(
        loaded.model, prompts, max_new_tokens=max_new_tokens, eos_ids=loaded.eos_ids, context=loaded.context
    )
    guesses = [_drafts(row.prompt_ids, row.answer_ids, block_size, seed) for seed, row in enumerate(rows)]
    found = jacobi_states(loaded.model, rows, guesses, block_size)
    ours = sum(len(row.answer_ids) for row in rows) / (time.perf_counter() - started)
    chosen = list(range(0, len(rows), max(1, len(rows) // compared)))[:compared]
    started = time.perf_counter()
    for number in chosen:
        row = rows[number]
        states = blockwise_states(loaded.model, row.prompt_ids, row.answer_ids, guesses[number], block_size)
        if states != found[number] and loaded.info.dtype == "float32":  # half precision may part at a near-tie
            raise RuntimeError("the two ways of collecting gave different states")
    plain = sum(len(rows[number].answer_ids) for number in chosen) / (time.perf_counter() - started)
    return {"ratio": ours / plain, "at_once": ours, "by_block": plain}


def _drafts(prompt: State, answer: State, block_size: int, seed: int) -> list[State]:
    rng = random.Random(seed)
    blocks = (answer[at : at + block_size] for at in range(0, len(answer), block_size))
    return [tuple(rng.choices(prompt, k=len(block))) for block in blocks]


def packed_vs_three_forward(
    lm: torch.nn.Module, rows: Sequence[Row], *, copies: int = 2, repeats: int = 3
) -> dict[str, float]:
    """Return the supervised block states per second of a packed step over a three-forward step's (`ratio`), and both.

    `lm` must have something to train; its gradients are left cleared. Steps alternate, medians are compared.
    """
    rng, student = random.Random(0), Student(lm)
    rates: dict[str, list[float]] = {"packed": [], "three_forward": []}
    for repeat in range(repeats + 1):
        row = rows[repeat % len(rows)]
        for name, step in (("packed", packed_step), ("three_forward", three_forward_step)):
            started = time.perf_counter()
            states = step(student, row, rng, copies)
            rates[name].append(states / (time.perf_counter() - started))
            student.zero_grad(set_to_none=True)
    packed, three = (median(rate[1:]) for rate in rates.values())  # the first ones warm up
    return {"ratio": packed / three, "packed": packed, "three_forward": three}


def packed_step(student: Student, row: Row, rng: random.Random, copies: int) -> int:
    """Do the forward and backward pass of one packed step; return how many block states it supervised."""
    settings = NoiseSettings(window=1, frontiers=0, refill=0.0, copies=copies, cycle=1, augment=False, local=False)
    item = make_item(choose_stretch(row, 0, rng), "random", rng, settings)
    sums = student(pack([item]).to(student.lm.device))
    torch.autograd.backward(sums.ar + sums.consistency)
    return len(item.segments)


def three_forward_step(student: Student, row: Row, rng: random.Random, copies: int) -> int:
    """Do the usual step on one state of one block: AR, teacher and student forward, two backward; return 1.

    All logits of each forward pass are computed, as a labels-in, logits-out model does.
    """
    lm, prompt = student.lm, len(row.prompt_ids)
    whole = torch.tensor([[*row.prompt_ids, *row.answer_ids]], device=lm.device)
    logits = lm(input_ids=whole, use_cache=False).logits[0, prompt - 1 : -1]
    torch.autograd.backward(cross_entropy(logits, whole[0, prompt:]).sum())
    start = rng.randrange(0, len(row.answer_ids), row.block_size)
    fixed_point = row.answer_ids[start : start + row.block_size]
    state = tuple(rng.choices(row.prompt_ids, k=len(fixed_point)))
    before = [*row.prompt_ids, *row.answer_ids[:start]]
    with torch.no_grad():
        teacher = lm(input_ids=torch.tensor([[*before, *fixed_point]], device=lm.device), use_cache=False).logits[0]
    noisy = lm(input_ids=torch.tensor([[*before, *state]], device=lm.device), use_cache=False).logits[0]
    cells = slice(len(before), None)
    targets = whole[0, prompt + start : prompt + start + len(state)]
    torch.autograd.backward(forward_kl(noisy[cells], teacher[cells], targets).sum())
    return 1
