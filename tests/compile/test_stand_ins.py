"""The headers that NVRTC lacks: ordinary CUDA C compiles, with them and with libcu++ beside them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from grader.compile import Program
from grader.compile.nvrtc import INCLUDE
from grader.compile.toolchain import find_toolchain

Compile = Callable[[str], Program]
C_HEADERS = ("assert", "float", "limits", "math", "stddef", "stdint", "stdio", "stdlib", "string")
HEADERS = sorted(path.name for path in INCLUDE.iterdir() if path.is_file())
LIGHT = [name for name in HEADERS if "#include <cuda/" not in (INCLUDE / name).read_text()]

has_libcuxx = pytest.mark.skipif(
    not any((folder / "cuda/std/type_traits").exists() for folder in find_toolchain().include_dirs),
    reason="libcu++ is not installed",
)


def kernel(body: str, *headers: str) -> str:
    includes = "".join(f"#include <{header}>\n" for header in headers)
    return f'{includes}extern "C" __global__ void k(float *a, double *d, unsigned long long *u)\n{{\n{body}\n}}\n'


def test_every_c_header_is_there_under_both_names() -> None:
    for name in C_HEADERS:
        assert {f"{name}.h", f"c{name}"} <= set(HEADERS)


def test_all_light_headers_together_twice_without_a_warning(compiled: Compile) -> None:
    assert compiled(kernel("*a = 1;", *LIGHT, *LIGHT)).log == ""


@pytest.mark.parametrize("header", LIGHT)
def test_each_light_header_compiles_alone(compiled: Compile, header: str) -> None:
    assert compiled(kernel("*a = 1;", header)).log == ""


def test_constants_are_there_without_any_include_and_have_their_values(compiled: Compile) -> None:
    body = """
    static_assert(FLT_MAX == 3.402823466e+38F && FLT_MIN == 1.175494351e-38F && FLT_EPSILON == 1.192092896e-07F);
    static_assert(DBL_MAX == 1.7976931348623158e+308 && DBL_EPSILON == 2.2204460492503131e-16);
    static_assert(INT_MAX == 2147483647 && INT_MIN == -2147483647 - 1 && UINT_MAX == 4294967295u);
    static_assert(LLONG_MAX == 9223372036854775807LL && ULLONG_MAX == 18446744073709551615ULL);
    static_assert(LONG_MAX == 9223372036854775807L && SHRT_MIN == -32768 && USHRT_MAX == 65535 && CHAR_BIT == 8);
    static_assert(INT32_MAX == INT_MAX && UINT64_MAX == ULLONG_MAX && INT8_MIN == -128 && SIZE_MAX == ULLONG_MAX);
    static_assert(INFINITY > FLT_MAX && !(NAN == NAN) && -INFINITY < -FLT_MAX && HUGE_VAL > DBL_MAX);
    static_assert(M_PI > 3.14159265358979 && M_PI < 3.14159265358980 && M_SQRT2 * M_SQRT2 < 2.0000000001);
    static_assert(sizeof(int8_t) == 1 && sizeof(uint16_t) == 2 && sizeof(int32_t) == 4 && sizeof(uint64_t) == 8);
    static_assert(sizeof(uintptr_t) == sizeof(void *) && sizeof(size_t) == 8 && sizeof(uint) == 4);
    static_assert(INT64_C(1) << 40 == 1099511627776 && UINT32_C(7) == 7u && (CHAR_MIN == -128 || CHAR_MIN == 0));
    *a = INFINITY; a[1] = NAN; a[2] = -FLT_MAX; *d = M_PI;
    """
    ptx = compiled(kernel(body)).ptx
    for bits in ("2139095040", "2143289344", "-8388609"):  # of +inf, NaN and -FLT_MAX
        assert bits in ptx


def test_functions_of_the_c_library_work_in_namespace_std_too(compiled: Compile) -> None:
    body = """
    a[0] = std::sqrt(a[1]) + std::abs(a[2]) + std::exp(a[3]) + std::fma(a[1], a[2], a[3]) + std::pow(a[4], 2.0f);
    a[1] = std::isnan(a[1]) + std::isinf(a[2]) + isfinite(a[3]) + signbit(a[4]) + std::floor(a[5]) + fminf(a[0], a[1]);
    memcpy(a + 2, a, 8); std::memset(a, 0, 4); a[8] = offsetof(float4, z); std::size_t n = 3; a[9] = n;
    float *nothing = nullptr; if (a != NULL && a != nothing) std::printf("%f", a[0]);
    """
    assert compiled(kernel(body)).entries


def test_double_functions_stay_double_and_float_functions_float(compiled: Compile) -> None:
    assert "sqrt.rn.f64" in compiled(kernel("*d = std::sqrt(*d);", "cmath")).ptx
    ptx = compiled(kernel("*a = std::sqrt(*a);", "cmath")).ptx
    assert "sqrt.rn.f32" in ptx
    assert "f64" not in ptx


def test_algorithms_of_small_kernels_work(compiled: Compile) -> None:
    body = "float x = std::max(a[0], a[1]), y = std::min(a[2], a[3]); std::swap(x, y); a[0] = std::clamp(x, y, 1.0f);"
    assert compiled(kernel(body, "algorithm", "utility")).log == ""


def test_assert_looks_at_ndebug_at_each_inclusion(compiled: Compile) -> None:
    assert "__assertfail" in compiled(kernel("assert(a[0] > 0); *a = 1;", "assert.h")).ptx
    assert "__assertfail" not in compiled("#define NDEBUG\n" + kernel("assert(a[0] > 0); *a = 1;", "assert.h")).ptx
    both = "#define NDEBUG\n#include <assert.h>\n#undef NDEBUG\n#include <cassert>\n"
    assert "__assertfail" in compiled(both + kernel("assert(a[0] > 0); *a = 1;")).ptx


@pytest.mark.parametrize(
    ("header", "body"),
    [
        ("cuda_runtime.h", "*a = blockIdx.x + dim3(1, 2, 3).y;"),
        ("device_launch_parameters.h", "*a = 1;"),
        ("cuda_fp16.h", "__half h = __float2half(*a) + __float2half(1.0f); *(__half2 *)a = __half2half2(h);"),
        ("cuda_bf16.h", "*a = __bfloat162float(__float2bfloat16(*a));"),
        ("math_constants.h", "*a = CUDART_INF_F;"),
        ("mma.h", "nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> f; "
                  "nvcuda::wmma::fill_fragment(f, 1.0f); "
                  "nvcuda::wmma::store_matrix_sync(a, f, 16, nvcuda::wmma::mem_row_major);"),
        ("cuda_pipeline.h", "__pipeline_commit(); __pipeline_wait_prior(0);"),
    ],
)  # fmt: skip
def test_headers_of_cuda_compile_beside_the_stand_ins(compiled: Compile, header: str, body: str) -> None:
    assert compiled(kernel(body, "stdint.h", "math.h", header)).log == ""


@has_libcuxx
@pytest.mark.slow
def test_libcuxx_and_cooperative_groups_compile_beside_the_stand_ins(compiled: Compile) -> None:
    body = """
    a[0] = std::numeric_limits<float>::max() + cuda::std::numeric_limits<double>::min() + INFINITY + FLT_MAX;
    static_assert(std::is_same_v<int, int> && sizeof(cuda::std::int64_t) == sizeof(int64_t));
    std::array<float, 3> three{1, 2, 3}; std::tuple<int, float> pair{1, 2};
    a[1] = three[threadIdx.x] + std::get<1>(pair) + cuda::std::sqrt(2.0f) + std::sqrt(2.0f);
    int x = 1, y = 2; std::swap(x, y); cuda::std::swap(x, y); a[2] = std::move(x); int64_t n = INT64_C(5); *d = n;
    atomicAdd((uint64_t *)u, UINT64_C(3)); assert(a[0] > 0); cooperative_groups::this_thread_block().sync();
    """
    headers = (
        *HEADERS,
        "cooperative_groups.h",
        "cuda/std/cstdint",
        "cuda/std/limits",
        "cuda/std/cmath",
        "cuda/std/utility",
    )
    program = compiled(kernel(body, *headers))
    assert program.log == ""
    assert program.entry("k")


def test_headers_that_only_a_cuda_toolkit_has_are_stood_in_for_at_the_end_of_the_path() -> None:
    fallback = {path.name for path in (INCLUDE / "fallback").iterdir()}
    assert fallback == {"cuda_runtime.h", "cuda_runtime_api.h", "device_launch_parameters.h"}
    assert not fallback & set(HEADERS)


@has_libcuxx
def test_limits_beside_those_of_libcuxx_give_no_warning(compiled: Compile) -> None:
    body = "*a = CHAR_MIN + cuda::std::numeric_limits<char>::min();"
    assert compiled(kernel(body, "limits.h", "cuda/std/climits", "cuda/std/limits")).log == ""


@pytest.mark.skipif(
    not any((folder / "cupy/complex.cuh").exists() for folder in find_toolchain().include_dirs),
    reason="CuPy is not installed",
)
def test_the_headers_of_cupys_own_kernels_are_there(compiled: Compile) -> None:
    body = """
    complex<float> z(a[0], a[1]);
    a[2] = abs(z * z + complex<float>(1));
    a[3] = float16(*a) + sizeof(CArray<float, 1, true>);
    """
    headers = [f"cupy/{name}.cuh" for name in ("complex", "carray", "float16", "atomics")]
    assert "sqrt" in compiled(kernel(body, *headers)).ptx
