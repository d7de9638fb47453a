"""The pipeline's judgement: technique by counters, the order of stages, points, and the way through two backends."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import pytest

from grader.backends.base import Backend, CaseRun, Execution
from grader.backends.conditions import USUAL
from grader.catalog.exercises import load_catalog
from grader.compile import Entry, Parameter, Program
from grader.errors import GraderFault, RefusedProgram, SubmissionError, Unsupported
from grader.exercise import SECRET_SIZES, Array, Exercise, Expect, Target, Tolerance, Values, Work
from grader.gpus.models import capability, simulable
from grader.grading.advice import next_step
from grader.grading.cases import elements, larger_secret_sizes, secret_size_below_timed, small_cases
from grader.grading.grade import grade
from grader.grading.hints import in_words
from grader.grading.hints.rules import Seen, access, race
from grader.grading.judge import failure_word, score, word_of
from grader.grading.records import Case, Request, Speed
from grader.grading.technique import evaluate, evaluate_elsewhere, finding, total, without_consequences
from grader.inputs import make_inputs, unusual_kinds
from grader.launch import DeviceLimits
from grader.verdict import STAGES, Access, Diagnostic, LaunchRecord, LineCounters, Measurement, StageResult, Verdict
from tests.grading.requests import changed, request_of

# ----------------------------------------------------------------------------------------------------------- technique


def launch(lines: tuple[LineCounters, ...] = (), **counters: float) -> LaunchRecord:
    return LaunchRecord("k", (1, 1, 1), (32, 1, 1), 0, counters, lines)


def test_amounts_are_summed_over_launches():
    assert total("excess_wavefronts", [launch(excess_wavefronts=3), launch(excess_wavefronts=4)]) == 7


def test_number_of_launches_is_a_counter():
    assert total("launches", [launch(), launch()]) == 2


def test_ratio_is_the_ratio_of_the_sums_and_not_the_mean_of_the_ratios():
    launches = [launch(sector_efficiency=1.0, sectors=300), launch(sector_efficiency=0.5, sectors=100)]
    assert total("sector_efficiency", launches) == pytest.approx(0.875)


def test_launch_without_an_access_says_nothing_about_a_ratio():
    launches = [launch(sector_efficiency=0.5, sectors=10), launch(sector_efficiency=float("nan"), sectors=0)]
    assert total("sector_efficiency", launches) == 0.5


@pytest.mark.parametrize("expect", [Expect("sector_efficiency", at_least=0.9), Expect("active_lanes", at_most=9)])
def test_ratio_over_nothing_at_all_is_a_miss(expect):
    miss = evaluate(expect, [launch(sectors=0)], {})
    assert miss is not None
    words = expect.counter.replace("_", " ")
    assert finding(miss, "k.cu").facts["found"] == f"{words} has no value, because nothing was done that it counts"


def test_counter_that_nobody_counts_is_the_graders_fault():
    with pytest.raises(GraderFault, match="sector_eficiency"):
        evaluate(Expect("sector_eficiency", at_least=0.9), [launch(sectors=1)], {})


@pytest.mark.parametrize(("found", "met"), [(0.98, False), (0.99, True), (1.0, True)])
def test_at_least_is_met_at_its_bound_and_above(found, met):
    expect = Expect("sector_efficiency", at_least=0.99)
    assert (evaluate(expect, [launch(sector_efficiency=found, sectors=8)], {}) is None) is met


@pytest.mark.parametrize(("found", "met"), [(255.0, True), (256.0, True), (257.0, False)])
def test_at_most_is_per_size_where_the_exercise_says_so(found, met):
    expect = Expect("shared_requests", at_most=0.25, per="n")
    assert (evaluate(expect, [launch(shared_requests=found)], {"n": 1024}) is None) is met


def test_missed_expectation_names_the_worst_line():
    lines = (LineCounters(7, {"excess_wavefronts": 1.0}), LineCounters(9, {"excess_wavefronts": 31.0}))
    miss = evaluate(Expect("excess_wavefronts", at_most=0, why="Banks."), [launch(lines, excess_wavefronts=32.0)], {})
    assert miss is not None
    found = in_words(finding(miss, "k.cu"), Seen())
    assert (found.line, found.kernel, found.file) == (9, "k", "k.cu")
    assert found.message == (
        "excess wavefronts is 32; this step asks for at most 0. Line 9 stands out with 31 excess wavefronts. Banks."
    )


def test_lines_that_have_as_much_are_all_named():
    lines = (LineCounters(7, {"sectors": 64.0}), LineCounters(9, {"sectors": 64.0}), LineCounters(11, {"sectors": 8.0}))
    miss = evaluate(Expect("sectors", at_most=0, why="Wide."), [launch(lines, sectors=136.0)], {})
    assert miss is not None
    assert (
        "; this step asks for at most 0. Lines 7 and 9 have 64 sectors each. Wide."
        in in_words(finding(miss, "k.cu"), Seen()).message
    )


@pytest.mark.parametrize(
    ("efficiency", "left"), [(1.0, ["global_load_bytes"]), (0.5, ["global_load_bytes", "sectors"])]
)
def test_more_sectors_are_a_consequence_of_more_bytes_where_all_are_full(efficiency, left):
    launches = [launch(sectors=30.0, global_load_bytes=960.0, sector_efficiency=efficiency)]
    asked = (Expect("global_load_bytes", at_most=640), Expect("sectors", at_most=20))
    misses = [miss for expect in asked if (miss := evaluate(expect, launches, {})) is not None]
    assert [miss.expect.counter for miss in without_consequences(misses, launches)] == left


def test_where_more_is_wanted_the_lowest_line_is_the_worst():
    lines = (LineCounters(7, {"sector_efficiency": 0.125}), LineCounters(9, {"sector_efficiency": 1.0}))
    miss = evaluate(Expect("sector_efficiency", at_least=0.9), [launch(lines, sector_efficiency=0.2, sectors=1)], {})
    assert miss is not None
    assert (miss.line, miss.line_found) == (7, 0.125)


@pytest.mark.parametrize(
    ("expect", "counter", "tolerated", "missed"),
    [
        (Expect("sector_efficiency", at_least=0.9), "sector_efficiency", 0.7, 0.6),
        (Expect("sectors_per_request", at_most=4), "sectors_per_request", 5.5, 5.7),
        (Expect("wmma_instructions", at_least=1, per="n"), "wmma_instructions", 60, 50),
        (Expect("shared_requests", at_most=2, per="n"), "shared_requests", 180, 190),  # 180 are counted at n = 100
        (Expect("excess_wavefronts", at_most=0), "excess_wavefronts", 0, 1),
    ],
)
def test_counters_of_another_size_confirm_those_of_the_simulated_one(expect, counter, tolerated, missed):
    met = {"sector_efficiency": 1, "sectors_per_request": 4, "wmma_instructions": 100, "shared_requests": 180}

    def miss(found: float):
        weights = {"sectors": 8, "global_requests": 8}
        simulated = launch(**{counter: met.get(counter, 0)}, **weights)
        return evaluate_elsewhere(expect, [launch(**{counter: found}, **weights)], {"n": 80}, [simulated], {"n": 100})

    assert miss(tolerated) is None
    found = miss(missed)
    assert found is not None
    assert (found[0].size, found[1].size) == ({"n": 80}, {"n": 100})


def test_technique_at_the_simulated_size_alone_is_none(request_for):
    def strided_elsewhere(run: CaseRun) -> Execution:
        if size_of(run) == 64 or not run.counters:
            return honest(run)
        record = launch(sector_efficiency=0.125, sectors=64.0)
        return replace(honest(run), launches=(record,))

    exercise = replace(EXERCISE, secret={"n": (2, 8, 1)})
    assert grade(request_for(FakeBackend(), exercise=exercise)).verdict == "pass"
    simulator = FakeBackend(behave=strided_elsewhere)
    verdict = grade(request_for(simulator, exercise=exercise))
    assert verdict.verdict == "technique"
    (counted, _) = (size_of(run) for run in simulator.seen if run.counters)
    assert 45 <= counted <= 63
    message = verdict.diagnostics[0].message
    assert message.startswith(f"at n={counted} sector efficiency is 0.125, although it is 1 at n=64; this step asks")


def test_technique_at_a_size_that_takes_another_way_through_the_kernel_is_asked_in_full(request_for):
    """Sums may be as large as at the simulated size where a secret size confirms them, and not at a counted one."""

    def strided_at_13(run: CaseRun) -> Execution:
        if size_of(run) != 13 or not run.counters:
            return honest(run)
        return replace(honest(run), launches=(launch(sector_efficiency=0.7, sectors=64.0),))

    exercise = replace(EXERCISE, small=(*EXERCISE.small, {"n": 13}))
    assert grade(request_for(FakeBackend(behave=strided_at_13), exercise=exercise)).verdict == "pass"
    exercise = replace(exercise, counted=({"n": 13},))
    verdict = grade(request_for(FakeBackend(behave=strided_at_13), exercise=exercise))
    assert verdict.verdict == "technique"
    assert verdict.diagnostics[0].message.startswith("at n=13 sector efficiency is 0.7, although it is 1 at n=64")


# --------------------------------------------------------------------------------------------------------------- words


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        ("race", "race"), ("missing_fence", "race"), ("inactive_lane", "race"), ("missing_async_wait", "race"),
        ("out_of_bounds", "out_of_bounds"), ("null", "out_of_bounds"),
        ("misaligned", "crash"), ("trap", "crash"), ("assert", "crash"), ("bad_mask", "crash"),
        ("deadlock", "timeout"), ("barrier_divergence", "timeout"), ("instruction_budget", "timeout"),
        ("limit", "limit"),
    ],
)  # fmt: skip
def test_each_kind_of_error_has_its_verdict(kind, word):
    assert word_of(Diagnostic(kind, "x")) == word


@pytest.mark.parametrize("kind", ["uninitialised_read", "same_value_write", "race"])
def test_warning_settles_no_verdict(kind):
    assert word_of(Diagnostic(kind, "x", severity="warning")) is None


@pytest.mark.parametrize("word", ["pass", "gremlin"])
def test_a_failure_that_is_none_is_the_graders_fault(word):
    with pytest.raises(GraderFault, match=word):
        failure_word(Execution({}, failure=word))


def test_error_of_an_unknown_kind_never_passes():
    with pytest.raises(GraderFault, match="gremlin"):
        failure_word(Execution({}, diagnostics=(Diagnostic("gremlin", "x"),)))


# -------------------------------------------------------------------------------------------------------------- points


def stages(**changed: str) -> tuple[StageResult, ...]:
    return tuple(StageResult(name, changed.get(name, "passed")) for name in STAGES)  # type: ignore[arg-type]  # a status


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, (100, 100)),
        ({"fast": "not_graded"}, (80, 80)),
        ({"fast": "not_graded", "technique": "not_graded"}, (60, 60)),
        ({"fast": "failed"}, (80, 100)),
        ({"technique": "failed", "fast": "skipped"}, (60, 100)),
        ({"correct": "failed", "technique": "skipped", "fast": "not_graded"}, (0, 80)),
        ({"runs": "failed", "technique": "skipped", "fast": "skipped"}, (0, 100)),
    ],
)
def test_points_follow_the_stages_and_the_maximum_follows_what_is_graded(changed, expected):
    assert score((60, 20, 20), stages(**changed)) == expected


# -------------------------------------------------------------------------------------- the whole way, on fake backends

EXERCISE = Exercise(
    name="double_it",
    order=1,
    idea="twice",
    arrays=(Array("x", "float32", "n"), Array("y", "float32", "n", role="out")),
    oracle="fake:twice",
    small=({"n": 33}, {"n": 1}, {"n": 8}),
    simulated={"n": 64},
    timed={"n": 1024},
    work=Work("8 * n"),
    target=Target("bandwidth", 0.7),
    technique=(Expect("sector_efficiency", at_least=0.9, why="Scattered.", hint="gather"),),
    tolerance=Tolerance(relative=2**-23),
)
SOURCE = """\
// launch double_it(x, y, n): grid=cdiv(n, 32) block=32
extern "C" __global__ void double_it(const float *x, float *y, int n) {}
"""
POINTER, INTEGER = Parameter("u64", 8, 8), Parameter("u32", 4, 4)
PROGRAM = Program("double_it.cu", SOURCE, "", "sm_80", (Entry("double_it", (POINTER, POINTER, INTEGER)),), "key")


def twice(inputs, numbers):
    assert numbers["n"] == inputs["x"].size
    return {"y": 2.0 * inputs["x"].astype(np.float64)}


def honest(run: CaseRun) -> Execution:
    (x,) = (buffer.data for buffer in run.buffers if buffer.name == "x")
    record = launch(sector_efficiency=1.0, sectors=8.0) if run.counters else launch()
    return Execution({"y": 2 * x}, launches=(record,))


def size_of(run: CaseRun) -> int:
    return next(buffer.count for buffer in run.buffers if buffer.name == "y")


@dataclass
class FakeBackend(Backend):
    """A backend that computes in Python; ``seen`` keeps what it was asked to run."""

    device_limits = DeviceLimits()
    sandbox = "landlock"
    name: str = "sim"
    behave: Callable[[CaseRun], Execution] = honest
    broken: Exception | None = None
    seen: list[CaseRun] = field(default_factory=list)
    closed: int = 0

    def open(self, program, limits):
        if self.broken is not None:
            raise self.broken
        return self

    def run(self, run: CaseRun) -> Execution:
        self.seen.append(run)
        return self.behave(run)

    def close(self) -> None:
        self.closed += 1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


@pytest.fixture
def request_for(tmp_path, monkeypatch):
    """A request for a file of ours, with the compiler replaced."""
    path = tmp_path / "double_it.cu"
    path.write_text(SOURCE)
    monkeypatch.setattr("grader.compile.read_submission", lambda path: path.read_bytes(), raising=False)
    monkeypatch.setattr("grader.compile.compile_source", lambda *_, target, headers: PROGRAM, raising=False)

    def make(simulator=None, gpu=None, exercise=EXERCISE, **more) -> Request:
        return request_of(
            exercise, path, oracle=lambda: twice, simulator=simulator, gpu=gpu,
            why_no_gpu="no GPU was found", **more,
        )  # fmt: skip

    return make


def statuses(verdict: Verdict) -> dict[str, str]:
    return {stage.name: stage.status for stage in verdict.stages}


def failing(word: str, kind: str, at: int = 8, answer=honest) -> Callable[[CaseRun], Execution]:
    """A kernel that is found out at size ``at`` and larger ones."""

    def behave(run: CaseRun) -> Execution:
        execution = answer(run)
        if size_of(run) < at:
            return execution
        return replace(execution, failure=word, diagnostics=(Diagnostic(kind, f"{kind} at n={size_of(run)}"),))

    return behave


def wrong_at(at: int) -> Callable[[CaseRun], Execution]:
    def behave(run: CaseRun) -> Execution:
        execution = honest(run)
        if size_of(run) >= at:
            execution.outputs["y"][-1] += 1
        return execution

    return behave


def test_right_kernel_passes_on_the_simulator_and_speed_is_never_assumed(request_for):
    verdict = grade(request_for(FakeBackend()))
    assert verdict.verdict == "pass"
    assert verdict.exit_code == 0
    assert statuses(verdict) == dict.fromkeys(STAGES, "passed") | {"fast": "not_graded"}
    assert (verdict.score, verdict.max_score) == (80, 80)
    assert verdict.backend == "sim"
    assert verdict.stage("fast").detail == "no GPU was found"


def test_small_sizes_run_first_with_exact_and_real_values_and_only_the_simulated_one_is_counted(request_for):
    simulator = FakeBackend()
    verdict = grade(request_for(simulator))
    assert [(dict(case.size), case.values) for case in verdict.cases] == [
        ({"n": n}, values) for n in (1, 8, 33) for values in ("exact", "real")
    ] + [({"n": 64}, "real")]
    assert [run.counters for run in simulator.seen] == [False] * 6 + [True]
    assert simulator.closed


def test_one_secret_size_reaches_up_to_the_simulated_one():
    exercise = replace(EXERCISE, secret={"n": (2, 40, 2)}, simulated={"n": 10_000}, technique=())
    drawn = [larger_secret_sizes(exercise, seed)[0]["n"] for seed in range(200)]
    assert max(drawn) > 9_000
    assert all(40 <= n <= 10_000 and n % 2 == 0 for n in drawn)
    sizes = [dict(case.size) for case in small_cases(exercise, 1)]
    assert sizes[-1] in larger_secret_sizes(exercise, 1)
    assert len(sizes) == 2 * (3 + SECRET_SIZES) + 1


def test_a_secret_size_lies_between_the_simulated_and_the_timed_one():
    for exercise in (entry.exercise for entry in load_catalog().exercises if not entry.exercise.host):
        drawn = [secret_size_below_timed(exercise, seed) for seed in range(20)]
        if exercise.timed is None:
            assert drawn == [None] * 20
            continue
        assert {size != exercise.timed for size in drawn} == {True}, exercise.name
        for name, (least, _, step) in exercise.secret.items():
            bounds = exercise.simulated[name], exercise.timed[name]
            assert all(min(bounds) <= size[name] <= max(bounds) for size in drawn)
            assert all((size[name] - least) % step == 0 for size in drawn), (exercise.name, name)


def test_where_counters_are_graded_that_size_is_near_the_simulated_one_and_rows_begin_at_sectors_as_there():
    exercise = replace(EXERCISE, secret={"n": (2, 40, 3)}, simulated={"n": 10_000})
    drawn = [larger_secret_sizes(exercise, seed)[0]["n"] for seed in range(200)]
    assert 7_000 <= min(drawn) < 7_100
    assert 9_900 < max(drawn) < 10_000
    rows = {"rows": (1, 9, 1), "cols": (4, 40, 4), "few": (1, 9, 1)}
    exercise = replace(exercise, secret=rows, simulated={"rows": 100, "cols": 8185, "few": 32})
    size = larger_secret_sizes(exercise, 1)[0]
    assert (size["rows"] % 16, size["cols"] % 16, size["few"]) == (100 % 16, 8185 % 16, 32)


@pytest.mark.parametrize(("gpu", "sizes"), [(None, [99, 64]), (FakeBackend(name="gpu"), [64])])
def test_many_blocks_run_on_the_simulator_where_no_gpu_runs_the_timed_size(request_for, monkeypatch, gpu, sizes):
    monkeypatch.setattr("grader.grading.many_blocks.cases_of_many_blocks", lambda *_: (Case({"n": 99}, "real"),))
    simulator = FakeBackend()
    grade(request_for(simulator, gpu))
    assert [size_of(run) for run in simulator.seen][6:] == sizes


@pytest.mark.parametrize("count", [0.0, 2.0])
def test_a_gpu_alone_grades_the_technique_in_the_code(request_for, monkeypatch, count):
    counters = {"tma_loads_in_code": count} if count else {}
    monkeypatch.setattr("grader.grading.technique.in_code", lambda ptx: {"double_it": counters})
    expects = Expect("tma_loads_in_code", at_least=1, why="No copy by TMA.", hint="load a box")
    exercise = replace(EXERCISE, technique=(expects, *EXERCISE.technique), timed=None)
    verdict = grade(request_for(None, FakeBackend(name="gpu"), exercise=exercise))
    stage = verdict.stage("technique")
    assert (verdict.verdict, stage.status) == (("pass", "passed") if count else ("technique", "failed"))
    assert (verdict.score, verdict.max_score) == (80 if count else 60, 80)
    if count:
        assert stage.detail == "tma loads in code is 2 (at least 1)"
    else:
        (found,) = verdict.diagnostics
        assert (found.kind, found.file, found.hint) == ("technique", "double_it.cu", "load a box")
        assert "tma loads in code is 0" in found.message
        assert "No copy by TMA." in found.message


def test_sizes_without_a_flag_come_first_and_each_part_is_smallest_first():
    sizes = ({"n": 33, "causal": 1}, {"n": 5, "causal": 1}, {"n": 64, "causal": 0}, {"n": 1, "causal": 0})
    secret = {"n": (2, 40, 2), "causal": (0, 1, 1)}
    exercise = replace(EXERCISE, small=sizes, secret=secret, simulated={"n": 99, "causal": 0}, technique=())
    drawn = [case.size for case in small_cases(exercise, 1) if case.values == "exact"][:-1]
    assert {tuple(size.items()) for size in sizes} < {tuple(size.items()) for size in drawn}
    assert drawn == sorted(drawn, key=lambda size: (size["causal"], size["n"]))


def test_large_sizes_have_a_second_distribution_of_values():
    arrays = tuple(replace(array, unusual=Values(low=100.0, high=101.0)) for array in EXERCISE.arrays)
    exercise = replace(EXERCISE, exact=False, secret={"n": (2, 40, 2)}, simulated={"n": 10_000}, arrays=arrays)
    cases = [case for case in small_cases(exercise, 1) if case.values == "unusual"]
    assert [case.size for case in cases] == [*larger_secret_sizes(exercise, 1), {"n": 10_000}]
    values = make_inputs(exercise, {"n": 10_000}, 1, "unusual")["x"]
    assert 100 <= values.min() < values.max() <= 101
    assert not [case for case in small_cases(replace(exercise, arrays=EXERCISE.arrays), 1) if case.values == "unusual"]


def test_each_further_distribution_is_a_case_of_the_largest_small_size_and_of_a_large_one():
    further = (Values(low=100.0, high=101.0), Values(low=3.0, high=3.0), Values(outlier=60.0))
    arrays = tuple(replace(array, unusual=further) for array in EXERCISE.arrays)
    exercise = replace(EXERCISE, exact=False, secret={"n": (2, 40, 2)}, simulated={"n": 10_000}, arrays=arrays)
    (large,), small = larger_secret_sizes(exercise, 1), max(exercise.small, key=elements)
    cases = [(case.values, case.size) for case in small_cases(exercise, 1) if case.values.startswith("unusual")]
    assert cases == [
        ("unusual", large),
        ("unusual", {"n": 10_000}),
        *((kind, size) for kind in ("unusual_2", "unusual_3") for size in (small, large)),
    ]
    without = [case for case in small_cases(replace(exercise, secret={}), 1) if case.values == "unusual_2"]
    assert [case.size for case in without] == [small, {"n": 10_000}]


def test_arrays_that_may_be_slices_are_so_together_and_each_alone():
    exercise = replace(EXERCISE, arrays=tuple(replace(array, slices=True) for array in EXERCISE.arrays))
    names = [array.name for array in exercise.arrays]
    *others, least, largest, first, last = small_cases(exercise, 1)
    assert not any(case.offsets for case in others)
    assert (least.size, largest.size) == ({"n": 1}, {"n": 33})
    assert least.offsets == largest.offsets == dict.fromkeys(names, 1)
    assert [first.offsets, last.offsets] == [{name: 2} for name in names]


def test_slices_reach_the_backend_and_are_named_in_the_result(request_for):
    exercise = replace(EXERCISE, arrays=tuple(replace(array, slices=True) for array in EXERCISE.arrays))
    simulator = FakeBackend()
    verdict = grade(request_for(simulator, exercise=exercise))
    assert verdict.passed
    sliced = [{b.name: b.offset for b in run.buffers if b.offset} for run in simulator.seen]
    assert sliced == [case.offsets for case in verdict.cases]
    assert sum(map(bool, sliced)) == 4
    assert not sliced[-1]  # the one that is counted


@pytest.mark.parametrize(("may_be", "kinds"), [("masked", ["masked"]), ("special", ["special", "infinite"])])
def test_an_array_that_may_have_infinite_elements_has_them_in_cases_of_their_own(may_be, kinds):
    exercise = replace(EXERCISE, arrays=(replace(EXERCISE.arrays[0], **{may_be: True}), EXERCISE.arrays[1]))
    cases = small_cases(exercise, 1)
    assert [(case.size, case.values) for case in cases[-len(kinds) :]] == [({"n": 33}, kind) for kind in kinds]
    assert not any(other.values in kinds for other in cases[: -len(kinds)])


def test_every_exercise_without_exact_cases_has_a_second_distribution():
    for entry in load_catalog().exercises:
        exercise = entry.exercise
        assert exercise.exact or exercise.host or unusual_kinds(exercise), exercise.name


def in_another_order(behave: Callable[[CaseRun], Execution]) -> Callable[[CaseRun], Execution]:
    """A right kernel with atomics; in other orders it does what ``behave`` does."""

    def run(run: CaseRun) -> Execution:
        execution = honest(run) if run.conditions.order == "usual" else behave(run)
        return replace(execution, unordered=(("atomic", 2),), other_orders=("first", "second"))

    return run


def test_cases_take_turns_with_the_other_orders_and_the_largest_small_size_runs_in_all(request_for):
    simulator = FakeBackend(behave=in_another_order(honest))
    verdict = grade(request_for(simulator))
    assert verdict.verdict == "pass"
    assert len(verdict.cases) == 7
    runs = [(size_of(run), run.conditions.order) for run in simulator.seen]
    assert runs == [
        (1, "usual"), (1, "second"), (1, "usual"), (1, "first"),
        (8, "usual"), (8, "second"), (8, "usual"), (8, "first"),
        *[(33, "usual"), (33, "first"), (33, "second")] * 2, (64, "usual"),
    ]  # fmt: skip


def test_larger_secret_sizes_and_the_simulated_one_do_not_run_in_other_orders(request_for):
    simulator = FakeBackend(behave=in_another_order(honest))
    arrays = (replace(EXERCISE.arrays[0], unusual=Values()), EXERCISE.arrays[1])
    exercise = replace(EXERCISE, exact=False, secret={"n": (36, 36, 28)}, arrays=arrays)
    verdict = grade(request_for(simulator, exercise=exercise))
    assert [case.values for case in verdict.cases[-3:]] == ["unusual", "unusual", "real"]
    assert [size_of(run) for run in simulator.seen if run.conditions.order != "usual"] == [1, 8, 33, *[36] * 4]


def test_what_is_wrong_in_another_order_is_a_race_with_the_lines_of_its_atomics(request_for):
    verdict = grade(request_for(FakeBackend(behave=in_another_order(wrong_at(8)))))
    assert verdict.verdict == "race"
    found = verdict.diagnostics[0]
    assert (found.kind, found.cause, found.line, found.array, found.index) == (
        "order_dependent", "atomic", 2, "y", 7,
    )  # fmt: skip


@pytest.mark.parametrize(("word", "verdict"), [("timeout", "pass"), ("limit", "pass"), ("crash", "race")])
def test_a_run_in_another_order_that_ends_for_want_of_room_says_nothing(request_for, word, verdict):
    assert grade(request_for(FakeBackend(behave=in_another_order(failing(word, word))))).verdict == verdict


def test_a_kernel_that_changes_module_variables_is_launched_a_second_time(request_for):
    def counting(run: CaseRun) -> Execution:
        execution = wrong_at(1)(run) if run.conditions.keeps_state else honest(run)
        return replace(execution, has_state=True)

    simulator = FakeBackend(behave=counting)
    verdict = grade(request_for(simulator))
    assert [size_of(run) for run in simulator.seen if run.conditions.keeps_state] == [33]
    assert verdict.verdict == "wrong"
    assert [found.kind for found in verdict.diagnostics] == ["second_launch", "wrong"]


def test_a_second_launch_runs_in_other_orders_too_each_after_a_first_in_the_usual_one(request_for):
    stale = in_another_order(lambda run: wrong_at(8)(run) if run.conditions.keeps_state else honest(run))
    simulator = FakeBackend(behave=lambda run: replace(stale(run), has_state=True))
    verdict = grade(request_for(simulator))
    assert verdict.verdict == "race"
    assert {found.kind for found in verdict.diagnostics} == {"order_dependent", "second_launch"}
    firsts = [one for one, then in pairwise(simulator.seen) if then.conditions.keeps_state]
    assert [(size_of(run), run.conditions) for run in firsts] == [(33, USUAL)] * len(firsts)


@pytest.mark.parametrize(("large", "launches"), [(False, 2), (True, 4)])
def test_a_kernel_that_keeps_its_first_answers_at_some_sizes_is_wrong_for_other_values(request_for, large, launches):
    kept: dict[int, Execution] = {}

    def caching(run: CaseRun) -> Execution:
        if not run.conditions.keeps_state:
            kept.clear()
        execution = replace(honest(run), has_state=True)
        return kept.setdefault(size_of(run), execution) if (size_of(run) > 40) == large else execution

    simulator = FakeBackend(behave=caching)
    exercise = replace(EXERCISE, secret={"n": (2, 40, 1)})
    verdict = grade(request_for(simulator, exercise=exercise))
    assert (verdict.verdict, sum(run.conditions.keeps_state for run in simulator.seen)) == ("wrong", launches)


def test_exercise_without_exact_cases_runs_real_ones_only(request_for):
    verdict = grade(request_for(FakeBackend(), exercise=replace(EXERCISE, exact=False)))
    assert {case.values for case in verdict.cases} == {"real"}


def test_expected_values_are_never_handed_to_a_backend(request_for):
    simulator = FakeBackend()
    grade(request_for(simulator))
    for run in simulator.seen:
        assert {(buffer.name, buffer.role, buffer.data is None) for buffer in run.buffers} == {
            ("x", "in", False), ("y", "out", True),
        }  # fmt: skip


def test_wrong_answer_stops_at_the_smallest_failing_size_and_shows_it(request_for):
    simulator = FakeBackend(behave=wrong_at(8))
    verdict = grade(request_for(simulator))
    assert verdict.verdict == "wrong"
    assert statuses(verdict) == {
        "compiles": "passed", "runs": "passed", "correct": "failed", "technique": "skipped", "fast": "not_graded",
    }  # fmt: skip
    assert [case.status for case in verdict.cases] == ["passed", "passed", "failed"]
    assert dict(verdict.cases[-1].size) == {"n": 8}
    found = verdict.diagnostics[0]
    assert (found.kind, found.array, found.index) == ("wrong", "y", 7)
    assert (verdict.score, verdict.max_score) == (0, 80)


def test_race_is_the_verdict_and_the_answer_is_still_told(request_for):
    accesses = (Access("write", (1, 0, 0), (0, 0, 0), 3), Access("read", (2, 0, 0), (0, 0, 0), 4))

    def racy(run):
        return replace(honest(run), failure="race", diagnostics=(Diagnostic("race", "race", accesses=accesses),))

    verdict = grade(request_for(FakeBackend(behave=racy)))
    assert verdict.verdict == "race"
    assert statuses(verdict) | {"runs": "failed", "correct": "passed", "technique": "skipped"} == statuses(verdict)
    assert len(verdict.cases) == 7
    assert [found.accesses for found in verdict.diagnostics] == [accesses]
    assert verdict.score == 0


def test_race_with_a_wrong_answer_shows_both_and_the_race_first(request_for):
    verdict = grade(request_for(FakeBackend(behave=failing("race", "race", at=1, answer=wrong_at(8)))))
    assert verdict.verdict == "race"
    assert statuses(verdict)["correct"] == "failed"
    assert [found.kind for found in verdict.diagnostics] == ["race", "wrong"]


@pytest.mark.parametrize(
    ("kind", "word"),
    [("out_of_bounds", "out_of_bounds"), ("trap", "crash"), ("deadlock", "timeout"), ("limit", "limit")],
)
def test_failure_while_running_ends_the_run_and_skips_the_rest(request_for, kind, word):
    simulator = FakeBackend(behave=failing(word, kind))
    verdict = grade(request_for(simulator))
    assert verdict.verdict == word
    assert len(simulator.seen) == 3
    assert statuses(verdict) == {
        "compiles": "passed", "runs": "failed", "correct": "skipped", "technique": "skipped", "fast": "not_graded",
    }  # fmt: skip
    assert verdict.diagnostics[0].message == f"{kind} at n=8"


def test_session_that_the_submission_killed_is_its_own_verdict(request_for):
    def hang(run):
        raise SubmissionError("timeout", "no answer in 10 s")

    verdict = grade(request_for(FakeBackend(behave=hang)))
    assert (verdict.verdict, verdict.exit_code) == ("timeout", 1)
    assert verdict.cases[0].status == "failed"


def test_a_program_that_no_gpu_would_load_fails_to_compile_and_has_no_cases(request_for):
    def ends(run: CaseRun) -> Execution:
        raise RefusedProgram("compile_error", "it cannot be assembled")

    verdict = grade(request_for(FakeBackend(behave=ends)))
    assert (verdict.verdict, verdict.cases, verdict.failing) == ("compile_error", (), None)
    assert [stage.status for stage in verdict.stages[:2]] == ["failed", "skipped"]


def test_missed_technique_keeps_the_points_for_the_answer(request_for):
    def scattered(run):
        return replace(honest(run), launches=(launch(sector_efficiency=0.125, sectors=64.0),))

    verdict = grade(request_for(FakeBackend(behave=scattered)))
    assert verdict.verdict == "technique"
    assert (verdict.score, verdict.max_score) == (60, 80)
    assert "Scattered." in verdict.diagnostics[0].message
    assert verdict.next_step == "Gather."


def test_exercise_without_expectations_leaves_technique_out_of_the_maximum(request_for):
    verdict = grade(request_for(FakeBackend(), exercise=replace(EXERCISE, technique=())))
    assert statuses(verdict)["technique"] == "not_graded"
    assert verdict.max_score == 60


def test_warnings_are_shown_once_after_a_pass(request_for):
    warning = Diagnostic("uninitialised_read", "x", severity="warning", line=3)

    def careless(run):
        return replace(honest(run), diagnostics=(replace(warning, message=f"at n={size_of(run)}"),))

    verdict = grade(request_for(FakeBackend(behave=careless)))
    assert verdict.verdict == "pass"
    assert [found.message for found in verdict.diagnostics] == ["at n=1"]


def test_finding_carries_the_text_of_its_line(request_for):
    found = Diagnostic("trap", "x", file="double_it.cu", line=2)

    def trapped(run):
        return replace(honest(run), failure="crash", diagnostics=(found, replace(found, file="other.h")))

    first, second = grade(request_for(FakeBackend(behave=trapped))).diagnostics
    assert first.source == SOURCE.splitlines()[1]
    assert second.source is None


def test_changed_input_is_wrong_although_the_output_is_right(request_for):
    def overwrites(run):
        return replace(honest(run), inputs_changed=("x",))

    verdict = grade(request_for(FakeBackend(behave=overwrites)))
    assert verdict.verdict == "wrong"
    assert verdict.diagnostics[0].array == "x"


def test_instruction_that_the_simulator_lacks_is_unsupported_and_costs_the_points(request_for):
    verdict = grade(request_for(FakeBackend(broken=Unsupported("no wgmma here"))))
    assert (verdict.verdict, verdict.exit_code) == ("unsupported", 4)
    assert (verdict.score, verdict.max_score) == (0, 80)


def test_no_hiding_from_the_technique_on_a_machine_with_a_gpu(request_for):
    simulator = FakeBackend(broken=Unsupported("no such instruction"))
    verdict = grade(request_for(simulator, FakeBackend("gpu"), timer=lambda session: Speed("pass", "fast")))
    assert verdict.verdict == "unsupported"


def test_fault_of_the_grader_is_never_the_students(request_for):
    verdict = grade(request_for(FakeBackend(broken=GraderFault("the child died"))))
    assert (verdict.verdict, verdict.exit_code) == ("error", 5)
    assert (verdict.score, verdict.max_score) == (0, 0)
    assert statuses(verdict)["correct"] == "not_graded"


def test_unexpected_exception_is_a_fault_with_its_place_and_no_traceback(request_for, capsys, monkeypatch):
    monkeypatch.delenv("WARPGRADE_DEBUG", raising=False)
    verdict = grade(request_for(FakeBackend(broken=ZeroDivisionError("oops"))))
    assert verdict.verdict == "error"
    assert "ZeroDivisionError: oops (in test_stages.py, line" in verdict.diagnostics[0].message
    assert capsys.readouterr().err == ""


def test_unexpected_exception_shows_its_traceback_when_asked_for(request_for, capsys, monkeypatch):
    monkeypatch.setenv("WARPGRADE_DEBUG", "1")
    grade(request_for(FakeBackend(broken=ZeroDivisionError("oops"))))
    assert "Traceback" in capsys.readouterr().err


# ------------------------------------------------------------------------------------------------------- with a GPU too

MEASURED = Measurement(1e-3, (9e-4, 1.1e-3), 30, "B", 3e12, 4.8e12, 0.63, None, None, "0.70 of peak", 0.7, False)


def test_with_a_gpu_both_run_and_speed_is_graded(request_for):
    simulator, gpu = FakeBackend(), FakeBackend("gpu")
    verdict = grade(request_for(simulator, gpu, timer=lambda session: Speed("pass", "quick", MEASURED)))
    assert (verdict.verdict, verdict.backend) == ("pass", "sim+gpu")
    assert (verdict.score, verdict.max_score) == (100, 100)
    assert verdict.measured == MEASURED
    assert {case.backend for case in verdict.cases} == {"sim", "gpu"}
    assert [size_of(run) for run in gpu.seen] == [1, 1, 8, 8, 33, 33]


@pytest.mark.parametrize(
    ("word", "status", "points", "code"),
    [
        ("slow", "failed", (80, 100), 1),
        ("cheat", "failed", (80, 100), 1),
        ("inconclusive", "not_graded", (80, 80), 3),
        ("unsupported", "not_graded", (80, 80), 4),
    ],
)
def test_word_of_the_timing_is_the_verdict(request_for, word, status, points, code):
    speed = Speed(word, "measured", MEASURED, (Diagnostic(word, "measured"),))
    verdict = grade(request_for(FakeBackend(), FakeBackend("gpu"), timer=lambda session: speed))
    assert (verdict.verdict, verdict.exit_code) == (word, code)
    assert statuses(verdict)["fast"] == status
    assert (verdict.score, verdict.max_score) == points


def test_simulators_run_comes_before_the_gpus(request_for):
    simulator = FakeBackend(behave=failing("race", "race"))
    gpu = FakeBackend("gpu", behave=failing("crash", "misaligned"))
    assert grade(request_for(simulator, gpu)).verdict == "race"


def test_gpus_run_comes_before_a_wrong_answer(request_for):
    gpu = FakeBackend("gpu", behave=failing("crash", "misaligned"))
    assert grade(request_for(FakeBackend(behave=wrong_at(8)), gpu)).verdict == "crash"


def test_wrong_on_the_gpu_alone_is_wrong(request_for):
    verdict = grade(request_for(FakeBackend(), FakeBackend("gpu", behave=wrong_at(33))))
    assert verdict.verdict == "wrong"
    assert [case.backend for case in verdict.cases if case.status == "failed"] == ["gpu"]


def test_wrong_output_that_only_the_timed_run_shows_is_wrong(request_for):
    def timer(session):
        raise SubmissionError("wrong", "y[3] at the timed size")

    verdict = grade(request_for(FakeBackend(), FakeBackend("gpu"), timer=timer))
    assert verdict.verdict == "wrong"
    assert statuses(verdict) | {"runs": "passed", "correct": "failed", "fast": "skipped"} == statuses(verdict)


def test_nothing_is_timed_after_a_failure(request_for):
    def timer(session):
        raise AssertionError("must not be timed")

    assert grade(request_for(FakeBackend(), FakeBackend("gpu", behave=wrong_at(8)), timer=timer)).verdict == "wrong"


def test_gpu_alone_grades_no_technique(request_for):
    verdict = grade(request_for(None, FakeBackend("gpu"), timer=lambda session: Speed("pass", "quick", MEASURED)))
    assert (verdict.verdict, verdict.backend) == ("pass", "gpu")
    assert statuses(verdict)["technique"] == "not_graded"
    assert verdict.max_score == 80


def test_without_any_backend_nothing_but_the_compilation_is_graded(request_for):
    verdict = grade(request_for(None, None, wanted="gpu"))
    assert (verdict.verdict, verdict.exit_code, verdict.backend) == ("unsupported", 4, "gpu")
    assert statuses(verdict)["compiles"] == "passed"
    assert verdict.max_score == 0
    assert "--backend gpu" in verdict.diagnostics[0].message


# --------------------------------------------------------------------------------------------------------- before a run


@pytest.mark.parametrize("word", ["compile_error", "invalid", "policy", "limit"])
def test_file_that_settles_its_verdict_early_keeps_the_maximum(request_for, monkeypatch, word):
    def refuse(source, name, *, target, headers):
        raise SubmissionError(word, "no")

    monkeypatch.setattr("grader.compile.compile_source", refuse)
    verdict = grade(request_for(FakeBackend()))
    assert (verdict.verdict, verdict.exit_code) == (word, 1)
    assert statuses(verdict) == {
        "compiles": "failed", "runs": "skipped", "correct": "skipped", "technique": "skipped", "fast": "not_graded",
    }  # fmt: skip
    assert (verdict.score, verdict.max_score) == (0, 80)


def test_machine_without_a_compiler_grades_nothing(request_for, monkeypatch):
    def missing(source, name, *, target, headers):
        raise Unsupported("NVRTC is not installed", hint="pip install 'warpgrade[cuda12]'")

    monkeypatch.setattr("grader.compile.compile_source", missing)
    verdict = grade(request_for(FakeBackend()))
    assert (verdict.verdict, verdict.max_score) == ("unsupported", 0)
    assert verdict.next_step.startswith("Pip install") or "pip install" in verdict.next_step


def test_impossible_launch_is_invalid_at_the_size_where_it_is(request_for):
    request = request_for(FakeBackend())
    request.submission.path.write_text(SOURCE.replace("block=32", "block=2048"))
    source = request.submission.path.read_text()
    program = replace(PROGRAM, source=source)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("grader.compile.compile_source", lambda *_, target, headers: program)
        verdict = grade(request)
    assert verdict.verdict == "invalid"
    assert verdict.diagnostics[0].line == 1
    assert statuses(verdict) == {
        "compiles": "failed", "runs": "skipped", "correct": "skipped", "technique": "skipped", "fast": "not_graded",
    }  # fmt: skip
    assert (verdict.score, verdict.max_score) == (0, 80)


def test_word_of_a_later_stage_from_a_case_never_passes_for_running(request_for):
    verdict = grade(request_for(FakeBackend(behave=lambda run: replace(honest(run), failure="wrong"))))
    assert verdict.verdict == "wrong"
    assert statuses(verdict)["runs"] == "failed"


# ----------------------------------------------------------------------------------------------- printed, and beside it


def printing(at: int, answer=honest) -> Callable[[CaseRun], Execution]:
    """A kernel that says its size, from size ``at`` on."""

    def behave(run: CaseRun) -> Execution:
        return replace(answer(run), printed=f"n={size_of(run)}\n" if size_of(run) >= at else "")

    return behave


def test_printed_output_is_the_failing_cases(request_for):
    verdict = grade(request_for(FakeBackend(behave=printing(1, answer=wrong_at(8)))))
    assert verdict.printed == "n=8\n"
    assert verdict.printed_case == verdict.failing_case
    assert dict(verdict.printed_case.size) == {"n": 8}


def test_printed_output_after_a_pass_is_the_smallest_cases_that_printed(request_for):
    verdict = grade(request_for(FakeBackend(behave=printing(8))))
    assert verdict.passed
    assert (verdict.printed, dict(verdict.printed_case.size)) == ("n=8\n", {"n": 8})


def test_printed_output_is_another_cases_where_the_failing_one_is_silent(request_for):
    def behave(run):
        return replace(wrong_at(8)(run), printed="first\n" if size_of(run) == 1 else "")

    verdict = grade(request_for(FakeBackend(behave=behave)))
    assert (verdict.printed, dict(verdict.printed_case.size)) == ("first\n", {"n": 1})


def test_nothing_printed_has_no_case(request_for):
    verdict = grade(request_for(FakeBackend()))
    assert (verdict.printed, verdict.printed_case) == ("", None)


def test_failing_case_is_the_one_that_the_finding_is_about(request_for):
    simulator = FakeBackend(behave=wrong_at(33))
    verdict = grade(request_for(simulator, FakeBackend("gpu", behave=wrong_at(8))))
    assert verdict.failing_case is not None
    assert (verdict.failing_case.backend, dict(verdict.failing_case.size)) == ("gpu", {"n": 8})
    assert "at n=8" in verdict.diagnostics[0].message


def test_wrong_element_is_shown_with_its_input(request_for):
    verdict = grade(request_for(FakeBackend(behave=wrong_at(8))))
    assert re.search(r"expected (-?\d+\.0) \(x\[7\] = -?\d+\.0\); 1 of 8", verdict.diagnostics[0].message)


@pytest.mark.parametrize("word", ["wrong", "out_of_bounds"])
def test_parameter_of_another_type_is_a_likely_cause_and_the_next_step(request_for, word):
    source = SOURCE.replace("float *y", "double *y")

    def stray(run):
        found = Diagnostic("out_of_bounds", "y is over", array="y", hint="look")
        return replace(honest(run), failure="out_of_bounds", diagnostics=(found,))

    request = request_for(FakeBackend(behave=wrong_at(1) if word == "wrong" else stray))
    request.submission.path.write_text(source)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("grader.compile.compile_source", lambda *_, target, headers: replace(PROGRAM, source=source))
        verdict = grade(request)
    assert verdict.verdict == word
    assert verdict.diagnostics[-1].severity == "note"
    assert "declares `double *y`, but y holds float" in verdict.diagnostics[-1].message
    assert verdict.next_step == "Declare `float *y`, as the arrays are."


def test_parameter_of_another_type_is_no_news_after_a_pass(request_for):
    source = SOURCE.replace("float *y", "double *y")
    request = request_for(FakeBackend())
    request.submission.path.write_text(source)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("grader.compile.compile_source", lambda *_, target, headers: replace(PROGRAM, source=source))
        assert grade(request).diagnostics == ()


def test_untouched_stub_is_told_kindly_whatever_its_verdict(request_for):
    request = request_for(FakeBackend(behave=wrong_at(1)))
    verdict = grade(changed(request, stub=request.submission.path))
    assert verdict.verdict == "wrong"
    assert verdict.next_step.startswith("This is still the untouched stub")
    assert "`grade show double_it`" in verdict.next_step


def test_untouched_stub_earns_no_points_although_it_may_be_right(request_for):
    request = request_for(FakeBackend())
    assert grade(request).score > 0
    verdict = grade(changed(request, stub=request.submission.path))
    assert (verdict.verdict, verdict.score) == ("pass", 0)


def test_how_far_it_is_is_told_case_by_case(request_for):
    heard: list[str] = []
    verdict = grade(changed(request_for(FakeBackend()), tell=heard.append))
    count = len(verdict.cases)
    assert heard == ["compiling", *(f"case {number} of {count}" for number in range(1, count + 1))]


def test_where_two_backends_work_each_says_which_it_is(request_for):
    heard: list[str] = []
    request = request_for(FakeBackend(), FakeBackend("gpu"))
    grade(changed(request, tell=heard.append))
    assert any(words.endswith(" on the simulator") for words in heard)
    assert any(words.endswith(" on the GPU") for words in heard)


def test_machine_that_lacks_something_is_told_of_that_and_not_of_the_stub(request_for):
    request = request_for(None, None, wanted="gpu")
    assert "stub" not in grade(changed(request, stub=request.submission.path)).next_step


def test_statement_with_a_row_for_the_verdict_is_the_next_step(request_for, tmp_path):
    stub = tmp_path / "stub.cu"
    stub.write_text(SOURCE + "// more\n")
    request = changed(request_for(FakeBackend(behave=wrong_at(1))), stub=stub)
    assert "If it does not pass" not in grade(request).next_step
    rows = "# t\n\n## If it does not pass\n\n| report | meaning |\n|---|---|\n| `{}` from n = 1 on | why |\n"
    (tmp_path / "README.md").write_text(rows.format("wrong"))
    assert grade(request).next_step.startswith("`grade show double_it --full` lists causes of `wrong` under")
    (tmp_path / "README.md").write_text(rows.format("race"))
    assert "If it does not pass" not in grade(request).next_step


def too_large(run):
    """Every value is 1.5 times what it should be, where there are several."""
    execution = honest(run)
    if size_of(run) >= 8:
        execution.outputs["y"][:] *= 1.5
    return execution


UNWRITTEN = race("", access("read", 5, 7), kind="uninitialised_read")


@pytest.mark.parametrize(
    ("more", "guessed"),
    [
        ({}, True),
        ({"failure": "race", "diagnostics": (Diagnostic("race", "race"),)}, False),
        ({"findings": (UNWRITTEN,)}, False),
    ],
)
def test_how_values_were_computed_is_not_guessed_beside_a_race_or_a_read_of_fresh_memory(request_for, more, guessed):
    verdict = grade(request_for(FakeBackend(behave=lambda run: replace(too_large(run), **more))))
    (wrong,) = [found.message for found in verdict.diagnostics if found.kind == "wrong"]
    assert "got" in wrong
    assert ("each is 1.5 times what it should be" in wrong) is guessed


def test_wrong_output_beside_an_uninitialised_read_leads_to_that_first(request_for):
    warning = Diagnostic("uninitialised_read", "reads", severity="warning", line=7)
    step = next_step(request_for(None), "wrong", (), (Diagnostic("wrong", "no"), warning))
    assert step.startswith("Begin with the warning: line 7 reads what nothing has written. ")


def reading_garbage(used: bool):
    """Right with the usual garbage; where the values are ``used``, wrong with zeros."""

    def behave(run):
        execution = too_large(run) if used and run.conditions.undefined == 0 else honest(run)
        return replace(execution, findings=(UNWRITTEN,))

    return behave


def test_a_right_case_that_reads_fresh_memory_runs_again_with_other_garbage(request_for):
    verdict = grade(request_for(FakeBackend(behave=reading_garbage(used=True))))
    assert verdict.verdict == "wrong"
    assert {"uninitialised_read", "wrong"} <= {found.kind for found in verdict.diagnostics}


def test_a_read_of_fresh_memory_that_no_output_depends_on_is_a_warning(request_for):
    verdict = grade(request_for(FakeBackend(behave=reading_garbage(used=False))))
    assert verdict.verdict == "pass"
    (warning,) = {(found.kind, found.severity, found.message) for found in verdict.diagnostics}
    assert warning[:2] == ("unused_read", "warning")
    assert "no output depends on it, but only what was written may be read" in warning[2]


def test_all_lines_with_errors_are_named(request_for):
    def found(line, hint=""):
        return Diagnostic("compile_error", "no", line=line, hint=hint)

    def step(*diagnostics):
        return next_step(request_for(None), "compile_error", (), diagnostics)

    assert step(found(4), found(9), found(4), found(12)).startswith("Correct lines 4, 9 and 12, then run")
    assert step(found(4)).startswith("Correct line 4, then run")
    assert step(found(4, "Add it."), found(9)) == "Add it. Line 9 has an error too."


def test_changed_file_is_no_stub(request_for, tmp_path):
    stub = tmp_path / "stub.cu"
    stub.write_text(SOURCE + "// more\n")
    verdict = grade(changed(request_for(FakeBackend(behave=wrong_at(1))), stub=stub))
    assert "stub" not in verdict.next_step


@pytest.mark.parametrize(
    ("changes", "possible"),
    [({}, True), ({"host": True}, True), ({"requires": "sm_80"}, True), ({"requires": "sm_90a"}, False)],
)
def test_simulator_takes_what_an_a100_could_run(changes, possible):
    assert simulable(replace(EXERCISE, **changes).requires) is possible


def test_architectures_are_read_as_numbers():
    assert [capability(name) for name in ("sm_70", "sm_90a", "sm_100", "sm_120f")] == [(7, 0), (9, 0), (10, 0), (12, 0)]


def test_where_nothing_is_fetched_nothing_overlaps_and_an_expectation_of_it_is_missed():
    idle = [launch(instructions=100.0)]
    miss = evaluate(Expect("overlap", at_least=0.4), idle, {})
    assert miss is not None
    assert miss.found == 0.0
    busy = launch(overlap=0.9, fetching_instructions=100.0)
    assert evaluate(Expect("overlap", at_least=0.4), [*idle, busy], {}) is None
    assert (
        evaluate(Expect("overlap", at_least=0.4), [launch(overlap=0.0, fetching_instructions=200.0), busy], {})
        is not None
    )


def test_what_only_the_time_shows_is_named_where_nothing_is_timed(request_for):
    request = request_for(FakeBackend())
    exercise = replace(request.submission.exercise, only_timed="two loads in flight")
    verdict = grade(changed(request, exercise=exercise))
    assert verdict.stage("fast").detail == "no GPU was found; only the time shows two loads in flight"
