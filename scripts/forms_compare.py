"""Hold the results of single PTX forms on the simulator against a GPU's: tensor cores, copies, barrier objects, flags.

python scripts/forms_compare.py [--out FILE.md] [--device N] [--only TEXT] [--simulator-only]

Runs the small programs of scripts/forms on both, from the same PTX and with the same inputs, and compares whole output
arrays: bit for bit, or sums of floating-point products within a stated bound. Writes docs/results/<gpu>-forms.md and
exits 1 where a program differs by more, or the simulator finds something wrong in one. `--simulator-only` needs no GPU:
all programs must compile, assemble for sm_90, and run on the simulator without a finding.
"""

from __future__ import annotations

import argparse
import datetime
import time
from collections.abc import Sequence
from pathlib import Path

from forms import HALF_ULPS, SUM_UNITS, Form, Row, compare, every_form
from forms.run import Simulated, measured, prepared

WITHOUT_GPU = "sm_90"
"""What is assembled for where there is no GPU."""


def compare_all(forms: list[Form], simulated: list[Simulated], cubins: dict[str, bytes], device: int) -> list[Row]:
    """The rows of all programs. A name is printed before its launch: the last one is that which hangs."""
    found = []
    outputs = measured(forms, cubins, device)
    for form, mine in zip(forms, simulated, strict=True):
        print(f"{form.name}:", end=" ", flush=True)
        found.append(compare(form, mine.output, next(outputs), mine.magnitude))
        print(word(found[-1]) if found[-1].fine else f"FAIL {word(found[-1])}: {found[-1].farthest}", flush=True)
    return found


def word(row: Row) -> str:
    """What is said of a row: equal, or how far apart and what was allowed."""
    if not row.differing:
        return "equal"
    if not row.unit:
        return f"**{row.differing} differ**"
    told = f"{row.largest:.2f} of {row.bound:g} · {row.unit}"
    return told if row.fine else f"**{told}**"


def summary(rows: Sequence[Row]) -> str:
    equal, fine = sum(not row.differing for row in rows), sum(row.fine for row in rows)
    apart = len(rows) - fine
    return f"{len(rows)} programs: {equal} equal in every bit, {fine - equal} within their bound, {apart} beyond it."


def to_markdown(rows: Sequence[Row], head: str) -> str:
    """The page of docs/results."""
    lines = [
        head,
        "",
        f"**{summary(rows)}**",
        "",
        "Written by `scripts/forms_compare.py`; not edited by hand. Each row is one launch of a small program "
        "(`scripts/forms`), run by the simulator and by the GPU from the same PTX (for sm_80), with the same inputs. "
        "Whole output arrays are compared, with what a program must leave alone in them. Integers, copies and sums "
        "of small integers must be equal in every bit. Sums of real numbers depend on the order and the inner "
        "precision of the additions, which nothing documents: they may differ by "
        f"{SUM_UNITS} · 2^-24 · Σ, where Σ is Σ|a·b| + |c| of that element (a subnormal half counts as 2^-14: tensor "
        f"cores align it by that exponent); rounded to half, by {HALF_ULPS} ulp of half more. The last column is the "
        "largest difference and what it may be. *differing*: elements of which any bit is.",
        "",
        "| program | elements | differing | result |",
        "|---|---|---|---|",
        *(f"| {row.name} | {row.elements} | {row.differing} | {word(row)} |" for row in rows),
    ]
    return "\n".join(lines) + "\n"


def complaints(forms: list[Form], simulated: list[Simulated]) -> list[str]:
    """A line for each finding of the simulator: the programs are meant to have none, and to write something."""
    found = []
    for form, one in zip(forms, simulated, strict=True):
        found += [f"FAIL {form.name}: {finding}" for finding in one.findings]
        if not one.output.any():
            found.append(f"FAIL {form.name}: all of its output is zero")
    return found


def write(rows: Sequence[Row], device: int, out: Path | None) -> Path:
    from stability import results_file

    from grader.bench.solutions import versions
    from grader.gpus.detect import detect

    gpu = detect(device)
    versioned = ", ".join(f"{name} {text}" for name, text in versions(gpu))
    date = datetime.date.today().isoformat()
    path = out or results_file(gpu.name, "forms")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(to_markdown(rows, f"# {gpu.name}: PTX forms beside the simulator's\n\n{date}. {versioned}."))
    return path


def main() -> int:
    arguments = argparse.ArgumentParser(description="Hold the results of PTX forms against a GPU's.")
    arguments.add_argument("--out", type=Path, help="the page; docs/results/<gpu>-forms.md")
    arguments.add_argument("--device", type=int, default=0)
    arguments.add_argument("--only", default="", help="programs with this in their name; no page without --out")
    arguments.add_argument("--simulator-only", action="store_true")
    given = arguments.parse_args()
    forms = [form for form in every_form() if given.only in form.name]
    start = time.perf_counter()
    arch = WITHOUT_GPU if given.simulator_only else _arch(given.device)
    simulated, cubins = prepared(forms, arch)
    found = complaints(forms, simulated)
    print(*found, sep="\n", end="\n" if found else "")
    print(f"{len(forms)} programs simulated, assembled for {arch}: {time.perf_counter() - start:.0f} s", flush=True)
    if given.simulator_only:
        return int(bool(found))
    rows = compare_all(forms, simulated, cubins, given.device)
    print(f"\n{summary(rows)} {time.perf_counter() - start:.0f} s")
    if given.out or not given.only:
        print(f"written to {write(rows, given.device, given.out)}")
    return int(bool(found) or not all(row.fine for row in rows))


def _arch(device: int) -> str:
    from grader.gpus.detect import detect

    return detect(device).arch


if __name__ == "__main__":
    raise SystemExit(main())
