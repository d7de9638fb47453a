"""A kernel's parameters as its file declares them: names, and element types that cannot be an array's."""

from __future__ import annotations

import pytest

from grader.launch.source import misread, parameter_names, parameters, read_source


def kernel(declared: str) -> str:
    return f'extern "C" __global__ void k({declared}) {{}}\n'


@pytest.mark.parametrize(
    ("declared", "name", "element"),
    [
        ("const float *a", "a", "float"),
        ("float* __restrict__ out", "out", "float"),
        ("float const * a", "a", "float"),
        ("unsigned int *b", "b", "unsigned int"),
        ("const double*__restrict__ x", "x", "double"),
        ("float x[]", "x", "float"),
        ("float4* v", "v", "float4"),
        ("std::uint32_t* c", "c", "std::uint32_t"),
        ("int n", "n", ""),
        ("float alpha = 2.0f", "alpha", ""),
        ("float **rows", "rows", ""),
        ("const float*", "", "float"),
        ("unsigned long long", "", ""),
    ],
)
def test_parameter_has_its_name_and_its_element_type(declared, name, element):
    (one,) = parameters(read_source(kernel(declared), "k.cu"), "k")
    assert (one.name, one.element, one.declared) == (name, element, declared)


def test_names_stand_in_the_kernels_order():
    assert parameter_names(kernel("const float* src, float* dst, int m"), "k") == ("src", "dst", "m")


def test_kernel_that_is_not_there_has_no_names():
    assert parameter_names(kernel("int n"), "other") == ()


@pytest.mark.parametrize(
    ("declared", "dtype"),
    [
        ("double* x", "float32"), ("int* x", "float32"), ("float* x", "float64"), ("half* x", "float32"),
        ("float* x", "float16"), ("long long* x", "int32"), ("float* x", "int32"), ("short* x", "int32"),
    ],
)  # fmt: skip
def test_type_that_cannot_hold_the_arrays_elements_is_told(declared, dtype):
    (one,) = misread(read_source(kernel(declared), "k.cu"), "k", ("x",), {"x": dtype})
    assert (one.array, one.dtype, one.kernel) == ("x", dtype, "k")


@pytest.mark.parametrize(
    ("declared", "dtype"),
    [
        ("float* x", "float32"), ("float4* x", "float32"), ("float4* x", "float16"), ("int4* x", "uint8"),
        ("unsigned* x", "float32"), ("unsigned int* x", "float32"), ("unsigned long long* x", "float32"),
        ("char* x", "float32"), ("unsigned char* x", "float32"), ("void* x", "float32"), ("int* x", "uint32"),
        ("real* x", "float32"), ("__half* x", "float16"), ("half2* x", "float16"), ("double2* x", "float32"),
    ],
)  # fmt: skip
def test_view_that_may_be_meant_is_not_told(declared, dtype):
    assert misread(read_source(kernel(declared), "k.cu"), "k", ("x",), {"x": dtype}) == ()


def test_numbers_and_unknown_signatures_are_left_alone():
    text = read_source(kernel("double* x, int n"), "k.cu")
    assert misread(text, "k", (3, 4), {"x": "float32"}) == ()
    assert misread(text, "k", ("x",), {"x": "float32"}) == ()


def test_better_declaration_keeps_everything_but_the_type():
    text = read_source(kernel("const double* __restrict__ doubles"), "k.cu")
    (one,) = misread(text, "k", ("x",), {"x": "float32"})
    assert one.should_be == "const float* __restrict__ doubles"
