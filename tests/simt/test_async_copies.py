"""`cp.async`: a copy takes effect at its wait, and a wait or a barrier that is missing is found each time."""

from __future__ import annotations

import numpy as np
import pytest

from grader.backends.sim.results import finding
from grader.simt.engine.layout import COPY_SLOTS
from tests.simt.kernels import NAME, Ran, body, run
from tests.telling import rule_of

X = np.arange(1, 4097, dtype=np.float32)
PIPELINE = "#include <cuda_pipeline.h>\n"
PARAMETERS = "const float* x, float* y, int n"


def ran(statements: str, *, block: int = 64, grid: int = 1, threads: int = 1, n: int = 0, x: np.ndarray = X) -> Ran:
    """Statements begin in line 5; `s` has 1024 floats, and copies go by `COPY(target, source, bytes)`."""
    declared = "__shared__ alignas(16) float s[1024];\n#define COPY __pipeline_memcpy_async\n"
    source = PIPELINE + body(declared + statements, PARAMETERS).replace(
        "\nint t = threadIdx.x;\n", " int t = threadIdx.x;\n"
    )
    return run(source, {"x": x, "y": np.zeros(4096, np.float32)}, n, block=block, grid=grid, threads=threads)


def lines(found: Ran, kind: str) -> set[tuple[tuple[str, int | None], ...]]:
    return {tuple((a.kind, a.line) for a in e.accesses) for e in found.events if e.kind == kind}


def first(found: Ran) -> tuple[str, str]:
    """The cause of the first finding, and the rule that says what to do about it."""
    record = finding(found.events[0], NAME, {})
    return record.cause, rule_of(record)


ONE = "COPY(&s[t], x + i, 4); __pipeline_commit();\n{wait}\n{sync}\ny[i] = s[{read}];"


def one(wait: str = "__pipeline_wait_prior(0);", sync: str = "__syncthreads();", read: str = "63 - t") -> Ran:
    return ran(ONE.format(wait=wait, sync=sync, read=read))


def test_after_its_wait_and_a_barrier_every_thread_reads_the_copy() -> None:
    found = one()
    assert found.kinds == []
    assert found.arrays["y"][:64].tolist() == X[63::-1].tolist()


def test_without_a_wait_the_old_bytes_are_read_and_both_places_are_named() -> None:
    found = one(wait="")
    assert lines(found, "missing_async_wait") == {(("copy", 6), ("read", 9))}
    assert found.kinds == ["missing_async_wait"]
    assert np.isnan(found.arrays["y"][:64]).all()
    assert first(found) == ("copy_of_another", "copies.every_thread_waits")
    record = finding(found.events[0], NAME, {})
    assert (record.space, record.array, record.index) == ("shared", "s", 63)
    assert [(place.role, place.thread) for place in record.places] == [("copy", (63, 0, 0)), ("read", (0, 0, 0))]


def test_its_own_thread_must_wait_too() -> None:
    found = one(wait="", sync="", read="t")
    assert found.kinds == ["missing_async_wait"]
    assert first(found) == ("own_copy", "copies.wait_before_the_access")
    assert one(sync="", read="t").kinds == []


def test_a_wait_orders_the_thread_that_waits_and_a_barrier_is_missing_for_the_others() -> None:
    found = one(sync="")
    assert lines(found, "race") >= {(("copy", 6), ("read", 9))}
    assert set(found.kinds) <= {"race", "uninitialised_read"}
    race = next(e for e in found.events if e.kind == "race")
    assert rule_of(finding(race, NAME, {})) == "copies.copy_of_another_thread"


def test_a_warp_is_ordered_by_syncwarp_after_the_wait() -> None:
    assert one(sync="__syncwarp();", read="t ^ 1").kinds == []
    assert "race" in one(sync="", read="t ^ 1").kinds


def test_a_write_to_what_is_still_being_copied_is_found() -> None:
    found = ran("COPY(&s[t], x + i, 4); __pipeline_commit();\ns[t] = 1;\n__pipeline_wait_prior(0); y[i] = s[t];")
    assert lines(found, "missing_async_wait") == {(("copy", 6), ("write", 7))}


