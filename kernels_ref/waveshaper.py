"""Oracles for tones that get harmonics: sums of Chebyshev polynomials, sample by sample."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

Inputs = Mapping[str, npt.NDArray[np.generic]]
Numbers = Mapping[str, float]
Outputs = dict[str, npt.NDArray[np.float64]]
Reals = npt.NDArray[np.float64]
Waves = npt.NDArray[np.complex128]
Places = npt.NDArray[np.int64]
Changes = tuple[Places, Reals]

HARMONICS = 896  # harmonics 1 to 895
OCTAVES = 10  # the last one, from 512 on, is not whole
DELAY = 4096  # samples from a sound to its echo

MOST_THREADS = 4
"""More are hardly faster, and take the cores from the simulator, which runs at the same time."""

_BATCH = 1 << 15
"""Samples that a thread works on at a time: complex temporaries of 512 KiB stay in a core's cache. With smaller ones
many threads wait for Python's lock between the operations.
"""


def harmonics(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``out`` = `shaped` of ``x``, sample by sample; both are (n,), and ``x`` lies in [-1, 1]."""
    return {"out": _in_batches(inputs["x"].astype(np.float64))}


class Echo:
    """``out[i]`` = `shaped` of ``x[i] + x[i - DELAY]``, limited to [-1, 1]; silence before ``x[0]``. Both are (n,)."""

    def __call__(self, inputs: Inputs, numbers: Numbers) -> Outputs:
        return {"out": _in_batches(_with_echo(inputs["x"], np.arange(len(inputs["x"]))))}

    def changed(self, inputs: Inputs, numbers: Numbers, places: Mapping[str, Places]) -> dict[str, Changes]:
        """New samples at ``places`` are heard there, and once more DELAY samples later."""
        heard = np.unique(np.concatenate([places["x"], places["x"] + DELAY]))
        heard = heard[heard < len(inputs["x"])]
        return {"out": (heard, _in_batches(_with_echo(inputs["x"], heard)))}


echo = Echo()


def _with_echo(sound: npt.NDArray[np.generic], places: Places) -> Reals:
    """The limited sum at some places."""
    late = np.where(places >= DELAY, sound[np.maximum(places - DELAY, 0)], 0)
    mixed: Reals = sound[places].astype(np.float64) + late
    return np.clip(mixed, -1.0, 1.0)


def shaped(x: Reals, scratch: Waves) -> Reals:
    """The sum over k = 1 … 895 of T_k(x) / 2^floor(log2 k), shape as ``x``; ``scratch`` is (5, len(x)) to work in.

    T_k(cos t) = cos(k·t) is the real part of z^k with z = e^(it), so each octave of equally strong harmonics is a
    geometric series: z^a + … + z^(b-1) = (z^b - z^a) / (z - 1).
    """
    z, power, total, term, last = scratch
    z.real = x
    np.sqrt(1.0 - x * x, out=z.imag)
    power[:] = z
    np.negative(z, out=total)
    last[:] = 1.0  # becomes z^896, as 896 = 512 + 256 + 128
    for octave in range(1, OCTAVES):
        power *= power  # z^2, z^4 … z^512: where one octave ends and the next, half as strong, begins
        total += np.multiply(power, 0.5**octave, out=term)
        if HARMONICS & 2**octave:
            last *= power
    total += np.multiply(last, 0.5 ** (OCTAVES - 1), out=term)
    at_one = OCTAVES - 1 + (HARMONICS - 512) / 512  # every T_k(1) is 1
    with np.errstate(invalid="ignore", divide="ignore"):
        total /= np.subtract(z, 1.0, out=term)
    result: Reals = np.where(x == 1.0, at_one, total.real)
    return result


def _in_batches(x: Reals) -> Reals:
    """`shaped` of every sample, on several threads: NumPy lets others run while it computes.

    Each thread keeps the memory that it works in: asking the system for it again and again, they wait for one another.
    """
    result = np.empty_like(x)
    threads = min(MOST_THREADS, os.cpu_count() or 1, -(-len(x) // _BATCH))

    def work(first: int) -> None:
        scratch = np.empty((5, _BATCH), np.complex128)
        for start in range(first * _BATCH, len(x), threads * _BATCH):
            part = x[start : start + _BATCH]
            result[start : start + _BATCH] = shaped(part, scratch[:, : len(part)])

    with ThreadPoolExecutor(max(threads, 1)) as pool:
        list(pool.map(work, range(threads)))
    return result
