"""Pass lines by GPU model: a profile has what the solutions reach on one model, and the pass lines computed from that.

    NVIDIA H200 ──▶ this user's profile, else the shipped one ──▶ the line
    another GPU ──▶ the H200's line, marked provisional, until `grade calibrate` has measured it

A line is 5 % below the solution. If the line is not above the solution of the ladder's step before, time does not
distinguish the two steps on that GPU, only technique does. Profiles are JSON (``warpgrade/profile/1``), so that they
can be shared.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, field, replace
from decimal import ROUND_DOWN, Context
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.catalog.courses import built_in_course
from grader.catalog.versions import CourseVersions, versions_at
from grader.errors import UsageError
from grader.frozen import dataclass
from grader.paths import PACKAGE, data_folder
from grader.timing.roofline import TOO_FAST
from grader.timing.samples import SLOW_BELOW

if TYPE_CHECKING:
    from grader.exercise import Exercise

SCHEMA = "warpgrade/profile/1"
REFERENCE = "NVIDIA H200"
"""The model whose lines are used, provisionally, on a GPU without a profile."""
BELOW_SOLUTION = 0.95
DIGITS = 3
MAX_BYTES = 1 << 20


@dataclass(frozen=True)
class PassLine:
    """The pass line of one exercise. Fractions are of ``of``, the peak or the ceiling, as in `Target`."""

    fraction: float
    solution: float  # the fraction that the course's solution reached
    of: str = "peak"
    separated: bool = True  # whether time distinguishes it from the step before it


@dataclass(frozen=True)
class Profile:
    """The lines of one GPU model by exercise, with the date and the versions of their measurement."""

    gpu: str
    date: str
    versions: Mapping[str, str] = field(default_factory=dict)
    lines: Mapping[str, PassLine] = field(default_factory=dict)

    def with_lines(self, newer: Profile) -> Profile:
        """This profile, with the lines of a newer one replacing its own."""
        return replace(newer, lines={**self.lines, **newer.lines})


def line_below(solution: float, of: str = "peak") -> PassLine:
    """The line of a solution that reached this fraction: 5 % below it."""
    return PassLine(rounded_down(BELOW_SOLUTION * solution), float(f"{solution:.4g}"), of)


def separated(lines: Mapping[str, PassLine], before: Mapping[str, str]) -> dict[str, PassLine]:
    """The lines with ``separated`` computed; ``before`` is each step's predecessor, if it has one."""

    def apart(line: PassLine, earlier: PassLine | None) -> bool:
        return earlier is None or earlier.of != line.of or earlier.solution < SLOW_BELOW * line.fraction

    return {name: replace(line, separated=apart(line, lines.get(before.get(name, "")))) for name, line in lines.items()}


def rounded_down(value: float) -> float:
    """``value`` rounded down to three significant digits; 0 if it is not a positive number."""
    if not (math.isfinite(value) and value > 0):
        return 0.0
    return float(Context(prec=DIGITS, rounding=ROUND_DOWN).create_decimal(f"{value:.12g}"))


# ----------------------------------------------------------------------------------------------------------- choosing


def with_line(exercise: Exercise, gpu: str) -> Exercise:
    """The exercise with its pass line on this GPU model, or else the reference GPU's line, which is provisional.

    An exercise without a line in these profiles keeps that of its ``exercise.py``.
    """
    target = exercise.target
    if target is None:
        return exercise
    for name in (gpu, REFERENCE):
        line = lines_on(name).get(exercise.name)
        if line is not None and line.of == target.of:
            return replace(exercise, target=replace(target, fraction=line.fraction, gpu=name))
    return exercise


@dataclass(frozen=True)
class Known:
    """The lines of one GPU model; ``trouble`` says why this user's own profile is not used, "" if it is."""

    lines: Mapping[str, PassLine]
    trouble: str = ""


def lines_on(gpu: str) -> Mapping[str, PassLine]:
    """The lines of a GPU model: the shipped ones, replaced by those that this user has measured."""
    return known_on(gpu).lines


