"""Text-to-SQL judged two ways: clause by clause, and by running both queries on databases that tell them apart."""
# ruff: noqa: E501 - one pair of queries a line

import re
import sqlite3
from contextlib import closing

import pytest
import sql_world
from hypothesis import given, settings
from hypothesis import strategies as st

from cllm_core.tasks.sql.clauses import SqlError, exact_match, normalise
from cllm_core.tasks.sql.databases import connect, generate
from cllm_core.tasks.sql.execution import QueryError, execution_match, run_query
from cllm_core.tasks.sql.hints import gather
from cllm_core.tasks.sql.schema import from_tables_json

SCHEMA = sql_world.schema()
JOINED = "FROM singer AS T1 JOIN concert AS T2 ON T1.Singer_ID = T2.Singer_ID"

YOUNG = "SELECT Name FROM singer WHERE Singer_ID IN (SELECT Singer_ID FROM concert WHERE {})"
SAME = [  # gold, a query of the same meaning and the same clauses
    ("SELECT Name FROM singer", 'select  "name"\nfrom SINGER ;'),
    ("SELECT Name, Age FROM singer", "SELECT Age, Name FROM singer"),
    ("SELECT Name FROM singer WHERE Age > 20 AND Country = 'France'", "SELECT name FROM singer WHERE country = 'France' AND age > 20"),
    (f"SELECT T1.Name {JOINED} WHERE T2.Year = 2014", "SELECT a.name FROM concert AS b JOIN singer AS a ON a.singer_id = b.singer_id WHERE b.year = 2014"),
    (f"SELECT T1.Singer_ID {JOINED}", f"SELECT T2.Singer_ID {JOINED}"),
    ('SELECT Name FROM singer WHERE Country = "France"', "SELECT Name FROM singer WHERE Country = 'France'"),
    ("SELECT Name FROM singer ORDER BY Age ASC", "SELECT Name FROM singer ORDER BY Age"),
    (YOUNG.format("Year > 2014 AND Hall = 'A' AND Fee < 9"), YOUNG.format("Fee < 9 AND Year > 2014 AND Hall = 'A'")),
    ("SELECT Country FROM singer GROUP BY Country HAVING COUNT(*) > 2", "SELECT singer.Country FROM singer GROUP BY singer.Country HAVING count(*) > 2"),
]  # fmt: skip

VALUES_ONLY = [  # gold, and what differs in a value or in DISTINCT
    ("SELECT Name FROM singer WHERE Name LIKE '%ann%'", "SELECT Name FROM singer WHERE Name LIKE 'ann%'"),
    ("SELECT Name FROM singer WHERE Age = 20", "SELECT Name FROM singer WHERE Age = 21"),
    ("SELECT Name FROM singer WHERE Country = 'France'", "SELECT Name FROM singer WHERE Country = 'Spain'"),
    ("SELECT Name FROM singer ORDER BY Age LIMIT 1", "SELECT Name FROM singer ORDER BY Age LIMIT 2"),
    ("SELECT DISTINCT Country FROM singer", "SELECT Country FROM singer"),
    ("SELECT COUNT(DISTINCT Country) FROM singer", "SELECT COUNT(Country) FROM singer"),
]

