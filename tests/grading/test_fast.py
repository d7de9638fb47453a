"""What `fast` makes of samples: pass, slow, impossible, more processes, wrong outputs; and the bench table."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import pytest

from grader.backends.base import Limits
from grader.backends.gpu.setup import Untimed, prepare
from grader.backends.gpu.wire import Mismatch, RawSamples
from grader.bench.report import BenchReport, BenchRow, LibraryTime, to_markdown
from grader.catalog.exercises import load_catalog
from grader.compile import Entry, Parameter, Program
from grader.errors import SubmissionError, Unsupported
from grader.exercise import Array, Large, Target
from grader.gpus.detect import Gpu
from grader.grading import fast as speed_module
from grader.grading.fast import SpeedTest
from grader.launch import DeviceLimits
from grader.verdict import Diagnostic, Roof

GPU = Gpu(0, "NVIDIA H200", (9, 0), 132, 1.98e9, 3.2e9, 6016, 60 << 20, 141 << 30, DeviceLimits())
PEAK = 4814e9
WORK = 3.0 * 2**30
TARGET = Target(unit="bandwidth", fraction=0.70, ceiling="add_f32x1")


def at(fraction: float, spread: float = 0.0, count: int = 30, **more) -> RawSamples:
    """Samples around the time that reaches ``fraction`` of the peak, spread evenly to both sides."""
    seconds = WORK / (fraction * PEAK)
    times = tuple(seconds * (1 + spread * (2 * k / (count - 1) - 1)) for k in range(count))
    return RawSamples(**({"seconds": times, "control_s": (6e-5,) * count} | more))


@dataclass
class FakeSession:
    """A session that gives the samples that it was made with."""

    samples: RawSamples | Exception
    program: object = None
    untimed: RawSamples | Exception = field(default_factory=RawSamples)
    closed: list[bool] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def time(self, run, modules, l2_bytes):
        self.asked.append(run.name)
        samples = self.samples if run.name == "timed" else self.untimed
        if isinstance(samples, Exception):
            raise samples
        return samples

    def close(self):
        self.closed.append(True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


SIZES = {"timed": {"n": 2**28}, "simulated": {"n": 2**20}}


def judge(
    monkeypatch, first, *fresh, target=TARGET, published=True, peak=PEAK, before=None, beyond=None, asked=None, **sizes
):
    """The speed that follows from the first process's samples and those of fresh ones, and how many were opened.

    With ``before``, which are the samples at a secret size, the exercise has such sizes; with ``beyond`` a large one.
    """

    def setup(*_, untimed=None, **__):
        size, name = (untimed.size, untimed.name) if untimed else (exercise.timed, "timed")
        return SimpleNamespace(
            run=SimpleNamespace(element=lambda index: (arrays[0], index), name=name), modules={},
            work=WORK, ceiling_work=WORK, peak=peak, limit=peak, published=published, where=f"at {size}",
            memory_bytes=4 * sum(size.values()),
            roof=lambda median_s: Roof(0.25, WORK / 4 / median_s, 4.8e12, 6.7e13),
        )  # fmt: skip

    monkeypatch.setattr(speed_module, "prepare", setup)
    sessions = [FakeSession(samples) for samples in fresh]
    opened = iter(sessions)
    backend = SimpleNamespace(gpu=GPU, open=lambda program, limits: next(opened))
    secret = {"n": (2, 9000, 1)} if before else {}
    large = Large({"n": 2**32}, {"n": 31}) if beyond else None
    arrays = (Array("c", "float32", "n", role="out"),)
    exercise = SimpleNamespace(**{"target": target, "secret": secret, "large": large, "arrays": arrays} | SIZES | sizes)
    session = FakeSession(first, untimed=before or beyond, asked=[] if asked is None else asked)
    speed = SpeedTest(SimpleNamespace(exercise=exercise), backend, 1, Limits())(session)
    return speed, sum(1 for session in sessions if session.closed)


def test_above_the_line_is_a_pass(monkeypatch):
    speed, fresh = judge(monkeypatch, at(0.712, 0.005))
    assert (speed.word, fresh) == ("pass", 0)
    assert speed.measured.fraction_of_peak == pytest.approx(0.712, rel=1e-3)
    assert "0.712 of peak" in speed.detail
    assert "the line is 0.70 of peak" in speed.detail
    assert speed.measured.roof.achieved == pytest.approx(speed.measured.achieved / 4)


def test_far_below_the_line_is_slow_at_once(monkeypatch):
    speed, fresh = judge(monkeypatch, at(0.5))
    assert (speed.word, fresh) == ("slow", 0)


def test_near_the_line_two_fresh_processes_are_asked(monkeypatch):
    near = at(0.695)
    speed, fresh = judge(monkeypatch, near, near, near)
    assert (speed.word, fresh, speed.measured.samples) == ("inconclusive", 2, 90)


def test_a_fresh_process_can_settle_it(monkeypatch):
    speed, fresh = judge(monkeypatch, at(0.70, 0.02), at(0.72, count=90), at(0.72))
    assert (speed.word, fresh) == ("pass", 1)


def test_samples_beside_a_drifting_control_are_thrown_away(monkeypatch):
    drifting = at(0.5, control_s=(6e-5,) * 15 + (9e-5,) * 15)
    speed, fresh = judge(monkeypatch, drifting, at(0.72))
    assert (speed.word, fresh, speed.measured.samples) == ("pass", 1, 30)


def test_a_machine_that_never_calms_down_is_inconclusive(monkeypatch):
    drifting = at(0.72, control_s=(6e-5,) * 15 + (9e-5,) * 15)
    speed, _ = judge(monkeypatch, drifting, drifting, drifting)
    assert (speed.word, speed.measured) == ("inconclusive", None)
    assert "not steady" in speed.detail


def test_an_impossible_time_on_a_known_gpu_is_a_cheat(monkeypatch):
    speed, _ = judge(monkeypatch, at(1.2))
    assert speed.word == "cheat"
    assert speed.detail == "impossible time: work was skipped, or the grader is wrong"


def test_an_impossible_time_on_an_unknown_gpu_is_inconclusive(monkeypatch):
    assert judge(monkeypatch, at(1.2), published=False)[0].word == "inconclusive"


def test_a_wrong_timed_output_is_wrong_with_array_and_index(monkeypatch):
    samples = RawSamples(mismatch=Mismatch(7, "real", 3, 12345, 0.5, 1.5))
    speed, _ = judge(monkeypatch, samples)
    (found,) = speed.diagnostics
    assert speed.word == found.kind == "wrong"
    assert (found.array, found.index) == ("c", 12345)
    where = "c[12345] is wrong at {'n': 268435456}, launch 7"
    assert found.message == f"{where}: got 0.5, expected 1.5 (3 elements are wrong)"


def test_an_output_that_is_wrong_at_a_secret_size_is_wrong_however_fast_the_timed_one_is(monkeypatch):
    before = RawSamples(mismatch=Mismatch(2, "real", 3, 12345, 0.5, 1.5))
    speed, _ = judge(monkeypatch, at(0.9), before=before)
    assert speed.word == "wrong"
    size = int(re.search(r"at {'n': (\d+)}, launch 2", speed.detail)[1])
    assert 2**20 <= size < 2**28
    assert judge(monkeypatch, at(0.9), before=RawSamples())[0].word == "pass"


def test_a_fast_submission_is_also_verified_with_more_than_2_to_the_31_elements(monkeypatch):
    wrong = RawSamples(mismatch=Mismatch(1, "real", 3, 2**31, 0.5, 1.5))
    speed, _ = judge(monkeypatch, at(0.9), beyond=wrong)
    assert (speed.word, speed.diagnostics[0].index) == ("wrong", 2**31)
    assert "at {'n': 4294967296}" in speed.detail
    assert "here an array has 4294967296 elements" in speed.diagnostics[0].hint
    assert judge(monkeypatch, at(0.9), beyond=RawSamples())[0].word == "pass"
    asked = []
    assert judge(monkeypatch, at(0.3), beyond=wrong, asked=asked)[0].word == "slow"
    assert asked == ["timed"]


def test_a_fault_says_at_which_size_it_happened(monkeypatch):
    fault = SubmissionError("crash", "a bad address", diagnostics=(Diagnostic("crash", "a bad address"),))
    with pytest.raises(SubmissionError, match=r"a bad address, at {'n': 4294967296}") as raised:
        judge(monkeypatch, at(0.9), beyond=fault)
    assert raised.value.diagnostics[0].message == raised.value.message
    assert "computed in 32 bits" in raised.value.hint


@pytest.mark.parametrize(
    "nothing",
    [
        Unsupported("too little free memory"),
        SubmissionError("timeout", "too long"),
        SubmissionError("invalid", "grid.y"),
    ],
)
def test_a_large_size_without_room_or_time_shows_nothing(monkeypatch, nothing):
    assert judge(monkeypatch, at(0.9), beyond=nothing)[0].word == "pass"


def test_a_large_size_is_left_out_where_it_would_fill_the_memory(monkeypatch):
    asked = []
    monkeypatch.setattr(speed_module, "MOST_OF_MEMORY", 0.1)
    assert judge(monkeypatch, at(0.9), beyond=RawSamples(), asked=asked)[0].word == "pass"
    assert asked == ["timed"]


def test_a_secret_size_is_verified_with_a_few_samples_and_no_ceiling(monkeypatch):
    monkeypatch.setattr("grader.backends.gpu.setup.cubin", lambda *_: b"")
    source = "// launch vector_add(a, b, c, n): grid=cdiv(n, 256) block=256\n"
    add = Entry("vector_add", (*[Parameter("u64", 8, 8)] * 3, Parameter("u32", 4, 4)))
    program = Program("vector_add.cu", source, "", "sm_80", (add,), "key")
    entry = load_catalog().find("vector_add")
    timed = prepare(entry, program, GPU, 1)
    secret = prepare(entry, program, GPU, 1, samples=2, untimed=Untimed("secret", {"n": 5_000_001}))
    assert (timed.where, secret.where) == ("at the timed size n = 268435456", "at the secret size n = 5000001")
    assert {shape.count for shape in secret.run.shapes} == {5_000_001}
    assert timed.run.ceiling
    assert (secret.run.ceiling, secret.run.samples, "ceiling" in secret.modules) == ((), 2, False)
    seeds = [setup.run.variants[0].generate[0].args[2] for setup in (timed, secret)]
    assert seeds[0] != seeds[1]


def test_a_changed_input_is_wrong(monkeypatch):
    samples = RawSamples(mismatch=Mismatch(2, "real", 0, 0, 0.0, 0.0, {"a": 1}))
    speed, _ = judge(monkeypatch, samples)
    assert speed.word == "wrong"
    assert "overwrote its input a" in speed.detail


def test_a_stray_write_in_a_timed_launch_is_out_of_bounds(monkeypatch):
    found = Diagnostic("out_of_bounds", "write past the end of c")
    assert judge(monkeypatch, RawSamples(diagnostics=(found,)))[0].word == "out_of_bounds"


def test_a_line_of_the_ceiling_uses_the_ceiling_of_the_same_run(monkeypatch):
    target = replace(TARGET, of="ceiling", fraction=0.95)
    ceiling_s = (WORK / (0.72 * PEAK),) * 10
    assert judge(monkeypatch, at(0.70, ceiling_s=ceiling_s), target=target)[0].word == "pass"
    assert judge(monkeypatch, at(0.60, ceiling_s=ceiling_s), target=target)[0].word == "slow"


def test_a_line_of_a_ceiling_that_could_not_be_measured_is_inconclusive(monkeypatch):
    target = replace(TARGET, of="ceiling", fraction=0.95)
    assert judge(monkeypatch, at(0.70), at(0.70), at(0.70), target=target)[0].word == "inconclusive"


def test_a_line_set_on_another_gpu_is_marked(monkeypatch):
    speed, _ = judge(monkeypatch, at(0.72), target=replace(TARGET, gpu="NVIDIA L4"))
    assert speed.measured.provisional
    assert "set on another GPU" in speed.detail


def test_without_a_target_outputs_are_verified_and_nothing_is_judged(monkeypatch):
    assert judge(monkeypatch, at(0.5), target=None)[0] is None
    samples = RawSamples(mismatch=Mismatch(2, "real", 1, 0, 0.0, 1.0))
    assert judge(monkeypatch, samples, target=None)[0].word == "wrong"


def test_without_a_pass_line_the_figures_are_told_and_nothing_is_judged(monkeypatch):
    speed, fresh = judge(monkeypatch, at(0.5), target=replace(TARGET, fraction=0.0))
    assert (speed.word, fresh) == ("unlined", 0)
    assert "0.500 of peak" in speed.detail
    assert "`grade calibrate` draws one" in speed.detail
    assert not speed.measured.provisional


def test_without_a_timed_size_nothing_is_timed(monkeypatch):
    assert judge(monkeypatch, at(0.5), timed=None)[0] is None


def test_a_gpu_without_the_memory_is_unsupported(monkeypatch):
    with pytest.raises(Unsupported, match=r"3\.0 GiB"):
        judge(monkeypatch, Unsupported("the arrays of this size need 3.0 GiB"))


def test_the_bench_table_shows_solution_ceiling_and_library(monkeypatch):
    ceiling_s = (WORK / (0.72 * PEAK),) * 10
    speed, _ = judge(monkeypatch, at(0.71, ceiling_s=ceiling_s))
    libraries = (LibraryTime("elementwise:add", 1.27e-3, 0.526), LibraryTime("elementwise:torch", 0.9424e-3, None))
    row = BenchRow("vector_add", "n = 268435456", "pass", speed.measured, "add_f32x1", reach=0.7, libraries=libraries)
    failed = BenchRow("reduce_v3", "n = 4", problem="the kernel did not finish")
    text = to_markdown(BenchReport(GPU, (("driver", "580.95.05"),), "2025-01-31", (row, failed)))
    assert text.startswith("# NVIDIA H200\n\n2025-01-31. 132 SMs, 1980 MHz, 6016-bit bus, 60 MiB L2. driver 580.95.05.")
    cells = next(line for line in text.splitlines() if "vector_add" in line).split(" | ")
    assert cells[2:] == [
        "942.4 µs", "942.4 µs to 942.4 µs", "3418 GB/s", "0.710", "0.986 add_f32x1", "0.7", "0.70 of peak",
        "pass |",
    ]  # fmt: skip
    assert [line.split(" | ")[2:] for line in text.splitlines() if "elementwise" in line] == [
        ["elementwise:add", "1.270 ms", "0.526", "× 1.35 |"],
        ["elementwise:torch", "942.4 µs", "–", "× 1.00 |"],
    ]
    assert "| reduce_v3 | n = 4 | the kernel did not finish |" in text
