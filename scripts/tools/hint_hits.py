"""How often each rule of advice speaks of stubs and wrong answers, for the page docs/results/hints.md.

python scripts/tools/hint_hits.py [NAME …] [--known FILE] [--minutes N] [--out PAGE]

Grades on the simulator whatever does not pass there. What is graded once is kept in FILE by its text; with --minutes,
what is not graded by then is left to the next run, and the exit code is 3. A rule that never speaks stays only where
its example shows what students do, and the course has no wrong answer for that.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from grader.catalog.courses import CourseExercise
from grader.catalog.exercises import load_catalog
from grader.dev.grading import CourseGrader
from grader.dev.wrong import WrongAnswer, wrong_answers
from grader.grading.hints import RULES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "results" / "hints.md"
EXAMPLES = 3  # submissions that a row names

Hits = Mapping[str, Sequence[str]]
"""The submissions of which a rule speaks, by its name."""


def main() -> int:
    parser = argparse.ArgumentParser(description="Count how often each rule of advice speaks.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="exercises; without any, all")
    parser.add_argument("--known", type=Path, default=Path("hint_hits.json"), metavar="FILE")
    parser.add_argument("--minutes", type=float, default=float("inf"), metavar="N")
    parser.add_argument("--out", type=Path, default=PAGE, metavar="PAGE")
    arguments = parser.parse_args()
    known: dict[str, list[str]] = json.loads(arguments.known.read_text()) if arguments.known.is_file() else {}
    end = time.monotonic() + 60 * arguments.minutes
    hits: dict[str, list[str]] = defaultdict(list)
    graded = left = 0
    with CourseGrader(workers=1) as course:
        for entry in load_catalog().exercises:
            if arguments.names and entry.name not in arguments.names:
                continue
            for name, key, file in submissions(entry):
                if key not in known and time.monotonic() > end:
                    left += 1
                    continue
                if key not in known:
                    verdict = course.simulated(entry, file).result()
                    known[key] = sorted({found.rule for found in verdict.diagnostics if found.rule})
                    arguments.known.write_text(json.dumps(known))
                graded += 1
                for rule in known[key]:
                    hits[rule].append(name)
    arguments.out.write_text(page(hits, graded), encoding="utf-8")
    print(f"{graded} graded, {left} left; {arguments.out}")
    return 3 if left else 0


def submissions(entry: CourseExercise) -> Iterator[tuple[str, str, Path | WrongAnswer]]:
    """The stub and the wrong answers that do not pass on the simulator: name, a key of the text, and what to grade."""
    files = [entry.stub, *entry.stub.parent.glob(f"{entry.name}_host.py")]
    yield f"{entry.name}, stub", _key(entry, *(file.read_text(encoding="utf-8") for file in files)), entry.stub
    for answer in wrong_answers(entry)[0]:
        if answer.expectation.words.get("sim", "pass") != "pass":
            yield f"{entry.name}, {answer.path.stem}", _key(entry, *answer.texts.values()), answer


def _key(entry: CourseExercise, *texts: str) -> str:
    return hashlib.sha256(json.dumps([entry.name, *texts]).encode()).hexdigest()


def page(hits: Hits, graded: int) -> str:
    order = sorted((rule.name for rule in RULES), key=lambda name: -len(hits.get(name, ())))
    rows = (f"| `{name}` | {len(hits.get(name, ()))} | {_some(hits.get(name, ()))} |" for name in order)
    spoken = sum(name in hits for name in order)
    return (
        "# How often each rule of advice speaks\n\n"
        f"Written by `scripts/tools/hint_hits.py`; not edited by hand. {graded} stubs, and wrong answers that do not "
        f"pass on the simulator; {spoken} of {len(order)} rules speak of one. "
        "[What a rule is](../design/021-findings-and-hints.md).\n\n"
        "| rule | submissions | for example |\n|---|---:|---|\n" + "\n".join(rows) + "\n"
    )


def _some(names: Sequence[str]) -> str:
    step = max(1, len(names) // EXAMPLES)
    return "; ".join(names[::step][:EXAMPLES])


if __name__ == "__main__":
    raise SystemExit(main())
