"""From a LaunchScript and one case's sizes to a LaunchPlan: every expression becomes a number, every name a buffer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar, cast

from grader.c_types import DTYPE_BYTES, ELEMENTS
from grader.errors import SubmissionError
from grader.expressions import ExpressionError, Number, did_you_mean, evaluate, evaluate_integer
from grader.launch.checks import Viewed, check_constant, check_limits, fit_arguments, tensor_map
from grader.launch.records import (
    Constant,
    ConstantLine,
    DeviceLimits,
    Dim3,
    Launch,
    LaunchLine,
    LaunchPlan,
    LaunchScript,
    PassesLine,
    Scratch,
    ScratchLine,
    TensorMap,
    TensorMapLine,
    Zero,
    ZeroLine,
)
from grader.launch.source import LaunchFragment, invalid

if TYPE_CHECKING:
    from grader.compile import Program
    from grader.exercise import Exercise, Size

MAX_SCRATCH_BYTES = 1 << 30

N = TypeVar("N", int, Number)


class _Case:
    """One size of one exercise, with all names that an expression or an argument list may use."""

    def __init__(
        self, script: LaunchScript, exercise: Exercise, size: Size, limits: DeviceLimits, program: Program | None
    ) -> None:
        self.script, self.exercise, self.size, self.limits, self.program = script, exercise, size, limits, program
        device = {"sm_count": limits.sm_count, "warp_size": limits.warp_size}
        self.constants = {} if program is None else program.constants  # by the compiler, else as the text reads
        known = {name: value for name, value in self.constants.items() if "." not in name}
        self.refused = {name: why for name, why in script.integers.refused.items() if name not in known}
        self.names: dict[str, Number] = {**script.integers.values, **known, **device, **exercise.scalars, **size}
        self.aliases: dict[str, str] = {}  # the buffers of src and dst in a pass
        self.scratch: dict[str, Scratch] = {}
        self.maps: dict[str, TensorMap] = {}
        taken = {array.name: "an array of the exercise" for array in exercise.arrays}
        taken |= dict.fromkeys((*size, *exercise.scalars), "a number of the exercise")
        taken |= dict.fromkeys(("src", "dst"), "the name of an array in passes lines")
        arrays = (line for line in script.lines if isinstance(line, ScratchLine | TensorMapLine))
        for line in sorted(arrays, key=lambda line: isinstance(line, TensorMapLine)):
            name = line.name.text
            if name in taken:
                raise invalid(f"{name!r} is already {taken[name]}", line.name)
            if isinstance(line, ScratchLine):
                taken[name] = "a scratch array"
                self.scratch[name] = self._scratch(line)
            else:
                taken[name] = "a tensor map"
                self.maps[name] = tensor_map(line, self._viewed(line), self.integer, self.where)

    def _scratch(self, line: ScratchLine) -> Scratch:
        name, words = line.name.text, " ".join(line.type.text.split())
        if words not in ELEMENTS:
            hint = did_you_mean(words, ELEMENTS) or "a scratch array holds float, double, half, int, unsigned, …"
            raise invalid(f"there is no type {words!r} for the scratch array {name!r}", line.type, hint=hint)
        dtype, width = ELEMENTS[words]
        count = self.integer(line.count)
        if count < 1:
            raise invalid(f"the scratch array {name!r} has {count} elements{self.where}", line.count)
        scratch = Scratch(name, dtype, count * width)
        if sum(DTYPE_BYTES[each.dtype] * each.count for each in (*self.scratch.values(), scratch)) > MAX_SCRATCH_BYTES:
            what = f"the scratch arrays up to {name!r} need more than 1 GiB{self.where}"
            raise invalid(what, line.count, hint="count in elements, not in bytes")
        return scratch

    def _viewed(self, line: TensorMapLine) -> Viewed:
        """The array of a tensor map."""
        from grader.inputs import element_count

        name = self.buffer(line.array, "make a tensor map of")
        if name in self.scratch:
            return Viewed(name, self.scratch[name].dtype, self.scratch[name].count)
        array = next(array for array in self.exercise.arrays if array.name == name)
        return Viewed(name, array.dtype, element_count(array, self.size))

    @property
    def where(self) -> str:
        """``" at n=1000"``."""
        return " at " + ", ".join(f"{name}={value}" for name, value in self.size.items()) if self.size else ""

    @property
    def buffers(self) -> dict[str, str]:
        """The array names that arguments may use, with the buffer of each."""
        return {name: name for name in (*(array.name for array in self.exercise.arrays), *self.scratch)} | self.aliases

    @property
    def not_numbers(self) -> dict[str, str]:
        """Names that exist but are not numbers, each with the reason."""
        only_in_passes = dict.fromkeys(("src", "dst"), "exists only in a passes line")
        arrays = dict.fromkeys(self.buffers, "is an array, not a number")
        maps = dict.fromkeys(self.maps, "is a tensor map, not a number")
        return only_in_passes | self.refused | arrays | maps

    def number(self, text: LaunchFragment) -> Number:
        return self._evaluated(evaluate, text)

    def integer(self, text: LaunchFragment) -> int:
        return self._evaluated(evaluate_integer, text)

    def _evaluated(self, evaluated: Callable[..., N], text: LaunchFragment) -> N:
        try:
            return evaluated(text.text, self.names, refused=self.not_numbers)
        except ExpressionError as error:
            raise invalid(error.message, text, hint=error.hint, shift=error.position) from None

    def buffer(self, name: LaunchFragment, purpose: str) -> str:
        """The buffer of ``name``. Raises SubmissionError, whose message ends with ``purpose``, if there is none."""
        if name.text not in self.buffers:
            remark = "if this line is an ordinary comment, begin it with another word"
            hint = did_you_mean(name.text, self.buffers) or f"the arrays are {', '.join(self.buffers)}; {remark}"
            raise invalid(f"there is no array {name.text!r} to {purpose}", name, hint=hint)
        return self.buffers[name.text]

    def at_kernel(self, kernel: str) -> _Case:
        """The same case with the values that the file's constants have at a kernel."""
        own = self.names.keys() - self.exercise.scalars.keys() - self.size.keys()
        there = {name: self.constants.get(f"{kernel}.{name}") for name in own}
        return self.in_pass({name: value for name, value in there.items() if value is not None}, self.aliases)

    def in_pass(self, names: Mapping[str, Number], aliases: Mapping[str, str]) -> _Case:
        """The same case with the names of one pass."""
        case = copy(self)
        case.names, case.aliases = {**self.names, **names}, dict(aliases)
        return case


