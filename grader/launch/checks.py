"""Checks of a launch against the device's limits and the compiled program; of tensor maps against TMA's rules."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from grader.c_types import C_NAMES, DTYPE_BYTES
from grader.expressions import did_you_mean
from grader.frozen import dataclass
from grader.launch.records import ConstantLine, DeviceLimits, Dim3, Launch, LaunchLine, TensorMap, TensorMapLine
from grader.launch.source import LaunchFragment, SourceText, invalid, signature
from grader.text import counted

if TYPE_CHECKING:
    from grader.compile import Entry, Parameter, Program
    from grader.errors import SubmissionError
    from grader.exercise import Array, Size

MAX_CLUSTER = 8
"""Blocks per cluster that every device with clusters allows (CUDA programming guide, thread block clusters)."""

MAP_BYTES, MAP_ALIGN = 128, 64
"""Size and alignment of a ``CUtensorMap``."""

TOO_MANY_BLOCKS = "too_many_blocks"
"""The cause of a diagnostic on a grid that no GPU has."""

NARROW = "narrow_parameter"
"""The cause of a diagnostic on a number that is too large for its parameter."""

# --------------------------------------------------------------------------------------------------------------- limits


def check_limits(launch: Launch, line: LaunchLine, limits: DeviceLimits, program: Program | None, where: str) -> None:
    """Raises SubmissionError if the device cannot launch this; ``where`` is the case ("at n=1")."""
    _check_dimensions("grid", launch.grid, line.grid, limits.max_grid, limits, where)
    threads = math.prod(launch.block)
    if min(launch.block) >= 1 and threads > limits.max_threads_per_block:
        what = f"{_as_written('block', line.block)} requests {threads} threads{_at(where, *line.block)}"
        most = f"a block has at most {limits.max_threads_per_block}"
        raise invalid(f"{what}; {most}", line.block[0], hint="use more blocks with fewer threads")
    _check_dimensions("block", launch.block, line.block, limits.max_block, limits, where)
    _check_cluster(launch, line, where)
    entry = program.entry(launch.kernel) if program else None
    if entry is not None:
        _check_compiled_for(launch, line, entry, where)
    if line.shared is not None:
        _check_shared(launch, line.shared, limits, program, where)


_LEAST = {"grid": "a launch has at least one block", "block": "a block has at least one thread"}


def _check_dimensions(
    key: str, dims: Dim3, texts: Sequence[LaunchFragment], most: Dim3, limits: DeviceLimits, where: str
) -> None:
    for text, axis, value, highest in zip(texts, "xyz", dims, most, strict=False):
        if value < 1:
            value_in_words = (
                f"{key}={text.text} is {value}{_at(where, text)}" if text.text != str(value) else f"{key}={value}"
            )
            hint = "cdiv(n, 256) divides and rounds up" if "/" in text.text else ""
            raise invalid(f"{value_in_words}; {_LEAST[key]}", text, hint=hint)
        if value > highest:
            maximum = f"the maximum of the {limits.name} is {highest}"
            cause = TOO_MANY_BLOCKS if key == "grid" else ""
            raise invalid(f"{key} is {value} in {axis}{_at(where, text)}; {maximum}", text, cause=cause)


def _as_written(key: str, texts: Sequence[LaunchFragment]) -> str:
    return f"{key}={texts[0].text}" if len(texts) == 1 else f"{key}=({', '.join(text.text for text in texts)})"


def _at(where: str, *texts: LaunchFragment) -> str:
    """The case, if the expressions depend on it; else ""."""
    return where if any(character.isalpha() for text in texts for character in text.text) else ""


def _check_cluster(launch: Launch, line: LaunchLine, where: str) -> None:
    for text, axis, wide, size in zip(line.cluster, "xyz", launch.grid, launch.cluster, strict=False):
        if size < 1:
            raise invalid(f"cluster={text.text} is {size}{_at(where, text)}; a cluster has at least one block", text)
        if wide % size:
            raise invalid(f"a grid of {wide} blocks in {axis} is not a multiple of the cluster's {size}{where}", text)
    if math.prod(launch.cluster) > MAX_CLUSTER:
        blocks = f"requests {math.prod(launch.cluster)} blocks{_at(where, *line.cluster)}"
        what = f"{_as_written('cluster', line.cluster)} {blocks}; a cluster has at most {MAX_CLUSTER}"
        raise invalid(what, line.cluster[0])


def _check_compiled_for(launch: Launch, line: LaunchLine, entry: Entry, where: str) -> None:
    """What the kernel's head promises of its launches."""
    threads, block, cluster = math.prod(launch.block), entry.required_block, entry.required_cluster
    asks = f"{_as_written('block', line.block)} asks for {threads} threads{_at(where, *line.block)}"
    if entry.max_threads and threads > entry.max_threads:
        most = f"{launch.kernel} is compiled for blocks of at most {entry.max_threads}"
        hint = f"take fewer threads a block, or write __launch_bounds__({threads}) at the kernel"
        raise invalid(f"{asks}; {most}", line.block[0], hint=hint)
    if block and launch.block != block:
        what = f"{launch.kernel} is compiled for blocks of {block} threads"
        raise invalid(f"{asks}; {what}", line.block[0], hint=f"write block={block}, or change __block_size__")
    if not cluster:
        return
    if launch.cluster not in ((1, 1, 1), cluster):
        what = f"{_as_written('cluster', line.cluster)}, and {launch.kernel} is compiled for clusters of {cluster}"
        raise invalid(what, line.cluster[0], hint="say it once: in the launch line, or in __cluster_dims__")
    for text, axis, wide, size in zip(line.grid, "xyz", launch.grid, cluster, strict=False):
        if wide % size:
            what = f"a grid of {wide} blocks in {axis} is no whole number of clusters of {size}{where}"
            raise invalid(what, text, hint=f"{launch.kernel} is compiled for clusters of {cluster}")


