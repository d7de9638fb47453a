"""Timelines: where bars stand, what is merged, what a finding marks, and how a terminal draws it."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from verdict_samples import HOST_SOURCE, MANY_NODES, MISSING_WAIT, OVERLAPPED, SOURCE, WAITLESS, overlapped, replayed

from grader.render.evidence import host_marks, marked_lines, timeline_remark
from grader.render.html import GradedPage, to_html
from grader.render.terminal import to_terminal
from grader.render.timeline import LANES_SHOWN, Bar, Marked, chart_of
from grader.render.timeline_text import GLYPHS, placed, timeline_text
from grader.text import to_ascii
from grader.verdict import Diagnostic, Operation, Place, Timeline


def kernel(start: float, end: float, *, name="k", stream=1, line=5, device=0, kind="kernel") -> Operation:
    return Operation(kind, name, stream, start, end, 0, line, device)


def timeline(*operations: Operation, elapsed_s: float | None = None) -> Timeline:
    end = max((o.end_s for o in operations), default=0.0)
    return Timeline(operations, end if elapsed_s is None else elapsed_s, True, "A100 (PCIe 4)")


def chart(*operations: Operation, cells: int = 60, marks=(), **more):
    made = chart_of(timeline(*operations, **more), cells=cells, marks=marks)
    assert made is not None
    return made


def timeline_lines(drawn: Timeline, *, width: int = 80) -> list[str]:
    return [line.plain for line in timeline_text(drawn, width)]


def rows(text: list[str]) -> list[str]:
    return [line.split("│")[1] for line in text if line.count("│") >= 2]


# --------------------------------------------------------------------------------------------------------- the geometry


def test_bars_stand_at_their_times():
    (bar, other) = chart(kernel(0.0, 0.25), kernel(0.5, 1.0, name="other")).bars
    assert (bar.left, bar.right) == (0.0, 0.25)
    assert (other.left, other.right) == (0.5, 1.0)


def test_every_stream_has_a_row_and_the_default_stream_says_so():
    made = chart(kernel(0, 1, stream=3), kernel(0, 1, stream=0), kernel(0, 1, stream=1))
    assert [lane.label for lane in made.lanes] == ["default", "stream 1", "stream 3"]


def test_streams_of_several_gpus_are_grouped_by_gpu():
    made = chart(*(kernel(0, 1, stream=stream, device=device) for stream in (1, 2) for device in (0, 1)))
    assert [lane.label for lane in made.lanes] == [f"GPU {d} stream {s}" for d in (0, 1) for s in (1, 2)]
    assert made.shares_words == ("compute 100 % busy", "mean of 2 GPUs")


def test_short_neighbours_of_one_name_are_one_bar_with_their_number():
    made = chart_of(replayed(2000), cells=60)
    assert [bar.name for bar in made.bars] == ["2000 × step", "out"]
    assert (made.bars[0].count, made.bars[0].lines) == (2000, (20,))


def test_short_neighbours_that_alternate_are_one_bar_of_both():
    pairs = (
        kernel(i * 1e-6, (i + 0.5) * 1e-6, name=name, kind=kind)
        for i in range(1000)
        for name, kind in (("x", "to_device"), ("step", "kernel"))
    )
    moved = [replace(o, start_s=o.start_s + (o.kind == "kernel") * 5e-7, end_s=o.end_s + (o.kind == "kernel") * 5e-7)
             for o in pairs]  # fmt: skip
    (bar,) = chart(*moved).bars
    assert (bar.name, bar.kinds, bar.count) == ("1000 × (x, step)", ("to_device", "kernel"), 2000)


def test_long_neighbours_and_neighbours_with_a_gap_stay_apart():
    assert len(chart(kernel(0, 0.5), kernel(0.5, 1)).bars) == 2
    assert len(chart(kernel(0, 0.01), kernel(0.5, 0.51), elapsed_s=1.0).bars) == 2


def test_what_runs_side_by_side_in_one_stream_has_rows_of_its_own():
    made = chart(kernel(0, 1), kernel(0.2, 0.8, name="branch"))
    assert [lane.label for lane in made.lanes] == ["stream 1", ""]


def test_ticks_are_round_and_the_last_names_the_unit():
    assert [label for _, label in chart(kernel(0, 6.4e-3)).ticks] == ["0", "2", "4", "6 ms"]
    assert [label for _, label in chart(kernel(0, 1e-3)).ticks] == ["0", "0.2", "0.4", "0.6", "0.8", "1 ms"]
    assert [label for _, label in chart(kernel(0, 3.1e-5)).ticks] == ["0", "5", "10", "15", "20", "25", "30 µs"]


@pytest.mark.parametrize("exponent", range(-9, 4))
@pytest.mark.parametrize("first", [1.0, 1.3, 2.0, 2.9, 4.0, 5.0, 7.7, 9.99])
def test_every_span_has_a_few_ticks_within_the_axis(exponent, first):
    ticks = chart(kernel(0, first * 10.0**exponent)).ticks
    assert 4 <= len(ticks) <= 8
    assert all(0 <= place <= 1 + 1e-9 for place, _ in ticks)


def test_shares_are_the_time_that_an_engine_works_not_the_sum_of_its_operations():
    both = (kernel(0, 0.5, stream=1), kernel(0.25, 0.75, stream=2), kernel(0.5, 1.0, stream=1, kind="to_host"))
    made = chart(*both)
    assert made.shares == (("compute", 0.75), ("copy out", 0.5))
    assert made.together == pytest.approx(0.25)
    assert made.shares_words == ("compute 75 % busy", "copy out 50 %", "two or more at once 25 %")


def test_a_timeline_by_the_stand_ins_clock_says_so_and_a_measured_one_too():
    assert chart(kernel(0, 1)).caption == ("modelled for an A100 (PCIe 4)", "times not graded as `fast`")
    scaled = replace(timeline(kernel(0, 1)), device="A100 (PCIe 4), with 128 times the simulated work")
    assert chart_of(scaled, cells=60).caption[0] == "modelled for an A100 (PCIe 4) with 128 times the work"
    assert chart_of(replayed(2), cells=60).caption == ("measured on NVIDIA H200 by events", "not graded")


@pytest.mark.parametrize(
    "broken",
    [
        timeline(),
        timeline(kernel(0, 0)),
        timeline(kernel(0, math.inf)),
        timeline(kernel(math.nan, 1)),
        timeline(kernel(2, 1), elapsed_s=math.nan),
        timeline(kernel(0, 1, kind="nothing known")),
    ],
)
def test_what_cannot_be_true_is_not_drawn(broken):
    assert chart_of(broken, cells=60) is None
    assert timeline_text(broken, 80) == []


def test_of_far_too_many_operations_the_first_are_drawn_and_that_is_said():
    made = chart_of(replayed(30_000), cells=60)
    assert [bar.name for bar in made.bars] == ["20000 × step"]
    assert made.caption == ("measured on NVIDIA H200 by events", "the first 20000 operations", "not graded")


def test_a_false_operation_does_not_hide_the_others():
    made = chart_of(timeline(kernel(0, 1), kernel(math.nan, 1), elapsed_s=math.inf), cells=60)
    assert [bar.name for bar in made.bars] == ["k"]
    assert made.elapsed_s == 1


# ------------------------------------------------------------------------------------------------------- what is marked


def test_a_finding_names_its_two_operations_the_accused_first():
    assert host_marks(MISSING_WAIT) == [Marked(11, "comes too early", 2), Marked(9, "has to come first", 1)]
    assert marked_lines(MISSING_WAIT) == {11: "comes too early", 9: "has to come first"}


def finding(*places: Place, file: str = "a_host.py") -> Diagnostic:
    """A missing wait between operations at these places, the first of which is accused."""
    return replace(MISSING_WAIT, file=file, line=places[0].line, places=places)


def at(line: int, stream: int, role: str = "accused", **more: Any) -> Place:
    return Place(role, line, "a_host.py", stream=stream, **more)


def test_the_default_stream_and_a_loop_of_one_line_are_understood():
    found = finding(at(7, 1), at(7, 0, "other"), file="there/a_host.py")
    assert host_marks(finding(at(7, 1, device=3), at(7, 0, "other")))[0] == Marked(7, "comes too early", 1, 3)
    assert host_marks(found) == [Marked(7, "comes too early", 1), Marked(7, "has to come first", 0)]
    assert marked_lines(found) == {7: "queues both"}


def test_an_operation_of_an_earlier_run_is_marked_in_the_excerpt_and_not_in_the_drawing():
    found = finding(at(9, 1), at(11, 1, "other", when="earlier_run"))
    assert marked_lines(found) == {9: "comes too early", 11: "of an earlier run"}
    made = chart_of(overlapped(4, 2), cells=80, marks=host_marks(found))
    assert [(bar.mark, bar.lines) for bar in made.bars if bar.mark] == [("comes too early", (9,))]


def test_where_both_write_neither_is_too_early():
    found = finding(at(8, 2, "either"), at(7, 1, "either"))
    assert marked_lines(found) == {8: "writes it", 7: "writes it too"}


def test_a_finding_without_places_marks_its_line():
    found = replace(MISSING_WAIT, kind="unfinished", places=(), line=12)
    assert host_marks(found) == [Marked(12, "nobody waits for it", None)]


def test_findings_of_kernels_mark_no_operation():
    assert host_marks(replace(MISSING_WAIT, kind="race")) == []


def test_of_a_loop_the_two_operations_next_to_each_other_are_marked():
    made = chart_of(overlapped(8, 2), cells=80, marks=host_marks(MISSING_WAIT))
    marked = [(bar.mark, bar.start_s) for bar in made.bars if bar.mark]
    assert len(marked) == 2
    assert {mark for mark, _ in marked} == {"comes too early", "has to come first"}


def test_of_a_loop_exactly_the_operations_that_the_finding_names_are_marked():
    found = finding(at(11, 2, occurrence=3), at(9, 1, "other", occurrence=1))
    assert [(mark.line, mark.turn) for mark in host_marks(found)] == [(11, 3), (9, 1)]
    loop = [
        replace(one, stream=1 if one.line == 9 else 2, turn=turn)
        for line in (9, 11)
        for turn, one in enumerate((kernel(i / 4, i / 4 + 0.2, line=line) for i in range(4)), 1)
    ]
    marked = [(bar.mark, bar.start_s) for bar in chart(*loop, marks=host_marks(found)).bars if bar.mark]
    assert marked == [("has to come first", 0.0), ("comes too early", 0.5)]


def test_where_nobody_counted_a_lines_operations_any_of_them_may_be_meant():
    made = chart(kernel(0, 0.4), kernel(0.5, 1), marks=[Marked(5, "here", turn=2)])
    assert [bar.mark for bar in made.bars] == ["here", ""]


@pytest.mark.parametrize("kind", ["missing_wait", "unfinished", "host_conflict"])
def test_below_the_drawing_of_a_race_it_is_said_that_this_order_is_one_of_several(kind):
    found = replace(MISSING_WAIT, kind=kind)
    text = to_terminal(replace(WAITLESS, diagnostics=(found,)), color=False)
    assert "Nothing guarantees this order: the grader runs each operation as late as is allowed" in " ".join(
        text.split()
    )
    assert "Nothing guarantees this order" in to_html(
        [GradedPage(replace(WAITLESS, diagnostics=(found,)))], versions={}
    )


def test_of_a_measured_timeline_and_of_freed_memory_no_other_order_is_claimed():
    measured = replace(WAITLESS.timeline, modelled=False)
    assert timeline_remark(replace(WAITLESS, timeline=measured), MISSING_WAIT) == ""
    assert timeline_remark(WAITLESS, replace(MISSING_WAIT, kind="use_after_free")) == ""


def test_a_marked_operation_is_never_merged():
    made = chart_of(replayed(2000), cells=60, marks=[Marked(20, "here")])
    assert [(bar.count, bar.mark) for bar in made.bars] == [(1, "here"), (1999, ""), (1, "")]


def test_of_many_streams_those_with_a_mark_are_among_those_shown():
    operations = [kernel(0, 0.001 if stream == 77 else 1, stream=stream, line=stream) for stream in range(1, 100)]
    made = chart_of(timeline(*operations), cells=60, marks=[Marked(77, "here")])
    assert len(made.lanes) == LANES_SHOWN
    assert made.left_out == 99 - LANES_SHOWN
    assert "stream 77" in [lane.label for lane in made.lanes]


# --------------------------------------------------------------------------------------------------------- the terminal


def test_a_terminal_shows_copies_kernels_and_their_names():
    text = timeline_lines(overlapped(4, 2), width=80)
    assert rows(text) == [
        "» x »»»»»»████████« out «««» x »»»»»»»████████« out «««          ",
        "          » x »»»»»»████████« out ««««» x »»»»»»████████« out «««",
    ]
    assert text[2:] == [
        "              0                   2                    4                   6 ms",
        "    »» copy in   ██ compute   «« copy out",
        "    copy in 62 % busy · compute 50 % · copy out 56 % · two or more at once 69 %",
        "    modelled for an A100 (PCIe 4) · times not graded as `fast`",
    ]


def test_a_missing_wait_is_pointed_at_in_the_drawing():
    text = [line.plain for line in timeline_text(WAITLESS.timeline, 80, host_marks(MISSING_WAIT))]
    first, said, second, accused = text[:4]
    assert said.strip() == "▲ has to come first (line 9)"
    assert accused.strip() == "▲ comes too early (line 11)"
    assert first[said.index("▲")] in "» x"
    assert second[accused.index("▲")] == "█"


def test_what_went_on_behind_the_end_of_run_is_drawn_behind_a_mark():
    late = timeline(kernel(0, 0.5), kernel(0.5, 1.0, kind="to_host"), elapsed_s=0.6)
    text = timeline_lines(late)
    assert text[1].strip() == "▲ run() had returned"
    assert 0.5 < text[1].index("▲") / text[0].rindex("│") < 0.7
    assert "returned" not in "".join(timeline_lines(replace(late, elapsed_s=1.0)))


def test_a_short_operation_keeps_a_cell():
    text = timeline_lines(timeline(kernel(0, 1e-7, name="tiny"), kernel(0.5, 1.0, kind="to_host")))
    assert rows(text)[0].startswith("█ ")
    last = timeline_lines(timeline(kernel(0, 1, kind="to_host"), kernel(1, 1 + 1e-7)))
    assert rows(last)[0].endswith("«█")


def test_bars_of_one_kind_that_touch_are_told_apart():
    drawn = timeline_lines(timeline(kernel(0, 0.5, name="a"), kernel(0.5, 1, name="b")), width=60)
    assert "█│█ b █" in drawn[0]
    assert drawn[-4].endswith("│ here the next one begins")
    apart = timeline_lines(timeline(kernel(0, 0.4, name="a"), kernel(0.5, 1, name="b")), width=60)
    assert "│" not in apart[-3]


@pytest.mark.parametrize("beat", [1.99, 2.0, 2.01, 2.6, 3.4, 5.5])
@pytest.mark.parametrize("offset", [0.0, 0.3, 0.7])
def test_equal_gaps_look_equal(beat, offset):
    """A kernel runs for three quarters of each beat: whatever the rounding, each gap is seen."""
    bars = [Bar(("kernel",), "k", (offset + i * beat) / 64, (offset + (i + 0.75) * beat) / 64, 0, 0, 1, 0, ())
            for i in range(int(62 / beat))]  # fmt: skip
    spans = [(begin, end) for _, begin, end in placed(bars, 64)]
    assert len(spans) == len(bars)
    gaps = [after[0] - before[1] for before, after in pairwise(spans)]
    assert min(gaps) >= 1
    assert max(gaps) <= min(gaps) + 1


def test_what_comes_faster_than_a_bar_and_a_gap_is_one_bar_with_its_number():
    hasty = [kernel(i * 0.028, i * 0.028 + 0.021) for i in range(30)]  # each 1.7 cells, and a gap in it
    (bar,) = chart(*hasty, elapsed_s=1.0).bars
    assert bar.name == "30 × k"


@pytest.mark.parametrize("width", [60, 72, 80, 100, 120, 200])
@pytest.mark.parametrize("name", ["overlapped", "many", "ring", "crowded"])
def test_no_line_is_too_wide_and_none_is_one_too_many(width, name):
    ring = [kernel(i * 1e-4, (i + 1) * 1e-4, device=d, stream=d % 2, kind="peer") for d in range(8) for i in range(5)]
    crowded = [kernel(i * 1e-6, 1, stream=i, name=f"kernel{i}") for i in range(500)]
    shown = {"overlapped": overlapped(64, 16), "many": replayed(2000), "ring": timeline(*ring),
             "crowded": timeline(*crowded)}[name]  # fmt: skip
    marks = [Marked(5, "comes too early"), Marked(20, "has to come first")]
    text = [line.plain for line in timeline_text(shown, width, marks)]
    assert 0 < len(text) <= 24
    assert max(map(len, text)) <= width
    assert len({line.rindex("│") for line in text if line.count("│") >= 2}) == 1


def test_ascii_has_glyphs_of_its_own_in_the_same_places():
    plain = timeline_lines(overlapped(4, 2))
    ascii_only = [to_ascii(line) for line in plain]
    assert all(line.isascii() for line in ascii_only)
    assert list(map(len, plain)) == list(map(len, ascii_only))
    assert "> x >>>>>>########< out <<<" in ascii_only[0]


def test_glyphs_of_all_kinds_differ_with_and_without_unicode():
    assert len(set(GLYPHS.values())) == len(GLYPHS)
    assert len({to_ascii(glyph) for glyph in GLYPHS.values()}) == len(GLYPHS)


def test_a_name_of_the_submission_cannot_move_the_cursor():
    drawn = "\n".join(timeline_lines(timeline(kernel(0, 1, name="\x1b[2J\u202eevil\n"))))
    assert "\x1b" not in drawn
    assert "\u202e" not in drawn
    assert len(drawn.splitlines()) == 5


def test_a_narrow_terminal_has_no_drawing():
    assert timeline_text(overlapped(4, 2), 50) == []


# ----------------------------------------------------------------------------------------------------------- the report


def report(verdict, **more) -> str:
    return to_terminal(verdict, SOURCE, beside={"streams_overlap_host.py": HOST_SOURCE}, color=False, **more)


def test_the_excerpt_of_a_host_finding_is_from_the_host_file_with_both_lines_marked():
    lines = report(WAITLESS).splitlines()
    assert any(line.startswith("  ▶  9 │         chunk[i].set(x[i]") and "has to come first" in line for line in lines)
    assert any(line.startswith("  ▶ 11 │             smooth(GRID") and "comes too early" in line for line in lines)
    assert "    streams_overlap_host.py, line 11" in lines
    assert "partial" not in report(WAITLESS)  # a word of the .cu


def test_without_the_host_files_text_no_line_of_the_kernel_file_is_shown():
    assert "▶" not in to_terminal(WAITLESS, SOURCE, color=False)


def test_a_kernels_finding_in_a_host_exercise_still_shows_the_kernel_file():
    from verdict_samples import RACE

    kernel_race = replace(WAITLESS, diagnostics=(replace(RACE, file="streams_overlap.cu"),))
    assert "  ▶ 10 │             partial[tid] += partial[tid + s];" in report(kernel_race)


def test_the_drawing_stands_between_the_finding_and_the_next_step():
    text = report(WAITLESS)
    assert text.index("fills it") < text.index("▲ comes too early") < text.index("next:")


def test_a_right_answer_shows_what_the_host_file_did_and_its_timeline():
    text = report(OVERLAPPED)
    assert "8 launch calls, 3 streams, 16 copies (1 GiB)" in text
    assert "overlap 0.893 (the busiest engine's part of the time, modelled)" in " ".join(text.split())
    assert "█ 2000 × step █" in report(MANY_NODES)


def test_the_overlap_is_told_where_there_was_something_to_overlap_or_it_was_asked_for():
    alone = replace(OVERLAPPED, host_counters={**OVERLAPPED.host_counters, "streams": 1.0})
    asked = replace(
        alone, verdict="technique", diagnostics=(replace(MISSING_WAIT, kind="technique", counter="modelled_overlap"),)
    )
    assert "overlap 0.893" in report(OVERLAPPED)
    assert "overlap 0.893" not in report(alone)
    assert "overlap 0.893" in report(asked)
    pages = ["modelled_overlap" in to_html([GradedPage(one)], versions={}) for one in (OVERLAPPED, alone, asked)]
    assert pages == [True, False, True]


def test_where_the_overlap_was_too_little_the_drawing_says_that_it_is_graded():
    missed = replace(MISSING_WAIT, kind="technique", counter="modelled_overlap")
    told = replace(OVERLAPPED, verdict="technique", diagnostics=(missed,))
    for shown, words in ((told, True), (OVERLAPPED, False)):
        assert ("The overlap is graded" in report(shown)) is words
        assert ("The overlap is graded" in to_html([GradedPage(shown)], versions={})) is words


def test_memory_without_a_name_is_told_in_words():
    from verdict_samples import RACE

    found = replace(RACE, file="streams_overlap.cu", array="(memory allocated at line 28)", space="global", index=3)
    assert "global memory allocated at line 28, element 3, byte 196 of it" in " ".join(
        report(replace(WAITLESS, diagnostics=(found,))).split()
    )


def test_a_wrong_answer_shows_no_timeline():
    assert "»»" not in report(replace(WAITLESS, verdict="wrong", diagnostics=(replace(MISSING_WAIT, kind="wrong"),)))


def test_a_finding_in_a_kernel_shows_where_the_host_file_launched_it():
    from verdict_samples import RACE

    found = replace(
        RACE, file="streams_overlap.cu", launch="streams_overlap_host.py:11 with x = x (33 elements), n = 33"
    )
    told = " ".join(report(replace(WAITLESS, diagnostics=(found,))).split())
    assert "launched at streams_overlap_host.py:11 with x = x (33 elements), n = 33" in told


def test_a_warning_about_the_host_file_names_the_file():
    warned = replace(
        OVERLAPPED, diagnostics=(replace(MISSING_WAIT, kind="refused", severity="warning", message="look here"),)
    )
    assert "look here (streams_overlap_host.py, line 11)" in report(warned)


DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_drawing_in_the_documentation_is_the_one_that_is_drawn():
    page = (DOCS / "host-exercises.md").read_text(encoding="utf-8")
    assert "\n".join(timeline_lines(overlapped(4, 2), width=80)) in page