TWO = """COPY(&s[t], x + i, 4); __pipeline_commit();
COPY(&s[64 + t], x + 64 + i, 4); __pipeline_commit();
__pipeline_wait_prior({first}); __syncthreads();
y[i] = s[63 - t];
__pipeline_wait_prior({second}); __syncthreads();
y[64 + i] = s[127 - t];"""


def test_a_wait_for_all_but_one_group_leaves_the_newest_under_way() -> None:
    assert ran(TWO.format(first=1, second=0)).kinds == []
    assert lines(ran(TWO.format(first=1, second=1)), "missing_async_wait") == {(("copy", 7), ("read", 11))}
    assert lines(ran(TWO.format(first=2, second=0)), "missing_async_wait") == {(("copy", 6), ("read", 9))}


def test_a_copy_that_is_in_no_group_yet_is_not_waited_for() -> None:
    late = "COPY(&s[t], x + i, 4);\n{wait}\n__syncthreads(); y[i] = s[t]; __pipeline_commit();"
    assert ran(late.format(wait="__pipeline_wait_prior(0);")).kinds == ["missing_async_wait"]
    assert ran(late.format(wait='asm volatile("cp.async.wait_all;" ::: "memory");')).kinds == []


STAGES = """COPY(&s[t], x + t, 4); __pipeline_commit();
for (int k = 0; k < n; ++k) {{
if (k + 1 < n) COPY(&s[(k + 1) % 2 * 64 + t], x + 64 * (k + 1) + t, 4);
__pipeline_commit();
__pipeline_wait_prior(1);
__syncthreads();
y[64 * k + t] = s[k % 2 * 64 + 63 - t];
{after}
}}"""


def test_two_stages_overlap_a_copy_with_its_predecessors_use() -> None:
    found = ran(STAGES.format(after="__syncthreads();"), n=9)
    assert found.kinds == []
    assert found.arrays["y"][: 9 * 64].tolist() == X[: 9 * 64].reshape(9, 64)[:, ::-1].reshape(-1).tolist()


def test_a_stage_that_is_overwritten_before_all_have_read_it_is_a_race() -> None:
    found = ran(STAGES.format(after=""), n=9)
    places = lines(found, "race")
    assert places
    assert places <= {(("read", 12), ("copy", 8)), (("copy", 8), ("read", 12))}
    assert set(found.kinds) == {"race"}


def test_bytes_beyond_the_given_ones_become_zero() -> None:
    found = ran(
        "if (t < 16) COPY(&s[4 * t], x + 4 * t, 16, 16 - t);\n__pipeline_commit(); __pipeline_wait_prior(0);"
        "__syncthreads(); y[i] = s[t];"
    )
    assert found.kinds == []
    want = X[:64].tobytes()
    for t in range(16):
        start, given = 16 * t, t  # __pipeline_memcpy_async is told how many bytes to zero
        assert found.arrays["y"].tobytes()[start : start + 16] == want[start : start + given].ljust(16, b"\0")


