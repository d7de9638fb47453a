"""Host exercises through the stages: what the host file did as a technique, which run is drawn, what to do next."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from grader.compile import Program
from grader.counters import HOST_COUNTERS, in_words
from grader.errors import GraderFault
from grader.exercise import Array, Exercise, Expect
from grader.findings.sentences import sentence
from grader.grading import hints, judge
from grader.grading.advice import is_given_kernel, is_untouched, next_step
from grader.grading.hints import OF_ALL_BLOCKS
from grader.grading.hints.rules import Seen
from grader.grading.judge import failure_stage, word_of
from grader.grading.records import BackendReport, Case, CaseOutcome, Request, Speed, StageOutcome
from grader.grading.technique import evaluate, finding, total
from grader.verdict import STAGES, Diagnostic, LaunchRecord, LineCounters, StageResult, Timeline
from tests.grading.requests import changed, request_of

DOCS = Path(__file__).parents[2] / "docs"
LAUNCH = LaunchRecord("smooth", (1, 1, 1), (32, 1, 1), 0, {}, (LineCounters(7, {"sectors": 4.0}),))
WAITS = Expect("host_waits", at_most=1, why="Each wait lets the GPU run dry.", hint="wait once, at the end of run()")
EXERCISE = Exercise(
    name="streams",
    order=903,
    idea="overlap",
    arrays=(Array("x", "float32", "n"), Array("out", "float32", "n", role="out")),
    oracle="fake:twice",
    small=({"n": 1}, {"n": 33}),
    simulated={"n": 64},
    technique=(WAITS,),
    host=True,
)

# ------------------------------------------------------------------------------------------------------------ technique


def test_what_the_host_file_did_is_counted_once_for_the_run():
    assert total("host_waits", [LAUNCH, LAUNCH], {"host_waits": 3.0}) == 3
    assert total("host_waits", [LAUNCH], {}) == 0


def test_a_host_counter_without_a_host_file_is_the_graders_fault():
    with pytest.raises(GraderFault, match="no host file"):
        evaluate(WAITS, [LAUNCH], {})


def test_a_missed_host_counter_names_the_host_file_and_no_line_of_a_kernel():
    miss = evaluate(WAITS, [LAUNCH], {}, {"host_waits": 12.0})
    assert miss is not None
    found = hints.in_words(finding(miss, "streams_host.py"), Seen())
    assert found.message == "12 waits of the host; this step asks for at most 1. Each wait lets the GPU run dry."
    assert (found.file, found.line, found.kernel) == ("streams_host.py", None, None)
    assert (found.counter, found.hint) == ("host_waits", "wait once, at the end of run()")


@pytest.mark.parametrize(
    ("expect", "counters", "words"),
    [
        (Expect("pageable_bytes", at_most=0), {"pageable_bytes": 2.0**26},
         "64 MiB copied from or to pageable memory; this step asks for none."),
        (Expect("modelled_overlap", at_least=0.7), {"modelled_overlap": 0.512},
         "overlap 0.512 (the busiest engine's part of the time, modelled); this step asks for at least 0.7."),
        (Expect("copied_bytes", at_most=4, per="n"), {"copied_bytes": 512.0},
         "512 B copied at n=64; this step asks for at most 256 B (4*n)."),
        (Expect("copies", at_most=0.125, per="n"), {"copies": 65.0},
         "65 copies at n=64; this step asks for at most 8 (0.125*n)."),
        (Expect("mapped_bytes", at_least=1, per="4096*n"), {"mapped_bytes": 2048.0},
         "2 KiB moved through mapped memory at n=64; this step asks for at least 256 KiB (4096*n)."),
        (Expect("graph_launches", at_least=1), {}, "0 graph launches; this step asks for at least 1."),
    ],
)  # fmt: skip
def test_what_is_asked_for_is_said_in_its_unit(expect, counters, words):
    miss = evaluate(expect, [LAUNCH], {"n": 64}, counters)
    assert miss is not None
    assert sentence(finding(miss, "a_host.py")) == words


@pytest.mark.parametrize("counter", HOST_COUNTERS)
def test_every_host_counter_is_known_and_has_words(counter):
    assert re.search(r"\d", in_words(counter, 1.0))
    assert in_words(counter, 0.0) != in_words(counter, 3.0)


def test_the_page_of_counters_explains_every_host_counter_in_the_same_words():
    page = (DOCS / "counters.md").read_text(encoding="utf-8")
    section = page[page.index("## What the host file did") :]
    for name, known in HOST_COUNTERS.items():
        assert f"| `{name}` | {known.explained} |" in section


# -------------------------------------------------------------------------------------------------------- the judgement


def timeline(seconds: float, *, modelled: bool = True) -> Timeline:
    return Timeline((), seconds, modelled, "a GPU")


def outcome(n: int, seconds: float, *, counters: bool = False, **more) -> CaseOutcome:
    case = Case({"n": n}, "real", counters)
    return CaseOutcome(case, "sim", launches=(LAUNCH,), timeline=timeline(seconds), **more)


def request(tmp_path, **more) -> Request:
    path = tmp_path / "streams.cu"
    return request_of(EXERCISE, path, simulator=object(), **more)


def test_a_missed_technique_of_the_host_is_found_at_the_counted_size(tmp_path):
    reports = [BackendReport("sim", (outcome(1, 1, host_counters={"host_waits": 1.0}),
                              outcome(64, 2, counters=True, host_counters={"host_waits": 5.0})))]  # fmt: skip
    found = judge.technique_outcome(request(tmp_path, host_file=tmp_path / "mine_host.py"), reports)
    assert (found.status, found.word) == ("failed", "technique")
    assert found.diagnostics[0].file == "mine_host.py"
    assert judge.host_counters(reports) == {"host_waits": 5.0}


def test_a_met_technique_of_the_host_is_told_in_words(tmp_path):
    reports = [BackendReport("sim", (outcome(64, 2, counters=True, host_counters={"host_waits": 1.0}),))]
    assert judge.technique_outcome(request(tmp_path), reports).detail == "1 wait of the host (at most 1)"


@pytest.mark.parametrize(("by_host", "word"), [(0, "pass"), (24, "pass"), (28, "technique"), (256, "technique")])
def test_outputs_that_the_host_computed_by_itself_are_no_technique(tmp_path, by_host, word):
    counters = {"host_waits": 1.0, "host_written_bytes": float(by_host)}
    found = judge.technique_outcome(
        request(tmp_path), [BackendReport("sim", (outcome(64, 2, counters=True, host_counters=counters),))]
    )
    assert found.word == word
    if by_host == 256:
        assert found.detail == "the host computed 256 B of `out` by itself: no kernel computed these values"


def test_a_note_on_a_cause_is_told_with_its_verdict_alone():
    faults = Diagnostic("page_faults", "of the small case", severity="note")
    early = Diagnostic("read_too_early", "the host wrote", severity="note")
    reports = [BackendReport("sim", (
        outcome(1, 1, diagnostics=(faults, early)),
        outcome(64, 2, counters=True, diagnostics=(replace(faults, message="counted"), early)),
    ))]  # fmt: skip
    assert judge.ordered([], reports, "pass") == []
    assert [one.message for one in judge.ordered([], reports, "wrong")] == ["the host wrote"]
    assert [one.message for one in judge.ordered([], reports, "technique")] == ["counted"]


def test_what_stands_in_the_way_of_overlap_is_part_of_its_finding_and_never_told_alone(tmp_path):
    asked = replace(
        EXERCISE,
        technique=(Expect("modelled_overlap", at_least=0.7, why="They waited.", hint="general", note="no_overlap"),),
    )
    note = Diagnostic("no_overlap", "There were 31 waits.", severity="note", line=24, hint="queue everything first")
    counted = outcome(64, 2, counters=True, host_counters={"modelled_overlap": 0.357}, diagnostics=(note,))
    reports = [BackendReport("sim", (outcome(1, 1, diagnostics=(replace(note, message="of one sample"),)), counted))]
    made = changed(request(tmp_path, host_file=tmp_path / "mine_host.py"), exercise=asked)
    found = judge.technique_outcome(made, reports).diagnostics[0]
    assert found.message.endswith("They waited. There were 31 waits.")
    assert (found.file, found.line, found.hint) == ("mine_host.py", 24, "queue everything first")
    assert found.rule == "techniques.what_stands_in_the_way"
    assert judge.ordered([], reports, "technique") == []


def test_another_missed_technique_keeps_its_own_advice_beside_a_note_on_overlap(tmp_path):
    note = Diagnostic("no_overlap", "There were 31 waits.", severity="note", line=24, hint="queue everything first")
    counted = outcome(64, 2, counters=True, host_counters={"host_waits": 5.0}, diagnostics=(note,))
    found = judge.technique_outcome(request(tmp_path), [BackendReport("sim", (counted,))]).diagnostics[0]
    assert (found.line, found.hint) == (None, WAITS.hint)


@pytest.mark.parametrize(("why", "hint"), [("move the prefetch", "move the prefetch"), ("", "prefetch it")])
def test_page_faults_in_spite_of_a_prefetch_have_the_advice_of_their_note(tmp_path, why, hint):
    asked = replace(
        EXERCISE,
        technique=(Expect("faulted_bytes", at_most=0, why="They stop.", hint="prefetch it", note="page_faults"),),
    )
    note = Diagnostic("page_faults", "the most came when", severity="note", line=24, hint=why)
    counted = outcome(64, 2, counters=True, host_counters={"faulted_bytes": 512.0}, diagnostics=(note,))
    found = judge.technique_outcome(changed(request(tmp_path), exercise=asked), [BackendReport("sim", (counted,))])
    assert found.diagnostics[0].hint == hint


def test_a_launch_outside_of_a_capture_is_told_with_a_race_and_a_wrong_result():
    outside = Diagnostic("not_captured", "was launched while", severity="note")
    reports = [BackendReport("sim", (outcome(1, 1, diagnostics=(outside,)),))]
    told = {word: len(judge.ordered([], reports, word)) for word in ("pass", "technique", "race", "wrong")}
    assert told == {"pass": 0, "technique": 0, "race": 1, "wrong": 1}


def test_an_argument_that_is_misread_comes_before_what_it_led_to():
    strayed, misread = Diagnostic("out_of_bounds", "x[7]"), Diagnostic("argument_type", "8 bytes", severity="warning")
    reports = [BackendReport("sim", (outcome(1, 1, word="out_of_bounds", diagnostics=(strayed, misread)),))]
    findings = [StageOutcome("runs", "failed", "out_of_bounds", diagnostics=(strayed,))]
    assert judge.ordered(findings, reports, "out_of_bounds") == [misread, strayed]
    late = Diagnostic("missing_wait", "no event")
    race = [StageOutcome("runs", "failed", "race", diagnostics=(late,))]
    assert judge.ordered(race, reports, "race") == [late, misread]


def test_the_run_that_is_drawn_is_the_failing_one_else_the_timed_one():
    bad = outcome(33, 2, word="race", diagnostics=(Diagnostic("missing_wait", "no event"),))
    counted = outcome(64, 3, counters=True)
    sim = BackendReport("sim", (outcome(1, 1), bad, counted))
    gpu = BackendReport("gpu", speed=Speed("pass", "", timeline=timeline(4, modelled=False)))

    def drawn(word, reports, failing=None):
        found = judge.timeline(word, reports, failing)
        return None if found is None else found.elapsed_s

    assert drawn("race", [sim, gpu], bad.result) == 2
    assert drawn("pass", [BackendReport("sim", (outcome(1, 1), counted)), gpu]) == 4
    assert drawn("technique", [BackendReport("sim", (outcome(1, 1), counted)), gpu]) == 3
    assert drawn("pass", [BackendReport("sim", (outcome(1, 1), counted))]) == 3
    assert drawn("pass", [BackendReport("gpu", speed=Speed("pass", ""))]) is None


def test_a_finding_carries_its_line_of_the_host_file(tmp_path):
    host_file = tmp_path / "a_host.py"
    host_file.write_text("one\ntwo\n")
    found = Diagnostic("missing_wait", "no event", file="a_host.py", line=2)
    elsewhere = replace(found, file="b_host.py")
    program = Program("a.cu", "kernel\ncode\n", "", "sm_80", (), "key")
    own = replace(found, file="a.cu")
    shown = judge.with_source([found, elsewhere, own, replace(found, line=3)], program, host_file)
    assert [one.source for one in shown] == ["two", None, "code", None]


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        ("missing_wait", "race"),
        ("unfinished", "race"),
        ("host_conflict", "race"),
        ("use_after_free", "crash"),
        ("cuda_error", "crash"),
        ("outside", "unsupported"),
    ],
)
def test_findings_on_a_host_file_have_their_words_and_end_the_stage_runs(kind, word):
    assert word_of(Diagnostic(kind, "found")) == word
    assert failure_stage(word) == "runs"


# ------------------------------------------------------------------------------------------------------------ what next


@pytest.fixture
def files(tmp_path, monkeypatch) -> Path:
    """A stub of both files in the course, and the same here."""
    monkeypatch.chdir(tmp_path)
    course = tmp_path / "course"
    course.mkdir()
    for folder in (tmp_path, course):
        (folder / "streams.cu").write_text("// complete\n")
        (folder / "streams_host.py").write_text("def run():\n    # YOUR CODE: queue the chunks\n")
    return course


def host_request(files: Path) -> Request:
    return request_of(
        EXERCISE, Path("streams.cu"),
        stub=files / "streams.cu", host_file=Path("streams_host.py"), host_stub=files / "streams_host.py",
    )  # fmt: skip


STAGES_FAILED = tuple(StageResult(name, "failed") for name in STAGES)


def after(files: Path, word: str, found: Diagnostic) -> str:
    return next_step(host_request(files), word, STAGES_FAILED, [found])


def test_a_changed_host_file_beside_the_kernel_as_it_was_is_work(files):
    assert is_untouched(host_request(files))
    Path("streams_host.py").write_text("def run():\n    work()\n")
    assert not is_untouched(host_request(files))


def test_a_host_exercise_without_its_host_file_is_no_untouched_stub(files):
    assert not is_untouched(changed(host_request(files), host_file=None))


def test_an_empty_kernel_file_is_brought_back_without_the_loss_of_the_host_file(files):
    Path("streams.cu").rename(f"{EXERCISE.name}.cu")
    Path(f"{EXERCISE.name}.cu").write_text("")
    request = changed(host_request(files), path=Path(f"{EXERCISE.name}.cu"))
    said = next_step(request, "invalid", STAGES_FAILED, [])
    assert f"Delete ./{EXERCISE.name}.cu, and `grade start {EXERCISE.name}` puts its stub here" in said
    assert "--force" not in said


def test_the_untouched_stub_says_in_which_file_something_is_to_be_written(files):
    said = after(files, "wrong", Diagnostic("wrong", "out[0] is poison"))
    assert "open streams_host.py and write what is missing where it says YOUR CODE" in said


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("missing_wait", "Record an event after the operation that has to come first"),
        ("unfinished", "Let run() wait at its end"),
        ("host_conflict", "Wait for the operation that still uses this memory"),
        ("race", "Put a barrier between the two accesses"),
    ],
)
def test_a_race_of_the_host_file_asks_for_an_order_that_a_host_file_can_make(files, kind, words):
    Path("streams_host.py").write_text("work()\n")
    assert after(files, "race", Diagnostic(kind, "found", file="streams_host.py", line=3)).startswith(words)


def test_an_exception_whose_cause_is_plain_has_its_own_advice(files):
    Path("streams_host.py").write_text("def setup(x):\n    pass\n\n\ndef run():\n    work()\n")
    said = after(files, "crash", Diagnostic("crash", "TypeError: setup() takes 1 positional argument but 3 were given"))
    assert said.startswith("streams_host.py must have `def setup(module, x, out)` (line 1) and `def run()` (line 5)")


def test_where_no_line_is_known_none_is_to_be_looked_at(files):
    Path("streams_host.py").write_text("work()\n")
    assert "Look at" not in after(files, "crash", Diagnostic("crash", "it ended"))


def test_a_given_kernel_is_not_at_fault_and_one_of_ones_own_is(files):
    Path("streams_host.py").write_text("work()\n")
    assert is_given_kernel(host_request(files))
    Path("streams.cu").write_text("// my own\n")
    assert not is_given_kernel(host_request(files))


def test_a_kernel_that_is_left_to_write_is_not_called_right(files):
    for folder in (files, Path()):
        (folder / "streams.cu").write_text("// YOUR CODE: the kernel\n")
    assert not is_given_kernel(host_request(files))


GRID = replace(EXERCISE, blocks_race="All blocks must wait for each other.")


def test_blocks_that_race_where_the_grid_is_to_wait_are_told_so(files):
    Path("streams_host.py").write_text("work()\n")
    race = Diagnostic(
        "race",
        "race on x[0]",
        file="streams.cu",
        line=1,
        space="global",
        hint="use a second launch",
        rule=OF_ALL_BLOCKS[1],
    )
    assert after(files, "race", race) == "Use a second launch."
    grid = changed(host_request(files), exercise=GRID)
    assert next_step(grid, "race", STAGES_FAILED, [race]).startswith(GRID.blocks_race)
    shared = replace(race, space="shared")
    assert next_step(grid, "race", STAGES_FAILED, [shared]) == "Use a second launch."


@pytest.mark.parametrize("rule", ["overlaps.same_index_twice", "races.one_array_for_two_parameters", ""])
def test_where_the_grid_is_to_wait_a_race_of_another_cause_keeps_its_hint(files, rule):
    Path("streams_host.py").write_text("work()\n")
    race = Diagnostic("race", "race on x[0]", file="streams.cu", line=1, space="global", hint="look there", rule=rule)
    assert next_step(changed(host_request(files), exercise=GRID), "race", STAGES_FAILED, [race]) == "Look there."


def test_a_warning_that_cupy_printed_comes_before_what_was_not_written(files):
    Path("streams_host.py").write_text("work()\n")
    unset = Diagnostic("uninitialised_read", "reads x[5]", severity="warning", file="streams.cu", line=10)
    found = [Diagnostic("wrong", "out[5] is wrong"), unset]
    assert next_step(host_request(files), "wrong", STAGES_FAILED, found).startswith("Begin with the warning: line 10")
    printed = "streams_host.py:20: UserWarning: the grid is reduced\n"
    said = next_step(host_request(files), "wrong", STAGES_FAILED, found, printed)
    assert said.startswith("Begin with the warning that was printed.")


def test_a_host_that_may_have_read_too_early_is_to_begin_there(files):
    Path("streams_host.py").write_text("work()\n")
    note = Diagnostic(
        "read_too_early", "m", severity="note", file="streams_host.py", line=7, hint="wait for the kernel"
    )
    said = next_step(host_request(files), "wrong", STAGES_FAILED, [Diagnostic("wrong", "out[5] is wrong"), note])
    assert said.startswith("Begin with the note on line 7: wait for the kernel.")


def test_a_note_that_says_why_comes_before_the_hint_on_a_wrong_output(files):
    Path("streams_host.py").write_text("work()\n")
    note = Diagnostic("unwritten_copy", "m", severity="note", file="streams_host.py", line=7, hint="launch it before")
    wrong = Diagnostic("wrong", "out[5] is wrong", hint="something comes too early", rule="outputs.order_of_each_run")
    said = next_step(host_request(files), "wrong", STAGES_FAILED, [wrong, note])
    assert said.startswith("Begin with the note on line 7: launch it before.")


def test_an_exception_behind_an_open_capture_begins_with_the_capture(files):
    Path("streams_host.py").write_text("work()\n")
    left = Diagnostic("still_capturing", "m", severity="note", file="streams_host.py", line=7, hint="end the capture")
    stopped = Diagnostic("exception", "KeyError: 'graph'", file="streams_host.py", line=12)
    said = next_step(host_request(files), "crash", STAGES_FAILED, [stopped, left])
    assert said.startswith("Begin with the note on line 7: end the capture.")


def test_of_several_notes_the_likeliest_cause_is_where_to_begin(files):
    Path("streams_host.py").write_text("work()\n")
    early = Diagnostic("read_too_early", "m", severity="note", file="streams_host.py", line=7, hint="wait")
    outside = replace(early, kind="not_captured", line=9, hint="put it inside `with stream:`")
    said = next_step(host_request(files), "wrong", STAGES_FAILED, [Diagnostic("wrong", "out[5]"), early, outside])
    assert said.startswith("Begin with the note on line 9: put it inside `with stream:`.")


@pytest.mark.parametrize(
    ("hint", "begun"),
    [
        ("wait once, at the end", "Wait once, at the end."),
        ("cudaDeviceSetLimit comes first", "cudaDeviceSetLimit comes first."),
        ("hostRegister it", "hostRegister it."),
        ("a barrier is missing", "A barrier is missing."),
        ("x is too short", "x is too short."),
    ],
)
def test_a_next_step_begins_with_a_capital_unless_it_begins_with_a_name(files, hint, begun):
    Path("streams_host.py").write_text("work()\n")
    assert after(files, "crash", Diagnostic("cuda_error", "found", hint=hint)) == begun


def test_a_line_of_the_host_file_is_named_with_its_file(files):
    Path("streams_host.py").write_text("work()\n")
    said = after(files, "crash", Diagnostic("cuda_error", "too large", file="/x/streams_host.py", line=3))
    assert said.startswith("Look at line 3 of streams_host.py: that is where it stopped.")
