"""The questions after the code of an interview: about the candidate's own kernel, about what bounds it, the exercise's
own numbers and questions, and what to try next. Pure: the same seed asks the same.

No two of them are of one kind, such as bytes that are moved, as long as the exercise has questions of other kinds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from random import Random

from grader.catalog.courses import CourseExercise
from grader.errors import WarpgradeError
from grader.exercise import Exercise
from grader.expressions import evaluate
from grader.frozen import dataclass
from grader.gpus.models import capability, published, simulable
from grader.practice.interview import Attempt
from grader.practice.questions import Generator, NumericQuestion, Question, in_number
from grader.simt.occupancy import MULTIPROCESSORS, SIMULATED, occupancy
from grader.text import amount, counted, figure, grouped
from grader.timing.pass_lines import REFERENCE, lines_on

GPUS = ("NVIDIA A100-SXM4-80GB", "NVIDIA H200", "NVIDIA L4", "NVIDIA GeForce RTX 4090")
FP32_UNITS = frozenset({"bandwidth", "fp32"})
"""Targets of exercises that compute in fp32, if they compute."""
NUMBERS, OPEN_QUESTIONS = 2, 2
"""How many of the exercise's own numeric questions, and of those with a model answer, are asked."""

KINDS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"in flight|on their way",
        r"occupancy|\bblocks\b.*\bfit\b|\bblock fits\b|resident on|launch_bounds",
        r"\bbanks?\b|\bwavefronts?\b",
        r"\bsectors?\b|\bcoalesc",
        r"bound by|limited by|what (bounds|limits)|intensity|\bridge\b|memory-bound",
        r"(\bbytes|\b[kmg]i?b)\b.*\b(moves?|moved|reads?|loads?|stores?|writes?|written)\b|gb/s",
    )
)
"""What the text of a question of each kind has. A question is of the first kind that fits it, or of none."""


@dataclass(frozen=True)
class FollowUp:
    """One question, Markdown. ``number`` or ``word`` can be checked; without them a person judges."""

    text: str
    model: str
    listens_for: str = ""
    number: NumericQuestion | None = None
    word: str = ""  # the right one of ``words``
    words: tuple[str, ...] = ()
    card: str = ""  # the text by which `grade quiz` finds it, of a question of the exercise
    topic: str = ""  # the topic of `grade quiz` that has such questions, of any other

    @property
    def kind(self) -> int | None:
        """The number of its kind, None for a question that is of no kind."""
        return next((at for at, words in enumerate(KINDS) if words.search(self.text)), None)

    def is_right(self, typed: str) -> bool | None:
        """Whether a typed answer is right; None if a person has to judge. What is not a number is not right."""
        if self.number is not None:
            return bool(self.number.is_right(typed))
        return typed.strip().casefold().startswith(self.word[:3]) if self.word else None


def follow_ups(
    entry: CourseExercise,
    attempts: Sequence[Attempt],
    questions: Sequence[Question],
    generators: Sequence[Generator],
    next_step: CourseExercise | None,
    seed: int,
) -> tuple[FollowUp, ...]:
    """The questions, in order. ``next_step`` is the next one of the exercise's ladder."""
    draw = Random(f"{seed} follow-ups")
    found = [*_own_kernel(attempts, architecture_of(entry.exercise)), *_bound(entry, draw)]
    numbers = [(generator.ask, generator.draw(f"{seed} {generator.ask}")) for generator in generators]
    found += _of_other_kinds(
        found, [FollowUp(one.text, _solved(one), number=one, card=ask) for ask, one in numbers], NUMBERS, draw
    )
    open_ones = [FollowUp(one.text, one.answer, one.listens_for, card=one.text) for one in questions]
    found += sorted(_of_other_kinds(found, open_ones, OPEN_QUESTIONS, draw), key=open_ones.index)
    return (*found, *_what_next(entry.name, next_step))


def _of_other_kinds(asked: Sequence[FollowUp], among: Sequence[FollowUp], count: int, draw: Random) -> list[FollowUp]:
    """So many of ``among``, drawn: of kinds that are not asked yet, as long as there are such."""
    kinds = {question.kind for question in asked} - {None}
    left, chosen = draw.sample(among, len(among)), list[FollowUp]()
    while left and len(chosen) < count:
        question = next((question for question in left if question.kind not in kinds), left[0])
        left.remove(question)
        chosen.append(question)
        kinds |= {question.kind} - {None}
    return chosen


def _solved(number: NumericQuestion) -> str:
    return f"{number.shown_answer}. {number.because}"


