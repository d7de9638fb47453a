"""The GPUs of this machine as the driver describes them: names, counts, clocks and sizes; nothing is measured.

`detect` calls the CUDA driver through cuda-bindings. It creates no context and does not import CuPy, so that it is fast
in the parent process; ``CUDA_VISIBLE_DEVICES`` is respected, because kernels run on the same driver.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.errors import Unsupported
from grader.frozen import dataclass
from grader.gpus.models import serves
from grader.text import counted

if TYPE_CHECKING:
    from grader.launch import DeviceLimits

_ATTRIBUTES = {
    "major": "COMPUTE_CAPABILITY_MAJOR",
    "minor": "COMPUTE_CAPABILITY_MINOR",
    "sm_count": "MULTIPROCESSOR_COUNT",
    "clock_khz": "CLOCK_RATE",
    "memory_clock_khz": "MEMORY_CLOCK_RATE",
    "bus_width_bits": "GLOBAL_MEMORY_BUS_WIDTH",
    "l2_bytes": "L2_CACHE_SIZE",
    "warp_size": "WARP_SIZE",
    "max_threads_per_block": "MAX_THREADS_PER_BLOCK",
    "max_shared_bytes": "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN",
    "block_x": "MAX_BLOCK_DIM_X",
    "block_y": "MAX_BLOCK_DIM_Y",
    "block_z": "MAX_BLOCK_DIM_Z",
    "grid_x": "MAX_GRID_DIM_X",
    "grid_y": "MAX_GRID_DIM_Y",
    "grid_z": "MAX_GRID_DIM_Z",
}
"""Our names of a device's attributes, and the driver's without ``CU_DEVICE_ATTRIBUTE_``."""


@dataclass(frozen=True)
class Gpu:
    """One GPU as its driver describes it. ``driver`` is the driver's version, "" if it is not known."""

    index: int
    name: str  # "NVIDIA H200"
    compute_capability: tuple[int, int]  # (9, 0)
    sm_count: int
    clock_hz: float  # boost clock of the SMs
    memory_clock_hz: float
    bus_width_bits: int
    l2_bytes: int
    memory_bytes: int
    limits: DeviceLimits
    cuda_driver: str = ""  # the newest CUDA version that the driver supports, "13.0"
    driver: str = ""  # "580.95.05"

    @property
    def arch(self) -> str:
        """The real architecture that ptxas assembles for, e.g. ``sm_90``."""
        major, minor = self.compute_capability
        return f"sm_{major}{minor}"

    def arch_for(self, target: str) -> str:
        """The architecture for assembling PTX of ``target``: ``sm_90a`` for PTX that only this generation runs."""
        suffix = target[-1] if target[-1].isalpha() and serves(self.compute_capability, target) else ""
        return self.arch + suffix

    def why_not(self, requires: str) -> str:
        """Why this GPU cannot run programs for the architecture ``requires``; "" if it can."""
        if serves(self.compute_capability, requires):
            return ""
        return "{} has compute capability {}.{}".format(self.name, *self.compute_capability)


def count() -> int:
    """The number of GPUs that the driver reports; 0 without a driver, a GPU, or cuda-bindings."""
    try:
        return int(_call("cuDeviceGetCount"))
    except Unsupported:
        return 0


def detect(index: int = 0) -> Gpu:
    """GPU number ``index``. Raises Unsupported if it, the driver or cuda-bindings is missing."""
    available = int(_call("cuDeviceGetCount"))
    if not 0 <= index < available:
        existing = counted(available, "GPU") if available else "no GPU"
        raise Unsupported(f"there is no GPU number {index}: the driver reports {existing}", hint=_NO_GPU_HINT)
    device = _call("cuDeviceGet", index)
    keys = _driver().CUdevice_attribute
    values = {
        name: int(_call("cuDeviceGetAttribute", getattr(keys, f"CU_DEVICE_ATTRIBUTE_{suffix}"), device))
        for name, suffix in _ATTRIBUTES.items()
    }
    name = bytes(_call("cuDeviceGetName", 256, device)).split(b"\0")[0].decode()
    memory = int(_call("cuDeviceTotalMem", device))
    return from_attributes(index, name, memory, values, cuda=int(_call("cuDriverGetVersion")))


def from_attributes(index: int, name: str, memory_bytes: int, values: dict[str, int], *, cuda: int) -> Gpu:
    """A `Gpu` from the driver's numbers: clocks in kHz, ``cuda`` as 1000·major + 10·minor."""
    from grader.launch import DeviceLimits

    limits = DeviceLimits(
        name=name,
        sm_count=values["sm_count"],
        warp_size=values["warp_size"],
        max_threads_per_block=values["max_threads_per_block"],
        max_block=(values["block_x"], values["block_y"], values["block_z"]),
        max_grid=(values["grid_x"], values["grid_y"], values["grid_z"]),
        max_shared_bytes=values["max_shared_bytes"],
    )
    return Gpu(
        index=index,
        name=name,
        compute_capability=(values["major"], values["minor"]),
        sm_count=values["sm_count"],
        clock_hz=values["clock_khz"] * 1e3,
        memory_clock_hz=values["memory_clock_khz"] * 1e3,
        bus_width_bits=values["bus_width_bits"],
        l2_bytes=values["l2_bytes"],
        memory_bytes=memory_bytes,
        limits=limits,
        cuda_driver=f"{cuda // 1000}.{cuda % 1000 // 10}",
        driver=driver_version(),
    )


# ----------------------------------------------------------------------------------------- the kernel module's own file

FILE = Path("/proc/driver/nvidia/version")


def is_loaded() -> bool:
    """Whether the driver's file exists. WSL and some sandboxes have GPUs without this file."""
    return FILE.is_file()


def driver_version(file: Path = FILE) -> str:
    """The driver's version, e.g. ``580.95.05``; "" if the kernel module does not report it."""
    try:
        text = file.read_text()
    except OSError:
        return ""
    match = re.search(r"Kernel Module(?: for \S+)?\s+(\d+(?:\.\d+)+)", text)
    return match[1] if match else ""


# ---------------------------------------------------------------------------------------------------- the driver's API

_NO_GPU_HINT = "`grade NAME --backend sim` grades on the simulator; `grade doctor` says what is missing"


def _driver() -> Any:
    try:
        from cuda.bindings import driver
    except ImportError:
        hint = "install it: pip install 'warpgrade[cuda12]' (or [cuda13] for drivers from 580 on)"
        raise Unsupported("cuda-bindings is not installed, so no GPU can be used", hint=hint) from None
    return driver


_started = False


def _call(name: str, *arguments: Any) -> Any:
    """The single result of one call of the driver, which is initialised first.

    Raises Unsupported, with the driver's name of the error.
    """
    global _started
    driver = _driver()
    try:
        if not _started:
            _check(driver, "cuInit", driver.cuInit(0))
            _started = True
        return _check(driver, name, getattr(driver, name)(*arguments))
    except (RuntimeError, ImportError, OSError) as error:  # cuda-bindings cannot find or open libcuda
        raise Unsupported("no NVIDIA driver was found on this machine", hint=_NO_GPU_HINT) from error


def _check(driver: Any, name: str, returned: tuple[Any, ...]) -> Any:
    status, *values = returned
    if status == driver.CUresult.CUDA_SUCCESS:
        return values[0] if values else None
    word = getattr(status, "name", str(status)).removeprefix("CUDA_ERROR_").lower().replace("_", " ")
    raise Unsupported(f"the NVIDIA driver's {name} failed: {word}", hint=_NO_GPU_HINT)
