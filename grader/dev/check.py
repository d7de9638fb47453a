"""`grade dev check`: the course checks itself. It prints a line for each exercise, and its problems below.

For each exercise: its literal, texts and figures; the stub is the solution minus lines, compiles and fails; the
solution passes with no diagnostic; each wrong answer gets the verdict on its first line. For each variant: the same of
its stub and its solution, and the exercise's own solution does not pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter

from grader.catalog.courses import Broken, CourseExercise
from grader.catalog.variants import entry_with
from grader.dev.grading import CourseGrader
from grader.dev.ladders import ladder_problems, ladders
from grader.dev.move import version_problems
from grader.dev.paths import path_report
from grader.dev.questions import question_problems
from grader.dev.report import CheckReport, Problem
from grader.dev.slices import LEFT, StoredResults, slice_of
from grader.dev.static import fact_problems, form_problems, source_problems, text_problems
from grader.dev.variants import variant_problems
from grader.dev.verdicts import (
    GradedSubmission,
    assembly_problems,
    claim_problems,
    code_launches,
    form_verdict_problems,
    verdict_problems,
)
from grader.dev.wrong import WrongAnswer, wrong_answers
from grader.gpus.models import simulable
from grader.text import counted
from grader.verdict import Verdict

ALONE = {"race", "technique"}
"""Verdicts that a GPU alone never gives; such a wrong answer is graded on the GPU and the simulator together."""


def run(
    exercises: Sequence[CourseExercise],
    broken: Sequence[Broken] = (),
    *,
    known: Sequence[CourseExercise] = (),
    gpu: bool = False,
    device: int = 0,
    minutes: float | None = None,
) -> int:
    """Check and print; exit 0 without problems, else 1. ``known`` are all exercises that others may build on.

    With ``minutes`` it uses stored results of unchanged exercises, and starts no exercise that would probably exceed
    the time; exit 3 then if some are left. Raises Unsupported, before any check, if there is no compiler, or no GPU
    with ``gpu``.
    """
    from grader.output import print_line

    stored = StoredResults("check", _machine(gpu, device), CheckReport.to_json, CheckReport.from_json)
    started = perf_counter()
    problems, checked = 0, list[CheckReport]()
    limit_s = None if minutes is None else 60 * minutes

    def show(report: CheckReport) -> None:
        nonlocal problems
        problems += len(report.problems)
        print_line("\n".join(report.lines()))

    for entry in broken:
        show(CheckReport(entry.name, (Problem(entry.path.name, entry.error.message),)))
    for problem in _nothing_to_check(exercises):
        show(CheckReport("course", (problem,)))
    for course in dict.fromkeys(entry.course for entry in exercises):
        if found := tuple(version_problems(course)):
            show(CheckReport("course", found))
    with CourseGrader(device=device) as grader:
        for _, report in slice_of(exercises, partial(start_check, grader=grader, gpu=gpu), stored, limit_s):
            show(report)
            checked.append(report)
    left = len(exercises) - len(checked)
    launches = {report.name: report.launches for report in checked}
    for name, steps in ladders(exercises) if not left else ():
        found = tuple(ladder_problems(steps, launches))
        summary = f"{len(steps)} steps, each differs from the one before" if not found else ""
        show(CheckReport(f"ladder {name}", found, summary))
    if paths := path_report(exercises, known or exercises):
        show(paths)
    elapsed = f"{perf_counter() - started:.0f} s"
    print_line(f"\n{len(checked)} exercises, {counted(problems, 'problem')}, {elapsed}")
    if left:
        print_line(f"{left} exercises are left: run the same command again to continue")
    return LEFT if left else 1 if problems else 0


def start_check(entry: CourseExercise, grader: CourseGrader, *, gpu: bool = False) -> Callable[[], CheckReport]:
    """Start grading an exercise's files; returns a function that waits for them, does the other checks and reports."""
    answers, problems = wrong_answers(entry)
    on_simulator = simulable(entry.exercise.requires)
    backends = ["sim"] * on_simulator + ["gpu"] * gpu
    running = [_start(entry, grader, backend, answers) for backend in backends]
    forms = [start_variant(entry, variant.name, grader, backends) for variant in entry.exercise.variants]

    def finish() -> CheckReport:
        if entry.solution is None and entry.course.solutions.is_dir():
            place = f"solution {entry.name}.cu"
            problems.append(Problem(place, "the course has solutions, but none of this exercise"))
        broken, advice, counts = form_problems(entry)
        problems.extend((*source_problems(entry), *text_problems(entry), *broken, *fact_problems(entry)))
        problems.extend(question_problems(entry))
        graded = [wait() for wait in running]
        for backend_verdicts in graded:
            problems.extend(verdict_problems(entry, backend_verdicts))
        for form in forms:
            problems.extend(form())
        summaries = [*(backend_verdicts.summary() for backend_verdicts in graded), *filter(None, [counts])]
        if not on_simulator:
            problems.extend(assembly_problems(entry, answers))
            skipped = f"sim: SKIPPED, it needs {entry.exercise.requires}; all files compiled and assembled"
            summary = " | ".join([skipped, *summaries])
            return CheckReport(entry.name, tuple(problems), summary, code_launches(entry), tuple(advice))
        problems.extend(claim_problems(entry, graded[0].by_name))
        launches = graded[0].solution.launches if graded[0].solution else ()
        return CheckReport(entry.name, tuple(problems), " | ".join(summaries), launches, tuple(advice))

    return finish


