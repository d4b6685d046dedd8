"""Prompts to ids: one beginning token, templates where there are some, and broken prompts refused in a sentence."""

import copy

import pytest
import tiny
from tokenizers.processors import TemplateProcessing

from cllm_core.encoding import encode, tokenizer_checksum
from cllm_core.errors import PromptError

TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}[{{ message['role'] }}]{{ message['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}"
)
NO_SYSTEM = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}" + TEMPLATE
REFUSES_ALL = "{{ raise_exception('roles must alternate') }}"
BOS = 1


def chatty(template=TEMPLATE, *, adds_bos=True):
    """A tokenizer with a chat template, which adds a beginning token of its own to every text."""
    tokenizer = copy.deepcopy(tiny.byte_level_tokenizer())
    tokenizer.chat_template = template
    if adds_bos:
        tokenizer.backend_tokenizer.post_processor = TemplateProcessing(single="<s> $A", special_tokens=[("<s>", BOS)])
    return tokenizer


def text_of(ids):
    return tiny.byte_level_tokenizer().decode(ids)


def test_exactly_one_beginning_token_with_a_template():
    """The template wrote one and the tokenizer added another."""
    encoded = encode(chatty(), "hi")
    assert encoded.ids.count(BOS) == 1
    assert text_of(encoded.ids) == "<s>[user]hi[assistant]"
    assert (encoded.text, encoded.notes) == ("hi", ())
    assert encode(chatty(adds_bos=False), "hi").ids == encoded.ids


@pytest.mark.parametrize("prompt", ["hi", "<s>hi"])
def test_exactly_one_beginning_token_without_a_template(prompt):
    encoded = encode(chatty(), prompt, chat=False)
    assert encoded.ids.count(BOS) == 1
    assert text_of(encoded.ids) == "<s>hi"
    assert encoded.notes == ()


def test_no_beginning_token_where_the_tokenizer_adds_none():
    assert BOS not in encode(chatty(adds_bos=False), "hi", chat=False).ids


def test_a_model_without_a_template_gets_the_raw_prompt_and_a_note():
    encoded = encode(tiny.byte_level_tokenizer(), "hi")
    assert text_of(encoded.ids) == "hi"
    assert encoded.notes == ("The model has no chat template: the prompt is fed as it is.",)


def test_messages_go_through_the_template_in_order():
    messages = [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": "c"},
    ]
    encoded = encode(chatty(), messages)
    assert text_of(encoded.ids) == "<s>[system]be kind[user]a[assistant]b[user]c[assistant]"
    assert encoded.text == "c"
    assert text_of(encode(tiny.byte_level_tokenizer(), messages).ids) == "be kind\n\na\n\nb\n\nc"


def test_a_system_message_that_the_template_rejects_leads_the_first_one():
    messages = [{"role": "system", "content": "be kind"}, {"role": "user", "content": "a"}]
    encoded = encode(chatty(NO_SYSTEM), messages)
    assert text_of(encoded.ids) == "<s>[user]be kind\n\na[assistant]"
    assert "takes no system role" in encoded.notes[0]


@pytest.mark.parametrize(
    ("template", "messages"),
    [
        (REFUSES_ALL, [{"role": "user", "content": "a"}]),
        (REFUSES_ALL, [{"role": "system", "content": "s"}, {"role": "user", "content": "a"}]),
        (NO_SYSTEM, [{"role": "system", "content": "only"}]),
        ("{{ messages[9]['content'] | trim }}", [{"role": "user", "content": "a"}]),
        ("{% if %}", [{"role": "user", "content": "a"}]),
    ],
)
def test_messages_that_the_template_refuses_end_in_a_sentence(template, messages):
    with pytest.raises(PromptError, match="The model's chat template refuses these messages"):
        encode(chatty(template), messages)


@pytest.mark.parametrize("chat", [True, False])
@pytest.mark.parametrize("prompt", ["", [], [{"role": "user", "content": ""}]])
def test_an_empty_prompt_is_refused(prompt, chat):
    with pytest.raises(PromptError, match="The prompt is empty"):
        encode(tiny.byte_level_tokenizer(), prompt, chat=chat)


@pytest.mark.parametrize(
    "messages",
    [[{"role": "user"}], [{"content": "a"}], [{"role": "user", "content": ["a"]}], [{"role": 1, "content": "a"}]],
)
def test_messages_without_text_are_refused(messages):
    with pytest.raises(PromptError, match="needs a role and a content, both text"):
        encode(chatty(), messages)


@pytest.mark.parametrize("chat", [True, False])
def test_a_prompt_of_broken_bytes_is_refused(chat):
    """Bytes that are no text arrive from a terminal as lone surrogates; the tokenizer raised a TypeError."""
    with pytest.raises(PromptError, match="not UTF-8 text"):
        encode(chatty(), "caf\udce9", chat=chat)


def test_odd_prompts_are_encoded_as_they_are():
    for prompt in (" ", "\n", "\x00", "\u2028", "🤗", "{{ messages }}", "${x}"):
        assert text_of(encode(tiny.byte_level_tokenizer(), prompt, chat=False).ids) == prompt
        assert prompt in text_of(encode(chatty(), prompt).ids)


def test_checksums_are_equal_for_equal_vocabularies_only():
    one, same = tiny.byte_level_tokenizer(), copy.deepcopy(tiny.byte_level_tokenizer())
    assert tokenizer_checksum(one) == tokenizer_checksum(same)
    assert len(tokenizer_checksum(one)) == 16
    same.add_tokens(["new"])
    assert tokenizer_checksum(one) != tokenizer_checksum(same) != tokenizer_checksum(tiny.sentencepiece_tokenizer())
