"""The cases of an exercise, with their inputs and expected outputs; both backends share them.

Expected values stay in this process: a child gets only inputs and poison.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING

from grader.backends.base import Buffer, CaseRun, Limits
from grader.exercise import SECRET_SIZES, Array, Exercise, Size
from grader.frozen import dataclass
from grader.grading.records import Case, CompiledSubmission

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from grader.grading.records import Arrays, Oracle
    from grader.inputs import Kind
    from grader.launch import DeviceLimits, LaunchPlan


def small_cases(exercise: Exercise, seed: int) -> tuple[Case, ...]:
    """The small and the secret sizes, the simplest first, each with exact values, if the exercise has them, and real.

    Then a secret size up to the simulated one, so that sizes between are tested; then the further distributions of
    values, if the exercise has them. The last cases have slices, masked or special elements, if it has these.
    """
    from grader.inputs import infinite_kinds

    kinds: tuple[Kind, ...] = ("exact", "real") if exercise.exact else ("real",)
    sizes = _simplest_first(exercise, (*exercise.small, *secret_sizes(exercise, seed)))
    cases = tuple(
        Case(size, kind, small=True, confirms=size in exercise.counted and kind == kinds[0])
        for size in sizes
        for kind in kinds
    )
    if exercise.host:
        return cases
    larger = larger_secret_sizes(exercise, seed)
    unusual = _unusual_cases(exercise, larger)
    slices = slice_cases(exercise, min(sizes, key=elements), max(sizes, key=elements), kinds[0])
    infinite = (Case(max(exercise.small, key=elements), kind) for kind in infinite_kinds(exercise))
    confirming = (Case(size, kinds[0], confirms=bool(exercise.technique)) for size in larger)
    return (*cases, *confirming, *unusual, *slices, *infinite)


def _simplest_first(exercise: Exercise, sizes: tuple[Size, ...]) -> list[Size]:
    """The sizes without a set flag, smallest first; then those with one.

    So a mistake that needs no flag, like a mask, is not reported at a size that has it.
    """
    flags = [name for name, (least, most, _) in exercise.secret.items() if (least, most) == (0, 1)]
    return sorted(sizes, key=lambda size: (sum(size[name] for name in flags), elements(size)))


def _unusual_cases(exercise: Exercise, larger: tuple[Size, ...]) -> tuple[Case, ...]:
    """The first further distribution at the large sizes, each other one at the largest small size and a large one."""
    from grader.inputs import unusual_kinds

    kinds = unusual_kinds(exercise)
    first = (Case(size, kind) for size in (*larger, exercise.simulated) for kind in kinds[:1])
    sizes = (max(exercise.small, key=elements), *(larger or (exercise.simulated,)))
    return (*first, *(Case(size, kind) for kind in kinds[1:] for size in sizes))


def elements(size: Size) -> int:
    """The product of its dimensions, by which sizes are compared; a flag that is 0 counts as 1."""
    return math.prod(max(1, number) for number in size.values())


SLICE_BYTES = 8
"""The offset of an array that is the only slice: a multiple of the widest element, but not of wider accesses."""


def slice_cases(exercise: Exercise, least: Size, largest: Size, kind: Kind) -> tuple[Case, ...]:
    """Cases in which all arrays that may be slices begin at their second element, at two sizes; and each one alone."""
    from grader.inputs import element_bytes

    arrays = [array for array in exercise.arrays if array.slices]
    if not arrays:
        return ()
    together = {array.name: 1 for array in arrays}
    alone = ({array.name: max(1, SLICE_BYTES // element_bytes(array))} for array in arrays)
    return (
        *(Case(size, kind, offsets=together) for size in (least, largest)),
        *(Case(largest, kind, offsets=offsets) for offsets in alone),
    )


def secret_sizes(exercise: Exercise, seed: int) -> tuple[Size, ...]:
    """Random sizes from the run's seed, within the exercise's bounds."""
    if not exercise.secret:
        return ()
    return tuple(_drawn(exercise.secret, seed, k) for k in range(SECRET_SIZES))


ROWS = 16
"""Elements that whole sectors hold of every type: rows that are so many shorter begin at a sector as before."""


def larger_secret_sizes(exercise: Exercise, seed: int) -> tuple[Size, ...]:
    """One size from the run's seed: larger than the other secret ones, up to the simulated one.

    Where counters are graded it is at least 0.7 of the simulated size, so that they can confirm those.
    """
    if not exercise.secret:
        return ()
    if exercise.technique:
        step = 1 if len(exercise.simulated) == 1 else ROWS
        bounds = {
            name: _near(exercise.simulated[name], math.lcm(step, own)) for name, (_, _, own) in exercise.secret.items()
        }
    else:
        bounds = {
            name: (most if most < exercise.simulated[name] else least, max(least, exercise.simulated[name]), step)
            for name, (least, most, step) in exercise.secret.items()
        }
    return (_drawn(bounds, seed, SECRET_SIZES),)


def secret_size_below_timed(exercise: Exercise, seed: int) -> Size | None:
    """One size that follows from the run's seed, between the simulated and the timed one; None without secret sizes."""
    if exercise.timed is None or not exercise.secret:
        return None
    bounds = {
        name: (min(exercise.simulated[name], exercise.timed[name]), exercise.timed[name], step)
        for name, (_, _, step) in exercise.secret.items()
    }
    return _drawn(bounds, seed, SECRET_SIZES + 1)


def _near(simulated: int, step: int) -> tuple[int, int, int]:
    """From 0.7 of the simulated size to the step below it; that size itself where it has no such steps."""
    steps = int(0.3 * simulated) // step
    return simulated - steps * step, simulated - min(steps, 1) * step, step


