"""What counts as a race: two unordered accesses of different threads to one address, at least one a write."""

from __future__ import annotations

import numpy as np
import pytest

from tests.simt.kernels import body, run

X = np.arange(256, dtype=np.float32)


def shared(statements: str) -> str:
    return body(f"__shared__ float s[256];\n{statements}")


def test_a_barrier_orders_writes_before_reads() -> None:
    ran = run(shared("s[t] = x[i]; __syncthreads();\nx[i] = s[255 - t];"), {"x": X}, 256, block=256)
    assert ran.kinds == []
    assert ran.arrays["x"].tolist() == X[::-1].tolist()


def test_without_the_barrier_both_accesses_are_named() -> None:
    ran = run(shared("s[t] = x[i];\nx[i] = s[255 - t];"), {"x": X}, 256, block=256)
    race = next(e for e in ran.events if e.kind == "race")
    assert race.array == "s"
    assert {(a.kind, a.line) for a in race.accesses} == {("write", 5), ("read", 6)}
    assert race.accesses[0].thread != race.accesses[1].thread


def test_two_writes_of_different_values_race_and_of_the_same_value_warn() -> None:
    store = "s[n - 256] = {value};\n__syncthreads(); x[i] = s[0];"
    assert "race" in run(shared(store.format(value="t")), {"x": X}, 256, block=64).kinds
    assert set(run(shared(store.format(value="1")), {"x": X}, 256, block=64).kinds) == {"same_value_write"}


def test_lanes_of_one_store_that_collide_race() -> None:
    assert "race" in run(shared("s[t / 2] = t;\n__syncthreads(); x[i] = s[t / 4];"), {"x": X}, 256, block=32).kinds


def test_syncwarp_orders_the_lanes_of_a_warp_and_nothing_else() -> None:
    statements = "s[t] = x[i]; __syncwarp();\nx[i] = s[t ^ {step}];"
    assert run(shared(statements.format(step=1)), {"x": X}, 256, block=64).kinds == []
    assert "race" in run(shared(statements.format(step=32)), {"x": X}, 256, block=64).kinds


def test_syncwarp_of_half_a_warp_orders_that_half_only() -> None:
    statements = "s[t] = x[i]; if (t < 16) __syncwarp(0xffff); else __syncwarp(0xffff0000u);\nx[i] = s[t ^ {step}];"
    assert run(shared(statements.format(step=1)), {"x": X}, 256, block=32).kinds == []
    assert "race" in run(shared(statements.format(step=16)), {"x": X}, 256, block=32).kinds


def test_groups_of_a_warp_that_synchronise_together_are_ordered_each_for_itself() -> None:
    statements = "s[t] = x[i]; __syncwarp(t < 16 ? 0xffff : 0xffff0000u);\nx[i] = s[t ^ {step}];"
    assert run(shared(statements.format(step=1)), {"x": X}, 256, block=32).kinds == []
    assert "race" in run(shared(statements.format(step=16)), {"x": X}, 256, block=32).kinds


def test_a_named_barrier_orders_its_warps() -> None:
    sync = 'if (t < 64) asm volatile("bar.sync 1, 64;" ::: "memory");'
    statements = f"s[t] = x[i]; {sync}\nif (t < {{last}}) x[i] = s[t ^ {{step}}];"
    assert run(shared(statements.format(step=32, last=64)), {"x": X}, 256, block=128).kinds == []
    assert "race" in run(shared(statements.format(step=64, last=64)), {"x": X}, 256, block=128).kinds


def test_atomics_do_not_race_with_each_other_but_with_plain_reads() -> None:
    assert run(body("atomicAdd(&x[0], 1.0f);"), {"x": X}, 256, block=64, grid=2).kinds == []
    mixed = body("atomicAdd(&x[0], 1.0f); x[1 + i] = x[0];")
    assert "race" in run(mixed, {"x": X}, 256, block=64).kinds


@pytest.mark.parametrize("add", ["atomicAdd_block(x + {at}, 1.0f)", "atomicAdd(x + {at}, 1.0f)"])
def test_atomics_of_a_block_race_with_those_of_other_blocks_alone(add: str) -> None:
    own, common = (run(body(f"{add.format(at=at)};"), {"x": X}, 256, grid=4, block=64) for at in ("blockIdx.x", "9"))
    assert own.kinds == []
    assert common.kinds == (["race"] if "_block" in add else [])
    assert own.arrays["x"][:4].tolist() == [64, 65, 66, 67]


def test_a_fence_orders_atomics_of_two_blocks_whatever_their_scope_is() -> None:
    handed_on = (
        "if (t == 0) { while (*(volatile float*)(x + 200) < blockIdx.x + 200) ; __threadfence(); "
        "atomicAdd_block(x + 9, 1.0f); __threadfence(); *(volatile float*)(x + 200) = blockIdx.x + 201; }"
    )
    assert run(body(handed_on), {"x": X}, 256, grid=4, block=64).kinds == []


def test_blocks_race_on_global_memory() -> None:
    ran = run(body("if (t == 0) x[0] = blockIdx.x;"), {"x": X}, 256, grid=4)
    race = next(e for e in ran.events if e.kind == "race")
    assert race.accesses[0].block != race.accesses[1].block


