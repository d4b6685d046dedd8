"""Decoders: generators of Steps. Adding one is one file here, one row below and its name in `types.DECODER_NAMES`."""

from collections.abc import Callable, Iterator, Sequence

from cllm_core.decoders.autoregressive import autoregressive
from cllm_core.decoders.jacobi import jacobi
from cllm_core.lm import CausalLM
from cllm_core.types import DecodeConfig, Step

Decoder = Callable[[CausalLM, Sequence[int], DecodeConfig], Iterator[Step]]

DECODERS: dict[str, Decoder] = {
    "jacobi": jacobi,
    "autoregressive": autoregressive,
}

__all__ = ["DECODERS", "Decoder", "autoregressive", "jacobi"]
