"""The launch lines as records: expressions and places, no numbers yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.launch.plan import DeviceLimits, LaunchPlan
from grader.launch.source import Integers, SourceText
from grader.launch.text import Fragment

if TYPE_CHECKING:
    from grader.compile import Program
    from grader.exercise import Exercise, Size

SIMULATED = DeviceLimits()


@dataclass(frozen=True)
class LaunchLine:
    """``launch KERNEL(ARGS): grid=… block=… shared=… cluster=… cooperative``; a dimension that is not given is 1."""

    kernel: Fragment
    args: tuple[Fragment, ...]
    grid: tuple[Fragment, ...]
    block: tuple[Fragment, ...]
    shared: Fragment | None
    cluster: tuple[Fragment, ...]
    cooperative: bool
    at: Fragment  # the whole line


@dataclass(frozen=True)
class PassesLine:
    """``passes VARIABLE=START until UNTIL by BY: KERNEL(ARGS): …``."""

    variable: Fragment
    start: Fragment
    until: Fragment
    by: Fragment
    launch: LaunchLine
    at: Fragment


@dataclass(frozen=True)
class ZeroLine:
    """``zero NAME``."""

    array: Fragment
    at: Fragment


@dataclass(frozen=True)
class ConstantLine:
    """``constant SYMBOL = NAME``."""

    symbol: Fragment
    array: Fragment
    at: Fragment


@dataclass(frozen=True)
class ScratchLine:
    """``scratch NAMES: TYPE[COUNT]``, one for each name."""

    name: Fragment
    type: Fragment
    count: Fragment
    at: Fragment


@dataclass(frozen=True)
class TensorMapLine:
    """``tensor_map NAME = ARRAY: shape=(…) box=(…) swizzle=… strides=(…) promotion=…``."""

    name: Fragment
    array: Fragment
    shape: tuple[Fragment, ...]
    box: tuple[Fragment, ...]
    strides: tuple[Fragment, ...]  # in elements; () for an array without gaps
    swizzle: Fragment | None
    promotion: Fragment | None
    at: Fragment


Line = LaunchLine | PassesLine | ZeroLine | ConstantLine | ScratchLine | TensorMapLine


@dataclass(frozen=True)
class LaunchScript:
    """The launch lines of one file, in its order, and the integer constants that they may use."""

    file: str
    lines: tuple[Line, ...]
    suspects: tuple[Fragment, ...]  # "zeor count": an error if the last word is an array's name
    integers: Integers
    text: SourceText

    @property
    def starts_a_kernel(self) -> bool:
        return any(isinstance(line, LaunchLine | PassesLine) for line in self.lines)

    def resolve(
        self,
        exercise: Exercise,
        size: Size,
        limits: DeviceLimits = SIMULATED,
        program: Program | None = None,
    ) -> LaunchPlan:
        """The launches at ``size`` on a device with ``limits``; with ``program``, checked against its kernels too.

        Raises SubmissionError (``invalid``) with the line, what it says, and what it could say instead.
        """
        from grader.launch.resolve import resolve

        return resolve(self, exercise, size, limits, program)
