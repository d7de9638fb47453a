"""Pass lines by GPU model: a profile holds what the solutions reach on one model, and the lines drawn from that.

    NVIDIA H200 ──▶ this user's profile, else the shipped one ──▶ the line
    another GPU ──▶ the H200's line, marked provisional, until `grade calibrate` has measured it

A line lies 5 % below the solution. Where it does not lie above the step before, the two do not separate by time on
that GPU, and technique alone tells them apart. Profiles are JSON (``warpgrade/profile/1``), so that they can be shared.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from decimal import ROUND_DOWN, Context
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.errors import UsageError
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
    """The pass line of one exercise. Fractions are of what ``of`` says, as in `grader.exercise.Target`."""

    fraction: float
    solution: float  # what the course's solution reached
    of: str = "peak"
    separated: bool = True  # from the step before it, by time


@dataclass(frozen=True)
class Profile:
    """The lines of one GPU model by exercise, when they were measured and with what."""

    gpu: str
    date: str
    versions: Mapping[str, str] = field(default_factory=dict)
    lines: Mapping[str, PassLine] = field(default_factory=dict)

    def with_lines(self, newer: Profile) -> Profile:
        """This profile with the lines of a newer one in place of its own."""
        return replace(newer, lines={**self.lines, **newer.lines})


def line_below(solution: float, of: str = "peak") -> PassLine:
    """The line of a solution that reached this fraction: 5 % below it."""
    return PassLine(rounded_down(BELOW_SOLUTION * solution), float(f"{solution:.4g}"), of)


def separated(lines: Mapping[str, PassLine], before: Mapping[str, str]) -> dict[str, PassLine]:
    """The lines with ``separated`` set anew; ``before`` is each step's predecessor, where it has one."""

    def apart(line: PassLine, earlier: PassLine | None) -> bool:
        return earlier is None or earlier.of != line.of or earlier.solution < SLOW_BELOW * line.fraction

    return {name: replace(line, separated=apart(line, lines.get(before.get(name, "")))) for name, line in lines.items()}


def rounded_down(value: float) -> float:
    """``value`` with three significant digits, never more than it is; 0 for what is not a positive number."""
    if not (math.isfinite(value) and value > 0):
        return 0.0
    return float(Context(prec=DIGITS, rounding=ROUND_DOWN).create_decimal(f"{value:.12g}"))


# ----------------------------------------------------------------------------------------------------------- choosing


def with_line(exercise: Exercise, gpu: str) -> Exercise:
    """The exercise with its pass line on this GPU model; with the reference's, which is provisional, where it has none.

    An exercise that no profile knows keeps the line of its own ``exercise.py``.
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
    """The lines of one GPU model; ``trouble`` says in words why this user's own profile is not among them."""

    lines: Mapping[str, PassLine]
    trouble: str = ""


def lines_on(gpu: str) -> Mapping[str, PassLine]:
    """The lines known on a GPU model: the shipped ones, and over them those that this user has measured."""
    return known_on(gpu).lines


@cache
def known_on(gpu: str) -> Known:
    """As `lines_on`. A profile of this user's that is damaged never raises: the shipped lines serve instead."""
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
    """Where a model's profile lies if it ships with warpgrade."""
    return PACKAGE / "gpus" / f"{_slug(gpu)}.json"


def own_file(gpu: str) -> Path:
    """Where `grade calibrate` puts this user's profile."""
    return data_folder("profiles") / f"{_slug(gpu)}.json"


def _slug(gpu: str) -> str:
    """``NVIDIA H200`` as ``nvidia-h200``."""
    return re.sub(r"[^a-z0-9]+", "-", gpu.lower()).strip("-") or "unknown"


# -------------------------------------------------------------------------------------------------- reading and writing


def to_json(profile: Profile) -> str:
    """The profile as the text of its file, one line for each exercise."""
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(asdict(line))}" for name, line in profile.lines.items())
    head = {"schema": SCHEMA, "gpu": profile.gpu, "date": profile.date, "versions": dict(profile.versions)}
    return json.dumps(head, indent=1)[:-2] + f',\n "lines": {{\n{lines}\n }}\n}}\n'


def read_profile(path: Path) -> Profile:
    """A profile from its file. Raises UsageError, saying what is wrong with it."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise ValueError(f"it has more than {MAX_BYTES} bytes")
        data = json.loads(raw)
        if not isinstance(data, dict) or data.get("schema") != SCHEMA:
            raise ValueError(f"it does not say {SCHEMA!r}")
        if not isinstance(data["lines"], dict):
            raise ValueError("`lines` maps exercises to their lines")
        lines = {name: _line(name, entry) for name, entry in data["lines"].items()}
        versions = {name: str(text) for name, text in dict(data.get("versions", {})).items()}
        return Profile(str(data["gpu"]), str(data["date"]), versions, lines)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", code="cannot_read") from None
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        why = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        hint = "`grade calibrate` writes a new one"
        raise UsageError(f"{path} is no profile: {why}", code="bad_profile", hint=hint) from None


def _line(name: str, entry: Any) -> PassLine:
    """One line from its JSON: a profile may come from anybody."""
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
    """Write a profile, all of it or nothing. Raises UsageError where that cannot be."""
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_text(to_json(profile), encoding="utf-8")
        unfinished.replace(path)
    except OSError as error:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
        raise UsageError(f"cannot write {path}: {error.strerror}", code="cannot_write") from None
    known_on.cache_clear()
