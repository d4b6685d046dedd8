"""Running a query that a model wrote: in memory, read-only, within a budget; and comparing what two queries return."""

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import permutations
from typing import Any

from sqlglot import exp

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
MAX_BYTES = 10_000  # of one value
GROWING = frozenset({"zeroblob", "randomblob", "printf", "format", "hex"})  # one instruction of these can be much work
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
    telling = judged = undecided = 0
    for seed in range(TRIES):
        verdict, has_rows = _judge(gold, predicted, schema, generate(schema, hints, seed))
        if verdict is False:
            return False
        judged += verdict is True
        undecided += verdict is None
        telling += has_rows
        if telling == DATABASES:
            break
    return judged > 0 or undecided == 0


def _judge(gold: str, predicted: str, schema: Schema, content: Content) -> tuple[bool | None, bool]:
    """Return whether two queries agree on one database (None: it cannot tell), and whether gold returns anything."""
    with closing(connect(schema, content)) as database, closing(connect(schema, content, backwards=True)) as mirror:
        expected, mirrored = run_query(database, gold), run_query(mirror, gold)
        telling = any(any(row) for row in expected)
        starts = _tie_starts(database, gold, expected)
        try:
            got = run_query(database, predicted)
        except QueryError:
            return False, telling
    if Counter(expected) == Counter(mirrored):
        return _same(got, expected, starts), telling
    agrees = _same(got, expected, [0]) or _same(got, mirrored, [0])
    return (True if agrees else None), telling


def _tie_starts(database: sqlite3.Connection, gold: str, expected: Rows) -> list[int]:
    """Return where in gold's rows the sort key changes; without ORDER BY all rows are one tie.

    The keys are had by selecting them as well. Where that would change the rows (DISTINCT, set operations), every row
    counts as a place of its own.
    """
    query = parse(gold)
    order = query.args.get("order")
    if order is None or not expected:
        return [0]
    if not isinstance(query, exp.Select) or query.args.get("distinct"):
        return list(range(len(expected)))
    keys = [_sort_key(item.this, query) for item in order.expressions]
    rows = run_query(database, query.select(*keys).sql(dialect="sqlite"))
    found = [row[-len(keys) :] for row in rows]
    return [at for at in range(len(found)) if at == 0 or found[at] != found[at - 1]]


def _sort_key(key: exp.Expr, query: exp.Select) -> exp.Expr:
    """Return what a sort key stands for: it may be the number or the alias of a selected expression."""
    if isinstance(key, exp.Literal) and key.is_int and int(key.name) <= len(query.selects):
        return query.selects[int(key.name) - 1].unalias().copy()
    named = {item.alias: item.this for item in query.selects if isinstance(item, exp.Alias)}
    return (named[key.name] if isinstance(key, exp.Column) and key.name in named else key).copy()


def run_query(database: sqlite3.Connection, sql: str) -> Rows:
    """Return the rows of one query, text and numbers only; QueryError if it fails.

    Nothing but reading is allowed (no ATTACH, PRAGMA, write or extension), and the query stops after `INSTRUCTIONS`
    steps of SQLite's machine or `MAX_ROWS` rows: a count, not a clock, so that a busy computer changes no result.
    """
    with _guarded(database):
        try:
            with closing(database.execute(sql)) as cursor:
                rows = cursor.fetchmany(MAX_ROWS + 1)
        except (sqlite3.Error, sqlite3.Warning, UnicodeEncodeError, ValueError, MemoryError) as error:
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

    def allow(action: int, _first: str | None, second: str | None, *_: object) -> int:
        grows = action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in GROWING
        return sqlite3.SQLITE_OK if action in ALLOWED and not grows else sqlite3.SQLITE_DENY

    database.set_authorizer(allow)
    database.set_progress_handler(tick, CHUNK)
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_BYTES)
    try:
        yield
    finally:
        database.set_authorizer(None)
        database.set_progress_handler(None, 0)


def _rounded(cell: Any) -> Any:
    """Make equal what differs only in the order of adding up, and 3 of 3.0."""
    return float(f"{cell:.9g}") if isinstance(cell, float) else cell


def _same(got: Rows, expected: Rows, starts: Sequence[int]) -> bool:
    """Return whether `got` holds the expected rows, with its columns in some order, in each of the ties."""
    if len(got) != len(expected) or (got and len(got[0]) != len(expected[0])):
        return False
    if not got:
        return True
    wanted = _by_tie(expected, starts)
    candidates = ([tuple(row[at] for at in order) for row in got] for order in _orders(got, expected))
    return any(_by_tie(rows, starts) == wanted for rows in candidates)


def _by_tie(rows: Rows, starts: Sequence[int]) -> list[Counter[tuple[Any, ...]]]:
    return [Counter(rows[start:end]) for start, end in zip(starts, [*starts[1:], len(rows)], strict=True)]


def _orders(got: Rows, expected: Rows) -> Iterator[tuple[int, ...]]:
    """Yield the orders of got's columns that could be expected's, the given one first; only that one for wide rows."""
    width = len(expected[0])
    if width > 6:
        return iter([tuple(range(width))])
    mine, theirs = ([Counter(row[at] for row in rows) for at in range(width)] for rows in (got, expected))
    return (order for order in permutations(range(width)) if all(mine[at] == theirs[to] for to, at in enumerate(order)))