def _check_shared(
    launch: Launch, text: LaunchFragment, limits: DeviceLimits, program: Program | None, where: str
) -> None:
    if launch.shared_bytes < 0:
        what = f"shared={text.text} is {launch.shared_bytes} bytes{_at(where, text)}"
        raise invalid(f"{what}; it cannot be negative", text)
    entry = program.entry(launch.kernel) if program else None
    static = entry.static_shared_bytes if entry else 0
    if launch.shared_bytes + static > limits.max_shared_bytes:
        from grader.compile.ptxas import STATIC_SHARED_BYTES, too_much_shared

        if program and static > STATIC_SHARED_BYTES:
            raise too_much_shared(program, program.target, launch.kernel, static)
        and_static = f", and the kernel declares {static} bytes more" if static else ""
        what = f"shared={text.text} requests {launch.shared_bytes} bytes{_at(where, text)}{and_static}"
        hint = "shared= is the bytes, not the elements, of one block"
        raise invalid(f"{what}; a block of the {limits.name} has {limits.max_shared_bytes}", text, hint=hint)


# ------------------------------------------------------------------------------------------------ kernel and parameters


def fit_arguments(
    launch: Launch, line: LaunchLine, program: Program, text: SourceText, maps: Collection[str] = ()
) -> Launch:
    """The launch with its arguments converted for the kernel's parameters; ``maps`` are the names of tensor maps.

    An integer for a float parameter becomes a float. Raises SubmissionError if there is no such kernel, or an argument
    does not fit its parameter.
    """
    entry = program.entry(launch.kernel)
    if entry is None:
        raise _no_kernel(line.kernel, program)
    declared = _declared(entry, text)
    order = f"write the launch line's arguments in the kernel's order: {line.kernel.text}({', '.join(declared)})"
    if len(launch.args) != len(entry.parameters):
        passed = ", ".join(arg.text for arg in line.args) or "nothing"
        takes = f"{launch.kernel} takes {counted(len(declared), 'parameter')} ({', '.join(declared)})"
        what = f"{takes}, but the launch line passes {len(launch.args)} ({passed})"
        raise invalid(what, line.kernel, hint=order)
    fitted = []
    for i, (arg, parameter) in enumerate(zip(launch.args, entry.parameters, strict=True)):
        of_map = isinstance(arg, str) and arg in maps
        reason = _misfit_map(arg, parameter, declared[i]) if of_map else _misfit(arg, parameter, declared[i])
        if reason:
            what = f"parameter {i + 1} of {launch.kernel} is `{declared[i]}`, but the launch line passes {reason}"
            as_map = f"declare the parameter as const __grid_constant__ CUtensorMap {arg}, and include <cuda.h>"
            narrow = _overflows(arg, parameter, declared[i])
            wide = f"long long {declared[i].split()[-1]}" if narrow and _SCALAR.match(declared[i]) else ""
            meant = wide or _of_the_right_type(arg, line.args[i].text, declared[i])
            hint = as_map if of_map else f"declare `{meant}`" if meant else order
            raise invalid(what, line.args[i], hint=hint, cause=NARROW if narrow else "")
        fitted.append(float(arg) if parameter.type.startswith("f") and isinstance(arg, int) else arg)
    return replace(launch, args=tuple(fitted))


