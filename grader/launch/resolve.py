"""From a LaunchScript and one case's sizes to a LaunchPlan: every expression becomes a number, every name a buffer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

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
from grader.launch.source import Fragment, invalid

if TYPE_CHECKING:
    from grader.compile import Program
    from grader.exercise import Exercise, Size

MAX_SCRATCH_BYTES = 1 << 30


@dataclass(frozen=True)
class SizedCase:
    """One size of one exercise, with every name that an expression or an argument list may use."""

    script: LaunchScript
    exercise: Exercise
    size: Size
    limits: DeviceLimits
    program: Program | None
    names: Mapping[str, Number]  # sizes, scalars, the file's constants, sm_count, warp_size
    refused: Mapping[str, str]  # names that exist but are no numbers
    scratch: tuple[Scratch, ...] = ()
    maps: tuple[TensorMap, ...] = ()
    aliases: Mapping[str, str] | None = None  # src and dst, in a pass

    @property
    def where(self) -> str:
        """``" at n=1000"``."""
        return " at " + ", ".join(f"{name}={value}" for name, value in self.size.items()) if self.size else ""

    @property
    def buffers(self) -> dict[str, str]:
        """What an argument may say, and the buffer that it means."""
        own = [array.name for array in self.exercise.arrays] + [one.name for one in self.scratch]
        return {name: name for name in own} | dict(self.aliases or {})

    def number(self, text: Fragment) -> Number:
        try:
            return evaluate(text.text, self.names, refused=self.not_numbers)
        except ExpressionError as error:
            raise _bad_expression(text, error) from None

    def integer(self, text: Fragment) -> int:
        try:
            return evaluate_integer(text.text, self.names, refused=self.not_numbers)
        except ExpressionError as error:
            raise _bad_expression(text, error) from None

    @property
    def not_numbers(self) -> dict[str, str]:
        only_in_passes = dict.fromkeys(("src", "dst"), "exists in a passes line only")
        arrays = dict.fromkeys(self.buffers, "is an array, not a number")
        maps = dict.fromkeys((one.name for one in self.maps), "is a tensor map, not a number")
        return only_in_passes | dict(self.refused) | arrays | maps

    def with_names(self, names: Mapping[str, Number], aliases: Mapping[str, str] | None = None) -> SizedCase:
        return replace(self, names={**self.names, **names}, aliases=aliases)


def _bad_expression(text: Fragment, error: ExpressionError) -> SubmissionError:
    return invalid(error.message, text, hint=error.hint, shift=error.position)


def case_of(
    script: LaunchScript, exercise: Exercise, size: Size, limits: DeviceLimits, program: Program | None
) -> SizedCase:
    device = {"sm_count": limits.sm_count, "warp_size": limits.warp_size}
    names: dict[str, Number] = {**script.integers.values, **device, **exercise.scalars, **size}
    case = SizedCase(script, exercise, size, limits, program, names, script.integers.refused)
    case = replace(case, scratch=_scratch(case))
    return replace(case, maps=_maps(case))


# -------------------------------------------------------------------------------------------------------------- buffers


def _taken(case: SizedCase) -> dict[str, str]:
    """Names that a line cannot give to something of its own, and what each is already."""
    taken = {array.name: "an array of the exercise" for array in case.exercise.arrays}
    taken |= dict.fromkeys((*case.size, *case.exercise.scalars), "a number of the exercise")
    taken |= dict.fromkeys(("src", "dst"), "what a passes line calls its arrays")
    return taken | dict.fromkeys((one.name for one in case.scratch), "a scratch array")


def _scratch(case: SizedCase) -> tuple[Scratch, ...]:
    taken = _taken(case)
    found: list[Scratch] = []
    for line in case.script.lines:
        if isinstance(line, ScratchLine):
            if line.name.text in taken:
                raise invalid(f"{line.name.text!r} is already {taken[line.name.text]}", line.name)
            taken[line.name.text] = "a scratch array"
            found.append(_one_scratch(case, line, found))
    return tuple(found)


def _one_scratch(case: SizedCase, line: ScratchLine, before: list[Scratch]) -> Scratch:
    words = " ".join(line.type.text.split())
    if words not in ELEMENTS:
        hint = did_you_mean(words, ELEMENTS) or "a scratch array holds float, double, half, int, unsigned, …"
        raise invalid(f"there is no type {words!r} for the scratch array {line.name.text!r}", line.type, hint=hint)
    dtype, width = ELEMENTS[words]
    count = case.integer(line.count)
    if count < 1:
        raise invalid(f"the scratch array {line.name.text!r} has {count} elements{case.where}", line.count)
    scratch = Scratch(line.name.text, dtype, count * width)
    if sum(DTYPE_BYTES[each.dtype] * each.count for each in (*before, scratch)) > MAX_SCRATCH_BYTES:
        what = f"the scratch arrays up to {scratch.name!r} need more than 1 GiB{case.where}"
        raise invalid(what, line.count, hint="count in elements, not in bytes")
    return scratch


def _maps(case: SizedCase) -> tuple[TensorMap, ...]:
    taken = _taken(case)
    found: list[TensorMap] = []
    for line in case.script.lines:
        if isinstance(line, TensorMapLine):
            if line.name.text in taken:
                raise invalid(f"{line.name.text!r} is already {taken[line.name.text]}", line.name)
            taken[line.name.text] = "a tensor map"
            found.append(tensor_map(line, _viewed(case, line), case.integer, case.where))
    return tuple(found)


def _viewed(case: SizedCase, line: TensorMapLine) -> Viewed:
    """The array that a tensor map looks at."""
    from grader.inputs import element_count

    name = buffer_of(case, line.array, "make a tensor map of")
    array = next((one for one in case.exercise.arrays if one.name == name), None)
    if array is not None:
        return Viewed(name, array.dtype, element_count(array, case.size))
    scratch = next(one for one in case.scratch if one.name == name)
    return Viewed(name, scratch.dtype, scratch.count)


def buffer_of(case: SizedCase, name: Fragment, purpose: str) -> str:
    """The buffer that ``name`` means; ``purpose`` says what for, where it means none."""
    if name.text not in case.buffers:
        remark = "if this line is a remark, begin it with another word"
        hint = did_you_mean(name.text, case.buffers) or f"the arrays are {', '.join(case.buffers)}; {remark}"
        raise invalid(f"there is no array {name.text!r} to {purpose}", name, hint=hint)
    return case.buffers[name.text]


MAX_PASSES = 64


SIMULATED = DeviceLimits()


def resolve_launches(
    script: LaunchScript,
    exercise: Exercise,
    size: Size,
    limits: DeviceLimits = SIMULATED,
    program: Program | None = None,
) -> LaunchPlan:
    """The launches at ``size`` on a device with ``limits``; with ``program``, checked against its kernels too.

    Raises SubmissionError (``invalid``) with the line, what it says, and what it could say instead.
    """
    case = case_of(script, exercise, size, limits, program)
    _check_suspects(case)
    if not any(isinstance(line, LaunchLine | PassesLine) for line in script.lines):
        return _without_launch(case)
    steps: list[Launch | Zero] = []
    for line in script.lines:
        if isinstance(line, LaunchLine):
            steps.append(_launch(case, line))
        elif isinstance(line, PassesLine):
            steps += _passes(case, line)
        elif isinstance(line, ZeroLine):
            steps.append(_zero(case, line))
    constants = tuple(_constant(case, line) for line in script.lines if isinstance(line, ConstantLine))
    return LaunchPlan(tuple(steps), case.scratch, constants, case.maps)


# -------------------------------------------------------------------------------------------------- zeros and constants


def _zero(case: SizedCase, line: ZeroLine) -> Zero:
    name = buffer_of(case, line.array, "set to zero")
    if any(array.name == name for array in case.exercise.inputs):
        raise invalid(f"{name!r} is an input, and inputs stay as they are", line.array)
    return Zero(name, line.at.line)


def _constant(case: SizedCase, line: ConstantLine) -> Constant:
    name = buffer_of(case, line.array, f"fill {line.symbol.text} from")
    array = next((array for array in case.exercise.inputs if array.name == name), None)
    if array is None:
        raise invalid(f"{name!r} is no input, and a constant is filled from an input", line.array)
    if case.program is not None:
        check_constant(line, array, case.size, case.program)
    return Constant(line.symbol.text, name, line.at.line)


# ------------------------------------------------------------------------------------------------------------- launches


def _launch(case: SizedCase, line: LaunchLine) -> Launch:
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
        maps = frozenset(one.name for one in case.maps)
        launch = fit_arguments(launch, line, case.program, case.script.text, maps)
    check_limits(launch, line, case.limits, case.program, case.where)
    return launch


def _dim3(case: SizedCase, dimensions: tuple[Fragment, ...]) -> Dim3:
    values = [case.integer(one) for one in dimensions]
    return cast(Dim3, tuple(values + [1] * (3 - len(values))))


def _argument(case: SizedCase, arg: Fragment, line: LaunchLine) -> str | Number:
    if arg.text in case.buffers:
        return case.buffers[arg.text]
    if any(arg.text == one.name for one in case.maps):
        return arg.text
    if arg.text.isidentifier() and arg.text not in {**case.names, **case.not_numbers}:
        known = [*case.buffers, *(one.name for one in case.maps), *case.size, *case.exercise.scalars]
        hint = did_you_mean(arg.text, known) or f"what can be passed: {', '.join(known)}, and integers"
        raise invalid(f"there is no {arg.text!r} to pass to {line.kernel.text}", arg, hint=hint)
    return case.number(arg)


def _passes(case: SizedCase, line: PassesLine) -> list[Launch]:
    """The launches of a ``passes`` line.

    ``src`` is the first input, then what the pass before wrote; ``dst`` is each scratch array in turn, and the first
    output in the last pass. A pass at m is the last one if m's next value is the ``until`` value.
    """
    if not case.exercise.inputs:
        what = "the first pass reads an input, and this exercise has none"
        raise invalid(what, line.at, hint="write a `// launch` line instead")
    launches: list[Launch] = []
    value, until, src = case.integer(line.start), case.integer(line.until), case.exercise.inputs[0].name
    while len(launches) < MAX_PASSES:
        here = case.with_names({line.variable.text: value})
        after = here.integer(line.by)
        _check_progress(here, line, value, after, until)
        dst = case.exercise.outputs[0].name if after == until else _next_scratch(case, line, len(launches), src)
        launch = _launch(here.with_names({}, {"src": src, "dst": dst}), line.launch)
        launches.append(replace(launch, leaves=after))
        if after == until:
            return launches
        value, src = after, dst
    raise invalid(f"more than {MAX_PASSES} passes{case.where}", line.by, hint="let each pass leave far less to do")


def _check_progress(case: SizedCase, line: PassesLine, value: int, after: int, until: int) -> None:
    name, by = line.variable.text, line.by.text
    if after != until and after >= value:
        what = f"a pass at {name}={value} leaves {name}={after} ({by}){case.where}, so the passes never end"
        raise invalid(what, line.by, hint=f"each pass must make {name} smaller, until it is {until}")
    if after < until:
        what = f"{name} goes from {value} to {after} ({by}){case.where} and is never {until}"
        raise invalid(what, line.until, hint=f"the passes end when {name} equals the `until` value")


def _next_scratch(case: SizedCase, line: PassesLine, done: int, src: str) -> str:
    if not case.scratch:
        what = f"more than one pass{case.where}, and no scratch array for what lies between"
    else:
        dst = case.scratch[done % len(case.scratch)].name
        if dst != src:
            return dst
        what = f"pass {done + 1}{case.where} would read and write the one scratch array {dst!r}"
    raise invalid(what, line.at, hint="write `// scratch ping, pong: float[cdiv(n, 256)]` above it")


# ------------------------------------------------------------------------------------------------------ what is missing


def _check_suspects(case: SizedCase) -> None:
    for suspect in case.script.suspects:
        first, last = suspect.text.split()[0], suspect.text.replace("=", " ").split()[-1]
        if last in case.buffers:
            word = did_you_mean(first, ("zero", "constant"))
            raise invalid(f"this is nearly a launch line: {suspect.text!r}", suspect, hint=word)


def _without_launch(case: SizedCase) -> LaunchPlan:
    if case.exercise.host:
        return LaunchPlan((), case.scratch)
    message = f"{case.script.file} has no launch line, so no kernel is ever started"
    hint = f"write this line above the kernel, and choose grid and block yourself: {example_line(case.exercise)}"
    raise SubmissionError("invalid", message, file=case.script.file, hint=hint)


def example_line(exercise: Exercise) -> str:
    """The launch line that the simplest answer to ``exercise`` would have: one thread for each output."""
    sizes = list(dict.fromkeys(name for size in (exercise.simulated, *exercise.small) for name in size))
    args = [array.name for array in exercise.arrays] + sizes + list(exercise.scalars)
    count = next((array.count for array in exercise.outputs if array.count != "1"), exercise.arrays[0].count)
    return f"// launch {exercise.name}({', '.join(args)}): grid=cdiv({count}, 256) block=256"
