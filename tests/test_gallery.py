"""A folder of trajectories becomes a static site whose names and elements come from no text in them."""

from html.parser import HTMLParser

import pytest
import run_examples

from cllm_core import io
from cllm_core.errors import ExportError
from visualize.export import export
from visualize.exports.gallery import build_gallery

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    (folder / "a run.json").write_bytes(export(run_examples.lanes(), "json"))
    (folder / f"{HOSTILE}.json").write_text(io.dumps(run_examples.nasty(prompt=HOSTILE)), encoding="utf-8")
    (folder / "broken.json").write_text("{")
    (folder / "notes.txt").write_text("not ours")
    return folder


class _Index(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.links, self.words = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name == "href"]

    def handle_data(self, data):
        self.words.append(data)


def test_gallery_has_an_index_and_a_page_for_each_file(source, tmp_path):
    pages = build_gallery(source, tmp_path / "site")
    written = sorted(path.name for path in (tmp_path / "site").iterdir())
    assert written == sorted(["index.html", *(page.name for page in pages)])
    index = _Index((tmp_path / "site" / "index.html").read_text(encoding="utf-8"))
    assert index.links[1:] == [page.name for page in pages]
    assert [page.source for page in pages] == [f"{HOSTILE}.json", "a run.json"]
    assert {"Base, one token at a time", "Base, Jacobi", "1.50"} <= set(index.words)


def test_gallery_has_a_page_for_every_prompt_of_a_file(tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    runs = [run_examples.nasty(prompt=prompt) for prompt in ("one", "two", "three")]
    lines = [*map(io.dumps, runs), "not a run", io.dumps(runs[1])]
    (folder / "many.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    pages = build_gallery(folder, tmp_path / "site")
    assert [page.source for page in pages] == [f"many.jsonl, prompt {number}" for number in (1, 2, 3)]
    assert [len(page.lanes) for page in pages] == [1, 2, 1]
    assert [len(page.notes) for page in pages] == [1, 0, 0]
    assert pages[0].notes[0].startswith("Line 4 was left out")
    assert all((tmp_path / "site" / page.name).exists() for page in pages)


def test_gallery_names_what_it_left_out(source, tmp_path):
    build_gallery(source, tmp_path / "site")
    index = _Index((tmp_path / "site" / "index.html").read_text(encoding="utf-8"))
    assert any(word.startswith("broken.json is left out: This is not JSON") for word in index.words)


def test_names_and_elements_come_from_no_text(source, tmp_path):
    pages = build_gallery(source, tmp_path / "site", title=HOSTILE)
    for page in pages:
        assert set(page.name) <= set("run-0123456789abcdef.html")
    index = _Index((tmp_path / "site" / "index.html").read_text(encoding="utf-8"))
    assert "img" not in index.tags
    assert HOSTILE in index.words


def test_gallery_asks_nothing_of_the_network(source, tmp_path):
    build_gallery(source, tmp_path / "site")
    for path in (tmp_path / "site").iterdir():
        assert "default-src 'none'" in path.read_text(encoding="utf-8")


def test_gallery_is_replaced_by_a_newer_one_but_no_other_folder_is(source, tmp_path):
    site = tmp_path / "site"
    build_gallery(source, site)
    (site / "CNAME").write_text("kept")
    (source / "a run.json").unlink()
    pages = build_gallery(source, site)
    assert sorted(path.name for path in site.iterdir()) == sorted(["CNAME", "index.html", pages[0].name])
    with pytest.raises(ExportError, match="not empty and no gallery"):
        build_gallery(source, source)


def test_gallery_of_nothing_is_refused_in_one_sentence(tmp_path):
    with pytest.raises(ExportError, match="no folder 'missing'"):
        build_gallery(tmp_path / "missing", tmp_path / "site")
    with pytest.raises(ExportError, match="holds no trajectory"):
        build_gallery(tmp_path, tmp_path / "site")
    assert not (tmp_path / "site").exists()
