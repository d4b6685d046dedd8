"""What two queries look for in a database: literals by column, columns that must share values, sizes of groups.

From these, databases are generated on which a wrong query gives itself away. Nothing is executed here.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from cllm_core.tasks.sql.clauses import SqlError, mark_text, parse, resolve
from cllm_core.tasks.sql.schema import Column, Schema

Value = int | float | str
LARGEST = 1e15  # beyond it neither floats nor SQLite count one by one
COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)


@dataclass
class Hints:
    """Gathered from queries. Values of a column are shared by all columns tied to it."""

    hits: dict[Column, list[Value]] = field(default_factory=lambda: defaultdict(list))  # fulfil a condition
    near: dict[Column, list[Value]] = field(default_factory=lambda: defaultdict(list))  # at and beside a literal
    links: set[tuple[Column, Column]] = field(default_factory=set)  # compared with each other
    ordered: set[Column] = field(default_factory=set)  # sorted by: ties would leave the order open
    numeric: set[Column] = field(default_factory=set)  # summed or averaged, whatever type is declared
    largest_group: int = 0  # largest number that COUNT is compared with


def gather(queries: Iterable[str], schema: Schema) -> Hints:
    """Return the hints of all queries that can be parsed."""
    hints = Hints()
    for sql in queries:
        try:
            query = mark_text(parse(sql), schema)
        except SqlError:
            continue  # running it will say so
        for node in query.walk():
            _conditions(node, schema, hints)
            _ties(node, schema, hints)
    return hints


def _conditions(node: exp.Expr, schema: Schema, hints: Hints) -> None:
    """Take note of the values that one condition asks for."""
    if isinstance(node, COMPARISONS):
        _comparison(type(node).__name__, node.left, node.right, schema, hints)
    elif isinstance(node, exp.Between):
        low, high = _value(node.args["low"]), _value(node.args["high"])
        if low is not None and high is not None:
            inside = (low + high) / 2 if not isinstance(low, str) and not isinstance(high, str) else low
            _note(node.this, schema, hints, [low, inside, high], [*_beside(low), *_beside(high)])
    elif isinstance(node, exp.In):
        values = [value for item in node.expressions if (value := _value(item)) is not None]
        _note(node.this, schema, hints, values, values)
    elif isinstance(node, exp.Like) and isinstance(pattern := _value(node.expression), str):
        core = pattern.strip("%").replace("%", " ").replace("_", "o")
        _note(node.this, schema, hints, [core], [core, f"X{core}", f"{core}x", f"X{core}x"])


def _comparison(kind: str, left: exp.Expr, right: exp.Expr, schema: Schema, hints: Hints) -> None:
    if isinstance(left, exp.Count) and isinstance(size := _value(right), int):
        hints.largest_group = max(hints.largest_group, size)
        return
    if (value := _value(right)) is None:
        return
    below, _, above = _beside(value)
    hits = {"GT": [above], "GTE": [value, above], "LT": [below], "LTE": [value, below], "NEQ": []}.get(kind, [value])
    _note(left, schema, hints, hits, _beside(value))


def _note(where: exp.Expr, schema: Schema, hints: Hints, hits: Sequence[Value], near: Sequence[Value]) -> None:
    for found in where.find_all(exp.Column):  # the column itself, or the one inside AVG(column)
        if column := resolve(found, schema):
            hints.hits[column] += hits
            hints.near[column] += near


def _beside(value: Value) -> list[Value]:
    """Return something less, the value itself, and something greater."""
    if isinstance(value, str):
        return [value[:-1], value, value + "a"]
    return [value - 1, value, value + 1]


def _value(node: exp.Expr | None) -> Value | None:
    """Return a literal's value; None for anything else."""
    if isinstance(node, exp.Neg):
        inner = _value(node.this)
        return None if inner is None or isinstance(inner, str) else -inner
    if isinstance(node, exp.Boolean):
        return int(node.this)
    if not isinstance(node, exp.Literal):
        return None
    if node.is_string:
        return str(node.this)
    number = float(node.this)
    if abs(number) > LARGEST:
        return None
    return int(number) if number.is_integer() else number


def _ties(node: exp.Expr, schema: Schema, hints: Hints) -> None:
    """Take note of columns that meet in a join, a subquery or a set operation, and of those sorted by or summed."""
    if isinstance(node, exp.EQ):
        _link([node.left], [node.right], schema, hints)
    elif isinstance(node, exp.In) and isinstance(node.args.get("query"), exp.Subquery):
        _link([node.this], node.args["query"].this.expressions, schema, hints)
    elif isinstance(node, exp.SetOperation) and all(isinstance(side, exp.Select) for side in (node.left, node.right)):
        _link(node.left.expressions, node.right.expressions, schema, hints)
    elif isinstance(node, exp.Ordered):
        hints.ordered.update(_columns(node, schema))
    elif isinstance(node, exp.Avg | exp.Sum):
        hints.numeric.update(_columns(node, schema))


def _link(left: Sequence[exp.Expr], right: Sequence[exp.Expr], schema: Schema, hints: Hints) -> None:
    for one, other in zip(left, right):
        if isinstance(one, exp.Column) and isinstance(other, exp.Column):
            pair = (resolve(one, schema), resolve(other, schema))
            if pair[0] and pair[1] and pair[0] != pair[1]:
                hints.links.add((pair[0], pair[1]))


def _columns(node: exp.Expr, schema: Schema) -> Iterator[Column]:
    return (column for found in node.find_all(exp.Column) if (column := resolve(found, schema)))