def architecture_of(exercise: Exercise) -> str:
    """The architecture that the question about one's own kernel is about: the simulated one, or the one it needs."""
    needs = exercise.requires
    return SIMULATED if simulable(needs) else "sm_{}{}".format(*capability(needs))


GPU_OF = {SIMULATED: "an A100", "sm_90": "an H200"}


def _own_kernel(attempts: Sequence[Attempt], arch: str) -> Iterator[FollowUp]:
    """How many blocks of the last attempt's kernel fit on an SM, with the registers that ptxas gave it."""
    last = next((one for one in reversed(attempts) if one.kernel), None)
    has = MULTIPROCESSORS.get(arch)
    if last is None or has is None or not last.registers:
        return
    fits = occupancy(arch, threads=last.threads, registers=last.registers, shared_bytes=last.shared_bytes)
    text = (
        f"Your `{last.kernel}` has {counted(last.threads, 'thread')} a block and "
        f"{in_number(grouped(last.shared_bytes), 'bytes')} of shared memory, and the assembler gives each thread "
        f"{counted(last.registers, 'register')}. How many of its blocks are resident on one SM of "
        f"{GPU_OF.get(arch, arch)} ({has.warps} warps, {has.blocks} blocks, {grouped(has.registers)} registers, "
        f"{has.shared_bytes >> 10} KiB of shared memory)?"
    )
    limits = ", ".join(f"{name} {count}" for name, count in fits.limits.items())
    because = (
        f"The smallest of what each resource allows: {limits}. Registers are given to a warp in units of 256, and each "
        "block takes 1 KiB of shared memory for the system."
    )
    number = NumericQuestion(text, fits.blocks, "blocks", because)
    yield FollowUp(text, _solved(number), "the limiting resource by name, before the number", number, topic="occupancy")


def _bound(entry: CourseExercise, draw: Random) -> Iterator[FollowUp]:
    """Whether memory or computing bounds the task on a GPU of the table, from its bytes and operations."""
    exercise = entry.exercise
    size = exercise.timed or exercise.simulated
    try:
        flops, moved = (float(evaluate(text, size)) for text in (exercise.work.flops, exercise.work.bytes))
    except (WarpgradeError, ValueError):
        return
    name = draw.choice(GPUS)
    gpu = published(name)
    if not (flops and moved and gpu and exercise.target and exercise.target.unit in FP32_UNITS):
        return
    intensity, ridge = flops / moved, gpu.fp32 * 1000 / gpu.bandwidth
    word = "memory" if intensity < ridge else "computing"
    at = ", ".join(f"{key} = {grouped(value)}" for key, value in size.items())
    yield FollowUp(
        f"At {at} this task needs {amount(flops, 'FLOP')} in fp32 and must move {amount(moved, 'B')}. The {name} has "
        f"{gpu.bandwidth:g} GB/s and {gpu.fp32:g} TFLOP/s. What bounds it at best: memory or computing?",
        f"{word.capitalize()}: its arithmetic intensity is {figure(intensity)} FLOP/B, and the ridge point of the GPU "
        f"is {gpu.fp32:g} TFLOP/s ÷ {gpu.bandwidth:g} GB/s = {figure(ridge)} FLOP/B.",
        "both intensities in numbers, and that a kernel may be bound by something else before it gets there",
        word=word, words=("memory", "computing"), topic="intensity",
    )  # fmt: skip


def _what_next(name: str, next_step: CourseExercise | None) -> Iterator[FollowUp]:
    if next_step is None:
        return
    here, there = (lines_on(REFERENCE).get(step) for step in (name, next_step.name))
    step = f"`{next_step.name}` ({next_step.exercise.idea})"
    if here and there and here.of == there.of and not there.separated:
        model = (
            f"Measure first how far it is from what the GPU can do. On an {REFERENCE} the course's solution of this "
            f"step reaches {figure(here.solution)} of the {here.of}, and that of the next, {step}, "
            f"{figure(there.solution)}: the clock does not tell them apart. If yours is as near, nothing more pays, "
            "and that is the answer. If not, find what it lacks, such as bytes in flight, before you change it."
        )
    else:
        counters = [f"`{expect.counter}` of this kernel" for expect in next_step.exercise.technique[:1]]
        [measured] = counters or ["its fraction of the peak"]
        model = (
            f"The course tries this next: {step}. Measure {measured} first, so that you can tell whether the change "
            "did what you expect."
        )
    yield FollowUp(
        "What would you try next to make this kernel faster, and what would you measure first?", model,
        "one change at a time; a counter that must change if the guess is right; how much there is to gain at most",
    )  # fmt: skip