ASM = 'asm volatile("{text}" :: "r"((unsigned)__cvta_generic_to_shared(&s[4 * t])), {operands} : "memory");'
END = (
    '\nasm volatile("cp.async.wait_all;" ::: "memory"); __syncthreads(); for (int k = t; k < 256; k += 64) y[k] = s[k];'
)
FORMS = {
    "ca 4": ("cp.async.ca.shared.global [%0], [%1], 4;", 4),
    "ca 8": ("cp.async.ca.shared.global [%0], [%1], 8;", 8),
    "cg 16": ("cp.async.cg.shared.global [%0], [%1], 16;", 16),
    "cg with a prefetch": ("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;", 16),
    "ca with nothing of it": ("cp.async.ca.shared.global [%0], [%1], 16, 0;", 0),
    "ca with some of it": ("cp.async.ca.shared.global [%0], [%1], 8, 5;", 5),
    "ignored": ("{{ .reg .pred p; setp.eq.u32 p, 1, 1; cp.async.ca.shared.global [%0], [%1], 8, p; }}", 0),
    "not ignored": ("{{ .reg .pred p; setp.eq.u32 p, 1, 2; cp.async.ca.shared.global [%0], [%1], 8, p; }}", 8),
    "a hint": (
        "{{ .reg .b64 c; createpolicy.fractional.L2::evict_last.b64 c, 1.0; "
        "cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, c; }}",
        16,
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_each_form_copies_its_bytes(form: str) -> None:
    text, bytes_ = FORMS[form]
    text = text.replace("{{", "{").replace("}}", "}")
    clear = "for (int k = t; k < 256; k += 64) s[k] = 0; __syncthreads();\n"
    found = ran(clear + ASM.format(text=text, operands='"l"(x + 4 * t)') + END)
    assert found.kinds == []
    got = found.arrays["y"][:256].reshape(64, 4)
    for t in range(64):
        assert got[t].tobytes() == X[4 * t : 4 * t + 4].tobytes()[:bytes_].ljust(16, b"\0")


def test_a_source_of_which_nothing_is_read_may_lie_anywhere() -> None:
    past = ASM.format(text="cp.async.cg.shared.global [%0], [%1], 16, %2;", operands='"l"(x + 100000), "r"(n)')
    assert ran(past + END, n=0).kinds == []
    assert ran(past + END, n=4).kinds == ["out_of_bounds"]


def test_the_bounds_are_those_of_the_bytes_that_are_read() -> None:
    near = ASM.format(text="cp.async.cg.shared.global [%0], [%1], 16, %2;", operands='"l"(x + 4092), "r"(n)')
    shorter = X[:4093]
    assert ran(near + END, n=4, x=shorter).kinds == []
    assert ran(near + END, n=5, x=shorter).kinds == ["out_of_bounds"]


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("COPY(&s[t], x + i + 4090, 4);", "out_of_bounds"),
        ("COPY(&s[t + 1000], x + i, 4);", "out_of_bounds"),
        ("COPY(&s[4 * t], x + i, 16);", "misaligned"),
        ("COPY(&s[2 * t], x + 1 + 2 * t, 8);", "misaligned"),
    ],
)
def test_strays_are_found_where_the_copy_starts(statement: str, kind: str) -> None:
    found = ran(statement)
    assert found.kinds[0] == kind
    assert found.events[0].line == 6


def test_a_source_that_nobody_wrote_is_reported() -> None:
    source = body("__shared__ float s[64];\n__pipeline_memcpy_async(&s[t], y + i, 4);", "float* y", before=PIPELINE)
    assert run(source, {"y": np.zeros(64, np.float32)}, unset=("y",)).kinds == ["uninitialised_read"]


def test_lanes_count_their_groups_alone() -> None:
    """Half of the lanes close one group more: for them the first copy is no longer among the newest two."""
    statements = """COPY(&s[t], x + i, 4); __pipeline_commit(); COPY(&s[64 + t], x + i, 4); __pipeline_commit();
if (t % 2) __pipeline_commit();
__pipeline_wait_prior(2); __syncwarp();
y[i] = s[t];"""
    found = ran(statements)
    assert found.kinds == ["missing_async_wait"]
    assert np.isnan(found.arrays["y"][:64:2]).all()
    assert found.arrays["y"][1:64:2].tolist() == X[1:64:2].tolist()


def test_half_of_a_warp_copies_for_the_other_half() -> None:
    found = ran(
        "if (t % 32 < 16) { COPY(&s[2 * t], x + 2 * t, 8); __pipeline_commit(); __pipeline_wait_prior(0); }\n"
        "__syncwarp(); int h = t / 32 * 64, l = t % 32; y[i] = s[h + 31 - l];"
    )
    assert found.kinds == []
    assert found.arrays["y"][:32].tolist() == X[31::-1].tolist()


