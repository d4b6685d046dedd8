"""Prompt files: one bad row costs only itself, and every row arrives as it was written."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cllm_core.errors import FormatError, TaskError
from cllm_core.tasks import TASKS, get_task
from cllm_core.tasks.prompts import MAX_CHARS, read_prompts

SEPARATORS = "one\u2028two\u0085three\x0bfour"
LONG = "x" * 200_000
MESSY = [
    '{"prompt": "good"}',
    "",
    '{"prompt": ',
    "[]",
    "5",
    '{"prompt":null}',
    '{"prompt":""}',
    '{"promt":"x"}',
    json.dumps({"prompt": SEPARATORS}, ensure_ascii=False),
    json.dumps({"prompt": "مرحبا 🤗"}, ensure_ascii=False),
    json.dumps({"prompt": LONG}),
    '{"prompt": "last, no newline"}',
]
MESSY_BYTES = b"\xef\xbb\xbf" + "\r\n".join(MESSY).encode()


def prompts_of(data: bytes, name: str = "file.jsonl", **options) -> list[str]:
    return [example.prompt for example in read_prompts(data, name=name, **options).examples]


def problems_of(data: bytes, name: str = "file.jsonl") -> dict[int, str]:
    return {problem.line: problem.reason for problem in read_prompts(data, name=name).problems}


def test_a_json_array_holds_a_row_an_entry():
    rows = [{"prompt": "a"}, {"promt": "b"}, {"prompt": "c"}]
    for text in (json.dumps(rows), json.dumps(rows, indent=1), "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]"):
        assert prompts_of(text.encode(), "file.json") == ["a", "c"]
        assert list(problems_of(text.encode(), "file.json")) == [2]
    assert prompts_of(json.dumps(rows[0], indent=2).encode(), "file.json") == ["a"]


def test_plain_text_may_begin_with_a_brace():
    assert prompts_of(b"{x} is a set. What is it?\nSecond prompt", "file.txt") == [
        "{x} is a set. What is it?",
        "Second prompt",
    ]
    assert prompts_of(b'\n{"prompt": "a"}\n', "file.txt") == ["a"]


def test_numbers_are_taken_as_text_and_null_as_absent():
    rows = [
        {"prompt": "2+2", "answer": 4, "id": 1.5},
        {"prompt": "a", "id": None, "answer": None},
        {"prompt": None, "messages": [{"role": "user", "content": "m"}]},
        {"prompt": "b", "id": ["x"]},
        {"prompt": "c", "answer": True},
    ]
    data = "\n".join(map(json.dumps, rows)).encode()
    found = read_prompts(data, name="file.jsonl")
    assert [(each.id, each.prompt, each.answer) for each in found.examples] == [
        ("1.5", "2+2", "4"), ("2", "a", None), ("3", "m", None),
    ]  # fmt: skip
    assert problems_of(data) == {4: "its id is a list, not text", 5: "its answer is true or false, not text"}


def test_a_task_of_prompts_tells_of_the_rows_it_left_out(tmp_path: Path):
    (tmp_path / "p.jsonl").write_text('{"prompt": "a"}\n{"promt": "b"}\n')
    task = get_task("prompts")
    assert len(task.load("test", data=tmp_path / "p.jsonl")) == 1
    assert task.notes == ("1 of 2 rows used; line 2: it has no \"prompt\" (it has 'promt').",)
    assert get_task("prompts").notes == ()


def test_good_rows_of_a_messy_file_are_used_as_they_are():
    assert prompts_of(MESSY_BYTES) == ["good", SEPARATORS, "مرحبا 🤗", "last, no newline"]


def test_bad_rows_are_reported_by_physical_line_and_reason():
    found = problems_of(MESSY_BYTES)
    assert list(found) == [3, 4, 5, 6, 7, 8, 11]
    assert "not JSON" in found[3]
    assert "(column" in found[3]  # the line is the file's, not the row's
    assert "not an object" in found[4]
    assert "not an object" in found[5]
    assert found[6] == "its prompt is null, not text"
    assert found[7] == "its prompt is empty"
    assert found[8] == "it has no \"prompt\" (it has 'promt')"
    assert "200,000 characters" in found[11]


def test_totals_leave_blank_lines_out():
    file = read_prompts(MESSY_BYTES, name="file.jsonl")
    assert (len(file.examples), len(file.problems), file.total) == (4, 7, 11)
    assert file.summary(1) == f"4 of 11 rows used; {file.problems[0]}; and 6 more."


def test_length_policy_leaves_out_and_never_cuts():
    row = json.dumps({"prompt": LONG}).encode()
    assert prompts_of(row, max_chars=200_000) == [LONG]
    with pytest.raises(FormatError, match=rf"limit of {MAX_CHARS:,}"):
        read_prompts(row, name="file.jsonl")
    conversation = json.dumps({"messages": [{"role": "user", "content": "x" * 30}] * 3}).encode()
    with pytest.raises(FormatError, match="90 characters"):
        read_prompts(conversation, name="file.jsonl", max_chars=80)


def test_file_is_utf8_whatever_the_locale(tmp_path: Path):
    path = tmp_path / "prompts.jsonl"
    path.write_bytes(MESSY_BYTES)
    code = (
        "import sys; from cllm_core.tasks.prompts import read_prompts;"
        "print(ascii([e.prompt for e in read_prompts(sys.argv[1]).examples]))"
    )
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    run = subprocess.run(
        [sys.executable, "-c", code, str(path)], env=environment, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == ascii(["good", SEPARATORS, "مرحبا 🤗", "last, no newline"])


@pytest.mark.parametrize("data", [b"", b"\n\r\n \n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\r\n"])
@pytest.mark.parametrize("name", ["p.jsonl", "p.csv", "p.txt", ""])
def test_empty_file_is_a_clear_error(data: bytes, name: str):
    with pytest.raises(FormatError, match=r"is empty: write one prompt a line"):
        read_prompts(data, name=name)


def test_file_without_a_usable_row_says_why():
    with pytest.raises(FormatError, match=r"no usable prompt: line 1: .*; line 2: .*; line 3: .*; and 1 more\."):
        read_prompts(b"5\n6\n7\n8\n", name="p.jsonl")


def test_missing_file_is_a_clear_error(tmp_path: Path):
    with pytest.raises(FormatError, match=r"Cannot read nothing\.jsonl: No such file"):
        read_prompts(tmp_path / "nothing.jsonl")
    with pytest.raises(FormatError, match="Cannot read"):
        read_prompts(tmp_path)


def test_utf16_is_refused_and_broken_utf8_costs_its_row_only():
    with pytest.raises(FormatError, match="UTF-16"):
        read_prompts("hello".encode("utf-16"), name="p.txt")
    data = b"good\n\xff\xfe broken\nalso good\n"
    assert prompts_of(data, "p.txt") == ["good", "also good"]
    assert problems_of(data, "p.txt") == {2: "it is not valid UTF-8 text"}


def test_half_a_surrogate_pair_and_nul_are_refused():
    data = b'{"prompt": "\\ud83e"}\n{"prompt": "\\ud83e\\udd17"}\n{"prompt": "a\\u0000b"}'
    assert prompts_of(data) == ["🤗"]
    assert list(problems_of(data)) == [1, 3]


def test_row_that_python_refuses_to_parse_costs_itself_only():
    """A number of over 4,300 digits raises a plain ValueError, and deep nesting a RecursionError."""
    data = b'{"prompt": "a"}\n{"n": ' + b"9" * 5000 + b"}\n" + b"[" * 100_000 + b'\n{"prompt": "b"}\n{"prompt": NaN}'
    assert prompts_of(data) == ["a", "b"]
    assert list(problems_of(data)) == [2, 3, 5]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_line_ending_counts_as_one_line(end: str):
    assert [e.meta["line"] for e in read_prompts(end.join("abc").encode(), name="p.txt").examples] == [1, 2, 3]


def test_plain_text_keeps_spaces_and_never_interpolates():
    lines = ["    indented", "${HOME} {0} %s $(id)", "trailing  ", SEPARATORS]
    assert prompts_of("\n".join(lines).encode(), "p.txt") == lines


def test_format_follows_the_name_and_then_the_first_line():
    data = b'{"prompt": "x"}'
    assert prompts_of(data, "P.JSONL") == prompts_of(data, "p.json") == prompts_of(data, "p.txt") == ["x"]
    assert prompts_of(b"say {x}", "p.txt") == ["say {x}"]


def test_csv_reads_quotes_newlines_and_columns_in_any_order():
    data = '\ufeffid,note,prompt\r\n7,n,"two\r\nlines, ""quoted"""\r\n8,n,=1+1\r\n\r\n9,n,\r\n10,n,NA\r\n'.encode()
    file = read_prompts(data, name="p.csv")
    assert [(e.id, e.prompt) for e in file.examples] == [("7", 'two\nlines, "quoted"'), ("8", "=1+1"), ("10", "NA")]
    assert [(p.line, p.reason) for p in file.problems] == [(6, "its prompt is empty")]


