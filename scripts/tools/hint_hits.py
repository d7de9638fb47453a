"""How often each rule of advice speaks: over wrong answers, stubs, and the kernels of tests/simt/corpus.

python scripts/tools/hint_hits.py [NAME …] [--kept FILE]

Grades on the simulator, one submission after the other, and prints the rules with their number of submissions; those
that never spoke come last. A rule that never speaks and whose example shows no common mistake can go. What is graded
once is kept in FILE by its text, so that a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import grader
from grader.catalog.courses import CourseExercise
from grader.catalog.exercises import load_catalog
from grader.dev.wrong import wrong_answers
from grader.grading.hints import RULES

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / "tests" / "simt" / "corpus"
OF_THE_CORPUS = "reduce_v3"
HOST = "_host.py"

Texts = Mapping[str, str]
"""The files to grade, by the suffix of their name: ``.cu``, and ``_host.py`` of a host exercise."""


def main() -> int:
    parser = argparse.ArgumentParser(description="Count how often each rule of advice speaks.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="exercises; without any, all")
    parser.add_argument(
        "--kept", type=Path, default=Path("hint_hits.json"), metavar="FILE", help="what is known already"
    )
    arguments = parser.parse_args()
    kept: dict[str, list[str]] = json.loads(arguments.kept.read_text()) if arguments.kept.is_file() else {}
    hits: Counter[str] = Counter()
    for entry in load_catalog().exercises:
        if arguments.names and entry.name not in arguments.names:
            continue
        for texts in submissions(entry):
            key = hashlib.sha256(json.dumps([entry.name, texts], sort_keys=True).encode()).hexdigest()
            if key not in kept:
                kept[key] = spoken(entry.name, texts)
                arguments.kept.write_text(json.dumps(kept))
            hits.update(kept[key])
    print_table(hits)
    return 0


def submissions(entry: CourseExercise) -> Iterator[Texts]:
    """The stub, the wrong answers, and for the exercise that they belong to the kernels of the corpus."""
    stub = {".cu": entry.stub.read_text(encoding="utf-8")}
    if entry.exercise.host:
        stub[HOST] = entry.stub.with_name(f"{entry.name}{HOST}").read_text(encoding="utf-8")
    yield stub
    for answer in wrong_answers(entry)[0]:
        own = {HOST if name.endswith(HOST) else ".cu": text for name, text in answer.texts.items()}
        yield {**_solution(entry), **own}
    if entry.name == OF_THE_CORPUS:
        yield from ({".cu": path.read_text(encoding="utf-8")} for path in sorted(CORPUS.glob("*/*.cu")))


def _solution(entry: CourseExercise) -> Texts:
    """The files that a wrong answer leaves as they are."""
    if not entry.exercise.host or entry.solution is None or entry.solution_host_file is None:
        return {}
    files = {".cu": entry.solution, HOST: entry.solution_host_file}
    return {suffix: path.read_text(encoding="utf-8") for suffix, path in files.items()}


def spoken(name: str, texts: Texts) -> list[str]:
    """The rules that speak of a submission, each once."""
    with tempfile.TemporaryDirectory() as folder:
        for suffix, text in texts.items():
            (Path(folder) / f"{name}{suffix}").write_text(text, encoding="utf-8")
        verdict = grader.grade(name, Path(folder) / f"{name}.cu", backend="sim", seed=1)
    return sorted({found.rule for found in verdict.diagnostics if found.rule})


def print_table(hits: Counter[str]) -> None:
    order: Sequence[str] = sorted((rule.name for rule in RULES), key=lambda name: -hits[name])
    for name in order:
        print(f"{hits[name]:6}  {name}")
    print(f"{len(RULES)} rules, {sum(not hits[name] for name in order)} of them never spoke")


if __name__ == "__main__":
    raise SystemExit(main())
