"""Memory: spaces, bounds, alignment, constants, local arrays, generic pointers, atomics, printf."""

from __future__ import annotations

import numpy as np
import pytest

from tests.simt.kernels import body, run

X = np.arange(64, dtype=np.float32)


@pytest.mark.parametrize(("index", "offset"), [("n", 256), ("n + 5", 276), ("-1", -4)])
def test_an_element_too_far_is_named_with_array_and_index(index: str, offset: int) -> None:
    ran = run(body(f"if (t == 3)\nx[{index}] = 1;"), {"x": X}, 64)
    event = ran.events[0]
    assert (event.kind, event.array, event.offset, event.line, event.thread) == (
        "out_of_bounds",
        "x",
        offset,
        5,
        (3, 0, 0),
    )
    assert ran.arrays["x"].tolist() == X.tolist()


def test_a_shared_array_ends_where_it_was_declared() -> None:
    ran = run(
        body(
            "__shared__ float a[32]; __shared__ float b[32];\na[t + 1] = 1; b[t] = x[t]; __syncthreads(); b[t] += a[31 - t]; x[i] = b[t];"
        ),
        {"x": X},
        64,
    )
    stray = next(e for e in ran.events if e.kind == "out_of_bounds")
    assert (stray.array, stray.offset, stray.line) == ("a", 128, 5)


def test_dynamic_shared_memory_is_as_large_as_the_launch_says() -> None:
    source = body("extern __shared__ float s[]; s[t] = 1; x[i] = s[t];")
    assert run(source, {"x": X}, 64, shared=128).kinds == []
    assert "out_of_bounds" in run(source, {"x": X}, 64, shared=124).kinds


def test_a_null_pointer_is_named() -> None:
    assert run(body("float* p = (float*)(long long)(n - 64); p[t] = 1;"), {"x": X}, 64).events[0].kind == "null"


def test_a_wide_load_of_a_crooked_address_is_misaligned() -> None:
    ran = run(body("float4 v = *(float4*)(x + 1);\nx[32 + t] = v.x + v.y + v.z + v.w;"), {"x": X}, 64)
    assert ran.events[0].kind == "misaligned"
    assert ran.events[0].line == 4


def test_vector_loads_and_stores_move_all_elements() -> None:
    ran = run(body("float4 v = ((float4*)x)[t]; v.x += 1; v.w *= 2; ((float4*)x)[t] = v;"), {"x": X}, 64, block=16)
    want = X.reshape(-1, 4) * [1, 1, 1, 2] + [1, 0, 0, 0]
    assert ran.arrays["x"].tolist() == want.ravel().tolist()


def test_local_arrays_keep_each_threads_values() -> None:
    ran = run(body("float a[4]; for (int k = 0; k < 4; ++k) a[k] = t * k; x[i] = a[(t + n) & 3];"), {"x": X}, 64)
    assert ran.arrays["x"][:32].tolist() == [t * (t & 3) for t in range(32)]


def test_generic_pointers_reach_shared_and_global_memory() -> None:
    source = body(
        "__shared__ float s[32]; s[t] = t; __syncthreads();\nfloat* p = (t & 1) ? s : x; x[32 + t] = p[31 - t];"
    )
    ran = run(source, {"x": X}, 64)
    assert ran.arrays["x"][32:].tolist() == [31 - t for t in range(32)]


def test_constants_and_device_variables_have_their_initial_values() -> None:
    before = "__constant__ float c[4] = {1, 2, 3, 4};\n__device__ int count = 5;\n"
    ran = run(body("x[i] = c[t & 3] + count;", before=before), {"x": X}, 64)
    assert ran.arrays["x"][:32].tolist() == [(t & 3) + 6 for t in range(32)]


def test_device_functions_are_called_with_values_and_pointers() -> None:
    before = "__device__ __noinline__ float twice(float v, float* p, int k) { p[k] = -v; return 2 * v; }\n"
    ran = run(body("if (t & 1) x[i] = twice(t, x, 32 + t);", before=before), {"x": np.zeros(64, np.float32)}, 64)
    odd = [t for t in range(32) if t & 1]
    assert [ran.arrays["x"][t] for t in odd] == [2 * t for t in odd]
    assert [ran.arrays["x"][32 + t] for t in odd] == [-t for t in odd]


def test_atomics_return_old_values_in_lane_order() -> None:
    source = body("int old = atomicAdd(x, 2); x[1 + i] = old;", "int* x")
    ran = run(source, {"x": np.zeros(65, np.int32)}, block=64)
    assert ran.arrays["x"][0] == 128
    assert ran.arrays["x"][1:].tolist() == list(range(0, 128, 2))


@pytest.mark.parametrize(
    ("call", "start", "want"),
    [("atomicMax(x, t - 5)", 0, 26), ("atomicMin(x, 5 - t)", 0, -26), ("atomicXor(x, t)", 1, 1), ("atomicExch(x, t)", 0, 31),
     ("atomicCAS(x, 3, t)", 3, 0), ("atomicOr(x, 1 << t)", 0, -1), ("atomicSub(x, t)", 0, -496)],
)  # fmt: skip
def test_each_atomic_combines_as_cuda_says(call: str, start: int, want: int) -> None:
    ran = run(body(f"{call};", "int* x"), {"x": np.array([start], np.int32)})
    assert ran.arrays["x"][0] == want


def test_printf_prints_in_block_and_thread_order() -> None:
    source = body('if (t % 16 == 0) printf("%d:%5.2f %s|%x%%\\n", i, i * 0.5, "on", t);')
    ran = run(source, {"x": X}, 64, grid=2)
    assert ran.outcome.printed == "0: 0.00 on|0%\n16: 8.00 on|10%\n32:16.00 on|0%\n48:24.00 on|10%\n"


def test_a_failed_assertion_says_what_failed() -> None:
    ran = run(body("assert(t < 7);", before="#include <assert.h>\n"), {"x": X}, 64)
    assert ran.events[0].kind == "assert"
    assert "t < 7" in ran.events[0].text


def test_a_trap_ends_the_launch() -> None:
    ran = run(body("if (t == 4)\n__trap();\nx[i] = 1;"), {"x": X}, 64)
    assert ran.kinds == ["trap"]
    assert not ran.outcome.complete
