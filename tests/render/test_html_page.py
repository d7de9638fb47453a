"""The page of --html: what it shows, that it is well-formed, and that nothing hostile gets out of its place."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from verdict_samples import (
    EVIL,
    HOST_SOURCE,
    HOSTILE,
    MANY_NODES,
    OVERLAPPED,
    PASSED,
    RACE,
    RACY,
    SOURCE,
    STRIDED,
    WAITLESS,
    WASTEFUL,
    evil_verdict,
    overlapped,
    plainly,
)

from grader.render.drawing import Point, roofline_svg
from grader.render.html import LARGEST, GradedPage, to_html
from grader.verdict import VERDICTS, CaseResult, LaunchRecord, LineCounters, Prediction, Roof

VOID = {"meta", "br", "link", "img", "hr", "input"}
BESIDE = {"streams_overlap_host.py": HOST_SOURCE}
VERSIONS = {"warpgrade": "0.1.0", "numpy": "2.0", "cupy-cuda13x": None}
LADDER = (Point("reduce_v1", 1 / 12, 2e10), Point("reduce_v2", 1 / 12, 5e10))


class Page(HTMLParser):
    """A page as elements: fails where an element is not closed in its place."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.around: list[int] = []
        self.elements: list[tuple[str, dict[str, str | None], tuple[str, ...]]] = []
        self.texts: dict[int, str] = {}
        self.words = ""  # all text but the style sheet's
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), tuple(self.open)))
        assert len(dict(attrs)) == len(attrs), f"an attribute twice in <{tag}>"
        if tag not in VOID:
            self.open.append(tag)
            self.around.append(len(self.elements) - 1)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self.around.pop()

    def handle_data(self, data):
        at = self.around[-1] if self.around else -1
        self.texts[at] = self.texts.get(at, "") + data
        if "style" not in self.open:
            self.words += f" {data.strip()}" if data.strip() else ""

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes, _ in self.elements if name == tag]

    def texts_of(self, tag: str) -> list[str]:
        return [self.texts.get(i, "").strip() for i, (name, _, _) in enumerate(self.elements) if name == tag]


def page(*verdicts, source=SOURCE, **more):
    return to_html([GradedPage(one, source, **more) for one in verdicts], versions=VERSIONS)


def everything():
    return {
        "wasteful": page(WASTEFUL, history=LADDER, idea="one idea"), "passed": page(PASSED), "racy": page(RACY),
        "hostile": page(HOSTILE), "several": page(WASTEFUL, PASSED, RACY, RACY, HOSTILE),
        "no source": page(RACY, source=""), "missing wait": page(WAITLESS, beside=BESIDE),
        "timelines": page(OVERLAPPED, MANY_NODES, WAITLESS, beside=BESIDE),
        "nothing": page(replace(RACY, cases=(), diagnostics=(), next_step="", file=None, seed=None)),
    } | {word: page(plainly(RACY, word)) for word in VERDICTS}  # fmt: skip


PAGES = everything()


@pytest.fixture(params=PAGES)
def made(request):
    return PAGES[request.param]


def test_the_page_is_well_formed_and_names_its_language_title_and_landmarks(made):
    read = Page(made)
    assert made.startswith("<!DOCTYPE html>")
    assert read.all("html") == [{"lang": "en"}]
    assert 5 < len(read.texts_of("title")[0]) <= 70
    assert len(read.all("main")) == len(read.all("h1")) == len(read.all("footer")) == 1
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in read.all("meta")


