"""Random kernels: the same for a seed, different from seed to seed, and the simulator agrees with itself on them."""

from __future__ import annotations

import pytest
import random_compare
from random_kernels import kernel

from grader.compile.toolchain import find_toolchain

NO_COMPILER = pytest.mark.skipif(find_toolchain().nvrtc_library is None, reason="NVRTC is not installed")


def test_a_seed_gives_the_same_kernel_every_time_and_another_seed_another_one() -> None:
    texts = [kernel(seed) for seed in range(200)]
    assert texts == [kernel(seed) for seed in range(200)]
    assert len({text.replace(f"k_{seed}", "k") for seed, text in enumerate(texts)}) == 200


@NO_COMPILER
@pytest.mark.slow
def test_kernels_give_the_same_bits_with_their_variables_in_registers_and_in_memory() -> None:
    assert random_compare.compare(1, 10, None).complaints == ()


def test_a_page_names_each_kernel_that_differs() -> None:
    compared = random_compare.Compared(("k_7: 1 of 1024 words differ",), ("k_9: 2 of 1024 words differ",))
    page = random_compare.to_markdown("# A GPU", 1, 20, compared)
    assert "**20 kernels (seeds 1 to 20), 1 complaints.**" in page
    assert page.index("- k_7: 1 of 1024 words differ") < page.index("In 1 more") < page.index("- k_9: 2 of 1024")