MAX_PASSES = 64
SIMULATED = DeviceLimits()


def resolve_launches(
    script: LaunchScript,
    exercise: Exercise,
    size: Size,
    limits: DeviceLimits = SIMULATED,
    program: Program | None = None,
) -> LaunchPlan:
    """The launches at ``size`` on a device with ``limits``; with ``program``, also checked against its kernels.

    Raises SubmissionError (``invalid``) with the line, the problem, and a correction.
    """
    case = _Case(script, exercise, size, limits, program)
    for suspect in script.suspects:
        first, last = suspect.text.split()[0], suspect.text.replace("=", " ").split()[-1]
        if last in case.buffers:
            hint = did_you_mean(first, ("zero", "constant"))
            raise invalid(f"this is nearly a launch line: {suspect.text!r}", suspect, hint=hint)
    scratch = tuple(case.scratch.values())
    if not script.starts_a_kernel:
        if exercise.host:
            return LaunchPlan((), scratch)
        message = f"{script.file} has no launch line, so no kernel is started"
        hint = f"write this line above the kernel, and choose grid and block yourself: {example_line(exercise)}"
        raise SubmissionError("invalid", message, file=script.file, hint=hint)
    steps: list[Launch | Zero] = []
    for line in script.lines:
        if isinstance(line, LaunchLine):
            steps.append(_launch(case, line))
        elif isinstance(line, PassesLine):
            steps += _passes(case, line)
        elif isinstance(line, ZeroLine):
            steps.append(_zero(case, line))
    constants = tuple(_constant(case, line) for line in script.lines if isinstance(line, ConstantLine))
    return LaunchPlan(tuple(steps), scratch, constants, tuple(case.maps.values()))


# -------------------------------------------------------------------------------------------------- zeros and constants


def _zero(case: _Case, line: ZeroLine) -> Zero:
    name = case.buffer(line.array, "set to zero")
    if any(array.name == name for array in case.exercise.inputs):
        raise invalid(f"{name!r} is an input, which must not be changed", line.array)
    return Zero(name, line.at.line)


def _constant(case: _Case, line: ConstantLine) -> Constant:
    name = case.buffer(line.array, f"fill {line.symbol.text} from")
    array = next((array for array in case.exercise.inputs if array.name == name), None)
    if array is None:
        raise invalid(f"{name!r} is not an input; a constant must be filled from an input", line.array)
    if case.program is not None:
        check_constant(line, array, case.size, case.program)
    return Constant(line.symbol.text, name, line.at.line)


