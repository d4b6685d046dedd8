"""SQLite databases in memory, generated from a schema so that two given queries return different rows if they can.

Foreign keys are consistent, the literals that the queries look for occur (and values just beside them), some parents
have many children and some have none, and every database mixes repeated and unrepeated values in its own way. There
are no NULLs: COUNT(*) and COUNT(column) are meant to be the same in this benchmark.
"""

import random
import re
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta

from cllm_core.tasks.sql.hints import Hints, Value
from cllm_core.tasks.sql.schema import Column, Schema, tied

ENTITIES = 16  # rows of a table that refers to no other
EXTRA = 7  # up to so many rows more, to tell tables apart by COUNT(*)
PLANTED = (0, 1, 2, 0, 1, 2, 4, 5, 6, 7, 8, 9, 0, 1, 2, 0, 1, 2)  # parents of a referring table's first rows
Content = Mapping[str, Sequence[tuple[Value, ...]]]
WORDS: tuple[str, ...] = tuple(
    re.findall(
        r"\w+",
        "amber basin cedar delta ember fable grove haven inlet jasper kernel lumen maple north opal pearl quartz river "
        "sable tundra umber vale willow xenon yarrow zephyr anchor birch comet dune",
    )
)


def connect(schema: Schema, content: Content, backwards: bool = False) -> sqlite3.Connection:
    """Return an in-memory database; `backwards` stores the same rows in the opposite order."""
    database = sqlite3.connect(":memory:", isolation_level=None)
    for table in schema.tables:
        columns = ", ".join(f"{_quote(n)} {'NUMERIC' if t == 'number' else 'TEXT'}" for n, t in table.columns.items())
        database.execute(f"CREATE TABLE {_quote(table.name)} ({columns})")
        rows = content[table.name]
        places = ", ".join("?" * len(table.columns))
        database.executemany(
            f"INSERT INTO {_quote(table.name)} VALUES ({places})", reversed(rows) if backwards else rows
        )
    return database


def generate(schema: Schema, hints: Hints, seed: int) -> Content:
    """Return the rows of every table; the same arguments give the same rows."""
    builder = _Builder(schema, hints, random.Random(seed))
    columns = {(t.name, name): builder.values((t.name, name)) for t in schema.tables for name in t.columns}
    return {t.name: list(zip(*(columns[t.name, name] for name in t.columns), strict=True)) for t in schema.tables}


