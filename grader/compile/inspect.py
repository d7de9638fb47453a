"""What a PTX text declares (entries and their parameters, externs, memory), and the checks of it.

Only directives outside function bodies and braces are read, no instructions. This is the text that is simulated and
assembled, however the source produced it, so what is refused here cannot run.
Directives: PTX ISA manual, "Directives" and "Kernel and Function Directives".
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import field, replace

from grader.compile.lexical import kernels, line_of, line_text, without_strings
from grader.compile.program import Entry, Parameter
from grader.compile.source import smuggling
from grader.errors import SubmissionError
from grader.frozen import dataclass

GLOBAL_LIMIT = 64 << 20  # bytes of .global variables
LARGEST = 1 << 62  # numbers in the text are clamped to it
CONSTANT_LIMIT = 64 << 10  # bytes of .const variables, on every GPU
ALLOWED_EXTERNS = frozenset({"vprintf", "__assertfail"})

# Functions of the device runtime: its allocator, and launches from kernels (dynamic parallelism).
_RUNTIME = re.compile(r"malloc|free|__nv_aligned_device_malloc|cuda[A-Z]\w*|__cuda\w*|__cudaCDP\w*")

_TYPE_BYTES = {
    "pred": 1,
    "b128": 16,
    "f16x2": 4,
    "bf16": 2,
    "bf16x2": 4,
    "texref": 8,
    "samplerref": 8,
    "surfref": 8,
} | {f"{kind}{bits}": bits // 8 for kind in "busf" for bits in (8, 16, 32, 64)}
_NOISE = re.compile(r'//[^\n]*|/\*.*?(?:\*/|\Z)|"(?:\\.|[^"\\\n])*"?', re.DOTALL)
_HEADER = re.compile(r"\.(?:version|target|address_size|file|loc)\b[^\n]*")
_ASM_REGION = re.compile(r"// begin inline asm\n(.*?)(?:// end inline asm|\Z)", re.DOTALL)
_NAME = r"[A-Za-z_$%][\w$]*"
_FUNCTION = re.compile(rf"\.(entry|func)\s*(?:\((.*?)\)\s*)?({_NAME})\s*(?:\((.*?)\))?", re.DOTALL)
_PARAMETER = re.compile(
    rf"\.param\s+(?:\.align\s+(?P<align>\d+)\s+)?\.(?P<type>\w+)\s+(?P<hints>[^\[\]]*?)(?P<name>{_NAME})\s*"
    rf"(?P<array>\[\s*(?P<count>\d*)\s*\])?\s*$"
)
_POINTER_HINTS = re.compile(r"(?:\.ptr\s+(?:\.(?:global|shared|const|local)\s+)?(?:\.align\s+\d+\s+)?)?")
_VARIABLE = re.compile(
    rf"(?<![\w.])\.(?P<space>global|const|shared)\s+(?:\.align\s+\d+\s+|\.attribute\([^)]*\)\s*)*(?:\.v(?P<vector>[248])\s+)?"
    rf"\.(?P<type>\w+)\s+(?P<name>{_NAME})\s*(?P<dims>(?:\[\s*\d*\s*\]\s*)*)"
)
_WORD = re.compile(r"[A-Za-z_$%][\w$]*")
_DIRECTIVE = re.compile(r"\.(maxntid|reqntid|reqnctapercluster)\s+(\d+(?:\s*,\s*\d+){0,2})")


@dataclass
class PtxSummary:
    """The structure of a PTX text: ``functions`` are bodies by name, ``shared`` the bytes of the module's ``.shared``
    variables by name, ``bytes_of`` the bytes of all variables by state space.
    """

    entries: dict[str, Entry] = field(default_factory=dict)
    functions: dict[str, str] = field(default_factory=dict)
    externs: list[str] = field(default_factory=list)
    shared: dict[str, int] = field(default_factory=dict)
    bytes_of: dict[str, int] = field(default_factory=lambda: {"global": 0, "const": 0})


class _Broken(Exception):
    """Raised when the text cannot come from the compiler alone; the message says why."""


def inspect_ptx(ptx: str, name: str, source: str) -> tuple[Entry, ...]:
    """The entries of ``ptx``, which was compiled from ``source``.

    Raises SubmissionError: ``invalid`` (no entry, no ``extern "C"``, assembly that leaves its function), ``policy``
    (device runtime functions), ``compile_error`` (functions without a body), ``limit`` (memory).
    """
    try:
        _check_assembly(ptx)
        module = _module(ptx)
        _check_origin(module, source)
    except _Broken as error:
        hint = "write kernels in CUDA C, and only instructions in asm()"
        raise SubmissionError("invalid", f"{name}: {error}", hint=hint) from None
    _check_externs(module, name, source)
    _check_memory(module, name)
    uses = {function: _uses(module, body) for function, body in module.functions.items()}
    entries = tuple(
        replace(entry, static_shared_bytes=_static_shared(module, uses, name)) for name, entry in module.entries.items()
    )
    if all(entry.name.startswith("_Z") for entry in entries):
        raise _no_entry(entries, name, source)
    return entries


def code_of_kernels(ptx: str) -> Mapping[str, str]:
    """Each kernel's instructions with those of all functions that it may call, for a text that was inspected."""
    module = _module(ptx)
    uses = {function: _uses(module, body) for function, body in module.functions.items()}
    return {name: "\n".join(module.functions[each] for each in sorted(_called(uses, name))) for name in module.entries}


