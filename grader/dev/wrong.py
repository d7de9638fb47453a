"""The wrong answers of an exercise: only this module reads ``wrong/``, and writes edits there.

    wrong/M.diff        an edit of the solution's `.cu`, of its host file, or of both (`grader.catalog.edits`)
    wrong/M.cu          a whole program; in a host exercise with wrong/M_host.py, or with the solution's host file
    wrong/M_host.py     a whole host file, with the solution's kernels

The first two lines say which verdict it must get, and why it is wrong (in a whole host file they begin with ``#``):

    // expect: wrong                    on the simulator and on a GPU
    // expect: sim=technique gpu=slow   one for each backend; a backend that is not named is not checked
    // Why it is wrong, in a sentence.

The result of an edit is a whole file with the same two lines on top, named M.cu or M_host.py. This file is graded, so
the line numbers of a report are those of the output of ``grade dev wrong NAME M``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from grader.catalog.courses import CourseExercise
from grader.catalog.edits import BadEdit, applied, at_their_places, lines_of, read_edit, written
from grader.dev.report import Problem
from grader.frozen import dataclass
from grader.verdict import VERDICTS

HOST = "_host.py"
BACKENDS = ("sim", "gpu")


@dataclass(frozen=True)
class Expectation:
    """The verdict word for each backend that is checked, and the reason on the second line."""

    words: Mapping[str, str]
    reason: str


def comment_mark(name: str) -> str:
    """The characters that begin a comment in a file of that name."""
    return "#" if name.endswith(".py") else "//"


def read_expectation(lines: Sequence[str], mark: str = "//") -> Expectation:
    """Read the first two lines of a wrong answer, which are comments with ``mark``. Raises BadEdit."""
    first, second, *_ = [*lines, "", ""]
    match = re.fullmatch(rf"{mark} expect: (\S.*)", first.rstrip())
    if match is None:
        raise BadEdit(f"the first line must be `{mark} expect: WORD`, not {first[:60]!r}")
    reason = second.removeprefix(mark).strip() if second.startswith(mark) else ""
    if not reason:
        raise BadEdit("the second line must be a comment that says why it is wrong")
    pairs = [part.partition("=") for part in match[1].split()]
    every = match[1] in VERDICTS
    words = dict.fromkeys(BACKENDS, match[1]) if every else {backend: word for backend, _, word in pairs}
    if len(words) < len(pairs) or not (set(words) <= set(BACKENDS) and set(words.values()) <= set(VERDICTS)):
        message = f"{match[1]!r} is neither a verdict word nor `sim=WORD gpu=WORD`; docs/verdicts.md has the words"
        raise BadEdit(message)
    return Expectation(words, reason)


@dataclass(frozen=True)
class WrongAnswer:
    """One wrong answer. ``path`` is its file in ``wrong/``; ``texts`` are the files to grade by name, first the one
    with the expectation: ``M.cu``, or ``M_host.py`` if the kernels are the solution's.
    """

    path: Path
    expectation: Expectation
    texts: Mapping[str, str]

    def put(self, folder: Path) -> list[Path]:
        """Write the files to grade into a folder."""
        paths = [folder / name for name in self.texts]
        for path, text in zip(paths, self.texts.values(), strict=True):
            path.write_bytes(text.encode())
        return paths


def wrong_answers(entry: CourseExercise) -> tuple[list[WrongAnswer], list[Problem]]:
    """Every wrong answer in the order of names, and the problems of files that are not valid wrong answers."""
    answers: list[WrongAnswer] = []
    problems: list[Problem] = []
    files = [path.name for path in entry.folder.glob("wrong/*") if path.is_file()]
    suffixes = _suffixes(entry)
    names = {name.removesuffix(suffix) for name in files for suffix in suffixes if name.endswith(suffix)}
    for name in sorted(names):
        try:
            answers.append(wrong_answer(entry, name))
        except BadEdit as error:
            path = next(iter(_files(entry, name).values()))
            problems.append(Problem(f"wrong/{path.name}", str(error)))
    return answers, problems


def wrong_answer(entry: CourseExercise, name: str) -> WrongAnswer:
    """The wrong answer ``name``, without suffix. Raises BadEdit, or FileNotFoundError if there is none."""
    files = _files(entry, name)
    if not files:
        raise FileNotFoundError(name)
    if ".diff" not in files:
        texts = {path.name: _read(path) for path in files.values()}
        path = next(iter(files.values()))
        return WrongAnswer(path, read_expectation(texts[path.name].splitlines(), comment_mark(path.name)), texts)
    if len(files) > 1:
        _, other, *_ = files.values()
        raise BadEdit(f"{other.name} exists, too: remove one of them")
    return _edited(entry, files[".diff"])


def _files(entry: CourseExercise, name: str) -> dict[str, Path]:
    """The files of a wrong answer by suffix."""
    paths = {suffix: entry.folder / "wrong" / f"{name}{suffix}" for suffix in _suffixes(entry)}
    return {suffix: path for suffix, path in paths.items() if path.is_file()}


def _suffixes(entry: CourseExercise) -> tuple[str, ...]:
    return (".diff", ".cu", HOST) if entry.exercise.host else (".diff", ".cu")


def _edited(entry: CourseExercise, path: Path) -> WrongAnswer:
    solution = _solution(entry)
    text = _read(path)
    expectation = read_expectation(text.splitlines())
    edit = read_edit(text, solution)
    try:
        changed = {name: applied(edit.files[name], solution[name]) for name in solution if name in edit.files}
    except BadEdit as error:
        raise BadEdit(f"{error}; `grade dev wrong {entry.name} --refresh` adapts edits to a changed solution") from None
    texts = {file.replace(entry.name, path.stem, 1): text for file, text in changed.items()}
    first = next(iter(texts))
    top = [f"{comment_mark(first)}{line.removeprefix('//')}\n" for line in edit.head]
    return WrongAnswer(path, expectation, texts | {first: "".join([*top, texts[first]])})


def _solution(entry: CourseExercise) -> dict[str, str]:
    """The solution's files by name. Raises BadEdit if there is no solution."""
    if entry.solution is None:
        raise BadEdit("it edits the solution, but the exercise has none")
    host = entry.solution_host_file if entry.exercise.host else None
    return {path.name: _read(path) for path in (entry.solution, host) if path is not None}


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise BadEdit(f"{path.name} is not UTF-8: {error.reason} at byte {error.start}") from None


