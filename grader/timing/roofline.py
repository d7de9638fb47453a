"""Peaks, ceilings and fractions: the only module that divides by time.

    work (bytes or operations) ÷ median time = achieved;  achieved ÷ peak, achieved ÷ ceiling = the two fractions shown

Peaks come from a table of published figures by model name, else from formulas over the figures of the driver.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from grader.exercise import Exercise, Size, Target
from grader.expressions import evaluate
from grader.frozen import dataclass
from grader.gpus.detect import Gpu
from grader.gpus.models import published
from grader.timing.samples import Summary
from grader.verdict import Measurement, Roof

TOO_FAST = 1.05
"""A rate above this many times the peak is impossible: work was skipped, or the grader is wrong."""


@dataclass(frozen=True)
class Peaks:
    """Upper limits of one GPU: bytes per second, and operations per second of each unit (None if not known).

    ``published`` says whether the figures are from the table of models. Datasheets have neither ``int8``, the peak of
    dp4a without tensor cores, nor ``shared``, that of shared memory: both are by formula on every GPU. ``int8_tensor``
    is the peak of tensor cores.
    """

    bandwidth: float
    fp32: float
    fp16_tensor: float | None
    published: bool
    int8: float | None = None
    int8_tensor: float | None = None
    shared: float | None = None


# Dense fp16 tensor flop per SM and clock with fp32 accumulation, by compute capability; 512 on GeForce.
_TENSOR = {
    (7, 0): 1024, (7, 5): 1024, (8, 0): 2048, (8, 6): 1024, (8, 9): 1024, (9, 0): 4096, (10, 0): 8192, (12, 0): 1024,
}  # fmt: skip
_HALF_RATE_ON_GEFORCE = {(8, 6), (8, 9), (12, 0)}
_NO_INTEGERS = {(7, 0)}  # all others multiply bytes at twice the full rate of halves
_HOPPER_TENSOR_CLOCK_HZ = 1830e6  # the clock of Hopper's published tensor peaks (SXM), below the reported boost clock
_FEW_LANES = {(7, 0), (7, 2), (7, 5), (8, 0)}  # 64 fp32 lanes per SM; 128 from 8.6 on

# Dp4a per SM and clock: the rate of 32-bit integer multiply-adds in the CUDA C++ programming guide's table of
# arithmetic throughput, which has no row for dp4a. At 7.0 this gives the 62 TOP/s published for a V100;
# measurements of others agree at 8.9 and 12.0 (clpeak's issue 209: 34.8 and 42 TOP/s, 24 SMs and 30).
_DP4A = {(7, 0): 64, (7, 2): 64, (7, 5): 64, (8, 0): 64, (8, 6): 64, (8, 7): 64, (8, 9): 64, (9, 0): 64, (12, 0): 64}
_OPERATIONS_OF_DP4A = 8  # four products, and four additions to the sum

_BYTES_OF_A_WAVEFRONT = 128  # a word of 4 bytes from each of 32 banks, per SM and clock, from 5.0 on


def peaks(gpu: Gpu) -> Peaks:
    """The published peaks of a GPU model, else those of the formulas."""
    row = published(gpu.name)
    if row is None:
        return formula_peaks(gpu)
    peak = Peaks(row.bandwidth * 1e9, row.fp32 * 1e12, row.fp16_tensor * 1e12, published=True)
    int8_tensor = None if row.int8_tensor is None else row.int8_tensor * 1e12
    return replace(peak, int8=_formula_int8(gpu), int8_tensor=int8_tensor, shared=_formula_shared(gpu))


def formula_peaks(gpu: Gpu) -> Peaks:
    """Peaks by arithmetic: 2 × memory clock × bus ÷ 8; 2 × SMs × lanes × clock; tensor flop per SM and clock."""
    lanes = 64 if gpu.compute_capability in _FEW_LANES else 128
    fp32 = 2 * gpu.sm_count * lanes * gpu.clock_hz
    bandwidth = 2 * gpu.memory_clock_hz * gpu.bus_width_bits / 8
    per_clock = _TENSOR.get(gpu.compute_capability, 0)
    of_bytes = 0 if gpu.compute_capability in _NO_INTEGERS else 2 * per_clock
    if gpu.compute_capability in _HALF_RATE_ON_GEFORCE and "GeForce" in gpu.name:
        per_clock //= 2
    hopper = gpu.compute_capability == (9, 0)
    clock_hz = min(gpu.clock_hz, _HOPPER_TENSOR_CLOCK_HZ) if hopper else gpu.clock_hz
    tensor, int8_tensor = (rate * gpu.sm_count * clock_hz or None for rate in (per_clock, of_bytes))
    return Peaks(
        bandwidth, fp32, tensor, published=False,
        int8=_formula_int8(gpu), int8_tensor=int8_tensor, shared=_formula_shared(gpu),
    )  # fmt: skip


def _formula_int8(gpu: Gpu) -> float | None:
    per_clock = _DP4A.get(gpu.compute_capability)
    return None if per_clock is None else _OPERATIONS_OF_DP4A * per_clock * gpu.sm_count * gpu.clock_hz


def _formula_shared(gpu: Gpu) -> float:
    return float(_BYTES_OF_A_WAVEFRONT * gpu.sm_count * gpu.clock_hz)


def peak_of(unit: str, limits: Peaks) -> float | None:
    """The peak of a unit, in `counts` per second; None if there is none (``transfer``, ``int32`` …)."""
    known = {
        "bandwidth": limits.bandwidth, "fp32": limits.fp32, "fp16_tensor": limits.fp16_tensor, "int8": limits.int8,
        "int8_tensor": limits.int8_tensor, "shared": limits.shared,
    }  # fmt: skip
    return known.get(unit)


def limit_of(unit: str, limits: Peaks) -> float | None:
    """The rate that no kernel can exceed: the unit's peak, or that of tensor cores if they can give correct results.

    Tensor cores multiply bytes, too; and sums of several products of halves or TF32 are as precise as floats.
    """
    tensor = {"int8": limits.int8_tensor, "fp32": limits.fp16_tensor}.get(unit)
    return peak_of(unit, limits) if tensor is None else tensor


OF_HOSTS = ("transfer", "overlap", "launches")
"""Units of host exercises: their rates are limited by the link and the host, not by the GPU's roofline."""