def _module(ptx: str) -> PtxSummary:
    """The structure of a PTX text. Raises `_Broken`."""
    module = PtxSummary()
    quiet = _NOISE.sub(lambda match: '""' if match[0].startswith('"') else " ", ptx)
    for head, body in _declarations(_HEADER.sub(" ", quiet)):
        function = _FUNCTION.search(head)
        if function:
            _add_function(module, head, body, function)
        else:
            _add_variables(module, head)
    return module


def _declarations(text: str) -> Iterator[tuple[str, str | None]]:
    """Each directive at the top level, with its body or None. Raises `_Broken` if the braces do not match."""
    start = opened = depth = 0
    body: str | None = None
    for match in re.finditer(r"[{};]", text):
        mark = match[0]
        if mark == "{":
            opened = match.end() if depth == 0 else opened
            depth += 1
        elif mark == "}":
            depth -= 1
            if depth < 0:
                raise _Broken("the PTX closes a brace that it did not open")
            if depth == 0:
                body = text[opened : match.start()]
                head = text[start : opened - 1]
                if "=" not in head:  # these are not the braces of an initialiser, which ends with a semicolon
                    yield head, body
                    start = match.end()
        elif depth == 0:
            yield text[start : match.start()], None
            start = match.end()
    if depth or text[start:].strip():
        raise _Broken("the PTX does not end where its last function ends")


def _add_function(module: PtxSummary, head: str, body: str | None, found: re.Match[str]) -> None:
    kind, name = found[1], found[3]
    if len(_FUNCTION.findall(head)) > 1:
        raise _Broken("the PTX declares two functions in one")
    if body is None:
        # A prototype, of a function below or of an external one.
        if ".extern" in head:
            module.externs.append(name)
        return
    if name in module.functions:
        raise _Broken(f"the PTX defines {name} twice")
    module.functions[name] = body
    if kind == "entry":
        module.entries[name] = _entry(name, found[4] or "", head[found.end() :])


def _entry(name: str, parameters: str, directives: str) -> Entry:
    found = {match[1]: tuple(map(_count, match[2].split(","))) for match in _DIRECTIVE.finditer(directives)}
    return Entry(
        name,
        tuple(_parameters(parameters)),
        max_threads=math.prod(found["maxntid"]) if "maxntid" in found else 0,
        required_block=_filled(found.get("reqntid", ())),
        required_cluster=_filled(found.get("reqnctapercluster", ())),
    )


def _filled(extents: tuple[int, ...]) -> tuple[int, ...]:
    """Three extents, with 1 for missing ones; () stays ()."""
    return (*extents, 1, 1)[:3] if extents else ()


def _parameters(text: str) -> Iterator[Parameter]:
    for declaration in filter(None, (part.strip() for part in text.split(","))):
        match = _PARAMETER.match(declaration)
        if match is None or match["type"] not in _TYPE_BYTES or not _POINTER_HINTS.fullmatch(match["hints"]):
            raise _Broken(f"the PTX declares a parameter that no CUDA C has: {declaration[:80]}")
        size = _TYPE_BYTES[match["type"]]
        count = _count(match["count"] or "0") if match["array"] else 1
        yield Parameter(match["type"], size * count, _count(match["align"]) if match["align"] else size)


def _add_variables(module: PtxSummary, head: str) -> None:
    match = _VARIABLE.search(head)
    if match is None:
        return
    if ".extern" in head[: match.start()]:
        if match["space"] != "shared":  # extern __shared__ is dynamic shared memory, not an external symbol
            module.externs.append(match["name"])
        return
    if match["space"] == "shared":
        module.shared[match["name"]] = _bytes(match)
    else:
        module.bytes_of[match["space"]] += _bytes(match)


def _bytes(variable: re.Match[str]) -> int:
    size = _TYPE_BYTES.get(variable["type"], 8) * int(variable["vector"] or 1)
    for dim in re.findall(r"\[\s*(\d*)\s*\]", variable["dims"]):
        size = min(size * _count(dim or "0"), LARGEST)
    return size


def _count(digits: str) -> int:
    """A number in the text, clamped to `LARGEST`: hostile ones may have any number of digits."""
    return min(int(digits), LARGEST) if len(digits) <= 20 else LARGEST


@dataclass(frozen=True)
class _Uses:
    """What a function's body uses: the bytes of its own shared arrays, functions, and the module's shared arrays."""

    own_bytes: int
    functions: frozenset[str]
    shared: frozenset[str]


