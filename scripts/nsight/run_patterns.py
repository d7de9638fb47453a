"""Read the memory system's rules off Nsight Compute: requests, sectors and wavefronts of known access patterns.

python scripts/nsight/run_patterns.py [--out FOLDER] [--ncu PATH] [--nvcc PATH] [--blocks N] [--rounds N] [--keep-going]

Needs nvcc, ncu and a GPU. Writes patterns.json (one record per pattern: its addresses and every
counter) and patterns.csv, and prints one line per pattern: requests, sectors per request, wavefronts per request.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from grader.bench.profile import profiled

HERE = Path(__file__).resolve().parent

METRICS = (
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "smsp__inst_executed_op_global_ld.sum",
    "smsp__inst_executed_op_global_st.sum",
    "smsp__inst_executed_op_shared_ld.sum",
    "smsp__inst_executed_op_shared_st.sum",
    "l1tex__data_pipe_lsu_wavefronts.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
)
COLUMNS = {
    ("global", "load"): (
        "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
        "l1tex__data_pipe_lsu_wavefronts.sum",
    ),
    ("global", "store"): (
        "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
        "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
        "l1tex__data_pipe_lsu_wavefronts.sum",
    ),
    ("shared", "load"): (
        "smsp__inst_executed_op_shared_ld.sum",
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    ),
    ("shared", "store"): (
        "smsp__inst_executed_op_shared_st.sum",
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    ),
}


def find_nvcc(given: str | None) -> str:
    """The path of nvcc: as given, on PATH, in CUDA_PATH, or in the usual folder."""
    roots = [os.environ.get("CUDA_PATH", ""), "/usr/local/cuda"]
    for path in (given, shutil.which("nvcc"), *(f"{root}/bin/nvcc" for root in roots)):
        if path and Path(path).is_file():
            return path
    raise SystemExit("nvcc was not found: install the CUDA toolkit, or pass --nvcc PATH")


def build(nvcc: str, folder: Path) -> Path:
    program = folder / "patterns"
    subprocess.run([nvcc, "-O3", "-arch=native", "-o", str(program), str(HERE / "patterns.cu")], check=True)
    return program


def table(records: list[dict[str, Any]]) -> str:
    """The compact table; "evidence" is sectors per request for global memory, counted conflicts for shared memory."""
    head = f"{'space':7}{'op':6}{'width':>5}  {'pattern':40}{'requests':>9}{'evidence/req':>13}{'wavefronts/req':>15}"
    return "\n".join([head, *(_line(record) for record in records)])


def _line(record: dict[str, Any]) -> str:
    names = COLUMNS[record["space"], record["operation"]]
    requests, evidence, wavefronts = (record["metrics"].get(name) for name in names)
    ratio = [f"{value / requests:.3f}" if requests and value is not None else "-" for value in (evidence, wavefronts)]
    start = f"{record['space']:7}{record['operation']:6}{record['width']:5}  {record['name']:40}"
    return f"{start}{requests or 0:9.0f}{ratio[0]:>13}{ratio[1]:>15}"


def write(records: list[dict[str, Any]], out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    (out / "patterns.json").write_text("[\n" + ",\n".join(json.dumps(record) for record in records) + "\n]\n")
    with (out / "patterns.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["space", "operation", "width", "pattern", "active", *METRICS])
        for r in records:
            first = [r["space"], r["operation"], r["width"], r["name"], r["active"]]
            rows.writerow([*first, *(r["metrics"].get(m) for m in METRICS)])


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("--out", type=Path, default=Path("nsight-results"))
    arguments.add_argument("--ncu")
    arguments.add_argument("--nvcc")
    arguments.add_argument("--blocks", default="132", help="warps, one a block; more than the SM count adds noise")
    arguments.add_argument("--rounds", default="16", help="requests of each warp")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = build(find_nvcc(given.nvcc), Path(folder))
        listing = subprocess.run([str(program), "--list"], check=True, capture_output=True, text=True).stdout
        patterns = [json.loads(line) for line in listing.splitlines()]
        command = [str(program), given.blocks, given.rounds]
        launches = profiled(command, METRICS, ncu=given.ncu)
    if len(launches) != len(patterns):
        raise SystemExit(f"ncu reports {len(launches)} launches for {len(patterns)} patterns")
    records = [
        pattern | {"kernel": launch.kernel, "metrics": {name: launch.metrics.get(name) for name in METRICS}}
        for pattern, launch in zip(patterns, launches, strict=True)
    ]
    write(records, given.out)
    print(table(records))


if __name__ == "__main__":
    main()
