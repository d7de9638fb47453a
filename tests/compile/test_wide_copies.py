"""How many loads the copy of a struct takes: what the statements of elementwise_pack and aos_to_soa say."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from grader.compile import Program

Compile = Callable[[str], Program]

COPY = """\
#include <cuda_fp16.h>

struct Single {
    float v;
    __device__ Single() {}
    __device__ Single(const Single& other) : v(other.v) {}
};

struct %s;

extern "C" __global__ void copy(const Pack* a, Pack* c)
{
    Pack pack = a[threadIdx.x];
    c[threadIdx.x] = pack;
}
"""


def loads(compiled: Compile, struct: str) -> list[str]:
    return re.findall(r"\bld\.global\S*", compiled(COPY % struct).ptx)


@pytest.mark.parametrize(
    "member", ["float x, y, z, w", "float v[4]", "__half v[8]", "unsigned p[4]", "__half2_raw p[4]", "float2 v[2]"]
)
def test_an_aligned_struct_of_plain_members_is_copied_by_one_load(compiled: Compile, member: str) -> None:
    (load,) = loads(compiled, f"alignas(16) Pack {{ {member}; }}")
    assert load.startswith("ld.global.v4.")


@pytest.mark.parametrize("member", ["__half2 p[4]", "__half2 a, b, c, d", "Single v[4]"])
def test_members_with_a_copy_constructor_of_their_own_are_copied_one_by_one(compiled: Compile, member: str) -> None:
    found = loads(compiled, f"alignas(16) Pack {{ {member}; }}")
    assert len(found) == 4
    assert not any(".v" in load for load in found)


@pytest.mark.parametrize("member", ["float x, y, z, w", "float v[4]"])
def test_a_struct_without_the_alignment_is_copied_one_by_one(compiled: Compile, member: str) -> None:
    found = loads(compiled, f"Pack {{ {member}; }}")
    assert len(found) == 4
    assert not any(".v" in load for load in found)
