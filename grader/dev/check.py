"""`grade dev check`: the course checks itself. One line for each exercise, and below it what is wrong.

For each exercise: its literal, texts and figures; the stub is the solution minus lines, compiles and fails; the
solution passes with no diagnostic; each wrong answer gets the verdict on its first line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from time import perf_counter

from grader.catalog.courses import Broken, CourseExercise
from grader.dev.assembling import assembly_problems
from grader.dev.claims import claim_problems
from grader.dev.expectations import Expectation
from grader.dev.facts import fact_problems
from grader.dev.laboratory import Laboratory
from grader.dev.ladders import Launches, ladder_problems, ladders
from grader.dev.problem import Problem
from grader.dev.slices import KeptReports, Report, checked, slice_of
from grader.dev.sources import source_problems
from grader.dev.statements import text_problems
from grader.dev.verdicts import Graded, verdict_problems
from grader.dev.wrong import WrongAnswer, wrong_answers
from grader.gpus.architecture import SIMULATED, capability
from grader.verdict import Verdict

LEFT = 3
"""The exit code of a slice that has not come to the last exercise."""

ALONE = {"race", "technique"}
"""Words that a GPU alone never says; a wrong answer of that kind is graded there beside the simulator."""


def run(
    exercises: Sequence[CourseExercise],
    broken: Sequence[Broken] = (),
    *,
    gpu: bool = False,
    device: int = 0,
    minutes: float | None = None,
) -> int:
    """Check and print; exit 0 if nothing is wrong, else 1.

    With ``minutes`` what was checked before and is as it was then is not checked again, and no exercise begins that is
    likely to take longer; exit 3 then if some are left. Raises Unsupported where there is no compiler, or no GPU
    although ``gpu`` asks for one: nothing was checked then.
    """
    from grader.output import print_line

    kept = KeptReports(_machine(gpu, device))
    started = perf_counter()
    reports = [_broken(one) for one in broken] + _nothing(exercises)
    for report in reports:
        print_line("\n".join(lines(report)))
    with Laboratory(device=device) as laboratory:
        begin = partial(start_check, laboratory=laboratory, gpu=gpu)
        made = checked(exercises, begin, kept) if minutes is None else slice_of(exercises, begin, kept, 60 * minutes)
        of_exercises = []
        for report in made:
            of_exercises.append(report)
            print_line("\n".join(lines(report)))
        left = len(exercises) - len(of_exercises)
        launches = {} if left else _launches(exercises, of_exercises, laboratory)
    reports += of_exercises
    for ladder in _ladders(exercises, launches) if not left else ():
        reports.append(ladder)
        print_line("\n".join(lines(ladder)))
    found = sum(len(report.problems) for report in reports)
    spent = f"{perf_counter() - started:.0f} s"
    print_line(f"\n{len(of_exercises)} exercises, {found} problem{'s' * (found != 1)}, {spent}")
    if left:
        print_line(f"{left} exercises are left: the same command goes on with them")
    return LEFT if left else 1 if found else 0


def lines(report: Report) -> Iterator[str]:
    """Yield a report as it is printed."""
    yield f"{'FAIL' if report.problems else 'ok':<5} {report.name:<18} {report.summary}".rstrip()
    yield from (f"      {problem}" for problem in report.problems)


def check_exercise(entry: CourseExercise, laboratory: Laboratory, *, gpu: bool = False) -> Report:
    """Check one exercise, all of it."""
    return start_check(entry, laboratory, gpu=gpu)()


def start_check(entry: CourseExercise, laboratory: Laboratory, *, gpu: bool = False) -> Callable[[], Report]:
    """Begin to grade an exercise's files; what is returned waits for them, checks the rest and reports."""
    answers, problems = wrong_answers(entry)
    expected = {answer.path: answer.expectation for answer in answers}
    running = [_start(entry, laboratory, "sim", answers)] if not too_new(entry) else []
    if gpu:
        running.append(_start(entry, laboratory, "gpu", answers))

    def finish() -> Report:
        problems.extend((*_missing(entry), *source_problems(entry), *text_problems(entry), *fact_problems(entry)))
        graded = [each() for each in running]
        for found in graded:
            problems.extend(verdict_problems(entry, found, expected))
        if too_new(entry):
            problems.extend(assembly_problems(entry, answers))
            return Report(entry.name, tuple(problems), " | ".join([_skipped(entry), *_summaries(graded, expected)]))
        problems.extend(claim_problems(entry, graded[0].by_name))
        return Report(entry.name, tuple(problems), " | ".join(_summaries(graded, expected)), graded[0].solution)

    return finish


