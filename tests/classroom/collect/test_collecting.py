"""`grade class collect` as a teacher types it: the table, the lists below it, and the document."""

from __future__ import annotations

import json
import zipfile

import pytest
from inline_snapshot import snapshot

ROSTER = """\
Student,ID,SIS Login ID
    Points Possible,,
"Lovelace, Ada",77,ada
"Noether, Emmy",78,emmy
"Kim, Min",79,kim
"""


@pytest.fixture
def download(folder, tmp_path):
    """A download of Canvas, the roster beside it."""
    (tmp_path / "canvas.csv").write_text(ROSTER)
    files = {
        "lovelaceada_77_901_vector_add.cu": "a1",
        "lovelaceada_77_911_vector_add-1.cu": "a2",
        "lovelaceada_77_912_notes.pdf": "x",
        "noetheremmy_LATE_78_920_vector_add.cu": "b",
        "noetheremmy_LATE_78_921_pinned_copy.cu": "c",
        "stranger_99_930_vector_add.cu": "d",
    }
    with zipfile.ZipFile(tmp_path / "week4.zip", "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return tmp_path / "week4.zip"


def test_the_table_and_what_the_teacher_should_look_at(run, folder, download, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)
    code, out, err = run("class", "collect", "week4", "week4.zip", "--roster", "canvas.csv")
    assert (code, err) == (0, "")
    assert "\n".join(line.rstrip() for line in out.splitlines()) == snapshot("""\

 exercise      students   submissions   new   late   without a time   missing
 ────────────────────────────────────────────────────────────────────────────
 vector_add    2          3             3     1      3                1
 pinned_copy   1          1             1     1      1                2

Missing: 2
  ada (Lovelace, Ada): pinned_copy
  kim (Kim, Min): everything

Unknown (not on the roster, not collected; a column `alias` in roster.csv can hold the name): 1
  stranger (1 file)

Several versions: 1
  ada: 2 of vector_add; the last counts: week4.zip: lovelaceada_77_911_vector_add-1.cu

Only one of the two files; the other is the handout's: 1
  emmy: pinned_copy_host.py was not submitted

Late, but the LMS's names do not say how late (a time in --times would): 1
  emmy: pinned_copy and vector_add

Skipped: it is not a .cu file: 1
  week4.zip: lovelaceada_77_912_notes.pdf

4 new, 0 collected before; 4 submissions in week4/submissions.json. The roster has 3 students (id
from 'SIS Login ID', name from 'Student'). Next: `grade class run week4`.\
""")


def test_the_document_has_everything(run, folder, download):
    code, out, _ = run("class", "collect", folder, download, "--json")
    assert code == 0
    document = json.loads(out)
    assert document["schema"] == "warpgrade/collect/1"
    assert document["submissions"] == len(document["new"]) == 5
    assert run("class", "collect", folder, download, "--json")[1].count('"new": []') == 1


def test_a_roster_that_is_replaced_is_kept(run, folder, download, tmp_path):
    (folder / "roster.csv").write_text("id\nold\n")
    run("class", "collect", folder, download, "--roster", tmp_path / "canvas.csv")
    assert (folder / "roster.csv").read_text() == ROSTER
    assert (folder / "roster.csv.bak").read_text() == "id\nold\n"


def test_a_source_that_is_not_there_leaves_the_roster_as_it_was(run, folder, tmp_path, download):
    (folder / "roster.csv").write_text("id\nold\n")
    code, _, err = run("class", "collect", folder, tmp_path / "missing.zip", "--roster", tmp_path / "canvas.csv")
    assert (code, "missing.zip" in err) == (2, True)
    assert (folder / "roster.csv").read_text() == "id\nold\n"


def test_who_was_collected_before_there_was_a_roster_is_named(run, folder, download, tmp_path):
    run("class", "collect", folder, download)
    out = run("class", "collect", folder, download, "--roster", tmp_path / "canvas.csv")[1]
    heading = out.index("Collected before, and not on the roster")
    assert out[heading:].splitlines()[1:4] == ["  lovelaceada_77", "  noetheremmy_78", "  stranger_99"]


def test_without_a_class_nothing_is_made(run, tmp_path, download):
    code, _, err = run("class", "collect", tmp_path / "none", download)
    assert code == 2
    assert "is no class: it has no assignment.toml" in err
    assert not (tmp_path / "none").exists()