@cache
def known_on(gpu: str) -> Known:
    """As `lines_on`, with ``trouble``. A damaged profile of this user raises nothing: the shipped lines are used."""
    shipped = read_profile(shipped_file(gpu)).lines if shipped_file(gpu).is_file() else {}
    try:
        path = own_file(gpu)
        own = read_profile(path) if path.is_file() else Profile(gpu, "")
        if own.gpu != gpu:
            raise UsageError(f"{path} is the profile of an {own.gpu}")
    except (UsageError, OSError, RuntimeError) as error:
        return Known(shipped, f"{error}; your own pass lines are not used")
    return Known({**shipped, **own.lines})


def shipped_file(gpu: str) -> Path:
    """The path of a model's profile in the package, whether or not there is one."""
    return PACKAGE / "gpus" / f"{_slug(gpu)}.json"


def own_file(gpu: str) -> Path:
    """The path to which `grade calibrate` writes this user's profile."""
    return data_folder("profiles") / f"{_slug(gpu)}.json"


def _slug(gpu: str) -> str:
    """``NVIDIA H200`` as ``nvidia-h200``."""
    return re.sub(r"[^a-z0-9]+", "-", gpu.lower()).strip("-") or "unknown"


# -------------------------------------------------------------------------------------------------- reading and writing


def to_json(profile: Profile) -> str:
    """The profile as the text of its file, one line for each exercise, by the names in the course's version."""
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(asdict(line))}" for name, line in profile.lines.items())
    head = {
        "schema": SCHEMA, "gpu": profile.gpu, "date": profile.date, "course_version": _course().version,
        "versions": dict(profile.versions),
    }  # fmt: skip
    return json.dumps(head, indent=1)[:-2] + f',\n "lines": {{\n{lines}\n }}\n}}\n'


def read_profile(path: Path) -> Profile:
    """A profile from its file, by the current names of the exercises.

    Raises UsageError if it cannot be read or is not valid.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise ValueError(f"it has more than {MAX_BYTES} bytes")
        data = json.loads(raw)
        if not isinstance(data, dict) or data.get("schema") != SCHEMA:
            raise ValueError(f"it does not say {SCHEMA!r}")
        if not isinstance(data["lines"], dict):
            raise ValueError("`lines` must map exercises to their lines")
        lines = _by_current_name(
            {name: _line(name, entry) for name, entry in data["lines"].items()}, data.get("course_version", 1)
        )
        versions = {name: str(text) for name, text in dict(data.get("versions", {})).items()}
        return Profile(str(data["gpu"]), str(data["date"]), versions, lines)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", code="cannot_read") from None
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        why = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        hint = "`grade calibrate` writes a new one"
        raise UsageError(f"{path} is no profile: {why}", code="bad_profile", hint=hint) from None


def _course() -> CourseVersions:
    return versions_at(built_in_course().exercises)


def _by_current_name(lines: Mapping[str, PassLine], version: object) -> dict[str, PassLine]:
    """The lines of a profile that was measured in this version of the course. Raises ValueError for a later one."""
    course = _course()
    if type(version) is not int or not 1 <= version <= course.version:
        raise ValueError(f"it is for version {version!r} of the course, and this is version {course.version}")
    return {now: line for name, line in lines.items() if (now := course.now(name, version)) is not None}


def _line(name: str, entry: Any) -> PassLine:
    """One line from its JSON, checked, because a profile may come from anybody. Raises ValueError."""
    if not isinstance(entry, dict):
        raise ValueError(f"the line of {name} is {entry!r}")
    line = PassLine(**entry)
    numbers = all(type(number) in (int, float) for number in (line.fraction, line.solution))
    if not (numbers and 0 < line.fraction <= TOO_FAST and math.isfinite(line.solution)):
        raise ValueError(f"the line of {name} is {line.fraction!r}, of a solution at {line.solution!r}")
    if line.of not in ("peak", "ceiling") or not isinstance(line.separated, bool):
        raise ValueError(f"the line of {name} is of {line.of!r}, separated {line.separated!r}")
    return line


def save(profile: Profile, path: Path) -> None:
    """Write a profile atomically. Raises UsageError if it cannot be written."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(to_json(profile), encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise UsageError(f"cannot write {path}: {error.strerror}", code="cannot_write") from None
    known_on.cache_clear()