def _start(
    entry: CourseExercise, grader: CourseGrader, backend: str, answers: Sequence[WrongAnswer]
) -> Callable[[], GradedSubmission]:
    """Queue the files that this backend grades; returns a function that waits for the verdicts."""

    def queue(file: Path | WrongAnswer, word: str) -> Callable[[], Verdict]:
        if backend == "sim":
            return grader.simulated(entry, file).result
        return grader.on_gpu(entry, file, "auto" if word in ALONE else "gpu").result

    # A stub may be correct but lack the technique.
    stub = queue(entry.stub, "technique") if entry.stub.is_file() else None
    solution = queue(entry.solution, "pass") if entry.solution is not None else None
    words = ((answer, answer.expectation.words.get(backend)) for answer in answers)
    mutants = {answer.path: (word, queue(answer, word)) for answer, word in words if word is not None}
    return lambda: GradedSubmission(
        backend,
        stub() if stub else None,
        solution() if solution else None,
        {path: (word, verdict()) for path, (word, verdict) in mutants.items()},
    )


def start_variant(
    entry: CourseExercise, name: str, grader: CourseGrader, backends: Sequence[str]
) -> Callable[[], list[Problem]]:
    """Start grading a variant's stub and solution, and the exercise's own solution as the variant."""
    problems, place = [*variant_problems(entry, name)], f"variants/{name}.diff"
    if problems:
        return lambda: problems
    form = entry_with(entry, name)

    def queue(backend: str, file: Path | None) -> Callable[[], Verdict | None]:
        if file is None:
            return lambda: None
        return grader.simulated(form, file).result if backend == "sim" else grader.on_gpu(form, file).result

    running = {
        backend: [queue(backend, file) for file in (form.stub, form.solution, entry.solution)] for backend in backends
    }

    def finish() -> list[Problem]:
        for backend, verdicts in running.items():
            stub, solution, copied = (verdict() for verdict in verdicts)
            found = form_verdict_problems(form, GradedSubmission(backend, stub, solution))
            problems.extend(Problem(place, str(problem)) for problem in found)
            if copied is not None and copied.passed:
                problems.append(
                    Problem(place, f"on {backend}, the exercise's own solution passes as this variant, too")
                )
        return problems

    return finish


def _nothing_to_check(exercises: Sequence[CourseExercise]) -> Iterator[Problem]:
    """Problems of an empty course: a check of nothing must not look like a successful check."""
    if not exercises:
        yield Problem("exercises/", "there is no exercise to check")
    elif not any(entry.stub.is_file() and entry.solution is not None for entry in exercises):
        yield Problem("solutions/", "no exercise has both a stub and a solution")


def _machine(gpu: bool, device: int) -> str:
    """The name under which results are stored: that of the GPU model, else ``sim``. Raises Unsupported."""
    from grader.compile.toolchain import find_toolchain, require_nvrtc

    require_nvrtc(find_toolchain())
    if not gpu:
        return "sim"
    from grader.gpus.detect import detect

    return detect(device).name
