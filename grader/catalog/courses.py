"""Course folders: where exercises are, and how an ``exercise.py`` becomes a record.

A course is a folder with ``exercises/CHAPTER/NAME/exercise.py``, ``solutions/CHAPTER/NAME.cu`` and ``kernels_ref/``, or
a plain folder of such chapters or exercises.
"""

from __future__ import annotations

import builtins
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from grader.errors import GraderFault, Unsupported, UsageError
from grader.exercise import PLAIN, Array, Exercise, Expect, Values, Variant
from grader.frozen import dataclass
from grader.paths import PACKAGE

MAX_EXERCISE_BYTES = 256 << 10
MOST_UNUSUAL = 4  # further distributions of an array: `grader.inputs.UNUSUAL`
ALL_PATHS = "all"  # the word that leaves a path, and so the name of none


@dataclass(frozen=True)
class Course:
    """One course: the folder of its exercises, and two folders next to it, which may not exist."""

    exercises: Path
    solutions: Path
    kernels_ref: Path


@dataclass(frozen=True)
class CourseExercise:
    """One exercise with its folder. ``chapter`` is the parent folder ("04_reduction"), "" in a plain folder.

    ``stub``, ``statement``, ``hints``, ``interview`` and ``interview_numbers`` are paths whether or not the file
    exists; `solution` and `host_file` are None if it does not.
    """

    exercise: Exercise
    folder: Path
    chapter: str
    course: Course
    inherited: tuple[Expect, ...] = ()  # the technique of the earlier steps of its ladder

    @property
    def graded(self) -> Exercise:
        """The exercise as a submission is graded on it: its own technique first, then the earlier steps'."""
        return replace(self.exercise, technique=self.exercise.technique + self.inherited)

    @property
    def name(self) -> str:
        return self.exercise.name

    @property
    def number(self) -> int:
        """``Exercise.order``: chapter × 100 + row."""
        return self.exercise.order

    @property
    def stub(self) -> Path:
        return self.folder / f"{self.name}.cu"

    @property
    def statement(self) -> Path:
        return self.folder / "README.md"

    @property
    def hints(self) -> Path:
        return self.folder / "hints.md"

    @property
    def interview(self) -> Path:
        return self.folder / "interview.md"

    @property
    def interview_numbers(self) -> Path:
        """Generators of numeric questions."""
        return self.folder / "interview.toml"

    @property
    def solution(self) -> Path | None:
        return existing(self.course.solutions / self.chapter / f"{self.name}.cu")

    @property
    def host_file(self) -> Path | None:
        """``NAME_host.py`` beside the stub, for host exercises."""
        return existing(self.folder / f"{self.name}_host.py")

    @property
    def solution_host_file(self) -> Path | None:
        return existing(self.course.solutions / self.chapter / f"{self.name}_host.py")

    @property
    def headers(self) -> tuple[Path, ...]:
        """The files that a submission may include."""
        return tuple(_header(self.folder, name) for name in self.exercise.headers)

    @property
    def given(self) -> tuple[Path, ...]:
        """What everybody gets: the stub, a host exercise's Python file, and the headers."""
        return tuple(path for path in (self.stub, self.host_file, *self.headers) if path is not None)

    @cached_property
    def header_texts(self) -> Mapping[str, str]:
        """The headers by their names, for `grader.compile.compile_source`."""
        return {path.name: path.read_text(encoding="utf-8") for path in self.headers}

    @property
    def shared_page(self) -> Path | None:
        """The page of its ladder, or of the exercises that it belongs with: ``reduce.md`` in the chapter's folder."""
        name = self.exercise.ladder or self.exercise.page
        return existing(self.folder.parent / f"{name}.md") if name else None

    def is_wrong_answer(self, path: Path) -> bool:
        """Whether the file is one of the exercise's wrong answers; `grader.dev.wrong` reads them."""
        return path.resolve().parent == (self.folder / "wrong").resolve()


@dataclass(frozen=True)
class Broken:
    """An ``exercise.py`` that could not be loaded. ``name`` is the name of its folder."""

    name: str
    path: Path
    line: int | None
    error: UsageError


