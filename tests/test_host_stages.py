"""Host exercises through the stages: what the host file did as a technique, which run is drawn, what to do next."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from grader.compile import Program
from grader.errors import GraderFault
from grader.exercise import Array, Exercise, Expect
from grader.host_counters import HOST_COUNTERS, told
from grader.stages import judge
from grader.stages.advice import is_untouched, next_step
from grader.stages.records import Case, Outcome, Report, Request, Speed
from grader.stages.technique import KNOWN, diagnostic, evaluate, total
from grader.stages.words import failure_stage, word_of
from grader.verdict import STAGES, Diagnostic, LaunchRecord, LineCounters, StageResult, Timeline

DOCS = Path(__file__).parents[1] / "docs"
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
    found = diagnostic(miss, "streams_host.py")
    assert found.message == "12 waits of the host; this step asks for at most 1. Each wait lets the GPU run dry."
    assert (found.file, found.line, found.kernel) == ("streams_host.py", None, None)
    assert (found.counter, found.hint) == ("host_waits", "wait once, at the end of run()")


@pytest.mark.parametrize(
    ("expect", "counters", "words"),
    [
        (Expect("pageable_bytes", at_most=0), {"pageable_bytes": 2.0**26},
         "64 MiB copied from or to pageable memory; this step asks for at most 0 B."),
        (Expect("modelled_overlap", at_least=0.7), {"modelled_overlap": 0.512},
         "overlap 0.512 (modelled); this step asks for at least 0.7."),
        (Expect("copied_bytes", at_most=4, per="n"), {"copied_bytes": 512.0},
         "copied bytes per n is 8; this step asks for at most 4."),
        (Expect("graph_launches", at_least=1), {}, "0 graph launches; this step asks for at least 1."),
    ],
)  # fmt: skip
def test_what_is_asked_for_is_said_in_its_unit(expect, counters, words):
    miss = evaluate(expect, [LAUNCH], {"n": 64}, counters)
    assert miss is not None
    assert diagnostic(miss, "a_host.py").message == words


@pytest.mark.parametrize("counter", HOST_COUNTERS)
def test_every_host_counter_is_known_and_has_words(counter):
    assert counter in KNOWN
    assert re.search(r"\d", told(counter, 1.0))
    assert told(counter, 0.0) != told(counter, 3.0)


def test_the_stand_in_counts_what_is_explained():
    from grader.standin.machine.records import HOST_COUNTERS as counted

    assert set(counted) == set(HOST_COUNTERS)


def test_the_page_of_counters_explains_every_host_counter_in_the_same_words():
    page = (DOCS / "counters.md").read_text(encoding="utf-8")
    section = page[page.index("## What the host file did") :]
    for name, known in HOST_COUNTERS.items():
        assert f"| `{name}` | {known.explained} |" in section


# -------------------------------------------------------------------------------------------------------- the judgement


def timeline(seconds: float, *, modelled: bool = True) -> Timeline:
    return Timeline((), seconds, modelled, "a GPU")


def outcome(n: int, seconds: float, *, counters: bool = False, **more) -> Outcome:
    case = Case({"n": n}, "real", counters)
    return Outcome(case, "sim", launches=(LAUNCH,), timeline=timeline(seconds), **more)


def request(tmp_path, **more) -> Request:
    path = tmp_path / "streams.cu"
    return Request(EXERCISE, path, 1, oracle=lambda: None, simulator=object(), **more)


def test_a_missed_technique_of_the_host_is_found_at_the_counted_size(tmp_path):
    reports = [Report("sim", (outcome(1, 1, host_counters={"host_waits": 1.0}),
                              outcome(64, 2, counters=True, host_counters={"host_waits": 5.0})))]  # fmt: skip
    found = judge.technique_finding(request(tmp_path, host_file=tmp_path / "mine_host.py"), reports)
    assert (found.status, found.word) == ("failed", "technique")
    assert found.diagnostics[0].file == "mine_host.py"
    assert judge.host_counters(reports) == {"host_waits": 5.0}


def test_a_met_technique_of_the_host_is_told_in_words(tmp_path):
    reports = [Report("sim", (outcome(64, 2, counters=True, host_counters={"host_waits": 1.0}),))]
    assert judge.technique_finding(request(tmp_path), reports).detail == "1 wait of the host"


def test_the_run_that_is_drawn_is_the_failing_one_else_the_timed_one():
    bad = outcome(33, 2, word="race", diagnostics=(Diagnostic("missing_wait", "no event"),))
    counted = outcome(64, 3, counters=True)
    sim = Report("sim", (outcome(1, 1), bad, counted))
    gpu = Report("gpu", speed=Speed("pass", "", timeline=timeline(4, modelled=False)))

    def drawn(word, reports, failing=None):
        found = judge.timeline(word, reports, failing)
        return None if found is None else found.elapsed_s

    assert drawn("race", [sim, gpu], bad.result) == 2
    assert drawn("pass", [Report("sim", (outcome(1, 1), counted)), gpu]) == 4
    assert drawn("technique", [Report("sim", (outcome(1, 1), counted)), gpu]) == 3
    assert drawn("pass", [Report("sim", (outcome(1, 1), counted))]) == 3
    assert drawn("pass", [Report("gpu", speed=Speed("pass", ""))]) is None


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
    return Request(
        EXERCISE, Path("streams.cu"), 1, oracle=lambda: None, simulator=None,
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
    assert not is_untouched(replace(host_request(files), host_file=None))


def test_the_untouched_stub_says_in_which_file_something_is_to_be_written(files):
    said = after(files, "wrong", Diagnostic("wrong", "out[0] is poison"))
    assert "open streams_host.py and write what is missing where it says YOUR CODE" in said


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("missing_wait", "Record an event behind the operation that has to come first"),
        ("unfinished", "Let run() wait at its end"),
        ("host_conflict", "Wait for the operation that still uses this memory"),
        ("race", "Put a barrier between the two accesses"),
    ],
)
def test_a_race_of_the_host_file_asks_for_an_order_that_a_host_file_can_make(files, kind, words):
    Path("streams_host.py").write_text("work()\n")
    assert after(files, "race", Diagnostic(kind, "found", file="streams_host.py", line=3)).startswith(words)


def test_a_line_of_the_host_file_is_named_with_its_file(files):
    Path("streams_host.py").write_text("work()\n")
    said = after(files, "crash", Diagnostic("cuda_error", "too large", file="/x/streams_host.py", line=3))
    assert said.startswith("Look at line 3 of streams_host.py: that is where it stopped.")
