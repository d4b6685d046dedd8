"""Database schemas of text-to-SQL data sets: read from tables.json or from the hub's text form, shown in prompts."""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from cllm_core.errors import TaskError

Column = tuple[str, str]  # table and column, lower case: SQL names do not tell cases apart


@dataclass(frozen=True)
class Table:
    """One table; names are in lower case. A column's type is text, number, time, boolean or others."""

    name: str
    columns: Mapping[str, str]  # name -> type, in the schema's order


@dataclass(frozen=True)
class Schema:
    """One database's tables and keys."""

    name: str
    tables: tuple[Table, ...]
    primary_keys: frozenset[Column]
    foreign_keys: tuple[tuple[Column, Column], ...]  # (referring, referred to)

    @cached_property
    def by_name(self) -> Mapping[str, Table]:
        """Tables by name."""
        return {table.name: table for table in self.tables}

    @cached_property
    def same_as(self) -> Mapping[Column, Column]:
        """Columns that foreign keys tie -> one representative of theirs.

        Two columns of one table that refer to the same key (where a flight starts and where it ends) stay apart.
        """
        groups = tied(self.foreign_keys)
        often = {column: Counter(table for table, _ in group) for column, group in groups.items()}
        return {c: min(group, key=lambda m: (often[m][m[0]], m)) for c, group in groups.items() if often[c][c[0]] == 1}

    def describe(self, only: Collection[str] | None = None, max_chars: int | None = None) -> str:
        """Return one line a table, `name(column, column)`; `only` some tables, in the schema's order.

        Above `max_chars` characters, whole columns are left out from the ends of the widest tables ("...") until it
        fits or every table is down to three columns.
        """
        shown = {t.name: [quoted(c) for c in t.columns] for t in self.tables if only is None or t.name in only}
        while max_chars is not None and len(_lines(shown)) > max_chars:
            widest = max(shown, key=lambda name: len(shown[name]))
            if len(shown[widest]) <= 4:
                break
            shown[widest] = [*shown[widest][:-2], "..."] if shown[widest][-1] == "..." else [*shown[widest][:-1], "..."]
        return _lines(shown)


def tied(pairs: Iterable[tuple[Column, Column]]) -> dict[Column, set[Column]]:
    """Return for every column in `pairs` the set of all columns that pairs tie it to, itself included."""
    groups: dict[Column, set[Column]] = {}
    for pair in pairs:
        merged = set().union(*(groups.get(column, {column}) for column in pair))
        groups.update(dict.fromkeys(merged, merged))
    return groups


def _lines(shown: Mapping[str, list[str]]) -> str:
    return "\n".join(f"{quoted(name)}({', '.join(columns)})" for name, columns in shown.items())


def quoted(name: str) -> str:
    """Return the name as SQL writes it: in double quotes only where it must be."""
    return name if re.fullmatch(r"[a-z_]\w*", name) else '"' + name.replace('"', '""') + '"'


def load_schemas(path: Path) -> dict[str, Schema]:
    """Read Spider's tables.json; TaskError if it is missing or not what it should be."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
        return {entry["db_id"]: from_tables_json(entry) for entry in entries}
    except OSError as error:
        raise TaskError(f"Cannot read {path.name} ({error.strerror}): download it again.") from error
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise TaskError(f"{path.name} is not Spider's list of schemas ({error!r}): download it again.") from error


def from_tables_json(entry: Mapping[str, Any]) -> Schema:
    """Return the schema of one entry of tables.json."""
    names = [name.lower() for name in entry["table_names_original"]]
    columns = [(names[table] if table >= 0 else "", name.lower()) for table, name in entry["column_names_original"]]
    types = dict(zip(columns, entry["column_types"], strict=True))
    own = [name for name in names if not name.startswith("sqlite_")]  # SQLite's bookkeeping is no data
    keys = [key for item in entry["primary_keys"] for key in (item if isinstance(item, list) else [item])]
    return Schema(
        entry["db_id"],
        tuple(Table(name, {c: types[t, c] for t, c in columns if t == name}) for name in own),
        frozenset(columns[key] for key in keys),
        tuple((columns[child], columns[parent]) for child, parent in entry["foreign_keys"]),
    )


def schemas_from_hub(rows: Iterable[Mapping[str, str]]) -> dict[str, Schema]:
    """Read the text form: `table : column (type) , column (type) | table : ...`, keys in the same manner."""
    try:
        return {row["db_id"]: _from_text(row) for row in rows}
    except (ValueError, KeyError, AttributeError) as error:
        raise TaskError(f"The schemas on the hub have changed their form ({error!r}): use --data FOLDER.") from error


def _from_text(row: Mapping[str, str]) -> Schema:
    tables = []
    for part in _parts(row["Schema (values (type))"]):
        name, _, columns = part.partition(" : ")
        matches = [re.fullmatch(r"(.*) \((\w+)\)", column.strip()) for column in columns.split(" , ")]
        tables.append(Table(name.strip(), {m[1].strip(): m[2] for m in matches if m}))
    keys = [tuple(part.split(" : ")) for part in _parts(row["Primary Keys"])]
    links = [re.fullmatch(r"(.+?) : (.+?) equals (.+?) : (.+)", part) for part in _parts(row["Foreign Keys"])]
    return Schema(
        row["db_id"],
        tuple(tables),
        frozenset((table, column) for table, column in keys),
        tuple(((m[1], m[2]), (m[3], m[4])) for m in links if m),
    )


def _parts(text: str | None) -> list[str]:
    return [part.strip().lower() for part in (text or "").split(" | ") if part.strip()]
