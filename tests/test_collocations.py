"""Words of any script, collocations of a corpus, and whether they arrived together in a trajectory."""

import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import phrase_runs
import pytest
import worked_example
from hypothesis import given, settings
from hypothesis import strategies as st
from phrase_runs import APART, GROUP_BY, SELECT_FROM, SQL, TABLE, run_of

from cllm_core import io
from cllm_core.annotate import annotate, arrivals
from cllm_core.cli import main
from cllm_core.collocation_files import load_table, read_corpus, save_table, table_from_dict, table_to_dict
from cllm_core.collocations import Collocation, CollocationTable, Share, count, measure, occurrences, overall
from cllm_core.errors import FormatError, NewerFormat
from cllm_core.mining import MiningConfig, mine
from cllm_core.pairs import assets_folder
from cllm_core.types import ModelInfo
from cllm_core.words import joined, placed_sentences, sentences
from visualize import phrases
from visualize.view import player_props

few = settings(max_examples=50, deadline=None)


def shown(text: str) -> list[list[str]]:
    """The items of a text; what is no word in parentheses."""
    return [[word.text if word.key else f"({word.text})" for word in sentence] for sentence in sentences(text)]


# --- words


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("Don't be so well-known. It’s late!", [["Don't", "be", "so", "well-known"], ["It’s", "late"]]),
        ("SELECT count(*), a FROM t WHERE a >= 20;",
         [["SELECT", "count", "(()", "*", "())", "(,)", "a", "FROM", "t", "WHERE", "a", ">=", "(20)"]]),
        ("if x == y_1:\n    return -> z", [["if", "x", "==", "y_1", "(:)", "return", "->", "z"]]),
        ("東京都へ行く。カタカナ", [["東", "京", "都", "へ", "行", "く"], ["カタカナ"]]),
        ("สวัสดี", [["ส", "วั", "ส", "ดี"]]),
        ("पानी गिरता है", [["पानी", "गिरता", "है"]]),
        ("e\u0301te\u0301 naïve", [["e\u0301te\u0301", "naïve"]]),
        ("3.14 and 1,000", [["(3.14)", "and", "(1,000)"]]),
        ("one\ntwo\n\nthree", [["one", "two"], ["three"]]),
        ("", []),
    ],
)  # fmt: skip
def test_words_are_found_in_prose_code_and_text_without_spaces(text: str, items: list[list[str]]) -> None:
    assert shown(text) == items


@few
@given(st.text())
def test_every_item_is_the_slice_of_the_text_that_it_names(text: str) -> None:
    items = [word for sentence in sentences(text) for word in sentence]
    assert all(text[word.start : word.end] == word.text for word in items)
    assert all(first.end <= second.start for first, second in pairwise(items))


def test_words_join_with_a_space_only_where_their_script_has_one() -> None:
    assert joined(["GROUP", "BY"]) == "GROUP BY"
    assert joined(["東", "京", "Tower"]) == "東京 Tower"


def test_words_are_placed_on_the_tokens_that_hold_a_part_of_them() -> None:
    emoji, word = "🤗".encode(), "déjà".encode()
    pieces = [b"GRO", b"UP", b" BY ", emoji[:2], emoji[2:], b" " + word[:2], word[2:], b"\xff", b" x y"]
    placed = placed_sentences(run_of(pieces, [1] * len(pieces)))
    assert [(each.word.text, list(each.positions)) for each in placed[0] if each.word.key] == [
        ("GROUP", [0, 1]), ("BY", [2]), ("déjà", [5, 6]), ("x", [8]), ("y", [8]),
    ]  # fmt: skip


def test_a_control_token_is_no_text_and_ends_a_sentence() -> None:
    placed = placed_sentences(run_of([b"GROUP", b"<|sep|>", b" BY"], [1, 1, 1], frozenset({1})))
    assert [[each.word.text for each in sentence] for sentence in placed] == [["GROUP"], ["BY"]]


# --- arrivals


def test_arrivals_are_the_passes_from_which_on_a_position_stays_right() -> None:
    """F is right in pass 1, lost in pass 2 and back in pass 3."""
    assert arrivals(worked_example.trajectory()) == (1, 2, 1, 3, 2, 3)


