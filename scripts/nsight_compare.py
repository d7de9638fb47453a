"""Hold the simulator's counters against Nsight Compute's, for every solution at its simulated size.

python scripts/nsight_compare.py [NAME…] [--out FOLDER] [--ncu PATH] [--seed N]

Needs a GPU and ncu. Profiles scripts/nsight/launch_solution.py, runs the same launches on the simulator, and writes
FOLDER/nsight.json and FOLDER/nsight.md: global requests, sectors, and shared wavefronts of both. Sector counts must be
equal; ptxas may merge shared loads, so requests and wavefronts there are to be compared as ratios. Exits 1 where a
sector count differs. For known patterns, see scripts/nsight/run_patterns.py.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "nsight"))

from launch_solution import compiled, simulated_run  # noqa: E402  # found through the line above
from run_patterns import find, parse_ncu_csv, profile  # noqa: E402

PAIRS: tuple[tuple[str, str], ...] = (
    ("global_load_requests", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"),
    ("global_load_sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"),
    ("global_store_requests", "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"),
    ("global_store_sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"),
    ("shared_load_requests", "smsp__inst_executed_op_shared_ld.sum"),
    ("shared_load_wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"),
    ("shared_store_requests", "smsp__inst_executed_op_shared_st.sum"),
    ("shared_store_wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"),
)
"""The simulator's counter, and the profiler's metric for the same thing."""

EXACT = frozenset({"global_load_sectors", "global_store_sectors"})


@dataclass(frozen=True)
class Row:
    """One counter of one launch, as both see it."""

    exercise: str
    launch: int
    kernel: str
    counter: str
    simulator: float
    profiler: float | None

    @property
    def differs(self) -> bool:
        return self.counter in EXACT and self.simulator != self.profiler


def compare(name: str, ncu: str, seed: int) -> list[Row]:
    """All counters of all launches of one solution."""
    from grader.catalog import load_catalog

    one = load_catalog().find(name)
    program = compiled(one)
    simulated = simulate(program, simulated_run(one, program, seed))
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(HERE / "nsight" / "launch_solution.py"), name, "--seed", str(seed)]
        profiled = parse_ncu_csv(profile(ncu, command, Path(folder) / "ncu.csv"))
    if len(profiled) != len(simulated):
        raise SystemExit(f"{name}: ncu saw {len(profiled)} launches, the simulator {len(simulated)}")
    return [
        row
        for number, (mine, theirs) in enumerate(zip(simulated, profiled, strict=True), start=1)
        for row in rows(name, number, mine, theirs)
    ]


def simulate(program: Any, run: Any) -> list[Any]:
    """The launches as the simulator counted them."""
    from grader.backends.base import Limits
    from grader.backends.sim import SimBackend

    with SimBackend().open(program, Limits(launch_s=120.0, total_s=300.0)) as session:
        execution = session.run(run)
    if execution.failure:
        raise SystemExit(f"the simulator ends {program.name} with {execution.failure}: {execution.diagnostics}")
    return list(execution.launches)


def rows(name: str, number: int, mine: Any, theirs: Mapping[str, Any]) -> list[Row]:
    """One row a counter; a counter that the simulator leaves out is zero."""
    return [
        Row(name, number, mine.kernel, counter, float(mine.counters.get(counter, 0)), theirs["metrics"].get(metric))
        for counter, metric in PAIRS
    ]


def to_markdown(found: list[Row]) -> str:
    """The table of docs/results."""
    lines = ["| exercise | launch | counter | simulator | Nsight Compute | |", "|---|---|---|---|---|---|"]
    for row in found:
        if row.simulator or row.profiler:
            told = "-" if row.profiler is None else f"{row.profiler:.0f}"
            where = f"{row.exercise} | {row.launch} {row.kernel} | {row.counter}"
            lines.append(f"| {where} | {row.simulator:.0f} | {told} | {_word(row)} |")
    return "\n".join(lines) + "\n"


def _word(row: Row) -> str:
    if row.simulator == row.profiler:
        return "equal"
    if row.differs:
        return "**differs**"
    return f"{row.profiler / row.simulator:.3f}" if row.profiler and row.simulator else ""


def solutions() -> list[str]:
    """Every exercise that has a solution and runs on the simulator."""
    from grader.catalog import load_catalog

    return [one.name for one in load_catalog().exercises if one.solution is not None and not one.exercise.host]


def main() -> int:
    arguments = argparse.ArgumentParser(description="Hold the simulator's counters against Nsight Compute's.")
    arguments.add_argument("names", nargs="*")
    arguments.add_argument("--out", type=Path, default=Path("nsight-results"))
    arguments.add_argument("--ncu")
    arguments.add_argument("--seed", type=int, default=1)
    given = arguments.parse_args()
    ncu = find("ncu", given.ncu)
    found: list[Row] = []
    for name in given.names or solutions():
        try:
            found += compare(name, ncu, given.seed)
        except (SystemExit, Exception) as error:
            print(f"{name}: {error}", file=sys.stderr)
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "nsight.json").write_text(json.dumps([asdict(row) for row in found], indent=1) + "\n")
    (given.out / "nsight.md").write_text(to_markdown(found))
    print(to_markdown(found))
    return int(any(row.differs for row in found))


if __name__ == "__main__":
    raise SystemExit(main())
