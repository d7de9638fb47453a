"""A module's `__device__` and `__constant__` variables, and a copy of what they held when it was loaded. Child side.

Every variable is copied by itself, with the address and the size that CUDA tells: the driver places each one where it
likes, whatever the ELF section looks like, and refuses copies that reach from one into the next. Large variables and
constants are copied by the driver; small ones, of which cooperative groups bring a thousand, by one kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from grader.backends.gpu.cuda import CudaError, Device, Function
from grader.backends.gpu.elf import StateSection, Variable

SMALL = 4096  # bytes; above, one block would copy longer than a call of the driver takes
_BLOCK = 64
_ALIGNMENT = 16
_CONSTANT = ".nv.constant"

Find = Callable[[str], tuple[int, int]]


@dataclass(frozen=True)
class Piece:
    """One variable on the device: its address, its size in bytes, and where in the copy it is kept."""

    name: str
    address: int
    size: int
    offset: int
    constant: bool

    @property
    def by_kernel(self) -> bool:
        """A kernel must not write constants: the constant caches hear of the driver's copies only."""
        return not self.constant and self.size <= SMALL


class Snapshot:
    """A copy of all variables. Raises CudaError where one of them cannot be found or copied.

    ``copy_pieces`` is the kernel of support.cu; ``find`` gives the address and the size of a variable.
    """

    def __init__(self, device: Device, copy_pieces: Function, sections: Sequence[StateSection], find: Find) -> None:
        self._device = device
        self._kernel = copy_pieces
        self._pieces = _pieces(sections, find)
        self._small = [piece for piece in self._pieces if piece.by_kernel]
        self._copy = self._table = 0
        if self._pieces:
            self._save()

    def __len__(self) -> int:
        return len(self._pieces)

    def restore(self) -> None:
        """Queue: every variable holds again what it held when the snapshot was made."""
        for piece in self._pieces:
            if not piece.by_kernel:
                self._device.copy(piece.address, self._copy + piece.offset, piece.size)
        self._queue_small(self._table)

    def _save(self) -> None:
        last = self._pieces[-1]
        self._copy = self._device.allocate(last.offset + last.size)
        self._table = self._uploaded([(p.address, self._copy + p.offset, p.size) for p in self._small])
        for piece in self._pieces:
            if not piece.by_kernel:
                self._device.copy(self._copy + piece.offset, piece.address, piece.size)
        saving = self._uploaded([(self._copy + p.offset, p.address, p.size) for p in self._small])
        self._queue_small(saving)
        self._device.synchronise()
        if saving:
            self._device.free(saving)

    def _uploaded(self, rows: list[tuple[int, int, int]]) -> int:
        """A table of (to, from, bytes) on the device; 0 where it is empty."""
        import numpy as np

        if not rows:
            return 0
        table = np.array(rows, dtype=np.uint64)
        address = self._device.allocate(table.nbytes)
        self._device.upload(address, table)
        return address

    def _queue_small(self, table: int) -> None:
        import numpy as np

        if table:
            self._device.launch(self._kernel, (len(self._small), 1, 1), (_BLOCK, 1, 1), [np.uint64(table)])


def _pieces(sections: Sequence[StateSection], find: Find) -> list[Piece]:
    pieces: list[Piece] = []
    end = 0
    for section in sections:
        if section.unnamed:
            raise CudaError(f"{section.unnamed} bytes of {section.name} belong to no variable that has a name")
        for variable in section.variables:
            address, size = _found(variable, find)
            pieces.append(Piece(variable.name, address, size, end, section.name.startswith(_CONSTANT)))
            end += -(-size // _ALIGNMENT) * _ALIGNMENT
    if len({piece.address for piece in pieces}) < len(pieces):
        raise CudaError("two variables have the same name")
    return pieces


def _found(variable: Variable, find: Find) -> tuple[int, int]:
    try:
        address, size = find(variable.name)
    except CudaError as error:
        raise CudaError(f"{error} (variable {variable.name})") from error
    if size < variable.size:
        raise CudaError(f"CUDA tells {size} bytes for {variable.name}, which has {variable.size}")
    return address, size