@few
@given(st.lists(st.integers(1, 6), min_size=1, max_size=8))
def test_a_position_has_arrived_when_it_is_right_from_there_on(passes: list[int]) -> None:
    run = run_of([b"x"] * len(passes), passes)
    arrived = arrivals(run)
    for t, (step, classes) in enumerate(zip(run.steps, annotate(run).hindsight), 1):
        for position, name in enumerate(classes, step.start):
            assert (name in ("wrong", "transient")) == (t < arrived[position])


# --- occurrences


def test_a_collocation_arrived_together_when_its_tokens_became_right_in_one_pass() -> None:
    run = run_of(SQL, [1, 2, 1, 3, 4, 4, 5])
    found = [(each.text, each.positions, each.arrived, each.together) for each in occurrences(run, TABLE)]
    assert found == [("SELECT … FROM", (0, 2), (1, 1), 1), ("GROUP BY", (4, 5), (4, 4), 4)]
    apart = [each.together for each in occurrences(run_of(SQL, APART), TABLE)]
    assert apart == [None, None]


def test_one_token_at_a_time_nothing_arrives_together() -> None:
    run = run_of(SQL, list(range(1, 8)))
    shares = count(occurrences(run, TABLE))
    assert shares == {GROUP_BY.runs: Share(0, 1), SELECT_FROM.runs: Share(0, 1)}
    assert overall(shares) == Share(0, 2)


def test_a_collocation_in_one_token_is_left_out() -> None:
    assert occurrences(run_of([b"x", b" GROUP BY"], [1, 1]), TABLE) == []


@pytest.mark.parametrize(("between", "found"), [(0, 0), (1, 1), (3, 1), (4, 0)])
def test_a_gap_holds_one_to_max_gap_words(between: int, found: int) -> None:
    pieces = [b"SELECT", *[b" a"] * between, b" FROM"]
    assert len(occurrences(run_of(pieces, [1] * len(pieces)), TABLE)) == found


@pytest.mark.parametrize(("between", "found"), [(1, 1), (16, 1), (17, 0)])
def test_marks_take_no_room_in_a_gap_up_to_a_limit(between: int, found: int) -> None:
    """The quotes and colons of JSON filled every gap, so that hardly a collocation was found there."""
    pieces = [b"SELECT", *[b"("] * between, b" FROM"]
    assert len(occurrences(run_of(pieces, [1] * len(pieces)), TABLE)) == found


def test_the_keys_of_json_are_found_around_values_of_any_kind() -> None:
    names, cities = ("Ann Lee", "Bo", "Cy von Ey", "Di"), ("Rome", "Kyiv", "Lima", "New York", "Bern")
    people = [(name, age, city) for age, name in enumerate(names, 30) for city in cities]
    outputs = [f'{{"name": "{name}", "age": {age}, "city": "{city}"}}' for name, age, city in people]
    table = mine(outputs, MiningConfig(min_pmi=0.0))
    assert (("age",), ("city",)) in {each.runs for each in table.collocations}
    found = occurrences(run_of([b'{"age', b'": ', b"41", b', "city', b'": "Oslo"}'], [1, 2, 3, 1, 2]), table)
    assert [(each.text, each.together) for each in found if each.collocation.runs == (("age",), ("city",))] == [
        ("age … city", 1)
    ]


def test_shares_add_up_over_runs_lane_by_lane() -> None:
    together, apart = run_of(SQL, [1] * 7), run_of(SQL, APART)
    lanes = measure([{"base_jacobi": apart, "cllm_jacobi": together}, {"base_jacobi": apart}], TABLE)
    assert lanes["base_jacobi"][GROUP_BY.runs] == Share(0, 2)
    assert lanes["cllm_jacobi"][GROUP_BY.runs] == Share(1, 1)
    assert (Share(0, 2).ratio, Share(1, 1).ratio, Share().ratio) == (0.0, 1.0, None)


# --- the player's payload


def test_the_payload_tells_where_a_lanes_collocations_are_and_when_they_arrived() -> None:
    props = player_props(phrase_runs.lanes(), table=TABLE)
    base, cllm = props["lanes"]
    assert base["collocations"] == [
        {"label": "GROUP BY", "hits": [[0, 4, 5]]},
        {"label": "SELECT … FROM", "hits": [[0, 0, 2]]},
    ]
    assert cllm["collocations"] == [
        {"label": "GROUP BY", "hits": [[2, 4, 5]], "share": [7, 9]},
        {"label": "SELECT … FROM", "hits": [[1, 0, 2]]},
    ]
    assert props["corpus"] == TABLE.corpus


