"""From a LaunchScript and one case's sizes to a LaunchPlan: every expression becomes a number, every name a buffer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from grader.errors import SubmissionError
from grader.expressions import Number, did_you_mean
from grader.launch.case import DTYPES, MAX_SCRATCH_BYTES, Case, buffer_of, case_of
from grader.launch.checks import check_constant, check_limits, fit_arguments
from grader.launch.plan import Constant, DeviceLimits, Dim3, Launch, LaunchPlan, Zero
from grader.launch.script import (
    ConstantLine,
    LaunchLine,
    LaunchScript,
    PassesLine,
    ZeroLine,
)
from grader.launch.text import Fragment, invalid
from grader.verdict import Diagnostic

if TYPE_CHECKING:
    from grader.compile import Program
    from grader.exercise import Exercise, Size

__all__ = ["DTYPES", "MAX_PASSES", "MAX_SCRATCH_BYTES", "example_line", "resolve"]

MAX_PASSES = 64


def resolve(
    script: LaunchScript, exercise: Exercise, size: Size, limits: DeviceLimits, program: Program | None
) -> LaunchPlan:
    """See `LaunchScript.resolve`."""
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


def _zero(case: Case, line: ZeroLine) -> Zero:
    name = buffer_of(case, line.array, "set to zero")
    if any(array.name == name for array in case.exercise.inputs):
        raise invalid(f"{name!r} is an input, and inputs stay as they are", line.array)
    return Zero(name, line.at.line)


def _constant(case: Case, line: ConstantLine) -> Constant:
    name = buffer_of(case, line.array, f"fill {line.symbol.text} from")
    array = next((array for array in case.exercise.inputs if array.name == name), None)
    if array is None:
        raise invalid(f"{name!r} is no input, and a constant is filled from an input", line.array)
    if case.program is not None:
        check_constant(line, array, case.size, case.program)
    return Constant(line.symbol.text, name, line.at.line)


# ------------------------------------------------------------------------------------------------------------- launches


def _launch(case: Case, line: LaunchLine) -> Launch:
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


def _dim3(case: Case, dimensions: tuple[Fragment, ...]) -> Dim3:
    values = [case.integer(one) for one in dimensions]
    return cast(Dim3, tuple(values + [1] * (3 - len(values))))


def _argument(case: Case, arg: Fragment, line: LaunchLine) -> str | Number:
    if arg.text in case.buffers:
        return case.buffers[arg.text]
    if any(arg.text == one.name for one in case.maps):
        return arg.text
    if arg.text.isidentifier() and arg.text not in {**case.names, **case.not_numbers}:
        known = [*case.buffers, *(one.name for one in case.maps), *case.size, *case.exercise.scalars]
        hint = did_you_mean(arg.text, known) or f"what can be passed: {', '.join(known)}, and integers"
        raise invalid(f"there is no {arg.text!r} to pass to {line.kernel.text}", arg, hint=hint)
    return case.number(arg)


def _passes(case: Case, line: PassesLine) -> list[Launch]:
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


def _check_progress(case: Case, line: PassesLine, value: int, after: int, until: int) -> None:
    name, by = line.variable.text, line.by.text
    if after != until and after >= value:
        what = f"a pass at {name}={value} leaves {name}={after} ({by}){case.where}, so the passes never end"
        raise invalid(what, line.by, hint=f"each pass must make {name} smaller, until it is {until}")
    if after < until:
        what = f"{name} goes from {value} to {after} ({by}){case.where} and is never {until}"
        raise invalid(what, line.until, hint=f"the passes end when {name} equals the `until` value")


def _next_scratch(case: Case, line: PassesLine, done: int, src: str) -> str:
    if not case.scratch:
        what = f"more than one pass{case.where}, and no scratch array for what lies between"
    else:
        dst = case.scratch[done % len(case.scratch)].name
        if dst != src:
            return dst
        what = f"pass {done + 1}{case.where} would read and write the one scratch array {dst!r}"
    raise invalid(what, line.at, hint="write `// scratch ping, pong: float[cdiv(n, 256)]` above it")


# ------------------------------------------------------------------------------------------------------ what is missing


def _check_suspects(case: Case) -> None:
    for suspect in case.script.suspects:
        first, last = suspect.text.split()[0], suspect.text.replace("=", " ").split()[-1]
        if last in case.buffers:
            word = did_you_mean(first, ("zero", "constant"))
            raise invalid(f"this is nearly a launch line: {suspect.text!r}", suspect, hint=word)


def _without_launch(case: Case) -> LaunchPlan:
    if case.exercise.host:
        return LaunchPlan((), case.scratch)
    message = f"{case.script.file} has no launch line, so no kernel is ever started"
    hint = f"write this line above the kernel, and choose grid and block yourself: {example_line(case.exercise)}"
    diagnostic = Diagnostic(kind="invalid", message=message, file=case.script.file, hint=hint)
    raise SubmissionError("invalid", message, diagnostics=(diagnostic,), hint=hint)


def example_line(exercise: Exercise) -> str:
    """The launch line that the simplest answer to ``exercise`` would have: one thread for each output."""
    sizes = list(dict.fromkeys(name for size in (exercise.simulated, *exercise.small) for name in size))
    args = [array.name for array in exercise.arrays] + sizes + list(exercise.scalars)
    count = next((array.count for array in exercise.outputs if array.count != "1"), exercise.arrays[0].count)
    return f"// launch {exercise.name}({', '.join(args)}): grid=cdiv({count}, 256) block=256"