def test_a_wait_of_half_a_warp_leaves_the_other_halfs_copies_under_way() -> None:
    found = ran(
        "COPY(&s[t], x + i, 4); __pipeline_commit();\nif (t & 1) __pipeline_wait_prior(0);\n"
        "__syncthreads(); y[i] = s[t];"
    )
    assert found.kinds == ["missing_async_wait"]
    assert np.isnan(found.arrays["y"][:64:2]).all()
    assert not np.isnan(found.arrays["y"][1:64:2]).any()


def test_more_copies_than_the_queue_holds_all_arrive() -> None:
    many = COPY_SLOTS + 32
    copies = "".join(f"COPY(&u[{32 * k} + t], x + {32 * k} + t, 4);\n" for k in range(many))
    wait = "__pipeline_commit(); __pipeline_wait_prior(0);\n"
    read = f"for (int k = 0; k < {many}; ++k) y[32 * k + t] = u[32 * k + t];"
    found = ran(f"__shared__ float u[{32 * many}];\n" + copies + wait + read, block=32)
    assert found.kinds == []
    assert found.arrays["y"][: 32 * many].tolist() == X[: 32 * many].tolist()
    early = ran(f"__shared__ float u[{32 * many}];\n" + copies + read, block=32)
    assert set(early.kinds) == {"missing_async_wait"}
    assert early.arrays["y"][: 32 * 32].tolist() == X[: 32 * 32].tolist()  # as many took effect early
    assert np.isnan(early.arrays["y"][32 * 32 : 32 * many]).all()


def test_a_second_copy_into_a_place_before_the_first_was_waited_for_is_found() -> None:
    found = ran("COPY(&s[t], x + i, 4); __pipeline_commit();\nCOPY(&s[t], x + 64 + i, 4); __pipeline_wait_prior(0);")
    assert found.kinds == ["missing_async_wait"]
    assert first(found)[0] == "second_copy"


def test_a_thread_may_end_with_copies_under_way() -> None:
    found = ran("COPY(&s[t], x + i, 4); __pipeline_commit(); y[i] = 1;", grid=4)
    assert found.kinds == []
    assert found.arrays["y"][:256].tolist() == [1] * 256


def test_what_an_ended_thread_never_waited_for_is_not_read_by_others() -> None:
    found = ran("if (t < 32) { COPY(&s[t], x + i, 4); return; }\n__syncthreads(); y[i] = s[t - 32];")
    assert set(found.kinds) == {"race"}


def test_the_next_block_knows_nothing_of_copies_under_way() -> None:
    found = ran("if (blockIdx.x == 0) COPY(&s[t], x + i, 4);\nelse { s[t] = 2; y[i] = s[t]; }", grid=3)
    assert found.kinds == []
    assert found.arrays["y"][64:192].tolist() == [2] * 128


def test_a_source_must_not_change_while_it_is_copied() -> None:
    statements = """COPY(&s[t], y + t, 4); __pipeline_commit(); __syncthreads();
y[63 - t] = 1; {wait} __syncthreads(); y[64 + t] = s[t];"""
    found = ran(statements.format(wait="__pipeline_wait_prior(0);"))
    assert lines(found, "missing_async_wait") == {(("copy", 6), ("write", 7))}
    assert first(found)[0] == "source"
    moved = "COPY(&s[t], y + t, 4); __pipeline_commit(); __pipeline_wait_prior(0); __syncthreads();\ny[63 - t] = s[t];"
    assert ran(moved).kinds == []


def test_the_thread_that_copies_must_not_change_the_source_either() -> None:
    found = ran("COPY(&s[t], y + t, 4); __pipeline_commit();\ny[t] = 1; __pipeline_wait_prior(0); y[64 + t] = s[t];")
    assert found.kinds == ["missing_async_wait"]
    assert lines(found, "missing_async_wait") == {(("copy", 6), ("write", 7))}
    assert first(found)[0] == "source"


def test_a_source_of_two_copies_may_be_overwritten_after_the_wait_for_both() -> None:
    twice = "COPY(&s[t], y + t, 4); COPY(&s[64 + t], y + t / 2, 4);\n"
    assert ran(twice + "__pipeline_commit(); __pipeline_wait_prior(0); __syncthreads(); y[t] = s[t];").kinds == []