def _drawn(bounds: Mapping[str, tuple[int, int, int]], seed: int, k: int) -> Size:
    from grader.inputs import derive_seed

    def draw(name: str, least: int, largest: int, step: int) -> int:
        return least + step * (derive_seed(seed, "size", k, name) % ((largest - least) // step + 1))

    return {name: draw(name, *each) for name, each in bounds.items()}


def simulated_case(exercise: Exercise) -> Case:
    """The case whose counters are graded."""
    return Case(exercise.simulated, "real", counters=True)


ASKED_AGAIN = 1 << 17
"""Maximum of output elements for which the oracle is called again, to explain a wrong element."""


@dataclass(frozen=True, eq=False)
class CaseData:
    """The kernel's inputs, and the expected outputs in float64; both by name, 1-D."""

    inputs: Arrays
    expected: Mapping[str, npt.NDArray[np.float64]]


class CaseBook:
    """Inputs and expected outputs by case, made once and shared by the backends' threads."""

    def __init__(self, exercise: Exercise, oracle: Oracle, seed: int) -> None:
        self._exercise = exercise
        self._oracle = oracle
        self.seed = seed
        self._made: dict[tuple[object, ...], CaseData] = {}
        self._lock = Lock()

    def data(self, case: Case) -> CaseData:
        """The data of ``case``, which is made at the first call."""
        from grader.inputs import element_count, make_inputs

        size = {**case.size, **case.period}
        key = (tuple(size.items()), case.values, tuple(case.repeats.items()))
        with self._lock:
            if key not in self._made:
                inputs = make_inputs(self._exercise, {**size, **case.repeats}, self.seed, case.values)
                if case.repeats:
                    import numpy as np

                    inputs = {a.name: np.resize(inputs[a.name], element_count(a, size)) for a in self._exercise.inputs}
                self._made[key] = CaseData(inputs, self._oracle(inputs, {**self._exercise.scalars, **size}))
            return self._made[key]

    def answer(self, case: Case, inputs: Arrays) -> Mapping[str, npt.NDArray[np.float64]] | None:
        """The right outputs for other inputs of this size; None if the oracle refuses them."""
        import numpy as np

        try:
            with np.errstate(all="ignore"):
                return self._oracle(inputs, {**self._exercise.scalars, **case.size})
        except Exception:  # it may refuse inputs that no case has
            return None

    def is_elementwise(self, case: Case, output: str, index: int) -> bool:
        """Whether this element of ``output`` depends only on the inputs' elements at ``index``.

        It calls the oracle again with all other elements moved.
        """
        import numpy as np

        data = self.data(case)
        expected = data.expected[output]
        if not 0 < expected.size <= ASKED_AGAIN or {array.size for array in data.inputs.values()} != {expected.size}:
            return False
        for step in (1, 2, 5):
            moved = {name: np.roll(values, step) for name, values in data.inputs.items()}
            for name, values in data.inputs.items():
                moved[name][index] = values[index]
            outputs = self.answer(case, moved)
            if outputs is None or outputs[output][index] != expected[index]:
                return False
        return True


def case_run(exercise: Exercise, case: Case, data: CaseData, plan: LaunchPlan) -> CaseRun:
    """The request to run ``case``, without expected values."""
    from grader.inputs import element_count

    def given(array: Array) -> Buffer:
        values, own = data.inputs[array.name], element_count(array, {**case.size, **case.repeats})
        return Buffer(array.name, array.dtype, values.size, "in", values[:own], period=own % values.size)

    inputs = map(given, exercise.inputs)
    outputs = (Buffer(a.name, a.dtype, element_count(a, case.size), "out") for a in exercise.outputs)
    scratch = (Buffer(s.name, s.dtype, s.count, "scratch") for s in plan.scratch)
    sliced = (replace(buffer, offset=case.offsets.get(buffer.name, 0)) for buffer in (*inputs, *outputs))
    buffers = (*sliced, *scratch)
    beside = BUDGET_OF_A_THREAD * sum(math.prod(one.grid) * math.prod(one.block) for one in plan.launches)
    instructions = min(Limits.instructions, budget(exercise, case.size) + beside * case.many_blocks)
    return CaseRun(plan, buffers, counters=case.counters, instructions=instructions)


LEAST_BUDGET = 3 * Limits.instructions_per_block // 2  # an endless loop exceeds its block's limit first
BUDGET_OF_A_UNIT = 20
"""Instructions per byte and operation of `Work`: a single thread needs 8 to 10 per byte, all threads less than 1."""
BUDGET_OF_A_THREAD = 500
"""Instructions of each thread beside, in a case that has many blocks for little work."""


def budget(exercise: Exercise, size: Size) -> int:
    """The simulator's limit of instructions for a case, in proportion to the exercise's `Work`.

    A kernel in which every block does all of the work is far above it; one that does the work once, with one thread, is
    below.
    """
    needed = work_of(exercise, size)
    return LEAST_BUDGET + int(BUDGET_OF_A_UNIT * needed) if needed > 0 else Limits.instructions


def work_of(exercise: Exercise, size: Size) -> float:
    """The bytes and operations of the exercise's `Work` at this size."""
    from grader.expressions import evaluate

    return sum(float(evaluate(text, size)) for text in (exercise.work.bytes, exercise.work.flops))


def plan_of(exercise: Exercise, case: Case, compiled: CompiledSubmission, limits: DeviceLimits) -> LaunchPlan:
    """The launches of ``case`` in numbers. Raises SubmissionError ``invalid`` for an impossible launch."""
    if exercise.host:
        from grader.launch import LaunchPlan

        return LaunchPlan(())  # the host file launches
    from grader.launch import resolve_launches

    return resolve_launches(compiled.script, exercise, case.size, limits, compiled.program)
