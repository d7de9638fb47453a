"""The trusted kernels of `kernels_ref/device` for vector addition, in NumPy, for the fake device."""

from __future__ import annotations

import numpy as np

from grader.inputs import random_words


def _values(kind: str, count, seed, stream, sample, first, second) -> np.ndarray:
    words = random_words(int(count), int(seed), int(stream), int(sample)).astype(np.uint64)
    if kind == "exact":
        return ((words * np.uint64(second)) >> np.uint64(32)).astype(np.int64) + int(first)
    return float(first) + (float(second) - float(first)) * ((words >> np.uint64(8)).astype(np.float64) * 2.0**-24)


def _generate(kind: str, dtype: str):
    def kernel(device, grid, block, out, count, *stream) -> None:
        device.array(out, dtype, count)[:] = _values(kind, count, *stream).astype(dtype)

    return kernel


def _unchanged(kind: str, dtype: str):
    def kernel(device, grid, block, given, count, *rest) -> None:
        *stream, changed = rest
        expected = _values(kind, count, *stream).astype(dtype)
        same = device.array(given, dtype, count).view("uint32") == expected.view("uint32")
        device.array(changed, "uint64", 1)[0] += np.uint64(np.count_nonzero(~same))

    return kernel


def check_add(device, grid, block, a, b, c, n, relative, absolute, findings) -> None:
    x, y, z = (device.array(address, "float32", n).astype(np.float64) for address in (a, b, c))
    bad = np.flatnonzero(~(np.abs(z - (x + y)) <= absolute + relative * np.abs(x + y)))
    words = device.array(findings, "uint64", 3)
    if len(bad):
        words[0] += np.uint64(len(bad))
        words[1] = min(words[1], np.uint64(bad[0]))


def explain_add(device, grid, block, a, b, findings, explanation) -> None:
    first = int(device.array(findings, "uint64", 3)[1])
    expected = sum(float(device.array(address, "float32", first + 1)[first]) for address in (a, b))
    device.array(explanation, "float64", 2)[:] = (first, expected)


GENERATE = {
    f"{what}_{kind}_f32": make(kind, "float32")
    for what, make in (("generate", _generate), ("unchanged", _unchanged))
    for kind in ("exact", "real")
}
CHECK = {"check_add": check_add, "explain_add": explain_add}