NEAR_MISSES = [
    *VALUES_ONLY,
    # gold, and what a careless model might write instead
    ("SELECT Name FROM singer WHERE Age > 20", "SELECT Name FROM singer WHERE Age >= 20"),
    ("SELECT Name FROM singer WHERE Age < 20", "SELECT Name FROM singer WHERE Age <= 20"),
    ("SELECT Name FROM singer WHERE Age BETWEEN 20 AND 30", "SELECT Name FROM singer WHERE Age > 20 AND Age < 30"),
    ("SELECT Name FROM singer WHERE Country = 'France'", "SELECT Name FROM singer WHERE Country <> 'France'"),
    ("SELECT Name FROM singer WHERE Country = 'France'", "SELECT Name FROM singer"),
    ("SELECT Name FROM singer WHERE Age > 20 AND Country = 'France'", "SELECT Name FROM singer WHERE Age > 20 OR Country = 'France'"),
    ("SELECT Name FROM singer WHERE Age > 20 AND Country = 'France'", "SELECT Name FROM singer WHERE Country = 'France'"),
    ("SELECT Name FROM singer WHERE Name LIKE '%ann%'", "SELECT Name FROM singer WHERE Name = 'ann'"),
    ("SELECT Name FROM singer ORDER BY Age ASC", "SELECT Name FROM singer ORDER BY Age DESC"),
    ("SELECT Name FROM singer ORDER BY Age", "SELECT Name FROM singer"),
    ("SELECT Name FROM singer ORDER BY Age DESC LIMIT 1", "SELECT Name FROM singer ORDER BY Age LIMIT 1"),
    ("SELECT Name FROM singer", "SELECT Country FROM singer"),
    ("SELECT Name, Age FROM singer", "SELECT Name FROM singer"),
    ("SELECT MAX(Age) FROM singer", "SELECT MIN(Age) FROM singer"),
    ("SELECT AVG(Age) FROM singer", "SELECT SUM(Age) FROM singer"),
    ("SELECT COUNT(*) FROM singer", "SELECT COUNT(*) FROM concert"),
    (f"SELECT T1.Name {JOINED}", "SELECT Name FROM singer"),
    ("SELECT Name FROM singer WHERE Singer_ID NOT IN (SELECT Singer_ID FROM concert)", "SELECT Name FROM singer WHERE Singer_ID IN (SELECT Singer_ID FROM concert)"),
    ("SELECT Name FROM singer WHERE Singer_ID NOT IN (SELECT Singer_ID FROM concert)", "SELECT Name FROM singer"),
    ("SELECT Country FROM singer GROUP BY Country HAVING COUNT(*) > 2", "SELECT Country FROM singer GROUP BY Country HAVING COUNT(*) >= 2"),
    ("SELECT Country FROM singer GROUP BY Country HAVING COUNT(*) > 12", "SELECT Country FROM singer GROUP BY Country"),
    (f"SELECT T1.Name, COUNT(*) {JOINED} GROUP BY T1.Singer_ID", "SELECT Name, COUNT(*) FROM singer GROUP BY Singer_ID"),
    (f"SELECT T1.Name {JOINED} WHERE T2.Year = 2014 INTERSECT SELECT T1.Name {JOINED} WHERE T2.Year = 2015", f"SELECT T1.Name {JOINED} WHERE T2.Year = 2014 OR T2.Year = 2015"),
    (f"SELECT Name FROM singer EXCEPT SELECT T1.Name {JOINED} WHERE T2.Year = 2014", f"SELECT T1.Name {JOINED} WHERE T2.Year <> 2014"),
    ("SELECT Name FROM singer WHERE Age > (SELECT AVG(Age) FROM singer)", "SELECT Name FROM singer WHERE Age < (SELECT AVG(Age) FROM singer)"),
]  # fmt: skip


@pytest.mark.parametrize(("gold", "other"), SAME)
def test_other_spellings_match_both_ways(gold: str, other: str):
    assert exact_match(gold, other, SCHEMA)
    assert execution_match(gold, other, SCHEMA)


@pytest.mark.parametrize(("gold", "miss"), NEAR_MISSES)
def test_generated_rows_tell_near_misses_apart(gold: str, miss: str):
    assert not execution_match(gold, miss, SCHEMA)
    assert execution_match(gold, gold, SCHEMA)
    assert execution_match(miss, miss, SCHEMA)


@pytest.mark.parametrize(
    ("gold", "other"),
    [
        ("SELECT Name FROM singer ORDER BY Age DESC LIMIT 1", "SELECT Name FROM singer WHERE Age = (SELECT MAX(Age) FROM singer)"),
        ("SELECT Name FROM singer WHERE Singer_ID IN (SELECT Singer_ID FROM concert)", f"SELECT T1.Name {JOINED} GROUP BY T1.Singer_ID"),
        ("SELECT Name FROM singer WHERE Age BETWEEN 20 AND 30", "SELECT Name FROM singer WHERE Age >= 20 AND Age <= 30"),
        ("SELECT COUNT(*) FROM singer", "SELECT COUNT(Name) FROM singer"),
    ],
)  # fmt: skip
def test_same_meaning_in_other_clauses_matches_by_execution_only(gold: str, other: str):
    assert execution_match(gold, other, SCHEMA)
    assert not exact_match(gold, other, SCHEMA)