def test_without_a_table_the_payload_says_nothing_of_collocations() -> None:
    props = player_props(phrase_runs.lanes())
    assert "corpus" not in props
    assert all("collocations" not in lane for lane in props["lanes"])


def test_a_pairs_own_table_comes_before_the_general_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs, general = tmp_path / "pairs", CollocationTable(corpus="general")
    (pairs / "sql").mkdir(parents=True)
    monkeypatch.setattr(phrases, "assets_folder", lambda: pairs)
    monkeypatch.setattr(phrases, "runs_folder", lambda: tmp_path / "runs")
    tuned = {"cllm_jacobi": worked_example.trajectory(model=ModelInfo("m", adapter="sql/cllm"))}
    assert phrases.table_for(tuned) is None
    save_table(general, tmp_path / "collocations.json")
    assert phrases.table_for(tuned) == general
    save_table(TABLE, pairs / "sql" / "collocations.json")
    assert phrases.table_for(tuned) == TABLE
    assert phrases.table_for({"base_jacobi": worked_example.trajectory()}) == general
    (pairs / "sql" / "collocations.json").write_text("{")  # a damaged one is passed over
    assert phrases.table_for(tuned) == general


@pytest.mark.parametrize("adapter", ["../sql", "../../etc", "/etc/passwd", "..", "", ".", "a\x00b"])
def test_a_models_name_never_leads_to_a_file_elsewhere(
    adapter: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = tmp_path / "assets" / "pairs"
    pairs.mkdir(parents=True)
    monkeypatch.setattr(phrases, "assets_folder", lambda: pairs)
    monkeypatch.setattr(phrases, "runs_folder", lambda: pairs)
    save_table(TABLE, tmp_path / "collocations.json")
    assert phrases.table_for({"x": worked_example.trajectory(model=ModelInfo("m", adapter=adapter))}) is None


# --- mining

TOWNS = ("Oslo", "Lima", "Bern", "Riga", "Cork", "Nice", "Kyiv", "Baku")
QUERIES = [
    f"SELECT {a} FROM {b} WHERE {c} = 1 ORDER BY {d} DESC"
    for a, b, c, d in zip(TOWNS, TOWNS[1:] + TOWNS, TOWNS[3:] + TOWNS, TOWNS[5:] + TOWNS)
]
PROSE = [f"{a} met {b} to make a decision about {c}." for a, b, c in zip(TOWNS, TOWNS[2:] + TOWNS, TOWNS[4:] + TOWNS)]


def labels(texts: list[str], **settings: float) -> set[str]:
    return {each.label for each in mine(texts, MiningConfig(**settings)).collocations}


def test_phrases_and_gaps_are_found_and_chance_neighbours_are_not() -> None:
    found = labels(QUERIES + PROSE)
    assert {"ORDER BY … DESC", "SELECT … FROM", "met … to make a decision"} <= found
    assert not any(town in label for town in TOWNS for label in found)


def test_a_phrase_is_labelled_as_it_is_mostly_written() -> None:
    texts = [f"{word} order by {town}" for word, town in zip("abcdefgh", TOWNS)]
    texts += [f"{word} ORDER BY {town}" for word, town in zip("ijklmnop", TOWNS + TOWNS)] + ["q ORDER BY Rome"]
    (only,) = mine(texts).collocations
    assert (only.label, only.runs, only.count) == ("ORDER BY", (("order", "by"),), 17)


def test_words_that_stand_only_inside_a_longer_phrase_are_no_phrase_of_their_own() -> None:
    found = labels(PROSE)
    assert not found & {"make a", "a decision", "make … decision"}


def test_equal_outputs_count_once_and_rare_pairs_not_at_all() -> None:
    assert mine(["GROUP BY"] * 100).collocations == ()
    assert mine(["GROUP BY"] * 100).outputs == 1
    assert labels(QUERIES[:4]) == set()


def test_characters_that_belong_together_are_found_where_no_space_parts_words() -> None:
    fillers = "山川田木林森火水"
    texts = [f"{a}東京{b}" for a in fillers for b in fillers if a != b]
    assert "東京" in labels(texts)


@pytest.mark.parametrize("text", ["hello " * 50, "= " * 50, "", "1 2 3", "a b " * 50])
def test_repetition_signs_and_numbers_are_no_collocations_and_break_nothing(text: str) -> None:
    found = labels([text, *[f"{text} {town}" for town in TOWNS]], min_count=2)
    assert not {label for label in found if re.search(r"hello hello|= =|\d", label)}


# --- files


def test_a_table_survives_its_file_and_has_exactly_these_fields(tmp_path: Path) -> None:
    collocation = Collocation((("select",), ("from",)), "SELECT … FROM", 7, 20.5, 1.5, {"base_jacobi": Share(1, 7)})
    table = CollocationTable((collocation,), max_gap=3, corpus="naïve “queries”", outputs=5, words=50, runs=2)
    save_table(table, tmp_path / "table.json")
    assert load_table(tmp_path / "table.json") == table
    assert table_to_dict(table) == {
        "schema": "cllm-collocations",
        "version": 1,
        "corpus": "naïve “queries”",
        "outputs": 5,
        "words": 50,
        "runs": 2,
        "max_gap": 3,
        "collocations": [
            {
                "runs": [["select"], ["from"]],
                "label": "SELECT … FROM",
                "count": 7,
                "log_likelihood": 20.5,
                "pmi": 1.5,
                "shares": {"base_jacobi": [1, 7]},
            }
        ],
    }


ROW = {"runs": [["a", "b"]], "label": "a b", "count": 2, "log_likelihood": 1.0, "pmi": -0.5, "shares": {}}


def test_a_score_below_zero_is_read() -> None:
    assert table_from_dict({**table_to_dict(TABLE), "collocations": [ROW]}).collocations[0].pmi == -0.5


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema": "other"}, "not a collocation table"),
        ({"collocations": [{"label": "x"}]}, "'runs' is missing"),
        ({"collocations": [{"runs": [[]]}]}, "no words"),
        ({"max_gap": None}, "damaged"),
        ({"collocations": 5}, "damaged"),
        ({"outputs": -1}, "outputs -1 is not a whole number"),
        ({"words": float("inf")}, "words inf is not a whole number"),
        ({"version": float("inf")}, "version inf is not a whole number"),
        ({"collocations": [{**ROW, "count": -5}]}, "count -5"),
        ({"collocations": [{**ROW, "count": float("inf")}]}, "count inf"),
        ({"collocations": [{**ROW, "pmi": float("inf")}]}, "pmi inf is not a number"),
        ({"collocations": [{**ROW, "pmi": float("-inf")}]}, "pmi inf is not a number"),
        ({"collocations": [{**ROW, "log_likelihood": float("inf")}]}, "log_likelihood inf"),
        ({"collocations": [{**ROW, "shares": {"base_ar": [3, 2]}}]}, "3 of 2 occurrences"),
        ({"collocations": [{**ROW, "label": None}]}, "label None is not text"),
    ],
)
def test_a_damaged_table_is_refused_in_a_sentence(change: dict[str, object], said: str) -> None:
    with pytest.raises(FormatError, match=said):
        table_from_dict({**table_to_dict(TABLE), **change})


