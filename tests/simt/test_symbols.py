"""Mangled names come out as people wrote them; what is no mangled name stays."""

from __future__ import annotations

import pytest

from grader.simt.engine.flatten import LONGEST_NAME, plain_name


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("vector_add", "vector_add"),
        ("_Z3fibi", "fib"),
        ("_Z4evenIiET_S0_", "even"),
        ("_ZZ6reducePKfE7partial", "partial"),
        ("_ZN3foo3barE", "bar"),
        ("_ZN1A1fEi", "f"),
        ("_ZNK1A3getEv", "get"),
        ("_ZZ1kEN1F4stepEi", "step"),
        ("_ZN12_GLOBAL__N_13fibEi", "fib"),
        ("@3.partial", "partial"),
        ("_ZN9999E", "_ZN9999E"),
        ("_ZN0E", "_ZN0E"),
    ],
)
def test_a_symbol_has_its_own_name(symbol: str, name: str) -> None:
    assert plain_name(symbol) == name


def test_a_name_that_nobody_wrote_is_cut() -> None:
    assert len(plain_name("_Z" + "N1a" * LONGEST_NAME)) == LONGEST_NAME + 1