LAST_BLOCK = """__shared__ bool last;
if (t == 0) { x[1 + blockIdx.x] = 1.0f; FENCE last = atomicAdd(count, 1u) == gridDim.x - 1; }
__syncthreads();
if (last && t == 0) { float sum = 0; for (int b = 0; b < gridDim.x; ++b) sum += x[1 + b]; x[0] = sum; }"""


@pytest.mark.parametrize(("fence", "kinds"), [("__threadfence();", []), ("", ["missing_fence"])])
def test_the_last_block_reads_what_others_wrote_before_a_fence(fence: str, kinds: list[str]) -> None:
    source = body(LAST_BLOCK.replace("FENCE", fence), "float* x, unsigned* count")
    ran = run(source, {"x": np.zeros(16, np.float32), "count": np.zeros(1, np.uint32)}, grid=8)
    assert ran.kinds == kinds
    assert ran.arrays["x"][0] == 8


def test_reading_shared_memory_that_nobody_wrote_is_reported_and_gives_nan() -> None:
    ran = run(shared("if (t < 16) s[t] = 1;\n__syncthreads(); x[i] = s[t];"), {"x": X}, 256, block=32)
    assert ran.kinds == ["uninitialised_read"]
    assert (ran.events[0].array, ran.events[0].offset, ran.events[0].line) == ("s", 64, 6)
    assert np.isnan(ran.arrays["x"][16:32]).all()


def test_shared_memory_of_the_block_before_counts_as_unwritten() -> None:
    ran = run(shared("if (blockIdx.x == 0) s[t] = 1;\n__syncthreads(); x[i] = s[t];"), {"x": X}, 256, grid=2)
    assert ran.kinds == ["uninitialised_read"]
    assert ran.events[0].block == (1, 0, 0)


def test_reading_an_output_before_writing_it_is_reported() -> None:
    ran = run(body("x[i] += 1;"), {"x": X}, 256, unset=("x",))
    assert ran.kinds == ["uninitialised_read"]
    assert run(body("x[i] = 1; x[i] += 1;"), {"x": X}, 256, unset=("x",)).kinds == []


def test_bytes_beside_each_other_do_not_race() -> None:
    bytes_ = np.zeros(64, np.uint8)
    assert run(body("x[i] = t;", "unsigned char* x"), {"x": bytes_}, block=64).kinds == []


SWAP_LOOP = """unsigned* a = (unsigned*)x; unsigned old = *a, assumed;
do { assumed = old;
old = atomicCAS(a, assumed, __float_as_uint(__uint_as_float(assumed) + 1.0f)); } while (old != assumed);"""


def test_a_plain_load_may_seed_a_compare_and_swap_loop() -> None:
    ran = run(body(SWAP_LOOP), {"x": np.zeros(64, np.float32)}, 64, block=64, grid=2)
    assert ran.kinds == []
    assert ran.arrays["x"][0] == 128


def test_a_plain_load_elsewhere_races_with_a_compare_and_swap() -> None:
    ran = run(body(SWAP_LOOP + "\nx[1 + i] = x[0];"), {"x": np.zeros(65, np.float32)}, 64, block=64)
    assert set(ran.kinds) == {"race"}
    assert {a.line for e in ran.events for a in e.accesses} >= {7}


def test_elements_that_a_wide_load_reads_for_nobody_do_not_count() -> None:
    """The compiler reads the whole of an aligned struct; another thread may own the rest of it."""
    before = "struct __align__(16) V { float a, b, c; };\n"
    own = "__shared__ V v[32]; v[t].a = t; v[t].c = 2 * t; __syncthreads();"
    ran = run(
        body(own + "x[i] = v[t].a + v[t].c; v[31 - t].b = 1;", before=before), {"x": np.zeros(64, np.float32)}, 64
    )
    assert ran.kinds == []
    assert ran.arrays["x"][:32].tolist() == [3 * t for t in range(32)]


@pytest.mark.parametrize(
    "statements",
    [
        "s[t] = 1; __syncthreads();\nif (2 * t + 1 < 256) s[t] += s[2 * t + 1];",
        "s[t] = 1; __syncthreads();\nif (t < 128) s[t] += s[2 * t];",
        "s[t] = 1; __syncthreads();\nint sum = 0; for (int k = 0; k < 256; ++k) sum += s[k];\ns[t] = sum;",
        "int own = s[t];\nint other = s[t ^ 32];\ns[t] = own + other;",
        "int other = s[t ^ 32];\nint own = s[t];\ns[t] = own + other;",
    ],
)
def test_no_race_names_one_thread_twice(statements: str) -> None:
    ran = run(shared(statements + "\n__syncthreads(); x[i] = s[t];"), {"x": X}, 256, block=256)
    races = [e for e in ran.events if e.kind == "race"]
    assert races
    for race in races:
        assert len({(a.thread, a.block) for a in race.accesses}) == len(race.accesses)
    assert max(len(race.accesses) for race in races) == 2


def test_writer_that_alone_is_known_among_the_readers_is_named_alone() -> None:
    # Nobody wrote the words before, so nothing tells that thread 0, the first to read word 0, will write it.
    statements = "int sum = s[0]; __syncwarp();\nif (t == 31) s[0] = sum;"
    ran = run(shared(statements + "\n__syncthreads(); x[i] = s[t];"), {"x": X}, 256, block=64)
    race = next(e for e in ran.events if e.kind == "race")
    assert len({a.thread for a in race.accesses}) == len(race.accesses)
