"""The Spider task: loading, prompts and checks, on a small schema of the test's own."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import sql_world

from cllm_core.errors import TaskError
from cllm_core.tasks import get_task

SANG = 'SELECT Name FROM singer AS T1 JOIN concert AS T2 ON T1.Singer_ID = T2.Singer_ID WHERE Year = "2014" ;'
ROWS = [
    {"db_id": "music", "question": "How many singers are there? ", "query": "SELECT count(*) FROM singer"},
    {"db_id": "music", "question": "Who sang in 2014?", "query": SANG},
    {"db_id": "music", "question": "Name the prizes.", "query": "SELECT Prize FROM award"},
]
TASK = get_task("spider")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    home = tmp_path / "spider"
    home.mkdir()
    (home / "dev.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    (home / "tables.json").write_text(json.dumps([sql_world.entry()]), encoding="utf-8")
    return tmp_path


def test_prompt_shows_the_needed_tables_and_the_question(folder: Path):
    first, second, _ = TASK.load("dev", data=folder)
    assert first.prompt == "singer(singer_id, name, country, age)\nQuestion: How many singers are there?\nSQL:\n"
    assert second.prompt.startswith(
        "singer(singer_id, name, country, age)\nconcert(concert_id, title, year, singer_id, hall, fee)\nQuestion: "
    )
    assert second.answer.endswith("WHERE year = '2014'")


def test_full_schema_shows_every_table_within_its_bound(folder: Path):
    (example, *_) = get_task("spider", schema="full").load("dev", data=folder)
    assert '\n"odd table"("first name", when)\n' in example.prompt
    (short, *_) = get_task("spider", schema="full", max_schema_chars=120).load("dev", data=folder)
    assert short.prompt.count("...") >= 1
    assert all(name in short.prompt for name in ("singer(", "concert(", "award("))
    with pytest.raises(TaskError, match="needed or full"):
        get_task("spider", schema="some")


def test_folder_can_be_the_tasks_own_or_the_one_above(folder: Path):
    examples = TASK.load("dev", data=folder)
    assert TASK.load("dev", data=folder / "spider") == examples
    assert TASK.load("dev", data=folder / "spider" / "dev.jsonl") == examples


def test_gold_passes_and_another_answer_fails(folder: Path):
    for example in TASK.load("dev", data=folder):
        assert TASK.check(example, example.answer) == {"exact_match": 1.0, "execution_match": 1.0}
        assert TASK.check(example, "SELECT name FROM singer") == {"exact_match": 0.0, "execution_match": 0.0}
        assert TASK.check(example, "I do not know.") == {"exact_match": 0.0, "execution_match": 0.0}


def test_gold_that_cannot_run_is_judged_by_its_clauses(folder: Path):
    row = {"db_id": "music", "question": "?", "query": "SELECT Name FROM nowhere"}
    (folder / "spider" / "dev.jsonl").write_text(json.dumps(row), encoding="utf-8")
    (example,) = TASK.load("dev", data=folder)
    assert TASK.check(example, "select name from nowhere") == {"exact_match": 1.0, "execution_match": 1.0}
    assert TASK.check(example, "select name from singer") == {"exact_match": 0.0, "execution_match": 0.0}


@pytest.mark.parametrize(
    "text",
    [
        " SELECT COUNT(*) FROM singer",
        "SELECT COUNT(*) FROM singer;",
        "SELECT COUNT(*) FROM singer\n\nQuestion: What next?\nSQL:\nSELECT 1",
        "```sql\nSELECT COUNT(*) FROM singer\n```",
    ],
)
def test_rambling_after_the_query_is_not_judged(folder: Path, text: str):
    (example, *_) = TASK.load("dev", data=folder)
    assert TASK.check(example, text) == {"exact_match": 1.0, "execution_match": 1.0}


def test_sample_is_drawn_with_the_seed_and_grows_at_its_end(folder: Path):
    two, three = TASK.load("dev", data=folder, limit=2, seed=4), TASK.load("dev", data=folder, limit=3, seed=4)
    assert three[:2] == two
    assert {example.id for example in three} == {"dev-0", "dev-1", "dev-2"}
    assert len(TASK.load("dev", data=folder, limit=99)) == 3


def test_notes_say_that_the_tables_are_given():
    assert "only the tables that the gold query reads" in TASK.notes[1]
    assert "all tables" in get_task("spider", schema="full").notes[1]


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("tables.json", "{", r"tables\.json is not Spider's list of schemas"),
        ("tables.json", '[{"db_id": "music"}]', r"tables\.json is not Spider's list"),
        ("tables.json", "[]", r"Row 1 of Spider's dev names a database 'music' without a schema"),
        ("dev.jsonl", '{"db_id": "music", "question": "x"}', r"dev\.jsonl, line 1, lacks the text field 'query'"),
        ("dev.jsonl", '{"db_id": "music", "question": "x", "query": "SELEC"}', "Row 1 of Spider's dev is not one SQL"),
    ],
)
def test_malformed_data_is_one_clear_sentence(folder: Path, file: str, content: str, message: str):
    (folder / "spider" / file).write_text(content, encoding="utf-8")
    with pytest.raises(TaskError, match=message):
        TASK.load("dev", data=folder)


def test_missing_data_says_what_to_do(folder: Path):
    (folder / "spider" / "tables.json").unlink()
    with pytest.raises(TaskError, match=r"tables\.json is not in the folder .* point --data at"):
        TASK.load("dev", data=folder)
    with pytest.raises(TaskError, match=r"train\.jsonl is not in"):
        TASK.load("train", data=folder)
    with pytest.raises(TaskError, match="train or dev"):
        TASK.load("test", data=folder)


def test_schemas_of_the_hub_are_the_same(folder: Path, monkeypatch):
    """The hub has the schemas as text; keys and columns must come out as from tables.json."""
    text = {
        "db_id": "music",
        "Schema (values (type))": "singer : Singer_ID (number) , Name (text) , Country (text) , Age (number) | "
        "concert : Concert_ID (number) , Title (text) , Year (number) , Singer_ID (number) , Hall (text) , "
        "Fee (number) | "
        "award : Award_ID (number) , Prize (text) , Singer_ID (number) | odd table : First Name (text) , When (time)",
        "Primary Keys": "singer : Singer_ID | concert : Concert_ID | award : Award_ID",
        "Foreign Keys": "concert : Singer_ID equals singer : Singer_ID | award : Singer_ID equals singer : Singer_ID",
    }
    asked = []

    def load_dataset(repo: str, config: str | None, split: str):
        asked.append((repo, split))
        return ROWS if repo == "xlangai/spider" else [text]

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    assert TASK.load("dev") == TASK.load("dev", data=folder)
    assert asked == [("xlangai/spider", "validation"), ("richardr1126/spider-schema", "train")]
