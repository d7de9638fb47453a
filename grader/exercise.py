"""The format of an exercise: one folder with an ``exercise.py`` that holds one ``EXERCISE = Exercise(...)`` literal.

The comments beside the fields are the format's documentation. An ``exercise.py`` imports only ``grader``; it names
its oracle (``"reduction:sum"``: function ``sum`` in ``kernels_ref/reduction.py``) instead of importing it, so that
listing a course imports no NumPy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Size = Mapping[str, int]
"""Named sizes of one case, e.g. ``{"rows": 33, "cols": 1000}``; the launch lines may use these names."""


SECRET_SIZES = 2
"""How many sizes every run adds to an exercise's own, drawn from `Exercise.secret`."""


@dataclass(frozen=True)
class Values:
    """How an input array is filled, from a counter-based generator with a secret key.

    ``exact`` cases draw integers from ``[exact_low, exact_high]``: chosen so that every partial result is
    representable and any order of evaluation gives the same bits. ``real`` cases draw from a uniform distribution
    on ``[low, high)``.
    """

    exact_low: int = -8
    exact_high: int = 8
    low: float = -1.0
    high: float = 1.0


@dataclass(frozen=True)
class Array:
    """A buffer that the launch line may name: ``count`` elements of ``dtype``.

    ``count`` is an expression over the sizes (``"n"``, ``"rows*cols"``, ``"1"``), with ``cdiv``, ``min`` and ``max``.
    """

    name: str
    dtype: Literal["float16", "float32", "float64", "int8", "uint8", "int32", "uint32", "int64"]
    count: str
    role: Literal["in", "out"] = "in"
    values: Values = field(default_factory=Values)
    # what timed launches and libraries get, where ``values`` are hard ones: special values (zeros and subnormal results
    # of expf, for example) take other paths, and a time on them says nothing about ordinary data
    timed: Values | None = None

    @property
    def timed_values(self) -> Values:
        return self.timed or self.values


@dataclass(frozen=True)
class Work:
    """The least that the task must do, as expressions over the sizes: the rate is derived, never declared."""

    bytes: str = "0"  # each input read once, each output written once
    flops: str = "0"  # operations: of integers where the target's unit is int8
    launches: str = "0"  # kernels that run one after another, where the target's unit is launches


@dataclass(frozen=True)
class Target:
    """What ``fast`` asks for at the timed size.

    ``of`` is ``"peak"`` or ``"ceiling"`` (the measured ceiling of the same bytes, mix and bytes per thread);
    ``unit`` names the peak: ``bandwidth``, ``fp32``, ``fp16_tensor``, ``int8`` (dp4a, whose operations `Work` counts as
    ``flops``), ``transfer``; for host exercises also ``overlap`` (the longer of copying and computing, over the
    measured time) and ``launches`` (per second, of the ceiling: a plain loop of launches). Pass lines come from the
    profile of the GPU (`grader.timing.pass_lines`), which `grade calibrate` writes; ``fraction`` is the line on ``gpu``
    where no profile has one, and ``note`` then says where it comes from.
    ``reach`` is what the solution has to reach on an H200.
    """

    unit: Literal["bandwidth", "fp32", "fp16_tensor", "int8", "transfer", "overlap", "launches"]
    fraction: float = 0.0
    reach: float = 0.0
    of: Literal["peak", "ceiling"] = "peak"
    # a kernel of kernels_ref/ceilings/, e.g. "add_f32x1"; of a host exercise a link, or a kernel of kernels_ref/host/
    ceiling: str = ""  # "" where none is comparable
    gpu: str = "NVIDIA H200"
    note: str = ""  # "no line: …" where there is none on purpose

    @property
    def unlined(self) -> bool:
        """Whether it has no pass line on purpose, as its note says."""
        return self.note.startswith("no line")

    @property
    def calibrated(self) -> bool:
        """Whether a GPU's profile holds its line: not where there is none, nor where one line is for all machines.

        How often a plain loop launches is the host's doing, so several times that is no property of a GPU.
        """
        return self.unit != "launches" and not self.unlined