def test_the_source_may_be_overwritten_after_the_wait_by_its_own_thread() -> None:
    assert ran("COPY(&s[t], y + t, 4); __pipeline_commit(); __pipeline_wait_prior(0); y[t] = s[t] + 1;").kinds == []


def test_two_lanes_of_one_copy_into_one_place_race() -> None:
    found = ran("COPY(&s[t / 2], x + t, 4); __pipeline_commit(); __pipeline_wait_prior(0);")
    assert set(found.kinds) == {"race"}


def test_a_copy_is_a_load_and_fills_shared_memory_without_registers() -> None:
    found = ran("if (t < 32) COPY(&s[4 * t], x + 4 * t, 16); __pipeline_commit();\n__pipeline_wait_prior(0);")
    counted = {n: found.total.get(n) for n in ("global_load_requests", "global_load_bytes", "global_load_sectors")}
    assert counted == {"global_load_requests": 1, "global_load_bytes": 512, "global_load_sectors": 16}
    assert found.total["async_copy_bytes"] == 512
    assert (found.total["async_copy_requests"], found.total["async_copy_wavefronts"]) == (1, 4)
    assert "shared_store_requests" not in found.total


# Bytes into x and into shared memory for lane t, and the sectors that Nsight Compute counted on an H200: of 16 bytes a
# lane through L1 (.ca), and past it (.cg).
MEASURED = [
    ("16 * t", "16 * t", 16, 16),
    ("16 * t", "16 * t + 16", 16, 20),
    ("16 * t", "16 * t + 32", 16, 16),
    ("16 * t + 16", "16 * t", 17, 20),
    ("16 * t + 16", "16 * t + 16", 17, 17),
    ("0", "16 * t", 1, 16),
    ("0", "32 * t", 1, 32),
    ("0", "128 * t", 1, 32),
    ("t / 2 * 16", "16 * t", 8, 16),
    ("t % 4 * 16", "16 * t", 2, 16),
    ("t / 2 * 32", "16 * t", 16, 16),
    ("32 * t", "16 * t", 32, 16),
    ("64 * t", "16 * t", 32, 16),
    ("16 * t", "64 * t", 16, 32),
    ("16 * t", "16 * (t ^ 1)", 16, 16),
    ("16 * t", "16 * (31 - t)", 16, 16),
    ("16 * t", "16 * (13 * t % 32)", 16, 24),
    ("16 * (13 * t % 32)", "16 * t", 16, 32),
    ("16 * t", "t / 8 * 144 + t % 8 * 16", 16, 18),
    ("16 * t", "t / 4 * 80 + t % 4 * 16", 16, 20),
    ("16 * t", "t / 2 * 48 + t % 2 * 16", 16, 24),
    ("t / 16 * 128 + min(t % 16, 7) * 16", "16 * t", 8, 16),
    ("16 * t", "t % 8 * 512 + t / 8 * 16", 16, 32),
]
RAW = (
    'if (t < 32) asm volatile("cp.async.{cache}.shared.global [%0], [%1], {size};" :: "r"((unsigned)'
    '__cvta_generic_to_shared((char*)s + ({target}))), "l"((const char*)x + ({source})) : "memory"); '
    "__pipeline_commit(); __pipeline_wait_prior(0);"
)


@pytest.mark.parametrize(("source", "target", "through", "past"), MEASURED)
def test_copies_of_16_bytes_fetch_the_sectors_that_nsight_compute_counted(
    source: str, target: str, through: int, past: int
) -> None:
    for cache, expected in (("ca", through), ("cg", past)):
        found = ran(RAW.format(cache=cache, size=16, source=source, target=target))
        assert found.total.get("global_load_sectors") == expected, cache


@pytest.mark.parametrize(("target", "size", "sectors"), [("128 * t", 4, 4), ("128 * t", 8, 8), ("16 * t + 16", 8, 8)])
def test_narrower_copies_fetch_each_sector_once_wherever_they_go(target: str, size: int, sectors: int) -> None:
    found = ran(RAW.format(cache="ca", size=size, source=f"{size} * t", target=target))
    assert found.total.get("global_load_sectors") == sectors


