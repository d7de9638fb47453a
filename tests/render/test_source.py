"""Lines of the student's file: what is cut from long ones, and where the caret stands."""

from __future__ import annotations

import pytest

from grader.render.source import accessed, excerpt
from grader.text import to_ascii

LONG = "".join(f"{number:03} " for number in range(100))  # 400 characters, each number where it says: 4 · number


def rows(source: str, *, line: int = 1, column: int | None = None, mark: str = "", width: int = 60) -> list[str]:
    caret = None if column is None else (line, column)
    return [row.plain for row in excerpt(source, {line: mark}, caret=caret, width=width)]


@pytest.mark.parametrize("column", [1, 30, 52, 53, 54, 200, 201, 380, 399])
@pytest.mark.parametrize("mark", ["", "read"])
def test_caret_of_a_long_line_stays_in_sight_below_its_character(column, mark):
    row, caret = rows(LONG, column=column, mark=mark)
    assert len(row) <= 60
    assert caret.count("^") == 1
    assert len(caret) <= 60
    assert row[caret.index("^")] == LONG.rstrip()[column - 1 : column]
    assert row.endswith(f"  {mark}" if mark else "")


def test_caret_stands_below_its_character_in_plain_ascii_too():
    row, caret = (to_ascii(line) for line in rows(LONG, column=201))
    assert row[caret.index("^") :].startswith("050 ")


def test_line_cut_at_both_ends_says_so():
    row, _ = rows(LONG, column=200)
    code = row.split("│ ")[1]
    assert (code[0], code[-1]) == ("…", "…")


def test_line_cut_at_its_start_shows_its_end():
    row, _ = rows(LONG, column=398)
    assert row.endswith("098 099")
    assert row.split("│ ")[1].startswith("…")


def test_line_without_a_column_shows_its_start():
    (row,) = rows(LONG)
    assert row.split("│ ")[1].startswith("000 001")
    assert row.endswith("…")


def test_line_without_a_column_shows_the_index_of_the_named_array():
    code = "    " + "total = 1 + " * 9 + "tile[32 * lane];  // " + "why " * 20
    (row,) = [row.plain for row in excerpt(code, {1: "read"}, width=60, names=("missing", "tile"))]
    assert "tile[32 * lane]" in row
    assert len(row) <= 60
    (row,) = [row.plain for row in excerpt("tile[0] = 1;", {1: ""}, width=60, names=("tile",))]
    assert row.endswith("│ tile[0] = 1;")


@pytest.mark.parametrize(
    ("mark", "shown"), [("write", "tile[threadIdx.x][threadIdx.y + k]"), ("read", "x[(by + k) * n + c]")]
)
def test_a_long_line_is_cut_around_what_is_accessed(mark, shown):
    code = " " * 24 + "tile[threadIdx.x][threadIdx.y + k] = x[(by + k) * n + c];"
    name = shown.partition("[")[0]
    (row,) = [row.plain for row in excerpt(code, {1: mark}, width=60, names=(name,))]
    assert shown in row
    assert row.endswith(f"  {mark}")
    assert len(row) <= 60


def test_an_array_on_both_sides_of_an_assignment_is_written_left_and_read_right():
    code = "sums[t + 1] = sums[t] + 1"
    assert accessed(code, ("sums",), "write") == (1, len("sums[t + 1]"))
    assert accessed(code, ("sums",), "read: thread 3") == (15, len("sums[t + 1] = sums[t]"))
    assert accessed("if (sums[t] == 0)", ("sums",), "read") == (5, len("if (sums[t]"))


def test_all_indices_of_an_access_belong_to_it():
    assert accessed("t[a[0]] [b] + c[2]", ("t",), "read") == (1, len("t[a[0]] [b]"))
    assert accessed("t[a", ("t",), "read") == (1, 3)
    assert accessed("tt[a] + 1", ("t",), "read") is None


def test_line_that_fits_is_whole():
    row, caret = rows("\tint x = 1;", column=6)
    assert row.endswith("    int x = 1;")
    assert row[caret.index("^")] == "x"


def test_caret_behind_the_last_character_stands_there():
    row, caret = rows("int x", column=6)
    assert caret.index("^") == len(row)
