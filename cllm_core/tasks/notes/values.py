"""Values of record fields, each with the ways a person would write it in a note.

Values from open sets (names, titles, codes, dates, amounts) are split by a checksum: about one in five is held out of
training, so no list has to be kept twice. Closed sets (currencies, yes and no, small counts) are the same everywhere.
"""

import random
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache

from cllm_core.tasks.notes import wide_words, words

Value = str | int | float | bool | None
HELD_OUT_OF = 5  # one in so many open values is held out
REPLACED, INVENTED = 0.6, 0.3  # of the words of a wide value: how many are others, and how many of those nobody's


@dataclass(frozen=True)
class Drawn:
    """The values of a facet's fields, and how the note spells them: the texts that its phrasings ask for."""

    values: tuple[Value, ...]
    said: tuple[str, ...]


@dataclass(frozen=True)
class Source:
    """Where values and phrasings come from: a random generator, and which part of everything to draw from."""

    rng: random.Random
    held_out: bool
    wide: bool = False  # put other words in the place of most words of names and things

    def open(self, make: Callable[[random.Random], Value]) -> Value:
        """Return a value from this part of an open set."""
        while True:
            value = make(self.rng)
            if is_held_out(value) == self.held_out:
                return value

    def part(self, choices: Sequence[str]) -> Sequence[str]:
        """Return this part of an open list: the fifth with the lowest checksums is held out, at least one."""
        held_out, rest = _parts(tuple(choices))
        return held_out if self.held_out else rest

    def word(self, value: str) -> str:
        """Return text from an open list as it is or, in a wide source, with other words and numbers in its places."""
        return _WORD.sub(lambda found: self._other(found[0]), value) if self.wide else value

    def _other(self, word: str) -> str:
        if self.rng.random() >= REPLACED:
            return word
        if word.isdecimal():
            return str(self.rng.randrange(10 ** (len(word) - 1), 10 ** len(word)))
        if self.rng.random() < INVENTED:
            return _invented(self.rng, capital=word[0].isupper())
        return self.rng.choice(wide_words.NAMES if word[0].isupper() else wide_words.THINGS)

    def phrasing(self, phrasings: Sequence[str]) -> str:
        """Return one of a list's phrasings: its last quarter is held out (at least one is)."""
        cut = len(phrasings) - max(1, len(phrasings) // 4)
        return self.rng.choice(phrasings[cut:] if self.held_out else phrasings[:cut])


Draw = Callable[[Source], Drawn]


_WORD = re.compile(r"[^\W\d_]{4,}|\d+")  # shorter words hold a phrase together ("The River of Salt"): they stay


def is_held_out(value: Value) -> bool:
    """Return whether a value of an open set without a list is kept from training."""
    return _checksum(value) % HELD_OUT_OF == 0


@cache
def _parts(choices: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    order = sorted(choices, key=_checksum)
    cut = max(1, len(order) // HELD_OUT_OF)
    return tuple(order[:cut]), tuple(order[cut:])


def _checksum(value: Value) -> int:
    return zlib.crc32(repr(value).encode())


def _invented(rng: random.Random, *, capital: bool) -> str:
    parts = (wide_words.ONSETS, wide_words.VOWELS, wide_words.CODAS)
    word = "".join(rng.choice(part) for _ in range(rng.choice((1, 2, 2, 3))) for part in parts)
    return word.capitalize() if capital else word


def one_of(choices: Sequence[str]) -> Draw:
    """Return a draw from an open list, written as it is."""

    def draw(source: Source) -> Drawn:
        part = source.part(choices)
        while True:
            value = source.word(source.rng.choice(part))
            if value in part or value not in choices:
                return _plain(value)

    return draw


def made(make: Callable[[random.Random], str]) -> Draw:
    """Return a draw of made-up text, written as it is."""
    return lambda source: _plain(source.open(make))


def composed(make: Callable[[random.Random], str]) -> Draw:
    """Return a draw of text composed of the lists' words, written as it is."""
    return lambda source: _plain(source.open(lambda rng: source.word(make(rng))))


def closed(choices: Sequence[str]) -> Draw:
    """Return a draw from a small set that training sees whole."""
    return lambda source: _plain(source.rng.choice(choices))


def states(spellings: Mapping[Value, Sequence[str]]) -> Draw:
    """Return a draw of a state (yes and no, say) that the note puts into words: value -> its phrasings."""

    def draw(source: Source) -> Drawn:
        value = source.rng.choice(list(spellings))
        return Drawn((value,), (source.phrasing(spellings[value]),))

    return draw


def both(one: Draw, other: Draw) -> Draw:
    """Return a draw of two different values for one phrase, such as a start and an end."""

    def draw(source: Source) -> Drawn:
        first = second = one(source)
        while second.values == first.values:
            second = other(source)
        return Drawn(first.values + second.values, first.said + second.said)

    return draw


def _plain(value: Value) -> Drawn:
    return Drawn((value,), (str(value),))


def _person(rng: random.Random) -> str:
    return f"{rng.choice(words.FIRST_NAMES)} {rng.choice(words.LAST_NAMES)}"


def _title(rng: random.Random) -> str:
    adjective, noun, other = rng.choice(words.ADJECTIVES), rng.choice(words.NOUNS), rng.choice(words.NOUNS)
    return rng.choice(
        (f"The {adjective} {noun}", f"{adjective} {noun}", f"The {noun} of {other}", f"{noun} and {other}")
    )


def _address(rng: random.Random) -> str:
    return f"{rng.randint(1, 199)} {rng.choice(words.STREETS)}"


def _email(source: Source) -> Drawn:
    def make(rng: random.Random) -> str:
        first, last = rng.choice(words.FIRST_NAMES).lower(), rng.choice(words.LAST_NAMES).lower().replace(" ", "")
        name = source.word(f"{first}{rng.choice(('.', '_', ''))}{last}")
        return f"{name}@{rng.choice(('example.com', 'example.org', 'mail.example'))}"

    return _plain(source.open(make))


def code(pattern: str) -> Draw:
    """Return a draw of codes: in the pattern, # stands for a digit and @ for a capital letter."""

    def make(rng: random.Random) -> str:
        kinds = {"#": "0123456789", "@": "ABCDEFGHJKLMNPRSTUVWXYZ"}
        return "".join(rng.choice(kinds[sign]) if sign in kinds else sign for sign in pattern)

    return made(make)


person, title, address, email = composed(_person), composed(_title), composed(_address), _email
city = one_of(words.CITIES)


def day(first: int = 2019, last: int = 2030) -> Draw:
    """Return a draw of dates: ISO in the record, one of many formats in the note."""
    start = date(first, 1, 1)
    days = (date(last, 12, 31) - start).days

    def draw(source: Source) -> Drawn:
        iso = str(source.open(lambda rng: (start + timedelta(days=rng.randint(0, days))).isoformat()))
        return Drawn((iso,), (source.rng.choice(date_spellings(date.fromisoformat(iso))),))

    return draw


def date_spellings(when: date) -> list[str]:
    """Return the ways to write a date; day/month/year with slashes only where no one can mix them up."""
    month, number = words.MONTHS[when.month - 1], when.day
    short = month[:3]
    ending = "th" if 11 <= number <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    spellings = [
        f"{number} {month} {when.year}",
        f"{month} {number}, {when.year}",
        f"{number} {short} {when.year}",
        f"{short} {number}, {when.year}",
        f"{month} {number}{ending}, {when.year}",
        f"the {number}{ending} of {month} {when.year}",
        when.isoformat(),
        f"{when:%d.%m.%Y}",
    ]
    return [*spellings, f"{when:%d/%m/%Y}", f"{when.month}/{number}/{when.year}"] if number > 12 else spellings


def clock(first: int = 6, last: int = 22) -> Draw:
    """Return a draw of times of day: 24-hour in the record, one of several formats in the note."""

    def draw(source: Source) -> Drawn:
        value = str(source.open(lambda rng: f"{rng.randint(first, last):02}:{rng.randrange(0, 60, 5):02}"))
        return Drawn((value,), (source.rng.choice(clock_spellings(value)),))

    return draw


def clock_spellings(value: str) -> list[str]:
    """Return the ways to write a time of day that is given as HH:MM."""
    hour, minute = map(int, value.split(":"))
    half, twelve = ("am" if hour < 12 else "pm"), (hour - 1) % 12 + 1
    if minute == 0:
        return [value, f"{twelve} {half}", f"{twelve}{half}", f"{twelve}:00 {half}"]
    return [value, f"{twelve}:{minute:02} {half}", f"{twelve}.{minute:02} {half}", f"{hour}.{minute:02}"]


CURRENCIES = {"EUR": ("€", "euros"), "USD": ("$", "dollars"), "GBP": ("£", "pounds"), "CHF": ("CHF ", "francs")}


def money(low: int, high: int, cents: bool = True) -> Draw:
    """Return a draw of amounts with their currency, as two fields: 1249.99 and "EUR" for "€1,249.99"."""

    def make(rng: random.Random) -> Value:
        whole = rng.randint(low, high)
        if high > 400:
            whole = round(whole, -1) if rng.random() < 0.6 else whole
        return whole + rng.choice((0.25, 0.45, 0.75, 0.95, 0.99)) if cents and rng.random() < 0.5 else whole

    def draw(source: Source) -> Drawn:
        amount, currency = source.open(make), source.rng.choice(list(CURRENCIES))
        sign, name = CURRENCIES[currency]
        plain, grouped = f"{amount}", f"{amount:,}"
        spellings = (
            f"{sign}{grouped}",
            f"{plain} {name}",
            f"{currency} {grouped}",
            f"{plain} {currency}",
            f"{sign}{plain}",
        )
        return Drawn((amount, currency), (source.rng.choice(spellings),))

    return draw


def count(low: int, high: int, step: int = 1) -> Draw:
    """Return a draw of whole numbers; up to twelve they are a closed set, and sometimes written as words."""

    def draw(source: Source) -> Drawn:
        def make(rng: random.Random) -> Value:
            return rng.randrange(low, high + 1, step)

        value = make(source.rng) if high <= 30 else source.open(make)
        assert isinstance(value, int)
        word = words.NUMBERS[value] if 0 < value <= 12 and source.rng.random() < 0.4 else f"{value:,}"
        return Drawn((value,), (word,))

    return draw


def number(low: int, high: int) -> Draw:
    """Return a draw of whole numbers written in digits alone, such as years and room numbers."""

    def draw(source: Source) -> Drawn:
        value = source.rng.randint(low, high) if high <= 30 else source.open(lambda rng: rng.randint(low, high))
        return Drawn((value,), (str(value),))

    return draw


def measure(low: float, high: float, units: Sequence[str], digits: int = 1) -> Draw:
    """Return a draw of measured numbers; the note adds one of the units ("{} kg", say), the record has none."""

    def draw(source: Source) -> Drawn:
        value = source.open(
            lambda rng: round(rng.uniform(low, high), digits) if digits else rng.randint(int(low), int(high))
        )
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        return Drawn((value,), (source.rng.choice(units).format(value),))

    return draw


def minutes() -> Draw:
    """Return a draw of durations: minutes in the record, minutes or hours in the note."""
    spoken = {30: "half an hour", 60: "an hour", 90: "an hour and a half", 120: "two hours", 180: "three hours"}

    def draw(source: Source) -> Drawn:
        value = source.rng.choice((15, 20, 25, 30, 40, 45, 50, 60, 75, 90, 105, 120, 150, 180))
        hours = f"{value / 60:g}"
        spellings = [f"{value} minutes", f"{value} min", *([spoken[value]] if value in spoken else [])]
        return Drawn((value,), (source.rng.choice(spellings + ([f"{hours} hours"] if value in (90, 150) else [])),))

    return draw


def whole(choices: Sequence[int]) -> Draw:
    """Return a draw from a small set of numbers that training sees whole."""

    def draw(source: Source) -> Drawn:
        value = source.rng.choice(choices)
        return Drawn((value,), (str(value),))

    return draw
