"""A small database schema in the form of Spider's tables.json, for the text-to-SQL tests."""

from cllm_core.tasks.sql.schema import Schema, from_tables_json

TABLES = {
    "singer": ["Singer_ID:number", "Name:text", "Country:text", "Age:number"],
    "concert": ["Concert_ID:number", "Title:text", "Year:number", "Singer_ID:number", "Hall:text", "Fee:number"],
    "award": ["Award_ID:number", "Prize:text", "Singer_ID:number"],
    "odd table": ["First Name:text", "When:time"],
    "sqlite_sequence": ["name:text"],
}


def entry(name: str = "music") -> dict:
    columns = [(at, *column.split(":")) for at, table in enumerate(TABLES.values()) for column in table]
    names = ["*", *(column for _, column, _ in columns)]
    at = {(table, column): number for number, (table, column, _) in enumerate(columns, 1)}
    return {
        "db_id": name,
        "table_names_original": list(TABLES),
        "column_names_original": [[-1, "*"], *([table, column] for table, column, _ in columns)],
        "column_types": ["text", *(kind for _, _, kind in columns)],
        "primary_keys": [at[0, "Singer_ID"], at[1, "Concert_ID"], [at[2, "Award_ID"]]],
        "foreign_keys": [[at[1, "Singer_ID"], at[0, "Singer_ID"]], [at[2, "Singer_ID"], at[0, "Singer_ID"]]],
        "table_names": list(TABLES),
        "column_names": names,
    }


def schema() -> Schema:
    return from_tables_json(entry())
