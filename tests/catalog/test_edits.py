"""Edits: what is written applies again, what does not fit exactly is refused with its place."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from grader.catalog.edits import MOST_BYTES, BadEdit, applied, lines_of, moved, read_edit, written

HEAD = ("// expect: race", "// No barrier.")
OLD = "".join(f"line {number}\n" for number in range(1, 31))
NEW = OLD.replace("line 4\n", "").replace("line 20\n", "line 20, another\nand one more\n")
NAMES = ("k.cu", "k_host.py")
EDIT = written(HEAD, {"k.cu": (OLD, NEW)})


def result(text: str, old: str = OLD) -> str:
    return applied(read_edit(text, NAMES).files["k.cu"], old)


def test_an_edit_is_a_unified_diff_below_two_lines_of_comment():
    assert written(HEAD, {"k.cu": ("a\n\nb\n", "a\n\nc\n")}) == (
        "// expect: race\n// No barrier.\n--- k.cu\n+++ k.cu\n@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n"
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (OLD, NEW), ("", "a\n"), ("a\n", ""), ("a", "b"), ("a\n", "a"), ("a", "a\n"), ("a\nb", "c\nb"),
        ("\n\n\n", "\n\n"), ("a\n\nb\n", "\n\na\nb"), ("-- a\n++ b\n", "++ b\n"), ("x\ry\x0cz\n", "x\r\ny\u2028z\n"),
        (OLD, "0\n" + OLD + "31\n"), ("--- k.cu\n@@\n", "--- k.cu\n"), ("\\ No newline\n", "\\ No newline"),
    ],
)  # fmt: skip
def test_what_is_written_makes_the_new_text_of_the_old(old, new):
    text = written(HEAD, {"k.cu": (old, new)})
    assert not any(line.endswith(" ") for line in text.splitlines())
    assert result(text, old) == new
    assert read_edit(text, NAMES).head == HEAD


def test_one_edit_changes_both_files():
    edit = read_edit(written(HEAD, {"k.cu": (OLD, NEW), "k_host.py": ("a\n", "b\n")}), NAMES)
    assert applied(edit.files["k.cu"], OLD) == NEW
    assert applied(edit.files["k_host.py"], "a\n") == "b\n"


@pytest.mark.skipif(shutil.which("patch") is None, reason="there is no patch")
def test_patch_understands_it(tmp_path):
    (tmp_path / "k.cu").write_text(OLD)
    subprocess.run(["patch", "-s", "-p0"], input=EDIT, text=True, cwd=tmp_path, check=True)
    assert (tmp_path / "k.cu").read_text() == NEW


# ------------------------------------------------------------------------------------------------------- without fuzz


@pytest.mark.parametrize(
    ("old", "message"),
    [
        ("one more\n" + OLD, r"hunk 1 \(line 5\) does not apply: line 1 is 'one more', not 'line 1'"),
        (OLD.replace("line 6\n", "line 6b\n"), "hunk 1 .* does not apply: line 6 is 'line 6b', not 'line 6'"),
        (OLD.replace("line 17\n", "line 17 \n"), "hunk 2 .* does not apply: line 17 is 'line 17', not 'line 17'"),
        ("".join(lines_of(OLD)[:20]), r"hunk 2 \(line 13\) does not apply: line 21 is the end, not 'line 21'"),
    ],
)
def test_an_edit_that_does_not_fit_exactly_is_refused_with_hunk_and_line(old, message):
    with pytest.raises(BadEdit, match=message):
        result(EDIT, old)


def test_an_insertion_after_the_end_is_refused():
    with pytest.raises(BadEdit, match="begins after line 9, and there are 2"):
        result("a\nb\n--- k.cu\n+++ k.cu\n@@ -9,0 +10 @@\n+new\n", "1\n2\n")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("", "it edits no file: its third line must be `--- k.cu or k_host.py`"),
        (
            "--- other.cu\n+++ other.cu\n@@ -1 +1 @@\n-a\n+b\n",
            "line 3 must be `--- k.cu or k_host.py`, not '--- other.cu'",
        ),
        ("--- k.cu\t2026-01-01\n+++ k.cu\n@@ -1 +1 @@\n-a\n+b\n", "line 3 must be"),
        ("--- ../k.cu\n+++ k.cu\n", "line 3 must be"),
        ("--- k.cu\n+++ k_host.py\n@@ -1 +1 @@\n-a\n+b\n", r"line 4 must be `\+\+\+ k.cu`"),
        ("--- k.cu\n", "line 4 must be"),
        ("--- k.cu\n+++ k.cu\n", "line 5: a hunk must follow"),
        ("--- k.cu\n+++ k.cu\n@@ -a +1 @@\n", "line 5 must be `@@"),
        ("--- k.cu\n+++ k.cu\n@@ -1 +1 @@\n-a\n", "line 7: the hunk of line 5 has fewer lines"),
        ("--- k.cu\n+++ k.cu\n@@ -1,99999999 +1 @@\n-a\n", "line 5 must be `@@"),
        ("--- k.cu\n+++ k.cu\n@@ -1 +1 @@\n-a\n-b\n+c\n", "line 8: the hunk of line 5 has other lines"),
        ("--- k.cu\n+++ k.cu\n@@ -1 +1 @@\n-a\n*b\n", "line 7: the hunk of line 5 has fewer lines"),
        ("--- k.cu\n+++ k.cu\n@@ -1 +1 @@\n-a\n+b\nmore\n", "line 8 must be `@@"),
        ("--- k.cu\n+++ k.cu\n@@ -1 +1 @@\n a\n", "line 5: the hunk changes nothing"),
        ("--- k.cu\n+++ k.cu\n@@ -1 +7 @@\n-a\n+b\n", "its lines begin at 7 in the result, not at 1"),
        ("--- k.cu\n+++ k.cu\n@@ -2 +2 @@\n-a\n+b\n@@ -1 +1 @@\n-a\n+b\n", "hunk 2 .* begins before the hunk above it"),
        ("--- k.cu\n+++ k.cu\n@@ -1 +1 @@\n-a\n+b\n" * 2, "line 8: a second section of k.cu"),
    ],
)
def test_a_garbled_edit_is_refused_with_its_line(body, message):
    with pytest.raises(BadEdit, match=message):
        read_edit("\n".join(HEAD) + "\n" + body, NAMES)


@pytest.mark.parametrize(
    "text", ["", "\n", "a", "\0" * 99, "a\nb\n\\ No newline at end of file", "x" * (MOST_BYTES + 1)]
)
def test_what_is_no_edit_is_refused(text):
    with pytest.raises(BadEdit):
        read_edit(text, NAMES)


# --------------------------------------------------------------------------------------------------- a changed solution


def moved_to(old: str, text: str = EDIT) -> str:
    return moved(read_edit(text, NAMES).files["k.cu"], old)


def test_hunks_move_to_the_only_place_of_their_lines():
    longer = "first\n" + OLD.replace("line 12\n", "line 12\nbetween\n")
    assert moved_to(longer) == "first\n" + NEW.replace("line 12\n", "line 12\nbetween\n")


def test_changed_context_is_left_out_as_far_as_the_place_stays_the_only_one():
    other = OLD.replace("line 2\n", "line 2b\n").replace("line 21\n", "line 21b\n")
    assert moved_to(other) == NEW.replace("line 2\n", "line 2b\n").replace("line 21\n", "line 21b\n")


def test_a_hunk_whose_lines_changed_has_no_place():
    with pytest.raises(BadEdit, match=r"hunk 2 .* no longer fits"):
        moved_to("first\n" + OLD.replace("line 20\n", "line twenty\n"))


def test_a_hunk_with_two_places_is_left_to_its_author():
    with pytest.raises(BadEdit, match=r"hunk 1 .* fits 2 places"):
        moved_to("first\n" + OLD + OLD)
