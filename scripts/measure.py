"""Measure exercises on a GPU again: their rows in the documents of docs/results and their pass lines, from one run.

python scripts/measure.py NAME… [--to FOLDER] [--document NAME.md] [--device N]

A row goes into the document that has the exercise, or into ``--document`` if none has it. Files are written after each
exercise: what was measured stays if the run is cut off. With ``--to`` they go into that folder, from which they are
copied by hand: documents, and in ``gpus`` the profile with the pass lines. Afterwards `scripts/docs`
writes the pages, and `scripts/ladders` those of ladders.

Exits 1 if a row is not good, as `grade bench` does.
"""

from __future__ import annotations

import argparse
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from grader.bench.report import BenchReport, report_from_json, to_json, to_markdown, with_older_rows
from grader.cli.bench import merged, profile_of
from grader.timing.pass_lines import read_profile, save, shipped_file

if TYPE_CHECKING:
    from grader.catalog.exercises import Catalog

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results"


def document_of(name: str, folders: Sequence[Path], gpu: str) -> Path | None:
    """The document's JSON file, in the first of these folders in which one of this GPU has the exercise."""
    for path in (path for folder in folders for path in sorted(folder.glob("*.json"))):
        report = report_from_json(path.read_text(encoding="utf-8"))
        if report.gpu.name == gpu and any(row.exercise == name for row in report.rows):
            return path
    return None


def written(report: BenchReport, older: Path | None, target: Path, catalog: Catalog) -> None:
    """Write the document ``target`` (its JSON file, and the Markdown beside it) with these rows and the older ones."""
    names = [entry.name for entry in catalog.exercises]
    if older is not None:
        report = with_older_rows(report, report_from_json(older.read_text(encoding="utf-8")), names)
    target.write_text(to_json(report), encoding="utf-8")
    target.with_suffix(".md").write_text(to_markdown(report), encoding="utf-8")


def main() -> int:
    from grader.backends.gpu import GpuBackend
    from grader.bench.solutions import bench
    from grader.catalog.exercises import load_catalog

    arguments = argparse.ArgumentParser(description="Measure exercises again: rows of docs/results, and pass lines.")
    arguments.add_argument("names", nargs="+", metavar="NAME")
    arguments.add_argument("--to", type=Path, default=None, metavar="FOLDER")
    arguments.add_argument("--document", default="", metavar="NAME.md", help="for exercises that no document has")
    arguments.add_argument("--device", type=int, default=0)
    given = arguments.parse_args()
    catalog, backend = load_catalog(), GpuBackend(given.device)
    folders = [given.to, RESULTS] if given.to else [RESULTS]
    folders[0].mkdir(parents=True, exist_ok=True)
    lines = shipped_file(backend.gpu.name)
    target_lines = given.to / "gpus" / lines.name if given.to else lines
    good, documents = True, dict[str, str]()
    for name in given.names:  # before anything is measured
        older = document_of(name, folders, backend.gpu.name)
        if older is None and not given.document:
            print(f"no document has {name}: --document names one")
            return 1
        documents[name] = older.name if older else Path(given.document).with_suffix(".json").name
    for name, document in documents.items():
        report = bench([catalog.find(name)], backend, secrets.randbits(53))
        rest = next((folder / document for folder in folders if (folder / document).exists()), None)
        written(report, rest, folders[0] / document, catalog)
        target_lines.parent.mkdir(exist_ok=True)
        known = next((path for path in (target_lines, lines) if path.exists()), None)
        save(merged(read_profile(known) if known else None, profile_of(report), catalog), target_lines)
        good = good and all(row.good for row in report.rows)
        for row in report.rows:
            reached = f"{row.fraction:.3f} of the {row.of}" if row.fraction else row.problem
            print(f"{row.exercise:20} {row.size:50} {reached}, to reach {row.reach}", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
