"""The `cupy.RawModule` that a host file gets. Child side."""

from __future__ import annotations

import tempfile
from typing import Any


def load_module(cubin: bytes, kernel: str, *, cooperative: bool = False, devices: int = 1) -> Any:
    """The module on the current device, or on the first ``devices`` ones: loaded now, while its file exists.

    CuPy launches every kernel of a ``cooperative`` module with all of its blocks resident, as `grid.sync()` needs it.
    """
    import cupy

    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        module = cupy.RawModule(path=file.name, enable_cooperative_groups=cooperative)
        module.get_function(kernel)
        for device in range(devices if devices > 1 else 0):
            with cupy.cuda.Device(device):
                module.get_function(kernel)
    return module
