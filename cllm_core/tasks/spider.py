"""Spider (Yu et al. 2018): a question and a database schema in, one SQL query out."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cllm_core.errors import TaskError
from cllm_core.tasks.base import Example, check_split, cut_at, find_file, hub_rows, read_rows, sample
from cllm_core.tasks.sql.clauses import SqlError, exact_match, normalise, parse, tables_of
from cllm_core.tasks.sql.execution import QueryError, execution_match
from cllm_core.tasks.sql.schema import Schema, load_schemas, schemas_from_hub

SCHEMAS = ("needed", "full")
HUB_SPLITS = {"train": "train", "dev": "validation"}


class Spider:
    """Text-to-SQL. Databases of the dev split never occur in train.

    `schema` says which tables the prompt shows. "needed" shows the ones that the gold query reads: short enough for a
    CPU, and easier than the benchmark, because finding the tables is done for the model. "full" shows them all, wide
    tables cut at the end so that the schema stays within `max_schema_chars` characters where it can.
    """

    name = "spider"
    title = "Text to SQL (Spider)"
    licence = "CC BY-SA 4.0"
    source = "Spider 1.0, Yale LILY group; hub: xlangai/spider, schemas richardr1126/spider-schema"
    splits: tuple[str, ...] = ("train", "dev")
    stop_strings: tuple[str, ...] = ("\n", ";")
    max_new_tokens = 128

    def __init__(self, schema: str = "needed", max_schema_chars: int = 1200) -> None:
        if schema not in SCHEMAS:
            raise TaskError(f"schema must be {' or '.join(SCHEMAS)}, not {schema!r}.")
        self.schema = schema
        shown = {"needed": "The prompt shows only the tables that the gold query reads, which makes the task easier."}
        self.notes: tuple[str, ...] = (
            "Queries are run on databases generated from the schemas, not on Spider's own rows; a few wrong ones pass, "
            "such as COUNT(*) >= 50 for COUNT(*) > 50 where no group has exactly 50.",
            shown.get(schema, "The prompt shows all tables; wide ones are cut."),
        )
        self.max_schema_chars = max_schema_chars

    def load(self, split: str, *, data: Path | None = None, limit: int | None = None, seed: int = 0) -> list[Example]:
        check_split(self, split)
        if data is None:
            rows = hub_rows(self.name, "xlangai/spider", HUB_SPLITS[split])
            schemas = schemas_from_hub(hub_rows(self.name, "richardr1126/spider-schema", "train"))
        else:
            rows = read_rows(find_file(self.name, data, f"{split}.jsonl"), ("db_id", "question", "query"))
            schemas = load_schemas(find_file(self.name, data, "tables.json"))
        return [
            self._example(number, split, row, schemas) for number, row in sample(list(enumerate(rows)), limit, seed)
        ]

    def _example(self, number: int, split: str, row: Mapping[str, Any], schemas: Mapping[str, Schema]) -> Example:
        schema = schemas.get(row["db_id"])
        if schema is None:
            raise TaskError(f"Row {number + 1} of Spider's {split} names a database {row['db_id']!r} without a schema.")
        try:
            answer = normalise(row["query"], schema)
        except SqlError as error:
            raise TaskError(f"Row {number + 1} of Spider's {split} is not one SQL query: {error}") from error
        only = tables_of(parse(answer)) if self.schema == "needed" else None
        prompt = f"{schema.describe(only, self.max_schema_chars)}\nQuestion: {row['question'].strip()}\nSQL:\n"
        return Example(f"{split}-{number}", prompt, answer=answer, meta={"schema": schema, "query": row["query"]})

    def extract(self, text: str) -> str:
        """Return the query of an answer: its first line, up to a semicolon, without a code fence."""
        return cut_at(text.strip().removeprefix("```sql").removeprefix("```").strip(), self.stop_strings).strip()

    def check(self, example: Example, text: str) -> dict[str, float]:
        """Return exact_match (clause by clause) and execution_match (on databases generated for this question).

        Where the gold query itself cannot run (2 rows of train), the clauses decide both.
        """
        assert example.answer is not None
        schema, predicted = example.meta["schema"], self.extract(text)
        exact = exact_match(example.answer, predicted, schema)
        try:
            runs_alike = execution_match(example.answer, predicted, schema)
        except QueryError:
            runs_alike = exact
        return {"exact_match": float(exact), "execution_match": float(runs_alike)}
