"""The device memory that a submission sees: one arena of arrays, guards and poison. Child side."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING

from grader.backends.gpu.buffers import Layout, Place, lay_out
from grader.backends.gpu.cuda import CudaError, Device
from grader.backends.gpu.faults import error_name
from grader.backends.gpu.wire import Shape
from grader.errors import Unsupported
from grader.inputs import POISON_WORD

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Arena:
    """One allocation, laid out anew for every case.

    ``guard`` is the secret byte of everything that is no array. What is not given content is poisoned with
    `grader.inputs.POISON_WORD`, as on the simulator: what a kernel does not write shows.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self.guard = 1 + secrets.randbelow(254)
        self.base = 0
        self.layout = Layout({}, 0)
        self._room = 0

    def lay_out(self, shapes: Sequence[Shape]) -> None:
        """Make room for these arrays and fill all of it with the guard byte."""
        import numpy as np

        self.layout = lay_out([(s.name, np.dtype(s.dtype).itemsize, s.count) for s in shapes])
        if self.layout.size > self._room:
            self._grow(self.layout.size)
        self._device.fill8(self.base, self.guard, self._room)

    def _grow(self, size: int) -> None:
        if self._room:
            self._device.synchronise()
            self._device.free(self.base)
            self._room = 0
        try:
            self.base, self._room = self._device.allocate(size), size
        except CudaError as error:
            if error_name(str(error)) != "memoryallocation":
                raise
            gib = size / (1 << 30)
            message = f"the arrays of this size need {gib:.1f} GiB, and this GPU has less free memory"
            hint = "`nvidia-smi` shows what else uses it; `--backend sim` grades everything but the speed"
            raise Unsupported(message, hint=hint) from None

    def address(self, name: str) -> int:
        return self.base + self.layout.places[name].start

    def addresses(self) -> dict[str, int]:
        return {name: self.base + place.start for name, place in self.layout.places.items()}

    def sizes(self) -> dict[str, int]:
        return {name: place.size for name, place in self.layout.places.items()}

    def upload(self, name: str, data: npt.NDArray[np.generic]) -> None:
        self._device.upload(self.address(name), data)

    def poison_array(self, name: str) -> None:
        """Fill an array with the poison word: its halves are equal, and a last odd byte gets the lower byte."""
        place: Place = self.layout.places[name]
        start = self.base + place.start
        self._device.fill16(start, POISON_WORD & 0xFFFF, place.size // 2)
        self._device.fill8(start + place.size - place.size % 2, POISON_WORD & 0xFF, place.size % 2)

    def download(self, name: str, dtype: str) -> npt.NDArray[np.generic]:
        import numpy as np

        content = self._device.download(self.address(name), self.layout.places[name].size)
        return content.view(np.dtype(dtype))
