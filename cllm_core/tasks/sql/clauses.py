"""Queries as clauses: one regular spelling for training, and the exact set match that Spider reports.

Parsing and spelling are sqlglot's. Nothing is executed here.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import sqlglot
from sqlglot import exp
from sqlglot.dialects.sqlite import SQLite
from sqlglot.generators.sqlite import SQLiteGenerator

from cllm_core.tasks.sql.schema import Column, Schema

Bag = tuple[tuple[str, int], ...]  # a multiset: texts, sorted, and how often; its repr is a key for comparison


class SqlError(ValueError):
    """The text is not one SQL query."""


class _Spelling(SQLite):
    class Generator(SQLiteGenerator):
        def join_sql(self, expression: exp.Join, join_op: str | None = None) -> str:
            """Leave out the ON TRUE that the parser puts where the query has none."""
            if expression.args.get("on") == exp.true():
                return f" JOIN {self.sql(expression, 'this')}"
            return str(super().join_sql(expression, join_op))

        def not_sql(self, expression: exp.Not) -> str:
            """Write `a NOT IN b` and `a IS NOT NULL`, as people do, instead of `NOT a IN b`."""
            test = expression.this
            if not isinstance(test, exp.In | exp.Like | exp.Between | exp.Is):
                return str(super().not_sql(expression))
            left, whole = self.sql(test, "this"), self.sql(test)
            right = whole[len(left) + 1 :]
            return f"{left} IS NOT {right[3:]}" if isinstance(test, exp.Is) else f"{left} NOT {right}"


@lru_cache(maxsize=256)
def parse(sql: str) -> exp.Query:
    """Parse one query; SqlError if the text is anything else. The tree is shared: copy it before changing it."""
    try:
        statements = sqlglot.parse(sql.encode().decode(), read=SQLite)
    except (sqlglot.errors.SqlglotError, UnicodeEncodeError, RecursionError) as error:
        raise SqlError(str(error).split("\n")[0]) from error
    if len(statements) != 1 or not isinstance(statements[0], exp.Query) or not statements[0].selects:
        raise SqlError("It is not one SELECT query.")
    return statements[0]


def tables_of(query: exp.Query) -> set[str]:
    """Return the names of the tables that the query reads, in lower case."""
    return {table.name.lower() for table in query.find_all(exp.Table)}


def mark_text(query: exp.Query, schema: Schema) -> exp.Expr:
    """Return the query with double-quoted words that name no column made into text, as SQLite itself reads them."""
    used = [schema.by_name[name].columns for name in tables_of(query) if name in schema.by_name]

    def marked(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column) or node.table or not node.this.args.get("quoted"):
            return node
        return node if any(node.name.lower() in columns for columns in used) else exp.Literal.string(node.name)

    return query.transform(marked)


def normalise(sql: str, schema: Schema) -> str:
    """Return the query in one regular spelling; its meaning stays.

    The rule: one line and single spaces; keywords and functions in capitals, names in lower case; text in single
    quotes (SQLite also takes a double-quoted word for text where it is no column); aliases by AS, != as <>; no final
    semicolon. Raises SqlError.
    """
    query = mark_text(parse(sql), schema)
    for name in query.find_all(exp.Identifier):
        name.set("this", name.this.lower())
    return query.sql(dialect=_Spelling, comments=False)


def resolve(column: exp.Column, schema: Schema) -> Column | None:
    """Return the table and name that a column of a parsed query stands for; None if no table around it has it."""
    scopes = []
    select = column.find_ancestor(exp.Select)
    while select is not None:
        scopes.append(Scope(schema, select))
        select = select.find_ancestor(exp.Select)
    for scope in scopes:
        table = scope.aliases.get(column.table.lower()) if column.table else scope.home(column.name.lower())
        if table and table in schema.by_name and column.name.lower() in schema.by_name[table].columns:
            return table, column.name.lower()
    return None


@dataclass(frozen=True)
class Clauses:
    """A query for comparison: columns resolved to their tables, values and DISTINCT left out."""

    select: Bag = ()
    tables: Bag = ()
    where: Bag = ()  # conditions, and the connectives between them
    group: Bag = ()
    having: Bag = ()
    order: tuple[str, ...] = ()
    limited: bool = False
    others: tuple[tuple[str, "Clauses"], ...] = ()  # what a set operation or a WITH adds


def exact_match(gold: str, predicted: str, schema: Schema) -> bool:
    """Return whether two queries have the same clauses, each compared as a set.

    In the spirit of Spider's exact set matching (Yu et al. 2018, section 5): join conditions, values and DISTINCT
    are not compared (running the queries judges those), and columns tied by a foreign key are the same column.
    A gold query that cannot be parsed raises SqlError.
    """
    expected = clauses_of(mark_text(parse(gold), schema), schema)
    try:
        return clauses_of(mark_text(parse(predicted), schema), schema) == expected
    except (SqlError, RecursionError):
        return False


def clauses_of(query: exp.Expr, schema: Schema, outer: "Scope | None" = None) -> Clauses:
    """Return the clauses of a parsed query; `outer` is the query around it, whose columns it may use."""
    if isinstance(query, exp.Subquery):
        return clauses_of(query.this, schema, outer)
    if isinstance(query, exp.SetOperation):
        left = clauses_of(query.this, schema, outer)
        right = clauses_of(query.expression, schema, outer)
        added = (query.key + ("" if query.args.get("distinct") else " all"), right)
        scope = Scope(schema, _first_select(query), outer)
        order = _order(query, scope) or left.order
        return replace(left, order=order, limited=_limited(query) or left.limited, others=(*left.others, added))
    if not isinstance(query, exp.Select):  # VALUES and other sources that have no clauses
        return Clauses(tables=_bag([query.sql(dialect=_Spelling).lower()]))
    scope = Scope(schema, query, outer)
    return Clauses(
        select=_bag(scope.text(item) for item in query.expressions),
        tables=_bag(scope.sources),
        where=_bag(_conditions(query.args.get("where"), scope)),
        group=_bag(scope.text(item) for item in _items(query, "group")),
        having=_bag(_conditions(query.args.get("having"), scope)),
        order=_order(query, scope),
        limited=_limited(query),
        others=tuple(("with", clauses_of(cte.this, schema, outer)) for cte in query.find_all(exp.CTE)),
    )


@dataclass(frozen=True)
class Scope:
    """The names that a SELECT's expressions can use."""

    schema: Schema
    query: exp.Expr
    outer: "Scope | None" = None

    @cached_property
    def aliases(self) -> Mapping[str, str]:
        """Alias or name of each source in FROM -> its table, or the clauses of its subquery as text."""
        joins = [join.this for join in self.query.args.get("joins") or []]
        start = self.query.args.get("from_")
        found = {}
        for source in [start.this, *joins] if start else []:
            table = source.name.lower() if isinstance(source, exp.Table) else repr(clauses_of(source, self.schema))
            found[source.alias_or_name.lower() or table] = table
        return found

    @property
    def sources(self) -> Iterable[str]:
        """What FROM reads, a table joined with itself twice."""
        return self.aliases.values()

    @cached_property
    def named(self) -> Mapping[str, exp.Expr]:
        """Aliases given in SELECT -> what they stand for."""
        return {item.alias.lower(): item.this for item in self.query.expressions if isinstance(item, exp.Alias)}

    def text(self, expression: exp.Expr) -> str:
        """Return the expression as text that compares: resolved columns, no values, no DISTINCT, no alias."""
        return str(expression.unalias().transform(self._plain).sql(dialect=_Spelling)).lower()

    def _plain(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Query):
            return exp.Var(this=repr(clauses_of(node, self.schema, self)))
        if isinstance(node, exp.Column):
            return self._column(node)
        if isinstance(node, exp.Literal | exp.Boolean) or (isinstance(node, exp.Neg) and node.this.is_number):
            return exp.Var(this="value")
        if isinstance(node, exp.Distinct) and len(node.expressions) == 1:
            return exp.Var(this=self.text(node.expressions[0]))
        if isinstance(node, exp.EQ | exp.NEQ):  # the two sides may change places
            return type(node)(this=_var(min(sides := self._sides(node))), expression=_var(max(sides)))
        return node

    def _sides(self, node: exp.Binary) -> tuple[str, str]:
        return self.text(node.this), self.text(node.expression)

    def _column(self, node: exp.Column) -> exp.Expr:
        name = node.name.lower()
        if not node.table and name in self.named and not self.home(name):
            return exp.Var(this=self.text(self.named[name]))
        table = self.table(node.table.lower()) if node.table else self.home(name)
        if not table:
            return exp.Var(this=name)
        return exp.Var(this=".".join(self.schema.same_as.get((table, name), (table, name))))

    def table(self, alias: str) -> str:
        return self.aliases.get(alias) or (self.outer.table(alias) if self.outer else alias)

    def home(self, column: str) -> str:
        """Return the first table in FROM that has the column, looking outwards; empty if none has."""
        for table in self.aliases.values():
            if table in self.schema.by_name and column in self.schema.by_name[table].columns:
                return table
        return self.outer.home(column) if self.outer else ""


def _var(text: str) -> exp.Var:
    return exp.Var(this=text)


def _bag(texts: Iterable[str]) -> Bag:
    return tuple(sorted(Counter(texts).items()))


def _items(query: exp.Expr, clause: str) -> list[exp.Expr]:
    return list(query.args[clause].expressions) if query.args.get(clause) else []


def _order(query: exp.Expr, scope: Scope) -> tuple[str, ...]:
    return tuple(scope.text(item.this) + (" desc" if item.args.get("desc") else "") for item in _items(query, "order"))


def _limited(query: exp.Expr) -> bool:
    return query.args.get("limit") is not None


def _first_select(query: exp.Expr) -> exp.Expr:
    return _first_select(query.this) if isinstance(query, exp.SetOperation | exp.Subquery) else query


def _conditions(clause: exp.Expr | None, scope: Scope) -> list[str]:
    """Return the conditions of WHERE or HAVING and the words between them, AND and OR."""
    if clause is None:
        return []
    if isinstance(clause, exp.Where | exp.Having | exp.Paren):
        return _conditions(clause.this, scope)
    if isinstance(clause, exp.And | exp.Or):
        return [*_conditions(clause.left, scope), clause.key, *_conditions(clause.right, scope)]
    return [scope.text(clause)]
