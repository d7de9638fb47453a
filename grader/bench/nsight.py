"""Nsight Compute, run for a few metrics: finding it, asking it, reading its answer.

    profiled(command, METRICS) -> one record for each kernel launch

The clocks are left as they are: counts do not depend on them.
"""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import isfinite, nan
from pathlib import Path

from grader.errors import Unsupported

INSTALL = "install Nsight Compute: it is part of the CUDA toolkit, and developer.nvidia.com has it alone"
NO_PERMISSION = "ERR_NVGPUCTRPERM"
PERMISSION = (
    "run as root, or let everybody read the counters: put `options nvidia NVreg_RestrictProfilingToAdminUsers=0` into "
    "/etc/modprobe.d/ and restart; in a container also `--cap-add SYS_ADMIN` (developer.nvidia.com/ERR_NVGPUCTRPERM)"
)
DEADLINE_S = 300.0


@dataclass(frozen=True)
class ProfiledLaunch:
    """One kernel launch as Nsight Compute counted it; a metric that this GPU lacks is missing."""

    kernel: str
    metrics: Mapping[str, float]


def find_ncu(given: str | None = None) -> str:
    """The path of ``ncu``: as given, else on PATH, in CUDA_PATH, or in the usual folders. Raises Unsupported."""
    if given is not None:
        found = shutil.which(given)
        if found is None:
            raise Unsupported(f"{given} is no program that can be run", hint="--ncu names the file ncu itself")
        return found
    roots = [os.environ.get("CUDA_PATH", ""), "/usr/local/cuda"]
    installed = sorted(Path("/opt/nvidia/nsight-compute").glob("*"), reverse=True)
    places = [shutil.which("ncu"), *(f"{root}/bin/ncu" for root in roots if root), *(f"{p}/ncu" for p in installed)]
    for path in places:
        if path and Path(path).is_file():
            return path
    raise Unsupported("Nsight Compute (ncu) was not found", hint=INSTALL)


def profiled(command: Sequence[str], metrics: Sequence[str], *, ncu: str | None = None) -> list[ProfiledLaunch]:
    """Run ``command`` under Nsight Compute; its launches in order.

    Raises Unsupported where ncu is missing, may not count, takes too long or fails, with what to do.
    """
    tool = find_ncu(ncu)
    with tempfile.TemporaryDirectory(prefix="warpgrade-") as folder:
        log = Path(folder) / "ncu.csv"
        options = ["--clock-control", "none", "--target-processes", "all", "--metrics", ",".join(metrics)]
        layout = ["--csv", "--page", "raw", "--print-units", "base", "--log-file", str(log)]
        code, said = _run([tool, *options, *layout, *command])
        text = log.read_text(errors="replace") if log.is_file() else ""
    if NO_PERMISSION in text + said:
        raise Unsupported("Nsight Compute may not read this GPU's counters", hint=PERMISSION)
    if code:
        why = (said.strip() or text.strip())[-600:]
        raise Unsupported(f"Nsight Compute ended with exit code {code}: {why}")
    return parse(text)


def _run(command: Sequence[str]) -> tuple[int, str]:
    """Exit code and output. A run that takes too long is ended with all its children: a kernel may hang."""
    try:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        )
    except OSError as error:
        raise Unsupported(f"{command[0]} cannot be run: {error.strerror}", hint=INSTALL) from None
    with process:
        try:
            said, _ = process.communicate(timeout=DEADLINE_S)
        except subprocess.TimeoutExpired:
            _end(process.pid)
            raise Unsupported(f"Nsight Compute did not end within {DEADLINE_S:.0f} s") from None
    return process.returncode, said


def _end(pid: int) -> None:
    """End a process and its descendants, which would keep its output open."""
    import psutil

    process = psutil.Process(pid)
    for one in (*process.children(recursive=True), process):
        with suppress(psutil.NoSuchProcess):
            one.kill()


def parse(text: str) -> list[ProfiledLaunch]:
    """One record for each launch, in order, from either of the layouts that versions of ncu print."""
    rows = list(csv.DictReader(line for line in text.splitlines() if line.startswith('"')))
    if rows and "Metric Name" in rows[0]:
        return _from_long(rows)
    return [ProfiledLaunch(row.get("Kernel Name", ""), _numbers(row)) for row in rows if row.get("ID")]


def _from_long(rows: Sequence[Mapping[str, str]]) -> list[ProfiledLaunch]:
    launches: dict[str, tuple[str, dict[str, str]]] = {}
    for row in rows:
        _, metrics = launches.setdefault(row.get("ID", ""), (row.get("Kernel Name", ""), {}))
        metrics[row["Metric Name"]] = row.get("Metric Value", "")
    return [ProfiledLaunch(kernel, _numbers(metrics)) for kernel, metrics in launches.values()]


def _numbers(row: Mapping[str, str | None]) -> dict[str, float]:
    """The cells that are metrics (their names have two underscores) and numbers."""
    found = {}
    for name, text in row.items():
        try:
            number = float(text.replace(",", "")) if name and "__" in name and text else nan
        except ValueError:
            continue
        if isfinite(number):  # ncu says nan of what it could not measure
            found[name] = number
    return found
