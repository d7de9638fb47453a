"""What a failed check of a timed launch means, in words. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan
from typing import TYPE_CHECKING

from grader.backends.gpu.wire import Mismatch
from grader.verdict import Diagnostic

if TYPE_CHECKING:
    from grader.backends.gpu.setup import Setup


def mismatch_diagnostic(found: Mismatch, setup: Setup) -> Diagnostic:
    """The diagnostic of a timed launch whose output, or whose input afterwards, is wrong."""
    where = f"at the timed size {size_in_words(setup.size)}, launch {found.sample}"
    if found.changed:
        return _changed(found, where)
    array = setup.run.judged
    got = "it was never written, or is not a number" if isnan(found.got) else f"got {found.got:.9g}"
    more = f" ({found.bad} elements are wrong)" if found.bad > 1 else ""
    return Diagnostic(
        kind="wrong",
        message=f"{array}[{found.first}] is wrong {where}: {got}, expected {found.expected:.9g}{more}",
        array=array,
        index=found.first,
        hint="the small sizes are right: look for an index or a count that overflows, a part of the work that is "
        "skipped, or something kept from an earlier launch",
    )


def _changed(found: Mismatch, where: str) -> Diagnostic:
    name, count = next(iter(found.changed.items()))
    elements = "1 element" if count == 1 else f"{count} elements"
    return Diagnostic(
        kind="wrong",
        message=f"the kernel overwrote its input {name} {where}: {elements} changed",
        array=name,
        hint="inputs are read only: write to the outputs and the scratch arrays",
    )


def size_in_words(size: Mapping[str, int]) -> str:
    """``n = 1024`` or ``rows = 4, cols = 8``."""
    return ", ".join(f"{name} = {value}" for name, value in size.items())
