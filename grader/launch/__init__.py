"""The launch lines of a stub: `// launch …`, `// scratch …`, `// passes …`, `// zero …`, `// constant …`,
`// tensor_map …`.

    source text ──parse_launches──▶ LaunchScript ──resolve_launches(sizes, limits)──▶ LaunchPlan ──▶ a backend

`LaunchScript` keeps expressions and line numbers; `LaunchPlan` is what one case runs, numbers only.

    records.py     both, and the lines, launches, arrays and tensor maps in them
    source.py      pieces of text that know their place; comment lines at file scope, integer constants, signatures
    parse.py       comment lines to a LaunchScript; near misses
    resolve.py     LaunchScript and sizes to LaunchPlan
    maps.py        the numbers of tensor maps, and what TMA wants of them
    checks.py      a launch against the device's limits and the compiled program
    parameters.py  a kernel's parameters as its file declares them
"""

from __future__ import annotations

from grader.launch.parse import parse_launches
from grader.launch.records import (
    Constant,
    DeviceLimits,
    Dim3,
    Launch,
    LaunchPlan,
    LaunchScript,
    Scratch,
    TensorMap,
    Zero,
)
from grader.launch.resolve import resolve_launches

__all__ = [
    "Constant",
    "DeviceLimits",
    "Dim3",
    "Launch",
    "LaunchPlan",
    "LaunchScript",
    "Scratch",
    "TensorMap",
    "Zero",
    "parse_launches",
    "resolve_launches",
]
