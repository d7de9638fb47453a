"""`mma.sync` as inline PTX: registers in, registers out, so that layouts are the instruction's own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from forms import Form
from forms.values import DTYPES, absolute, values

TILES = 16
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "s8": 8, "u8": 8, "s32": 32}


@dataclass(frozen=True)
class Instruction:
    """One form: ``kinds`` are the PTX types of d, a, b, c."""

    shape: str
    kinds: tuple[str, str, str, str]
    clamps: bool = False

    @property
    def text(self) -> str:
        return f"mma.sync.aligned.{self.shape}.row.col{'.satfinite' if self.clamps else ''}.{'.'.join(self.kinds)}"

    @property
    def kernel(self) -> str:
        return re.sub(r"\W", "_", self.text)

    @cached_property
    def registers(self) -> dict[str, int]:
        """32-bit registers of a lane for each operand."""
        m, n, k = map(int, re.findall(r"\d+", self.shape))
        sizes = dict(zip("dabc", (m * n, m * k, k * n, m * n), strict=True))
        return {name: sizes[name] * BITS[self.kind(name)] // 1024 for name in "dabc"}

    def kind(self, name: str) -> str:
        return self.kinds["dabc".index(name)]

    def elements(self, name: str) -> int:
        return TILES * 32 * self.registers[name] * 32 // BITS[self.kind(name)]

    @property
    def source(self) -> str:
        """A kernel that loads a lane's registers of each operand, as words, and stores those of the result."""
        loads = "".join(
            f"  unsigned {name}{i} = {name}[({count} * blockIdx.x + {i}) * 32 + threadIdx.x];\n"
            for name, count in self.registers.items()
            for i in range(count)
        )
        stores = "".join(
            f"  d[({self.registers['d']} * blockIdx.x + {i}) * 32 + threadIdx.x] = d{i};\n"
            for i in range(self.registers["d"])
        )
        given = ", ".join(f'"r"({name}{i})' for name in "abc" for i in range(self.registers[name]))
        result = ", ".join(f'"+r"(d{i})' for i in range(self.registers["d"]))
        return (
            f'extern "C" __global__ void {self.kernel}(const unsigned* a, const unsigned* b, const unsigned* c, '
            f'unsigned* d) {{\n{loads}  asm volatile("{self.text} {self._operands()};" : {result} : {given});\n'
            f"{stores}}}\n"
        )

    def _operands(self) -> str:
        numbers = iter(range(100))
        return ", ".join(
            "{" + ", ".join(f"%{next(numbers)}" for _ in range(self.registers[name])) + "}" for name in "dabc"
        )


def instructions() -> list[Instruction]:
    """Every form of the simulator's table."""
    halves = [Instruction(s, (d, "f16", "f16", d)) for s, d in product(("m16n8k8", "m16n8k16"), ("f32", "f16"))]
    wide = [
        Instruction(shape, ("f32", kind, kind, "f32"))
        for shape, kind in (("m16n8k8", "bf16"), ("m16n8k16", "bf16"), ("m16n8k4", "tf32"), ("m16n8k8", "tf32"))
    ]
    bytes_ = product(("m8n8k16", "m16n8k16", "m16n8k32"), ("s8", "u8"), ("s8", "u8"), (False, True))
    return [*halves, *wide, *(Instruction(s, ("s32", a, b, "s32"), clamps) for s, a, b, clamps in bytes_)]


def kinds_of_values(one: Instruction) -> tuple[str, ...]:
    if one.kinds[0] == "s32":
        return ("bytes", "limits")
    return ("integers", "reals", "special", *(["floats"] if "tf32" in one.kinds else []))


def forms() -> Iterator[Form]:
    every = instructions()
    source = "".join(one.source for one in every)
    for one, of in [(each, of) for each in every for of in kinds_of_values(each)]:
        held = {name: values(one.kind(name), of, one.elements(name), seed) for seed, name in enumerate("abc", start=7)}
        result = {"d": np.zeros(one.elements("d"), DTYPES[one.kinds[0]])}
        sizes = {name: absolute(array, one.kind(name)) for name, array in held.items()} | result
        bounded = of in ("reals", "special", "floats")
        yield Form(
            f"{one.text}, {of}", source, one.kernel, held | result, grid=TILES, magnitudes=sizes if bounded else None
        )