def test_csv_with_semicolons_or_tabs_is_read():
    assert prompts_of(b"id;prompt\n1;a,b", "p.csv") == ["a,b"]
    assert prompts_of(b"id\tprompt\n1\ta,b", "p.tsv") == ["a,b"]


def test_csv_quote_that_never_closes_costs_its_own_line():
    data = b'prompt\ngood\n"open\nstill good\n"a" b\n5" disk\nfine\n'
    assert prompts_of(data, "p.csv") == ["good", "still good", '5" disk', "fine"]
    assert list(problems_of(data, "p.csv")) == [3, 5]


def test_csv_row_of_the_wrong_width_is_reported():
    assert problems_of(b"id,prompt\n1,a,b\n2,c\n", "p.csv") == {2: "it has 3 fields, and the header has 2"}


def test_csv_without_a_prompt_column_is_a_clear_error():
    with pytest.raises(FormatError, match='line 1: the header has no column "prompt"'):
        read_prompts(b"question\nhello\n", name="p.csv")


def test_csv_row_beyond_the_library_limit_follows_the_length_policy():
    data = b"prompt\nok\n" + LONG.encode() + b"\nfine\n"
    assert prompts_of(data, "p.csv") == ["ok", "fine"]
    assert "200,000 characters" in problems_of(data, "p.csv")[3]