def _uses(module: PtxSummary, body: str) -> _Uses:
    own = sum(_bytes(variable) for variable in _VARIABLE.finditer(body) if variable["space"] == "shared")
    words = frozenset(_WORD.findall(body))
    return _Uses(own, words & module.functions.keys(), words & module.shared.keys())


def _called(uses: Mapping[str, _Uses], entry: str) -> set[str]:
    """An entry and all functions that it may call."""
    waiting, seen = [entry], {entry}
    while waiting:
        called = uses[waiting.pop()].functions - seen
        waiting += called
        seen |= called
    return seen


def _static_shared(module: PtxSummary, uses: Mapping[str, _Uses], entry: str) -> int:
    """Bytes of the shared arrays of an entry and of all functions that it may call."""
    seen = _called(uses, entry)
    shared = {name for function in seen for name in uses[function].shared}
    return sum(uses[function].own_bytes for function in seen) + sum(module.shared[name] for name in shared)


def _check_assembly(ptx: str) -> None:
    for region in _ASM_REGION.finditer(ptx):
        if reason := smuggling(region[1]):
            raise _Broken(f"inline assembly must stay inside its function; one {reason}")
    if ptx.count("// begin inline asm") != ptx.count("// end inline asm"):
        raise _Broken("inline assembly must not write the marks around it")


def _check_origin(module: PtxSummary, source: str) -> None:
    """Raise `_Broken` for an entry whose name is not in the source; not with token pasting (``##``), where it may be
    composed.
    """
    code = without_strings(source)
    unknown = module.entries.keys() - set(_WORD.findall(code))
    for name in () if "##" in code or "%:%:" in code else module.entries:
        if name in unknown and not name.startswith("_Z"):
            raise _Broken(f"the PTX has an entry {name} that the source does not define")


def _check_externs(module: PtxSummary, name: str, source: str) -> None:
    for extern in dict.fromkeys(module.externs):
        if extern in ALLOWED_EXTERNS:
            continue
        plain = _plain_name(extern)
        match = re.search(rf"\b{re.escape(plain)}\b", without_strings(source))
        line = None if match is None else line_of(source, match.start())
        if _RUNTIME.fullmatch(extern):
            verdict, message = "policy", f"{name} uses {plain}() on the device, which is not allowed here"
            hint = "pass memory in from the launch line (`// scratch`), and launch from there"
        else:
            verdict, message = "compile_error", f"{plain} is declared but defined nowhere"
            hint = "define it in this file: there is nothing else to link with"
        raise SubmissionError(verdict, message, file=name, line=line, source=line_text(source, line), hint=hint)


def _check_memory(module: PtxSummary, name: str) -> None:
    for space, limit, words, hint in (
        ("global", GLOBAL_LIMIT, "__device__ variables", "declare memory with `// scratch` in the launch lines"),
        ("const", CONSTANT_LIMIT, "__constant__ variables", "use fewer"),
    ):
        size = module.bytes_of[space]
        if size > limit:
            message = f"the {words} of {name} take {size / 1024:.0f} KiB; the limit is {limit >> 10} KiB"
            raise SubmissionError("limit", message, hint=hint)


def _no_entry(entries: tuple[Entry, ...], name: str, source: str) -> SubmissionError:
    code = without_strings(source)
    heads = {kernel: places[0][0] for kernel, places in kernels(code).items()}
    for kernel in (_plain_name(entry.name) for entry in entries):
        if kernel in heads and not _is_template(code, heads[kernel]):
            line = line_of(code, heads[kernel])
            message = f'the kernel {kernel} is not extern "C", so its name is a C++ one that no launch can find'
            text = line_text(source, line) or ""
            hint = f'write: extern "C" {text.strip()[:200]}'
            return SubmissionError("invalid", message, file=name, line=line, source=text, hint=hint)
    if entries or any(_is_template(code, at) for at in heads.values()):
        return SubmissionError(
            "invalid",
            f"{name} has only template kernels, which have no name that a launch could use",
            hint='call the template from a kernel: extern "C" __global__ void NAME(...) { body<256>(...); }',
        )
    hint = 'a kernel looks like this: extern "C" __global__ void NAME(...) { … }'
    return SubmissionError("invalid", f"{name} has no kernel", hint=hint)


def _is_template(code: str, at: int) -> bool:
    """Whether the declaration of the kernel whose ``__global__`` is at ``at`` begins with ``template``."""
    return re.search(r"\btemplate\b", re.split(r"[;{}]", code[max(0, at - 500) : at])[-1]) is not None


def _plain_name(mangled: str) -> str:
    """``reduce`` for ``_Z6reducePf``: the last name of a mangled name (Itanium C++ ABI), without its parameters."""
    nested = re.match(r"_ZN?(?:St|K)?(.*)", mangled, re.DOTALL)
    if nested is None:
        return mangled
    rest, name = nested[1], mangled
    while length := re.match(r"L?(\d{1,6})", rest):
        end = length.end() + int(length[1])
        name, rest = rest[length.end() : end], rest[end:]
        if not mangled.startswith("_ZN"):
            break
    return name
