"""Running a query that a model wrote: in memory, read-only, within a budget; and comparing what two queries return."""

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import permutations
from typing import Any

from cllm_core.tasks.sql.clauses import parse
from cllm_core.tasks.sql.databases import Content, connect, generate
from cllm_core.tasks.sql.hints import gather
from cllm_core.tasks.sql.schema import Schema

DATABASES = 5  # generated databases that two queries must agree on
TRIES = 12  # databases generated at most, to find that many on which the gold query returns something
MAX_ROWS = 5_000
INSTRUCTIONS = 20_000_000  # of SQLite's machine, per query: about a second
CHUNK = 20_000
Rows = list[tuple[Any, ...]]
ALLOWED = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE})


class QueryError(ValueError):
    """A query was refused, failed, or ran over its budget."""


def execution_match(gold: str, predicted: str, schema: Schema) -> bool:
    """Return whether two queries return the same rows on every database generated for the two of them.

    Columns may come in another order. Rows must come in gold's order if gold has ORDER BY, up to ties. Where gold's own
    rows depend on the order of storage (LIMIT among ties), a database cannot judge, unless the rows agree anyway.
    QueryError if gold itself cannot run.
    """
    hints = gather((gold, predicted), schema)
    ordered = parse(gold).args.get("order") is not None
    telling = judged = undecided = 0
    for seed in range(TRIES):
        verdict, has_rows = _judge(gold, predicted, schema, generate(schema, hints, seed), ordered)
        if verdict is False:
            return False
        judged += verdict is True
        undecided += verdict is None
        telling += has_rows
        if telling == DATABASES:
            break
    return judged > 0 or undecided == 0


def _judge(gold: str, predicted: str, schema: Schema, content: Content, ordered: bool) -> tuple[bool | None, bool]:
    """Return whether two queries agree on one database (None: it cannot tell), and whether gold returns anything."""
    with closing(connect(schema, content)) as database, closing(connect(schema, content, backwards=True)) as mirror:
        expected, mirrored = run_query(database, gold), run_query(mirror, gold)
        telling = any(any(row) for row in expected)
        try:
            got = run_query(database, predicted)
        except QueryError:
            return False, telling
    if Counter(expected) == Counter(mirrored):
        return _same(got, expected, mirrored if ordered else None), telling
    agrees = _same(got, expected, None) or _same(got, mirrored, None)
    return (True if agrees else None), telling


def run_query(database: sqlite3.Connection, sql: str) -> Rows:
    """Return the rows of one query, text and numbers only; QueryError if it fails.

    Nothing but reading is allowed (no ATTACH, PRAGMA, write or extension), and the query stops after `INSTRUCTIONS`
    steps of SQLite's machine or `MAX_ROWS` rows: a count, not a clock, so that a busy computer changes no result.
    """
    with _guarded(database):
        try:
            with closing(database.execute(sql)) as cursor:
                rows = cursor.fetchmany(MAX_ROWS + 1)
        except (sqlite3.Error, sqlite3.Warning, UnicodeEncodeError, ValueError) as error:
            raise QueryError(str(error)) from error
    if len(rows) > MAX_ROWS:
        raise QueryError(f"it returns more than {MAX_ROWS} rows")
    return [tuple(_rounded(cell) for cell in row) for row in rows]


@contextmanager
def _guarded(database: sqlite3.Connection) -> Iterator[None]:
    left = INSTRUCTIONS // CHUNK

    def tick() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    database.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in ALLOWED else sqlite3.SQLITE_DENY)
    database.set_progress_handler(tick, CHUNK)
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1_000_000)  # bytes of one value: zeroblob(1e9) would fill memory
    try:
        yield
    finally:
        database.set_authorizer(None)
        database.set_progress_handler(None, 0)


def _rounded(cell: Any) -> Any:
    """Make equal what differs only in the order of adding up, and 3 of 3.0."""
    return float(f"{cell:.9g}") if isinstance(cell, float) else cell


def _same(got: Rows, expected: Rows, mirrored: Rows | None) -> bool:
    """Return whether `got` holds the expected rows with its columns in some order.

    With `mirrored` (the same rows as another order of storage gives them) the order of rows counts as well: what lies
    between two places where both have given out the same rows is tied.
    """
    if len(got) != len(expected) or (got and len(got[0]) != len(expected[0])):
        return False
    if not got:
        return True
    starts = _tie_starts(expected, mirrored) if mirrored is not None else [0]
    wanted = _by_tie(expected, starts)
    candidates = ([tuple(row[at] for at in order) for row in got] for order in _orders(got, expected))
    return any(_by_tie(rows, starts) == wanted for rows in candidates)


def _tie_starts(expected: Rows, mirrored: Rows) -> list[int]:
    ahead: Counter[tuple[Any, ...]] = Counter()
    starts = []
    for at, (one, other) in enumerate(zip(expected, mirrored, strict=True)):
        if not any(ahead.values()):
            starts.append(at)
        ahead[one] += 1
        ahead[other] -= 1
    return starts


def _by_tie(rows: Rows, starts: Sequence[int]) -> list[Counter[tuple[Any, ...]]]:
    return [Counter(rows[start:end]) for start, end in zip(starts, [*starts[1:], len(rows)], strict=True)]


def _orders(got: Rows, expected: Rows) -> Iterator[tuple[int, ...]]:
    """Yield the orders of got's columns that could be expected's, the given one first; only that one for wide rows."""
    width = len(expected[0])
    if width > 6:
        return iter([tuple(range(width))])
    mine, theirs = ([Counter(row[at] for row in rows) for at in range(width)] for rows in (got, expected))
    return (order for order in permutations(range(width)) if all(mine[at] == theirs[to] for to, at in enumerate(order)))
