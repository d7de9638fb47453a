"""One entry as one list of instructions: device functions inlined, call parameters turned into registers.

Every call of a device function is replaced by its body with fresh names, so that the engine needs no stack. What
cannot be inlined (recursion, calls through pointers, unknown externals) is `Unsupported` with its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from grader.simt.ptx import (
    Address,
    Function,
    Immediate,
    Instruction,
    Line,
    Module,
    Operand,
    Register,
    Symbol,
    Variable,
    Vector,
    items,
)
from grader.simt.ptx.model import Label
from grader.simt.ptx.reader import SIZES, SPACES, type_size

MAX_INSTRUCTIONS = 20_000
"""Maximum after inlining. LLVM needs up to a millisecond for each; unrolled kernels of a course have a few thousand."""
MAX_DEPTH = 64
BUILTIN_CALLS = ("vprintf", "__assertfail")

POINTER = "choose with if or switch, or make the function a template's parameter"
RECURSION = "write it as a loop, with an array as its stack where one is needed"


class UnsupportedPtx(Exception):
    """Raised when the simulator cannot run something; has its name, its source line, and what to write instead."""

    def __init__(self, what: str, line: Line | None = None, *, hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.line = line
        self.hint = hint


@dataclass
class Flat:
    """The flattened entry. ``registers`` maps every name to its storage type (``b32``, ``pred`` …)."""

    name: str
    parameters: tuple[Variable, ...]
    items: list[Instruction | Label] = field(default_factory=list)
    registers: dict[str, str] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)  # .local and .shared of all inlined functions
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)  # targets of `brx.idx`, by the table's label


def flatten(module: Module, entry: Function) -> Flat:
    """Inline everything into ``entry``. Raises UnsupportedPtx."""
    flat = Flat(entry.name, entry.parameters)
    _Inliner(module, flat).expand(entry, "", {}, (entry.name,), None)
    return flat


class _Inliner:
    def __init__(self, module: Module, flat: Flat) -> None:
        self.module = module
        self.flat = flat
        self.count = 0

    def expand(
        self, function: Function, prefix: str, aliases: dict[str, str], stack: tuple[str, ...], end: str | None,
        called_at: int = 0,
    ) -> None:  # fmt: skip
        """Append the body of ``function``, with ``prefix`` before its names; ``aliases`` are variables by parameter."""
        names = _Names(function, prefix, aliases, called_at)
        for variable in function.variables:
            if variable.space != "param":
                self.flat.variables[names.of(variable.name)] = replace(variable, name=names.of(variable.name))
        for label, targets in function.tables.items():
            self.flat.tables[names.of(label)] = tuple(names.of(target) for target in targets)
        for item in function.body or ():
            if isinstance(item, Label):
                self.flat.items.append(Label(names.of(item.name)))
            elif item.opcode == "call":
                self._call(names.instruction(item), stack)
            elif item.opcode == "ret" and end is not None:
                guard = names.register(item.guard) if item.guard else None
                self.flat.items.append(Instruction("bra", (), (Symbol(end),), guard, item.line))
            else:
                self._append(names.instruction(item), names)
            if len(self.flat.items) > MAX_INSTRUCTIONS:
                raise UnsupportedPtx(f"more than {MAX_INSTRUCTIONS} instructions after inlining device functions")

    def _append(self, instruction: Instruction, names: _Names) -> None:
        """Turn `ld.param` / `st.param` of call variables into moves between registers; keep everything else."""
        mentioned = [instruction.guard.name] if instruction.guard else []
        for name in (*mentioned, *registers_in(instruction.operands)):
            kind = names.types(name) if name not in self.flat.registers else None
            if kind is not None:
                self.flat.registers[name] = kind
        is_move = instruction.opcode in ("ld", "st") and "param" in instruction.modifiers
        if is_move and len(instruction.operands) == 2:
            slot = instruction.operands[1 if instruction.opcode == "ld" else 0]
            if isinstance(slot, Address) and isinstance(slot.base, Symbol) and "@" in slot.base.name:
                self.flat.items.extend(self._parameter_moves(instruction, slot.base.name, slot.offset))
                return
        self.flat.items.append(self._in_its_space(instruction))

    def _in_its_space(self, instruction: Instruction) -> Instruction:
        """The instruction, with the state space of the variable in its address if it has none itself, as by ptxas."""
        if any(modifier.partition("::")[0] in SPACES for modifier in instruction.modifiers):
            return instruction
        named = (o.base.name for o in instruction.operands if isinstance(o, Address) and isinstance(o.base, Symbol))
        variables = (self.flat.variables.get(name) or self.module.variables.get(name) for name in named)
        space = next((v.space for v in variables if v is not None and v.space in ("shared", "local")), None)
        return instruction if space is None else replace(instruction, modifiers=(space, *instruction.modifiers))

    def _parameter_moves(self, instruction: Instruction, slot: str, offset: int) -> Iterator[Instruction]:
        kind = next((modifier for modifier in instruction.modifiers if modifier in SIZES), "")
        if not kind:
            raise UnsupportedPtx(f"the instruction {instruction.name}", instruction.line)
        loading = instruction.opcode == "ld"
        other = instruction.operands[0 if loading else 1]
        items = other.items if isinstance(other, Vector) else (other,)
        for i, item in enumerate(items):
            name = f"{slot}+{offset + i * type_size(kind)}"
            width = f"b{8 * storage_bytes(kind)}"
            held = self.flat.registers.setdefault(name, width)
            if storage_bytes(held) < storage_bytes(width) or (held != width and not loading):
                raise UnsupportedPtx("a call parameter that is read in another width than written", instruction.line)
            pair = (item, Register(name)) if loading else (Register(name), item)
            if held == width:
                yield Instruction("mov", (kind,), pair, instruction.guard, instruction.line)
            else:  # a char or a short is passed in 32 bits
                whole = f"{kind[0] if kind[0] == 's' else 'u'}{self._bits_of(item)}"
                narrow = f"{whole[0]}{8 * type_size(kind)}"
                yield Instruction("cvt", (whole, narrow), pair, instruction.guard, instruction.line)

    def _bits_of(self, register: Operand) -> int:
        assert isinstance(register, Register)
        return 8 * storage_bytes(self.flat.registers[register.name])

    def _call(self, call: Instruction, stack: tuple[str, ...]) -> None:
        returns, target, arguments = _call_parts(call)
        if not isinstance(target, Symbol):
            raise UnsupportedPtx(
                "a call through a function pointer (or of a virtual function)", call.line, hint=POINTER
            )
        function = self.module.functions.get(target.name)
        if target.name in BUILTIN_CALLS:
            self._builtin(call, target.name, arguments, returns)
            return
        if function is None or function.body is None:
            raise UnsupportedPtx(f"a call of {plain_name(target.name)}", call.line)
        if target.name in stack:
            between = ", ".join(plain_name(function) for function in stack[stack.index(target.name) + 1 :])
            how = f"{plain_name(target.name)} calls itself" + (f" through {between}" if between else "")
            raise UnsupportedPtx(f"recursion: {how}", call.line, hint=RECURSION)
        fits = len(arguments) == len(function.parameters) and len(returns) == len(function.returns)
        if len(stack) > MAX_DEPTH or not fits:
            raise UnsupportedPtx(f"this call of {plain_name(target.name)}", call.line)
        self.count += 1
        pairs = (*zip(function.parameters, arguments, strict=True), *zip(function.returns, returns, strict=True))
        aliases = {p.name: a.name for p, a in pairs if isinstance(a, Symbol)}
        end = f"@return{self.count}"
        guard_end = f"@skip{self.count}"
        if call.guard is not None:
            flipped = Register(call.guard.name, not call.guard.negated)
            self.flat.items.append(Instruction("bra", (), (Symbol(guard_end),), flipped, call.line))
        self.expand(
            function, f"@{self.count}.", aliases, (*stack, target.name), end, call.line.line if call.line else 0
        )
        self.flat.items.extend((Label(end), Label(guard_end)))

    def _builtin(
        self, call: Instruction, name: str, arguments: tuple[Operand, ...], returns: tuple[Operand, ...]
    ) -> None:
        def slot(operand: Operand, width: str = "b64") -> Operand:
            if not isinstance(operand, Symbol):
                return operand
            register = f"{operand.name}+0"
            self.flat.registers.setdefault(register, width)
            return Register(register)

        values = tuple(slot(a) for a in arguments)
        results = tuple(slot(r, "b32") for r in returns)
        self.flat.items.append(Instruction("call", (name,), (*results, *values), call.guard, call.line))


def _call_parts(call: Instruction) -> tuple[tuple[Operand, ...], Operand, tuple[Operand, ...]]:
    """(results, target, arguments) of ``call (ret), target, (args);`` in any of its forms."""
    operands = call.operands
    returns: tuple[Operand, ...] = ()
    if operands and isinstance(operands[0], Vector):
        returns, operands = operands[0].items, operands[1:]
    target, arguments = (*operands, Vector(()), Vector(()))[:2]
    return returns, target, items(arguments)


def registers_in(operands: Sequence[Operand]) -> list[str]:
    """Names of the registers in operands. Called for every operand, so it is one loop."""
    found, stack = list[str](), list(operands)
    while stack:
        part = stack.pop()
        if isinstance(part, Register):
            found.append(part.name)
        elif isinstance(part, Vector):
            stack.extend(part.items)
        elif isinstance(part, Address) and part.base is not None:
            stack.append(part.base)
    return found


def symbols_in(operands: Sequence[Operand]) -> set[str]:
    """Names of the symbols in operands."""
    return {part.name for part in _parts(operands) if isinstance(part, Symbol)}


def _parts(operands: Sequence[Operand]) -> Iterator[Operand]:
    """Operands, and the parts of vectors and addresses among them."""
    stack = list(operands)
    while stack:
        operand = stack.pop()
        yield operand
        if isinstance(operand, Vector):
            stack.extend(operand.items)
        elif isinstance(operand, Address) and operand.base is not None:
            stack.append(operand.base)


def storage_bytes(kind: str) -> int:
    """Bytes of a register of this type per lane in the warp's state; a predicate is one mask for the warp."""
    return max(2, type_size(kind))


