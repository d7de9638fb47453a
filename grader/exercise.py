"""The format of an exercise: one folder with an ``exercise.py`` that has one literal ``EXERCISE = Exercise(...)``.

The comments on the fields are the format's documentation. An ``exercise.py`` imports only ``grader``; it names its
oracle (``"reduction:sum"``: function ``sum`` in ``kernels_ref/reduction.py``) instead of importing it, so that listing
a course does not import NumPy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from grader.frozen import dataclass

Size = Mapping[str, int]
"""Named sizes of one case, e.g. ``{"rows": 33, "cols": 1000}``; the launch lines may use these names."""


SECRET_SIZES = 2
"""Number of sizes that every run adds to those of an exercise, drawn from `Exercise.secret`."""


@dataclass(frozen=True)
class Values:
    """How an input array is filled, from a counter-based generator with a secret key.

    ``exact`` cases draw integers from ``[exact_low, exact_high]``: choose them so that every partial result is exactly
    representable, and any order of evaluation gives the same bits. ``real`` cases draw from a uniform distribution on
    ``[low, high)``, or from one near the normal distribution. Arrays of integers are drawn from ``[exact_low,
    exact_high]`` in all cases.
    """

    # numbers, or expressions over the sizes: ``exact_high="pages-1"``
    exact_low: int | str = -8
    exact_high: int | str = 8
    low: float = -1.0
    high: float = 1.0  # ``low`` itself: all values are equal
    # "normal": the sum of four uniform numbers, with the mean (low + high) / 2, the standard deviation 0.1448 · (high -
    # low) and no value outside [low, high): Values(low=-4, high=4, shape="normal") has the deviation 1.16.
    shape: Literal["uniform", "normal"] = "uniform"
    # a number that one element in 64, at random places, has instead; of real cases
    outlier: float | None = None
    # of an int32 array: each number from 0 to its count - 1 once, in random order, in all cases
    permutation: bool = False
    # values that rise with the index. Real ones lie on a line from low to high, without skew, width and outlier. Of an
    # int32 array, in all cases, element i is drawn from the numbers between its place on a curve from exact_low to
    # exact_high and the next one's, widened by ``width`` on both sides but not beyond the bounds. Width 0: in ascending
    # order, the first and the last are the bounds, as the offsets of rows are. The curve is a line with ``skew`` square
    # roots: 0 gives rows of like length, 1 and 2 a heavy tail, 5 and more a first row that holds most. Expressions over
    # the sizes: ``skew="skew"``
    rising: bool = False
    skew: int | str = 0
    width: int | str = 0


@dataclass(frozen=True)
class Array:
    """A buffer that the launch line may name: ``count`` elements of ``dtype``.

    ``count`` is an expression over the sizes (``"n"``, ``"rows*cols"``, ``"1"``), with ``cdiv``, ``min`` and ``max``.
    """

    name: str
    dtype: Literal["float16", "float32", "float64", "int8", "uint8", "int32", "uint32", "int64"]
    count: str
    role: Literal["in", "out"] = "in"
    # the axes of an output with their lengths, the slowest first, by which a wrong element is named: ``{"head":
    # "heads", "query": "n_q", "column": "d"}``. A count that is a product of two sizes has rows and columns without it
    axes: Mapping[str, str] = field(default_factory=dict, hash=False)
    values: Values = field(default_factory=Values)
    # the values for timed launches and libraries, if ``values`` are special ones (those with zeros and subnormal
    # results of expf, for example), which take other paths, so that their time does not represent ordinary data
    timed: Values | None = None
    # real values of another range, for large sizes as well: there ``values`` may always have the same extremes, or the
    # same sums, so that a kernel passes that is right for those alone. For exercises without exact cases. Several, at
    # most four, are a tuple: the first runs at the simulated size and a secret size near it, each further one at the
    # largest small size and at the secret one. All are verified at the timed size. In the case of an array's second
    # ones the others have their second ones, too, or their ``values`` if they have fewer
    unusual: Values | tuple[Values, ...] | None = None
    # of an array of integers: its first elements in every case where it has more than these, so that what chance would
    # rarely draw occurs in every run: a negative label in the first row, a sequence of one token beside long ones.
    # Numbers, or expressions over the sizes. Timed launches have drawn ones
    first: tuple[int | str, ...] = ()
    # whether some cases pass a slice, which begins inside an allocation and is aligned to its elements only; else the
    # array begins at a multiple of 256 bytes, as memory from cudaMalloc does. The statement has to say it
    slices: bool = False
    # whether a case has -infinity in half of the elements, as masks put it there. The case has the largest small size:
    # make its rows long enough that none is -infinity by chance (32 elements: one row in 2^32). The statement has to
    # say it
    masked: bool = False
    # an expression, the length of a row: in the masked case every fourth row, from one of the first four, is -infinity
    # as a whole. The statement has to say what such a row gives
    masked_rows: str = ""
    # whether a case has NaN (of both signs), and +infinity, in one of 2048 elements each, and a further one has both
    # infinities and no NaN; zeros of both signs are in both. In every run three of the first four rows of
    # ``masked_rows``, or of the first four eighths of the array, have one: a NaN of either sign, and +infinity. The
    # statement has to say what they give
    special: bool = False
    # an expression: how many of its elements the task moves, if not all of them: those of a pool of which a table names
    # a part. `Work.bytes` counts these
    moved: str = ""

    @property
    def timed_values(self) -> Values:
        return self.timed or self.values

    @property
    def further(self) -> tuple[Values, ...]:
        """``unusual`` as a tuple."""
        return (self.unusual,) if isinstance(self.unusual, Values) else self.unusual or ()


@dataclass(frozen=True)
class Work:
    """The minimal work of the task, as expressions over the sizes; rates are computed from it."""

    bytes: str = "0"  # each input read once, each output written once
    flops: str = "0"  # operations; on integers if the target's unit is int8, int8_tensor or int32
    launches: str = "0"  # kernels that run one after another, if the target's unit is launches
    shared_bytes: str = "0"  # stored to and loaded from shared memory, if the target's unit is shared


@dataclass(frozen=True)
class Target:
    """The requirement of the stage ``fast`` at the timed size.

    ``of`` is ``"peak"`` or ``"ceiling"`` (the measured ceiling of the same bytes, mix and bytes per thread);
    ``unit`` names the peak: ``bandwidth``, ``fp32``, ``fp16_tensor``, ``int8`` (dp4a) and ``int8_tensor``, whose
    operations `Work` counts as ``flops``, ``shared`` (its ``shared_bytes``), ``transfer``; ``int32`` (operations on
    integers) has a ceiling only. For host exercises also ``overlap`` (the longer of copying and computing ÷ the
    measured time) and ``launches`` (per second; the ceiling is a plain loop of launches). Pass lines come from the
    profile of the GPU (`grader.timing.pass_lines`), which `grade calibrate` writes; ``fraction`` is the line on ``gpu``
    if no profile has one, and ``note`` then says where it comes from. ``reach`` is the fraction that the solution must
    reach on an H200.
    """

    unit: Literal[
        "bandwidth", "fp32", "fp16_tensor", "int8", "int8_tensor", "int32", "shared",
        "transfer", "overlap", "launches",
    ]  # fmt: skip
    fraction: float = 0.0
    reach: float = 0.0
    of: Literal["peak", "ceiling"] = "peak"
    # a kernel of kernels_ref/ceilings/, e.g. "add_f32x1"; for a host exercise a link, or a kernel of kernels_ref/host/
    ceiling: str = ""  # "" if no ceiling is comparable
    gpu: str = "NVIDIA H200"
    note: str = ""  # "no line: …" if there is none on purpose
    # whether the arrays are in the L2 when the launches start, for a task that repeats its work on the chip inside one
    # launch. All arrays of the timed size together fill at most half of the L2; the statement names the size
    warm: bool = False

    @property
    def unlined(self) -> bool:
        """Whether there is no pass line on purpose, as ``note`` says."""
        return self.note.startswith("no line")

    @property
    def calibrated(self) -> bool:
        """Whether the line depends on the GPU and is in its profile: not without a line, or with one for all machines.

        The rate of a plain loop of launches depends on the host, so a multiple of it is not a property of the GPU.
        """
        return self.unit != "launches" and not self.unlined


@dataclass(frozen=True)
class AlsoTimed:
    """A further size that `grade bench` times, but that is not graded; ``reach`` as in `Target`."""

    size: Size
    reach: float = 0.0


@dataclass(frozen=True)
class Large:
    """A size with more than 2^31 elements in an array, for a statement that promises it.

    ``period`` has the number of rows that inputs and outputs repeat, an odd one: the case needs little memory. Of an
    array without rows it is an odd multiple of eight, so that no pack crosses its end. Of the launch three blocks run,
    on the simulator, the last one among them.
    """

    size: Size
    period: Size


@dataclass(frozen=True)
class Expect:
    """One technique expectation on the counters at the simulated size; one-sided, so that a better answer passes.

    The sizes ``Exercise.counted`` must meet it, too, and a secret size near the simulated one must confirm it
    (`grader.grading.technique.evaluate_elsewhere`).
    ``counter`` is a name of docs/counters.md (``sector_efficiency``, ``excess_wavefronts``, ``launches`` …), summed or
    averaged over all launches of the submission; one that ends in ``_in_code`` needs no run, and is graded also where
    the simulator cannot run the exercise; ``per`` divides it by an expression over the sizes; ``why`` is the
    message if it is missed, ``hint`` the next step. Later steps of the same ladder inherit it.
    """

    counter: str
    at_least: float | None = None
    at_most: float | None = None
    per: str = ""
    why: str = ""
    hint: str = ""
    note: str = ""  # of a host exercise: the kind of a finding that explains why it is missed, with its own hint


@dataclass(frozen=True)
class BugLine:
    """A comment that is graded: `// bug: LINE`, the line of the stub, as handed out, where its bug is.

    ``lines`` are the lines that count, each by a text that no other line of the stub has; a pair is all lines from its
    first text to its second. The stub has the line `// bug: ?`, and the solution a right answer.
    """

    lines: tuple[str | tuple[str, str], ...]


@dataclass(frozen=True)
class Bound:
    """A comment that is graded: `// bound: WORD`, what limits the given kernel at the simulated size.

    The right word is the one whose modelled time is longest, of the counters of that run
    (`grader.grading.answers.LIMITS`). The kernel must be the stub's.
    """


@dataclass(frozen=True)
class Forecast:
    """A comment that is graded: `// predict: NUMBER`, a counter at the simulated size after a change of the kernel.

    The change is in the stub, `#ifdef CHANGED`: it is counted in a run of the stub with this word defined. Without a
    tolerance a whole count must be met, and any other to the digits that are typed: 128 and 129 may be two answers.
    """

    counter: str
    per: str = ""  # divides the counter by this expression over the sizes
    tolerance: float = 0.0  # as a part of the count


Answer = BugLine | Bound | Forecast


@dataclass(frozen=True)
class Tolerance:
    """For real cases ``|got − expected| ≤ absolute + relative·|expected| + chain_factor·eps(dtype)·√chain·scale``.

    ``chain`` is an expression over the sizes: the longest chain of roundings that the statement allows; ``scale`` is an
    expression, too: a typical magnitude of the partial results. Exact cases must be equal.
    """

    relative: float = 0.0
    absolute: float = 0.0
    chain: str = ""
    scale: str = "1"
    chain_factor: float = 4.0


@dataclass(frozen=True)
class Variant:
    """Another form of an exercise, so that a file copied from somebody with another form is wrong.

    The exercise as it is is the variant ``plain``. ``variants/NAME.diff`` edits its texts: stub, statement, solution.
    A field that is not given is the exercise's; ``arrays`` replace those of the same names, or all if the names differ.
    Bytes and sizes stay: the pass line is the exercise's.
    """

    name: str  # in commands, and on the line `// variant: NAME` of its stub
    task: str  # a sentence with the difference: "out[i] = alpha * x[n - 1 - i] + y[i]: x is read from its end"
    arrays: tuple[Array, ...] = ()
    scalars: Mapping[str, float] | None = None
    oracle: str = ""
    checker: str = ""
    baseline: str = ""
    technique: tuple[Expect, ...] | None = None
    tolerance: Tolerance | None = None


PLAIN = "plain"
"""The name of the exercise without a variant, among those that a student may get."""


@dataclass(frozen=True)
class Exercise:
    name: str  # the name in commands; also of the folder, the stub (NAME.cu) and usually the kernel
    order: int  # place in the course: chapter × 100 + row, so 103 is the third exercise of chapter 1
    idea: str  # the idea in at most 15 words, for `grade list`
    arrays: tuple[Array, ...]  # the arrays that launch lines may name, inputs first
    oracle: str  # "module:function" of kernels_ref: float64 outputs from the inputs
    small: tuple[Size, ...]  # awkward sizes, run on both backends: 1, odd, prime, around 32, 128, 1024
    simulated: Size  # the size whose counters are graded
    # name -> (least, largest, step): every run draws two more small sizes from it, so that nobody can list them. A
    # flag goes from 0 to 1, and only sizes whose range begins with 0 may be 0
    secret: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
    # sizes of `small` whose counters are graded, too: those that take another way through the kernel (a row that is
    # longer than the registers, a length that is no multiple of 4), each with at least a few thousand elements
    counted: tuple[Size, ...] = ()
    large: Large | None = None  # None: no array has 2^31 elements
    timed: Size | None = None  # the size that is timed on a GPU; None: not timed
    scalars: Mapping[str, float] = field(default_factory=dict)  # float parameters by name, e.g. {"alpha": 2.5}
    work: Work = field(default_factory=Work)
    target: Target | None = None
    technique: tuple[Expect, ...] = ()
    tolerance: Tolerance = field(default_factory=Tolerance)
    exact: bool = True  # whether exact cases make sense (softmax has none)
    self_test_copies: bool = True  # whether the comparison must reject a copy of an input (`grade dev check`)
    checker: str = (
        ""  # "module:function": the trusted check of a timed output on the device; default: the oracle's name
    )
    also_timed: tuple[AlsoTimed, ...] = ()
    baseline: str = ""  # "module:function" of kernels_ref/baselines: the library call that `grade bench` times, too
    rivals: tuple[str, ...] = ()  # further libraries, "module:function"; those that are not installed are skipped
    compared: tuple[str, ...] = ()  # further answers that it times: "stub", or wrong answers, "wrong/NAME.diff"
    ladder: str = ""  # steps of one ladder share arrays and sizes; each is graded on the earlier steps' technique, too
    page: str = ""  # a page about several exercises of its chapter that are no ladder, "softmax" for softmax.md
    requires: str = "sm_70"  # the minimum compute capability
    host: bool = False  # a host exercise: NAME_host.py belongs to the .cu
    answers: tuple[Answer, ...] = ()  # comments of the file that are graded with the technique
    headers: tuple[str, ...] = ()  # given code: files NAME.cuh of its folder, or its chapter's, that a .cu may include
    gpus: int = 1  # the minimum number of GPUs of a host exercise; the size ``gpus`` is the actual number
    points: tuple[int, int, int] = (60, 20, 20)  # correct, technique, fast
    only_timed: str = ""  # a requirement that only the time shows, and no counter, e.g. "two loads in flight"
    # hints for this exercise that replace a general hint; "" keeps the general one
    blocks_race: str = ""  # if blocks of one launch race
    numpy_argument: str = ""  # if the host file passes a NumPy array to a kernel
    minutes: int | None = None  # the time for a person who has done the exercises of ``after``; None: not known
    # names of the exercises whose idea this one needs, only those: earlier ones, or ones that need the same newer GPU
    after: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()  # the paths that it belongs to (`grade list --path NAME`); course.toml describes them
    variants: tuple[Variant, ...] = ()  # further forms, one of which each student of a class gets
    variant: str = ""  # which of them this is: set when a file is graded as one, never in an exercise.py

    @property
    def inputs(self) -> tuple[Array, ...]:
        return tuple(a for a in self.arrays if a.role == "in")

    @property
    def outputs(self) -> tuple[Array, ...]:
        return tuple(a for a in self.arrays if a.role == "out")