def too_new(entry: CourseExercise) -> bool:
    """Whether the exercise needs a newer device than the simulated one: nothing of it can be graded there."""
    return capability(entry.exercise.requires) > SIMULATED


def _skipped(entry: CourseExercise) -> str:
    return f"sim: SKIPPED, it needs {entry.exercise.requires}; all files compiled and assembled"


def _missing(entry: CourseExercise) -> Iterator[Problem]:
    if entry.solution is None and entry.course.solutions.is_dir():
        yield Problem(f"solution {entry.name}.cu", "the course has solutions, but none of this exercise")


def _start(
    entry: CourseExercise, laboratory: Laboratory, backend: str, answers: Sequence[WrongAnswer]
) -> Callable[[], Graded]:
    """Queue the files that this backend has something to say about."""

    def queue(file: Path | WrongAnswer, word: str) -> Future[Verdict]:
        if backend == "sim":
            return laboratory.simulated(entry, file)
        return laboratory.on_gpu(entry, file, "auto" if word in ALONE else "gpu")

    stub = (
        queue(entry.stub, "technique") if entry.stub.is_file() else None
    )  # a stub may be right, and lack the technique
    solution = queue(entry.solution, "pass") if entry.solution is not None else None
    words = ((answer, answer.expectation.words.get(backend)) for answer in answers)
    mutants = {answer.path: queue(answer, word) for answer, word in words if word is not None}
    return lambda: Graded(
        backend,
        stub.result() if stub else None,
        solution.result() if solution else None,
        {path: future.result() for path, future in mutants.items()},
    )


def _summaries(graded: Sequence[Graded], expected: Mapping[Path, Expectation]) -> list[str]:
    return [_told(one, expected) for one in graded]


def _told(graded: Graded, expected: Mapping[Path, Expectation]) -> str:
    """E.g. "sim: stub wrong, solution pass, 12 of 12 wrong answers as stated"."""
    as_stated = sum(v.verdict == expected[path].words[graded.backend] for path, v in graded.mutants.items())
    stub = graded.stub.verdict if graded.stub else "missing"
    solution = graded.solution.verdict if graded.solution else "none"
    mutants = f"{as_stated} of {len(graded.mutants)} wrong answers as stated"
    return f"{graded.backend}: stub {stub}, solution {solution}, {mutants}"


def _launches(exercises: Sequence[CourseExercise], reports: Sequence[Report], laboratory: Laboratory) -> Launches:
    """What the solutions did on the simulator; where a report was kept, its solution of a ladder runs again."""
    steps = {entry.name: entry for _, found in ladders(exercises) for entry in found}
    known = {report.name: report.solution for report in reports if report.solution is not None}
    again = {
        name: laboratory.simulated(entry, entry.solution)
        for name, entry in steps.items()
        if name not in known and entry.solution is not None and not too_new(entry)
    }
    known |= {name: future.result() for name, future in again.items()}
    return {name: verdict.launches for name, verdict in known.items()}


def _ladders(exercises: Sequence[CourseExercise], launches: Launches) -> Iterator[Report]:
    """A report for each ladder, made of what its steps' solutions were seen to do."""
    for name, steps in ladders(exercises):
        problems = tuple(ladder_problems(steps, launches))
        yield Report(f"ladder {name}", problems, f"{len(steps)} steps, each told from the one before" * (not problems))


def _broken(one: Broken) -> Report:
    return Report(one.name, (Problem(one.path.name, one.error.message),))


def _nothing(exercises: Sequence[CourseExercise]) -> list[Report]:
    """A check that found nothing to check must not look like one that found nothing wrong."""
    if not exercises:
        return [Report("course", (Problem("exercises/", "there is no exercise to check"),))]
    if not any(entry.stub.is_file() and entry.solution is not None for entry in exercises):
        return [Report("course", (Problem("solutions/", "no exercise has both a stub and a solution"),))]
    return []


def _machine(gpu: bool, device: int) -> str:
    """What everything is graded on: the simulator, and a GPU model."""
    from grader.compile.toolchain import find_toolchain, require_nvrtc

    require_nvrtc(find_toolchain())
    if not gpu:
        return "sim"
    from grader.gpus.detect import detect

    return detect(device).name
