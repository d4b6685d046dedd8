"""A run as CSV, one row a predicted cell, and back: RFC 4180, UTF-8, rectangular, safe to open in a spreadsheet.

Text cells hold no control character, no line break and no formula; `decode_text` gives the exact bytes back.
"""

import csv
import io
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import fields

from cllm_core.errors import FormatError
from cllm_core.types import Trajectory
from visualize.cells import Cell, lane_cells
from visualize.exports.options import ExportOptions

COLUMNS = tuple("pass" if field.name == "pass_number" else field.name for field in fields(Cell))


def export_csv(lanes: Mapping[str, Trajectory], options: ExportOptions) -> bytes:
    """Return the cells of every lane as CSV. Nothing in `options` changes the data."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for key, trajectory in lanes.items():
        writer.writerows(_row(cell) for cell in lane_cells(key, trajectory))
    return buffer.getvalue().encode("utf-8")


def read_csv_cells(data: bytes) -> list[Cell]:
    """Read the cells of an exported CSV; FormatError names the line that is not one."""
    try:
        reader = csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True)
        if tuple(next(reader, ())) != COLUMNS:
            raise FormatError(f"This is not a table of cells: its first line must be {','.join(COLUMNS)}.")
        return [_cell(row, reader.line_num) for row in reader]
    except UnicodeDecodeError as error:
        raise FormatError(f"This is not UTF-8 text (byte {error.start}).") from error
    except csv.Error as error:
        raise FormatError(f"This is not CSV: {error}.") from error


def _row(cell: Cell) -> list[object]:
    return [
        encode_text(cell.lane.encode("utf-8", "surrogatepass")),
        cell.pass_number,
        cell.position,
        cell.token_id,
        encode_text(cell.text),
        "true" if cell.control else "false",
        "" if cell.guess_id is None else cell.guess_id,
        cell.hindsight,
        cell.known,
        "" if cell.probability is None else repr(float(cell.probability)),
        repr(float(cell.pass_seconds)),
    ]


def _cell(row: list[str], line: int) -> Cell:
    try:
        lane, number, position, token, text, control, guess, hindsight, known, probability, seconds = row
        return Cell(
            lane=decode_text(lane).decode("utf-8", "surrogatepass"),
            pass_number=int(number),
            position=int(position),
            token_id=int(token),
            text=decode_text(text),
            control={"true": True, "false": False}[control.lower()],
            guess_id=int(guess) if guess else None,
            hindsight=hindsight,
            known=known,
            probability=float(probability) if probability else None,
            pass_seconds=float(seconds),
        )
    except (ValueError, KeyError) as error:
        raise FormatError(f"Line {line} of this table is not a cell: {error}.") from error


# Text in a cell. What a spreadsheet would take for a formula, a number or a truth value starts with an apostrophe; so
# does text that starts with one itself. Control characters and bytes that are no UTF-8 become backslash escapes.

_FORMULA = "=+-@＝＋－＠"  # the wide ones count in spreadsheets for East Asian text
_NUMBER = ".("  # besides digits and currency signs
_TRUTH = ("true", "false")
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}
_DIRECTION = {*"\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069", "\ufeff"}
_ESCAPE = re.compile(r"\\(?:([nrt\\])|x([0-9A-F]{2})|u([0-9A-F]{4})|(.|$))", re.DOTALL)


def encode_text(piece: bytes) -> str:
    r"""Return bytes as one line of text for a spreadsheet; `decode_text` undoes it.

    >>> encode_text(b"=1+1"), encode_text(b"a\r\n"), encode_text(b"\xf0\x9f"), encode_text(b"00012")
    ("'=1+1", 'a\\r\\n', '\\xF0\\x9F', "'00012")
    """
    text = "".join(_escaped(character) for character in piece.decode("utf-8", "surrogateescape"))
    return "'" + text if _is_misread(text.strip()) else text


def _is_misread(text: str) -> bool:
    """Whether a spreadsheet would take the text for something else, or our reader would."""
    first = text[:1]
    if not first:
        return False
    return first in f"'{_FORMULA}{_NUMBER}" or unicodedata.category(first) in ("Nd", "Sc") or text.lower() in _TRUTH


def decode_text(cell: str) -> bytes:
    """Return the bytes that `encode_text` wrote; ValueError if the cell holds an unknown escape."""
    parts, end = [], 0
    body = cell.removeprefix("'")
    for match in _ESCAPE.finditer(body):
        parts.append(body[end : match.start()].encode("utf-8", "surrogatepass"))
        parts.append(_unescaped(match))
        end = match.end()
    return b"".join([*parts, body[end:].encode("utf-8", "surrogatepass")])


def _escaped(character: str) -> str:
    code = ord(character)
    if character in _NAMED:
        return _NAMED[character]
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is no UTF-8, as surrogateescape marks it
        return f"\\x{code - 0xDC00:02X}"
    if unicodedata.category(character) in ("Cc", "Zl", "Zp") or character in _DIRECTION:
        return f"\\u{code:04X}"
    return character


def _unescaped(match: re.Match[str]) -> bytes:
    named, byte, code, unknown = match.groups()
    if unknown is not None:
        raise ValueError(f"unknown escape \\{unknown} in a text cell")
    if named:
        return {"n": b"\n", "r": b"\r", "t": b"\t", "\\": b"\\"}[named]
    return bytes.fromhex(byte) if byte else chr(int(code, 16)).encode("utf-8", "surrogatepass")