def is_rate_of_bytes(unit: str) -> bool:
    """Whether the unit counts bytes (``bandwidth``, ``shared``, ``transfer``, ``overlap``) rather than operations."""
    return unit in ("bandwidth", "shared", "transfer", "overlap")


_COUNTS = {"int8": "OP", "int8_tensor": "OP", "int32": "OP", "launches": "launch"}


def counts(unit: str) -> str:
    """The unit of rates: ``B``, ``FLOP``, ``OP`` for operations on integers, or ``launch``."""
    return "B" if is_rate_of_bytes(unit) else _COUNTS.get(unit, "FLOP")


def work_of(exercise: Exercise, size: Size) -> float:
    """The useful work at a size, in the unit of `counts`: bytes, operations or launches."""
    unit, work = exercise.target.unit if exercise.target else "bandwidth", exercise.work
    field = _FIELDS.get(unit, "bytes" if is_rate_of_bytes(unit) else "flops")
    return float(evaluate(getattr(work, field), size))


_FIELDS = {"launches": "launches", "shared": "shared_bytes"}
"""The fields of `Work` for units that count neither bytes of memory nor operations."""


def overlap_ceiling(work: float, copying_s: float, computing_s: float) -> float:
    """The rate of a run in which all computing overlaps with copying, or all copying with computing."""
    return rate(work, max(copying_s, computing_s))


def rate(work: float, seconds: float) -> float:
    """Work per second."""
    return work / seconds


def ceiling(work: float, samples_s: Sequence[float]) -> float | None:
    """The rate of the ceiling kernel on ``work``, from its median time; None if it was not run."""
    return rate(work, median(samples_s)) if samples_s else None


def line_s(work: float, target: Target, peak: float | None, ceiling_rate: float | None) -> float | None:
    """The time at the pass line, in seconds; None if its peak or ceiling is not known."""
    reference = peak if target.of == "peak" else ceiling_rate
    return None if not reference or not target.fraction else work / (target.fraction * reference)


def impossible(work: float, median_s: float, peak: float | None) -> bool:
    """Whether the time is shorter than 1.05 × the peak allows."""
    return peak is not None and work > TOO_FAST * peak * median_s


def line_in_words(target: Target) -> str:
    """The pass line in words: "0.70 of peak", "0.95 of the ceiling copy_f32x4", "3.00 times the plain loop"; "none" if
    there is none.
    """
    if not target.fraction:
        return "none"
    reference = "peak" if target.of == "peak" else f"the ceiling {target.ceiling}".rstrip()
    return _LINES.get(target.unit, "{} of {reference}").format(line_fraction(target.fraction), reference=reference)


_LINES = {"overlap": "{} of the ideal", "launches": "{} times the plain loop"}


def line_fraction(fraction: float) -> str:
    """A pass line's fraction with two decimals, or with more if it needs them."""
    short = f"{fraction:.2f}"
    return short if float(short) == fraction else f"{fraction:.4g}"


def measurement(
    summary: Summary, work: float, target: Target, gpu_name: str, peak: float | None, ceiling_rate: float | None
) -> Measurement:
    """The record of one timed run: rate and both fractions; ``provisional`` if the line is another GPU's."""
    achieved = rate(work, summary.median_s)
    return Measurement(
        median_s=summary.median_s,
        interval_s=summary.interval_s,
        samples=summary.samples,
        unit=counts(target.unit),
        achieved=achieved,
        peak=peak,
        fraction_of_peak=achieved / peak if peak else None,
        ceiling=ceiling_rate,
        fraction_of_ceiling=achieved / ceiling_rate if ceiling_rate else None,
        line=line_in_words(target),
        line_fraction=target.fraction,
        provisional=bool(target.fraction) and gpu_name != target.gpu,
    )


def roof(bytes_moved: float, flops: float, median_s: float, unit: str, limits: Peaks) -> Roof | None:
    """A run's point on the roofline; None for work without operations or bytes, or if no peak is known."""
    compute = limits.fp32 if is_rate_of_bytes(unit) else peak_of(unit, limits)
    if not (bytes_moved and flops and compute) or unit in OF_HOSTS:
        return None
    counted = "FLOP" if is_rate_of_bytes(unit) else counts(unit)
    return Roof(flops / bytes_moved, rate(flops, median_s), limits.bandwidth, compute, counted)
