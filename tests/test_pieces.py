"""Token bytes: joined cells are the full text, whatever a single token's decode would lose."""

import copy
from types import SimpleNamespace

import pytest
import tiny
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, pre_tokenizers
from tokenizers import models as backends
from transformers import PreTrainedTokenizerFast

from cllm_core import io
from cllm_core.pieces import piece_table
from cllm_core.record import Recorder
from cllm_core.types import DecodeConfig, ModelInfo, Step

BB, SP = tiny.byte_level_tokenizer(), tiny.sentencepiece_tokenizer()
NASTY = [
    "🤗, 日本, e\u0301, 👨\u200d👩\u200d👧, 🇫🇷",
    " leading",
    "': 'x",
    "a ?",
    "    indented",
    "a\n\n\tb \r\n",
    "\u2028\u0085\x00\ufeff",
    "The cats sat",
]


def joined(tokenizer, ids):
    piece = piece_table(tokenizer)
    return b"".join(piece(token) for token in ids)


def ids_of(tokenizer, text):
    return tokenizer(text, add_special_tokens=False)["input_ids"]


@pytest.mark.parametrize("text", NASTY)
def test_byte_level_pieces_join_to_the_text(text):
    """One token at a time, emoji and CJK came out as replacement marks."""
    ids = ids_of(BB, text)
    assert joined(BB, ids) == text.encode()
    assert joined(BB, ids).decode() == BB.decode(ids)


@pytest.mark.parametrize("text", NASTY)
def test_sentencepiece_pieces_join_to_the_text(text):
    """Leading spaces vanished when tokens were decoded one by one."""
    ids = ids_of(SP, text)
    assert joined(SP, ids) == f" {text}".encode()  # the mark that the tokenizer puts before a text is a space
    assert joined(SP, ids).decode().removeprefix(" ") == SP.decode(ids)


@pytest.mark.parametrize("tokenizer", [BB, SP], ids=["byte level", "sentencepiece"])
@settings(max_examples=100, deadline=None)
@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="<▁"), max_size=20))
def test_pieces_of_any_text_join_to_it(tokenizer, text):
    mark = " " if tokenizer is SP and text else ""
    assert joined(tokenizer, ids_of(tokenizer, text)) == (mark + text).encode()


@given(st.lists(st.integers(3, 260), max_size=12))
def test_byte_level_pieces_join_to_the_decoded_text_of_any_ids(ids):
    """Random states are not valid UTF-8; they must show, and must not crash."""
    assert joined(BB, ids).decode("utf-8", errors="replace") == BB.decode(ids)


def test_every_single_byte_has_its_token():
    assert sorted(piece_table(BB)(token) for token in range(3, 259)) == [bytes([byte]) for byte in range(256)]
    assert [piece_table(SP)(token) for token in range(3, 259)] == [bytes([byte]) for byte in range(256)]


def test_an_emoji_is_four_tokens_with_a_part_of_it_each():
    ids = ids_of(BB, "🤗")
    assert [piece_table(BB)(token) for token in ids] == [b"\xf0", b"\x9f", b"\xa4", b"\x97"]


def test_words_keep_the_space_before_them():
    assert [piece_table(SP)(token) for token in ids_of(SP, "The cats sat")] == [b" The", b" cat", b"s", b" sat"]
    assert [piece_table(BB)(token) for token in ids_of(BB, "ab a")] == [b"ab", b" a"]


def test_added_tokens_are_literal_text():
    """A vocabulary entry's letters stand for bytes, an added token's do not."""
    piece = piece_table(BB)
    by_name = {str(entry): token for token, entry in BB.added_tokens_decoder.items()}
    assert piece(by_name["<tool>"]) == b"<tool>"
    assert piece(by_name["é日"]) == "é日".encode()
    assert piece(by_name["</s>"]) == b"</s>"


