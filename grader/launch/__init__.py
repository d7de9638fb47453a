"""The launch lines of a stub: `// launch …`, `// scratch …`, `// passes …`, `// zero …`, `// constant …`,
`// tensor_map …`.

    source text ──parse_launches──▶ LaunchScript ──resolve(sizes, limits)──▶ LaunchPlan (numbers only) ──▶ a backend

`LaunchScript` keeps expressions and line numbers; `LaunchPlan` is what one case runs.

    plan.py      the records of a LaunchPlan
    source.py    what of a .cu file matters here: its comment lines at file scope, its integer constants, its signatures
    text.py      pieces of text that know their place, and errors that show it
    script.py    the launch lines as records
    parse.py     comment lines to a LaunchScript; near misses
    options.py   what stands behind a line's colon
    resolve.py   LaunchScript and sizes to LaunchPlan
    case.py      the names, scratch arrays and tensor maps of one size
    maps.py      the numbers of tensor maps, and what TMA wants of them
    checks.py    a launch against the device's limits and the compiled program
"""

from __future__ import annotations

from grader.launch.parse import parse_launches
from grader.launch.plan import Constant, DeviceLimits, Dim3, Launch, LaunchPlan, Scratch, TensorMap, Zero
from grader.launch.script import LaunchScript

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
]
