"""What a learner may predict, and what it is compared with."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.catalog.exercises import load_catalog
from grader.errors import UsageError
from grader.grading.predictions import compared, read_predictions, split
from grader.verdict import STAGES, LaunchRecord, Prediction, StageResult, Verdict

ADD = load_catalog().find("vector_add")  # counted at n = 2^20
HOST = load_catalog().find("pinned_copy")
N = ADD.exercise.simulated["n"]


def predicted(text: str, entry=ADD) -> Prediction:
    (prediction,) = read_predictions([split(text)], entry)
    return prediction


def verdict(word: str = "pass", **counters: float) -> Verdict:
    launch = LaunchRecord("k", (4096, 1, 1), (256, 1, 1), 0, counters)
    stages = tuple(StageResult(name, "passed") for name in STAGES)
    return Verdict("vector_add", "sim", word, 80, 80, 1, stages, launches=(launch,))


def result(text: str, graded: Verdict, entry=ADD) -> Prediction:
    (prediction,) = compared(read_predictions([split(text)], entry), entry, graded)
    return prediction


@pytest.mark.parametrize(
    ("text", "counter", "per", "value"),
    [
        ("sectors=393216", "sectors", "", 393216),
        ("sectors=393 216", "sectors", "", 393216),
        ("sectors=1,048,576", "sectors", "", 2**20),
        ("sectors=1_048_576", "sectors", "", 2**20),
        ("sectors=2^18*3/2", "sectors", "", 393216),
        ("sectors = 3*n/8", "sectors", "", 393216),
        ("sectors=1/8*n", "sectors", "", N / 8),
        ("global_load_bytes=8 MiB", "global_load_bytes", "", 2**23),
        ("global_load_bytes=1.5KiB", "global_load_bytes", "", 1536),
        ("sectors=cdiv(n, 256)", "sectors", "", 4096),
        ("sectors/n=3/8", "sectors", "n", 0.375),
        ("sectors per n=.375", "sectors", "n", 0.375),
        ("Sectors-per-request=4", "sectors_per_request", "", 4),
        ("sectors per request=4", "sectors_per_request", "", 4),
        ("sector_efficiency=1e0", "sector_efficiency", "", 1),
    ],
)
def test_a_prediction_is_a_counter_and_a_number_or_arithmetic_with_the_sizes(text, counter, per, value):
    assert replace(predicted(text), rounding=0.0) == Prediction(counter, per, value)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("sectors", "a prediction is COUNTER=VALUE, not 'sectors'", "a value may be 2^18, n/32 or 4 MiB, too"),
        ("=4", "a prediction is COUNTER=VALUE", ""),
        ("sectors=", "a prediction is COUNTER=VALUE", ""),
        ("sector=4", "there is no counter 'sector'", "did you mean 'sectors'?"),
        ("bank conflict=4", "there is no counter 'bank_conflict'", "excess_wavefronts"),
        ("lanes=32", "there is no counter 'lanes'", "did you mean 'active_lanes'?"),
        ("bank excess=0", "there is no counter 'bank_excess'", "did you mean 'excess_wavefronts'?"),
        ("sector eff.=1", "there is no counter", "did you mean 'sector_efficiency'?"),
        ("quality=4", "there is no counter 'quality'", "`grade words counters` lists all"),
        ("time=4", "there is no counter 'time'", ""),
        ("sectors=many", "'many' is not a value", "a number, 2^18, 4 MiB, or arithmetic with n"),
        ("sectors=4 %", "'4 %' is not a value", "such as 8*n"),
        ("sectors=m", "'m' is not a value", "n"),
        ("sectors=1e400", "is not a value", ""),
        ("sectors/m=4", "'m' is not a value", "arithmetic with n"),
        ("sectors/0=4", "'0' is 0", ""),
        ("copies=1", "copies is a counter of host files, and vector_add has none", ""),
        ("registers=32", "vector_add does not count registers: only exercises that require occupancy do", ""),
    ],
)
def test_what_cannot_be_predicted_is_refused_before_anything_is_graded(text, message, hint):
    with pytest.raises(UsageError) as caught:
        predicted(text)
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert caught.value.code == "bad_prediction"


def test_a_host_exercise_has_the_counters_of_its_host_file_too():
    assert predicted("copies=2", HOST) == Prediction("copies", "", 2)
    graded = replace(verdict(sectors=8.0), host_counters={"copies": 2.0})
    assert result("copies=2", graded, HOST).right
    assert result("pageable_bytes=0", graded, HOST).right
    assert result("sectors=8", graded, HOST).right


def test_the_count_is_that_of_the_whole_submission():
    graded = verdict(sectors=300.0, global_requests=100.0, sectors_per_request=3.0)
    twice = replace(graded, launches=graded.launches * 2)
    assert result("sectors=600", twice) == Prediction("sectors", "", 600, 600, right=True)
    assert result("sectors_per_request=3", twice).counted == 3
    assert result("launches=2", twice).right
    assert result("sectors/n=4", twice).counted == 600 / N
    assert result("shuffles=0", twice).right  # a counter that is zero is left out of a launch


SGEMM_SECTORS = 17301504  # 16777216 for A, and the same again / 32 for B


@pytest.mark.parametrize(
    ("value", "count", "right", "close"),
    [
        ("100", 100, True, True),
        ("16777216", SGEMM_SECTORS, False, True),  # without B's sector
        ("2^24*33/32", SGEMM_SECTORS, True, True),
        ("4.1", 4, False, True),
        ("4.0", 4, True, True),
        ("1000000", 2**20, False, True),
        ("1e6", 2**20, False, True),
        ("1.05e6", 2**20, True, True),  # at its digits
        ("1.04e6", 2**20, False, True),
        ("1.5 MiB", 1.52 * 2**20, True, True),
        ("1.4 MiB", 1.46 * 2**20, False, True),
        ("1 MiB", 2**20 + 1, False, True),
        ("105", 100, False, True),
        ("106", 100, False, False),
        ("-100", 100, False, False),
    ],
)
def test_a_whole_count_is_right_exactly_or_at_the_digits_that_were_typed(value, count, right, close):
    compared_one = result(f"sectors={value}", verdict(sectors=float(round(count))))
    assert (compared_one.right, compared_one.close) == (right, close)


@pytest.mark.parametrize(
    ("value", "ratio", "right"),
    [
        ("0.18", 0.1765, True),
        ("0.17", 0.1765, False),
        ("0.1765", 3 / 17, True),
        ("3/17", 3 / 17, True),
        ("0.2", 0.1765, False),  # equal at its digits, but 13 % off
        ("1", 0.97, False),
        ("16", 16.5, False),
        ("4", 4.00002, True),  # as the report shows it
        ("4", 4.02, False),
    ],
)
def test_a_mean_is_right_at_the_digits_that_were_typed(value, ratio, right):
    counters = {"sectors": 1e6, "sector_efficiency": ratio}
    assert result(f"sector_efficiency={value}", verdict(**counters)).right is right


@pytest.mark.parametrize(("value", "right"), [("0.85", True), ("0.8", True), ("0.7", False)])
def test_a_value_of_the_modelled_clock_is_right_if_it_is_close(value, right):
    graded = replace(verdict(sectors=8.0), host_counters={"modelled_overlap": 0.834})
    assert result(f"modelled_overlap={value}", graded, HOST).right is right


@pytest.mark.parametrize("value", ["1", "0.01"])
def test_zero_must_be_zero(value):
    assert not result(f"shuffles={value}", verdict(sectors=1.0)).right


@pytest.mark.parametrize(
    ("text", "graded", "why_not"),
    [
        ("sectors=1", verdict("wrong", sectors=1.0), "counters are compared when the results are right"),
        (
            "sectors=1",
            replace(verdict("compile_error"), launches=()),
            "counters are compared when the results are right",
        ),
        ("sectors=1", verdict("inconclusive", sectors=1.0), ""),  # about the time alone
        ("sectors=1", verdict("unsupported"), "nothing was graded"),
        ("sectors=1", replace(verdict(), launches=()), "only the simulator counts, and this run was on the GPU alone"),
        ("overlap=0", verdict(sectors=1.0), ""),
        ("sector_efficiency=1", verdict(instructions=1.0), "the kernels do nothing that it counts"),
    ],
)
def test_why_nothing_was_counted_is_said(text, graded, why_not):
    found = result(text, graded)
    assert found.why_not == why_not
    assert (found.counted is None) is bool(why_not)


def test_an_exercise_that_the_simulator_cannot_run_counts_nothing():
    hopper = load_catalog().find("tma_copy")
    graded = replace(verdict(), launches=())
    assert result("sectors=1", graded, hopper).why_not == "only the simulator counts, and it cannot run this exercise"
