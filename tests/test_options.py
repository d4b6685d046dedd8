"""Settings declared once: bounds and types are checked, and flags come from the same fields."""

import argparse
from dataclasses import dataclass, fields

import pytest

from cllm_core.errors import CllmError, ConfigError
from cllm_core.options import add_arguments, from_namespace, option, option_field, option_fields, option_type, validate
from cllm_core.types import DecodeConfig


@dataclass(frozen=True)
class Sample:
    name: str = option("a", "A name.", choices=("a", "b"))
    count: int = option(3, "How many.", minimum=1, maximum=9)
    rate: float = option(0.5, "A share, in %.", minimum=0.0)
    flag: bool = option(True, "Whether.")
    limit: int | None = option(None, "A limit, or none.", minimum=1)
    plain: int = 7  # not an option

    def __post_init__(self):
        validate(self)


def parse(*flags: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_arguments(parser, Sample)
    return parser.parse_args(flags)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"count": 0}, "count must be at least 1, not 0."),
        ({"count": 10}, "count must be at most 9, not 10."),
        ({"count": 2.0}, "count must be a whole number, not 2.0."),
        ({"count": True}, "count must be a whole number, not True."),
        ({"count": "3"}, "count must be a whole number, not '3'."),
        ({"count": None}, "count must be a whole number, not None."),
        ({"rate": float("nan")}, "rate must be a finite number, not nan."),
        ({"rate": float("inf")}, "rate must be a finite number, not inf."),
        ({"rate": "0.5"}, "rate must be a finite number, not '0.5'."),
        ({"rate": -0.1}, "rate must be at least 0.0, not -0.1."),
        ({"name": "c"}, "name must be one of a, b, not 'c'."),
        ({"name": 1}, "name must be text, not 1."),
        ({"flag": 1}, "flag must be true or false, not 1."),
        ({"limit": 0}, "limit must be at least 1, not 0."),
    ],
)
def test_a_value_out_of_bounds_is_refused_in_one_sentence(changes, message):
    with pytest.raises(ConfigError) as caught:
        Sample(**changes)
    assert str(caught.value) == message
    assert isinstance(caught.value, CllmError)


def test_bounds_themselves_and_whole_numbers_for_rates_are_allowed():
    assert (Sample(count=1).count, Sample(count=9).count, Sample(rate=1).rate, Sample(limit=1).limit) == (1, 9, 1, 1)


def test_flags_carry_only_what_was_given():
    assert vars(parse()) == {}
    given = parse("--count", "4", "--no-flag", "--rate", "0.25", "--name", "b", "--limit", "2")
    assert vars(given) == {"count": 4, "flag": False, "rate": 0.25, "name": "b", "limit": 2}


def test_flags_override_the_base_and_the_base_the_defaults():
    made = from_namespace(Sample, parse("--count", "4"), {"count": 5, "rate": 0.75})
    assert (made.count, made.rate, made.name) == (4, 0.75, "a")
    with pytest.raises(ConfigError, match="Unknown setting 'plain'"):
        from_namespace(Sample, parse(), {"plain": 1})
    with pytest.raises(ConfigError, match="count must be at most 9"):
        from_namespace(Sample, parse("--count", "40"))


def test_false_on_the_command_line_is_false():
    """`--flag False` was read as true, since any text is."""
    with pytest.raises(SystemExit):
        parse("--flag", "False")
    assert from_namespace(Sample, parse("--no-flag")).flag is False


def test_help_shows_bounds_defaults_and_per_cent_signs():
    parser = argparse.ArgumentParser()
    add_arguments(parser, Sample)
    text = " ".join(parser.format_help().split())
    assert "How many. (1 to 9; default 3)" in text
    assert "A share, in %. (from 0.0; default 0.5)" in text
    assert "--no-flag" in text
    assert "{a,b}" in text


def test_types_and_fields_are_found_by_name():
    assert [field.name for field in option_fields(Sample)] == ["name", "count", "rate", "flag", "limit"]
    assert [option_type(Sample(), field) for field in option_fields(Sample)] == [str, int, float, bool, int]
    assert option_field(Sample, "count").default == 3
    with pytest.raises(KeyError):
        option_field(Sample, "plain")


def test_every_decode_setting_has_a_label_a_help_and_a_flag():
    assert len(option_fields(DecodeConfig)) == len(fields(DecodeConfig))
    for field in option_fields(DecodeConfig):
        assert field.metadata["help"].endswith(".")
        assert field.metadata["label"]
    parser = argparse.ArgumentParser()
    add_arguments(parser, DecodeConfig)
    assert from_namespace(DecodeConfig, parser.parse_args([])) == DecodeConfig()


@pytest.mark.parametrize("field", option_fields(DecodeConfig), ids=lambda field: field.name)
def test_decode_settings_hold_their_own_bounds(field):
    for key, beyond in (("minimum", -1), ("maximum", 1)):
        bound = field.metadata[key]
        if bound is not None:
            assert getattr(DecodeConfig(**{field.name: bound}), field.name) == bound
            with pytest.raises(ConfigError, match=field.name):
                DecodeConfig(**{field.name: bound + beyond})
    for choice in field.metadata["choices"] or ():
        assert getattr(DecodeConfig(**{field.name: choice}), field.name) == choice