def test_an_added_run_of_spaces_is_spaces():
    """Some sentencepiece models list runs of spaces among the added tokens, by their marks."""
    tokenizer = copy.deepcopy(SP)
    tokenizer.add_tokens([AddedToken("\u2581\u2581", special=False, normalized=False)])
    added = tokenizer.convert_tokens_to_ids("\u2581\u2581")
    cats = ids_of(SP, "The cats")
    ids = [*cats, added, *cats]
    assert piece_table(tokenizer)(added) == b"  "
    assert joined(tokenizer, ids).decode().removeprefix(" ") == tokenizer.decode(ids)


@pytest.mark.parametrize("tokenizer", [BB, SP], ids=["byte level", "sentencepiece"])
def test_ids_that_the_tokenizer_does_not_know_have_no_bytes(tokenizer):
    piece = piece_table(tokenizer)
    assert piece(max(tokenizer.get_vocab().values()) + 1) == piece(10**9) == piece(-1) == b""


def test_byte_level_entries_that_are_no_byte_letters_are_literal():
    vocabulary = {"a": 0, "日": 1}
    backend = Tokenizer(backends.BPE(vocab=vocabulary, merges=[]))
    backend.decoder = BB.backend_tokenizer.decoder
    piece = piece_table(PreTrainedTokenizerFast(tokenizer_object=backend))
    assert (piece(0), piece(1)) == (b"a", "日".encode())


def test_plain_vocabularies_are_literal():
    backend = Tokenizer(backends.WordLevel({"a": 0, "<0x41>": 1, "▁b": 2}, unk_token="a"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    piece = piece_table(PreTrainedTokenizerFast(tokenizer_object=backend))
    assert [piece(token) for token in range(3)] == [b"a", b"<0x41>", "▁b".encode()]


def test_tokenizers_without_a_fast_backend_are_read_as_sentencepiece():
    slow = SimpleNamespace(
        get_vocab=lambda: {"▁The": 0, "<0xF0>": 1, "s": 2, "<end>": 3},
        added_tokens_decoder={3: AddedToken("<end>", special=True)},
    )
    piece = piece_table(slow)
    assert [piece(token) for token in range(5)] == [b" The", b"\xf0", b"s", b"<end>", b""]


def test_ids_survive_a_file_though_their_text_would_encode_otherwise():
    """ "a", "b" came back as the merged "ab", since text was encoded again."""
    vocabulary = BB.get_vocab()
    ids = (vocabulary["a"], vocabulary["b"], vocabulary["\u00f0"], vocabulary["</s>"])
    steps = [Step(t, (), (token,), t + 1, 0.1) for t, token in enumerate(ids)]
    config = DecodeConfig(decoder="autoregressive", seed=3)
    info = ModelInfo(name="m", revision="r", tokenizer="t")
    recorder = Recorder(config, info, "p", ids, piece_table(BB), frozenset({2}), frozenset(BB.all_special_ids))
    trajectory = recorder.run(steps)
    assert ids_of(BB, trajectory.text[:2]) != list(ids[:2])
    again = io.loads(io.dumps(trajectory))
    assert again == trajectory
    assert (again.ids, again.model, again.config.seed) == (ids, info, 3)
    assert again.text == "ab\N{REPLACEMENT CHARACTER}"


def test_an_output_cut_inside_a_character_keeps_its_bytes():
    ids = tuple(ids_of(BB, "ok 🤗")[:-1])
    steps = [Step(t, (), (token,), t + 1, 0.1) for t, token in enumerate(ids)]
    recorder = Recorder(DecodeConfig(decoder="autoregressive"), ModelInfo(name="m"), "p", ids, piece_table(BB))
    trajectory = io.loads(io.dumps(recorder.run(steps)))
    assert trajectory.ids == ids
    assert b"".join(trajectory.pieces[token] for token in ids) == "ok 🤗".encode()[:-1]
    assert trajectory.text == "ok \N{REPLACEMENT CHARACTER}"