@pytest.mark.parametrize(("gold", "other"), VALUES_ONLY)
def test_exact_match_leaves_values_and_distinct_to_execution(gold: str, other: str):
    assert exact_match(gold, other, SCHEMA)


@pytest.mark.parametrize(("gold", "other"), [pair for pair in NEAR_MISSES if pair not in VALUES_ONLY])
def test_exact_match_sees_other_clauses(gold: str, other: str):
    assert not exact_match(gold, other, SCHEMA)


def test_two_references_to_one_key_are_two_columns():
    """A flight's start and its end both refer to an airport: taking one for the other must not match."""
    entry = sql_world.entry()
    at = {tuple(column): number for number, column in enumerate(map(tuple, entry["column_names_original"]))}
    entry["foreign_keys"].append([at[1, "Year"], at[0, "Singer_ID"]])
    schema = from_tables_json(entry)
    assert not exact_match("SELECT Singer_ID FROM concert", "SELECT Year FROM concert", schema)


@pytest.mark.parametrize(
    ("sql", "regular"),
    [
        ("select count ( * )  from  singer ;", "SELECT COUNT(*) FROM singer"),
        ('SELECT Name FROM Singer WHERE Country != "The USA"', "SELECT name FROM singer WHERE country <> 'The USA'"),
        ("SELECT T1.Name FROM singer T1", "SELECT t1.name FROM singer AS t1"),
        ("SELECT a FROM singer WHERE a IS NOT NULL AND b NOT IN (1)", "SELECT a FROM singer WHERE a IS NOT NULL AND b NOT IN (1)"),
        ("SELECT a FROM singer WHERE a NOT LIKE 'x' AND a NOT BETWEEN 1 AND 2", "SELECT a FROM singer WHERE a NOT LIKE 'x' AND a NOT BETWEEN 1 AND 2"),
        ("SELECT a FROM singer JOIN concert", "SELECT a FROM singer JOIN concert"),
        ('SELECT "First Name" FROM "odd table"', 'SELECT "first name" FROM "odd table"'),
        ("SELECT 'it''s' FROM singer -- why", "SELECT 'it''s' FROM singer"),
    ],
)  # fmt: skip
def test_normalised_queries_have_one_spelling(sql: str, regular: str):
    assert normalise(sql, SCHEMA) == regular
    assert normalise(regular, SCHEMA) == regular


@pytest.mark.parametrize("text", ["", "hello there", "SELECT", "SELECT 1; SELECT 2", "DROP TABLE singer", "(" * 500])
def test_what_is_no_query_matches_nothing(text: str):
    with pytest.raises(SqlError):
        normalise(text, SCHEMA)
    assert not exact_match("SELECT Name FROM singer", text, SCHEMA)
    assert not execution_match("SELECT Name FROM singer", text, SCHEMA)


@pytest.fixture
def database():
    with closing(connect(SCHEMA, generate(SCHEMA, gather((), SCHEMA), 0))) as connection:
        yield connection


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM singer",
        "UPDATE singer SET Age = 1",
        "INSERT INTO singer VALUES (1, 2, 3, 4)",
        "DROP TABLE singer",
        "CREATE TABLE t (a)",
        "PRAGMA table_info(singer)",
        "ATTACH DATABASE ':memory:' AS other",
        "VACUUM INTO 'copy.db'",
        "SELECT load_extension('x')",
        "SELECT 1; DELETE FROM singer",
        "SELECT unknown FROM singer",
        "SELECT '\ud800'",
        "SELECT '\0'",
        "",
    ],
)
def test_only_reading_is_allowed(database: sqlite3.Connection, sql: str):
    before = run_query(database, "SELECT * FROM singer")
    try:
        run_query(database, sql)
        assert sql == ""
    except QueryError:
        pass
    assert run_query(database, "SELECT * FROM singer") == before