# ------------------------------------------------------------------------------------------------------ course folders


def built_in_course() -> Course:
    """The course inside the installed package, else the course of the clone that contains this package."""
    root = PACKAGE / "_course" if (PACKAGE / "_course").is_dir() else PACKAGE.parent
    return Course(root / "exercises", root / "solutions", root / "kernels_ref")


def course_at(folder: Path) -> Course:
    """The course in ``folder``. Raises UsageError if there is no folder, or no exercise in it."""
    if not folder.is_dir():
        what = "is a file, not a folder" if folder.exists() else "does not exist"
        raise UsageError(f"the course {folder} {what}", code="bad_course")
    exercises = folder / "exercises" if (folder / "exercises").is_dir() else folder
    if not exercise_files(exercises):
        hint = "a course holds NAME/exercise.py, CHAPTER/NAME/exercise.py or exercises/CHAPTER/NAME/exercise.py"
        raise UsageError(f"the course {folder} holds no exercise", code="bad_course", hint=hint)
    return Course(exercises.resolve(), folder.resolve() / "solutions", folder.resolve() / "kernels_ref")


def exercise_files(exercises: Path) -> list[Path]:
    """Every ``exercise.py`` in the folder and up to two levels below it."""
    patterns = ("exercise.py", "*/exercise.py", "*/*/exercise.py")
    return sorted(path for pattern in patterns for path in exercises.glob(pattern))


def existing(path: Path) -> Path | None:
    """``path`` if it is a file."""
    return path if path.is_file() else None


def read_exercise(path: Path, course: Course) -> CourseExercise | Broken:
    """The exercise of an ``exercise.py``, or its error with file and line."""
    folder = path.parent
    try:
        exercise = _exercise_in(path)
    except _BrokenExercise as error:
        place = f"{path}:{error.line}" if error.line else str(path)
        usage = UsageError(f"{place}: {error}", code="bad_exercise", hint="the fields are in grader/exercise.py")
        return Broken(folder.name, path, error.line, usage)
    chapter = folder.parent.relative_to(course.exercises).as_posix() if folder != course.exercises else ""
    return CourseExercise(exercise, folder, "" if chapter == "." else chapter, course)


# ------------------------------------------------------------------------------------------------- running exercise.py