@dataclass
class _Builder:
    """Fills one database, column by column.

    Rows play roles. "hit" rows fulfil every condition on their table at once; "miss" rows fulfil all but one, and there
    hold a value just at or beside the literal; "free" rows are random. Referring rows point at parents of each role.
    """

    schema: Schema
    hints: Hints
    rng: random.Random
    done: dict[Column, list[Value]] = field(default_factory=dict)
    pools: dict[Column, list[Value]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.parent = {child: parent for child, parent in self.schema.foreign_keys if child[0] != parent[0]}
        self.keys = self.schema.primary_keys | set(self.parent.values())
        groups = tied([*self.schema.foreign_keys, *sorted(self.hints.links)])
        self.group = {column: min(group) for column, group in groups.items()}
        self.hits, self.near = (self._by_group(part) for part in (self.hints.hits, self.hints.near))
        self.extra = {table.name: self.rng.randrange(EXTRA) for table in self.schema.tables}
        self.crowded = self.hints.largest_group > 3  # a query asks for larger groups than a few rows would give
        self.many = min(400, max(2 * ENTITIES, len(PLANTED) + 5 * self.hints.largest_group))

    def rows(self, table: str) -> int:
        """Return how many rows a table has: more where it refers to others, enough for the largest group asked for."""
        if self._extends(table):
            return ENTITIES * 3 // 4
        return self.extra[table] + (self.many if self.crowded or self._refers(table) else ENTITIES)

    def values(self, column: Column) -> list[Value]:
        """Return the values of a column, row by row."""
        if column not in self.done:
            self.done[column] = []  # a circle of foreign keys ends here
            count = self.rows(column[0])
            parents = list(dict.fromkeys(self.values(self.parent[column]))) if column in self.parent else []
            if parents:
                self.done[column] = self._references(column, parents, count)
            elif column in self.keys:
                self.done[column] = self._pool(column)[:count]
            else:
                self.done[column] = self._plain(column, count)
        return self.done[column]

    def _references(self, column: Column, parents: list[Value], count: int) -> list[Value]:
        """Return values that occur in the parent column; the first parents have most children, the last have none."""
        if self._extends(column[0]):
            some = [*parents[:6], *self.rng.sample(parents[6:], max(0, min(count, len(parents)) - 6))]
            return [some[row % len(some)] for row in range(count)]
        used = parents[: max(1, min(ENTITIES, len(parents) * 4 // 5))]
        draws = [used[int(len(used) * self.rng.random() ** 2)] for _ in range(count)]
        return [*(parents[at % len(parents)] for at in PLANTED), *draws][:count]

    def _plain(self, column: Column, count: int) -> list[Value]:
        """Return the values of a column that is no key: few or many different ones, each once where it is sorted by."""
        name, pool = self._name(column), self._pool(column)
        hits, near = self.hits.get(name, []), self.near.get(name, [])
        if column in self.hints.ordered:
            values = self.rng.sample(pool, count)
        else:
            some = self.rng.sample(pool, self.rng.choice((2, 3, 4) if self.crowded else (3, 6, len(pool))))
            values = [some[int(len(some) * self.rng.random() ** 1.5)] for _ in range(count)]
            for row in range(0, count, 9):  # and a few that occur once, so that no group is always large
                values[row] = self.rng.choice(pool)
        index, turns = self._turn(column)
        for row, (role, number) in enumerate(self._roles(column[0])[:count]):
            if role == "miss" and near and number % turns == index:
                values[row] = near[(number // turns + self.rng.randrange(len(near))) % len(near)]
            elif hits:
                values[row] = hits[number % len(hits)]
        return values

    def _roles(self, table: str) -> list[tuple[str, int]]:
        misses = [("miss", number) for number in range(6)]
        if self._refers(table) and not self._extends(table):  # row by row beside PLANTED
            return [*(("hit", row // 3) for row in range(6)), *(("hit", row) for row in range(6)), *misses]
        return [*(("hit", row) for row in range(4)), *misses]

    def _turn(self, column: Column) -> tuple[int, int]:
        """Return this column's place among its table's hinted ones, which take turns in miss rows, and their number."""
        names = self.schema.by_name[column[0]].columns
        hinted = [name for name in names if self.near.get(self._name((column[0], name)))]
        return (hinted.index(column[1]) if column[1] in hinted else 0), max(1, len(hinted))

    def _pool(self, column: Column) -> list[Value]:
        """Return the distinct values of the column's group, the ones that the queries look for first."""
        name = self._name(column)
        if name not in self.pools:
            pool = dict.fromkeys([*self.hits.get(name, []), *self.near.get(name, [])])
            while len(pool) < self.many + EXTRA:
                pool[self._random(column, len(pool))] = None
            self.pools[name] = list(pool)
        return self.pools[name]

    def _random(self, column: Column, number: int) -> Value:
        kind = self.schema.by_name[column[0]].columns[column[1]]
        if kind == "number" or column in self.hints.numeric:
            near = self.near.get(self._name(column), [])
            known = [float(value) for value in near if not isinstance(value, str)] or [200.0]
            span = max(1000.0, max(known) - min(known))  # wider than a pool is long
            value: float = self.rng.uniform(min(known) - span / 2, max(known) + span / 2)
            return round(value, 2) if any(isinstance(other, float) for other in near) else int(value)
        if kind == "time":
            return str(date(2000, 1, 1) + timedelta(days=self.rng.randrange(8000)))
        return self.rng.choice(WORDS) + (f" {number}" if number > len(WORDS) // 2 else "")

    def _refers(self, table: str) -> bool:
        return any(child[0] == table for child in self.parent)

    def _extends(self, table: str) -> bool:
        """Return whether the table's only foreign key is its primary key: one row of it for one of the parent."""
        children = [child for child in self.parent if child[0] == table]
        return len(children) == 1 and children[0] in self.schema.primary_keys

    def _name(self, column: Column) -> Column:
        return self.group.get(column, column)

    def _by_group(self, values: Mapping[Column, list[Value]]) -> dict[Column, list[Value]]:
        merged: dict[Column, list[Value]] = {}
        for column, found in values.items():
            merged.setdefault(self._name(column), []).extend(found)
        return merged


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