def _declared(entry: Entry, text: SourceText) -> tuple[str, ...]:
    """The parameters as the file declares them, or as in the PTX if the two do not agree (macros, #if)."""
    words = signature(text, entry.name)
    agree = len(words) == len(entry.parameters) and all(
        not _is_pointer(declared) or (parameter.bytes == 8 and parameter.type[0] in "usb")
        for declared, parameter in zip(words, entry.parameters, strict=True)
    )
    return words if agree else tuple(_type_words(parameter) for parameter in entry.parameters)


def _is_pointer(declared: str) -> bool:
    return "*" in declared or "[" in declared


def _misfit(arg: str | int | float, parameter: Parameter, declared: str) -> str:
    """Why ``arg`` does not fit the parameter; "" if it does."""
    if _holds_map(parameter):
        return f"{_shown(arg)}; write a `// tensor_map` line, and pass its name"
    if parameter.type == "b8" and parameter.bytes > 1:  # a struct
        return f"{_shown(arg)}; only arrays, integers, floats and tensor maps can be passed"
    if isinstance(arg, str):
        fits = parameter.bytes == 8 and parameter.type[0] in "usb" and not _SCALAR.match(declared)
        return "" if fits else f"the array {arg}"
    if _is_pointer(declared):
        return f"{_shown(arg)}, which is not an array"
    if parameter.type[0] == "f":
        return ""
    if isinstance(arg, float):
        return _shown(arg)
    narrow = _overflows(arg, parameter, declared)
    return f"{arg}, which does not fit its {8 * parameter.bytes} bits" if narrow else ""


def _overflows(arg: str | int | float, parameter: Parameter, declared: str) -> bool:
    """Whether ``arg`` is an integer that the parameter has too few bits for."""
    if not isinstance(arg, int) or parameter.type[0] not in "usb" or _is_pointer(declared):
        return False
    bits = 8 * parameter.bytes
    return not -(1 << (bits - 1)) <= arg < 1 << (bits - 1 if _SIGNED.match(declared) else bits)


def _of_the_right_type(arg: str | int | float, name: str, declared: str) -> str:
    """The declaration of a parameter that has the argument's name, and so only a wrong type; "" of any other."""
    type_name, own = declared.removesuffix(name).rstrip("*& "), declared.endswith((f" {name}", f"*{name}"))
    if not own or "[" in declared or not type_name:
        return ""
    if isinstance(arg, str):
        return f"{type_name}* {name}"
    whole = type_name if _is_pointer(declared) else "int" if abs(arg) < 1 << 31 else "long long"
    return f"{'float' if isinstance(arg, float) else whole} {name}"


def _misfit_map(arg: str | int | float, parameter: Parameter, declared: str) -> str:
    """Why the tensor map ``arg`` does not fit the parameter; "" if it does."""
    if not _holds_map(parameter):
        return f"the tensor map {arg}"
    if "CUtensorMap" in declared and "__grid_constant__" not in declared:
        return f"the tensor map {arg}: TMA would get a copy in local memory"
    return ""


def _holds_map(parameter: Parameter) -> bool:
    """Whether the parameter is a ``CUtensorMap``: 128 bytes, aligned to 64."""
    return parameter.type == "b8" and parameter.bytes == MAP_BYTES and parameter.align >= MAP_ALIGN


_SIGNED = re.compile(r"(?:const\s+)?(?:signed\s+)?(?:int|long|short|int\d+_t)\b(?!.*\bunsigned\b)")
"""A declaration of a signed integer; PTX does not tell it from an unsigned one."""

_SCALAR = re.compile(
    r"(?:const\s+)?(?:unsigned|signed|int|long|short|char|size_t|bool|double|float|u?int\d+_t)\b[^*&\[]*\Z"
)
"""A declaration that is certainly not a pointer; a typedef may be one."""


