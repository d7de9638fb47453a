"""Other ways to write the solutions that set their own pass line, timed as submissions are, to choose from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gpu_checks import comparison, courses
from gpu_checks.timed import timed
from grader.backends.gpu import GpuBackend
from grader.errors import WarpgradeError

VARIANTS = Path(__file__).with_name("variants")
SHAPES = ((1, 8), (8, 1), (2, 4), (4, 2), (4, 4), (4, 8), (8, 4))
PRODUCT = "out[c] = expf(in[c] - largest) * scale;"


def defined(source: str, **values: int) -> str:
    """The source with other numbers behind its `#define`s."""
    for name, value in values.items():
        source, count = re.subn(rf"(?m)^#define {name} \d+", f"#define {name} {value}", source)
        if count != 1:
            raise AssertionError(f"no #define {name}")
    return source


def solution(name: str) -> str:
    found = courses()[name].solution
    assert found is not None
    return found.read_text()


def hgemm_variants() -> Iterator[tuple[str, str]]:
    yield "shipped", solution("hgemm_wmma_v1")
    rectangle = (VARIANTS / "hgemm_wmma_v1.cu").read_text()
    for rows, cols in SHAPES:
        for unroll in (1, 2, 4):
            changed = defined(rectangle, ROWS=rows, COLS=cols, UNROLL=unroll)
            yield f"a block of {rows} x {cols} warps, unrolled {unroll}", changed
    pairs = (VARIANTS / "hgemm_wmma_2x2.cu").read_text()
    for rows, cols in ((2, 2), (2, 4), (4, 2)):
        yield f"2 x 2 tiles a warp, a block of {rows} x {cols} warps", defined(pairs, ROWS=rows, COLS=cols)


def softmax_variants() -> Iterator[tuple[str, str]]:
    shipped = solution("softmax_v1")
    if PRODUCT not in shipped:
        raise AssertionError(f"the solution no longer says {PRODUCT}")
    quotient = shipped.replace(PRODUCT, PRODUCT.replace("* scale", "/ sum"))
    for block in (128, 256, 512, 1024):
        yield f"block {block}{', shipped' if block == 256 else ''}", defined(shipped, BLOCK=block)
        yield f"block {block}, a division for each element", defined(quotient, BLOCK=block)
        yield f"block {block}, __expf", defined(shipped, BLOCK=block).replace("expf(", "__expf(")


def compared(backend: GpuBackend, name: str, variants: Iterator[tuple[str, str]]) -> dict[str, str]:
    told = {}
    for what, source in variants:
        try:
            found = timed(backend, name, source)
            seconds = found.measured.median_s if found.measured else 0.0
            told[what] = f"{seconds * 1e3:8.4f} ms  {found.word}: {found.detail}"
        except WarpgradeError as error:
            told[what] = f"{type(error).__name__}: {error.message}"
        print(f"    {what:46} {told[what]}", flush=True)
    return told


@comparison
def hgemm_choices(backend: GpuBackend) -> Any:
    return compared(backend, "hgemm_wmma_v1", hgemm_variants())


@comparison
def softmax_choices(backend: GpuBackend) -> Any:
    return compared(backend, "softmax_v1", softmax_variants())
