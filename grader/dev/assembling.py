"""What can be checked without a GPU of files that only a GPU runs: they compile, assemble, and can be launched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from grader.catalog.courses import CourseExercise
from grader.dev.problem import Problem
from grader.dev.verdicts import FAILING
from grader.dev.wrong import WrongAnswer
from grader.errors import SubmissionError, Unsupported
from grader.gpus.architecture import capability
from grader.launch import DeviceLimits, parse_launches, resolve_launches
from grader.simt.occupancy import MULTIPROCESSORS

REFUSED = {"compile_error", "invalid", "limit", "policy"}
"""Words of wrong answers that never come to run."""

RIGHT = {"pass", "slow", "technique"}
"""Words of answers that are right, whatever else they lack."""


def assembly_problems(entry: CourseExercise, answers: Sequence[WrongAnswer]) -> Iterator[Problem]:
    """Yield the files of an exercise that do not compile, assemble or launch for what it requires; spills, and too few
    wrong answers.
    """
    failing = sum(answer.expectation.words.get("gpu", "pass") not in RIGHT for answer in answers)
    if failing < FAILING:
        yield Problem("wrong/", f"{failing} wrong answers fail on a GPU; it must be {FAILING} or more")
    for place, name, source in _files(entry, answers):
        try:
            spilled = _spilled(entry, name, source)
        except (SubmissionError, Unsupported) as error:
            word = error.verdict if isinstance(error, SubmissionError) else "unsupported"
            yield Problem(place, f"for {entry.exercise.requires}: {word}: {error.message}")
            continue
        if spilled and place.startswith("solution"):
            yield Problem(place, f"{spilled} bytes of registers are spilled to local memory")


def _files(entry: CourseExercise, answers: Sequence[WrongAnswer]) -> Iterator[tuple[str, str, bytes]]:
    """Yield what has to compile: as it is called in a problem, its file's name, and its source."""
    if entry.stub.is_file():
        yield entry.stub.name, entry.stub.name, entry.stub.read_bytes()
    if entry.solution is not None:
        yield f"solution {entry.name}.cu", entry.solution.name, entry.solution.read_bytes()
    for answer in answers:
        name, text = next(iter(answer.texts.items()))
        if not REFUSED & set(answer.expectation.words.values()) and name.endswith(".cu"):
            yield f"wrong/{answer.path.name}", name, text.encode()


def _spilled(entry: CourseExercise, name: str, source: bytes) -> int:
    """Compile, resolve the launch lines at every size, assemble; the bytes of spilled registers."""
    from grader.compile import assembly, compile_source

    requires = entry.exercise.requires
    program = compile_source(source, name, target=requires)
    script = parse_launches(program.source, file=name)
    exercise = entry.exercise
    timed = () if exercise.timed is None else (exercise.timed, *(also.size for also in exercise.also_timed))
    for size in (*exercise.small, exercise.simulated, *timed):
        resolve_launches(script, exercise, size, limits_of(requires), program)
    return max((needs.spill_store_bytes for needs in assembly(program, requires).resources.values()), default=0)


def limits_of(architecture: str) -> DeviceLimits:
    """The launch limits of that capability, as far as they differ from the simulated device's."""
    major, minor = capability(architecture)
    has = MULTIPROCESSORS.get(f"sm_{major}{minor}")
    most = 99 << 10 if has is None else has.shared_bytes_per_block  # what every GPU from 8.0 on has
    return DeviceLimits(name=f"GPU of capability {major}.{minor}", max_shared_bytes=most)