@pytest.mark.parametrize(
    "sql",
    [
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT COUNT(*) FROM c",
        "SELECT COUNT(*) FROM singer a, singer b, singer c, singer d, singer e, singer f, singer g, singer h",
        "SELECT zeroblob(1000000000)",
        "SELECT zeroblob(9000) FROM singer",
        "SELECT sum(length(hex(randomblob(4000)))) FROM singer a, singer b",
        "SELECT printf('%9000d', 1) FROM singer a, singer b, singer c",
        "SELECT a.Name FROM singer a, singer b, singer c, singer d",
    ],
)
def test_endless_and_huge_queries_are_stopped(database: sqlite3.Connection, sql: str):
    with pytest.raises(QueryError):
        run_query(database, sql)


def test_generated_rows_are_seeded_and_their_foreign_keys_hold():
    hints = gather((f"SELECT T1.Name {JOINED} WHERE T2.Year = 2014",), SCHEMA)
    first = generate(SCHEMA, hints, 1)
    assert first == generate(SCHEMA, hints, 1)
    assert first != generate(SCHEMA, hints, 2)
    parents = {row[0] for row in first["singer"]}
    assert len(parents) == len(first["singer"])
    assert {row[3] for row in first["concert"]} < parents  # and some parents have no child
    assert 2014 in {row[2] for row in first["concert"]}
    assert "sqlite_sequence" not in first


def test_ties_leave_the_order_open():
    """Rows that ORDER BY cannot tell apart may come in any order; others may not."""
    gold = f"SELECT T1.Name, T2.Title {JOINED} ORDER BY T1.Name"
    swapped = (
        "SELECT T1.Name, T2.Title FROM concert AS T2 JOIN singer AS T1 ON T1.Singer_ID = T2.Singer_ID ORDER BY T1.Name"
    )
    assert execution_match(gold, swapped, SCHEMA)
    assert not execution_match(gold, gold + " DESC", SCHEMA)


def test_gold_that_cannot_run_is_an_error():
    with pytest.raises(QueryError, match="no such column"):
        execution_match("SELECT unknown FROM singer", "SELECT Name FROM singer", SCHEMA)


PIECES = re.findall(
    r"\S+",
    """SELECT FROM WHERE GROUP BY ORDER HAVING LIMIT DISTINCT JOIN ON AS AND OR NOT IN LIKE BETWEEN UNION INTERSECT EXCEPT
    WITH VALUES CASE WHEN THEN END NULL EXISTS singer concert Name Age T1 T2 T1.Name count max ( ) , * = < >= - 1 9e999
    99999999999999999999 'x' "y" ;""",
)
STARTS = ["", "SELECT Name FROM singer ", "SELECT COUNT(*) FROM singer WHERE ", "SELECT Name FROM singer WHERE Age > "]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(STARTS), st.lists(st.sampled_from(PIECES), max_size=12))
def test_nothing_that_a_model_writes_breaks_the_checks(start: str, pieces: list[str]):
    predicted = start + " ".join(pieces)
    gold = "SELECT Name FROM singer WHERE Age > 20"
    assert exact_match(gold, predicted, SCHEMA) in (True, False)
    assert execution_match(gold, predicted, SCHEMA) in (True, False)


@pytest.mark.parametrize(
    "predicted",
    [
        "SELECT Name FROM singer WHERE Age > 99999999999999999999",
        "SELECT Name FROM singer WHERE Age > 9e999",
        "SELECT Name FROM (VALUES (1), (2))",
        "WITH a AS (SELECT Name FROM singer) SELECT * FROM a",
        "SELECT Name FROM singer WHERE Name = '\ud800'",
        "SELECT Name FROM json_each('[1]')",
        "SELECT Name FROM singer WHERE (Name, Age) IN (SELECT Name, Age FROM singer)",
        "SELECT CASE WHEN Age > 3 THEN 1 END FROM singer",
        "SELECT Name FROM singer ORDER BY 9",
    ],
)
def test_odd_queries_are_wrong_and_nothing_worse(predicted: str):
    assert not exact_match("SELECT Name FROM singer", predicted, SCHEMA)
    assert not execution_match("SELECT Name FROM singer WHERE Age > 20", predicted, SCHEMA)
