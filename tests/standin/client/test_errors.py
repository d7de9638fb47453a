"""What is outside says its name and its line, and the driver's errors have names of their own."""

from __future__ import annotations

import pytest

from grader.standin.client import errors, namespaces


@pytest.mark.parametrize(("status", "name"), [(1, "INVALID_VALUE"), (2, "OUT_OF_MEMORY"), (700, "ILLEGAL_ADDRESS")])
def test_the_driver_has_names_of_its_own(status, name):
    assert errors.driver_name(status) == f"CUDA_ERROR_{name}"


def test_what_is_outside_says_its_name_and_the_line(standin):
    with pytest.raises(AttributeError) as caught:
        _ = standin.cupy.fft
    line = test_what_is_outside_says_its_name_and_the_line.__code__.co_firstlineno + 2
    assert str(caught.value) == (
        "cupy.fft needs a GPU: the stand-in for machines without one has streams, events, memory, kernels and graphs "
        f"({errors.HOSTFILE.name}:{line})"
    )


@pytest.mark.parametrize("name", ["cuda.cufft", "cuda.runtime.memcpy2D", "cuda.Stream.null.add_callback", "sum"])
def test_everything_else_is_outside(standin, name):
    *owner, last = name.split(".")
    found = standin.cupy
    for part in owner:
        found = getattr(found, part)
    with pytest.raises(AttributeError, match="needs a GPU"):
        getattr(found, last)


def test_hasattr_works_as_with_any_module(standin):
    assert not hasattr(standin.cupy, "fft")
    assert hasattr(standin.cupy, "empty")


def test_a_module_that_the_stand_in_lacks_is_no_missing_package(standin):
    with pytest.raises(ImportError, match=r"cupy\.fft needs a GPU"):
        namespaces._Finder().find_spec("cupy.fft")
    assert namespaces._Finder().find_spec("json") is None