@dataclass(frozen=True)
class AlsoTimed:
    """A further size that `grade bench` times and nobody is graded on; ``reach`` as in `Target`."""

    size: Size
    reach: float = 0.0


@dataclass(frozen=True)
class Expect:
    """One technique expectation on the simulated size's counters; one-sided, so that a better answer passes.

    ``counter`` is a name of docs/counters.md (``sector_efficiency``, ``excess_wavefronts``, ``launches`` …), summed or
    averaged over all launches of the submission; ``per`` divides it by an expression over the sizes; ``why`` is the
    sentence shown when it is missed, ``hint`` the next step. Later steps of the same ladder inherit it.
    """

    counter: str
    at_least: float | None = None
    at_most: float | None = None
    per: str = ""
    why: str = ""
    hint: str = ""
    note: str = ""  # of a host exercise: a kind of note that says why it is missed, and what to do then


@dataclass(frozen=True)
class Tolerance:
    """``|got − expected| ≤ absolute + relative·|expected| + chain_eps·√chain·scale`` for real cases; exact ones: equal.

    ``chain`` is an expression over the sizes: the longest chain of roundings that the statement allows; its bound is
    ``eps(dtype)·√chain·scale`` with ``scale`` an expression too (a typical size of the partial results), times
    ``chain_factor``.
    """

    relative: float = 0.0
    absolute: float = 0.0
    chain: str = ""
    scale: str = "1"
    chain_factor: float = 4.0


@dataclass(frozen=True)
class Exercise:
    name: str  # what a person types; also the folder, the stub (NAME.cu) and the usual entry
    order: int  # place in the course: chapter × 100 + row, so 103 is the third exercise of chapter 1
    idea: str  # the one idea, in at most ten words: the first line that people see
    arrays: tuple[Array, ...]  # what the launch lines may name, inputs first
    oracle: str  # "module:function" of kernels_ref: float64 outputs from the inputs
    small: tuple[Size, ...]  # awkward sizes, run on both backends: 1, odd, prime, around 32, 128, 1024
    simulated: Size  # the size whose counters are judged
    # name -> (least, largest, step): two more small sizes are drawn from it in every run, so that no list can be learnt
    secret: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
    timed: Size | None = None  # the size that is timed on a GPU; None: nothing is timed
    scalars: Mapping[str, float] = field(default_factory=dict)  # float parameters by name, e.g. {"alpha": 2.5}
    work: Work = field(default_factory=Work)
    target: Target | None = None
    technique: tuple[Expect, ...] = ()
    tolerance: Tolerance = field(default_factory=Tolerance)
    exact: bool = True  # whether exact cases make sense (softmax has none)
    self_test_copies: bool = True  # whether "a copy of an input" must be rejected (see dev check)
    checker: str = (
        ""  # "module:function": the trusted check of a timed output on the device; default: the oracle's name
    )
    also_timed: tuple[AlsoTimed, ...] = ()
    baseline: str = ""  # "module:function" of kernels_ref/baselines: the library call timed beside it by `bench`
    rivals: tuple[str, ...] = ()  # further ones, "module:function" too; a library that is not installed is left out
    ladder: str = ""  # steps of one ladder share arrays and sizes; each is graded on the earlier steps' technique too
    requires: str = "sm_70"  # least compute capability
    host: bool = False  # NAME_host.py stands beside the .cu
    gpus: int = 1  # how many GPUs a host exercise needs at least; the size ``gpus`` tells how many there are
    points: tuple[int, int, int] = (60, 20, 20)  # correct, technique, fast
    only_timed: str = ""  # of what the step asks: what no counter shows, only the time, e.g. "two loads in flight"
    # what to do in this exercise, in sentences, where the general advice would lead astray; "" gives that
    blocks_race: str = ""  # where blocks of one launch race
    numpy_argument: str = ""  # where the host file passes a NumPy array to a kernel

    @property
    def inputs(self) -> tuple[Array, ...]:
        return tuple(a for a in self.arrays if a.role == "in")

    @property
    def outputs(self) -> tuple[Array, ...]:
        return tuple(a for a in self.arrays if a.role == "out")