def test_headings_are_in_order(made):
    levels = [int(tag[1]) for tag, _, _ in Page(made).elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_nothing_comes_from_elsewhere_and_nothing_runs(made):
    read = Page(made)
    assert not {"script", "link", "img", "iframe", "object", "embed", "form", "base"} & {e[0] for e in read.elements}
    names = {name for _, attributes, _ in read.elements for name in attributes}
    assert not {name for name in names if name.startswith("on") or name in ("src", "style", "srcset", "action")}
    assert all((a["href"] or "").startswith("#s") for a in read.all("a"))
    assert "url(" not in made
    assert "@import" not in made


def test_ids_are_unique_and_what_points_to_one_finds_it(made):
    read = Page(made)
    ids = Counter(a["id"] for _, a, _ in read.elements if "id" in a)
    assert set(ids.values()) == {1}
    pointers = [name for _, a, _ in read.elements for name in (a.get("aria-labelledby") or "").split()]
    assert set(pointers) | {(a["href"] or "")[1:] for a in read.all("a")} <= set(ids)


def test_every_drawing_has_a_title_and_a_description(made):
    read = Page(made)
    drawings = read.all("svg")
    assert all(a["role"] == "img" for a in drawings)
    assert [tag for tag, _, around in read.elements if around[-1:] == ("svg",) and tag in ("title", "desc")] == [
        "title", "desc"
    ] * len(drawings)  # fmt: skip
    assert all(words.strip() for tag in ("title", "desc") for words in read.texts_of(tag))


def test_what_scrolls_can_be_reached_by_keyboard_and_has_a_name_of_its_own(made):
    scrolling = [a for a in Page(made).all("section") if "scroll" in (a["class"] or "")]
    assert scrolling
    assert all(a["tabindex"] == "0" for a in scrolling)
    assert len({a["aria-label"] for a in scrolling}) == len(scrolling)


def test_every_table_names_its_columns_and_rows(made):
    read = Page(made)
    assert all(a.get("scope") in ("row", "col") for a in read.all("th"))


# ------------------------------------------------------------------------------------------------------- what it shows


def test_the_verdict_comes_first_with_points_and_the_next_step():
    words = Page(PAGES["racy"]).words
    assert words.index("race") < words.index("0 of 80 points") < words.index("Put a barrier") < words.index("compiles")


def test_both_accesses_of_a_race_are_shown_and_their_lines_marked():
    made = PAGES["racy"]
    assert "thread 49, block 0, line 6" in made
    assert re.search(r'<tr class="marked"><th scope="row">6</th><td><pre>.*</pre></td><td class="mark">◀ write', made)
    assert re.search(r'<tr class="marked"><th scope="row">10</th><td><pre>.*</pre></td><td class="mark">◀ read', made)


def test_predictions_stand_beside_the_counts():
    predicted = replace(PASSED, predictions=(Prediction("sectors", "", 8, 4),))
    words, without = (Page(to_html([GradedPage(each)], versions=VERSIONS)).words for each in (predicted, PASSED))
    assert "sectors = 8, counted 4: your prediction is 2 times the count" in words
    assert "Predictions" not in without


def test_the_failing_case_is_shown():
    words = Page(PAGES["racy"]).words
    assert "The failing case size n=33 values exact ran on simulator" in words


def test_counters_stand_beside_their_source_line():
    made = PAGES["wasteful"]
    row = next(line for line in made.splitlines() if '<th scope="row">10</th><td class="h4"' in line)
    assert re.findall(r">([^<>]+)</td>", row) == ["622 592", "196 608", "50.0 %"]
    assert "partial[tid] += partial[tid + s]" in row


def test_places_far_apart_are_shown_with_a_gap_between():
    far = replace(RACE, accesses=(replace(RACE.accesses[0], line=1), replace(RACE.accesses[1], line=13)), line=13)
    assert "<td></td><td><pre>⋮</pre></td>" in page(replace(RACY, diagnostics=(far,)))
    assert "⋮" not in page(replace(RACY, diagnostics=(replace(far, accesses=()),)))


def test_only_a_newline_ends_a_line_as_for_the_compiler():
    made = page(
        replace(RACY, diagnostics=(replace(RACE, accesses=(), line=2),)), source="a\x0cb\x85\u2028c\r\nsecond\n"
    )
    assert re.search(r'<tr class="marked"><th scope="row">2</th><td class="text"><pre>second</pre>', made)
    assert "<td></td>" not in made


def test_columns_that_tell_nothing_are_left_out():
    assert "excess" in Page(PAGES["wasteful"]).texts_of("abbr")
    full = WASTEFUL.launches[0].lines[1]
    launch = replace(PASSED.launches[0], lines=(replace(full, counters=full.counters | {"active_lanes": 32.0}),))
    assert Page(page(replace(PASSED, launches=(launch,)))).texts_of("abbr") == ["instr.", "sectors", "used"]
    assert Page(PAGES["racy"]).texts_of("abbr") == []


def test_ratios_of_several_launches_are_weighted():
    lines = [(LineCounters(6, {"sectors": 100.0, "sector_efficiency": 1.0}),),
             (LineCounters(6, {"sectors": 300.0, "sector_efficiency": 0.2}),)]  # fmt: skip
    launches = tuple(LaunchRecord("k", (1, 1, 1), (32, 1, 1), 0, {}, one) for one in lines)
    assert "40.0 %" in Page(page(replace(PASSED, launches=launches))).words


def test_the_picture_of_a_missed_expectation_stands_at_the_finding_and_only_there():
    drawn = [words for words in Page(PAGES["wasteful"]).texts_of("title") if words.startswith("line 10")]
    assert len(drawn) == len(set(drawn)) == 2


def test_a_picture_has_as_many_cells_as_it_says():
    made = page(replace(PASSED, launches=(replace(PASSED.launches[0], worst=(STRIDED,)),)))
    kinds = Counter(re.findall(r'class="cell (\w+)"', made))
    assert kinds == {"used": 32, "wasted": 32}


def test_the_roofline_shows_this_run_the_roofs_and_the_ladder():
    made = PAGES["wasteful"]
    drawing = made[made.index('<svg class="roofline"') : made.index("</svg>", made.index('<svg class="roofline"'))]
    for words in ("this run 140 GFLOP/s", "reduce_v1 20 GFLOP/s", "reduce_v2 50 GFLOP/s", "4.8 TB/s", "66.9 TFLOP/s"):
        assert words in drawing
    heights = [float(y) for y in re.findall(r'cy="([\d.]+)"', drawing)]
    assert heights == sorted(heights)  # faster is higher
    assert '<svg class="roofline"' not in PAGES["passed"]


def test_a_roofline_of_integers_counts_operations_and_no_flop():
    made = roofline_svg(Roof(1000.0, 1.1e14, 4.8e12, 1.338e14, "OP"), [Point("earlier", 1000.0, 5e13)], "int8")
    for words in ("this run 110 TOP/s", "earlier 50 TOP/s", "134 TOP/s", "op per byte", "OP/s"):
        assert words in made
    assert "flop" not in made.lower()


def test_the_bar_has_its_line_and_the_time_its_interval():
    words = Page(PAGES["wasteful"]).words
    assert "35.4 % of the peak" in words
    assert "line 70.0 %" in words
    assert "95 % interval 2 ms – 2.2 ms, 30 samples" in words


def test_without_a_pass_line_the_bar_has_none():
    assert WASTEFUL.measured is not None
    made = page(replace(WASTEFUL, measured=replace(WASTEFUL.measured, line_fraction=0.0)))
    assert '<svg class="bar"' in made
    assert 'class="passline"' not in made


def test_the_command_repeats_the_run():
    assert "grade reduce_v3 --file reduce_v3.cu --seed 42" in PAGES["racy"]
    odd = page(replace(RACY, file="my file'; rm -rf.cu"))
    assert "--file 'my file'\"'\"'; rm -rf.cu' --seed" in Page(odd).words


def test_a_command_in_a_sentence_is_set_as_code():
    assert "grade start saxpy_grid_stride" in Page(PAGES["passed"]).texts_of("code")


def test_several_submissions_have_a_list_of_links():
    made = Page(PAGES["several"])
    assert [a["href"] for a in made.all("a")] == ["#s1", "#s2", "#s3", "#s4", "#s5"]
    assert made.texts_of("h1") == ["1 of 5 submissions passed · warpgrade"]


def test_versions_name_what_is_installed():
    assert "warpgrade 0.1.0, numpy 2.0" in Page(PAGES["passed"]).words
    assert "cupy" not in PAGES["passed"]


# ------------------------------------------------------------------------------------------------------ host exercises


def drawing_of(made: str) -> str:
    return made[made.index('<svg class="timeline"') : made.index("</svg>", made.index('<svg class="timeline"'))]


def test_a_missing_wait_shows_both_lines_of_the_host_file():
    made = PAGES["missing wait"]
    assert re.search(r'<tr class="marked"><th scope="row">9</th><td><pre>.*</pre></td><td class="mark">◀ has to', made)
    assert re.search(r'<tr class="marked"><th scope="row">11</th><td><pre>.*</pre></td><td class="mark">◀ comes', made)


def test_the_host_file_has_a_listing_of_its_own_with_the_marks():
    made = PAGES["missing wait"]
    own = made[made.index("The host file</h2>") :]
    assert "streams_overlap_host.py" not in made[made.index("Source</h2>") : made.index("The host file</h2>")]
    assert re.search(r'<tr class="marked"><th scope="row">11</th>.*smooth\(GRID', own)
    assert "The host file" not in PAGES["racy"]


def test_both_operations_of_a_missing_wait_are_marked_in_the_timeline():
    drawing = drawing_of(PAGES["missing wait"])
    assert drawing.count("marked-bar") == 2
    assert "▲ comes too early (line 11)" in drawing
    assert "▲ has to come first (line 9)" in drawing


def test_every_bar_of_a_timeline_says_what_it_is():
    titles = re.findall(r'<g class="bar-[^"]*"><title>([^<]*)</title>', drawing_of(page(OVERLAPPED)))
    assert len(titles) == 3 * 8
    assert titles[0] == "copy in: x, 64 MiB, 1 ms from the beginning (line 9)"
    assert titles[1] == "compute: smooth, 800 µs from 1 ms (line 11)"


def test_bytes_of_a_small_run_are_told_with_those_that_the_time_is_for():
    scaled = replace(OVERLAPPED, timeline=replace(OVERLAPPED.timeline, scale=128.0))
    made = page(scaled)
    titles = re.findall(r'<g class="bar-[^"]*"><title>([^<]*)</title>', drawing_of(made))
    assert titles[0] == "copy in: x, 64 MiB, timed as 8 GiB, 1 ms from the beginning (line 9)"
    assert "stream 1 copy in: x 0 1 ms 64 MiB, timed as 8 GiB 9" in Page(made).words


def test_a_timeline_is_told_as_a_table_too():
    words = Page(PAGES["missing wait"]).words
    assert "stream 1 copy in: x (has to come first) 0 1 ms 64 MiB 9" in words
    assert "stream 2 compute: smooth (comes too early) 2 ms 800 µs 11" in words


def test_a_timeline_says_where_its_times_come_from():
    words = Page(PAGES["timelines"]).words
    assert "modelled for an A100 (PCIe 4) · times not graded as `fast`" in words
    assert "measured on NVIDIA H200 by events · not graded" in words


def test_what_the_host_file_did_is_explained():
    words = Page(page(OVERLAPPED)).words
    assert "copied_bytes 1 GiB The bytes of" in words
    assert "host_waits" not in words  # there was none


@pytest.mark.parametrize("timeline", [MANY_NODES.timeline, overlapped(500, 16), overlapped(3000, 100)])
def test_a_timeline_takes_at_most_forty_kilobytes(timeline):
    with_it, without = (page(replace(OVERLAPPED, timeline=one)) for one in (timeline, None))
    assert 1000 < len(with_it.encode()) - len(without.encode()) <= 40_000
    Page(with_it)


# ------------------------------------------------------------------------------------------------------------- hostile


def test_hostile_text_of_every_field_stays_text():
    graded = GradedPage(evil_verdict(), EVIL * 3, EVIL, (Point(EVIL, 1.0, 1e9),), {EVIL: EVIL, "b_host.py": EVIL})
    made = to_html([graded, graded], versions={"x": EVIL})
    read = Page(made)
    assert {"script", "img"} & {tag for tag, _, _ in read.elements} == set()
    assert not any(name.startswith("on") for _, attributes, _ in read.elements for name in attributes)
    assert str(777 * 777) not in made
    assert "{{ 777*777 }}" in read.words


# ---------------------------------------------------------------------------------------------------------------- size


def test_a_long_source_is_cut_and_says_so():
    made = page(WASTEFUL, source="int x; // a line\n" * 5000)
    assert len(made.encode()) <= LARGEST
    assert "3500 more lines are not shown." in made


@pytest.mark.parametrize("line", ["<" * 10_000, "\u202e" * 1000, "🦀" * 1000])
def test_the_widest_source_stays_within_the_limit(line):
    made = page(WASTEFUL, source=(line + "\n") * 3000)
    assert len(made.encode()) <= LARGEST
    Page(made)


def test_many_submissions_leave_out_their_sources():
    made = page(*[WASTEFUL] * 90, source=SOURCE * 20)
    assert len(made.encode()) <= LARGEST
    assert "source listings and the lists of cases are left out" in made
    assert len(Page(made).all("article")) == 90


def test_far_too_many_submissions_leave_out_the_last_ones():
    loud = replace(RACY, diagnostics=(replace(RACE, message="<" * 4000),) * 50, next_step="<" * 4000)
    made = page(*[loud] * 100)
    assert len(made.encode()) <= LARGEST
    assert re.search(r"and the last \d+ submissions", made)
    Page(made)


def test_launches_that_look_the_same_are_one_row_with_their_number():
    words = Page(page(replace(PASSED, launches=PASSED.launches * 100))).words
    assert words.count("100 × vector_add") == 1
    assert "more in the" not in words


def test_long_lists_are_cut():
    cases = tuple(CaseResult({"n": n}, "passed") for n in range(500))
    launches = tuple(replace(PASSED.launches[0], grid=(n, 1, 1)) for n in range(100))
    made = page(replace(PASSED, cases=cases, launches=launches, diagnostics=(RACE,) * 40, printed="x\n" * 50_000))
    assert "400 more in the" in made
    assert "76 more in the" in made
    assert "28 more in the" in made
    assert len(made.encode()) < LARGEST / 4
