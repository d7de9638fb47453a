"""Comparing outputs with the float64 oracle: the first wrong element, and a guess at the cause.

outputs, expected ──compare──▶ None | Finding            one case of one submission
exercise, oracle ──self_test──▶ what would wrongly pass  one exercise, for `dev check`

tolerance.py    which elements are correct
mismatch.py     the first wrong element; patterns of wrong arrays: never written, a copy, shifted, transposed …
self_test.py    zeros, constants, copies and lower precisions that must be rejected
"""

from __future__ import annotations

from grader.compare.mismatch import compare, digits
from grader.compare.self_test import self_test
from grader.compare.tolerance import chain_error

__all__ = ["chain_error", "compare", "digits", "self_test"]
