"""The launch lines of a stub: `// launch …`, `// scratch …`, `// passes …`, `// zero …`, `// constant …`,
`// tensor_map …`.

    source text ──parse_launches──▶ LaunchScript ──resolve_launches(sizes, limits)──▶ LaunchPlan ──▶ a backend

`LaunchScript` has expressions and line numbers; `LaunchPlan` has the launches of one case, with numbers only.

    records.py   both, and the lines, launches, arrays and tensor maps in them
    source.py    pieces of text with their position; comment lines, integer constants, a kernel's parameters
    parse.py     comment lines to a LaunchScript; errors for lines that are nearly launch lines
    resolve.py   LaunchScript and sizes to LaunchPlan
    checks.py    a launch against the device's limits and the compiled program; tensor maps against TMA's rules
"""

from __future__ import annotations

from grader.launch.parse import parse_launches as parse_launches
from grader.launch.records import Constant as Constant
from grader.launch.records import DeviceLimits as DeviceLimits
from grader.launch.records import Dim3 as Dim3
from grader.launch.records import Launch as Launch
from grader.launch.records import LaunchPlan as LaunchPlan
from grader.launch.records import LaunchScript as LaunchScript
from grader.launch.records import Scratch as Scratch
from grader.launch.records import TensorMap as TensorMap
from grader.launch.records import Zero as Zero
from grader.launch.resolve import resolve_launches as resolve_launches
