"""What no linter looks for: paths of one machine, work left undone, silenced checks without a reason, stray binaries.

python scripts/tools/hygiene.py
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = {".py", ".md", ".cu", ".cuh", ".diff", ".h", ".sh", ".toml", ".json", ".yml", ".yaml", ""}
RULES = (
    (re.compile(r"\b(?:TODO|FIXME|XXX)\b"), "work left undone"),
    (
        re.compile(r"#\s*(?:type: ignore(?:\[[\w, -]+\])?|noqa(?:: [A-Z0-9, ]+)?)\s*$"),
        "silenced without a reason beside it",
    ),
    (re.compile(r"(?<![\w.])/(?:home|Users)/\w+/"), "a path of one machine"),
)
"""What must not stand in a line, and what it is called. This file, which has to name them, is left out."""


LARGEST = 200_000
"""Bytes of a file; what is generated in bulk does not belong here."""
BUILT = {".whl", ".so", ".o", ".cubin", ".fatbin", ".zip", ".gz", ".sqlite3"}
"""Suffixes of what is made elsewhere, and is never kept."""


def main() -> int:
    """Print every finding; the exit code is 1 if there is one."""
    every = list(tracked())
    found = [line for path in every for line in misplaced(path)]
    found += [line for path in every if path.suffix in TEXT for line in findings(path)]
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


def tracked() -> Iterator[Path]:
    """Yield the files that belong to the repository: what git knows or would add. This one is left out."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in listed.splitlines():
        path = ROOT / name
        if path.is_file() and path != Path(__file__).resolve():
            yield path


def misplaced(path: Path) -> Iterator[str]:
    """Yield why a file does not belong to the repository."""
    if path.suffix in BUILT:
        yield f"{path.relative_to(ROOT)}: a {path.suffix} file, which is made elsewhere"
    elif path.stat().st_size > LARGEST:
        yield f"{path.relative_to(ROOT)}: {path.stat().st_size} bytes, more than {LARGEST}"


def findings(path: Path) -> Iterator[str]:
    """Yield "file:line: what" for every line that breaks a rule."""
    here = path.relative_to(ROOT)
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        yield from (f"{here}:{number}: {what}: {line.strip()[:100]}" for what in broken_rules(line))


def broken_rules(line: str) -> Iterator[str]:
    """Yield what is wrong with a line."""
    yield from (what for rule, what in RULES if rule.search(line))
    if str(ROOT) in line:
        yield "the path of this clone"


if __name__ == "__main__":
    sys.exit(main())
