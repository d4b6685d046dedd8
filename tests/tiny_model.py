"""A tiny random Llama (fp32, fixed seed, no network) for the training tests, and rows that fit it."""

import random

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from cllm_core.train.rows import Row

VOCABULARY, END = 60, 1


def tiny_llama(*, seed: int = 0, layers: int = 2, hidden: int = 32, tied: bool = True) -> LlamaForCausalLM:
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        tie_word_embeddings=tied,
        initializer_range=0.2,
        bos_token_id=0,
        eos_token_id=END,
        pad_token_id=END,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return LlamaForCausalLM(config).eval()


def random_ids(rng: random.Random, count: int) -> tuple[int, ...]:
    return tuple(rng.randrange(2, VOCABULARY) for _ in range(count))


def random_row(seed: int, *, prompt: int = 6, answer: int = 13, block_size: int = 4, states: int = 3) -> Row:
    """A row with a random prompt and answer (end token last) and `states` random states a block."""
    rng = random.Random(seed)
    answer_ids = (*random_ids(rng, answer - 1), END)
    row = Row(f"row-{seed}", random_ids(rng, prompt), answer_ids, block_size)
    blocks = tuple(tuple(random_ids(rng, len(block)) for _ in range(states)) for block in row.blocks())
    return Row(row.id, row.prompt_ids, row.answer_ids, block_size, blocks)