class _Names:
    """Renames registers, labels, variables and parameters of one inlined copy of a function."""

    def __init__(self, function: Function, prefix: str, aliases: dict[str, str], called_at: int = 0) -> None:
        self.function = function
        self.called_at = called_at  # the line of the call
        self.prefix = prefix
        self.aliases = aliases
        labels = {item.name for item in function.body or () if isinstance(item, Label)}
        self.own = labels | {v.name for v in function.variables} | set(function.tables)

    def of(self, name: str) -> str:
        if name in self.aliases:
            return self.aliases[name]
        if name in self.own or self.function.register_type(name) is not None:
            return self.prefix + name
        return name

    def types(self, name: str) -> str | None:
        return self.function.register_type(name.removeprefix(self.prefix))

    def register(self, register: Register) -> Register:
        return Register(self.of(register.name), register.negated)

    def operand(self, operand: Operand) -> Operand:
        if isinstance(operand, Immediate):
            return operand
        if isinstance(operand, Register):
            return self.register(operand)
        if isinstance(operand, Symbol):
            return Symbol(self.of(operand.name), operand.offset)
        if isinstance(operand, Vector):
            return Vector(tuple(self.operand(item) for item in operand.items))
        if operand.base is None:
            return operand
        base = self.operand(operand.base)
        assert isinstance(base, Register | Symbol)
        return Address(base, operand.offset)

    def instruction(self, instruction: Instruction) -> Instruction:
        guard = self.register(instruction.guard) if instruction.guard else None
        operands = tuple(self.operand(o) for o in instruction.operands)
        line = instruction.line
        if line is not None and not line.called_at:
            line = replace(line, called_at=self.called_at)
        return Instruction(instruction.opcode, instruction.modifiers, operands, guard, line)