def _shown(arg: str | int | float) -> str:
    return f"the array {arg}" if isinstance(arg, str) else f"the number {arg:g}" if isinstance(arg, float) else str(arg)


def _type_words(parameter: Parameter) -> str:
    words = {"f": "float", "u": "integer or pointer" if parameter.bytes == 8 else "integer", "s": "integer"}
    is_struct = parameter.type == "b8" and parameter.bytes > 1
    kind = "struct" if is_struct else words.get(parameter.type[0], "integer")
    return f"{8 * parameter.bytes}-bit {kind}"


def _no_kernel(name: LaunchFragment, program: Program) -> SubmissionError:
    names = [entry.name for entry in program.entries]
    # A mangled C++ name has the function's name after its length (Itanium C++ ABI, 5.1).
    plain = re.compile(rf"_Z.*(?<!\d){len(name.text)}{re.escape(name.text)}")
    mangled = next(filter(plain.match, names), None)
    if mangled is not None:
        what = f'the kernel {name.text} is not extern "C": the compiler named it {mangled}'
        return invalid(what, name, hint=f'write extern "C" __global__ void {name.text}(…)')
    if not names:
        hint = f'a kernel begins with extern "C" __global__ void {name.text}(…)'
        return invalid(f"{program.name} has no kernel, but the launch line starts {name.text}", name, hint=hint)
    only = f"did you mean {names[0]!r}?" if len(names) == 1 else f"the kernels are {', '.join(names)}"
    hint = did_you_mean(name.text, names) or only
    return invalid(f"there is no kernel {name.text} in {program.name}", name, hint=hint)


# ------------------------------------------------------------------------------------------------------------ constants

_CONST_VARIABLE = re.compile(
    r"^[ \t]*(?:\.visible[ \t]+|\.weak[ \t]+)?\.const[ \t]+(?:\.align[ \t]+\d+[ \t]+)?\.[busf](\d{1,3})[ \t]+"
    r"([\w$]+)(?:\[(\d{1,18})\])?",
    re.MULTILINE,
)


