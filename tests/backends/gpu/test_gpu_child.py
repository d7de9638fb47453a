"""The GPU child's own logic on a device made of NumPy: guards, poison, restored state, verified samples."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from fake_checks import CHECK, GENERATE
from fake_device import SUPPORT, FakeDevice

from grader.backends.gpu import checks, wire
from grader.backends.gpu import program as loading
from grader.backends.gpu.arena import Arena
from grader.backends.gpu.cuda import CudaError
from grader.backends.gpu.measure import Stopwatch
from grader.backends.gpu.program import LoadedProgram
from grader.backends.gpu.reference import device_data
from grader.backends.gpu.variables import ModuleVariable, StateSection
from grader.catalog.courses import built_in_course
from grader.compile import Entry, Parameter
from grader.errors import SubmissionError, Unsupported
from grader.exercise import Array, Exercise, Tolerance, Values
from grader.inputs import is_poison
from grader.launch import Launch, LaunchPlan, TensorMap, Zero

POINTER, INT = Parameter("u64", 8, 8), Parameter("u32", 4, 4)
ENTRY = Entry("add", (POINTER, POINTER, POINTER, INT))
N = 1000
SHAPES = tuple(wire.LaunchShape(name, "float32", N, role) for name, role in (("a", "in"), ("b", "in"), ("c", "out")))
PLAN = LaunchPlan(steps=(Launch("add", ("a", "b", "c", N), (4, 1, 1), (256, 1, 1)),))
DATA = {"a": np.arange(N, dtype=np.float32), "b": np.full(N, 0.5, np.float32)}


def add(device, grid, block, a, b, c, n):
    device.array(c, "float32", n)[:] = device.array(a, "float32", n) + device.array(b, "float32", n)


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """No ELF file to read, and small buffers to fill."""
    monkeypatch.setattr("grader.backends.gpu.program.state_sections", lambda cubin: ())
    monkeypatch.setattr("grader.backends.gpu.measure.LEAST_BYTES", 1 << 16)


def bench(kernel, **more):
    """A fake device with the kernel loaded, and what runs on it."""
    modules = {b"support": SUPPORT, b"program": {"add": kernel, **more}, b"generate": GENERATE, b"check": CHECK}
    device = FakeDevice(modules)
    support = device.load(b"support")
    return device, Arena(device, support), LoadedProgram(device, b"program", (ENTRY,), support), support


def run_case(kernel, shapes=SHAPES, plan=PLAN, data=DATA):
    device, arena, program, _ = bench(kernel)
    return loading.run_case(device, arena, program, plan, shapes, data)


# ----------------------------------------------------------------------------------------------------- one case


def test_a_right_kernel_gives_its_output_and_nothing_else():
    outcome = run_case(add)
    np.testing.assert_array_equal(outcome.outputs["c"], DATA["a"] + DATA["b"])
    assert outcome.diagnostics == ()
    assert outcome.inputs_changed == ()


def test_what_a_kernel_does_not_write_is_poison():
    def half(device, grid, block, a, b, c, n):
        device.array(c, "float32", n // 2)[:] = 0

    poisoned = is_poison(run_case(half).outputs["c"])
    assert not poisoned[: N // 2].any()
    assert poisoned[N // 2 :].all()


@pytest.mark.parametrize("dtype", ["uint8", "int32", "float16"])
def test_poison_reaches_the_last_byte_of_an_odd_array(dtype):
    shapes = (wire.LaunchShape("c", dtype, 7, "out"),)
    plan = LaunchPlan(steps=(Zero("other"),))
    shapes = (*shapes, wire.LaunchShape("other", "uint8", 1, "scratch"))
    assert is_poison(run_case(add, shapes, plan, {}).outputs["c"]).all()


def test_slices_begin_inside_an_allocation_and_are_poisoned_to_their_last_byte():
    shapes = tuple(replace(shape, offset=k) for k, shape in enumerate(SHAPES, start=1))
    device, arena, program, _ = bench(add)
    outcome = loading.run_case(device, arena, program, PLAN, shapes, DATA)
    np.testing.assert_array_equal(outcome.outputs["c"], DATA["a"] + DATA["b"])
    assert outcome.diagnostics == ()
    assert [address % 256 for address in arena.addresses().values()] == [4, 8, 12]
    bytes_of = (wire.LaunchShape("c", "uint8", 7, "out", offset=1),)
    assert is_poison(run_case(add, bytes_of, LaunchPlan(()), {}).outputs["c"]).all()


@pytest.mark.parametrize(
    ("offset", "index", "words"),
    [
        (N, N, "past the end"),
        (N + 3, N + 3, "past the end"),
        (-1, -1, "before the start"),
        (-9, -9, "before the start"),
    ],
)
def test_a_stray_write_is_found_with_array_and_index(offset, index, words):
    def stray(device, grid, block, a, b, c, n):
        add(device, grid, block, a, b, c, n)
        device.array(int(c) + 4 * offset, "float32", 1)[0] = 1.0

    (found,) = run_case(stray).diagnostics
    assert (found.kind, found.array, found.index, found.space) == ("out_of_bounds", "c", index, "global")
    assert words in found.message
    assert found.kernel == "add"


def test_stray_writes_on_both_sides_are_both_told():
    def stray(device, grid, block, a, b, c, n):
        device.array(int(b) - 4, "float32", 1)[0] = 1.0
        device.array(int(b) + 4 * int(n), "float32", 1)[0] = 1.0

    assert [(d.array, d.index) for d in run_case(stray).diagnostics] == [("b", N), ("b", -1)]


def test_an_input_that_the_kernel_overwrites_is_named():
    def greedy(device, grid, block, a, b, c, n):
        add(device, grid, block, a, b, c, n)
        device.array(b, "float32", n)[7] = -0.0

    assert run_case(greedy).inputs_changed == ("b",)


def test_a_fault_of_the_kernel_is_raised_with_cudas_words():
    def wild(device, grid, block, a, b, c, n):
        device.fail("cudaErrorIllegalAddress: an illegal memory access was encountered")

    with pytest.raises(CudaError, match="cudaErrorIllegalAddress"):
        run_case(wild)


def test_a_zero_step_clears_its_buffer():
    plan = LaunchPlan(steps=(Zero("c"),))
    assert not run_case(add, plan=plan).outputs["c"].any()


MAPPED = LaunchPlan(
    steps=(Launch("add", ("a", "b", "c_map", N), (4, 1, 1), (256, 1, 1)),) * 2,
    tensor_maps=(TensorMap("c_map", "c", "float32", (N,), (), (64,), line=4),),
)
TAKES_MAP = Entry("add", (POINTER, POINTER, Parameter("b8", 128, 64), INT))


def mapped(seen=None):
    """A program whose kernel gets the output as a tensor map, and what runs on its device."""

    def kernel(device, grid, block, a, b, c_map, n):
        if seen is not None:
            seen.append(len(c_map.tobytes()))
        add(device, grid, block, a, b, int.from_bytes(c_map.tobytes()[:8], "little"), n)

    device, arena, _, support = bench(kernel)
    program = LoadedProgram(device, b"program", (TAKES_MAP,), support)
    return device, partial(loading.run_case, device, arena, program)


def test_a_tensor_map_is_made_where_the_buffer_lies():
    seen = []
    _, runner = mapped(seen)
    outcome = runner(MAPPED, SHAPES, DATA)
    np.testing.assert_array_equal(outcome.outputs["c"], DATA["a"] + DATA["b"])
    assert seen == [128, 128]


def test_a_tensor_map_is_made_again_only_where_its_buffer_moved():
    device, runner = mapped()
    runner(MAPPED, SHAPES, DATA)
    runner(MAPPED, SHAPES, DATA)
    moved = tuple(wire.LaunchShape(s.name, s.dtype, s.count + 9999 * (s.name == "a"), s.role) for s in SHAPES)
    runner(MAPPED, moved, DATA)
    made = [where for what, where in device.log if what == "tensor_map"]
    assert len(made) == len(set(made)) == 2


def test_a_tensor_map_that_cuda_refuses_is_invalid():
    refused = TensorMap("c_map", "c", "float32", (N,), (), (512,), line=4)
    plan = LaunchPlan(steps=MAPPED.steps, tensor_maps=(refused,))
    with pytest.raises(SubmissionError, match=r"CUDA refuses the tensor map c_map \(line 4\)") as caught:
        mapped()[1](plan, SHAPES, DATA)
    assert caught.value.verdict == "invalid"


def test_a_missing_constant_is_invalid():
    from grader.launch import Constant

    plan = LaunchPlan(steps=PLAN.steps, constants=(Constant("WEIGHTS", "a", 3),))
    with pytest.raises(SubmissionError, match="no __constant__ array WEIGHTS"):
        run_case(add, plan=plan)


# ---------------------------------------------------------------------------------------------- restored variables


SECTIONS = (
    StateSection(".nv.global.init", 8, (ModuleVariable("calls", 0, 8),)),
    StateSection(".nv.global", 80_008, (ModuleVariable("flag", 80_000, 8), ModuleVariable("kept", 0, 80_000))),
    StateSection(".nv.constant3", 8, (ModuleVariable("W", 0, 8),)),
)
VARIABLES = {"calls": np.array([42]), "flag": np.array([0]), "kept": np.zeros(10_000), "W": np.array([7])}


def with_variables(monkeypatch, sections=SECTIONS, variables=VARIABLES):
    """A bench whose kernel counts up in every variable and notes what it found there."""
    seen = []

    def counting(device, grid, block, a, b, c, n):
        found = {name: device.array(device.variable(program._module, name)[0], "int64", 1) for name in variables}
        seen.append({name: int(value[0]) for name, value in found.items()})
        for value in found.values():
            value[0] += 1

    monkeypatch.setattr("grader.backends.gpu.program.state_sections", lambda cubin: sections)
    parts = bench(counting, variables=variables)
    program = parts[2]
    return parts, seen


def test_variables_are_put_back_before_each_launch_sequence(monkeypatch):
    (device, arena, program, _), seen = with_variables(monkeypatch)
    for _ in range(3):
        loading.run_case(device, arena, program, PLAN, SHAPES, DATA)
    assert seen == [{"calls": 42, "flag": 0, "kept": 0, "W": 7}] * 3
    assert device.log.count(("load", b"program")) == 1
    assert program.restored_by == "copies of 4 variables"


def test_a_second_launch_finds_what_the_first_one_left(monkeypatch):
    (device, arena, program, _), seen = with_variables(monkeypatch)
    first = loading.run_case(device, arena, program, PLAN, SHAPES, DATA)
    loading.run_case(device, arena, program, PLAN, SHAPES, DATA, keeps_state=True)
    assert first.has_state
    assert [found["calls"] for found in seen] == [42, 43]


def test_a_program_without_device_variables_has_no_state():
    assert not run_case(add).has_state


def test_every_variable_is_copied_by_itself_and_small_ones_by_one_launch(monkeypatch):
    (device, _, program, _), _ = with_variables(monkeypatch)
    device.log.clear()
    program.restore()
    assert sorted(size for name, size in device.log if name == "copy") == [8, 8, 8, 80_000]
    assert device.launched.count("copy_pieces") == 2  # one put the values aside


@pytest.mark.parametrize(
    ("sections", "words"),
    [
        ((StateSection(".nv.global", 8, (ModuleVariable("missing", 0, 8),)),), "variable missing"),
        ((StateSection(".nv.global", 4, ()),), "4 bytes of .nv.global"),
        ((StateSection(".nv.global", 8, (ModuleVariable("calls", 0, 800),)),), "CUDA tells 8 bytes for calls"),
        (
            (StateSection(".nv.global", 16, (ModuleVariable("calls", 0, 8), ModuleVariable("calls", 8, 8))),),
            "the same name",
        ),
    ],
)
def test_variables_that_cannot_be_copied_are_restored_by_loading_again(monkeypatch, sections, words):
    (device, arena, program, _), seen = with_variables(monkeypatch, sections)
    for _ in range(2):
        loading.run_case(device, arena, program, PLAN, SHAPES, DATA)
    assert [values["calls"] for values in seen] == [42, 42]
    assert device.log.count(("load", b"program")) == 3
    assert program.restored_by.startswith("loading again: ")
    assert words in program.restored_by


def test_a_module_that_was_loaded_again_may_use_as_much_shared_memory_as_before(monkeypatch):
    (device, arena, program, _), _ = with_variables(monkeypatch, (StateSection(".nv.global", 4, ()),))
    allowed = []
    device.allow_shared = lambda function, size: allowed.append(size)
    plan = LaunchPlan(steps=(Launch("add", ("a", "b", "c", N), (4, 1, 1), (256, 1, 1), 100 << 10),))
    for _ in range(2):
        loading.run_case(device, arena, program, plan, SHAPES, DATA)
    assert device.log.count(("load", b"program")) == 3
    assert allowed == [100 << 10] * len(allowed)
    assert len(allowed) >= 3


def test_alignment_between_variables_is_no_unnamed_byte():
    assert StateSection(".nv.global", 48, (ModuleVariable("a", 0, 1), ModuleVariable("b", 16, 32))).unnamed == 0
    assert StateSection(".nv.global", 52, (ModuleVariable("a", 0, 1), ModuleVariable("b", 16, 32))).unnamed == 4


# ------------------------------------------------------------------------------------------------------ timed runs

EXERCISE = Exercise(
    name="vector_add",
    order=1,
    idea="add",
    arrays=(
        Array("a", "float32", "n", values=Values(exact_low=-(2**23) + 1, exact_high=2**23 - 1)),
        Array("b", "float32", "n"),
        Array("c", "float32", "n", role="out"),
    ),
    oracle="elementwise:add",
    small=({"n": 1},),
    simulated={"n": 32},
    timed={"n": N},
    tolerance=Tolerance(relative=2**-23),
)


def timed_run(**more) -> wire.TimedRun:
    data = device_data(built_in_course())
    check = data.CHECKS["elementwise:add"]
    variants, work_bytes = checks.variants(EXERCISE, {"n": N}, 99, check, data.GENERATED_TYPES)
    return wire.TimedRun(PLAN, SHAPES, variants, ("a", "b"), work_bytes, **more)


def take(kernel, device_and_more=None, **more):
    device, arena, program, support = device_and_more or bench(kernel)
    watch = Stopwatch(device, arena, program, support, {"generate": b"generate", "check": b"check"})
    told: list[int] = []
    return watch.run(timed_run(**more), 1 << 20, told.append), told, device


def test_every_sample_is_verified_and_timed_where_its_data_are_ordinary():
    samples, told, device = take(add, samples=8)
    assert len(samples.seconds) == 8
    verified = len(samples.control_s)
    assert 10 <= verified <= 11
    assert samples.mismatch is None
    assert device.launched.count("check_add") == device.launched.count("add") == verified + samples.warm_ups
    assert told == list(range(1, verified + samples.warm_ups + 1))


def test_the_time_between_the_events_is_the_submissions_alone():
    parts = bench(add)
    parts[0].kernel_s = {"add": 3e-3, "generate_real_f32": 1.0, "control_copy": 7e-5, "read_through": 1.0}
    samples, _, _ = take(add, parts, samples=6)
    assert samples.seconds == pytest.approx((3e-3,) * 6)
    assert samples.control_s == pytest.approx((7e-5,) * len(samples.control_s))


def test_inputs_differ_from_launch_to_launch():
    seen = set()

    def spying(device, grid, block, a, b, c, n):
        seen.add(device.array(a, "float32", n).tobytes())
        add(device, grid, block, a, b, c, n)

    samples, _, _ = take(spying, samples=8)
    assert len(seen) == len(samples.control_s) + samples.warm_ups


def test_an_answer_kept_from_an_earlier_launch_is_wrong():
    kept = []

    def replay(device, grid, block, a, b, c, n):
        if not kept:
            kept.append((device.array(a, "float32", n) + device.array(b, "float32", n)).copy())
        device.array(c, "float32", n)[:] = kept[0]

    samples, _, _ = take(replay, samples=8)
    assert samples.mismatch is not None
    assert samples.mismatch.sample == 2


def test_a_kernel_that_is_wrong_from_the_tenth_launch_on_is_caught_there():
    calls = []

    def lazy(device, grid, block, a, b, c, n):
        calls.append(1)
        add(device, grid, block, a, b, c, n - 1 if len(calls) >= 10 else n)

    samples, _, _ = take(lazy, samples=12)
    assert samples.mismatch is not None
    assert samples.mismatch.sample == 10
    assert samples.mismatch.first == N - 1
    assert samples.mismatch.bad == 1
    assert np.isnan(samples.mismatch.got)  # poison: it was never written


def test_the_first_wrong_element_is_told_with_both_values():
    def off(device, grid, block, a, b, c, n):
        add(device, grid, block, a, b, c, n)
        device.array(c, "float32", n)[17] += 3.0

    samples, _, _ = take(off, samples=8)
    found = samples.mismatch
    assert found is not None
    assert (found.first, found.bad, found.changed) == (17, 1, {})
    assert found.got == pytest.approx(found.expected + 3.0, rel=1e-5)


def test_zeroed_inputs_with_a_matching_output_are_caught():
    def forger(device, grid, block, a, b, c, n):
        for address in (a, b, c):
            device.array(address, "float32", n)[:] = 0.0

    samples, _, _ = take(forger, samples=8)
    assert samples.mismatch is not None
    assert samples.mismatch.bad == 0
    assert set(samples.mismatch.changed) == {"a", "b"}


def test_a_stray_write_in_a_timed_launch_ends_the_run():
    def stray(device, grid, block, a, b, c, n):
        add(device, grid, block, a, b, c, n)
        device.array(int(c) + 4 * int(n), "float32", 1)[0] = 1.0

    samples, _, _ = take(stray, samples=8)
    assert [(d.array, d.index) for d in samples.diagnostics] == [("c", N)]
    assert samples.seconds == ()


def test_no_expected_value_is_on_the_device_while_the_submission_runs():
    dirty = []

    def looking(device, grid, block, a, b, c, n):
        base = device.memory.ctypes.data
        work = work_of[0]
        dirty.append(bool(device.bytes_at(work, timed_run().work_bytes).any()))
        add(device, grid, block, a, b, c, n)
        assert base

    parts = bench(looking)
    work_of = []
    allocate = parts[0].allocate

    def remember(size):
        address = allocate(size)
        if size == timed_run().work_bytes:
            work_of.append(address)
        return address

    parts[0].allocate = remember
    take(looking, parts, samples=6)
    assert len(dirty) >= 6
    assert not any(dirty)


def test_the_l2_is_emptied_and_persistence_reset_before_every_sample():
    _, _, device = take(add, samples=7)
    events = [name for name, _ in device.log if name in ("reset", "read", "control")]
    launches = device.launched.count("add")
    assert events == ["control", "reset", "read"] * launches


def test_a_warm_run_makes_its_inputs_after_the_l2_was_emptied_and_nothing_but_the_wipe_comes_between():
    _, _, device = take(add, samples=7, warm=True)
    events = [name for name, _ in device.log if name in ("reset", "read", "control")]
    launches = device.launched.count("add")
    assert events == ["control", "reset", "read"] * launches
    order = [name for name in device.launched if name in ("read_through", "generate_real_f32", "add")]
    assert order.count("add") == launches
    assert order[-4:] == ["read_through", "generate_real_f32", "generate_real_f32", "add"]


def test_the_ceiling_of_a_warm_run_runs_twice_and_the_second_time_counts():
    ceiling = wire.Trusted("ceiling", "spin", (1, 1, 1), (256, 1, 1), (("ceiling", 0),))
    parts = bench(add)
    calls: list[int] = []

    def spin(device, grid, block, x):
        calls.append(1)
        device.clock_s += 1.0 if len(calls) % 2 else 0.0  # cold, then warm

    parts[0].modules[b"ceiling"] = {"spin": spin}
    parts[0].kernel_s = {"spin": 2e-3}
    device, arena, program, support = parts
    modules = {"generate": b"generate", "check": b"check", "ceiling": b"ceiling"}
    run = timed_run(samples=10, ceiling=(ceiling,), ceiling_bytes=1024, ceiling_samples=5, warm=True)
    samples = Stopwatch(device, arena, program, support, modules).run(run, 1 << 20, lambda k: None)
    assert samples.ceiling_s == pytest.approx((2e-3,) * 5)


def test_the_l2_buffers_are_twice_the_cache_at_least():
    _, _, device = take(add, samples=6)
    assert next(size for name, size in device.log if name == "read") * 16 >= 2 * (1 << 20)


@pytest.mark.parametrize("capacity", [3 << 20, (4 << 20) + 4096])
def test_a_gpu_with_too_little_memory_is_unsupported(capacity):
    parts = bench(add)
    allocate = parts[0].allocate

    def scarce(size):
        if parts[0]._next + size > (1 << 20) + capacity:
            raise CudaError("cudaErrorMemoryAllocation: out of memory")
        return allocate(size)

    parts[0].allocate = scarce
    with pytest.raises(Unsupported, match="memory"):
        take(add, parts, samples=6)


def test_a_slow_kernel_gets_fewer_samples_within_the_budget():
    samples, _, _ = take(add, samples=30, least_samples=5, budget_s=0.0)
    assert len(samples.control_s) == 7
    assert len(samples.seconds) in (5, 6)


def test_exact_values_are_among_the_samples():
    kinds = [variant.kind for variant in timed_run().variants]
    assert kinds.count("exact") == 1
    assert kinds.count("real") == 3


def test_a_ceiling_is_timed_beside_the_samples():
    ceiling = wire.Trusted("ceiling", "copy", (1, 1, 1), (256, 1, 1), (("ceiling", 0), ("i64", 5)))
    parts = bench(add)
    parts[0].modules[b"ceiling"] = {"copy": lambda device, grid, block, x, n: None}
    parts[0].kernel_s = {"copy": 2e-3}
    device, arena, program, support = parts
    modules = {"generate": b"generate", "check": b"check", "ceiling": b"ceiling"}
    watch = Stopwatch(device, arena, program, support, modules)
    run = timed_run(samples=10, ceiling=(ceiling,), ceiling_bytes=1024, ceiling_samples=5)
    samples = watch.run(run, 1 << 20, lambda k: None)
    assert samples.ceiling_s == pytest.approx((2e-3,) * 5)
