"""Hold the simulator's sectors and wavefronts against those that Nsight Compute counted, pattern by pattern.

python scripts/nsight/compare_patterns.py PATTERNS.json [--out FILE] [--gpu NAME] [--driver V] [--cuda V] [--ncu V]
                                          [--date DAY]

Needs no GPU: PATTERNS.json comes from scripts/nsight/run_patterns.py. Runs the same requests on the simulator, writes
the table (docs/results/nsight-patterns.md), and exits 1 where a pattern differs.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from nsight.on_simulator import Counted, simulated  # noqa: E402  # found through the line above

OPERATIONS = {"load": "ld", "store": "st"}
WIDTHS = (2, 4, 8, 16)
ARBITRATION = 0.1
"""A count per request that lies this near to a whole number is that number: some counters carry arbitration noise."""

HEAD = """# Access patterns: Nsight Compute and the simulator

Written by `scripts/nsight/compare_patterns.py`; not edited by hand.

{machine}

{summary}

Each pattern is one request of a warp, repeated; its 32 addresses are known (`scripts/nsight/patterns.cu`), and the
simulator makes the same request. A cell reads *measured = simulated*, for accesses of 2, 4, 8 and 16 bytes a lane:
for global memory **sectors** per request, for shared memory **wavefronts** per request and, in brackets, **excess**
wavefronts. The rules are in `grader/simt/observers/coalescing.py` and `grader/simt/observers/banks.py`. Not measured
here, and so not claimed: atomics, `ldmatrix`, `cp.async`, local memory.

| here | Nsight Compute (`op_ld` or `op_st`) |
|---|---|
| global requests | `l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum` |
| sectors | `l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum` |
| shared requests | `smsp__inst_executed_op_shared_ld.sum` |
| wavefronts | `l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum` |
| excess wavefronts | `l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum` |
"""


@dataclass(frozen=True)
class Row:
    """One pattern. Counts per request: sectors, or wavefronts and excess wavefronts."""

    space: str
    operation: str
    width: int
    name: str
    measured: tuple[float, ...]
    simulated: tuple[float, ...]

    @property
    def is_equal(self) -> bool:
        return self.measured == self.simulated


def rows(records: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Run the records' patterns on the simulator."""
    return [
        Row(r["space"], r["operation"], r["width"], r["name"], measured(r), _as_measured(r["space"], counted))
        for r, counted in zip(records, simulated(records), strict=True)
    ]


def measured(record: Mapping[str, Any]) -> tuple[float, ...]:
    """The profiler's counts per request. Raises SystemExit where ncu gave no value."""
    metrics, op = record["metrics"], OPERATIONS[record["operation"]]
    if record["space"] == "global":
        names = [f"l1tex__t_{what}_pipe_lsu_mem_global_op_{op}.sum" for what in ("requests", "sectors")]
    else:
        pipe = f"pipe_lsu_mem_shared_op_{op}.sum"
        wavefronts = f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum"
        names = [f"smsp__inst_executed_op_shared_{op}.sum", wavefronts, f"l1tex__data_bank_conflicts_{pipe}"]
    requests, *counts = (metrics.get(name) for name in names)
    if not requests or None in counts:
        raise SystemExit(f"{record['name']}: ncu gave no {', '.join(names)}")
    return tuple(_near(count / requests) for count in counts)


def _near(value: float) -> float:
    return float(round(value)) if abs(value - round(value)) <= ARBITRATION else value


def _as_measured(space: str, counted: Counted) -> tuple[float, ...]:
    return (float(counted.evidence),) if space == "global" else (float(counted.wavefronts), float(counted.evidence))


def to_markdown(found: Sequence[Row], machine: str) -> str:
    """The whole document."""
    sections = [
        _section(space, operation, [row for row in found if (row.space, row.operation) == (space, operation)])
        for space, operation in dict.fromkeys((row.space, row.operation) for row in found)
    ]
    return HEAD.format(machine=machine, summary=_summary(found)) + "".join(sections)


def _summary(found: Sequence[Row]) -> str:
    parts = [f"**{_equal(found)} patterns are equal**"]
    for space in dict.fromkeys(row.space for row in found):
        parts.append(f"{_equal([row for row in found if row.space == space])} in {space} memory")
    return ": ".join([parts[0], ", ".join(parts[1:])]) + "."


def _equal(found: Sequence[Row]) -> str:
    return f"{sum(row.is_equal for row in found)} of {len(found)}"


def _section(space: str, operation: str, found: Sequence[Row]) -> str:
    widths = [width for width in WIDTHS if any(row.width == width for row in found)]
    cells = {(row.name, row.width): _cell(row) for row in found}
    title = f"\n## {space.capitalize()} {operation}s ({_equal(found)} equal)\n\n"
    head = [_line(["pattern", *(f"{width} bytes" for width in widths)]), _line(["---"] * (len(widths) + 1))]
    body = [_line([name, *(cells.get((name, w), "") for w in widths)]) for name in dict.fromkeys(r.name for r in found)]
    return title + "\n".join([*head, *body]) + "\n"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(row: Row) -> str:
    left, right = _counts(row.measured), _counts(row.simulated)
    return f"{left} = {right}" if row.is_equal else f"**{left} ≠ {right}**"


def _counts(counts: Sequence[float]) -> str:
    first, *excess = (f"{count:.3f}".rstrip("0").rstrip(".") for count in counts)
    return f"{first} ({excess[0]})" if excess else first


def _machine(given: argparse.Namespace) -> str:
    known = {"driver": given.driver, "CUDA": given.cuda, "Nsight Compute": given.ncu, "measured": given.date}
    return ", ".join([given.gpu, *(f"{name} {value}" for name, value in known.items() if value)]) + "."


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("patterns", type=Path)
    arguments.add_argument("--out", type=Path, default=ROOT / "docs" / "results" / "nsight-patterns.md")
    arguments.add_argument("--gpu", default="GPU not named")
    for name in ("driver", "cuda", "ncu", "date"):
        arguments.add_argument(f"--{name}")
    given = arguments.parse_args()
    found = rows(json.loads(given.patterns.read_text()))
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(to_markdown(found, _machine(given)))
    print(_summary(found))
    return int(not all(row.is_equal for row in found))


if __name__ == "__main__":
    raise SystemExit(main())