# -------------------------------------------------------------------------------------------------------------- writing


def write_edit(entry: CourseExercise, name: str, files: Iterable[Path]) -> Path:
    """Write ``wrong/NAME.diff`` from whole files, and remove those of them that are in ``wrong/``.

    The first two lines of the `.cu`, or of the host file if it is the only one, are the expectation and the reason.
    Raises BadEdit.
    """
    solution = _solution(entry)
    whole = {path: lines_of(_read(path)) for path in sorted(files, key=lambda path: path.name.endswith(HOST))}
    head: list[str] = []
    changed = {}
    for path, lines in whole.items():
        file = f"{entry.name}{HOST if path.name.endswith(HOST) else '.cu'}"
        if not path.name.endswith((".cu", HOST)):
            raise BadEdit(f"{path.name} is not a whole file: M.cu, or M{HOST} of a host exercise")
        if file not in solution or file in changed:
            raise BadEdit(f"{path.name}: " + ("a second file" if file in changed else f"the solution has no {file}"))
        mark = comment_mark(file)
        if not head:
            read_expectation("".join(lines[:2]).splitlines(), mark)
            head = [f"//{line.rstrip().removeprefix(mark)}" for line in lines[:2]]
        has_head = lines[:1] and lines[0].startswith(f"{mark} expect:")
        changed[file] = "".join(lines[2:] if has_head else lines)
    target = entry.folder / "wrong" / f"{name}.diff"
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(_checked(head, solution, changed).encode())
    for path in whole:
        if entry.is_wrong_answer(path):
            path.unlink()
    return target


def refresh(entry: CourseExercise) -> tuple[list[Path], list[Problem]]:
    """Adapt every edit to the current solution; returns the rewritten files, and problems of edits that do not fit."""
    rewritten: list[Path] = []
    problems: list[Problem] = []
    for path in sorted(entry.folder.glob("wrong/*.diff")):
        try:
            solution, text = _solution(entry), _read(path)
            edit = read_edit(text, solution)
            new = _checked(
                edit.head, solution, {name: at_their_places(edit.files[name], solution[name]) for name in edit.files}
            )
        except BadEdit as error:
            problems.append(Problem(f"wrong/{path.name}", str(error)))
            continue
        if new != text:
            path.write_bytes(new.encode())
            rewritten.append(path)
    return rewritten, problems


def _checked(head: Sequence[str], solution: Mapping[str, str], changed: Mapping[str, str]) -> str:
    """The edit's text. Raises BadEdit if it changes nothing."""
    text = written(head, {file: (solution[file], new) for file, new in changed.items()})
    read_edit(text, solution)
    return text