@lru_cache(maxsize=2)
def _constants(ptx: str) -> Mapping[str, int]:
    """The bytes of each ``__constant__`` array by name; cached, because it is needed for many lines and sizes."""
    return {match[2]: int(match[1]) // 8 * int(match[3] or 1) for match in _CONST_VARIABLE.finditer(ptx)}


def check_constant(line: ConstantLine, array: Array, size: Size, program: Program) -> None:
    """Raises SubmissionError if the program has no such ``__constant__`` array, or it is too small for ``array``."""
    from grader.inputs import element_bytes, element_count

    symbols = _constants(program.ptx)
    name = line.symbol.text
    if name not in symbols:
        c_type = C_NAMES.get(array.dtype, array.dtype)
        hint = did_you_mean(name, symbols) or f"declare it at file scope: __constant__ {c_type} {name}[…];"
        raise invalid(f"there is no __constant__ array {name} in {program.name}", line.symbol, hint=hint)
    count = element_count(array, size)
    if count * element_bytes(array) > symbols[name]:
        what = (
            f"{name} has {symbols[name]} bytes, but {array.name} has {count} elements of {element_bytes(array)} bytes"
        )
        raise invalid(what, line.symbol)


# --------------------------------------------------------------------------------------------------------- tensor maps
# The rules are those of ``cuTensorMapEncodeTiled`` in CUDA's driver API; they are checked here, without a GPU.

Evaluate = Callable[[LaunchFragment], int]

SWIZZLES = (0, 32, 64, 128)
PROMOTIONS = (0, 64, 128, 256)
MAX_BOX = 256  # elements along one dimension
UNIT = 16  # bytes: TMA copies whole units, and every row must begin at a multiple of it
MAX_STRIDE = 1 << 40
MAX_EXTENT = 1 << 32


@dataclass(frozen=True)
class Viewed:
    """The array of a tensor map: its buffer, type and number of elements at this size."""

    buffer: str
    dtype: str
    count: int


def tensor_map(line: TensorMapLine, viewed: Viewed, integer: Evaluate, where: str) -> TensorMap:
    """The map with its numbers; ``where`` is the case (" at n=1"). Raises SubmissionError (``invalid``) for a map that
    TMA does not support.
    """
    shape = tuple(map(integer, line.shape))
    for text, extent in zip(line.shape, shape, strict=True):
        if not 1 <= extent <= MAX_EXTENT:
            raise invalid(f"an extent of shape= is {_number(text, extent)}{where}; it must be from 1 to 2^32", text)
    box = tuple(map(integer, line.box))
    swizzle = _choice("swizzle", line.swizzle, integer, SWIZZLES, 0)
    promotion = _choice("promotion", line.promotion, integer, PROMOTIONS, 128)
    _check_box(line, shape, box, swizzle, DTYPE_BYTES[viewed.dtype])
    in_elements = _strides(line, shape, integer)
    strides = tuple(stride * DTYPE_BYTES[viewed.dtype] for stride in in_elements)
    for i, size in enumerate(strides):
        if size % UNIT or not 0 < size < MAX_STRIDE:
            what = f"the stride of dimension {i + 1} is {size} bytes{where}"
            hint = "TMA cannot copy an array whose rows do not begin at multiples of 16 bytes"
            text = line.strides[i] if line.strides else line.shape[i + 1]
            raise invalid(f"{what}; TMA needs a multiple of {UNIT}, less than 2^40", text, hint=hint)
    # TMA accesses nothing outside the map's shape: if the shape is inside the array, so is every copy.
    last = sum((extent - 1) * stride for extent, stride in zip(shape, (*in_elements, 1), strict=True))
    if last >= viewed.count:
        what = f"the tensor map {line.name.text} reaches element {last} of {viewed.buffer}{where}"
        hint = "shape= and strides= are in elements, from the outermost dimension to the innermost"
        raise invalid(f"{what}, which has {viewed.count}", line.shape[0], hint=hint)
    return TensorMap(
        line.name.text, viewed.buffer, viewed.dtype, shape, strides, box, swizzle, promotion, line.at.line
    )  # fmt: skip


def _choice(key: str, text: LaunchFragment | None, integer: Evaluate, choices: tuple[int, ...], default: int) -> int:
    value = default if text is None else integer(text)
    if text is not None and value not in choices:
        allowed = ", ".join(map(str, choices))
        raise invalid(f"{key}= is {_number(text, value)}; TMA has {allowed} bytes", text, hint="0 means none")
    return value


def _number(text: LaunchFragment, value: int) -> str:
    """The value, and the expression if it is not just the number."""
    return str(value) if text.text == str(value) else f"{value} ({text.text})"


def _check_box(
    line: TensorMapLine, shape: tuple[int, ...], box: tuple[int, ...], swizzle: int, element_bytes: int
) -> None:
    if len(box) != len(shape):
        what = f"box= has {counted(len(box), 'dimension')}, and shape= has {len(shape)}"
        raise invalid(what, line.box[0], hint="one number for each dimension, in the same order")
    for text, extent in zip(line.box, box, strict=True):
        if not 1 <= extent <= MAX_BOX:
            what = f"an extent of box= is {_number(text, extent)}; it must be from 1 to {MAX_BOX} elements"
            raise invalid(what, text, hint="copy a larger tile as several boxes")
    text, inner = line.box[-1], box[-1] * element_bytes
    row = f"a row of the box is {box[-1]} elements of {element_bytes} bytes, {inner} bytes"
    if inner % UNIT:
        raise invalid(f"{row}; TMA needs a multiple of {UNIT}", text)
    if swizzle and inner > swizzle:
        hint = f"swizzle={swizzle} allows at most {swizzle // element_bytes} elements"
        raise invalid(f"{row}, more than the {swizzle} that its swizzle spans", text, hint=hint)


def _strides(line: TensorMapLine, shape: tuple[int, ...], integer: Evaluate) -> tuple[int, ...]:
    """The strides in elements of each dimension except the innermost."""
    if line.strides:
        if len(line.strides) != len(shape) - 1:
            what = f"strides= has {len(line.strides)} for {counted(len(shape), 'dimension')}"
            hint = "one for each dimension except the last, in elements; the last one's stride is 1"
            raise invalid(what, line.strides[0], hint=hint)
        return tuple(map(integer, line.strides))
    strides: list[int] = []
    for extent in reversed(shape[1:]):
        strides.insert(0, extent * (strides[0] if strides else 1))
    return tuple(strides)
