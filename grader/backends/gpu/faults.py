"""Errors of a submission on the GPU as diagnostics: CUDA's errors, stray writes, wrong timed outputs. Pure.

CuPy raises ``CUDADriverError`` and ``CUDARuntimeError``; both name the error at the start of their text, e.g.
"CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered" and "cudaErrorIllegalAddress: …".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import isnan
from typing import TYPE_CHECKING

from grader.findings.kinds import word_of_kind
from grader.frozen import dataclass
from grader.verdict import Diagnostic

if TYPE_CHECKING:
    from grader.backends.gpu.arena import Stray
    from grader.backends.gpu.setup import Setup
    from grader.backends.gpu.wire import Mismatch


@dataclass(frozen=True)
class Fault:
    """A CUDA error as the ``kind`` of a diagnostic, with its message and hint."""

    kind: str
    message: str
    hint: str = ""

    @property
    def verdict(self) -> str:
        return word_of_kind(self.kind)


_ON_THE_SIMULATOR = "`--backend sim` names the array, the index, the thread and the source line"

FAULTS: dict[str, Fault] = {
    "illegaladdress": Fault(
        "out_of_bounds",
        "a thread read or wrote an address outside all arrays",
        f"an index is far out of range, or a pointer is null; {_ON_THE_SIMULATOR}",
    ),
    "misalignedaddress": Fault(
        "misaligned",
        "a thread accessed an address that is not a multiple of the access's size",
        "a float4 load needs a 16-byte aligned address: check the element index behind the cast",
    ),
    "invalidaddressspace": Fault(
        "invalid_address_space",
        "an instruction for one memory space was given an address of another",
        "a pointer to shared or local memory was used for global memory, or vice versa",
    ),
    "illegalinstruction": Fault("trap", "the kernel stopped itself with a trap", _ON_THE_SIMULATOR),
    "assert": Fault("assert", "an assert in the kernel failed", _ON_THE_SIMULATOR),
    "launchfailure": Fault("launch_failure", "the GPU stopped the kernel with an exception", _ON_THE_SIMULATOR),
    "launchtimeout": Fault("timeout", "the kernel ran longer than this GPU's display allows"),
    "hardwarestackerror": Fault(
        "stack_overflow", "a thread overflowed its call stack", "look for recursion that does not end"
    ),
    "invalidpc": Fault("invalid_pc", "a thread jumped to an address without code"),
    "launchoutofresources": Fault(
        "launch",
        "the block does not fit: its threads need more registers than an SM has",
        "use fewer threads per block, or __launch_bounds__(threads), so that the compiler uses fewer registers",
    ),
    "cooperativelaunchtoolarge": Fault(
        "launch",
        "a cooperative launch needs all its blocks resident at once, and this grid is too large for that",
        "size the grid from sm_count",
    ),
    "invalidconfiguration": Fault("launch", "CUDA refuses this grid and block"),
    "invalidvalue": Fault("launch", "CUDA refuses this launch: a size is outside what the GPU allows"),
    "invalidclustersize": Fault("launch", "CUDA refuses this cluster size"),
    "memoryallocation": Fault("limit", "the program needs more memory than this GPU has"),
}
"""Keys are CUDA's names in lower case without prefix and underscores: so driver and runtime have the same names."""

_ALIASES = {
    "outofmemory": "memoryallocation",
    "launchfailed": "launchfailure",
    "deviceassert": "assert",
    "invalidclusterconfiguration": "invalidclustersize",
}

STICKY = frozenset(name for name, fault in FAULTS.items() if fault.verdict in ("crash", "out_of_bounds", "timeout"))
"""Errors after which the context cannot be used: its process must end."""

_NAME = re.compile(r"\b(?:CUDA_ERROR_|cudaError)(\w+)")


def error_name(text: str) -> str:
    """The key in `FAULTS` for an error's text; "" if it names no CUDA error."""
    found = _NAME.search(text)
    name = found[1].replace("_", "").lower() if found else ""
    return _ALIASES.get(name, name)


def fault_of(text: str) -> Fault | None:
    """The fault for a CUDA error's text; None if submissions do not cause this error."""
    return FAULTS.get(error_name(text))


def is_sticky(text: str) -> bool:
    """Whether the context cannot be used after this error."""
    return error_name(text) in STICKY


def fault_diagnostic(fault: Fault, kernel: str | None, line: int | None = None) -> Diagnostic:
    """The diagnostic of a fault. ``line`` is the launch line: the GPU does not tell the faulting line."""
    where = f" in {kernel}" if kernel else ""
    return Diagnostic(kind=fault.kind, message=f"{fault.message}{where}", kernel=kernel, line=line, hint=fault.hint)


def stray_diagnostic(stray: Stray, kernel: str | None) -> Diagnostic:
    """The diagnostic of a write beside an array."""
    side = "before the start" if stray.index < 0 else "past the end"
    element = f"{stray.array}[{stray.index}]"
    return Diagnostic(
        kind="out_of_bounds",
        message=f"write {side} of {stray.array}: {element}, and {stray.array} has {_elements(stray.count)}",
        kernel=kernel,
        space="global",
        array=stray.array,
        index=stray.index,
        hint="`--backend sim` names the thread and the source line",
    )


def mismatch_diagnostic(found: Mismatch, setup: Setup) -> Diagnostic:
    """The diagnostic of a timed launch with a wrong output or a changed input."""
    where = f"{setup.where}, launch {found.sample}"
    if found.changed:
        name, count = next(iter(found.changed.items()))
        return Diagnostic(
            kind="wrong",
            message=f"the kernel overwrote its input {name} {where}: {_elements(count)} changed",
            array=name,
            hint="inputs are read only: write to the outputs and the scratch arrays",
        )
    place = setup.run.element(found.first)
    array, index = (place[0].name, place[1]) if place else ("an output", found.first)
    got = "it was never written, or is not a number" if isnan(found.got) else f"got {found.got:.9g}"
    more = f" ({found.bad} elements are wrong)" if found.bad > 1 else ""
    return Diagnostic(
        kind="wrong",
        message=f"{array}[{index}] is wrong {where}: {got}, expected {found.expected:.9g}{more}",
        array=array,
        index=index,
        hint="the small sizes are right: look for an index or a count that overflows, a part of the work that is "
        "skipped, or something kept from an earlier launch",
    )


def size_in_words(size: Mapping[str, int]) -> str:
    """``n = 1024`` or ``rows = 4, cols = 8``."""
    return ", ".join(f"{name} = {value}" for name, value in size.items())


def _elements(count: int) -> str:
    return "1 element" if count == 1 else f"{count} elements"
