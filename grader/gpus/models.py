"""GPU architectures by name, ``sm_80`` or ``sm_90a``, and a table of known GPU models.

PTX for ``sm_80`` runs on every GPU from compute capability 8.0 on. A letter limits that: PTX for ``sm_90a`` runs on 9.0
only, for ``sm_100f`` on the family 10.x only (PTX ISA manual, ``.target``). Facts that depend only on the architecture
(the resources of a multiprocessor) are in `grader.simt.occupancy`. The simulated GPU is a row like the others.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from grader.frozen import dataclass
from grader.simt.occupancy import MULTIPROCESSORS, SM_COUNT
from grader.simt.occupancy import SIMULATED as ARCHITECTURE

Capability = tuple[int, int]


def capability(architecture: str) -> Capability:
    """``sm_80`` as ``(8, 0)``; a suffix as in ``sm_90a`` is ignored."""
    digits = architecture.removeprefix("sm_").rstrip("abcdef")
    return int(digits[:-1]), int(digits[-1])


def simulable(requires: str) -> bool:
    """Whether the simulator runs programs for ``requires``: it is not newer than the simulated device."""
    return capability(requires) <= capability(ARCHITECTURE)


def serves(device: Capability, architecture: str) -> bool:
    """Whether a device of this capability runs programs that are compiled for ``architecture``."""
    required = capability(architecture)
    if architecture.endswith("a"):
        return device == required
    return device >= required and (not architecture.endswith("f") or device[0] == required[0])


def in_words(architecture: str) -> str:
    """E.g. "a GPU of compute capability 9.0 (no older one, and no newer one)"."""
    which = {"a": " (no older one, and no newer one)", "f": " or newer of its family"}
    words = "a GPU of compute capability {}.{}".format(*capability(architecture))
    return words + which.get(architecture[-1], " or newer")


# -------------------------------------------------------------------------------------------------------------- models


class Published(NamedTuple):
    """Peaks of a model: GB/s, fp32 TFLOP/s, dense tensor TFLOP/s of fp16 with fp32 accumulation, dense int8 TOP/s."""

    names: str  # a regular expression for the names that drivers report
    bandwidth: float
    fp32: float
    fp16_tensor: float
    int8_tensor: float | None  # None: its tensor cores multiply no integers


# The vendor's datasheets; the H200's bandwidth by the formula (published 4800), its boost clock for fp32.
MODELS = (
    Published(r"(Tesla|NVIDIA) V100-.*", 898, 15.7, 125, None),
    Published(r"(Tesla|NVIDIA) T4", 320, 8.1, 65, 130),
    Published(r"(NVIDIA )?A100-(SXM4|PCIE|PCI)-40GB", 1555, 19.5, 312, 624),
    Published(r"NVIDIA A100(-SXM4-80GB| 80GB PCIe|-SXM-80GB)", 2039, 19.5, 312, 624),
    Published(r"NVIDIA A10", 600, 31.2, 125, 250),
    Published(r"NVIDIA GeForce RTX 3090", 936, 35.6, 71, 284),
    Published(r"NVIDIA GeForce RTX 4090", 1008, 82.6, 165, 660.6),
    Published(r"NVIDIA L4", 300, 30.3, 121, 242),
    Published(r"NVIDIA L40S", 864, 91.6, 362, 733),
    Published(r"NVIDIA H100 80GB HBM3", 3352, 66.9, 989.4, 1979),
    Published(r"NVIDIA H100 PCIe", 2039, 51.2, 756, 1513),
    Published(r"NVIDIA H200", 4814, 66.9, 989.4, 1979),
    Published(r"NVIDIA B200", 8000, 74.4, 2250, 4500),
    Published(r"NVIDIA GeForce RTX 5090", 1792, 104.8, 209.5, 838),
)


def published(name: str) -> Published | None:
    """The row of the GPU with the driver's name ``name``; None if there is none."""
    return next((row for row in MODELS if re.fullmatch(row.names, name)), None)


@dataclass(frozen=True)
class Simulated:
    """The GPU that the simulator simulates, and whose time the stand-in for CuPy models."""

    name: str
    sm_count: int
    clock_khz: int
    memory_clock_khz: int
    bus_width_bits: int
    l2_bytes: int
    l2_bytes_per_clock: int
    persisting_l2_bytes: int
    architecture: str = ARCHITECTURE

    @property
    def capability(self) -> tuple[int, int]:
        return capability(self.architecture)

    @property
    def shared_bytes_per_block(self) -> int:
        return MULTIPROCESSORS[self.architecture].shared_bytes_per_block


# NVIDIA A100 Tensor Core GPU Architecture (whitepaper), tables 4 and 5, and "A100 L2 cache": 5120 bytes per clock.
SIMULATED = Simulated("NVIDIA A100-PCIE-40GB", SM_COUNT, 1410_000, 1215_000, 5120, 40 << 20, 5120, 30 << 20)