def test_ids_are_unique_and_given_ones_are_kept():
    rows = [{"id": "a"}, {"id": "a"}, {"id": "a-2"}, {"id": "a"}, {"id": 5}, {}, {"id": "6"}]
    data = "\n".join(json.dumps({"prompt": "x", **row}) for row in rows).encode()
    ids = [example.id for example in read_prompts(data, name="p.jsonl").examples]
    assert len(set(ids)) == len(ids)
    assert ids[0] == "a"
    assert ids[2] == "a-2"
    assert ids[4:6] == ["5", "6"]


@given(st.lists(st.sampled_from(["a", "a-2", "a-3", "a-2-2", "2"]), min_size=1, max_size=12))
def test_ids_are_always_unique(names: list[str]):
    data = "\n".join(json.dumps({"prompt": "x", "id": name}) for name in names).encode()
    ids = [example.id for example in read_prompts(data, name="p.jsonl").examples]
    assert len(set(ids)) == len(names)
    assert set(names) <= set(ids)


def test_conversation_is_kept_whole_and_can_stand_in_for_the_prompt():
    turns = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello"},
        {"role": "user", "content": "Why?"},
    ]
    (example,) = read_prompts(json.dumps({"messages": turns}).encode(), name="p.jsonl").examples
    assert example.prompt == "Why?"
    assert example.chat() == turns


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        (5, "not a list"),
        (["hi"], "not a list"),
        ([], "last message"),
        ([{"role": "user"}], "not a list"),
        ([{"role": "robot", "content": "x"}], "needs a role"),
        ([{"role": "user", "content": " "}], "needs a role"),
        ([{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}], "last message"),
    ],
)
def test_malformed_conversation_is_reported(messages, reason: str):
    with pytest.raises(FormatError, match=reason):
        read_prompts(json.dumps({"prompt": "p", "messages": messages}).encode(), name="p.jsonl")


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1), min_size=1))
def test_every_text_survives_jsonl(texts: list[str]):
    kept = [text for text in texts if text.strip()]
    data = "\n".join(json.dumps({"prompt": text}, ensure_ascii=False) for text in ["first", *texts]).encode()
    assert prompts_of(data) == ["first", *kept]


def test_prompts_task_needs_a_file_and_samples_it(tmp_path: Path):
    task = get_task("prompts")
    with pytest.raises(TaskError, match="--data FILE"):
        task.load("test")
    path = tmp_path / "p.txt"
    path.write_text("".join(f"prompt {n}\n" for n in range(20)), encoding="utf-8")
    few, more = task.load("test", data=path, limit=5, seed=3), task.load("test", data=path, limit=9, seed=3)
    assert more[:5] == few
    assert len(task.load("test", data=path)) == 20


def test_unknown_task_lists_the_known_ones():
    with pytest.raises(TaskError, match=", ".join(TASKS)):
        get_task("nonsense")