class _BrokenExercise(Exception):
    """Raised when an exercise.py is not valid; ``line`` is the line of the error, if known."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


def _exercise_in(path: Path) -> Exercise:
    exercise = _run(path).get("EXERCISE")
    if exercise is None:
        raise _BrokenExercise("it must define EXERCISE = Exercise(...)")
    if not isinstance(exercise, Exercise):
        raise _BrokenExercise("EXERCISE is not an Exercise")
    if exercise.name != path.parent.name:
        raise _BrokenExercise(f"the exercise is named {exercise.name!r}, its folder {path.parent.name!r}")
    for has_fault, message in _FAULTS:
        if has_fault(exercise):
            raise _BrokenExercise(message)
    for header in exercise.headers:
        if not _header(path.parent, header).is_file():
            raise _BrokenExercise(f"headers names {header}, which is neither in its folder nor in its chapter's")
    return exercise


def _header(folder: Path, name: str) -> Path:
    """The given header of the exercise in ``folder``: its own, or one that exercises of its chapter share."""
    own = folder / name
    return own if own.is_file() else folder.parent / name


_FAULTS: tuple[tuple[Callable[[Exercise], bool], str], ...] = (
    (lambda e: type(e.order) is not int, "order must be an integer: chapter × 100 + row"),
    (lambda e: not _is_tuple_of(e.arrays, Array), "arrays must be a tuple of Array(...): a single one needs a comma"),
    (lambda e: not e.outputs, "arrays needs an output (role='out')"),
    (lambda e: len({a.name for a in e.arrays}) < len(e.arrays), "two arrays have the same name"),
    (lambda e: not _is_tuple_of(e.small, Mapping), "small must be a tuple of sizes such as {'n': 1023}"),
    (lambda e: not all(_is_size(one, e) for one in (*e.small, e.simulated)), "a size maps names to positive integers"),
    (lambda e: e.timed is not None and not _is_size(e.timed, e), "timed maps names to positive integers"),
    (lambda e: ":" not in e.oracle, "oracle must be 'module:function' of kernels_ref"),
    (lambda e: e.minutes is not None and not _is_positive(e.minutes), "minutes must be a positive integer"),
    (lambda e: not _are_names(e.after), "after must be a tuple of names: a single one needs a comma"),
    (lambda e: not _are_names(e.paths), "paths must be a tuple of names: a single one needs a comma"),
    (lambda e: not _are_headers(e.headers), "headers must be a tuple of names like 'tile.cuh': one needs a comma"),
    (lambda e: bool(e.headers and e.variants), "an exercise with headers has no variants"),
    (lambda e: ALL_PATHS in e.paths, f"no path can be called {ALL_PATHS!r}: `grade next --path` has it for the course"),
    (lambda e: bool(e.variants) and not _is_tuple_of(e.variants, Variant), "variants must be a tuple of Variant(...)"),
    (lambda e: not all(_is_form(v.name) for v in e.variants), "a variant's name has lower-case letters, digits and _"),
    (lambda e: PLAIN in (v.name for v in e.variants), f"{PLAIN!r} is the exercise without a variant"),
    (lambda e: len({v.name for v in e.variants}) < len(e.variants), "two variants have the same name"),
    (
        lambda e: not all(_are_values(a.unusual) for a in e.arrays),
        "unusual must be Values(...), or a tuple of one to four",
    ),
    (
        lambda e: not all(isinstance(a.first, tuple) for a in e.arrays),
        "first must be a tuple: a single one needs a comma",
    ),
    (
        lambda e: e.host and not all(map(_is_uniform, e.arrays)),
        "a host exercise has uniform values between two numbers",
    ),
    (lambda e: bool(e.variants and (e.host or e.ladder)), "a step of a ladder or a host exercise has no variants"),
)
"""Mistakes in a literal that would otherwise appear only much later: a check and its message."""


def _is_tuple_of(value: object, kind: type) -> bool:
    return isinstance(value, tuple) and bool(value) and all(isinstance(item, kind) for item in value)


def _is_size(size: object, exercise: Exercise) -> bool:
    """Whether these are positive integers, or 0 where the range of the secret sizes begins with 0."""
    flags = [name for name, bounds in exercise.secret.items() if bounds[0] == 0]
    return isinstance(size, Mapping) and all(
        _is_positive(number) or (type(number) is int and number == 0 and name in flags) for name, number in size.items()
    )


def _is_positive(number: object) -> bool:
    return type(number) is int and number > 0


def _are_values(unusual: object) -> bool:
    several = isinstance(unusual, tuple) and _is_tuple_of(unusual, Values) and len(unusual) <= MOST_UNUSUAL
    return unusual is None or isinstance(unusual, Values) or several


def _is_uniform(array: Array) -> bool:
    """Whether its values are of the kind that the runs of a host exercise draw anew."""
    return all(
        isinstance(drawn.exact_low, int)
        and isinstance(drawn.exact_high, int)
        and (drawn.shape, drawn.outlier, drawn.permutation, drawn.rising) == ("uniform", None, False, False)
        for drawn in (array.values, array.timed_values)
    )


def _is_form(name: str) -> bool:
    return re.fullmatch(r"[a-z][a-z0-9_]{0,30}", name) is not None


def _are_names(names: object) -> bool:
    return isinstance(names, tuple) and all(isinstance(name, str) and name for name in names)


def _are_headers(names: object) -> bool:
    """Whether these can be names of headers."""
    return isinstance(names, tuple) and all(re.fullmatch(r"[a-z][a-z0-9_]{0,60}\.cuh", str(name)) for name in names)


def _run(path: Path) -> dict[str, Any]:
    """The names that an exercise.py defines; it can import only ``grader``, so that listing stays fast."""
    namespace: dict[str, Any] = {"__name__": "exercise", "__file__": str(path), "__builtins__": _BUILTINS}
    try:
        source = path.read_bytes()
        if len(source) > MAX_EXERCISE_BYTES:
            raise _BrokenExercise(f"{len(source)} bytes; an exercise.py has at most {MAX_EXERCISE_BYTES}")
        exec(compile(source, str(path), "exec"), namespace)
    except _BrokenExercise:
        raise
    except (Exception, SystemExit) as error:
        raise _BrokenExercise(words_of(error), line_in(path, error)) from None
    return namespace


def _import_only_grader(name: str, *args: Any, **kwargs: Any) -> ModuleType:
    if name.split(".")[0] not in ("grader", "__future__"):
        raise ImportError(f"an exercise.py imports only grader, not {name}")
    return builtins.__import__(name, *args, **kwargs)


_BUILTINS = vars(builtins) | {"__import__": _import_only_grader}


def words_of(error: BaseException) -> str:
    """An error of a course's or student's Python file in one line."""
    if isinstance(error, SyntaxError):
        return f"a syntax error: {error.msg}"
    return f"{type(error).__name__}: {error}" if not isinstance(error, ImportError) else str(error)


def line_in(path: Path, error: BaseException) -> int | None:
    """The innermost line of the file at ``path`` in the error's traceback; None if there is none."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return error.lineno
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


