"""Where a cubin keeps its `__device__` and `__constant__` variables: just enough ELF for that. Pure.

A cubin is a 64-bit little-endian ELF file (System V gABI). Initialised variables are in ``.nv.global.init``, zeroed
ones in ``.nv.global``, constants in ``.nv.constant3`` (``.nv.constant0`` holds the parameters, and is not touched).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from grader.errors import GraderFault

_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SYMBOL_TABLE = 2  # sh_type SHT_SYMTAB
_OBJECT = 1  # st_info type STT_OBJECT
_WIDEST_ALIGNMENT = 256
_STATE_SECTIONS = (".nv.global", ".nv.global.init", ".nv.constant3")


@dataclass(frozen=True)
class Variable:
    """A `__device__` or `__constant__` variable: its place in its section, in bytes."""

    name: str
    offset: int
    size: int


@dataclass(frozen=True)
class StateSection:
    """One section of variables; ``size`` in bytes."""

    name: str
    size: int
    variables: tuple[Variable, ...]

    @property
    def unnamed(self) -> int:
        """Bytes that no variable's name leads to, beyond what alignment leaves between two of them."""
        end, missing = 0, 0
        for variable in sorted(self.variables, key=lambda v: v.offset):
            gap = variable.offset - end
            missing += gap if gap >= _WIDEST_ALIGNMENT else 0
            end = max(end, variable.offset + variable.size)
        return missing + max(0, self.size - end)


@dataclass(frozen=True)
class _Section:
    name_offset: int
    type: int
    offset: int
    size: int
    link: int


def state_sections(cubin: bytes) -> tuple[StateSection, ...]:
    """The sections that hold variables, each with those that have a name. Raises GraderFault if it is no ELF file."""
    try:
        return _state_sections(cubin)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise GraderFault(f"the assembled program is not a cubin that can be read: {error}") from error


def _state_sections(cubin: bytes) -> tuple[StateSection, ...]:
    if cubin[:5] != b"\x7fELF\x02":
        raise GraderFault("the assembled program is not a 64-bit ELF file")
    sections = _sections(cubin)
    names = _names(cubin, sections)
    found = [index for index, name in enumerate(names) if name in _STATE_SECTIONS and sections[index].size]
    symbols = _variables(cubin, sections)
    return tuple(StateSection(names[i], sections[i].size, tuple(symbols.get(i, ()))) for i in found)


def _sections(cubin: bytes) -> list[_Section]:
    (start,) = struct.unpack_from("<Q", cubin, 0x28)
    entry_size, count = struct.unpack_from("<HH", cubin, 0x3A)
    return [_section(cubin, start + i * entry_size) for i in range(count)]


def _section(cubin: bytes, at: int) -> _Section:
    name, kind, _flags, _address, offset, size, link, _info, _align, _entry = _SECTION.unpack_from(cubin, at)
    return _Section(name, kind, offset, size, link)


def _names(cubin: bytes, sections: list[_Section]) -> list[str]:
    (index,) = struct.unpack_from("<H", cubin, 0x3E)
    return [_text(cubin, sections[index], section.name_offset) for section in sections]


def _text(cubin: bytes, strings: _Section, offset: int) -> str:
    start = strings.offset + offset
    return cubin[start : cubin.index(b"\0", start)].decode()


def _variables(cubin: bytes, sections: list[_Section]) -> dict[int, list[Variable]]:
    """Named objects by the index of their section."""
    found: dict[int, list[Variable]] = {}
    for table in (section for section in sections if section.type == _SYMBOL_TABLE):
        for at in range(table.offset, table.offset + table.size, _SYMBOL.size):
            name, info, _other, section, value, size = _SYMBOL.unpack_from(cubin, at)
            if info & 0xF == _OBJECT and name and size:
                text = _text(cubin, sections[table.link], name)
                found.setdefault(section, []).append(Variable(text, value, size))
    return found
