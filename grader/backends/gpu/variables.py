"""A program's `__device__` and `__constant__` variables, and a copy of their initial values. Child side.

A cubin is a 64-bit little-endian ELF file (System V gABI). Initialised variables are in its section
``.nv.global.init``, zeroed ones in ``.nv.global``, constants in ``.nv.constant3`` (``.nv.constant0`` has the
parameters, and is not copied).

Each variable is copied separately, with address and size from CUDA: the driver does not keep the order and the gaps of
the ELF section, and refuses a copy that spans two variables. Large variables and constants are copied by the driver;
small ones, of which libcu++ has a thousand, by one kernel.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

import numpy as np

from grader.backends.gpu.cuda import Cuda, CudaError, Function
from grader.errors import GraderFault
from grader.frozen import dataclass

_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SYMBOL_TABLE = 2  # sh_type SHT_SYMTAB
_OBJECT = 1  # st_info type STT_OBJECT
_WIDEST_ALIGNMENT = 256
_STATE_SECTIONS = (".nv.global", ".nv.global.init", ".nv.constant3")

SMALL = 4096  # bytes; for more, a call of the driver is faster than a copy by one block
_BLOCK = 64
_ALIGNMENT = 16


@dataclass(frozen=True)
class ModuleVariable:
    """A `__device__` or `__constant__` variable: offset in its section, and size, in bytes."""

    name: str
    offset: int
    size: int


@dataclass(frozen=True)
class StateSection:
    """A section with variables; ``size`` in bytes."""

    name: str
    size: int
    variables: tuple[ModuleVariable, ...]

    @property
    def unnamed(self) -> int:
        """Bytes outside named variables, without the gaps of alignment."""
        end, missing = 0, 0
        for variable in sorted(self.variables, key=lambda v: v.offset):
            gap = variable.offset - end
            missing += gap if gap >= _WIDEST_ALIGNMENT else 0
            end = max(end, variable.offset + variable.size)
        return missing + max(0, self.size - end)


def state_sections(cubin: bytes) -> tuple[StateSection, ...]:
    """The sections with variables, each with its named variables. Raises GraderFault if it is not an ELF file."""
    try:
        return _state_sections(cubin)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise GraderFault(f"the assembled program is not a cubin that can be read: {error}") from error


def _state_sections(cubin: bytes) -> tuple[StateSection, ...]:
    if cubin[:5] != b"\x7fELF\x02":
        raise GraderFault("the assembled program is not a 64-bit ELF file")
    (start,) = struct.unpack_from("<Q", cubin, 0x28)
    entry_size, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
    # each: offset of the name, type, flags, address, offset, size, link, info, alignment, size of an entry
    headers = [_SECTION.unpack_from(cubin, start + i * entry_size) for i in range(count)]

    def text(strings: int, offset: int) -> str:
        """The name at ``offset`` in the string table, which is section number ``strings``."""
        begin = headers[strings][4] + offset
        return cubin[begin : cubin.index(b"\0", begin)].decode()

    variables: dict[int, list[ModuleVariable]] = {}  # by the index of their section
    for _, kind, _, _, offset, size, strings, *_ in headers:
        for at in range(offset, offset + size, _SYMBOL.size) if kind == _SYMBOL_TABLE else ():
            name, info, _, section, value, length = _SYMBOL.unpack_from(cubin, at)
            if info & 0xF == _OBJECT and name and length:
                variables.setdefault(section, []).append(ModuleVariable(text(strings, name), value, length))
    return tuple(
        StateSection(name, header[5], tuple(variables.get(index, ())))
        for index, header in enumerate(headers)
        if (name := text(names, header[0])) in _STATE_SECTIONS and header[5]
    )


# ------------------------------------------------------------------------------------------------------ the snapshot

Find = Callable[[str], tuple[int, int]]


@dataclass(frozen=True)
class Piece:
    """One variable on the device: its address, its size in bytes, and its offset in the copy."""

    address: int
    size: int
    offset: int
    by_kernel: bool


class Snapshot:
    """A copy of all variables. Raises CudaError if a variable cannot be found or copied.

    ``copy_pieces`` is the kernel of support.cu; ``find`` returns the address and the size of a variable.
    """

    def __init__(self, device: Cuda, copy_pieces: Function, sections: Sequence[StateSection], find: Find) -> None:
        self._device = device
        self._kernel = copy_pieces
        self._pieces = _pieces(sections, find)
        self._small = [piece for piece in self._pieces if piece.by_kernel]
        self._copy = self._table = 0
        if not self._pieces:
            return
        last = self._pieces[-1]
        self._copy = device.allocate(last.offset + last.size)
        self._table = self._uploaded([(p.address, self._copy + p.offset, p.size) for p in self._small])
        for piece in self._pieces:
            if not piece.by_kernel:
                device.copy(self._copy + piece.offset, piece.address, piece.size)
        saving = self._uploaded([(self._copy + p.offset, p.address, p.size) for p in self._small])
        self._queue_small(saving)
        device.synchronise()
        if saving:
            device.free(saving)

    def __len__(self) -> int:
        return len(self._pieces)

    def restore(self) -> None:
        """Queue the copies that restore every variable."""
        for piece in self._pieces:
            if not piece.by_kernel:
                self._device.copy(piece.address, self._copy + piece.offset, piece.size)
        self._queue_small(self._table)

    def _uploaded(self, rows: list[tuple[int, int, int]]) -> int:
        """The address of a table of (to, from, bytes) on the device; 0 if it is empty."""
        if not rows:
            return 0
        table = np.array(rows, dtype=np.uint64)
        address = self._device.allocate(table.nbytes)
        self._device.upload(address, table)
        return address

    def _queue_small(self, table: int) -> None:
        if table:
            self._device.launch(self._kernel, (len(self._small), 1, 1), (_BLOCK, 1, 1), [np.uint64(table)])


def _pieces(sections: Sequence[StateSection], find: Find) -> list[Piece]:
    pieces: list[Piece] = []
    end = 0
    for section in sections:
        if section.unnamed:
            raise CudaError(f"{section.unnamed} bytes of {section.name} belong to no variable that has a name")
        for variable in section.variables:
            try:
                address, size = find(variable.name)
            except CudaError as error:
                raise CudaError(f"{error} (variable {variable.name})") from error
            if size < variable.size:
                raise CudaError(f"CUDA tells {size} bytes for {variable.name}, which has {variable.size}")
            # A kernel must not write constants: the constant caches are coherent only with the driver's copies.
            by_kernel = not section.name.startswith(".nv.constant") and size <= SMALL
            pieces.append(Piece(address, size, end, by_kernel))
            end += -(-size // _ALIGNMENT) * _ALIGNMENT
    if len({piece.address for piece in pieces}) < len(pieces):
        raise CudaError("two variables have the same name")
    return pieces