def test_a_newer_table_is_refused_as_such() -> None:
    with pytest.raises(NewerFormat, match="update"):
        table_from_dict({**table_to_dict(TABLE), "version": 2})


def test_a_corpus_takes_text_rows_runs_and_comparisons_and_names_what_it_leaves_out(tmp_path: Path) -> None:
    run = run_of(SQL, APART)
    rows = [
        json.dumps({"text": "one"}),
        "",
        "{broken",
        json.dumps({"n": 1}),
        json.dumps("two"),
        io.dumps_run({"base_jacobi": run}),
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(rows), encoding="utf-8")
    comparison = {"prompts": [{"prompt": "p", "lanes": {"base_ar": {"text": "three"}}}]}
    (tmp_path / "comparison.json").write_text(json.dumps(comparison), encoding="utf-8")
    (tmp_path / "plain.txt").write_bytes("\ufefffour".encode())
    corpus = read_corpus([tmp_path / name for name in ("rows.jsonl", "comparison.json", "plain.txt")])
    assert corpus.outputs == ["one", "two", run.text, "three", "four"]
    assert [list(lanes) for lanes in corpus.runs] == [["base_jacobi"]]
    assert len(corpus.problems) == 2
    assert corpus.problems[0].startswith("rows.jsonl, line 3: ")
    assert corpus.problems[1].startswith("rows.jsonl, line 4: there is no text in it")