# ---------------------------------------------------------------------------------------- functions of ``kernels_ref``


def resolve_reference(reference: str, course: Course, *, folder: str = "") -> Callable[..., Any]:
    """The function that ``"module:function"`` names in the course's ``kernels_ref``, or in the built-in one.

    ``folder`` is a folder inside it, e.g. ``"baselines"``. A course without a module of that name gets the built-in
    one, so that a teacher's exercise can use the existing oracles. Raises UsageError (``bad_exercise``) if the module
    or the function is missing or broken, Unsupported if the module needs a package that is not installed.
    """
    module_name, _, function = reference.partition(":")
    module = _reference_module(_reference_file(reference, module_name, course, folder))
    value: object = getattr(module, function, None) if function and not function.startswith("_") else None
    if callable(value):
        return _Returning(value, f"{reference} of {module.__file__}")
    from grader.expressions import did_you_mean

    public = [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]
    message = f"the reference {reference!r} names no function of {module.__file__}"
    raise UsageError(message, code="bad_exercise", hint=did_you_mean(function, public))


@dataclass(frozen=True)
class _Returning:
    """A callable of a course, and its methods: `sys.exit()` in one is a fault and not the end of the program."""

    function: Callable[..., Any]
    who: str

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        try:
            return self.function(*args, **keywords)
        except SystemExit:
            message = f"{self.who} ends the program: it must return"
            raise GraderFault(message, hint="ask who wrote the course") from None

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.function, name)
        return _Returning(value, self.who) if callable(value) else value


def _reference_file(reference: str, module: str, course: Course, folder: str) -> Path:
    parts = module.split(".")
    roots = dict.fromkeys((course.kernels_ref, built_in_course().kernels_ref))
    if all(part.isidentifier() for part in parts):
        for root in roots:
            if path := existing(root / folder / Path(*parts).with_suffix(".py")):
                return path
    folders = " or ".join(str(root / folder) for root in roots)
    raise UsageError(f"the reference {reference!r} names no module in {folders}", code="bad_exercise")


@cache
def _reference_module(path: Path) -> ModuleType:
    """The module at ``path``, loaded once, under a unique name."""
    from importlib.util import module_from_spec, spec_from_file_location

    name = f"_warpgrade_reference_{abs(hash(path)):x}_{path.stem}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} cannot be loaded", code="bad_exercise")
    module = module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and typing look a module up by its name
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        if isinstance(error, ModuleNotFoundError):
            hint = f"install the package that provides {error.name}; `grade doctor` shows what is missing"
            message = f"{path} needs the module {error.name}, which is not installed"
            raise Unsupported(message, hint=hint) from error
        line = line_in(path, error)
        place = f"{path}:{line}" if line else str(path)
        raise UsageError(f"{place}: {words_of(error)}", code="bad_exercise") from error
    return module
