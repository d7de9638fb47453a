"""The grader's own kernels beside a submission, loaded from their cubins. Child side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from grader.backends.gpu.cuda import Device, Function
from grader.backends.gpu.wire import Trusted

if TYPE_CHECKING:
    import numpy as np

    from grader.backends.gpu.arena import Arena


class TrustedKernels:
    """Launches `Trusted` kernels; ``areas`` are the addresses of memory that they alone use, by name."""

    def __init__(
        self, device: Device, modules: Mapping[str, bytes], arena: Arena | None, areas: Mapping[str, int]
    ) -> None:
        self._device = device
        self._arena = arena
        self._areas = areas
        self._modules = {name: device.load(cubin) for name, cubin in modules.items()}
        self._functions: dict[tuple[str, str], Function] = {}

    def prepare(self, launches: Iterable[Trusted]) -> None:
        """Find all kernels beforehand, so that nothing is loaded between samples."""
        for launch in launches:
            key = (launch.module, launch.kernel)
            if key not in self._functions:
                self._functions[key] = self._device.function(self._modules[launch.module], launch.kernel)
                if launch.shared_bytes:
                    self._device.allow_shared(self._functions[key], launch.shared_bytes)

    def queue(self, launches: Iterable[Trusted], sample: int) -> None:
        """Queue the launches in order; ``sample`` is the number of the timed launch that they belong to."""
        for launch in launches:
            args = [self._argument(kind, value, sample) for kind, value in launch.args]
            function = self._functions[launch.module, launch.kernel]
            self._device.launch(function, launch.grid, launch.block, args, launch.shared_bytes)

    def _argument(self, kind: str, value: Any, sample: int) -> np.generic:
        import numpy as np

        if kind in self._areas:
            return np.uint64(self._areas[kind] + int(value))
        if kind == "buffer":
            return np.uint64(self._buffer(value))
        if kind == "sample":
            return np.uint64(sample + int(value))
        result: np.generic = np.dtype(_TYPES[kind]).type(value)
        return result

    def _buffer(self, name: str) -> int:
        assert self._arena is not None
        return self._arena.address(name)


_TYPES = {"i64": "int64", "u64": "uint64", "u32": "uint32", "i32": "int32", "f64": "float64", "f32": "float32"}