def test_bank_conflicts_of_a_copy_are_excess_wavefronts() -> None:
    assert ran("COPY(&s[t * 16], x + t, 4);").total["excess_wavefronts"] == 2 * 15


@pytest.mark.parametrize("after", ["__syncthreads();", ""])
def test_one_and_three_threads_agree(after: str) -> None:
    statements = (
        STAGES.format(after=after).replace("x + ", "x + 64 * blockIdx.x + ").replace("y[", "y[640 * blockIdx.x + ")
    )
    first, second = (ran(statements, n=9, grid=6, threads=k) for k in (1, 3))
    assert first.events == second.events
    assert first.outcome.counters == second.outcome.counters
    assert first.arrays["y"].tobytes() == second.arrays["y"].tobytes()


def test_a_kernel_without_copies_has_no_queue() -> None:
    from grader.compile import compile_source
    from grader.simt.engine.codegen import generate
    from grader.simt.observers import OBSERVERS, observer_set
    from grader.simt.ptx import parse

    def made(statements: str) -> tuple[str, bool]:
        source = PIPELINE + body(f"__shared__ float s[64];\n{statements}\nx[i] = s[63 - t];")
        program = compile_source(source.encode(), NAME)
        made, kernel = generate(parse(program.ptx, NAME), "k", observer_set(frozenset(OBSERVERS)))
        return str(made), kernel.copies

    plain, has_copies = made("s[t] = x[i]; __syncthreads();")
    assert not has_copies
    assert "copy_" not in plain
    assert "object_" not in plain
    assert made("__pipeline_memcpy_async(&s[t], x + i, 4); __pipeline_commit(); __pipeline_wait_prior(0);")[1]


def test_bytes_of_no_known_type_are_counted_as_bytes() -> None:
    matrix = """unsigned p = (unsigned)__cvta_generic_to_shared(s + 4 * t), r; COPY(s + 4 * t, x + 4 * t, 16);
asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r) : "r"(p)); y[t] = r;"""
    record = finding(ran(matrix, block=32).events[0], NAME, {})
    assert (record.array, record.index, record.address) == ("s", None, 0)


def test_a_copy_that_stands_behind_what_it_overwrites_needs_a_barrier_before_it() -> None:
    one_warp = "s[t] = 1; __syncthreads(); y[i] = s[31 - t];\nCOPY(&s[t], x + i, 4); __pipeline_wait_prior(0);"
    found = ran(one_warp, block=32)
    assert {frozenset(pair) for pair in lines(found, "race")} == {frozenset({("read", 6), ("copy", 7)})}
    assert first(found)[1] == "copies.copy_overwrites"


LOOP = """COPY(&s[t], x + i, 4); __pipeline_commit();
for (int r = 0; r < 2; ++r) {
    __pipeline_wait_prior(0); %s
    y[i] = s[t ^ 1]; %s
    COPY(&s[t], x + i, 4); __pipeline_commit();
}"""


def test_in_a_loop_the_barrier_is_missing_after_the_wait_or_before_the_copy() -> None:
    after, before = (ran(LOOP % barriers) for barriers in (("", "__syncthreads();"), ("__syncthreads();", "")))
    assert (after.kinds[0], before.kinds[0]) == ("race", "race")
    assert (first(after)[1], first(before)[1]) == ("copies.copy_of_another_thread", "copies.copy_overwrites")


def test_a_source_that_another_thread_has_just_written_needs_a_barrier() -> None:
    found = ran("y[t] = 1;\nCOPY(&s[t], y + 63 - t, 4); __pipeline_commit(); __pipeline_wait_prior(0);")
    race = next(e for e in found.events if [(a.kind, a.line) for a in e.accesses] == [("write", 6), ("copy", 7)])
    assert rule_of(finding(race, NAME, {})) == "races.barrier_of_the_block"