LONGEST_NAME = 1000
_COPY = re.compile(r"@\d+\.")
"""The prefix of names in an inlined copy of a function, and in an inner scope."""
_NESTED = re.compile(r"N[KVRO]*(?=\d)")


def plain_name(symbol: str) -> str:
    """A C++ symbol's own name: ``_ZZ6reducePKfE7partial`` is ``partial``, ``_ZN1A1fEi`` is ``f``."""
    if len(symbol) > LONGEST_NAME:  # not a real name; the time of the search below grows with its square
        return symbol[:LONGEST_NAME] + "…"
    symbol = _COPY.sub("", symbol)
    if not symbol.startswith("_Z"):
        return symbol
    plain = re.match(r"_Z(\d+)", symbol)  # a function without namespace: its parameters' types follow
    if plain:
        return symbol[plain.end() :][: int(plain.group(1))]
    best = symbol
    for match in re.finditer(r"(\d+)(?=[A-Za-z_])", symbol):
        for start in range(match.start(1), match.end(1)):
            size, name = int(symbol[start : match.end(1)]), symbol[match.end(1) :]
            if len(name) >= size > 0 and name[size:] in ("", "E", "_0", "_1", "_2", "_3"):
                best = name[:size]
    if best != symbol:
        return best
    for match in _NESTED.finditer(symbol):  # a member function: its parameters' types follow
        name, at = "", match.end()
        while length := re.compile(r"\d{1,4}").match(symbol, at):
            at = length.end() + int(length[0])
            name = symbol[length.end() : at]
        if name and symbol[at : at + 1] == "E":
            return name
    return symbol
