"""Exercise the whole GPU backend on a real GPU, and print one line for each thing that was tried.

python scripts/gpu_check.py [--out FILE.json] [--device N] [--only WORD…] [--all] [--list]

Runs through the device's description, start-up, cases, guards, crashes, hangs, printf, variables, constants,
cooperative and cluster launches, the sandbox, cheats in timed runs, every solution's timing, host files and what they
may try, ceilings, the bench table, and the course's stubs, solutions and wrong answers. An item that fails prints its
traceback and the others go on. The exit code counts the failures. Some items only compare ways to do a thing
(`*_choices`, `zero_copy_*`); they run when --only names them, or with --all.
"""

from __future__ import annotations

import argparse
import json
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from gpu_checks import COMPARISONS, ITEMS

from grader.backends.gpu import GpuBackend

GROUPS = (
    "hosts",
    "host_cheats",
    "host_runs",
    "breakdown",
    "cases",
    "timed",
    "choices",
    "course",
    "programs",
    "tables",
    "tune",
)
for group in GROUPS:  # importing one registers its items
    import_module(f"gpu_checks.{group}")


def main() -> int:
    arguments = argparse.ArgumentParser(description="Exercise the GPU backend on a real GPU.")
    arguments.add_argument("--out", type=Path)
    arguments.add_argument("--device", type=int, default=0)
    arguments.add_argument("--only", nargs="+", default=[], help="only the items whose name contains one of these")
    arguments.add_argument("--all", action="store_true", help="also the items that compare ways to do a thing")
    arguments.add_argument("--list", action="store_true", help="print the names of the items and end")
    given = arguments.parse_args()
    if given.list:
        print("\n".join(name for name, _ in ITEMS))
        return 0
    backend = GpuBackend(given.device)
    results: dict[str, Any] = {}
    for name, function in ITEMS:
        if wanted(name, given.only, given.all):
            results[name] = attempt(backend, name, function)
            if given.out:
                given.out.write_text(json.dumps(results, default=as_json, indent=1))
    failed = [name for name, result in results.items() if not result["ok"]]
    print(
        f"\n{len(results) - len(failed)} of {len(results)} as expected"
        + (f"; not: {', '.join(failed)}" if failed else "")
    )
    backend.close()
    return len(failed)


def wanted(name: str, only: list[str], everything: bool) -> bool:
    """Whether an item runs: named by ``only``; else all of them, comparisons only on demand."""
    return any(word in name for word in only) if only else everything or name not in COMPARISONS


def attempt(backend: GpuBackend, name: str, function: Callable[[GpuBackend], Any]) -> dict[str, Any]:
    """Try one item; whatever happens, the next one is tried too."""
    start = time.perf_counter()
    try:
        told: Any = function(backend)
        ok = True
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        told, ok = traceback.format_exc(), False
    spent = time.perf_counter() - start
    text = str(told) if ok else f"{told}"
    print(f"{'ok  ' if ok else 'FAIL'} {spent:6.2f} s  {name:46} {text if not ok else text[:600]}", flush=True)
    return {"ok": ok, "seconds": spent, "told": told}


def as_json(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return value.tolist() if hasattr(value, "tolist") else str(value)


if __name__ == "__main__":
    raise SystemExit(main())
