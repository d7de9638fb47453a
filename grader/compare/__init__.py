"""Outputs against the float64 oracle: what is wrong, where, and what it looks like.

outputs, expected ──compare──▶ None | Finding           one case of one submission
exercise, oracle ──self_test──▶ what would wrongly pass  one exercise, by `dev check`

tolerance.py    which elements are right
mismatch.py     the first that is not; what a wrong array looks like: never written, a copy, shifted, transposed …
self_test.py    zeros, constants, copies and lower precisions that must be rejected
"""

from __future__ import annotations

from grader.compare.mismatch import compare, digits
from grader.compare.self_test import self_test
from grader.compare.tolerance import chain_error

__all__ = ["chain_error", "compare", "digits", "self_test"]
