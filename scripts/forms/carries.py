"""The carry flag, from every instruction that writes it to every one that reads it, and addresses that are computed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from forms import Array, Form
from forms.values import words

COUNT, BLOCK = 1024, 128
WRITES = ("add.cc", "sub.cc", "mad.lo.cc", "mad.hi.cc")
READS = ("addc", "subc", "madc.lo", "madc.hi")
TYPES = {"u32": ("unsigned", "r"), "u64": ("unsigned long long", "l")}
CHAINS = tuple(product(WRITES, READS, TYPES))
ADDRESSES = "computed addresses"


def _named(chain: tuple[str, str, str]) -> str:
    return "_then_".join(chain[:2]).replace(".", "_") + "_" + chain[2]


def _chain(chain: tuple[str, str, str]) -> str:
    """The flag of ``a`` and ``b`` goes through a second instruction, which writes it too, to a third."""
    first, second, kind = chain
    name, letter = TYPES[kind]
    more = [", %3" if text.startswith("mad") else "" for text in (first, second)]
    return (
        f'extern "C" __global__ void {_named(chain)}(const {name}* a, const {name}* b, {name}* d) {{\n'
        f"  int i = blockIdx.x * {BLOCK} + threadIdx.x;\n"
        f"  {name} x, y, z;\n"
        f'  asm volatile("{first}.{kind} %0, %3, %4{more[0]};\\n"\n'
        f'               "{second}.cc.{kind} %1, %4, %3{more[1]};\\n"\n'
        f'               "addc.{kind} %2, 0, 0;"\n'
        f'               : "=&{letter}"(x), "=&{letter}"(y), "=&{letter}"(z) : "{letter}"(a[i]), "{letter}"(b[i]));\n'
        f"  d[3 * i] = x; d[3 * i + 1] = y; d[3 * i + 2] = z;\n}}\n"
    )


PLACES = f"""extern "C" __global__ void addresses(const unsigned* a, unsigned* d) {{
  int i = blockIdx.x * {BLOCK} + threadIdx.x;
  __shared__ unsigned rows[{BLOCK}];
  rows[threadIdx.x] = a[i];
  __syncwarp();
  unsigned low = (unsigned)__cvta_generic_to_shared(rows + threadIdx.x) - 128, x, y, z;
  asm volatile("{{ .local .align 4 .b8 own[16]; st.u32 [own+4], %4; ld .u32 %0, [own + (1 << 3) - 2*2];\\n"
               "ld.u32.shared %1, [%3 + 0x40 * 2 + -0]; ld.global.u32 %2, [%5+-4]; }}"
               : "=&r"(x), "=&r"(y), "=&r"(z) : "r"(low), "r"(a[i] + 1), "l"(a + i + 1));
  d[3 * i] = x; d[3 * i + 1] = y; d[3 * i + 2] = z;
}}
"""


def _operands(kind: str, seed: int) -> Array:
    """Any bits, and small or equal ones, which carry otherwise."""
    values = words(2 * COUNT, seed) if kind == "u64" else words(COUNT, seed)
    numbers = values.view(np.uint64) if kind == "u64" else values
    numbers[::4] = seed - 30 + np.arange(COUNT // 4, dtype=numbers.dtype) % 3
    numbers[1::8] = np.iinfo(numbers.dtype).max
    return numbers


def forms() -> Iterator[Form]:
    source = "".join([*map(_chain, CHAINS), PLACES])
    for chain in CHAINS:
        a, b = _operands(chain[2], 30), _operands(chain[2], 31)
        arrays = {"a": a, "b": b, "d": np.zeros(3 * COUNT, a.dtype)}
        name = f"{chain[0]}.{chain[2]}, then {chain[1]}"
        yield Form(name, source, _named(chain), arrays, grid=COUNT // BLOCK, block=BLOCK)
    arrays = {"a": words(COUNT + 1, 32), "d": np.zeros(3 * COUNT, np.uint32)}
    yield Form(ADDRESSES, source, "addresses", arrays, grid=COUNT // BLOCK, block=BLOCK)