def test_a_bad_item_of_an_array_loses_no_other(tmp_path: Path) -> None:
    """The rows of a JSON array behind a bad one were lost, unremarked."""
    rows = [{"text": "one"}, {"txt": "two"}, {"text": "three"}]
    (tmp_path / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
    prompts = [{"lanes": {"base_ar": {"text": "four"}}}, {}, {"lanes": {"base_ar": {"text": "five"}}}]
    (tmp_path / "comparison.json").write_text(json.dumps({"prompts": prompts}), encoding="utf-8")
    corpus = read_corpus([tmp_path / "rows.json", tmp_path / "comparison.json"])
    assert corpus.outputs == ["one", "three", "four", "five"]
    assert [problem.split(": ")[0] for problem in corpus.problems] == [
        "rows.json, item 2",
        "comparison.json, prompt 2, item 1",
    ]


def test_a_table_of_a_corpus_whose_name_is_no_utf_8_is_written(tmp_path: Path) -> None:
    table = replace(TABLE, corpus="caf\udce9.txt")
    save_table(table, tmp_path / "table.json")
    assert load_table(tmp_path / "table.json") == table


@pytest.mark.parametrize("content", ["", "\n\n", '{"n": 1}', "[]"])
def test_a_corpus_without_an_output_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "rows.jsonl").write_text(content, encoding="utf-8")
    with pytest.raises(FormatError, match="no output"):
        read_corpus([tmp_path / "rows.jsonl"])


def test_the_command_makes_a_table_and_measures_it_on_recorded_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus, runs, table = tmp_path / "queries.jsonl", tmp_path / "runs.jsonl", tmp_path / "table.json"
    corpus.write_text("\n".join(json.dumps({"query": query}) for query in QUERIES), encoding="utf-8")
    words = [f" {word}".encode() for word in QUERIES[0].split()]
    run = {"base_jacobi": run_of(words, list(range(1, 13))), "cllm_jacobi": run_of(words, [1] * 12)}
    runs.write_text(io.dumps_run(run), encoding="utf-8")
    assert main(["collocations", str(corpus), str(runs), "--out", str(table), "--name", "queries"]) == 0
    printed = capsys.readouterr().out
    found = load_table(table)
    assert (found.corpus, found.outputs, found.runs) == ("queries", len(QUERIES), 1)
    shares = {each.label: each.shares for each in found.collocations}
    assert shares["SELECT … FROM"] == {"base_jacobi": Share(0, 1), "cllm_jacobi": Share(1, 1)}
    assert "0/1 (0%)" in printed
    again = tmp_path / "again.json"
    assert main(["collocations", str(runs), "--table", str(table), "--out", str(again)]) == 0
    assert "1/1 (100%)" in capsys.readouterr().out
    assert load_table(again) == found


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["no-such-file.txt"], "Cannot read no-such-file.txt"),
        (["no-such-file.txt", "--out", "/no/such/folder/table.json"], "make it first"),
        (["no-such-file.txt", "--min-count", "1"], "min_count must be at least 2"),
    ],
)
def test_the_command_answers_bad_input_in_one_sentence(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["collocations", *arguments]) == 1
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_an_output_that_repeats_itself_proves_nothing() -> None:
    """The bundled model's loops once filled its table with their own words."""
    loop = " ".join(f"{town} girl scout badge" for town in TOWNS)
    assert labels([loop]) == set()
    assert "girl scout badge" in labels([loop, f"{loop} again", f"{loop} and again"])


def test_the_table_that_ships_can_be_read_and_holds_what_every_reader_knows() -> None:
    table = load_table(Path(phrases.__file__).parent.parent / "assets" / "collocations.json")
    found = {each.label for each in table.collocations}
    assert {"GROUP BY", "SELECT … FROM", "the number of"} <= found
    assert table.runs > 0


@pytest.mark.parametrize("pair", ["json-smollm2", "spider-smollm2"])
def test_the_tables_that_ship_say_how_often_their_collocations_arrive_together(pair: str) -> None:
    table = load_table(assets_folder() / pair / "collocations.json")
    total = {
        lane: sum((each.shares[lane] for each in table.collocations if lane in each.shares), Share())
        for lane in ("base_jacobi", "cllm_jacobi")
    }
    assert table.runs >= 20
    assert min(share.occurrences for share in total.values()) >= 50
    assert (total["cllm_jacobi"].ratio or 0) > (total["base_jacobi"].ratio or 0)
