"""The pages of a class: what teacher and students see, and what nobody may."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import pytest
from class_samples import DEADLINE, NAMES, SECRET, class_of_30, pages_of, record, result, submission
from test_html_page import Page
from verdict_samples import EVIL, PASSED, RACY, evil_verdict

from grader.classroom.gradebook import gradebook
from grader.classroom.records import Override, Result, Student
from grader.render.classroom import figures
from grader.render.classroom.names import file_names, pseudonyms
from grader.render.classroom.student import student_page
from grader.verdict import Diagnostic

CLASS = class_of_30()
PAGES = pages_of(CLASS)
READ = {name: Page(page) for name, page in PAGES.items()}
IDS = {student.name: student.id for student in CLASS.roster}


def of(name: str) -> Page:
    return READ[f"student {IDS[name]}"]


def own_page(made, *, texts=None, **more) -> str:
    """Ada's page."""
    row = gradebook(made).rows[0]
    known = {"texts": texts or {}, "facts": {}, "versions": {}} | more
    return student_page(row, gradebook(made), made=DEADLINE, **known)


# --------------------------------------------------------------------------------------------------------- every page


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_well_formed_with_headings_in_order_and_nothing_from_elsewhere(name):
    read = READ[name]
    levels = [int(tag[1]) for tag, _, _ in read.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert not {"script", "link", "img", "iframe", "object", "form", "base"} & {tag for tag, _, _ in read.elements}
    ids = [attributes["id"] for _, attributes, _ in read.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert "url(" not in PAGES[name]


@pytest.mark.parametrize("name", PAGES)
def test_what_scrolls_can_be_reached_with_the_keyboard_and_has_a_name(name):
    boxes = [a for tag, a, _ in READ[name].elements if tag == "section" and "scroll" in (a.get("class") or "")]
    assert all(box.get("tabindex") == "0" and box.get("aria-label") for box in boxes)


def test_links_of_the_teachers_page_lead_to_the_pages():
    links = {a["href"] for a in READ["index"].all("a") if not (a["href"] or "").startswith("#")}
    assert links == {"leaderboard.html"} | {f"students/{name}.html" for name in [*IDS.values(), "s9999"]}


def test_hostile_names_files_and_results_stay_text():
    student = Student(EVIL, EVIL, EVIL)
    made = replace(submission("ada"), student=EVIL, origin=EVIL)
    graded = replace(result(made, evil_verdict()), machine={"gpu": EVIL}, versions={EVIL: EVIL})
    hostile = replace(
        record(made, results=(graded,), overrides=(Override(EVIL, "reduce_v3", 1, EVIL, DEADLINE),)), roster=(student,),
        assignment=replace(CLASS.assignment, title=EVIL),
    )  # fmt: skip
    for page in pages_of(hostile).values():
        read = Page(page)
        assert "script" not in {tag for tag, _, _ in read.elements}
        assert not {n for _, attributes, _ in read.elements for n in attributes if n.startswith("on")}
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\u2066\u200b\ufeff]", page)


# --------------------------------------------------------------------------------------------------------- the teacher


def test_the_teacher_sees_what_needs_a_decision_and_what_to_do():
    words = READ["index"].words
    for said in (
        "1 grade open: it has not been graded yet.", "its time could not be measured well enough.",
        "it ended several workers and was set aside.", "the grader could not grade it.", "1 student not on the roster.",
        "1 submission without a time.", "or decide yourself:", "decided by you",
    ):  # fmt: skip
        assert said in words


def test_distributions_have_words_for_those_who_see_no_drawing():
    described = READ["index"].texts_of("desc")
    assert described[0] == (
        "2 students at 0 to 10 %; 7 students at 60 to 70 %; 1 student at 80 to 90 %; 19 students at 90 to 100 %"
    )
    assert described[1] == "pass: 22, technique: 7"


def test_a_decision_on_what_was_not_submitted_counts_in_points_and_not_as_a_submission():
    decided = Override("bob", "vector_add", 20, "shown in person", DEADLINE)
    one, _ = figures.exercise_figures(gradebook(record(submission("ada"), overrides=(decided,))))
    assert (one.students, one.missing, one.mean) == (2, 1, 30)


def test_stumbling_blocks_count_each_student_once_by_kind_cause_and_rule():
    one, two = submission("ada", "reduce_v3", 1), submission("ada", "reduce_v3", 2)
    other = submission("bob", "reduce_v3", 1)
    found = figures.stumbles(gradebook(record(one, two, other, results=[result(s, RACY) for s in (one, two, other)])))
    assert [(s.exercise, s.words, s.students) for s in found] == [("reduce_v3", "race", 2)]


def test_worth_a_look_are_cheats_floods_and_kernels_far_faster_than_all_others():
    looks = figures.worth_a_look(gradebook(CLASS))
    assert [(look.row.student.name, look.reasons[0]) for look in looks] == [
        ("Dana Angluin", "It ended several workers."),
        ("Frances Allen", "The verdict is cheat: this is about cheat"),
        ("Fei-Fei Li", "The verdict is policy: this is about policy"),
        ("Grace Hopper", "It prints a flood: 68.4 KiB were kept."),
        ("Radia Perlman", "Its kernel takes 240 µs; the median of 17 others is 1.1 ms."),
    ]


def test_similar_pairs_name_both_files_and_their_lines():
    words = READ["index"].words
    assert "97.0 %" in words
    assert "lines 4–10" in words
    assert "Look at both before you talk to anybody" in words


def test_unequal_gpus_versions_and_a_missing_sandbox_are_told():
    one, two = submission("ada"), submission("bob")
    results = (
        result(one, machine={"gpu": "H200"}, versions={"warpgrade": "1"}),
        result(two, machine={"gpu": "A100", "host": "lab"}, versions={"warpgrade": "2"}, sandbox="none"),
    )
    whom = {task.what: task.whom for task in figures.tasks(gradebook(record(one, two, results=results)))}
    assert whom["The times are of different GPUs"] == ("A100", "H200")
    assert whom["The results are of different versions"] == ("1, course ?", "2, course ?")
    assert whom["1 submission ran without a sandbox"] == ("lab",)


def test_submissions_without_a_time_are_listed_and_those_that_are_marked_as_late_apart():
    one, two = (submission(who, submitted=None, marked_late=who == "bob") for who in ("ada", "bob"))
    whom = {task.what: task.whom for task in figures.tasks(gradebook(record(one, two)))}
    assert whom["1 submission marked as late, without a time"] == ("Bob, vector_add",)
    assert whom["1 submission without a time"] == ("Ada, vector_add",)
    many = [submission(f"s{at}", submitted=None) for at in range(30)]
    (timeless,) = [task for task in figures.about_people(gradebook(record(*many, roster=""))) if "time" in task.what]
    assert (timeless.what, timeless.named) == ("30 submissions without a time", False)


def test_who_submitted_nothing_or_the_stub_needs_the_teacher():
    one, two = submission("ada"), submission("bob")
    made = replace(record(one, two, roster="ada bob zoe"), unchanged=frozenset({two.key}))
    whom = {task.what: task.whom for task in figures.tasks(gradebook(made))}
    assert whom["1 student submitted nothing"] == ("Zoe",)
    assert whom["2 exercises missing of students who submitted others"] == ("Ada, reduce_v3", "Bob, reduce_v3")
    assert whom["1 submission without a change to the stub"] == ("Bob, vector_add",)


def test_the_slowest_are_by_kernel_time_or_without_one_by_the_time_of_grading():
    assert figures.slowest(gradebook(CLASS))[0].of_kernel
    one, two = submission("ada"), submission("bob")
    plain = replace(PASSED, measured=None)
    results = (result(one, plain), result(two, replace(plain, elapsed_s=60)))
    (first,) = figures.slowest(gradebook(record(one, two, results=results)))
    assert (first.row.student.id, first.of_kernel, first.seconds) == ("bob", False, 60)


def test_an_empty_class_has_a_page():
    assert "0 of 2 students submitted" in Page(pages_of(record())["index"]).words
    assert "Grades" in pages_of(record(roster=""))["index"]


# --------------------------------------------------------------------------------------------------------- a student


def test_a_student_sees_points_with_reasons_the_finding_its_lines_and_the_hint():
    words = of("Ada Lovelace").words
    assert "40 of 100 points" in words
    assert "−60: the verdict is out of bounds." in words
    assert "line 4" in words
    assert "compare the index with the size first" in words


def test_the_banner_says_the_fact_before_the_next_step():
    made = submission("ada")
    found = Diagnostic("limit", "the kernel needs 60 KiB of shared memory; a block has 48 KiB")
    verdict = replace(RACY, verdict="limit", diagnostics=(found,), cases=(), next_step="use less")
    words = Page(own_page(record(made, results=(result(made, verdict),)))).words
    assert words.index("a block has 48 KiB") < words.index("Next: use less") < words.index("Stages")


def test_a_student_sees_late_submissions_decisions_and_what_is_open_in_words():
    assert "−8: 1 day late: 20 % of 40 points." in of("Bo Li").words
    assert "Your teacher gave 40 of 40 points: Was ill." in of("Barbara Liskov").words
    assert "This is not graded yet: your teacher is going to look at it." in of("Claude Shannon").words
    assert "Nothing was submitted." in of("Vint Cerf").words


def test_a_student_sees_no_other_student_no_seed_and_no_folder():
    for name, student in IDS.items():
        words = PAGES[f"student {student}"]
        assert not [other for other in NAMES if other != name and other in words]
        assert not [other for other in IDS.values() if other != student and other in words]
        assert "--seed" not in words
        assert "submissions/" not in words


def test_private_texts_are_blotted_out_wherever_a_result_has_them():
    made = submission("ada")
    verdict = replace(RACY, notes=("/srv/teacher/hw2/x.cu(4): warning",), printed="/srv/teacher/hw2", seed=123456789)
    class_record = record(made, results=(result(made, verdict),), assignment=replace(CLASS.assignment, hidden="all"))
    assert "/srv/teacher" in own_page(class_record)
    page = own_page(class_record, private=["/srv/teacher/hw2"])
    assert "/srv/teacher" not in page
    assert "123456789" not in page


def test_a_result_that_cannot_be_read_still_has_points():
    made = submission("ada")
    for run in ({}, {"verdict": 3}, {"diagnostics": [], "stages": "?"}):
        broken: Result = replace(result(made), run=run)
        assert "40 of 40 points" in Page(own_page(record(made, results=(broken,)))).words


# -------------------------------------------------------------------------------------------------------------- names


def test_file_names_are_safe_and_no_two_are_alike_on_any_disk():
    ids = ["ada", "Ada", "../../etc/passwd", "..", "", "con/x", "zoë", EVIL, "a" * 300, "-rf"]
    names = file_names(ids)
    assert len({name.lower() for name in names.values()}) == len(ids)
    assert all(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,80}", name) for name in names.values())
    assert file_names(["s1000"]) == {"s1000": "s1000"}


def test_pseudonyms_are_stable_distinct_and_of_the_key():
    ids = [f"s{i}" for i in range(2000)]
    names = pseudonyms(ids, SECRET)
    assert len(set(names.values())) == 2000
    assert pseudonyms(ids[:1], SECRET)["s0"] == names["s0"] == "amber owl 09"
    assert pseudonyms(ids[:1], b"another key")["s0"] != names["s0"]


def test_the_leaderboard_names_nobody_and_each_student_finds_the_own_line():
    board = PAGES["leaderboard"]
    assert not [name for name in (*NAMES, *IDS.values()) if name in board]
    own = pseudonyms(IDS.values(), SECRET)
    assert own[IDS["Ada Lovelace"]] in board
    assert own[IDS["Ada Lovelace"]] in PAGES[f"student {IDS['Ada Lovelace']}"]
    assert own[IDS["Alan Turing"]] not in PAGES[f"student {IDS['Ada Lovelace']}"]


@pytest.mark.parametrize(("gpu", "why"), [("", "graded without one"), ("H200", "no submission that passed was timed")])
def test_a_leaderboard_without_times_says_why(gpu, why):
    one = submission("ada")
    graded = replace(result(one, replace(PASSED, measured=None)), machine={"gpu": gpu})
    assert why in Page(pages_of(record(one, results=(graded,)))["leaderboard"]).words
    assert "There is no table of speed" not in READ["leaderboard"].words


def test_equal_results_share_a_place_and_the_fastest_is_first():
    table = of_board = READ["leaderboard"].words
    assert table.index("All exercises") < of_board.index("reduce_v3, NVIDIA H200")
    places = re.findall(r"\b(\d+) (?:[a-z]+ [a-z]+ \d\d) 100 2 of 2", READ["leaderboard"].words)
    assert set(places) == {"1"}