# ------------------------------------------------------------------------------------------------------------- launches


def _launch(case: _Case, line: LaunchLine) -> Launch:
    case = case.at_kernel(line.kernel.text)
    launch = Launch(
        kernel=line.kernel.text,
        args=tuple(_argument(case, arg, line) for arg in line.args),
        grid=_dim3(case, line.grid),
        block=_dim3(case, line.block),
        shared_bytes=case.integer(line.shared) if line.shared else 0,
        cooperative=line.cooperative,
        cluster=_dim3(case, line.cluster),
        line=line.at.line,
    )
    if case.program is not None:
        launch = fit_arguments(launch, line, case.program, case.script.text, case.maps)
    check_limits(launch, line, case.limits, case.program, case.where)
    return launch


def _dim3(case: _Case, dimensions: tuple[LaunchFragment, ...]) -> Dim3:
    values = [case.integer(dimension) for dimension in dimensions]
    return cast(Dim3, tuple(values + [1] * (3 - len(values))))


def _argument(case: _Case, arg: LaunchFragment, line: LaunchLine) -> str | Number:
    if arg.text in case.buffers:
        return case.buffers[arg.text]
    if arg.text in case.maps:
        return arg.text
    if arg.text.isidentifier() and arg.text not in {**case.names, **case.not_numbers}:
        passable = [*case.buffers, *case.maps, *case.size, *case.exercise.scalars]
        hint = did_you_mean(arg.text, passable) or f"possible arguments: {', '.join(passable)}, and integers"
        raise invalid(f"there is no {arg.text!r} to pass to {line.kernel.text}", arg, hint=hint)
    return case.number(arg)


def _passes(case: _Case, line: PassesLine) -> list[Launch]:
    """The launches of a ``passes`` line.

    ``src`` is the first input, then the array that the pass before wrote; ``dst`` is each scratch array in turn, and
    the first output in the last pass. A pass at m is the last one if m's next value is the ``until`` value.
    """
    if not case.exercise.inputs:
        what = "the first pass reads an input, but this exercise has none"
        raise invalid(what, line.at, hint="write a `// launch` line instead")
    launches: list[Launch] = []
    value, until, src = case.integer(line.start), case.integer(line.until), case.exercise.inputs[0].name
    while len(launches) < MAX_PASSES:
        at_value = {line.variable.text: value}
        after = case.in_pass(at_value, {}).integer(line.by)
        _check_progress(case, line, value, after, until)
        dst = case.exercise.outputs[0].name if after == until else _next_scratch(case, line, len(launches), src)
        launch = _launch(case.in_pass(at_value, {"src": src, "dst": dst}), line.launch)
        launches.append(replace(launch, leaves=after))
        if after == until:
            return launches
        value, src = after, dst
    raise invalid(f"more than {MAX_PASSES} passes{case.where}", line.by, hint="let each pass leave far fewer elements")


def _check_progress(case: _Case, line: PassesLine, value: int, after: int, until: int) -> None:
    name, by = line.variable.text, line.by.text
    if after != until and after >= value:
        what = f"a pass at {name}={value} leaves {name}={after} ({by}){case.where}, so the passes never end"
        raise invalid(what, line.by, hint=f"each pass must make {name} smaller, until it is {until}")
    if after < until:
        what = f"{name} goes from {value} to {after} ({by}){case.where} and is never {until}"
        raise invalid(what, line.until, hint=f"the passes end when {name} equals the `until` value")


def _next_scratch(case: _Case, line: PassesLine, done: int, src: str) -> str:
    if not case.scratch:
        what = f"more than one pass{case.where}, but no scratch array for the intermediate results"
    else:
        dst = list(case.scratch)[done % len(case.scratch)]
        if dst != src:
            return dst
        what = f"pass {done + 1}{case.where} would read and write the only scratch array {dst!r}"
    raise invalid(what, line.at, hint="write `// scratch ping, pong: float[cdiv(n, 256)]` above it")


def example_line(exercise: Exercise) -> str:
    """The launch line of the simplest answer to ``exercise``: one thread for each output element."""
    sizes = list(dict.fromkeys(name for size in (exercise.simulated, *exercise.small) for name in size))
    args = [array.name for array in exercise.arrays] + sizes + list(exercise.scalars)
    count = next((array.count for array in exercise.outputs if array.count != "1"), exercise.arrays[0].count)
    return f"// launch {exercise.name}({', '.join(args)}): grid=cdiv({count}, 256) block=256"
